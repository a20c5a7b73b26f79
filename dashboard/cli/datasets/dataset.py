"""The group `ragtriage dataset`, and the list of datasets."""

from __future__ import annotations

import click

from ragtriage.dashboard.cli.datasets import files, frozen, sources
from ragtriage.dashboard.cli.datasets.make import make
from ragtriage.dashboard.cli.datasets.review import review
from ragtriage.dashboard.cli.options import JSON, WholeHelp
from ragtriage.dashboard.cli.terminal import print_json, row_table
from ragtriage.data.api import open_store
from ragtriage.data.datasets.dataset import Dataset, datasets
from ragtriage.data.datasets.review import read_draft
from ragtriage.metrics.result_table import Cell


@click.group(cls=WholeHelp)
def dataset() -> None:
    """Make a test set from a corpus, have it read by people, and freeze its versions."""


@dataset.command("list")
@JSON
@click.pass_obj
def list_datasets(workspace: str | None, as_json: bool) -> None:
    """List the datasets: items, how many people have read, versions."""
    folder = open_store(workspace).workspace
    rows = [_row(each) for each in datasets(folder)]
    if as_json:
        print_json(rows)
    elif rows:
        click.echo(row_table(rows))
    else:
        click.echo(
            f"No datasets yet in {folder.root}; make one with `ragtriage dataset make CORPUS`, or from "
            "questions that you have with `ragtriage dataset from-questions FILE CORPUS`."
        )


def _row(each: Dataset) -> dict[str, Cell]:
    draft, versions = read_draft(each), each.versions()
    return {
        "dataset": each.dataset_id,
        "name": each.name,
        "items": len(draft.offered),
        "read": draft.n_read,
        "kept": len(draft.golden),
        "versions": len(versions),
        "corpus": each.corpus_version,
        "created": each.created_at,
    }


for command in (
    make,
    *(sources.from_questions, frozen.freeze, frozen.check, frozen.split, frozen.leakage, frozen.delete),
    *(sources.add_kinds, files.export, files.card, review),
):
    dataset.add_command(command)
