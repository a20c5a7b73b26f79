"""What a project holds that an evaluation can rest on, and how many questions show a difference of 0.05."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import sqrt
from pathlib import Path
from typing import Literal

import numpy as np

from ragtriage.data.comparison.question_match import match_questions
from ragtriage.data.diagnosis.diagnosis import Diagnosis, passing_of
from ragtriage.data.gates.config import FILE_NAME
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.workspace import Run
from ragtriage.data.suites.check_table import check_table
from ragtriage.metrics.gates.wording import GOOD_SHARE
from ragtriage.metrics.metric_registry import bounds_of
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, Source
from ragtriage.metrics.statistics.intervals import question_means
from ragtriage.metrics.statistics.power import questions_for_change, questions_for_difference, smallest_change

TRACERS = ("langfuse", "langsmith", "opentelemetry", "phoenix", "opik", "mlflow", "weave", "trulens")
HELD: Mapping[str, str] = {  # field of Holdings -> what it is
    "gold": "gold documents",
    "references": "reference answers",
    "labels": "human labels",
    "judge": "values by a judge",
    "traffic": "traces of real use",
    "repeats": "repeats of questions",
    "checks": "checks",
    "citations": "citations",
}


@dataclass(frozen=True)
class Holdings:
    """The inventory of a project, by its newest measured run; counts of that run unless told otherwise."""

    project: str  # the project
    run: Run | None  # its newest measured run; None without one
    n_runs: int = 0  # its runs with samples
    n_questions: int = 0  # questions
    gold: int = 0  # questions with documents that are labelled relevant
    references: int = 0  # questions with a reference answer
    labels: int = 0  # cases that a person labelled
    judge: bool = False  # whether any value is a judge's
    traffic: bool = False  # whether any run of the project comes from a tracing tool
    repeats: bool = False  # whether questions are asked more than once
    # samples checked, by suite, each in the run that has the most of them; a check that nothing decides
    # is none
    checks: Mapping[str, int] | None = None
    # samples of which a check failed, by suite, in the newest run that has the suite
    failing: Mapping[str, int] = field(default_factory=dict)
    citations: bool = False  # whether answers cite, as recorded or parsed
    baseline: bool = False  # whether the project has a baseline
    own_gates: bool = False  # whether the workspace has a gates.toml

    def held(self) -> dict[str, bool]:
        """Return what there is and what there is not, by field."""
        return {field: bool(getattr(self, field)) for field in HELD}


def holdings_of(
    store: RunStore,
    project: str,
    diagnosis: Diagnosis | None,
    runs: Sequence[Run],
    recent: Sequence[Diagnosis] = (),
) -> Holdings:
    """Return what a project holds.

    Args:
        store: of the workspace.
        project: the project.
        diagnosis: of its newest measured run; None without one.
        runs: its runs with samples, oldest first.
        recent: further runs whose checks count: attacks are a run of their own.
    """
    own_gates = Path(store.workspace.root / FILE_NAME).is_file()
    if diagnosis is None:
        return Holdings(project, None, own_gates=own_gates)
    run, scored = diagnosis.scored.run, diagnosis.scored
    fields = set(run.fields)
    return Holdings(
        project,
        run,
        len(runs),
        run.n_questions,
        gold=_questions(scored, np.isfinite(scored.stage_features["gold_in_context"])),
        references=_questions(scored, np.isfinite(scored.stage_features["has_reference"])),
        labels=len({(label.question_id, label.repeat) for label in store.ledger.labels(run.run_id)}),
        judge=any(Source.JUDGED in sources for sources in scored.sources.values()),
        traffic=any(other.origin.get("format", "").startswith(TRACERS) for other in runs),
        repeats=run.n > run.n_questions,
        checks=_checks([diagnosis, *recent]),
        failing=_failing([diagnosis, *recent]),
        citations="citations" in fields or bool(np.isfinite(scored.values("citation_precision")).any()),
        baseline=project in store.ledger.baselines(),
        own_gates=own_gates,
    )


def _questions(scored: ScoredRun, rows: BoolArray) -> int:
    """Return how many questions have a sample among some rows."""
    return len(np.unique(scored.question[rows]))


def _checks(diagnoses: Sequence[Diagnosis]) -> dict[str, int]:
    """Return how many samples have a decided check of each suite, in the run that has the most of them."""
    most: dict[str, int] = {}
    for diagnosis in diagnoses:
        table = check_table(diagnosis.scored)
        if table is None:
            continue
        for suite in sorted(table.suite.values):
            checked = table.sample[table.of(suite) & table.decided]
            most[suite] = max(most.get(suite, 0), len(np.unique(checked)))
    return most


def _failing(diagnoses: Sequence[Diagnosis]) -> dict[str, int]:
    """Return how many samples fail a check of each suite, in the newest run that decides any of it."""
    failing: dict[str, int] = {}
    for diagnosis in sorted(diagnoses, key=lambda each: each.scored.run.imported_at, reverse=True):
        table = check_table(diagnosis.scored)
        for suite in () if table is None else table.suite.values:
            if table is not None and (table.of(suite) & table.decided).any() and suite not in failing:
                failing[suite] = len(np.unique(table.sample[table.of(suite) & table.failed]))
    return failing


DIFFERENCE, POWER = 0.05, 0.8
FEWEST_QUESTIONS = 5  # below this a variance says nothing
MOST_RUNS = 24  # newest runs that are looked through
MOST_PAIRED = 6  # newest measured runs whose pairs give the variance
WORST_DEVIATION = 0.5  # of a share, where half of the questions pass
Basis = Literal["paired", "one run", "assumed"]


@dataclass(frozen=True)
class SampleSize:
    """How many questions are needed."""

    metric: str  # whose difference
    deviation: float  # of a question's difference between two runs
    # the deviation is that of pairs of runs on the questions they share, or sqrt(2) times that of one run, or
    # of a share in the worst case
    basis: Basis
    runs: tuple[str, ...]  # ids of the runs that it comes from
    n_behind: int  # questions that it was measured on

    def questions(self, difference: float = DIFFERENCE) -> int:
        """Return how many questions show a difference, for pass rates as the page Datasets says it."""
        differing = self.deviation**2
        if self.metric == GOOD_SHARE and self.basis == "paired" and difference <= differing:
            return questions_for_change(difference, differing, POWER)
        return questions_for_difference(self.deviation, difference, POWER)

    def smallest(self, questions: int) -> float | None:
        """Return the smallest change of the pass rate that so many questions show; None if not known."""
        if self.metric != GOOD_SHARE or self.basis != "paired":
            return None
        change = smallest_change(questions, self.deviation**2, POWER)
        return change if np.isfinite(change) else None


def sample_size(
    runs: Sequence[Run], diagnosed: Callable[[Run], Diagnosis], metric: str = GOOD_SHARE
) -> SampleSize:
    """Return how many questions show a difference of 0.05 of a metric (power 0.8, two-sided 0.05).

    The pairs among the newest runs that share questions give the variance of the paired difference, as its
    mean: that of a single pair moves with the change it happens to hold. Without a pair the newest run gives
    its own: two independent runs differ by sqrt(2) of it, and pairing needs fewer.

    Args:
        runs: of a project, oldest first.
        diagnosed: returns the diagnosis of a run.
        metric: full name, or "pass rate"; of a metric without bounds of 0 and 1, 0.05 is on its own scale.
    """
    newest = [diagnosed(run) for run in runs[::-1][:MOST_RUNS]]
    values = [(side, _values(side, metric)) for side in newest]
    measured = [(side, each) for side, each in values if np.isfinite(each).sum() >= FEWEST_QUESTIONS]
    paired: list[tuple[float, int]] = []  # variance of a question's difference, questions
    sides: list[Diagnosis] = []
    for (later, after), (earlier, before) in combinations(measured[:MOST_PAIRED], 2):
        shared = match_questions(earlier.scored, later.scored)
        differences = after[shared.other] - before[shared.base]
        differences = differences[np.isfinite(differences)]
        if len(differences) >= FEWEST_QUESTIONS and differences.any():
            # of two pass rates, the share of questions on which the runs differ
            spread = float((differences**2).mean() if metric == GOOD_SHARE else differences.var(ddof=1))
            paired.append((spread, len(differences)))
            sides += [side for side in (earlier, later) if side not in sides]
    if paired:
        deviation = sqrt(sum(variance for variance, _ in paired) / len(paired))
        return _size(metric, deviation, "paired", sides, max(n for _, n in paired))
    for side, each in measured:
        known = each[np.isfinite(each)]
        if known.std() > 0:
            return _size(metric, sqrt(2) * float(known.std(ddof=1)), "one run", [side], len(known))
    low, high = (0.0, 1.0) if metric == GOOD_SHARE else bounds_of(metric)
    worst = WORST_DEVIATION * (high - low) if np.isfinite(high - low) else WORST_DEVIATION
    return _size(metric, sqrt(2) * worst, "assumed", [], 0)


def _size(metric: str, deviation: float, basis: Basis, sides: Sequence[Diagnosis], n: int) -> SampleSize:
    runs = tuple(side.scored.run.run_id for side in sides)
    return SampleSize(metric, deviation, basis, runs, n)


def _values(side: Diagnosis, metric: str) -> FloatArray:
    """(q,) value of each question, repeats averaged."""
    values = passing_of(side) if metric == GOOD_SHARE else side.scored.values(metric)
    return question_means(values, side.scored.question)[0]
