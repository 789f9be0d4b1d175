"""Which messages a signed-in person may read in the admin."""

from __future__ import annotations

import pytest

from facts.clock import now
from facts.models import Account, Passage, Subject
from facts.models.evidence import Withheld
from facts.vocabulary import Sensitivity
from governance.access import Principal
from governance.models import Role
from memory_site.admin_pages import threads
from memory_site.admin_pages.sight import Sight
from tests.factories import FactFactory, SubjectFactory, maker_of, person_in, say, submit


@pytest.fixture
def ana(account: Account) -> Subject:
    return SubjectFactory(account=account)


def _read(principal: Principal) -> list[str]:
    return [event.text for event in Sight(principal).events().order_by("id")]


@pytest.mark.parametrize(
    ("sensitivity", "reader", "granted_reader", "curator", "granted_curator"),
    [
        (Sensitivity.PUBLIC, True, True, True, True),
        (Sensitivity.INTERNAL, True, True, True, True),
        (Sensitivity.PERSONAL, False, False, True, True),
        (Sensitivity.RESTRICTED, False, True, False, True),
    ],
)
def test_a_message_is_read_by_those_who_may_see_what_became_of_it(
    account: Account,
    ana: Subject,
    sensitivity: str,
    reader: bool,
    granted_reader: bool,
    curator: bool,
    granted_curator: bool,
) -> None:
    FactFactory(subject=ana, event=say(ana, "asthma", sensitivity=Sensitivity.INTERNAL), sensitivity=sensitivity)
    assert _read(person_in(account, role=Role.READER)) == ["asthma"] * reader
    assert _read(person_in(account, role=Role.READER, restricted=True)) == ["asthma"] * granted_reader
    assert _read(person_in(account)) == ["asthma"] * curator
    assert _read(person_in(account, restricted=True)) == ["asthma"] * granted_curator


def test_a_message_is_read_by_its_subject_and_whoever_said_it(account: Account, ana: Subject) -> None:
    speaker, subject = (person_in(account, role=Role.READER) for _ in range(2))
    about = maker_of(subject).subject
    message = say(about, "asthma", speaker=maker_of(speaker).subject, sensitivity=Sensitivity.INTERNAL)
    FactFactory(subject=about, event=message, sensitivity=Sensitivity.RESTRICTED)
    assert _read(speaker) == _read(subject) == ["asthma"]


def test_a_message_behind_a_restricted_fact_is_read_by_whoever_has_to_decide_about_it(
    account: Account, ana: Subject
) -> None:
    message = say(ana, "asthma", sensitivity=Sensitivity.INTERNAL)
    submit(ana, {"condition": "asthma"}, predicate="has_condition", event=message, sensitivity=Sensitivity.RESTRICTED)
    assert _read(person_in(account)) == ["asthma"]
    FactFactory(subject=ana, event=message, sensitivity=Sensitivity.RESTRICTED)
    assert _read(person_in(account)) == []


@pytest.mark.parametrize(
    ("state", "curator"),
    [({"withheld": Withheld.CONFLICT}, True), ({"withheld": Withheld.FORGOTTEN}, False), ({}, True)],
)
def test_withdrawn_and_withheld_messages_are_at_most_for_curators(
    account: Account, state: dict[str, str], curator: bool
) -> None:
    subject = person_in(account, role=Role.READER)
    message = say(
        maker_of(subject).subject,
        "asthma",
        sensitivity=Sensitivity.INTERNAL,
        withdrawn_at=None if state else now(),
    )
    Passage.objects.filter(event=message).update(**{"withheld": Withheld.NOTHING, **state})
    assert _read(subject) == []
    assert _read(person_in(account, role=Role.READER)) == []
    assert _read(person_in(account)) == ["asthma"] * curator


def test_an_excerpt_leaves_out_neighbours_that_became_stricter(account: Account, ana: Subject) -> None:
    thread = {"thread": "t", "sensitivity": Sensitivity.INTERNAL}
    FactFactory(subject=ana, event=say(ana, "asthma", **thread), sensitivity=Sensitivity.PERSONAL)
    say(ana, "Good morning.", **thread)
    cited = FactFactory(subject=ana, event=say(ana, "tea", **thread), sensitivity=Sensitivity.INTERNAL)
    evidence = cited.evidence.select_related("event__speaker", "event__subject")
    (excerpt,) = threads.excerpts(Sight(person_in(account, role=Role.READER)), evidence)[cited.pk]
    assert [message.parts[0].text for message in excerpt.messages] == ["Good morning.", "tea"]
