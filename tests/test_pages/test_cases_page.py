"""The Cases page: its list and order, its chips, folded documents, and labels under a name asked once."""

from __future__ import annotations

import base64
import re
from typing import Any
from xml.etree import ElementTree

import pytest
from page_text import headline, html_text
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.charts.tokens import LIGHT
from ragtriage.dashboard.pages.cases.case_list import CONTRADICTED, fix_first_order, kind_counts, mixed
from ragtriage.dashboard.present.case_html.case import context_cards_html, highlights_of
from ragtriage.dashboard.present.page_html.pictures import ScoreBar, score_bars
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.api import add_run
from ragtriage.data.cases.cases import read_case
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings, diagnose
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run

GOOD = {"faithfulness": 1.0, "answer_relevancy": 1.0, "context_recall": 1.0}
TEXT = "The Nile flows through eleven countries of Africa. <b>It is long.</b>"
LONG = f"{'Bread is baked from flour and water. ' * 40}{TEXT}"


def _record(at: int, scores: dict[str, float]) -> dict[str, Any]:
    return {
        "question_id": f"q{at}",
        "question": f"Where does river {at} flow?",
        "answer": "The Nile flows through eleven countries of Africa.",
        "retrieved": [{"id": "nile", "text": LONG}, {"id": "rain", "text": "It rains."}],
        "scores": scores,
    }


@pytest.fixture
def run(workspace: RunStore) -> Run:
    """A run of one good, one unmeasured, three unfaithful and one irrelevant answer, the good one first."""
    unfaithful = {**GOOD, "faithfulness": 0.0}
    scores = [
        GOOD,
        {},
        {**GOOD, "answer_relevancy": 0.1},
        unfaithful,
        {**unfaithful, "answer_relevancy": 0.2},
        unfaithful,
    ]
    return add_run(
        [_record(at, one) for at, one in enumerate(scores)], "V1", "p", str(workspace.workspace.root)
    )


def _open(store: RunStore, monkeypatch: pytest.MonkeyPatch, user: str = "", **chosen: Any) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(store.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(project="p", **chosen)
    if user:
        app.session_state["annotator_name"] = user
    app.switch_page("cases/cases.py").run()
    assert not app.exception
    return app


def _listed(app: AppTest) -> list[str]:
    table = next(one.value for one in app.dataframe if "State" in one.value.columns)
    return [
        f"{re.sub(r'[^0-9]', '', question)} {state[0]}"
        for question, state in zip(table["Question"], table["State"], strict=True)
    ]


def test_the_list_stands_in_the_order_to_fix_and_keeps_it_under_labels(
    workspace: RunStore, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _open(workspace, monkeypatch, "Ann")
    before = _listed(app)
    assert before == [
        "4 Unfaithful",
        "3 Unfaithful",
        "5 Unfaithful",
        "2 Off the question",
        "1 Not measured",
        "0 Good",
    ]
    assert headline(app) == "V1: 4 of 6 cases are bad, 3 unfaithful"
    app.button(key="label_Pass").click().run()
    assert app.session_state["selection"].case == "q3~0", "the next case opens"
    assert [row.split()[0] for row in _listed(app)] == [row.split()[0] for row in before]
    assert _listed(app)[0] == "4 Good", "a label overrules the scores"


def test_a_label_without_a_name_asks_for_it(
    workspace: RunStore, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _open(workspace, monkeypatch)
    app.button(key="label_Pass").click().run()
    assert "enter your name first" in app.toast[0].value
    assert not workspace.ledger.labels(run.run_id)


def test_the_order_as_imported_can_be_had(
    workspace: RunStore, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _open(workspace, monkeypatch, sort="imported")
    assert [row.split()[0] for row in _listed(app)] == ["0", "1", "2", "3", "4", "5"]


def test_the_order_has_every_case_once(workspace: RunStore, run: Run) -> None:
    diagnosis = diagnose(workspace.scored(run), DiagnosisSettings())
    assert sorted(fix_first_order(diagnosis).tolist()) == list(range(6))


def test_chips_count_what_the_other_filters_keep(
    workspace: RunStore, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _open(workspace, monkeypatch)
    (chips,) = app.get("button_group")
    assert [option.content for option in chips.proto.options] == [
        "Bad 4",
        "Unfaithful 3",
        "Off the question 1",
        "Good 1",
    ]
    app = _open(workspace, monkeypatch, text="river 3", stage="unfaithful")
    (chips,) = app.get("button_group")
    assert [option.content for option in chips.proto.options] == ["Bad 1", "Unfaithful 1"]
    assert headline(app) == "V1: 1 of 6 cases shown, all bad"


def test_no_filtered_list_says_that_none_is_bad(
    workspace: RunStore, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _open(workspace, monkeypatch, cohort="answer:contradicted")
    offered = [option.content for chips in app.get("button_group") for option in chips.proto.options]
    assert not [text for text in offered if text.startswith("Bad")], "the run has four bad cases"


def test_kinds_of_answers_are_offered_with_their_number_and_none_contradicted_where_claims_were_checked(
    demo: RunStore,
) -> None:
    strict = next(run for run in demo.runs("handbook") if run.name == "V3 strict prompt")
    assert kind_counts(demo.scored(strict), checked=21) == {CONTRADICTED: 0, "refusal:over_refusal": 10}
    assert kind_counts(demo.scored(strict), checked=0) == {"refusal:over_refusal": 10}


def test_the_name_is_asked_once_and_a_note_opens_its_box(
    workspace: RunStore, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _open(workspace, monkeypatch)
    app.button(key="label_Fail").click().run()
    assert "enter your name first" in app.toast[0].value
    assert not workspace.ledger.labels(run.run_id)
    app.text_input(key="annotator_name").set_value("Ann").run()
    app.button(key="label_Note only").click().run()
    assert app.session_state["label_more"] is True
    assert not workspace.ledger.labels(run.run_id)
    app.text_input(key="label_note").set_value("reads oddly").run()
    app.button(key="label_Note only").click().run()
    (label,) = workspace.ledger.labels(run.run_id)
    assert (label.verdict, label.note) == (None, "reads oddly")
    assert app.session_state["label_more"] is False


def test_the_page_shows_scores_with_their_source_and_what_is_not_measured(
    workspace: RunStore, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = html_text(_open(workspace, monkeypatch, case="q4~0"))
    assert re.search(r"Faithfulness\s+imported\s+0\.00", text)
    assert "Context: 1 of 2 used, no gold recorded" in text
    unmeasured = html_text(_open(workspace, monkeypatch, case="q1~0"))
    assert re.search(r"Faithfulness\s+–", unmeasured)
    assert "– Not measured" in unmeasured


def test_documents_are_a_line_each_and_open_where_they_are_used_or_gold(workspace: RunStore) -> None:
    record = {**_record(0, GOOD), "relevant": ["nile", "delta"]}
    other = add_run([record], "V2", "p", str(workspace.workspace.root))
    sample = read_case(workspace.scored(other), 0)
    page = context_cards_html(sample, highlights_of(sample), doubt="<i>one list</i>")
    first, second = page.split("<details class=")[1], page.split('id="document-1"')[1]
    assert re.search(r"<details class=\"rt-card[^>]* open>", page)
    assert "gold" in first
    assert "Context: 1 of 2 used, 1 gold of 2" in page
    assert "<mark>" in page
    assert "&lt;b&gt;It is long.&lt;/b&gt;" in page
    assert "<b>It is long" not in page
    assert "&lt;i&gt;one list" in page
    assert f"all {len(LONG):,} characters" in page
    assert re.search(r"<details class=\"rt-card[^>]*ignored[^>]*\">\s*<summary><b>2</b>", second)


def test_bars_show_the_threshold_and_what_was_not_measured() -> None:
    address = score_bars([ScoreBar(0.25, 0.5), ScoreBar(0.9, 0.8), ScoreBar(float("nan"), 0.5)], LIGHT)
    image = base64.b64decode(address.removeprefix("data:image/svg+xml;base64,"))
    boxes = ElementTree.fromstring(image)
    fills = [box.get("fill") for box in boxes]
    assert fills == [
        LIGHT.track, LIGHT.bad.text, LIGHT.text, LIGHT.track, LIGHT.good_mark, LIGHT.text, "none",
    ]  # fmt: skip
    assert float(boxes[1].get("height") or 0) == 6.5
    assert boxes[-1].get("stroke-dasharray")


def test_a_colour_is_mixed_into_its_surface() -> None:
    assert mixed("#FF0000", "#FFFFFF", 0.2) == "#FFCCCC"
