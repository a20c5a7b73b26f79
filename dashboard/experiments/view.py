"""What a kind of experiment shows, for the page, reports and the terminal alike, and what all kinds share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, nan
from pathlib import PurePath
from typing import Any, Generic, TypeVar

import plotly.graph_objects as go

from ragtriage.dashboard.charts.chart import Chart, Heatmap
from ragtriage.dashboard.charts.experiments import arm_dots
from ragtriage.dashboard.charts.tokens import Tokens
from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.dashboard.wording.escaping import capital, shorten
from ragtriage.dashboard.wording.formatting import methods
from ragtriage.data.experiments.experiment import ExperimentKind
from ragtriage.data.experiments.registry import ExperimentSummary
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import count, p_value
from ragtriage.metrics.result_table import Number, ResultTable, Row, ends_of
from ragtriage.metrics.statistics.repeated_measures import PairTest

F = TypeVar("F")


@dataclass(frozen=True)
class Opening:
    """The cases that a button or a row opens."""

    label: str  # of the button
    selection: Mapping[str, Any]  # fields of the selection on the page that opens
    page: str = "cases"  # its path


@dataclass(frozen=True)
class Part:
    """A part of what an experiment shows, in this order."""

    heading: str = ""  # "" for none
    # a chart, or a function that draws one in the colours of a theme; None for none
    chart: Chart | Heatmap | Callable[[Tokens], go.Figure] | None = None
    alt: str = ""  # what the chart shows, for people who cannot see it
    key: str = ""  # names the chart on the page
    # custom data of a clicked point -> what it opens; None for a chart that opens nothing
    cells: Callable[[Sequence[Any]], Opening | None] | None = None
    facts: Sequence[str] = ()  # small print about the chart, as plain text
    table: ResultTable | None = None  # with its note below; the terminal has the tables and their notes alone
    folded: str = ""  # title of the box that the table is folded away in on the page; "" for an open table
    rows: Sequence[Opening] = ()  # for each row of the table what it opens; () for none
    openings: Sequence[Opening] = ()  # buttons below
    beside: bool = False  # whether the page draws it right of the part before it
    is_result: bool = False  # whether a report shows this table in place of the arms


@dataclass(frozen=True)
class ShownEffect:
    """The main effect of an experiment; a loss is below 0."""

    text: str  # what was changed, as "rank 1 to rank 10"
    difference: float  # of quality, -1 to 1; NaN where it is not measured
    low: float = nan  # 95 % interval
    high: float = nan
    follows: str = ""  # what to do; "" for nothing
    arms: tuple[str, str] = ("", "")  # run ids of the two conditions; "" where there are no two

    @property
    def is_shown(self) -> bool:
        """Return whether the interval leaves out 0."""
        return isfinite(self.low) and isfinite(self.high) and not self.low <= 0 <= self.high


@dataclass(frozen=True)
class ExperimentView(Generic[F]):
    """How a kind of experiment is shown."""

    kind: ExperimentKind[F]  # of experiment, whose findings are of type F
    headline: Callable[[ExperimentSummary, F], Headline]  # (summary, findings) -> its conclusion
    # (summary, findings) -> what stands below
    parts: Callable[[ExperimentSummary, F], Sequence[Part]] = field(default=lambda _summary, _findings: ())
    # (summary, findings) -> its main effect; None for none
    effect: Callable[[ExperimentSummary, F], ShownEffect | None] = field(
        default=lambda _summary, _findings: None
    )


LONGEST_NAME = 32
MCNEMAR = "exact McNemar test, paired on the question; p corrected by Holm over these pairs"


def name_of(summary: ExperimentSummary) -> str:
    """Return what the owner calls the system, short enough for a headline: no address, and no command."""
    experiment = summary.experiment
    if experiment.name:
        return shorten(experiment.name, LONGEST_NAME)
    first = experiment.system.split(" ")[0]
    if "://" in first:
        return "The system"
    script = next((word for word in experiment.system.split() if word.endswith((".py", ".js", ".sh"))), "")
    return shorten(PurePath(script).stem if script else experiment.system, LONGEST_NAME)


def quality_title(summary: ExperimentSummary) -> str:
    """Return the title of the metric that the arms are measured by."""
    return capital(title_of(summary.quality))


def p_text(value: float) -> str:
    """Return a p value as it follows the letter: = 0.034, < 0.001."""
    text = p_value(value)
    return text if text.startswith("<") else f"= {text}"


def joined(facts: Sequence[str]) -> str:
    """Return facts as the note of a table, without the empty ones."""
    return "; ".join(filter(None, facts))


def arm_chart(summary: ExperimentSummary) -> Part:
    """Return the quality of each arm as dots with intervals."""
    title = quality_title(summary)
    return Part(
        chart=arm_dots(summary.arms, title), alt=f"{title} of each arm with its interval", key="arm_dots"
    )


def arm_table(summary: ExperimentSummary) -> ResultTable:
    """Return the arms with their quality."""
    title = quality_title(summary)
    rows: tuple[Row, ...] = tuple(
        {
            "Arm": result.arm.title,
            title: Number(result.quality.mean),
            "95 % interval": ends_of(result.quality),
            "n": f"{result.quality.n_scored:,} / {result.n:,}",
            "Without answer or value": result.n - result.quality.n_scored if result.arm.run_id else None,
            "Run": result.arm.run_id or "not asked to the end",
        }
        for result in summary.arms
    )
    notes = (
        f"{count(summary.experiment.n_questions, 'question')}, the same in every arm",
        f"{title}: {summary.source}",
        methods([result.quality for result in summary.arms]),
    )
    return ResultTable("Arms of the experiment", rows, joined(notes))


def pair_effect(pair: PairTest, text: str, follows: str, arms: tuple[str, str]) -> ShownEffect:
    """Return the effect that a paired test shows."""
    return ShownEffect(text, pair.difference, pair.low, pair.high, follows, arms)


def runs_of(summary: ExperimentSummary, first: int, second: int, factor: str) -> tuple[str, str]:
    """Return the runs of two conditions by their place among the levels of a factor, the lowest first."""
    arms = [result.arm for result in summary.arms if factor in result.arm.levels and result.arm.run_id]
    plain = [arm for arm in arms if "gold" not in arm.levels]
    ordered: Sequence[Any] = sorted(plain, key=lambda arm: float(arm.levels[factor]))
    return (ordered[first].run_id, ordered[second].run_id) if max(first, second) < len(ordered) else ("", "")
