"""What a reader may not see changes nothing of what they are told: answers with and without it are the same."""

from __future__ import annotations

from typing import Any

import pytest

from facts.models import Account, Fact, Scope, Subject
from facts.tenancy import ensure_scope
from facts.vocabulary import Level, Sensitivity, Status, SubjectKind
from governance.access import APP_RIGHTS, Right
from retrieval import places
from retrieval.cards import marking
from retrieval.cards import rebuilding as card_rebuilding
from retrieval.entities import rebuilding as entity_rebuilding
from retrieval.text import known_names
from tests.api import Caller, caller_with_key
from tests.factories import FactFactory, IdentityFactory, SubjectFactory, say
from tests.retrieval.conftest import index_vectors

#: What differs between two equal calls.
_OF_THE_CALL = {
    "trace_id",
    "elapsed_ms",
    "budget_remaining_ms",
    "pre_rerank_remaining_ms",
    "built_at",
    "reference_time",
}
_SHARED = {"level": Level.SCOPE, "sensitivity": Sensitivity.INTERNAL}
_OPEN = {"level": Level.SCOPE, "sensitivity": Sensitivity.PUBLIC}
_TEXTS = ("Victor Hale drinks green tea with Ana at Falcon.", "Zebra Falcon of Victor Hale hates coffee.")
_QUESTIONS = ("Which tea does Ana drink?", "What does Victor Hale know about Project Falcon?", "zebra -coffee", "")
_READS: tuple[tuple[str, dict[str, Any]], ...] = (
    *(("/v1/search", {"query": query, "profile": "thorough", "include_cross_links": True}) for query in _QUESTIONS),
    *(("/v1/search", {"query": query, "as_of": "2025-06-01"}) for query in _QUESTIONS),
    *(("/v1/context", {"query": query, "render": "text", "thread": "T1"}) for query in _QUESTIONS),
    ("/v1/ask", {"query": _QUESTIONS[1], "effort": "high", "include_source_recall": True}),
    ("/v1/stable-profile", {}),
)


@pytest.mark.parametrize(
    ("rights", "who"), [(APP_RIGHTS, {"subject_id": "ana"}), ((Right.READ,), {})], ids=["a peer", "nobody"]
)
def test_what_is_hidden_changes_no_answer(
    account: Account, ana: Subject, rights: tuple[str, ...], who: dict[str, str]
) -> None:
    falcon = SubjectFactory(account=account, key="falcon", kind=SubjectKind.TOPIC, name="Project Falcon")
    vic = SubjectFactory(account=account, key="vic", name="Victor Hale")
    FactFactory(subject=ana, statement="Ana drinks green tea.", predicate="drinks", value={"value": "green tea"})
    for statement, audience in (
        ("Project Falcon ships in May with Victor Hale.", _SHARED),
        ("Victor Hale leads Project Falcon.", _SHARED),
        ("Project Falcon has a coffee budget.", _OPEN),
        ("Project Falcon is run in the open.", _OPEN),
    ):
        FactFactory(subject=falcon, statement=statement, **audience)
    say(ana, "I like green tea with Victor Hale.", thread="T1", sensitivity=Sensitivity.INTERNAL)
    caller = caller_with_key(account, rights=rights)
    before = _told(account, caller, who)
    _hide(vic, other=ensure_scope(account.id, "/sales"), below=ensure_scope(account.id, "/support/secret"))
    assert _told(account, caller, who) == before


def _hide(vic: Subject, *, other: Scope, below: Scope) -> None:
    """Store what neither Ana nor anybody may be told of Victor, in every way in which that can be."""
    ways: list[dict[str, Any]] = [
        {"sensitivity": Sensitivity.PERSONAL},
        {"sensitivity": Sensitivity.RESTRICTED, "level": Level.SCOPE},
        {"scope": other, **_SHARED},
        {"scope": below, **_SHARED},
        *(
            {"sensitivity": Sensitivity.INTERNAL, "status": status}
            for status in Status
            if status not in {Status.ACTIVE, Status.SUPERSEDED, Status.EXPIRED}
        ),
    ]
    for number, way in enumerate(ways):
        for text in _TEXTS:
            place = {"scope": way["scope"]} if "scope" in way else {}
            event = say(vic, text, thread="T1", sensitivity=Sensitivity.RESTRICTED, **place)
            FactFactory(subject=vic, statement=f"{text[:-1]}, {number}.", event=event, **way)
    IdentityFactory(subject=vic, value="kestrel")


def _told(account: Account, caller: Caller, who: dict[str, str]) -> list[Any]:
    """Return what the reads answer once the worker has seen to all indexes."""
    index_vectors(account)
    entity_rebuilding.forget()
    entity_rebuilding.keep(account.id)
    marking.mark(account.id, Fact.objects.values_list("id", flat=True))
    card_rebuilding.rebuild_due(account.id)
    known_names.forget()
    places.forget()
    return [_plain(caller.post(path, {"scope": "/support", **who, **call}).json()) for path, call in _READS]


def _plain(value: Any) -> Any:
    """Return an answer without what differs from call to call; figures that fall with age are rounded."""
    match value:
        case dict():
            return {key: _plain(item) for key, item in value.items() if key not in _OF_THE_CALL}
        case list():
            return [_plain(item) for item in value]
        case float():
            return round(value, 5)
    return value
