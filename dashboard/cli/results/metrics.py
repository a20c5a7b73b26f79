"""The metrics command: every metric of a run with its interval, counts and source."""

from __future__ import annotations

import click

from ragtriage.dashboard.cli.options import JSON, RUN, WholeNumbers
from ragtriage.dashboard.cli.terminal import print_json, table, wrapped
from ragtriage.data.api import metrics_answer, open_store
from ragtriage.data.comparison.published_results import SCALE_TITLES, band_scale, interpretations
from ragtriage.metrics.number_text import interval_text, number
from ragtriage.metrics.schema.metric import CONVENTIONS, Convention
from ragtriage.metrics.statistics.intervals import FEW_CLUSTERS

TOO_FEW = (
    f"too few: the interval rests on fewer than {FEW_CLUSTERS} questions (or conversations), or on values "
    "that do not vary; read it with caution."
)


@click.command()
@RUN
@click.option(
    "--k",
    "ks",
    default="1,3,5,10",
    type=WholeNumbers(1, "1,3,5,10"),
    help="Cut-offs k of the retrieval metrics.",
)
@click.option("--per-sample", is_flag=True, help="Also one value per question and metric.")
@click.option(
    "--convention",
    type=click.Choice(CONVENTIONS),
    default="default",
    show_default=True,
    help="How undefined values count: left out; as in RAGChecker's code; 0 for refusals, as in Ragas; or "
    "citations as in ALCE.",
)
@click.option(
    "--bands",
    type=click.Choice([*SCALE_TITLES]),
    default="targets",
    show_default=True,
    help="Target bands: production targets, RAGChecker's guide for strict or general use, or the Ragas "
    "scale.",
)
@JSON
@click.pass_obj
def metrics(
    workspace: str | None,
    run_name: str,
    ks: tuple[int, ...],
    per_sample: bool,
    convention: Convention,
    bands: str,
    as_json: bool,
) -> None:
    """Show every metric of a run: mean, 95 % interval, n and source."""
    store = open_store(workspace)
    run = store.find(run_name)
    options = store.options(run, ks, convention)
    if as_json:
        print_json(metrics_answer(store, run, options, per_sample, bands))
        return
    summaries = store.summary(run, options)
    said = interpretations(store.scored(run, options), summaries, band_scale(store.workspace, bands))
    rows = [
        [
            name,
            number(summary.mean, 3),
            interval_text(summary.low, summary.high, 3),
            f"{summary.n_scored:,} of {summary.n_applicable:,}",
            summary.source,
            said[name].standing,
            "too few" if summary.too_few and summary.n_scored else "",
        ]
        for name, summary in summaries.items()
    ]
    click.echo(table(["metric", "mean", "95 % interval", "questions", "source", "band", "caution"], rows))
    if any(row[-1] for row in rows):
        click.echo(wrapped(TOO_FEW))
