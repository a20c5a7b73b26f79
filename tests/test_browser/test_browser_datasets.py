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
    page.keyboard.press("g")
    expect(page.get_by_text("A keeps it so")).to_be_visible(timeout=PATIENCE)
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
