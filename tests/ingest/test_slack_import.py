"""Importing a Slack export: each message once, whatever is repeated, edited, taken back, damaged or interrupted."""

from __future__ import annotations

import json
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from facts import raw_text
from facts.models import Account, Event, Fact, Identity, Job, LongJob, Passage, Relation, Subject
from ingest import processing, reading
from ingest.line import Part
from ingest.models import ChannelBinding, EventOutcome, ImportedFile, ImportRun
from ingest.slack import delivery, importing, summary
from ingest.slack.export import Unreadable
from ingest.slack.importing import Imported, Options, examine, import_export
from ingest.slack.messages import Deleted, Skipped
from tests.factories import AccountFactory, IdentityFactory, SubjectFactory, entered
from tests.ingest.fakes import FakeExtractor, cities
from tests.ingest.slack_exports import ANA, BO, START, USERS, changed, deleted, pack, said, write

DAY = "general/2025-01-10"


def load(account: Account, path: Path, **options: Any) -> Imported:
    return import_export(account.id, path, Options(**options))


def extract(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    extractor = FakeExtractor(cities)
    monkeypatch.setattr(reading, "configured_extractor", lambda: extractor)
    processing.drain(Part(account_id=account.id), seconds=10)


def facts() -> list[tuple[str, str]]:
    return sorted(Fact.objects.values_list("statement", "status"))


def test_a_message_is_kept_with_its_time_its_people_and_its_place(account: Account, tmp_path: Path) -> None:
    message = said("hi <@U2>, see <https://x.org>", thread_ts=f"{START - 5}.000000")
    got = load(account, write(tmp_path, {DAY: [message]}))
    assert (got.files, got.messages, got.counts, got.faults) == (1, 1, {"captured": 1}, {})
    event = Event.objects.select_related("scope", "subject", "speaker").get()
    assert event.text == "hi @Bo Berg, see https://x.org"
    assert event.occurred_at == datetime(2025, 1, 10, 9, 0, 0, 100, tzinfo=UTC)
    assert event.recorded_at > event.occurred_at + timedelta(days=30)
    assert (event.source_type, event.sensitivity, event.human) == ("backfill", "internal", True)
    assert event.source_key == f"slack:T1:C1:{message['ts']}"
    assert (event.scope.path, event.subject.key, event.speaker) == ("/slack/general", "ana", event.subject)
    assert (event.channel_id, event.channel_name, event.platform_user_id) == ("C1", "general", "U1")
    assert (event.ts, event.thread, event.urls) == (message["ts"], f"{START - 5}.000000", ["https://x.org"])
    assert event.payload["slack"] == {"user": "U1", "mentions": ["U2"], "digest": ANY}
    assert event.recorded_claims == {"source": "slack", "import": str(got.run_id)}


def test_people_become_subjects_who_are_known_by_all_their_names(account: Account, tmp_path: Path) -> None:
    load(account, write(tmp_path, {DAY: []}))
    assert list(Subject.objects.exclude(kind="channel").values_list("kind", "key", "name")) == [
        ("person", "ana", "Ana"),
        ("person", "bo", "Bo Berg"),
        ("agent", "robot", "robot"),
    ]
    assert sorted(Identity.objects.values_list("platform", "value", "subject__key")) == [
        ("email", "ana@example.org", "ana"),
        ("slack", "B3", "robot"),
        ("slack", "U1", "ana"),
        ("slack", "U2", "bo"),
        ("slack", "U3", "robot"),
        ("slack_name", "Ana Silva", "ana"),
    ]


def test_somebody_known_by_address_or_identifier_stays_one_person(account: Account, tmp_path: Path) -> None:
    known = SubjectFactory(account=account, key="a.silva", name="Dr Silva")
    IdentityFactory(subject=known, platform="email", value="ana@example.org")
    other = SubjectFactory(account=account, key="boberg", name="Bo")
    IdentityFactory(subject=other, value="U2")
    load(account, write(tmp_path, {DAY: [said("hello"), said("hello", user="U2", after=1)]}))
    assert sorted(Event.objects.values_list("speaker__key", flat=True)) == ["a.silva", "boberg"]


def test_a_stranger_with_a_taken_name_stays_a_stranger(account: Account, tmp_path: Path) -> None:
    SubjectFactory(account=account, key="ana", name="Another Ana")
    load(account, write(tmp_path, {DAY: [said("hello")]}))
    assert Event.objects.get().speaker.key == "slack:U1"


def test_names_that_two_people_bear_are_noted_for_nobody(account: Account, tmp_path: Path) -> None:
    twin = {**BO, "profile": {"display_name": "Ana", "real_name": "Ana Silva"}}
    load(account, write(tmp_path, {DAY: []}, users=[ANA, twin]))
    assert sorted(Subject.objects.filter(kind="person").values_list("key", "name")) == [
        ("ana", "Ana Silva"),
        ("bo", "Ana Silva"),
    ]
    assert not Identity.objects.filter(platform="slack_name").exists()


def test_authors_whom_no_list_holds(account: Account, tmp_path: Path) -> None:
    guest = said("hello", user="U9", user_profile={"display_name": "Zoe"})
    robot = {**said("Build passed", after=1, subtype="bot_message", bot_id="B9", username="ci"), "user": None}
    load(account, write(tmp_path, {DAY: [guest, robot]}))
    speakers = Event.objects.order_by("occurred_at").values_list(
        "speaker__kind", "speaker__key", "speaker__name", "human"
    )
    assert list(speakers) == [("person", "slack:U9", "Zoe", True), ("agent", "slack:B9", "ci", False)]


def test_bots_are_kept_and_never_evidence(account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = [said("London", user="U3"), said("Paris", after=1, bot_id="B7"), said("Rome", after=2)]
    load(account, write(tmp_path, {DAY: records}), origin_trust="third_party")
    extract(account, monkeypatch)
    assert facts() == [("The speaker lives in Rome.", "active")]
    assert sorted(EventOutcome.objects.values_list("reason", flat=True)) == ["", "not_human_speech", "not_human_speech"]
    assert set(Event.objects.values_list("human", "origin_trust")) == {(True, "third_party"), (False, "semi_trusted")}


def test_channels_have_scopes_and_private_ones_always_their_own(account: Account, tmp_path: Path) -> None:
    channels = [{"id": "C1", "name": "general"}, {"id": "C2", "name": "random"}, {"id": "C3", "name": "ops"}]
    path = write(
        tmp_path,
        {"general/2025-01-10": [said("a")], "board/2025-01-10": [said("b")]},
        channels=channels,
        groups=[{"id": "G1", "name": "board"}],
    )
    got = load(account, path, scope="/team", scopes={"ops": "/operations"})
    assert got.scopes == {"general": "/team", "random": "/team", "ops": "/operations", "board": "/team/board"}
    assert sorted(ChannelBinding.objects.values_list("channel_id", "scope__path", "is_private")) == [
        ("C1", "/team", False),
        ("C2", "/team", False),
        ("C3", "/operations", False),
        ("G1", "/team/board", True),
    ]
    again = load(account, path)
    assert again.scopes == got.scopes
    assert again.counts == {"deduplicated": 2}


def test_direct_messages_are_left_out_and_folders_without_a_list_are_reported(account: Account, tmp_path: Path) -> None:
    path = write(
        tmp_path,
        {"D1/2025-01-10": [said("x")], "mpdm-a--b-1/2025-01-10": [said("x")], "secret/2025-01-10": [said("x")]},
        dms=[{"id": "D1"}],
    )
    got = load(account, path)
    assert (got.messages, got.direct_files) == (0, 2)
    assert got.faults == {"secret/": "no list says what kind of conversation this is"}
    assert ImportRun.objects.get().status == "faulty"
    assert not Event.objects.exists()


def test_importing_again_stores_nothing_twice(account: Account, tmp_path: Path) -> None:
    records = [said("one"), said("two", after=1), said("one")]
    path = write(tmp_path, {DAY: records, "general/2025-01-11": [said("two", after=1)]})
    assert load(account, path).counts == {"captured": 2, "deduplicated": 2}
    assert load(account, path).counts == {"deduplicated": 4}
    assert (Event.objects.count(), Job.objects.count(), ImportRun.objects.count()) == (2, 2, 2)


def test_messages_of_two_channels_with_one_time_stamp_are_two(account: Account, tmp_path: Path) -> None:
    channels = [{"id": "C1", "name": "general"}, {"id": "C2", "name": "random"}]
    load(account, write(tmp_path, {DAY: [said("a")], "random/2025-01-10": [said("a")]}, channels=channels))
    assert Event.objects.count() == 2


def test_an_edit_is_a_revision_and_its_facts_follow(
    account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = said("i live in Lyon and Oslo", after=0)
    path = write(tmp_path, {DAY: [said("i live in Oslo", user="U2", after=-9), first]})
    load(account, path)
    extract(account, monkeypatch)
    write(tmp_path, {"general/2025-01-11": [changed(first, "i live in Rome", after=90)]})
    assert load(account, path).counts == {"deduplicated": 2, "revised": 1}
    assert Passage.objects.filter(event__withdrawn_at__isnull=False).count() == 1
    extract(account, monkeypatch)
    revisions = Event.objects.filter(ts=first["ts"], channel_id="C1", speaker__key="ana").order_by("revision")
    assert [(e.revision, e.text, e.withdrawn_at is None) for e in revisions] == [
        (1, "i live in Lyon and Oslo", False),
        (2, "i live in Rome", True),
    ]
    assert revisions[0].occurred_at == revisions[1].occurred_at


def test_what_an_edit_states_instead_supersedes_what_it_stated(
    account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = said("i live in Lyon")
    path = write(tmp_path, {DAY: [first]})
    load(account, path)
    extract(account, monkeypatch)
    write(tmp_path, {DAY: [first, changed(first, "i live in Rome", after=90)]})
    load(account, path)
    extract(account, monkeypatch)
    assert facts() == [("The speaker lives in Lyon.", "superseded"), ("The speaker lives in Rome.", "active")]
    old, new = Fact.objects.get(status="superseded"), Fact.objects.get(status="active")
    assert (old.valid_from, old.valid_to) == (new.valid_from, new.valid_from)
    assert list(Relation.objects.values_list("kind", "source", "target")) == [("supersedes", new.id, old.id)]


def test_what_an_edit_states_no_more_is_withdrawn_and_what_it_repeats_stays(
    account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = said("i live in Lyon")
    path = write(tmp_path, {DAY: [first, changed(first, "so i live in Lyon", after=60)]})
    load(account, path)
    extract(account, monkeypatch)
    fact = Fact.objects.get()
    assert (fact.status, fact.corroboration) == ("active", 1)
    write(tmp_path, {DAY: [first, changed(first, "never mind", after=90)]})
    load(account, path)
    extract(account, monkeypatch)
    assert facts() == [("The speaker lives in Lyon.", "retracted")]


def test_an_edit_of_what_another_message_says_too_leaves_the_fact_to_that_one(
    account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = said("i live in Lyon"), said("yes, i live in Lyon", after=50)
    path = write(tmp_path, {DAY: [first, second]})
    load(account, path)
    extract(account, monkeypatch)
    assert Fact.objects.get().corroboration == 2
    write(tmp_path, {DAY: [first, second, changed(first, "never mind", after=90)]})
    load(account, path)
    extract(account, monkeypatch)
    fact = Fact.objects.get()
    assert (fact.status, fact.corroboration) == ("active", 1)
    assert fact.evidence.get().event.text == "yes, i live in Lyon"


def test_an_edit_back_and_forth_ends_where_it_ended(
    account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = said("i live in Lyon")
    edits = [changed(first, "i live in Rome", after=60), changed(first, "i live in Lyon", after=120)]
    path = write(tmp_path, {DAY: [first]})
    for known in (0, 1, 2):
        write(tmp_path, {DAY: [first, *edits[:known]]})
        load(account, path)
        extract(account, monkeypatch)
    assert load(account, path).counts == {"deduplicated": 3}
    assert sorted(Event.objects.values_list("revision", "text")) == [
        (1, "i live in Lyon"),
        (2, "i live in Rome"),
        (3, "i live in Lyon"),
    ]
    assert list(Fact.objects.filter(status="active").values_list("statement", flat=True)) == [
        "The speaker lives in Lyon."
    ]


def test_a_time_stamp_that_two_authors_claim_stays_with_the_first(account: Account, tmp_path: Path) -> None:
    got = load(account, write(tmp_path, {DAY: [said("mine"), said("no, mine", user="U2")]}))
    assert got.counts == {"captured": 1, "time_stamp_taken": 1}
    assert list(Event.objects.values_list("text", "speaker__key")) == [("mine", "ana")]


def test_an_export_that_holds_only_the_last_text(account: Account, tmp_path: Path) -> None:
    path = write(tmp_path, {DAY: [said("corrected", edited={"user": "U1", "ts": f"{START + 60}.000000"})]})
    assert load(account, path).counts == {"captured": 1, "edited_before": 1}
    event = Event.objects.get()
    assert (event.revision, event.payload["slack"]["edited"]) == (1, f"{START + 60}.000000")
    write(tmp_path, {DAY: [said("an older copy")]})
    assert load(account, path).counts == {"deduplicated": 1}
    write(tmp_path, {DAY: [said("newer", edited={"user": "U1", "ts": f"{START + 99}.000000"})]})
    assert load(account, path).counts == {"revised": 1}


def test_a_deletion_withdraws_what_nothing_else_says(
    account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone, shared, other = (
        said("i live in Lyon"),
        said("i live in Oslo", user="U2", after=1),
        said("Oslo", user="U2", after=9),
    )
    path = write(tmp_path, {DAY: [alone, shared, other]})
    load(account, path)
    extract(account, monkeypatch)
    records = [alone, shared, other, deleted(alone, after=20), deleted(shared, after=21)]
    write(tmp_path, {DAY: records})
    assert load(account, path).counts == {"deduplicated": 3, "deleted": 2}
    assert facts() == [("The speaker lives in Lyon.", "retracted"), ("The speaker lives in Oslo.", "active")]
    kept = Fact.objects.get(status="active")
    assert (kept.corroboration, kept.evidence.get().event.text) == (1, "Oslo")
    assert sorted(Event.objects.filter(withdrawn_at__isnull=False).values_list("text", flat=True)) == [
        "i live in Lyon",
        "i live in Oslo",
    ]
    assert load(account, path).counts == {"deduplicated": 5}


def test_a_deletion_before_processing_leaves_nothing(
    account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = said("i live in Lyon")
    load(account, write(tmp_path, {DAY: [first, deleted(first, after=5), deleted(said("x", after=7), after=8)]}))
    extract(account, monkeypatch)
    assert ImportRun.objects.get().counts == {"captured": 1, "deleted": 1, "deleted_unknown": 1}
    assert (Fact.objects.count(), Passage.objects.count()) == (0, 0)
    assert EventOutcome.objects.get().reason == "event_withdrawn"


def test_one_bad_file_does_not_stop_the_rest(account: Account, tmp_path: Path) -> None:
    deep = b"[" * 200_000
    days = {
        "general/2025-01-08": b"[{",
        "general/2025-01-09": b'{"ok": false}',
        DAY: [said("kept"), 7, {"type": "message"}, said("", after=3)],
        "general/2025-01-11": deep,
        "general/2025-01-12": "[]".encode("utf-16"),
        "general/2025-01-13": json.dumps([said("café", after=9)], ensure_ascii=False).encode("cp1252"),
        "general/2025-01-14": b"\xef\xbb\xbf" + json.dumps([said("bom", after=10)]).encode(),
    }
    got = load(account, write(tmp_path, days))
    assert got.counts == {"captured": 3, "invalid_time": 1, "no_text": 1, "not_a_message": 1}
    assert sorted(got.faults) == ["general/2025-01-08.json", "general/2025-01-09.json", "general/2025-01-11.json"]
    assert got.faults["general/2025-01-09.json"] == "it holds no list"
    assert got.faults["general/2025-01-11.json"] == "its JSON is nested too deep"
    assert sorted(Event.objects.values_list("text", flat=True)) == ["bom", "café", "kept"]
    run = ImportRun.objects.get()
    assert (run.status, run.files, run.messages, run.messages_done) == ("faulty", 7, 6, 6)


def test_what_no_database_stores_is_replaced_or_skipped(account: Account, tmp_path: Path) -> None:
    records = [
        said(
            "a\x00b <@U\x00> <https://x.org/\x00|\ud800>", client_msg_id="\x00", thread_ts="\x00", edited={"ts": "\x00"}
        ),
        said("x", user="U\x00", after=1),
        said("y", user="U" * 300, after=2),
        said("z", after=3, files=[{"title": "\x00", "preview": "\x00"}]),
    ]
    users = [*USERS, {"id": "U\x00"}, {"id": "U7", "name": "a\x00b", "profile": {"real_name": "x" * 500}}, 7]
    got = load(account, write(tmp_path, {DAY: records}, users=users))
    assert got.counts == {"captured": 2, "no_author": 2}
    event = Event.objects.get(ts=records[0]["ts"])
    assert (event.text, event.urls) == ("a b @U  \ufffd (https://x.org/)", ["https://x.org/"])
    assert event.payload["slack"] == {"user": "U1", "client_msg_id": " ", "digest": ANY}


@pytest.mark.parametrize("inside", ["", "My Export Jan 2025/"])
def test_a_zip_reads_as_its_folder(account: Account, tmp_path: Path, inside: str) -> None:
    archive = pack(write(tmp_path / "e", {DAY: [said("hello")]}), tmp_path / "e.zip", inside=inside)
    assert load(account, archive).counts == {"captured": 1}


def test_names_that_lead_out_of_an_archive_or_folder_are_not_followed(account: Account, tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", {DAY: [said("secret")]})
    folder = write(tmp_path / "e", {DAY: [said("hello", after=1)]})
    (folder / "general" / "2025-01-12.json").symlink_to(outside / f"{DAY}.json")
    assert load(account, folder).counts == {"captured": 1}
    (folder / "general" / "2025-01-12.json").unlink()
    archive = pack(folder, tmp_path / "e.zip")
    with zipfile.ZipFile(archive, "a") as packed:
        for name in ("../general/2025-01-01.json", "/general/2025-01-02.json", "general/../../2025-01-03.json"):
            packed.writestr(name, json.dumps([said("secret", after=2)]))
    load(account, archive)
    assert list(Event.objects.values_list("text", flat=True)) == ["hello"]


def test_a_file_beyond_all_measure_is_not_read(
    account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.slack.export.MAX_FILE_BYTES", 4_000)
    folder = write(tmp_path / "e", {DAY: [said("x" * 5_000)], "general/2025-01-11": [said("small", after=1)]})
    for path in (folder, pack(folder, tmp_path / "e.zip")):
        got = load(account, path)
        assert got.faults == {f"{DAY}.json": "it is too large"}
    assert Event.objects.get().text == "small"


@pytest.mark.parametrize("name", ["missing", "empty", "broken.zip"])
def test_what_is_no_export_at_all(account: Account, tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 no")
    with pytest.raises(Unreadable):
        load(account, tmp_path / name)
    assert not ImportRun.objects.exists()


def test_a_killed_import_goes_on_where_it_was(
    account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "SEGMENT", 2)
    days = {
        DAY: [said(f"a{n}", after=n) for n in range(5)],
        "general/2025-01-11": [said(f"b{n}", after=100 + n) for n in range(3)],
    }
    path = write(tmp_path, days)

    def killed(progress: LongJob) -> None:
        if progress.done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_export(account.id, path, Options(), watch=killed)
    run = ImportRun.objects.get()
    assert (run.status, run.messages_done, run.messages, run.counts) == ("running", 4, 8, {"captured": 4})
    assert list(ImportedFile.objects.values_list("name", "position")) == [(f"{DAY}.json", 4)]
    seen: list[LongJob] = []
    got = import_export(account.id, path, Options(), watch=seen.append)
    assert (got.run_id, got.messages, got.counts) == (run.id, 8, {"captured": 8})
    assert [progress.done for progress in seen] == [5, 7, 8]
    assert sorted(Event.objects.values_list("text", flat=True)) == ["a0", "a1", "a2", "a3", "a4", "b0", "b1", "b2"]


def test_a_file_that_changed_since_the_kill_is_read_again(account: Account, tmp_path: Path) -> None:
    path = write(tmp_path, {DAY: [said("one")]})

    def killed(progress: LongJob) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_export(account.id, path, Options(), watch=killed)
    write(tmp_path, {DAY: [said("zero", after=-5), said("one")]})
    assert load(account, path).counts == {"captured": 2, "deduplicated": 1}


def test_since_and_limit(account: Account, tmp_path: Path) -> None:
    path = write(
        tmp_path, {DAY: [said(f"m{n}", after=n) for n in range(4)], "general/2025-01-11": [said("z", after=9)]}
    )
    assert load(account, path, since=datetime(2025, 1, 10, 9, 0, 2, tzinfo=UTC)).counts == {
        "before_since": 2,
        "captured": 3,
    }
    assert load(account, path, limit=3).counts == {"captured": 2, "deduplicated": 1}


def test_a_dry_run_stores_nothing(account: Account, tmp_path: Path) -> None:
    records = [said("a"), said("a"), said("j", subtype="channel_join"), changed(said("a"), "b", after=3)]
    got = examine(write(tmp_path, {DAY: records, "general/2025-01-11": b"{"}), Options(limit=10))
    assert got.counts == {"captured": 1, "deduplicated": 1, "subtype:channel_join": 1, "changed": 1}
    assert sorted(got.faults) == ["general/2025-01-11.json"]
    assert got.scopes == {"general": "/slack/general"}
    assert (Event.objects.count(), ImportRun.objects.count(), Subject.objects.count()) == (0, 0, 0)


def test_two_accounts_may_hold_the_same_export(tmp_path: Path, db: None) -> None:
    path = write(tmp_path, {DAY: [said("hello")]})
    for account in (AccountFactory(), AccountFactory()):
        with entered(account):
            assert load(account, path).counts == {"captured": 1}


def test_a_reply_is_read_with_the_message_that_it_answers(account: Account, tmp_path: Path) -> None:
    parent = said("Is Ana our DBA?", user="U2")
    parent["thread_ts"] = parent["ts"]
    reply = said("yes, that's right", after=9, thread_ts=parent["ts"])
    load(account, write(tmp_path, {DAY: [parent, said("lunch?", user="U2", after=5), reply]}))
    loaded = reading.load(account.id, Event.objects.get(ts=reply["ts"]).id)
    assert loaded.turns[0].item.window == (("Bo Berg", "Is Ana our DBA?"),)


def test_what_came_of_an_import(account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    got = load(account, write(tmp_path, {DAY: [said("i live in Lyon"), said("nothing", user="U2", after=1)]}))
    extract(account, monkeypatch)
    found = summary.extraction_of(account.id, got.run_id)
    assert found.events == {("facts", ""): 1, ("nothing", "nothing_to_remember"): 1}
    assert found.candidates == {("fact", "new"): 1}


def test_segments_keep_order_and_begin_with_a_deletion() -> None:
    a, gone = Skipped(reason="no_text"), Deleted(ts="1.0")
    assert list(delivery.segments([a, a, a, gone, gone, a], size=2)) == [[a, a], [a], [gone], [gone, a]]


def test_a_message_whose_words_are_kept_no_longer_comes_again(account: Account, tmp_path: Path) -> None:
    first = said("i live in Lyon")
    path = write(tmp_path, {DAY: [first]})
    load(account, path)
    event = Event.objects.get()
    raw_text.remove(account.id, [event.id], at=event.recorded_at)
    assert load(account, path).counts == {"deduplicated": 1}
    write(tmp_path, {DAY: [first, changed(first, "i live in Oslo", after=60)]})
    assert load(account, path).counts == {"deduplicated": 2}
    since = int(event.recorded_at.timestamp()) - START + 60
    write(tmp_path, {DAY: [first, changed(first, "i live in Rome", after=since)]})
    assert load(account, path).counts == {"deduplicated": 1, "revised": 1}
    assert list(Event.objects.order_by("revision").values_list("text", flat=True)) == ["", "i live in Rome"]
