import uuid
from datetime import UTC, datetime

import pytest

from facts.vocabulary import Status
from memory_site.api.renderers import JsonRenderer


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, b""),
        ({"id": uuid.UUID(int=1)}, b'{"id":"00000000-0000-0000-0000-000000000001"}'),
        ({"at": datetime(2025, 3, 10, 9, 0, 0, 5, tzinfo=UTC)}, b'{"at":"2025-03-10T09:00:00.000005+00:00"}'),
        ({"status": Status.ACTIVE}, b'{"status":"active"}'),
        ({"text": "é\u2028"}, '{"text":"é\u2028"}'.encode()),
        ({"big": 2**70}, b'{"big":1180591620717411303424}'),
        ({"cut": "\ud83d"}, b'{"cut":"\\ud83d"}'),
        ({1: {}}, b'{"1":{}}'),
    ],
)
def test_answers_as_they_leave(value, expected):
    assert JsonRenderer().render(value) == expected
