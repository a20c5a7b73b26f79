"""Alignment of retriever and generator: hand-worked tables, marks, charts and the page."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from page_text import page_text
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.charts.context_use import VersionRate, group_bars, k_lines, rank_bars, version_rates
from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.charts.tokens import DARK, LIGHT
from ragtriage.dashboard.charts.use_grid import use_columns, use_heat
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.analysis.alignment import (
    GOLD_GROUPS,
    GOLD_POSITIONS,
    GOLD_RANK_BANDS,
    LENGTHS,
    by_k,
    by_rank,
    gold_position,
    gold_rank_band,
    length_band,
    outcome_by_gold_position,
    rate_of,
    sources_of_use,
    split,
    use_grid,
)
from ragtriage.data.api import add_run
from ragtriage.data.cases.cohorts import cohort_rows
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.context_use import RunContextUse, context_use_of
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun

SPLITS = "By document and type"
LONG = "many words " * 100  # 1,100 characters


def _record(name: str, used: list[int] | None, gold: list[str], **more: Any) -> dict[str, Any]:
    retrieved = [{"id": "a", "text": "short"}, {"id": "b", "text": LONG}, {"id": "c", "text": LONG}]
    record: dict[str, Any] = {"question_id": name, "question": f"{name}?", "answer": "An answer."}
    record |= {"retrieved": retrieved, "relevant": gold, **more}
    return (
        record
        if used is None
        else {**record, "used": [{"rank": rank} for rank in used], "used_source": "judge"}
    )


RECORDS = [
    _record("q1", [1], ["a"], scores={"faithfulness": 1.0}, query_type="fact"),
    _record("q2", [2, 3], ["a"], scores={"faithfulness": 0.8}, query_type="fact"),
    _record("q3", [1, 2], ["b"], scores={"faithfulness": 0.4}, query_type="list"),
    _record("q4", [], ["z"], scores={"faithfulness": 0.0}, query_type="list"),
    _record("q5", [2], ["b"], refused=True, scores={"faithfulness": 0.6}, query_type="list"),
]


def _loaded(store: RunStore, records: list[dict[str, Any]]) -> tuple[ScoredRun, RunContextUse]:
    scored = store.scored(add_run(records, "run", "p", str(store.workspace.root)))
    found = context_use_of(scored)
    assert found is not None
    return scored, found


def test_the_rate_counts_answers_and_leaves_refusals_out(workspace: RunStore) -> None:
    scored, found = _loaded(workspace, RECORDS)
    assert sources_of_use(found) == ["judge"]
    rate = rate_of(scored, found, "judge")
    assert (rate.value.mean, rate.value.n_scored, rate.used_nothing) == (0.5, 4, 1)
    assert rate.value.method == "exact"  # fewer than ten questions
    assert rate_of(scored, found, "lexical").value.n_scored == 0


def test_ten_questions_get_wilsons_interval(workspace: RunStore) -> None:
    records = [_record(f"q{at}", [1] if at < 7 else [2], ["a"]) for at in range(10)]
    scored, found = _loaded(workspace, records)
    value = rate_of(scored, found, "judge").value
    assert (value.method, round(value.low, 3), round(value.high, 3)) == ("wilson", 0.108, 0.603)


def test_use_by_rank_divides_by_the_answers_that_had_a_document_there(workspace: RunStore) -> None:
    shorter = _record("q6", [1], ["a"])
    shorter["retrieved"] = shorter["retrieved"][:1]
    scored, found = _loaded(workspace, [*RECORDS, shorter])
    groups = by_rank(scored, found, "judge")
    assert [(one.key, one.value.mean, one.value.n_scored) for one in groups] == [
        ("1", 3 / 5, 5),
        ("2", 2 / 4, 4),
        ("3", 1 / 4, 4),
    ]


def test_what_a_cut_wastes_and_loses(workspace: RunStore) -> None:
    scored, found = _loaded(workspace, RECORDS)
    lines = by_k(scored, found, "judge")
    assert [round(one.value.mean, 3) for one in lines["wasted_context"]] == [0.5, 0.5, round(7 / 12, 3)]
    assert [round(one.value.mean, 3) for one in lines["deep_reliance"]] == [0.5, round(0.5 / 3, 3), 0.0]
    for name, groups in lines.items():
        summary = workspace.summary(scored.run)
        assert groups[0].value.mean == pytest.approx(summary[f"{name}@1"].mean)
        assert groups[2].value.mean == pytest.approx(summary[f"{name}@3"].mean)


def test_splits_by_hand(workspace: RunStore) -> None:
    scored, found = _loaded(workspace, RECORDS)
    by = {
        name: {one.label: (one.value.mean, one.value.n_scored) for one in split(scored, found, "judge", name)}
        for name in ("relevant", "length", "query_type")
    }
    assert by["relevant"] == {"relevant": (0.5, 2), "not relevant": (0.5, 2)}
    assert by["length"] == {"under 300": (0.5, 4)}
    assert by["query_type"] == {"fact": (0.5, 2), "list": (0.5, 2)}


def test_quality_by_the_relative_place_of_the_gold(workspace: RunStore) -> None:
    scored, found = _loaded(workspace, RECORDS)
    groups = outcome_by_gold_position(scored, found, "faithfulness")
    assert [(one.key, round(one.value.mean, 3), one.value.n_scored) for one in groups] == [
        ("first", 0.9, 2),
        ("middle", 0.4, 1),  # the refusal is not an answer
        ("none", 0.0, 1),
    ]


def test_what_is_lost_in_the_middle_shows_in_lists_of_any_length(workspace: RunStore) -> None:
    quality = {"first": 0.95, "middle": 0.50, "last": 0.90}
    records = []
    for length in (3, 5, 9):
        for position, rank in (("first", 1), ("middle", (length + 1) // 2), ("last", length)):
            names = [f"d{at}" for at in range(1, length + 1)]
            record = _record(f"{position} of {length}", [1], [f"d{rank}"])
            record["retrieved"] = [{"id": name, "text": name} for name in names]
            record["scores"] = {"faithfulness": quality[position]}
            records.append(record)
    scored, found = _loaded(workspace, records)
    groups = outcome_by_gold_position(scored, found, "faithfulness")
    assert {group.key: (round(group.value.mean, 2), group.value.n_scored) for group in groups} == {
        position: (value, 3) for position, value in quality.items()
    }


def test_places_between_first_and_last_are_thirds() -> None:
    ranks = np.array([1, 2, 4, 5, 6, 7, 9, 10, np.inf, np.nan])
    codes = gold_position(ranks, np.full(10, 10))
    assert [GOLD_POSITIONS[code] if code >= 0 else "" for code in codes] == [
        *("first", "early", "early", "middle", "middle", "late", "late", "last", "none", ""),
    ]
    alone = gold_position(np.array([1.0, np.inf]), np.array([1, 1]))
    assert [GOLD_POSITIONS[code] for code in alone] == ["only one", "none"]


def test_bands_and_places() -> None:
    lengths = np.array([0, 299, 300, 799, 800, 1999, 2000, np.nan])
    assert [LENGTHS[code] if code >= 0 else "" for code in length_band(lengths)] == [
        *("under 300", "under 300", "300 to 799", "300 to 799"),
        *("800 to 1,999", "800 to 1,999", "2,000 or more", ""),
    ]
    ranks = np.array([1, 5, 6, 10, 11, np.inf, np.nan])
    assert [GOLD_RANK_BANDS[code] if code >= 0 else "" for code in gold_rank_band(ranks)] == [
        *("1", "5", "6 to 10", "6 to 10", "deeper", "none", ""),
    ]


@pytest.mark.parametrize(
    ("mark", "rows"),
    [
        ("ignored_top", [1, 3]),
        ("used_nothing", [3]),
        ("used_rank:2", [1, 2]),
        ("unused_rank:2", [0, 3]),
        ("used_rank:9", []),
        ("ignored_relevant:relevant", [1]),
        ("ignored_relevant:not relevant", [3]),
        ("ignored_length:under 300", [1, 3]),
        ("gold_position:middle", [2, 4]),
        ("gold_position:none", [3]),
        ("gold_place:2", [2, 4]),
        ("gold_place:none", [3]),
    ],
)
def test_marks_select_exactly_their_cases(workspace: RunStore, mark: str, rows: list[int]) -> None:
    scored, _ = _loaded(workspace, RECORDS)
    assert np.flatnonzero(cohort_rows(scored, mark)).tolist() == rows


@pytest.mark.parametrize("mark", ["used_rank:0", "gold_place:77", "ignored_length:long", "ignored_relevant:"])
def test_a_wrong_value_of_a_mark_is_refused(workspace: RunStore, mark: str) -> None:
    scored, _ = _loaded(workspace, RECORDS)
    with pytest.raises(DataError, match="accepted"):
        cohort_rows(scored, mark)


def test_origins_are_told_apart(workspace: RunStore) -> None:
    claims = [{"text": "x", "in_reference": True, "supported_by": [2]}]
    cited = [{"sentence": "An answer.", "ids": ["a"]}]
    words = _record("words", None, ["a"], answer="many words many words short")
    records = [
        _record("judged", [1], ["a"]),
        _record("imported", [3], ["a"]) | {"used_source": "imported"},
        _record("cited", None, ["a"], citations=cited),
        _record("claims", None, ["a"], claims=claims),
        words,
    ]
    scored, found = _loaded(workspace, records)
    assert found.source.tolist() == ["judge", "imported", "citation", "claims", "lexical"]
    assert sources_of_use(found) == ["judge", "claims", "citation", "imported", "lexical"]
    assert found.use.used[:4].tolist() == [
        [True, False, False],
        [False, False, True],
        [True, False, False],
        [False, True, False],
    ]
    assert rate_of(scored, found, "claims").value.mean == 1.0


def test_the_published_range_has_a_row_of_its_own(workspace: RunStore) -> None:
    scored, found = _loaded(workspace, RECORDS)
    rates = [VersionRate("mine <b>", "r1", rate_of(scored, found, "judge"), True)]
    figure = version_rates(rates)
    mine, published = figure.data
    assert set(mine.y).isdisjoint(published.y)
    assert list(published.x) == [0.47, 0.67]
    assert "not comparable" in published.name
    assert "Shapley" in published.hovertemplate
    assert (mine.name, mine.customdata[0][0]) == ("judged", "r1")
    assert "&lt;b&gt;" in mine.y[0]
    assert [shape.x0 for shape in figure.layout.shapes] == [0.30]


def test_bars_carry_the_marks_they_lead_to(workspace: RunStore) -> None:
    scored, found = _loaded(workspace, RECORDS)
    bars = plotly_figure(rank_bars(by_rank(scored, found, "judge"))).data[0]
    assert [one[0] for one in bars.customdata] == ["used_rank:1", "used_rank:2", "used_rank:3"]
    groups = split(scored, found, "judge", "relevant")
    halves = plotly_figure(group_bars(groups, "ignored_relevant", "relevance")).data[0]
    assert [one[0] for one in halves.customdata] == [
        "ignored_relevant:not relevant",
        "ignored_relevant:relevant",
    ]
    titles = {"wasted_context": "wasted", "deep_reliance": "deep"}
    lines = plotly_figure(k_lines(by_k(scored, found, "judge"), titles, 2))
    assert [one.name for one in lines.data] == ["wasted", "deep"]
    assert list(lines.data[0].x) == [1, 2, 3]


def _open(store: RunStore, monkeypatch: pytest.MonkeyPatch, tab: str = "", **chosen: Any) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(store.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(**chosen)
    if tab:
        app.session_state["alignment_tab"] = tab
    return app.switch_page("alignment/alignment.py").run()


def test_above_the_line_the_page_says_what_to_look_into(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _loaded(workspace, RECORDS)
    app = _open(workspace, monkeypatch, project="p")
    assert not app.exception
    words = page_text(app)
    for told in ("50 %", "n = 4 questions, judged", "Chunk size", "Embedding model", "Reranker calibration"):
        assert told in words
    assert "4 questions are too few" in words
    assert "2601" in words


@pytest.mark.parametrize("n", [1, 2, 5])
def test_one_run_two_and_many(workspace: RunStore, monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    for at in range(n):
        records = [{**one, "answer": f"Version {at}."} for one in RECORDS[:n]]
        add_run(records, f"v{at}", "p", str(workspace.workspace.root))
    app = _open(workspace, monkeypatch, project="p")
    assert not app.exception
    versions = json.loads(app.get("plotly_chart")[1].proto.spec)["data"][0]
    assert len(versions["y"]) == n


def test_a_run_of_refusals_says_so(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    add_run([_record("q", [1], ["a"], refused=True)], "r", "p", str(workspace.workspace.root))
    app = _open(workspace, monkeypatch, project="p")
    assert not app.exception
    assert "no answers with context" in page_text(app)


def test_a_bar_opens_its_cases(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    _loaded(workspace, RECORDS)
    app = _open(workspace, monkeypatch, SPLITS, project="p", split="query_type")
    app.button(key="split_query_type_ignored_top:list").click().run()
    chosen = app.session_state["selection"]
    assert (chosen.cohort, chosen.slices) == ("ignored_top", {"query_type": "list"})
    assert "1 case" in page_text(app)


def test_the_grid_has_a_mark_for_every_document_of_every_answer(workspace: RunStore) -> None:
    scored, found = _loaded(workspace, RECORDS)
    grid = use_grid(scored, found, "judge")
    names = [str(scored.question_ids[scored.question[row]]) for row in grid.rows]
    groups = [tuple(GOLD_GROUPS)[code] for code in grid.group]
    assert list(zip(names, groups, strict=True)) == [
        ("q1", "top"),
        ("q2", "top"),
        ("q3", "lower"),
        ("q4", "missing"),
    ]
    assert grid.used.sum(axis=1).tolist() == [1, 2, 2, 0]
    assert grid.gold.tolist()[0] == [True, False, False]
    for tokens in (LIGHT, DARK):
        traces = use_columns(
            grid, by_rank(scored, found, "judge"), names, lambda column, rank: [f"{column}:{rank}"], tokens
        ).data
        counts = {trace.name: len(trace.x) for trace in traces if trace.name}
        assert counts == {
            "used, gold": 2,
            "used, not gold": 3,
            "gold, not used": 1,
            "not used": 6,
            "ignores the top document": 2,
        }
        assert list(traces[-1].x) == [0.5, 0.5, 0.25]


def test_many_answers_are_drawn_by_group(workspace: RunStore) -> None:
    scored, found = _loaded(workspace, RECORDS)
    grid = use_grid(scored, found, "judge")
    figure = use_heat(grid, by_rank(scored, found, "judge"), lambda group, rank: [f"{group}:{rank}"], LIGHT)
    assert figure.data[0].text[0] == "50 % · 1 of 2"
    for code, key in enumerate(GOLD_GROUPS):
        for rank in (1, 2, 3):
            cases = cohort_rows(scored, f"used_by_gold:{key}:{rank}:judge").sum()
            assert cases == grid.used[grid.group == code, rank - 1].sum()
    with pytest.raises(DataError, match="accepted"):
        cohort_rows(scored, "used_by_gold:nobody:1")
