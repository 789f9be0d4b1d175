"""The form in which an override of a retrieval profile is edited: a field for every setting, empty: as built in."""

from __future__ import annotations

from typing import Any

from django import forms

from retrieval.models import ProfileName, RetrievalProfile
from retrieval.profiles import profile_settings
from retrieval.profiles.profile_settings import Setting
from retrieval.profiles.profile_versions import NOTE_LENGTH


class OverrideForm(forms.Form):
    """The settings of one profile, the reason of the change, and the version that it is made from."""

    expected = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, data: Any = None, *, name: str, active: RetrievalProfile | None) -> None:
        """Show what holds now; a blank field stays as built in."""
        values = active.settings if active else {}
        super().__init__(data, initial={**values, "expected": active.version if active else None})
        built_in = profile_settings.built_in(name)
        self.keys = list(profile_settings.settings_of(name))
        for key, setting in profile_settings.settings_of(name).items():
            self.fields[key] = _field(setting, built_in[key])
        self.fields["note"] = forms.CharField(
            label="Why", required=False, max_length=NOTE_LENGTH, help_text="Kept in the history. Needed to save."
        )

    def setting_fields(self) -> list[forms.BoundField]:
        """Return the fields of the settings, in the order of the table."""
        return [self[key] for key in self.keys]

    @property
    def settings(self) -> dict[str, float | int]:
        """What was typed; valid forms only."""
        return {key: self.cleaned_data[key] for key in self.keys if self.cleaned_data[key] is not None}


def _field(setting: Setting, built_in: float | int | None) -> forms.Field:
    default = "the operator's setting" if built_in is None else f"{built_in:g}"
    bounds = f"{setting.least:g} to {setting.most:g}; built in: {default}."
    kind = forms.IntegerField if setting.whole else forms.FloatField
    widget = forms.NumberInput(
        attrs={"placeholder": "" if built_in is None else default, "step": 1 if setting.whole else "any"}
    )
    return kind(
        label=setting.label,
        required=False,
        min_value=int(setting.least) if setting.whole else setting.least,
        max_value=int(setting.most) if setting.whole else setting.most,
        help_text=f"{setting.help} {bounds}",
        widget=widget,
    )


class NewOverrideForm(forms.Form):
    """Which profile is to be overridden where."""

    name = forms.ChoiceField(
        label="Profile", choices=[(name.value, name.value) for name in ProfileName if name != ProfileName.MINIMAL]
    )
    scope = forms.CharField(
        required=False, max_length=512, help_text="Path of a scope, such as /support; empty: the whole account."
    )


class StoredQueryForm(forms.Form):
    """A question to keep."""

    query = forms.CharField(max_length=8_000, help_text="What is asked.")
    scope = forms.CharField(max_length=512, initial="/", help_text="Path of the scope that it is asked in.")
    subject = forms.CharField(required=False, max_length=200, help_text="Key of whom it is about; empty: anybody.")
