"""Curves over k, query types, reranking and hops: hand-worked, against the registry, and on the page."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from page_text import headline, page_text
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.charts.cutoff_curves import hop_bars, k_curves
from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.analysis.gold_reach import STEPS, gold_reach, reach_curve, reranking_effect
from ragtriage.data.analysis.retrieval_curves import curves, first_ranks, hop_tallies, kind_of, type_curves
from ragtriage.data.api import add_run
from ragtriage.data.cases.cases import CaseFilter, case_rows
from ragtriage.data.cases.cohorts import COHORTS, cohort_rows, cohort_title
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings, diagnose
from ragtriage.data.errors import DataError
from ragtriage.data.scoring import gold_join as gold_module
from ragtriage.data.scoring.gold_join import rankings
from ragtriage.data.scoring.ranked_lists import RankedLists, ranked_lists
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.sample_schema import SCHEMA
from ragtriage.data.store.workspace import Workspace
from ragtriage.metrics.analysis.retrieval import suggested_k
from ragtriage.metrics.schema.scores import MetricsError

HOPS = [{"id": "g1", "hop": "1"}, {"id": "g2", "hop": "2"}]


def _record(name: str, retrieved: str, candidates: str = "", **more: Any) -> dict[str, Any]:
    record: dict[str, Any] = {
        "question_id": name,
        "question": f"{name}?",
        "retrieved": _list(retrieved),
        **more,
    }
    return {**record, "candidates": _list(candidates)} if candidates else record


def _list(ids: str) -> list[dict[str, str]]:
    return [{"id": one} for one in ids.split()]


def _loaded(store: RunStore, records: list[dict[str, Any]]) -> tuple[ScoredRun, RankedLists]:
    run = add_run(records, "run", "p", str(store.workspace.root))
    scored = store.scored(run)
    lists = ranked_lists(scored)
    assert lists is not None
    return scored, lists


TWO_HOP = [
    _record("all", "g1 x g2", relevant=HOPS),
    _record("first", "x g2 y", relevant=HOPS),
    _record("second", "g1 x y", relevant=HOPS),
    _record("both", "x y z", relevant=HOPS),
    _record("low", "g1 x y g2", relevant=HOPS),
    _record("spare", "g1 x y", "x y g2 g1", relevant=HOPS),
    _record("alternatives", "x b g2", relevant=[{"id": "a", "hop": "1"}, {"id": "b", "hop": "1"}, HOPS[1]]),
    _record("plain", "x y", relevant=[{"id": "z"}]),
]


def test_every_way_a_two_hop_question_can_end(workspace: RunStore) -> None:
    scored, lists = _loaded(workspace, TWO_HOP)
    found = {one.cohort: (one.title, one.n) for one in hop_tallies(lists, 3)}
    assert found == {
        "hops_complete:3": ("all hops in the top 3", 2),
        "hop_missed:1": ("hop 1 missed", 1),
        "hop_missed:2": ("hop 2 missed", 1),
        "hop_missed:1+2": ("hops 1 and 2 missed", 1),
        "hops_below:3": ("found, but out of the top 3", 2),
    }
    names = [record["question_id"] for record in TWO_HOP]
    for mark, expected in {
        "hops_complete:3": ["all", "alternatives"],
        "hop_missed:1": ["first"],
        "hop_missed:2": ["second"],
        "hop_missed:1+2": ["both"],
        "hops_below:3": ["low", "spare"],
    }.items():
        rows = np.flatnonzero(cohort_rows(scored, mark))
        assert [names[row] for row in rows] == expected, mark


def test_hops_are_named_in_their_order_not_in_that_of_the_file(workspace: RunStore) -> None:
    backwards = [{"id": "g10", "hop": "hop 10"}, {"id": "g2", "hop": "hop 2"}]
    _, lists = _loaded(workspace, [_record("q", "x g2", relevant=backwards), *TWO_HOP])
    assert lists.hops[0].tolist() == ["hop 2", "hop 10"]
    assert lists.documents is not None
    assert lists.documents.unit_rank[0].tolist() == [2.0, np.inf]


RERANKED = [
    _record("lifted", "g x y", "x y z g", relevant=["g"]),
    _record("pushed", "x y z g", "g x y z", relevant=["g"]),
    _record("kept", "x g y", "g x y", relevant=["g"]),
    _record("below", "x y z g", "x y z w g", relevant=["g"]),
    _record("missed", "x y z", "x y z w", relevant=["g"]),
    _record("no first pass", "g x", relevant=["g"]),
]


def test_what_a_reranker_lifts_and_pushes_out(workspace: RunStore) -> None:
    scored, lists = _loaded(workspace, RERANKED)
    found = reranking_effect(scored, lists, 3)
    assert found is not None
    assert found.moves.compared.tolist() == [True] * 5 + [False]
    assert found.moves.lifted.tolist() == [1, 0, 0, 0, 0, 0]
    assert found.moves.pushed_out.tolist() == [0, 1, 0, 0, 0, 0]
    assert found.moves.kept.tolist() == [0, 0, 1, 0, 0, 0]
    assert found.moves.left_below.tolist() == [0, 0, 0, 1, 0, 0]
    assert found.moves.missed.tolist() == [0, 0, 0, 0, 1, 0]
    recall, mrr = found.changes["recall"], found.changes["mrr"]
    assert (recall.before, recall.after) == (0.4, 0.4)
    assert mrr.before == pytest.approx(2 / 5)
    assert mrr.after == pytest.approx(1.5 / 5)
    assert mrr.difference.n_pairs == 5
    assert np.flatnonzero(cohort_rows(scored, "pushed_out:3")).tolist() == [1]


def test_ranks_of_the_first_gold_document(workspace: RunStore) -> None:
    scored, lists = _loaded(workspace, RERANKED)
    assert first_ranks(lists).tolist() == [1, 4, 2, 4, np.inf, 1]
    assert np.flatnonzero(cohort_rows(scored, "gold_at:1")).tolist() == [0, 5]
    assert np.flatnonzero(cohort_rows(scored, "gold_below:3")).tolist() == [1, 3]
    assert np.flatnonzero(cohort_rows(scored, "gold_missed")).tolist() == [4]


@settings(max_examples=25)
@given(
    lists=st.lists(
        st.tuples(
            st.lists(st.sampled_from("abcdef"), max_size=6), st.sets(st.sampled_from("abcdef"), max_size=3)
        ),
        min_size=1,
        max_size=6,
    )
)
def test_curves_are_the_metrics_of_the_registry(
    tmp_path_factory: pytest.TempPathFactory, lists: list[tuple[list[str], set[str]]]
) -> None:
    store = RunStore(Workspace(tmp_path_factory.mktemp("curves") / "w").create())
    records = [
        _record(f"q{at}", " ".join(found), relevant=sorted(gold)) for at, (found, gold) in enumerate(lists)
    ]
    run = add_run(records, "run", "p", str(store.workspace.root))
    scored = store.scored(run)
    ranked = ranked_lists(scored)
    if ranked is None:
        return
    summary = store.summary(run)
    for curve in curves(scored, ranked, ["recall", "precision", "ndcg", "mrr"]):
        for k in (1, 3, 5):
            expected = summary[f"{curve.metric}@{k}"].mean
            if k in curve.ks and expected is not None:
                assert curve.at(k).mean == pytest.approx(expected), (curve.metric, k)


@pytest.mark.parametrize(
    ("curve", "k"),
    [
        ([0.5], 1),
        ([0.2, 0.5, 0.8, 0.805, 0.812], 3),
        ([0.2, 0.2, 0.2, 0.9], 4),
        ([0.3, 0.3, 0.3], 1),
        ([0.1, 0.3, 0.5, 0.7], 4),
    ],
)
def test_a_suggested_k_by_hand(curve: list[float], k: int) -> None:
    assert suggested_k(np.array(curve)) == k


def test_no_k_is_suggested_without_a_curve() -> None:
    for broken in ([], [0.1, np.nan]):
        with pytest.raises(MetricsError):
            suggested_k(np.array(broken))


def test_each_type_has_the_metric_it_calls_for(workspace: RunStore) -> None:
    records = [
        *[_record(f"f{at}", "x g y", relevant=["g"], query_type="factoid") for at in range(3)],
        *[_record(f"h{at}", "g1 g2 x", relevant=HOPS, query_type="two-hop") for at in range(2)],
        _record("o", "x y g", relevant=["g"], query_type="odd"),
    ]
    scored, lists = _loaded(workspace, records)
    found = {one.name: one for one in type_curves(scored, lists, {})}
    assert [(name, one.kind, one.declared, one.n) for name, one in found.items()] == [
        ("factoid", "single fact", True, 3),
        ("two-hop", "multi-hop", True, 2),
        ("odd", "broad coverage", False, 1),
    ]
    metrics = {name: (one.curve.metric if one.curve else "", one.suggested) for name, one in found.items()}
    assert metrics == {"factoid": ("mrr", 2), "two-hop": ("all_hops_recall", 2), "odd": ("recall", 3)}
    changed = {one.name: one for one in type_curves(scored, lists, {"odd": "single fact", "x": "nonsense"})}
    assert (changed["odd"].kind, changed["odd"].declared) == ("single fact", True)
    assert kind_of("anything", {"anything": "no such kind"}, has_hops=False) == ("broad coverage", False)


@pytest.mark.parametrize("mark", ["gold_at:0", "gold_at:x", "lifted:", "no_such_mark", "hops_below:-1"])
def test_a_mark_that_means_nothing_is_refused(workspace: RunStore, mark: str) -> None:
    scored, _ = _loaded(workspace, RERANKED)
    with pytest.raises(DataError):
        cohort_rows(scored, mark)


def test_marks_filter_cases_and_live_in_the_address(workspace: RunStore) -> None:
    scored, _ = _loaded(workspace, RERANKED)
    diagnosis = diagnose(scored, DiagnosisSettings(), [])
    assert case_rows(diagnosis, CaseFilter(cohort="lifted:3")).tolist() == [0]
    there = Selection(cohort="lifted:3", kinds={"odd": "multi-hop"}, k=7)
    assert Selection.from_params(there.to_params()) == there
    assert Selection.from_params({"mark": "no_such:3"}).cohort == ""
    worded = {
        "judging": "judging:refused",
        "disagree": "disagree:pass:faithfulness:judged",
        "verdicts": "verdicts:yes-no:pass:faithfulness:judged",
    }
    oracle_gap = {key: f"{key}:abc:correctness" for key in ("lost_retrieval", "lost_generation")}
    worded |= {"gold_part": "gold_part:hop 1", "refusal": "refusal:answered", "map_cell": "map_cell::9:0"}
    worded |= {"reach": "reach:top:3", "hop_at": "hop_at:1:nowhere", "used_by_gold": "used_by_gold:top:1"}
    worded |= {"part": "part:filter/field/area"}
    worded |= {"route": "route:a>b", "answer": "answer:contradicted"}
    worded |= {"calls": "calls:missing", "f1": "f1:precision"}
    attacks = ("attack_succeeded", "attack_not_measured")
    worded |= {key: f"{key}:direct_injection" for key in attacks}
    for key in COHORTS:
        assert cohort_title({**oracle_gap, **worded}.get(key, f"{key}:1"))


def test_charts_carry_the_marks_their_bars_lead_to(workspace: RunStore) -> None:
    scored, lists = _loaded(workspace, TWO_HOP)
    hops = hop_bars(hop_tallies(lists, 3)).data[0]
    assert sum(hops.x) == 7
    lines = plotly_figure(k_curves(curves(scored, lists), curves(scored, lists), 3, "base <b>"))
    assert [one.name for one in lines.data][::2] == ["Recall", "Precision", "nDCG", "MRR"]
    assert all(one.line.dash == "dash" for one in lines.data[1::2])
    assert list(lines.data[0].x) == [1, 2, 3, 4]


def _open(store: RunStore, monkeypatch: pytest.MonkeyPatch, tab: str = "", **chosen: Any) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(store.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(**chosen)
    if tab:
        app.session_state["retrieval_tab"] = tab
    return app.switch_page("retrieval/retrieval.py").run()


def test_a_run_without_gold_says_what_to_record(demo: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    app = _open(demo, monkeypatch, project="iris")
    assert not app.exception
    assert "--qrels" in page_text(app)


@pytest.mark.parametrize("records", [RERANKED[:1], RERANKED[:2], TWO_HOP])
def test_one_question_two_and_many(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch, records: list[dict[str, Any]]
) -> None:
    _loaded(workspace, records)
    app = _open(workspace, monkeypatch, project="p")
    assert not app.exception
    assert not app.error
    assert f"n = {len(records)} case" in page_text(app)
    metrics = _open(workspace, monkeypatch, "All metrics", project="p")
    assert f"n = {len(records)} of {len(records)} question" in page_text(metrics)


def test_the_two_hop_samples_show_every_section(demo: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    app = _open(demo, monkeypatch, project="musique", k=3)
    assert not app.exception
    assert app.number_input(key="pick_k").value == 3
    assert "both hops" in headline(app)
    for title in ("By question type", "potential gain by step"):
        assert title in page_text(app)
    figure = json.loads(app.get("plotly_chart")[0].proto.spec)["data"]
    bars = [trace for trace in figure if trace["type"] == "bar"]
    assert len(bars) == 2
    (run, scored) = _opened(app, demo)
    for bar in bars:
        for (key,), n in zip(bar["customdata"], bar["y"], strict=True):
            assert cohort_rows(scored, key).sum() == n, key
    for step in STEPS:
        app = _open(demo, monkeypatch, project="musique", run=run, k=3)
        if not app.button(key=f"step_{step}").disabled:
            app.button(key=f"step_{step}").click().run()
            assert app.session_state["selection"].cohort == f"reach:{step}:3"
    assert "First pass" in page_text(_open(demo, monkeypatch, "Reranking", project="musique", k=3))
    metrics = _open(demo, monkeypatch, "All metrics", project="musique", k=3)
    assert len(json.loads(metrics.get("plotly_chart")[1].proto.spec)["data"]) == 8
    hops = _open(demo, monkeypatch, "Hops", project="musique", k=3)
    assert "Multi-hop" in page_text(hops)
    hops.button(key="hops_hop_missed:2").click().run()
    assert hops.session_state["selection"].cohort == "hop_missed:2"


def _opened(app: AppTest, store: RunStore) -> tuple[str, ScoredRun]:
    run_id = app.query_params["run"]
    (run,) = [run for run in store.runs("musique") if run.run_id in run_id]
    return run.run_id, store.scored(run)


def test_the_steps_part_the_cases_that_need_gold(workspace: RunStore) -> None:
    scored, lists = _loaded(workspace, TWO_HOP)
    reach = gold_reach(lists)
    assert (reach.need, reach.hops, reach.has_candidates) == ("hops", 2, True)
    assert reach.rank.tolist()[:6] == [3, np.inf, np.inf, np.inf, 4, np.inf]
    counts = {step: int(cases.sum()) for step, cases in reach.step(3).items()}
    assert counts == {"top": 2, "list": 1, "candidates": 1, "nowhere": 3}
    assert sum(counts.values()) == int(reach.asked.sum()) == 7
    for step, cases in reach.step(3).items():
        assert (cohort_rows(scored, f"reach:{step}:3") == cases).all()
    share = reach.share(scored, 3)
    assert (share.n_scored, round(share.mean, 3)) == (7, round(2 / 7, 3))
    assert reach_curve(scored, reach, 6).at(3).mean == pytest.approx(share.mean)


def test_without_hops_the_first_gold_counts(workspace: RunStore) -> None:
    _, lists = _loaded(workspace, RERANKED)
    reach = gold_reach(lists)
    assert (reach.need, reach.longest) == ("gold", 4)
    counts = {step: int(cases.sum()) for step, cases in reach.step(2).items()}  # "below" has g at rank 4
    assert counts == {"top": 3, "list": 2, "candidates": 0, "nowhere": 1}


def test_hops_by_rank_are_cohorts(workspace: RunStore) -> None:
    scored, _ = _loaded(workspace, TWO_HOP)
    names = [record["question_id"] for record in TWO_HOP]
    for key, expected in {
        "hop_at:2:3": ["all", "alternatives"],
        "hop_at:2:below-3": ["low"],
        "hop_at:2:candidates": ["spare"],
        "hop_at:2:nowhere": ["second", "both"],
    }.items():
        rows = np.flatnonzero(cohort_rows(scored, key))
        assert [names[row] for row in rows] == expected, key
    for wrong in ("hop_at:2:x", "hop_at:3:1", "hop_at:1", "reach:top", "reach:no_step:1"):
        with pytest.raises(DataError):
            cohort_rows(scored, wrong)


@settings(max_examples=80)
@given(
    rows=st.lists(
        st.tuples(
            st.none() | st.lists(st.sampled_from("abcdef"), max_size=6),
            st.none()
            | st.lists(
                st.tuples(st.sampled_from("abcdefgh"), st.sampled_from([-1.0, 0.0, 1.0, 3.0])), max_size=4
            ),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_short_and_long_lists_are_joined_alike(rows: list[tuple[Any, Any]]) -> None:
    table = pa.Table.from_pylist(
        [
            {
                "retrieved": None if found is None else [{"id": one} for one in found],
                "relevant": None if gold is None else [{"id": one, "grade": grade} for one, grade in gold],
                "context_mode": None,
            }
            for found, gold in rows
        ],
        schema=pa.schema([SCHEMA.field(name) for name in ("retrieved", "relevant", "context_mode")]),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gold_module, "SMALL_PLANE", 10**9)
        short = rankings(table)
        patch.setattr(gold_module, "SMALL_PLANE", 0)
        long = rankings(table)
    assert (short is None) == (long is None)
    if short is None or long is None:
        return
    np.testing.assert_array_equal(short.grades, long.grades)
    assert _listed(short.gold) == _listed(long.gold)
    assert _listed(short.unit_rank) == _listed(long.unit_rank), "units stand in the same order either way"
    assert short.status.tolist() == long.status.tolist()
    assert short.reason.tolist() == long.reason.tolist()


def _listed(matrix: Any) -> list[list[float]]:
    return [row[~np.isnan(row)].tolist() for row in matrix]
