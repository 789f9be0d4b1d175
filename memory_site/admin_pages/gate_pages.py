"""The gate matrix: what holds for any scope and why, a look at what a change would do, and the change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_POST

from facts.errors import DomainError
from facts.models import Scope
from facts.tenancy import get_scope
from facts.vocabulary import Level
from governance import rule_changes
from governance.gating import gate_preview, gate_rules
from governance.gating.gate_preview import LOOKED_AT, Preview
from governance.gating.gate_rules import CellValues, MatrixRow
from governance.gating.gates import Cell
from governance.models import RuleSort
from memory_site.admin_pages import gate_words, rule_history
from memory_site.admin_pages.fact_display import words
from memory_site.admin_pages.gate_form import CellAddressForm, CellForm, DefaultsForm, PlaceForm
from memory_site.admin_pages.gate_words import EVIDENCE, GATE_A, GATE_B, NOT_KNOWN
from memory_site.admin_pages.governed import GovernedAdmin
from memory_site.admin_pages.rule_history import Entry
from memory_site.admin_pages.sight import of

#: Facts of a look that are shown with their words; the counts are of all.
SHOWN = 50
_WORDS = {"gate_a": GATE_A, "gate_b": GATE_B, "minimum_evidence_level": EVIDENCE}
#: What the history calls the fields.
_LABELS = {
    RuleSort.GATE_RULE: {name: CellForm.base_fields[name].label for name in CellValues.__dataclass_fields__},
    RuleSort.GATE_DEFAULTS: {"preset": "Preset", "second_look_percent": "Second look, in percent"},
}


@dataclass(frozen=True, slots=True)
class Shown:
    """One cell in words: whom it is about ("" for everything), what it says, and where that comes from."""

    about: str
    gate_a: str
    gate_b: str
    needs: str
    again: str
    due: str
    origin: str
    origin_path: str


class GateRuleAdmin(GovernedAdmin):
    """The gate matrix of the account; open to its administrators."""

    list_title = "Gate rules"

    def get_urls(self) -> list[URLPattern]:
        """Add the addresses of the editor."""
        view = self.admin_site.admin_view
        return [
            path("cell/", view(self.edit), name="gate_cell"),
            path("defaults/", view(require_POST(self.set_defaults)), name="gate_defaults"),
            *super().get_urls(),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show what holds for the scope that the address names, or for the whole account."""
        self._require(request)
        account = request.account
        held = {"preset": account.gate_preset, "second_look_percent": account.second_look_percent}
        expected = {"expected_preset": held["preset"], "expected_percent": held["second_look_percent"]}
        earlier = rule_history.chosen(request, sort=RuleSort.GATE_DEFAULTS, key=gate_rules.DEFAULTS)
        return self._matrix(request, DefaultsForm(initial={**held, **earlier, **expected}))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Lead from a rule to its cell."""
        rule = self.get_or_404(request, object_id)
        return redirect(_cell_address(rule.scope, rule.level, rule.sensitivity))

    def set_defaults(self, request: HttpRequest) -> HttpResponse:
        """Look at what another preset would do, or choose it and the share of second looks."""
        self._require(request)
        form = DefaultsForm(request.POST)
        look = None
        if form.is_valid():
            try:
                if request.POST.get("decision") == "look":
                    look = gate_preview.preview_preset(request.principal, preset=form.cleaned_data["preset"])
                else:
                    gate_rules.set_defaults(request.principal, **form.cleaned_data)
            except DomainError as error:
                form.add_error(error.field if error.field in form.fields else None, error.message)
            else:
                if look is None:
                    messages.success(request, "Set. It holds for what is proposed from now on.")
                    return redirect(_matrix_address(None))
        return self._matrix(request, form, look=look)

    def edit(self, request: HttpRequest) -> HttpResponse:
        """Show one cell; look at a change, make it, or take the rule away."""
        self._require(request)
        asked = CellAddressForm(request.GET)
        scope = _scope(request, asked)
        level, sensitivity = asked.cleaned_data["level"], asked.cleaned_data["sensitivity"]
        row = gate_rules.cell_at(request.principal.account_id, scope=scope, level=level, sensitivity=sensitivity)
        key = gate_rules.cell_key(scope.pk if scope else None, level, sensitivity)
        earlier = rule_history.chosen(request, sort=RuleSort.GATE_RULE, key=key)
        form = CellForm(request.POST or None, row=row, earlier=earlier)
        look = None
        if request.method == "POST" and form.is_valid():
            try:
                look = _carry_out(request, form, scope, level, sensitivity)
            except DomainError as error:
                form.add_error(error.field if error.field in form.fields else None, error.message)
            else:
                if look is None:
                    return redirect(_matrix_address(scope))
        context = self.context(
            request,
            title=f"Gate rule: {level}, {sensitivity}",
            scope=scope,
            row=row,
            cells=_shown(row),
            matrix_address=_matrix_address(scope),
            form=form,
            is_earlier=bool(earlier) and request.method == "GET",
            **_look(request, look),
            history=_history(request, RuleSort.GATE_RULE, key=key),
            may_return=True,
            return_address=f"{_cell_address(scope, level, sensitivity)}&",
        )
        return TemplateResponse(request, "memory/gate_cell.html", context)

    def _matrix(self, request: HttpRequest, defaults: DefaultsForm, *, look: Preview | None = None) -> HttpResponse:
        place = PlaceForm(request.GET)
        scope = _scope(request, place)
        rows = gate_rules.matrix(request.principal.account_id, scope=scope)
        rules = self.get_queryset(request).select_related("scope").order_by("scope__path", "level", "sensitivity")
        context = self.context(
            request,
            title=self.title_of_list,
            opts=None,
            scope=scope,
            place=place,
            levels=[
                (level, [(row, _shown(row), _cell_address(scope, *_cell(row))) for row in rows if row.level == level])
                for level in Level.values
            ],
            rules=[(rule, _cell_address(rule.scope, rule.level, rule.sensitivity)) for rule in rules[:200]],
            defaults=defaults,
            **_look(request, look),
            history=_history(request, RuleSort.GATE_DEFAULTS, key=gate_rules.DEFAULTS),
            may_return=True,
            return_address=f"{_matrix_address(None)}?",
        )
        return TemplateResponse(request, "memory/gate_matrix.html", context)

    def _require(self, request: HttpRequest) -> None:
        if not self.has_view_permission(request):
            raise PermissionDenied


def _carry_out(
    request: HttpRequest, form: CellForm, scope: Scope | None, level: str, sensitivity: str
) -> Preview | None:
    """Do what the pressed button says; return what a look shows, ``None`` when something was changed."""
    what = {"scope": scope, "level": level, "sensitivity": sensitivity}
    change = {"expected": form.cleaned_data["expected"], "note": form.cleaned_data["note"]}
    match request.POST.get("decision"):
        case "save":
            gate_rules.set_cell(request.principal, **what, values=form.values, **change)
            messages.success(request, "Set. It holds for what is proposed from now on.")
        case "remove":
            gate_rules.remove_cell(request.principal, **what, **change)
            messages.success(request, "The rule is gone: what is next upwards holds.")
        case "look_without":
            return gate_preview.preview(request.principal, **what, values=None, limit=_limit(form))
        case _:
            return gate_preview.preview(request.principal, **what, values=form.values, limit=_limit(form))
    return None


def _limit(form: CellForm) -> int:
    return form.cleaned_data["facts"] or LOOKED_AT


def _look(request: HttpRequest, look: Preview | None) -> dict[str, Any]:
    """Return what the template shows of a look: its outcomes, and how many facts would turn from what to what."""
    turns = [(*turn, count) for turn, count in sorted(look.counts.items()) if turn[0] != turn[1]] if look else []
    return {"look": look, "looked": _looked(request, look) if look else [], "turns": turns}


def _history(request: HttpRequest, sort: RuleSort, *, key: str) -> list[Entry]:
    changes = rule_changes.history(request.principal.account_id, sort=sort, key=key)[: rule_history.SHOWN]
    return rule_history.entries(changes, labels=_LABELS[sort], show=_value)


def _value(name: str, value: Any) -> str:
    """Return what a field said, as the form calls it."""
    if name in _WORDS:
        return _WORDS[name].get(value, "not understood")
    if value is None:
        return "never"
    return words(value) if isinstance(value, str) else f"{value} days" if name.endswith("_days") else str(value)


def _looked(request: HttpRequest, look: Preview) -> list[tuple[gate_preview.Outcome, str | None]]:
    """Return the outcomes to show, those that change first, with the words that this person may read."""
    outcomes = sorted(look.outcomes, key=lambda outcome: not outcome.changes)[:SHOWN]
    listed = of(request).facts().filter(pk__in=[outcome.fact.pk for outcome in outcomes], readable=True)
    readable = dict(listed.values_list("pk", "statement"))
    return [(outcome, readable.get(outcome.fact.pk)) for outcome in outcomes]


def _shown(row: MatrixRow) -> list[Shown]:
    if row.is_one:
        return [_in_words(row.about_persons, "")]
    return [_in_words(row.about_persons, "persons"), _in_words(row.about_others, "anything else")]


def _in_words(cell: Cell, about: str) -> Shown:
    days = cell.revalidate_after_days
    return Shown(
        about=about,
        gate_a=GATE_A.get(cell.gate_a, NOT_KNOWN),
        gate_b=GATE_B.get(cell.gate_b, NOT_KNOWN),
        needs=gate_words.needs(cell.minimum_evidence_level, cell.minimum_corroboration),
        again="never" if days is None else f"after {days} days",
        due=f"{cell.review_due_days} days",
        origin=gate_words.origin(cell.origin),
        origin_path=cell.origin if cell.origin.startswith("/") else "",
    )


def _scope(request: HttpRequest, asked: PlaceForm) -> Scope | None:
    """Return the scope that the address names, ``None`` for the whole account; 404 for what does not exist."""
    if not asked.is_valid():
        raise Http404
    text = asked.cleaned_data["scope"].strip()
    if not text:
        return None
    try:
        scope = get_scope(request.principal.account_id, text)
    except DomainError:
        scope = None
    if scope is None:
        raise Http404
    return scope


def _cell(row: MatrixRow) -> tuple[str, str]:
    return row.level, row.sensitivity


def _cell_address(scope: Scope | None, level: str, sensitivity: str) -> str:
    query = {"level": level, "sensitivity": sensitivity, **({"scope": scope.path} if scope else {})}
    return f"{reverse('admin:gate_cell')}?{urlencode(query)}"


def _matrix_address(scope: Scope | None) -> str:
    query = f"?{urlencode({'scope': scope.path})}" if scope else ""
    return reverse("admin:governance_gaterule_changelist") + query
