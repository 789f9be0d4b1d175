"""What every table of an account has in common."""

from __future__ import annotations

from django.db import models

from facts.ids import new_id


class Owned(models.Model):
    """A row of exactly one account, with an id made in Python.

    Row-level security (``facts.rls``) keeps it invisible to every other account.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    account = models.ForeignKey("facts.Account", on_delete=models.PROTECT, related_name="+", db_index=False)

    class Meta:
        abstract = True


def one_of(field: str, choices: type[models.TextChoices], name: str) -> models.CheckConstraint:
    """Return a check constraint that keeps ``field`` within ``choices``."""
    return models.CheckConstraint(condition=models.Q(**{f"{field}__in": choices.values}), name=name)
