"""The playground: ask as oneself or as somebody else, and see packet, trace and prompt side by side."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.cache import never_cache

from facts.errors import DomainError
from facts.tenancy import account_transaction
from governance.fields import parse_instant
from memory_site.admin_pages import playground, sight
from memory_site.admin_pages.fact_display import words
from memory_site.admin_pages.middleware import commits_by_item
from memory_site.admin_pages.playground import As, Call, Question, Tried
from memory_site.admin_pages.trace_display import next_step
from retrieval.ask import answering
from retrieval.context.assembly import MAX_QUERY
from retrieval.traces.writing import unpack

#: Decisions of the trace that the page shows, the first by rank; its own page shows all.
SHOWN = 25
#: Tokens of a context call, and results of a search or of an ask, unless another number is typed.
TOKENS, RESULTS = 900, 12
_MOST = {Call.CONTEXT: 100_000, Call.SEARCH: 100, Call.ASK: 50}


class QuestionForm(forms.Form):
    """What is asked, where, through whose eyes and how."""

    call = forms.ChoiceField(
        label="Try",
        choices=[
            (Call.CONTEXT.value, "Context: what an agent is told before it answers"),
            (Call.SEARCH.value, "Search: what is found, best first"),
            (Call.ASK.value, "Ask: an answer with what it rests on"),
        ],
        initial=Call.CONTEXT.value,
        widget=forms.RadioSelect,
    )
    query = forms.CharField(
        label="Question",
        required=False,
        max_length=MAX_QUERY,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="A context call without a question hands out standing context.",
    )
    scope = forms.CharField(
        max_length=512, initial="/", help_text="Path of the scope that is asked in, such as /support."
    )
    subject = forms.CharField(
        label="About",
        required=False,
        max_length=200,
        help_text="Key of one subject: then only that scope's facts about it. Empty: the scope and those above it.",
    )
    read_as = forms.ChoiceField(
        label="Read as",
        choices=[
            (As.SELF.value, "Yourself"),
            (As.PEER.value, "Somebody else (put down in the audit chain)"),
            (As.PUBLIC.value, "Nobody: what is public"),
        ],
        initial=As.SELF.value,
        widget=forms.RadioSelect,
    )
    peer = forms.CharField(
        label="Who", required=False, max_length=200, help_text="Key of the person or agent whose eyes are borrowed."
    )
    profile = forms.ChoiceField(
        required=False,
        choices=[
            ("", "The usual one of the scope"),
            (playground.BUILT_IN, "As built in, without overrides"),
            *((name.value, name.value) for name in playground.PROFILES),
        ],
    )
    budget = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=max(_MOST.values()),
        help_text=f"Tokens of a context call ({TOKENS}); results of a search or an ask ({RESULTS}).",
    )
    as_of = forms.CharField(
        label="True at", required=False, max_length=40, help_text="As 2026-11-30 or with a time; empty: now."
    )
    known_at = forms.CharField(
        label="As known at", required=False, max_length=40, help_text="What was believed then; empty: now."
    )

    def question(self) -> Question:
        """Return what was filled in; raises ``DomainError`` for instants that are none, and for what is missing."""
        given = self.cleaned_data
        call = Call(given["call"])
        if call is not Call.CONTEXT and not given["query"].strip():
            raise DomainError("Type a question.", code="empty_query", field="query")
        budget = given["budget"] or (TOKENS if call is Call.CONTEXT else RESULTS)
        if budget > _MOST[call]:
            raise DomainError(f"At most {_MOST[call]:,}.", code="budget_exceeded", field="budget")
        return Question(
            call=call,
            query=given["query"].replace("\x00", ""),
            scope_path=given["scope"].strip(),
            read_as=As(given["read_as"]),
            peer_key=given["peer"].strip(),
            subject_key=given["subject"].strip(),
            profile=given["profile"],
            budget=budget,
            as_of=parse_instant(given["as_of"].strip(), field="as_of") if given["as_of"].strip() else None,
            known_at=parse_instant(given["known_at"].strip(), field="known_at") if given["known_at"].strip() else None,
        )


@never_cache
@commits_by_item
def ask(request: HttpRequest) -> HttpResponse:
    """Show the form, and below it what came of a question. No transaction is open while it is answered."""
    if request.principal is None:
        return _page(request, "memory/no_account.html", title="No account yet")
    form = QuestionForm(request.POST if request.method == "POST" else None, initial=_initial(request))
    tried = None
    if request.method == "POST" and form.is_valid():
        try:
            tried = playground.try_out(request.principal, form.question())
        except DomainError as error:
            field = {"subject_id": "subject", "budget_tokens": "budget"}.get(error.field or "", error.field)
            form.add_error(field if field in form.fields else None, error.message)
    with account_transaction(request.principal.account_id):
        eyes = sight.of(request)
        response = _page(
            request,
            form=form,
            tried=tried,
            decisions=_decisions(eyes, tried) if tried else [],
            next_step=next_step(tried.trace) if tried else "",
            strategies=tried.trace.strategies.items() if tried else [],
            may_borrow=playground.may_read_as_others(eyes),
            may_keep=playground.may_keep_questions(eyes),
            has_model=answering.configured() is not None,
        )
        return response.render()


def _initial(request: HttpRequest) -> dict[str, str]:
    """Return what the address fills in: a link may name question, scope and subject."""
    return {name: request.GET[name] for name in ("query", "scope", "subject", "call") if request.GET.get(name)}


def _decisions(eyes: sight.Sight, tried: Tried) -> list[dict[str, Any]]:
    """Return the first decisions of the trace, each with the words that the person may read."""
    last = len(tried.trace.decisions) + 1
    rows = sorted(unpack(tried.trace.decisions), key=lambda row: (row["unit"], row["rank"] or last))[:SHOWN]
    facts = eyes.facts().filter(pk__in=[row["id"] for row in rows], readable=True)
    texts = {str(pk): statement for pk, statement in facts.values_list("pk", "statement")}
    texts |= {str(item.id): item.text for item in tried.items}
    return [{**row, "text": texts.get(row["id"], ""), "reason_words": words(row["reason"])} for row in rows]


def _page(request: HttpRequest, template: str = "memory/playground.html", **context: Any) -> TemplateResponse:
    request.current_app = admin.site.name
    about = {"title": "Playground", "subtitle": None, **context}
    return TemplateResponse(request, template, {**admin.site.each_context(request), **about})
