"""What a reviewer does in the admin, by mouse and by keyboard."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from facts import conflict_sets
from facts.actors import pipeline
from facts.models import ConflictSet, Fact
from facts.tenancy import account_transaction
from facts.vocabulary import ConflictStatus, Status
from tests.admin_scene import ARABIC
from tests.browser.admin_room import Room, prepare
from tests.factories import FactFactory


@pytest.fixture
def room(live_server) -> Iterator[Room]:
    """A prepared account."""
    return prepare(live_server.url)


@pytest.fixture
def reviewer(page: Page, room: Room) -> Page:
    """The page of the curator, signed in."""
    room.enter(page.context)
    return page


def _statuses(room: Room) -> dict[str, str]:
    """Return the status of each of Ana's two homes."""
    with account_transaction(room.scene.account.id):
        facts = Fact.objects.filter(conflict_memberships__conflict_set=room.scene.conflicts[0])
        return {"Lisbon" if "Lisbon" in fact.statement else "Porto": fact.status for fact in facts}


def test_signing_in_leads_to_what_waits(page: Page, room: Room) -> None:
    room.open(page, "/admin/")
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill("correct horse battery")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="What waits for you")).to_be_visible()
    expect(page.locator("a.tile", has_text="Open conflicts").locator(".figure")).to_have_text("3")
    expect(page.locator(".tile", has_text="Injection rate").locator(".figure")).to_have_text("100 %")
    expect(page.locator(".tile", has_text="Worker").locator(".figure")).to_have_text("alive")


def test_a_conflict_is_decided_by_mouse_and_undone(reviewer: Page, room: Room) -> None:
    room.open(reviewer, "/admin/")
    reviewer.get_by_role("link", name="Ana Lima: lives in: Lisbon / Porto").click()
    expect(reviewer.locator(".place")).to_have_text("1 of 3")
    expect(reviewer.locator(".side mark").first).to_have_text("Lisbon")
    reviewer.get_by_label("Reason, kept with").fill("She moved in March.")
    reviewer.get_by_role("button", name="Keep side 2", exact=False).first.click()
    banner = reviewer.get_by_role("status")
    expect(banner).to_contain_text("One side was kept; the others ended or never took effect.")
    expect(reviewer.get_by_role("heading", level=1)).to_contain_text("Eve")
    assert _statuses(room) == {"Lisbon": Status.SUPERSEDED, "Porto": Status.ACTIVE}
    reviewer.get_by_role("button", name="Undo").click()
    expect(reviewer.get_by_role("status")).to_contain_text("Undone")
    expect(reviewer.get_by_role("heading", level=1)).to_have_text("Conflict about Ana Lima")
    assert _statuses(room) == {"Lisbon": Status.ACTIVE, "Porto": Status.CANDIDATE}


def test_a_queue_is_worked_through_by_keyboard_alone(reviewer: Page, room: Room) -> None:
    room.open(reviewer, "/admin/")
    reviewer.keyboard.press("j")
    expect(reviewer.get_by_role("heading", level=1)).to_have_text("Conflict about Ana Lima")
    reviewer.keyboard.press("j")
    expect(reviewer.locator(".place")).to_have_text("2 of 3")
    reviewer.keyboard.press("k")
    expect(reviewer.locator(".place")).to_have_text("1 of 3")
    reviewer.keyboard.press("e")
    reviewer.keyboard.type("1 reason, typed while keys are just keys")
    reviewer.keyboard.press("Escape")
    reviewer.keyboard.press("1")
    expect(reviewer.get_by_role("heading", level=1)).to_contain_text("Eve")
    assert _statuses(room) == {"Lisbon": Status.ACTIVE, "Porto": Status.SUPERSEDED}
    reviewer.keyboard.press("u")
    expect(reviewer.get_by_role("status")).to_contain_text("Undone")
    reviewer.keyboard.press("2")
    expect(reviewer.locator(".place")).to_have_text("1 of 2")
    reviewer.keyboard.press("1")
    expect(reviewer.locator(".place")).to_have_text("1 of 1")
    reviewer.keyboard.press("1")
    expect(reviewer.get_by_role("status")).to_contain_text("That was the last one in this list.")
    with account_transaction(room.scene.account.id):
        assert not ConflictSet.objects.filter(status=ConflictStatus.OPEN).exists()


def test_the_shortcuts_are_explained(reviewer: Page, room: Room) -> None:
    room.open(reviewer, room.conflict(0))
    reviewer.keyboard.press("?")
    expect(reviewer.get_by_role("dialog")).to_be_visible()
    reviewer.keyboard.press("1")
    reviewer.keyboard.press("Escape")
    expect(reviewer.get_by_role("dialog")).to_be_hidden()
    assert _statuses(room) == {"Lisbon": Status.ACTIVE, "Porto": Status.CANDIDATE}


def test_enter_in_a_field_decides_nothing(reviewer: Page, room: Room) -> None:
    room.open(reviewer, room.conflict(0))
    reviewer.get_by_text("There is no contradiction").click()
    reviewer.get_by_label("What separates them").fill("home and office")
    reviewer.keyboard.press("Enter")
    expect(reviewer.get_by_label("What separates them")).to_have_value("home and office")
    assert _statuses(room) == {"Lisbon": Status.ACTIVE, "Porto": Status.CANDIDATE}


def test_both_are_kept_under_their_conditions(reviewer: Page, room: Room) -> None:
    room.open(reviewer, room.conflict(0))
    reviewer.get_by_text("All hold, each under its own condition").click()
    for side, value in enumerate(("winter", "summer")):
        reviewer.get_by_label("Condition").nth(side).fill("season")
        reviewer.get_by_label("is", exact=True).nth(side).fill(value)
    reviewer.get_by_role("button", name="Keep all under these conditions").click()
    expect(reviewer.get_by_role("status")).to_contain_text("each under its own condition")
    assert _statuses(room) == {"Lisbon": Status.ACTIVE, "Porto": Status.ACTIVE}


@pytest.mark.expects_status(409)
def test_a_conflict_that_changed_meanwhile_says_so(reviewer: Page, room: Room) -> None:
    room.open(reviewer, room.conflict(0))
    scene = room.scene
    with account_transaction(scene.account.id):
        third = FactFactory(subject=scene.ana, status=Status.CANDIDATE, statement="Ana Lima lives in Faro.")
        conflict = ConflictSet.objects.get(pk=scene.conflicts[0].pk)
        conflict_sets.join(conflict, fact_id=third.pk, withheld=True, actor=pipeline())
    reviewer.get_by_label("Reason, kept with").fill("Sure of it.")
    reviewer.get_by_role("button", name="Keep side 1").first.click()
    expect(reviewer.get_by_role("alert")).to_contain_text("This conflict changed while you looked at it.")
    expect(reviewer.get_by_role("alert")).to_contain_text("a fact joined")
    expect(reviewer.get_by_text("new since you looked")).to_have_count(1)
    expect(reviewer.get_by_label("Reason, kept with")).to_have_value("Sure of it.")
    reviewer.get_by_role("button", name="Keep side 1").first.click()
    expect(reviewer.get_by_role("status")).to_contain_text("One side was kept")


def test_hostile_text_is_only_text(reviewer: Page, room: Room) -> None:
    room.open(reviewer, room.conflict(1))
    expect(reviewer.locator(".message.cited").last).to_contain_text("<script>document.title='owned'</script>")
    expect(reviewer.locator(".message .control-character").first).to_have_text("U+202E")
    assert reviewer.title().startswith("Conflict about Eve <b>Mallory</b>")
    assert reviewer.locator("main script, main img, .statement b").count() == 0


def test_text_from_right_to_left_runs_that_way(reviewer: Page, room: Room) -> None:
    room.open(reviewer, room.conflict(2))
    said = reviewer.locator(".message.cited bdi", has_text=ARABIC)
    assert said.evaluate("element => getComputedStyle(element).direction") == "rtl"
    assert reviewer.locator("html").get_attribute("dir") == "ltr"


def test_a_phone_is_enough_to_decide(reviewer: Page, room: Room) -> None:
    reviewer.set_viewport_size({"width": 390, "height": 844})
    room.open(reviewer, "/admin/")
    reviewer.get_by_role("link", name="Ana Lima: lives in").click()
    sides = reviewer.locator(".side")
    boxes = [sides.nth(number).bounding_box() for number in range(2)]
    assert boxes[1]["y"] > boxes[0]["y"] + boxes[0]["height"]
    assert all(box["width"] <= 390 for box in boxes)
    reviewer.get_by_role("button", name="Keep side 2", exact=True).click()
    expect(reviewer.get_by_role("status")).to_contain_text("One side was kept")


def test_everything_works_without_scripts(browser: Browser, room: Room) -> None:
    context = browser.new_context(java_script_enabled=False)
    room.enter(context)
    page = context.new_page()
    room.open(page, room.conflict(0))
    page.locator("button[value^='keep_one:']").nth(1).click()
    assert "One side was kept" in page.locator("[role=status]").inner_text()
    page.locator("[role=status] button").click()
    assert "Undone" in page.locator("[role=status]").inner_text()
    context.close()


def test_a_review_is_approved_by_keyboard(reviewer: Page, room: Room) -> None:
    room.open(reviewer, "/admin/governance/review/")
    reviewer.get_by_role("link", name="Ana Lima has diabetes.").click()
    expect(reviewer.get_by_role("button", name="Approve")).to_be_visible()
    reviewer.keyboard.press("a")
    expect(reviewer.get_by_role("status")).to_contain_text("Approved.")
    with account_transaction(room.scene.account.id):
        assert Fact.objects.get(pk=room.scene.review_fact.pk).status == Status.ACTIVE


def test_subjects_are_suggested_while_one_types(reviewer: Page, room: Room) -> None:
    room.open(reviewer, "/admin/facts/fact/")
    with reviewer.expect_response("**/admin/subjects.json?q=an"):
        reviewer.get_by_label("Key or name of the subject").press_sequentially("an")
    expect(reviewer.locator("#filter-subject-list option")).to_have_count(1)
    reviewer.get_by_label("Key or name of the subject").fill("ana")
    reviewer.get_by_role("button", name="Filter").click()
    expect(reviewer.locator("#result_list tbody tr")).to_have_count(6)


def test_a_fact_is_forgotten_and_brought_back(reviewer: Page, room: Room) -> None:
    room.open(reviewer, "/admin/facts/fact/")
    reviewer.get_by_role("link", name="Ana Lima speaks Portuguese.").click()
    expect(reviewer.get_by_text("Forget it")).to_be_visible()
    reviewer.keyboard.press("f")
    expect(reviewer.locator("details[open]").get_by_label("Reason")).to_be_focused()
    reviewer.keyboard.type("She asked for it.")
    reviewer.get_by_role("button", name="Forget", exact=True).click()
    expect(reviewer.locator(".messagelist")).to_contain_text("Forgotten")
    expect(reviewer.locator("main")).not_to_contain_text("speaks Portuguese")
    reviewer.get_by_role("button", name="Take the forgetting back").click()
    expect(reviewer.locator(".messagelist")).to_contain_text("It is back as it was before.")
    expect(reviewer.locator(".statement")).to_have_text("Ana Lima speaks Portuguese.")


def test_a_review_is_decided_by_keyboard_undone_and_said_in_other_words(reviewer: Page, room: Room) -> None:
    room.open(reviewer, "/admin/governance/review/")
    reviewer.get_by_label("Choose this review").check()
    expect(reviewer.locator("[data-count]")).to_have_text("1")
    reviewer.get_by_role("button", name="Take them").click()
    expect(reviewer.get_by_role("heading", name="These change (1)")).to_be_visible()
    reviewer.keyboard.press("1")
    expect(reviewer.get_by_role("heading", name="Done (1)")).to_be_visible()
    reviewer.get_by_role("link", name="Ana Lima has diabetes.").click()
    reviewer.wait_for_url("**/change/**")
    expect(reviewer.get_by_role("button", name="Approve")).to_be_visible()
    reviewer.keyboard.press("a")
    expect(reviewer.get_by_role("status")).to_contain_text("Approved.")
    reviewer.keyboard.press("u")
    expect(reviewer.get_by_role("status")).to_contain_text("Undone")
    reviewer.get_by_text("Say it in other words").click()
    reviewer.get_by_label("Statement").fill("Ana Lima has asthma, slightly.")
    reviewer.get_by_role("button", name="Replace").click()
    expect(reviewer.get_by_role("status")).to_contain_text("Said in other words")
    with account_transaction(room.scene.account.id):
        room.scene.review_fact.refresh_from_db()
        assert room.scene.review_fact.status == Status.SUPERSEDED
        assert Fact.objects.filter(statement="Ana Lima has asthma, slightly.").exists()
