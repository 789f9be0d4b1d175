"""The names that subjects go by: their keys, display names and platform identities."""

from __future__ import annotations

import re
import uuid
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from facts.models import Identity, Subject
from facts.vocabulary import SubjectKind
from retrieval.entities.names import fold, is_noise

#: Subjects that people name in what they say; the others have addresses and paths.
NAMED_KINDS = (SubjectKind.PERSON, SubjectKind.AGENT, SubjectKind.CLIENT, SubjectKind.TOPIC)
_MACHINE_MADE = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)


@dataclass(slots=True)
class KnownNames:
    """Who goes by which folded name, and the names of each subject, the one it is best told by first."""

    subjects_by_name: dict[str, set[uuid.UUID]] = field(default_factory=lambda: defaultdict(set))
    names_by_subject: dict[uuid.UUID, list[str]] = field(default_factory=lambda: defaultdict(list))

    def __contains__(self, name: str) -> bool:
        return name in self.subjects_by_name

    def add(self, subject_id: uuid.UUID, name: str) -> None:
        """Note that the subject goes by ``name``; what names nothing is left out."""
        folded = "" if _MACHINE_MADE.fullmatch(name.strip()) else fold(name)
        if folded and not is_noise(folded) and folded not in self.names_by_subject[subject_id]:
            self.names_by_subject[subject_id].append(folded)
            self.subjects_by_name[folded].add(subject_id)

    def own_names(self, subject_id: uuid.UUID) -> list[str]:
        """Return the names that this subject alone goes by: they all stand for it."""
        return [name for name in self.names_by_subject.get(subject_id, ()) if len(self.subjects_by_name[name]) == 1]

    def shared_names(self, subject_id: uuid.UUID) -> list[str]:
        """Return the names that other subjects go by too: none of them tells whom it stands for."""
        return [name for name in self.names_by_subject.get(subject_id, ()) if len(self.subjects_by_name[name]) > 1]

    def one_with(self, name: str) -> list[str]:
        """Return the names that stand for the same subject as ``name``, itself among them if it is a subject's own."""
        subjects = self.subjects_by_name.get(name, set())
        return self.own_names(next(iter(subjects))) if len(subjects) == 1 else []


def load(account_id: uuid.UUID) -> KnownNames:
    """Return the names of the account's subjects as they are now; inside the account."""
    known = KnownNames()
    named = Subject.objects.filter(account_id=account_id, kind__in=NAMED_KINDS)
    today: dict[uuid.UUID, uuid.UUID] = {}
    rows = list(named.order_by("id").values_list("id", "key", "name", "merged_into"))
    merged = {subject_id: into for subject_id, _, _, into in rows if into is not None}
    for subject_id, key, name, _ in sorted(rows, key=lambda row: row[0] in merged):
        stands_for = subject_id
        while stands_for in merged:
            stands_for = merged[stands_for]
        today[subject_id] = stands_for
        _add_all(known, stands_for, [name, key])
    identities = Identity.objects.filter(account_id=account_id, subject__kind__in=NAMED_KINDS)
    for subject_id, value in identities.order_by("platform", "value").values_list("subject_id", "value"):
        known.add(today.get(subject_id, subject_id), value)
    return known


def _add_all(known: KnownNames, subject_id: uuid.UUID, names: Iterable[str]) -> None:
    for name in names:
        known.add(subject_id, name)
