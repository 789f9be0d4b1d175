import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts.errors import DomainError
from facts.models import Subject
from governance.pagination import page, place_of
from tests.factories import SubjectFactory


@pytest.fixture
def keys(account):
    return [SubjectFactory(account=account, key=key).key for key in "abcde"]


def walk(**options):
    """Every page from the first to the last, as lists of keys."""
    pages, cursor = [], None
    while True:
        found, cursor = page(Subject.objects.all(), listing="subjects", cursor=cursor, **options)
        pages.append([subject.key for subject in found])
        if cursor is None:
            return pages


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(1, ["e", "d", "c", "b", "a"]), (2, ["ed", "cb", "a"]), (5, ["edcba"]), (6, ["edcba"])],
)
def test_newest_first(keys, limit, expected):
    assert ["".join(found) for found in walk(limit=limit)] == expected


def test_oldest_first(keys):
    assert walk(limit=2, oldest_first=True) == [["a", "b"], ["c", "d"], ["e"]]


def test_nothing_is_one_empty_page(account):
    assert walk(limit=2) == [[]]


def test_what_is_added_meanwhile_shifts_nothing(account, keys):
    first, cursor = page(Subject.objects.all(), listing="subjects", cursor=None, limit=2)
    SubjectFactory(account=account, key="f")
    second, _ = page(Subject.objects.all(), listing="subjects", cursor=cursor, limit=2)
    assert [subject.key for subject in (*first, *second)] == ["e", "d", "c", "b"]


def test_a_cursor_is_good_for_its_own_listing(keys):
    _, cursor = page(Subject.objects.all(), listing="subjects", cursor=None, limit=2)
    with pytest.raises(DomainError) as raised:
        page(Subject.objects.all(), listing="keys", cursor=cursor, limit=2)
    assert (raised.value.code, raised.value.field) == ("invalid_cursor", "cursor")


@given(st.text())
def test_made_up_cursors_are_refused(text):
    with pytest.raises(DomainError) as raised:
        place_of(text, listing="subjects")
    assert raised.value.code == "invalid_cursor"
