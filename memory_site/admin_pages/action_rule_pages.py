"""The rules of actions: those that hold, a look at what a change would do, and the change."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from facts.errors import DomainError
from facts.vocabulary import Category
from governance import rule_changes
from governance.models import RuleSort
from governance.models.rule_changes import NOTE_LENGTH
from ingest.actions import rule_editing, rules
from ingest.actions.rule_editing import LOOKED_AT, MOST_LOOKED_AT, Look, RuleValues
from ingest.actions.rules import Rule
from ingest.deliveries import targets
from ingest.models import ActionKind, ActionRule, DeliveryTarget, NoticeTo
from memory_site.admin_pages import rule_history
from memory_site.admin_pages.fact_display import words
from memory_site.admin_pages.governed import GovernedAdmin
from memory_site.admin_pages.rule_history import Entry
from memory_site.admin_pages.sight import of

#: What a form says of the reason.
WHY = "Kept in the history. Needed to set the rule."
#: Facts of a look that are shown with their words; the counts are of all.
SHOWN = 50


class RuleForm(forms.Form):
    """What one rule says, and the version that it is made from."""

    expected = forms.IntegerField(required=False, widget=forms.HiddenInput)
    category = forms.ChoiceField(choices=Category.choices)
    threshold = forms.FloatField(
        min_value=0, max_value=0.999, help_text="Facts with a confidence above this, not at it: 0 to below 1."
    )
    kind = forms.ChoiceField(label="Makes a", choices=ActionKind.choices)
    notice_to = forms.ChoiceField(label="Who is told", choices=NoticeTo.choices)
    target = forms.ChoiceField(required=False, help_text="Where that is a target of the rule's own.")
    enabled = forms.BooleanField(required=False, help_text="Switched off, it makes nothing.")
    note = forms.CharField(label="Why", required=False, max_length=NOTE_LENGTH, help_text=WHY)
    facts = forms.IntegerField(
        label="Look at the last",
        required=False,
        min_value=1,
        max_value=MOST_LOOKED_AT,
        initial=LOOKED_AT,
        help_text=f"Facts that a look at the change asks about, 1 to {MOST_LOOKED_AT}.",
    )

    def __init__(self, data: Any = None, *, initial: Mapping[str, Any], targets: Iterable[str]) -> None:
        """Offer the targets that there are."""
        super().__init__(data, initial=initial)
        self.fields["target"].choices = [("", "none"), *((name, name) for name in sorted(targets))]

    def of_rule(self) -> list[forms.BoundField]:
        """Return the fields that say what the rule does, and how many facts a look asks about."""
        return [field for field in self.visible_fields() if field.name != "note"]


#: What the history calls the fields.
_LABELS = {
    name: RuleForm.base_fields[name].label or name.replace("_", " ").capitalize()
    for name in ("category", "threshold", "kind", "notice_to", "target", "enabled")
}


class ActionRuleAdmin(GovernedAdmin):
    """What is done about which facts; open to administrators of the account."""

    list_title = "Action rules"

    def get_urls(self) -> list[URLPattern]:
        """Add the addresses of the editor."""
        view = self.admin_site.admin_view
        return [
            path("new/", view(self.add_rule), name="action_rule_new"),
            path("rule/<slug:key>/", view(self.edit), name="action_rule_edit"),
            *super().get_urls(),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the rules that hold, built in or the account's own."""
        self._require(request)
        names = _target_names(request)
        found = rules.rules_of(request.principal.account_id)
        context = self.context(
            request,
            title=self.title_of_list,
            opts=None,
            rules=[(rule, _told(rule, names), reverse("admin:action_rule_edit", args=[rule.key])) for rule in found],
            built_in=all(rule.version == 0 for rule in found),
            has_ops=targets.OPS in names.values(),
        )
        return TemplateResponse(request, "memory/action_rules.html", context)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Lead from a row to its editor."""
        row: ActionRule = self.get_or_404(request, object_id)
        return redirect(reverse("admin:action_rule_edit", args=[row.key]))

    def edit(self, request: HttpRequest, key: str) -> HttpResponse:
        """Show one rule; look at a change, or make it."""
        self._require(request)
        rule = next((rule for rule in rules.rules_of(request.principal.account_id) if rule.key == key), None)
        if rule is None:
            raise Http404
        return self._form(request, rule)

    def add_rule(self, request: HttpRequest) -> HttpResponse:
        """Look at what a further rule would do, or add it."""
        self._require(request)
        return self._form(request, None)

    def _form(self, request: HttpRequest, rule: Rule | None) -> HttpResponse:
        names = _target_names(request)
        earlier = _earlier(request, rule, names)
        form = RuleForm(request.POST or None, initial={**_initial(rule, names), **earlier}, targets=names.values())
        looks: list[Look] | None = None
        if request.method == "POST" and form.is_valid():
            try:
                looks = _carry_out(request, form, rule)
            except DomainError as error:
                form.add_error(error.field if error.field in form.fields else None, error.message)
            else:
                if looks is None:
                    messages.success(request, "Set. It holds for facts that become current from now on.")
                    return redirect(reverse("admin:ingest_actionrule_changelist"))
        context = self.context(
            request,
            title=f"A {words(rule.category)} makes a {words(rule.kind)}" if rule else "New action rule",
            form=form,
            rule=rule,
            looks=looks,
            changed=sum(look.changes for look in looks or []),
            sets_off_now=sum(look.before for look in looks or []),
            sets_off_then=sum(look.after for look in looks or []),
            looked=_looked(request, looks or []),
            is_earlier=bool(earlier) and request.method == "GET",
            history=_history(request, rule, names) if rule else [],
            may_return=True,
            return_address="?",
        )
        return TemplateResponse(request, "memory/action_rule.html", context)

    def _require(self, request: HttpRequest) -> None:
        if not self.has_view_permission(request):
            raise PermissionDenied


def _target_names(request: HttpRequest) -> dict[uuid.UUID, str]:
    """Return what the targets of the account are called."""
    return dict(DeliveryTarget.objects.filter(account_id=request.principal.account_id).values_list("pk", "name"))


def _initial(rule: Rule | None, names: Mapping[uuid.UUID, str]) -> dict[str, Any]:
    if rule is None:
        return {"enabled": True, "threshold": 0.8}
    return {
        "expected": rule.version,
        "category": rule.category,
        "threshold": rule.threshold,
        "kind": rule.kind,
        "notice_to": rule.notice_to,
        "target": names.get(rule.target_id, ""),
        "enabled": rule.enabled,
    }


def _earlier(request: HttpRequest, rule: Rule | None, names: Mapping[uuid.UUID, str]) -> dict[str, Any]:
    """Return what an earlier change made of the rule, where the address asks for it."""
    said = rule_history.chosen(request, sort=RuleSort.ACTION_RULE, key=rule.key) if rule else {}
    return {name: _target(value, names) if name == "target" else value for name, value in said.items()}


def _history(request: HttpRequest, rule: Rule, names: Mapping[uuid.UUID, str]) -> list[Entry]:
    def show(name: str, value: Any) -> str:
        match name:
            case "target":
                return _target(value, names) or "none"
            case "enabled":
                return "yes" if value else "no"
            case "kind" | "notice_to" | "category":
                return dict(RuleForm.base_fields[name].choices).get(value, words(str(value)))
        return str(value)

    changes = rule_changes.history(request.principal.account_id, sort=RuleSort.ACTION_RULE, key=rule.key)
    return rule_history.entries(changes[: rule_history.SHOWN], labels=_LABELS, show=show)


def _target(stored: str | None, names: Mapping[uuid.UUID, str]) -> str:
    """Return what a target is called whose id a change holds; one that is gone has no name any more."""
    return names.get(uuid.UUID(stored), "") if stored else ""


def _carry_out(request: HttpRequest, form: RuleForm, rule: Rule | None) -> list[Look] | None:
    """Do what the pressed button says; return what a look shows, ``None`` when something was changed."""
    principal, given = request.principal, form.cleaned_data
    target = targets.named(principal.account_id, given["target"]) if given["target"] else None
    if given["target"] and target is None:
        raise DomainError("There is no target of that name.", code="target_not_found", field="target")
    values = RuleValues(
        category=given["category"],
        threshold=given["threshold"],
        kind=given["kind"],
        notice_to=given["notice_to"],
        target=target,
        enabled=given["enabled"],
    )
    if request.POST.get("decision") != "save":
        limit = given["facts"] or LOOKED_AT
        return rule_editing.preview(principal.account_id, key=rule.key if rule else "", values=values, limit=limit)
    if rule is None:
        rule_editing.add_rule(principal, values=values, note=given["note"])
    else:
        known = given["expected"] or 0
        rule_editing.change_rule(principal, key=rule.key, values=values, expected_version=known, note=given["note"])
    return None


def _looked(request: HttpRequest, looks: list[Look]) -> list[tuple[Look, str | None]]:
    """Return the looks to show, those that change first, with the words that this person may read."""
    shown = sorted(looks, key=lambda look: not look.changes)[:SHOWN]
    listed = of(request).facts().filter(pk__in=[look.fact.pk for look in shown], readable=True)
    readable = dict(listed.values_list("pk", "statement"))
    return [(look, readable.get(look.fact.pk)) for look in shown]


def _told(rule: Rule, names: dict[Any, str]) -> str:
    """Say who is told by a rule."""
    if rule.notice_to == NoticeTo.TARGET:
        return names.get(rule.target_id, "–")
    return NoticeTo(rule.notice_to).label
