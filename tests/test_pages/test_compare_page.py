"""The Compare page: headline, forest plot, bars of questions, matrix with both answers, tabs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup
from page_text import headline, page_text
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.charts.comparison import QuestionCounts, cell_colours, forest, question_bars
from ragtriage.dashboard.charts.tokens import DARK, LIGHT, Tokens, contrast
from ragtriage.dashboard.present.case_html.compared_case import (
    ComparedSide,
    compared_cases_html,
    diff_html,
    shared_words,
)
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.dashboard.tables.comparison import version_table
from ragtriage.data.api import add_run
from ragtriage.data.comparison.compare import Comparison, MetricDifference, compare
from ragtriage.data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings, diagnose
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.metrics.result_table import text_rows
from ragtriage.metrics.statistics.max_t import MarginTest, Outcome
from ragtriage.metrics.statistics.paired import PairedDifference

LOW, HIGH = 0.3, 0.9


def _open(root: Path, monkeypatch: pytest.MonkeyPatch, **chosen: Any) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(**chosen)
    return app.switch_page("compare/compare.py").run()


def _iris(demo: RunStore, monkeypatch: pytest.MonkeyPatch, name: str, **chosen: Any) -> AppTest:
    """Open the page on a run of the second batch of the iris project against its baseline."""
    runs = [run for run in demo.runs("iris") if run.n == 30]
    by_name = {run.name: run.run_id for run in runs}
    return _open(
        demo.workspace.root,
        monkeypatch,
        project="iris",
        run=by_name[name],
        baseline=by_name["basic"],
        **chosen,
    )


def _spec(app: AppTest, place: int) -> Any:
    return json.loads(app.get("plotly_chart")[place].proto.spec)


def test_six_versions_are_drawn_and_the_headline_names_what_is_drawn(
    demo: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _iris(demo, monkeypatch, "colbert")
    assert not app.exception
    assert headline(app).startswith("colbert is worse than basic in 2 of 6 metrics: ")
    assert "graphrag" in page_text(app)
    axis = _spec(app, 0)["layout"]["yaxis"]["ticktext"]
    assert "Context precision" in [label.strip() for label in axis]
    assert len(axis) <= 7
    assert len({trace["name"] for trace in _spec(app, 0)["data"]}) == 6


def test_bars_and_matrix_follow_the_metric(demo: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    app = _iris(demo, monkeypatch, "colbert", metric="faithfulness")
    assert "Faithfulness per question against basic" in [one.value for one in app.subheader]
    worse, same, better = _spec(app, 1)["data"]
    assert (worse["name"], same["name"], better["name"]) == ("worse", "same", "better")
    matrix = next(one.value for one in app.dataframe if "Question" in one.value)
    assert list(matrix.columns)[:3] == ["Question", "basic", "colbert"]
    assert len(matrix) == 10


def test_a_cell_opens_both_answers(demo: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    question = demo.scored(next(run for run in demo.runs("iris") if run.n == 30)).question_ids[3]
    hyde = next(run.run_id for run in demo.runs("iris") if run.n == 30 and run.name == "hyde")
    app = _iris(demo, monkeypatch, "colbert", case=str(question), other=hyde)
    pair = next(str(one.proto.body) for one in app.get("html") if "rt-pair" in str(one.proto.body))
    assert "<b>basic</b>" in pair
    assert "<b>hyde</b>" in pair
    assert "of the words are shared" in pair


@pytest.mark.parametrize(
    ("tab", "words"),
    [
        ("Numbers", "primary: pass rate"),
        ("Leaderboard", "has the best"),
        ("Flow of failure stages", "off the diagonal"),
        ("Factors", "differ in any recorded setting"),
        ("Quality and cost", "records latency, tokens or cost"),
        ("Configurations", "Setting"),
    ],
)
def test_a_tab_runs_only_when_it_is_open(
    demo: RunStore, monkeypatch: pytest.MonkeyPatch, tab: str, words: str
) -> None:
    app = _iris(demo, monkeypatch, "colbert")
    assert words not in page_text(app)
    app.session_state["compare_tab"] = tab
    app.run()
    assert not app.exception
    text = page_text(app)
    assert words in text or "Pareto" in text or "Left out" in text


def test_more_versions_than_are_drawn_open_the_leaderboard(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in range(30):
        records = [
            {
                "question_id": f"q{at}",
                "question": "?",
                "answer": "a",
                "scores": {"faithfulness": (at % 7) / 10 + version / 100},
            }
            for at in range(12)
        ]
        add_run(records, f"v{version:02}", "p", str(workspace.workspace.root))
    base, *others = workspace.runs("p")
    chosen = tuple(run.run_id for run in others[:20])
    root, shown = workspace.workspace.root, {"run": chosen[0], "metric": "faithfulness"}
    app = _open(root, monkeypatch, project="p", baseline=base.run_id, versions=chosen, **shown)
    assert not app.exception
    text = page_text(app)
    assert "v29 has the best faithfulness" in text
    assert "6 of 20 versions, all in Leaderboard" in text
    assert len(_spec(app, 2)["layout"]["yaxis"]["ticktext"]) == 25, "a page of the 30 versions"


def test_runs_of_other_questions_are_not_compared(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        records = [
            {"question_id": f"{name}{at}", "question": "?", "answer": "x", "scores": {"faithfulness": 0.5}}
            for at in range(4)
        ]
        add_run(records, name, "p", str(workspace.workspace.root))
    first, second = workspace.runs("p")
    app = _open(workspace.workspace.root, monkeypatch, project="p", baseline=first.run_id, run=second.run_id)
    assert not app.exception
    assert headline(app) == "b and a share no question"
    assert any("The questions differ (4 in" in one.value.replace("\\", "") for one in app.warning)


def test_one_run_says_what_to_load(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    add_run([{"question": "q", "scores": {"faithfulness": 1.0}}], "a", "p", str(workspace.workspace.root))
    app = _open(workspace.workspace.root, monkeypatch, project="p")
    assert headline(app) == "Load a second run to compare"


def _difference(metric: str, change: float, verdict: Outcome) -> MetricDifference:
    low, high = change - 0.1, change + 0.1
    paired = PairedDifference(change, low, high, 0.01, 10, 10, "t", 5, 5, 0, False)
    return MetricDifference(
        metric, 0.5, 0.5 + change, paired, 0.01, MarginTest(verdict, -change, -low, None), low, high
    )


def test_the_forest_plot_turns_what_is_better_lower_and_fills_what_is_beyond_chance() -> None:
    rows = {
        "hallucination": _difference("hallucination", 0.2, "worse"),
        "faithfulness": _difference("faithfulness", 0.15, "cannot tell"),
    }
    figure = forest([("v", "<b>V2</b>", rows)], ["hallucination", "faithfulness"], LIGHT)
    hollow, filled = figure.data
    assert (list(filled.x), list(hollow.x)) == ([-0.2], [0.15])
    assert filled.error_x.array[0] == pytest.approx(0.1)
    assert (filled.marker.symbol, hollow.marker.symbol) == ("circle", "circle-open")
    assert filled.error_x.thickness > hollow.error_x.thickness
    assert [label.strip() for label in figure.layout.yaxis.ticktext] == [
        "Hallucination ↓",
        "Faithfulness",
    ]
    assert "&lt;b&gt;V2" in filled.hovertext[0]


@pytest.mark.parametrize("tokens", [LIGHT, DARK])
def test_numbers_on_colours_can_be_read(tokens: Tokens) -> None:
    for scale in (tokens.diverging, tokens.sequential):
        for share in (0.0, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 1.0):
            colour, text = cell_colours(share, scale, tokens)
            assert contrast(colour, text) >= 4.5
    for directed in (True, False):
        figure = question_bars([QuestionCounts("v", "V2", 4, 4, 4)], tokens, 200, directed)
        for bar in figure.data:
            assert contrast(bar.insidetextfont.color, bar.marker.color) >= 4.5


def test_a_bar_without_direction_rises_and_falls() -> None:
    figure = question_bars([QuestionCounts("v", "V2", 1, 2, 3)], LIGHT, 200, directed=False)
    assert [bar.name for bar in figure.data] == ["fell", "same", "rose"]
    assert [bar.customdata[0][1] for bar in figure.data] == ["worse", "same", "better"]


WORDS = st.lists(st.sampled_from(["gold", "text", "rank", "<b>"]), max_size=8).map(" ".join)


@given(WORDS, WORDS)
def test_the_share_of_words_is_symmetric_and_full_for_equal_texts(left: str, right: str) -> None:
    assert shared_words(left, right) == shared_words(right, left)
    assert 0.0 <= shared_words(left, right) <= 1.0
    assert shared_words(left, left) == 1.0


def _pair(left: str | None, right: str | None) -> Markup:
    sides = [
        ComparedSide(name, "0.50", {"answer": answer, "retrieved": [], "repeat": 0})
        for name, answer in (("V1", left), ("V2", right))
    ]
    return compared_cases_html("<i>Why?</i>", *sides)


def test_answers_are_marked_only_where_they_share_a_quarter_of_their_words() -> None:
    near = _pair("the sky is blue today", "the sky is grey today")
    assert "<del>blue</del>" in near
    assert "<ins>grey</ins>" in near
    far = _pair("one two three four five", "six seven eight nine one")
    assert "<del>" not in far
    assert "too different to mark word by word: 11 % of the words are shared" in far
    assert "the answers are the same" in _pair("same", "same")
    assert "one answer is missing" in _pair("an answer", None)
    assert "&lt;i&gt;Why?" in near


def test_documents_are_the_same_by_id_or_by_text() -> None:
    left = [{"id": "a1", "text": "one"}, {"id": "a2", "text": "two"}, {"id": "a3", "text": "three"}]
    right = [{"id": "b2", "text": "two"}, {"id": "a1", "text": "one, cut anew"}]
    sides = [
        ComparedSide(name, "–", {"answer": "x", "retrieved": documents, "repeat": 0})
        for name, documents in (("V1", left), ("V2", right))
    ]
    found = compared_cases_html("Why?", *sides)
    assert found.count("rank 2 on the other side") == 2
    assert found.count("rank 1 on the other side") == 2
    assert found.count("dropped") == 1
    assert "new</span>" not in found


def test_a_run_without_the_question_says_so() -> None:
    here = ComparedSide("V1", "0.50", {"answer": "<b>", "retrieved": None, "repeat": 0})
    found = compared_cases_html("Why?", here, ComparedSide("V2", "–", None))
    assert "this run does not have the question" in found
    assert "&lt;b&gt;" in found
    assert diff_html("a", "a") == (Markup("a"), Markup("a"))


def test_each_version_stands_beside_the_baseline_over_its_own_pairs(workspace: RunStore) -> None:
    def scored(name: str, values: Sequence[float | None]) -> Diagnosis:
        records = [
            {"question_id": f"q{at}", "question": "?", "answer": "a", "scores": {"faithfulness": value}}
            for at, value in enumerate(values)
        ]
        run = add_run(records, name, "p", str(workspace.workspace.root))
        return diagnose(workspace.scored(run), DiagnosisSettings())

    base = scored("base", [1.0, 0.5, 0.0])
    versions = {"v": scored("v", [1.0, 1.0, None]), "w": scored("w", [None, 1.0, 1.0])}
    names = {"v": "V", "w": "W"}
    found = {key: compare(base, each, ["faithfulness"]) for key, each in versions.items()}

    def faithfulness(comparisons: Mapping[str, Comparison]) -> dict[str, str]:
        rows = text_rows(version_table(comparisons, names, "base"))
        (row,) = [row for row in rows if row["Metric"] == "Faithfulness"]
        return {column: str(cell) for column, cell in row.items()}

    row = faithfulness(found)
    assert "base (baseline)" not in row
    assert row["V"].startswith("0.75 → 1.00  (+0.25")
    assert row["W"].startswith("0.25 → 1.00  (+0.75")
    alone = faithfulness({"v": found["v"]})
    assert (alone["base (baseline)"], alone["V"][:13]) == ("0.75", "1.00  (+0.25 ")
