"""Commands on what is kept: runs, baselines, releases and question sets."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import click
import numpy as np

from ragtriage.dashboard.cli.options import JSON, PROJECT, RUN, RUNS, WHO, YES
from ragtriage.dashboard.cli.terminal import confirmed, plain, print_answer, print_json, row_table, wrapped
from ragtriage.dashboard.tables.project import question_set_table
from ragtriage.dashboard.wording.baselines import baseline_move_text
from ragtriage.dashboard.wording.imports import set_line
from ragtriage.data.api import open_store, run_entry, runs_answer
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.run_store import RunStore, distinct_labels
from ragtriage.data.store.access import user_name
from ragtriage.data.store.question_sets import (
    LoadedSet,
    delete_set,
    find_set,
    load_set,
    question_sets,
    unreadable_sets,
)
from ragtriage.data.store.versions import (
    baseline_history,
    clear_baseline,
    mark_release,
    releases_of,
    unmark_release,
)
from ragtriage.data.store.workspace import Run, Workspace
from ragtriage.metrics.metric_registry import unlabelled
from ragtriage.metrics.number_text import NOT_MEASURED

MOST_PROJECTS = 20  # that an error names
SHOWN = 5  # questions that `show` prints
NO_RUNS = (
    "No runs yet in {root}; load some with `ragtriage import FILE` or `ragtriage demo`, or name another "
    "workspace with --workspace."
)
NONE_YET = (
    "No question sets yet in {root}; `ragtriage import FILE` keeps one, from a test set of Ragas, goldens of "
    "DeepEval, or rows with `question` and `relevant`."
)


@click.command()
@click.option("--project", metavar="NAME", help="Only the runs of this project.")
@JSON
@click.pass_obj
def runs(workspace: str | None, project: str | None, as_json: bool) -> None:
    """List the runs."""
    store = open_store(workspace)
    answer = [run for run in runs_answer(store) if project in (None, run["project"])]
    if project is not None and not answer:
        known = ", ".join(map(repr, store.projects()[:MOST_PROJECTS])) or "none yet"
        raise DataError(f"project {project!r}: has no runs; accepted: {known}")
    unreadable = store.unreadable()
    for problem in unreadable.values():
        click.echo(f"warning: {plain(problem)}", err=True)
    if as_json:
        print_json(answer)
        return
    if not answer:
        none = f"No run in {store.workspace.root} can be read."
        click.echo(none if unreadable else NO_RUNS.format(root=store.workspace.root))
        return
    rows = [
        {
            "run": run["run_id"],
            "project": run["project"],
            "name": run["name"],
            "samples": run["n"] or None,  # none of a run of summary scores
            "created": run["created_at"],
        }
        for run in answer
    ]
    click.echo(row_table(rows))


@click.command()
@RUN
@JSON
@click.pass_obj
def show(workspace: str | None, run_name: str, as_json: bool) -> None:
    """Show the details of a run, and what its unmeasured metrics need."""
    store = open_store(workspace)
    run = store.find(run_name)
    named = ("origin", "config", "dataset", "dataset_version", "corpus_version", "content_hash")
    facts = {
        **run_entry(run, store.names()[run.run_id]),
        "imported_name": run.name,
        "imported_at": run.imported_at.isoformat(timespec="seconds"),
        **{name: getattr(run, name) for name in named},
        "fields": list(run.fields),
        "notes": list(run.notes),
        "not_computable": not_computable(store, run),
    }
    print_answer(facts if as_json else "\n".join(_lines(run, facts)))


def not_computable(store: RunStore, run: Run) -> dict[str, str]:
    """Return what is lacking for each metric that has no value from any source, imported ones included."""
    if run.means:
        return {}
    scored_metrics = {name for name, summary in store.summary(run).items() if summary.n_scored}
    base_names = {name.partition("@")[0] for name in scored_metrics}
    scored = store.scored(run)
    has_labels = bool(np.isfinite(scored.stage_features["answerable"]).any())
    lacking = scored.missing | ({} if has_labels else unlabelled())
    return {
        name: reason
        for name, reason in lacking.items()
        if name not in scored_metrics and not (name.endswith("@k") and name.removesuffix("@k") in base_names)
    }


def unmeasured_by_reason(missing: Mapping[str, str]) -> list[str]:
    """Return one line an input that is lacking, with the metrics that need it.

    A metric that lacks several inputs is listed under the first; the line names the others.
    """
    metrics_by_input: dict[str, list[str]] = {}
    also_lacking: dict[str, dict[str, None]] = {}
    for metric, reason in missing.items():
        first, *more = reason.split(" and ")
        metrics_by_input.setdefault(first, []).append(metric)
        also_lacking.setdefault(first, {}).update(dict.fromkeys(more))
    lines = []
    for first, metrics in metrics_by_input.items():
        also = f" (some also {'; '.join(also_lacking[first])})" if also_lacking[first] else ""
        lines.append(wrapped(f"  {first}{also}: {', '.join(metrics)}", "    "))
    return lines


def _lines(run: Run, facts: dict[str, Any]) -> list[str]:
    lines = []
    for key, value in facts.items():
        if key == "not_computable":
            lines += [f"{key}:", *unmeasured_by_reason(value)] if value else []
        elif run.means and key in ("n", "n_questions"):
            lines += [f"{key}: {NOT_MEASURED}"]
        else:
            lines += _fact(key, value)
    if run.means:
        lines += ["means:", *(f"  {name}: {value:.4f}" for name, value in run.means.items())]
    return lines


def _fact(key: str, value: Any) -> list[str]:
    """Write one fact: a line, or a line an entry below its name."""
    if isinstance(value, Mapping):
        return [f"{key}:", *(f"  {plain(str(name))}: {_text(item)}" for name, item in value.items())]
    if key == "notes" and value:
        return [f"{key}:", *(wrapped(f"  {_text(note)}", "    ") for note in value)]
    if isinstance(value, list):
        return [wrapped(f"{key}: {', '.join(map(_text, value)) or NOT_MEASURED}", "  ")]
    return [f"{key}: {_text(value) or NOT_MEASURED}"]


def _text(value: Any) -> str:
    """Write a JSON value as plain text: yes and no, lists with commas, the rest unchanged."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_text(item)}" for name, item in value.items())
    return plain(str(value))


@click.command()
@RUNS
@YES
@JSON
@click.pass_obj
def delete(workspace: str | None, run_names: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Delete runs; their human labels are kept."""
    if not confirmed(f"Delete {', '.join(run_names)}?", yes, "delete"):
        return
    store = open_store(workspace)
    unreadable = store.unreadable()
    run_ids = [name if name in unreadable else store.find(name).run_id for name in run_names]
    for run_id in run_ids:
        store.workspace.delete_run(run_id)
    print_answer({"deleted": run_ids} if as_json else f"Deleted {', '.join(run_ids)}.")


def _only_project(store: RunStore, run_name: str | None) -> str:
    """Return the project where none is named: the workspace's only one; that of a run follows from the run.

    Raises:
        DataError: there are several, and no run.
    """
    projects = store.projects()
    if not run_name and len(projects) > 1:
        named = ", ".join(map(repr, projects[:MOST_PROJECTS]))
        raise DataError(f"{len(projects)} projects, and none is named; accepted: --project with {named}")
    return store.usual_project()


@click.command()
@click.argument("run_name", required=False, metavar="[RUN]")
@PROJECT
@WHO
@click.option("--clear", is_flag=True, help="Leave the project without a baseline.")
@JSON
@click.pass_obj
def baseline(
    workspace: str | None,
    run_name: str | None,
    project: str | None,
    who: str | None,
    clear: bool,
    as_json: bool,
) -> None:
    """Make RUN the baseline of its project; without RUN, show it and its history."""
    if run_name and clear:
        raise click.UsageError("a run and --clear at once; accepted: one of the two")
    store = open_store(workspace)
    project_name = project or _only_project(store, run_name)
    if run_name:
        run = store.find(run_name, project).with_samples()
        project_name = run.project
        store.ledger.set_baseline(project_name, run.run_id, user_name(who))
    elif clear and not clear_baseline(store.ledger, project_name, user_name(who)):
        projects = ", ".join(sorted(store.ledger.baselines())) or "none has"
        raise DataError(
            f"project {project_name!r} has no baseline; accepted: a project that has one ({projects})"
        )
    changes = baseline_history(store.ledger, project_name)
    labels = distinct_labels(store.runs(project_name), store.names())
    current = changes[0].run_id if changes else ""
    if as_json:
        answer = {"run": current, "name": labels.get(current)} if current else None
        history = [{**asdict(change), "name": labels.get(change.run_id)} for change in changes]
        print_json({"project": project_name, "baseline": answer, "history": history})
    elif changes:
        latest, *earlier = [plain(baseline_move_text(change, labels)) for change in changes]
        lines = [f"Baseline of {plain(project_name)}: {latest}", *(f"  before: {line}" for line in earlier)]
        click.echo("\n".join(lines))
    else:
        click.echo(f"Project {plain(project_name)} has no baseline; `ragtriage baseline RUN` sets one.")


@click.command()
@click.argument("run_name", required=False, metavar="[RUN]")
@click.argument("name", required=False)
@PROJECT
@WHO
@click.option("--remove", is_flag=True, help="RUN is no longer a release.")
@JSON
@click.pass_obj
def release(
    workspace: str | None,
    run_name: str | None,
    name: str | None,
    project: str | None,
    who: str | None,
    remove: bool,
    as_json: bool,
) -> None:
    """Mark RUN as the release NAME; without RUN, list the releases.

    The Trend page draws a line at each release.
    """
    store = open_store(workspace)
    project_name = project or _only_project(store, run_name)
    if run_name:
        if remove == bool(name):
            raise click.UsageError("accepted: RUN NAME to mark it, or RUN --remove")
        run = store.find(run_name, project)
        project_name = run.project
        if name:
            mark_release(store.ledger, project_name, run.run_id, name, user_name(who))
        elif not unmark_release(store.ledger, project_name, run.run_id, user_name(who)):
            raise DataError(f"{run.name} ({run.run_id}) is not a release; accepted: a run that is one")
    elif remove:
        raise click.UsageError("--remove without a run; accepted: RUN --remove")
    releases = list(releases_of(store.ledger, project_name).values())
    labels = distinct_labels(store.runs(project_name), store.names())
    if as_json:
        entries = [
            {
                "run": released.run_id,
                "run_name": labels.get(released.run_id),
                "name": released.name,
                "who": released.who,
                "at": released.at,
            }
            for released in releases
        ]
        print_json({"project": project_name, "releases": entries})
    elif releases:
        rows = [
            {
                "release": released.name,
                "run": labels.get(released.run_id, "no longer there"),
                "id": released.run_id,
                "by": released.who or None,
                "marked (UTC)": released.at,
            }
            for released in releases
        ]
        click.echo(row_table(rows))
    else:
        click.echo(f"Project {plain(project_name)} has no release; `ragtriage release RUN NAME` marks one.")


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
