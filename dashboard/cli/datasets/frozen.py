"""Commands of `ragtriage dataset` on its versions: freeze, check against a corpus, split, leakage."""

from __future__ import annotations

from dataclasses import asdict

import click

from ragtriage.dashboard.cli.options import JSON, WHO, YES, FiniteFloat
from ragtriage.dashboard.cli.terminal import confirmed, plain, print_json, row_table
from ragtriage.data.api import open_store
from ragtriage.data.chunking.corpus import read_corpus
from ragtriage.data.datasets import chosen as selection
from ragtriage.data.datasets.corpus_change import span_changes
from ragtriage.data.datasets.dataset import Dataset, delete_dataset, find_dataset
from ragtriage.data.datasets.from_questions import open_source
from ragtriage.data.datasets.review import read_draft
from ragtriage.data.datasets.split import DEV, SHARE, leaks, part_of, set_split, split_share
from ragtriage.data.store.access import user_name
from ragtriage.metrics.number_text import count

MOST_LISTED = 20  # questions that a command lists; --json has all
NAME = click.argument("name", metavar="DATASET")
PART = click.option(
    "--part", type=click.Choice(["dev", "test", "all"]), help="Part of a split dataset; test by default."
)


def opened(workspace: str | None, name: str) -> Dataset:
    """Return a dataset of the workspace by name or id."""
    return find_dataset(open_store(workspace).workspace, name)


@click.command()
@NAME
@click.option("--unreviewed", is_flag=True, help="Also the items that nobody has read.")
@PART
@WHO
@JSON
@click.pass_obj
def freeze(
    workspace: str | None, name: str, unreviewed: bool, part: str | None, who: str | None, as_json: bool
) -> None:
    """Make a version: the items that people read and kept, as a question set that never changes."""
    dataset = opened(workspace, name)
    version, facts, chosen = selection.freeze(read_draft(dataset), user_name(who), unreviewed, part or "")
    if as_json:
        print_json(
            {**asdict(version), "name": facts.name, "n": facts.n, "dev": chosen.dev, "notes": chosen.notes}
        )
        return
    dev = f", {chosen.dev:,} of them dev" if chosen.dev else ""
    dev = ", the test part" if not (dev or part) and split_share(dataset) is not None else dev
    lines = [
        f"{facts.name}: {count(facts.n, 'question')}{dev}, {version.n_read:,} read by people (question set "
        f"{version.set_id}, corpus {version.corpus_version}).",
        *chosen.notes,
        f'Next: `ragtriage grid --questions "{facts.name}"`, or '
        f'`ragtriage import FILE --questions "{facts.name}"` for a run.',
    ]
    click.echo("\n".join(map(plain, lines)))


@click.command()
@NAME
@click.argument("corpus_paths", nargs=-1, required=True, metavar="CORPUS...")
@click.option("--apply", is_flag=True, help="Let the draft point into this corpus from now on.")
@WHO
@JSON
@click.pass_context
def check(
    context: click.Context,
    name: str,
    corpus_paths: tuple[str, ...],
    apply: bool,
    who: str | None,
    as_json: bool,
) -> None:
    """Say what became of the gold in another version of the corpus; exit code 1 where any changed or is gone.

    What changed or is gone returns to the review; the same text at another place does not.
    """
    dataset = opened(context.obj, name)
    draft, corpus = read_draft(dataset), read_corpus(corpus_paths)
    if apply:
        change = selection.follow(draft, corpus, user_name(who))
    else:
        change = span_changes([each.item for each in draft.standing], dataset.corpus(), corpus)
    to_read = set(change.to_read)
    if as_json:
        answer = {
            "old_version": change.old_version,
            "new_version": change.new_version,
            "spans": change.counts,
        }
        print_json({**answer, "to_read": change.to_read, "applied": apply})
    else:
        counted = ", ".join(f"{n:,} {fate}" for fate, n in change.counts.items())
        click.echo(
            f"Corpus {change.old_version} -> {change.new_version}: of {len(change.spans):,} spans {counted}."
        )
        rows = [
            {
                "question": each.question_id,
                "document": each.span.doc_id,
                "fate": each.fate,
                "gold": each.span.quote,
            }
            for each in change.spans
            if each.fate in ("changed", "gone")
        ]
        if rows:
            more = f"\n{len(rows) - MOST_LISTED:,} more; --json lists all." if len(rows) > MOST_LISTED else ""
            click.echo(row_table(rows[:MOST_LISTED]) + more)
        if not apply and change.old_version != change.new_version:
            click.echo("Next: the same with --apply, which lets the draft point into this corpus.")
    context.exit(1 if to_read else 0)


@click.command()
@NAME
@YES
@click.pass_obj
def delete(workspace: str | None, name: str, yes: bool) -> None:
    """Delete a dataset with its history; its versions stay as question sets, and runs keep their gold."""
    dataset = opened(workspace, name)
    if not confirmed(f"Delete dataset {dataset.name} and what readers decided?", yes, "delete"):
        return
    delete_dataset(dataset)
    click.echo(f"Deleted {plain(dataset.name)}.")


@click.command()
@NAME
@click.option(
    "--dev",
    type=FiniteFloat(0, 1, min_open=True, max_open=True),
    default=SHARE,
    show_default=True,
    metavar="SHARE",
    help="Share of the questions to tune on; the others are the test.",
)
@JSON
@click.pass_obj
def split(workspace: str | None, name: str, dev: float, as_json: bool) -> None:
    """Split the questions into dev and test by a hash of their ids: tag `split` of versions and exports."""
    dataset = opened(workspace, name)
    before = split_share(dataset)
    set_split(dataset, dev)
    items = [each.item for each in read_draft(dataset).standing]
    n_dev = sum(part_of(item, dev) == DEV for item in items)
    changed = sum(part_of(item, dev) != part_of(item, before) for item in items) if before is not None else 0
    if as_json:
        print_json(
            {"share": dev, "before": before, "dev": n_dev, "test": len(items) - n_dev, "changed": changed}
        )
        return
    lines = [f"{n_dev:,} of {count(len(items), 'question')} are dev, {len(items) - n_dev:,} test."]
    if changed:
        lines.append(f"{changed:,} moved between dev and test: earlier results used a different test set.")
    click.echo(" ".join(lines))


@click.command()
@NAME
@click.argument("examples", metavar="EXAMPLES")
@JSON
@click.pass_context
def leakage(context: click.Context, name: str, examples: str, as_json: bool) -> None:
    """Find items that the examples of a prompt give away; exit code 1 where there are any.

    EXAMPLES is a file of questions in any format that ragtriage reads; of a .txt file, each line is one.
    """
    dataset = opened(context.obj, name)
    loaded = open_source(open_store(context.obj), examples, dataset.corpus())
    items = [each.item for each in read_draft(dataset).standing]
    found = leaks(items, [question["question"] for question in loaded.questions])
    rows = [
        {
            "question": leak.item.question_id,
            "how": leak.how,
            "item": leak.item.question,
            "example": leak.example,
        }
        for leak in found
    ]
    if as_json:
        print_json([{**row, "likeness": leak.likeness} for row, leak in zip(rows, found, strict=True)])
    else:
        n = f"{len(found):,} of {len(items):,} items"
        click.echo(
            f"{n} are among the {len(loaded.questions):,} examples."
            if found
            else f"None of {len(items):,} items is among the examples."
        )
        if rows:
            click.echo(row_table(rows[:MOST_LISTED]))
    context.exit(1 if found else 0)
