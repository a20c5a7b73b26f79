"""The compare command: runs beside a baseline, paired on question."""

from __future__ import annotations

import click

from dashboard.cli.options import JSON
from dashboard.cli.terminal import plain, print_json, table, wrapped
from dashboard.wording.formatting import interval_text, number, p_value, signed
from dashboard.wording.runs import distinct_labels
from data.api import comparison_answer, comparisons_with, open_store
from data.comparison.compare import Comparison
from metrics.metric_registry import title_of

__all__ = ["compare"]

FOOTER = (
    "Differences are paired on question. The interval is of one metric by itself and is not corrected; p is "
    "Holm-corrected over the metrics of the table and gives the verdict, so a difference can stay within "
    "chance although its interval leaves 0 out."
)


@click.command()
@click.argument("base")
@click.argument("others", nargs=-1, required=True)
@click.option(
    "--family",
    type=click.Choice(["headline", "retrieval", "generation", "answer", "system", "all"]),
    default="all",
    show_default=True,
    help="Metrics that are compared, and over which p values are corrected.",
)
@JSON
@click.pass_obj
def compare(workspace: str | None, base: str, others: tuple[str, ...], family: str, as_json: bool) -> None:
    """Compare runs with a baseline, paired on question."""
    store = open_store(workspace)
    base_run, *runs = [store.find(name) for name in (base, *others)]
    comparisons = comparisons_with(store, base_run, runs, family)
    if as_json:
        print_json(comparison_answer(base_run, runs, comparisons, family))
        return
    labels = distinct_labels([base_run, *runs], store.names())
    for run, comparison in zip(runs, comparisons, strict=True):
        title = f"{labels[run.run_id]} against {labels[base_run.run_id]}"
        click.echo(f"{_comparison_text(title, comparison)}\n")
    click.echo(wrapped(FOOTER))


def _comparison_text(title: str, comparison: Comparison) -> str:
    n_shared = len(comparison.matched.base)
    rows = [
        [
            title_of(row.metric),
            number(row.base, 3),
            number(row.other, 3),
            signed(row.difference.difference, 3),
            interval_text(row.difference.low, row.difference.high, 3),
            f"{row.difference.n_pairs:,}",
            p_value(row.adjusted_p),
            row.verdict,
        ]
        for row in comparison.differences
    ]
    header = ["metric", "baseline", "run", "difference", "95 % interval", "n", "p (Holm)", "verdict"]
    if all(row.difference.n_pairs == n_shared for row in comparison.differences):
        rows, header = [[*row[:5], *row[6:]] for row in rows], [*header[:5], *header[6:]]
    heading = f"{plain(title)} ({len(rows)} metrics, {n_shared:,} shared questions)"
    return "\n".join([heading, *comparison.warnings, table(header, rows)])
