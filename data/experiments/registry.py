"""The kinds of experiment, and what the runs of one show: a value for each arm, findings, what turns."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

import numpy as np

from ragtriage.data.errors import DataError
from ragtriage.data.experiments.arms import ARMS
from ragtriage.data.experiments.experiment import ArmRecord, Experiment, ExperimentKind, Measured
from ragtriage.data.experiments.injection import INJECTION
from ragtriage.data.experiments.languages import LANGUAGES
from ragtriage.data.experiments.noise import NOISE
from ragtriage.data.experiments.parsing import PARSING
from ragtriage.data.experiments.position import POSITION
from ragtriage.data.experiments.sources import SOURCES
from ragtriage.data.experiments.stability import STABILITY
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.statistics.intervals import Interval, mean_over_questions, question_means

KINDS: dict[str, ExperimentKind[Any]] = {
    kind.key: kind for kind in (ARMS, POSITION, NOISE, SOURCES, LANGUAGES, PARSING, INJECTION, STABILITY)
}


def kind_of(key: str) -> ExperimentKind[Any]:
    """Return a kind of experiment.

    Raises:
        DataError: there is none of that name.
    """
    if key not in KINDS:
        raise DataError(f"experiment {key[:40]!r}: not known here; accepted: {', '.join(KINDS)}")
    return KINDS[key]


@dataclass(frozen=True)
class ArmResult:
    """An arm with its quality."""

    arm: ArmRecord  # as it is kept
    quality: Interval  # mean over questions; nothing scored while it has no run
    n: int  # questions


@dataclass(frozen=True)
class ExperimentSummary:
    """The results of an experiment."""

    experiment: Experiment  # its record
    quality: str  # the metric its arms are measured by
    source: str  # where that comes from: computed by the experiment, judged, human, imported ..
    arms: tuple[ArmResult, ...]  # each with its quality
    findings: Any  # of its kind; None while too few arms have a run

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        arms = [
            {**asdict(result.arm), "quality": asdict(result.quality), "n_questions": result.n}
            for result in self.arms
        ]
        values = {
            "experiment": {**self.experiment.to_dict(), "state": self.experiment.state},
            "quality": {"metric": self.quality, "source": self.source},
            "arms": arms,
            "findings": self._finding_values(),
        }
        return dict(json_values(values))

    def _finding_values(self) -> Any:
        if is_dataclass(self.findings) and not isinstance(self.findings, type):
            return asdict(self.findings)
        return self.findings


def json_values(value: Any) -> Any:
    """Return values as JSON has them: what is not a finite number is null, tuples and arrays are lists."""
    if isinstance(value, Mapping):
        return {str(key): json_values(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [json_values(entry) for entry in value]
    if isinstance(value, np.ndarray):
        return json_values(value.tolist())
    if isinstance(value, np.generic):
        return json_values(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def measured_of(
    experiment: Experiment, kind: ExperimentKind[Any], scored: Mapping[str, ScoredRun], quality: str
) -> Measured:
    """Return the values of an experiment's runs side by side, one row a question.

    `scored` has the scored runs of the arms that have one, by run id.
    """
    arms = [arm for arm in experiment.arms if arm.run_id in scored]
    names = sorted({str(name) for arm in arms for name in scored[arm.run_id].question_ids})
    place = {name: at for at, name in enumerate(names)}
    metrics = dict.fromkeys((quality, *kind.metrics))
    values = {metric: np.full((len(names), len(arms)), np.nan) for metric in metrics}
    for column, arm in enumerate(arms):
        run = scored[arm.run_id]
        rows = np.array([place[str(name)] for name in run.question_ids], dtype=np.int64)
        for metric in metrics:
            values[metric][rows, column] = question_means(run.values(metric), run.question)[0]
    return Measured(
        experiment.parameters,
        tuple(arm.key for arm in arms),
        {arm.key: arm.levels for arm in arms},
        values,
        tuple(names),
        tuple(scored[arm.run_id] for arm in arms),
    )


def experiment_summary(store: RunStore, experiment: Experiment, quality: str = "") -> ExperimentSummary:
    """Return what an experiment shows.

    `quality` is the metric to measure the arms by, e.g. a judge's; "" for that of its kind.

    Raises:
        DataError: no run of the experiment has the chosen metric, or its record is damaged.
    """
    runs = {run.run_id: run for run in store.runs(experiment.project)}
    there = [store.scored(runs[name]) for name in experiment.run_ids if name in runs]
    return summary_of_runs(experiment, there, quality)


def summary_of_runs(
    experiment: Experiment, scored_runs: Sequence[ScoredRun], quality: str = ""
) -> ExperimentSummary:
    """Return what an experiment shows, from its scored runs; see `experiment_summary`."""
    kind = kind_of(experiment.kind)
    wanted = quality or kind.quality
    scored = {run.run.run_id: run for run in scored_runs}
    if quality and scored and not any(wanted in run.sources for run in scored.values()):
        known = sorted({name for run in scored.values() for name in run.sources})
        raise DataError(
            f"experiment {experiment.experiment_id}: no run has the metric {wanted!r}; accepted: "
            f"{', '.join(known[:20]) or 'a metric that is measured'}"
        )
    measured = measured_of(experiment, kind, scored, wanted)
    arms = tuple(_result(arm, measured, wanted) for arm in experiment.arms)
    source = _source(list(scored.values()), wanted, kind)
    is_measured = any(np.isfinite(values).any() for values in measured.values.values())
    findings = _findings(experiment, kind, measured, wanted) if is_measured else None
    return ExperimentSummary(experiment, wanted, source, arms, findings)


def _findings(experiment: Experiment, kind: ExperimentKind[Any], measured: Measured, quality: str) -> Any:
    """Return what the kind finds.

    Raises:
        DataError: the record has other arms or settings than its kind writes.
    """
    try:
        return kind.findings(measured, quality)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        identifier = experiment.experiment_id
        raise DataError(
            f"experiment {identifier}: its record does not fit its kind {kind.key!r} "
            f"({type(error).__name__}: {error}); accepted: the record as the experiment wrote it, or "
            f"`ragtriage experiment delete {identifier}`"
        ) from error


def _result(arm: ArmRecord, measured: Measured, quality: str) -> ArmResult:
    known = arm.key in measured.arms
    values: FloatArray = measured.column(arm.key, quality) if known else np.zeros(0)
    return ArmResult(arm, mean_over_questions(values), arm.n)


def _source(scored: Sequence[ScoredRun], metric: str, kind: ExperimentKind[Any]) -> str:
    """Return where a metric comes from; what the experiment wrote into its runs, it computed."""
    if metric == kind.quality or metric in kind.metrics:
        return "computed"
    sources = {run.sources[metric][0].label for run in scored if metric in run.sources}
    return ", ".join(sorted(sources)) or "not measured"


PASSES_FROM = 0.5


@dataclass(frozen=True)
class TurnedQuestion:
    """A question that passes under one condition alone."""

    question_id: str
    question: str
    first: str  # answer under the first condition
    second: str  # answer under the second
    is_lost: bool  # whether it passes under the first alone


def turned_questions(first: ScoredRun, second: ScoredRun, quality: str) -> list[TurnedQuestion]:
    """List the questions that pass in one of two runs alone, those that the second loses first."""
    _, at_first, at_second = np.intersect1d(
        first.question_ids, second.question_ids, assume_unique=True, return_indices=True
    )
    sides = [
        question_means(run.values(quality), run.question)[0][at]
        for run, at in ((first, at_first), (second, at_second))
    ]
    known = np.isfinite(sides[0]) & np.isfinite(sides[1])
    passes = [side >= PASSES_FROM for side in sides]
    lost, won = known & passes[0] & ~passes[1], known & passes[1] & ~passes[0]
    turned = [*np.flatnonzero(lost).tolist(), *np.flatnonzero(won).tolist()]
    samples = [
        run.samples.read(
            [int(np.flatnonzero(run.question == at[row])[0]) for row in turned], ["question", "answer"]
        )
        if turned
        else []
        for run, at in ((first, at_first), (second, at_second))
    ]
    return [
        TurnedQuestion(
            str(first.question_ids[at_first[row]]),
            str(before["question"] or ""),
            str(before["answer"] or ""),
            str(after["answer"] or ""),
            bool(lost[row]),
        )
        for row, before, after in zip(turned, *samples, strict=True)
    ]
