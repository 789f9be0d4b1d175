"""No table is forgotten by an erasure: each is registered as a store, or as one without content, with the reason."""

from __future__ import annotations

from django.apps import apps

from facts import erasure
from facts.erasure_search import text_columns


def models_with_words() -> set[str]:
    """Return the labels of all tables in which words, vectors or lexemes may stand."""
    kinds = {"SearchVectorField", "HalfVectorField", "BinaryField"}
    return {
        model._meta.label
        for model in apps.get_models(include_auto_created=True)
        if text_columns(model) or kinds & {type(field).__name__ for field in model._meta.local_concrete_fields}
    }


def test_every_table_is_registered():
    registered = {*erasure.tables_with_content(), *erasure.tables_without_content()}
    assert models_with_words() - registered == set()


def test_no_table_is_registered_twice_or_for_nothing():
    assert set(erasure.tables_with_content()) & set(erasure.tables_without_content()) == set()
    known = {model._meta.label for model in apps.get_models(include_auto_created=True)}
    assert {*erasure.tables_with_content(), *erasure.tables_without_content()} - known == set()


def test_each_table_without_content_says_why():
    assert all(len(because) > 10 for because in erasure.tables_without_content().values())
