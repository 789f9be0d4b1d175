"""Who belongs to an account: letting a user in, as one person, with a role."""

from __future__ import annotations

import uuid

from facts import audit
from facts.actors import Actor
from facts.errors import Conflicting
from facts.ids import new_id
from facts.models import Membership, User
from facts.tenancy import account_transaction, ensure_scope, ensure_subject
from governance.models import Grant


def add_member(
    account_id: uuid.UUID, *, user: User, role: str, path: str, actor: Actor, subject_key: str = ""
) -> Membership:
    """Let a user into an account and grant them ``role`` at ``path`` and below; doing it again adds nothing.

    They read as the person ``subject_key`` (their user name unless given). Raises ``Conflicting`` (``subject_taken``)
    when somebody else signs in as that person.
    """
    with account_transaction(account_id):
        membership = Membership.objects.filter(account_id=account_id, user=user).select_related("subject").first()
        if membership is None:
            key = subject_key or user.get_username()
            subject = ensure_subject(account_id, key=key, name=user.get_full_name() or user.get_username())
            if Membership.objects.filter(account_id=account_id, subject=subject).exists():
                raise Conflicting("Somebody else signs in as that person.", code="subject_taken", field="subject")
            membership = Membership.objects.create(account_id=account_id, user=user, subject=subject)
        scope = ensure_scope(account_id, path)
        _, granted = Grant.objects.get_or_create(
            account_id=account_id,
            scope=scope,
            subject=membership.subject,
            role=role,
            defaults={"granted_by": actor.as_json()},
        )
        if granted:
            audit.record(
                account_id,
                action="member.granted",
                object_type="membership",
                object_id=membership.id,
                actor=actor,
                group=new_id(),
                metadata={"role": role, "scope": str(scope.id)},
            )
    return membership
