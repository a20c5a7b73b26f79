"""Alignment where one run has several origins, and what every bar, point and button leads to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from page_text import page_text
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.charts.context_use import VersionRate, k_lines, place_points, version_rates
from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.analysis.alignment import (
    Group,
    Rate,
    by_k,
    gap_of,
    gold_position,
    outcome_by_gold_position,
)
from ragtriage.data.api import add_run
from ragtriage.data.cases.cohorts import cohort_rows, cohort_title
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.context_use import RunContextUse, context_use_of
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.schema.scores import FloatArray, IntArray
from ragtriage.metrics.statistics.intervals import Interval

SPLITS, OVER_K, BY_RANK, PLACES = "By document and type", "Over k", "By rank", "Gold in the middle"
ORDER = "Order of use"
Used = list[tuple[int, float | None]]


def _record(name: str, used: Used, origin: str, **more: Any) -> dict[str, Any]:
    retrieved = [{"id": one, "text": f"text {one}"} for one in "abcd"]
    record = {"question_id": name, "question": f"{name}?", "answer": "An answer.", "retrieved": retrieved}
    stated = [{"rank": rank, **({} if share is None else {"share": share})} for rank, share in used]
    return {**record, "used": stated, "used_source": origin, **more}


RECORDS = [
    _record("q0", [(1, 0.9), (2, 0.1)], "judge", relevant=["a"], scores={"correctness": 1.0}),
    _record("q1", [(2, 1.0)], "judge", relevant=["a"], scores={"correctness": 0.5}),
    _record("q2", [], "judge", relevant=["d"], scores={"correctness": 0.0}),
    _record("q3", [(3, None)], "imported", relevant=["z"], scores={"correctness": 0.5}, query_type="fact"),
    _record("q4", [(1, None)], "imported", relevant=["b"], query_type="list"),
    _record("q5", [(4, None)], "citation", relevant=["b"], refused=True),
]


def _loaded(store: RunStore) -> tuple[ScoredRun, RunContextUse]:
    scored = store.scored(add_run(RECORDS, "run", "p", str(store.workspace.root), {"top_k": 2}))
    found = context_use_of(scored)
    assert found is not None
    return scored, found


@pytest.mark.parametrize(
    ("mark", "rows"),
    [
        ("ignored_top", [1, 2, 3]),
        ("ignored_top:judge", [1, 2]),
        ("ignored_top:imported", [3]),
        ("ignored_top:lexical", []),
        ("used_nothing:judge", [2]),
        ("used_rank:2", [0, 1]),
        ("used_rank:1:imported", [4]),
        ("unused_rank:1:judge", [1, 2]),
        ("known_use:imported", [3, 4]),
        ("ignored_relevant:relevant:judge", [1]),
        ("ignored_relevant:not relevant:imported", [3]),
        ("ignored_length:under 300:imported", [3]),
        ("wasted:1", [1, 2, 3]),
        ("wasted:2:judge", [1, 2]),
        ("wasted:99:imported", [3, 4]),
        ("deep:1:judge", [0, 1]),
        ("deep:2", [3]),
        ("deep:99", []),
        ("gold_place:none", [3]),
    ],
)
def test_marks_keep_to_an_origin(workspace: RunStore, mark: str, rows: list[int]) -> None:
    scored, _ = _loaded(workspace)
    assert np.flatnonzero(cohort_rows(scored, mark)).tolist() == rows


@pytest.mark.parametrize("mark", ["ignored_top:gossip", "used_nothing:2", "wasted:0", "deep:x:judge"])
def test_a_mark_with_another_value_is_refused(workspace: RunStore, mark: str) -> None:
    scored, _ = _loaded(workspace)
    with pytest.raises(DataError, match="accepted"):
        cohort_rows(scored, mark)


def test_a_mark_names_its_origin() -> None:
    assert cohort_title("used_rank:3:citation") == "the answer uses rank 3 (cited)"
    assert cohort_title("ignored_top") == "the answer ignores the top-ranked document"


def test_the_gap_counts_answers_with_shares_of_one_origin(workspace: RunStore) -> None:
    """By hand: q0 uses ranks 1, 2 in this order, gap 0; q1 uses rank 2 alone, gap 1; q2 used nothing."""
    scored, found = _loaded(workspace)
    value = gap_of(scored, found, "judge")
    assert (value.mean, value.n_scored) == (0.5, 2)
    assert gap_of(scored, found, "imported").n_scored == 0  # no shares recorded


def _version(label: str, run_id: str, origin: str) -> VersionRate:
    value = Interval(0.4, 0.2, 0.6, 20, 20, 20, "wilson", too_few=False)
    return VersionRate(label, run_id, Rate(origin, value, 0), current=False)


def test_every_rate_has_a_row_of_its_own() -> None:
    long = "retrieval experiment with a reranker of kind "
    rates = [
        _version(f"{long}A", "r1", "judge"),
        _version(f"{long}B", "r2", "judge"),
        _version("1", "r3", "judge"),
        _version("1", "r3", "lexical"),
    ]
    figure = version_rates(rates)
    judged, estimated, published = figure.data
    rows = [*judged.y, *estimated.y, *published.y]
    assert len(set(rows)) == 5
    assert judged.y[0].endswith("A")
    assert judged.y[1].endswith("B")
    assert (judged.y[2], estimated.y[0]) == ("1 · judged", "1 · estimated from words")
    assert figure.layout.yaxis.type == "category"  # names of versions may be numbers
    assert judged.marker.symbol != estimated.marker.symbol
    assert judged.marker.color != estimated.marker.color
    assert [one[0] for one in judged.customdata] == ["r1", "r2", "r3"]
    assert [one[3] for one in estimated.customdata] == ["lexical"]


def test_the_published_range_and_the_alert_line_do_not_meet() -> None:
    figure = version_rates([_version("v", "r", "lexical")])
    order = list(figure.layout.yaxis.categoryarray)
    published = figure.data[-1]
    (line,) = figure.layout.shapes
    assert (line.x0, line.x1, line.line.dash) == (0.30, 0.30, "dash")
    assert order.index(published.y[0]) < order.index(line.y0) < order.index(figure.data[0].y[0])
    words = [one.text for one in figure.layout.annotations]
    assert "alert above 30 %" in words
    assert any("Shapley attribution on two datasets" in one and "not comparable" in one for one in words)
    assert not any("estimates from words" in one for one in words), "rates of other sources stand there too"


def test_points_of_the_cuts_carry_metric_and_k(workspace: RunStore) -> None:
    scored, found = _loaded(workspace)
    titles = {"wasted_context": "wasted", "deep_reliance": "deep"}
    wasted, deep = plotly_figure(k_lines(by_k(scored, found, "judge"), titles, 2)).data
    for line, metric, n in ((wasted, "wasted_context", 3), (deep, "deep_reliance", 2)):
        assert list(line.customdata) == [[metric, str(k)] for k in (1, 2, 3, 4)]
        assert all(details.endswith(f"n = {n}") for details in line.hovertext)


def _deep(store: RunStore, questions: int) -> tuple[ScoredRun, RunContextUse]:
    """Lists of 40 documents whose 25th alone is used."""
    retrieved = [{"id": f"d{at}", "text": f"text {at}"} for at in range(40)]
    records = [
        {
            "question_id": f"q{at}",
            "question": f"{at}?",
            "answer": "An answer.",
            "retrieved": retrieved,
            "used": [{"rank": 25}],
            "used_source": "judge",
        }
        for at in range(questions)
    ]
    scored = store.scored(add_run(records, "deep", "deep", str(store.workspace.root)))
    found = context_use_of(scored)
    assert found is not None
    return scored, found


def test_a_cut_deeper_than_what_is_drawn_has_its_own_value(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored, found = _deep(workspace, 12)
    assert len(by_k(scored, found, "judge")["deep_reliance"]) == 20
    lines = by_k(scored, found, "judge", 30)
    assert [len(groups) for groups in lines.values()] == [30, 30]
    at_30 = {name: groups[-1].value.mean for name, groups in lines.items()}
    assert at_30 == {"wasted_context": pytest.approx(29 / 30), "deep_reliance": 0.0}
    assert lines["deep_reliance"][23].value.mean == 1.0
    assert len(by_k(scored, found, "judge", 50)["deep_reliance"]) == 40, "no list is longer"
    words = page_text(_open(workspace, monkeypatch, OVER_K, project="deep", k=30))
    assert "wasted context@30: 97 %" in words
    assert "deep reliance@30: 0 %" in words


def test_the_places_of_gold_are_found_once(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    _loaded(workspace)
    asked: list[int] = []

    def counted(rank: FloatArray, documents: IntArray) -> IntArray:
        asked.append(len(rank))
        return gold_position(rank, documents)

    monkeypatch.setattr("ragtriage.data.analysis.alignment.gold_position", counted)
    app = _open(workspace, monkeypatch, PLACES, project="p")
    app.run()
    assert not app.exception
    assert len(asked) == 1


def test_no_gold_stands_apart_from_the_ranks(workspace: RunStore) -> None:
    scored, found = _loaded(workspace)
    groups: list[Group] = outcome_by_gold_position(scored, found, "correctness")
    ranked, without = place_points(groups, "Correctness").data
    assert (list(ranked.x), list(ranked.y)) == (["first", "last"], [0.75, 0.0])
    assert (list(without.x), list(without.y), without.mode) == (["none"], [0.5], "markers")
    assert without.customdata[0][:2] == ["gold_position:none", 1]


def _open(store: RunStore, monkeypatch: pytest.MonkeyPatch, tab: str = "", **chosen: Any) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(store.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(**chosen)
    if tab:
        app.session_state["alignment_tab"] = tab
    return app.switch_page("alignment/alignment.py").run()


@pytest.mark.parametrize(
    ("tab", "key", "mark", "cases"),
    [
        ("", "cases_ignored", "ignored_top:imported", 1),
        (BY_RANK, "by_rank_used_rank:3", "used_rank:3:imported", 1),
        (BY_RANK, "not_by_rank_unused_rank:3", "unused_rank:3:imported", 1),
        (OVER_K, "k_lines_wasted:2", "wasted:2:imported", 2),
        (OVER_K, "k_lines_deep:2", "deep:2:imported", 1),
        (PLACES, "places_gold_position:first", "gold_position:first", 2),
    ],
)
def test_buttons_open_the_cases_behind_the_numbers(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch, tab: str, key: str, mark: str, cases: int
) -> None:
    _loaded(workspace)
    app = _open(workspace, monkeypatch, tab, project="p", source="imported")
    assert not app.exception
    app.button(key=key).click().run()
    assert app.session_state["selection"].cohort == mark
    assert f"**{cases} case" in page_text(app)


def test_a_type_of_question_keeps_to_the_origin(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    _loaded(workspace)
    app = _open(workspace, monkeypatch, SPLITS, project="p", source="imported", split="query_type")
    app.button(key="split_query_type_ignored_top:fact").click().run()
    chosen = app.session_state["selection"]
    assert (chosen.cohort, chosen.slices) == ("ignored_top:imported", {"query_type": "fact"})
    assert "**1 case" in page_text(app)


def test_the_gap_follows_the_origin_and_sorts_its_cases(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _loaded(workspace)
    app = _open(workspace, monkeypatch, ORDER, project="p", source="imported")
    assert "Rank-use gap: not measured" in page_text(app)
    app = _open(workspace, monkeypatch, ORDER, project="p", source="judge")
    assert "Rank-use gap **0.50**" in page_text(app)
    app.button(key="cases_gap").click().run()
    chosen = app.session_state["selection"]
    assert (chosen.cohort, chosen.sort, chosen.descending) == ("known_use:judge", "rank_use_gap", True)


@pytest.mark.parametrize("origin", ["", "lexical", "nobody"])
def test_an_origin_the_run_has_not_gives_way_to_the_first(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch, origin: str
) -> None:
    _loaded(workspace)
    app = _open(workspace, monkeypatch, project="p", source=origin)
    assert not app.exception
    words = page_text(app)
    assert "67 % of the answers ignore the top-ranked document" in words
    assert "n = 3 questions, judged, exact interval; few questions" in words


def test_every_bundled_project_shows_rates_or_says_why_not(
    demo: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = {}
    for project in demo.projects():
        app = _open(demo, monkeypatch, project=project)
        assert not app.exception, project
        shown[project] = "of the answers ignore the top-ranked document" in page_text(app)
        without = ("no answers with context", "summary scores only", "are not recorded")
        assert shown[project] or any(reason in page_text(app) for reason in without), project
    assert {project for project, rates in shown.items() if rates} == {
        "handbook",
        "handbook live",
        "clapnq",
        "ragchecker",
        "mtrag",
        "mtrag, judged",
        "iris",
        "experiments",
        "attacks",
    }
