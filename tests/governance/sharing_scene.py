"""Four people and three scopes: what tests of consent and promotion have in common."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from facts.audience import Posture, Reader, visible_to
from facts.models import Account, Fact, Scope, Subject
from facts.tenancy import ensure_scope
from facts.vocabulary import Sensitivity, Status, SubjectKind
from governance.access import Principal
from governance.models import Consent, Promotion, Role
from governance.sharing import promotions
from tests.factories import MARCH, FactFactory, person_in


@dataclass(frozen=True)
class Scene:
    """``ada`` is spoken about in ``/support/emea``; ``asker`` and ``decider`` are curators of all; ``other`` reads."""

    account: Account
    ada: Principal
    asker: Principal
    decider: Principal
    other: Principal
    emea: Scope
    support: Scope

    def fact(self, **fields: object) -> Fact:
        """Return a personal fact about Ada, known to her alone."""
        values = {"statement": "Ada prefers mornings.", "scope": self.emea, "valid_from": MARCH, **fields}
        return FactFactory(account=self.account, subject=self.subject, **values)

    @property
    def subject(self) -> Subject:
        """Ada as a subject."""
        return Subject.objects.get(pk=self.ada.subject_id)

    def request(self, fact: Fact, *, target: str = "/support") -> Promotion:
        """Ask for a fact to be promoted."""
        return promotions.request_promotion(self.asker, fact_id=fact.id, target=target, reason="Planning shifts.")

    def consent(self, fact: Fact) -> Consent:
        """Return the one consent that was asked for about a fact."""
        return Consent.objects.get(fact=fact)

    def copy(self, fact: Fact) -> Fact:
        """Return the one copy of a fact."""
        return Fact.objects.get(relations_out__kind="promoted_from", relations_out__target=fact)


def scene_in(account: Account) -> Scene:
    """Build the scene."""
    emea, support = ensure_scope(account.id, "/support/emea"), ensure_scope(account.id, "/support")
    return Scene(
        account=account,
        ada=person_in(account, role=Role.READER, path="/support/emea"),
        asker=person_in(account),
        decider=person_in(account),
        other=person_in(account, role=Role.READER, path="/support"),
        emea=emea,
        support=support,
    )


def unconsented_and_readable() -> list[str]:
    """Return what others may read of people, now or in history, although it is personal and nobody agreed to it."""
    reader = Reader(posture=Posture.PEER, subject_id=uuid.uuid4())
    read = (Status.ACTIVE, Status.SUPERSEDED, Status.EXPIRED, Status.NEEDS_REVALIDATION)
    readable = Fact.objects.filter(
        visible_to(reader), status__in=read, sensitivity=Sensitivity.PERSONAL, subject__kind=SubjectKind.PERSON
    )
    return [f"{fact.scope.path}: {fact.statement}" for fact in readable if not _agreed_to(fact)]


def _agreed_to(fact: Fact) -> bool:
    origins = [fact.id, *fact.relations_out.filter(kind="promoted_from").values_list("target_id", flat=True)]
    return Consent.objects.filter(
        fact_id__in=origins, subject_id=fact.subject_id, target_id=fact.scope_id, status="granted"
    ).exists()
