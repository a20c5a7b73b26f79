"""What the functions return besides plain frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from ragtriage import RagtriageError

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from ragtriage.dashboard.charts.tokens import Theme
    from ragtriage.dashboard.present.export.notebook import NotebookView


class Shown:
    """A result that a notebook shows as HTML, and that draws the figure of its page.

    It shows what the project held when it was made; a run, the verdict as of now. Copies made with pickle
    carry the values alone.
    """

    _show: Callable[[Callable[[NotebookView], Any]], Any] | None = None

    def _repr_html_(self) -> str | None:
        """Return the conclusion, the main numbers and a table as HTML; None after pickle."""
        return None if self._show is None else str(self._show(lambda view: view.html()))

    def plot(self, theme: Theme = "light") -> go.Figure:
        """Return the figure that the dashboard draws of this result, a Plotly figure.

        Args:
            theme: "light" or "dark".

        Raises:
            RagtriageError: nothing that it draws was measured, or the result is a copy made with pickle.
        """
        if theme not in ("light", "dark"):
            raise RagtriageError(f'theme {theme!r}; accepted: "light" or "dark"')
        if self._show is None:
            kind = type(self).__name__
            raise RagtriageError(f"this {kind} has its values alone; accepted: as a function returned it")
        return self._show(lambda view: view.figure(theme))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_show"}


@dataclass(frozen=True)
class Run(Shown):
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
class Diagnosis(Shown):
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
class Comparison(Shown):
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
class JudgePlan:
    """What a judge job would take, before anything is sent.

    Attributes:
        kind: what is asked: an evaluation, an evaluator, or about attacks.
        model: that judges, with its effort.
        prompt: version of what is sent.
        samples: samples and repetitions to judge.
        cached: of them, those that are judged already.
        calls: calls to make.
        input_tokens: of these calls, expected.
        output_tokens: of these calls, expected.
        cost_usd: of these calls, expected; None where the model has no price.
        method: how the tokens were obtained.
        notes: what should be known before it is started.
    """

    kind: str
    model: str
    prompt: str
    samples: int
    cached: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    method: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Judgement:
    """A judge job on a run.

    Attributes:
        run_id: of the run.
        state: planned where nothing was asked, done, or stopped.
        message: why it stopped, "" otherwise.
        plan: what was expected of it.
        scored: samples that have a judge result now.
        failed: status -> samples that were asked about without one.
        calls: calls that were made.
        cost_usd: what they cost; None where the model has no price.
        metrics: one row per metric that a judge has scored, indexed by its name: mean, 95 % interval, counts.
        shuffled: the job in another order of documents; None where none was asked for.
    """

    run_id: str
    state: Literal["planned", "done", "stopped"]
    message: str
    plan: JudgePlan
    scored: int
    failed: Mapping[str, int]
    calls: int
    cost_usd: float | None
    metrics: pd.DataFrame
    shuffled: Judgement | None = None


@dataclass(frozen=True)
class StoredLabels:
    """Labels of a person that were stored with a run.

    Attributes:
        labels: number of labels that a case was there for.
        unmatched: number of labels without a case.
        dimensions: what was labelled -> number of labels.
        random: whether they were declared a random sample.
        who: whose labels they are.
    """

    labels: int
    unmatched: int
    dimensions: Mapping[str, int]
    random: bool
    who: str


@dataclass(frozen=True)
class GridSearch:
    """A grid search over chunkings.

    Attributes:
        key: identifies the grid.
        project: of its runs.
        metric: by which the configurations are ranked.
        configurations: one row per configuration, in the order of the plan: its run, chunking, mean with 95 %
            interval, difference to the best with the interval of the test of all together, p and outcome, and
            the mean of every other metric of the run.
        left_out: why other configurations are not possible.
        notes: what is to be known of corpus and questions.
    """

    key: str
    project: str
    metric: str
    configurations: pd.DataFrame
    left_out: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class GateReport(Shown):
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
