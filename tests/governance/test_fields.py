from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts.errors import DomainError
from governance import fields
from governance.fields import CallScope, call_scope, named, parse_instant, project_id_of, recorded_claims


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"project_id": "p"}, CallScope("/p", exact=True)),
        ({"project_id": "/p/"}, CallScope("/p", exact=True)),
        ({"project_id": "p/q"}, CallScope("/p/q", exact=True)),
        ({"project_id": "/"}, CallScope("/", exact=True)),
        ({"scope": "/p"}, CallScope("/p", exact=False)),
        ({"scope_path": "p"}, CallScope("/p", exact=False)),
        ({"scope": "/p", "scope_path": "p/", "project_id": None}, CallScope("/p", exact=False)),
        ({"scope": "/p", "project_id": "p"}, CallScope("/p", exact=True)),
        ({"scope": "", "project_id": "p"}, CallScope("/p", exact=True)),
    ],
)
def test_every_name_of_a_scope(data, expected):
    assert call_scope(data) == expected


@pytest.mark.parametrize("data", [{}, {"scope": ""}, {"project_id": None}, {"org_id": "p"}])
def test_no_scope(data):
    assert call_scope(data, required=False) is None
    with pytest.raises(DomainError) as raised:
        call_scope(data)
    assert (raised.value.code, raised.value.field) == ("missing_scope", "scope")


def test_names_that_disagree():
    with pytest.raises(DomainError) as raised:
        call_scope({"project_id": "a", "scope": "/b"})
    assert (raised.value.code, raised.value.field) == ("ambiguous_field", "scope")


@pytest.mark.parametrize("path", ["/", "/p", "/p/q"])
def test_a_project_id_names_its_scope(path):
    assert call_scope({"project_id": project_id_of(path)}) == CallScope(path, exact=True)


@pytest.mark.parametrize(
    ("data", "meaning", "expected"),
    [
        ({"subject_id": "ada"}, "subject", "ada"),
        ({"peer_key": "bob", "subject_id": "ada"}, "reader", "bob"),
        ({"reader": "bob", "peer_key": ""}, "reader", "bob"),
        ({"session_id": "t-1", "thread": "t-1"}, "thread", "t-1"),
        ({"thread_id": 7}, "thread", "7"),
        ({}, "thread", None),
    ],
)
def test_every_name_of_the_rest(data, meaning, expected):
    assert named(data, meaning) == expected


def test_tenancy_that_a_sender_states_is_only_recorded():
    data = {"org_id": "o", "organizationId": "p", "account_key": "", "project_id": "x", "other": 1}
    assert recorded_claims(data) == {"org_id": "o", "organizationId": "p"}
    assert recorded_claims({"org_id": "x" * 300}) == {"org_id": "x" * 200}


def test_no_name_has_two_meanings():
    names = [alias.name for alias in fields.ALIASES]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2025-03-10T09:00:00Z", datetime(2025, 3, 10, 9, tzinfo=UTC)),
        ("2025-03-10t09:00:00z", datetime(2025, 3, 10, 9, tzinfo=UTC)),
        ("2025-03-10 09:00+02:00", datetime(2025, 3, 10, 7, tzinfo=UTC)),
        ("2025-03-10+02:00", datetime(2025, 3, 10, 21, 59, 59, 999_999, tzinfo=UTC)),
        ("2025-03-10-0530", datetime(2025, 3, 11, 5, 29, 59, 999_999, tzinfo=UTC)),
        ("2025-03-10T09:00:00.25-0530", datetime(2025, 3, 10, 14, 30, 0, 250_000, tzinfo=UTC)),
        ("2025-03-10T09:00:00,123456789Z", datetime(2025, 3, 10, 9, 0, 0, 123_456, tzinfo=UTC)),
        ("2024-02-29", datetime(2024, 2, 29, 23, 59, 59, 999_999, tzinfo=UTC)),
    ],
)
def test_instants(text, expected):
    assert parse_instant(text, field="at") == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("2025-03-10T09:00:00", "naive_datetime"),
        ("2025-03-10 09:00", "naive_datetime"),
        ("2025-02-30", "invalid_datetime"),
        ("2025-02-30T09:00:00Z", "invalid_datetime"),
        ("2025-03-10T24:30:00Z", "invalid_datetime"),
        ("2025-03-10T09:00:60Z", "invalid_datetime"),
        ("2025-03-10T09:00:00+25:00", "invalid_datetime"),
        ("2025-03-10+25:00", "invalid_datetime"),
        ("9999-12-31-01:00", "invalid_datetime"),
        ("0001-01-01T00:00:00+14:00", "invalid_datetime"),
        ("9999-12-31T23:59:59-01:00", "invalid_datetime"),
        ("20250310", "invalid_datetime"),
        ("2025-W11-1", "invalid_datetime"),
        ("10/03/2025", "invalid_datetime"),
        ("1741597200", "invalid_datetime"),
        ("now", "invalid_datetime"),
        ("", "invalid_datetime"),
    ],
)
def test_what_is_no_instant(text, code):
    with pytest.raises(DomainError) as raised:
        parse_instant(text, field="at")
    assert (raised.value.code, raised.value.field) == (code, "at")


@given(st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1)), st.integers(-14 * 60, 14 * 60))
def test_an_instant_survives_any_offset(moment, minutes):
    aware = moment.replace(tzinfo=UTC)
    sign, hours, rest = "-" if minutes < 0 else "+", *divmod(abs(minutes), 60)
    local = (moment + timedelta(minutes=minutes)).isoformat() + f"{sign}{hours:02}:{rest:02}"
    assert parse_instant(local, field="at") == aware


@given(st.text())
def test_any_text_is_an_instant_or_refused_by_one_of_two_codes(text):
    assert outcome(text) in {"utc", "naive_datetime", "invalid_datetime"}


def outcome(text):
    try:
        parsed = parse_instant(text, field="at")
    except DomainError as error:
        return error.code
    return "utc" if parsed.tzinfo is UTC else "other"
