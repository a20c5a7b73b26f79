"""The import command: runs from files, and everything that is wrong with each file."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import click
from tqdm import tqdm

from ragtriage.dashboard.cli.options import JSON, NEW_PROJECT, key_value_pairs
from ragtriage.dashboard.cli.runs.runs import not_computable, unmeasured_by_reason
from ragtriage.dashboard.cli.terminal import error_text, plain, print_json, row_table, screen_width, wrapped
from ragtriage.dashboard.wording.imports import formats, import_lines, kept_text
from ragtriage.dashboard.wording.leaks import leak_text
from ragtriage.data.api import open_store
from ragtriage.data.declarations import declarations_of, parsed_declaration
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.diagnosis.run_digest import digest_new_runs
from ragtriage.data.errors import DataError
from ragtriage.data.importers.formats.table import SAME_ID
from ragtriage.data.importers.inputs import Input, inputs_of, joined, named_questions
from ragtriage.data.importers.load import KeptSet, Step, load_source
from ragtriage.data.importers.parsing.head_column import is_question
from ragtriage.data.importers.parsing.input_file import NO_LIMITS, InputFile
from ragtriage.data.importers.parsing.options import Options, read_tools
from ragtriage.data.importers.preview import Preview, computable, preview
from ragtriage.data.importers.registry import importers, plugin_faults
from ragtriage.data.scoring.imported_scores import parsed_scale
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import SCALES, Run, Workspace
from ragtriage.data.store.write_run import ImportedRun
from ragtriage.metrics.number_text import count
from ragtriage.metrics.schema.scores import MetricsError

NARROWEST, PIPED = 24, 80  # columns of a line; the second where the text goes to a file or another program
NAMED_RUNS = 4  # a note on more runs tells their number


@click.command("import")
@click.argument("paths", nargs=-1)
@NEW_PROJECT
@click.option("--name", help="Name of the run.")
@click.option(
    "--config", multiple=True, metavar="KEY=VALUE", callback=key_value_pairs, help="Pipeline configuration."
)
@click.option("--format", "file_format", default="auto", help="Format; by default detected from the content.")
@click.option(
    "--map",
    "mapping",
    multiple=True,
    metavar="FIELD=COLUMN",
    callback=key_value_pairs,
    help="Read FIELD from COLUMN.",
)
@click.option("--rows", default="", metavar="NAME", help="List of rows to read, where JSON holds several.")
@click.option("--qrels", metavar="FILE", help="Relevance labels to join by question id.")
@click.option("--queries", metavar="FILE", help="Texts of the questions of a TREC or BEIR run.")
@click.option("--corpus", metavar="FILE", help="Texts of the documents of a TREC or BEIR run.")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME=higher|lower[,LEAST..GREATEST][,TITLE]",
    help="Which direction of an imported score is better; optionally its range and title.",
)
@click.option(
    "--scale",
    "scales",
    multiple=True,
    metavar="NAME=LEAST..GREATEST",
    help="Scale that the tool scored a metric on, which is converted to that of the metric.",
)
@click.option(
    "--all-topics", is_flag=True, help="Count judged questions without results as empty lists (trec_eval -c)."
)
@click.option(
    "--questions", metavar="NAME|FILE", help="Question set whose gold and references are joined, by question."
)
@click.option(
    "--tools",
    metavar="FILE",
    help="Schemas of the tools of all samples: a JSON list, or MCP's {tools: [...]}.",
)
@click.option("--dataset", default="", help="Name of the question set.")
@click.option(
    "--no-limits",
    is_flag=True,
    help="Read files of any size and number of samples, whatever the memory needed.",
)
@click.option("--dry-run", is_flag=True, help="Show how the files would be read; load nothing.")
@click.option(
    "--explain", is_flag=True, help="Also print notes, findings, and what cannot be computed and why."
)
@click.option("--help-formats", is_flag=True, help="List the formats that are read, and how to write them.")
@JSON
@click.pass_obj
def import_(
    workspace: str | None,
    paths: tuple[str, ...],
    project: str | None,
    name: str | None,
    config: Mapping[str, str],
    file_format: str,
    mapping: Mapping[str, str],
    rows: str,
    qrels: str | None,
    queries: str | None,
    corpus: str | None,
    metrics: tuple[str, ...],
    scales: tuple[str, ...],
    all_topics: bool,
    questions: str | None,
    tools: str | None,
    dataset: str,
    no_limits: bool,
    dry_run: bool,
    explain: bool,
    help_formats: bool,
    as_json: bool,
) -> None:
    """Load evaluation runs from files, each file whole or not at all.

    If a file cannot be read, the others are still loaded, and the exit code is 2.
    """
    if help_formats:
        _print_formats(as_json)
        return
    if not paths:
        raise click.UsageError("Missing argument 'PATHS...'.")
    if no_limits:
        os.environ[NO_LIMITS] = "1"
    for fault in plugin_faults():
        click.echo(f"warning: {plain(' '.join(fault.split()))}", err=True)
    options = Options(
        format=file_format,
        mapping={column: field for field, column in mapping.items()},
        rows=rows,
        name=name,
        config={
            **{key: _json_or_text(text) for key, text in config.items()},
            **({SCALES: dict(parsed_scale(text) for text in scales)} if scales else {}),
        },
        qrels=InputFile.from_path(qrels) if qrels else None,
        queries=InputFile.from_path(queries) if queries else None,
        corpus=InputFile.from_path(corpus) if corpus else None,
        metrics=dict(parsed_declaration(text, "--metric") for text in metrics),
        all_topics=all_topics,
        tools=read_tools(InputFile.from_path(tools)) if tools else (),
        dataset=dataset,
        questions=named_questions(Workspace.find(workspace), questions) if questions else None,
    )
    if dry_run:
        sys.exit(_preview_files(paths, options, as_json))
    store = open_store(workspace, create=True)
    imported, kept, errors = _import_files(store, paths, options, project or store.usual_project())
    findings = [
        {"run_id": run.run_id, **finding.to_dict()}
        for run in {entry.run.run_id: entry.run for entry in imported}.values()
        for finding in check_run(store.scored(run))
    ]
    digest_new_runs(store, [entry.run for entry in imported])
    for error in {
        str(error): error for error in errors
    }.values():  # one of the workspace is that of every file
        _print_error(error)
    if as_json:
        print_json(_answer(store, imported, kept, errors, findings))
    elif lines := _lines(store, imported, kept, findings, explain):
        click.echo("\n".join(lines))
    sys.exit(2 if errors else 0)


def _json_or_text(text: str) -> Any:
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):  # not JSON, NaN or infinity, or nested too deeply
        return text
    return value


def _import_files(
    store: RunStore, paths: Sequence[str], options: Options, project: str
) -> tuple[list[ImportedRun], list[KeptSet], list[DataError | MetricsError]]:
    """Import every file under a progress bar; return runs, question sets, and the errors of other files."""
    imported: list[ImportedRun] = []
    kept: list[KeptSet] = []
    errors: list[DataError | MetricsError] = []
    with tqdm(unit=" samples", disable=not sys.stderr.isatty()) as bar:

        def show_progress(step: Step) -> None:
            bar.set_description(f"{step.doing} {plain(step.run)}")
            bar.total = step.total or None
            bar.n = step.done
            bar.refresh()

        inputs, unreadable = _inputs(paths, options)
        errors += unreadable
        for source, source_options in inputs:
            try:
                loaded = load_source(store, source, source_options, project, show_progress)
            except Exception as error:  # noqa: BLE001 -- the other files are still loaded
                errors.append(_error_of(source, error))
                continue
            imported += loaded.runs
            kept += loaded.question_sets
    return imported, kept, errors


def _error_of(source: InputFile, error: Exception) -> DataError | MetricsError:
    """Return what is wrong with a file; an error that nobody foresaw names it."""
    if isinstance(error, DataError | MetricsError):
        return error
    text = error_text(error)
    return DataError(text if isinstance(error, OSError) else f"{source.name}: {text}")


def _inputs(paths: Sequence[str], options: Options) -> tuple[list[Input], list[DataError | MetricsError]]:
    """Return the files to read for the paths of a command, and the errors of paths that hold none."""
    inputs: list[Input] = []
    errors: list[DataError | MetricsError] = []
    for path in paths:
        try:
            inputs += inputs_of(path, options)
        except Exception as error:  # noqa: BLE001 -- the other paths are still read
            errors.append(_error_of(InputFile.from_path(path), error))
    try:
        return joined(inputs), errors
    except DataError as error:
        return [], [*errors, error]


def _answer(
    store: RunStore,
    imported: Sequence[ImportedRun],
    kept: Sequence[KeptSet],
    errors: Sequence[DataError | MetricsError],
    findings: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    names = store.names() if imported else {}
    runs = [
        {
            "run_id": entry.run.run_id,
            "name": names[entry.run.run_id],
            "project": entry.run.project,
            "n": entry.run.n,
            "status": entry.status,
            "format": entry.run.origin["format"],
            "left_out": dict(entry.left_out),
            "extra": list(entry.extra),
            "notes": list(entry.run.notes),
        }
        for entry in imported
    ]
    answer: dict[str, Any] = {"runs": runs, "findings": findings}
    if kept:
        answer["question_sets"] = [{**entry.facts.to_dict(), "is_new": entry.is_new} for entry in kept]
    if errors:
        answer["errors"] = [str(error) for error in errors]
    return answer


def _print_formats(as_json: bool) -> None:
    """Print every format that is read: ragtriage's own first, the others by title."""
    rows = formats(importers().values())
    if as_json:
        print_json({"formats": rows})
        return
    width = max(NARROWEST, screen_width() or PIPED)
    for row in rows:
        click.echo(f"{row['title']} (--format {row['format']})")
        facts = {"holds": row["file"], "tested with": row["written_by"], "written by": row["example"]}
        for label, text in facts.items():
            for line in textwrap.wrap(f"{label}: {text}", width - 2, subsequent_indent="  ") if text else ():
                click.echo(f"  {line}")
        click.echo()


def _lines(
    store: RunStore,
    imported: Sequence[ImportedRun],
    kept: Sequence[KeptSet],
    findings: Sequence[Mapping[str, Any]],
    explain: bool,
) -> list[str]:
    """Return what an import led to: a line for each run, and what to do next.

    Notes, findings and what is not computable stand behind `--explain`; a finding that makes a number wrong
    is shown anyway, and so is a question about a column.
    """
    always = {note for entry in imported for note in entry.closing}
    notes = _note_lines(
        (entry.run.run_id, [note for note in entry.run.notes if note not in always]) for entry in imported
    )
    shown = [finding for finding in findings if explain or finding["severity"] == "error"]
    questions = _note_lines((entry.run.run_id, _questions(store, entry.run)) for entry in imported)
    hidden = 0 if explain else len(notes) - len(questions), len(findings) - len(shown)
    behind = ", ".join(count(n, word) for n, word in zip(hidden, ("note", "finding"), strict=True) if n)
    names = store.names() if imported else {}
    lines = import_lines(imported, names, f"{behind}: --explain" if behind else "")
    with_samples = [entry.run for entry in imported if not entry.run.means]
    leaks = [(run.run_id, leak_text(store.scored(run))) for run in with_samples]
    return [
        *(wrapped(plain(line), "  ") for line in lines),
        *(
            wrapped(f"{text}: `ragtriage checks {run_id} --suite isolation`.", "  ")
            for run_id, text in leaks
            if text
        ),
        *_note_lines((entry.run.run_id, entry.closing) for entry in imported),
        *(wrapped(plain(kept_text(entry.facts, entry.is_new)), "  ") for entry in kept),
        *(notes if explain else questions),
        *(_note_lines((entry.facts.name, entry.facts.notes) for entry in kept) if explain else ()),
        *map(_finding_line, shown),
        *(_not_computable_lines(store, imported) if explain else ()),
        *([_next_step(store, imported)] if imported else []),
    ]


def _finding_line(finding: Mapping[str, Any]) -> str:
    text = f"{plain(finding['title'])}: {plain(finding['message'])}"
    return wrapped(f"finding ({finding['severity']}) in {finding['run_id']}: {text}", "  ")


def _questions(store: RunStore, run: Run) -> list[str]:
    """Return the notes on a run that a user must see: what it asks, and ids that mean several questions."""
    declared = declarations_of(store.workspace, run.project)
    return [note for note in run.notes if is_question(note, declared) or note.startswith(SAME_ID)]


def _note_lines(notes_by_run: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Return a line for each note on how the files were read, with the runs that it is about."""
    runs_by_note: dict[str, dict[str, None]] = {}
    for run, notes in notes_by_run:
        for note in notes:
            runs_by_note.setdefault(note, {})[run] = None
    lines = []
    for note, runs in runs_by_note.items():
        named = ", ".join(runs) if len(runs) <= NAMED_RUNS else count(len(runs), "run")
        lines.append(wrapped(f"note on {plain(named)}: {plain(note)}", "  "))
    return lines


def _not_computable_lines(store: RunStore, imported: Sequence[ImportedRun]) -> list[str]:
    """List the metrics that stay unmeasured and why, once for all runs with the same list."""
    run_ids_by_lines: dict[tuple[str, ...], list[str]] = {}
    for entry in {entry.run.run_id: entry for entry in imported}.values():
        lines = tuple(unmeasured_by_reason(not_computable(store, entry.run)))
        run_ids_by_lines.setdefault(lines, []).append(entry.run.run_id)
    return [
        text
        for lines, run_ids in run_ids_by_lines.items()
        if lines
        for text in (wrapped(f"not computable in {', '.join(run_ids)}:", "  "), *lines)
    ]


def _next_step(store: RunStore, imported: Sequence[ImportedRun]) -> str:
    """Suggest what to do with the runs."""
    with_samples = [entry.run.run_id for entry in imported if not entry.run.means]
    serve = "`ragtriage serve` opens the dashboard"
    if not with_samples:
        return f"Next: {serve}; its page Benchmarks compares these versions with published results."
    last = with_samples[-1]
    if not any(summary.n_scored for summary in store.summary(store.find(last)).values()):
        need = f"`ragtriage show {last}` says what each metric needs"
        return f"Next: nothing in {last} can be measured yet; {need}."
    return f"Next: `ragtriage diagnose {last}` shows where it fails; {serve}."


def _print_error(error: Exception) -> None:
    """Print an error, which may have several lines, without its control characters."""
    click.echo("error: " + "\n".join(map(plain, str(error).split("\n"))), err=True)


def _preview_files(paths: Sequence[str], options: Options, as_json: bool) -> int:
    """Show how files would be read; return the exit code."""
    answers: list[dict[str, Any]] = []
    inputs, errors = _inputs(paths, options)
    for error in errors:
        _print_error(error)
    failed = bool(errors)
    for source, source_options in inputs:
        try:
            file_preview = preview(source, source_options)
        except Exception as fault:  # noqa: BLE001 -- the other files are still shown
            _print_error(_error_of(source, fault))
            failed = True
            continue
        failed = failed or file_preview.total_errors > 0
        answers.append(_preview_answer(source.name, file_preview))
    if as_json:
        print_json({"files": answers})
    else:
        click.echo("\n".join(_preview_text(answer) for answer in answers))
    return 2 if failed else 0


def _preview_answer(name: str, file_preview: Preview) -> dict[str, Any]:
    computable_metrics, missing = computable(file_preview.records)
    return {
        "file": name,
        "format": file_preview.format,
        "complete": file_preview.complete,
        "runs": [
            {"name": run.name, "n": run.count, "notes": list(run.notes)}
            for run in file_preview.runs
            if not run.questions
        ],
        "question_sets": [
            {"name": run.name, "n": run.count, "notes": list(run.notes)}
            for run in file_preview.runs
            if run.questions
        ],
        "mapping": [asdict(column) for column in file_preview.mapping],
        "fields": dict(file_preview.filled),
        "computable": computable_metrics,
        "not_computable": missing,
        "means": {run.name: list(run.means) for run in file_preview.runs if run.means},
        "problems": [str(problem) for problem in file_preview.errors],
    }


def _preview_text(answer: Mapping[str, Any]) -> str:
    means: Mapping[str, Sequence[str]] = answer["means"]
    runs = ", ".join(
        plain(run["name"]) if run["name"] in means else f"{plain(run['name'])} ({run['n']:,})"
        for run in answer["runs"]
    )
    sets = ", ".join(f"{plain(entry['name'])} ({entry['n']:,})" for entry in answer["question_sets"])
    holds = "; ".join([*([f"runs: {runs}"] if runs else []), *([f"question set: {sets}"] if sets else [])])
    lines = [f"{answer['file']}: {answer['format']}; {holds}{'' if answer['complete'] else ' ...'}"]
    if answer["mapping"]:
        rows = [{**column, "read as": column["field"] or "(kept as extra)"} for column in answer["mapping"]]
        lines.append(row_table(rows, ["column", "read as", "example"]))
    entries = [*answer["runs"], *answer["question_sets"]]
    lines += _note_lines((entry["name"], entry["notes"]) for entry in entries)
    if not answer["runs"]:
        text = "questions with references and gold and no answers: kept as a question set, not as a run"
        return "\n".join([*lines, wrapped(text, "  "), *(f"problem: {plain(p)}" for p in answer["problems"])])
    if means:
        metrics = ", ".join(dict.fromkeys(name for names in means.values() for name in names))
        versions = count(len(means), "version")
        summary = f"summary scores only: {metrics} of {versions}; no samples, so no interval and no diagnosis"
    else:
        names = sorted({name.replace("@", "@k ").split(" ")[0] for name in answer["computable"]})
        summary = f"will be measured: {', '.join(names) or 'nothing'}"
    lines.append(wrapped(summary, "  "))
    if answer["not_computable"]:
        lines += ["not computable:", *unmeasured_by_reason(answer["not_computable"])]
    return "\n".join([*lines, *(f"problem: {plain(problem)}" for problem in answer["problems"])])
