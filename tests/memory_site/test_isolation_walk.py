"""Every endpoint and every admin page, as everybody who may not see it: what is there is told like what is not.

The addresses come from the URL configuration. Each is called twice, with ids of things that are there and are hidden
from the caller, and with ids that nothing has; both answers have to be the same but for what differs from call to
call. What is hidden carries a word that stands nowhere else and may be in no answer.

What nobody should send is refused by name, and leaves nothing behind.

Who adds an endpoint adds a line to :data:`BODIES` if it takes a POST, and one to :data:`IDS` for a new kind of id.
"""

from __future__ import annotations

import copy
import itertools
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from django.apps import apps
from django.contrib import admin
from django.db import connection, transaction
from django.db.models import Model
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver

from facts import account_secret, embedding
from facts.models import (
    Account,
    AuditEntry,
    ConflictDecision,
    ConflictSet,
    Event,
    Fact,
    Identity,
    Job,
    LongJob,
    Membership,
    Subject,
    Suppression,
)
from facts.models.owned import Owned
from facts.tenancy import ensure_scope
from facts.vocabulary import Sensitivity
from governance import conflicts, forgetting, keys
from governance.access import Delegation, Right
from governance.models import (
    ApiKey,
    Consent,
    ForgetReceipt,
    Leaving,
    Promotion,
    Review,
    ReviewDecision,
    Role,
)
from governance.reviewing import reviews
from governance.sharing import promotions
from ingest.models import (
    Action,
    ActionRule,
    Delivery,
    DeliveryTarget,
    ImportRun,
    MoodEntry,
    OptOut,
    SlackChannel,
    SlackReceipt,
    SlackWorkspace,
)
from memory_site.api.urls import urlpatterns as api_urls
from memory_site.models import SavedView
from memory_site.portal.urls import urlpatterns as portal_urls
from retrieval import large_scopes, places
from retrieval.embedders import registry
from retrieval.models import Card, CardKind, RetrievalProfile, StoredQuery, Trace
from retrieval.profiles import overrides
from retrieval.text import known_names
from tests.admin_scene import sign_in
from tests.api import Caller, caller_with_key, problem, signed_in
from tests.factories import (
    JULY,
    MARCH,
    AccountFactory,
    FactFactory,
    GateRuleFactory,
    GrantFactory,
    MembershipFactory,
    SubjectFactory,
    UserFactory,
    entered,
    key_principal,
    maker_of,
    person_in,
    submit,
    taken_back,
)
from tests.ingest.fakes import tell

#: Part of every text, name, key and path that is hidden, and of nothing else.
MARKER = "quagmirezeta"
PLACE = f"/{MARKER}"

Ids = Mapping[str, str]
#: Status, address of a redirect, and text of an answer.
Told = tuple[int, str, str]

#: What the ids in addresses and bodies of the API are ids of.
IDS: dict[str, type[Model]] = {
    "action_id": Action,
    "conflict_id": ConflictSet,
    "consent_id": Consent,
    "event_id": Event,
    "fact_id": Fact,
    "forget_id": ForgetReceipt,
    "job_id": Job,
    "key_id": ApiKey,
    "observation_id": Fact,
    "promotion_id": Promotion,
    "review_id": Review,
    "subject_id": Subject,
    "trace_id": Trace,
}


def _reading(ids: Ids) -> dict[str, Any]:
    return {"scope": ids["scope"], "subject_id": ids["subject"], "query": "Who likes tea?", "purpose": "test"}


def _observation(ids: Ids) -> dict[str, Any]:
    return {"entityType": "user", "entityId": ids["subject"], "observation": "Likes tea.", "scope": ids["scope"]}


def _nothing(_: Ids) -> dict[str, Any]:
    return {}


#: What is posted to each endpoint that takes a POST.
BODIES: dict[str, Callable[[Ids], dict[str, Any]]] = {
    "actions/<uuid:action_id>/assign": lambda ids: {"person": ids["subject"]},
    "actions/<uuid:action_id>/dismiss": _nothing,
    "actions/<uuid:action_id>/done": _nothing,
    "actions/<uuid:action_id>/reopen": _nothing,
    "ask": _reading,
    "context/backfill": _nothing,
    "capture": lambda ids: {
        "events": [
            {
                "scope_path": ids["scope"],
                "subject_id": ids["subject"],
                "payload": {"text": "I like tea."},
                "occurred_at": MARCH.isoformat(),
            }
        ]
    },
    "cli/device/poll": lambda ids: {"device_code": ids["key_id"]},
    "cli/device/start": _nothing,
    "conflicts/<uuid:conflict_id>/defer": lambda _: {"until": "2099-01-01T00:00:00Z"},
    "conflicts/<uuid:conflict_id>/dismiss": _nothing,
    "conflicts/<uuid:conflict_id>/reopen": _nothing,
    "conflicts/<uuid:conflict_id>/resolve": lambda ids: {"verb": "keep_one", "keep_fact_id": ids["fact_id"]},
    "consents/<uuid:consent_id>/deny": _nothing,
    "consents/<uuid:consent_id>/grant": _nothing,
    "consents/<uuid:consent_id>/withdraw": _nothing,
    "consolidate": _nothing,
    "context/ingest": lambda ids: {
        "channelId": "C1",
        "platformUserId": "U1",
        "messageTs": "1736499600.000100",
        "text": f"I like tea in {ids['scope']}.",
    },
    "consolidate/subject": _nothing,
    "context": _reading,
    "context/browse": lambda ids: {"url": "http://127.0.0.1/", "scope": ids["scope"]},
    "context/observations": _observation,
    "context/observations/<uuid:observation_id>/supersede": _nothing,
    "context/search": lambda ids: {"query": "tea", "scope": ids["scope"]},
    "facts": _observation,
    "facts/<uuid:fact_id>/end": _nothing,
    "facts/<uuid:fact_id>/supersede": _nothing,
    "feedback": lambda ids: {"trace_id": ids["trace_id"], "fact_id": ids["fact_id"], "rating": "incorrect"},
    "forget": lambda ids: {"fact_id": ids["fact_id"]},
    "forget/<uuid:forget_id>/lift": _nothing,
    "forget/preview": lambda ids: {"fact_id": ids["fact_id"]},
    "keys": lambda ids: {"label": "mine", "scope": ids["scope"], "peer_key": ids["subject"]},
    "keys/<uuid:key_id>/rotate": _nothing,
    "lineage": lambda ids: {**_reading(ids), "target_id": ids["fact_id"], "target_type": "fact"},
    "moods": lambda _: {"score": 3},
    "moods/remove": lambda _: {"day": "2025-03-10"},
    "promotions": lambda ids: {"fact_id": ids["fact_id"], "target": "/", "reason": "For all."},
    "promotions/<uuid:promotion_id>/approve": _nothing,
    "promotions/<uuid:promotion_id>/cancel": _nothing,
    "promotions/<uuid:promotion_id>/reject": _nothing,
    "promotions/<uuid:promotion_id>/undo": _nothing,
    "reviews/<uuid:review_id>/approve": _nothing,
    "reviews/<uuid:review_id>/reject": _nothing,
    "search": _reading,
    "slack/events": lambda _: {"type": "event_callback", "team_id": MARKER, "event": {}},
    "self/erase": lambda _: {"confirm": MARKER},
    "self/erase/preview": _nothing,
    "self/facts/<uuid:fact_id>/contest": lambda _: {"reason": "It is wrong."},
    "self/facts/<uuid:fact_id>/redact": _nothing,
    "self/facts/<uuid:fact_id>/withdraw": _nothing,
    "stable-profile": _reading,
    "subjects/<uuid:subject_id>/merge": lambda ids: {"into": ids["fact_id"]},
    "subjects/<uuid:subject_id>/merge/preview": lambda ids: {"into": ids["fact_id"]},
    "subjects/<uuid:subject_id>/unmerge": _nothing,
    "subjects/merge": lambda ids: {"source_subject_id": ids["subject"], "target_subject_id": "nobody"},
    "subjects/resolve": lambda _: {"alias_kind": "email", "alias_value": "walk@example.org"},
    "traces/<uuid:trace_id>/replay": _nothing,
}
#: Addresses that know no account: the description of the API, and the answer to unknown addresses.
_OF_NO_ACCOUNT = {"schema", "docs", "^.*$"}
#: Calls that tell members of the account who may send messages to the scope itself how far their processing is, and no
#: word of it.
TOLD_INSIDE = {"post consolidate/subject", "get jobs/<uuid:job_id>"}
#: To these nothing is there: as much work is done for them about what is hidden as about what is missing.
FOREIGN = {"a foreign account's key", "a foreign account's administrator", "the administrator of another account"}
#: What differs between two equal calls.
_OF_THE_CALL = {
    "request_id",
    "elapsed_ms",
    "oldest_seconds",
    "oldest_task_seconds",
    "budget_remaining_ms",
    "pre_rerank_remaining_ms",
    "device_code",
    "user_code",
    "verification_uri_complete",
    "key",
    "prefix",
}
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{32}\b")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)")
#: Per page: the CSRF token, written as a form field.
_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="[^"]*"')


@dataclass(frozen=True)
class Planted:
    """An account, and by model the row of it that everybody in the walk may not see."""

    account: Account
    rows: dict[type[Model], Model]

    def row(self, model: type[Model]) -> Model:
        """Return the hidden row of a model; fails for a model of which nothing was planted."""
        if model not in self.rows:
            pytest.fail(f"Nothing of {model._meta.label} is planted: add a row to `planted`.")
        return self.rows[model]


@pytest.fixture
def planted(account: Account, settings: Any) -> Iterator[Planted]:
    """An account in which one scope holds a hidden thing of every kind."""
    settings.SEARCH_THREADS = 0
    embedding.register(None)
    yield Planted(account=account, rows=_plant(account))
    registry.register()


def _plant(account: Account) -> dict[type[Model], Model]:
    place = ensure_scope(account.id, PLACE)
    ana = SubjectFactory(account=account, key=f"{MARKER}-ana", name=f"Ana {MARKER}")
    membership = MembershipFactory(account=account, user=UserFactory(username=f"{MARKER}-user"), subject=ana)
    curator = person_in(account)
    at_place = {"event_fields": {"scope": place}}
    for city in ("Lyon", "Rome"):
        submit(ana, {"city": f"{MARKER} {city}"}, statement=f"Ana {MARKER} lives in {city}.", **at_place)
    fact, forgotten = (
        FactFactory(subject=ana, scope=place, statement=f"Ana {MARKER} likes {drink}.") for drink in ("tea", "coffee")
    )
    submit(ana, {"condition": MARKER}, predicate="has_condition", sensitivity=Sensitivity.RESTRICTED, **at_place)
    review = Review.objects.get(fact__predicate="has_condition")
    conflict = ConflictSet.objects.get()
    conflicts.defer(curator, conflict.id, until=JULY.replace(year=2099), rationale=MARKER)
    reviews.defer(curator, review.id, until=JULY.replace(year=2099), rationale=MARKER)
    app = key_principal(account, label=MARKER, peer=ana, scope_limit=place)
    event = tell(app, f"i like {MARKER}", project_id=MARKER, subject_id=ana.key)
    promotion = promotions.request_promotion(curator, fact_id=fact.id, target="/", reason=f"All of {MARKER}.")
    caller_with_key(account, label=MARKER, peer=ana).post(
        "/v1/context", {"scope": PLACE, "subject_id": ana.key, "query": MARKER, "purpose": MARKER}
    )
    line = {"text": fact.statement, "facts": [str(fact.id)]}
    written = {"account": account, "scope": place, "created_by": MARKER}
    RetrievalProfile.objects.create(**written, name="context", version=1, note=MARKER)
    rows: list[Model] = [
        account,
        place,
        ana,
        membership,
        fact,
        Event.objects.get(pk=event.id),
        conflict,
        ConflictDecision.objects.get(),
        review,
        ReviewDecision.objects.get(),
        promotion,
        Consent.objects.get(),
        forgetting.disable(curator, fact_id=forgotten.id, reason=MARKER),
        Leaving.objects.create(account=account, subject=ana, facts="keep", detail={"note": MARKER}),
        Trace.objects.get(),
        ApiKey.objects.get(pk=app.key_id),
        Job.objects.all()[0],
        GateRuleFactory(account=account, scope=place),
        GrantFactory(subject=ana, role=Role.READER, scope=place),
        Identity.objects.create(account=account, subject=ana, platform="slack", value=MARKER),
        Suppression.objects.create(account=account, subject=ana, cause="rejected", statement_hash="x"),
        Card.objects.create(
            account=account, scope=place, subject=ana, kind=CardKind.values[0], lines=[line], sensitivity="personal"
        ),
        RetrievalProfile.objects.create(**written, name="balanced", version=1, note=MARKER),
        StoredQuery.objects.create(**written, query=MARKER, subject_key=ana.key),
        *_what_slack_told(account, ana),
        ImportRun.objects.create(account=account, kind="slack_export", source=MARKER),
        LongJob.objects.create(account=account, kind="slack_export", title=MARKER, unit="messages"),
        AuditEntry.objects.all()[0],
        SavedView.objects.create(account=account, owner=membership, list_name="facts.Fact", name=MARKER, query={}),
        *_what_is_done(account, fact),
    ]
    return {type(row): row for row in rows}


def _what_slack_told(account: Account, person: Subject) -> list[Model]:
    """A workspace, a channel of it, a request, and somebody who opted out."""
    return [
        SlackWorkspace.objects.create(account=account, team=MARKER, name=MARKER, bot_user_id=MARKER),
        SlackChannel.objects.create(account=account, team=MARKER, channel_id=MARKER, name=MARKER),
        SlackReceipt.objects.create(account=account, team=MARKER, event_id=MARKER, event_type=MARKER),
        OptOut.objects.create(account=account, subject=person, via="portal"),
    ]


def _what_is_done(account: Account, fact: Fact) -> list[Model]:
    """An action about the fact, its rule, where it is told, and how the person felt."""
    target = DeliveryTarget.objects.create(
        account=account, name=MARKER, kind="email", address=f"{MARKER}@example.org", audience="named"
    )
    action = Action.objects.create(
        account=account, fact=fact, rule_key=MARKER, rule_version=1, kind="task", scope=fact.scope, subject=fact.subject
    )
    return [
        target,
        action,
        ActionRule.objects.create(account=account, key=MARKER, category="commitment", threshold=0.5, kind="task"),
        Delivery.objects.create(account=account, target=target, about="action", object_id=action.id, key=MARKER),
        MoodEntry.objects.create(
            account=account, subject=fact.subject, day=MARCH, score=1, source="manual", note=MARKER
        ),
    ]


# Who calls


def _everything(account: Account, **key: Any) -> Caller:
    """Return a caller with all rights, and with everything that an administrator can delegate."""
    maker = maker_of(person_in(account, role=Role.ACCOUNT_ADMIN))
    return caller_with_key(account, rights=[*Right], delegated=[*Delegation], maker=maker, **key)


def _foreign() -> Account:
    return AccountFactory(key="another")


def _foreign_key(_: Account) -> Caller:
    other = _foreign()
    with entered(other):
        return _everything(other)


def _foreign_administrator(_: Account) -> Caller:
    other = _foreign()
    with entered(other):
        person = maker_of(person_in(other, role=Role.ACCOUNT_ADMIN))
    return signed_in(person)


def _key_elsewhere(account: Account) -> Caller:
    return _everything(account, scope_limit=ensure_scope(account.id, "/sales"))


def _curator_elsewhere(account: Account) -> Caller:
    return signed_in(maker_of(person_in(account, path="/sales")))


def _peer(account: Account) -> Caller:
    bob = SubjectFactory(account=account, key="bob")
    return caller_with_key(account, rights=[Right.CAPTURE, Right.READ], peer=bob)


def _public_only(account: Account) -> Caller:
    return caller_with_key(account, rights=[Right.READ])


def _nobody(_: Account) -> Caller:
    return Caller()


def _without_membership(_: Account) -> Caller:
    return signed_in(Membership(user=UserFactory(is_staff=True)))


#: Callers, and whether they may know the scope in which the hidden things are.
CALLERS: dict[str, tuple[Callable[[Account], Caller], bool]] = {
    "a foreign account's key": (_foreign_key, False),
    "a foreign account's administrator": (_foreign_administrator, False),
    "a key for another scope": (_key_elsewhere, False),
    "a curator of another scope": (_curator_elsewhere, False),
    "another peer": (_peer, True),
    "a public-only reader": (_public_only, True),
    "nobody": (_nobody, False),
    "a person without membership": (_without_membership, False),
}
#: Callers of the account itself.
INSIDE = {"a key for another scope", "a curator of another scope", "another peer", "a public-only reader"}


# The API


def _endpoints(patterns: list[URLPattern | URLResolver], prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    """Return every address below some patterns, as it is written, with its pattern."""
    for pattern in patterns:
        address = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _endpoints(pattern.url_patterns, address)
        else:
            yield address, pattern


def _calls() -> Iterator[tuple[str, str]]:
    """Return (method, address) of everything in the API that knows accounts."""
    for address, pattern in _endpoints(api_urls):
        if address in _OF_NO_ACCOUNT:
            continue
        for method in ("get", "post", "put", "patch", "delete"):
            if hasattr(pattern.callback.view_class, method):
                yield method, address


def _ids(planted: Planted) -> dict[str, str]:
    return {
        **{name: str(planted.row(model).pk) for name, model in IDS.items()},
        "scope": PLACE,
        "subject": str(planted.row(Subject).key),
    }


def _call(caller: Caller, method: str, address: str, ids: Ids) -> HttpResponse:
    """Make one call; fails for an address, a method or a body that the walk does not know how to fill."""
    filled = re.sub(r"<uuid:(\w+)>", lambda found: _id_of(found[1], ids, address), f"/v1/{address}")
    filled = filled.replace("<entity_type:entity_type>", "user").replace("<path:entity_id>", ids["subject"])
    if "<" in filled:
        pytest.fail(f"{address} takes something that is no id: teach `_call` to fill it.")
    _remember_nothing()
    match method:
        case "get":
            return caller.get(filled, scope=ids["scope"], subject_id=ids["subject"])
        case "delete":
            return caller.delete(filled)
        case "post":
            if address not in BODIES:
                pytest.fail(f"POST {address} is new: say in BODIES what is posted to it.")
            query = f"?scope={ids['scope']}&subject_id={ids['subject']}" if address == "consolidate/subject" else ""
            return caller.post(filled + query, BODIES[address](ids))
        case _:
            pytest.fail(f"{method.upper()} {address}: teach `_call` this method.")


def _remember_nothing() -> None:
    """Drop what the process remembers for a while, which would otherwise be looked up in either of two calls."""
    for forget in (keys.forget_cached, known_names.forget, large_scopes.forget, overrides.forget, places.forget):
        forget()
    account_secret.statement_key.cache_clear()


def _id_of(name: str, ids: Ids, address: str) -> str:
    if name not in ids:
        pytest.fail(f"{address} takes a {name}: say in IDS of what it is the id.")
    return ids[name]


def _told(response: HttpResponse, ids: Ids) -> Told:
    """Return status, address of a redirect, and the body of an answer, without what differs from call to call.

    What the caller sent is named after what it is.
    """
    content = b"".join(response.streaming_content) if response.streaming else response.content
    if response.headers.get("Content-Type", "").endswith("json"):
        text = str(_lasting(orjson.loads(content)))
    else:
        text = _TOKEN.sub("", content.decode(errors="replace"))
    return response.status_code, _anonymous(response.headers.get("Location", ""), ids), _anonymous(text, ids)


def _lasting(value: Any) -> Any:
    match value:
        case dict():
            return {name: _lasting(part) for name, part in value.items() if name not in _OF_THE_CALL}
        case list():
            return [_lasting(part) for part in value]
        case float():
            return round(value, 4)
    return value


def _anonymous(text: str, ids: Ids) -> str:
    for name, value in sorted(ids.items(), key=lambda pair: -len(pair[1])):
        text = text.replace(value, f"[{name}]").replace(value.strip("/"), f"[{name}]")
    return _TIME.sub("[time]", text)


def _leaks(told: Told, planted: Planted) -> list[str]:
    """Return which hidden words and ids an answer holds, beside those that the caller sent."""
    secrets = [MARKER, *(str(row.pk) for row in planted.rows.values() if isinstance(row.pk, uuid.UUID))]
    return [secret for secret in secrets if secret in told[2] and secret != str(planted.account.pk)]


@pytest.mark.parametrize("who", CALLERS)
def test_the_api_tells_nobody_what_is_there(planted: Planted, who: str) -> None:
    make, knows_the_scope = CALLERS[who]
    caller = make(planted.account)
    hidden = _ids(planted)
    unknown = {name: str(uuid.uuid4()) for name in IDS} | {"scope": "/nowhere-at-all", "subject": "nobody-at-all"}
    if knows_the_scope:
        unknown["scope"] = PLACE
    faults = []
    for method, address in _calls():
        call = f"{method} {address}"
        answers, work = [], []
        for ids in (hidden, unknown):
            connection.queries_log.clear()  # it is bounded, and full it counts nothing
            with taken_back(), CaptureQueriesContext(connection) as queries:
                answers.append(_told(_call(caller, method, address, ids), ids))
            work.append(len(queries))
        if who in FOREIGN and work[0] != work[1]:
            faults.append(f"{call} takes {work[0]} queries about hidden things, {work[1]} about missing ones")
        is_told = who in INSIDE and call in TOLD_INSIDE
        faults += _faults(call, answers[0], answers[0] if is_told else answers[1], planted)
    assert not faults, "\n".join(faults)


def _faults(call: str, there: Told, missing: Told, planted: Planted) -> list[str]:
    """Return what is wrong with the answer about hidden things, given that about things that do not exist."""
    found = []
    if leaked := _leaks(there, planted):
        found.append(f"{call} answers {there[0]} with {leaked}")
    there, missing = (
        (status, _UUID.sub("[id]", place), _UUID.sub("[id]", text)) for status, place, text in (there, missing)
    )
    if there != missing or there[0] >= 500:
        found.append(f"{call} tells apart:\n  {there[:2]} {_difference(there[2], missing[2])}\n  {missing[:2]}")
    return found


def _difference(one: str, other: str) -> str:
    """Return where the first of two texts begins to differ, with some context."""
    pairs = enumerate(zip(one, other, strict=False))
    at = next((place for place, (left, right) in pairs if left != right), min(len(one), len(other)))
    return f"{one[max(at - 100, 0) : at + 200]!r} instead of {other[max(at - 100, 0) : at + 200]!r}"


# Bad input

#: What nobody should send, in any field. It is written as JSON, since some of it no encoder writes.
BAD = {
    "half a pair": r'"a\ud83d"',
    "an object": r'{"a": {"b": [1e400, "\u0000", "\ud83d", [[]]]}}',
}
#: Bodies that hold no field at all.
_BODILESS = {"nothing": b"", "no object": b"null", "no text": b"\xff\xfe", "no field": b"{}"}
_DESCRIPTION = Path(__file__).parents[2] / "docs" / "openapi.yaml"
_HOLE = "the value goes here"

Place = tuple[str | int, ...]


def _fields(schema: Mapping[str, Any], schemas: Mapping[str, Any], below: Place = ()) -> Iterator[Place]:
    """Return the places of a body that its description names, those inside of lists and objects too."""
    for part in schema.get("allOf", ()):
        yield from _fields(part, schemas, below)
    if "$ref" in schema:
        yield from _fields(schemas[schema["$ref"].rpartition("/")[2]], schemas, below)
    elif schema.get("type") == "array":
        yield from _fields(schema["items"], schemas, (*below, 0))
    for name, inner in schema.get("properties", {}).items():
        yield (*below, name)
        yield from _fields(inner, schemas, (*below, name))


def _with(body: Mapping[str, Any], place: Place, value: str) -> bytes:
    """Return a body as JSON with ``value``, which is JSON, at one place; what is missing above it is made."""
    changed: Any = copy.deepcopy(body)
    inside = changed
    for step, following in itertools.pairwise(place):
        if isinstance(inside, dict) and not inside.get(step):
            inside[step] = [{}] if following == 0 else {}
        inside = inside[step]
    inside[place[-1]] = _HOLE
    return orjson.dumps(changed).replace(orjson.dumps(_HOLE), value.encode())


def _rows() -> dict[str, int]:
    """Return how many rows each table of accounts has."""
    tables = [model._meta.db_table for model in apps.get_models() if issubclass(model, Owned)]
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(f"SELECT '{table}', count(*) FROM \"{table}\"" for table in tables))
        return dict(cursor.fetchall())


def test_bad_input_is_refused_by_name_and_leaves_nothing(planted: Planted) -> None:
    caller = signed_in(maker_of(person_in(planted.account, role=Role.ACCOUNT_ADMIN)))
    ids, description = _ids(planted), yaml.load(_DESCRIPTION.read_text(), yaml.CSafeLoader)
    faults = []
    for method, address in _calls():
        if method != "post":
            continue
        path = re.sub(r"<uuid:(\w+)>", lambda found: ids[found[1]], f"/v1/{address}")
        described = description["paths"][re.sub(r"<uuid:(\w+)>", r"{\1}", f"/v1/{address}")]["post"]
        content = described.get("requestBody", {}).get("content", {"": {"schema": {}}})
        fields = _fields(next(iter(content.values()))["schema"], description["components"]["schemas"])
        bodies = {("", name): body for name, body in _BODILESS.items()}
        bodies |= {
            (".".join(map(str, place)), name): _with(BODIES[address](ids), place, value)
            for place in fields
            for name, value in BAD.items()
        }
        before = _rows()
        for (field, name), body in bodies.items():
            point = transaction.savepoint()
            answer = caller.post(path, body)
            if answer.status_code < 400:
                transaction.savepoint_rollback(point)
                continue
            status, code, named = problem(answer)
            if status >= 500 or (field and code == "invalid_payload" and not named):
                faults.append(f"post {address} with {name} as {field or 'body'} is answered {status} {code}")
        if (after := _rows()) != before:
            faults.append(f"post {address} refuses and leaves {after.items() - before.items()}")
    assert not faults, "\n".join(faults)


# The admin

#: Pages about another model than the one below which they are.
ABOUT: dict[str, type[Model]] = {
    "stored_query_remove": StoredQuery,
    "audit_trail": Fact,
    "believed": Subject,
    "view_share": SavedView,
    "view_remove": SavedView,
}
#: Models of the installation, which hold nothing of an account.
_OF_THE_INSTALLATION = {"facts.user", "django_q", "memory_site"}
#: About nothing but the caller; and the way to pages outside of the admin, which no model has.
_ABOUT_NO_ROW = {"logout", "login", "password_change", "password_change_done", "view_on_site"}


def _pages() -> Iterator[tuple[str, URLPattern]]:
    for address, pattern in _endpoints(admin.site.urls[0]):
        app, model, *_ = [*address.split("/"), ""]
        of_rows = not {app, f"{app}.{model}"} & _OF_THE_INSTALLATION and "(?P" not in address
        if of_rows and pattern.name not in _ABOUT_NO_ROW:
            yield address, pattern


def _page_ids(address: str, pattern: URLPattern, planted: Planted) -> dict[str, str]:
    """Return the ids of hidden things for an address of the admin; fails for one that the walk cannot fill."""
    names = set(pattern.pattern.converters) | set(re.findall(r"<(?:\w+:)?(\w+)>", address))
    if not names:
        return {}
    app, model, *_ = address.split("/")
    found: dict[str, str] = {}
    for name in names:
        match name:
            case "pk" | "object_id" | "id":
                about = ABOUT.get(pattern.name or "") or _model(app, model, address)
                found[name] = str(planted.row(about).pk)
            case "decision":
                about = ReviewDecision if model == "review" else ConflictDecision
                found[name] = str(planted.row(about).pk)
            case "kind":
                found[name] = "fact"
            case "key":
                found[name] = str(planted.row(ActionRule).key)
            case _:
                pytest.fail(f"The page {address} takes a {name}: teach `_page_ids` to fill it.")
    return found


def _model(app: str, model: str, address: str) -> type[Model]:
    try:
        return apps.get_model(app, model)
    except LookupError:
        pytest.fail(f"The page {address} is below no model: say in ABOUT of what its id is.")


def _page(client: Client, method: str, address: str, ids: Ids, *, below: str = "/admin/") -> Told:
    filled = re.sub(r"<(?:\w+:)?(\w+)>", lambda found: ids[found[1]], address)
    _remember_nothing()
    with taken_back(), entered(None):
        response = getattr(client, method)(f"{below}{filled}")
    client.cookies.pop("messages", None)
    return _told(response, ids)


def _staff_elsewhere(account: Account, client: Client) -> None:
    sign_in(client, person_in(account, path="/sales"))


def _staff_without_a_role(account: Account, client: Client) -> None:
    sign_in(client, person_in(account, role=None))


def _staff_of_another_account(_: Account, client: Client) -> None:
    other = _foreign()
    with entered(other):
        sign_in(client, person_in(other, role=Role.ACCOUNT_ADMIN))


def _staff_of_no_account(_: Account, client: Client) -> None:
    client.force_login(UserFactory(is_staff=True))


def _signed_out(_: Account, client: Client) -> None:
    client.logout()


VISITORS: dict[str, Callable[[Account, Client], None]] = {
    "the administrator of another account": _staff_of_another_account,
    "a curator of another scope": _staff_elsewhere,
    "a member without a role": _staff_without_a_role,
    "staff of no account": _staff_of_no_account,
    "nobody": _signed_out,
}


@pytest.mark.parametrize("who", VISITORS)
def test_the_admin_tells_nobody_what_is_there(planted: Planted, who: str, client: Client) -> None:
    VISITORS[who](planted.account, client)
    _page(client, "get", "", {})  # what is looked up once in a process counts for no page
    faults = []
    for address, pattern in _pages():
        ids = _page_ids(address, pattern, planted)
        unknown = {name: value if name == "kind" else str(uuid.uuid4()) for name, value in ids.items()}
        for method in ("get", "post") if ids else ("get",):
            connection.queries_log.clear()
            with CaptureQueriesContext(connection) as about_hidden:
                there = _page(client, method, address, ids)
            with CaptureQueriesContext(connection) as about_missing:
                missing = _page(client, method, address, unknown) if ids else there
            if who in FOREIGN and ids and len(about_hidden) != len(about_missing):
                faults.append(f"{method} {address} takes {len(about_hidden)} and {len(about_missing)} queries")
            faults += _faults(f"{method} {address}", there, missing, planted)
    assert not faults, "\n".join(faults)


# The portal


@pytest.mark.parametrize("who", VISITORS)
def test_the_portal_tells_nobody_what_is_held_of_others(planted: Planted, who: str, client: Client) -> None:
    VISITORS[who](planted.account, client)
    faults = []
    for address, pattern in _endpoints(portal_urls):
        ids = {name: str(planted.row(IDS[name]).pk) for name in pattern.pattern.converters}
        unknown = {name: str(uuid.uuid4()) for name in ids}
        for method in ("get", "post"):
            there = _page(client, method, address, ids, below="/me/")
            missing = _page(client, method, address, unknown, below="/me/") if ids else there
            faults += _faults(f"{method} {address}", there, missing, planted)
    assert not faults, "\n".join(faults)
