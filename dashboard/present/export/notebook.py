"""Results of the Python package as a notebook shows them: conclusion, tiles, table, and the page's figure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
from markupsafe import Markup

from ragtriage.dashboard.charts.comparison import forest
from ragtriage.dashboard.charts.river import river_of
from ragtriage.dashboard.charts.tokens import DARK, THEMES, Theme, Tokens
from ragtriage.dashboard.headlines.compare import drawn_metrics, pair_headline
from ragtriage.dashboard.headlines.diagnosis import diagnosis_headline
from ragtriage.dashboard.headlines.headline import Headline, State
from ragtriage.dashboard.headlines.triage import report_headline
from ragtriage.dashboard.present.page_html.blocks import Strip, Tile, band, style_sheet, tile
from ragtriage.dashboard.present.stories.context import StoryView
from ragtriage.dashboard.present.stories.verdict_slide import TILES, foot_of, verdict_section
from ragtriage.dashboard.present.templating import render
from ragtriage.dashboard.tables.comparison import difference_table
from ragtriage.dashboard.tables.gates import gate_table
from ragtriage.dashboard.tables.run import stages_in_brief
from ragtriage.dashboard.wording.comparisons import outcome_text, tested_text
from ragtriage.dashboard.wording.diagnosis import context_metric_text, no_bad_case
from ragtriage.dashboard.wording.escaping import capital
from ragtriage.dashboard.wording.table_files import table_cells
from ragtriage.data.api import sides_of
from ragtriage.data.comparison.compare import Comparison, MetricDifference
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.diagnosis.doubts import doubted_losses
from ragtriage.data.errors import DataError
from ragtriage.data.gates.baseline import baseline_of
from ragtriage.data.gates.report import GateReport
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import count, interval_text, number, signed
from ragtriage.metrics.result_table import ResultTable, text_rows

MOST_ROWS = 20
GATE_COLUMNS = ("Verdict", "Gate", "Measured", "95 % interval", "n", "If it fails")
DIFFERENCE_COLUMNS = ("Metric", "Baseline", "Version", "Difference", "Interval", "Pairs", "Verdict")


@dataclass(frozen=True)
class NotebookView:
    """What a notebook shows of a result."""

    headline: Headline
    tiles: Sequence[Tile]
    table: ResultTable
    foot: str  # small print below the table
    draw: Callable[[Tokens], go.Figure]

    def html(self) -> Markup:
        """Return it as HTML that needs no request, dark where the notebook says that it is."""
        rows = text_rows(self.table)
        columns, cells, numeric = table_cells(rows[:MOST_ROWS])
        more = f"{len(rows) - MOST_ROWS:,} more rows in the table of the result" if rows[MOST_ROWS:] else ""
        return render(
            "notebook.html",
            style=style_sheet("light"),
            dark=DARK,
            headline=band(self.headline),
            tiles=[tile(shown) for shown in self.tiles],
            title=self.table.title,
            columns=columns,
            rows=cells,
            numeric=numeric,
            foot=" · ".join(filter(None, [more, self.foot])),
        )

    def figure(self, theme: Theme) -> go.Figure:
        """Return the figure of the page on the ground of a theme."""
        return self.draw(THEMES[theme]).update_layout(paper_bgcolor=THEMES[theme].background)


def run_view(
    store: RunStore, run: Run, report: GateReport | None = None, strict: bool = False
) -> NotebookView:
    """Return the verdict of a report of gates, else the one that Triage has now, with the pipeline."""
    view = StoryView(store, run, (report.baseline if report else baseline_of(store, run)).run)
    if report is not None:
        view.gates = report
    gates, section = view.readable_gates, verdict_section(view, {})

    def draw(tokens: Tokens) -> go.Figure:
        doubted = doubted_losses(view.diagnosis, view.findings)
        return river_of(view.diagnosis, doubted, tokens, view.baseline_diagnosis, view.short_names[1])

    results = () if gates is None else gates.results
    measured = [result for result in results if result.verdict != "UNMEASURED"] or results
    unmeasured = f"{count(len(results) - len(measured), 'gate')} not measured"
    return NotebookView(
        view.headline if gates is None else report_headline(gates, strict),
        section.slide.tiles if section.slide else (),
        gate_table(measured).only(*GATE_COLUMNS),
        f"{foot_of(view)} · {unmeasured}" if len(measured) < len(results) else foot_of(view),
        draw,
    )


def diagnosis_view(store: RunStore, diagnosis: Diagnosis) -> NotebookView:
    """Return what most bad cases of a run have in common, the stages they fail at, and its pipeline."""
    run = diagnosis.scored.run
    view = StoryView(store, run, baseline_of(store, run).run, diagnosis.settings)
    view.diagnosis = diagnosis
    findings, section = view.findings, verdict_section(view, {})
    thresholds = diagnosis.settings.thresholds
    low = f"low: context < {thresholds.context:g}, faithfulness < {thresholds.faithfulness:g}, answer "
    context = f"context metric: {context_metric_text(diagnosis)}"
    note = "" if diagnosis.fix_first else no_bad_case(diagnosis, findings)
    return NotebookView(
        diagnosis_headline(view.name, diagnosis, findings, "answer" in run.fields),
        section.slide.tiles if section.slide else (),
        stages_in_brief(diagnosis, findings),
        " · ".join(
            filter(None, [note, context, f"{low}relevancy < {thresholds.answer_relevancy:g}", foot_of(view)])
        ),
        lambda tokens: river_of(diagnosis, doubted_losses(diagnosis, findings), tokens),
    )


def comparison_view(store: RunStore, base: Run, run: Run, comparison: Comparison) -> NotebookView:
    """Return what changed from a baseline to a run, with the forest plot of the drawn metrics."""
    sides = sides_of(store, [run, base])
    names = sides[0][0], sides[1][0]
    drawn = drawn_metrics(comparison)
    rows = {row.metric: row for row in comparison.differences}
    first = sorted(
        (rows[name] for name in drawn),
        key=lambda row: (not row.primary, row.verdict not in ("better", "worse")),
    )
    reach = max((abs(end) for row in first for end in (row.low, row.high)), default=1.0)

    def draw(tokens: Tokens) -> go.Figure:
        if not drawn:
            raise DataError("no figure: the two runs share no measured metric from 0 to 1 with a direction")
        return forest([(run.run_id, names[0], rows)], drawn, tokens)

    return NotebookView(
        pair_headline(comparison, names, sides),
        [_difference_tile(row, reach) for row in first[:TILES]],
        difference_table(comparison.differences, " against ".join(names)).only(*DIFFERENCE_COLUMNS),
        f"{count(len(comparison.matched.base), 'shared question')}; {tested_text(comparison)}",
        draw,
    )


def _difference_tile(row: MetricDifference, reach: float) -> Tile:
    """Return the change of a metric as a tile, on a strip that goes as far as `reach` on both sides of 0."""
    states: dict[str, State] = {"better": "good", "worse": "bad", "no worse": "good", "equal": "good"}
    state, change = states.get(row.verdict, "cannot tell"), signed(row.difference.difference)
    title, interval = capital(title_of(row.metric)), interval_text(row.low, row.high)
    return Tile(
        title,
        change,
        state,
        row.verdict,
        f"{number(row.base)} → {number(row.other)}",
        f"interval {interval} · n = {count(row.difference.n_pairs, 'pair')}",
        Strip(
            row.difference.difference,
            row.low,
            row.high,
            state=state,
            label=f"{title} {change}, interval {interval}",
            start=-reach,
            end=reach,
            zero=True,
            hollow=row.verdict not in ("better", "worse"),
        ),
        outcome_text(row),
    )
