"""Commands of `ragtriage dataset` that write it out: for other tools, and its card."""

from __future__ import annotations

import click

from ragtriage.dashboard.cli.datasets.frozen import NAME, opened
from ragtriage.dashboard.cli.terminal import plain
from ragtriage.data.chunking.corpus import Corpus
from ragtriage.data.datasets.card import card_text
from ragtriage.data.datasets.chosen import choose
from ragtriage.data.datasets.dataset import Version
from ragtriage.data.datasets.exports import FORMS, Export, losses, write_export
from ragtriage.data.datasets.item import Item, quoted
from ragtriage.data.datasets.review import Draft, read_draft
from ragtriage.data.errors import DataError
from ragtriage.data.store.question_sets import load_set
from ragtriage.data.store.stored_file import write_file
from ragtriage.metrics.number_text import count

FROZEN = click.option(
    "--frozen", "number", type=click.IntRange(1), metavar="N", help="A frozen version; the draft by default."
)
UNREVIEWED = click.option("--unreviewed", is_flag=True, help="Of the draft, also what nobody has read.")


@click.command()
@NAME
@click.argument("output", metavar="OUT")
@click.option("--to", type=click.Choice([*FORMS]), default="native", show_default=True, help="Form.")
@FROZEN
@UNREVIEWED
@click.pass_obj
def export(
    workspace: str | None, name: str, output: str, to: str, number: int | None, unreviewed: bool
) -> None:
    """Write the questions for another tool: OUT is a new folder for beir, mteb and parquet, else a file."""
    draft = read_draft(opened(workspace, name))
    items, corpus, version, notes = _chosen(draft, number, unreviewed)
    export = Export(draft.dataset.name, items, corpus, card_text(draft, items, corpus, version))
    paths = write_export(export, to, output)
    written = f"Wrote {count(len(items), 'question')} as {FORMS[to].title}: {', '.join(paths)}."
    click.echo("\n".join(map(plain, [written, *notes, *losses(export, to)])), err=True)


@click.command()
@NAME
@click.option("-o", "--output", metavar="FILE", help="File to write; standard output by default.")
@FROZEN
@UNREVIEWED
@click.pass_obj
def card(workspace: str | None, name: str, output: str | None, number: int | None, unreviewed: bool) -> None:
    """Print the card in Markdown: kinds, gold, origin, filters, readers, corpus, licence, limitations."""
    draft = read_draft(opened(workspace, name))
    items, corpus, version, notes = _chosen(draft, number, unreviewed)
    text = card_text(draft, items, corpus, version)
    if notes:
        click.echo("\n".join(notes), err=True)
    if output is None:
        click.echo(text, nl=False)
    else:
        write_file(output, text.encode())


def _chosen(
    draft: Draft, number: int | None, unreviewed: bool
) -> tuple[tuple[Item, ...], Corpus, Version | None, tuple[str, ...]]:
    """Return the items of a version or of the draft, the corpus of their gold, and what was left out."""
    dataset = draft.dataset
    if number is None:
        chosen = choose(draft, unreviewed)
        return chosen.items, dataset.corpus(), None, chosen.notes
    versions = dataset.versions()
    version = next((each for each in versions if each.version == number), None)
    if version is None:
        known = f"1 to {versions[-1].version}" if versions else "none yet, see `ragtriage dataset freeze`"
        raise DataError(f"dataset {dataset.name}: has no version {number}; accepted: {known}")
    corpus = dataset.corpus(version.corpus_version)
    questions = load_set(dataset.workspace, version.set_id).questions
    return tuple(quoted(Item.from_question(question), corpus) for question in questions), corpus, version, ()
