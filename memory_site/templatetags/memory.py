"""How the pages write stored text, instants and authors."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django import template
from django.contrib.admin.helpers import AdminForm
from django.db.models import Model
from django.template import Context
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timesince import timesince

from governance.models import GateDecision, Role
from memory_site.admin_pages import audit_trail, fact_display, gate_words, records, sight, texts

register = template.Library()


@register.filter
def stored(text: object) -> SafeString:
    """Stored text: escaped, isolated from what is around it, in its own direction, deceiving characters visible."""
    return texts.isolated(text)


@register.filter
def marked(parts: Sequence[texts.Part]) -> SafeString:
    """Stored text in parts, the marked ones in ``mark``."""
    inner = format_html_join("", "{}", ((_mark(part),) for part in parts))
    return format_html('<bdi dir="auto">{}</bdi>', inner)


def _mark(part: texts.Part) -> SafeString:
    text = texts.visible(part.text)
    return format_html("<mark>{}</mark>", text) if part.marked else text


@register.filter
def instant(value: datetime | None) -> SafeString:
    """An instant: date and minute, UTC, readable by machines too."""
    return fact_display.instant(value)


@register.filter
def age(value: datetime | None) -> str:
    """How long ago, in its greatest unit: ``3 days``."""
    if value is None:
        return "–"
    since = timesince(value, depth=1)
    return "under a minute" if since.startswith("0") else since


@register.filter
def span(value: timedelta) -> str:
    """How long something takes, in its greatest unit."""
    seconds = value.total_seconds()
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            count = round(seconds / size)
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return "under a minute"


@register.filter
def actor(value: dict[str, Any] | None) -> str:
    """An author: name and what sort."""
    return fact_display.actor_name(value)


@register.filter
def rule(decision: GateDecision) -> str:
    """The gate rule that a decision followed."""
    return gate_words.followed(decision.cell, decision.gate)


@register.filter
def words(code: object) -> str:
    """A code such as ``semi_trusted`` as words."""
    return fact_display.words(str(code))


@register.filter
def plain(value: object) -> str:
    """A claim's value or conditions as people write them."""
    return fact_display.plain(value)


@register.filter
def percent(value: float | None) -> str:
    """A share as a whole percentage; a dash for what was not measured."""
    return "–" if value is None else f"{round(100 * value)} %"


@register.filter
def score(value: float | None) -> str:
    """A score to three digits; a dash for what was not computed."""
    return "–" if value is None else f"{value:.3f}"


@register.simple_tag
def record_rows(adminform: AdminForm, record: Model) -> list[tuple[str, SafeString | str]]:
    """The fields of a record in words, as label and value."""
    return list(records.rows(adminform, record))


@register.inclusion_tag("memory/_audit_link.html", takes_context=True)
def audit_link(context: Context, record: Model | None) -> dict[str, str]:
    """The ways to what the audit chain says of a record, and to what was believed about it, for who may go there."""
    kind = audit_trail.KINDS.get(type(record))
    eyes = sight.of(context["request"]) if kind else None
    addresses = {"audit_address": "", "believed_address": ""}
    if eyes is not None and eyes.has_role_at_root(Role.ACCOUNT_ADMIN):
        addresses["audit_address"] = reverse("admin:audit_trail", args=[kind, record.pk])
    if eyes is not None and kind == "subject" and eyes.is_curator:
        addresses["believed_address"] = reverse("admin:believed", args=[record.pk])
    return addresses
