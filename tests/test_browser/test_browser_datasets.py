"""The review of a dataset by keys in a real browser: each key, a reload, and the address in a new window."""

from __future__ import annotations

import uuid

from browser_site import Site
from playwright.sync_api import expect

from ragtriage.data.datasets.dataset import datasets
from ragtriage.data.datasets.review import events_of, read_draft

QUESTION = ".rt-item h2"
PATIENCE = 30_000


def _name_the_reader(site: Site, who: str) -> None:
    box = site.page.locator(".st-key-annotator_name input")
    if box.count():  # a new address is a new session
        box.fill(who)
        box.press("Enter")
        site.settle()


def _top(site: Site, name: str) -> float:
    box = site.page.locator(name).first.bounding_box()
    assert box is not None
    return box["y"]


def _decide(site: Site, *keys: str) -> None:
    """Press keys, the last of which decides; wait until the next question is open."""
    before = site.page.locator(QUESTION).inner_text()
    for key in keys:
        site.page.keyboard.press(key)
        site.settle()
    expect(site.page.locator(QUESTION)).not_to_have_text(before, timeout=PATIENCE)


def test_a_dataset_is_read_by_keys(site: Site) -> None:
    page, dataset = site.page, datasets(site.store.workspace)[0]
    who = f"Ann {uuid.uuid4().hex[:6]}"  # each reader begins anew, also where the test runs again
    site.open("datasets?project=handbook&part=review")
    _name_the_reader(site, who)
    statement = page.locator("h1")
    _decide(site, "a")
    expect(statement).to_contain_text("1 of 48 read", timeout=PATIENCE)
    page.keyboard.press("e")
    field = page.get_by_label("Question", exact=True)
    expect(field).to_be_focused(timeout=PATIENCE)
    field.press_sequentially(" agj?")  # letters in a box are no keys
    field.press("Control+Enter")
    expect(statement).to_contain_text("2 of 48 read", timeout=PATIENCE)
    site.settle()
    _decide(site, "x", "3")
    expect(statement).to_contain_text("3 of 48 read", timeout=PATIENCE)
    site.open("datasets?project=handbook&part=review&check_mark=elsewhere")
    _name_the_reader(site, who)
    page.set_viewport_size({"width": 1024, "height": 900})
    site.settle()
    before = _top(site, ".st-key-undo_decision")
    page.keyboard.press("g")
    expect(page.get_by_text("A keeps it so")).to_be_visible(timeout=PATIENCE)
    site.settle()
    assert _top(site, ".st-key-undo_decision") == before, "no key moves"
    assert _top(site, "[class*=st-key-accept_]") == before, "the keys stand in one row"
    own = [event for event in events_of(dataset) if event.who == who]
    assert [event.action for event in own] == ["accept", "edit", "reject", "gold"]
    edited = read_draft(dataset).find(own[1].question_id)
    assert edited is not None
    assert edited.item.question.endswith(" agj?")
    for key in "uu":
        page.keyboard.press(key)
        site.settle()
    expect(statement).to_contain_text("2 of 48 read", timeout=PATIENCE)
    own = [event for event in events_of(dataset) if event.who == who]
    assert [event.undone_at is None for event in own] == [True, True, False, False]
    question = page.locator(QUESTION).inner_text()
    page.reload()
    expect(page.locator(QUESTION)).to_have_text(question, timeout=PATIENCE)
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator(QUESTION)).to_have_text(question, timeout=PATIENCE)
    other.close()


def test_keys_that_come_faster_than_the_page_decide_nothing_unseen(site: Site) -> None:
    page, dataset = site.page, datasets(site.store.workspace)[0]
    who = f"Bob {uuid.uuid4().hex[:6]}"

    def own() -> list[tuple[str, str]]:
        return [(event.action, event.reason) for event in events_of(dataset) if event.who == who]

    site.open("datasets?project=handbook&part=review")
    _name_the_reader(site, who)
    question = page.locator(QUESTION)
    first = question.inner_text()
    page.keyboard.type("aa", delay=60)
    site.settle()
    expect(question).not_to_have_text(first, timeout=PATIENCE)
    assert own() == [("accept", "")], "the same key twice is one decision"
    page.keyboard.type("x3", delay=40)
    expect(page.locator("h1")).to_contain_text("2 of 48 read", timeout=PATIENCE)
    site.settle()
    page.keyboard.type("xa", delay=40)
    site.settle()
    expect(page.get_by_role("button", name="Gold fails")).to_be_visible(timeout=PATIENCE)
    assert own() == [("accept", ""), ("reject", "unreal")], "a question being rejected is not accepted"
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Gold fails")).to_be_hidden(timeout=PATIENCE)


def test_an_unfinished_edit_stays_with_its_question_and_the_name_with_the_browser(site: Site) -> None:
    page, dataset = site.page, datasets(site.store.workspace)[0]
    who = f"Cem {uuid.uuid4().hex[:6]}"
    site.open("datasets?project=handbook&part=review")
    _name_the_reader(site, who)
    page.keyboard.press("e")
    field = page.get_by_label("Question", exact=True)
    expect(field).to_be_focused(timeout=PATIENCE)
    field.press_sequentially(" or not?")
    typed = field.input_value()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    for key in "jax3":
        page.keyboard.press(key)
    site.settle()
    expect(field).to_have_value(typed)
    assert who not in {event.who for event in events_of(dataset)}
    address = page.url
    page.locator("[data-testid=stDataFrame]").first.click(position={"x": 200, "y": 34 * 3 + 17})
    expect(page.locator(QUESTION)).to_be_visible(timeout=PATIENCE)
    site.settle()
    third = page.locator(QUESTION).inner_text()
    page.keyboard.press("k")
    expect(page.locator(QUESTION)).not_to_have_text(third, timeout=PATIENCE)
    site.settle()
    page.keyboard.press("k")
    expect(field).to_have_value(typed, timeout=PATIENCE)
    site.settle()
    expect(field).not_to_be_focused()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(QUESTION)).to_be_visible(timeout=PATIENCE)
    page.goto(address)
    expect(page.get_by_role("button", name=who[:10])).to_be_visible(timeout=PATIENCE)
