"""The oracle gap: how much of what a run lacks is retrieval error and how much generation error.

A run is compared with answers to the same questions from the gold documents (oracle context), where retrieval
cannot fail. What the oracle context gains is the retrieval error; what is still missing with it is the
generation error. Over the same questions the two add up to all that the run lacks. A closed-book run (answers
without documents) shows besides how much the retrieved context adds.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ragtriage.data.comparison.question_match import match_questions
from ragtriage.data.diagnosis.diagnosis import Diagnosis, passing_of
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.diagnosis.patterns import CaseThresholds
from ragtriage.metrics.diagnosis.right import CORRECTNESS
from ragtriage.metrics.gates.wording import GOOD_SHARE
from ragtriage.metrics.metric_registry import declared, ordered
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, Source
from ragtriage.metrics.statistics.intervals import interval, question_means
from ragtriage.metrics.statistics.paired import paired

OUTCOME_METRIC = (
    *CORRECTNESS,
    *("answer_f1", "answer_recall"),
    *("faithfulness", GOOD_SHARE),
)  # the first that both runs have is the default
OWN_CONTEXT: Mapping[str, str] = {
    "faithfulness": "faithfulness compares each answer with its own context, so it says little about "
    "retrieval error; correctness would say more",
    GOOD_SHARE: "a case with a poor context counts as bad whatever its answer, so the pass rate blames "
    "retrieval more than the answers do; correctness would say more",
}
PASS_RATE_INPUTS = ("faithfulness", "answer_relevancy", *CORRECTNESS, "check_failed")  # can make a case bad
BEST = 1.0  # highest value of every outcome metric
RIGHT = 0.5


def outcome_metrics_of(diagnoses: Sequence[Diagnosis]) -> list[str]:
    """List the outcome metrics, from 0 to 1, that all the runs have, the default first.

    The pass rate is one of them only where it rests on the same measurements in all the runs, because what
    was not measured cannot make a case fail.
    """
    available = [{name for name in PASS_RATE_INPUTS if _has(diagnosis, name)} for diagnosis in diagnoses]
    same_inputs = bool(available[0]) and all(names == available[0] for names in available)
    others = [name for name in ordered(diagnoses[0].scored.metrics) if _is_answer_metric(name)]
    return [
        name
        for name in (*OUTCOME_METRIC, *others)
        if (same_inputs if name == GOOD_SHARE else all(_has(diagnosis, name) for diagnosis in diagnoses))
    ]


def _is_answer_metric(name: str) -> bool:
    metric = declared(name)
    if metric is None or name in OUTCOME_METRIC or metric.component != "answer":
        return False
    return metric.higher_is_better is True and metric.bounds == (0.0, BEST)


def _has(diagnosis: Diagnosis, name: str) -> bool:
    scored = diagnosis.scored
    values = scored.stage_features[name] if name == "check_failed" else scored.values(name)
    return bool(np.isfinite(values).any())


def right_from(outcome_metric: str, thresholds: CaseThresholds) -> float:
    """Return the value from which an answer counts as right: the metric's case threshold where it has one."""
    return float(getattr(thresholds, outcome_metric, RIGHT))


GapKind = Literal["retrieval", "generation", "context"]
RETRIEVED, ORACLE, CLOSED_BOOK = "retrieved", "oracle", "closed_book"


@dataclass(frozen=True)
class GapEstimate:
    """One part of the oracle gap, with its 95 % interval."""

    # "retrieval" and "generation" are errors; "context" is what the retrieved context adds to closed-book
    # answers
    key: GapKind
    value: float  # mean over questions; NaN without any
    low: float  # lower bound
    high: float  # upper bound
    n: int  # number of questions
    method: str  # how the interval was obtained
    too_few: bool  # True where the interval rests on too few questions to be trusted


@dataclass(frozen=True)
class OracleGap:
    """What a run lacks, split into retrieval error and generation error."""

    outcome_metric: str  # the metric, or GOOD_SHARE
    right: float  # value from which an answer counts as right
    gaps: tuple[GapEstimate, ...]  # the parts that are known
    retrieved: float  # mean with the retrieved context over the questions of both errors, or NaN
    oracle: float  # mean with the gold documents over the same questions, or NaN
    closed_book: float  # mean without documents over the questions of "context", or NaN
    unpaired: int  # questions with a value for the retrieved context and none for the oracle context
    counts: dict[tuple[bool, bool], int]  # number of questions by (right as retrieved, right with gold)
    # sources of the values: of the original, the oracle and the closed-book run; () without one
    sources: tuple[tuple[str, ...], ...]

    def gap(self, key: GapKind) -> GapEstimate | None:
        """Return one part; None where it is not known."""
        return next((gap for gap in self.gaps if gap.key == key), None)


def context_modes(scored: ScoredRun) -> tuple[BoolArray, str]:
    """Return which samples have the context mode of their run, and that mode.

    Returns:
        (n,) True where the sample has the mode of the run, and that mode: the most frequent one. A sample
        that records none counts as retrieved.
    """
    modes = np.asarray(scored.index["context_mode"].fill_null(RETRIEVED).to_pylist(), dtype=object)
    counts = {mode: int((modes == mode).sum()) for mode in (RETRIEVED, ORACLE, CLOSED_BOOK)}
    most = max(counts, key=counts.__getitem__)
    return np.asarray(modes == most, dtype=np.bool_), most


@dataclass(frozen=True)
class _Outcome:
    """The outcome metric of one run: a mean per question, and the sources of the values."""

    scored: ScoredRun
    means: FloatArray
    sources: tuple[str, ...]


@dataclass(frozen=True)
class _Pair:
    """The outcome metric of two runs over the questions that they share, each value (s,)."""

    left: _Outcome
    right: _Outcome
    before: FloatArray
    after: FloatArray
    clusters: IntArray
    questions: IntArray  # indexes into the left run's questions

    @property
    def known(self) -> BoolArray:
        """(s,) True where both runs have a value."""
        return np.isfinite(self.before) & np.isfinite(self.after)


def _outcome(diagnosis: Diagnosis, outcome_metric: str, source: Source | None) -> _Outcome:
    scored = diagnosis.scored
    values = np.full(scored.n, np.nan)
    sources: tuple[str, ...] = ("case thresholds",)
    if outcome_metric == GOOD_SHARE:
        values = passing_of(diagnosis)
    elif (column := scored.column(outcome_metric, source)) is not None:
        values, sources = column.values, tuple(column.sources)
    has_mode, _ = context_modes(scored)
    return _Outcome(scored, question_means(np.where(has_mode, values, np.nan), scored.question)[0], sources)


def _paired_by(left: Diagnosis, right: Diagnosis, outcome_metric: str, source: Source | None) -> _Pair:
    outcomes = _outcome(left, outcome_metric, source), _outcome(right, outcome_metric, source)
    shared = match_questions(left.scored, right.scored)
    before, after = outcomes[0].means[shared.base], outcomes[1].means[shared.other]
    return _Pair(*outcomes, before, after, left.scored.clusters[shared.base], shared.base)


def _pair(left: Diagnosis, right: Diagnosis, outcome_metric: str) -> _Pair:
    """Pair two runs by question, with values of one source: of those that both have, that with most pairs.

    Without a common source that gives any pair, each value comes from the best source of its run.
    """
    sources: set[Source] = set()
    if outcome_metric != GOOD_SHARE:
        sources = set(left.scored.sources.get(outcome_metric, ()))
        sources &= set(right.scored.sources.get(outcome_metric, ()))
    pairs = [_paired_by(left, right, outcome_metric, source) for source in sorted(sources)]
    best = max(pairs, key=lambda pair: int(pair.known.sum()), default=None)  # the first, best one if equal
    return best if best is not None and best.known.any() else _paired_by(left, right, outcome_metric, None)


def oracle_gap(
    original: Diagnosis | None, oracle: Diagnosis, outcome_metric: str, closed_book: Diagnosis | None = None
) -> OracleGap:
    """Split what a run lacks into retrieval error and generation error, question by question.

    Repeats of a question are averaged first. Without the original run, the generation error alone is known.
    """
    if original is None:
        pair = _paired_by(oracle, oracle, outcome_metric, None)
    else:
        pair = _pair(original, oracle, outcome_metric)
    known, right = pair.known, right_from(outcome_metric, oracle.settings.thresholds)
    before, after = pair.before[known], pair.after[known]
    lacking = BEST - after
    error = interval(lacking, pair.clusters[known], len(lacking), bool(np.isin(lacking, (0.0, 1.0)).all()))
    gaps = [
        GapEstimate(
            "generation", error.mean, error.low, error.high, error.n_scored, error.method, error.too_few
        )
    ]
    without = float("nan")
    closed_sources: tuple[str, ...] = ()
    if original is not None:
        gaps.insert(0, _difference("retrieval", pair))
        if closed_book is not None:
            added = _pair(closed_book, original, outcome_metric)
            gaps.append(_difference("context", added))
            without, closed_sources = _mean(added.before[added.known]), added.left.sources
    return OracleGap(
        outcome_metric=outcome_metric,
        right=right,
        gaps=tuple(gaps),
        retrieved=float("nan") if original is None else _mean(before),
        oracle=_mean(after),
        closed_book=without,
        unpaired=int(np.isfinite(pair.left.means).sum() - known.sum()),
        counts={
            (as_retrieved, with_gold): int(
                (((before >= right) == as_retrieved) & ((after >= right) == with_gold)).sum()
            )
            for as_retrieved in (True, False)
            for with_gold in (True, False)
        },
        sources=(() if original is None else pair.left.sources, pair.right.sources, closed_sources),
    )


def _difference(key: GapKind, pair: _Pair) -> GapEstimate:
    result = paired(pair.before, pair.after, pair.clusters)
    method = result.method.partition(" interval")[0]
    return GapEstimate(
        key, result.difference, result.low, result.high, result.n_pairs, method, result.too_few
    )


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if len(values) else float("nan")


def lost_rows(
    shown: Diagnosis, oracle: Diagnosis, outcome_metric: str, component: Literal["retrieval", "generation"]
) -> BoolArray:
    """Return which samples of a run belong to a question that a component lost.

    Lost in retrieval: wrong as retrieved and right with the gold documents; in generation: wrong with both.
    Where there is no other, `shown` is the oracle run itself.

    Returns:
        (n,) True where the sample's question was lost; a question without a value was not.
    """
    pair = _pair(shown, oracle, outcome_metric)
    right = right_from(outcome_metric, oracle.settings.thresholds)
    with_gold = pair.after >= right if component == "retrieval" else pair.after < right
    lost = np.zeros(len(pair.left.means), dtype=np.bool_)
    lost[pair.questions[(pair.before < right) & with_gold]] = True
    return np.asarray(lost[shown.scored.question])


LEAST_SHARED = 0.5  # of the original's questions
MODEL_KEYS = ("generator_model", "generator", "model", "llm", "model_name")
PROMPT_KEYS = ("generator_prompt", "prompt_version", "prompt")
ONE_PASSAGE = (
    "each question came with one given passage: close to an oracle context; nothing was retrieved, so all it "
    "lacks is generation error"
)


@dataclass(frozen=True)
class PairedRuns:
    """Runs to compare a run with: generated from it first, then by the same generator, then the newest."""

    mode: str  # context mode of the run itself: retrieved, oracle or closed_book
    oracle: tuple[Run, ...] = ()  # runs of the same questions with the gold documents
    closed_book: tuple[Run, ...] = ()  # runs of the same questions without documents


def paired_runs_of(run: Run, runs: Iterable[Run], scored_of: Callable[[Run], ScoredRun]) -> PairedRuns:
    """Find the oracle and closed-book runs of a run among the runs of its project.

    Such a run was generated from the run or from the same original; or it has the same data set, where both
    name one, and at least half of the run's questions.
    """
    _, mode = context_modes(scored_of(run))
    if mode != RETRIEVED:
        return PairedRuns(mode)
    partners: dict[str, list[Run]] = {ORACLE: [], CLOSED_BOOK: []}
    for other in runs:
        if other.run_id == run.run_id or other.means or "context_mode" not in other.fields:
            continue
        _, other_mode = context_modes(scored_of(other))
        if other_mode in partners and (_same_original(run, other) or _same_questions(run, other, scored_of)):
            partners[other_mode].append(other)

    def distance(other: Run) -> tuple[bool, bool, float, str]:
        other_generator = generator_of(run.config) != generator_of(other.config)
        return (not _same_original(run, other), other_generator, -other.created_at.timestamp(), other.run_id)

    oracle, closed_book = (sorted(partners[kind], key=distance) for kind in (ORACLE, CLOSED_BOOK))
    return PairedRuns(mode, tuple(oracle), tuple(closed_book))


def _same_original(run: Run, other: Run) -> bool:
    original = run.config.get("generated_from") or run.run_id
    return str(original) == str(other.config.get("generated_from") or other.run_id)


def _same_questions(run: Run, other: Run, scored_of: Callable[[Run], ScoredRun]) -> bool:
    if run.dataset and other.dataset and run.dataset != other.dataset:
        return False
    shared = len(match_questions(scored_of(run), scored_of(other)).base)
    return shared >= LEAST_SHARED * run.n_questions


def original_of(run: Run, runs: Iterable[Run]) -> Run | None:
    """Find the run that a run was generated from; None where it is not among the runs."""
    original_id = run.config.get("generated_from")
    return next((other for other in runs if other.run_id == original_id), None)


def generator_of(config: Mapping[str, Any]) -> tuple[str, str]:
    """Return model and prompt of the generator that a configuration records; "" for what it lacks."""
    model, prompt = (
        next((str(config[key]) for key in keys if config.get(key)), "") for keys in (MODEL_KEYS, PROMPT_KEYS)
    )
    return model, prompt


def cautions(run: Run, other: Run, scored: ScoredRun) -> list[str]:
    """List what else than the context differs between a run and its oracle or closed-book run.

    `scored` is the other run.
    """
    generator, other_generator = generator_of(run.config), generator_of(other.config)
    sentences = [
        f"the {what} differs: {before or 'not recorded'} in this run, {after or 'not recorded'} in the other"
        for what, before, after in zip(
            ("generator", "prompt of the generator"), generator, other_generator, strict=True
        )
        if before != after
    ]
    if not generator[0] and not other_generator[0]:
        sentences.append("neither run records its generator (`model` in its configuration)")
    if "generated_from" not in other.config and given_one(scored):
        sentences.append(ONE_PASSAGE)
    return sentences


def given_one(scored: ScoredRun) -> bool:
    """Return whether every question of a run has at most one passage."""
    return bool(np.nanmax(scored.stage_features["documents"], initial=0) <= 1)
