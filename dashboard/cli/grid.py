"""The grid command: a grid search over chunkings, with progress, going on from the cells that are there."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click
from tqdm import tqdm

from dashboard.cli.options import JSON, WholeNumbers
from dashboard.cli.terminal import plain, table
from dashboard.wording.formatting import interval_text, number
from data.api import open_store
from data.chunking.chunkers import Strategy, Unit
from data.chunking.corpus import read_corpus
from data.chunking.grid_search import GridPlan, GridStep, plan_cells, run_grid
from data.chunking.grids import Grid, grids_of
from data.chunking.questions import read_questions
from data.chunking.ranking import GridRanking, rank_trials
from data.importers.parsing.source import Source
from data.scoring.run_store import RunStore
from data.store.workspace import Run

__all__ = ["GridOptions", "grid", "run"]

HEADINGS = {"no": (False,), "yes": (True,), "both": (False, True)}
HEADLINE = "span_recall@5"
SHOWN = (HEADLINE, "span_precision@5", "span_iou@5", "span_ndcg@5", "span_recall_budget@1000")
BAR = "{desc}: {percentage:3.0f}%|{bar}| {n}/{total} cells [{elapsed}{postfix}]"
MARKS = {
    "best": "best",
    "same": "= best",
    "worse": "",
    "no direction": "",
    "not measured": "not measured",
}


@dataclass(frozen=True)
class GridOptions:
    """What the command line asked for.

    Attributes:
        corpus: folders and files.
        questions: file of questions with gold spans.
        sizes: chunk sizes.
        overlaps: overlaps.
        unit: of both.
        strategies: content-aware ones beside the fixed grid.
        headings: "no", "yes" or "both".
        depth: chunks retrieved.
        retriever: "bm25" or "embedding:PATH".
        project: what the runs belong to; the name of the corpus when left out.
        title: what to call the grid.
    """

    corpus: Sequence[str]
    questions: str
    sizes: Sequence[int]
    overlaps: Sequence[int]
    unit: Unit
    strategies: Sequence[Strategy]
    headings: str
    depth: int
    retriever: str
    project: str | None
    title: str


class _StrategyList(click.ParamType[Any]):
    """Content-aware chunking strategies parted by commas."""

    name = "text"
    accepted = ("paragraph", "heading", "recursive")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the names."""
        names = tuple(name.strip() for name in str(value).split(",") if name.strip())
        if any(name not in self.accepted for name in names):
            self.fail(f"{value!r}; accepted: {', '.join(self.accepted)}", param, ctx)
        return names


@click.command()
@click.argument("corpus", nargs=-1, required=True)
@click.option(
    "--questions",
    required=True,
    metavar="FILE",
    help="Questions with gold spans in the corpus (docs/format.md).",
)
@click.option(
    "--sizes", default="128,256,512", type=WholeNumbers(1, "128,256"), help="Chunk sizes.", show_default=True
)
@click.option(
    "--overlaps", default="0,32,64", type=WholeNumbers(0, "0,32,64"), help="Overlaps.", show_default=True
)
@click.option("--unit", type=click.Choice(["tokens", "characters"]), default="tokens", show_default=True)
@click.option(
    "--strategies",
    default="",
    type=_StrategyList(),
    help="Besides: paragraph,heading,recursive or some of them.",
)
@click.option(
    "--headings",
    type=click.Choice(["no", "yes", "both"]),
    default="both",
    show_default=True,
    help="Whether these index title and headings with each chunk.",
)
@click.option(
    "--depth", type=click.IntRange(1, 1000), default=20, show_default=True, help="Chunks retrieved."
)
@click.option(
    "--retriever", default="bm25", show_default=True, help="bm25, or embedding:PATH of a local model."
)
@click.option("--project", help="Project of the runs; the corpus' name when left out.")
@click.option("--title", default="", help="What to call the grid.")
@JSON
@click.pass_obj
def grid(workspace: str | None, /, as_json: bool, **options: Any) -> None:
    """Try chunk sizes and overlaps on a corpus of .txt, .md or JSONL.

    Finished cells are kept; the same command continues from them.
    """
    sys.exit(run(workspace, GridOptions(**options), as_json))


def run(workspace: str | None, given: GridOptions, as_json: bool) -> int:
    """Run a grid and print its cells; gives the exit code."""
    cells, refused = plan_cells(
        given.sizes, given.overlaps, given.unit, given.strategies, HEADINGS[given.headings]
    )
    corpus = read_corpus(given.corpus)
    questions = read_questions(Source.from_path(given.questions), corpus)
    plan = GridPlan(corpus, questions, cells, given.retriever, given.depth, given.title or corpus.name)
    for one in (*refused, *corpus.notes, *questions.notes):
        click.echo(f"left out: {plain(one)}" if one in refused else f"note: {plain(one)}", err=True)
    store = open_store(workspace, create=True)
    project = given.project or corpus.name
    try:
        runs = _with_progress(store, plan, project)
    except KeyboardInterrupt:
        click.echo("Stopped. Finished cells are kept; the same command goes on from them.", err=True)
        return 130
    grid = next(one for one in grids_of(store.runs(project)) if one.key == plan.key)
    click.echo(_as_json(store, plan, runs, refused) if as_json else _as_text(store, grid))
    return 0


def _with_progress(store: RunStore, plan: GridPlan, project: str) -> list[Run]:
    """Run a grid under a bar; the time left is the grid's own, which knows the cells that were there."""
    with tqdm(total=len(plan.chunkings), bar_format=BAR, disable=not sys.stderr.isatty()) as bar:

        def watch(step: GridStep) -> None:
            bar.set_description(plain(step.cell) or "done")
            left = "" if step.seconds_left is None else tqdm.format_interval(step.seconds_left)
            bar.set_postfix_str(f"about {left} left" if left and step.cell else "", refresh=False)
            bar.n = step.done
            bar.refresh()

        return run_grid(store, plan, project, watch)


def _as_json(store: RunStore, plan: GridPlan, runs: Sequence[Run], refused: Sequence[str]) -> str:
    names = store.names()
    answer = {
        "grid": plan.key,
        "left_out": list(refused),
        "runs": [
            {
                "run_id": one.run_id,
                "name": names[one.run_id],
                "project": one.project,
                "n": one.n,
                "config": one.config,
                "measured": one.measured,
                "metrics": _means(store, one),
            }
            for one in runs
        ],
    }
    return json.dumps(answer, ensure_ascii=False, indent=1, allow_nan=False)


def _means(store: RunStore, run: Run) -> dict[str, Any]:
    return {name: {**one.to_dict(), "source": one.source} for name, one in store.summary(run).items()}


def _as_text(store: RunStore, grid: Grid) -> str:
    scored_runs = [store.scored(cell.run) for cell in grid.cells]
    by_metric = {metric: rank_trials(grid, scored_runs, metric) for metric in SHOWN}
    head = by_metric[HEADLINE]
    rows = [_row(head, by_metric, at) for at in range(len(grid.cells))]
    header = ["run", "chunking", "chunks", *SHOWN[:1], "95 % interval", "", *SHOWN[1:]]
    footer = (
        f"{head.n_questions:,} questions. = best: a paired test (Holm-corrected) cannot tell the cell "
        "from the best one. Recall is the share of gold characters covered."
    )
    return f"{table(header, rows)}\n{footer}"


def _row(head: GridRanking, by_metric: dict[str, GridRanking], at: int) -> list[str]:
    one = head.values[at]
    run = one.cell.run
    others = [by_metric[metric].values[at].value for metric in SHOWN[1:]]
    return [
        run.run_id,
        run.name,
        f"{run.config.get('n_chunks', '–'):,}" if isinstance(run.config.get("n_chunks"), int) else "–",
        number(one.value.mean if one.value else None, 3),
        interval_text(one.value.low, one.value.high, 3) if one.value else "–",
        MARKS[one.outcome],
        *(number(value.mean if value else None, 3) for value in others),
    ]
