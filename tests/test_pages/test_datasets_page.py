"""The page Datasets: review by keys, its filters, two blind readers, what cannot be changed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from page_text import headline, html_text
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.pages.datasets.analysis import answer_of
from ragtriage.dashboard.pages.datasets.item import judged_words
from ragtriage.dashboard.pages.datasets.queue import SHOWN_REJECTS, is_read_too
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.api import diagnosis_of
from ragtriage.data.chunking.corpus import Corpus, Document
from ragtriage.data.datasets.chosen import freeze
from ragtriage.data.datasets.coverage import PageCoverage, page_coverage
from ragtriage.data.datasets.dataset import Dataset, create_dataset
from ragtriage.data.datasets.item import GoldSpan, Item
from ragtriage.data.datasets.pooling import Pool, PooledRuns, pool_of
from ragtriage.data.datasets.readers import ReaderAgreement, reader_agreement
from ragtriage.data.datasets.review import Draft, accept, edit, events_of, read_draft, reject
from ragtriage.data.datasets.split import DEV, part_of, set_split
from ragtriage.data.datasets.windows import CorpusWindows
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.access import READ_ONLY

PAGE = (
    "# Leave\n\n<b>Annual</b> leave expires after one year.\n\n## Comp time\n\n"
    "Comp time expires after one year too, and travel time after two pay periods.\n"
)
OTHER = "# Travel\n\nTravel comp time expires after two pay periods, as comp time does in a year.\n"


def _span(text: str, quote: str, doc_id: str = "leave") -> GoldSpan:
    at = text.index(quote)
    return GoldSpan(doc_id, at, at + len(quote), quote)


def _items() -> list[Item]:
    first = "<b>Annual</b> leave expires after one year."
    second = "travel time after two pay periods"
    return [
        Item("q1", "When does annual leave expire?", "After one year.", "single", (_span(PAGE, first),)),
        Item(
            "q2", "When does travel comp time expire?", "After two pay periods.", "single",
            (_span(PAGE, second),),
        ),
        Item("q3", "Who approves <i>parental</i> leave?", "The pages do not say.", "unanswerable",
            answerable="no"),
        Item("q6", "leave?", "After one year.", "single", (_span(PAGE, first),), rejected_by="form",
            reason="1 word"),
    ]  # fmt: skip


@pytest.fixture
def dataset(workspace: RunStore) -> Dataset:
    """Three questions that passed the filters, one of them with a second place, and one that did not."""
    made = create_dataset(workspace.workspace, "leave questions")
    corpus = Corpus("leave", (Document("leave", PAGE), Document("travel", OTHER)))
    made.add_batch(_items(), corpus, {"by": "file"})
    return made


def _open(store: RunStore, monkeypatch: pytest.MonkeyPatch, user: str = "", **chosen: Any) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(store.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(**{"part": "review", **chosen})
    if user:
        app.session_state["annotator_name"] = user
    app.switch_page("datasets/datasets.py").run()
    assert not app.exception
    return app


def _states(app: AppTest) -> dict[str, str]:
    table = next(frame.value for frame in app.dataframe if "State" in frame.value.columns)
    return dict(zip(table["Question"], table["State"], strict=True))


def _button(app: AppTest, key: str) -> Any:
    """Return a button by its key, or by what stands before the slot of its question."""
    return next(button for button in app.button if re.fullmatch(f"{key}(_[0-9a-f]{{10}})?", button.key or ""))


def _press(app: AppTest, key: str) -> AppTest:
    _button(app, key).click().run()
    assert not app.exception
    return app


def _type(app: AppTest, key: str, text: str) -> None:
    box = next(area for area in app.text_area if (area.key or "").startswith(f"{key}_"))
    box.set_value(text).run()


def _keys(app: AppTest) -> set[str]:
    return {re.sub("_[0-9a-f]{10}$", "", button.key or "") for button in app.button}


def test_the_questions_are_listed_with_their_marks_most_first(
    workspace: RunStore, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _open(workspace, monkeypatch)
    assert headline(app) == "0 of 3 read, 3 to go"
    states = _states(app)
    assert next(iter(states)) == "When does travel comp time expire?"
    assert states["When does travel comp time expire?"] == "! 1 mark"
    assert states["When does annual leave expire?"] == "to read"
    assert "perhaps answered elsewhere" in html_text(app)
    assert "Answered here too? travel" in html_text(app)


def test_a_decision_without_a_name_asks_for_it(
    workspace: RunStore, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _open(workspace, monkeypatch)
    for key in ("accept", "reject", "undo_decision"):
        _press(app, key)
        assert "enter your name first" in app.toast[0].value
    assert not events_of(dataset)


def test_accept_edit_gold_reject_and_undo(
    workspace: RunStore, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _open(workspace, monkeypatch, "Ann", item="q2")
    _press(app, "also_gold")
    entry = read_draft(dataset).find("q2")
    assert entry is not None
    assert [span.doc_id for span in entry.item.spans] == ["leave", "travel"]
    assert len(entry.item.hops) == 1, "the second place is an alternative"
    assert "one of 2 alternatives" in html_text(app)
    assert "Answered here too?" not in html_text(app), "the free checks ran again"
    _press(app, "accept")
    assert app.session_state["selection"].item == "q1", "the next that nobody read opens"
    _press(app, "edit")
    _type(app, "edit_question", "When does annual leave lapse?")
    _press(app, "save")
    assert _states(app)["When does annual leave lapse?"] == "✎ edited"
    _press(app, "reject")
    _press(app, "reason_unclear")
    assert headline(app) == "2 of 3 kept, 1 rejected"
    assert [(event.action, event.reason) for event in events_of(dataset)] == [
        ("gold", ""), ("accept", ""), ("edit", ""), ("reject", "unclear"),
    ]  # fmt: skip
    _press(app, "undo_decision")
    assert app.session_state["selection"].item == "q3"
    assert headline(app) == "2 of 3 read, 1 to go"


def test_an_edit_that_changes_nothing_is_an_acceptance_and_an_empty_question_is_refused(
    workspace: RunStore, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _open(workspace, monkeypatch, "Ann", item="q1")
    _press(app, "edit")
    _type(app, "edit_question", "  ")
    _press(app, "save")
    assert "it is empty" in app.toast[0].value
    assert not events_of(dataset)
    _type(app, "edit_question", "When does annual leave expire?")
    _press(app, "save")
    assert [event.action for event in events_of(dataset)] == ["accept"]


def test_a_digit_alone_asks_for_x_and_nothing_is_accepted_while_reasons_are_open(
    workspace: RunStore, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _open(workspace, monkeypatch, "Ann", item="q1")
    _press(app, "reason_unreal")
    assert any("Unreal? X rejects" in str(text.value) for text in app.markdown)
    assert _button(app, "accept").disabled
    _press(app, "close_reasons")
    assert not _button(app, "accept").disabled
    assert not events_of(dataset)
    _press(app, "reason_unreal")
    _press(app, "reject")
    assert [(event.action, event.reason) for event in events_of(dataset)] == [("reject", "unreal")]


def test_an_unfinished_edit_stays_with_its_question_and_switches_the_keys_off(
    workspace: RunStore, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _open(workspace, monkeypatch, "Ann", item="q1")
    _press(app, "edit")
    _type(app, "edit_question", "When does it lapse?")
    assert not {"accept", "reject", "also_gold", "undo_decision", "reason_gold"} & _keys(app)
    assert _button(app, "item_Next").disabled
    app.session_state["selection"] = Selection(part="review", item="q2")
    app.run()
    assert {"accept", "reject"} <= _keys(app), "another question is decided on as usual"
    app.session_state["selection"] = Selection(part="review", item="q1")
    app.run()
    assert [box.value for box in app.text_area] == ["When does it lapse?", "After one year."]
    assert not any("edit_question" in str(block.proto.body) for block in app.get("html")), "no cursor in it"
    _press(app, "cancel")
    assert not app.text_area
    assert not events_of(dataset)


def test_a_reader_counts_own_decisions_whatever_the_case_of_the_name(
    workspace: RunStore, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (each.item for each in read_draft(dataset).items[:2])
    edit(dataset, replace(first, question="When does annual leave lapse?"), "Ann")
    accept(dataset, second, "Ann")
    app = _open(workspace, monkeypatch, "ann", item="q3")
    assert headline(app) == "2 of 3 read, 1 to go"
    _press(app, "accept")
    assert {event.who for event in events_of(dataset)} == {"Ann"}
    edited = next(each.item for each in read_draft(dataset).items if each.item.question_id == "q1")
    accept(dataset, edited, "Bob")
    app = _open(workspace, monkeypatch, "Bob")
    text = html_text(app)
    assert "1 accepted · 0 edited · 0 rejected" in text, "the edit was another's"
    assert "kept 1.00" not in text, "one decision has no interval"


def test_a_question_that_nothing_answers_shows_the_nearest_passages_and_chips_say_what_they_are(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = create_dataset(workspace.workspace, "unanswerable")
    item = Item("u1", "Who approves comp time?", "", "unanswerable", answerable="no",
        tags={"difficulty": "easy", "synthetic": "true"})  # fmt: skip
    made.add_batch([item], Corpus("leave", (Document("leave", PAGE), Document("travel", OTHER))), {})
    text = html_text(_open(workspace, monkeypatch, "Ann"))
    assert "Nothing of this answers?" in text
    assert "travel comp time" in text.lower()
    assert "difficulty: easy" in text
    assert "u1" in text


def test_a_second_reader_sees_nothing_of_the_first(
    workspace: RunStore, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = (each.item for each in read_draft(dataset).items[:3])
    accept(dataset, first, "Ann")
    reject(dataset, second, "Ann", "unclear")
    app = _open(workspace, monkeypatch, "Bob")
    assert headline(app) == "0 of 3 read, 3 to go"
    assert not {"✓ kept", "✕ rejected"} & set(_states(app).values())
    accept(dataset, second, "Bob")
    accept(dataset, first, "Bob")
    accept(dataset, third, "Bob")
    app = _open(workspace, monkeypatch, "Bob")
    chips = [option.content for group in app.get("button_group") for option in group.proto.options]
    assert "Disputed 1" in chips, "who has decided is told that readers differ"
    assert "2 readers, 2 read twice" in html_text(app)


def test_filters_live_in_the_address(
    workspace: RunStore, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _open(workspace, monkeypatch, reading="marked")
    assert list(_states(app)) == ["When does travel comp time expire?"]
    app = _open(workspace, monkeypatch, check_mark="elsewhere")
    assert list(_states(app)) == ["When does travel comp time expire?"]
    app = _open(workspace, monkeypatch, document="leave")
    assert "Who approves <i>parental</i> leave?" not in _states(app)
    app = _open(workspace, monkeypatch, reading="filtered")
    assert list(_states(app)) == ["leave?"]
    app = _open(workspace, monkeypatch, reading="kept")
    assert headline(app) == "Nothing to read with this filter"
    assert Selection.from_params({"reading": "nowhere"}).reading == ""


def test_texts_are_data(workspace: RunStore, dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    app = _open(workspace, monkeypatch, item="q1")
    bodies = " ".join(str(block.proto.body) for block in app.get("html"))
    assert "<mark>&lt;b&gt;Annual&lt;/b&gt; leave expires after one year.</mark>" in bodies
    app = _open(workspace, monkeypatch, item="q3")
    bodies = " ".join(str(block.proto.body) for block in app.get("html"))
    assert "&lt;i&gt;parental&lt;/i&gt;" in bodies


def test_nothing_can_be_decided_where_the_workspace_is_only_read(
    workspace: RunStore, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(READ_ONLY, "1")
    app = _open(workspace, monkeypatch, "Ann")
    keys = _keys(app)
    assert not {"accept", "edit", "also_gold", "reject", "undo_decision"} & keys
    assert {"item_Next", "item_Previous"} <= keys


def test_a_frozen_version_is_read_and_not_decided_on(
    workspace: RunStore, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = [each.item for each in read_draft(dataset).items[:2]]
    dataset.freeze(items, 2, "Ann")
    edit(dataset, Item("q1", "Changed?", "Yes.", "single", items[0].spans), "Ann")
    app = _open(workspace, monkeypatch, "Ann", frozen=1)
    assert headline(app) == "All 2 read, 2 kept"
    assert _states(app) == {item.question: "✓ kept" for item in items}
    assert "accept" not in _keys(app)


def test_a_version_that_was_read_in_part_says_which_part(
    workspace: RunStore, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept(dataset, _items()[0], "Ann")
    reject(dataset, _items()[2], "Ann", "unclear")
    freeze(read_draft(dataset), "Ann", unreviewed=True)
    app = _open(workspace, monkeypatch, part="", frozen=1)
    assert headline(app) == "leave questions: 1 of 2 questions reviewed, none multi-hop"
    assert "when it was frozen" in html_text(app)
    assert "step_1" not in _keys(app), "a version never changes"


def test_what_readers_rejected_counts_in_nothing(
    workspace: RunStore, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = _items()[:3]
    reject(dataset, second, "Ann", "unclear")
    set_split(dataset, 0.5)
    app = _open(workspace, monkeypatch, part="")
    text = html_text(app)
    assert "0 of 2 questions carry a mark" in text, "the marked one is rejected"
    assert "2 questions can show no change" in text
    app = _open(workspace, monkeypatch, part="versions")
    dev = sum(part_of(item, 0.5) == DEV for item in (first, third))
    assert f"dev {dev}, test {2 - dev}." in html_text(app)
    for item in (first, third):
        reject(dataset, item, "Ann", "unclear")
    app = _open(workspace, monkeypatch, part="")
    assert headline(app) == "leave questions: none of 3 questions kept"
    app = _open(workspace, monkeypatch, part="card")
    assert headline(app) == "leave questions: none of 3 questions can be handed over"
    assert not app.error


def test_who_has_no_name_yet_is_blind_too_and_reasons_are_ones_own(
    workspace: RunStore, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = _items()[1]
    reject(dataset, item, "Ann", "twin")
    app = _open(workspace, monkeypatch, item="q2")
    assert headline(app) == "0 of 3 read, 3 to go"
    assert "✕ rejected" not in _states(app).values()
    assert "your decisions show once your name is entered" in html_text(app)
    reject(dataset, item, "Bob", "unclear")
    app = _open(workspace, monkeypatch, "Bob", item="q2")
    assert "✕ unclear" in html_text(app)
    assert "twin of another" not in html_text(app)
    monkeypatch.setenv(READ_ONLY, "1")
    app = _open(workspace, monkeypatch, item="q2")
    assert "✕ twin of another, unclear" in html_text(app), "who only reads has nothing to be blind for"


def test_a_rerun_computes_nothing_again(
    workspace: RunStore, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    for who in ("Ann", "Bob"):
        for item in _items()[:3]:
            accept(dataset, item, who)
    asked: list[str] = []

    def agreement(draft: Draft) -> ReaderAgreement | None:
        asked.append("kappa")
        return reader_agreement(draft)

    def coverage(items: Sequence[Item], corpus: Corpus) -> list[PageCoverage]:
        asked.append("pages")
        return page_coverage(items, corpus)

    monkeypatch.setattr("ragtriage.dashboard.pages.datasets.review.reader_agreement", agreement)
    monkeypatch.setattr("ragtriage.dashboard.pages.datasets.facts.page_coverage", coverage)
    app = _open(workspace, monkeypatch, "Ann")
    assert "2 readers, 3 read twice" in html_text(app.run())
    assert headline(_open(workspace, monkeypatch, part="").run()).startswith("leave questions: 1 of 2 pages")
    assert asked == ["kappa", "pages"]


def test_a_fifth_of_what_filters_reject_is_read_too() -> None:
    rejected = [Item(f"made-{at}", "?", rejected_by="twin") for at in range(2_000)]
    share = sum(map(is_read_too, rejected)) / len(rejected)
    assert share == pytest.approx(SHOWN_REJECTS, abs=0.03)
    assert is_read_too(Item("made-1", "?"))


def test_a_workspace_without_datasets_says_how_to_make_one(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    app = _open(workspace, monkeypatch)
    assert headline(app) == "Make a first test set"
    assert "ragtriage dataset make CORPUS" in html_text(app)


def test_the_overview_says_what_is_missing_and_its_marks_lead_to_the_review(
    workspace: RunStore, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _open(workspace, monkeypatch, part="")
    assert headline(app) == "leave questions: 0 of 3 questions reviewed, none multi-hop"
    bodies = " ".join(str(block.proto.body) for block in app.get("html"))
    assert "check_mark=elsewhere" in bodies
    assert "check_mark=twin" not in bodies, "only a check that marks something is a link"
    text = html_text(app)
    assert "1 of 3 questions carry a mark" in text
    assert "1 of 2 pages have no question" in text
    assert "No run of the project has results for half of these questions" in text
    _press(app, "step_1")
    assert app.session_state["selection"].part == "review"
    assert list(_states(app)) == ["When does travel comp time expire?"]


def test_the_bundled_set_is_analysed_by_its_runs(demo: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    app = _open(demo, monkeypatch, part="", project="handbook")
    assert headline(app) == "handbook questions: 0 of 48 questions reviewed, none adversarial"
    text = html_text(app)
    assert "25 questions tell the versions apart, 17 all pass, 6 nobody passes" in text
    assert "4 versions only" in text
    assert "48 questions show a change of 21 points, 213 would show 10" in text
    assert "16 of 42 pages have no question" in text
    diagnosis = diagnosis_of(demo, demo.runs("handbook")[-1], DiagnosisSettings())
    known = str(diagnosis.scored.question_ids[0])
    assert answer_of(diagnosis, known)
    assert answer_of(diagnosis, f"{known} ") == answer_of(diagnosis, "~") == "", "not that of a neighbour"
    app = _open(demo, monkeypatch, project="handbook", check_mark="nobody")
    assert len(_states(app)) == 6
    app = _open(demo, monkeypatch, project="handbook", check_mark="against")
    assert len(_states(app)) == 1


def test_places_that_search_proposes_are_gold_by_a_readers_word_alone(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = create_dataset(workspace.workspace, "queries")
    proposed = (_span(PAGE, "Comp time expires after one year too"), _span(OTHER, "comp time does", "travel"))
    item = Item("r1", "when does comp time expire", "", "keyword", proposed=proposed, answerable="")
    made.add_batch([item], Corpus("leave", (Document("leave", PAGE), Document("travel", OTHER))), {})
    app = _open(workspace, monkeypatch, "Ann")
    assert "Answered here? leave" in html_text(app)
    _press(app, "gold_2")
    entry = read_draft(made).find("r1")
    assert entry is not None
    assert [span.doc_id for span in entry.item.spans] == ["travel"]
    _press(app, "also_gold")
    entry = read_draft(made).find("r1")
    assert entry is not None
    assert [span.doc_id for span in entry.item.spans] == ["travel", "leave"]
    assert len(entry.item.hops) == 1
    assert not entry.golden, "gold decides nothing by itself"


def test_a_real_query_gets_its_gold_by_judging_a_pool_one_passage_at_a_time(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = create_dataset(workspace.workspace, "queries")
    corpus = Corpus("leave", (Document("leave", PAGE), Document("travel", OTHER)))
    made.add_batch([Item("r1", "when does comp time expire", "", "real", answerable="")], corpus, {})
    searched: list[str] = []

    def pool(item: Item, windows: CorpusWindows, runs: PooledRuns) -> Pool:
        searched.append(item.question_id)
        return pool_of(item, windows, runs)

    monkeypatch.setattr("ragtriage.dashboard.pages.datasets.item.pool_of", pool)
    app = _open(workspace, monkeypatch, "Ann")
    text = html_text(app)
    assert "passage 1 of 2: G answers, N does not" in text
    assert text.count("Answered here?") == 1, "one passage at a time"
    _press(app, "not_gold")
    assert "passage 2 of 2" in html_text(app)
    _press(app, "also_gold")
    entry = read_draft(made).find("r1")
    assert entry is not None
    assert (len(entry.item.spans), len(entry.item.distractors)) == (1, 1)
    assert _button(app, "also_gold").disabled, "all are judged"
    assert searched == ["r1"], "a judgement searches for nothing again"
    _press(app, "accept")
    assert headline(app) == "All 1 read, 1 kept"


def test_the_models_checks_are_said_and_go_stale_with_an_edit(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = {"alone": {"realism": 4, "known": False}, "read": {"gold": ["full"], "others": ["none"]}}
    said = judged_words(Item("q", "Why?", judged=judged))
    assert said == {"Realism": "4 of 5", "Closed book": "does not know", "Read blind": "gold full"}
    assert set(judged_words(Item("q", "Why?")).values()) == {""}
    made = create_dataset(workspace.workspace, "judged")
    corpus = Corpus("leave", (Document("leave", PAGE), Document("travel", OTHER)))
    item = replace(_items()[0], judged=judged, tags={"known_without_corpus": "true"})
    made.add_batch([item], corpus, {})
    app = _open(workspace, monkeypatch, "Ann")
    assert "4 of 5" in html_text(app)
    assert "known without corpus" in html_text(app), "a tag that is only true shows its name"
    edit(made, replace(item, question="When does it lapse?"), "Ann")
    app = _open(workspace, monkeypatch, "Ann")
    assert "4 of 5" not in html_text(app)
    assert "stale: changed since" in " ".join(str(block.proto.body) for block in app.get("html"))


def test_the_card_and_every_export_of_it(
    workspace: RunStore, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _open(workspace, monkeypatch, part="card")
    assert headline(app) == "leave questions: 3 questions to hand over, none read by people"
    accept(dataset, _items()[0], "Ann")
    app = _open(workspace, monkeypatch, part="card")
    assert headline(app) == "leave questions: 1 question to hand over"
    app.toggle(key="card_unreviewed").set_value(True).run()
    assert headline(app) == "leave questions: 3 questions to hand over"
    assert any("#### leave questions" in str(text.value) for text in app.markdown)


def test_a_plan_is_shown_before_anything_is_asked_and_rules_need_no_key(
    workspace: RunStore, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    app = _open(workspace, monkeypatch, part="")
    _press(app, "make_open")
    app.text_input(key="make_mix").set_value("nonsense")
    app.button(key="FormSubmitter:make_form-Show the plan").click().run()
    assert "accepted" in app.error[0].value
    app.text_input(key="make_mix").set_value("single=1")
    app.number_input(key="make_n").set_value(2)
    app.button(key="FormSubmitter:make_form-Show the plan").click().run()
    assert app.metric[0].value == "2"
    assert app.button(key="make_start").disabled, "there is no key"
    for kind in ("false-premise", "keyword"):
        app.number_input(key=f"rule_{kind}").set_value(0)
    app.number_input(key="rule_misspelt").set_value(1)
    app.button(key="FormSubmitter:rules_form-Add").click().run()
    made = [item for batch in dataset.batches() for item in batch.items if item.kind == "misspelt"]
    assert len(made) == 1
    monkeypatch.setenv(READ_ONLY, "1")
    app = _open(workspace, monkeypatch, part="")
    assert "make_open" not in _keys(app)


def test_versions_are_frozen_by_a_named_person_from_what_was_read(
    workspace: RunStore, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept(dataset, _items()[0], "Ann")
    app = _open(workspace, monkeypatch, part="versions")
    assert headline(app) == "leave questions: no version yet"
    _press(app, "freeze")
    assert not dataset.versions()
    app = _open(workspace, monkeypatch, "Ann", part="versions")
    assert app.button(key="freeze").label == "Freeze 1 question"
    app.checkbox(key="freeze_unread").check().run()
    assert app.button(key="freeze").label == "Freeze 3 questions"
    _press(app, "freeze")
    (version,) = dataset.versions()
    assert (version.n_read, version.who) == (1, "Ann")
    assert headline(app) == "leave questions v1: 2 of 3 questions unread"
    reject(dataset, _items()[1], "Ann", "twin")
    app = _open(workspace, monkeypatch, "Ann", part="versions")
    assert headline(app) == "The draft differs from v1"
    monkeypatch.setenv(READ_ONLY, "1")
    app = _open(workspace, monkeypatch, "Ann", part="versions")
    assert not {"freeze", "split_dataset", "apply_corpus"} & _keys(app)


def test_a_newer_corpus_returns_only_what_changed_to_the_review(
    workspace: RunStore, dataset: Dataset, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for item in _items()[:2]:
        accept(dataset, item, "Ann")
    changed = "A new line.\n" + PAGE.replace("after two pay periods", "after <i>three</i> pay periods")
    folder = tmp_path / "newer"
    folder.mkdir()
    (folder / "leave.md").write_text(changed)
    (folder / "travel.md").write_text(OTHER)
    app = _open(workspace, monkeypatch, "Ann", part="versions")
    app.text_input(key="new_corpus_path").set_value(str(folder)).run()
    _press(app, "compare_corpus")
    assert headline(app) == "The corpus changed: 1 of 2 questions need another look"
    bodies = " ".join(str(block.proto.body) for block in app.get("html"))
    assert "travel time after &lt;i&gt;three&lt;/i&gt; pay periods" in bodies
    before = dataset.corpus_version
    _press(app, "apply_corpus")
    assert dataset.corpus_version != before
    states = {each.item.question_id: each.state for each in read_draft(dataset).items}
    assert (states["q1"], states["q2"]) == ("kept", "stale")
    app.text_input(key="new_corpus_path").set_value(str(tmp_path / "nowhere")).run()
    _press(app, "compare_corpus")
    assert "nowhere" in app.toast[0].value
