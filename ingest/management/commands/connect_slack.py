"""`connect_slack`: let a Slack workspace's requests into an account, as the operator of this installation."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from facts.actors import system
from facts.errors import DomainError
from facts.models import Account
from facts.tenancy import account_transaction
from ingest.models import SlackWorkspace
from ingest.slack import client, directory, workspaces
from ingest.slack.client import SlackFailed


class Command(BaseCommand):
    """Connects a workspace, asking Slack who the bot is where a token is configured; ``--disconnect`` ends it."""

    help = "Connect a Slack workspace to an account, or disconnect it."

    def add_arguments(self, parser: CommandParser) -> None:
        """Offer what can be chosen."""
        parser.add_argument("team", help="Identifier of the workspace, T….")
        parser.add_argument("--account", default="demo", help="Key of the account (demo).")
        parser.add_argument("--root", default="/slack", help="Path below which its channels get their scopes.")
        parser.add_argument("--bot-user", default="", help="Identifier of the bot's user, where no token tells it.")
        parser.add_argument("--app", default="", help="Identifier of the app, A…; requests of others are ignored.")
        parser.add_argument("--disconnect", action="store_true", help="Listen to it no more; what was kept stays.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Connect or disconnect, and say what is still missing."""
        account = Account.objects.filter(key=options["account"]).first()
        if account is None:
            raise CommandError(f"There is no account '{options['account']}'.")
        team = options["team"]
        if options["disconnect"]:
            self._disconnect(account, team)
            return
        told = self._who_is_the_bot(team)
        try:
            workspace = workspaces.connect(
                account.id,
                team=team,
                bot_user_id=options["bot_user"] or str(told.get("user_id", "")),
                bot_id=str(told.get("bot_id", "")),
                name=str(told.get("team", "")),
                app_id=options["app"],
                root=options["root"],
                actor=system("connect_slack"),
            )
        except DomainError as error:
            hint = " Give --bot-user, or set SLACK_BOT_TOKEN." if error.field == "bot_user_id" else ""
            raise CommandError(error.message + hint) from error
        with account_transaction(account.id):
            directory.look_up_all(workspace)
        self.stdout.write(f"{workspace} ({team}) belongs to {account.key}; its channels go below {workspace.root}.")
        if not client.signing_secret_of(team):
            self.stderr.write("SLACK_SIGNING_SECRET is not set: its requests are refused.")
        if client.client_for(team) is None:
            self.stderr.write("SLACK_BOT_TOKEN is not set: names and files are not asked for, and nobody is answered.")
        self.stdout.write("Nothing is kept until a channel is opted in: invite the bot there and tell it: on")

    def _who_is_the_bot(self, team: str) -> dict[str, Any]:
        """Ask Slack whose token it is; nothing without one. The workspace has to be the one that is meant."""
        slack = client.client_for(team)
        if slack is None:
            return {}
        try:
            told = dict(slack.call("auth.test"))
        except SlackFailed as failure:
            raise CommandError(f"Slack does not answer to the token: {failure}") from failure
        if told.get("team_id") != team:
            raise CommandError(f"The token belongs to another workspace: {told.get('team_id')}.")
        return told

    def _disconnect(self, account: Account, team: str) -> None:
        with account_transaction(account.id):
            found = SlackWorkspace.objects.filter(account_id=account.id, team=team).first()
            if found is None:
                raise CommandError("No such workspace is connected to the account.")
            workspaces.disconnect(found, actor=system("connect_slack"))
        self.stdout.write(f"{found} is disconnected; what was kept stays.")
