"""Diagnosis of a run: the metric pattern and failure stage of every case, and what to fix first."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ragtriage.data.diagnosis.case_scores import case_scores, measurements_of
from ragtriage.data.diagnosis.context import context_choice, context_metrics_of, gold_parts
from ragtriage.data.diagnosis.coverage import DiagnosisCoverage, diagnosis_coverage
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.grouping import NOT_GIVEN
from ragtriage.data.scoring.label_correction import drawn_ratings
from ragtriage.data.scoring.sampling import mean_of_questions
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.ledger import Label
from ragtriage.metrics.definitions.answer_text import RIGHT_BY_TEXT
from ragtriage.metrics.diagnosis.context_metric import ContextChoice
from ragtriage.metrics.diagnosis.fix_first import FixFirst, fix_first
from ragtriage.metrics.diagnosis.patterns import (
    PATTERNS,
    BadCases,
    CaseThresholds,
    Refusals,
    bad_cases,
    pattern,
    refusals,
)
from ragtriage.metrics.diagnosis.right import CORRECTNESS, Right
from ragtriage.metrics.diagnosis.slices import Concentration, SliceFinding, concentration, worst_slices
from ragtriage.metrics.diagnosis.stage_rules import StageFeatures
from ragtriage.metrics.diagnosis.stages import (
    DEFAULT_ORDER,
    STAGES,
    StageResult,
    attribute_failures,
    stage_code,
)
from ragtriage.metrics.diagnosis.symptoms import (
    PAIRS,
    SYMPTOMS,
    PairReading,
    Symptom,
    SymptomEdges,
    pair_readings,
    symptoms,
)
from ragtriage.metrics.metric_registry import declared
from ragtriage.metrics.schema.scores import BoolArray, FloatArray
from ragtriage.metrics.statistics.intervals import Interval, hajek_mean, question_means
from ragtriage.metrics.statistics.ppi import FEWEST_LABELS, CorrectedMean, corrected_share

MOST_SLICES = 10
SYMPTOM_METRICS = tuple(sorted({name for symptom in SYMPTOMS for need in symptom.needs for name in need}))
# slices that tell of the system and not of what it was asked
NOT_OF_THE_QUESTION = ("answerable", "context_mode", "answer language", "document language", "context noise")
ENOUGH_LABELS = 20  # random labels from which on the others need not be checked
_OUTCOMES = 3  # of an answer by its words, or of a case: bad, not known, good


@dataclass(frozen=True)
class CheckedAnswers:
    """How many questions of a run are answered, and how many of the answers something checked."""

    # questions answered, also where only scores of the answer are recorded; refusals are left out unless all
    # of the run are
    n: int
    # of which it is known whether the answer is right: by a label, its correctness, the claims of the
    # reference, a check of its content or its words
    checked: int
    drawn: int  # with a human label of a random sample
    say_more: int  # good ones that say more than asked
    by_text: int = 0  # of those checked, the ones of which only their words tell: estimated
    missing: int = 0  # of those asked, the questions that ended in an error or have no answer
    asked: int = 0  # questions of the run

    @property
    def enough(self) -> bool:
        """Return whether a conclusion may be drawn from them; a run of rankings has none to check."""
        return 2 * self.checked >= self.n or self.drawn >= ENOUGH_LABELS


@dataclass(frozen=True)
class DiagnosisSettings:
    """The settings of a diagnosis."""

    # case thresholds, below which a metric counts as low
    thresholds: CaseThresholds = field(default_factory=CaseThresholds)
    # metric that stands for the context of every case; None for the first that each has
    context_metric: str | None = None
    order: tuple[str, ...] = DEFAULT_ORDER  # order in which the stages are tried
    # where a mean counts as low or high in the symptom table
    symptom_edges: SymptomEdges = field(default_factory=SymptomEdges)


@dataclass(frozen=True)
class HumanLabels:
    """The human labels of the cases of a run."""

    bad: BoolArray  # (n,) True where at least as many labels say fail as pass
    good: BoolArray  # (n,) True where more labels say pass than fail
    labels: Mapping[int, tuple[Label, ...]]  # row -> its labels, for the labelled rows

    @property
    def decided(self) -> BoolArray:
        """(n,) True where people call the case good or bad."""
        return self.good | self.bad

    @property
    def drawn(self) -> BoolArray:
        """(n,) True where a random queue drew the case and somebody called it good or bad."""
        drawn = np.zeros(len(self.bad), dtype=np.bool_)
        for row, labels in self.labels.items():
            drawn[row] = any(label.verdict is not None and label.queue_id is not None for label in labels)
        return drawn


def human_labels_of(scored: ScoredRun, labels: Sequence[Label]) -> HumanLabels:
    """Match labels to the samples of a run; labels of samples that it does not have are left out."""
    votes = np.zeros(scored.n, dtype=np.int64)
    voted = np.zeros(scored.n, dtype=np.bool_)
    by_row: dict[int, tuple[Label, ...]] = {}
    for label in labels:
        row = row_of(scored, label.question_id, label.repeat)
        if row is None:
            continue
        by_row[row] = (*by_row.get(row, ()), label)
        if label.verdict is not None:
            votes[row] += 1 if label.verdict == "pass" else -1
            voted[row] = True
    return HumanLabels(voted & (votes <= 0), voted & (votes > 0), by_row)


def row_of(scored: ScoredRun, question_id: str, repeat: int) -> int | None:
    """Return the row of a sample; None where the run does not have it."""
    at = int(np.searchsorted(scored.question_ids, question_id))
    if at >= len(scored.question_ids) or scored.question_ids[at] != question_id:
        return None
    rows = np.flatnonzero((scored.question == at) & (scored.repeats == repeat))
    return int(rows[0]) if len(rows) else None


@dataclass(frozen=True)
class Diagnosis:
    """Where the cases of one run went wrong."""

    scored: ScoredRun
    settings: DiagnosisSettings
    context: ContextChoice  # the metric that stands for the context of each case
    pattern: NDArray[np.int8]  # (n,) codes into PATTERNS
    bad: BadCases  # which cases are bad and why
    refusals: Refusals  # which refusals are right or wrong
    stages: StageResult  # codes into STAGES of the bad cases, -1 for the others
    features: StageFeatures  # what the stage rules looked at
    human_labels: HumanLabels  # the human labels of the run
    coverage: DiagnosisCoverage  # for which cases it is known whether they are good or bad
    right: Right  # which answers are right, as far as anything tells

    @cached_property
    def answers(self) -> CheckedAnswers:
        """How many answers there are, and how many of them something checked."""
        scored, features = self.scored, self.scored.stage_features
        recorded = np.isfinite(features["answer"]).any()
        answered: BoolArray = features["answer"] == 1 if recorded else self._scored_answers
        answered = answered & (features["refused"] != 1)
        if not answered.any():
            answered = features["refused"] == 1
        labelled, checked = (self.human_labels.decided, np.isfinite(features["content_failed"]))
        known = np.isfinite(self.right.values) | labelled | checked
        known |= self.refusals.answered | self.refusals.right | self.refusals.wrong
        by_text = self.right.decided_by(RIGHT_BY_TEXT) & ~labelled & ~checked
        return CheckedAnswers(
            len(np.unique(scored.question[answered])),
            len(np.unique(scored.question[answered & known])),
            len(np.unique(scored.question[self.human_labels.drawn | np.isfinite(self.rated_right)])),
            len(np.unique(scored.question[self.right.says_more & ~self.bad.bad])),
            len(np.unique(scored.question[answered & by_text])),
            round(float(question_means(self.unanswered.astype(np.float64), scored.question)[0].sum())),
            len(scored.question_ids),
        )

    @cached_property
    def unanswered(self) -> BoolArray:
        """(n,) True where a sample ended in an error, or has no answer though others of the run have one."""
        answer, errored = self.scored.stage_features["answer"], self.scored.stage_features["errored"] == 1
        lacking: BoolArray = errored | (np.isnan(answer) & np.isfinite(answer).any())
        return lacking

    @property
    def _scored_answers(self) -> BoolArray:
        """(n,) True where a score of the answer is recorded, whether or not the answer is."""
        scored = np.zeros(self.scored.n, dtype=np.bool_)
        for name in filter(_of_answers, self.scored.metrics):
            scored |= np.isfinite(self.scored.values(name))
        return scored

    @cached_property
    def cache_key(self) -> tuple[str, DiagnosisSettings, bytes]:
        """A key of everything that the diagnosis depends on: the scores, the settings and the labels.

        A label never changes once it is written, so its number stands for it.
        """
        numbers = [label.label_id for labels in self.human_labels.labels.values() for label in labels]
        return self.scored.cache_key, self.settings, np.array(numbers, dtype=np.int64).tobytes()

    @property
    def context_metric(self) -> str | None:
        """The metric that stands for the context of most cases, or None where the run has none."""
        return self.context.prevailing

    @property
    def measured(self) -> BoolArray:
        """(n,) True where it is known whether the case is good or bad."""
        return self.coverage.anything

    def pattern_counts(self, keep: BoolArray | None = None) -> dict[str, int]:
        """Return the number of cases of every pattern, among the samples to keep."""
        chosen = self.pattern if keep is None else self.pattern[keep]
        counts = np.bincount(chosen, minlength=len(PATTERNS))
        return {entry.key: int(count) for entry, count in zip(PATTERNS, counts, strict=True)}

    def stage_counts(self, keep: BoolArray | None = None) -> dict[str, int]:
        """Return the number of bad cases of every stage, among the samples to keep."""
        chosen = self.stages.stage if keep is None else self.stages.stage[keep]
        counts = np.bincount(chosen[chosen >= 0], minlength=len(STAGES))
        return {entry.key: int(count) for entry, count in zip(STAGES, counts, strict=True)}

    def stand_for(self, chosen: BoolArray) -> int:
        """Return how many the chosen cases are; of weighted samples, how many calls they stand for."""
        weights, sampling = self.scored.question_weights, self.scored.sampling
        if weights is None or sampling is None:
            return int(chosen.sum())
        return round(float(weights[self.scored.question[chosen]].sum() / weights.sum() * sampling.calls))

    def share_of_calls(self, chosen: BoolArray) -> float | None:
        """Return the share of all calls that chosen cases stand for; None where cases weigh alike.

        Of the cases of which it is known whether they are good or bad.
        """
        weights = self.scored.question_weights
        if weights is None:
            return None
        of_case = weights[self.scored.question]
        return float(of_case[chosen & self.measured].sum() / of_case[self.measured].sum())

    @cached_property
    def gold_parts(self) -> dict[str, int]:
        """The parts that contexts of the stage "partial_gold" lack, with their bad cases, most first."""
        parts = gold_parts(self.scored)[self.stages.stage == stage_code("partial_gold")]
        return dict(Counter(parts.tolist()).most_common())

    @cached_property
    def fix_first(self) -> list[FixFirst]:
        """The stages by how many bad cases are attributed to them."""
        stages = self.stages
        return fix_first(
            stages.stage,
            self.scored.question,
            measured=self.measured,
            inferred=stages.inferred,
            weights=self.scored.question_weights,
        )

    @cached_property
    def pass_rate(self) -> Interval:
        """Share of good cases over questions; corrected where enough cases of a random sample have labels."""
        corrected = self.label_correction
        return pass_rate(self) if corrected is None else corrected_interval(corrected)

    @cached_property
    def rated_right(self) -> FloatArray:
        """(n,) 1 right or 0 wrong by the correctness that people rated of a random sample, NaN elsewhere."""
        rated = drawn_ratings(self.scored, CORRECTNESS[0])
        return np.where(np.isnan(rated), np.nan, rated >= self.settings.thresholds.correctness)

    @cached_property
    def label_correction(self) -> CorrectedMean | None:
        """The share of good cases that labels of a random sample correct; None where too few are there.

        Where words alone tell what is right, the labels stand for the outcomes of the words, else for what
        the diagnosis says without labels: one that knows them would look better than it is. A case without
        label whose answer people rated right is good where nothing else fails it. Samples that are weighted
        are not corrected: the labels were drawn without regard to the weights.
        """
        labels, scored = self.human_labels, self.scored
        if scored.question_weights is not None:
            return None
        labelled, rated = labels.drawn & labels.decided, self.rated_right
        if (labelled | np.isfinite(rated)).sum() < ENOUGH_LABELS:
            return None
        unlabelled = diagnose(scored, self.settings)
        others = [failing for name, failing in unlabelled.bad.reasons.items() if name != "correctness"]
        drawn = np.where(np.logical_or.reduce(others) & (rated == 1), 0.0, rated)
        drawn = np.where(labelled, labels.good.astype(np.float64), drawn)
        outcome, fewest = np.nan_to_num(2 * passing_of(unlabelled), nan=1.0), FEWEST_LABELS
        if unlabelled.right_by_text:
            compared = scored.stage_features["text_outcome"]
            outcome, fewest = np.where(np.isnan(compared), outcome, compared), ENOUGH_LABELS
        corrected = corrected_share(outcome, drawn, scored.question, _OUTCOMES, fewest, scored.clusters)
        return None if corrected is None else replace(corrected, raw=pass_rate(unlabelled).mean)

    @property
    def right_by_text(self) -> bool:
        """Whether only their words tell of most answers that are right."""
        return bool(2 * self.right.wording.n > (self.scored.stage_features["refused"] != 1).sum())

    @property
    def worst_slices(self) -> list[SliceFinding]:
        """The first slices whose measured cases do worse than the rest."""
        return self.all_worse_slices[:MOST_SLICES]

    @cached_property
    def concentration(self) -> Concentration | None:
        """Values of the query type, the language, a tag or the length that most bad questions have."""
        asked = [finding for finding in self.all_worse_slices if finding.name not in NOT_OF_THE_QUESTION]
        known = self.measured
        good, _ = question_means((~self.bad.bad[known]).astype(np.float64), self.scored.question[known])
        return concentration(asked, int((good <= 0.5).sum()))

    def is_concentrated(self) -> BoolArray:
        """(n,) True for the cases with one of the values that most bad questions have."""
        where = self.concentration
        if where is None:
            return np.zeros(self.scored.n, dtype=np.bool_)
        group = next(group for group in self.scored.slices if group.name == where.name)
        return np.isin(group.codes, [group.labels.index(value) for value in where.values])

    @cached_property
    def all_worse_slices(self) -> list[SliceFinding]:
        """Slices whose measured cases do worse than the rest, corrected for multiple comparisons."""
        slices = {}
        for group in self.scored.slices:
            values = np.array([*group.labels], dtype=object)[group.codes]
            slices[group.name] = np.where(values == NOT_GIVEN, "", values)
        known = self.measured
        if not known.any() or self.scored.question_weights is not None:  # an exact test knows no weights
            return []
        slices = {name: values[known] for name, values in slices.items()}
        return worst_slices(self.bad.bad[known], slices, self.scored.question[known], limit=None)

    @cached_property
    def symptoms(self) -> list[Symptom]:
        """RAGChecker's symptoms that the run's means show."""
        return symptoms(self.symptom_means, self.settings.symptom_edges)

    @cached_property
    def symptom_means(self) -> dict[str, float]:
        """The means that the symptom table uses; NaN where not measured."""
        means = {name: self._mean(self.scored.values(name)) for name in SYMPTOM_METRICS}
        # what an answer adds to all that was asked for lowers its precision, and is not a symptom
        precision = np.where(self.right.says_more, np.nan, self.scored.values("answer_precision"))
        return means | {"answer_precision": self._mean(precision)}

    @cached_property
    def pair_readings(self) -> list[PairReading]:
        """What precision and recall say together, of the context and of the answers."""
        names = [name for pair in PAIRS.values() for side in pair for name in side]
        return pair_readings({name: self._mean(self.scored.values(name)) for name in names})

    def _mean(self, values: FloatArray) -> float:
        """Return the mean over questions; NaN where nothing is measured."""
        return hajek_mean(question_means(values, self.scored.question)[0], self.scored.question_weights)


def corrected_interval(corrected: CorrectedMean) -> Interval:
    """Return a corrected share as an interval over the questions that it is about."""
    n, of = int(np.isfinite(corrected.by_question).sum()), len(corrected.by_question)
    ends = corrected.mean, corrected.low, corrected.high
    return Interval(*ends, n, of, n, corrected.method, too_few=False)


def _of_answers(name: str) -> bool:
    metric = declared(name)
    return metric is not None and metric.component in ("generation", "answer")


def pass_rate(diagnosis: Diagnosis, keep: BoolArray | None = None) -> Interval:
    """Return the share of good cases among the samples to keep: a mean over questions, not samples."""
    scored = diagnosis.scored
    good = passing_of(diagnosis)
    if keep is not None:
        good = np.where(keep, good, np.nan)
    means, _ = question_means(good, scored.question)
    applicable = len(scored.question_ids) if keep is None else len(np.unique(scored.question[keep]))
    return mean_of_questions(scored, means, applicable)


def passing_of(diagnosis: Diagnosis) -> FloatArray:
    """(n,) 1 for a good case, 0 for a bad one, NaN where it is not known."""
    return np.where(diagnosis.bad.bad, 0.0, np.where(diagnosis.measured, 1.0, np.nan))


def diagnose(scored: ScoredRun, settings: DiagnosisSettings, labels: Sequence[Label] = ()) -> Diagnosis:
    """Diagnose every case of a run.

    Raises:
        DataError: the run has summary scores only.
    """
    run = scored.run
    if not scored.n:
        raise DataError(f"{run.name} ({run.run_id}) has summary scores only; accepted: a run with samples")
    wanted = settings.context_metric
    context = context_choice(scored, wanted if wanted and wanted in context_metrics_of(scored) else None)
    scores = case_scores(scored, context, settings.thresholds)
    values, contradictions = scores.values, scores.contradictions
    human_labels = human_labels_of(scored, labels)
    measurements = measurements_of(context, scores)
    features = scored.stage_features
    refused, answerable = _codes(features["refused"]), _codes(features["answerable"])
    checked = np.isfinite(features["check_failed"])
    # Beside answers of which none is measured no refusal counts as wrong: all known cases would be bad.
    judged = bool(
        (refused == 1).all()
        or checked.any()
        or any(np.isfinite(column).any() for column in measurements.values())
    )
    gold_in_context = features["gold_in_context"] if judged else np.full(scored.n, np.nan)
    # An empty answer is a refusal too, and nobody needs a reference to see that it answers nothing.
    has_reference = ((features["has_reference"] == 1) | (features["answer"] == 0)) & judged
    bad = bad_cases(
        scores.values,
        settings.thresholds,
        checks_failed=features["check_failed"] == 1,
        human_bad=human_labels.bad,
        human_good=human_labels.good,
        refused=refused,
        answerable=answerable,
        gold_in_context=gold_in_context,
        contradictions={name: shares > 0 for name, shares in contradictions.items()},
        has_reference=has_reference,
    )
    judged_refusals = refusals(scored.n, refused, answerable, gold_in_context, has_reference)
    patterns = pattern(
        values["context"],
        values["faithfulness"],
        values["answer_relevancy"],
        refused,
        settings.thresholds,
        values["correctness"],
        contradictions["contradicts_context"] > 0,
        bad.bad,
    )
    stage_features = _stage_features(scored, values, contradictions, bad.bad)
    stages = attribute_failures(stage_features, settings.order, settings.thresholds)
    labelled = human_labels.decided
    coverage = diagnosis_coverage(
        measurements, checked, judged_refusals, labelled, bad, patterns, scores.right
    )
    return Diagnosis(
        scored,
        settings,
        context,
        patterns,
        bad,
        judged_refusals,
        stages,
        stage_features,
        human_labels,
        coverage,
        scores.right,
    )


def _codes(values: FloatArray) -> NDArray[np.int8]:
    return np.where(np.isnan(values), -1, np.nan_to_num(values)).astype(np.int8)


def _stage_features(
    scored: ScoredRun,
    values: Mapping[str, FloatArray],
    contradictions: Mapping[str, FloatArray],
    bad: BoolArray,
) -> StageFeatures:
    stored = scored.stage_features
    noise = np.fmax(
        scored.values("noise_sensitivity_relevant"), scored.values("noise_sensitivity_irrelevant")
    )
    return StageFeatures(
        bad=bad,
        refused=stored["refused"],
        answerable=stored["answerable"],
        gold_in_candidates=stored["gold_in_candidates"],
        gold_in_context=stored["gold_in_context"],
        has_candidates=stored["has_candidates"],
        noise_sensitivity=noise,
        format_failed=stored["format_failed"],
        failed_kinds=stored["failed_kinds"],
        contradicts_itself=contradictions["self_contradiction"],
        contradicts_context=np.ceil(contradictions["contradicts_context"]),  # any share counts
        faithfulness=values["faithfulness"],
        context_utilization=scored.values("context_utilization"),
        omission=scored.values("omission"),
        answer_precision=scored.values("answer_precision"),
        answer_recall=scored.values("answer_recall"),
        answer_relevancy=values["answer_relevancy"],
        correctness=values["correctness"],
        context=values["context"],
    )
