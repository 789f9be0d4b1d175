"""Pages and searches that a caller asks for: fetched at once, kept in the caller's scope. Outside of transactions."""

from __future__ import annotations

from facts.errors import DomainError, Refused
from facts.tenancy import account_transaction
from governance.access import Principal, Right, Role, check_limit, has_role, require_right
from ingest.web import keeping, pages, searching, summing_up
from ingest.web.keeping import Kept
from ingest.web.pages import Page
from ingest.web.searching import Found
from ingest.web.summing_up import Summary


def read_page(principal: Principal, url: str, *, scope: str) -> tuple[Page, Summary, str]:
    """Return the page at an address, what it says, and the scope in which to keep it.

    Raises ``Refused`` (``missing_right``, ``forbidden_scope``), ``DomainError`` (``missing_scope``,
    ``web_rate_limited``) and what ``pages.fetch`` raises.
    """
    path = _may_keep(principal, scope)
    page = pages.fetch(url)
    return page, summing_up.sum_up(page, account_id=principal.account_id), path


def find(principal: Principal, query: str, *, scope: str, limit: int) -> tuple[list[Found], str]:
    """Return the results of a web search and the scope in which to keep them; raises as :func:`read_page`."""
    path = _may_keep(principal, scope)
    return searching.search(query, limit=limit), path


def keep_page(principal: Principal, page: Page, summary: Summary, *, scope: str) -> Kept:
    """Keep a page that the caller asked for."""
    return keeping.keep_page(
        principal.account_id, page, summary, scope=scope, actor=principal.actor, asked_by={"asked_by": principal.name}
    )


def keep_search(principal: Principal, query: str, results: list[Found], *, scope: str) -> Kept:
    """Keep the results of a search that the caller asked for."""
    return keeping.keep_search(
        principal.account_id, query, results, scope=scope, actor=principal.actor, asked_by={"asked_by": principal.name}
    )


def _may_keep(principal: Principal, scope: str) -> str:
    """Return the path where pages go: the named one, else the one the key is confined to, else the root."""
    require_right(principal, Right.CAPTURE)
    path = scope or principal.scope_limit or "/"
    if not path.startswith("/"):
        raise DomainError("A scope path begins with a slash.", code="invalid_scope", field="scope")
    check_limit(principal, path)
    if principal.is_person and not has_role(principal, path, Role.MEMBER):
        raise Refused("You may not write here.", code="forbidden_scope", field="scope")
    with account_transaction(principal.account_id):
        keeping.check_rate(principal.account_id)
    return path
