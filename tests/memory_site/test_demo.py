"""The demo account shows what the product is about, and loading it again changes nothing."""

from __future__ import annotations

import pytest

from facts.clock import now
from facts.models import ConflictSet, Event, Fact, Job, Membership, Passage, Subject
from facts.tenancy import account_transaction
from governance import access
from governance.models import Grant
from ingest import processing
from ingest.line import Part
from ingest.models import EventOutcome
from memory_site import demo
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db


def test_loading_again_adds_nothing() -> None:
    UserFactory(username="admin", is_superuser=True)
    account = demo.load()
    assert demo.load() == account
    with account_transaction(account.id):
        assert (Event.objects.count(), Job.objects.count()) == (40, 40)
        assert (Membership.objects.count(), Grant.objects.count()) == (1, 1)
        admin = access.person(Membership.objects.select_related("user").get())
        assert access.has_role(admin, "/support", "account_admin")
        assert sorted(Subject.objects.values_list("key", flat=True)) == ["admin", "lea", "maya", "omar", "tom", "yuki"]
        assert not Event.objects.filter(occurred_at__gt=now()).exists()


def test_an_administrator_who_comes_later_is_admitted() -> None:
    account = demo.load()
    UserFactory(username="late", is_superuser=True)
    demo.load()
    with account_transaction(account.id):
        assert Membership.objects.get().user.username == "late"


def test_the_story_has_a_contradiction_and_an_update() -> None:
    account = demo.load()
    with account_transaction(account.id):
        done = processing.drain(Part(account_id=account.id), seconds=300)
        assert done == processing.Drained(processed=40, pending=0)
        sets = ConflictSet.objects.filter(status="open").values_list("subject__name", flat=True)
        assert sorted(sets) == ["Tom Becker", "billing service"]
        old = Fact.objects.get(status="superseded", subject__key="lea")
        assert (old.predicate, old.value) == ("preferred_contact_channel", {"value": "email"})
        assert {
            "commitment",
            "blocker",
            "risk_signal",
            "deadline_mention",
            "mood_signal",
            "handoff",
            "reference",
        } <= set(Fact.objects.values_list("category", flat=True))
        assert Passage.objects.filter(evidential=False).count() == 3
        assert not EventOutcome.objects.exclude(error_class="").exists()
