"""The secret of an account under which digests are made that nobody else can make or guess."""

from __future__ import annotations

import uuid
from functools import lru_cache

from facts.models import AccountSecret

#: Accounts whose secret a process remembers.
REMEMBERED = 1_000


@lru_cache(maxsize=REMEMBERED)
def statement_key(account_id: uuid.UUID) -> bytes:
    """Return the account's secret, which is made with it and never changes.

    Raises ``AccountSecret.DoesNotExist`` outside of the account, unless the process has been in it before.
    """
    return bytes(AccountSecret.objects.values_list("statement_key", flat=True).get(account_id=account_id))
