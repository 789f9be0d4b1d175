"""Letting a terminal in: it shows a short code, a signed-in person approves it, the terminal picks its key up.

The device authorization grant of RFC 8628 in the shape that published command lines speak. Until a person decides, a
login belongs to no account; row-level security lets it be found by a digest of one of its codes and in no other way.
The key is made at pick-up, so that none is ever kept: what a person approved is kept in its place.
"""

from __future__ import annotations

import re
import secrets
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import connection, transaction
from django.utils.crypto import salted_hmac

from facts import audit
from facts.actors import Actor
from facts.clock import now
from facts.errors import NotFound, Refused
from facts.ids import new_id
from facts.models import Account, Membership
from facts.tenancy import ROOT, account_transaction, ensure_scope, normalise_path
from governance import access, keys
from governance.access import Delegation, Principal, require_authority
from governance.fields import project_id_of
from governance.models import DeviceLogin, DeviceLoginStatus, Role

#: How long a code is good, and how many seconds the terminal waits between two questions.
LIFETIME = timedelta(seconds=600)
INTERVAL = 3
#: Letters of a user code: no vowels, so that no words come up (RFC 8628, 6.1). Eight of them are 34 bits.
ALPHABET = "BCDFGHJKLMNPQRSTVWXZ"
CODE_LENGTH = 8

_DEVICE_SETTING, _USER_CODE_SETTING = "app.device_code", "app.user_code"


@dataclass(frozen=True, slots=True)
class Started:
    """A login that has begun: the secret that the terminal keeps, and the code that it shows."""

    device_code: str
    user_code: str


@dataclass(frozen=True, slots=True)
class PickedUp:
    """What an approved terminal gets, once: the key's text, and the names by which its client calls its place."""

    raw_key: str
    org_id: str
    project_id: str


def start() -> Started:
    """Begin a login and return its two codes, of which only digests are kept."""
    code = "".join(secrets.choice(ALPHABET) for _ in range(CODE_LENGTH))
    started = Started(device_code=secrets.token_urlsafe(32), user_code=f"{code[:4]}-{code[4:]}")
    begun = now()
    DeviceLogin.objects.create(
        device_digest=keys.digest(started.device_code),
        user_code_digest=_user_code_digest(started.user_code),
        created_at=begun,
        expires_at=begun + LIFETIME,
    )
    return started


def waiting(user_code: str) -> DeviceLogin:
    """Return the login that shows this code and waits for a decision. Runs inside a transaction.

    Raises ``NotFound`` (``user_code_not_found``) for a wrong, decided or expired code: one answer for all.
    """
    digest = _user_code_digest(user_code)
    _present(_USER_CODE_SETTING, digest)
    login = (
        DeviceLogin.objects.select_for_update(of=("self",))
        .filter(user_code_digest=digest, status=DeviceLoginStatus.WAITING, expires_at__gt=now())
        .first()
    )
    if login is None:
        raise NotFound("No terminal waits with this code.", code="user_code_not_found", field="user_code")
    return login


def approve(
    principal: Principal,
    user_code: str,
    *,
    label: str,
    project: str,
    is_confined: bool,
    rights: Iterable[str],
    delegated: Iterable[str],
) -> None:
    """Let the terminal have a key of the person's account. Runs inside a transaction of that account.

    Needs an account administrator, at the project when the key is confined to it; raises as :func:`waiting`,
    :func:`~governance.keys.check_grantable` and :func:`~governance.access.require_authority` do.
    """
    path = normalise_path(project)
    actor = _require_authority(principal, path if is_confined else ROOT)
    wanted, handed = keys.check_grantable(label=label, rights=rights, delegated=delegated)
    login = waiting(user_code)
    login.label, login.project, login.is_confined = label.strip()[:128], path, is_confined
    login.rights, login.delegated = wanted, handed
    _decide(login, principal, actor, DeviceLoginStatus.APPROVED)


def refuse(principal: Principal, user_code: str) -> None:
    """Turn the terminal away. Runs inside a transaction of the person's account; raises as :func:`waiting`."""
    _decide(waiting(user_code), principal, principal.actor, DeviceLoginStatus.REFUSED)


def pick_up(device_code: str) -> PickedUp | DeviceLoginStatus | None:
    """Return what the terminal gets: its key, once; or that it waits; or ``None`` when its time is over.

    Raises ``NotFound`` (``device_code_not_found``) for an unknown code or a key that was picked up, and ``Refused``
    (``device_refused``) when a person said no, or is no longer one who may say yes.
    """
    digest = keys.digest(device_code)
    with transaction.atomic():
        _present(_DEVICE_SETTING, digest)
        login = DeviceLogin.objects.filter(device_digest=digest).first()
        if login is None:
            raise NotFound("No terminal has this code.", code="device_code_not_found", field="device_code")
        if login.expires_at <= now():
            return None
        if login.status == DeviceLoginStatus.WAITING:
            return DeviceLoginStatus.WAITING
        if login.status == DeviceLoginStatus.REFUSED:
            raise _refused()
        with account_transaction(login.account_id):
            return _make_key(login.pk)


def forget_expired(account_id: uuid.UUID | None = None) -> int:
    """Delete logins whose time is over, undecided ones or an account's; returns how many."""
    over = DeviceLogin.objects.filter(expires_at__lt=now())
    if account_id is None:
        return over.filter(account__isnull=True).delete()[0]
    with account_transaction(account_id):
        return over.filter(account_id=account_id).delete()[0]


def normalise_user_code(text: str) -> str:
    """Return a typed code as it is shown: upper case, letters only, a dash in the middle."""
    letters = re.sub(r"[^A-Z]", "", text.upper())[: 2 * CODE_LENGTH]
    return f"{letters[:4]}-{letters[4:]}" if len(letters) > 4 else letters


def _make_key(login_id: uuid.UUID) -> PickedUp:
    """Make the key that was approved, in the name of the person who approved it, and forget the login."""
    login = DeviceLogin.objects.select_for_update().filter(pk=login_id).first()
    if login is None:
        raise NotFound("This key was picked up already.", code="device_code_not_found", field="device_code")
    membership = Membership.objects.select_related("user").get(account_id=login.account_id, pk=login.decided_by_id)
    if not membership.user.is_active:
        raise _refused()
    limit = login.project if login.is_confined else ROOT
    actor = _require_authority(access.person(membership), limit)
    _, raw = keys.create_key(
        account_id=login.account_id,
        label=login.label,
        rights=login.rights,
        delegated=login.delegated,
        maker=membership,
        scope_limit=None if limit == ROOT else ensure_scope(login.account_id, limit),
        actor=actor,
    )
    org = Account.objects.values_list("key", flat=True).get(pk=login.account_id)
    picked_up = PickedUp(raw_key=raw, org_id=org, project_id=project_id_of(login.project))
    login.delete()
    return picked_up


def _require_authority(principal: Principal, path: str) -> Actor:
    try:
        return require_authority(principal, Delegation.KEYS, path=path, at_least=Role.ACCOUNT_ADMIN)
    except Refused:
        raise _refused("Only an account administrator may let a terminal in.") from None


def _refused(message: str = "A person refused this login.") -> Refused:
    return Refused(message, code="device_refused")


def _decide(login: DeviceLogin, principal: Principal, actor: Actor, status: DeviceLoginStatus) -> None:
    login.status, login.account_id, login.decided_by_id = status, principal.account_id, principal.membership_id
    login.save()
    detail: dict[str, Any] = {"rights": login.rights, "delegated": login.delegated, "confined": login.is_confined}
    audit.record(
        principal.account_id,
        action=f"device.{status}",
        object_type="device_login",
        object_id=login.pk,
        actor=actor,
        group=new_id(),
        metadata=detail,
    )


def _present(setting: str, digest: str) -> None:
    """Let the rest of the transaction see the login with this digest."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config(%s, %s, true)", [setting, digest])


def _user_code_digest(user_code: str) -> str:
    """Return what is kept of a user code. It is short enough to be found by trying, hence the secret of the site."""
    return salted_hmac("device login", normalise_user_code(user_code), algorithm="sha256").hexdigest()
