"""`create_key`: make an API key for an app, as the operator of this installation."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from facts.actors import Actor, ActorKind, system
from facts.clock import now
from facts.errors import DomainError
from facts.models import Account, Membership, Subject
from facts.tenancy import account_transaction, ensure_scope, get_subject
from governance import keys
from governance.access import APP_RIGHTS, PEER_KINDS, Delegation, Right
from governance.fields import parse_instant


class Command(BaseCommand):
    """Prints a new key. The key cannot be had again; only a digest of it is kept."""

    help = "Make an API key for an app."

    def add_arguments(self, parser: CommandParser) -> None:
        """Offer what a key can have."""
        parser.add_argument("--account", required=True, help="Key of the account.")
        parser.add_argument("--label", required=True, help="What the key is for.")
        parser.add_argument("--raw", action="store_true", help="Print the key and nothing else.")
        parser.add_argument(
            "--rights", nargs="+", choices=[*Right], default=[*APP_RIGHTS], metavar="RIGHT", help=", ".join(Right)
        )
        parser.add_argument(
            "--delegate",
            nargs="+",
            choices=[*Delegation],
            default=[],
            metavar="DELEGATION",
            help=f"What it may do in the name of --as: {', '.join(Delegation)}",
        )
        parser.add_argument("--as", dest="username", help="The person who makes it and stands behind what it does.")
        parser.add_argument("--scope", help="Path of the scope that confines it.")
        parser.add_argument("--peer", help="Key of the peer as whom it reads by itself.")
        parser.add_argument("--expires", help="ISO 8601 instant or day from which it is good no more.")
        parser.add_argument("--per-minute", type=int, help="Calls it may make in a minute.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Make the key and print it."""
        account = Account.objects.filter(key=options["account"]).first()
        if account is None:
            raise CommandError(f"There is no account '{options['account']}'.")
        try:
            with account_transaction(account.id):
                key, raw = self._make(account, options)
        except DomainError as error:
            raise CommandError(error.message) from error
        if options["raw"]:
            self.stdout.write(raw)
            return
        self.stdout.write(f"{raw}\n\n{key.label}: {', '.join(key.rights)}. This is shown once; keep it safe.")

    def _make(self, account: Account, options: dict[str, Any]) -> tuple[Any, str]:
        maker = self._maker(account, options["username"])
        expires_at = parse_instant(options["expires"], field="expires") if options["expires"] else None
        if expires_at is not None and expires_at <= now():
            raise CommandError("--expires has to be in the future.")
        if options["per_minute"] is not None and options["per_minute"] < 1:
            raise CommandError("--per-minute has to be at least 1.")
        return keys.create_key(
            account_id=account.id,
            label=options["label"],
            rights=options["rights"],
            delegated=options["delegate"],
            actor=_actor(maker),
            maker=maker,
            peer=self._peer(account, options["peer"]),
            scope_limit=ensure_scope(account.id, options["scope"]) if options["scope"] else None,
            expires_at=expires_at,
            requests_per_minute=options["per_minute"],
        )

    def _maker(self, account: Account, username: str | None) -> Membership | None:
        if username is None:
            return None
        found = Membership.objects.filter(account_id=account.id, user__username=username).select_related("user").first()
        if found is None:
            raise CommandError(f"'{username}' is no member of this account.")
        return found

    def _peer(self, account: Account, key: str | None) -> Subject | None:
        if key is None:
            return None
        found = get_subject(account.id, key=key)
        if found is None or found.kind not in PEER_KINDS:
            raise CommandError(f"There is no peer '{key}' in this account.")
        return found


def _actor(maker: Membership | None) -> Actor:
    if maker is None:
        return system("create_key")
    return Actor(
        kind=ActorKind.PERSON,
        name=maker.user.get_full_name() or maker.user.get_username(),
        membership_id=maker.id,
        subject_id=maker.subject_id,
    )
