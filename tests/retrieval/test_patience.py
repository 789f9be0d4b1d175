"""Tests that live in one transaction do not depend on how fast the machine is."""

from __future__ import annotations

import pytest
from django.db import connection

from facts.models import Subject
from tests.factories import FactFactory


@pytest.mark.parametrize("read", ["ask", "find"])
def test_a_read_leaves_time_to_the_rest_of_a_test(ana: Subject, read: str, request: pytest.FixtureRequest) -> None:
    FactFactory(subject=ana, statement="Ana likes tea.")
    request.getfixturevalue(read)("tea")
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('statement_timeout')::interval >= '60 s'")
        assert cursor.fetchone()[0] is True
