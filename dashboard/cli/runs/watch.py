"""The watch command: one line for every run that appears in a folder, and a command on FAIL."""

import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ragtriage.dashboard.cli.options import BASELINE, GATES_FILE, JSON, NEW_PROJECT, with_default
from ragtriage.dashboard.cli.terminal import on_signals, plain
from ragtriage.dashboard.wording.gates import state_text, verdict_text
from ragtriage.data.api import open_store
from ragtriage.data.gates.config import load_gates
from ragtriage.data.gates.hook import command_words
from ragtriage.data.gates.watch import Watched, Watcher, WatchOptions, report_hook


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@NEW_PROJECT
@with_default(
    "--every",
    5.0,
    "Time between two scans; a file is taken when it has not changed in between.",
    type=click.FloatRange(0.05, 86400),
    metavar="SECONDS",
)
@click.option("--once", is_flag=True, help="Scan twice, take the files that did not change, and exit.")
@GATES_FILE
@BASELINE
@click.option(
    "--on-fail", metavar="COMMAND", help="Command to run, without a shell, when a run fails (docs/watch.md)."
)
@click.option("--strict", is_flag=True, help="Every conclusion but ship counts as failing.")
@JSON
@click.pass_obj
def watch(
    workspace: str | None,
    folder: str,
    project: str | None,
    every: float,
    once: bool,
    config: str | None,
    baseline: str | None,
    on_fail: str | None,
    strict: bool,
    as_json: bool,
) -> None:
    """Import, score and gate result files as they appear in FOLDER; one line per run.

    Ctrl+C ends it. With --once the exit code is 1 if a run failed, else 2 if a file was refused.
    """
    command = command_words(on_fail) if on_fail is not None else []
    store = open_store(workspace, create=True)
    gates = load_gates(store.workspace, config)
    options = WatchOptions(Path(folder).resolve(), project or store.usual_project(), gates, baseline or "")
    watcher = Watcher(store, options)
    how = "scans twice" if once else f"scans every {every:g} s; Ctrl+C stops it"
    click.echo(
        f"Watching {plain(str(options.folder))} for project {plain(options.project)}: {how}.", err=True
    )
    try:
        with on_signals(_interrupt):
            sys.exit(_watch(watcher, every, once, command, strict, as_json))
    except KeyboardInterrupt:
        click.echo("Stopped.", err=True)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt  # so that a run that is being imported is removed


def _watch(
    watcher: Watcher, every: float, once: bool, command: Sequence[str], strict: bool, as_json: bool
) -> int:
    watcher.look()
    code = 0
    while True:
        time.sleep(every)
        for name in watcher.look():
            for watched in watcher.take(name):
                click.echo(_json_line(watched, strict) if as_json else _line(watched, strict))
                report = watched.report
                ended = 0 if report is None else report.exit_code(strict)
                if report is not None and (ended == 1 or (strict and ended)):
                    code = 1
                    problem = report_hook(command, report, strict) if command else ""
                    if problem:
                        click.echo(f"command on FAIL: {plain(problem)}; the watch continues", err=True)
                elif watched.status == "refused":
                    code = code or 2
        if once:
            for name in watcher.moving:
                click.echo(f"still being written, left out: {_printable(name)}", err=True)
            return code


def _line(watched: Watched, strict: bool) -> str:
    """Write what became of a run on one line; nothing in it can break the line or steer the terminal."""
    if watched.run is None:
        outcome = "kept" if watched.status == "kept" else "refused"
        return f"{outcome:<12}  {_printable(watched.file)}: {_problem(watched)}"
    report = watched.report
    if report is None:
        verdict, name, reason = "not gated", watched.run.name, _problem(watched)
    else:
        verdict, name = state_text(report, strict), report.name
        reason = plain(verdict_text(report, strict))
    origin = f"{watched.status} from {_printable(watched.file)}"
    return f"{verdict:<12}  {plain(name)} ({watched.run.run_id}), {origin}: {reason}"


def _json_line(watched: Watched, strict: bool) -> str:
    answer: dict[str, Any] = {"file": _printable(watched.file), "status": watched.status}
    if watched.run is not None:
        answer |= {"run_id": watched.run.run_id, "project": watched.run.project}
    if watched.report is not None:
        report = watched.report
        answer |= {"verdict": report.verdict_under(strict), "gate": report.to_dict(strict)}
    if watched.problem:
        answer["problem"] = watched.problem
    return json.dumps(answer, ensure_ascii=True, allow_nan=False)


def _printable(path: str) -> str:
    """Write a path so that it can be printed, also where its bytes are not UTF-8."""
    return plain(os.fsencode(path).decode("utf-8", "replace"))


def _problem(watched: Watched) -> str:
    return plain(watched.problem.encode("utf-8", "replace").decode("utf-8"))
