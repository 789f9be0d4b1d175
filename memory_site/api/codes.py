"""Every error code of the API, with its HTTP status and its meaning: the contract, in one place.

A code never changes its meaning and is never reused. The table in the documentation is generated from this one, and a
test fails when a service raises a code that is missing here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of error: its status, and its title, a sentence that holds for every occurrence."""

    name: str
    status: int
    title: str


TABLE: tuple[Code, ...] = (
    # Who is asking
    Code("unauthorized", 401, "A valid key or session is needed."),
    Code("csrf_failed", 403, "A call from a browser session needs the CSRF token."),
    Code("no_account", 403, "The signed-in user belongs to no account."),
    Code("forbidden", 403, "The caller may not do this."),
    Code("forbidden_scope", 403, "The caller may not act in this scope."),
    Code("forbidden_right", 403, "A key cannot hand out more than it has."),
    Code("missing_right", 403, "The key lacks the right that this call needs."),
    Code("human_required", 403, "A person has to decide this, or a key to which a person delegated it."),
    Code("own_request", 403, "Nobody decides on their own request."),
    Code("not_requester", 403, "Only the person who asked takes a request back."),
    Code("device_refused", 403, "The terminal was not let in."),
    Code("peer_not_allowed", 403, "The key may not read for others."),
    # The request as such
    Code("invalid_payload", 422, "The request is malformed; `errors` names the fields."),
    Code("missing_scope", 422, "The call names no scope (or project_id)."),
    Code("invalid_scope", 422, "The scope path is malformed."),
    Code("ambiguous_field", 422, "Two names of the same field carry different values."),
    Code("invalid_subject", 422, "The subject key is malformed."),
    Code("naive_datetime", 422, "A time was given without its offset from UTC."),
    Code("invalid_datetime", 422, "A time is no ISO 8601 date and time."),
    Code("invalid_date", 422, "The date does not fit what is asked."),
    Code("invalid_cursor", 422, "The cursor does not belong to this listing."),
    Code("invalid_idempotency_key", 422, "The Idempotency-Key is malformed."),
    Code("idempotency_mismatch", 409, "The Idempotency-Key came with another request before."),
    Code("method_not_allowed", 405, "The address does not know this method."),
    Code("payload_too_large", 413, "The request body is larger than this server accepts."),
    Code("unsupported_media_type", 415, "The body has to be JSON, sent as application/json."),
    Code("bad_request", 400, "The request could not be read."),
    Code("rate_limited", 429, "Too many requests; Retry-After says when to come back."),
    Code("internal_error", 500, "Something went wrong here; the request id finds it in the log."),
    Code("unavailable", 503, "The store is out of reach for the moment; try again."),
    # Capture
    Code("batch_too_large", 422, "A batch holds too many events."),
    Code("event_too_large", 422, "An event holds too much."),
    Code("empty_text", 422, "Nothing is said in the event."),
    Code("impossible_date", 422, "An event happened after 1970 and not in the future."),
    Code("key_too_long", 422, "An idempotency key of an event or a batch is too long."),
    Code("alias_conflict", 409, "The alias belongs to another subject."),
    Code("alias_self_registration_too_long", 422, "The alias is too long to register itself."),
    # Reading
    Code("budget_exceeded", 422, "A budget is a positive whole number."),
    Code("query_too_long", 422, "The question is too long."),
    Code("unknown_effort", 422, "There is no such effort."),
    Code("effort_required", 422, "What is asked for comes with an effort only."),
    Code("unknown_profile", 422, "There is no such retrieval profile."),
    Code("invalid_profile", 422, "A setting of a retrieval profile is unknown or out of its bounds."),
    Code("not_replayable", 422, "Only context, search and ask calls are replayed."),
    Code("note_missing", 422, "A change of a retrieval profile needs a reason."),
    Code("empty_query", 422, "There is no question."),
    Code("unknown_scope", 422, "There is no such scope."),
    Code("link_not_found", 404, "The scopes are not linked."),
    Code("too_many_queries", 409, "The account keeps as many stored queries as it may."),
    # What was asked for is not there
    Code("not_found", 404, "There is no such thing, or none that the caller may see."),
    Code("fact_not_found", 404, "There is no such fact, or none that the caller may see."),
    Code("event_not_found", 404, "There is no such event, or none that the caller may see."),
    Code("job_not_found", 404, "There is no such job, or none that the caller may see."),
    Code("event_not_failed", 404, "The event did not fail, so there is nothing to try again."),
    Code("trace_not_found", 404, "There is no such trace, or none that the caller may see."),
    Code("pair_not_found", 404, "There is no such pair of names, or none of which the caller may read both names."),
    Code("pair_decided", 409, "The pair of names is decided already."),
    Code("pair_contradicts", 409, "Another decision about the same names says otherwise."),
    Code("conflict_not_found", 404, "There is no such conflict set, or none that the caller may see."),
    Code("decision_not_found", 404, "There is no such decision."),
    Code("promotion_not_found", 404, "There is no such promotion, or none that the caller may see."),
    Code("consent_link_not_found", 404, "There is no such link, or what it was about is gone."),
    Code("consent_not_found", 404, "There is no such consent, or it is for somebody else to give."),
    Code("assignee_not_found", 404, "No such person decides there."),
    Code("cell_not_found", 404, "There is no such cell of the gate matrix."),
    Code("review_not_found", 404, "There is no such review, or none that the caller may see."),
    Code("revision_not_found", 404, "The fact has no such revision."),
    Code("subject_not_found", 404, "There is no such subject."),
    Code("peer_not_found", 404, "No peer goes by that key."),
    Code("alias_not_found", 404, "No subject goes by that name."),
    Code("key_not_found", 404, "There is no such key."),
    Code("device_code_not_found", 404, "No terminal asks with this code, or it has its key already."),
    Code("user_code_not_found", 404, "No terminal waits with this code."),
    Code("profile_version_not_found", 404, "The retrieval profile has no such version."),
    Code("stored_query_not_found", 404, "There is no such stored query."),
    Code("receipt_not_found", 404, "There is no such receipt."),
    # What was asked for does not go
    Code("conflict", 409, "What was decided about is no longer what is there."),
    Code("stale_version", 409, "It has changed since it was looked at."),
    Code("subject_taken", 409, "Somebody else signs in as that person."),
    Code("identity_taken", 409, "Another current fact already makes this claim."),
    Code("illegal_status_transition", 422, "The status graph has no such arrow."),
    Code("statement_missing", 422, "A fact needs a statement."),
    Code("invalid_fact", 422, "The change breaks a rule of the fact ledger."),
    Code("invalid_retention", 422, "The term or the source of a retention rule is none."),
    Code("conflict_already_resolved", 409, "The conflict set is closed already."),
    Code("fact_not_in_conflict", 422, "The fact is not a member of the conflict set."),
    Code("qualifier_missing", 422, "Every fact that is kept needs what sets it apart."),
    Code("qualifiers_equal", 422, "Two facts would still be about the same thing."),
    Code("interval_missing", 422, "Every member needs an interval."),
    Code("invalid_interval", 422, "An interval ends before it starts."),
    Code("intervals_overlap", 422, "Two intervals overlap."),
    Code("distinction_missing", 422, "What separates the members has to be said."),
    Code("decision_undone", 409, "The decision was undone already."),
    Code("decision_built_upon", 409, "Something has built on the decision since."),
    Code("nothing_to_undo", 409, "There is no decision that could be undone."),
    Code("review_decided", 409, "The review is decided already."),
    Code("review_claimed", 409, "Somebody else has taken the review in hand."),
    Code("decided_elsewhere", 409, "This kind of review is decided on its own page."),
    Code("verb_unfit", 422, "This cannot be done about this kind of review."),
    Code("subject_missing", 422, "Who is meant has to be said."),
    Code("edit_changes_nothing", 422, "The fact says that already."),
    Code("merge_target_unfit", 409, "Nothing can be merged into that fact."),
    Code("unknown_decision", 422, "There is no such decision."),
    Code("invalid_cell", 422, "A gate rule cannot say that."),
    Code("consent_missing", 409, "The subject has not agreed to this."),
    Code("consent_refused", 409, "The subject has said no, and only it can change that."),
    Code("link_used", 409, "The link was used already; it is good for one answer."),
    Code("link_expired", 409, "The link is no longer good for a yes."),
    Code("promotion_decided", 409, "The promotion is decided already."),
    Code("promotion_pending", 409, "Somebody has asked for the promotion of this fact already."),
    Code("already_promoted", 409, "The target has a copy of the fact."),
    Code("already_known", 409, "The target says the same already."),
    Code("suppressed", 409, "What was forgotten or rejected is not said again."),
    Code("not_above", 422, "A fact is promoted to a scope above its own."),
    Code("not_promotable", 422, "Only current, undisputed facts that are not restricted are promoted."),
    Code("reason_missing", 422, "A reason is needed."),
    Code("forget_lifted", 409, "The forgetting was lifted already."),
    Code("invalid_forget_scope", 422, "Name either a fact or a subject to forget."),
    Code("erased_already", 409, "The fact was erased already."),
    Code("try_again", 409, "Too much is going on there just now; nothing was changed."),
    # Keys
    Code("unknown_right", 422, "There is no such right."),
    Code("unknown_delegation", 422, "There is no such delegation."),
    Code("maker_required", 422, "A delegation needs the person who makes it."),
    Code("label_required", 422, "A key needs a label."),
)

CODES: dict[str, Code] = {code.name: code for code in TABLE}
