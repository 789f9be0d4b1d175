"""What the tests of the admin look at: an account with messages in threads, conflicts, a review, and a read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.test import Client

from facts import embedding, index
from facts.models import Account, ConflictSet, Fact, Subject
from facts.vocabulary import Sensitivity
from governance.access import Principal
from governance.models import Role
from retrieval.context.assembly import ContextRequest, assemble
from retrieval.models import Trace
from tests.factories import (
    JANUARY,
    JULY,
    MARCH,
    FactFactory,
    SubjectFactory,
    key_principal,
    maker_of,
    person_in,
    say,
    submit,
    submitted_fact,
)

#: Markup, a script, a direction override, a zero-width space: text that must do nothing but be read.
HOSTILE = "<script>document.title='owned'</script><img src=x onerror=alert(1)> \u202eevil\u202c pay\u200bload {{ 7*7 }}"
EARLIER_QUESTIONS = ("How does Ana want her invoices?", "Which languages does Ana speak?")
ARABIC = "انتقلتُ إلى الدوحة في الصيف"


@dataclass(frozen=True)
class Scene:
    """The account and what is in it. ``conflicts`` wait, oldest first."""

    account: Account
    curator: Principal
    ana: Subject
    conflicts: list[ConflictSet]
    review_fact: Fact
    trace: Trace


def build(account: Account, *, hostile: bool = True) -> Scene:
    """Fill the account, whose transaction is open; with ordinary text only, unless it is to be ``hostile``."""
    curator = person_in(account, role=Role.ACCOUNT_ADMIN)
    ana = SubjectFactory(account=account, key="ana", name="Ana Lima")
    thread = {"thread": "onboarding", "kind": "message"}
    helper = SubjectFactory(account=account, key="support-bot", name="Support", kind="agent")
    say(ana, "Hello! Who can I talk to about shipping?", occurred_at=JANUARY, **thread)
    lisbon = say(
        ana,
        "I live in Lisbon, close to the river, so please ship everything to the Alfama office.",
        occurred_at=JANUARY + timedelta(minutes=2),
        **thread,
    )
    say(ana, "Noted, thank you.", occurred_at=JANUARY + timedelta(minutes=3), speaker=helper, human=False, **thread)
    porto = say(
        ana, "By the way, I live in Porto, close to the river.", occurred_at=MARCH, thread="orders", kind="message"
    )
    say(ana, "Should we send the invoice there as well?", occurred_at=MARCH, speaker=helper, thread="orders")
    submit(
        ana,
        {"city": "Lisbon"},
        at=JANUARY,
        event=lisbon,
        quote="I live in Lisbon",
        statement="Ana Lima lives in Lisbon, close to the river.",
    )
    submit(
        ana,
        {"city": "Porto"},
        at=MARCH,
        event=porto,
        quote="I live in Porto",
        statement="Ana Lima lives in Porto, close to the river.",
        confidence=0.82,
    )
    if hostile:
        _say_what_is_hostile(account)
    else:
        _say_how_to_be_reached(account)
    omar = SubjectFactory(account=account, key="omar", name="عمر")
    submit(omar, {"city": "الرياض"}, at=JANUARY, statement="يسكن عمر في الرياض", quote="الرياض")
    doha = say(omar, ARABIC, occurred_at=MARCH)
    submit(omar, {"city": "الدوحة"}, at=MARCH, event=doha, statement="يسكن عمر في الدوحة", quote="الدوحة")
    for day, text in enumerate(("prefers invoices by e-mail", "works in the shipping team", "speaks Portuguese")):
        FactFactory(subject=ana, statement=f"Ana Lima {text}.", valid_from=JANUARY + timedelta(days=day))
    waiting = submitted_fact(
        ana,
        {"condition": "diabetes"},
        predicate="has_condition",
        at=JULY,
        sensitivity=Sensitivity.RESTRICTED,
        statement="Ana Lima has diabetes.",
        quote="I have diabetes",
    )
    _write_vectors(account)
    app = key_principal(account, label="support app")
    for query in EARLIER_QUESTIONS:
        assemble(principal=app, request=_question(query))
    answer = assemble(principal=app, request=_question("Where does Ana live and work?"))
    return Scene(
        account=account,
        curator=curator,
        ana=ana,
        conflicts=list(ConflictSet.objects.order_by("opened_at", "id")),
        review_fact=waiting,
        trace=Trace.objects.get(pk=answer.trace_id),
    )


def _question(query: str) -> ContextRequest:
    return ContextRequest(scope_path="/support", exact=True, subject_key="ana", query=query, purpose="support")


def _say_what_is_hostile(account: Account) -> None:
    eve = SubjectFactory(account=account, key="eve", name="Eve <b>Mallory</b>")
    submit(eve, {"name": "Eve"}, predicate="is_called", at=MARCH, statement="The speaker is called Eve.")
    hostile = say(eve, HOSTILE, occurred_at=JULY)
    submit(eve, {"name": HOSTILE}, predicate="is_called", at=JULY, event=hostile, quote=HOSTILE, statement=HOSTILE)


def _say_how_to_be_reached(account: Account) -> None:
    ben = SubjectFactory(account=account, key="ben", name="Ben Okafor")
    ways = {"predicate": "is_reached_by"}
    submit(ben, {"channel": "phone"}, at=JANUARY, statement="Ben Okafor is best reached by phone.", **ways)
    submit(ben, {"channel": "e-mail"}, at=MARCH, statement="Ben Okafor is best reached by e-mail.", **ways)


def _write_vectors(account: Account) -> None:
    """Do what the worker does later: give every searchable text its vector."""
    provider = embedding.writing()
    if provider is None:
        return
    space = embedding.space(provider.identity)
    for missing, write in (
        (index.facts_missing_vectors, index.write_fact_vectors),
        (index.passages_missing_vectors, index.write_passage_vectors),
    ):
        rows = missing(account.id, space=space, limit=100)
        vectors = embedding.try_embed([text for _, text in rows]) or []
        write(account.id, vectors=[(pk, vector) for (pk, _), vector in zip(rows, vectors, strict=True)])


def sign_in(client: Client, principal: Principal, *, staff: bool = True) -> Client:
    """Let the person behind a principal be signed in."""
    user = maker_of(principal).user
    user.is_staff = staff
    user.save(update_fields=["is_staff"])
    client.force_login(user)
    return client
