"""Rules of alerts: the bound decides and not the point, windows in a row, few calls, silence, drift."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from test_live.test_live_formulas import AZURE_MINUTES

from ragtriage.data.live.alerts.rules import (
    Position,
    Scored,
    WatchedFact,
    WindowValue,
    drift_windows,
    fact_windows,
    is_fact,
    judge_windows,
    poisson_ends,
    rule_states,
    score_windows,
    topic_windows,
)
from ragtriage.data.live.calls import user_codes
from ragtriage.data.live.policy import Alert
from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.statistics.intervals import wilson

MINUTE = 60


def _rule(**given: Any) -> Alert:
    return Alert.model_validate({"window": "1m", **given})


def _windows(*positions: Position) -> list[WindowValue]:
    return [
        WindowValue(60.0 * at, 60.0 * at + 60, 0.5, 0.4, 0.6, 50, position)
        for at, position in enumerate(positions)
    ]


def _fact(time: FloatArray, values: FloatArray, users: Sequence[str] | None = None) -> WatchedFact:
    return WatchedFact(time, values, user_codes(users or [""] * len(time)))


def test_a_rule_fires_after_windows_in_a_row_and_recovers_after_as_many() -> None:
    b: Position = "beyond"
    i: Position = "inside"
    m: Position = "between"
    states = rule_states(_windows(i, b, i, b, b, b, m, i, b, i, i), in_a_row=2)
    fired = [state.state for state in states]
    assert fired == ["ok", "unclear", "ok", "unclear", *["firing"] * 6, "ok"]
    assert states[4].since == 180.0  # the first of the two
    assert states[-1].since == 540.0


def test_windows_that_cannot_tell_neither_count_nor_break_a_row() -> None:
    states = rule_states(_windows("too_few", "beyond", "nothing", "too_few", "beyond", "nothing"), 2)
    assert [state.state for state in states] == [
        "cannot_tell",
        "unclear",
        "no_data",
        "cannot_tell",
        "firing",
        "firing",
    ]
    assert states[4].since == 60.0
    assert states[3].since == 180.0


def test_a_value_beyond_the_limit_does_not_hold_though_it_may_be_chance() -> None:
    states = [state.state for state in rule_states(_windows("inside", "between", "inside", "beyond"), 2)]
    assert states == ["ok", "unclear", "ok", "unclear"]


def test_a_rule_that_fired_before_goes_on_until_it_is_over() -> None:
    states = rule_states(_windows("between", "inside", "inside"), 2, firing_since=-300.0)
    assert [(state.state, state.since) for state in states] == [("firing", -300.0)] * 2 + [("ok", 60.0)]
    assert rule_states([], 2) == []


def test_the_bound_decides_and_not_the_point() -> None:
    """10 of 50 are above 15 %, but not shown to be: Wilson's lower bound is 11 %; 20 of 50 are."""
    rule = _rule(metric="refused", at_most=0.15, fewest=30)
    time = np.arange(150) * 60 / 50
    refused = np.concatenate([np.arange(50) < 10, np.arange(50) < 20, np.arange(50) < 7]).astype(np.float64)
    windows = fact_windows(rule, _fact(time, refused), np.array([0.0, 60.0, 120.0, 180.0]))
    assert [window.position for window in windows] == ["between", "beyond", "inside", "nothing"]
    assert (windows[0].low, windows[0].high) == pytest.approx(wilson(0.2, 50))
    few = fact_windows(rule.model_copy(update={"fewest": 51}), _fact(time, refused), np.array([60.0]))
    assert few[0].position == "too_few"
    least = _rule(metric="refused", at_least=0.5)
    assert fact_windows(least, _fact(time, refused), np.array([0.0]))[0].position == "beyond"


def test_calls_of_one_user_count_as_one() -> None:
    rule = _rule(metric="errors", at_most=0.15)
    failed = (np.arange(50) < 20).astype(np.float64)
    time = np.arange(50.0)
    alone = fact_windows(rule, _fact(time, failed), np.array([0.0]))[0]
    one_user = ["ada"] * 20 + [f"user {at}" for at in range(30)]
    of_one = fact_windows(rule, _fact(time, failed, one_user), np.array([0.0]))[0]
    assert (alone.position, of_one.position) == ("beyond", "between")


def test_percentiles_means_and_calls_a_minute() -> None:
    time = np.sort(np.random.default_rng(1).uniform(0, 60, 200))
    latency = np.random.default_rng(2).exponential(1000, 200)
    facts = _fact(time, latency)
    p95 = _rule(metric="latency_p95", at_most=1000)
    window = fact_windows(p95, facts, np.zeros(1))[0]
    assert window.value == pytest.approx(np.quantile(latency, 0.95))
    assert window.low <= window.value <= window.high
    assert window.position == "beyond"
    mean = _rule(metric="context_tokens", at_most=5000)
    assert fact_windows(mean, facts, np.zeros(1))[0].value == pytest.approx(latency.mean())
    busy = _rule(metric="calls_a_minute", at_least=300)
    first, quiet = fact_windows(busy, facts, np.array([0.0, 60.0]))
    assert (first.value, first.position) == (200.0, "beyond")
    assert (quiet.value, quiet.position) == (0.0, "beyond")
    assert poisson_ends(0) == pytest.approx((0.0, 3.8415), abs=1e-3)
    assert all(map(is_fact, (p95, mean, busy)))
    assert not is_fact(_rule(metric="correctness", at_least=0.7))


def test_silence_of_the_traffic_and_of_the_judge() -> None:
    silent = _rule(silent="traffic")
    windows = fact_windows(silent, _fact(np.array([5.0, 6.0]), np.ones(2)), np.array([0.0, 60.0]))
    assert [window.position for window in windows] == ["inside", "beyond"]
    judge = _rule(silent="judge")
    values = np.array([0.5, np.nan, np.nan, np.nan])
    scored = Scored(np.array([1.0, 2.0, 61.0, 62.0]), values, np.ones(4), np.arange(4))
    positions = [window.position for window in judge_windows(judge, scored, np.array([0.0, 60.0, 120.0]))]
    assert positions == ["inside", "beyond", "nothing"]


def test_scores_of_kept_calls_are_weighted() -> None:
    """Refusals, always wrong, are kept five times as often: a plain mean of 0.5 stands for 0.83 of all."""
    values = np.array([0.0] * 50 + [1.0] * 50)
    scored = Scored(
        np.arange(100, dtype=np.float64) * 0.5, values, np.array([0.5] * 50 + [0.1] * 50), np.arange(100)
    )
    rule = _rule(metric="correctness", at_least=0.7)
    window = score_windows(rule, scored, np.zeros(1))[0]
    assert window.value == pytest.approx(500 / 600)
    assert window.n == 100
    assert window.position == "inside"


def test_scores_of_one_rate_have_the_interval_of_a_run() -> None:
    values = (np.arange(50) < 10).astype(np.float64)
    scored = Scored(np.arange(50.0), values, np.full(50, 0.1), np.arange(50))
    (window,) = score_windows(_rule(metric="hit", at_least=0.5), scored, np.zeros(1))
    assert (window.low, window.high) == pytest.approx(wilson(0.2, 50))


def test_drift_of_the_azure_minutes() -> None:
    rule = _rule(drift="context_tokens", fewest=1)
    starts = np.arange(45, dtype=np.float64) * 60
    windows = drift_windows(rule, starts, AZURE_MINUTES, np.full(45, 100))
    assert [at for at, window in enumerate(windows) if window.position == "beyond"] == [34, 35, 36, 41]
    fired = [state.state for state in rule_states(windows, 2)]
    assert fired[35:39] == ["firing"] * 3 + ["ok"]
    assert fired[41:] == ["unclear", *["ok"] * 3]
    wide = drift_windows(
        _rule(drift="context_tokens", fewest=1, width=4.5), starts, AZURE_MINUTES, np.full(45, 9)
    )
    assert [at for at, window in enumerate(wide) if window.position == "beyond"] == [34]
    short = drift_windows(rule, starts[:19], AZURE_MINUTES[:19], np.full(19, 100))
    assert {window.position for window in short} == {"too_few"}
    few = drift_windows(
        rule, starts, np.where(starts == 0, np.nan, AZURE_MINUTES), np.where(starts == 0, 0, 9)
    )
    assert few[0].position == "nothing"
    assert math.isnan(few[0].value)


def test_drift_of_topics_beyond_chance_and_by_user() -> None:
    rule = _rule(drift="topics", fewest=30)
    reference = {("leave", ""): 500, ("pay", ""): 300, ("other", ""): 200}
    same = {("leave", ""): 50, ("pay", ""): 30, ("other", ""): 20}
    moved = {("leave", ""): 20, ("badge", ""): 40, ("pay", ""): 30, ("other", ""): 10}
    starts = np.array([0.0, 60.0, 120.0, 180.0])
    windows = topic_windows(rule, starts, [same, moved, {("leave", ""): 1}, {}], reference)
    assert [window.position for window in windows] == ["inside", "beyond", "too_few", "nothing"]
    assert windows[1].value == pytest.approx(0.4)
    of_two = {("leave", "ada"): 20, ("badge", "bob"): 40, ("pay", "ada"): 30, ("other", "bob"): 10}
    assert topic_windows(rule, starts[:1], [of_two], reference)[0].position == "inside"
