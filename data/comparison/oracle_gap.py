"""What is lost in retrieval and what in generation: a run beside its answers from the gold documents.

With the gold documents in hand, retrieval has nothing left to lose. So the quality that a run lacks parts
into what the oracle context brings back (lost in retrieval) and what is still missing then (lost in
generation); over the same questions the two add up to all that is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from data.comparison.compare import GOOD_SHARE, match_questions
from data.diagnosis.diagnosis import Diagnosis, passing_of
from data.scoring.scored_run import ScoredRun
from data.store.workspace import Run
from metrics.diagnosis.patterns import CaseThresholds
from metrics.metric_registry import declared, ordered
from metrics.schema.scores import BoolArray, FloatArray, IntArray, Source
from metrics.statistics.intervals import interval, question_means
from metrics.statistics.paired import paired

__all__ = [
    "BEST",
    "CLOSED",
    "ONE_PASSAGE",
    "ORACLE",
    "OUTCOME_METRIC",
    "OWN_CONTEXT",
    "RETRIEVED",
    "GapEstimate",
    "GapKind",
    "OracleGap",
    "PairedRuns",
    "cautions",
    "context_modes",
    "generator_of",
    "given_one",
    "lost_rows",
    "oracle_gap",
    "original_of",
    "outcome_metrics_of",
    "paired_runs_of",
    "right_from",
]

OUTCOME_METRIC = (
    *("correctness", "answer_correctness", "factual_correctness", "answer_f1", "answer_recall"),
    *("faithfulness", GOOD_SHARE),
)  # the first that both runs have is the default
OWN_CONTEXT: Mapping[str, str] = {
    "faithfulness": "faithfulness holds each answer against its own context, so it says little of what "
    "retrieval loses; correctness would say more",
    GOOD_SHARE: "a case with a poor context counts as bad whatever its answer, so the pass rate blames "
    "retrieval more than the answers do; correctness would say more",
}
DECIDING = ("faithfulness", "answer_relevancy", "correctness", "check_failed")  # what makes a case bad
BEST = 1.0  # every quality here ends at 1
RIGHT = 0.5


def outcome_metrics_of(diagnoses: Sequence[Diagnosis]) -> list[str]:
    """List what the quality can be read from: what all the runs have, from 0 to 1, the default first.

    The pass rate is among them where the same things make a case good or bad in all the runs: what is not
    measured fails nobody.
    """
    others = [name for name in ordered(diagnoses[0].scored.metrics) if _is_quality(name)]
    return [
        name
        for name in (*OUTCOME_METRIC, *others)
        if (_alike(diagnoses) if name == GOOD_SHARE else all(_has(one, name) for one in diagnoses))
    ]


def _is_quality(name: str) -> bool:
    found = declared(name)
    if found is None or name in OUTCOME_METRIC or found.component != "answer":
        return False
    return found.higher_is_better is True and found.bounds == (0.0, BEST)


def _has(diagnosis: Diagnosis, name: str) -> bool:
    scored = diagnosis.scored
    values = scored.stage_features[name] if name == "check_failed" else scored.values(name)
    return bool(np.isfinite(values).any())


def _alike(diagnoses: Sequence[Diagnosis]) -> bool:
    """Whether the pass rate rests on the same measurements in all the runs, and on any."""
    found = [{name for name in DECIDING if _has(one, name)} for one in diagnoses]
    return bool(found[0]) and all(one == found[0] for one in found)


def right_from(quality: str, cutoffs: CaseThresholds) -> float:
    """Give the value from which an answer counts as right: the metric's own cut-off where it has one."""
    return float(getattr(cutoffs, quality, RIGHT))


GapKind = Literal["retrieval", "generation", "context"]
RETRIEVED, ORACLE, CLOSED = "retrieved", "oracle", "closed_book"


@dataclass(frozen=True)
class GapEstimate:
    """One part of the quality, with its 95 % interval.

    Attributes:
        key: "retrieval" and "generation" are lost, "context" is what the retrieved context adds.
        value: mean over questions; NaN without any.
        low: lower end.
        high: upper end.
        n: questions behind it.
        method: how the interval was obtained.
        too_few: whether it rests on too little to be trusted.
    """

    key: GapKind
    value: float
    low: float
    high: float
    n: int
    method: str
    too_few: bool


@dataclass(frozen=True)
class OracleGap:
    """A run parted into what its stages lose.

    Attributes:
        quality: the metric, or GOOD_SHARE.
        right: from which value an answer counts as right.
        losses: one entry a part that is known.
        retrieved: mean with the retrieved context over the questions of the first two losses, or NaN.
        oracle: mean with the gold documents over the same, or NaN.
        closed_book: mean without documents over the questions of the third, or NaN.
        unpaired: questions with a value for the retrieved context and none for the oracle's.
        counts: questions by (right as retrieved, right with gold).
        sources: who measured: original, oracle, closed book; () where a run is not there.
    """

    outcome_metric: str
    right: float
    gaps: tuple[GapEstimate, ...]
    retrieved: float
    oracle: float
    closed_book: float
    unpaired: int
    counts: dict[tuple[bool, bool], int]
    sources: tuple[tuple[str, ...], ...]

    def gap(self, key: GapKind) -> GapEstimate | None:
        """Give one part; None where it is not known."""
        return next((one for one in self.gaps if one.key == key), None)


def context_modes(scored: ScoredRun) -> tuple[BoolArray, str]:
    """Say of every sample what its answer was given, and what the run as a whole is.

    Returns:
        (n,) True where the sample has the mode of the run, and that mode: the most frequent one, a sample
        that names none being taken as retrieved.
    """
    modes = np.asarray(scored.index["context_mode"].fill_null(RETRIEVED).to_pylist(), dtype=object)
    counts = {mode: int((modes == mode).sum()) for mode in (RETRIEVED, ORACLE, CLOSED)}
    most = max(counts, key=counts.__getitem__)
    return np.asarray(modes == most, dtype=np.bool_), most


def oracle_gap(
    original: Diagnosis | None, oracle: Diagnosis, quality: str, closed: Diagnosis | None = None
) -> OracleGap:
    """Part the quality of a run into what its stages lose, question by question, repeats averaged.

    Args:
        original: the run with its retrieved context; None where only the oracle run is there, which then has
            the loss in generation alone.
        oracle: the same questions answered from the gold documents.
        quality: a metric of qualities_of.
        closed: the same questions answered without documents.
    """
    source = None if original is None else _shared_source(original, oracle, quality)
    top = _Side.of(oracle, quality, source)
    base = top if original is None else _Side.of(original, quality, source)
    before, after, clusters = base.beside(top)
    known = np.isfinite(before) & np.isfinite(after)
    losses = [] if original is None else [_gap("retrieval", before, after, clusters)]
    losses.append(_missing(after[known], clusters[known]))
    added, without, below = (None, float("nan"), ()) if closed is None else _added(original, closed, quality)
    losses += [] if added is None else [added]
    right = right_from(quality, oracle.settings.thresholds)
    return OracleGap(
        outcome_metric=quality,
        right=right,
        gaps=tuple(losses),
        retrieved=float("nan") if original is None else _mean(before[known]),
        oracle=_mean(after[known]),
        closed_book=without,
        unpaired=int(np.isfinite(base.means).sum() - known.sum()),
        counts=_counts(before[known] >= right, after[known] >= right),
        sources=(() if original is None else base.sources, top.sources, below),
    )


def _added(
    original: Diagnosis | None, closed: Diagnosis, quality: str
) -> tuple[GapEstimate | None, float, tuple[str, ...]]:
    """What the retrieved context adds to an answer without documents, the mean without, and who measured."""
    if original is None:
        return None, float("nan"), ()
    source = _shared_source(original, closed, quality)
    bottom = _Side.of(closed, quality, source)
    without, given, clusters = bottom.beside(_Side.of(original, quality, source))
    mean = _mean(without[np.isfinite(given)])
    return _gap("context", without, given, clusters), mean, bottom.sources


@dataclass(frozen=True)
class _Side:
    """The quality of one run, a value a question."""

    scored: ScoredRun
    means: FloatArray
    sources: tuple[str, ...]

    @classmethod
    def of(cls, diagnosis: Diagnosis, quality: str, source: Source | None) -> _Side:
        scored = diagnosis.scored
        column = None if quality == GOOD_SHARE else scored.column(quality, source)
        values = passing_of(diagnosis) if quality == GOOD_SHARE else np.full(scored.n, np.nan)
        values = values if column is None else column.values
        mine, _ = context_modes(scored)
        means = question_means(np.where(mine, values, np.nan), scored.question)[0]
        return cls(scored, means, ("cut-offs",) if column is None else tuple(column.sources))

    def beside(self, other: _Side) -> tuple[FloatArray, FloatArray, IntArray]:
        """Give the values of the shared questions on both sides, and the questions' clusters."""
        found = match_questions(self.scored, other.scored)
        return self.means[found.base], other.means[found.other], self.scored.clusters[found.base]


def _shared_source(left: Diagnosis, right: Diagnosis, quality: str) -> Source | None:
    """Pick whose values to take on both sides: one source that both have, that with the most pairs.

    None, each value from the best source, where the runs have no source in common or the metric has none.
    """
    if quality == GOOD_SHARE:
        return None
    found = (set(one.scored.sources.get(quality, ())) for one in (left, right))
    common = sorted(set.intersection(*found))
    pairs = {source: _pairs(left, right, quality, source) for source in common}
    best = max(pairs, key=pairs.__getitem__, default=None)  # of equals the first, which has precedence
    return best if best is not None and pairs[best] else None


def _pairs(left: Diagnosis, right: Diagnosis, quality: str, source: Source) -> int:
    before, after, _ = _Side.of(left, quality, source).beside(_Side.of(right, quality, source))
    return int((np.isfinite(before) & np.isfinite(after)).sum())


def _gap(key: GapKind, less: FloatArray, more: FloatArray, clusters: IntArray) -> GapEstimate:
    found = paired(less, more, clusters)
    method = found.method.partition(" interval")[0]
    return GapEstimate(key, found.difference, found.low, found.high, found.n_pairs, method, found.too_few)


def _missing(values: FloatArray, clusters: IntArray) -> GapEstimate:
    lacking = BEST - values
    binary = bool(np.isin(lacking, (0.0, 1.0)).all())
    found = interval(lacking, clusters, len(lacking), binary)
    return GapEstimate(
        "generation", found.mean, found.low, found.high, found.n_scored, found.method, found.too_few
    )


def _mean(values: FloatArray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def _counts(retrieved: BoolArray, oracle: BoolArray) -> dict[tuple[bool, bool], int]:
    return {
        (left, right): int(((retrieved == left) & (oracle == right)).sum())
        for left in (True, False)
        for right in (True, False)
    }


def lost_rows(
    shown: Diagnosis, oracle: Diagnosis, quality: str, where: Literal["retrieval", "generation"]
) -> BoolArray:
    """Say of every sample of a run whether its question was lost in a stage.

    Lost in retrieval: wrong as it was retrieved and right with the gold documents; in generation: wrong with
    both.

    Args:
        shown: the run whose samples are marked; the oracle run itself where it stands alone.
        oracle: the run with the gold documents.
        quality: a metric of qualities_of.
        where: the stage.
    """
    source = _shared_source(shown, oracle, quality)
    base, top = _Side.of(shown, quality, source), _Side.of(oracle, quality, source)
    found = match_questions(base.scored, top.scored)
    before, after = base.means[found.base], top.means[found.other]
    right = right_from(quality, oracle.settings.thresholds)
    there = after >= right if where == "retrieval" else after < right
    lost = np.zeros(len(base.means), dtype=np.bool_)
    lost[found.base[(before < right) & there]] = True  # what is not measured is neither
    return np.asarray(lost[shown.scored.question])


LEAST_SHARED = 0.5  # of the original's questions
MODEL_KEYS = ("generator_model", "generator", "model", "llm", "model_name")
PROMPT_KEYS = ("generator_prompt", "prompt_version", "prompt")
ONE_PASSAGE = (
    "each question came with one given passage: near to an oracle, and its loss is all of it generation, as "
    "nothing was retrieved"
)


@dataclass(frozen=True)
class PairedRuns:
    """What stands beside a run, the nearest first: made from it, by the same generator, newest.

    Attributes:
        mode: what the answers of the run itself were given: retrieved, oracle or closed_book.
        oracle: runs of the same questions with the gold documents.
        closed: runs of the same questions without documents.
    """

    mode: str
    oracle: tuple[Run, ...] = ()
    closed_book: tuple[Run, ...] = ()


def paired_runs_of(run: Run, runs: Iterable[Run], table_of: Callable[[Run], ScoredRun]) -> PairedRuns:
    """Find the partners of a run among the runs of its project.

    A partner was made from the run or from the same original; else it has the same data set, where both name
    one, and at least half of the run's questions.

    Args:
        run: the run.
        runs: those of its project.
        table_of: gives a run's arrays.
    """
    _, mode = context_modes(table_of(run))
    if mode != RETRIEVED:
        return PairedRuns(mode)
    found: dict[str, list[Run]] = {ORACLE: [], CLOSED: []}
    for other in runs:
        if other.run_id == run.run_id or other.means or "context_mode" not in other.fields:
            continue
        _, theirs = context_modes(table_of(other))
        if theirs in found and (_kin(run, other) or _same_questions(run, other, table_of)):
            found[theirs].append(other)
    nearest = {theirs: sorted(them, key=lambda one: _distance(run, one)) for theirs, them in found.items()}
    return PairedRuns(mode, tuple(nearest[ORACLE]), tuple(nearest[CLOSED]))


def _origin(run: Run) -> str:
    return str(run.config.get("generated_from") or run.run_id)


def _kin(run: Run, other: Run) -> bool:
    return _origin(run) == _origin(other)


def _same_questions(run: Run, other: Run, table_of: Callable[[Run], ScoredRun]) -> bool:
    if run.dataset and other.dataset and run.dataset != other.dataset:
        return False
    shared = len(match_questions(table_of(run), table_of(other)).base)
    return shared >= LEAST_SHARED * run.n_questions


def _distance(run: Run, other: Run) -> tuple[bool, bool, float, str]:
    same = generator_of(run.config) == generator_of(other.config)
    return (not _kin(run, other), not same, -other.created_at.timestamp(), other.run_id)


def original_of(run: Run, runs: Iterable[Run]) -> Run | None:
    """Find the run whose questions a generated run answered; None where it is not there."""
    wanted = run.config.get("generated_from")
    return next((one for one in runs if one.run_id == wanted), None)


def generator_of(config: Mapping[str, Any]) -> tuple[str, str]:
    """Name model and prompt of the generator as a configuration records them; "" for what it does not."""
    found = [
        next((str(config[key]) for key in keys if config.get(key)), "") for keys in (MODEL_KEYS, PROMPT_KEYS)
    ]
    return found[0], found[1]


def cautions(run: Run, other: Run, scored: ScoredRun) -> list[str]:
    """Say what keeps the difference between a run and a partner from being that of the context alone.

    Args:
        run: the original run.
        other: the partner.
        scored: of the partner.
    """
    mine, theirs = generator_of(run.config), generator_of(other.config)
    found = [
        f"the {what} differs: {before or 'not recorded'} in this run, {after or 'not recorded'} in the other"
        for what, before, after in zip(("generator", "prompt of the generator"), mine, theirs, strict=True)
        if before != after
    ]
    if not mine[0] and not theirs[0]:
        found.append("neither run records its generator (`model` in its configuration)")
    if "generated_from" not in other.config and given_one(scored):
        found.append(ONE_PASSAGE)
    return found


def given_one(scored: ScoredRun) -> bool:
    """Say whether every question of a run came with a single passage at most."""
    return bool(np.nanmax(scored.stage_features["documents"], initial=0) <= 1)
