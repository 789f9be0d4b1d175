"""Who may do what, and as whom somebody reads."""

from __future__ import annotations

import pytest

from facts import tenancy
from facts.audience import Posture
from facts.errors import NotFound, Refused
from facts.vocabulary import SubjectKind
from governance.access import (
    APP_RIGHTS,
    Delegation,
    Principal,
    Right,
    all_readable_scopes,
    curator_paths,
    has_role,
    person,
    readable_scopes,
    require_authority,
    require_right,
    resolve_reader,
    role_at,
)
from governance.models import Role
from tests.factories import (
    GrantFactory,
    ScopeFactory,
    SubjectFactory,
    key_principal,
    maker_of,
    person_in,
    unknown_id,
)

ACCOUNT = unknown_id()


def principal(*grants: tuple[str, str, str, bool], **fields) -> Principal:
    """Return a person with grants (path, role, effect, propagates)."""
    given = tuple((*grant, False) for grant in grants)
    return Principal(account_id=ACCOUNT, name="p", is_person=True, grants=given, **fields)


@pytest.mark.parametrize(
    ("grants", "path", "role"),
    [
        ([], "/", None),
        ([("/", "curator", "allow", True)], "/", "curator"),
        ([("/", "curator", "allow", True)], "/support/emea", "curator"),
        ([("/", "curator", "allow", False)], "/support", None),
        ([("/support", "curator", "allow", True)], "/", None),
        ([("/support", "curator", "allow", True)], "/supporters", None),
        ([("/", "reader", "allow", True), ("/support", "curator", "allow", True)], "/support", "curator"),
        # A denial takes its role and what includes it.
        ([("/", "curator", "allow", True), ("/support", "curator", "deny", True)], "/support", "member"),
        ([("/", "account_admin", "allow", True), ("/support", "reader", "deny", True)], "/support/emea", None),
        ([("/", "member", "allow", True), ("/support", "reader", "deny", False)], "/support/emea", "member"),
        ([("/support", "curator", "allow", True), ("/", "curator", "deny", True)], "/support", "member"),
        ([("/", "reader", "allow", True), ("/", "curator", "deny", True)], "/", "reader"),
        ([("/", "reader", "deny", True)], "/", None),
    ],
)  # fmt: skip
def test_roles(grants, path, role):
    assert role_at(principal(*grants), path) == role
    for at_least in Role.values:
        expected = role is not None and Role.values.index(role) >= Role.values.index(at_least)
        assert has_role(principal(*grants), path, at_least) == expected


def test_curator_paths_keep_their_order():
    who = principal(
        ("/b", "curator", "allow", True), ("/a", "account_admin", "allow", True), ("/c", "member", "allow", True)
    )
    assert curator_paths(who, ["/b/x", "/c", "/a"]) == ["/b/x", "/a"]


def test_rights():
    require_right(principal(rights=frozenset({"read"})), Right.READ)
    with pytest.raises(Refused) as refused:
        require_right(principal(), Right.READ)
    assert (refused.value.code, refused.value.status) == ("missing_right", 403)


def test_authority_of_people_and_keys(account):
    curator = person_in(account, path="/support")
    maker = maker_of(curator)
    assert require_authority(curator, Delegation.RESOLVE, path="/support/emea") == curator.actor
    limited = key_principal(
        account, delegated=["resolve"], maker=maker, scope_limit=ScopeFactory(account=account, path="/support/emea")
    )
    actor = require_authority(limited, Delegation.RESOLVE, path="/support/emea")
    assert (actor.kind, actor.membership_id, actor.key_id) == ("person", curator.membership_id, limited.key_id)
    for who, delegation, path, code in (
        (curator, Delegation.RESOLVE, "/", "forbidden_scope"),
        (limited, Delegation.RESOLVE, "/support", "forbidden_scope"),
        (limited, Delegation.FORGET, "/support/emea", "human_required"),
        (key_principal(account), Delegation.RESOLVE, "/support", "human_required"),
    ):
        with pytest.raises(Refused) as refused:
            require_authority(who, delegation, path=path)
        assert refused.value.code == code


def test_a_delegation_is_worth_what_its_maker_may_do_now(account):
    reader = person_in(account, role=Role.READER)
    key = key_principal(account, delegated=["resolve"], maker=maker_of(reader))
    with pytest.raises(Refused) as refused:
        require_authority(key, Delegation.RESOLVE, path="/")
    assert refused.value.code == "forbidden_scope"


def paths(scopes) -> list[str]:
    """Return the paths of scopes."""
    return [scope.path for scope in scopes]


def test_readable_scopes(account):
    for path in ("/support/emea", "/sales"):
        tenancy.ensure_scope(account.id, path)
    everywhere, support = key_principal(account), person_in(account, role=Role.READER, path="/support")
    assert paths(readable_scopes(everywhere, "/support/emea", exact=False)) == ["/support/emea", "/support", "/"]
    assert paths(readable_scopes(everywhere, "support/emea/", exact=True)) == ["/support/emea"]
    assert paths(readable_scopes(everywhere, "/unknown", exact=True)) == []
    assert paths(readable_scopes(everywhere, "/unknown", exact=False)) == ["/"]
    assert paths(readable_scopes(support, "/support/emea", exact=False)) == ["/support/emea", "/support"]
    assert paths(readable_scopes(support, "/sales", exact=False)) == []
    assert paths(all_readable_scopes(support)) == ["/support", "/support/emea"]
    assert paths(all_readable_scopes(everywhere)) == ["/", "/sales", "/support", "/support/emea"]


def test_a_limited_key_reads_nothing_above_or_beside(account):
    limit = ScopeFactory(account=account, path="/support")
    tenancy.ensure_scope(account.id, "/support/emea")
    key = key_principal(account, scope_limit=limit)
    assert paths(readable_scopes(key, "/support/emea", exact=False)) == ["/support/emea", "/support"]
    assert paths(all_readable_scopes(key)) == ["/support", "/support/emea"]
    for path in ("/", "/sales", "/supporters"):
        with pytest.raises(Refused) as refused:
            readable_scopes(key, path, exact=False)
        assert refused.value.code == "forbidden_scope"


# As whom somebody reads


def test_a_key_of_an_app_reads_as_its_subject(account):
    ada = SubjectFactory(account=account)
    key = key_principal(account, rights=APP_RIGHTS)
    assert resolve_reader(key, subject=ada).subject_id == ada.id
    assert resolve_reader(key).posture is Posture.PUBLIC_ONLY
    channel = SubjectFactory(account=account, kind=SubjectKind.CHANNEL)
    assert resolve_reader(key, subject=channel).posture is Posture.PUBLIC_ONLY


def test_a_named_peer_needs_the_right_and_must_be_known(account):
    bob = SubjectFactory(account=account, key="bob")
    SubjectFactory(account=account, key="tea", kind=SubjectKind.TOPIC)
    with pytest.raises(Refused) as refused:
        resolve_reader(key_principal(account), peer_key="bob")
    assert refused.value.code == "peer_not_allowed"
    trusted = key_principal(account, rights=[Right.READ, Right.READ_FOR_OTHERS, Right.READ_AS_SUBJECT])
    assert resolve_reader(trusted, peer_key="bob", subject=SubjectFactory(account=account)).subject_id == bob.id
    for name in ("carol", "tea"):
        with pytest.raises(NotFound) as unknown:
            resolve_reader(trusted, peer_key=name)
        assert unknown.value.code == "peer_not_found"


def test_a_credential_with_a_peer_of_its_own(account):
    bob = SubjectFactory(account=account)
    assert resolve_reader(key_principal(account, rights=["read"], peer=bob)).subject_id == bob.id
    who = person_in(account)
    reader = resolve_reader(who)
    assert (reader.posture, reader.subject_id, reader.restricted) == (Posture.PEER, who.subject_id, False)


def test_a_grant_of_a_maker_is_none_of_the_keys_peer(account):
    curator = maker_of(person_in(account, restricted=True))
    for peer in (SubjectFactory(account=account), curator.subject):
        for delegated in ([], list(Delegation)):
            key = key_principal(account, rights=["read"], delegated=delegated, maker=curator, peer=peer)
            reader = resolve_reader(key)
            assert (reader.subject_id, reader.restricted) == (peer.id, False)


def test_restricted_is_granted_at_the_root_and_can_be_denied(account):
    assert resolve_reader(person_in(account, restricted=True)).restricted
    assert not resolve_reader(person_in(account, path="/support", restricted=True)).restricted
    who = person_in(account, restricted=True)
    GrantFactory(subject=maker_of(who).subject, role=Role.READER, effect="deny")
    assert not resolve_reader(person(maker_of(who))).restricted


def test_naming_a_reader_borrows_no_authority(account):
    curator = person_in(account, restricted=True)
    key = key_principal(account, rights=[Right.READ, Right.READ_FOR_OTHERS])
    reader = resolve_reader(key, peer_key=maker_of(curator).subject.key)
    assert (reader.subject_id, reader.restricted) == (curator.subject_id, False)
