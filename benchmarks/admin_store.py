"""The store that the pages of the admin are measured on: one account as it is after years of use.

Templates of the rows are made by the project's own services where that takes no more than a line; the rest is copied
from them inside the database, every copy with an id, a subject, a scope and words of its own. Indexes are made after
the rows, which is what takes the loading down to minutes.
"""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from benchmarks import corpora

if TYPE_CHECKING:
    import psycopg
    from django.db.models import Model

    from facts.models import Account, Event, Fact, Membership, Scope, Subject

ACCOUNT = "bench"
#: Scopes of one level, and people; every tenth fact is about one of a hundred people, as in real accounts.
SCOPES, PEOPLE, BUSY = 40, 5_000, 100
#: A word of many facts, one of ten in half a million, and one of none.
FREQUENT, RARE, ABSENT = "coffee", "telescopes", "quagmire"
#: Days for which there are figures, facts that one read considered, and API keys.
FIGURE_DAYS, CONSIDERED, KEYS = 180, 40, 500
_WORDS = "coffee,tea,invoices,e-mail,Lisbon,Porto,bicycles,audits,shipping,contracts,mornings,French,lawyers,tickets"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How many rows of each sort are written."""

    facts: int
    events: int
    traces: int
    reviews: int
    conflicts: int = 2_000
    records: int = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """Who looks: the administrator, a curator of four scopes, and somebody of whom much is known and who may read."""

    administrator: Membership
    curator: Membership
    reader: Membership


def load(sizes: Sizes) -> People:
    """Write the account where it is not there yet; return those who look at it."""
    from facts.models import Account, Membership
    from facts.tenancy import account_transaction, create_account

    account = Account.objects.filter(key=ACCOUNT).first()
    if account is None:
        account = create_account(key=ACCOUNT, name="Benchmark")
        with account_transaction(account.id):
            templates = _templates(account)
        _trace(account, templates)
        with corpora.owner() as connection, connection.transaction():
            # Checks and the triggers of append-only tables are for what is not known to be right.
            connection.execute("SET LOCAL session_replication_role = replica")
            connection.execute("SET LOCAL maintenance_work_mem = '1GB'")
            with _without_indexes(connection):
                _copy(connection, account, templates, sizes)
        _figures(account)
        with account_transaction(account.id):
            _further_people(account)
        corpora.settle()
    with account_transaction(account.id):
        members = Membership.objects.filter(account=account).select_related("user", "subject")
        return People(**{member.user.get_username(): member for member in members})


@contextmanager
def _without_indexes(connection: psycopg.Connection) -> Iterator[None]:
    """Take away the indexes of the largest tables that hold no constraint, and make them again at the end."""
    from facts.models import AuditEntry, Event, Evidence, Fact, FactRevision, FactText, Job, Passage

    large = (AuditEntry, Event, Evidence, Fact, FactRevision, FactText, Job, Passage)
    tables = [model._meta.db_table for model in large]
    found = connection.execute(
        "SELECT i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid) FROM pg_index i"
        " WHERE i.indrelid = ANY(%s::regclass[]) AND NOT EXISTS"
        " (SELECT 1 FROM pg_constraint c WHERE c.conindid = i.indexrelid)",
        [tables],
    ).fetchall()
    for name, _ in found:
        connection.execute(f"DROP INDEX {name}")
    yield
    for name, definition in found:
        with _told(name):
            connection.execute(definition)


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Tell how long a step took, where it took some time."""
    began = time.perf_counter()
    yield
    if (passed := time.perf_counter() - began) >= 1:
        print(f"{what}: {passed:.0f} s", file=sys.stderr, flush=True)


def _figures(account: Account) -> None:
    """Have the last days added up, as the schedule does every five minutes, and copy the last whole one to others."""
    from facts.models import DayFigure
    from retrieval.models import ReadStat
    from retrieval.tasks import keep_statistics

    began = "UPDATE facts_account SET created_at = now() - %s * interval '1 day' WHERE id = %s"
    with corpora.owner() as connection:
        connection.execute("SELECT set_config('app.account', %s, false)", [str(account.id)])
        connection.execute(began, [2, account.id])
        with _told("figures"):
            keep_statistics()
        for model in (ReadStat, DayFigure):
            table = model._meta.db_table
            columns = [field.column for field in model._meta.concrete_fields if field.column not in {"id", "day"}]
            named = ", ".join(f'"{column}"' for column in columns)
            connection.execute(
                f"INSERT INTO {table} (id, day, {named}) SELECT uuidv7(), day - back, {named}"
                f" FROM {table}, generate_series(1, {FIGURE_DAYS}) back"
                " WHERE day = (now() AT TIME ZONE 'UTC')::date - 1 ON CONFLICT DO NOTHING"
            )
        connection.execute(began, [FIGURE_DAYS + 2, account.id])


def _further_people(account: Account) -> None:
    """Let two more people in; runs inside the account."""
    from django.contrib.auth import get_user_model

    from facts.models import Membership
    from facts.tenancy import ensure_scope, get_subject
    from governance.models import Grant

    for name, key, role, paths in (
        ("curator", "person2", "curator", ("/team3", "/team13", "/team23", "/team33")),
        # Among those of whom most is known: see `_PERSON`.
        ("reader", "person10", "reader", ("/team11", "/team21")),
    ):
        user = get_user_model().objects.create_user(name, password=None, is_staff=True)
        subject = get_subject(account.id, key=key)
        Membership.objects.create(account=account, user=user, subject=subject)
        for path in paths:
            scope = ensure_scope(account.id, path)
            Grant.objects.create(account=account, scope=scope, subject=subject, role=role)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Templates:
    """The rows that are copied."""

    member: Membership
    scope: Scope
    subject: Subject
    event: Event
    fact: Fact
    others: dict[type[Model], Model]


def _templates(account: Account) -> _Templates:
    """Write one row of each sort; runs inside the account."""
    from django.contrib.auth import get_user_model

    from facts.models import (
        ConflictMember,
        ConflictSet,
        Identity,
        Job,
        Membership,
        Suppression,
    )
    from facts.tenancy import ROOT, ensure_scope, ensure_subject
    from governance.models import ApiKey, Grant, Review
    from ingest.models import Action, Delivery, EventOutcome, SlackReceipt
    from retrieval.models import Card

    at = datetime.now(UTC)
    root, scope = ensure_scope(account.id, ROOT), ensure_scope(account.id, "/team0")
    ada, subject = ensure_subject(account.id, key="ada"), ensure_subject(account.id, key="person0", name="Person 0")
    user = get_user_model().objects.create_user("administrator", password=None, is_staff=True)
    member = Membership.objects.create(account=account, user=user, subject=ada)
    Grant.objects.create(account=account, scope=root, subject=ada, role="account_admin")
    said = corpora.Said(key="0", speaker="Person 0", text="I like coffee in the morning, and no calls.", at=at)
    events = corpora.say(account, scope, subject, [said], searchable=True)
    known = [
        corpora.Known(
            statement=f"Person 0 likes coffee number {number} in the morning.",
            at=at,
            predicate="likes",
            value={"drink": f"coffee {number}"},
            sources=("0",),
        )
        for number in range(CONSIDERED)
    ]
    fact, *_ = corpora.know(account, scope, subject, known, events=events, shared=True)
    event = events["0"]
    owned = {"account": account}
    about = {**owned, "scope": scope, "subject": subject}
    conflict = ConflictSet.objects.create(**about, kind="contradiction", reason="values differ")
    rows: list[Model] = [
        Review.objects.create(**owned, kind="new_fact", fact=fact, fact_version=1, reasons=["human"], due_at=at),
        conflict,
        ConflictMember.objects.create(**owned, conflict_set=conflict, fact=fact),
        Job.objects.create(**owned, kind="process", input_key="0", status="done", finished_at=at),
        Identity.objects.create(**owned, subject=subject, platform="slack", value="U0"),
        Suppression.objects.create(**owned, subject=subject, cause="rejected", statement_hash="0"),
        Action.objects.create(**about, fact=fact, rule_key="commitments", rule_version=0, kind="task"),
        Delivery.objects.create(**owned, recipient=subject, about="action", object_id=fact.id, key="0", state="sent"),
        EventOutcome.objects.create(
            **about, event=event, recipe="rules", occurred_at=at, result="facts", finished_at=at
        ),
        Card.objects.create(**about, kind="subject_profile", lines=[], sensitivity="internal", builder="extract"),
        SlackReceipt.objects.create(**owned, team="T1", event_id="0", event_type="message"),
        ApiKey.objects.create(**owned, label="app 0", prefix="mem_0", digest=b"0", rights=["read"]),
    ]
    return _Templates(
        member=member,
        scope=scope,
        subject=subject,
        event=event,
        fact=fact,
        others={type(row): row for row in rows},
    )


def _trace(account: Account, templates: _Templates) -> None:
    """Have one context call leave its trace."""
    from facts.tenancy import account_transaction
    from governance import access
    from retrieval.context.assembly import ContextRequest, assemble

    with account_transaction(account.id):
        principal = access.person(templates.member)
    request = ContextRequest(
        scope_path="/team0", exact=True, subject_key="person0", query="Who likes coffee?", purpose="benchmark"
    )
    assemble(principal=principal, request=request)


def _copy(connection: psycopg.Connection, account: Account, templates: _Templates, sizes: Sizes) -> None:
    """Copy the templates; ``n`` numbers the copies of each, from 1."""
    from facts.models import (
        AuditEntry,
        ConflictMember,
        ConflictSet,
        Event,
        Evidence,
        Fact,
        FactRevision,
        FactText,
        Job,
        Passage,
        Scope,
        Subject,
    )
    from governance.models import ApiKey, Review
    from ingest.models import EventOutcome
    from retrieval.models import Trace

    copier = _Copier(connection, account.id)
    copier.number("scopes", SCOPES)
    copier.number("people", PEOPLE)
    copier.number("events", sizes.events)
    copier.number("facts", sizes.facts)
    copier.number("conflicts", sizes.conflicts)
    copier.multiply(Scope, templates.scope.pk, ids="scopes", path="'/team' || n", name="'Team ' || n")
    copier.multiply(Subject, templates.subject.pk, ids="people", key="'person' || n", name="'Person ' || n")
    place = {"scope_id": _of("scopes", SCOPES), "subject_id": _PERSON}
    copier.multiply(
        Event,
        templates.event.pk,
        ids="events",
        **place,
        source_key="'copy ' || n",
        thread="'thread ' || n / 20",
        source_type="CASE WHEN n % 5000 = 0 THEN 'admin_input' ELSE 'channel_message' END",
        origin_trust="CASE WHEN n % 2000 = 0 THEN 'untrusted' ELSE 'trusted' END",
        processed_at="CASE WHEN n <= 200 THEN NULL ELSE now() END",
        withdrawn_at="CASE WHEN n % 1000 = 0 THEN now() END",
        text=f"'I like ' || {_word()} || ', said ' || n",
        occurred_at="now() - n * interval '20 seconds'",
        recorded_at="now() - n * interval '20 seconds'",
    )
    copier.copy_one(
        Passage, "event_id", templates.event.pk, "events", **place, text=f"'I like ' || {_word()} || ', said ' || n"
    )
    fact = {
        "status": "CASE WHEN n % 20 < 15 THEN 'active' WHEN n % 20 < 17 THEN 'superseded' WHEN n % 20 = 17 THEN"
        " 'rejected' WHEN n % 20 = 18 THEN 'held' ELSE 'disabled' END",
        "sensitivity": "CASE WHEN n % 100 = 0 THEN 'restricted' WHEN n % 4 = 0 THEN 'personal' ELSE 'internal' END",
    }
    copier.multiply(
        Fact,
        templates.fact.pk,
        ids="facts",
        **place,
        **fact,
        statement=f"{_STATEMENT} || '.'",
        statement_hash="md5(n::text)",
        identity_key="md5(n::text)",
        category="CASE WHEN n % 50 = 0 THEN 'commitment' WHEN n % 997 = 0 THEN 'blocker' ELSE 'general' END",
    )
    copier.copy_one(FactRevision, "fact_id", templates.fact.pk, "facts", **place, **fact)
    copier.copy_one(
        FactText,
        "fact_id",
        templates.fact.pk,
        "facts",
        **place,
        active="n % 20 < 15",
        tsv=f"to_tsvector('english', {_STATEMENT})",
    )
    copier.copy_one(Evidence, "fact_id", templates.fact.pk, "facts", event_id=_of("events", sizes.events))
    # The fact of a number lies where everything else of this number does.
    any_fact = _of("facts", sizes.facts, shift="f.n - 1")
    decided = sizes.reviews * 2
    copier.multiply(
        Review,
        templates.others[Review].pk,
        count=decided,
        fact_id=any_fact,
        status=f"CASE WHEN n <= {sizes.reviews} THEN 'pending' ELSE 'approved' END",
        due_at="now() + (n - 3000) * interval '1 minute'",
        created_at="now() - n * interval '1 minute'",
    )
    copier.multiply(
        ConflictSet,
        templates.others[ConflictSet].pk,
        ids="conflicts",
        **place,
        identity_key="md5(n::text)",
        opened_at="now() - n * interval '1 hour'",
    )
    for shift in (0, 1):
        copier.copy_one(
            ConflictMember,
            "conflict_set_id",
            templates.others[ConflictSet].pk,
            "conflicts",
            fact_id=_of("facts", sizes.facts, shift=f"f.n - 1 + {shift * PEOPLE}"),
        )
    copier.multiply(
        Trace,
        None,
        count=sizes.traces,
        scope_path=f"'/team' || 1 + n % {SCOPES}",
        **place,
        subject_key=f"'person' || {_PERSON_NUMBER}",
        query=f"'Who likes ' || {_word()} || '?'",
        purpose="(ARRAY['support', 'shipping', 'planning'])[1 + n % 3]",
        kind="CASE WHEN n % 5 = 0 THEN 'search' ELSE 'context' END",
        status="CASE WHEN n % 500 = 0 THEN 'failed' WHEN n % 50 = 0 THEN 'degraded' ELSE 'ok' END",
        facts_served="n % 7",
        passages_served="0",
        withheld="CASE WHEN n % 300 = 0 THEN 1 ELSE 0 END",
        created_at="clock_timestamp() - n * interval '2 seconds'",
    )
    copier.multiply(
        Job,
        templates.others[Job].pk,
        count=sizes.records,
        input_key="n::text",
        status="CASE WHEN n % 5000 = 0 THEN 'dead' ELSE 'done' END",
    )
    copier.multiply(
        AuditEntry, None, count=sizes.records, seq="1000 + n", object_id=f"({any_fact})::text", action="'fact.placed'"
    )
    copier.multiply(
        EventOutcome,
        templates.others[EventOutcome].pk,
        count=sizes.events,
        event_id=_of("events", sizes.events),
        recipe="'copy'",
    )
    copier.multiply(
        ApiKey,
        templates.others[ApiKey].pk,
        count=KEYS,
        label="'app ' || n",
        prefix="'mem_' || n",
        digest="decode(md5(n::text), 'hex')",
    )
    copier.rest(templates.others, about={**place, "fact_id": any_fact}, most=sizes.records // 10)


def _of(name: str, count: int, *, shift: str = "f.n") -> str:
    """Return the SQL of the id that goes with the number of a copy."""
    return f"(SELECT id FROM {name} i WHERE i.n = 1 + ({shift}) % {count})"


def _word(step: int = 1) -> str:
    """Return the SQL of one of the words."""
    words = ", ".join(f"'{word}'" for word in _WORDS.split(","))
    return f"(ARRAY[{words}])[1 + (n / {step}) % {len(_WORDS.split(','))}]"


#: The SQL of whom a copy is about: every tenth is about one of the first hundred people, whose scope is that of others.
_PERSON_NUMBER = f"(CASE WHEN n % 10 = 0 THEN 1 + n / 10 % {BUSY} ELSE 1 + n % {PEOPLE} END)"
_PERSON = f"(SELECT id FROM people i WHERE i.n = {_PERSON_NUMBER.replace('n %', 'f.n %').replace('n /', 'f.n /')})"
#: The SQL of what a copied fact says, without its full stop.
_STATEMENT = (
    f"'Person ' || n || ' likes ' || {_word()} || ' and ' || {_word(7)}"
    f" || CASE WHEN n % 50000 = 7 THEN ' and {RARE}' ELSE '' END"
)


class _Copier:
    """Copies template rows of one account."""

    def __init__(self, connection: psycopg.Connection, account_id: uuid.UUID) -> None:
        self._connection = connection
        self._account = account_id
        self._done: set[type[Model]] = set()

    def number(self, name: str, count: int) -> None:
        """Make a table of as many new ids, the first of which is the newest."""
        self._connection.execute(
            f"CREATE TEMP TABLE {name} ON COMMIT DROP AS SELECT n, uuidv7(n * interval '-2 seconds') AS id"
            " FROM generate_series(1, %s) n",
            [count],
        )
        self._connection.execute(f"CREATE UNIQUE INDEX ON {name} (n) INCLUDE (id)")
        self._connection.execute(f"ANALYZE {name}")

    def multiply(self, model: type[Model], template: Any, *, ids: str = "", count: int = 0, **values: str) -> None:
        """Copy one row ``count`` times or, with the ids of a table, once for each."""
        self._done.add(model)
        source = ids or f"(SELECT n, uuidv7(n * interval '-2 seconds') AS id FROM generate_series(1, {count}) n)"
        self._insert(model, {"id": "f.id", **values}, f"{source} f", "x.id = %(one)s" if template else "true", template)

    def copy_one(self, model: type[Model], key: str, template: Any, ids: str, **values: str) -> None:
        """Copy the row that belongs to ``template`` by its column ``key`` once for each id of a table."""
        self._done.add(model)
        own = {} if model._meta.pk.name != "id" else {"id": "uuidv7(f.n * interval '-2 seconds')"}
        self._insert(model, {**own, key: "f.id", **values}, f"{ids} f", f"x.{key} = %(one)s", template)

    def rest(self, templates: dict[type[Model], Model], *, about: dict[str, str], most: int) -> None:
        """Copy what is left in the general way: columns that must be unique get the number of the copy."""
        for model, row in templates.items():
            if model in self._done:
                continue
            columns = {field.column for field in model._meta.concrete_fields}
            values = {name: text for name, text in about.items() if name in columns}
            for name in ("value", "key", "event_id", "label", "statement_hash"):
                field = next((one for one in model._meta.concrete_fields if one.column == name), None)
                if field is not None and field.get_internal_type() == "CharField":
                    values[name] = "n::text"
            self.multiply(model, row.pk, count=most, **values)

    def _insert(self, model: type[Model], values: dict[str, str], source: str, which: str, template: Any) -> None:
        table = model._meta.db_table
        columns = [field.column for field in model._meta.concrete_fields]
        # In statements with parameters a percent sign is written twice.
        chosen = ", ".join(values.get(column, f'x."{column}"') for column in columns).replace("%", "%%")
        named = ", ".join(f'"{column}"' for column in columns)
        with _told(table):
            self._connection.execute(
                f"INSERT INTO {table} ({named}) SELECT {chosen} FROM"
                f" (SELECT * FROM {table} x WHERE x.account_id = %(account)s AND {which} LIMIT 1) x, {source}",
                {"account": self._account, "one": template},
            )
