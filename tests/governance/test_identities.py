"""Saying whose a name on a platform is: who may, what the audit keeps, and what takes it back."""

from __future__ import annotations

import pytest

from facts.errors import Conflicting, NotFound, Refused
from facts.models import AuditEntry, Identity
from governance import identities
from governance.models import Role
from tests.factories import SubjectFactory, key_principal, person_in, unknown_id


@pytest.fixture
def identity(account) -> Identity:
    """A name that a caller said to be Ana's."""
    return Identity.objects.create(
        account=account, subject=SubjectFactory(account=account, key="ana"), platform="slack", value="U1"
    )


def test_a_curator_confirms_a_name_and_takes_it_back(account, identity):
    curator = person_in(account)
    for _ in range(2):  # pressed twice, it is said once
        identities.confirm(curator, identity.id, subject_id=identity.subject_id)
    identity.refresh_from_db()
    assert (identity.confirmed, identity.confirmed_by) == (True, curator.actor.as_json())
    identities.take_back(curator, identity.id)
    identity.refresh_from_db()
    assert (identity.confirmed, identity.confirmed_by) == (False, None)
    entries = AuditEntry.objects.filter(object_id=str(identity.subject_id)).order_by("seq")
    assert [entry.action for entry in entries] == ["identity.confirmed", "identity.doubted"]
    assert entries[0].metadata == {"identity": str(identity.id), "platform": "slack", "by_platform": False}


def test_what_the_platform_says_can_be_doubted_too(account, identity):
    Identity.objects.update(confirmed=True)
    identities.confirm(person_in(account), identity.id, subject_id=identity.subject_id)
    identity.refresh_from_db()
    assert identity.confirmed_by is None
    identities.take_back(person_in(account), identity.id)
    assert AuditEntry.objects.get(action="identity.doubted").metadata["by_platform"] is True


def test_a_name_that_is_somebody_elses_by_now_is_not_confirmed(account, identity):
    seen = identity.subject_id
    Identity.objects.update(subject=SubjectFactory(account=account, key="ben"))
    with pytest.raises(Conflicting):
        identities.confirm(person_in(account), identity.id, subject_id=seen)
    with pytest.raises(NotFound):
        identities.confirm(person_in(account), unknown_id(), subject_id=seen)


def test_nobody_else_says_whose_a_name_is(account, identity):
    for who in (person_in(account, role=Role.READER), person_in(account, path="/sales"), key_principal(account)):
        with pytest.raises(Refused):
            identities.confirm(who, identity.id, subject_id=identity.subject_id)
        with pytest.raises(Refused):
            identities.take_back(who, identity.id)
