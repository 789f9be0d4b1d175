from datetime import timedelta

import pytest

from facts.clock import now
from facts.ids import new_id
from facts.tenancy import account_transaction
from governance.models import DeviceLogin, IdempotencyRecord
from memory_site.api import pruning
from memory_site.models import CallCount
from tests.factories import AccountFactory


def answer(account, *, age):
    with account_transaction(account.id):
        IdempotencyRecord.objects.create(
            account=account, credential_id=new_id(), key="k", request_hash="", created_at=now() - age
        )


def remaining(account):
    with account_transaction(account.id):
        return IdempotencyRecord.objects.count()


@pytest.mark.django_db(transaction=True)
def test_old_answers_of_every_account_go():
    first, second = AccountFactory(), AccountFactory()
    answer(first, age=timedelta(hours=25))
    answer(first, age=timedelta(hours=23))
    answer(second, age=timedelta(hours=25))
    pruning.prune()
    assert (remaining(first), remaining(second)) == (1, 0)


def test_old_counts_go(db):
    for client, age in (("old", timedelta(hours=2)), ("new", timedelta(minutes=1))):
        CallCount.objects.create(client=client, starts_at=now() - age, calls=1)
    pruning.prune()
    assert list(CallCount.objects.values_list("client", flat=True)) == ["new"]


@pytest.mark.django_db(transaction=True)
def test_logins_of_terminals_whose_time_is_over_go():
    lapsed = now() - timedelta(seconds=1)
    DeviceLogin.objects.bulk_create([DeviceLogin(device_digest="d", user_code_digest="u", expires_at=lapsed)])
    assert DeviceLogin.objects.count() == 1
    pruning.prune()
    assert DeviceLogin.objects.count() == 0
