"""Rules of alerts: from the values of windows, each with its interval, to states. Nothing is read here."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Literal

import numpy as np

from ragtriage.data.live.policy import Alert
from ragtriage.data.live.production.buckets import SHARES
from ragtriage.metrics.live.ewma import ewma
from ragtriage.metrics.live.mix import mix_change, topic_design_effect
from ragtriage.metrics.metric_registry import REGISTRY
from ragtriage.metrics.schema.scores import FloatArray, IntArray
from ragtriage.metrics.statistics.distributions import normal_quantile, quantile_interval
from ragtriage.metrics.statistics.intervals import TWO_SIDED, Interval, interval, score_mean

State = Literal["ok", "unclear", "firing", "cannot_tell", "no_data"]
Position = Literal["beyond", "between", "inside", "too_few", "nothing"]
MEANS = ("context_tokens", "output_tokens", "latency_ms")
CALLS = "calls_a_minute"
TOPICS = "topics"
_PERCENTILE = re.compile(r"latency_p([1-9][0-9])")


@dataclass(frozen=True)
class WindowValue:
    """What a rule watches, in one window."""

    first: float  # begin, seconds since 1970
    last: float  # end, excluded
    value: float  # NaN where there is none
    low: float  # lower end of its 95 % interval, or lower limit of a drift
    high: float  # upper end
    n: int  # calls that have a value
    position: Position  # the bound is beyond the limit, only the value is, or neither


@dataclass(frozen=True)
class WindowState:
    """The state of a rule after a window."""

    window: WindowValue
    state: State
    since: float  # begin of the first window that brought it


@dataclass(frozen=True)
class WatchedFact:
    """A fact of the calls that have it, in order of time."""

    time: FloatArray  # (n,) seconds since 1970; no more exact than the window that it is in
    values: FloatArray  # (n,)
    users: IntArray  # (n,) code of who asked; of nobody known each its own


@dataclass(frozen=True)
class Scored:
    """Values of a score of kept calls, in order of time."""

    time: FloatArray  # (n,) seconds since 1970
    values: FloatArray  # (n,) NaN where a call is not scored
    rate: FloatArray  # (n,) at which each was kept
    users: IntArray  # (n,) code of who asked; of nobody known each its own
    bounds: tuple[float, float] = (0.0, 1.0)


def rule_states(
    windows: Sequence[WindowValue], in_a_row: int, firing_since: float | None = None
) -> list[WindowState]:
    """Return the state of a rule after each window.

    It fires when the bound is beyond the limit in so many windows in a row, and is over when the value is
    within the limit in as many. Windows with too few calls, or none, neither count nor break a row.

    Args:
        windows: in order of time.
        in_a_row: windows that must agree.
        firing_since: since when it fired already before the first window; None where it did not.
    """
    states: list[WindowState] = []
    firing, since = firing_since is not None, firing_since if firing_since is not None else math.nan
    row: Position | None = None
    length, begin, shown = 0, 0.0, "firing" if firing else ""
    for window in windows:
        if window.position in ("beyond", "inside", "between"):
            length = length + 1 if row == window.position else 1
            begin = begin if length > 1 else window.first
            row = window.position
            if length >= in_a_row and row != "between" and firing != (row == "beyond"):
                firing, since = not firing, begin
        state: State = "firing" if firing else _quiet(window.position)
        if state != shown and not (shown == "firing" or state == "firing"):
            since = window.first
        shown = state
        states.append(WindowState(window, state, since))
    return states


def _quiet(position: Position) -> State:
    """Return the state of a rule that does not fire: only a value within the limit holds."""
    states: dict[Position, State] = {"inside": "ok", "too_few": "cannot_tell", "nothing": "no_data"}
    return states.get(position, "unclear")


def nearest_name(metric: str) -> str:
    """Return the fact or metric that the name of one that no call has is most like; "" for none."""
    known = (*SHARES, *MEANS, CALLS, "latency_p50", "latency_p95", "latency_p99", *REGISTRY)
    return "" if metric in known else next(iter(get_close_matches(metric, known, 1, 0.8)), "")


def is_percentile(metric: str) -> bool:
    """Return whether a name is that of a percentile of latency."""
    return _PERCENTILE.fullmatch(metric) is not None


def is_fact(rule: Alert) -> bool:
    """Return whether a rule with a metric watches a fact of every call, not a score of the kept ones."""
    return rule.metric in (*SHARES, *MEANS, CALLS) or is_percentile(rule.metric)


def fact_windows(rule: Alert, facts: WatchedFact, starts: FloatArray) -> list[WindowValue]:
    """Return the windows of a rule over a fact of the calls.

    Args:
        rule: with a metric that is a fact of calls, or a silence of the traffic.
        facts: of the calls of all windows.
        starts: (windows,) begin of each window.
    """
    return [
        _fact_window(rule, start, facts.values[part], facts.users[part])
        for start, part in zip(starts.tolist(), _parts(facts.time, starts, rule.window), strict=True)
    ]


def _fact_window(rule: Alert, start: float, values: FloatArray, users: IntArray) -> WindowValue:
    n = len(values)
    if rule.silent == "traffic":
        position: Position = "inside" if n else "beyond"
        return WindowValue(start, start + rule.window, float(n), math.nan, math.nan, n, position)
    if rule.metric == CALLS:
        minutes = rule.window / 60
        low, high = poisson_ends(n)
        placed = _placed(rule, start, n / minutes, (low / minutes, high / minutes), max(n, rule.fewest))
        return replace(placed, n=n)
    percentile = _PERCENTILE.fullmatch(rule.metric)
    if percentile is not None:
        quantile = quantile_interval(values, int(percentile[1]) / 100, len(np.unique(users)))
        ends = tuple(math.nan if end is None else end for end in (quantile.low, quantile.high))
        return _placed(rule, start, math.nan if quantile.value is None else quantile.value, ends, n)
    bounds = (0.0, 1.0) if rule.metric in SHARES else (-np.inf, np.inf)
    mean = interval(values, users, n, rule.metric in SHARES, bounds)
    return _placed(rule, start, mean.mean, (mean.low, mean.high), n)


def score_windows(rule: Alert, scored: Scored, starts: FloatArray) -> list[WindowValue]:
    """Return the windows of a rule over a score of kept calls, each weighted by 1 / its rate."""
    windows = []
    for start, part in zip(starts.tolist(), _parts(scored.time, starts, rule.window), strict=True):
        mean = mean_of_kept(scored.values[part], scored.users[part], scored.rate[part], scored.bounds)
        windows.append(_placed(rule, start, mean.mean, (mean.low, mean.high), mean.n_scored))
    return windows


def mean_of_kept(
    values: FloatArray, users: IntArray, rate: FloatArray, bounds: tuple[float, float]
) -> Interval:
    """Return the mean of a score of kept calls with its interval: as of a run, weighted where rates differ.

    Args:
        values: (n,) NaN where a call is not scored.
        users: (n,) code of who asked.
        rate: (n,) at which each was kept.
        bounds: least and greatest value.
    """
    weights = None if not len(rate) or rate.min() == rate.max() else 1 / rate
    return score_mean(values, users, bounds, weights)


def judge_windows(rule: Alert, scored: Scored, starts: FloatArray) -> list[WindowValue]:
    """Return the windows of the rule "judge silent": beyond where calls were kept and none is judged."""
    windows = []
    for start, part in zip(starts.tolist(), _parts(scored.time, starts, rule.window), strict=True):
        judged = int(np.isfinite(scored.values[part]).sum())
        kept = part.stop - part.start
        position: Position = "nothing" if not kept else "inside" if judged else "beyond"
        windows.append(
            WindowValue(start, start + rule.window, float(judged), math.nan, math.nan, kept, position)
        )
    return windows


def drift_windows(rule: Alert, starts: FloatArray, means: FloatArray, counts: IntArray) -> list[WindowValue]:
    """Return the windows of a drift: the moving average of the means against the limits of the first ones.

    Args:
        rule: with a drift of a fact.
        starts: (windows,) begin of each window, those of the baseline first.
        means: (windows,) mean of the calls of each; NaN without any.
        counts: (windows,) calls of each.
    """
    enough = np.where(counts >= rule.fewest, means, np.nan)
    has_baseline = int(np.isfinite(enough).sum()) >= rule.baseline
    drift = ewma(enough, rule.baseline, width=rule.width) if has_baseline else None
    windows = []
    for at, start in enumerate(starts.tolist()):
        n = int(counts[at])
        if drift is None or not n or not np.isfinite(enough[at]):
            position: Position = "too_few" if n else "nothing"
            low = high = value = math.nan
        else:
            value, low, high = float(drift.average[at]), float(drift.low[at]), float(drift.high[at])
            position = "beyond" if drift.beyond[at] else "inside"
        windows.append(WindowValue(start, start + rule.window, value, low, high, n, position))
    return windows


def topic_windows(
    rule: Alert,
    starts: FloatArray,
    counted: Sequence[Mapping[tuple[str, str], int]],
    reference: Mapping[tuple[str, str], int],
) -> list[WindowValue]:
    """Return the windows of a drift of topics: the share of calls that moved, where beyond chance.

    Args:
        rule: with a drift of topics.
        starts: (windows,) begin of each window.
        counted: (windows,) calls of each by topic and user.
        reference: the same of the reference time.
    """
    names = {topic for each in (reference, *counted) for topic, _ in each}
    topics = {topic: code for code, topic in enumerate(sorted(names))}
    users_before, alone_before = _by_user(reference, topics)
    before = users_before.sum(axis=0) + alone_before
    windows = []
    for start, now in zip(starts.tolist(), counted, strict=True):
        users, alone = _by_user(now, topics)
        after = users.sum(axis=0) + alone
        effect = topic_design_effect(np.concatenate([users_before, users]), alone_before + alone)
        change = mix_change(before.tolist(), after.tolist(), effect)
        n = int(after.sum())
        position: Position = "nothing" if not n else "too_few"
        if n >= rule.fewest and np.isfinite(change.p):
            position = "beyond" if change.is_change else "inside"
        windows.append(WindowValue(start, start + rule.window, change.moved, math.nan, math.nan, n, position))
    return windows


def _by_user(
    counted: Mapping[tuple[str, str], int], topics: Mapping[str, int]
) -> tuple[FloatArray, FloatArray]:
    """Return the calls of each known user about each topic, (users, topics), and those of nobody known."""
    users = {user: row for row, user in enumerate(sorted({user for _, user in counted if user}))}
    table, alone = np.zeros((len(users), len(topics))), np.zeros(len(topics))
    for (topic, user), calls in counted.items():
        if user:
            table[users[user], topics[topic]] += calls
        else:
            alone[topics[topic]] += calls
    return table, alone


def poisson_ends(count: int) -> tuple[float, float]:
    """Return the 95 % score interval of the number of calls that a window can be expected to have."""
    z = normal_quantile(TWO_SIDED)
    centre, reach = count + z * z / 2, z * math.sqrt(count + z * z / 4)
    return centre - reach, centre + reach


def _placed(rule: Alert, start: float, value: float, ends: tuple[float, ...], n: int) -> WindowValue:
    low, high = ends
    position: Position = "between"
    if math.isnan(value):
        position = "nothing"
    elif n < rule.fewest:
        position = "too_few"
    elif rule.is_beyond(value, value):
        position = "beyond" if rule.is_beyond(low, high) else "between"
    elif rule.limit is not None:
        position = "inside"
    return WindowValue(start, start + rule.window, value, low, high, n, position)


def _parts(times: FloatArray, starts: FloatArray, seconds: int) -> list[slice]:
    """Return which of the calls, in order of time, are in each window."""
    begins = np.searchsorted(times, starts, side="left").tolist()
    ends = np.searchsorted(times, starts + seconds, side="left").tolist()
    return [slice(begin, end) for begin, end in zip(begins, ends, strict=True)]
