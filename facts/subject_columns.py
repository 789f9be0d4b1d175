"""What becomes of this app's columns that name a subject, when the subject is merged. Registered when Django starts."""

from __future__ import annotations

from facts import index
from facts.subject_rows import Following, follows, stays

_INDEX = "it is brought in line with its fact or passage"


def register() -> None:
    """Register every column."""
    for table, column in (
        ("facts.Identity", "subject"),
        ("facts.Event", "subject"),
        ("facts.Event", "speaker"),
        ("facts.ConflictSet", "subject"),
        ("facts.Suppression", "subject"),
    ):
        follows(Following(table=table, column=column))
    follows(Following(table="facts.Passage", column="subject", after=index.sync_passages))
    for name, because in {
        "facts.Subject.merged_into": "what was merged into the source before still was",
        "facts.Membership.subject": "nobody who signs in is merged into somebody else",
        "facts.Fact.subject": "each fact is moved by facts.lifecycle, with a revision",
        "facts.FactRevision.subject": "history says whom a fact was about then",
        "facts.SubjectMerge.source": "the record of a merge",
        "facts.SubjectMerge.target": "the record of a merge",
        "facts.CommonLexemes.subject": "words are counted anew",
        **{f"facts.{unit}{table}.subject": _INDEX for unit in ("Fact", "Passage") for table in _TABLES},
    }.items():
        stays(name, because)


_TABLES = ("Text", "Vector", "Vector768", "Vector1024", "Vector1536")
