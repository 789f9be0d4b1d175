"""A record in words: every field of it as people write it, for the pages that show records as they are."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from django.contrib.admin.helpers import AdminForm
from django.contrib.admin.utils import label_for_field, lookup_field
from django.core.exceptions import ObjectDoesNotExist
from django.db.models import Field, Model
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html, linebreaks
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import capfirst

from memory_site.admin_pages.fact_display import actor_name, instant, plain, words
from memory_site.admin_pages.texts import isolated

#: What stands where there is nothing.
NOTHING = mark_safe("–")


def rows(adminform: AdminForm, record: Model) -> Iterator[tuple[str, SafeString | str]]:
    """Yield the fields that a page shows of a record, each with its label, in their order."""
    page = adminform.model_admin
    names = getattr(page, "labels", {})
    for fieldset in adminform:
        for line in fieldset:
            for field in line:
                name = field.field["field"]
                label = names.get(name) or label_for_field(name, type(record), page)
                yield capfirst(label), _value(name, record, page)


def _value(name: str, record: Model, page: Any) -> SafeString | str:
    try:
        field, _, value = lookup_field(name, record, page)
    except (AttributeError, ValueError, ObjectDoesNotExist):
        return NOTHING
    if value is None or value == "":
        return NOTHING
    if field is not None and field.choices:
        return str(dict(field.flatchoices).get(value, value))
    if field is not None and field.remote_field is not None:
        return _linked(field, value, getattr(record, field.name))
    return _written(value)


def _linked(field: Field, key: Any, related: Model | None) -> SafeString:
    """Return a related record by its name, as a link where there is a page of it."""
    name = isolated(str(getattr(related, "display_name", "") or related))
    options = field.related_model._meta
    try:
        address = reverse(f"admin:{options.app_label}_{options.model_name}_change", args=[related.pk])
    except NoReverseMatch:
        return name
    return format_html('<a href="{}">{}</a>', address, name)


def _written(value: Any) -> SafeString | str:
    match value:
        case SafeString():
            return value
        case bool():
            return "yes" if value else "no"
        case datetime():
            return instant(value)
        case uuid.UUID():
            return format_html("<code>{}</code>", value)
        case {"kind": str(), "name": str()}:
            return isolated(actor_name(value))
        case Mapping() | list() if not value:
            return NOTHING
        case list() if all(isinstance(one, str) for one in value):
            return ", ".join(map(words, value))
        case Mapping():
            told = {words(str(name)): one for name, one in value.items() if one not in (None, "", [], {})}
            return isolated(plain(told)) if told else NOTHING
        case list():
            return isolated(plain(value))
        case str() if "\n" in value:
            return mark_safe(linebreaks(value, autoescape=True))  # noqa: S308 escaped by itself
    return isolated(value)
