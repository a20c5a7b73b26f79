"""The Present page: a story composed, kept, presented, and restored from its address."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from judged_runs import made
from page_text import headline, page_text
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.present.stories.story import MOST_SECTIONS, Story, StorySection, story_from_json
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.stories import add_story, stories
from ragtriage.data.store.workspace import Run


def opened(store: RunStore, monkeypatch: pytest.MonkeyPatch, run: Run, **chosen: Any) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(store.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(project=run.project, run=run.run_id, **chosen)
    app.switch_page("present/present.py").run()
    assert not app.exception
    return app


def kept(store: RunStore, run: Run) -> Story:
    return story_from_json(stories(store.ledger, run.project)[-1].body)


def press(app: AppTest, key: str) -> None:
    next(one for one in app.button if one.key == key).click().run()
    assert not app.exception


def test_a_story_is_made_changed_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, run = made(tmp_path, 6)
    app = opened(store, monkeypatch, run)
    assert headline(app) == "No slides yet"
    press(app, "story_new")
    assert [one.kind for one in kept(store, run).sections] == [
        "verdict",
        "why",
        "users",
        "example",
        "next",
    ]
    assert headline(app) == "5 slides are ready, without a verdict", "right by text alone is measured"
    app.selectbox(key="story_kind").set_value("suites").run()
    press(app, "story_add")
    labels = [app.button(key=f"deck_thumb_{at}").label for at in range(6)]
    assert "No slide: Checks" in labels
    assert [label[0] for label in labels if not label.startswith("No slide: ")] == ["1", "2", "3", "4", "5"]
    press(app, "piece_down_0")
    assert [one.kind for one in kept(store, run).sections][:2] == ["why", "verdict"]
    press(app, "deck_thumb_5")
    press(app, "piece_out_5")
    press(app, "deck_thumb_0")
    heading = next(one for one in app.text_input if one.key == "piece_heading_0_why")
    heading.set_value("How we stand <b>").run()
    note = next(one for one in app.text_area if one.key == "piece_note_0_why")
    note.set_value("Read [this](http://evil.example)").run()
    story = kept(store, run)
    assert [one.kind for one in story.sections] == ["why", "verdict", "users", "example", "next"]
    assert (story.sections[0].heading, story.sections[0].note) == (
        "How we stand <b>",
        "Read [this](http://evil.example)",
    )
    press(app, "story_add")
    assert len(kept(store, run).sections) == 6
    press(app, "story_remove")
    assert stories(store.ledger, run.project) == []


def test_a_presentation_goes_point_by_point_and_lives_in_the_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, run = made(tmp_path, 6)
    pieces = (
        StorySection("headline", "First point"),
        StorySection("text", "Second point", "said <i>plainly</i>"),
    )
    story = Story("A story", run.run_id, sections=pieces)
    number = add_story(store.ledger, run.project, story.title, story.to_json())
    there = Selection(story=number, slide=2)
    assert Selection.from_params(there.to_params()) == there
    app = opened(store, monkeypatch, run, story=number)
    press(app, "story_present")
    assert [one.value for one in app.title] == ["A story"]
    assert not app.selectbox  # no controls beside the three steps
    press(app, "slide_Next")
    assert [one.value for one in app.title] == ["First point"]
    press(app, "slide_Next")
    assert [one.value for one in app.title] == ["Second point"]
    press(app, "slide_Next")
    assert [one.value for one in app.title] == ["Second point"]
    press(app, "slide_Back")
    press(app, "slide_End")
    assert headline(app) == "2 slides are ready, without a verdict"


BROKEN = ["{", "", "[]", "null", '{"title": "T"}', Story("T", "r").to_json().replace("[]", '{"a": 1}')]


@pytest.mark.parametrize("body", BROKEN)
def test_a_deck_that_cannot_be_read_can_be_replaced_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    store, run = made(tmp_path, 3)
    broken = add_story(store.ledger, run.project, "T", body, "me")
    app = opened(store, monkeypatch, run)
    assert headline(app) == "This deck cannot be read"
    press(app, "story_new")
    assert headline(app).endswith("ready, without a verdict")
    next(one for one in app.selectbox if one.label == "Deck").select(broken).run()
    assert headline(app) == "This deck cannot be read"
    press(app, "story_remove")
    assert broken not in [stored.story_id for stored in stories(store.ledger, run.project)]
    assert headline(app).endswith("ready, without a verdict")


def test_a_deck_of_many_slides_shows_them_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, run = made(tmp_path, 3)
    story = Story("Long", run.run_id, sections=(StorySection("text", "A point", "said"),) * MOST_SECTIONS)
    add_story(store.ledger, run.project, story.title, story.to_json())
    app = opened(store, monkeypatch, run)
    assert not app.error
    assert headline(app) == f"{MOST_SECTIONS} slides are ready, without a verdict"
    press(app, f"deck_thumb_{MOST_SECTIONS - 1}")
    assert any(one.key == f"piece_heading_{MOST_SECTIONS - 1}_text" for one in app.text_input)


def test_an_emptied_deck_takes_a_new_slide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, run = made(tmp_path, 3)
    story = Story("T", run.run_id, sections=(StorySection("text", "A point", "said"),))
    add_story(store.ledger, run.project, story.title, story.to_json())
    app = opened(store, monkeypatch, run)
    press(app, "piece_out_0")
    assert kept(store, run).sections == ()
    assert headline(app) == "This deck has no slides"
    next(one for one in app.selectbox if one.key == "story_kind").select("text").run()
    press(app, "story_add")
    assert [section.kind for section in kept(store, run).sections] == ["text"]


def test_an_address_with_a_slide_presents_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, run = made(tmp_path, 3)
    story = Story("T", run.run_id, sections=(StorySection("text", "A point", "said"),))
    number = add_story(store.ledger, run.project, story.title, story.to_json())
    app = opened(store, monkeypatch, run)
    for name, value in Selection(run=run.run_id, story=number, slide=2).to_params().items():
        app.query_params[name] = value
    app.run()
    assert [one.value for one in app.title] == ["A point"]
    assert not header_of(app)
    assert app.query_params["slide"] == "2"


def header_of(app: AppTest) -> list[str]:
    return [one.label for one in app.selectbox if one.label == "Run"]


@pytest.mark.parametrize("page", ["triage", "cases", "runs"])
def test_no_other_page_is_presented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str) -> None:
    store, run = made(tmp_path, 3)
    story = Story("T", run.run_id, sections=(StorySection("text", "A point", "said"),))
    add_story(store.ledger, run.project, story.title, story.to_json())
    app = opened(store, monkeypatch, run)
    press(app, "story_present")
    assert not header_of(app)
    app.switch_page(f"{page}/{page}.py").run()
    assert header_of(app) == ["Run"]
    assert "slide" not in app.query_params


@pytest.mark.parametrize("deck", ["none", "unreadable", "of a run that is gone"])
def test_what_cannot_be_presented_keeps_its_navigation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deck: str
) -> None:
    store, run = made(tmp_path, 3)
    if deck != "none":
        gone = Story("Old", "000000000000", sections=(StorySection("headline"),)).to_json()
        add_story(store.ledger, run.project, "Old", "{" if deck == "unreadable" else gone)
    app = opened(store, monkeypatch, run)
    app.query_params["slide"] = "3"
    app.run()
    assert not app.exception
    assert header_of(app) == ["Run"]
    assert "slide" not in app.query_params


def test_a_slide_that_fails_keeps_the_navigation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, run = made(tmp_path, 3)
    story = Story("T", run.run_id, sections=(StorySection("text", "A point", "said"),))
    add_story(store.ledger, run.project, story.title, story.to_json())
    app = opened(store, monkeypatch, run)

    def fails(*_: object) -> None:
        raise DataError("no slide of this")

    monkeypatch.setattr("ragtriage.dashboard.pages.present.presentation.presentation", fails)
    monkeypatch.setattr("ragtriage.dashboard.pages.present.presentation.thumbnails", fails)
    press(app, "story_present")
    assert header_of(app) == ["Run"]
    assert "no slide of this" in app.error[0].value


def test_a_story_whose_run_is_gone_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, run = made(tmp_path, 3)
    story = Story("Old", "000000000000", sections=(StorySection("headline"),))
    add_story(store.ledger, run.project, story.title, story.to_json())
    app = opened(store, monkeypatch, run)
    assert headline(app) == "The run of this deck is gone"
    assert "not in the workspace any more" in page_text(app)
