"""Makers of test data: one factory per thing, going through the services wherever a rule is involved.

Owned rows need the account they belong to: pass ``account=`` (or a subject, or an event, which bring theirs), and be in
that account (the fixture ``account``, or :func:`entered`).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from typing import Any

import factory
from django.contrib.auth.hashers import make_password
from django.db import connection, transaction

from facts import index, lifecycle, tenancy, withholding
from facts.actors import pipeline
from facts.candidates import Candidate
from facts.canonical import identity_key, statement_hash, value_key
from facts.models import (
    Account,
    AccountSecret,
    Event,
    Evidence,
    Fact,
    Identity,
    Membership,
    Passage,
    Scope,
    Subject,
    User,
)
from facts.vocabulary import EvidenceLevel, Level, Sensitivity, Status, SubjectKind
from governance import access, keys, placement
from governance.models import ApiKey, GateAMode, GateBMode, GateRule, Grant, Role

#: When things happen in tests unless a test says otherwise: fixed, in the past, and in this order.
JANUARY = datetime(2025, 1, 10, 9, 0, tzinfo=UTC)
MARCH = datetime(2025, 3, 10, 9, 0, tzinfo=UTC)
MAY = datetime(2025, 5, 10, 9, 0, tzinfo=UTC)
JULY = datetime(2025, 7, 10, 9, 0, tzinfo=UTC)


@contextmanager
def entered(account: Account | None) -> Iterator[None]:
    """Be in ``account`` (``None``: in no account) for a while, also where the test is in another one already.

    Product code never switches inside a transaction; a test that compares two tenants has to.
    """
    with transaction.atomic():
        before = _set_account("" if account is None else str(account.id))
        yield
        # An error needs no clearing up: the setting returns with the savepoint.
        _set_account(before)


@contextmanager
def taken_back() -> Iterator[None]:
    """Do something and take it back, so that many examples of a property fit into one test."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def _set_account(value: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('app.account', true)")
        before = cursor.fetchone()[0] or ""
        cursor.execute("SELECT set_config('app.account', %s, true)", [value])
    return before


class AccountFactory(factory.django.DjangoModelFactory):
    """An account with its secret and its root scope; ``gate_preset`` and ``consent_mode`` may be given."""

    class Meta:
        model = Account

    key = factory.Sequence(lambda n: f"account-{n}")
    name = factory.LazyAttribute(lambda made: made.key.title())

    @classmethod
    def _create(cls, model_class: type[Account], *args: Any, **kwargs: Any) -> Account:
        settings = {name: kwargs.pop(name) for name in ("gate_preset", "consent_mode") if name in kwargs}
        with entered(None):
            account = tenancy.create_account(**kwargs)
        for name, value in settings.items():
            setattr(account, name, value)
        account.save(update_fields=list(settings))
        return account


@cache
def hashed_password() -> str:
    """Return the hash of the password of test users; made once, because it is slow by design."""
    return make_password("correct horse battery")


class UserFactory(factory.django.DjangoModelFactory):
    """A person who can sign in with the password ``correct horse battery``."""

    class Meta:
        model = User
        skip_postgeneration_save = True

    username = factory.Sequence(lambda n: f"user-{n}")
    password = factory.LazyFunction(hashed_password)


class ScopeFactory(factory.django.DjangoModelFactory):
    """A scope, with those above it."""

    class Meta:
        model = Scope

    path = "/support"

    @classmethod
    def _create(cls, model_class: type[Scope], *args: Any, **kwargs: Any) -> Scope:
        return tenancy.ensure_scope(kwargs["account"].id, kwargs["path"])


class SubjectFactory(factory.django.DjangoModelFactory):
    """A subject; a person unless told otherwise."""

    class Meta:
        model = Subject

    key = factory.Sequence(lambda n: f"subject-{n}")
    kind = SubjectKind.PERSON
    name = factory.LazyAttribute(lambda made: made.key.title())


class IdentityFactory(factory.django.DjangoModelFactory):
    """A platform's name for a subject."""

    class Meta:
        model = Identity

    account = factory.SelfAttribute("subject.account")
    platform = "slack"
    value = factory.Sequence(lambda n: f"U{n:05}")


class MembershipFactory(factory.django.DjangoModelFactory):
    """A user in an account, bound to a person subject of their own."""

    class Meta:
        model = Membership

    user = factory.SubFactory(UserFactory)
    subject = factory.SubFactory(SubjectFactory, account=factory.SelfAttribute("..account"))


class GrantFactory(factory.django.DjangoModelFactory):
    """A role of a subject on a scope; curator at the root unless told otherwise."""

    class Meta:
        model = Grant

    account = factory.SelfAttribute("subject.account")
    scope = factory.SubFactory(ScopeFactory, account=factory.SelfAttribute("..account"), path="/")
    role = Role.CURATOR


class GateRuleFactory(factory.django.DjangoModelFactory):
    """A gate cell that lets everything through; account-wide unless a scope is given."""

    class Meta:
        model = GateRule

    scope = None
    level = Level.PEER
    sensitivity = Sensitivity.PERSONAL
    gate_a = GateAMode.AUTO_KEEP
    gate_b = GateBMode.AUTO_PLACE
    minimum_evidence_level = EvidenceLevel.INDIRECT


class EventFactory(factory.django.DjangoModelFactory):
    """One message that the subject said of itself, without passages (see :func:`say`)."""

    class Meta:
        model = Event

    account = factory.SelfAttribute("subject.account")
    scope = factory.SubFactory(ScopeFactory, account=factory.SelfAttribute("..account"))
    speaker = factory.SelfAttribute("subject")
    source_key = factory.Sequence(lambda n: f"message-{n}")
    kind = "message"
    text = "I prefer tea."
    occurred_at = MARCH
    content_hash = factory.LazyAttribute(lambda made: f"sha256:{abs(hash(made.text)):064x}"[:71])


class PassageFactory(factory.django.DjangoModelFactory):
    """A passage of an event that holds its whole text, with its search row."""

    class Meta:
        model = Passage

    account = factory.SelfAttribute("event.account")
    scope = factory.SelfAttribute("event.scope")
    subject = factory.SelfAttribute("event.subject")
    ordinal = factory.Sequence(lambda n: n)
    text = factory.SelfAttribute("event.text")
    occurred_at = factory.SelfAttribute("event.occurred_at")
    sensitivity = factory.SelfAttribute("event.sensitivity")

    @classmethod
    def _create(cls, model_class: type[Passage], *args: Any, **kwargs: Any) -> Passage:
        passage = super()._create(model_class, *args, **kwargs)
        index.write_passage_text([passage])
        return passage


class FactFactory(factory.django.DjangoModelFactory):
    """A fact with its first revision and its evidence, in any status (``active``), written by the ledger.

    ``claim`` is (predicate, value, qualifiers) or ``None``; ``event`` is what it cites, by default its own message.
    For a fact that went through planning and gates use :func:`submit`.
    """

    class Meta:
        model = Fact

    account = factory.SelfAttribute("subject.account")
    scope = factory.SubFactory(ScopeFactory, account=factory.SelfAttribute("..account"))
    level = Level.PEER
    sensitivity = Sensitivity.PERSONAL
    status = Status.ACTIVE
    statement = factory.Sequence(lambda n: f"They like song {n}.")
    predicate = ""
    value = None
    qualifiers = factory.LazyFunction(dict)
    confidence = 0.9
    valid_from = MARCH
    start_assumed = True
    corroboration = 1
    event = None

    @classmethod
    def _build(cls, model_class: type[Fact], *args: Any, **kwargs: Any) -> Fact:
        kwargs.pop("event", None)
        return super()._build(model_class, *args, **kwargs)

    @classmethod
    def _create(cls, model_class: type[Fact], *args: Any, **kwargs: Any) -> Fact:
        actor = kwargs.pop("actor", None) or pipeline()
        event = kwargs.pop("event", None)
        secret = bytes(AccountSecret.objects.get(account=kwargs["account"]).statement_key)
        fact = Fact(statement_hash=statement_hash(secret, kwargs["statement"]), **kwargs)
        if fact.predicate:
            fact.identity_key = identity_key(fact.predicate, fact.qualifiers)
            fact.value_key = value_key(fact.value, denies=fact.denies)
            fact.denial_key = fact.value_key if fact.denies else ""
        lifecycle.insert(fact, actor=actor, action="fact.proposed")
        event = event or EventFactory(
            subject=fact.subject, scope=fact.scope, text=fact.statement, occurred_at=fact.valid_from or MARCH
        )
        passage = Passage.objects.filter(account=fact.account, event=event).first() or PassageFactory(event=event)
        Evidence.objects.create(account=fact.account, fact=fact, event=event, passage=passage, quote=event.text)
        withholding.refresh(fact.account_id, [fact.id])
        return fact


def say(subject: Subject, text: str = "I live in Lyon.", **event: Any) -> Event:
    """Return an event of the subject with its one passage, as capture leaves it."""
    made = EventFactory(subject=subject, text=text, **event)
    PassageFactory(event=made)
    return made


def candidate(value: Mapping[str, Any] | None = None, **fields: Any) -> Candidate:
    """Return what an extractor would yield: ``lives_in`` with this value, or a claim-free statement for ``None``."""
    predicate = fields.pop("predicate", "lives_in" if value is not None else "")
    words = ", ".join(str(item) for item in (value or {}).values())
    denial = "does not have" if fields.get("denies") else "has"
    statement = fields.pop("statement", f"The speaker {denial} {predicate} {words}." if predicate else "A remark.")
    return Candidate(
        statement=statement,
        quote=fields.pop("quote", words or statement),
        confidence=fields.pop("confidence", 0.9),
        predicate=predicate,
        value=value,
        **fields,
    )


def submission(
    subject: Subject,
    value: Mapping[str, Any] | None = None,
    *,
    at: datetime = MARCH,
    event: Event | None = None,
    event_fields: Mapping[str, Any] | None = None,
    evidence_level: str = EvidenceLevel.DIRECT,
    vector: Any = None,
    **fields: Any,
) -> placement.Submission:
    """Return a candidate of ``subject`` with its event, said at ``at``, ready to be submitted."""
    proposed = candidate(value, **fields)
    event = event or say(subject, f"{proposed.quote}", occurred_at=at, **(event_fields or {}))
    return placement.Submission(
        event=event,
        passage=Passage.objects.filter(account_id=event.account_id, event=event).first(),
        subject=subject,
        candidate=proposed,
        evidence_level=evidence_level,
        provider="rules",
        model="rules",
        prompt_version="1",
        vector=vector,
    )


def submit(subject: Subject, value: Mapping[str, Any] | None = None, **fields: Any) -> placement.Placement:
    """Submit a candidate of ``subject`` through planning and gates; see :func:`submission` for what may be given."""
    return placement.submit(submission(subject, value, **fields), actor=pipeline())


def submitted_fact(subject: Subject, value: Mapping[str, Any] | None = None, **fields: Any) -> Fact:
    """Submit as :func:`submit` and return the fact concerned as it is now."""
    return Fact.objects.get(pk=submit(subject, value, **fields).fact_id)


def person_in(account: Account, *, role: str | None = Role.CURATOR, path: str = "/", **grant: Any) -> access.Principal:
    """Return a signed-in person of the account with a role at ``path`` (``None``: with no grant at all)."""
    membership = MembershipFactory(account=account)
    if role is not None:
        GrantFactory(subject=membership.subject, role=role, scope=tenancy.ensure_scope(account.id, path), **grant)
    return access.person(membership)


def maker_of(principal: access.Principal) -> Membership:
    """Return the membership behind a principal."""
    return Membership.objects.get(account_id=principal.account_id, pk=principal.membership_id)


def api_key(account: Account, **fields: Any) -> tuple[ApiKey, str]:
    """Make a key with an app's rights, or those given, and return it with its raw text."""
    given = {"label": "test key", "rights": access.APP_RIGHTS, "actor": pipeline("test"), **fields}
    return keys.create_key(account_id=account.id, **given)


def key_principal(account: Account, **fields: Any) -> access.Principal:
    """Make a key as :func:`api_key` and return its principal."""
    _, raw = api_key(account, **fields)
    keys.forget_cached()
    principal = keys.authenticate(raw)
    if principal is None:
        raise AssertionError("a fresh key must authenticate")
    return principal


def unknown_id() -> uuid.UUID:
    """Return an id that nothing has."""
    return uuid.uuid4()
