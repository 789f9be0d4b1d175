"""What the readable copy of everything about a person needs: telling sorts of values apart."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django import template

register = template.Library()


@register.filter
def shape(value: object) -> str:
    """How a value is written: ``pairs``, ``list``, ``instant``, or ``text`` for everything else."""
    match value:
        case Mapping():
            return "pairs"
        case list() | tuple():
            return "list"
        case datetime():
            return "instant"
    return "text"
