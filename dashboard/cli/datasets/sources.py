"""Commands of `ragtriage dataset` that bring questions in: those of a file, a set or a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from ragtriage.dashboard.cli.datasets.frozen import NAME, opened
from ragtriage.dashboard.cli.options import JSON
from ragtriage.dashboard.cli.terminal import plain, print_json
from ragtriage.data.api import open_store
from ragtriage.data.chunking.corpus import read_corpus
from ragtriage.data.datasets.dataset import Dataset, create_dataset, datasets
from ragtriage.data.datasets.from_questions import ItemsRead, open_source, read_items
from ragtriage.data.datasets.item import kind_counts
from ragtriage.data.datasets.pooling import POOL_DEPTH, PooledRuns, pool_of
from ragtriage.data.datasets.review import read_draft
from ragtriage.data.datasets.rules import HELD_OUT, HeldOut, add_derived, hold_out
from ragtriage.data.datasets.windows import CorpusWindows
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.number_text import count

T = TypeVar("T", bound="Callable[..., Any] | click.Command")


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
@click.option(
    "--depth",
    type=click.IntRange(1, 100),
    default=POOL_DEPTH,
    show_default=True,
    help="Documents of each run, and passages of the search, that are judged.",
)
@click.option("--licence", metavar="TEXT", help="Licence of the questions, for the card.")
@JSON
@click.pass_obj
def from_questions(
    workspace: str | None,
    wanted: str,
    corpus_paths: tuple[str, ...],
    name: str | None,
    run_names: tuple[str, ...],
    depth: int,
    licence: str | None,
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
    pooled, notes = _pooled(store, runs, depth, read, windows) if runs else ({}, [])
    told = {"licence": licence} if licence else {}
    batch = dataset.add_batch(read.items, windows.corpus, {**read.facts, **pooled, **told})
    if as_json:
        print_json(
            {
                "dataset": dataset.dataset_id,
                "name": dataset.name,
                "batch": batch.batch_id,
                "items": len(read.items),
                "kinds": kind_counts(read.items),
                "notes": [*read.notes, *notes],
                "corpus_version": windows.corpus.version,
                **batch.facts,
            }
        )
        return
    lines = [
        f"Dataset {dataset.name}: {count(len(read.items), 'question')} on {windows.corpus.name}.",
        *read.notes,
        *notes,
    ]
    lines.append(
        f"Next: read them on the page Datasets, then `ragtriage dataset freeze {dataset.dataset_id}`."
    )
    click.echo("\n".join(map(plain, lines)))


def _pooled(
    store: RunStore, runs: Sequence[Run], depth: int, read: ItemsRead, windows: CorpusWindows
) -> tuple[dict[str, Any], list[str]]:
    """Return the facts of a pool, and how many documents of the runs it leaves out for want of a place."""
    found = PooledRuns(store, runs, depth)
    pools = [pool_of(item, windows, found) for item in read.items if item.kind == "real"]
    lost, total = sum(pool.not_found for pool in pools), sum(pool.retrieved for pool in pools)
    lines = [f"retrieved documents to judge: {total - lost:,} of {total:,}; the others are not in the corpus"]
    return {"runs": [run.run_id for run in runs], "depth": depth, "not_located": lost}, lines


def _wanted(name: str, what: str) -> Callable[[T], T]:
    return click.option(f"--{name}", type=click.IntRange(0), default=0, metavar="N", help=what)


@click.command("add-kinds")
@NAME
@_wanted("false-premise", "Questions that take another number, date or name for granted.")
@_wanted("misspelt", "Questions with typing errors, never in numbers or names.")
@_wanted("keyword", "Questions as the words of a search.")
@_wanted("held-out", "Questions whose document is taken out of the corpus: a dataset of its own.")
@click.option("--seed", type=int, default=0, show_default=True, help="Fixes what is chosen and changed.")
@JSON
@click.pass_obj
def add_kinds(workspace: str | None, /, name: str, seed: int, as_json: bool, **numbers: int) -> None:
    """Add questions made of those that a dataset has, by rules and without a model.

    They are read like all others before they count, and stay on the side of the split of the question that
    they were made of.
    """
    wanted = {kind.replace("_", "-"): n for kind, n in numbers.items() if n}
    if not wanted:
        raise click.UsageError("nothing to add; accepted: a number for at least one kind, as --misspelt 10")
    dataset = opened(workspace, name)
    items = [each.item for each in read_draft(dataset).standing]
    windows = CorpusWindows(dataset.corpus())
    held = hold_out(items, windows, wanted[HELD_OUT], seed) if HELD_OUT in wanted else None
    apart = f"{dataset.name} held out {seed}"
    if held is not None and held.items:
        _must_be_new(dataset, apart, held)
    made = add_derived(dataset, items, windows, wanted, seed)
    lines = [f"{count(len(each), f'{kind} question')} of {wanted[kind]:,}." for kind, each in made.items()]
    answer: dict[str, Any] = {"added": {kind: len(each) for kind, each in made.items()}, "asked": wanted}
    if held is not None:
        lines.append(f"{count(len(held.items), 'held-out question')} of {wanted[HELD_OUT]:,}.")
        answer["added"][HELD_OUT] = len(held.items)
        if held.items:
            without = create_dataset(dataset.workspace, apart)
            facts = {"by": "rules", "source": dataset.name, "seed": seed}
            held_out = {"held_out": list(held.documents), "mix": {HELD_OUT: wanted[HELD_OUT]}}
            without.add_batch(held.items, held.corpus, {**facts, **held_out})
            lines.append(
                f"They are dataset {apart}; take these documents out of the index before a run on it: "
                f"{', '.join(held.documents)}."
            )
            answer |= {"held_out": {"dataset": without.dataset_id, "documents": list(held.documents)}}
    print_json(answer) if as_json else click.echo("\n".join(map(plain, lines)))


def _must_be_new(dataset: Dataset, name: str, held: HeldOut) -> None:
    """Refuse questions that are held out where a dataset of their name has others."""
    known = next((each for each in datasets(dataset.workspace) if each.name == name), None)
    items = [item for batch in known.batches() for item in batch.items] if known else []
    if known is not None and items and items != list(held.items):
        raise DataError(
            f"dataset {name}: has {count(len(items), 'question')} of another choice, and nothing was added; "
            f"accepted: another --seed, or first `ragtriage dataset delete {known.dataset_id}`"
        )
