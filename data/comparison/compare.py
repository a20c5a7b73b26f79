"""Compare two runs: paired differences over shared questions, changed questions, stage transitions."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragtriage.data.comparison.answered import RefusalPairs, judged_otherwise, refusal_pairs, refusal_sentence
from ragtriage.data.comparison.compared_metrics import (
    by_words,
    higher_is_better,
    question_values,
    rates_alike,
)
from ragtriage.data.comparison.guardrails import Loss, losses
from ragtriage.data.comparison.pair_change import RunPair, change_of
from ragtriage.data.comparison.pair_labels import left_out_labels, with_shared_labels
from ragtriage.data.comparison.question_changes import SliceChange, slice_changes
from ragtriage.data.comparison.question_match import (
    QuestionMatch,
    first_rows,
    match_questions,
    paired_by_text,
)
from ragtriage.data.comparison.questions_asked import QuestionsAsked, asked_by_pair
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.diagnosis.weak_judge import weak_judges
from ragtriage.data.scoring.label_correction import corrected
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.judge_results import EVALUATION, judge_of
from ragtriage.metrics.diagnosis.stages import STAGES
from ragtriage.metrics.gates.gates import GateResult
from ragtriage.metrics.gates.wording import GOOD_SHARE
from ragtriage.metrics.metric_registry import bounds_of, is_share, title_of
from ragtriage.metrics.schema.scores import FloatArray, IntArray
from ragtriage.metrics.statistics.intervals import question_means
from ragtriage.metrics.statistics.max_t import (
    ClusterSums,
    FamilyTest,
    MarginTest,
    Outcome,
    margin_test,
    max_t,
)
from ragtriage.metrics.statistics.paired import MARGIN, PairedDifference, RunFacts, comparability
from ragtriage.metrics.statistics.ppi import CorrectedMean
from ragtriage.metrics.statistics.unpaired import unpaired_family


@dataclass(frozen=True)
class MetricDifference:
    """One metric in two runs."""

    metric: str  # full name, or GOOD_SHARE
    base: float  # mean over the shared questions in the baseline; NaN where not scored
    other: float  # mean in the other run
    # other minus base, paired on question, with the interval of this metric by itself
    difference: PairedDifference
    # of the primary metric, its own p; of the others, after step-down max-T over their family
    adjusted_p: float
    test: MarginTest  # the difference against the margin: what every page, command and gate says of it
    low: float  # lower end of the interval with that correction: 0 lies outside where adjusted_p < 0.05
    high: float  # its upper end
    primary: bool = False  # whether this is the primary metric, which is tested alone
    by_words: bool = False  # whether one side is an estimate from words, so that it decides nothing

    @property
    def verdict(self) -> Outcome:
        """Better, worse, no worse than the margin, equal within it, cannot tell, no direction, estimated."""
        return "estimated" if self.by_words else self.test.outcome


@dataclass(frozen=True)
class Comparison:
    """Two runs compared on one family of metrics."""

    warnings: tuple[str, ...]  # what makes the runs unequal
    # the primary metric, the pass rate where it is not that, then one entry per metric in the given order
    differences: tuple[MetricDifference, ...]
    matched: QuestionMatch  # which questions are shared
    # the metrics of answers for which the runs refuse different questions
    refusals: tuple[RefusalPairs, ...] = ()
    # what got worse and no gain pays for: groundedness, a slice, critical cases
    losses: tuple[Loss, ...] = ()
    # how many questions the baseline and the other run answered, with both readings of the pass rate
    asked: tuple[QuestionsAsked, QuestionsAsked] | None = None
    labels: str = ""  # how human labels enter the pass rates, with the raw ones, as a sentence
    slices: tuple[SliceChange, ...] = ()  # pass rate of each slice, the largest change first
    guardrails: tuple[GateResult, ...] = ()  # that both runs record; of pairs that comparisons_with compares

    @property
    def primary(self) -> MetricDifference:
        """The primary metric, tested alone."""
        return self.differences[0]

    @property
    def n_family(self) -> int:
        """Number of metrics that are tested together, besides the primary one."""
        return len(self.differences) - 1

    def parts_answer(self) -> dict[str, Any]:
        """Return slices and guardrails as JSON values."""
        return {
            "slices": [
                {
                    "slice": each.name,
                    "value": each.value,
                    "baseline": each.base,
                    "run": each.other,
                    "difference": each.difference.difference,
                    "verdict_low": each.low,
                    "verdict_high": each.high,
                    "p": each.difference.p,
                    "adjusted_p": each.adjusted_p,
                    "n_pairs": each.difference.n_pairs,
                    "verdict": each.verdict,
                }
                for each in self.slices
            ],
            "guardrails": {
                each.gate.metric: {
                    "baseline": each.before,
                    "run": each.mean,
                    "low": each.low,
                    "high": each.high,
                    "largest_loss": each.largest_loss,
                    "n": each.n_scored,
                    "verdict": each.verdict,
                }
                for each in self.guardrails
            },
        }


@dataclass(frozen=True)
class Side:
    """One metric in two runs, before the correction over a family."""

    metric: str  # full name, or GOOD_SHARE
    base: float  # mean over the shared questions in the baseline
    other: float  # mean in the other run
    difference: PairedDifference  # other minus base, paired on question
    # the differences summed by cluster, for the test over a family; None where they are not paired
    clusters: ClusterSums | None


def metric_sides(base: ScoredRun, other: ScoredRun, metrics: Sequence[str]) -> list[Side]:
    """Compare two runs metric by metric. The result depends on no threshold, so a page can cache it."""
    matched = match_questions(base, other)
    return [metric_side(base, other, metric, matched) for metric in metrics]


def metric_side(base: ScoredRun, other: ScoredRun, metric: str, matched: QuestionMatch) -> Side:
    """Compare two runs on a metric, corrected where labels of a random sample correct it on both sides."""
    before, after = (question_means(scored.values(metric), scored.question)[0] for scored in (base, other))
    pair = RunPair(base, other, matched)
    side = paired_side(metric, before, after, pair)
    return _by_labels(side, (corrected(base, metric), corrected(other, metric)), pair)


def rate_side(base: Diagnosis, other: Diagnosis, matched: QuestionMatch) -> Side:
    """Compare two runs on their pass rates, corrected likewise; else by the labels that both sides share."""
    before, after = (question_values(each, GOOD_SHARE) for each in with_shared_labels(base, other))
    pair = RunPair(base.scored, other.scored, matched)
    if not rates_alike(base, other):  # nor are they where labels correct both
        return paired_side(GOOD_SHARE, before, np.full_like(after, np.nan), pair)
    side = paired_side(GOOD_SHARE, before, after, pair)
    return _by_labels(side, (base.label_correction, other.label_correction), pair)


def _by_labels(
    side: Side, corrections: tuple[CorrectedMean | None, CorrectedMean | None], pair: RunPair
) -> Side:
    """Return a side by its corrected values; which questions changed is said by the values themselves."""
    before, after = corrections
    if before is None or after is None:
        return side
    by_labels = paired_side(side.metric, before.by_question, after.by_question, pair)
    counts = side.difference
    difference = replace(by_labels.difference, better=counts.better, worse=counts.worse, same=counts.same)
    return replace(by_labels, difference=difference)


def paired_side(metric: str, before: FloatArray, after: FloatArray, pair: RunPair) -> Side:
    """Return one metric in two runs, from its means by question, NaN where not scored."""
    bounds = (0.0, 1.0) if metric == GOOD_SHARE else bounds_of(metric)
    change = change_of(pair, before, after, higher_is_better(metric), bounds)
    return Side(metric, change.base, change.other, change.difference, change.sums)


def compare(
    base: Diagnosis,
    other: Diagnosis,
    metrics: Sequence[str],
    sides: Sequence[Side] | None = None,
    primary: str = GOOD_SHARE,
    base_name: str = "the baseline",
) -> Comparison:
    """Compare two diagnosed runs on the primary metric, and on a family of others.

    The primary metric is tested alone; the pass rate and the family are corrected together (see
    ragtriage.metrics.statistics.max_t). Where the two runs share no value of the primary metric, the pass
    rate is it. `sides` is the result of metric_sides for the family, if it is already there; warnings call
    the baseline by `base_name`.
    """
    matched = match_questions(base.scored, other.scored)
    left_out, slices = left_out_labels(base, other), tuple(slice_changes(base, other))
    lost = losses(base, other, slices)
    family = [rate_side(base, other, matched)]
    base, other = with_shared_labels(base, other)
    family += metric_sides(base.scored, other.scored, metrics) if sides is None else sides
    warnings = unequal_runs(base.scored, other.scored, matched, base_name)
    asked = asked_by_pair(base, other, matched)
    sentences = asked[0].sentence(base_name), asked[1].sentence("the other run")
    warnings += filter(None, [*sentences, left_out, _retrieval_alone(base, other, base_name)])
    warnings += [f"{clause}." for clause in judged_otherwise(base, other, matched)]
    warnings += _corrected_alone(base.scored, other.scored, [side.metric for side in family])
    warnings += _doubted_judges(base, base_name, family) + _doubted_judges(other, "the other run", family)
    if primary not in [side.metric for side in family]:
        family += metric_sides(base.scored, other.scored, [primary])
    first = next(side for side in family if side.metric == primary)
    if not first.difference.n_pairs and primary != GOOD_SHARE:
        warnings.append(
            f"No question has the primary metric, {primary}, in both runs: the pass rate is primary."
        )
        first = family[0]
    rest = [side for side in family if side is not first and side.metric != primary]
    tests = family_tests([first, *rest], first.metric)
    differences = tuple(
        MetricDifference(
            side.metric,
            side.base,
            side.other,
            side.difference,
            test.p,
            margin_test(
                side.difference,
                higher_is_better(side.metric),
                margin_of(side.metric),
                None if side is first or len(rest) == 1 else test,
            ),
            test.low,
            test.high,
            side is first,
            any(by_words(of.scored, side.metric) for of in (base, other)),
        )
        for side, test in zip([first, *rest], tests, strict=True)
    )
    refused = refusal_pairs(base, other, (matched.base, matched.other), [side.metric for side in family])
    warnings += [refusal_sentence(pairs, base_name) for pairs in refused]
    return Comparison(tuple(warnings), differences, matched, tuple(refused), lost, asked, left_out, slices)


def _retrieval_alone(base: Diagnosis, other: Diagnosis, base_name: str) -> str:
    """Return that one run has no answers, so that the pass rates are not compared; "" where both have."""
    if rates_alike(base, other):
        return ""
    alone = "the other run" if base.answers.n else base_name
    return f"The pass rates are not compared: {alone} has no answers, so its pass rate is of retrieval alone."


def _corrected_alone(base: ScoredRun, other: ScoredRun, metrics: Sequence[str]) -> list[str]:
    """Return the warning that ratings correct a metric of one run only; empty where none is."""
    rated = {*dict(base.ratings.of), *dict(other.ratings.of)}
    alone = [
        title_of(name)
        for name in metrics
        if name in rated and (corrected(base, name) is None) != (corrected(other, name) is None)
    ]
    if not alone:
        return []
    return [
        f"Ratings of a random sample correct {', '.join(alone)} in one of the two runs only: the comparison "
        "uses the values without them."
    ]


def _doubted_judges(side: Diagnosis, name: str, family: Sequence[Side]) -> list[str]:
    """Return a warning for each judge of a run, behind what is compared, that passes what people fail."""
    rests_on = {*side.coverage.names, *(each.metric for each in family)}
    weak = [judge for judge in weak_judges(side.scored) if rests_on.intersection(judge.metrics)]
    return [f"{judge.title}, of {name}." for judge in weak]


def margin_of(metric: str) -> float | None:
    """Return the loss that is tolerated: 0.05 on a scale from 0 to 1, None on another scale."""
    return MARGIN if metric == GOOD_SHARE or is_share(metric) else None


def family_tests(sides: Sequence[Side], primary: str) -> list[FamilyTest]:
    """Test the primary metric alone and the others together, see ragtriage.metrics.statistics.max_t.

    The sides are over the same clusters; the primary metric need not be among them.
    """
    rest = iter(_corrected([side for side in sides if side.metric != primary]))
    return [_corrected([side])[0] if side.metric == primary else next(rest) for side in sides]


def _corrected(sides: Sequence[Side]) -> list[FamilyTest]:
    sums = [side.clusters for side in sides if side.clusters is not None]
    return max_t(sums) if len(sums) == len(sides) else unpaired_family([side.difference for side in sides])


def unequal_runs(
    base: ScoredRun, other: ScoredRun, matched: QuestionMatch, base_name: str = "the baseline"
) -> list[str]:
    """List what makes the difference of two runs mean less than it seems, a sentence each."""
    before, after = _run_facts(base), _run_facts(other)
    if matched.sampled or not (matched.only_base or matched.only_other):
        after = replace(after, question_hash=before.question_hash)
    unpaired = sampled_sentence(base, other, base_name) if matched.sampled else ""
    return [*filter(None, [unpaired]), *comparability(before, after, base_name), *paired_by_text(matched)]


def sampled_sentence(base: ScoredRun, other: ScoredRun, base_name: str = "the baseline") -> str:
    """Return that a pair is not paired, as one run or both are samples of calls."""
    parts = [
        f"{name} has {side.sampling.share_text}"
        for name, side in ((base_name, base), ("the other", other))
        if side.sampling is not None
    ]
    weighted = any(side.question_weights is not None for side in (base, other))
    how = "Compared unpaired, weighted by 1 / rate" if weighted else "Compared unpaired"
    return f"{how}: {'; '.join(parts) or 'these are live calls'}."


def _run_facts(scored: ScoredRun) -> RunFacts:
    """Return what two runs must have in common for their difference to mean something."""
    digest = hashlib.sha256("\x1f".join(scored.question_ids).encode("utf-8")).hexdigest()
    run, evaluation = scored.run, scored.judge_result_path(EVALUATION)
    judge = judge_of(evaluation) if evaluation else str(run.config.get("judge", ""))
    return RunFacts(digest, len(scored.question_ids), run.dataset, run.dataset_version, judge)


@dataclass(frozen=True)
class QuestionChange:
    """One shared question in two runs."""

    question_id: str
    row: int  # first row of it in the other run
    base_row: int  # first row of it in the baseline
    base: float  # its value in the baseline
    other: float  # its value in the other run
    change: float  # other minus base


@dataclass(frozen=True)
class Changes:
    """The shared questions scored in both runs, by the size of their change, the largest first."""

    question_ids: NDArray[np.object_]  # (c,) the questions
    rows: IntArray  # (c,) first row of each in the other run
    base_rows: IntArray  # (c,) first row in the baseline
    base: FloatArray  # (c,) value in the baseline
    other: FloatArray  # (c,) value in the other run

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: int) -> QuestionChange:
        before, after = float(self.base[at]), float(self.other[at])
        rows = int(self.rows[at]), int(self.base_rows[at])
        return QuestionChange(str(self.question_ids[at]), *rows, before, after, after - before)

    def find(self, question_id: str) -> int:
        """Return the position of a question; 0 where it is not among them."""
        positions = np.flatnonzero(self.question_ids == question_id)
        return int(positions[0]) if len(positions) else 0


def changes(base: Diagnosis, other: Diagnosis, metric: str) -> Changes:
    """List the shared questions by the size of their change in one metric, or in the share of good cases."""
    matched = match_questions(base.scored, other.scored)
    base, other = with_shared_labels(base, other)
    before = question_values(base, metric)[matched.base]
    after = question_values(other, metric)[matched.other]
    known = np.flatnonzero(np.isfinite(before) & np.isfinite(after))
    order = known[np.argsort(-np.abs(after - before)[known], kind="stable")]
    return Changes(
        base.scored.question_ids[matched.base[order]],
        first_rows(other.scored)[matched.other[order]],
        first_rows(base.scored)[matched.base[order]],
        before[order],
        after[order],
    )


GOOD = "good"


def stage_transitions(base: Diagnosis, other: Diagnosis) -> dict[tuple[str, str], int]:
    """Count the shared questions by (stage in the baseline, stage in the other run); GOOD where not bad.

    A question with repeats has the stage that most of its repeats have.
    """
    matched = match_questions(base.scored, other.scored)
    before = _question_stage(base)[matched.base]
    after = _question_stage(other)[matched.other]
    names = [*(stage.key for stage in STAGES), GOOD]
    pairs, counts = np.unique(np.stack([before, after]), axis=1, return_counts=True)
    return {
        (names[from_stage], names[to_stage]): int(count)
        for from_stage, to_stage, count in zip(*pairs.tolist(), counts.tolist(), strict=True)
    }


def _question_stage(diagnosis: Diagnosis) -> IntArray:
    """(q,) most frequent stage of each question as an index into STAGES; len(STAGES) for good."""
    codes = np.where(diagnosis.stages.stage < 0, len(STAGES), diagnosis.stages.stage).astype(np.int64)
    width = len(STAGES) + 1
    counts = np.bincount(
        diagnosis.scored.question * width + codes, minlength=len(diagnosis.scored.question_ids) * width
    )
    return np.asarray(counts.reshape(-1, width).argmax(axis=1), dtype=np.int64)
