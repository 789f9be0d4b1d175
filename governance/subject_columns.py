"""What becomes of this app's columns that name a subject, when the subject is merged. Registered when Django starts."""

from __future__ import annotations

from django.db.models import Q

from facts.subject_rows import Following, follows, stays
from governance.models import ConsentStatus


def register() -> None:
    """Register every column."""
    # A yes was given about oneself: it covers nothing that is another one's now. Questions and noes go on.
    follows(Following(table="governance.Consent", column="subject", only=~Q(status=ConsentStatus.GRANTED)))
    for name, because in {
        "governance.Grant.subject": "roles are used by those who sign in, and nobody signs in as a merged subject",
        "governance.ApiKey.peer": "no live key speaks as a merged subject",
        "governance.Leaving.subject": "the record of a leaving",
    }.items():
        stays(name, because)
