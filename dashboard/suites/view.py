"""What a suite shows beyond its pass rate, for the page, the report and the terminal alike."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from ragtriage.dashboard.charts.chart import Chart, Heatmap
from ragtriage.data.suites.suite import Figure, Suite, SuiteFindings
from ragtriage.metrics.number_text import interval_text, number
from ragtriage.metrics.result_table import Cell, ResultTable, Row

F = TypeVar("F", bound=SuiteFindings)


class Failing(NamedTuple):
    """How the failing cases of a suite are counted: "1 case used a wrong filter", "2 cases used ..."."""

    noun: str
    one: str
    several: str


@dataclass(frozen=True)
class SuiteChart:
    """The chart of a suite, whose points open the cohort in their first key."""

    chart: Chart | Heatmap  # the chart
    heading: str  # on the page; "" for none
    alt: str  # what it shows
    legend: str  # how its colours read, for a report
    facts: Sequence[str] = ()  # small print on the page, plain text
    openings: Sequence[tuple[str, str]] = ()  # label of a button -> the cohort that it opens


@dataclass(frozen=True)
class SuiteView(Generic[F]):
    """How a suite is shown."""

    suite: Suite[F]  # whose findings are of type F
    failing: Failing  # how its failing cases are counted
    # what a person would say of the findings, a sentence or two with numbers; "" for nothing
    statement: Callable[[F], str] = field(default=lambda _findings: "")
    # the most telling first; those without rows are left out
    tables: Callable[[F], Sequence[ResultTable | None]] = field(default=lambda _findings: ())
    chart: Callable[[F], SuiteChart | None] = field(default=lambda _findings: None)  # None for none


def tables_of(view: SuiteView[F], findings: F) -> tuple[ResultTable, ...]:
    """Return the tables of findings that have rows."""
    return tuple(table for table in view.tables(findings) if table is not None and table.rows)


def figure_table(
    title: str, figures: Sequence[Figure], note: str = "", name: str = "Measure", value: str = "Mean"
) -> ResultTable:
    """Return figures as a table whose rows open their cases."""
    rows: tuple[Row, ...] = tuple({name: figure.title, value: _cell(figure)} for figure in figures)
    return ResultTable(title, rows, note, tuple(figure.cohort for figure in figures))


def _cell(figure: Figure) -> Cell:
    mean = figure.share
    if figure.is_share or not mean.n_scored:
        return mean
    return f"{number(mean.mean)} {interval_text(mean.low, mean.high)}, n = {mean.n_scored:,}"
