"""The import command: files in, runs out, every problem of every file told."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import click
from tqdm import tqdm

from dashboard.cli.commands import open_workspace
from dashboard.cli.show_command import by_reason, unmeasured
from dashboard.cli.terminal import plain, table, wrapped
from dashboard.wording.formatting import NOT_MEASURED, count
from data.errors import DataError, InputError
from data.importers.formats.beir import inputs_of
from data.importers.load import Step, import_source
from data.importers.measurable import computable
from data.importers.parsing.options import Options
from data.importers.parsing.source import Source
from data.importers.preview import Preview, preview
from data.scoring.run_store import RunStore
from data.scoring.sanity import check_run
from data.store.write_run import ImportedRun
from metrics.schema.scores import MetricsError

__all__ = ["run"]


@dataclass
class _Outcome:
    """What became of all files."""

    runs: list[ImportedRun]
    errors: list[DataError | MetricsError]


def run(
    workspace: str | None,
    paths: Sequence[str],
    project: str | None,
    name: str | None,
    config: Mapping[str, str],
    file_format: str,
    mapping: Mapping[str, str],
    qrels: str | None,
    queries: str | None,
    corpus: str | None,
    dataset: str,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Load files, or show how they would be read; gives the exit code.

    Each file is loaded whole or not at all; one that fails does not keep the others from being loaded.
    """
    options = Options(
        format=file_format,
        mapping={column: field for field, column in mapping.items()},
        name=name,
        config={key: _value(text) for key, text in config.items()},
        qrels=_source(qrels),
        queries=_source(queries),
        corpus=_source(corpus),
        dataset=dataset,
    )
    if dry_run:
        return _preview(paths, options, as_json)
    store = open_workspace(workspace, create=True)
    outcome = _import(store, paths, options, project or store.usual_project())
    findings = [
        {"run_id": one.run.run_id, **asdict(finding)}
        for one in outcome.runs
        for finding in check_run(store.table(one.run))
    ]
    _report(store, outcome, findings, as_json)
    return 2 if outcome.errors else 0


def _source(path: str | None) -> Source | None:
    return Source.from_path(path) if path else None


def _value(text: str) -> Any:
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False)
    except ValueError:  # no JSON, or a NaN or infinity, which JSON does not know
        return text
    return value


def _import(store: RunStore, paths: Sequence[str], options: Options, project: str) -> _Outcome:
    outcome = _Outcome([], [])
    with tqdm(unit=" samples", disable=not sys.stderr.isatty()) as bar:

        def watch(step: Step) -> None:
            bar.set_description(f"{step.doing} {plain(step.run)}")
            bar.total = step.total or None
            bar.n = step.done
            bar.refresh()

        for path in paths:
            try:
                for source, found in inputs_of(path, options):
                    outcome.runs += import_source(store, source, found, project, watch)
            except (DataError, MetricsError) as error:
                outcome.errors.append(error)
    return outcome


def _report(store: RunStore, outcome: _Outcome, findings: list[dict[str, Any]], as_json: bool) -> None:
    names = store.names()
    runs: list[dict[str, Any]] = [
        {
            "run_id": one.run.run_id,
            "name": names[one.run.run_id],
            "project": one.run.project,
            "n": one.run.n,
            "status": one.status,
        }
        for one in outcome.runs
    ]
    for error in outcome.errors:
        click.echo(f"error: {plain_lines(str(error))}", err=True)
    if as_json:
        answer: dict[str, Any] = {"runs": runs, "findings": findings}
        if outcome.errors:
            answer["errors"] = [str(error) for error in outcome.errors]
        click.echo(json.dumps(answer, ensure_ascii=False, indent=1, allow_nan=False, default=str))
        return
    if runs:
        means = {one.run.run_id for one in outcome.runs if one.run.means}
        rows = [
            [
                one["run_id"],
                one["project"],
                one["name"],
                NOT_MEASURED if one["run_id"] in means else f"{one['n']:,}",
                one["status"],
            ]
            for one in runs
        ]
        click.echo(table(["run", "project", "name", "samples", "status"], rows))
    for finding in findings:
        told = f"{plain(finding['title'])}: {plain(finding['message'])}"
        click.echo(wrapped(f"finding ({finding['severity']}) in {finding['run_id']}: {told}", "  "))
    for line in _not_computable(store, outcome.runs):
        click.echo(line)
    if outcome.runs:
        click.echo(_next_step(outcome.runs))


def _not_computable(store: RunStore, runs: Sequence[ImportedRun]) -> list[str]:
    """Say which metrics stay unmeasured and why; once for all runs of which the same is true."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for one in runs:
        lines = tuple(by_reason(unmeasured(store, one.run)))
        groups.setdefault(lines, []).append(one.run.run_id)
    return [
        text
        for lines, ids in groups.items()
        if lines
        for text in (wrapped(f"not computable in {', '.join(ids)}:", "  "), *lines)
    ]


def _next_step(runs: Sequence[ImportedRun]) -> str:
    """Say what to do with what was loaded."""
    sampled = [one.run.run_id for one in runs if not one.run.means]
    look = "`ragtriage serve` opens the dashboard"
    if not sampled:
        return f"Next: {look}; its page Benchmarks places these versions beside published results."
    return f"Next: `ragtriage diagnose {sampled[-1]}` says where it fails; {look}."


def plain_lines(text: str) -> str:
    """Drop control characters from a message of several lines."""
    return "\n".join(plain(line) for line in text.split("\n"))


def _preview(paths: Sequence[str], options: Options, as_json: bool) -> int:
    """Show how files would be read."""
    answers, failed = [], False
    for path in paths:
        try:
            shown = [(source.name, preview(source, found)) for source, found in inputs_of(path, options)]
        except InputError as error:
            click.echo(f"error: {plain_lines(str(error))}", err=True)
            failed = True
            continue
        failed = failed or any(seen.total_problems > 0 for _, seen in shown)
        answers += [_previewed(name, seen) for name, seen in shown]
    click.echo(
        json.dumps({"files": answers}, ensure_ascii=False, indent=1) if as_json else _preview_text(answers)
    )
    return 2 if failed else 0


def _previewed(name: str, seen: Preview) -> dict[str, Any]:
    names, missing = computable(seen.records)
    return {
        "file": name,
        "format": seen.format,
        "complete": seen.complete,
        "runs": [{"name": one.name, "n": one.count, "notes": list(one.notes)} for one in seen.runs],
        "mapping": [asdict(one) for one in seen.mapping],
        "fields": dict(seen.filled),
        "computable": names,
        "not_computable": missing,
        "means": {one.name: list(one.means) for one in seen.runs if one.means},
        "problems": [str(one) for one in seen.problems],
    }


def _means_text(means: Mapping[str, Sequence[str]]) -> str:
    """Say what will be there of versions that are known by their means alone."""
    names = list(dict.fromkeys(name for metrics in means.values() for name in metrics))
    return wrapped(
        f"will be there: the means of {', '.join(names)} of {count(len(means), 'version')}; no sample, so no "
        "interval and no diagnosis",
        "  ",
    )


def _preview_text(answers: Sequence[Mapping[str, Any]]) -> str:
    parts = []
    for one in answers:
        runs = ", ".join(
            plain(run["name"]) if run["name"] in one["means"] else f"{plain(run['name'])} ({run['n']:,})"
            for run in one["runs"]
        )
        parts.append(f"{one['file']}: {one['format']}; runs: {runs}{'' if one['complete'] else ' ...'}")
        if one["mapping"]:
            rows = [
                [cell["column"], cell["field"] or "(kept as extra)", cell["example"]]
                for cell in one["mapping"]
            ]
            parts.append(table(["column", "read as", "example"], rows))
        if one["means"]:
            parts.append(_means_text(one["means"]))
        else:
            measured = sorted({name.replace("@", "@k ").split(" ")[0] for name in one["computable"]})
            parts.append(wrapped(f"will be measured: {', '.join(measured) or 'nothing'}", "  "))
        if one["not_computable"]:
            parts += ["not computable:", *by_reason(one["not_computable"])]
        parts += [f"problem: {plain(text)}" for text in one["problems"]]
    return "\n".join(parts)
