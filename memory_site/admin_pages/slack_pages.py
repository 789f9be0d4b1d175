"""Slack in the admin: workspaces, channels and whether they are listened to, requests, and who opted out."""

from __future__ import annotations

import uuid

from django.contrib import admin, messages
from django.db.models import Count, F, Max, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Concat
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from facts.errors import DomainError
from facts.models import Event
from facts.tenancy import account_transaction
from ingest.models import ChannelBinding, OptOut, SlackChannel, SlackWorkspace
from ingest.slack import channels, client
from ingest.slack.messages import read_time
from memory_site.admin_pages.governed import GovernedAdmin, SubjectFilter
from memory_site.admin_pages.sight import Sight
from memory_site.admin_pages.texts import isolated


class SlackWorkspaceAdmin(GovernedAdmin):
    """The workspaces that are connected; an operator connects them."""

    list_title = "Slack workspaces"
    empty_list = "No workspace is connected yet: manage.py connect_slack."
    list_display = ["called", "team", "root", "secret", "token", "connected_at", "disconnected_at"]
    list_display_links = ["called"]
    fields = ["team", "name", "app_id", "bot_user_id", "bot_id", "root", "secret", "token"]
    fields += ["connected_at", "disconnected_at"]
    readonly_fields = ["secret", "token"]
    ordering = ["team"]

    @admin.display(description="workspace")
    def called(self, workspace: SlackWorkspace) -> SafeString:
        """Its name, else its identifier."""
        return isolated(str(workspace))

    @admin.display(description="signing secret", boolean=True)
    def secret(self, workspace: SlackWorkspace) -> bool:
        """Whether its requests can be checked."""
        return bool(client.signing_secret_of(workspace.team))

    @admin.display(description="bot token", boolean=True)
    def token(self, workspace: SlackWorkspace) -> bool:
        """Whether Slack can be asked and people answered."""
        return client.client_for(workspace.team) is not None


class SlackChannelAdmin(GovernedAdmin):
    """The channels that Slack told of, and whether what is said there is kept."""

    list_title = "Slack channels"
    empty_list = "No channel is known yet: invite the bot to one."
    list_display = ["called", "team", "listening", "scope", "is_private", "is_member", "archived", "kept", "latest"]
    list_display_links = ["called"]
    fields = ["name", "channel_id", "team", "listening", "scope", "is_private", "is_member", "archived", "kept"]
    fields += ["latest", "switched_at", "switched_by"]
    readonly_fields = ["scope", "kept", "latest"]
    list_filter = ["listening", "is_private"]
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
        view = self.admin_site.admin_view(require_POST(self.switch))
        return [path("<uuid:pk>/switch/", view, name="slack_channel_switch"), *super().get_urls()]

    @admin.display(description="channel")
    def called(self, channel: SlackChannel) -> SafeString:
        """Its name, else its identifier."""
        return isolated(str(channel))

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
    empty_list = "Nobody opted out."
    list_display = ["about", "said_at", "via"]
    fields = ["about", "said_at", "via"]
    list_filter = [SubjectFilter]
    readonly_fields = ["about"]
    ordering = ["-said_at"]

    def visible(self, eyes: Sight) -> QuerySet[OptOut]:
        """Return those of the account that hold."""
        return super().visible(eyes).filter(active=True).select_related("subject")


class SlackReceiptAdmin(GovernedAdmin):
    """What became of the requests of the last week. Of what is never kept there is nothing here either."""

    list_title = "Slack requests"
    empty_list = "No request came within the last week."
    list_display = ["received_at", "event_type", "outcome", "team", "event_id"]
    fields = list_display
    ordering = ["-received_at"]
    search_fields = ["event_type__startswith", "outcome__startswith"]
    search_help_text = "The start of a kind of event, or of what became of it."
