"""The evaluation plan: what to measure, on how many questions, with which gates and labels, step by step.

Rules, by use case and by what the project holds; every step names its command.
"""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragtriage.data.comparison.compared_metrics import primary_metric
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run
from ragtriage.data.strategy.holdings import MOST_RUNS, Holdings, SampleSize, holdings_of, sample_size
from ragtriage.metrics.diagnosis.check_kinds import CRITICAL_SUITES
from ragtriage.metrics.statistics.power import labels_for_share

TRIALS = ("attack", "experiment")  # formats of runs that `attack` and `experiment` make
FEWEST_PROMPTS = 100  # attack prompts below which a safety suite says little: 3 in 100 may still get through


@dataclass(frozen=True)
class UseCase:
    """The purpose of an evaluation."""

    key: str  # name in commands
    title: str  # on screen
    profile: str  # of `ragtriage init`
    metrics: tuple[tuple[str, str], ...]  # that decide, with why
    difference: float  # that must be told, in the primary metric
    half_width: float  # of the interval of the share that labels estimate
    suites: tuple[str, ...] = ()  # of checks that it cannot do without
    repeats: int = 1  # how often each question is asked
    traffic: bool = False  # whether real use is watched


_FAITHFUL = ("faithfulness", "what users cannot check by themselves")
_FOUND = ("context_recall", "what is not found cannot be answered")
_RELEVANT = ("answer_relevancy", "whether the question is answered at all")
_REFUSAL = ("over_refusal", "an answer withheld is a failure too")
_F1 = ("answer_f1", "right and complete in one number, with a tree of causes")
_RECALL = ("recall@5", "retrieval alone, without a judge")
USE_CASES: Mapping[str, UseCase] = {
    case.key: case
    for case in (
        UseCase(
            "prototype",
            "Prototype",
            "prototype",
            (_FAITHFUL, _FOUND, _RELEVANT),
            difference=0.15,
            half_width=0.2,
        ),
        UseCase(
            "production",
            "Production",
            "production",
            (_FAITHFUL, _RELEVANT, _FOUND, _REFUSAL, ("latency_ms", "users leave; look at its p95")),
            difference=0.05,
            half_width=0.1,
            suites=("safety",),
            traffic=True,
        ),
        UseCase(
            "research",
            "Research",
            "research",
            (_F1, _RECALL, _FOUND, _FAITHFUL),
            difference=0.05,
            half_width=0.1,
            repeats=3,
        ),
        UseCase(
            "regulated",
            "Regulated",
            "regulated",
            (
                _FAITHFUL,
                ("hallucination", "a wrong statement without a source is a liability"),
                ("self_knowledge", "right, but traceable to nothing"),
                ("negative_rejection_rate", "no answer where there is no evidence"),
                _FOUND,
            ),
            difference=0.05,
            half_width=0.05,
            suites=("safety", "isolation"),
            repeats=3,
            traffic=True,
        ),
    )
}


@dataclass(frozen=True)
class PlannedMetric:
    """A metric of the plan: its name, why it decides, and the questions that the newest run measures."""

    name: str
    why: str
    n: int


@dataclass(frozen=True)
class PlanStep:
    """One step."""

    key: str  # name of the step
    what: str  # to do
    why: str  # with the number that it rests on
    command: str  # that does it, or that shows how
    done: bool  # whether the project has it already


@dataclass(frozen=True)
class Plan:
    """The plan of a project."""

    use_case: UseCase  # what it is for
    holdings: Holdings  # what the project holds
    size: SampleSize  # questions that show a difference of 0.05
    n_questions: int  # questions that this use case needs, for its own difference
    n_labels: int  # labels that it needs
    metrics: tuple[PlannedMetric, ...]  # that decide
    steps: tuple[PlanStep, ...]  # in order


def plan_of(store: RunStore, project: str, use_case: str, diagnosed: Callable[[Run], Diagnosis]) -> Plan:
    """Return the plan of a project.

    Args:
        store: of the workspace.
        project: an existing one, or any name in a workspace without runs.
        use_case: key of USE_CASES.
        diagnosed: returns the diagnosis of a run at the usual settings.

    Raises:
        DataError: there is no such use case.
    """
    if use_case not in USE_CASES:
        raise DataError(f"use case {use_case[:40]!r}; accepted: {', '.join(USE_CASES)}")
    case = USE_CASES[use_case]
    runs = [run for run in store.runs(project) if not run.means and not run.config.get("generated_from")]
    own = [run for run in runs if is_version(run)] or runs
    newest = _newest_measured(own, diagnosed)
    recent = [diagnosed(run) for run in runs[::-1][:MOST_RUNS]]
    held = holdings_of(store, project, newest, runs, recent)
    size = sample_size(own, diagnosed, primary_metric(store.workspace, project))
    needed = size.questions(case.difference)
    labels = labels_for_share(case.half_width)
    metrics = tuple(PlannedMetric(name, why, _measured(newest, name)) for name, why in case.metrics)
    steps = _Steps(case, held, own, needed, labels, size).in_order()
    return Plan(case, held, size, needed, labels, metrics, tuple(steps))


def is_version(run: Run) -> bool:
    """Return whether a run is a version of the system: no attack, changed context or search for chunks."""
    if run.config.get("grid"):
        return False
    return run.origin.get("format") not in TRIALS or run.config.get("experiment_kind") == "arms"


def _newest_measured(runs: Sequence[Run], diagnosed: Callable[[Run], Diagnosis]) -> Diagnosis | None:
    """Return the newest run that measures whether its cases are good, else the newest; None without any."""
    for run in runs[::-1][:MOST_RUNS]:
        diagnosis = diagnosed(run)
        if diagnosis.measured.any():
            return diagnosis
    return diagnosed(runs[-1]) if runs else None


def _measured(diagnosis: Diagnosis | None, metric: str) -> int:
    """Return the questions of a run with a value of a metric."""
    if diagnosis is None:
        return 0
    scored = diagnosis.scored
    return len(np.unique(scored.question[np.isfinite(scored.values(metric))]))


@dataclass(frozen=True)
class _Steps:
    """The rules: each method returns one step, whose `done` says whether the project has it already."""

    case: UseCase
    held: Holdings
    runs: Sequence[Run]
    needed: int
    n_labels: int
    size: SampleSize

    @property
    def _run(self) -> str:
        return self.held.run.run_id if self.held.run is not None else "RUN"

    @property
    def _n_reviewed(self) -> int:
        """Questions that are worth gold and a reference."""
        return min(self.n_labels, self.needed)

    @property
    def _project(self) -> str:
        return shlex.quote(self.held.project)

    def in_order(self) -> list[PlanStep]:
        """Return the steps: what fails critically first, then data, measuring, deciding, watching."""
        steps = [
            *(self._critical(suite) for suite in CRITICAL_SUITES if self.held.failing.get(suite)),
            self._load(),
            self._questions(),
            self._gold(),
            self._references(),
            self._judge(),
            self._labels(),
        ]
        steps += [
            self._suite(suite)
            for suite in self.case.suites
            if not (suite in CRITICAL_SUITES and self.held.failing.get(suite))
        ]
        if self.case.repeats > 1:
            steps.append(self._repeats())
        steps += [self._gates(), self._baseline(), self._decide()]
        if self.case.key == "research" or "answer_f1" in dict(self.case.metrics):
            steps.append(self._explain())
        if self.case.traffic:
            steps.append(self._watch())
        return steps

    def _load(self) -> PlanStep:
        n = self.held.n_runs
        return PlanStep(
            "load",
            "Load a run",
            f"{n:,} {'run' if n == 1 else 'runs'} with samples in the project"
            if n
            else "the project has no run yet",
            f"ragtriage import results.jsonl --project {self._project}",
            bool(n),
        )

    def _questions(self) -> PlanStep:
        why = (
            f"a difference of {self.case.difference:g} needs about {self.needed:,} (power 0.8, two-sided "
            f"0.05); the newest measured run has {self.held.n_questions:,}"
        )
        command = f"ragtriage import results.jsonl --project {self._project}"
        return PlanStep(
            "questions", f"Ask {self.needed:,} questions", why, command, self.held.n_questions >= self.needed
        )

    def _gold(self) -> PlanStep:
        n, there = self._n_reviewed, self.held.gold
        return PlanStep(
            "gold",
            f"Label the documents that answer {n:,} questions",
            f"gold separates retrieval errors from generation errors without a judge; {there:,} have it",
            f"ragtriage import results.jsonl --qrels gold.tsv --project {self._project}",
            there >= n,
        )

    def _references(self) -> PlanStep:
        n, there = self._n_reviewed, self.held.references
        return PlanStep(
            "references",
            f"Write reference answers to {n:,} questions",
            f"context recall and F1 are measured against them, the rest can go without; {there:,} have one",
            f"ragtriage import results.jsonl --questions references.jsonl --project {self._project}",
            there >= n,
        )

    def _judge(self) -> PlanStep:
        return PlanStep(
            "judge",
            "Have the answers judged, after a look at the cost",
            "claims and their support are what faithfulness and F1 count",
            f"ragtriage judge {self._run} --dry-run",
            self.held.judge,
        )

    def _labels(self) -> PlanStep:
        why = (
            f"{self.n_labels:,} random labels put the pass rate within ±{self.case.half_width:g} and tell "
            f"whether the scores can be trusted; {self.held.labels:,} there"
        )
        return PlanStep(
            "labels",
            f"Label {self.n_labels:,} random answers by hand",
            why,
            f"ragtriage agreement {self._run}",
            self.held.labels >= self.n_labels,
        )

    def _critical(self, suite: str) -> PlanStep:
        n, what = self.held.failing[suite], "Stop the leaks between accounts"
        if suite != "isolation":
            what = f"Repair what fails the {suite} checks"
        return PlanStep(
            suite,
            what,
            f"{n:,} {'case fails' if n == 1 else 'cases fail'} a check of {suite}: one is too many",
            f"ragtriage checks {self._run} --suite {suite} --failing",
            False,
        )

    def _suite(self, suite: str) -> PlanStep:
        n = (self.held.checks or {}).get(suite, 0)
        least, why = 1, "one document of another account is one too many"
        command = f"ragtriage checks {self._run} --suite {suite}"
        if suite == "safety":
            least = FEWEST_PROMPTS
            why = f"0 failures of {least} still allow 3 in 100"
            command = f'ragtriage attack bundled --system "python my_system.py" --project {self._project}'
        return PlanStep(
            suite,
            f"Check {suite} on {least:,} prompts" if least > 1 else f"Check {suite} on every answer",
            f"{why}; {n:,} checked",
            command,
            n >= least,
        )

    def _repeats(self) -> PlanStep:
        return PlanStep(
            "repeats",
            f"Ask each question {self.case.repeats} times",
            "a verdict that changes from one answer to the next is luck",
            f"ragtriage import results.jsonl --project {self._project}",
            self.held.repeats,
        )

    def _gates(self) -> PlanStep:
        return PlanStep(
            "gates",
            "Write gates",
            f"the profile {self.case.profile} has thresholds with reasons; change what does not fit"
            if not self.held.own_gates
            else "the workspace has a gates.toml",
            f"ragtriage init --profile {self.case.profile}",
            self.held.own_gates,
        )

    def _baseline(self) -> PlanStep:
        return PlanStep(
            "baseline",
            "Name the baseline",
            "changes are judged against it, paired on question",
            f"ragtriage baseline {self._run}",
            self.held.baseline,
        )

    def _decide(self) -> PlanStep:
        if self.case.key == "research" and len(self.runs) > 1:
            runs = f"{self.runs[-2].run_id} {self.runs[-1].run_id}"
            why = "paired tests, corrected over all metrics"
            return PlanStep("decide", "Compare the systems", why, f"ragtriage compare {runs}", False)
        return PlanStep(
            "decide",
            "Judge each new version",
            "exit code 1 stops a release; --strict also, with 3, where something could not be judged",
            f"ragtriage gate {self._run}{' --strict' if self.case.key == 'regulated' else ''}",
            False,
        )

    def _explain(self) -> PlanStep:
        why = "which part of F1 costs most, and the most that it could give"
        return PlanStep("explain", "Ask why F1 is low", why, f"ragtriage f1 {self._run}", False)

    def _watch(self) -> PlanStep:
        return PlanStep(
            "watch",
            "Watch real use",
            "questions of users are not those of the test set",
            f"ragtriage watch . --project {self._project}",
            self.held.traffic,
        )


def plan_answer(plan: Plan) -> dict[str, Any]:
    """Return the plan as JSON values."""
    held = plan.holdings
    return {
        "project": held.project,
        "use_case": plan.use_case.key,
        "run": None if held.run is None else held.run.run_id,
        "holds": held.held(),
        "questions": {
            "needed": plan.n_questions,
            "for_difference": plan.use_case.difference,
            "there": held.n_questions,
            "needed_for_0.05": plan.size.questions(),
            "metric": plan.size.metric,
            "deviation": plan.size.deviation,
            "basis": plan.size.basis,
            "basis_runs": list(plan.size.runs),
            "basis_questions": plan.size.n_behind,
        },
        "labels": {"needed": plan.n_labels, "within": plan.use_case.half_width, "there": held.labels},
        "profile": plan.use_case.profile,
        "metrics": [vars(metric) for metric in plan.metrics],
        "steps": [vars(step) for step in plan.steps],
    }
