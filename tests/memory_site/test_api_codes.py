import ast
from pathlib import Path

import pytest
from django.conf import settings

from memory_site.api.codes import CODES, TABLE

APPS = ("facts", "retrieval", "governance", "ingest", "memory_site")
#: What the classes of errors answer with unless an error says otherwise.
STATUS = {"DomainError": 422, "NotFound": 404, "Refused": 403, "Conflicting": 409}


def trees():
    """The modules whose errors reach the API; pages of the admin show sentences, not codes."""
    for app in APPS:
        for path in sorted((Path(settings.BASE_DIR) / app).rglob("*.py")):
            if "admin_pages" not in path.parts:
                yield path, ast.parse(path.read_text())


def raised():
    """Every code that an error is raised with, and the status that goes with it."""
    for path, tree in trees():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or getattr(node.func, "id", None) not in STATUS:
                continue
            given = {keyword.arg: getattr(keyword.value, "value", None) for keyword in node.keywords}
            if isinstance(given.get("code"), str):
                status = given.get("status") or STATUS[node.func.id]
                yield f"{path.name}:{node.lineno}", given["code"], status


def classes():
    """Every error class with a code of its own."""
    for path, tree in trees():
        for node in ast.walk(tree):
            if not isinstance(node, ast.ClassDef):
                continue
            bases = {getattr(base, "id", "") for base in node.bases}
            for line in node.body:
                is_code = isinstance(line, ast.Assign) and getattr(line.targets[0], "id", "") == "code"
                if is_code and bases & {*STATUS, "Exception"} and isinstance(line.value, ast.Constant):
                    yield f"{path.name}:{node.lineno}", line.value.value


def test_the_search_finds_something():
    assert len(list(raised())) > 40
    assert {code for _, code in classes()} >= {"not_found", "forbidden", "illegal_status_transition"}


def test_every_code_that_is_raised_is_in_the_table():
    unknown = [(place, code) for place, code, _ in raised() if code not in CODES]
    unknown += [(place, code) for place, code in classes() if code not in CODES]
    assert unknown == []


def test_codes_are_raised_with_the_status_of_the_table():
    wrong = [
        (place, code, status) for place, code, status in raised() if code in CODES and CODES[code].status != status
    ]
    assert wrong == []


def test_no_code_is_there_twice():
    assert len(CODES) == len(TABLE)


@pytest.mark.parametrize("code", CODES.values(), ids=lambda code: code.name)
def test_codes_are_well_formed(code):
    assert code.name == code.name.lower().replace(" ", "_")
    assert 400 <= code.status < 600
    assert code.title.endswith(".")


def test_the_codes_of_the_older_api_are_all_there():
    older = {
        "unauthorized": 401,
        "forbidden_scope": 403,
        "missing_scope": 422,
        "invalid_payload": 422,
        "budget_exceeded": 422,
        "trace_not_found": 404,
        "fact_not_found": 404,
        "illegal_status_transition": 422,
        "invalid_forget_scope": 422,
        "conflict_not_found": 404,
        "conflict_already_resolved": 409,
        "fact_not_in_conflict": 422,
        "key_not_found": 404,
        "alias_conflict": 409,
        "alias_not_found": 404,
        "rate_limited": 429,
        "internal_error": 500,
    }
    assert {name: CODES[name].status for name in older} == older
