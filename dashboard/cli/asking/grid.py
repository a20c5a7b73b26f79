"""The grid command: a grid search over chunkings, continued from its finished configurations."""

import sys
from typing import Any

import click
from tqdm import tqdm

from ragtriage.dashboard.cli.options import JSON, WholeNumbers, with_default
from ragtriage.dashboard.cli.terminal import plain, print_answer, progress_bar, row_table
from ragtriage.data.api import open_store
from ragtriage.data.chunking.grid_plan import GridStep
from ragtriage.data.chunking.grid_search import (
    HEADLINE_METRIC,
    GridOptions,
    GridStoppedError,
    grid_answer,
    plan_grid,
    run_grid_job,
)
from ragtriage.data.chunking.grids import Grid, grids_of, rank_trials
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.metrics.gates.gates import FEWEST_QUESTIONS
from ragtriage.metrics.number_text import count, interval_text, signed
from ragtriage.metrics.result_table import Ends, Number, Row

SHOWN = (HEADLINE_METRIC, "span_precision@5", "span_iou@5", "span_ndcg@5", "span_recall_budget@1000")
BAR = "{percentage:3.0f}%|{bar}| {n}/{total} configurations [{elapsed}{postfix}]"
MARKS = {
    "best": "best",
    "same": "= best",
    "worse": "",
    "equal": "all equal",
    "no direction": "",
    "not measured": "not measured",
}


class _StrategyList(click.ParamType[Any]):
    """Structure-aware chunking strategies separated by commas."""

    name = "text"
    accepted = ("paragraph", "heading", "recursive")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the names."""
        names = tuple(name.strip() for name in str(value).split(",") if name.strip())
        if any(name not in self.accepted for name in names):
            self.fail(f"{value!r}; accepted: {', '.join(self.accepted)}", param, ctx)
        return names


@click.command()
@click.argument("corpus", nargs=-1)
@click.option(
    "--questions",
    required=True,
    metavar="NAME|FILE",
    help="A question set of the workspace, or a file: gold as spans, or as texts that are looked up.",
)
@with_default("--sizes", "128,256,512", "Chunk sizes.", type=WholeNumbers(1, "128,256"))
@with_default("--overlaps", "0,32,64", "Overlaps.", type=WholeNumbers(0, "0,32,64"))
@with_default("--unit", "tokens", "Unit of sizes and overlaps.", type=click.Choice(["tokens", "characters"]))
@click.option(
    "--strategies",
    default="",
    type=_StrategyList(),
    help="Structure-aware splitters to try as well: any of paragraph,heading,recursive.",
)
@with_default(
    "--headings",
    "both",
    "Whether these splitters index title and headings with each chunk.",
    type=click.Choice(["no", "yes", "both"]),
)
@with_default("--depth", 20, "Chunks retrieved.", type=click.IntRange(1, 1000))
@with_default("--retriever", "bm25", "bm25, or embedding:PATH of a local model.")
@click.option("--project", help="Project of the runs; by default the name of the corpus.")
@click.option("--title", default="", help="Name of the grid.")
@JSON
@click.pass_obj
def grid(workspace: str | None, /, as_json: bool, **options: Any) -> None:
    """Try chunk sizes and overlaps on a corpus of .txt, .md or JSONL.

    Without CORPUS, a question set is tried on the documents that came with it, as MuSiQue has them.
    Finished configurations are kept; the same command continues from them.
    """
    sys.exit(_run(workspace, GridOptions(**options), as_json))


def _run(workspace: str | None, options: GridOptions, as_json: bool) -> int:
    """Run a grid, print its configurations, and return the exit code."""
    store = open_store(workspace, create=True)
    plan, refused = plan_grid(store, options)
    for reason in refused:
        click.echo(f"left out: {plain(reason)}", err=True)
    for note in (*plan.corpus.notes, *plan.questions.notes):
        click.echo(f"note: {plain(note)}", err=True)
    project = options.project or plan.corpus.name
    try:
        with progress_bar("", len(plan.chunkings), BAR) as show:

            def watch(step: GridStep) -> None:
                # the time left is the grid's own, which leaves out the runs that were there
                left = ""
                if step.seconds_left is not None and step.configuration:
                    left = f", about {tqdm.format_interval(step.seconds_left)} left"
                show(step.done, f"{plain(step.configuration) or 'done'}{left}")

            runs = run_grid_job(store, options, plan, project, watch)
    except (KeyboardInterrupt, GridStoppedError):
        message = "Stopped. Finished configurations are kept; the same command continues from them."
        click.echo(message, err=True)
        return 130
    grid = next(grid for grid in grids_of(store.runs(project)) if grid.key == plan.key)
    print_answer(grid_answer(store, plan, runs, refused) if as_json else _as_text(store, grid))
    return 0


def _as_text(store: RunStore, grid: Grid) -> str:
    scored_runs = [store.scored(trial.run) for trial in grid.trials]
    rankings = {metric: rank_trials(grid, scored_runs, metric) for metric in SHOWN}
    rows: list[Row] = []
    for at, trial in enumerate(grid.trials):
        headline, *others = (rankings[metric].values[at] for metric in SHOWN)
        mean, n_chunks = headline.value, trial.run.config.get("n_chunks")
        difference, test = headline.difference, headline.test
        to_best = None
        if difference and test:
            to_best = f"{signed(difference.difference, 3)} {interval_text(test.low, test.high, 3)}"
        rows.append(
            {
                "run": trial.run.run_id,
                "chunking": trial.run.name,
                "chunks": n_chunks if isinstance(n_chunks, int) else None,
                HEADLINE_METRIC: Number(mean.mean) if mean else None,
                "95 % interval": Ends(mean.low, mean.high) if mean else None,
                "to the best": to_best,
                "": MARKS[headline.outcome],
                **{
                    metric: Number(other.value.mean) if other.value else None
                    for metric, other in zip(SHOWN[1:], others, strict=True)
                },
            }
        )
    equal = any(entry.outcome == "equal" for entry in rankings[HEADLINE_METRIC].values)
    none_best = f"All configurations are equal by {HEADLINE_METRIC}, so none is the best. " if equal else ""
    n = rankings[HEADLINE_METRIC].n_questions
    few = "Too few to choose a chunking by: add questions. " if n < FEWEST_QUESTIONS else ""
    footer = (
        f"{count(n, 'question')}. {few}{none_best}"
        "= best: paired tests of all configurations together (step-down max-T over shared sign flips) cannot "
        "tell it from the best one. The interval of the difference to the best is the one these tests give; "
        "that of the mean is for the configuration alone. Recall is the share of gold characters covered."
    )
    return f"{row_table(rows)}\n{footer}"
