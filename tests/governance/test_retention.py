"""How long an account keeps what was said: the nearest rule holds."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from facts.actors import system
from facts.errors import DomainError
from facts.models import Account, AuditEntry, Event
from facts.vocabulary import SourceType
from governance import retention
from governance.models import RetentionRule
from tests.factories import JANUARY, JULY, EventFactory, SubjectFactory, taken_back

LIVE = SourceType.CHANNEL_MESSAGE


def _event(account: Account, *, days: float, **fields: object) -> Event:
    """Return a processed message that was recorded so many days before July."""
    subject = SubjectFactory(account=account)
    given_fields = {"source_type": LIVE, "channel_id": "C1", "processed_at": JULY, **fields}
    return EventFactory(subject=subject, recorded_at=JULY - timedelta(days=days), **given_fields)


def _expired(account: Account) -> set[object]:
    return set(retention.expired(account.id, JULY).values_list("pk", flat=True))


def _set(account: Account, days: int | None, source_type: str = LIVE, channel_id: str = "") -> RetentionRule:
    return retention.set_rule(
        account.id, source_type=source_type, days=days, channel_id=channel_id, actor=system("test")
    )


@pytest.mark.parametrize("source_type", SourceType)
def test_live_chat_is_kept_for_a_week_and_all_else_for_ever(account: Account, source_type: str) -> None:
    event = _event(account, days=7, source_type=source_type)
    _event(account, days=6.99, source_type=source_type)
    assert _expired(account) == ({event.pk} if source_type == LIVE else set())


def test_the_installation_says_how_long_live_chat_is_kept(account: Account, monkeypatch) -> None:
    monkeypatch.setattr(retention.settings, "CONTEXT_RAW_RETENTION_DAYS", 0)
    event = _event(account, days=0)
    assert _expired(account) == {event.pk}


def test_only_processed_messages_that_still_have_their_words(account: Account) -> None:
    _event(account, days=99, processed_at=None)
    _event(account, days=99, text_removed_at=JANUARY)
    assert _expired(account) == set()


def test_a_rule_of_the_account_and_one_of_a_channel(account: Account) -> None:
    event, other = _event(account, days=20), _event(account, days=20, channel_id="C2")
    _set(account, 30)
    assert _expired(account) == set()
    _set(account, 10, channel_id="C2")
    assert _expired(account) == {other.pk}
    _set(account, None, channel_id="C2")
    _set(account, 1)
    assert _expired(account) == {event.pk}
    assert retention.unset_rule(account.id, source_type=LIVE, channel_id="C2", actor=system("test"))
    assert _expired(account) == {event.pk, other.pk}
    assert not retention.unset_rule(account.id, source_type=LIVE, channel_id="C2", actor=system("test"))


def test_other_sources_go_where_an_account_says_so(account: Account) -> None:
    event = _event(account, days=20, source_type=SourceType.CONVERSATION, channel_id="")
    _set(account, 20, source_type=SourceType.CONVERSATION)
    assert _expired(account) == {event.pk}


def test_a_rule_is_set_once_and_every_change_is_in_the_chain(account: Account) -> None:
    _set(account, 5)
    rule = _set(account, 6)
    assert RetentionRule.objects.get().days == 6
    entries = AuditEntry.objects.filter(action="retention.set", object_id=str(rule.id)).order_by("seq")
    assert [entry.metadata["days"] for entry in entries] == [5, 6]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"source_type": "gossip"}, "source_type"),
        ({"days": -1}, "days"),
        ({"days": retention.LONGEST_DAYS + 1}, "days"),
        ({"channel_id": "C" * 129}, "channel_id"),
        ({"channel_id": "C\x00"}, "channel_id"),
    ],
)
def test_what_is_no_rule_is_refused(account: Account, changes: dict[str, object], field: str) -> None:
    with pytest.raises(DomainError) as refused:
        retention.set_rule(account.id, **{"source_type": LIVE, "days": 1, "actor": system("test"), **changes})
    assert (refused.value.code, refused.value.field) == ("invalid_retention", field)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(
    rules=st.dictionaries(
        st.tuples(st.sampled_from([LIVE, SourceType.CONVERSATION]), st.sampled_from(["", "C1", "C2"])),
        st.none() | st.integers(0, 12),
    ),
    age=st.integers(0, 12),
    source_type=st.sampled_from([LIVE, SourceType.CONVERSATION]),
    channel_id=st.sampled_from(["", "C1", "C2", "C3"]),
)
def test_the_query_keeps_to_the_nearest_rule(
    account: Account, rules: dict, age: int, source_type: str, channel_id: str
) -> None:
    with taken_back():
        for (kind, channel), days in rules.items():
            _set(account, days, source_type=kind, channel_id=channel)
        _event(account, days=age, source_type=source_type, channel_id=channel_id)
        days = rules.get((source_type, channel_id), rules.get((source_type, ""), retention.default_days(source_type)))
        assert bool(_expired(account)) == (days is not None and age >= days)
