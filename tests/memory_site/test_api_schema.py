import re

import pytest
from django.urls import URLResolver
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from openapi_spec_validator import validate

from memory_site.api import schema, urls
from memory_site.api.views import UnknownAddress
from tests.api import Caller

METHODS = {"get", "post", "put", "patch", "delete"}


@pytest.fixture(scope="module")
def document():
    return schema.document()


def operations(document):
    for path, item in document["paths"].items():
        for method in METHODS & set(item):
            yield f"{method.upper()} {path}", item[method]


def test_it_is_a_valid_document(document):
    validate(document)


def test_generating_it_gives_no_warning(capsys):
    GENERATOR_STATS.reset()
    SchemaGenerator().get_schema(request=None, public=True)
    assert not GENERATOR_STATS, capsys.readouterr().err


def addresses(patterns, prefix):
    """Yield every path of the endpoints, as the document writes it."""
    for each in patterns:
        route = prefix + str(each.pattern)
        if isinstance(each, URLResolver):
            yield from addresses(each.url_patterns, route)
        elif each.callback.view_class not in {schema.SchemaView, schema.DocsView, UnknownAddress}:
            yield re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route)


def test_every_address_is_described_once(document):
    assert set(document["paths"]) == set(addresses(urls.urlpatterns, "/v1/"))


def test_every_operation_says_what_it_is(document):
    silent = [name for name, operation in operations(document) if not operation.get("summary")]
    assert silent == []
    names = [operation["operationId"] for _, operation in operations(document)]
    assert len(names) == len(set(names))


def test_every_operation_describes_its_answer_and_its_errors(document):
    for name, operation in operations(document):
        answers = operation["responses"]
        assert answers["default"]["content"]["application/problem+json"]["schema"] == {
            "$ref": "#/components/schemas/Problem"
        }
        good = [answers[status] for status in answers if status.startswith("2")]
        assert good, name
        assert all("application/json" in answer["content"] for answer in good), name


def test_keys_and_sessions_are_described(document):
    assert set(document["components"]["securitySchemes"]) == {"key", "session"}


def test_it_is_served_to_anybody(db, document):
    response = Caller().get("/v1/schema")
    assert (response.status_code, response.headers["Content-Type"]) == (200, "application/json")
    assert response.json()["paths"].keys() == document["paths"].keys()
    assert Caller().get("/api/v1/schema").json() == response.json()


def test_the_page_holds_no_inline_script_or_style(db):
    page = Caller().get("/v1/docs").content.decode()
    assert "<style" not in page
    assert " style=" not in page
    assert page.count("<script ") == page.count("<script src=") == 3
    assert page.count("<script") == 3
    script = Caller().get("/v1/docs", script="")
    assert script.headers["Content-Type"].startswith("application/javascript")
    assert "/v1/schema" in script.content.decode()
