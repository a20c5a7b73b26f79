"""Commands of `ragtriage dataset` that bring questions in: those of a file, a set or a run."""

from __future__ import annotations

import click

from ragtriage.dashboard.cli.options import JSON
from ragtriage.dashboard.cli.terminal import plain, print_json
from ragtriage.data.api import open_store
from ragtriage.data.chunking.corpus import read_corpus
from ragtriage.data.datasets.dataset import create_dataset
from ragtriage.data.datasets.from_questions import open_source, read_items
from ragtriage.data.datasets.item import kind_counts
from ragtriage.data.datasets.windows import CorpusWindows


@click.command("from-questions")
@click.argument("wanted", metavar="QUESTIONS")
@click.argument("corpus_paths", nargs=-1, required=True, metavar="CORPUS...")
@click.option("--name", help="Name of the dataset; that of the questions by default.")
@click.option(
    "--run",
    "run_names",
    multiple=True,
    metavar="RUN",
    help="Run whose documents are judged beside what search finds, for questions without gold; repeatable.",
)
@JSON
@click.pass_obj
def from_questions(
    workspace: str | None,
    wanted: str,
    corpus_paths: tuple[str, ...],
    name: str | None,
    run_names: tuple[str, ...],
    as_json: bool,
) -> None:
    """Make a dataset of questions that you have.

    QUESTIONS is a file in any format that ragtriage reads (of a .txt file, each line is a question), a
    question set, or a run whose questions are taken. Gold is looked up in the corpus; for a question without
    any, passages are proposed by search, and count only once a reader accepts one.
    """
    store = open_store(workspace, create=True)
    windows = CorpusWindows(read_corpus(corpus_paths))
    runs = [store.find(run_name).with_samples() for run_name in run_names]
    loaded = open_source(store, wanted, windows.corpus)
    read = read_items(loaded, windows)
    dataset = create_dataset(store.workspace, name or loaded.facts.name)
    pooled = {"runs": [run.run_id for run in runs]} if runs else {}
    batch = dataset.add_batch(read.items, windows.corpus, {**read.facts, **pooled})
    if as_json:
        print_json(
            {
                "dataset": dataset.dataset_id,
                "name": dataset.name,
                "batch": batch.batch_id,
                "items": len(read.items),
                "kinds": kind_counts(read.items),
                "notes": read.notes,
                "corpus_version": windows.corpus.version,
                **batch.facts,
            }
        )
        return
    lines = [f"Dataset {dataset.name}: {len(read.items):,} questions on {windows.corpus.name}.", *read.notes]
    lines.append(
        f"Next: read them on the page Datasets, then `ragtriage dataset freeze {dataset.dataset_id}`."
    )
    click.echo("\n".join(map(plain, lines)))
