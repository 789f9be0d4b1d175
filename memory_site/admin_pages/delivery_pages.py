"""Deliveries: what was sent, what was given up and can be sent again, and the targets they go to."""

from __future__ import annotations

import uuid
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import CharField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Cast
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from facts.errors import DomainError
from facts.models import Scope, Subject
from facts.tenancy import get_scope, get_subject
from facts.vocabulary import SubjectKind
from ingest.deliveries import outbox, targets
from ingest.models import BlockedWay, Delivery, DeliveryKind, DeliveryState, DeliveryTarget, TargetAudience
from memory_site.admin_pages.audit_trail import short
from memory_site.admin_pages.fact_display import instant, words
from memory_site.admin_pages.governed import GovernedAdmin
from memory_site.admin_pages.sight import Sight
from memory_site.admin_pages.texts import isolated

#: Pages of what deliveries are about.
_PAGES = {"action": "admin:ingest_action_change", "consent.question": "admin:governance_consent_change"}


class TargetForm(forms.Form):
    """Where a target is and who reads it."""

    expected_version = forms.IntegerField(required=False, widget=forms.HiddenInput)
    name = forms.CharField(
        max_length=64, help_text="Small letters, digits and hyphens. The built-in rules send to the one called ops."
    )
    kind = forms.ChoiceField(choices=DeliveryKind.choices)
    address = forms.CharField(
        max_length=500,
        help_text="Slack: workspace and channel, T0123/C0456. Webhook: https://…. E-mail: one address.",
    )
    audience = forms.ChoiceField(
        label="Who reads it there",
        choices=TargetAudience.choices,
        help_text="You answer for this: what not all of them may read is not sent there.",
    )
    scope = forms.CharField(required=False, max_length=512, help_text="For everybody of a scope: its path.")
    recipients = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Else: the keys of the people who read it, a line each.",
    )
    enabled = forms.BooleanField(required=False, initial=True, help_text="Switched off, nothing is sent there.")

    def __init__(self, data: Any = None, *, target: DeliveryTarget | None = None) -> None:
        """Show what is set up; name and kind of a target stay."""
        initial = _initial(target) if target is not None else {}
        super().__init__(data, initial=initial)
        if target is not None:
            del self.fields["name"], self.fields["kind"]

    def shown(self) -> list[forms.BoundField]:
        """Return the fields that people fill in."""
        return self.visible_fields()


class DeliveryAdmin(GovernedAdmin):
    """What was sent and what waits; open to administrators. It shows ids and states, never words."""

    list_title = "Deliveries"
    empty_list = "Nothing was sent yet. What action rules set off, and questions of consent, are sent and appear here."
    list_display = ["about", "to", "state", "reason_words", "attempts", "created", "next_try"]
    list_filter = ["state"]
    list_select_related = ["target", "recipient"]
    ordering = ["-id"]
    fields = ["thing", "to", "state", "reason_words", "attempts", "certainty", "receipt"]
    fields += ["created_at", "next_try", "finished_at"]
    readonly_fields = ["thing", "to", "reason_words", "certainty", "next_try"]
    labels = {"receipt": "What the receiver calls it", "created_at": "Asked for", "finished_at": "Ended"}
    change_form_template = "memory/delivery.html"

    @admin.display(description="about")
    def about(self, delivery: Delivery) -> str:
        """What it is about."""
        return words(delivery.about)

    @admin.display(description="to")
    def to(self, delivery: Delivery) -> str | SafeString:
        """Where it goes."""
        return delivery.target.name if delivery.target else isolated(delivery.recipient.display_name)

    def titled(self, record: Delivery) -> str:
        """Call it by what is told and to whom."""
        where = record.target.name if record.target else record.recipient.display_name
        return f"Delivery to {where}"

    @admin.display(description="what it tells of")
    def thing(self, delivery: Delivery) -> SafeString:
        """What it is about, as a link where there is a page of it."""
        page = _PAGES.get(delivery.about)
        if page is None:
            return format_html("{} <code>{}</code>", words(delivery.about), short(delivery.object_id))
        name = {"action": "an action", "consent.question": "a question of consent"}[delivery.about]
        return format_html('<a href="{}">{}</a>', reverse(page, args=[delivery.object_id]), name)

    @admin.display(description="arrived")
    def certainty(self, delivery: Delivery) -> str:
        """Whether it is known to have arrived."""
        if delivery.state == DeliveryState.SENT:
            return "yes"
        return "nobody can tell" if delivery.uncertain else "no"

    @admin.display(description="why")
    def reason_words(self, delivery: Delivery) -> str:
        """Why it was not sent."""
        return words(delivery.reason or delivery.error_class)

    @admin.display(description="asked for")
    def created(self, delivery: Delivery) -> SafeString:
        """When it was asked for."""
        return instant(delivery.created_at)

    @admin.display(description="next try")
    def next_try(self, delivery: Delivery) -> SafeString | str:
        """When it is tried next."""
        return instant(delivery.next_try_at) if delivery.state == DeliveryState.PENDING else "–"

    def get_urls(self) -> list[URLPattern]:
        """Add the address of the button."""
        view = self.admin_site.admin_view(require_POST(self.send_again))
        return [path("<uuid:pk>/again/", view, name="delivery_again"), *super().get_urls()]

    def send_again(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Have a dead delivery sent again."""
        delivery = self.get_or_404(request, str(pk))
        try:
            outbox.send_again(request.principal, delivery.pk)
        except DomainError as error:
            messages.error(request, error.message)
        else:
            messages.success(request, "It is sent again within a minute.")
        return redirect(reverse("admin:ingest_delivery_change", args=[pk]))

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], **options: Any) -> HttpResponse:
        """Tell the template whether there is anything to send again."""
        context["may_send_again"] = context["original"].state == DeliveryState.DEAD
        return super().render_change_form(request, context, **options)


class DeliveryTargetAdmin(GovernedAdmin):
    """The places that deliveries go to, set up by administrators."""

    list_title = "Delivery targets"
    empty_list = "Nothing is sent anywhere. Make a target called ops for alerts, risks and moods."
    list_display = ["name", "kind", "address", "audience", "enabled", "blocked"]
    ordering = ["name"]
    change_list_template = "memory/target_list.html"

    @admin.display(description="blocked until")
    def blocked(self, target: DeliveryTarget) -> SafeString | str:
        """Until when nothing is tried there because it failed several times."""
        return instant(target.blocked_until) if target.blocked_until else "–"

    def get_urls(self) -> list[URLPattern]:
        """Add the addresses of the forms and buttons."""
        view = self.admin_site.admin_view
        return [
            path("new/", view(never_cache(self.create)), name="target_create"),
            path("<uuid:pk>/rotate/", view(never_cache(require_POST(self.rotate))), name="target_rotate"),
            *super().get_urls(),
        ]

    def create(self, request: HttpRequest) -> HttpResponse:
        """Ask where it is; then make it, and show a webhook's secret once."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        form = TargetForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            values = form.cleaned_data
            try:
                target = targets.create_target(
                    request.principal, name=values["name"], kind=values["kind"], **_place(request, values)
                )
            except DomainError as error:
                _tell(form, error)
            else:
                return self._made(request, target, "Your new target")
        return self._form(request, form, target=None)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show a target, and change it."""
        target = self.get_or_404(request, object_id)
        form = TargetForm(request.POST or None, target=target)
        if request.method == "POST" and form.is_valid():
            values = form.cleaned_data
            try:
                targets.change_target(
                    request.principal,
                    target.pk,
                    enabled=values["enabled"],
                    expected_version=values["expected_version"] or 0,
                    **_place(request, values),
                )
            except DomainError as error:
                _tell(form, error)
            else:
                messages.success(request, "Changed. It holds for what is sent from now on.")
                return redirect(reverse("admin:ingest_deliverytarget_changelist"))
        return self._form(request, form, target=target)

    def rotate(self, request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
        """Give a webhook a new secret and show it once."""
        target = self.get_or_404(request, str(pk))
        try:
            target = targets.rotate_secret(request.principal, target.pk, expected_version=target.version)
        except DomainError as error:
            messages.error(request, error.message)
            return redirect(reverse("admin:ingest_deliverytarget_change", args=[pk]))
        return self._made(request, target, "The target's new secret")

    def _made(self, request: HttpRequest, target: DeliveryTarget, title: str) -> HttpResponse:
        if not target.secret:
            messages.success(request, "Made.")
            return redirect(reverse("admin:ingest_deliverytarget_changelist"))
        context = self.context(request, title=title, target=target, secret=target.secret, form=None)
        return TemplateResponse(request, "memory/target.html", context)

    def _form(self, request: HttpRequest, form: TargetForm, *, target: DeliveryTarget | None) -> HttpResponse:
        title = f"Target: {target.name}" if target else "New target"
        context = self.context(request, title=title, form=form, target=target, secret="")
        return TemplateResponse(request, "memory/target.html", context)

    def is_open_to(self, eyes: Sight) -> bool:
        """Open to administrators of the account."""
        return eyes.has_role_at_root(self.needs)

    def visible(self, eyes: Sight) -> QuerySet[DeliveryTarget]:
        """Return the account's targets, each with the time until which its way is blocked."""
        ways = BlockedWay.objects.filter(account_id=eyes.principal.account_id, way=Cast(OuterRef("pk"), CharField()))
        return (
            super()
            .visible(eyes)
            .select_related("scope")
            .annotate(blocked_until=Subquery(ways.values("blocked_until")[:1]))
        )


def _initial(target: DeliveryTarget) -> dict[str, Any]:
    keys = target.recipients.order_by("key").values_list("key", flat=True)
    return {
        "expected_version": target.version,
        "address": target.address,
        "audience": target.audience,
        "scope": target.scope.path if target.scope else "",
        "recipients": "\n".join(keys),
        "enabled": target.enabled,
    }


def _place(request: HttpRequest, values: dict[str, Any]) -> dict[str, Any]:
    """Return what the form says of address and readers; raises ``DomainError`` for names that nothing has."""
    return {
        "address": values["address"].strip(),
        "audience": values["audience"],
        "scope": _scope(request, values["scope"].strip()),
        "recipients": [_person(request, line.strip()) for line in values["recipients"].splitlines() if line.strip()],
    }


def _scope(request: HttpRequest, text: str) -> Scope | None:
    if not text:
        return None
    scope = get_scope(request.principal.account_id, text)
    if scope is None:
        raise DomainError("There is no such scope.", code="unknown_scope", field="scope")
    return scope


def _person(request: HttpRequest, key: str) -> Subject:
    person = get_subject(request.principal.account_id, key=key, kind=SubjectKind.PERSON)
    if person is None:
        raise DomainError("One of these is no key of a person.", code="peer_not_found", field="recipients")
    return person


def _tell(form: forms.Form, error: DomainError) -> None:
    form.add_error(error.field if error.field in form.fields else None, error.message)
