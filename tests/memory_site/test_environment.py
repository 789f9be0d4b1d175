"""The table of settings: how a variable is read, and what it says of one that cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_site import environment, reference_docs


def test_unset_and_empty_mean_the_default() -> None:
    assert environment.read({"PORT": ""}) == {row.name: row.default for row in environment.TABLE}


@pytest.mark.parametrize(
    ("name", "raw", "value"),
    [
        ("PORT", "9000", 9000),
        ("HAKI_RECALL_MAX_DISTANCE", "0.35", 0.35),
        ("MEMORY_DEBUG", "Yes", True),
        ("MEMORY_DEBUG", "0", False),
        ("MEMORY_ALLOWED_HOSTS", "a.example, b.example,", ("a.example", "b.example")),
        ("MEMORY_VAR_DIR", "elsewhere", environment.BASE_DIR / "elsewhere"),
        ("MEMORY_VAR_DIR", "/srv/memory", Path("/srv/memory")),
    ],
)
def test_reads_each_type(name: str, raw: str, value: object) -> None:
    assert environment.read({name: raw})[name] == value


@pytest.mark.parametrize(
    ("name", "raw", "message"),
    [
        ("PORT", "eighty", "PORT must be an integer"),
        ("MEMORY_DEBUG", "maybe", "MEMORY_DEBUG must be a yes/no"),
        ("HAKI_RECALL_MAX_DISTANCE", "near", "HAKI_RECALL_MAX_DISTANCE must be a number"),
    ],
)
def test_names_a_malformed_variable_and_not_its_value(name: str, raw: str, message: str) -> None:
    with pytest.raises(environment.MalformedSetting) as raised:
        environment.read({name: raw})
    assert str(raised.value) == message


def test_names_are_unique_and_kept_in_one_section_each() -> None:
    names = [row.name for row in environment.TABLE]
    assert len(set(names)) == len(names)
    sections = [row.section for row in environment.TABLE]
    assert sections == sorted(sections, key=sections.index)


def test_the_written_pages_say_what_the_code_says() -> None:
    assert reference_docs.stale(environment.BASE_DIR / "docs") == [], "run: manage.py generate_docs"


def test_a_page_that_differs_is_stale_until_it_is_written(tmp_path: Path) -> None:
    assert reference_docs.stale(tmp_path) == list(reference_docs.PAGES)
    written = reference_docs.write(tmp_path)
    assert [path.name for path in written] == list(reference_docs.PAGES)
    assert reference_docs.stale(tmp_path) == []
    assert reference_docs.write(tmp_path) == []
    (tmp_path / "settings.md").write_text("old")
    assert reference_docs.stale(tmp_path) == ["settings.md"]


def test_a_secret_is_marked_and_has_no_default() -> None:
    assert [row.name for row in environment.TABLE if row.secret and row.default != ""] == []
    page = reference_docs.settings_page()
    assert "| `OPENAI_API_KEY` | text |  | " in page
    assert page.count("Keep it secret.") == sum(row.secret for row in environment.TABLE)
