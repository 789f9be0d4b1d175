"""The audit trail of one object: what the chain says of it and of what was decided about it, without any text."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Model, Q

from facts.models import Account, AuditEntry, ConflictMember, ConflictSet, Event, Fact, Membership, ScopeLink, Subject
from governance.models import ApiKey, Consent, ForgetReceipt, GateRule, Leaving, Promotion, RetentionRule, Review
from memory_site.admin_pages.fact_display import plain, words
from retrieval.models import RetrievalProfile

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
#: Entries shown, the newest; and things of one sort whose entries are looked up along with those of a subject.
SHOWN, LOOKED_UP = 200, 2_000

#: What the chain calls the records that it has entries of.
KINDS: dict[type[Model], str] = {
    Account: "account",
    ApiKey: "api_key",
    ConflictSet: "conflict_set",
    Consent: "consent",
    Event: "event",
    Fact: "fact",
    ForgetReceipt: "forget_receipt",
    GateRule: "gate_rule",
    Leaving: "leaving",
    Membership: "membership",
    Promotion: "promotion",
    RetentionRule: "retention_rule",
    RetrievalProfile: "retrieval_profile",
    Review: "review",
    ScopeLink: "scope_link",
    Subject: "subject",
}
_MODELS: dict[str, type[Model]] = {kind: model for model, kind in KINDS.items()}
#: Records that have a page of their own.
PAGES = frozenset(
    {
        "account",
        "api_key",
        "conflict_set",
        "consent",
        "event",
        "fact",
        "forget_receipt",
        "leaving",
        "retrieval_profile",
        "review",
        "subject",
    }
)


@dataclass(frozen=True, slots=True)
class Line:
    """One entry; ``page`` is the name of the page of the object it is about, or empty."""

    entry: AuditEntry
    page: str
    details: str


def is_known(kind: str) -> bool:
    """Tell whether there are records of this kind."""
    return kind in _MODELS


def lines(account_id: uuid.UUID, kind: str, pk: uuid.UUID) -> list[Line]:
    """Return the newest entries about an object and what belongs to it, newest first; in at most eight queries."""
    wanted = Q(object_type=kind, object_id=str(pk))
    for other, ids in _belonging(account_id, kind, pk):
        wanted |= Q(object_type=other, object_id__in=[str(one) for one in ids])
    entries = AuditEntry.objects.filter(wanted, account_id=account_id).order_by("-seq")[:SHOWN]
    return [Line(entry, page_of(entry.object_type), details(entry.metadata)) for entry in entries]


def _belonging(account_id: uuid.UUID, kind: str, pk: uuid.UUID) -> Iterable[tuple[str, list[uuid.UUID]]]:
    find = _ALONG.get(kind)
    return find(account_id, pk) if find else ()


def _of_facts(account_id: uuid.UUID, facts: list[uuid.UUID]) -> Iterable[tuple[str, list[uuid.UUID]]]:
    """Yield what was asked and decided about facts."""
    owned = {"account_id": account_id, "fact_id__in": facts}
    for kind, model in (("review", Review), ("consent", Consent), ("promotion", Promotion)):
        yield kind, list(model.objects.filter(**owned).order_by("-pk").values_list("pk", flat=True)[:LOOKED_UP])
    sets = ConflictMember.objects.filter(**owned).order_by("-conflict_set_id").values_list("conflict_set_id", flat=True)
    yield "conflict_set", list(sets.distinct()[:LOOKED_UP])


def _of_fact(account_id: uuid.UUID, pk: uuid.UUID) -> Iterable[tuple[str, list[uuid.UUID]]]:
    return _of_facts(account_id, [pk])


def _of_subject(account_id: uuid.UUID, pk: uuid.UUID) -> Iterable[tuple[str, list[uuid.UUID]]]:
    owned = {"account_id": account_id, "subject_id": pk}
    facts = list(Fact.objects.filter(**owned).order_by("-pk").values_list("pk", flat=True)[:LOOKED_UP])
    yield "fact", facts
    yield from _of_facts(account_id, facts)
    receipts = ForgetReceipt.objects.filter(account_id=account_id, target="subject", target_id=pk)
    yield "forget_receipt", list(receipts.values_list("pk", flat=True)[:LOOKED_UP])


def _of_review(account_id: uuid.UUID, pk: uuid.UUID) -> Iterable[tuple[str, list[uuid.UUID]]]:
    review = Review.objects.filter(account_id=account_id, pk=pk).first()
    if review is not None and review.fact_id is not None:
        yield "fact", [review.fact_id]


_ALONG: dict[str, Callable[[uuid.UUID, uuid.UUID], Iterable[tuple[str, list[uuid.UUID]]]]] = {
    "fact": _of_fact,
    "subject": _of_subject,
    "review": _of_review,
}


def page_of(kind: str) -> str:
    """Return the name of the page of records of this kind, or ``""`` where they have none."""
    if kind not in PAGES:
        return ""
    options = _MODELS[kind]._meta
    return f"admin:{options.app_label}_{options.model_name}_change"


def details(metadata: dict[str, Any]) -> str:
    """Return ids, states and counts as one line; ids by their end, which tells those of one time apart."""
    told = [f"{words(name)} {_told(value)}" for name, value in sorted(metadata.items()) if value not in ("", None)]
    return ", ".join(told)


def short(text: object) -> str:
    """Return ids in a text by their ends, and the rest as it is."""
    return _ID.sub(lambda found: f"…{found[0][-8:]}", str(text))


def _told(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return short(plain(value))
