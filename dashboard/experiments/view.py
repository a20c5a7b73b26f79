"""What a kind of experiment shows, top to bottom, for the page, reports and the terminal alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import plotly.graph_objects as go

from ragtriage.dashboard.charts.chart import Chart, Heatmap
from ragtriage.dashboard.charts.tokens import Tokens
from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.data.experiments.experiment import ExperimentKind
from ragtriage.data.experiments.summary import ExperimentSummary
from ragtriage.metrics.result_table import ResultTable

F = TypeVar("F")


@dataclass(frozen=True)
class Opening:
    """What a button or a row leads to."""

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
class ExperimentView(Generic[F]):
    """How a kind of experiment is shown."""

    kind: ExperimentKind[F]  # of experiment, whose findings are of type F
    headline: Callable[[ExperimentSummary, F], Headline]  # (summary, findings) -> its conclusion
    # (summary, findings) -> what stands below
    parts: Callable[[ExperimentSummary, F], Sequence[Part]] = field(default=lambda _summary, _findings: ())
