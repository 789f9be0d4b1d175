"""The shape in which every model answers about a message, as JSON Schema.

It keeps to what all providers accept in their strict modes: every property required, no other allowed, no bounds. Open
objects (values, qualifiers) therefore travel as lists of name and value.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from facts.vocabulary import Category, Form, Kind, Sensitivity, Volatility

#: Name under which the shape is announced, and the key that holds the list.
NAME = "facts"

_SCALAR = {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}, {"type": "null"}]}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _one_of(values: list[str]) -> dict[str, Any]:
    return {"type": "string", "enum": values}


_PAIRS = {"type": "array", "items": _object({"name": {"type": "string"}, "value": _SCALAR})}

FACT = _object(
    {
        "quote": _text("The words of the message that carry the fact, copied character by character."),
        "statement": _text("One sentence in the third person, in the language of the message."),
        "confidence": {"type": "number", "description": "0 to 1."},
        "about": _text("Empty for the speaker, `team` for the speaker's group, else the name of a person or thing."),
        "category": _one_of(Category.values),
        "kind": _one_of(Kind.values),
        "form": _one_of(Form.values),
        "predicate": _text("Name of the measure in snake_case; empty when there is no claim to compare."),
        "value": _SCALAR,
        "details": {**_PAIRS, "description": "Further parts of the value; mostly empty."},
        "qualifiers": {**_PAIRS, "description": "Conditions under which the claim holds; mostly empty."},
        "denies": {"type": "boolean", "description": "The message says that the value does not, or no longer, hold."},
        "update_marker": _text("The words of the quote that announce a change; empty when there are none."),
        "valid_from": _text("First day, ISO 8601, only when the message names it; else empty."),
        "valid_to": _text("First day on which it no longer holds, only when the message names it; else empty."),
        "volatility": _one_of(Volatility.values),
        "sensitivity": _one_of(Sensitivity.values),
    }
)

#: The whole answer.
ANSWER = _object({NAME: {"type": "array", "items": FACT}})

AS_JSON = json.dumps(ANSWER, separators=(",", ":"))


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """The shape that a model is asked to answer in: the name it is announced by, and its JSON Schema."""

    name: str
    schema: dict[str, Any]

    @property
    def in_words(self) -> str:
        """What is added to the instructions for servers that take no schema."""
        return f"Schema of the answer:\n{json.dumps(self.schema, separators=(',', ':'))}\n"


#: The shape of an answer about a message.
FACTS = Shape(NAME, ANSWER)
