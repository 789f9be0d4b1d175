"""Where a delivery goes as things stand now: by which way, to which address, and who reads it there."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from facts.models import Identity, Membership, Subject
from governance.models import Leaving
from ingest.models import Delivery, DeliveryKind, DeliveryTarget, SlackWorkspace

SLACK_IDENTITY = "slack"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One address. ``way`` is what fails or works as a whole, for the circuit; ``team`` the workspace, for Slack.

    ``target`` is ``None`` for a person's own place, which ``recipient`` alone reads; ``by_curator``: only a curator
    says that it is theirs.
    """

    account_id: uuid.UUID
    kind: str
    address: str
    way: str
    team: str = ""
    target: DeliveryTarget | None = None
    recipient: Subject | None = None
    by_curator: bool = False


class NoPlace(Exception):
    """The delivery cannot go anywhere; ``reason`` is a code."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def way_of(delivery: Delivery) -> str:
    """Return the way of a delivery without looking anything up: the target, or "people"."""
    return str(delivery.target_id) if delivery.target_id else "people"


def has_left(delivery: Delivery) -> bool:
    """Tell whether it is for a person who left the account: wherever they are reached, it is told nothing more."""
    gone = Leaving.objects.filter(account_id=delivery.account_id, undone_at__isnull=True)
    return delivery.recipient_id is not None and gone.filter(subject_id=delivery.recipient_id).exists()


def place_of(delivery: Delivery) -> Place:
    """Return where the delivery goes now. Raises :class:`NoPlace`. Runs inside the account."""
    if delivery.target is not None:
        return _of_target(delivery.target)
    return _of_person(delivery)


def _of_target(target: DeliveryTarget) -> Place:
    if not target.enabled:
        raise NoPlace("target_disabled")
    team, address = "", target.address
    if target.kind == DeliveryKind.SLACK:
        team, _, address = target.address.partition("/")
        # A token may reach the workspaces of several accounts; a target reaches those of its own account only.
        if team not in _teams(target.account_id):
            raise NoPlace("not_our_workspace")
    return Place(
        account_id=target.account_id,
        kind=target.kind,
        address=address,
        way=str(target.id),
        team=team,
        target=target,
    )


def _of_person(delivery: Delivery) -> Place:
    """A direct message where the person has one Slack identity in the account's one workspace, else their mailbox.

    Anybody who may name people could add an identity or an address: only those that the workspace confirms are used,
    and the address with which the person signs in.
    """
    account_id, person = delivery.account_id, delivery.recipient
    common = {"account_id": account_id, "way": "people", "recipient": person}
    known = slack_address(account_id, person)
    if known is not None:
        team, user = known
        by_curator = slack_address(account_id, person, by_platform=True) != known
        return Place(kind=DeliveryKind.SLACK, address=user, team=team, by_curator=by_curator, **common)
    members = Membership.objects.filter(account_id=account_id, subject=person, user__is_active=True)
    mailbox = members.exclude(user__email="").values_list("user__email", flat=True).first()
    if mailbox:
        return Place(kind=DeliveryKind.EMAIL, address=mailbox, **common)
    raise NoPlace("no_address")


def slack_address(account_id: uuid.UUID, person: Subject, *, by_platform: bool = False) -> tuple[str, str] | None:
    """Return the workspace and the user as whom a person is certainly reached there; ``None`` for nowhere.

    ``by_platform``: only where the workspace itself says so, not another person.
    """
    teams = _teams(account_id)
    users = Identity.objects.filter(account_id=account_id, subject=person, platform=SLACK_IDENTITY, confirmed=True)
    if by_platform:
        users = users.filter(confirmed_by__isnull=True)
    known = list(users.values_list("value", flat=True)[:2])
    return (teams.pop(), known[0]) if len(teams) == 1 and len(known) == 1 else None


def _teams(account_id: uuid.UUID) -> set[str]:
    """Return the workspaces that are connected to the account."""
    connected = SlackWorkspace.objects.filter(account_id=account_id, disconnected_at__isnull=True)
    return set(connected.values_list("team", flat=True))
