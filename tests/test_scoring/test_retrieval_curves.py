"""Curves over k equal the registry at every k; types, gains, first passes and hops on hand-worked lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from metric_batches import WIDTH, Row, rankings, span_rankings
from page_text import headline, page_text
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.charts.cutoff_curves import hop_lines, k_curves, move_bars, type_lines
from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.analysis.gold_reach import reranking_effect
from ragtriage.data.analysis.retrieval_curves import (
    curves,
    first_ranks,
    hop_curves,
    hop_tallies,
    list_lengths,
    type_curves,
)
from ragtriage.data.api import add_run
from ragtriage.data.cases.cohorts import cohort_rows
from ragtriage.data.scoring.ranked_lists import RankedLists, ranked_lists
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.analysis.retrieval import (
    DOCUMENT_CURVES,
    KINDS,
    SPAN_CURVES,
    curve_intervals,
    curve_values,
    query_type_named,
)
from ragtriage.metrics.definitions import retrieval, spans
from ragtriage.metrics.schema.scores import MetricsError
from ragtriage.metrics.statistics.intervals import intervals

DOCUMENT_FORMULAS = {
    "recall": retrieval.recall,
    "precision": retrieval.precision,
    "ndcg": retrieval.ndcg,
    "mrr": retrieval.reciprocal_rank,
    "all_hops_recall": retrieval.all_hops_recall,
}
SPAN_FORMULAS = {
    "span_recall": spans.span_recall,
    "span_precision": spans.span_precision,
    "span_ndcg": spans.span_ndcg,
}
LETTERS = st.sampled_from("abcdefgh")
MOST = WIDTH + 3  # also behind the end of every list


@st.composite
def _rows(draw: st.DrawFn) -> Row:
    gold = draw(st.none() | st.dictionaries(LETTERS, st.sampled_from([0.5, 1.0, 3.0]), max_size=4))
    hops = {one: draw(st.sampled_from(["1", "2"])) for one in gold or {} if draw(st.booleans())}
    return Row(retrieved=draw(st.none() | st.lists(LETTERS, max_size=WIDTH)), gold=gold, hops=hops)


@settings(max_examples=150)
@given(rows=st.lists(_rows(), max_size=5))
def test_document_curves_are_the_registrys_values_of_every_sample(rows: list[Row]) -> None:
    lists = rankings(rows)
    assert set(DOCUMENT_FORMULAS) == set(DOCUMENT_CURVES)
    for name, formula in DOCUMENT_FORMULAS.items():
        found = curve_values(name, lists, MOST)
        expected = np.stack([formula(lists, k).values for k in range(1, MOST + 1)], axis=1)
        np.testing.assert_allclose(found, expected, atol=1e-12, err_msg=name)


@settings(max_examples=100)
@given(
    rows=st.lists(
        st.builds(
            lambda chunks, more: Row(spans=chunks, gold_chars=sum(gold for gold, _ in chunks or ()) + more),
            st.none() | st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=WIDTH),
            st.integers(0, 5),
        ),
        max_size=5,
    )
)
def test_span_curves_are_the_registrys_values_of_every_sample(rows: list[Row]) -> None:
    lists = span_rankings(rows)
    assert set(SPAN_FORMULAS) == set(SPAN_CURVES)
    for name, formula in SPAN_FORMULAS.items():
        found = curve_values(name, lists, MOST)
        expected = np.stack([formula(lists, k).values for k in range(1, MOST + 1)], axis=1)
        np.testing.assert_allclose(found, expected, atol=1e-12, err_msg=name)


def test_a_curve_that_there_is_not_is_refused_by_name() -> None:
    with pytest.raises(MetricsError, match="span_recall"):
        curve_values("recall", span_rankings([]), 3)
    with pytest.raises(MetricsError, match="known: recall"):
        curve_values("span_recall", rankings([]), 3)


@pytest.mark.parametrize("questions_a_cluster", [1, 2])
def test_many_clusters_have_the_normal_interval_all_at_once(questions_a_cluster: int) -> None:
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(2_100), questions_a_cluster)
    means = rng.random((len(clusters), 3)) ** 2
    for ours, theirs in zip(
        curve_intervals(means, clusters), intervals(means, clusters, [len(means)] * 3), strict=True
    ):
        assert ours.method == theirs.method == "normal"
        assert (ours.n_scored, ours.n_clusters) == (theirs.n_scored, theirs.n_clusters)
        assert [ours.mean, ours.low, ours.high] == pytest.approx([theirs.mean, theirs.low, theirs.high])


def test_few_clusters_have_the_interval_of_every_other_page() -> None:
    means = np.array([[0.0, 0.5], [1.0, 0.25], [np.nan, np.nan]] * 8)
    found = curve_intervals(means, np.arange(24))
    assert [one.method for one in found] == ["wilson", "dirichlet"]
    assert [one.n_scored for one in found] == [16, 16]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("single-hop", "single fact"), ("single_hop_specific_query_synthesizer", "single fact"),
        ("1-hop", "single fact"), ("factoid", "single fact"), ("SimpleQuestion", "single fact"),
        ("multi-hop", "multi-hop"), ("multi_hop_abstract", "multi-hop"), ("2hop", "multi-hop"),
        ("two-hop", "multi-hop"), ("MultiHop", "multi-hop"), ("bridge", "multi-hop"),
        ("comparison_query", "multi-hop"), ("summarization", "broad coverage"), ("list", "broad coverage"),
        ("ranking", "ranked quality"), ("recommendation", "ranked quality"),
        ("shopping", None), ("topic", None), ("whole", None), ("specialist", None), ("frankfurt", None),
        ("", None),
    ],
)  # fmt: skip
def test_the_kind_of_a_type_is_read_from_whole_words(name: str, kind: str | None) -> None:
    assert query_type_named(name) == kind
    assert kind is None or kind in KINDS


def _list(ids: str) -> list[dict[str, str]]:
    return [{"id": one} for one in ids.split()]


def _record(name: str, retrieved: str, candidates: str = "", **more: Any) -> dict[str, Any]:
    record = {"question_id": name, "question": f"{name}?", "retrieved": _list(retrieved), **more}
    return {**record, "candidates": _list(candidates)} if candidates else record


def _loaded(store: RunStore, records: list[dict[str, Any]]) -> tuple[ScoredRun, RankedLists]:
    run = add_run(records, "run", "p", str(store.workspace.root))
    scored = store.scored(run)
    lists = ranked_lists(scored)
    assert lists is not None
    assert ranked_lists(scored) is lists, "read once, kept with the table"
    return scored, lists


def test_values_behind_the_longest_list_are_those_of_triage(workspace: RunStore) -> None:
    gold = [f"g{at}" for at in range(5)]
    scored, lists = _loaded(workspace, [_record("q", "g0 x g1", relevant=gold)])
    summary = workspace.summary(scored.run)
    for curve in curves(scored, lists, k=5):
        assert curve.longest == 3
        assert curve.at(5).mean == pytest.approx(summary[f"{curve.metric}@5"].mean), curve.metric
    drawn = plotly_figure(k_curves(curves(scored, lists, k=5), [], 5, ""))
    assert [list(line.x) for line in drawn.data] == [[1, 2, 3]] * 4, "the chart ends with the lists"


def test_gold_that_begins_in_a_later_batch_stays_with_its_samples(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragtriage.data.scoring.batch_scores.BATCH_ROWS", 256)
    records = [_record(f"q{at:04}", "x g") | ({"relevant": ["g"]} if at >= 500 else {}) for at in range(600)]
    scored, lists = _loaded(workspace, records)
    rows = np.flatnonzero(cohort_rows(scored, "gold_at:2"))
    assert rows.tolist() == list(range(500, 600))
    assert len(list_lengths(lists)) == 100


def test_a_run_without_gold_has_no_lists(workspace: RunStore) -> None:
    run = add_run([{"question": "q", "retrieved": ["x"]}], "run", "p", str(workspace.workspace.root))
    assert ranked_lists(workspace.scored(run)) is None


def test_long_candidates_keep_the_gold_in_the_order_of_the_lists(workspace: RunStore) -> None:
    long = "b " + " ".join(f"n{at}" for at in range(900))
    records = [
        _record("q1", "a", "z", relevant=["a"]),
        _record("q2", "b", long, relevant=["b", "a"]),
    ]
    scored, lists = _loaded(workspace, records)
    found = reranking_effect(scored, lists, 1)
    assert found is not None
    assert found.moves.kept.tolist() == [0, 1]
    assert found.moves.pushed_out.tolist() == [0, 0]
    assert found.moves.lifted.tolist() == [1, 0], "the list holds what the first pass had not"
    assert found.moves.missed.tolist() == [0, 1]


PASSES = [
    _record("kept", "g x", "g x y", relevant=["g"]),
    _record("misranked", "x y", "x y g", relevant=["g"]),
    _record("nowhere", "x y", "x y z", relevant=["g"]),
    _record("no candidates", "x y", relevant=["g"]),
    _record("half", "g x", "g x h", relevant=["g", "h"]),
    _record("no gold", "x y", "x y"),
]


@pytest.mark.parametrize(
    ("mark", "names"),
    [
        ("misranked", ["misranked"]),
        ("nowhere", ["nowhere", "no candidates"]),
        ("gold_missed", ["misranked", "nowhere", "no candidates"]),
        ("kept:1", ["kept", "half"]),
        ("left_below:1", ["misranked", "half"]),
        ("unit_missed", ["nowhere"]),
    ],
)
def test_missed_is_told_apart_from_misranked(workspace: RunStore, mark: str, names: list[str]) -> None:
    scored, _ = _loaded(workspace, PASSES)
    rows = np.flatnonzero(cohort_rows(scored, mark))
    assert [PASSES[row]["question_id"] for row in rows] == names


def test_changes_by_a_reranker_are_corrected_over_their_family(workspace: RunStore) -> None:
    lifted = [_record(f"q{at}", "g x y", "x y g", relevant=["g"]) for at in range(12)]
    scored, lists = _loaded(workspace, lifted)
    found = reranking_effect(scored, lists, 1)
    assert found is not None
    assert set(found.changes) == {"recall", "ndcg", "mrr"}
    for one in found.changes.values():
        assert (one.before, one.after, one.verdict) == (0.0, 1.0, "better")
        assert one.adjusted_p == pytest.approx(one.difference.p), "metrics that move as one count once"


@pytest.mark.parametrize(("up", "verdict"), [(10, "better"), (9, "cannot tell")])
def test_interval_and_verdict_on_a_reranker_agree(workspace: RunStore, up: int, verdict: str) -> None:
    """Recall by itself leaves 0 out in both; Holm said p 0.12 and 0.20 of metrics that move as one."""
    records = [_record(f"up{at}", "g x y", "x y g", relevant=["g"]) for at in range(up)]
    records += [_record(f"down{at}", "x y g", "g x y", relevant=["g"]) for at in range(2)]
    records += [_record(f"same{at}", "g x", "g x", relevant=["g"]) for at in range(14)]
    scored, lists = _loaded(workspace, records)
    found = reranking_effect(scored, lists, 1)
    assert found is not None
    assert found.changes["recall"].difference.low > 0
    for one in found.changes.values():
        assert (one.verdict, one.difference.n_pairs) == (verdict, len(records))
        assert (not one.low <= 0 <= one.high) == (one.adjusted_p < 0.05) == (verdict == "better")


HOPS = [{"id": "g1", "hop": "1"}, {"id": "g2", "hop": "2"}]


def test_each_hop_has_its_own_curve(workspace: RunStore) -> None:
    records = [
        _record("both", "g1 g2 x", relevant=HOPS),
        _record("late", "x g1 g2", relevant=HOPS),
        _record("half", "g1 x y", relevant=HOPS),
        _record("plain", "z x y", relevant=["z"]),
        _record("one", "g1 x y", relevant=HOPS[:1]),
    ]
    scored, lists = _loaded(workspace, records)
    found = {one.metric: [point.mean for point in one.points] for one in hop_curves(scored, lists, 3)}
    assert found["hop 1"] == pytest.approx([3 / 4, 1, 1])
    assert found["hop 2"] == pytest.approx([0, 1 / 3, 2 / 3])
    assert found["all_hops_recall"] == pytest.approx([1 / 4, 2 / 4, 3 / 4])
    lines = plotly_figure(hop_lines(hop_curves(scored, lists, 3), 3))
    assert [line.name for line in lines.data] == ["hop 1", "hop 2", "all hops"]
    whole = sum(one.n for one in hop_tallies(lists, 3))
    assert whole == hop_curves(scored, lists, 3)[-1].at(3).n_scored


def test_hop_failures_come_in_the_order_of_the_hops(workspace: RunStore) -> None:
    ten = [*HOPS, {"id": "g10", "hop": "10"}]
    records = [
        _record("a", "g1 g2", relevant=ten),
        _record("b", "g1 g10", relevant=ten),
        _record("c", "x", relevant=ten),
        _record("d", "x g2", relevant=[*HOPS, {"id": "loose"}]),
    ]
    _, lists = _loaded(workspace, records)
    assert [one.title for one in hop_tallies(lists, 2)] == [
        "all hops in the top 2",
        "hop 2 missed",
        "hop 10 missed",
        "hops ? and 1 missed",
        "hops 1 and 2 and 10 missed",
        "found, but out of the top 2",
    ]


def test_types_tell_what_each_further_document_adds(workspace: RunStore) -> None:
    records = [_record(f"q{at}", "x y g", relevant=["g"], query_type="list") for at in range(3)]
    records += [_record(f"p{at}", "g h x", relevant=["g", "h"], query_type="two-hop") for at in range(2)]
    scored, lists = _loaded(workspace, records)
    found = {one.name: one for one in type_curves(scored, lists, {})}
    broad, hops = found["list"], found["two-hop"]
    assert [(gain.start, gain.end, gain.each.mean) for gain in broad.gains] == [(1, 2, 0.0), (2, 3, 1.0)]
    assert (broad.suggested, broad.rising) == (3, True)
    assert (hops.suggested, hops.rising) == (2, False)
    assert hops.stands_in, "the gold names no hops"
    lines = plotly_figure(type_lines(list(found.values()), 2))
    assert [line.name for line in lines.data if line.showlegend is not False] == [
        "list: Recall",
        "two-hop: Recall",
    ]
    rings = [(line.x[0], line.y[0]) for line in lines.data if line.marker.symbol == "circle-open"]
    assert rings == [(3, 1.0), (2, 1.0)]


def test_a_single_type_has_its_name(workspace: RunStore) -> None:
    scored, lists = _loaded(workspace, [_record("q", "g", relevant=["g"], query_type="factoid")])
    assert [(one.name, one.kind) for one in type_curves(scored, lists, {})] == [("factoid", "single fact")]


def test_gold_text_has_its_curves_and_its_first_ranks(workspace: RunStore) -> None:
    chunks = [{"id": f"c{at}", "doc_id": "d", "start": at * 10, "end": at * 10 + 10} for at in range(4)]
    gold = {at: [{"doc_id": "d", "start": at, "end": at + 8}] for at in (0, 5, 90)}
    records = [{"question": f"{at}", "retrieved": chunks, "relevant_spans": one} for at, one in gold.items()]
    scored, lists = _loaded(workspace, records)
    found = {one.metric: one for one in curves(scored, lists)}
    assert set(found) == {"span_recall", "span_precision", "span_ndcg"}
    assert [point.mean for point in found["span_recall"].points] == pytest.approx(
        [(1 + 5 / 8) / 3, 2 / 3, 2 / 3, 2 / 3]
    )
    assert first_ranks(lists).tolist() == [1, 1, np.inf]
    assert np.flatnonzero(cohort_rows(scored, "gold_missed")).tolist() == [2]


def test_bars_of_a_reranker_tell_their_marks_by_pattern_too() -> None:
    names = ("kept", "lifted", "pushed", "below", "missed")
    bars = move_bars([(name, at, name) for at, name in enumerate(names)]).data[0]
    assert [one[0] for one in bars.customdata] == list(names)
    assert len(set(bars.marker.pattern.shape)) == 5


def _open(store: RunStore, monkeypatch: pytest.MonkeyPatch, **chosen: Any) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(store.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=120)
    app.session_state["selection"] = Selection(**chosen)
    return app.switch_page("retrieval/retrieval.py").run()


def test_lists_that_are_all_empty_are_zero_and_say_so(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_run([_record("q", "", relevant=["g"])], "run", "p", str(workspace.workspace.root))
    app = _open(workspace, monkeypatch, project="p")
    assert not app.exception
    assert "0 documents" in page_text(app)
    assert "n = 1 case with gold" in page_text(app)


def test_a_context_that_was_given_is_not_judged(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    given = [_record("q", "g", relevant=["g"], context_mode="oracle")]
    add_run(given, "run", "p", str(workspace.workspace.root))
    app = _open(workspace, monkeypatch, project="p")
    assert not app.exception
    assert "given context" in page_text(app)
    assert not app.get("plotly_chart")


def test_short_lists_are_told(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    records = [_record("a", "g x y", relevant=["g"]), _record("b", "x", relevant=["g"])]
    scored, lists = _loaded(workspace, records)
    app = _open(workspace, monkeypatch, project="p", k=2)
    assert "1 to 3 documents" in page_text(app)
    assert "1 of 2 lists shorter than 2" in page_text(app)
    bars = curves(scored, lists)[0]
    recall = plotly_figure(k_curves([bars], [], 2, "")).data[0]
    assert [arm is None for arm in recall.error_y.array] == [True, False, True], "the interval stands at k"
    shaded = plotly_figure(k_curves(curves(scored, lists), [], 2, "", 1)).layout.shapes
    assert [(one.x0, one.x1) for one in shaded if one.type == "rect"] == [(1.5, 3.5)]


def test_a_row_of_the_types_opens_its_cases(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    records = [_record(f"q{at}", "g", relevant=["g"], query_type="list") for at in range(2)]
    _loaded(workspace, [*records, _record("o", "g", relevant=["g"], query_type="odd")])
    app = _open(workspace, monkeypatch, project="p")
    app.session_state["types"] = {"selection": {"rows": [1], "columns": [], "cells": []}}
    app.run()
    assert not app.exception
    assert app.session_state["selection"].slices == {"query_type": "odd"}


@pytest.mark.parametrize(
    "project", ["handbook", "clapnq", "iris", "mtrag", "ragchecker", "musique", "state_of_the_union"]
)
def test_every_bundled_project_shows_or_says_why_not(
    demo: RunStore, monkeypatch: pytest.MonkeyPatch, project: str
) -> None:
    app = _open(demo, monkeypatch, project=project)
    assert not app.exception
    assert not app.error
    assert bool(app.get("plotly_chart")) or "gold" in headline(app)
    assert "nan" not in page_text(app).lower().split()
