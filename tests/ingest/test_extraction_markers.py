"""Update markers: which words announce a change, and which only look like it."""

from __future__ import annotations

import pytest

from ingest.extraction import markers


@pytest.mark.parametrize(
    ("clause", "marker"),
    [
        ("I prefer coffee now", "now"),
        ("I use Firefox instead", "instead"),
        ("I no longer live in Paris", "no longer"),
        ("I don't live in Paris anymore", "anymore"),
        ("I switched to Firefox", "switched to"),
        ("I moved to Porto", "moved to"),
        ("from now on answer me in French", "from now on"),
        ("as of next week I work at Globex", "as of"),
        ("I used to live in Madrid", "used to"),
        ("the deadline was pushed back to Monday", "pushed back to"),
        ("j'habite maintenant à Lyon", "maintenant"),
        ("je préfère désormais le thé", "désormais"),
        ("je n'aime plus le café", "n'aime plus"),
        ("je préfère plutôt le thé", "plutôt"),
        ("finalement je prends le train", "finalement"),
        ("je suis passé à Firefox", "suis passé à"),
        ("à partir de lundi je travaille chez Orange", "à partir de"),
        ("la date est reportée au 10 avril", "reportée au"),
    ],
)
def test_a_change_is_announced(clause: str, marker: str) -> None:
    assert markers.find(clause) == marker


@pytest.mark.parametrize(
    "clause",
    [
        "I live in Paris",
        "right now I am busy",
        "I use Vim instead of Emacs",
        "that's it for now",
        "now that the keys arrived",
        "je préfère le thé plutôt que le café",
        "c'est plutôt bien",
        "maintenant que tout est prêt",
        "I actually live in Lisbon",
        "j'aime le café",
        "",
    ],
)
def test_no_change_is_announced(clause: str) -> None:
    assert markers.find(clause) == ""


@pytest.mark.parametrize("lead", ["Actually, ", "En fait, "])
def test_a_correction_in_front_of_the_sentence_counts(lead: str) -> None:
    assert markers.find("I live in Lisbon", leading=lead) == lead.rstrip(", ")


@pytest.mark.parametrize(
    "clause", ["I changed my mind", "J'ai changé d'avis.", "Change of plan:", "Correction :", "Scratch that!"]
)
def test_a_clause_may_only_announce(clause: str) -> None:
    assert markers.announces(clause)


def test_a_statement_does_not_only_announce() -> None:
    assert not markers.announces("I changed my mind about Lisbon")
