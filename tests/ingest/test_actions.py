"""What facts set off, once each; what becomes of it when they change; who is told, who may see it and decide."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from facts import lifecycle, outbox, withholding
from facts.actors import pipeline
from facts.clock import now
from facts.errors import Conflicting, DomainError, NotFound, Refused
from facts.models import Account, AuditEntry, Event, Fact, Relation, Subject
from facts.tenancy import ensure_scope
from facts.vocabulary import Category, Level, RelationKind, Sensitivity, SourceType, Status
from governance import access, erasing, forgetting
from governance.models import Role
from ingest.actions import deciding, due, receivers, rule_editing, rules, selectors, wording
from ingest.actions.rule_editing import RuleValues
from ingest.actions.rules import BUILT_IN
from ingest.deliveries import audience, places, targets
from ingest.deliveries.contents import NotToBeTold
from ingest.models import Action, ActionRule, Delivery, DeliveryTarget
from ingest.observations import IMPORTED
from tests.factories import (
    EventFactory,
    FactFactory,
    GrantFactory,
    IdentityFactory,
    MembershipFactory,
    SubjectFactory,
    UserFactory,
    key_principal,
    person_in,
    unknown_id,
)

THRESHOLDS = {
    Category.COMMITMENT: ("task", 0.85),
    Category.BLOCKER: ("blocker", 0.7),
    Category.HANDOFF: ("message", 0.75),
    Category.DEADLINE_MENTION: ("alert", 0.8),
    Category.RISK_SIGNAL: ("blocker", 0.7),
    Category.MOOD_SIGNAL: ("flag", 0.7),
}


def said(subject: Subject, category: str, *, confidence: float = 0.95, **fields: Any) -> Fact:
    """Return a fact of the category that was said just now, active unless told otherwise."""
    at = fields.pop("at", now())
    source = fields.pop("source_type", SourceType.CHANNEL_MESSAGE)
    place = fields.get("scope") or ensure_scope(subject.account_id, "/support")
    event = EventFactory(subject=subject, scope=place, occurred_at=at, source_type=source)
    given = {"valid_from": at, "scope": place, **fields}
    return FactFactory(subject=subject, category=category, confidence=confidence, event=event, **given)


def tell(account: Account) -> None:
    """Have the handlers told what changed."""
    outbox.deliver(account.id)


def move(fact: Fact, to: str, **changes: Any) -> Fact:
    return lifecycle.transition(
        fact.id, account_id=fact.account_id, to=to, actor=pipeline(), action="fact.moved", changes=changes
    )


def states(fact: Fact) -> list[tuple[str, str]]:
    return list(Action.objects.filter(fact=fact).order_by("id").values_list("state", "reason"))


@pytest.fixture
def ana(account: Account) -> Subject:
    return SubjectFactory(account=account, key="ana", name="Ana")


def ops(account: Account, *recipients: Subject, **fields: Any) -> DeliveryTarget:
    administrator = person_in(account, role=Role.ACCOUNT_ADMIN)
    given = {"kind": "email", "address": "ops@example.org", "audience": "named", "recipients": list(recipients)}
    return targets.create_target(administrator, name="ops", **{**given, **fields})


# Setting off


@pytest.mark.parametrize("category", THRESHOLDS)
def test_strictly_above_its_threshold_a_fact_sets_off_its_action(ana: Subject, account: Account, category: str) -> None:
    kind, threshold = THRESHOLDS[category]
    at_threshold = said(ana, category, confidence=threshold)
    above = said(ana, category, confidence=threshold + 0.001)
    tell(account)
    assert not Action.objects.filter(fact=at_threshold).exists()
    (action,) = Action.objects.filter(fact=above)
    assert (action.kind, action.state, action.rule_version) == (kind, "open", 0)
    assert (action.subject, action.scope) == (ana, above.scope)


@pytest.mark.parametrize("category", sorted(set(Category.values) - set(THRESHOLDS)))
def test_other_categories_set_off_nothing(ana: Subject, account: Account, category: str) -> None:
    said(ana, category, confidence=1.0)
    tell(account)
    assert not Action.objects.exists()


def test_a_fact_sets_off_each_rule_once_however_often_it_is_told(ana: Subject, account: Account) -> None:
    fact = said(ana, Category.COMMITMENT)
    entries = list(outbox.OutboxEntry.objects.filter(object_id=fact.id))
    tell(account)
    for _ in range(2):
        outbox._handlers["actions"](account.id, entries)
    lifecycle.amend(
        fact.id, account_id=account.id, actor=pipeline(), action="fact.reinforced", changes={"corroboration": 2}
    )
    tell(account)
    assert states(fact) == [("open", "")]
    assert AuditEntry.objects.filter(action="action.opened").count() == 1


@pytest.mark.parametrize("status", [Status.CANDIDATE, Status.PROVISIONAL, Status.HELD])
def test_a_fact_sets_off_nothing_before_the_gates_let_it_through(ana: Subject, account: Account, status: str) -> None:
    fact = said(ana, Category.COMMITMENT, status=status)
    tell(account)
    assert states(fact) == []
    move(fact, Status.ACTIVE)
    tell(account)
    assert states(fact) == [("open", "")]


@pytest.mark.parametrize(
    "fields",
    [
        {"source_type": SourceType.BACKFILL},
        {"at": datetime(2025, 3, 1, tzinfo=UTC)},
    ],
)
def test_what_was_backfilled_or_imported_sets_off_nothing(
    ana: Subject, account: Account, fields: dict[str, Any]
) -> None:
    said(ana, Category.COMMITMENT, **fields)
    tell(account)
    assert not Action.objects.exists()


def test_what_another_store_heard_yesterday_sets_off_nothing_here(ana: Subject, account: Account) -> None:
    fact = said(ana, Category.BLOCKER, at=now() - timedelta(hours=20))
    Event.objects.filter(subject=ana).update(recorded_claims={IMPORTED: True})
    tell(account)
    assert states(fact) == []


@pytest.mark.parametrize("kind", [RelationKind.DERIVED_FROM, RelationKind.PROMOTED_FROM])
def test_what_the_system_put_together_sets_off_nothing(ana: Subject, account: Account, kind: str) -> None:
    origin, made = said(ana, Category.GENERAL), said(ana, Category.COMMITMENT)
    Relation.objects.create(account=account, source=made, target=origin, kind=kind)
    tell(account)
    assert not Action.objects.exists()


def test_a_big_round_about_other_things_costs_a_handful_of_queries(ana: Subject, account: Account) -> None:
    entries = [
        outbox.OutboxEntry(
            object_id=said(ana, Category.GENERAL).id, topic="fact.changed", payload={"from": "", "to": "active"}
        )
        for _ in range(5)
    ]
    with CaptureQueriesContext(connection) as captured:
        outbox._handlers["actions"](account.id, entries)
    assert len(captured) == 3


# What becomes of it


@pytest.mark.parametrize(
    ("status", "state", "reason"),
    [
        (Status.SUPERSEDED, "withdrawn", "fact_superseded"),
        (Status.DISPUTED, "withdrawn", "fact_disputed"),
        (Status.REJECTED, "withdrawn", "fact_rejected"),
        (Status.EXPIRED, "withdrawn", "fact_expired"),
        (Status.DISABLED, "withdrawn", "fact_forgotten"),
        (Status.REDACTED, "withdrawn", "fact_redacted"),
        (Status.RETRACTED, "withdrawn", "fact_retracted"),
    ],
)
def test_a_fact_that_holds_no_more_withdraws_what_is_open_and_what_is_to_be_sent(
    ana: Subject, account: Account, status: str, state: str, reason: str
) -> None:
    ops(account, person_subject(account))
    fact = said(ana, Category.RISK_SIGNAL)
    tell(account)
    assert Delivery.objects.get().state == "pending"
    move(fact, status)
    tell(account)
    assert states(fact) == [(state, reason)]
    assert (Delivery.objects.get().state, Delivery.objects.get().reason) == ("cancelled", "withdrawn")


@pytest.mark.parametrize("status", [Status.SUPERSEDED, Status.EXPIRED])
def test_what_is_over_is_done(ana: Subject, account: Account, status: str) -> None:
    fact = said(ana, Category.COMMITMENT)
    tell(account)
    move(fact, status, valid_to=now())
    tell(account)
    assert states(fact) == [("done", "fact_ended")]


def test_what_something_else_took_the_place_of_is_withdrawn(ana: Subject, account: Account) -> None:
    fact, newer = said(ana, Category.COMMITMENT), said(ana, Category.COMMITMENT)
    tell(account)
    move(fact, Status.SUPERSEDED, valid_to=now())
    Relation.objects.create(account=account, source=newer, target=fact, kind=RelationKind.SUPERSEDES)
    tell(account)
    assert states(fact) == [("withdrawn", "fact_superseded")]
    assert states(newer) == [("open", "")]


def test_undo_brings_back_what_was_withdrawn(ana: Subject, account: Account) -> None:
    ops(account, person_subject(account))
    fact = said(ana, Category.RISK_SIGNAL)
    tell(account)
    receipt = forgetting.disable(person_in(account), fact_id=fact.id, reason="Not needed.")
    tell(account)
    assert states(fact) == [("withdrawn", "fact_forgotten")]
    forgetting.enable(person_in(account), receipt.id, reason="Needed.")
    tell(account)
    assert states(fact) == [("open", "")]
    assert Delivery.objects.get().state == "pending"


def test_what_a_person_closed_stays_closed_whatever_the_fact_does(ana: Subject, account: Account) -> None:
    fact = said(ana, Category.COMMITMENT)
    tell(account)
    action = Action.objects.get()
    deciding.finish(person_in(account), action.id)
    move(fact, Status.DISPUTED)
    tell(account)
    move(fact, Status.ACTIVE)
    tell(account)
    assert states(fact) == [("done", "")]


def test_while_a_conflict_is_open_nothing_is_open_about_its_sides(
    ana: Subject, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact = said(ana, Category.COMMITMENT)
    tell(account)
    Fact.objects.filter(pk=fact.pk).update(withheld="conflict_open")
    outbox.publish(
        account.id, topic="fact.changed", object_id=fact.id, payload={"from": "active", "to": "active", "version": 2}
    )
    tell(account)
    assert states(fact) == [("withdrawn", "conflict_open")]
    withholding.refresh(account.id, [fact.id])
    outbox.publish(
        account.id, topic="fact.changed", object_id=fact.id, payload={"from": "active", "to": "active", "version": 3}
    )
    tell(account)
    assert states(fact) == [("open", "")]


# Days


@pytest.mark.parametrize(
    ("value", "timezone", "expected"),
    [
        ({"value": "send it", "due": "2026-03-27"}, "Pacific/Auckland", date(2026, 3, 27)),
        ({"due": "2026-03-27T23:30:00+00:00"}, "Asia/Tokyo", date(2026, 3, 28)),
        ({"due": "2026-03-27T23:30:00+00:00"}, "America/New_York", date(2026, 3, 27)),
        ({"deadline": "2026-03-27"}, "UTC", date(2026, 3, 27)),
        ({"due": "soon"}, "UTC", None),
        ({"due": 5}, "UTC", None),
        ({"due": "9999-12-31T23:59:00+00:00"}, "Pacific/Kiritimati", None),
        (None, "UTC", None),
    ],
)
def test_the_day_on_which_something_is_due(value: Any, timezone: str, expected: date | None) -> None:
    assert due.due_on(Fact(value=value), timezone=timezone) == expected


def test_the_end_that_a_fact_states_is_its_last_day() -> None:
    fact = Fact(valid_from=datetime(2026, 3, 1, tzinfo=UTC), valid_to=datetime(2026, 3, 28, tzinfo=UTC))
    assert due.due_on(fact, timezone="UTC") == date(2026, 3, 27)


# Receivers


@pytest.mark.parametrize(
    ("statement", "value", "expected"),
    [
        ("Ana hands the newsletter over to Bob.", None, "bob"),
        ("Ana hands the newsletter over to @bob.", None, "bob"),
        ("Ana hands the newsletter over.", {"value": "x", "to": "Bob"}, "bob"),
        ("Ana hands the newsletter over to U777.", None, "bob"),
        ("Ana hands the newsletter over to Zoë Müller.", None, "zoe"),
        ("Ana hands the newsletter over to Bob or Zoë Müller.", None, None),
        ("Ana hands the newsletter over to Kim.", None, None),
        ("Ana took the newsletter over.", None, None),
        ("Ana hands the newsletter over to nobody.", None, None),
    ],
)
def test_the_receiver_is_one_person_or_nobody(
    ana: Subject, account: Account, statement: str, value: Any, expected: str | None
) -> None:
    bob = SubjectFactory(account=account, key="bob", name="Bob")
    IdentityFactory(subject=bob, value="U777")
    SubjectFactory(account=account, key="zoe", name="Zoë Müller")
    for number in (1, 2):
        SubjectFactory(account=account, key=f"kim-{number}", name="Kim")
    fact = said(ana, Category.HANDOFF, statement=statement)
    fact.value = value
    found = receivers.receiver_of(fact)
    assert (found.key if found else None) == expected


def test_a_handoff_to_nobody_in_particular_is_open_and_says_so(ana: Subject, account: Account) -> None:
    fact = said(ana, Category.HANDOFF, statement="Ana hands it over to somebody.")
    tell(account)
    assert states(fact) == [("open", "receiver_unclear")]
    assert not Delivery.objects.exists()


def test_without_a_target_an_alert_is_open_and_says_so(ana: Subject, account: Account) -> None:
    fact = said(ana, Category.DEADLINE_MENTION)
    tell(account)
    assert states(fact) == [("open", "no_target")]


# Who is told


def person_subject(account: Account, *, role: str | None = Role.CURATOR, path: str = "/", **grant: Any) -> Subject:
    return Subject.objects.get(pk=person_in(account, role=role, path=path, **grant).subject_id)


def told(action: Action) -> str:
    """Return the text of the action's delivery, or why there is none."""
    delivery = Delivery.objects.select_related("target", "recipient").get(object_id=action.id)
    place = places.Place(
        account_id=action.account_id,
        kind="email",
        address="x@example.org",
        way="x",
        target=delivery.target,
        recipient=delivery.recipient,
    )
    try:
        return wording.word(delivery, place).text
    except NotToBeTold as refusal:
        return f"[{refusal.reason}]"


def test_a_flag_names_the_person_only_where_everybody_who_reads_may_know(ana: Subject, account: Account) -> None:
    words = "Ana is exhausted."
    curator, reader = person_subject(account), person_subject(account, role=Role.READER)
    place = ops(account, curator)
    said(ana, Category.MOOD_SIGNAL, statement=words)
    tell(account)
    action = Action.objects.get()
    assert words in told(action)
    for others in (
        [curator, reader],
        [reader],
        [SubjectFactory(account=account)],
        [person_subject(account, path="/sales")],
    ):
        place.recipients.set(others, through_defaults={"account_id": account.id})
        text = told(action)
        assert text == "Somebody's mood was noticed. Who it is and what was said is for those who may know."
    place.recipients.clear()
    assert "Ana" not in told(action)


MATRIX = [
    # sensitivity, level, audience of the target, told
    (Sensitivity.PUBLIC, Level.PEER, "scope", True),
    (Sensitivity.INTERNAL, Level.PEER, "scope", True),
    (Sensitivity.PERSONAL, Level.PEER, "scope", False),
    (Sensitivity.PERSONAL, Level.SCOPE, "scope", True),
    (Sensitivity.RESTRICTED, Level.SCOPE, "scope", False),
    (Sensitivity.PERSONAL, Level.PEER, "elsewhere", False),
    (Sensitivity.INTERNAL, Level.SCOPE, "elsewhere", False),
    (Sensitivity.PERSONAL, Level.PEER, "subject", True),
    (Sensitivity.RESTRICTED, Level.PEER, "subject", True),
    (Sensitivity.PERSONAL, Level.PEER, "curator", True),
    (Sensitivity.RESTRICTED, Level.PEER, "curator", False),
    (Sensitivity.RESTRICTED, Level.PEER, "granted", True),
    (Sensitivity.PERSONAL, Level.PEER, "reader", False),
    (Sensitivity.INTERNAL, Level.SCOPE, "reader", True),
    (Sensitivity.PUBLIC, Level.PEER, "stranger", False),
    (Sensitivity.INTERNAL, Level.SCOPE, "nobody", False),
    (Sensitivity.PERSONAL, Level.PEER, "gone", False),
]


@pytest.mark.parametrize(("sensitivity", "level", "who", "expected"), MATRIX)
def test_who_may_be_told(
    ana: Subject, account: Account, sensitivity: str, level: str, who: str, expected: bool
) -> None:
    fact = said(ana, Category.RISK_SIGNAL, sensitivity=sensitivity, level=level)
    place = places.Place(account_id=account.id, kind="slack", address="C1", way="x", target=reading(account, ana, who))
    assert audience.may_be_told(fact, place) is expected


def reading(account: Account, ana: Subject, who: str) -> DeliveryTarget:
    """Return a target that is read by ``who``."""
    scopes = {"scope": "/support", "elsewhere": "/support/emea"}
    if who in scopes:
        return ops(account, audience="scope", scope=ensure_scope(account.id, scopes[who]))
    if who == "gone":
        left = MembershipFactory(account=account, user=UserFactory(is_active=False))
        GrantFactory(subject=left.subject)
    place = ops(account, ana)
    match who:
        case "curator":
            readers = [person_subject(account, path="/support")]
        case "granted":
            readers = [person_subject(account, restricted=True)]
        case "reader":
            readers = [person_subject(account, role=Role.READER)]
        case "stranger":
            readers = [person_subject(account, role=None)]
        case "nobody":
            readers = []
        case "gone":
            readers = [left.subject]
        case _:
            readers = [ana]
    place.recipients.set(readers, through_defaults={"account_id": account.id})
    return place


def test_an_alert_that_may_not_be_told_there_is_not_sent_and_says_why(ana: Subject, account: Account) -> None:
    ops(account, person_subject(account, role=Role.READER))
    said(ana, Category.DEADLINE_MENTION)
    tell(account)
    assert told(Action.objects.get()) == "[audience]"


def test_what_changed_meanwhile_is_looked_at_again_when_it_is_sent(ana: Subject, account: Account) -> None:
    ops(account, person_subject(account))
    fact = said(ana, Category.DEADLINE_MENTION, statement="The report is due.\n<script> \u202e")
    tell(account)
    action = Action.objects.get()
    assert "Deadline: The report is due. <script>" in told(action)
    Fact.objects.filter(pk=fact.pk).update(withheld="conflict_open")
    assert told(action) == "[conflict_open]"
    Fact.objects.filter(pk=fact.pk).update(withheld="", status=Status.DISPUTED)
    assert told(action) == "[fact_not_current]"
    deciding.dismiss(person_in(account), action.id)
    assert told(action) == "[action_dismissed]"


def test_a_receiver_who_may_not_read_hears_that_there_is_something(ana: Subject, account: Account) -> None:
    bob = SubjectFactory(account=account, key="bob", name="Bob")
    said(ana, Category.HANDOFF, statement="Ana hands the newsletter over to Bob.")
    tell(account)
    action = Action.objects.get()
    assert action.assignee == bob
    assert told(action) == "Something was handed over to you. What it is stands where it was said."
    Fact.objects.update(sensitivity=Sensitivity.INTERNAL, level=Level.SCOPE)
    GrantFactory(subject=bob, role=Role.READER)
    assert "Handed over to you: Ana hands the newsletter over to Bob." in told(action)


# Who sees and decides


def test_people_see_their_own_and_curators_those_of_their_scopes(ana: Subject, account: Account) -> None:
    own = access.person(MembershipFactory(account=account, subject=ana))
    other = SubjectFactory(account=account)
    said(ana, Category.COMMITMENT)
    said(other, Category.BLOCKER)
    said(other, Category.BLOCKER, sensitivity=Sensitivity.RESTRICTED)
    tell(account)

    def seen(principal: access.Principal) -> int:
        return selectors.visible(principal).count()

    assert seen(own) == 1
    assert seen(person_in(account, path="/support")) == 2
    assert seen(person_in(account, restricted=True)) == 3
    assert seen(person_in(account, path="/sales")) == 0
    assert seen(person_in(account, role=Role.READER)) == 0
    assert seen(key_principal(account)) == 0


def test_what_people_do_with_an_action(ana: Subject, account: Account) -> None:
    ops(account, person_subject(account))
    said(ana, Category.RISK_SIGNAL)
    tell(account)
    curator, action = person_in(account), Action.objects.get()
    deciding.assign(curator, action.id, person="ana", expected_version=1)
    closed = deciding.dismiss(curator, action.id, expected_version=2)
    assert (closed.state, closed.decided_by_id) == ("dismissed", curator.membership_id)
    assert Delivery.objects.get().state == "cancelled"
    with pytest.raises(Conflicting) as refused:
        deciding.finish(curator, action.id)
    assert refused.value.code == "action_not_open"
    with pytest.raises(Conflicting) as stale:
        deciding.reopen(curator, action.id, expected_version=2)
    assert stale.value.code == "stale_version"
    assert deciding.reopen(curator, action.id).state == "open"
    own = access.person(MembershipFactory(account=account, subject=ana))
    assert deciding.finish(own, action.id).state == "done"
    written = AuditEntry.objects.filter(object_type="action").order_by("seq").values_list("action", flat=True)
    assert list(written) == [
        "action.opened",
        "action.assigned",
        "action.dismissed",
        "action.reopened",
        "action.done",
    ]


def test_who_may_not_decide(ana: Subject, account: Account) -> None:
    said(ana, Category.BLOCKER)
    tell(account)
    action = Action.objects.get()
    own = access.person(MembershipFactory(account=account, subject=ana))
    for principal, error, code in (
        (key_principal(account), Refused, "human_required"),
        (own, Refused, "forbidden"),
        (person_in(account, path="/sales"), NotFound, "action_not_found"),
    ):
        with pytest.raises(error) as refused:
            deciding.finish(principal, action.id)
        assert refused.value.code == code
    with pytest.raises(NotFound):
        deciding.finish(person_in(account), unknown_id())
    with pytest.raises(NotFound) as nobody:
        deciding.assign(person_in(account), action.id, person="nobody")
    assert nobody.value.code == "peer_not_found"


def test_what_was_withdrawn_comes_back_with_its_fact_alone(ana: Subject, account: Account) -> None:
    fact = said(ana, Category.COMMITMENT)
    tell(account)
    move(fact, Status.EXPIRED, valid_to=now())
    tell(account)
    with pytest.raises(Conflicting) as refused:
        deciding.reopen(person_in(account), Action.objects.get().id)
    assert refused.value.code == "action_not_closed"


# Rules


def values(**fields: Any) -> RuleValues:
    given = {
        "category": Category.COMMITMENT,
        "threshold": 0.5,
        "kind": "task",
        "notice_to": "nobody",
        "target": None,
        "enabled": True,
    }
    return RuleValues(**{**given, **fields})


def test_the_first_change_writes_the_built_in_rules_down(ana: Subject, account: Account) -> None:
    before = said(ana, Category.COMMITMENT)
    tell(account)
    administrator = person_in(account, role=Role.ACCOUNT_ADMIN)
    changed = rule_editing.change_rule(
        administrator, key="commitment-task", values=values(), expected_version=0, note="Because."
    )
    assert changed.version == 2
    assert {rule.key for rule in rules.rules_of(account.id)} == {rule.key for rule in BUILT_IN}
    move(before, Status.DISPUTED)
    tell(account)
    move(before, Status.ACTIVE)
    weak = said(ana, Category.COMMITMENT, confidence=0.6)
    tell(account)
    assert states(before) == [("open", "")]
    assert Action.objects.get(fact=weak).rule_version == 2
    with pytest.raises(Conflicting) as stale:
        rule_editing.change_rule(
            administrator, key="commitment-task", values=values(), expected_version=0, note="Because."
        )
    assert stale.value.code == "stale_version"


def test_a_rule_that_is_switched_off_makes_nothing_and_a_second_one_adds(ana: Subject, account: Account) -> None:
    administrator = person_in(account, role=Role.ACCOUNT_ADMIN)
    off = values(threshold=0.85, enabled=False)
    rule_editing.change_rule(administrator, key="commitment-task", values=off, expected_version=0, note="Because.")
    rule_editing.add_rule(administrator, values=values(kind="alert", threshold=0.9), note="Because.")
    fact = said(ana, Category.COMMITMENT)
    tell(account)
    assert list(Action.objects.filter(fact=fact).values_list("kind", flat=True)) == ["alert"]
    assert ActionRule.objects.count() == len(BUILT_IN) + 1


def test_a_look_shows_what_a_change_would_do_and_does_nothing(ana: Subject, account: Account) -> None:
    weak = said(ana, Category.COMMITMENT, confidence=0.6)
    old = said(ana, Category.COMMITMENT, source_type=SourceType.BACKFILL)
    tell(account)
    looks = rule_editing.preview(account.id, key="commitment-task", values=values())
    assert {look.fact.id: (look.before, look.after) for look in looks} == {
        weak.id: (False, True),
        old.id: (False, False),
    }
    assert not Action.objects.exists()
    assert not ActionRule.objects.exists()


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"threshold": 1.0}, "threshold"),
        ({"threshold": -0.1}, "threshold"),
        ({"category": "gossip"}, "category"),
        ({"kind": "party"}, "kind"),
        ({"notice_to": "target"}, "target"),
        ({"notice_to": "receiver"}, "notice_to"),
        ({"notice_to": "everybody"}, "notice_to"),
    ],
)
def test_what_a_rule_must_say(account: Account, fields: dict[str, Any], field: str) -> None:
    with pytest.raises(DomainError) as refused:
        rule_editing.add_rule(person_in(account, role=Role.ACCOUNT_ADMIN), values=values(**fields), note="Because.")
    assert (refused.value.code, refused.value.field) == ("invalid_rule", field)


def test_only_administrators_change_rules(account: Account) -> None:
    for principal in (person_in(account), key_principal(account)):
        with pytest.raises(Refused):
            rule_editing.add_rule(principal, values=values(), note="Because.")


# Erasure


def test_erasing_takes_the_actions_and_what_is_to_be_sent(ana: Subject, account: Account) -> None:
    ops(account, person_subject(account))
    fact = said(ana, Category.RISK_SIGNAL)
    kept = said(SubjectFactory(account=account), Category.BLOCKER)
    tell(account)
    Action.objects.filter(fact=kept).update(assignee=ana)
    administrator = person_in(account, role=Role.ACCOUNT_ADMIN)
    receipt = erasing.erase(administrator, subject_id=ana.id)
    assert not Action.objects.filter(fact=fact).exists()
    assert not Delivery.objects.exists()
    assert Action.objects.get().assignee is None
    assert (receipt.counters["stores"]["actions"], receipt.counters["stores"]["deliveries"]) == (2, 1)
