"""The demo account shows what the product is about, and loading it again changes nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from facts import outbox
from facts.clock import now
from facts.models import ConflictSet, Event, Fact, Job, Membership, Passage, Subject
from facts.tenancy import account_transaction
from governance import access
from governance.models import Grant
from ingest import processing
from ingest.line import Part
from ingest.models import EventOutcome, ImportRun
from memory_site import demo
from retrieval.cards import rebuilding
from retrieval.context.assembly import ContextAnswer, ContextRequest, assemble
from retrieval.models import Card, CardKind
from tests.factories import UserFactory, key_principal

pytestmark = pytest.mark.django_db


def test_loading_again_adds_nothing() -> None:
    UserFactory(username="admin", is_superuser=True)
    account = demo.load()
    assert demo.load() == account
    with account_transaction(account.id):
        assert (Event.objects.count(), Job.objects.count()) == (124, 124)
        assert (Membership.objects.count(), Grant.objects.count()) == (1, 1)
        admin = access.person(Membership.objects.select_related("user").get())
        assert access.has_role(admin, "/slack/care", "account_admin")
        people = Subject.objects.filter(kind="person").values_list("key", flat=True)
        assert sorted(people) == ["admin", "amelie", "daniel", "ken", "noa", "sara", "youssef"]
        assert list(ImportRun.objects.order_by("id").values_list("status", "messages_done")) == [("done", 126)] * 2
        assert not Event.objects.filter(occurred_at__gt=now()).exists()


def test_an_administrator_who_comes_later_is_admitted() -> None:
    account = demo.load()
    UserFactory(username="late", is_superuser=True)
    demo.load()
    with account_transaction(account.id):
        assert Membership.objects.get().user.username == "late"


@pytest.mark.parametrize(
    ("at", "weeks"),
    [
        (demo.STORY_ENDS, 0),
        (demo.STORY_ENDS + timedelta(days=6, hours=23), 0),
        (demo.STORY_ENDS + timedelta(days=7), 1),
        (demo.STORY_ENDS - timedelta(seconds=1), -1),
        (datetime(2026, 1, 1, tzinfo=UTC), -48),
    ],
)
def test_the_story_ends_within_the_last_week(at: datetime, weeks: int) -> None:
    assert demo.shift_to(at) == timedelta(weeks=weeks)
    assert timedelta(0) <= at - demo.STORY_ENDS - demo.shift_to(at) < timedelta(weeks=1)


def _ask(principal: access.Principal, scope: str, reader: str, query: str) -> ContextAnswer:
    return assemble(
        principal=principal, request=ContextRequest(scope_path=scope, exact=False, subject_key=reader, query=query)
    )


def test_the_story() -> None:
    account = demo.load()
    with account_transaction(account.id):
        done = processing.drain(Part(account_id=account.id), seconds=600)
        assert done == processing.Drained(processed=124, pending=0)
        assert not EventOutcome.objects.exclude(error_class="").exists()

        # Two contradictions without a marker: two open sets, whose sides are served to nobody.
        open_sets = ConflictSet.objects.filter(status="open")
        assert sorted(open_sets.values_list("kind", "subject__name")) == [
            ("contradiction", "Daniel"),
            ("contradiction", "production database"),
        ]
        withheld = Fact.objects.filter(withheld="conflict_open").order_by("statement")
        assert list(withheld.values_list("statement", flat=True)) == [
            "Daniel lives in Bristol.",
            "Daniel lives in Cardiff.",
            "Production database runs on PostgreSQL 15.",
            "Production database runs on PostgreSQL 16.",
        ]

        # Changed preferences that were announced: the old value ended, the new one holds, or will.
        changed = Fact.objects.filter(status="superseded").values_list("subject__name", "predicate", "value__value")
        assert sorted(changed) == [
            ("Amélie", "preferred_language", "fr"),
            ("Daniel", "preferred_drink", "tea"),
            ("Ken", "preferred_contact_channel", "email"),
        ]
        current = Fact.objects.filter(
            status="active", predicate__in=["preferred_language", "preferred_drink", "preferred_contact_channel"]
        )
        assert sorted(current.values_list("subject__name", "value__value")) == [
            ("Amélie", "en"),
            ("Daniel", "coffee"),
            ("Ken", "slack"),
        ]
        days = Fact.objects.filter(predicate="working_days").order_by("valid_from")
        assert list(days.values_list("status", "value__value")) == [
            ("active", "monday to thursday"),
            ("held", "tuesday to friday"),
        ]

        # An edit, a deletion, and what machines wrote.
        promised = Fact.objects.filter(subject__key="daniel", statement__contains="release notes").get()
        assert (promised.status, "on Monday" in promised.statement) == ("active", True)
        gone = Event.objects.get(text__contains="demo phone")
        assert (gone.withdrawn_at is None, Passage.objects.filter(event=gone).count()) == (False, 0)
        machines = Passage.objects.filter(evidential=False)
        assert {passage.speaker_name for passage in machines} <= {"", "agent", "buildbot"}
        assert (machines.count(), Fact.objects.filter(evidence__event__human=False).count()) == (3, 0)
        assert {
            "commitment",
            "blocker",
            "risk_signal",
            "deadline_mention",
            "mood_signal",
            "handoff",
            "reference",
            "status_update",
        } <= set(Fact.objects.values_list("category", flat=True))

        # The personal matter is served to its subject, in its channel, and to nobody else anywhere.
        app = key_principal(account)
        matter = Fact.objects.get(predicate="medical_condition")
        assert (matter.subject.key, matter.scope.path, matter.level) == ("sara", "/slack/care", "peer")
        assert (matter.sensitivity, matter.status) == ("restricted", "provisional")
        query = "Is Sara pregnant? Is it maternity leave or her diabetes?"
        private = ("maternity", "pregnant", "diabetes")
        told = _ask(app, "/slack/care", "sara", query)
        assert matter.statement in [fact.statement for fact in told.packet.facts]
        assert any("pregnant" in passage.text for passage in told.packet.passages)
        for scope in ("/slack/care", "/slack/product", "/slack/customers", "/slack", "/"):
            for reader in ("amelie", "daniel", "noa", "ken", "youssef", "sara"):
                if (scope, reader) == ("/slack/care", "sara"):
                    continue
                served = _ask(app, scope, reader, query).packet
                said = [fact.statement for fact in served.facts] + [passage.text for passage in served.passages]
                assert not [text for text in said if any(word in text for word in private)], (scope, reader)
        scopes = Passage.objects.filter(event__channel_name="care").values_list("scope__path", flat=True)
        assert set(scopes) == {"/slack/care"}
        assert not Fact.objects.filter(subject__kind="scope", scope__path="/slack/care").exists()

        # Cards say what is known of a channel and of its people; the two conflicts and the personal matter are in none.
        outbox.deliver(account.id)
        rebuilding.rebuild_due(account.id, limit=10_000)
        cards = list(Card.objects.exclude(builder=""))
        assert {card.kind for card in cards} >= {CardKind.SCOPE_CARD, CardKind.SUBJECT_PROFILE}
        said = " ".join(line["text"] for card in cards for line in card.lines)
        assert not [word for word in (*private, "Bristol", "Cardiff", "PostgreSQL 15", "PostgreSQL 16") if word in said]
        standing = _ask(app, "/slack/product", "daniel", "")
        assert {card.kind for card in standing.packet.cards} >= {CardKind.SCOPE_CARD, CardKind.SUBJECT_PROFILE}
        assert standing.projection_cache_hit
