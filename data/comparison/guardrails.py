"""What must not get worse while quality is compared: time, cost, errors, refusals, losses in a part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq

from ragtriage.data.comparison.answered import unanswered
from ragtriage.data.comparison.compared_metrics import SHOWN_K, higher_is_better, question_values
from ragtriage.data.comparison.pair_change import RunPair, change_of
from ragtriage.data.comparison.pair_labels import with_shared_labels
from ragtriage.data.comparison.question_changes import SliceChange
from ragtriage.data.comparison.question_match import QuestionMatch, match_questions
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.importers.parsing.values import Fields, moment
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.sample_reader import further_fields
from ragtriage.data.store.stored_file import reading
from ragtriage.metrics.gates.gates import GateResult, GuardrailState, allowed_loss, judge_guardrail
from ragtriage.metrics.gates.wording import GOOD_SHARE
from ragtriage.metrics.metric_registry import bounds_of
from ragtriage.metrics.schema.scores import FloatArray, IntArray
from ragtriage.metrics.statistics.distributions import normal_quantile, normal_tail
from ragtriage.metrics.statistics.intervals import question_means
from ragtriage.metrics.statistics.paired import MARGIN, SIGNIFICANCE, PairedDifference, drop_of, holm, paired

_DRAWS = 999
_MOST_VALUES = 4_000_000  # draws x questions
_BLOCK = 100_000  # of them held at once
FEWEST_TIMES = 10  # requests with a time without which a run has no throughput
DECLARED_SLICES = ("query_type", "language")
CRITICAL = ("critical", ("yes", "true"))  # the tag of critical cases and its values, as in the bundled gates
GROUNDEDNESS = ("faithfulness", "hallucination")
TAIL = 0.95
THROUGHPUT, WRONG_REFUSALS, TAIL_LATENCY = "throughput", "wrong refusals", "p95 latency"
TIMES = ("timestamp", "created_at", "start_time")  # fields that say when a question was asked
GUARDRAILS: Mapping[str, str] = MappingProxyType(
    {
        "latency": "latency_ms",
        TAIL_LATENCY: "latency_ms",
        "cost": "cost_usd",
        THROUGHPUT: "",
        "errors": "",
        WRONG_REFUSALS: "",
    }
)


@dataclass(frozen=True)
class Guardrail:
    """One of them in two runs, over the questions that both measured; less is better, but of throughput."""

    name: str  # key of GUARDRAILS
    base: float  # mean of the baseline, or its 95th percentile; of errors and refusals a share
    other: float
    n: int  # shared questions with a value; of throughput the requests of the run
    change: Change  # other minus base, with its tests
    p: float  # one-sided, against no loss; adjusted by Holm over the guardrails of the pair
    unpaired: tuple[int, int] | None = None  # questions of both runs, where they are samples of calls

    @property
    def state(self) -> GuardrailState:
        """Whether it got worse beyond chance by more than is allowed, is shown not to have, or neither."""
        allowed, loss = allowed_loss(self.name, self.base), self.other - self.base
        if self.p < SIGNIFICANCE and (-loss if self.name == THROUGHPUT else loss) > allowed:
            return "worse"
        return "not worse" if self.change.bound <= allowed else "open"


class Change(NamedTuple):
    """The change of a guardrail, in its own unit."""

    low: float  # lower end of its 95 % interval
    high: float  # upper end
    bound: float  # one-sided 95 % bound: it got worse by less
    p: float  # one-sided, against no loss


def guardrails(base: Diagnosis, other: Diagnosis, shared: QuestionMatch) -> list[Guardrail]:
    """Compare the guardrails that both runs measured."""
    clusters = base.scored.clusters[shared.base]
    measured: list[Guardrail] = []
    for name in GUARDRAILS:
        if shared.sampled and name in (THROUGHPUT, TAIL_LATENCY):  # those of kept calls are not those of all
            continue
        if name == THROUGHPUT:
            measured += _throughput(base.scored, other.scored)
            continue
        before, after = _values(base, name), _values(other, name)
        if before is None or after is None:
            continue
        if shared.sampled:
            if np.nansum(before) or np.nansum(after):
                pair = RunPair(base.scored, other.scored, shared)
                measured.append(_unpaired(name, before, after, pair))
            continue
        before, after = before[shared.base], after[shared.other]
        known = np.isfinite(before) & np.isfinite(after)
        if before[known].any() or after[known].any():  # nobody asks for errors that neither run has
            measured.append(_compared(name, before[known], after[known], clusters[known]))
    adjusted = holm([guardrail.p for guardrail in measured])
    return [replace(each, p=float(p)) for each, p in zip(measured, adjusted, strict=True)]


def judged_guardrails(base: Diagnosis, other: Diagnosis, shared: QuestionMatch) -> list[GateResult]:
    """Judge the guardrails that both runs measured, as warning gates."""
    return [
        judge_guardrail(each.name, each.base, each.other, each.n, each.state, each.change[:3], each.unpaired)
        for each in guardrails(base, other, shared)
    ]


def _values(side: Diagnosis, name: str) -> FloatArray | None:
    """(q,) the guardrail of each question of a run; None where it is not recorded."""
    if name == "errors":
        return unanswered(side.scored)
    if name == WRONG_REFUSALS:
        if not side.answers.n:  # what never answers never refuses
            return None
        refused = side.refusals.wrong.astype(np.float64)
        return question_means(refused, side.scored.question)[0]
    values = question_values(side, GUARDRAILS[name])
    return values if np.isfinite(values).any() else None


def _unpaired(name: str, before: FloatArray, after: FloatArray, pair: RunPair) -> Guardrail:
    bounds = (0.0, 1.0) if not GUARDRAILS[name] else (0.0, float("inf"))
    found = change_of(pair, before, after, False, bounds)
    test = found.difference
    change = Change(test.low, test.high, test.high_bound, test.p_rise)
    return Guardrail(name, found.base, found.other, test.n_pairs, change, change.p, test.unpaired)


def _compared(name: str, before: FloatArray, after: FloatArray, clusters: IntArray) -> Guardrail:
    if name.startswith("p95"):
        values = float(np.quantile(before, TAIL)), float(np.quantile(after, TAIL))
        return Guardrail(name, *values, len(before), change := _tail_change(before, after), change.p)
    bounds = (0.0, 1.0) if not GUARDRAILS[name] else (0.0, float("inf"))
    test = paired(before, after, clusters, higher_is_better=False, bounds=bounds)
    change = Change(test.low, test.high, test.high_bound, test.p_rise)
    if test.same == test.n_pairs and not np.isfinite(
        test.high_bound
    ):  # no question changed, on an open scale
        change = Change(0.0, 0.0, 0.0, 1.0)
    return Guardrail(name, float(before.mean()), float(after.mean()), len(before), change, change.p)


def _tail_change(before: FloatArray, after: FloatArray) -> Change:
    """Return the change of the percentile: its interval from questions drawn anew, its p from swapped runs.

    No formula is at hand for the difference of two paired percentiles.
    """
    n = len(before)
    draws = max(99, min(_DRAWS, _MOST_VALUES // n))
    rng = np.random.default_rng(0)

    def rises(first: FloatArray, second: FloatArray) -> FloatArray:
        return np.asarray(np.quantile(second, TAIL, axis=-1) - np.quantile(first, TAIL, axis=-1))

    rise, hits, drawn = rises(before, after), 1, np.empty(draws)
    block = max(1, _BLOCK // n)
    for start in range(0, draws, block):
        pairs = [(rng.random(n) < 0.5, rng.integers(0, n, n)) for _ in range(min(block, draws - start))]
        swap, rows = (np.stack(part) for part in zip(*pairs, strict=True))
        swapped = rises(np.where(swap, after, before), np.where(swap, before, after))
        hits += int((swapped >= rise - 1e-9).sum())
        drawn[start : start + len(rows)] = rises(before[rows], after[rows])
    low, high, bound = (float(end) for end in np.quantile(drawn, (0.025, 0.975, 0.95)))
    return Change(low, high, bound, hits / (draws + 1))


def _throughput(base: ScoredRun, other: ScoredRun) -> Iterator[Guardrail]:
    """Compare requests per minute, from when the questions of both runs were asked; nothing where unknown.

    The gaps between requests are taken as independent: a rate is 1 over their mean, its error by the delta
    method.
    """
    gaps = [_gaps(side.samples_path) for side in (base, other)]
    if any(len(each) < FEWEST_TIMES - 1 or not each.sum() for each in gaps):
        return
    rates = [60 / float(each.mean()) for each in gaps]
    errors = [
        rate * float(each.std(ddof=1) / each.mean()) / len(each) ** 0.5
        for rate, each in zip(rates, gaps, strict=True)
    ]
    difference, error = rates[1] - rates[0], float(np.hypot(*errors))
    reach = normal_quantile(0.975) * error
    bound = normal_quantile(0.95) * error - difference
    p = normal_tail(-difference / error) if error else float(difference >= 0)
    change = Change(difference - reach, difference + reach, bound, p)
    yield Guardrail(THROUGHPUT, rates[0], rates[1], len(gaps[1]) + 1, change, p)


@lru_cache(maxsize=256)  # the samples of a run never change
def _gaps(samples: Path) -> FloatArray:
    """Return the seconds between requests, in the order of their times; empty where no time is recorded."""
    with reading(samples):
        if "extra" not in pq.read_schema(samples).names:
            return np.empty(0)
        extras = pq.read_table(samples, columns=["extra"])["extra"].to_pylist()
    times = [moment(Fields(further_fields(extra, *TIMES)).at(*TIMES)) for extra in extras if extra]
    return np.diff(np.sort([time.replace(tzinfo=UTC).timestamp() for time in times if time is not None]))


@dataclass(frozen=True)
class Loss:
    """Something that got worse beyond chance and by the margin, whatever else got better."""

    metric: str  # of groundedness, or the pass rate
    slice: tuple[str, str] | None  # name and value, of critical cases their tag; None for all questions
    base: float
    other: float
    n: int  # shared questions
    drop: float  # in the metric's own direction
    adjusted_p: float  # Holm's: over groundedness and the declared slices; of other slices, over all slices


@dataclass(frozen=True)
class RankingChange:
    """How the ranking of the gold moved in a pair of runs whose answers did not."""

    metric: str  # nDCG, else recall
    before: float  # mean of the baseline over the shared questions
    after: float
    n: int  # shared questions with a value in both
    p: float  # two-sided


def ranking_change(base: Diagnosis, other: Diagnosis, shared: QuestionMatch) -> RankingChange | None:
    """Return the change of the ranking beyond chance and margin, where the pass rates do not differ so."""
    clusters = base.scored.clusters[shared.base]

    def tested(metric: str) -> tuple[PairedDifference, FloatArray, FloatArray]:
        before = question_values(base, metric)[shared.base]
        after = question_values(other, metric)[shared.other]
        known = np.isfinite(before) & np.isfinite(after)
        return paired(before, after, clusters), before[known], after[known]

    rate = tested(GOOD_SHARE)[0]
    if not (base.answers.n and other.answers.n and rate.n_pairs) or _moved(rate):
        return None
    for metric in (f"ndcg@{SHOWN_K}", f"span_ndcg@{SHOWN_K}", f"recall@{SHOWN_K}"):
        change, before, after = tested(metric)
        if change.n_pairs:
            means = float(before.mean()), float(after.mean())
            moved = RankingChange(metric, *means, change.n_pairs, change.p)
            return moved if _moved(change) else None
    return None


def _moved(change: PairedDifference) -> bool:
    return change.p < SIGNIFICANCE and abs(change.difference) >= MARGIN - 1e-9


def losses(base: Diagnosis, other: Diagnosis, changes: Sequence[SliceChange]) -> tuple[Loss, ...]:
    """List where groundedness, critical cases or the cases of a slice got worse, the largest first.

    Query types, languages and critical cases are tested with groundedness, the other slices as on Compare.
    `changes` are those of slice_changes. Labels count where both sides have them.
    """
    shared = match_questions(base.scored, other.scored)
    base, other = with_shared_labels(base, other)
    declared = [_slice_loss(each, each.difference.p) for each in changes if _is_declared(each)]
    candidates = [*_groundedness(base, other, shared), *declared]
    adjusted = holm([loss.adjusted_p for loss in candidates])
    tested = [replace(loss, adjusted_p=float(p)) for loss, p in zip(candidates, adjusted, strict=True)]
    own_family = {*DECLARED_SLICES, CRITICAL[0]}
    tested += [_slice_loss(each, each.adjusted_p) for each in changes if each.name not in own_family]
    certain = [loss for loss in tested if loss.adjusted_p < SIGNIFICANCE and loss.drop >= MARGIN - 1e-9]
    return tuple(sorted(certain, key=lambda loss: -loss.drop))


def _groundedness(base: Diagnosis, other: Diagnosis, shared: QuestionMatch) -> Iterator[Loss]:
    for metric in GROUNDEDNESS:
        before, after = question_values(base, metric), question_values(other, metric)
        higher, pair = higher_is_better(metric), RunPair(base.scored, other.scored, shared)
        found = change_of(pair, before, after, higher, bounds_of(metric))
        change = found.difference
        if change.n_pairs:
            drop = drop_of(change, higher)
            yield Loss(metric, None, found.base, found.other, change.n_pairs, drop, change.p)


def _is_declared(change: SliceChange) -> bool:
    critical = change.name == CRITICAL[0] and change.value.casefold() in CRITICAL[1]
    return critical or change.name in DECLARED_SLICES


def _slice_loss(change: SliceChange, p: float) -> Loss:
    drop, where = drop_of(change.difference, True), (change.name, change.value)
    return Loss(GOOD_SHARE, where, change.base, change.other, change.difference.n_pairs, drop, p)
