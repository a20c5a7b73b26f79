"""Factors, their effects and costs: hand-made runs, the Pareto front, the sections of Compare."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from command_line import run as command
from hypothesis import given
from hypothesis import strategies as st
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.charts.experiments import cost_map, effect_forest
from ragtriage.dashboard.charts.tokens import LIGHT
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.dashboard.tables.comparison import effect_table
from ragtriage.dashboard.wording.comparisons import correction_text
from ragtriage.data.api import add_run
from ragtriage.data.comparison.ablation import Ablation, ablation, factors_of
from ragtriage.data.comparison.compare import compare, metric_sides
from ragtriage.data.comparison.compared_metrics import in_family, shared_metrics
from ragtriage.data.comparison.leaderboard import cost_points, measured_costs, percentiles
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings, diagnose
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.result_table import text_rows
from ragtriage.metrics.schema.scores import MetricsError
from ragtriage.metrics.statistics.pareto import pareto_front

N = 12


def _run(store: RunStore, config: Mapping[str, Any], shift: float = 0.0, **figures: Sequence[float]) -> Run:
    records = [
        {
            "question_id": f"q{at}",
            "question": f"Question {at}?",
            "scores": {"faithfulness": 0.4 + 0.02 * at + shift, "bleu": 0.1},
            **{name: values[at % len(values)] for name, values in figures.items()},
        }
        for at in range(N)
    ]
    return add_run(records, f"run {json.dumps(config)}", "p", str(store.workspace.root), config)


def _found(store: RunStore, runs: Sequence[Run]) -> Ablation:
    return ablation(runs, [store.scored(run) for run in runs], "faithfulness")


def test_a_clean_pair_shows_the_effect_of_its_factor(workspace: RunStore) -> None:
    runs = [
        _run(workspace, {"chunk_size": 256, "reranker": "none", "note": "same"}),
        _run(workspace, {"chunk_size": 512, "reranker": "none", "note": "same"}, 0.1),
        _run(workspace, {"chunk_size": 256, "reranker": "cross", "note": "same"}, -0.2),
    ]
    found = _found(workspace, runs)
    assert [(one.key, one.kind) for one in found.factors] == [
        ("chunk_size", "chunking"),
        ("reranker", "reranker"),
    ]
    effects = {(one.factor, one.before, one.after): one for one in found.effects}
    size, reranker = effects["chunk_size", "256", "512"], effects["reranker", "none", "cross"]
    assert size.difference.difference == pytest.approx(0.1)
    assert (size.verdict, size.difference.n_pairs, len(size.pairs)) == ("better", N, 1)
    assert reranker.difference.difference == pytest.approx(-0.2)
    assert reranker.verdict == "worse"
    assert reranker.pairs == ((runs[0].run_id, runs[2].run_id),)
    assert found.confounded == ()


def test_pairs_of_the_same_change_are_pooled_question_by_question(workspace: RunStore) -> None:
    runs = [
        _run(workspace, {"size": 1, "model": "a"}),
        _run(workspace, {"size": 2, "model": "a"}, 0.1),
        _run(workspace, {"size": 1, "model": "b"}, 0.05),
        _run(workspace, {"size": 2, "model": "b"}, 0.25),
    ]
    found = _found(workspace, runs)
    effects = {(one.factor, one.before, one.after): one for one in found.effects}
    assert effects["size", "1", "2"].difference.difference == pytest.approx((0.1 + 0.2) / 2)
    assert len(effects["size", "1", "2"].pairs) == 2
    assert effects["size", "1", "2"].difference.n_pairs == N
    assert effects["model", "a", "b"].difference.difference == pytest.approx((0.05 + 0.15) / 2)


def test_the_baselines_value_stands_first_then_the_smaller(workspace: RunStore) -> None:
    runs = [_run(workspace, {"top_k": k}, 0.01 * k) for k in (10, 3, 5)]
    found = _found(workspace, runs)
    assert [(one.before, one.after) for one in found.effects] == [("3", "5"), ("10", "3"), ("10", "5")]


def test_factors_that_never_change_alone_are_named(workspace: RunStore) -> None:
    runs = [
        _run(workspace, {"prompt": "x", "model": "a", "top_k": 3}),
        _run(workspace, {"prompt": "y", "model": "b", "top_k": 3}, 0.1),
        _run(workspace, {"prompt": "y", "model": "c", "top_k": 5}, 0.2),
    ]
    found = _found(workspace, runs)
    assert found.effects == ()
    assert {one.factor: one.beside for one in found.confounded} == {
        "model": ("prompt", "top_k"),
        "prompt": ("model",),
        "top_k": ("model",),
    }


def test_settings_that_move_together_are_one_factor(workspace: RunStore) -> None:
    runs = [
        _run(workspace, {"retrieval": {"embedding": "e5", "dims": 768}}),
        _run(workspace, {"retrieval": {"embedding": "bge", "dims": 1024}}, 0.1),
    ]
    (factor,) = factors_of(runs)
    assert (factor.key, factor.kind) == ("retrieval.dims + retrieval.embedding", "embedding")
    assert _found(workspace, runs).effects[0].before == "768 + e5"


def test_names_and_bookkeeping_are_no_factors(workspace: RunStore) -> None:
    runs = [
        _run(workspace, {"pipeline": "one", "n_chunks": 3, "grid_title": "a", "reported_means": {"x": 1}}),
        _run(workspace, {"pipeline": "two", "n_chunks": 4, "grid_title": "b", "reported_means": {"x": 2}}),
        _run(workspace, {}),
    ]
    found = _found(workspace, runs)
    assert found.factors == ()
    assert found.without_config == tuple(run.run_id for run in runs)
    assert found.left_out == ("grid_title", "n_chunks", "pipeline")


def test_compare_says_which_entries_are_no_factors(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _run(workspace, {"pipeline": "one"})
    _run(workspace, {"pipeline": "two"}, 0.1)
    app = _tab(_open(workspace, monkeypatch, project="p"), "Factors")
    assert not app.exception
    assert any("Left out: pipeline. These name or count" in str(one.value) for one in app.caption)


VALUES = st.lists(
    st.tuples(st.one_of(st.just(np.nan), st.integers(0, 4)), st.one_of(st.just(np.nan), st.integers(0, 4))),
    max_size=12,
)


@given(VALUES)
def test_no_version_on_the_front_is_dominated_and_every_other_is(points: list[tuple[float, float]]) -> None:
    quality, cost = np.array([q for q, _ in points], float), np.array([c for _, c in points], float)
    front = pareto_front(quality, cost)
    for at, (q, c) in enumerate(points):
        beaten = any(
            q2 >= q and c2 <= c and (q2 > q or c2 < c)
            for q2, c2 in points
            if np.isfinite(q2) and np.isfinite(c2)
        )
        assert front[at] == (np.isfinite(q) and np.isfinite(c) and not beaten)


def test_the_front_needs_both_values() -> None:
    with pytest.raises(MetricsError, match="one quality and one cost"):
        pareto_front(np.zeros(2), np.zeros(3))


def test_costs_come_from_the_samples(workspace: RunStore) -> None:
    cheap = _run(workspace, {"a": 1}, 0.0, latency_ms=[100.0, 300.0], input_tokens=[10], output_tokens=[5])
    dear = _run(workspace, {"a": 2}, 0.2, latency_ms=[900.0])
    worse = _run(workspace, {"a": 3}, -0.1, latency_ms=[500.0])
    bare = _run(workspace, {"a": 4}, 0.3)
    runs = [cheap, dear, worse, bare]
    scored_runs = [workspace.scored(run) for run in runs]
    assert measured_costs(scored_runs) == ["latency_ms", "input_tokens", "output_tokens", "total_tokens"]
    assert percentiles(scored_runs[0], "latency_ms") == (N, {50: 200.0, 90: 300.0, 95: 300.0, 99: 300.0})
    assert percentiles(scored_runs[3], "latency_ms") == (0, {})
    quality = [workspace.summary(run)["faithfulness"] for run in runs]
    points = cost_points(scored_runs, quality, "latency_ms", True)
    assert [point.front for point in points] == [True, True, False, False]
    assert points[0].cost is not None
    assert (points[0].cost.mean, points[0].cost.n_scored) == (200.0, N)
    assert points[3].cost is None
    total = cost_points(scored_runs, quality, "total_tokens", True)[0].cost
    assert total is not None
    assert total.mean == 15.0
    figure = cost_map(
        points, ["cheap <b>", "dear", "worse", "bare"], ("latency", "faithfulness"), True, LIGHT
    )
    line, front, beaten = figure.data
    assert line.line.shape == "hv"
    assert list(line.x) == [200.0, 900.0]
    assert list(front.text) == ["cheap &lt;b&gt;", "dear"]
    assert list(beaten.text) == ["worse"]
    assert front.marker.symbol != beaten.marker.symbol


def test_effects_are_drawn_by_verdict(workspace: RunStore) -> None:
    runs = [_run(workspace, {"x": 1}), _run(workspace, {"x": 2}, 0.1), _run(workspace, {"x": 3})]
    figure = effect_forest(_found(workspace, runs).effects, "faithfulness", LIGHT)
    assert {one.name: len(one.x) for one in figure.data} == {"better": 1, "worse": 1, "unchanged": 1}
    assert figure.layout.shapes[0].x0 == 0


def test_interval_and_verdict_on_a_factor_agree(workspace: RunStore) -> None:
    """Each change from top_k = 1 leaves 0 out by itself; only the large one does beside the others."""
    runs = []
    for top_k, gain in enumerate((0.0, 0.1, 0.035, 0.035, 0.035), 1):
        noise = np.random.default_rng(top_k).normal(size=40)
        spread = 0.1 * (noise - noise.mean()) / noise.std() if gain else 0 * noise
        records = [
            {
                "question_id": f"q{at}",
                "question": f"{at}?",
                "scores": {"faithfulness": 0.5 + gain + float(own)},
            }
            for at, own in enumerate(spread)
        ]
        runs.append(add_run(records, f"k{top_k}", "p", str(workspace.workspace.root), {"top_k": top_k}))
    effects = _found(workspace, runs).effects
    from_one = [one for one in effects if one.before == "1"]
    assert [one.verdict for one in from_one] == ["better", *["cannot tell"] * 3]
    for one in effects:
        decided = one.verdict in ("better", "worse")
        assert (not one.low <= 0 <= one.high) == decided == (one.adjusted_p < 0.05)
    drawn = [reach for trace in effect_forest(effects, "x", LIGHT).data for reach in trace.error_x.array]
    assert sorted(drawn) == pytest.approx(sorted(one.high - one.difference.difference for one in effects))
    assert any(row["Interval"] != row["Unadjusted 95 %"] for row in text_rows(effect_table(effects)))


def test_a_family_holds_its_metrics_alone(demo: RunStore) -> None:
    scored_runs = [demo.scored(run) for run in demo.runs("clapnq")[:2]]
    every, headline = shared_metrics(scored_runs), shared_metrics(scored_runs, family="headline")
    assert set(headline) < set(every)
    assert not any(name.startswith("rouge") for name in headline)
    assert all(in_family(name, "all") for name in every)
    assert shared_metrics(scored_runs, family="system") == []


def test_a_comparison_from_kept_sides_is_the_same(demo: RunStore) -> None:
    first, second = (demo.scored(run) for run in demo.runs("clapnq")[:2])
    left, right = diagnose(first, DiagnosisSettings()), diagnose(second, DiagnosisSettings())
    metrics = shared_metrics([first, second])
    plain = compare(left, right, metrics)
    told = {correction_text(plain, change) for change in plain.differences[1:]}
    assert told == {f"corrected over {len(plain.differences) - 1} metrics"}
    assert correction_text(plain, plain.primary) == "primary, tested alone"
    kept = compare(left, right, metrics, metric_sides(first, second, metrics))
    assert [one.adjusted_p for one in plain.differences] == [one.adjusted_p for one in kept.differences]
    assert plain.differences == kept.differences


def test_the_command_corrects_over_the_family_asked_for(
    demo: RunStore, capsys: pytest.CaptureFixture[str]
) -> None:
    left, right = (run.run_id for run in demo.runs("clapnq")[:2])
    small = command(
        capsys, demo.workspace.root, "compare", left, right, "--family", "headline", "--json"
    ).json
    whole = ("--family", "all", "--json")
    large = command(capsys, demo.workspace.root, "compare", left, right, *whole).json
    assert (small["family"], large["family"]) == ("headline", "all")
    kept = small["comparisons"][0]["metrics"]
    assert kept.keys() < large["comparisons"][0]["metrics"].keys()


def _open(store: RunStore, monkeypatch: pytest.MonkeyPatch, **chosen: Any) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(store.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(**chosen)
    return app.switch_page("compare/compare.py").run()


def _tab(app: AppTest, name: str) -> AppTest:
    """Open a tab of the Compare page; the others compute nothing."""
    app.session_state["compare_tab"] = name
    return app.run()


def _words(app: AppTest) -> str:
    parts = [*app.subheader, *app.markdown, *app.caption, *app.info, *app.warning]
    return "\n".join(str(one.value) for one in parts)


def test_compare_shows_effects_and_costs(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [
        _run(workspace, {"chunk_size": 256}, 0.0, latency_ms=[100.0]),
        _run(workspace, {"chunk_size": 512}, 0.1, latency_ms=[200.0]),
    ]
    app = _open(workspace, monkeypatch, project="p", baseline=runs[0].run_id, run=runs[1].run_id)
    assert not app.exception
    assert "on the Pareto front" not in _words(app), "a closed tab runs nothing"
    assert "on the Pareto front" in _words(_tab(app, "Quality and cost"))
    charts = [json.loads(one.proto.spec) for one in _tab(app, "Factors").get("plotly_chart")]
    labels = [label for chart in charts for trace in chart["data"] for label in trace.get("y", [])]
    assert "chunk_size: 256 → 512" in labels


@pytest.mark.parametrize("n", [1, 2, 6])
def test_compare_with_one_run_two_and_many(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch, n: int
) -> None:
    for at in range(n):
        _run(workspace, {"prompt": f"p{at}", "model": f"m{at % 2}"}, 0.01 * at)
    app = _open(workspace, monkeypatch, project="p")
    assert not app.exception
    assert not app.error


def test_confounded_factors_are_warned_of(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = (("a", "m"), ("b", "n"), ("b", "o"))
    runs = [_run(workspace, {"prompt": prompt, "model": model, "top_k": 1}) for prompt, model in settings]
    first, *others = (run.run_id for run in runs)
    app = _open(workspace, monkeypatch, project="p", baseline=first, run=others[0], versions=tuple(others))
    assert not app.exception
    assert "in no pair of the chosen runs alone" in _words(_tab(app, "Factors"))
