"""Diagnosis of a run: the metric pattern and the failure stage of every case, and what to fix first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from data.scoring.scored_run import NOT_GIVEN, ScoredRun
from data.store.ledger import Label
from metrics.diagnosis.fix_first import FixFirst, fix_first
from metrics.diagnosis.patterns import (
    CONTEXT_METRICS,
    PATTERNS,
    BadCases,
    CaseThresholds,
    Refusals,
    bad_cases,
    choose_context_metric,
    pattern,
    pattern_code,
    refusals,
)
from metrics.diagnosis.slices import SliceFinding, worst_slices
from metrics.diagnosis.stages import DEFAULT_ORDER, STAGES, StageFeatures, StageResult, attribute_failures
from metrics.diagnosis.symptoms import Symptom, symptoms
from metrics.metric_registry import ordered, title_of
from metrics.schema.scores import BoolArray, FloatArray, Status
from metrics.statistics.intervals import Interval, interval, question_means

__all__ = [
    "CORRECTNESS",
    "Diagnosis",
    "DiagnosisCoverage",
    "DiagnosisSettings",
    "HumanLabels",
    "context_metrics_of",
    "diagnose",
    "diagnosis_coverage",
    "human_labels_of",
    "pass_rate",
    "passing_of",
]


@dataclass(frozen=True)
class DiagnosisCoverage:
    """What was looked at, case by case.

    Attributes:
        by: what says it -> (n,) True where it does: the metrics that have a cut-off, "checks",
            "answerability" and "people"; only those that say it of any case.
        anything: (n,) True where any of them does. A refusal counts only where something says whether it was
            right: that its context or its wording scores well says nothing of that.
        fully: (n,) True where, besides, no missing value could change the metric pattern, or a person spoke.
    """

    by: Mapping[str, BoolArray]
    anything: BoolArray
    fully: BoolArray

    @property
    def names(self) -> tuple[str, ...]:
        """What the verdicts rest on."""
        return tuple(self.by)

    def clause(self) -> str:
        """Say what a pass rate rests on, as part of a sentence; "" where every case is fully measured."""
        if self.fully.all():
            return ""
        if not self.by:
            return "nothing was measured that could make a case bad"
        names = [title_of(name) for name in self.names]
        listed = f"{', '.join(names[:-1])} and {names[-1]}" if names[1:] else f"{names[0]} alone"
        fully = f"{int(self.fully.sum()):,} of {len(self.fully):,} cases fully measured"
        return f"of what was measured: {listed}; {fully}"


def diagnosis_coverage(
    values: Mapping[str, FloatArray],
    checked: BoolArray,
    refusals: Refusals,
    spoken: BoolArray,
    bad: BadCases,
    pattern: NDArray[np.int8],
    correctness: str,
) -> DiagnosisCoverage:
    """Say what was looked at.

    Args:
        values: metric -> (n,) values that make a case bad.
        checked: (n,) True where a check was made.
        refusals: what is known of the refusals.
        spoken: (n,) True where a person gave a verdict.
        bad: which cases are bad.
        pattern: (n,) codes into PATTERNS.
        correctness: which of the values holds an answer against its reference, refusals too.
    """
    told = {name: np.isfinite(one) for name, one in values.items()}
    told["checks"] = checked
    told["answerability"] = refusals.right | refusals.wrong | refusals.answered
    told["people"] = spoken
    anything = np.logical_or.reduce(list(told.values()))
    settled = bad.bad | spoken | told.get(correctness, np.zeros(len(spoken), dtype=np.bool_))
    anything &= ~refusals.open | settled
    fully = anything & ((pattern != pattern_code("not_measured")) | spoken)
    by = {name: one & anything for name, one in told.items()}
    return DiagnosisCoverage({name: one for name, one in by.items() if one.any()}, anything, fully)


CORRECTNESS = ("correctness", "answer_correctness", "factual_correctness")  # the first that a run has


@dataclass(frozen=True)
class DiagnosisSettings:
    """What a person can turn.

    Attributes:
        cutoffs: below which a case counts as low.
        signal: metric that speaks for the context; the first available when None.
        order: in which the stages are tried.
    """

    thresholds: CaseThresholds = field(default_factory=CaseThresholds)
    context_metric: str | None = None
    order: tuple[str, ...] = DEFAULT_ORDER


@dataclass(frozen=True)
class HumanLabels:
    """What people said of the cases of a run.

    Attributes:
        bad: (n,) True where at least as many say fail as say pass.
        good: (n,) True where more say pass than fail.
        labels: the labels of each labelled row.
    """

    bad: BoolArray
    good: BoolArray
    labels: Mapping[int, tuple[Label, ...]]


def human_labels_of(scored: ScoredRun, labels: Sequence[Label]) -> HumanLabels:
    """Lay the ledger's labels beside a run's samples; labels of samples it does not have are left out."""
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
    """Find the row of a sample, None where the run does not have it."""
    at = int(np.searchsorted(scored.question_ids, question_id))
    if at >= len(scored.question_ids) or scored.question_ids[at] != question_id:
        return None
    rows = np.flatnonzero((scored.question == at) & (scored.repeats == repeat))
    return int(rows[0]) if len(rows) else None


def context_metrics_of(scored: ScoredRun) -> list[str]:
    """List the metrics that can speak for the context in this run, the default first."""
    named = [name for name in ordered(scored.metrics) if name.partition("@")[0] in CONTEXT_METRICS]
    found = [name for name in named if _any_scored(scored, name)]
    default = choose_context_metric(found)
    return [*([default] if default else []), *(name for name in found if name != default)]


def _any_scored(scored: ScoredRun, name: str) -> bool:
    column = scored.column(name)
    return column is not None and bool((column.status == Status.SCORED).any())


@dataclass(frozen=True)
class Diagnosis:
    """Where the cases of one run went wrong.

    Attributes:
        scored: the run.
        settings: what it was made with.
        signal: metric that spoke for the context, or None where the run has none.
        pattern: (n,) codes into PATTERNS.
        bad: which cases are bad and why.
        stages: codes into STAGES of the bad ones, -1 for the others.
        evidence: what the stages were read from.
        people: what people said.
        looked_at: what says of each case whether it is good or bad.
    """

    scored: ScoredRun
    settings: DiagnosisSettings
    context_metric: str | None
    pattern: NDArray[np.int8]
    bad: BadCases
    stages: StageResult
    features: StageFeatures
    human_labels: HumanLabels
    coverage: DiagnosisCoverage

    @cached_property
    def cache_key(self) -> tuple[str, DiagnosisSettings, bytes]:
        """What tells this diagnosis from all others: the scores, the settings and the labels that went in.

        A label never changes once it is written, so its number stands for it.
        """
        numbers = [label.label_id for labels in self.human_labels.labels.values() for label in labels]
        return self.scored.cache_key, self.settings, np.array(numbers, dtype=np.int64).tobytes()

    @property
    def measured(self) -> BoolArray:
        """(n,) True where anything says whether the case is good or bad."""
        return self.coverage.anything

    def pattern_counts(self, keep: BoolArray | None = None) -> dict[str, int]:
        """Count the cases of each pattern, every pattern named, among those a filter keeps."""
        chosen = self.pattern if keep is None else self.pattern[keep]
        counts = np.bincount(chosen, minlength=len(PATTERNS))
        return {entry.key: int(count) for entry, count in zip(PATTERNS, counts, strict=True)}

    def stage_counts(self, keep: BoolArray | None = None) -> dict[str, int]:
        """Count the bad cases of each stage, every stage named, among those a filter keeps."""
        chosen = self.stages.stage if keep is None else self.stages.stage[keep]
        counts = np.bincount(chosen[chosen >= 0], minlength=len(STAGES))
        return {entry.key: int(count) for entry, count in zip(STAGES, counts, strict=True)}

    @cached_property
    def fix_first(self) -> list[FixFirst]:
        """Stages by how many bad cases they own."""
        stages = self.stages
        return fix_first(stages.stage, self.scored.question, measured=self.measured, inferred=stages.inferred)

    @cached_property
    def pass_rate(self) -> Interval:
        """Share of good cases: repeats averaged, over questions."""
        return pass_rate(self)

    @cached_property
    def worst_slices(self) -> list[SliceFinding]:
        """Slices that do worse than the rest, corrected for looking at many."""
        slices = {one.name: np.array([*one.labels], dtype=object)[one.codes] for one in self.scored.slices}
        blank = {name: np.where(values == NOT_GIVEN, "", values) for name, values in slices.items()}
        return worst_slices(self.bad.bad, blank, self.scored.question)

    @cached_property
    def symptoms(self) -> list[Symptom]:
        """RAGChecker's symptoms that the run's means show."""
        means = {}
        for name in (
            "answer_precision",
            "answer_recall",
            "context_recall",
            "context_utilization",
            "faithfulness",
            "hallucination",
            "noise_sensitivity_relevant",
            "noise_sensitivity_irrelevant",
        ):
            values = question_means(self.scored.values(name), self.scored.question)[0]
            means[name] = float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")
        return symptoms(means)


def pass_rate(diagnosis: Diagnosis, keep: BoolArray | None = None) -> Interval:
    """Share of good cases with its interval, repeats averaged first, over the questions a filter keeps."""
    scored = diagnosis.scored
    good = passing_of(diagnosis)
    if keep is not None:
        good = np.where(keep, good, np.nan)
    means, _ = question_means(good, scored.question)
    applicable = len(scored.question_ids) if keep is None else len(np.unique(scored.question[keep]))
    plain = bool(np.isin(means[np.isfinite(means)], (0, 1)).all())
    return interval(means, scored.clusters, applicable, plain)


def passing_of(diagnosis: Diagnosis) -> FloatArray:
    """(n,) 1 for a good case, 0 for a bad one, NaN where nothing says which."""
    return np.where(diagnosis.bad.bad, 0.0, np.where(diagnosis.measured, 1.0, np.nan))


def diagnose(scored: ScoredRun, settings: DiagnosisSettings, labels: Sequence[Label] = ()) -> Diagnosis:
    """Diagnose every case of a run.

    Args:
        scored: the run.
        settings: cut-offs, context signal and order of the stages.
        labels: what people said, from the ledger.
    """
    available = context_metrics_of(scored)
    signal = (
        settings.context_metric
        if settings.context_metric in available
        else (available[0] if available else None)
    )
    names = _names(scored, signal)
    values = {key: scored.values(name) for key, name in names.items()}
    people = human_labels_of(scored, labels)
    refused, answerable = (
        _codes(scored.stage_features["refused"]),
        _codes(scored.stage_features["answerable"]),
    )
    cut = settings.thresholds
    bad = bad_cases(
        _cut_values(scored, values),
        cut,
        checks_failed=scored.stage_features["check_failed"] == 1,
        human_bad=people.bad,
        human_good=people.good,
        refused=refused,
        answerable=answerable,
        gold_in_context=scored.stage_features["gold_in_context"],
    )
    evidence = _evidence(scored, values, bad.bad)
    codes = pattern(
        values["context"],
        values["faithfulness"],
        values["answer_relevancy"],
        refused,
        cut,
        values["correctness"],
    )
    stages = attribute_failures(evidence, settings.order, cut)
    looked_at = diagnosis_coverage(
        {names[key]: one for key, one in _cut_values(scored, values).items()},
        np.isfinite(scored.stage_features["check_failed"]),
        refusals(scored.n, refused, answerable, scored.stage_features["gold_in_context"]),
        people.bad | people.good,
        bad,
        codes,
        names["correctness"],
    )
    return Diagnosis(scored, settings, signal, codes, bad, stages, evidence, people, looked_at)


def _names(scored: ScoredRun, signal: str | None) -> dict[str, str]:
    """Name the metric that stands for each of the four values with a cut-off."""
    correctness = next((name for name in CORRECTNESS if name in scored.sources), "correctness")
    plain = {name: name for name in ("faithfulness", "answer_relevancy")}
    return {"context": signal or "", **plain, "correctness": correctness}


def _cut_values(scored: ScoredRun, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Give the values that make a case bad; a similarity to the reference is no verdict on correctness."""
    found = dict(values)
    if "correctness" not in scored.sources:
        del found["correctness"]
    return found


def _codes(values: FloatArray) -> NDArray[np.int8]:
    return np.where(np.isnan(values), -1, np.nan_to_num(values)).astype(np.int8)


def _evidence(scored: ScoredRun, values: Mapping[str, FloatArray], bad: BoolArray) -> StageFeatures:
    known = scored.stage_features
    noise = np.fmax(
        scored.values("noise_sensitivity_relevant"), scored.values("noise_sensitivity_irrelevant")
    )
    return StageFeatures(
        bad=bad,
        refused=known["refused"],
        answerable=known["answerable"],
        gold_in_candidates=known["gold_in_candidates"],
        gold_in_context=known["gold_in_context"],
        has_candidates=known["has_candidates"],
        noise_sensitivity=noise,
        format_failed=known["format_failed"],
        contradicts_itself=scored.values("self_contradiction"),
        faithfulness=values["faithfulness"],
        context_utilization=scored.values("context_utilization"),
        omission=scored.values("omission"),
        answer_relevancy=values["answer_relevancy"],
        correctness=values["correctness"],
        context=values["context"],
    )
