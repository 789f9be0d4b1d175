"""Slack in the admin: workspaces, channels and whether they are listened to, requests, and who opted out."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import admin, messages
from django.db.models import Count, F, Max, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Concat
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from facts import long_jobs
from facts.errors import DomainError
from facts.models import Event
from facts.models.long_jobs import OPEN_STATES
from facts.tenancy import account_transaction
from ingest import backfill, backfill_outlook
from ingest.models import ChannelBinding, OptOut, SlackChannel, SlackWorkspace
from ingest.slack import channels, client
from ingest.slack.messages import read_time
from memory_site.admin_pages.fact_display import words
from memory_site.admin_pages.governed import GovernedAdmin, SubjectFilter
from memory_site.admin_pages.sight import Sight
from memory_site.admin_pages.texts import isolated


def _chip(text: str, sort: str) -> SafeString:
    return format_html('<span class="chip {}">{}</span>', sort, text)


def _reading_back(workspace: SlackWorkspace, *, channel_id: str = "") -> dict[str, Any]:
    """Return what the pages show of reading the history: what it would take, or the work that does it already."""
    if workspace.disconnected_at is not None:
        return {}
    under_way = long_jobs.of_account(workspace.account_id, kind=backfill.KIND).filter(
        input_key=workspace.team, state__in=OPEN_STATES
    )
    return {
        "outlook": backfill_outlook.outlook(workspace, channel_id=channel_id),
        "backfill": under_way.first(),
        "has_token": client.client_for(workspace.team) is not None,
    }


def _begin(request: HttpRequest, team: str, *, back: str, scope: str, channel_id: str = "") -> HttpResponse:
    """Begin to read the history, and lead to the page that shows how far it is."""
    principal = request.principal
    try:
        work = backfill.start(
            principal.account_id, scope=scope, team=team, channel_id=channel_id, actor=principal.actor
        )
    except DomainError as error:
        messages.error(request, error.message)
        return redirect(back)
    messages.success(request, "Begun. It can be cancelled and resumed at any time.")
    return redirect(reverse("admin:facts_longjob_change", args=[work.pk]))


class SlackWorkspaceAdmin(GovernedAdmin):
    """The workspaces that are connected; an operator connects them."""

    list_title = "Slack workspaces"
    change_form_template = "memory/slack_workspace.html"
    empty_list = "No workspace is connected yet: manage.py connect_slack."
    list_display = ["called", "team", "root", "state", "secret", "token", "connected_at"]
    list_display_links = ["called"]
    fields = ["name", "team", "root", "state", "secret", "token", "app_id", "bot_user_id", "bot_id"]
    fields += ["connected_at", "disconnected_at"]
    labels = {
        "team": "Identifier",
        "root": "Channels go below",
        "app_id": "Identifier of the app",
        "bot_user_id": "The bot as a user",
        "bot_id": "The bot where it posts",
        "connected_at": "Connected",
        "disconnected_at": "Disconnected",
    }
    readonly_fields = ["state", "secret", "token"]
    ordering = ["team"]

    def get_urls(self) -> list[URLPattern]:
        """Add the address of the button."""
        view = self.admin_site.admin_view(require_POST(self.read_back))
        return [path("<uuid:pk>/backfill/", view, name="slack_backfill"), *super().get_urls()]

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], **options: Any) -> HttpResponse:
        """Say what reading its history would take."""
        context |= _reading_back(context["original"])
        return super().render_change_form(request, context, **options)

    def read_back(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Begin to read the history of all its channels that are listened to."""
        workspace = self.get_or_404(request, str(pk))
        back = reverse("admin:ingest_slackworkspace_change", args=[pk])
        return _begin(request, workspace.team, back=back, scope="org")

    @admin.display(description="workspace")
    def called(self, workspace: SlackWorkspace) -> SafeString:
        """Its name, else its identifier."""
        return isolated(str(workspace))

    def titled(self, record: SlackWorkspace) -> str:
        """Call it by its name."""
        return f"Slack workspace {record}"

    @admin.display(description="state")
    def state(self, workspace: SlackWorkspace) -> SafeString:
        """Whether its requests are taken in."""
        if workspace.disconnected_at:
            return _chip("disconnected", "blocked")
        return _chip("connected", "included")

    @admin.display(description="signing secret")
    def secret(self, workspace: SlackWorkspace) -> SafeString | str:
        """Whether its requests can be checked."""
        return "set" if client.signing_secret_of(workspace.team) else _chip("missing: requests are refused", "warn")

    @admin.display(description="bot token")
    def token(self, workspace: SlackWorkspace) -> SafeString | str:
        """Whether Slack can be asked and people answered."""
        return "set" if client.client_for(workspace.team) else _chip("missing: nobody is answered", "warn")


class Listening(admin.BooleanFieldListFilter):
    """Whether what is said there is kept."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.title = "whether it is listened to"


class Privacy(admin.BooleanFieldListFilter):
    """Whether everybody of the workspace may read it."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.title = "whether it is private"


class SlackChannelAdmin(GovernedAdmin):
    """The channels that Slack told of, and whether what is said there is kept."""

    list_title = "Slack channels"
    empty_list = "No channel is known yet: invite the bot to one."
    list_display = ["called", "heard", "scope", "kept", "latest", "team"]
    list_display_links = ["called"]
    fields = ["heard", "scope", "kept", "latest", "switched_at", "switched_by", "channel_id", "team"]
    labels = {
        "channel_id": "Identifier",
        "team": "Workspace",
        "switched_at": "Switched",
        "switched_by": "Switched by",
    }
    readonly_fields = ["heard", "scope", "kept", "latest"]
    list_filter = [("listening", Listening), ("is_private", Privacy)]
    ordering = ["name", "channel_id"]
    search_fields = ["name__startswith"]
    search_help_text = "The start of a name."
    change_form_template = "memory/slack_channel.html"

    def visible(self, eyes: Sight) -> QuerySet[SlackChannel]:
        """Return the account's channels with what was kept of them.

        The keys of a channel's messages begin alike and end in their time stamps: the unique index over them answers
        how many there are and which is the latest.
        """
        begins = Concat(Value("slack:"), OuterRef("team"), Value(":"), OuterRef("channel_id"), Value(":"))
        ends = Concat(Value("slack:"), OuterRef("team"), Value(":"), OuterRef("channel_id"), Value(";"))
        theirs = Event.objects.filter(
            account_id=eyes.principal.account_id, revision=1, source_key__gte=begins, source_key__lt=ends
        )
        of_all = theirs.order_by().annotate(one=Value(1)).values("one")
        bound = ChannelBinding.objects.filter(
            account_id=eyes.principal.account_id, team=OuterRef("team"), channel_id=OuterRef("channel_id")
        )
        return (
            super()
            .visible(eyes)
            .select_related("switched_by")
            .annotate(
                message_count=Subquery(of_all.annotate(n=Count("pk")).values("n")),
                last_key=Subquery(of_all.annotate(last=Max("source_key")).values("last")),
                scope_path=Subquery(bound.annotate(path=F("scope__path")).values("path")[:1]),
            )
        )

    def get_urls(self) -> list[URLPattern]:
        """Add the address of the two buttons."""
        wrap = self.admin_site.admin_view
        return [
            path("<uuid:pk>/switch/", wrap(require_POST(self.switch)), name="slack_channel_switch"),
            path("<uuid:pk>/backfill/", wrap(require_POST(self.read_back)), name="slack_channel_backfill"),
            *super().get_urls(),
        ]

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], **options: Any) -> HttpResponse:
        """Say what reading its history would take."""
        channel: SlackChannel = context["original"]
        workspace = SlackWorkspace.objects.filter(account_id=channel.account_id, team=channel.team).first()
        if workspace is not None and channel.listening:
            context |= _reading_back(workspace, channel_id=channel.channel_id)
        return super().render_change_form(request, context, **options)

    def read_back(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Begin to read the history of the channel."""
        channel = self.get_or_404(request, str(pk))
        back = reverse("admin:ingest_slackchannel_change", args=[pk])
        return _begin(request, channel.team, back=back, scope="channel", channel_id=channel.channel_id)

    @admin.display(description="channel")
    def called(self, channel: SlackChannel) -> SafeString:
        """Its name, else its identifier."""
        return isolated(str(channel))

    def titled(self, record: SlackChannel) -> str:
        """Call it by its name."""
        return f"Slack channel {record}"

    @admin.display(description="listening")
    def heard(self, channel: SlackChannel) -> SafeString:
        """Whether what is said there is kept, and what is to be known about that."""
        chip = _chip("listened to", "included") if channel.listening else _chip("not listened to", "")
        notes = {
            "private": channel.is_private,
            "the bot is not in it": not channel.is_member,
            "archived": channel.archived,
        }
        return format_html("{} {}", chip, ", ".join(note for note, holds in notes.items() if holds))

    @admin.display(description="scope")
    def scope(self, channel: SlackChannel) -> str:
        """Where its messages go, once it was opted in or imported."""
        return channel.scope_path or "none yet"

    @admin.display(description="messages")
    def kept(self, channel: SlackChannel) -> int:
        """How many of its messages were kept, edits not counted."""
        return channel.message_count or 0

    @admin.display(description="latest message")
    def latest(self, channel: SlackChannel) -> str:
        """When the latest of them was said."""
        at = read_time((channel.last_key or "").rpartition(":")[2])
        return f"{at:%Y-%m-%d %H:%M} UTC" if at else ""

    def switch(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Opt the channel in or out, as the button says."""
        channel = self.get_or_404(request, str(pk))
        listen = request.POST.get("listen") == "yes"
        switched = channels.opt_in if listen else channels.opt_out
        try:
            with account_transaction(channel.account_id):
                workspace = SlackWorkspace.objects.get(account_id=channel.account_id, team=channel.team)
                switched(workspace, channel.channel_id, actor=request.principal.actor)
        except SlackWorkspace.DoesNotExist:
            messages.error(request, "The channel's workspace is not connected.")
        except DomainError as error:
            messages.error(request, error.message)
        else:
            done = "is listened to" if listen else "is listened to no more; what was kept stays"
            messages.success(request, f"{channel} {done}.")
        return redirect(reverse("admin:ingest_slackchannel_change", args=[pk]))


class OptOutAdmin(GovernedAdmin):
    """Who does not want to be remembered from channels. Only they themselves take it back."""

    list_title = "People who opted out"
    empty_list = "Nobody opted out. People do so by telling the bot: @memory forget me."
    list_display = ["about", "said_at", "how"]
    fields = ["subject", "said_at", "how"]
    labels = {"subject": "Who", "said_at": "Said"}
    list_filter = [SubjectFilter]
    readonly_fields = ["how"]
    ordering = ["-said_at"]

    def titled(self, record: OptOut) -> str:
        """Call it by who said so."""
        return f"{record.subject.display_name} opted out"

    @admin.display(description="said by")
    def how(self, opt_out: OptOut) -> str:
        """By which way they said so."""
        return words(opt_out.via)

    def visible(self, eyes: Sight) -> QuerySet[OptOut]:
        """Return those of the account that hold."""
        return super().visible(eyes).filter(active=True).select_related("subject")


class SlackReceiptAdmin(GovernedAdmin):
    """What became of the requests of the last week. Of what is never kept there is nothing here either."""

    list_title = "Slack requests"
    empty_list = "Slack sent nothing within the last week. It sends what is said once a workspace is connected."
    list_display = ["received_at", "event_type", "outcome", "team", "event_id"]
    fields = list_display
    ordering = ["-received_at"]
    search_fields = ["event_type__startswith", "outcome__startswith"]
    search_help_text = "The start of a kind of event, or of what became of it."
