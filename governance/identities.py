"""Who may say whose a name on a platform is: people who decide in the whole account."""

from __future__ import annotations

import uuid

from facts import identities
from facts.errors import Refused
from facts.models import Identity
from facts.tenancy import ROOT, account_transaction
from governance.access import Principal, has_role
from governance.models import Role


def confirm(principal: Principal, identity_id: uuid.UUID, *, subject_id: uuid.UUID) -> Identity:
    """Confirm a name as that of ``subject_id``, whose it was when the person looked.

    Raises ``Refused`` (``human_required``, ``forbidden``) and what :func:`facts.identities.confirm` raises.
    """
    _require(principal)
    with account_transaction(principal.account_id):
        return identities.confirm(principal.account_id, identity_id, subject_id=subject_id, actor=principal.actor)


def take_back(principal: Principal, identity_id: uuid.UUID) -> Identity:
    """Let a name be confirmed no more. Raises as :func:`confirm`."""
    _require(principal)
    with account_transaction(principal.account_id):
        return identities.take_back(principal.account_id, identity_id, actor=principal.actor)


def _require(principal: Principal) -> None:
    if not principal.is_person:
        raise Refused("A person has to decide this.", code="human_required")
    if not has_role(principal, ROOT, Role.CURATOR):
        raise Refused("Only curators of the whole account say whose a name is.", code="forbidden")
