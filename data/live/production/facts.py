"""The facts of live traffic in a time: is it still as good, since when, for whom, with which release?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ragtriage.data.live.alerts.rules import Scored, is_percentile
from ragtriage.data.live.alerts.states import AlertState, alert_states
from ragtriage.data.live.calls import Calls, live_folder
from ragtriage.data.live.policy import FILE_NAME, Alert, Policy, PolicyFile, usable_policy
from ragtriage.data.live.production.buckets import (
    SHARES,
    Buckets,
    Stratum,
    buckets_of,
    latencies_in,
    strata_in,
    topics_of_questions,
)
from ragtriage.data.live.production.labelling import ToLabel, to_label
from ragtriage.data.live.production.scores import ANSWER_SCORES, KeptCalls, kept_calls, scores_of
from ragtriage.data.live.production.times import Times, times_of
from ragtriage.data.live.production.topic_changes import TopicChanges, topic_changes
from ragtriage.data.live.redacting import redaction_counts
from ragtriage.data.live.windows import ORIGIN
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.metrics.diagnosis.right import CORRECTNESS
from ragtriage.metrics.live.change import Difference, difference_between
from ragtriage.metrics.live.ewma import Drift, ewma
from ragtriage.metrics.metric_registry import declared
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray
from ragtriage.metrics.statistics.distributions import quantile_interval
from ragtriage.metrics.statistics.intervals import Interval

FEWEST = 30  # calls of a window: with fewer its point is hollow, and it cannot tell
BASELINE = 20  # pieces that set the limits of a drift
LATENCY = "latency_p95"


@dataclass(frozen=True)
class Measure:
    """One number of the traffic: since, before, and step by step."""

    name: str  # a name of SHARES, LATENCY, or a metric
    of_all: bool  # whether it is of all calls; else of the kept ones, weighted
    since: Interval  # of the later part
    before: Interval | None  # of the earlier; None where it has no such value
    change: Difference | None
    steps: tuple[Interval, ...]  # of each step; () where none are shown
    rule: Alert | None  # the first of the policy with a limit for it
    higher_is_better: bool | None

    @property
    def limit(self) -> float | None:
        """What its rule asks for; None without one."""
        return None if self.rule is None else self.rule.limit

    @property
    def is_worse(self) -> bool:
        """Whether it changed for the worse beyond chance."""
        if self.change is None or self.higher_is_better is None:
            return False
        return self.change.high < 0 if self.higher_is_better else self.change.low > 0


@dataclass(frozen=True)
class SampledStratum:
    """A stratum of the calls, with how many of it are kept and judged."""

    stratum: Stratum
    judged: int


@dataclass(frozen=True)
class Sampling:
    """How scores of the later part came from a part of its calls."""

    strata: tuple[SampledStratum, ...]
    metric: str  # whose means these are; "" where nothing is judged
    plain: float  # mean of the judged calls, which nothing may show as theirs; NaN without any
    weighted: float  # mean with each weighted by 1 / its rate


@dataclass(frozen=True)
class Traffic:
    """How many calls there are in each piece of the time, and how large their contexts are."""

    calls: IntArray  # (pieces,)
    kept: IntArray  # (pieces,) of them
    tokens: FloatArray  # (pieces,) mean tokens of context; NaN where none are known
    drift: Drift | None  # of the tokens; None where fewer than 20 pieces have some
    silent: int  # pieces without a call between the first and the last with one


@dataclass(frozen=True)
class Production:
    """Everything that the page says of a time."""

    project: str
    times: Times
    calls: int  # of both parts
    calls_since: int
    calls_before: int
    others_since: int  # of the later part, calls of another release than it begins with
    users: int  # that are known, in both parts
    kept: int
    judged: int  # of the kept, those that a judge, people or their tool scored
    judged_since: int
    unpublished: int  # kept calls that are in no run yet
    measures: tuple[Measure, ...]  # refusals first
    traffic: Traffic
    topics: TopicChanges | None
    topics_are_tags: bool  # whether they are stored with the calls, and so tags of the cases
    alerts: tuple[AlertState, ...]
    to_label: tuple[ToLabel, ...]
    context_had_it: tuple[
        float, int
    ]  # weighted share of the kept refusals whose context had the answer; how many
    sampling: Sampling
    policy: PolicyFile
    taken_out: Mapping[str, int]  # kind -> how often it was taken out of texts, ever
    losses: Mapping[str, int]  # what could not be used, ever
    origin: str  # a note on traffic that was not received here; "" for none

    def measure(self, name: str) -> Measure | None:
        """Return a measure by its name; None where it has no value."""
        return next((each for each in self.measures if each.name == name), None)

    @property
    def refusals(self) -> Measure | None:
        """The share of refusals: the wrong ones where it is known which questions have an answer."""
        return next((each for each in self.measures if each.name in ("wrongly_refused", "refused")), None)

    @property
    def score(self) -> Measure | None:
        """The first score of the kept calls."""
        return next((each for each in self.measures if not each.of_all), None)


def production(
    store: RunStore, project: str, first: float, last: float, step: int, against: str = ""
) -> Production:
    """Return the facts of the live traffic of a project in a time.

    Args:
        store: the runs of the workspace.
        project: its name.
        first: begin, seconds since 1970.
        last: end, excluded.
        step: seconds of a step.
        against: "release", "before", or "" for the former where the time has a new release.

    Raises:
        DataError: the project has no live traffic, or the time is empty.
    """
    calls = Calls.of(store.workspace, project)
    policy = usable_policy(live_folder(store.workspace, project) / FILE_NAME)
    times = times_of(calls, first, last, step, against)
    buckets = buckets_of(calls, times.begin, times.last, times.piece, times.later)
    watched = [rule.metric for rule in policy.policy.alerts if rule.metric and rule.metric not in SHARES]
    kept = kept_calls(store, calls, times.begin, times.last, watched)
    later, kept_later = buckets.later, kept.time >= times.later
    measures = [*_shares(buckets, times, policy.policy), *_scores(kept, times, policy.policy)]
    latency = _latency(calls, times, policy.policy)
    scores = next((each.name for each in measures if not each.of_all), None)
    refusals = next((each.name for each in measures if each.name != "errors" and each.of_all), "refused")
    topics = topic_changes(buckets, refusals)
    stored = topics is not None
    if topics is None and not later.all() and later.any():
        spans = (times.begin, times.later, times.last)
        topics = topic_changes(topics_of_questions(store.workspace, project, calls, spans), refusals)
    others = [each.calls for each in times.releases if times.release and each.name != times.release]
    total, since = int(buckets.sums.calls.sum()), int(buckets.sums.calls[later].sum())
    return Production(
        project=project,
        times=times,
        calls=total,
        calls_since=since,
        calls_before=total - since,
        others_since=max(sum(others) - (total - since), 0) if others else 0,
        users=len(set(buckets.user_id) - {""}),
        kept=len(kept.trace_id),
        judged=int(kept.judged.sum()),
        judged_since=int(kept.judged[kept_later].sum()),
        unpublished=int((~kept.published).sum()),
        measures=(*measures, *([] if latency is None else [latency])),
        traffic=_traffic(buckets, times),
        topics=topics,
        topics_are_tags=stored,
        alerts=tuple(_alerts(store, calls, policy.policy, kept, times)),
        to_label=to_label(calls, times.later, times.last, kept, scores),
        context_had_it=_context_had_it(kept, kept_later),
        sampling=_sampling(strata_in(calls, times.later, times.last), kept, kept_later, scores),
        policy=policy,
        taken_out=sum(map(Counter, redaction_counts(calls.path.parent).values()), Counter()),
        losses=calls.losses(),
        origin=calls.fact(ORIGIN),
    )


def _rule(policy: Policy, name: str) -> Alert | None:
    return next((rule for rule in policy.alerts if rule.metric == name), None)


def _shares(buckets: Buckets, times: Times, policy: Policy) -> list[Measure]:
    """Return the shares of all calls: refusals, the wrong ones where known, and errors if any."""
    known = int(buckets.sums.answerable.sum()) > 0
    names = ["wrongly_refused" if known else "refused"]
    if int(buckets.sums.errors.sum()) or _rule(policy, "errors") is not None:
        names.append("errors")
    if known and _rule(policy, "refused") is not None:
        names.append("refused")
    return [_share(buckets, name, times, policy) for name in names]


def _share(buckets: Buckets, name: str, times: Times, policy: Policy) -> Measure:
    since, before = (buckets.share(name, buckets.later == side) for side in (True, False))
    begin = (times.first - times.begin) / times.piece
    width = times.step / times.piece
    step: FloatArray = np.floor((buckets.piece - begin) / width)
    steps = [buckets.share(name, step == at) for at in range(len(times.steps))]
    known = before if before.n_scored else None
    return Measure(
        name,
        True,
        since,
        known,
        difference_between(known, since),
        tuple(steps),
        _rule(policy, name),
        higher_is_better=False,
    )


def _scores(kept: KeptCalls, times: Times, policy: Policy) -> list[Measure]:
    """Return the scores of the kept calls: those with a rule first, of correctness only one."""
    ruled = [rule.metric for rule in policy.alerts if rule.metric in kept.values]
    correct = next((name for name in CORRECTNESS if name in kept.values), None)
    others = [name for name in ANSWER_SCORES if name in kept.values and name not in CORRECTNESS]
    names = dict.fromkeys([*ruled, *([correct] if correct else []), *others])
    measures = []
    for name in names:
        later = kept.time >= times.later
        since, before = kept.mean(name, later), kept.mean(name, ~later)
        known = before if before.n_scored else None
        entry = declared(name)
        steps = tuple(kept.mean(name, kept.between(*step)) for step in times.steps)
        change = difference_between(known, since)
        better = None if entry is None else entry.higher_is_better
        measures.append(Measure(name, False, since, known, change, steps, _rule(policy, name), better))
    return measures


def _latency(calls: Calls, times: Times, policy: Policy) -> Measure | None:
    """Return the 95th percentile of latency, or that of a rule; None where none is recorded."""
    ruled = next((rule for rule in policy.alerts if is_percentile(rule.metric)), None)
    name = LATENCY if ruled is None else ruled.metric
    since = _percentile(calls, name, times.later, times.last)
    if not since.n_scored:
        return None
    before = _percentile(calls, name, times.begin, times.later)
    known = before if before.n_scored else None
    return Measure(
        name, True, since, known, difference_between(known, since), (), ruled, higher_is_better=False
    )


def _percentile(calls: Calls, name: str, first: float, last: float) -> Interval:
    values, independent = latencies_in(calls, first, last)
    found = quantile_interval(values, int(name.rpartition("p")[2]) / 100, independent)
    known = [math.nan if end is None else end for end in (found.value, found.low, found.high)]
    value, low, high = known
    return Interval(value, low, high, len(values), len(values), independent, "exact", too_few=math.isnan(low))


def _traffic(buckets: Buckets, times: Times) -> Traffic:
    n = round((times.last - times.first) / times.piece)
    piece = buckets.piece - round((times.first - times.begin) / times.piece)
    shown = (piece >= 0) & (piece < n)
    sums = buckets.sums.part(shown)
    calls, kept, counted, tokens = (
        np.bincount(piece[shown], column, n) for column in (sums.calls, sums.kept, sums.counted, sums.tokens)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        means: FloatArray = np.where(counted > 0, tokens / counted, np.nan)
    there = np.flatnonzero(calls)
    silent = int(there[-1] - there[0] + 1 - len(there)) if len(there) else 0
    drift = ewma(means, BASELINE) if int(np.isfinite(means).sum()) > BASELINE else None
    return Traffic(calls.astype(np.int64), kept.astype(np.int64), means, drift, silent)


def _alerts(
    store: RunStore, calls: Calls, policy: Policy, kept: KeptCalls, times: Times
) -> Sequence[AlertState]:
    earlier = scores_of(store, calls)  # of windows that are longer than the time shown

    def scores(metric: str, first: float, last: float) -> Scored | None:
        is_read = first >= times.begin and last <= times.last
        return kept.scored(metric, first, last) if is_read else earlier(metric, first, last)

    return alert_states(calls, policy, times.last + policy.windows.settle, scores, times.begin)


def _context_had_it(kept: KeptCalls, later: BoolArray) -> tuple[float, int]:
    rows = later & (kept.refused == 1) & (kept.answerable != 0) & np.isfinite(kept.context)
    n = int(rows.sum())
    return (float(np.average(kept.context[rows], weights=1 / kept.rate[rows])), n) if n else (math.nan, 0)


def _sampling(strata: Sequence[Stratum], kept: KeptCalls, later: BoolArray, metric: str | None) -> Sampling:
    names = np.array(kept.stratum, dtype=object)
    found = [
        SampledStratum(
            each, int((kept.judged & later & (names == each.name) & (kept.rate == each.rate)).sum())
        )
        for each in strata
    ]
    if metric is None:
        return Sampling(tuple(found), "", math.nan, math.nan)
    values = kept.values[metric][later]
    known = values[np.isfinite(values)]
    plain = float(known.mean()) if len(known) else math.nan
    return Sampling(tuple(found), metric, plain, kept.mean(metric, later).mean)
