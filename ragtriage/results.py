"""What the functions return besides plain frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Run:
    """A run in a workspace.

    Attributes:
        run_id: identifies it; made from its content.
        name: what it is called.
        project: what it belongs to.
        n: number of samples.
        n_questions: number of different questions.
        created_at: when it was made, naive UTC.
    """

    run_id: str
    name: str
    project: str
    n: int
    n_questions: int
    created_at: datetime


@dataclass(frozen=True)
class Interval:
    """A mean over questions with its 95 % interval.

    Attributes:
        mean: None where nothing is measured.
        low: lower end of the interval; None where it cannot be given.
        high: upper end.
        n_questions: questions with a value.
        method: how the interval was computed.
        too_few: whether it rests on too little to be trusted.
    """

    mean: float | None
    low: float | None
    high: float | None
    n_questions: int
    method: str
    too_few: bool


@dataclass(frozen=True)
class Diagnosis:
    """Where the cases of a run fail.

    Attributes:
        run_id: of the run.
        n: number of cases.
        bad: number of bad cases.
        pass_rate: share of questions whose cases pass.
        context_metric: metric that rates the retrieved context; None where the run has none.
        thresholds: case thresholds by name.
        patterns: metric pattern -> number of cases.
        stages: failure stage -> number of bad cases.
        fix_first: failure stages, the one to fix first on top.
        worst_slices: slices of the samples that fail most.
        symptoms: keys of the symptoms that were seen.
    """

    run_id: str
    n: int
    bad: int
    pass_rate: Interval
    context_metric: str | None
    thresholds: Mapping[str, float]
    patterns: Mapping[str, int]
    stages: Mapping[str, int]
    fix_first: pd.DataFrame
    worst_slices: pd.DataFrame
    symptoms: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """A run beside a baseline, paired on question.

    Attributes:
        base_id: run id of the baseline.
        run_id: of the other run.
        n_shared: questions that both have.
        metrics: one row per metric: both means, difference, interval, p values, pairs and verdict.
        warnings: what makes the two sides unequal.
    """

    base_id: str
    run_id: str
    n_shared: int
    metrics: pd.DataFrame
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class GateReport:
    """The verdict of the gates on a run.

    Attributes:
        run_id: of the run.
        name: of the run.
        project: of the run.
        verdict: the worst among the blocking gates.
        state: the conclusion: ship, do_not_ship, cannot_tell or not_checked.
        exit_code: what `ragtriage gate` ends with: 0, 1 where the version must not ship, 3 where it
            cannot tell or nothing was checked.
        baseline_id: run id of the baseline; None where there is none.
        baseline_note: how the baseline was found, or why there is none.
        gates: one row a gate: verdict, value, interval, questions, threshold and a sentence.
        newly_failing: questions that passed in the baseline and fail now.
        warnings: what makes the two sides unequal.
        cautions: what the sanity checks say to read before trusting the numbers.
    """

    run_id: str
    name: str
    project: str
    verdict: Literal["PASS", "FAIL", "INCONCLUSIVE", "UNMEASURED"]
    state: Literal["ship", "do_not_ship", "cannot_tell", "not_checked"]
    exit_code: int
    baseline_id: str | None
    baseline_note: str
    gates: pd.DataFrame
    newly_failing: pd.DataFrame
    warnings: tuple[str, ...]
    cautions: tuple[str, ...]

    @property
    def blocked(self) -> bool:
        """Return whether the version must not ship: `assert not report.blocked, str(report)`."""
        return self.exit_code != 0

    def __str__(self) -> str:
        """Write the conclusion, and a line for each gate that does not pass."""
        sentences: list[Any] = self.gates.loc[self.gates["verdict"] != "PASS", "sentence"].tolist()
        return "\n".join(
            [f"{self.state.replace('_', ' ')}: {self.name} ({self.project})", *map(str, sentences)]
        )
