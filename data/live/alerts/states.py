"""The alerts of a project's live traffic: their states now, each change of a state, and who was told."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import orjson

from ragtriage.data.live.alerts.rules import (
    TOPICS,
    Scored,
    State,
    WindowState,
    WindowValue,
    drift_windows,
    fact_windows,
    is_fact,
    judge_windows,
    rule_states,
    score_windows,
    topic_windows,
)
from ragtriage.data.live.alerts.window_facts import ALL_TIME, topic_counts, watched_fact, window_means
from ragtriage.data.live.calls import Calls, put_fact
from ragtriage.data.live.policy import DAY, Alert, Policy
from ragtriage.data.live.production.buckets import SHARES
from ragtriage.data.live.production.times import iso, utc
from ragtriage.data.live.topics import REFERENCE
from ragtriage.metrics.number_text import chosen_percent, count, number, percent
from ragtriage.metrics.schema.scores import FloatArray, IntArray, finite_or_none

LOOK_BACK = 12  # windows at least that decide a state
DRIFT_BACK = 60  # windows of a drift, after those of its baseline
JUDGE_SECONDS = 900.0  # after its window is published a call should be judged
JUDGED = "judged"  # in place of a metric: 1 where the judge scored a call by any
Scores = Callable[[str, float, float], Scored | None]  # of a metric, from and to; None where no run has it


@dataclass(frozen=True)
class AlertState:
    """A rule and what has become of it."""

    rule: Alert
    state: State
    since: float  # begin of the first window that brought it; NaN where there is no window yet
    windows: tuple[WindowState, ...]  # in order of time

    @property
    def key(self) -> str:
        """What tells the rule from all others."""
        return rule_key(self.rule)

    @property
    def latest(self) -> WindowValue | None:
        """The last window that has a value; None without one."""
        valued = (each.window for each in reversed(self.windows) if not math.isnan(each.window.value))
        return next(valued, None)


@dataclass(frozen=True)
class Change:
    """A change of a rule's state as it was noted."""

    rule: str  # key of the rule
    state: State
    since: float
    noted: float
    facts: dict[str, Any]


def alert_states(
    calls: Calls,
    policy: Policy,
    now: float,
    scores: Scores | None = None,
    first: float | None = None,
) -> list[AlertState]:
    """Return the state of each rule of a policy.

    Args:
        calls: the live traffic.
        policy: its rules, and how long a window waits for late calls.
        now: windows that ended before count.
        scores: reads a score of the kept calls, and which of them the judge scored; None where none are.
        first: begin of the time shown, up to the last call; as far back as a state needs where left out.
    """
    span = calls.span_of_time()
    if span is None:
        return [AlertState(rule, "no_data", math.nan, ()) for rule in policy.alerts]
    return [_alert_state(calls, policy, rule, now, scores, first, span) for rule in policy.alerts]


def _alert_state(
    calls: Calls,
    policy: Policy,
    rule: Alert,
    now: float,
    scores: Scores | None,
    first: float | None,
    span: tuple[float, float],
) -> AlertState:
    settled = now - policy.windows.settle
    named, seconds = rule, rule.window
    if rule.silent == "judge":  # calls are judged when the run of their window is published
        seconds = policy.windows.length
        rule = rule.model_copy(update={"window": seconds})
        settled -= JUDGE_SECONDS
    last = math.floor(settled / seconds) * seconds
    if first is None:
        first = last - max(LOOK_BACK, 3 * rule.windows) * seconds
    else:  # what is shown may be shorter than the windows that decide, and end after the last call
        last = min(last, math.ceil(span[1] / seconds) * seconds)
        first = min(first, last - rule.windows * seconds)
    start = max(first, span[0]) // seconds * seconds
    starts: FloatArray = np.arange(start, last, seconds, dtype=np.float64)
    windows = _windows(calls, policy, rule, starts, scores, span[0]) if len(starts) else []
    noted = changes(calls, rule_key(named))
    before = next((it for it in reversed(noted) if it.since < start), None)
    firing_since = before.since if before is not None and before.state == "firing" else None
    states = tuple(rule_states(windows, rule.windows, firing_since))
    if noted and noted[-1].state == "firing" and noted[-1].since >= last > span[1] - seconds:
        return AlertState(named, "firing", noted[-1].since, states)  # after the last call
    if not states:
        state: State = "no_data" if firing_since is None else "firing"
        return AlertState(named, state, math.nan if firing_since is None else firing_since, ())
    return AlertState(named, states[-1].state, states[-1].since, states)


def _windows(
    calls: Calls, policy: Policy, rule: Alert, starts: FloatArray, scores: Scores | None, begin: float
) -> list[WindowValue]:
    first, last = float(starts[0]), float(starts[-1]) + rule.window
    if rule.drift == TOPICS:
        reference, end = _topic_reference(calls, rule, begin)
        later = starts[starts >= end]
        if not len(later):
            return []
        counted = topic_counts(calls, float(later[0]), last, rule.window)
        return topic_windows(rule, later, [counted.get(start, {}) for start in later.tolist()], reference)
    if rule.drift:
        return _drift(calls, rule, starts, begin)
    if rule.silent == "traffic" or is_fact(rule):
        return fact_windows(rule, watched_fact(calls, rule, first, last), starts)
    if rule.silent == "judge":
        judged = None if scores is None or policy.judge is None else scores(JUDGED, first, last)
        return [] if judged is None else judge_windows(rule, judged, starts)
    scored = None if scores is None else scores(rule.metric, first, last)
    return [] if scored is None else score_windows(rule, scored, starts)


def _drift(calls: Calls, rule: Alert, starts: FloatArray, begin: float) -> list[WindowValue]:
    """Return the windows of a drift, computed with those of its baseline before them."""
    first, last = float(starts[0]), float(starts[-1]) + rule.window
    baseline = _baseline(calls, rule, begin)
    if baseline is None or first < baseline[1]:
        windows = drift_windows(rule, *_series(calls, rule, begin // rule.window * rule.window, last))
    else:
        means = np.array(baseline[0])
        back = max(baseline[1], min(first, last - DRIFT_BACK * rule.window))
        parts = _series(calls, rule, back, last)
        earlier = np.full(rule.baseline, -math.inf), means, np.full(rule.baseline, rule.fewest)
        windows = drift_windows(rule, *map(np.concatenate, zip(earlier, parts, strict=True)))
    return [window for window in windows if window.first >= first]


def _series(calls: Calls, rule: Alert, first: float, last: float) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return begin, mean and calls of each window of a time, those without calls included."""
    parts, counts, means = window_means(calls, rule.drift, first, last, rule.window)
    starts: FloatArray = np.arange(first, last, rule.window, dtype=np.float64)
    place = parts - round(first / rule.window)
    all_means, all_counts = np.full(len(starts), np.nan), np.zeros(len(starts), dtype=np.int64)
    all_means[place], all_counts[place] = means, counts
    return starts, all_means, all_counts


def _baseline(calls: Calls, rule: Alert, begin: float) -> tuple[list[float], float] | None:
    """Return the means of the first windows with enough calls, and their end; None before there are."""
    written = calls.fact(_baseline_name(rule))
    if written:
        means, end = orjson.loads(written)
        return means, end
    parts, counts, values = window_means(calls, rule.drift, begin // 1, math.inf, rule.window)
    enough = np.flatnonzero(counts >= rule.fewest)[: rule.baseline]
    if len(enough) < rule.baseline or enough[-1] == len(parts) - 1:  # the last one may not be whole yet
        return None
    return values[enough].tolist(), float(parts[enough[-1]] + 1) * rule.window


def _topic_reference(calls: Calls, rule: Alert, begin: float) -> tuple[dict[tuple[str, str], int], float]:
    """Return the calls of the first windows by topic and user, and the end of these windows.

    As noted, users are numbers, so that nothing noted is of a user.
    """
    written = calls.fact(_baseline_name(rule))
    if written:
        rows, end = orjson.loads(written)
        counted = Counter[tuple[str, str]]()
        for topic, user, n in rows:
            counted[topic, user] += n
        return dict(counted), end
    end = (begin // rule.window + rule.baseline) * rule.window
    return topic_counts(calls, begin, end, ALL_TIME).get(0.0, {}), end


_WITHOUT_TOPIC = (
    "SELECT EXISTS (SELECT 1 FROM calls WHERE topic IS NULL AND question IS NOT NULL AND time < ?)"
)


def note_baselines(calls: Calls, policy: Policy) -> None:
    """Note the baseline of each drift, so that its limits do not move when old calls are deleted."""
    span = calls.span_of_time()
    for rule in policy.alerts if span is not None else ():
        if span is None or not rule.drift or calls.fact(_baseline_name(rule)):
            continue
        if rule.drift == TOPICS:
            baseline: object = _whole_reference(calls, rule, span)
        else:
            baseline = _baseline(calls, rule, span[0])
        if baseline is not None:
            with calls.changing() as connection:
                put_fact(connection, _baseline_name(rule), orjson.dumps(baseline).decode())


def _whole_reference(
    calls: Calls, rule: Alert, span: tuple[float, float]
) -> tuple[list[tuple[str, str, int]], float] | None:
    """Return the reference of topics to note; None before its windows are over and all have topics."""
    counted, end = _topic_reference(calls, rule, span[0])
    with calls.open() as connection:
        (waits,) = connection.execute(_WITHOUT_TOPIC, (end,)).fetchone()
    if waits or not counted or span[1] < end + rule.window:  # calls of the last window may come late
        return None
    users = {user: str(at) for at, user in enumerate(sorted({user for _, user in counted} - {""}), 1)}
    return [(topic, users.get(user, ""), n) for (topic, user), n in sorted(counted.items())], end


def _baseline_name(rule: Alert) -> str:
    start = REFERENCE if rule.drift == TOPICS else f"baseline of {rule.drift}"
    return f"{start}: {rule.baseline} windows of {rule.window} s"


def changes(calls: Calls, rule: str = "") -> list[Change]:
    """Return the noted changes of a rule by its key, or of all, oldest first."""
    query = "SELECT rule, state, since, noted, facts FROM alerts WHERE ?1 IN ('', rule) ORDER BY noted, since"
    with calls.open() as connection:
        return [
            Change(row[0], row[1], row[2], row[3], orjson.loads(row[4]))
            for row in connection.execute(query, (rule,))
        ]


def note_changes(
    calls: Calls, project: str, states: Sequence[AlertState], now: float, days: int = 30
) -> list[Change]:
    """Note the rules that began to fire or to hold; return those that fire, and those that fired before.

    What was noted longer ago than so many days goes, but for the last of each rule: it may still be told
    that it is over.
    """
    last = {change.rule: change.state for change in changes(calls)}
    over = [
        replace(it, state="ok") if it.windows and it.state != "firing" == last.get(it.key) else it
        for it in states
    ]
    changed = [
        Change(it.key, it.state, it.since, now, alert_facts(calls, project, it))
        for it in over
        if it.state in ("firing", "ok") and last.get(it.key) != it.state
    ]
    if changed:
        rows = [(it.rule, it.state, it.since, it.noted, orjson.dumps(it.facts)) for it in changed]
        with calls.changing() as connection:
            connection.executemany("INSERT OR REPLACE INTO alerts VALUES (?, ?, ?, ?, ?)", rows)
            connection.execute(_OLD, (now - days * DAY,))
            connection.execute(_OLD_TELLINGS, (now - days * DAY,))
    return [it for it in changed if "firing" in (it.state, last.get(it.rule))]


_OLD = (
    "DELETE FROM alerts WHERE noted < ?1 AND EXISTS (SELECT 1 FROM alerts AS later"
    " WHERE later.rule = alerts.rule AND later.noted > alerts.noted AND later.noted < ?1)"
)
_OLD_TELLINGS = (
    "DELETE FROM tellings WHERE told < ?"
    " AND (rule, state, since) NOT IN (SELECT rule, state, since FROM alerts)"
)


def rule_key(rule: Alert) -> str:
    """Return what tells a rule from all others: its settings, but for how often it may be told."""
    return rule.model_dump_json(exclude_defaults=True, exclude={"cooldown"})


def rule_title(rule: Alert) -> str:
    """Return a rule in a few words, as "refused at most 15 %"."""
    if rule.silent:
        return f"silence of the {rule.silent}"
    if rule.drift:
        return f"drift of {rule.drift.replace('_', ' ')}"
    words = "at most" if rule.at_most is not None else "at least"
    return f"{rule.metric.replace('_', ' ')} {words} {_limit_text(rule)}"


def _limit_text(rule: Alert) -> str:
    limit = rule.limit or 0.0
    return chosen_percent(limit) if rule.metric in SHARES else f"{limit:g}"


def alert_facts(calls: Calls, project: str, alert: AlertState) -> dict[str, Any]:
    """Return what is said of an alert that fires or is over to whoever is told, as JSON values."""
    latest, rule = alert.latest, alert.rule
    releases = {} if latest is None else _releases(calls, latest)
    return {
        "project": project,
        "alert": rule_title(rule),
        "state": alert.state,
        "since": iso(alert.since),
        "window_seconds": rule.window,
        "windows": rule.windows,
        "limit": rule.limit,
        "value": None if latest is None else finite_or_none(latest.value),
        "low": None if latest is None else finite_or_none(latest.low),
        "high": None if latest is None else finite_or_none(latest.high),
        "calls": None if latest is None else latest.n,
        "releases": releases,
        "text": alert_sentence(project, alert, tuple(releases)),
    }


def _releases(calls: Calls, window: WindowValue) -> dict[str, int]:
    """Return the calls of a window by release, most first; a name that is unlike a version is left out."""
    query = (
        "SELECT release, count(*) FROM calls WHERE time >= ? AND time < ? GROUP BY release ORDER BY 2 DESC"
    )
    with calls.open() as connection:
        rows = connection.execute(query, (window.first, window.last)).fetchall()
    return {release: n for release, n in rows if _PLAIN_RELEASE.fullmatch(release)}


_PLAIN_RELEASE = re.compile(
    r"[\w.+ -]{1,60}"
)  # it comes from outside, and a sentence goes to terminals and chats


def value_text(rule: Alert, value: float) -> str:
    """Format a value that a rule watches."""
    return percent(value) if rule.metric in SHARES or rule.drift == TOPICS else number(value)


def alert_sentence(project: str, alert: AlertState, releases: Sequence[str] = ()) -> str:
    """Return the sentence of an alert, as "shop: refused 50 % [38 %, 62 %] of 60 calls, limit 15 %; ..."."""
    rule, latest, fires = alert.rule, alert.latest, alert.state == "firing"
    if rule.silent:
        said = f"{rule.silent} is {'silent' if fires else 'back'}"
    elif latest is None:
        said = rule_title(rule)
    else:
        name = rule.metric.replace("_", " ") if rule.metric else f"{rule_title(rule)}:"
        ends = (value_text(rule, end) for end in (latest.low, latest.high))
        said = f"{name} {value_text(rule, latest.value)}"
        said += "" if math.isnan(latest.low) else f" [{', '.join(ends)}]"
        said += f" of {count(latest.n, 'call')}" if rule.metric in SHARES or rule.drift == TOPICS else (
            f" over {count(latest.n, 'call')}"
        )  # fmt: skip
        said += " moved" if rule.drift == TOPICS else ""
        said += f", limit {_limit_text(rule)}" if rule.metric else ""
    of = f", release {releases[0]}" if len(releases) == 1 else ""
    return f"{project}: {said}; {'firing' if fires else 'over'} since {utc(alert.since)}{of}"
