from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from facts.models import Account, Subject
from facts.tenancy import ensure_scope
from governance.access import Principal
from retrieval import places
from retrieval.places import Asked
from tests.factories import SubjectFactory, key_principal

ASKED = Asked(scope_path="/support", exact=True, subject_key="ana")


def _queries(principal: Principal, asked: Asked = ASKED) -> int:
    with CaptureQueriesContext(connection) as captured:
        places.resolve(principal, asked)
    return len(captured)


def test_a_known_place_is_remembered_for_a_moment(
    account: Account, ana: Subject, app: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = ensure_scope(account.id, "/support")
    place = places.resolve(app, ASKED)
    assert (place.scope, place.subject, place.reader.subject_id) == (scope, ana, ana.id)
    assert _queries(app) == 0
    at = places.time.monotonic() + places.SECONDS
    monkeypatch.setattr(places.time, "monotonic", lambda: at)
    assert _queries(app) == 2


def test_another_caller_or_place_is_looked_up(account: Account, ana: Subject, app: Principal) -> None:
    ensure_scope(account.id, "/support")
    SubjectFactory(account=account, key="bob")
    places.resolve(app, ASKED)
    assert _queries(key_principal(account, label="another")) == 2
    assert _queries(app, Asked(scope_path="/support", exact=True, subject_key="bob")) == 2


def test_what_is_not_there_is_looked_up_every_time(account: Account, ana: Subject, app: Principal) -> None:
    assert places.resolve(app, ASKED).scope is None
    ensure_scope(account.id, "/support")
    assert places.resolve(app, ASKED).scope is not None
