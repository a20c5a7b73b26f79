"""The questions command: the question sets of a workspace."""

from __future__ import annotations

import click

from ragtriage.dashboard.cli.options import JSON, YES
from ragtriage.dashboard.cli.terminal import confirmed, plain, print_answer, print_json, row_table, wrapped
from ragtriage.dashboard.tables.project import question_set_table
from ragtriage.dashboard.wording.imports import set_line
from ragtriage.data.api import open_store
from ragtriage.data.store.question_sets import (
    LoadedSet,
    delete_set,
    find_set,
    load_set,
    question_sets,
    unreadable_sets,
)
from ragtriage.data.store.workspace import Workspace

SHOWN = 5  # questions that `show` prints
NONE_YET = (
    "No question sets yet in {root}; `ragtriage import FILE` keeps one, from a test set of Ragas, goldens of "
    "DeepEval, or rows with `question` and `relevant`."
)


@click.command()
@click.argument("action", type=click.Choice(["show"]), required=False)
@click.argument("name", required=False)
@click.option("--delete", "deleted", multiple=True, metavar="NAME", help="Delete this set, by name or id.")
@YES
@JSON
@click.pass_obj
def questions(
    workspace: str | None,
    action: str | None,
    name: str | None,
    deleted: tuple[str, ...],
    yes: bool,
    as_json: bool,
) -> None:
    """List the question sets; `show NAME` prints one with its questions.

    A question set has questions with references and gold and no answers. `grid`, `generate` and `import` take
    one with --questions NAME.
    """
    folder = open_store(workspace).workspace
    if action and (not name or deleted):
        raise click.UsageError("show takes the NAME of one question set, and no --delete")
    if deleted:
        _delete(folder, deleted, yes, as_json)
    elif name:
        _show(load_set(folder, find_set(folder, name).set_id), as_json)
    else:
        for problem in unreadable_sets(folder).values():
            click.echo(f"warning: {plain(problem)}", err=True)
        sets = question_sets(folder)
        if as_json:
            print_json([entry.to_dict() for entry in sets])
        elif not sets:
            click.echo(NONE_YET.format(root=folder.root))
        else:
            click.echo(row_table(question_set_table(sets).rows))


def _show(loaded: LoadedSet, as_json: bool) -> None:
    facts = loaded.facts
    if as_json:
        print_json({**facts.to_dict(), "questions": list(loaded.questions)})
        return
    click.echo(f"{facts.set_id}  {plain(facts.name)}, version {plain(facts.dataset_version)}")
    click.echo(wrapped(plain(set_line(facts)), "  "))
    for note in facts.notes:
        click.echo(wrapped(f"note: {plain(note)}", "  "))
    for question in loaded.questions[:SHOWN]:
        gold = len(question.get("relevant") or question.get("relevant_spans") or ())
        line = f"{question['question_id']}: {question['question']} ({gold} gold)"
        click.echo(wrapped(plain(line), "    "))
    if facts.n > SHOWN:
        click.echo(f"... and {facts.n - SHOWN:,} more; --json prints all")


def _delete(workspace: Workspace, names: tuple[str, ...], yes: bool, as_json: bool) -> None:
    unreadable = unreadable_sets(workspace)
    set_ids = [name if name in unreadable else find_set(workspace, name).set_id for name in names]
    if not confirmed(f"Delete {', '.join(map(plain, names))}?", yes, "--delete"):
        return
    for set_id in dict.fromkeys(set_ids):
        delete_set(workspace, set_id)
    text = f"Deleted {', '.join(set_ids)}; runs joined with it keep their gold."
    print_answer({"deleted": set_ids} if as_json else text)
