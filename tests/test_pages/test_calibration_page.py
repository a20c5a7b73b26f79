"""The calibration by people and the random labelling queue on screen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from page_text import headline, html_text
from places import REPOSITORY
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.charts.agreement import INK, Mean, confusion_matrix, mean_rows, ranking_dots
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.api import add_run
from ragtriage.data.labels.agreement import EvaluatedMetric
from ragtriage.data.labels.ratings import (
    RATING_DIMENSIONS,
    queue_of,
    queue_state,
    rate,
    ratings_of,
    start_queue,
)
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.schema.scores import Source
from ragtriage.metrics.statistics.agreement import Agreement, Confusion

CASES = REPOSITORY / "dashboard" / "pages" / "cases"
SCRIPT = """
import streamlit as st
from ragtriage.dashboard.pages.judge.calibration import calibration_section
from ragtriage.dashboard.shell.session import View, current_selection, open_store
from ragtriage.dashboard.shell.session import restore_selection, save_selection

def judge():
    calibration_section(st.session_state["view"])

pages = [
    st.Page(judge, title="Judge", url_path="judge", default=True),
    st.Page("cases/cases.py"),
]
page = st.navigation(pages)
restore_selection(page.url_path)
st.session_state["view"] = View.of(open_store(), current_selection())
save_selection()
page.run()
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """An app of two pages: the section alone, and the cases it leads to."""
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "cases").symlink_to(CASES)
    (folder / "main.py").write_text(SCRIPT, encoding="utf-8")
    return folder / "main.py"


def _open(script: Path, store: RunStore, monkeypatch: pytest.MonkeyPatch, **chosen: Any) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(store.workspace.root))
    app = AppTest.from_file(str(script), default_timeout=60)
    app.session_state["selection"] = Selection(**chosen)
    app.run()
    assert not app.exception
    return app


def _words(app: AppTest) -> str:
    parts = [*app.title, *app.subheader, *app.markdown, *app.caption, *app.info, *app.warning]
    return "\n".join(str(one.value) for one in parts)


def _figures(app: AppTest) -> list[dict[str, Any]]:
    return [json.loads(one.proto.spec) for one in app.get("plotly_chart")]


def _loaded(store: RunStore, n: int, name: str = "run") -> ScoredRun:
    records: list[dict[str, Any]] = [
        {
            "question_id": f"q{at:03}",
            "question": f"{name} {at}?",
            "answer": "An answer.",
            "scores": {"faithfulness": (at % 5) / 4},
        }
        for at in range(n)
    ]
    return store.scored(add_run(records, name, "p", str(store.workspace.root)))


def _case(scored: ScoredRun, row: int) -> tuple[str, str, int]:
    return scored.run.run_id, str(scored.question_ids[scored.question[row]]), int(scored.repeats[row])


def _draw(store: RunStore, scored: ScoredRun, n: int, quantity: str = "faithfulness") -> int:
    queue = start_queue(store.ledger, scored.run.run_id, quantity, "Ann")
    for row in queue_state(store.ledger, scored, queue).remaining[:n]:
        value = float(scored.values("faithfulness")[row])
        rate(store.ledger, _case(scored, row), "Ann", quantity, max(0.0, value - 0.25), queue.queue_id)
    return queue.queue_id


def test_without_people_it_says_what_to_do(
    script: Path, workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _loaded(workspace, 3)
    app = _open(script, workspace, monkeypatch)
    assert "No case of this run has a human label" in _words(app)
    assert "Label all 3 cases" in _words(app)
    app.button(key="calibration_label").click().run()
    assert app.session_state["selection"].queue == 0
    assert "of 3" in _words(app), "the cases are listed"


def test_mtrag_shows_agreement_of_every_metric(
    script: Path, demo: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = next(one for one in demo.runs("mtrag") if one.name.startswith("GPT-4"))
    unfolded = ("judge_ranking",)
    app = _open(script, demo, monkeypatch, project="mtrag", run=run.run_id, unfolded=unfolded)
    words = _words(app)
    for told in (
        "n = 159 of 159 labelled cases",
        "alpha **0.49** [0.34, 0.62]",
        "7 annotators",
        "Not measured",
        "Label 150 to 300 cases drawn at random",
    ):
        assert told in words
    matrix, dots = _figures(app)
    assert [text.split("<br>")[0] for text in matrix["data"][0]["text"]] == [
        "<b>120</b>",
        "<b>6</b>",
        "<b>12</b>",
        "<b>21</b>",
    ]
    assert "Lexical support share (estimated)" in dots["layout"]["yaxis"]["categoryarray"]
    rows = app.dataframe[0].value
    assert rows["Value"].tolist() == ["0.63", "0.95", "0.64", "0.63", "0.89"]
    assert rows["n"].tolist() == ["159", "126", "33", "159", "159"]
    app.button(key="calibration_disagree").click().run()
    assert not app.exception
    assert "**18 cases** of 159" in _words(app)
    assert app.session_state["selection"].cohort == "disagree:imported%3Afaithfulness:rl_f:imported"


def test_pickers_and_cut_offs_live_in_the_selection(
    script: Path, demo: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _open(script, demo, monkeypatch, project="clapnq", dimension="imported:faithfulness")
    app.selectbox(key="pick_evaluated").select("rouge_l:imported").run()
    app.slider(key="pick_human_threshold").set_value(0.75).run()
    chosen = app.session_state["selection"]
    assert (chosen.evaluated, chosen.human_threshold) == ("rouge_l:imported", 0.75)
    assert "human good from 0.75" in _words(app)
    app.selectbox(key="pick_dimension").select("imported:unanswerable").run()
    assert app.session_state["selection"].evaluated == ""
    assert "Refused (estimated)" in _figures(app)[0]["layout"]["xaxis"]["title"]["text"]
    assert "no case was labelled by two annotators" in _words(app)


@pytest.mark.parametrize(("labels", "few"), [(12, True), (60, False)])
def test_labels_drawn_at_random_correct_the_mean(
    script: Path, workspace: RunStore, monkeypatch: pytest.MonkeyPatch, labels: int, few: bool
) -> None:
    scored = _loaded(workspace, 80)
    _draw(workspace, scored, labels)
    others = [row for row in range(80) if not ratings_of_row(workspace, scored, row)][:3]
    for row in others:
        rate(workspace.ledger, _case(scored, row), "Bo", "faithfulness", 0.0)
    app = _open(script, workspace, monkeypatch, dimension="faithfulness", evaluated="faithfulness:imported")
    means = _figures(app)[-1]
    grey, main = means["data"]
    assert grey["y"] == ["the metric alone", "labels alone"]
    assert main["y"] == ["corrected"]
    assert main["x"][0] < grey["x"][0]
    words = _words(app)
    assert f"{labels} questions labelled at random" in words
    assert "3 cases labelled while browsing left out" in words
    assert ("fewer than 50" in "".join(str(one.value) for one in app.warning)) == few
    assert "abel all 80 cases" in words


def test_what_could_not_be_rated_is_said_and_titles_stay_text(
    script: Path, workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = "see [here](http://evil.example) ![x](http://e/x.png)"
    records: list[dict[str, Any]] = [
        {"question_id": f"q{at:03}", "question": f"{at}?", "answer": "A.", "scores": {hostile: (at % 5) / 4}}
        for at in range(80)
    ]
    scored = workspace.scored(add_run(records, "run", "p", str(workspace.workspace.root)))
    (metric,) = [name for name in scored.metrics if "evil" in name]
    _draw(workspace, scored, 30)
    queue = start_queue(workspace.ledger, scored.run.run_id, "faithfulness", "Ann")
    state = queue_state(workspace.ledger, scored, queue)
    for row in state.remaining[:5]:
        rate(workspace.ledger, _case(scored, row), "Ann", "faithfulness", None, queue.queue_id)
    app = _open(script, workspace, monkeypatch, dimension="faithfulness", evaluated=f"{metric}:imported")
    words = _words(app)
    assert "5 drawn cases could not be rated, left out" in words
    caption = next(str(one.value) for one in app.caption if "another dimension" in str(one.value))
    assert "The mean is over what annotators can rate" in caption
    assert "](http" not in caption.replace("\\", "\0")


def ratings_of_row(store: RunStore, scored: ScoredRun, row: int) -> bool:
    found = ratings_of(store.ledger, scored.run.run_id, "faithfulness")
    return any(one.question_id == _case(scored, row)[1] for one in found)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_one_run_two_and_many(
    script: Path, workspace: RunStore, monkeypatch: pytest.MonkeyPatch, n: int
) -> None:
    scored_runs = [_loaded(workspace, 6, f"v{at}") for at in range(n)]
    workspace.ledger.add_label(_case(scored_runs[-1], 0), "Ann", "pass")
    app = _open(script, workspace, monkeypatch, run=scored_runs[-1].run.run_id)
    assert "n = 1 of 1 labelled case" in _words(app)
    assert "Left out: 1 labelled case found by browsing." in _words(app)


def test_the_queue_starts_shows_a_blind_case_and_marks_what_is_labelled(
    script: Path, workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored = _loaded(workspace, 9)
    app = _open(script, workspace, monkeypatch).switch_page("cases/cases.py").run()
    app.text_input(key="queue_name").set_value("Ann")
    app.button(key="queue_start").click().run()
    assert not app.exception
    queue = queue_of(workspace.ledger, app.session_state["selection"].queue)
    assert queue is not None
    order = queue.order(9).tolist()
    words = _words(app)
    assert "**0 of 9** labelled at random for **Pass or fail** by Ann" in words
    assert headline(app) == "Labelling blind: Pass or fail"
    assert not app.expander, "no scores"
    assert not app.dataframe, "no list with states"
    shown = html_text(app)
    assert "Scores are hidden" in shown
    assert not [word for word in ("Unfaithful", "Good", "Evidence", "faithfulness", "0.") if word in shown]
    assert f"question id {_case(scored, order[0])[1]}" in words
    app.button(key="label_Fail").click().run()
    assert "**1 of 9**" in _words(app)
    (label,) = workspace.ledger.labels(scored.run.run_id)
    assert (label.question_id, label.verdict, label.queue_id) == (
        _case(scored, order[0])[1],
        "fail",
        queue.queue_id,
    )
    assert app.session_state["selection"].case == f"{_case(scored, order[1])[1]}~0"
    app.button(key="label_undo").click().run()
    assert "**0 of 9**" in _words(app)
    assert workspace.ledger.labels(scored.run.run_id) == []


def test_a_case_that_was_not_drawn_is_labelled_unmarked(
    script: Path, workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored = _loaded(workspace, 9)
    monkeypatch.setattr(
        "ragtriage.data.labels.ratings.secrets.randbelow", lambda _: 3
    )  # draws the last row last
    queue = start_queue(workspace.ledger, scored.run.run_id, "pass", "Ann")
    last = _case(scored, queue.order(9).tolist()[-1])
    app = _open(script, workspace, monkeypatch, queue=queue.queue_id, case=f"{last[1]}~0")
    app.session_state["annotator_name"] = "Ann"
    app.switch_page("cases/cases.py").run()
    assert "was not drawn by the queue" in _words(app)
    app.button(key="label_Pass").click().run()
    (label,) = workspace.ledger.labels(scored.run.run_id)
    assert (label.question_id, label.queue_id) == (last[1], None)
    app.button(key="queue_back").click().run()
    assert headline(app).startswith("Labelling blind: ")


def test_a_queue_of_somebody_else_marks_nothing_until_one_goes_on_as_them(
    script: Path, workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored = _loaded(workspace, 4)
    queue = start_queue(workspace.ledger, scored.run.run_id, "pass", "Ann")
    app = _open(script, workspace, monkeypatch, queue=queue.queue_id).switch_page("cases/cases.py").run()
    assert "another name" in _words(app)
    app.button(key="queue_own").click().run()
    assert headline(app).startswith("Labelling blind: ")
    app.button(key="queue_leave").click().run()
    assert app.session_state["selection"].queue == 0
    assert "labelled at random for" not in _words(app)


@pytest.mark.parametrize(
    ("quantity", "button", "value"),
    [
        ("correctness", "rate_partly", 0.5),
        ("completeness", "rate_mostly", 2 / 3),
        ("correctness", "rate_none", None),
    ],
)
def test_levels_are_rated_by_buttons(
    script: Path,
    workspace: RunStore,
    monkeypatch: pytest.MonkeyPatch,
    quantity: str,
    button: str,
    value: float,
) -> None:
    scored = _loaded(workspace, 4)
    queue = start_queue(workspace.ledger, scored.run.run_id, quantity, "Ann")
    app = _open(script, workspace, monkeypatch, queue=queue.queue_id)
    app.session_state["annotator_name"] = "Ann"
    app.switch_page("cases/cases.py").run()
    question, mark, meaning = RATING_DIMENSIONS[quantity].question.partition("?")
    shown = _words(app).replace("\\", "")
    assert f"**{question}{mark}**" in shown
    assert meaning.strip() in shown
    app.button(key=button).click().run()
    assert not app.exception
    (rating,) = ratings_of(workspace.ledger, scored.run.run_id, quantity, drawn=True)
    assert (rating.value, rating.queue_id) == (value, queue.queue_id)
    assert "**1 of 4**" in _words(app)
    app.button(key="rate_undo").click().run()
    assert "**0 of 4**" in _words(app)


def test_faithfulness_is_counted_and_the_end_of_the_queue_is_said(
    script: Path, workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored = _loaded(workspace, 1)
    queue = start_queue(workspace.ledger, scored.run.run_id, "faithfulness", "Ann")
    app = _open(script, workspace, monkeypatch, queue=queue.queue_id)
    app.session_state["annotator_name"] = "Ann"
    app.switch_page("cases/cases.py").run()
    assert app.button(key="rate_share").disabled
    app.number_input(key="claims_q000~0").set_value(4)
    app.number_input(key="held_q000~0").set_value(3).run()
    app.button(key="rate_share").click().run()
    assert [one.value for one in ratings_of(workspace.ledger, scored.run.run_id, "faithfulness")] == [0.75]
    assert "Every case is labelled" in _words(app)


def test_the_matrix_is_a_chart_whose_cells_carry_their_marks() -> None:
    words = (("pass", "fail"), ("high", "low"))
    figure = confusion_matrix(Confusion(3, 1, 2, 0), words, ("people: <b>", "judge"), ["a", "b", "c", "d"])
    cells = figure.data[0]
    assert [(x, y, one[0]) for x, y, one in zip(cells.x, cells.y, cells.customdata, strict=True)] == [
        (0, 1, "a"),
        (1, 1, "b"),
        (0, 0, "c"),
        (1, 0, "d"),
    ]
    assert [text.split("<br>")[0] for text in cells.text] == ["<b>3</b>", "<b>2</b>", "<b>1</b>", "<b>0</b>"]
    assert figure.layout.yaxis.title.text == "people: &lt;b&gt;"
    assert cells.textfont.color == INK[False]
    empty = confusion_matrix(
        Confusion(0, 0, 0, 0), words, ("people", "judge"), ["a", "b", "c", "d"], dark=True
    )
    assert all("none of 0" in text for text in empty.data[0].text)


def test_undefined_correlations_are_not_drawn_and_missing_ends_have_no_arms() -> None:
    held = [EvaluatedMetric(name, Source.JUDGED) for name in ("a", "b", "c")]
    values = [(0.5, 0.2, 0.7), (float("nan"),) * 3, (0.1, float("nan"), float("nan"))]
    found = [
        (one, Agreement("spearman", *three, 20, "bootstrap")) for one, three in zip(held, values, strict=True)
    ]
    rest, chosen = ranking_dots(found, held[2]).data
    assert (list(rest.x), list(chosen.x)) == ([0.5], [0.1])
    assert (list(rest.error_x.array), list(chosen.error_x.array)) == ([pytest.approx(0.2)], [0.0])
    rows = mean_rows(
        [Mean("raw", 0.6, float("nan"), float("nan"), "n = 9"), Mean("own", 0.5, 0.4, 0.6, "n", True)]
    )
    assert [list(one.text) for one in rows.data] == [["0.60 –"], ["0.50 [0.40, 0.60]"]]
    beyond = mean_rows([Mean("own", 0.9, 0.7, 1.1, "n = 9", True)])
    assert list(beyond.layout.xaxis.range) == pytest.approx([-0.05, 1.15])
