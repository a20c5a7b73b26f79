"""Two runs of which one is a sample of calls: unpaired, weighted, and said to be."""

from __future__ import annotations

from dataclasses import replace
from math import hypot
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import run
from sampled_calls import calls, written

from ragtriage.data.comparison.compare import compare, stage_transitions
from ragtriage.data.comparison.guardrails import guardrails
from ragtriage.data.comparison.leaderboard import rate_leaderboard
from ragtriage.data.comparison.question_changes import slice_changes
from ragtriage.data.comparison.question_match import match_questions
from ragtriage.data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings, diagnose
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.statistics.intervals import interval
from ragtriage.metrics.statistics.unpaired import Group, unpaired, unpaired_family

WORSE = ((40, 0.05, 8), (30, 0.2, 3), (50, 1.0, 5))  # 180 of 1,000 calls right, where 275 of 600 were


@pytest.fixture
def windows(workspace: RunStore, capsys: Any, tmp_path: Path) -> tuple[RunStore, Diagnosis, Diagnosis]:
    """A window of calls and a later, worse one, whose ids happen to be the same."""
    for name, strata in (("before", None), ("after", WORSE)):
        records = calls() if strata is None else calls(strata=strata)
        path = written(tmp_path / f"{name}.jsonl", records)
        assert run(capsys, workspace.workspace.root, "import", str(path)).code == 0
    found = (workspace.scored(workspace.find(name)) for name in ("before", "after"))
    before, after = (diagnose(scored, DiagnosisSettings()) for scored in found)
    return workspace, before, after


def test_the_difference_is_that_of_the_weighted_means(
    windows: tuple[RunStore, Diagnosis, Diagnosis],
) -> None:
    _, before, after = windows
    found = compare(before, after, ["correctness"])
    assert found.matched.sampled
    row = next(each for each in found.differences if each.metric == "correctness")
    assert (row.base, row.other) == pytest.approx((275 / 600, 180 / 1000))
    assert row.difference.difference == pytest.approx(180 / 1000 - 275 / 600)
    assert row.difference.unpaired == (100, 120)
    assert (row.difference.better, row.difference.worse, row.difference.same) == (0, 0, 0)
    assert row.verdict == "worse"
    assert found.warnings[0].startswith(
        "Compared unpaired, weighted by 1 / rate: the baseline has 100 of about 600 calls; the other has 120"
    )
    assert not any("shared questions" in warning for warning in found.warnings)


def test_what_needs_pairs_is_not_shown(windows: tuple[RunStore, Diagnosis, Diagnosis]) -> None:
    _, before, after = windows
    assert slice_changes(before, after) == []
    assert stage_transitions(before, after) == {}
    shared = match_questions(before.scored, after.scored)
    measured = {each.name: each for each in guardrails(before, after, shared)}
    assert measured.keys() == {"latency"}  # no percentile and no throughput of kept calls
    weights = after.scored.question_weights
    latency = after.scored.values("latency_ms")[np.argsort(after.scored.question)]
    assert measured["latency"].other == pytest.approx(np.average(latency, weights=weights))


def test_the_leaderboard_ranks_weighted_means(windows: tuple[RunStore, Diagnosis, Diagnosis]) -> None:
    _, before, after = windows
    best, last = rate_leaderboard([after, before], before).rows
    assert (best.run_id, last.run_id) == (before.scored.run.run_id, after.scored.run.run_id)
    assert last.standing == "worse"
    assert (best.value.mean, last.value.mean) == (before.pass_rate.mean, after.pass_rate.mean)
    assert last.difference is not None
    assert last.difference.difference == pytest.approx(last.value.mean - best.value.mean)


def test_the_gate_says_unpaired_and_is_no_clean_verdict(
    windows: tuple[RunStore, Diagnosis, Diagnosis], capsys: Any
) -> None:
    store, *_ = windows
    answer = run(capsys, store.workspace.root, "gate", "before", "--baseline", "after")
    report = run(capsys, store.workspace.root, "gate", "before", "--baseline", "after", "--json")
    assert "over 120 and 100 sampled calls, unpaired" in report.out
    assert '"effective_n": 40.9' in report.out
    assert "measured in both runs" not in answer.out
    assert "(effective n 41)" in answer.out
    compared = run(capsys, store.workspace.root, "compare", "before", "after")
    assert "none: 100 and 120" in compared.out
    assert "sign flips" not in compared.out


def test_the_ends_are_combined_by_squares_and_the_test_agrees_with_them() -> None:
    rng = np.random.default_rng(4)
    groups = []
    for n, p in ((60, 0.6), (80, 0.4)):
        values: FloatArray = np.where(rng.random(n) < p, 1.0, 0.0)
        groups.append(Group(values, np.arange(n), np.array([1.0, 5.0, 20.0])[rng.integers(0, 3, n)]))
    first, second = (interval(g.values, g.clusters, len(g.values), True, weights=g.weights) for g in groups)
    found = unpaired(groups[0], groups[1])
    assert found.low == pytest.approx(
        second.mean - first.mean - hypot(second.mean - second.low, first.high - first.mean)
    )
    assert (found.p < 0.05) == (not found.low <= 0 <= found.high)
    assert found.p_fall + found.p_rise == pytest.approx(1)
    assert found.low < found.low_bound < found.difference < found.high_bound < found.high


def test_no_change_is_called_one_in_5_percent_of_pairs_and_a_family_is_stricter() -> None:
    rng = np.random.default_rng(9)
    rates, chances = (
        np.repeat([0.05, 0.2, 1.0], [2000, 500, 200]),
        np.repeat([0.6, 0.3, 0.1], [2000, 500, 200]),
    )

    def drawn() -> Group:
        kept = rng.random(2700) < rates
        values: FloatArray = np.where(rng.random(2700) < chances, 1.0, 0.0)
        return Group(values[kept], np.arange(kept.sum()), 1 / rates[kept])

    pairs = [unpaired(drawn(), drawn()) for _ in range(400)]
    assert np.mean([pair.p < 0.05 for pair in pairs]) <= 0.08
    assert np.mean([pair.low <= 0 <= pair.high for pair in pairs]) >= 0.92
    family = unpaired_family(pairs[:5])
    assert all(test.p >= pair.p for test, pair in zip(family, pairs[:5], strict=True))
    assert all(
        test.low <= pair.low and test.high >= pair.high for test, pair in zip(family, pairs, strict=False)
    )
    alone = unpaired_family([replace(pairs[0], p=0.01, low=0.02, difference=0.1, high=0.18)])[0]
    assert (alone.p, alone.low, alone.high) == pytest.approx((0.01, 0.02, 0.18))
