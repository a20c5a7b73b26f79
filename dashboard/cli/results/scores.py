"""The commands on scores: metrics, f1, compare."""

from collections.abc import Sequence

import click

from ragtriage.dashboard.cli.options import JSON, RUN, WholeNumbers, bands_option, with_default
from ragtriage.dashboard.cli.terminal import mean_cells, plain, print_json, row_table, wrapped
from ragtriage.dashboard.headlines.compare import pair_headline
from ragtriage.dashboard.tables.comparison import difference_table, slice_table
from ragtriage.dashboard.tables.run import effective_cell, expected_table, f1_table
from ragtriage.dashboard.wording.comparisons import (
    not_compared_text,
    slices_text,
    tested_text,
    undirected_text,
)
from ragtriage.dashboard.wording.diagnosis import (
    BOUND_NOTE,
    expected_text,
    f1_sentence,
    largest_leaf,
    left_out_text,
)
from ragtriage.dashboard.wording.escaping import capital
from ragtriage.dashboard.wording.formatting import sampling_text
from ragtriage.data.api import comparison_answer, comparisons_with, metrics_answer, open_store, sides_of
from ragtriage.data.comparison.compared_metrics import DEFAULT_FAMILY
from ragtriage.data.comparison.published_results import band_scale, interpretations
from ragtriage.data.comparison.question_changes import SliceChange
from ragtriage.data.declarations import use_declarations
from ragtriage.data.diagnosis.f1_tree import F1Diagnosis, f1_answer, f1_diagnosis
from ragtriage.data.strategy.expected_gains import Outlook, outlook_answer, outlook_of
from ragtriage.metrics.analysis.bands import BandScale
from ragtriage.metrics.number_text import count
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
@with_default(
    "--convention",
    "default",
    "How undefined values count: left out; as in RAGChecker's code; 0 for refusals, as in Ragas; or "
    "citations as in ALCE.",
    type=click.Choice(CONVENTIONS),
)
@bands_option("targets")
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
    scale = band_scale(store.workspace, bands)
    interpreted = interpretations(store.scored(run, options), summaries, scale)
    weighted = store.scored(run, options).question_weights is not None
    rows = [
        {
            "metric": name,
            **mean_cells(summary),
            **{name.lower(): cell for name, cell in effective_cell(summary, weighted).items()},
            "source": summary.source,
            "band": interpreted[name].standing,
            "caution": "too few" if summary.too_few and summary.n_scored else "",
        }
        for name, summary in summaries.items()
    ]
    if sampled := sampling_text(store.scored(run, options)):
        click.echo(f"{sampled}.")
    click.echo(row_table(rows))
    if any(row["caution"] for row in rows):
        click.echo(wrapped(TOO_FEW))


_ON_SCREEN = ("Part", "Mean", "95 % interval", "Band", "F1 if perfect, at most", "Gain, at most", "Cases")


@click.command()
@RUN
@bands_option("ragchecker")
@JSON
@click.pass_obj
def f1(workspace: str | None, run_name: str, bands: str, as_json: bool) -> None:
    """Show why F1 is low, and the most that each part could give back."""
    store = open_store(workspace)
    run = store.find(run_name)
    use_declarations(store.workspace, run.project)
    diagnosis = f1_diagnosis(store.scored(run))
    outlook = outlook_of(store, run, diagnosis.tree)
    if as_json:
        expected = {"expected": outlook_answer(outlook)}
        print_json({"run": run.run_id, "name": run.name, **f1_answer(diagnosis), **expected})
    else:
        click.echo(_f1_text(diagnosis, outlook, band_scale(store.workspace, bands)))


def _f1_text(diagnosis: F1Diagnosis, outlook: Outlook, scale: BandScale) -> str:
    tree = diagnosis.tree
    sections = [wrapped(f1_sentence(diagnosis))]
    if tree is not None:
        sections.append(row_table(f1_table(tree, scale, "  ").only(*_ON_SCREEN).rows))
        leaf = largest_leaf(tree)
        if leaf is not None:
            measures = " ".join(leaf.part.measures)
            sections.append(wrapped(f"What to try for {leaf.part.title.lower()}: {measures}"))
        notes = [
            BOUND_NOTE,
            left_out_text(diagnosis),
            f"bands: {scale.title}",
            f"source: {diagnosis.sources}",
        ]
        sections.append("\n".join(wrapped(f"{capital(note)}.", "  ") for note in notes if note))
    if outlook.gains:
        sections += [
            row_table(expected_table(outlook.gains).rows),
            wrapped(plain(expected_text(outlook))),
            *(wrapped(plain(f"Caution: {caution}.")) for caution in outlook.cautions),
        ]
    return "\n\n".join(sections)


FOOTER = (
    "Means and differences are paired on question, over the n pairs that both runs scored; the mean of one "
    "run alone, as metrics and gate print it, is over all that it scored. The primary metric "
    "is tested alone; the others together, by step-down max-T over sign flips that they share. The interval "
    "excludes 0 where p is below 0.05. “worse”: by at least 0.05 and beyond chance; “no worse”: by less than "
    "0.05. The loss beside it and beside “cannot tell” is the one-sided 95 % bound of the primary metric, of "
    "the others the end of the interval. The unadjusted interval of a metric is in --json: low and high."
)

MOST_SLICES = 5
COMPARED = ("Metric", "Baseline", "Version", "Difference", "Interval", "Pairs", "p (corrected)", "Verdict")


@click.command()
@click.argument("base")
@click.argument("others", nargs=-1, required=True)
@with_default(
    "--family",
    DEFAULT_FAMILY,
    "Metrics to compare, as on Compare; p values are corrected over them.",
    type=click.Choice(["headline", "retrieval", "generation", "answer", "system", "all"]),
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
    base_side, *sides = sides_of(store, [base_run, *runs])
    for side, comparison in zip(sides, comparisons, strict=True):
        names = side[0], base_side[0]
        headline = pair_headline(comparison, names, [side, base_side])
        click.echo(f"{wrapped(plain(headline.text))}\n")
        if comparison.slices:
            click.echo(f"{_slices_text(comparison.slices, names)}\n")
        title = " against ".join(names)
        table = difference_table(comparison.differences, title, 3).only(*COMPARED)
        shared = count(len(comparison.matched.base), "shared question")
        shared = "unpaired" if comparison.matched.sampled else shared
        heading = f"{plain(title)} ({count(len(table.rows), 'metric')}, {shared})"
        notes = filter(None, (f"{tested_text(comparison)}.", undirected_text(comparison)))
        below = (wrapped(plain(note)) for note in notes)
        click.echo("\n".join([heading, *comparison.warnings, row_table(table.rows), *below, ""]))
    if any(
        not comparison.matched.sampled and not not_compared_text(comparison) for comparison in comparisons
    ):
        click.echo(wrapped(FOOTER))


def _slices_text(slices: Sequence[SliceChange], names: tuple[str, str]) -> str:
    """Return how many slices moved beyond chance and the first of them, of a run and its baseline."""
    moved = [each for each in slices if each.verdict in ("better", "worse")]
    lines = [f"{slices_text(slices)}."]
    if moved:
        lines.append(row_table(slice_table(moved[:MOST_SLICES], names[1], names[0]).rows))
    if len(moved) > MOST_SLICES:
        lines.append(f"{len(moved) - MOST_SLICES:,} more")
    return "\n".join(lines)
