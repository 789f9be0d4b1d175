"""The forms in which the gate matrix is looked at and changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from facts.models.tenancy import GatePreset
from facts.vocabulary import Level, Sensitivity
from governance.gating.gate_preview import LOOKED_AT, MOST_LOOKED_AT
from governance.gating.gate_rules import (
    MOST_CORROBORATION,
    MOST_DUE_DAYS,
    MOST_REVALIDATION_DAYS,
    CellValues,
    MatrixRow,
)
from governance.models.rule_changes import NOTE_LENGTH
from memory_site.admin_pages.gate_words import EVIDENCE, GATE_A, GATE_B

#: What a form says of the reason.
WHY = "Kept in the history. Needed to set or remove."


class CellForm(forms.Form):
    """What one cell says, and the change that it is made from."""

    expected = forms.UUIDField(required=False, widget=forms.HiddenInput)
    gate_a = forms.ChoiceField(
        label="Gate A: is it worth keeping?", choices=list(GATE_A.items()), help_text="What happens without a person."
    )
    gate_b = forms.ChoiceField(
        label="Gate B: how widely may it be seen?",
        choices=list(GATE_B.items()),
        help_text="Restricted facts always wait, and so does what lacks its subject's consent.",
    )
    minimum_evidence_level = forms.ChoiceField(
        label="Kept by itself if", choices=list(EVIDENCE.items()), help_text="Anything less waits for a person."
    )
    minimum_corroboration = forms.IntegerField(
        label="Human sources needed",
        min_value=0,
        max_value=MOST_CORROBORATION,
        help_text=f"0 to {MOST_CORROBORATION}; with fewer it waits. Pages and searches have none.",
    )
    revalidate_after_days = forms.IntegerField(
        label="Asked about again after",
        required=False,
        min_value=1,
        max_value=MOST_REVALIDATION_DAYS,
        help_text=f"Days, 1 to {MOST_REVALIDATION_DAYS}; empty: never.",
    )
    review_due_days = forms.IntegerField(
        label="A review is due after", min_value=1, max_value=MOST_DUE_DAYS, help_text=f"Days, 1 to {MOST_DUE_DAYS}."
    )
    facts = forms.IntegerField(
        label="Look at the last",
        required=False,
        min_value=1,
        max_value=MOST_LOOKED_AT,
        initial=LOOKED_AT,
        help_text=f"Facts that a look at the change asks about, 1 to {MOST_LOOKED_AT}.",
    )

    note = forms.CharField(label="Why", required=False, max_length=NOTE_LENGTH, help_text=WHY)

    def __init__(self, data: Any = None, *, row: MatrixRow, earlier: Mapping[str, Any]) -> None:
        """Show what holds now, wherever it comes from, or what held ``earlier`` where that is asked for."""
        held = row.own or row.about_others
        initial = {name: earlier.get(name, getattr(held, name)) for name in CellValues.__dataclass_fields__}
        super().__init__(data, initial={**initial, "expected": row.own.change_id if row.own else None})

    def cell_fields(self) -> list[forms.BoundField]:
        """Return the fields of the cell itself, in their order."""
        return [self[name] for name in CellValues.__dataclass_fields__]

    @property
    def values(self) -> dict[str, Any]:
        """What was typed; valid forms only."""
        return {name: self.cleaned_data[name] for name in CellValues.__dataclass_fields__}


class PlaceForm(forms.Form):
    """For which scope the matrix is looked at."""

    scope = forms.CharField(
        required=False, max_length=512, help_text="Path of a scope, such as /support; empty: the whole account."
    )


class CellAddressForm(PlaceForm):
    """Which cell is looked at."""

    level = forms.ChoiceField(choices=Level.choices)
    sensitivity = forms.ChoiceField(choices=Sensitivity.choices)


class DefaultsForm(forms.Form):
    """What holds where no rule is set."""

    expected_preset = forms.ChoiceField(choices=GatePreset.choices, widget=forms.HiddenInput)
    expected_percent = forms.IntegerField(widget=forms.HiddenInput)
    preset = forms.ChoiceField(
        choices=GatePreset.choices,
        help_text="Balanced: what stays close becomes current by itself. Reviewed: people decide everything. "
        "Open: all but restricted facts, where consent allows.",
    )
    second_look_percent = forms.IntegerField(
        label="Second look, in percent",
        min_value=0,
        max_value=100,
        help_text="So many of a hundred facts that the gates placed by themselves are shown to a person afterwards.",
    )
    note = forms.CharField(label="Why", required=False, max_length=NOTE_LENGTH, help_text=WHY)
