from __future__ import annotations

import threading

import pytest
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from governance.http import validated


class Inner(serializers.Serializer):
    name = serializers.CharField()


class Call(serializers.Serializer):
    made = 0

    number = serializers.IntegerField()
    note = serializers.CharField(required=False)
    inner = Inner(many=True, default=list)

    def __init__(self, *args: object, **kwargs: object) -> None:
        type(self).made += 1
        super().__init__(*args, **kwargs)


def test_a_serializer_is_made_once_for_each_thread_and_keeps_nothing_between_calls() -> None:
    before = Call.made
    assert validated(Call, {"number": 1, "note": "x", "inner": [{"name": "a"}]}) == {
        "number": 1,
        "note": "x",
        "inner": [{"name": "a"}],
    }
    for _ in range(2):
        with pytest.raises(ValidationError) as refused:
            validated(Call, {"number": "no", "inner": [{}]})
        assert set(refused.value.detail) == {"number", "inner"}
    assert validated(Call, {"number": 2}) == {"number": 2, "inner": []}
    assert Call.made == before + 1
    other = threading.Thread(target=validated, args=(Call, {"number": 3}))
    other.start()
    other.join()
    assert Call.made == before + 2
