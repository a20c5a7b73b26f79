"""The gate command: does this version hold, said to a person, to a program and to CI."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from dashboard.cli.ci_files import junit_xml, markdown_summary
from dashboard.cli.commands import open_workspace
from dashboard.cli.terminal import plain, screen_width, table, wrapped
from dashboard.wording.gates import broken_words, gate_row, verdict_words
from data.errors import DataError
from data.gates.baseline import baseline_of
from data.gates.config import load_gates
from data.gates.report import GateReport, gate_run

__all__ = ["gate_text", "run"]

MOST_LISTED = 20  # newly failing questions that are written out


def run(
    workspace: str | None,
    wanted: str,
    baseline: str | None = None,
    config: str | None = None,
    strict: bool = False,
    as_json: bool = False,
    junit: str | None = None,
    markdown: str | None = None,
) -> int:
    """Judge a run by its gates and say so; gives the exit code.

    Args:
        workspace: folder; the default one where None.
        wanted: id or name of the run.
        baseline: id or name of what it is held against; the project's baseline where None.
        config: a gates.toml; the workspace's, else the bundled one, where None.
        strict: whether INCONCLUSIVE and UNMEASURED of a blocking gate give 1 too.
        as_json: print JSON in place of text.
        junit: file for JUnit XML.
        markdown: file for Markdown; the job summary of GitHub is added to, any other file written anew.
    """
    store = open_workspace(workspace)
    gates = load_gates(store.workspace, config)
    found = store.find(wanted)
    report = gate_run(store, found, baseline_of(store, found, baseline or ""), gates)
    if junit:
        _write(junit, junit_xml(report, strict), False)
    if markdown:
        _write(markdown, markdown_summary(report, strict), markdown == os.environ.get("GITHUB_STEP_SUMMARY"))
    if as_json:
        click.echo(json.dumps(report.to_dict(strict), ensure_ascii=False, indent=1, allow_nan=False))
    else:
        click.echo(gate_text(report, strict))
    return report.exit_code(strict)


def gate_text(report: GateReport, strict: bool = False) -> str:
    """Write the report for a terminal."""
    verdict, code = report.verdict_under(strict), report.exit_code(strict)
    head = f"{verdict}: {plain(report.name)} ({plain(report.run.project)}): {verdict_words(report, strict)}."
    base = plain(report.baseline_name) if report.baseline.run else "nothing"
    said = f"Held against {base}: {plain(report.baseline.note)}. Gates: {plain(report.source)}."
    rows = [gate_row(one) for one in report.results]
    columns = [name for name in rows[0] if name != "Could show"]  # the sentences below say it
    shown = table(columns, [[row[name] for name in columns] for row in rows], screen_width())
    told = [f"{one.verdict}: {one.sentence}" for one in report.results if one.verdict != "PASS"]
    warnings = [f"warning: {one}" for one in report.warnings]
    warnings += [f"read before trusting these numbers: {one} (`ragtriage check`)" for one in report.cautions]
    parts = [
        wrapped(head),
        shown,
        "\n".join(wrapped(plain(line), "  ") for line in told),
        "\n".join(wrapped(plain(line), "  ") for line in [said, *warnings]),
        _broken(report),
        f"Exit code {code}{' (strict)' if strict else ''}.",
    ]
    return "\n\n".join(part for part in parts if part)


def _broken(report: GateReport) -> str:
    lines = [
        f"  {one.question_id}{' (critical)' if one.critical else ''}: {one.question}"
        for one in report.newly_failing[:MOST_LISTED]
    ]
    more = len(report.newly_failing) - MOST_LISTED
    rest = [f"  and {more:,} more; --json has them all"] if more > 0 else []
    return "\n".join(wrapped(plain(line), "    ") for line in [broken_words(report), *lines, *rest] if line)


def _write(path: str, text: str, add: bool) -> None:
    try:
        with Path(path).open("a" if add else "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise DataError(
            f"{path}: cannot be written ({error.strerror}); accepted: a file in a writable folder"
        ) from error
