"""The import command: runs from files, and everything that is wrong with each file."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import click
from tqdm import tqdm

from dashboard.cli.options import JSON, key_value_pairs
from dashboard.cli.show import not_computable, unmeasured_by_reason
from dashboard.cli.terminal import plain, print_json, table, wrapped
from dashboard.wording.formatting import NOT_MEASURED, count
from data.api import open_store
from data.declarations import parsed_declaration
from data.diagnosis.run_checks import check_run
from data.errors import DataError, InputError
from data.importers.formats.beir import inputs_of
from data.importers.load import Step, import_source
from data.importers.measurable import computable
from data.importers.parsing.input_file import InputFile
from data.importers.parsing.limits import NO_LIMITS
from data.importers.parsing.options import Options
from data.importers.preview import Preview, preview
from data.scoring.run_store import RunStore
from data.store.write_run import ImportedRun
from metrics.schema.scores import MetricsError

__all__ = ["import_"]

NAMED_RUNS = 4  # a note on more runs tells their number


@click.command("import")
@click.argument("paths", nargs=-1, required=True)
@click.option("--project", help="Project of the runs; the workspace's only one, else `default`.")
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
    "--all-topics", is_flag=True, help="Count judged questions without results as empty lists (trec_eval -c)."
)
@click.option("--dataset", default="", help="Name of the question set.")
@click.option(
    "--no-limits",
    is_flag=True,
    help="Read files of any size and number of samples, whatever the memory needed.",
)
@click.option("--dry-run", is_flag=True, help="Show how the files would be read; load nothing.")
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
    all_topics: bool,
    dataset: str,
    no_limits: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Load evaluation runs from files, each file whole or not at all.

    If a file cannot be read, the others are still loaded, and the exit code is 2.
    """
    if no_limits:
        os.environ[NO_LIMITS] = "1"
    options = Options(
        format=file_format,
        mapping={column: field for field, column in mapping.items()},
        rows=rows,
        name=name,
        config={key: _json_or_text(text) for key, text in config.items()},
        qrels=InputFile.from_path(qrels) if qrels else None,
        queries=InputFile.from_path(queries) if queries else None,
        corpus=InputFile.from_path(corpus) if corpus else None,
        metrics=dict(parsed_declaration(text, "--metric") for text in metrics),
        all_topics=all_topics,
        dataset=dataset,
    )
    if dry_run:
        sys.exit(_preview_files(paths, options, as_json))
    store = open_store(workspace, create=True)
    imported, errors = _import_files(store, paths, options, project or store.usual_project())
    findings = [
        {"run_id": entry.run.run_id, **finding.to_dict()}
        for entry in imported
        for finding in check_run(store.scored(entry.run))
    ]
    _print_result(store, imported, errors, findings, as_json)
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
) -> tuple[list[ImportedRun], list[DataError | MetricsError]]:
    """Import every file under a progress bar; return the runs, and the errors of files that failed."""
    imported: list[ImportedRun] = []
    errors: list[DataError | MetricsError] = []
    with tqdm(unit=" samples", disable=not sys.stderr.isatty()) as bar:

        def show_progress(step: Step) -> None:
            bar.set_description(f"{step.doing} {plain(step.run)}")
            bar.total = step.total or None
            bar.n = step.done
            bar.refresh()

        for path in paths:
            try:
                for source, source_options in inputs_of(path, options):
                    imported += import_source(store, source, source_options, project, show_progress)
            except (DataError, MetricsError) as error:
                errors.append(error)
    return imported, errors


def _print_result(
    store: RunStore,
    imported: Sequence[ImportedRun],
    errors: Sequence[DataError | MetricsError],
    findings: Sequence[Mapping[str, Any]],
    as_json: bool,
) -> None:
    for error in errors:
        _print_error(error)
    names = store.names()
    if as_json:
        runs = [
            {
                "run_id": entry.run.run_id,
                "name": names[entry.run.run_id],
                "project": entry.run.project,
                "n": entry.run.n,
                "status": entry.status,
                "notes": list(entry.run.notes),
            }
            for entry in imported
        ]
        answer: dict[str, Any] = {"runs": runs, "findings": findings}
        if errors:
            answer["errors"] = [str(error) for error in errors]
        print_json(answer)
        return
    if imported:
        rows = [
            [
                entry.run.run_id,
                entry.run.project,
                names[entry.run.run_id],
                NOT_MEASURED if entry.run.means else f"{entry.run.n:,}",
                entry.status,
            ]
            for entry in imported
        ]
        click.echo(table(["run", "project", "name", "samples", "status"], rows))
    for line in _note_lines([(entry.run.run_id, entry.run.notes) for entry in imported]):
        click.echo(line)
    for finding in findings:
        text = f"{plain(finding['title'])}: {plain(finding['message'])}"
        click.echo(wrapped(f"finding ({finding['severity']}) in {finding['run_id']}: {text}", "  "))
    for line in _not_computable_lines(store, imported):
        click.echo(line)
    if imported:
        click.echo(_next_step(imported))


def _note_lines(notes_by_run: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Return a line for each note on how the files were read, with the runs that it is about."""
    runs_by_note: dict[str, list[str]] = {}
    for run, notes in notes_by_run:
        for note in notes:
            runs_by_note.setdefault(note, []).append(run)
    return [
        wrapped(f"note on {plain(_named(runs))}: {plain(note)}", "  ") for note, runs in runs_by_note.items()
    ]


def _named(runs: Sequence[str]) -> str:
    return ", ".join(runs) if len(runs) <= NAMED_RUNS else count(len(runs), "run")


def _print_error(error: Exception) -> None:
    """Print an error, which may have several lines, without its control characters."""
    click.echo("error: " + "\n".join(map(plain, str(error).split("\n"))), err=True)


def _not_computable_lines(store: RunStore, imported: Sequence[ImportedRun]) -> list[str]:
    """List the metrics that stay unmeasured and why, once for all runs with the same list."""
    run_ids_by_lines: dict[tuple[str, ...], list[str]] = {}
    for entry in imported:
        lines = tuple(unmeasured_by_reason(not_computable(store, entry.run)))
        run_ids_by_lines.setdefault(lines, []).append(entry.run.run_id)
    return [
        text
        for lines, run_ids in run_ids_by_lines.items()
        if lines
        for text in (wrapped(f"not computable in {', '.join(run_ids)}:", "  "), *lines)
    ]


def _next_step(imported: Sequence[ImportedRun]) -> str:
    """Suggest what to do with the runs."""
    with_samples = [entry.run.run_id for entry in imported if not entry.run.means]
    serve = "`ragtriage serve` opens the dashboard"
    if not with_samples:
        return f"Next: {serve}; its page Benchmarks compares these versions with published results."
    return f"Next: `ragtriage diagnose {with_samples[-1]}` shows where it fails; {serve}."


def _preview_files(paths: Sequence[str], options: Options, as_json: bool) -> int:
    """Show how files would be read; return the exit code."""
    answers: list[dict[str, Any]] = []
    failed = False
    for path in paths:
        try:
            previews = [
                (source.name, preview(source, source_options))
                for source, source_options in inputs_of(path, options)
            ]
        except InputError as error:
            _print_error(error)
            failed = True
            continue
        failed = failed or any(file_preview.total_errors > 0 for _, file_preview in previews)
        answers += [_preview_answer(name, file_preview) for name, file_preview in previews]
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
        "runs": [{"name": run.name, "n": run.count, "notes": list(run.notes)} for run in file_preview.runs],
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
    lines = [f"{answer['file']}: {answer['format']}; runs: {runs}{'' if answer['complete'] else ' ...'}"]
    if answer["mapping"]:
        rows = [
            [column["column"], column["field"] or "(kept as extra)", column["example"]]
            for column in answer["mapping"]
        ]
        lines.append(table(["column", "read as", "example"], rows))
    lines += _note_lines((run["name"], run["notes"]) for run in answer["runs"])
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
