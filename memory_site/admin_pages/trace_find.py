"""Finding reads in the trace browser: one form beside the list, whose fields hold together and stay in the address."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.dateparse import parse_date

from memory_site.admin_pages.fact_display import words
from memory_site.admin_pages.governed import subjects_called
from retrieval.context.packet import EmptyReason, PacketStatus
from retrieval.models import Trace, TraceKind
from retrieval.traces import finding
from retrieval.traces.finding import Stretch, Wanted
from retrieval.traces.reasons import MEANING

#: Fields of the form, by the name of their parameter.
FIELDS = (
    "from",
    "to",
    "scope",
    "subject",
    "purpose",
    "by",
    "fact",
    "reason",
    "kind",
    "served",
    "status",
    "empty",
)
#: Where an earlier look was cut off; no field of the form.
BEFORE = "before"
_SERVED = (("facts", "some facts"), ("nothing", "nothing"), ("withheld", "something was withheld"))


class FindReads(admin.ListFilter):
    """The form, what was typed into it, and the stretch of reads that is looked through."""

    title = "reads"
    template = "memory/filter_reads.html"
    #: Not kept with a view, and not for the next visit.
    momentary = (BEFORE,)

    def __init__(self, request: HttpRequest, params: dict[str, list[str]], model: type[Model], page: Any) -> None:
        """Take the parameters out of those that the list still has to make sense of."""
        super().__init__(request, params, model, page)
        values = {name: params.pop(name, [""])[-1].replace("\x00", "").strip() for name in (*FIELDS, BEFORE)}
        self.typed = {name: value for name, value in values.items() if value}
        self.used_parameters.update(self.typed)
        self.account_id = request.principal.account_id if request.principal else None
        self.problem = ""
        self.wanted = self._wanted()

    def has_output(self) -> bool:
        """Always there."""
        return True

    def expected_parameters(self) -> list[str]:
        """Return the parameters that belong to this form."""
        return [*FIELDS, BEFORE]

    def choices(self, changelist: ChangeList) -> Iterator[dict[str, Any]]:
        """Return the one entry of which the template makes a form."""
        yield {
            "typed": {name: self.typed.get(name, "") for name in FIELDS},
            "problem": self.problem,
            "kinds": [(kind.value, words(kind.value)) for kind in TraceKind],
            "statuses": [(status.value, words(status.value)) for status in PacketStatus],
            "empty_reasons": [(reason.value, words(reason.value)) for reason in EmptyReason],
            "reasons": [(reason.value, f"{action.value}: {words(reason.value)}") for reason, (action, _) in _ORDERED],
            "served_choices": _SERVED,
        }

    def queryset(self, request: HttpRequest, queryset: QuerySet[Trace]) -> QuerySet[Trace]:
        """Keep what was asked for, in the stretch that is looked through."""
        if self.problem or self.account_id is None:
            return queryset.none()
        found = finding.among(queryset, self.stretch, self.wanted)
        if self.typed.get("subject"):
            found = found.filter(subject__in=subjects_called(request, self.typed["subject"]))
        return found

    @cached_property
    def stretch(self) -> Stretch:
        """The reads that are looked through."""
        return finding.stretch(self.account_id, self.wanted)

    @property
    def further_back(self) -> str:
        """The address of the reads before these, by the same fields."""
        kept = {name: value for name, value in self.typed.items() if name in FIELDS and name != "to"}
        if not self.stretch.is_cut:
            kept.pop("from", None)
        return "?" + urlencode({**kept, BEFORE: str(self.stretch.floor)})

    @property
    def newest(self) -> str:
        """The address of the newest reads, by the same fields."""
        return "?" + (urlencode({name: value for name, value in self.typed.items() if name in FIELDS}) or "_all")

    def _wanted(self) -> Wanted:
        """Return what was typed as what is looked for; what cannot be read is said in ``problem``."""
        typed = self.typed
        until = self._day("to")
        return Wanted(
            since=self._day("from"),
            until=until + timedelta(days=1) if until else None,
            before=self._id(BEFORE, "That is no place in the list."),
            kind=typed.get("kind", ""),
            scope=typed.get("scope", ""),
            purpose=typed.get("purpose", ""),
            by=typed.get("by", ""),
            status=typed.get("status", ""),
            served=typed.get("served", ""),
            empty_reason=typed.get("empty", ""),
            reason=typed.get("reason", ""),
            fact_id=self._id("fact", "A fact is named by its id, such as its page shows it."),
        )

    def _day(self, name: str) -> datetime | None:
        if name not in self.typed:
            return None
        try:
            day = parse_date(self.typed[name])
        except ValueError:
            day = None
        if day is None or day.year < _EARLIEST:
            self.problem = "A day is written like 2025-03-31."
            return None
        return datetime.combine(day, time(), tzinfo=UTC)

    def _id(self, name: str, problem: str) -> uuid.UUID | None:
        if name not in self.typed:
            return None
        try:
            return uuid.UUID(self.typed[name])
        except ValueError:
            self.problem = problem
            return None


#: Ids carry times since 1970.
_EARLIEST = 1971
_ORDERED = sorted(MEANING.items(), key=lambda item: (item[1][0].value, item[0].value))
