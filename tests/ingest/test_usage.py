"""What models cost, over HTTP and in figures."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from facts.models import Account
from governance.access import APP_RIGHTS, Right
from governance.models import Role
from ingest import budget, usage_report
from ingest.models import ModelCall
from tests.api import Caller, caller_with_key, problem, signed_in
from tests.factories import AccountFactory, GrantFactory, MembershipFactory, ScopeFactory, entered

AT = datetime(2026, 3, 25, 21, 30, tzinfo=UTC)
DIAGNOSTICS = [*APP_RIGHTS, Right.DIAGNOSTICS]


@pytest.fixture(autouse=True)
def _in_march(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (budget, usage_report):
        monkeypatch.setattr(module, "now", lambda: AT)


@pytest.fixture
def curator(account: Account) -> Caller:
    return caller_with_key(account, rights=DIAGNOSTICS)


def call(account: Account, at: datetime = AT, **fields: Any) -> ModelCall:
    figures = {
        "role": "extraction",
        "provider": "anthropic",
        "model": "claude-haiku-4-5",
        "prompt_version": "1",
        "request_digest": "d",
        "input_tokens": 1_000,
        "output_tokens": 200,
        "cost_usd": Decimal("0.002"),
        "latency_ms": 900,
        **fields,
    }
    return ModelCall.objects.create(account=account, created_at=at, **figures)


LOCAL = {"provider": "openai", "model": "local", "unpriced": 1, "cost_usd": 0.0}
FAILED = {"error_class": "provider_error", "input_tokens": None, "output_tokens": None, "cost_usd": None}


def test_figures_by_day_and_model(account: Account, curator: Caller, settings: Any) -> None:
    settings.MODEL_BUDGET_USD = 0.004
    call(account)
    call(account, latency_ms=300, **FAILED)
    call(account, provider="openai", model="local", cost_usd=None)
    call(account, at=datetime(2026, 3, 24, 9, tzinfo=UTC))
    call(account, at=datetime(2026, 2, 1, tzinfo=UTC))
    day = {"day": "2026-03-25", "role": "extraction", "provider": "anthropic", "model": "claude-haiku-4-5"}
    one = {"calls": 1, "failed": 0, "unpriced": 0, "input_tokens": 1_000, "output_tokens": 200, "cost_usd": 0.002}
    assert curator.get("/v1/usage").json() == {
        "first": "2026-02-24",
        "last": "2026-03-25",
        "timezone": "UTC",
        "days": [
            {**day, **one, "calls": 2, "failed": 1, "average_latency_ms": 600},
            {
                **day,
                **one,
                "provider": "openai",
                "model": "local",
                "unpriced": 1,
                "cost_usd": 0.0,
                "average_latency_ms": 900,
            },
            {**day, **one, "day": "2026-03-24", "average_latency_ms": 900},
        ],
        "total": {
            "calls": 4,
            "failed": 1,
            "unpriced": 1,
            "input_tokens": 3_000,
            "output_tokens": 600,
            "cost_usd": 0.004,
            "average_latency_ms": 750,
        },
        "budget": {
            "limit_usd": 0.004,
            "limit_tokens": None,
            "spent_usd": 0.002,
            "spent_tokens": 2_400,
            "exhausted": False,
            "resets_at": "2026-03-26T00:00:00+00:00",
        },
    }


def test_days_are_those_of_the_account(curator: Caller, account: Account) -> None:
    Account.objects.filter(pk=account.pk).update(timezone="Pacific/Auckland")
    call(account, at=datetime(2026, 3, 25, 10, 59, tzinfo=UTC))
    call(account, at=datetime(2026, 3, 25, 11, 0, tzinfo=UTC))
    body = curator.get("/v1/usage", days=2).json()
    assert (body["first"], body["last"], body["timezone"]) == ("2026-03-25", "2026-03-26", "Pacific/Auckland")
    assert [row["day"] for row in body["days"]] == ["2026-03-26", "2026-03-25"]
    assert body["budget"]["resets_at"] == "2026-03-27T00:00:00+13:00"


def test_nothing_was_used(curator: Caller) -> None:
    body = curator.get("/v1/usage", days=1).json()
    assert (body["days"], body["total"]["calls"], body["total"]["average_latency_ms"]) == ([], 0, None)


def test_another_account_is_not_seen(curator: Caller) -> None:
    other = AccountFactory()
    with entered(other):
        call(other)
    assert curator.get("/v1/usage").json()["total"]["calls"] == 0


def test_a_key_needs_the_right(account: Account) -> None:
    assert problem(caller_with_key(account).get("/v1/usage"))[:2] == (403, "missing_right")


def test_a_key_for_a_part_does_not_see_the_whole(account: Account) -> None:
    caller = caller_with_key(account, rights=DIAGNOSTICS, scope_limit=ScopeFactory(account=account))
    assert problem(caller.get("/v1/usage"))[:2] == (403, "forbidden_scope")


@pytest.mark.parametrize(("role", "status"), [(Role.READER, 403), (Role.CURATOR, 200)])
def test_which_people_may_see_it(account: Account, role: str, status: int) -> None:
    member = MembershipFactory(account=account)
    GrantFactory(subject=member.subject, role=role)
    assert signed_in(member).get("/v1/usage").status_code == status


def test_a_curator_of_a_part_does_not_see_the_whole(account: Account) -> None:
    member = MembershipFactory(account=account)
    GrantFactory(subject=member.subject, scope=ScopeFactory(account=account, path="/support"))
    assert problem(signed_in(member).get("/v1/usage"))[:2] == (403, "forbidden_scope")


@pytest.mark.parametrize("days", ["0", "367", "many"])
def test_a_malformed_span(curator: Caller, days: str) -> None:
    assert problem(curator.get("/v1/usage", days=days)) == (422, "invalid_payload", "days")
