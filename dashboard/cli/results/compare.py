"""The compare command: runs beside a baseline, paired on question."""

from __future__ import annotations

import click

from ragtriage.dashboard.cli.options import JSON
from ragtriage.dashboard.cli.terminal import plain, print_json, table, wrapped
from ragtriage.dashboard.wording.comparisons import not_compared_text, tested_text, undirected_text
from ragtriage.data.api import comparison_answer, comparisons_with, open_store
from ragtriage.data.comparison.compare import Comparison
from ragtriage.data.scoring.run_store import distinct_labels
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import count, interval_text, number, p_value, signed

FOOTER = (
    "Differences are paired on question, over the n pairs that both runs scored. The primary metric (*) "
    "is tested alone; the others together, by step-down max-T over sign flips that they share. The interval "
    "is the one the verdict uses: it excludes 0 where p is below 0.05; "
    "otherwise the verdict is “cannot tell”. “unchanged”: no question changed. "
    "The unadjusted interval of a metric is in --json: low and high."
)


@click.command()
@click.argument("base")
@click.argument("others", nargs=-1, required=True)
@click.option(
    "--family",
    type=click.Choice(["headline", "retrieval", "generation", "answer", "system", "all"]),
    default="all",
    show_default=True,
    help="Metrics to compare; p values are corrected over them.",
)
@click.option(
    "--primary",
    metavar="METRIC",
    default="",
    help="Primary metric, tested alone; by default that of metrics.toml, else the pass rate.",
)
@JSON
@click.pass_obj
def compare(
    workspace: str | None, base: str, others: tuple[str, ...], family: str, primary: str, as_json: bool
) -> None:
    """Compare runs with a baseline, paired on question."""
    store = open_store(workspace)
    base_run, *runs = [store.find(name) for name in (base, *others)]
    comparisons = comparisons_with(store, base_run, runs, family, primary)
    if as_json:
        print_json(comparison_answer(base_run, runs, comparisons, family))
        return
    labels = distinct_labels([base_run, *runs], store.names())
    for run, comparison in zip(runs, comparisons, strict=True):
        title = f"{labels[run.run_id]} against {labels[base_run.run_id]}"
        click.echo(f"{_comparison_text(title, comparison)}\n")
    if not all(map(not_compared_text, comparisons)):
        click.echo(wrapped(FOOTER))


def _comparison_text(title: str, comparison: Comparison) -> str:
    n_shared = len(comparison.matched.base)
    rows = [
        [
            f"{title_of(row.metric)}{' *' if row.primary else ''}",
            number(row.base, 3),
            number(row.other, 3),
            signed(row.difference.difference, 3),
            interval_text(row.low, row.high, 3),
            f"{row.difference.n_pairs:,}",
            p_value(row.adjusted_p),
            row.verdict,
        ]
        for row in comparison.differences
    ]
    header = ["metric", "baseline", "run", "difference", "interval", "n", "p", "verdict"]
    heading = f"{plain(title)} ({count(len(rows), 'metric')}, {count(n_shared, 'shared question')})"
    notes = [f"{tested_text(comparison)}.", undirected_text(comparison)]
    return "\n".join(
        [
            heading,
            *comparison.warnings,
            table(header, rows),
            *(wrapped(plain(note)) for note in notes if note),
        ]
    )
