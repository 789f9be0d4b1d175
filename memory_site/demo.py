"""The demo account: something to look at and to ask, on a machine where nothing was said yet.

Its messages are a Slack export that goes through the importer like anybody's; the worker reads them. They are moved by
whole weeks to where the last of them was said within the last seven days, so that nothing in it is out of date on the
day somebody looks.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.contrib.auth import get_user_model
from django.db import transaction

from facts import tenancy
from facts.actors import system
from facts.clock import now
from facts.models import Account, Membership
from facts.tenancy import account_transaction, ensure_scope, ensure_subject
from governance.models import Grant, Role
from ingest.slack.importing import Options, import_export

KEY = "demo"
EXPORT = Path(__file__).with_name("demo_export")
#: When the last message of the export was said, as it is written there.
STORY_ENDS = datetime(2026, 11, 27, 18, tzinfo=UTC)


def load() -> Account:
    """Create the demo account with its people and messages, all or nothing; doing it again adds nothing.

    Administrators get a membership with every right in it.
    """
    with transaction.atomic():
        account = Account.objects.filter(key=KEY).first() or tenancy.create_account(key=KEY, name="Demo")
        with account_transaction(account.id):
            _admit_administrators(account)
        import_export(account.id, EXPORT, Options(shift=shift_to(now())))
    return account


def shift_to(at: datetime) -> timedelta:
    """Return the whole weeks, back or forth, that put the end of the story into the seven days before ``at``."""
    return timedelta(weeks=(at - STORY_ENDS) // timedelta(weeks=1))


def _admit_administrators(account: Account) -> None:
    root = ensure_scope(account.id, tenancy.ROOT)
    for user in get_user_model().objects.filter(is_superuser=True, is_active=True):
        name = user.get_full_name() or user.get_username()
        subject = ensure_subject(account.id, key=user.get_username(), name=name)
        Membership.objects.get_or_create(account=account, user=user, defaults={"subject": subject})
        Grant.objects.get_or_create(
            account=account,
            scope=root,
            subject=subject,
            role=Role.ACCOUNT_ADMIN,
            defaults={"granted_by": system("demo").as_json()},
        )
