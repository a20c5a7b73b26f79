"""A suggested k rests on what cannot fall; gains have their own bounds; every number has its interval."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ragtriage.dashboard.pages.retrieval.retrieval_tabs import _notes
from ragtriage.dashboard.tables.cutoffs import type_table
from ragtriage.data.analysis.retrieval_curves import TypeCurve, type_curves, types_named
from ragtriage.data.api import add_run
from ragtriage.data.scoring.ranked_lists import ranked_lists
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.analysis.retrieval import curve_intervals
from ragtriage.metrics.result_table import text_rows
from ragtriage.metrics.statistics.intervals import intervals

GOLD = ["g1", "g6", "g7", "g8", "g9"]
LIST = ["g1", "b", "c", "d", "e", "g6", "g7", "g8", "g9", "j"]


def _record(name: str, **more: Any) -> dict[str, Any]:
    retrieved = [{"id": one} for one in LIST]
    return {"question_id": name, "question": f"{name}?", "retrieved": retrieved, "relevant": GOLD, **more}


def _loaded(store: RunStore, records: list[dict[str, Any]]) -> tuple[ScoredRun, list[TypeCurve]]:
    scored = store.scored(add_run(records, "run", "p", str(store.workspace.root)))
    lists = ranked_lists(scored)
    assert lists is not None
    return scored, type_curves(scored, lists, {})


def _said(types: list[TypeCurve], total: int, named: int) -> str:
    """Return all that the page says below the table."""
    notes, shown = _notes(types, total, named)
    return "\n".join([*notes, shown])


def test_ranked_quality_suggests_k_by_recall(workspace: RunStore) -> None:
    """nDCG falls from 1 at k = 1 to 0.34 at k = 5; recall rises up to k = 9."""
    scored, (one,) = _loaded(workspace, [_record("q", query_type="ranking")])
    assert one.curve is not None
    assert (one.kind, one.curve.metric, one.suggested_by) == ("ranked quality", "ndcg", "recall")
    assert one.curve.at(1).mean == 1.0
    assert (one.suggested, one.rising) == (9, False)
    told = _said([one], 1, types_named(scored))
    assert "k is suggested by recall, because nDCG can fall with k: ranking" in told
    assert "names no types" not in told


def test_gold_text_suggests_k_by_its_own_recall(workspace: RunStore) -> None:
    chunks = [{"id": f"c{at}", "doc_id": "d", "start": at * 10, "end": at * 10 + 10} for at in range(4)]
    spans = [{"doc_id": "d", "start": 0, "end": 10}, {"doc_id": "d", "start": 30, "end": 40}]
    record = {"question": "q?", "retrieved": chunks, "relevant_spans": spans, "query_type": "ranking"}
    _, (one,) = _loaded(workspace, [record])
    assert one.curve is not None
    assert (one.curve.metric, one.suggested_by, one.suggested) == ("span_ndcg", "span_recall", 4)


def test_a_metric_that_cannot_fall_suggests_its_own_k(workspace: RunStore) -> None:
    _, (one,) = _loaded(workspace, [_record("q", query_type="list")])
    assert (one.suggested_by, one.suggested) == ("recall", 9)
    assert "because nDCG" not in _said([one], 1, 1)


@pytest.mark.parametrize("questions", [40, 2500])
def test_gains_may_be_below_0(questions: int) -> None:
    gains = np.random.default_rng(0).normal(0.001, 0.3, (questions, 1)).clip(-1, 1)
    clusters = np.arange(questions)
    (ours,) = curve_intervals(gains, clusters, (-1.0, 1.0))
    (theirs,) = intervals(gains, clusters, [questions], [False], bounds=[(-1.0, 1.0)])
    assert ours.method == theirs.method
    assert [ours.mean, ours.low, ours.high] == pytest.approx([theirs.mean, theirs.low, theirs.high])
    assert ours.low < 0 < ours.high


def test_gains_of_a_type_reach_below_0(workspace: RunStore) -> None:
    late = [{"id": one} for one in ("x", "g1", "y")]
    records = [
        {**_record(f"q{at}", query_type="ranking"), "relevant": ["g1", "z"]}
        | ({"retrieved": late} if at % 2 else {})
        for at in range(2100)
    ]
    _, (one,) = _loaded(workspace, records)
    first = one.gains[0]
    assert (first.start, first.end, first.each.method) == (1, 2, "normal")
    spread = first.each.high - first.each.low
    assert first.each.mean == pytest.approx((first.each.low + first.each.high) / 2), "not cut at 0"
    assert spread > 0


def test_the_mean_at_the_suggested_k_has_its_interval(workspace: RunStore) -> None:
    _, (one,) = _loaded(workspace, [_record(f"q{at}", query_type="list") for at in range(12)])
    (row,) = text_rows(type_table([one], 1))
    assert row["at suggested k"] == "1.000 [0.735, 1.000]"
    assert str(row["at k = 1"]).startswith("0.200 [")


def test_too_many_types_are_not_called_none(workspace: RunStore) -> None:
    scored, found = _loaded(workspace, [_record(f"q{at}", query_type=f"type {at}") for at in range(201)])
    assert [one.name for one in found] == ["all questions"]
    notes = _said(found, 1, types_named(scored))
    assert "the run names 201 types of question" in notes
    assert "at most 200" in notes
    assert "names no types" not in notes
    bare, alone = _loaded(workspace, [_record("q")])
    assert types_named(bare) == 0
    assert "names no types of question" in _said(alone, 1, types_named(bare))
