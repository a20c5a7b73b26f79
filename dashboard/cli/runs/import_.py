"""The import command: runs from files, and everything that is wrong with each file."""

import json
import os
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import click
from tqdm import tqdm

from ragtriage.dashboard.cli.options import JSON, NEW_PROJECT, column_mapping, key_value_pairs
from ragtriage.dashboard.cli.runs.import_answer import answer_lines, preview_answer, preview_text
from ragtriage.dashboard.cli.terminal import error_text, plain, print_json, screen_width
from ragtriage.dashboard.wording.imports import formats
from ragtriage.data.declarations import parsed_declaration
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.diagnosis.run_digest import digest_new_runs
from ragtriage.data.errors import DataError
from ragtriage.data.importers.importer import Options, read_tools
from ragtriage.data.importers.load import (
    Input,
    KeptSet,
    Step,
    inputs_of,
    joined,
    load_source,
    named_questions,
)
from ragtriage.data.importers.parsing.input_file import NO_LIMITS, InputFile
from ragtriage.data.importers.preview import preview
from ragtriage.data.importers.registry import importers, plugin_faults
from ragtriage.data.scoring.imported_scores import parsed_scale
from ragtriage.data.scoring.run_store import RunStore, open_store
from ragtriage.data.store.workspace import SCALES, Workspace
from ragtriage.data.store.write_run import ImportedRun
from ragtriage.metrics.schema.scores import MetricsError

NARROWEST, PIPED = 24, 80  # columns of a line; the second where the text goes to a file or another program


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
    callback=column_mapping,
    help="Read FIELD from COLUMN.",
)
@click.option(
    "--rows",
    default="",
    metavar="NAME",
    help="List of rows or sheet to read, where a file holds several; * is every sheet.",
)
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
        sys.exit(_preview_files(paths, options, explain, as_json))
    store = open_store(workspace, create=True)
    imported, kept, errors = _import_files(store, paths, options, project or store.usual_project())
    findings = [
        {"run_id": run.run_id, **finding.to_dict()}
        for run in {entry.run.run_id: entry.run for entry in imported}.values()
        for finding in check_run(store.scored(run))
    ]
    digest_new_runs(store, [entry.run for entry in imported])
    for text in dict.fromkeys(map(str, errors)):  # one of the workspace is that of every file
        _print_error(text)
    if as_json:
        print_json(_answer(store, imported, kept, errors, findings))
    elif lines := answer_lines(store, imported, kept, findings, explain):
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


def _print_error(error: object) -> None:
    """Print an error, which may have several lines, without its control characters."""
    click.echo("error: " + "\n".join(map(plain, str(error).split("\n"))), err=True)


def _preview_files(paths: Sequence[str], options: Options, explain: bool, as_json: bool) -> int:
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
        answers.append(preview_answer(source.name, file_preview))
    if as_json:
        print_json({"files": answers})
    else:
        click.echo("\n".join(preview_text(answer, explain) for answer in answers))
        if answers and not failed:
            click.echo("Next: the same command without --dry-run loads it.")
    return 2 if failed else 0
