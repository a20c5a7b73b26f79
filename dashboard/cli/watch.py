"""The watch command: one line for every run that appears in a folder, and a command on FAIL."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import click

from dashboard.cli.commands import open_workspace
from dashboard.cli.terminal import plain
from dashboard.wording.gates import verdict_words
from data.gates.config import load_gates
from data.gates.hooks import command_words, run_hook
from data.gates.watch import Watched, Watcher, WatchOptions

__all__ = ["WatchSettings", "run"]


@dataclass(frozen=True)
class WatchSettings:
    """What the command was asked.

    Attributes:
        project: of the runs; None for the workspace's only one, else `default`.
        every: seconds between two looks.
        once: look twice, deal with what stands still, and end.
        config: a gates.toml; None for the workspace's, else the bundled one.
        baseline: run that all are held against; None for the project's.
        on_fail: command to run when a run fails; None for none.
        strict: whether INCONCLUSIVE and UNMEASURED of a blocking gate count as failing too.
    """

    project: str | None = None
    every: float = 5.0
    once: bool = False
    config: str | None = None
    baseline: str | None = None
    on_fail: str | None = None
    strict: bool = False


def run(workspace: str | None, folder: str, settings: WatchSettings, as_json: bool) -> int:
    """Watch a folder until Ctrl+C, or once; gives the exit code.

    0; under `once` 1 where a run failed, else 2 where a file could not be taken.
    """
    words = command_words(settings.on_fail) if settings.on_fail is not None else []
    store = open_workspace(workspace, create=True)
    options = WatchOptions(
        Path(folder).resolve(),
        settings.project or store.usual_project(),
        load_gates(store.workspace, settings.config),
        settings.baseline or "",
    )
    watcher = Watcher(store, options)
    click.echo(_begun(options, settings), err=True)
    try:
        with _ended_by_signals():
            return _watch(watcher, settings, words, as_json)
    except KeyboardInterrupt:
        click.echo("Stopped.", err=True)
        return 0


def _begun(options: WatchOptions, settings: WatchSettings) -> str:
    how = "looks once" if settings.once else f"looks every {settings.every:g} s; Ctrl+C stops it"
    return f"Watching {plain(str(options.folder))} for project {plain(options.project)}: {how}."


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Make SIGTERM end the watch as Ctrl+C does: what is being imported is taken out again."""

    def end(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {one: signal.signal(one, end) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _watch(watcher: Watcher, settings: WatchSettings, words: Sequence[str], as_json: bool) -> int:
    watcher.look()
    code = 0
    while True:
        time.sleep(settings.every)
        for name in watcher.look():
            for one in watcher.take(name):
                failed = one.report is not None and one.report.exit_code(settings.strict) == 1
                click.echo(_json_line(one, settings.strict) if as_json else _line(one, settings.strict))
                if failed and words:
                    _hook(words, one, settings.strict)
                code = 1 if failed or code == 1 else 2 if one.status == "refused" else code
        if settings.once:
            for name in watcher.moving:
                click.echo(f"still being written, left out: {_name(name)}", err=True)
            return code


def _hook(words: Sequence[str], one: Watched, strict: bool) -> None:
    assert one.report is not None  # noqa: S101 -- the caller has seen it
    problem = run_hook(words, one.report, strict)
    if problem:
        click.echo(f"command on FAIL: {plain(problem)}; the watch goes on", err=True)


def _line(one: Watched, strict: bool) -> str:
    """Write what became of a run on one line; nothing in it can break the line or steer the terminal."""
    if one.run is None:
        return f"REFUSED       {_name(one.file)}: {_one_line(one.problem)}"
    verdict = "NOT GATED" if one.report is None else one.report.verdict_under(strict)
    why = _one_line(one.problem) if one.report is None else plain(verdict_words(one.report, strict))
    name = plain(one.run.name if one.report is None else one.report.name)
    return f"{verdict:<12}  {name} ({one.run.run_id}), {one.status} from {_name(one.file)}: {why}"


def _json_line(one: Watched, strict: bool) -> str:
    answer: dict[str, Any] = {"file": _name(one.file), "status": one.status}
    if one.run is not None:
        answer |= {"run_id": one.run.run_id, "project": one.run.project}
    if one.report is not None:
        answer |= {"verdict": one.report.verdict_under(strict), "gate": one.report.to_dict(strict)}
    if one.problem:
        answer["problem"] = one.problem
    return json.dumps(answer, ensure_ascii=True, allow_nan=False)


def _name(path: str) -> str:
    """Write a path so that it can be printed, whatever bytes it is made of."""
    return plain(os.fsencode(path).decode("utf-8", "replace"))


def _one_line(problem: str) -> str:
    return plain(problem.encode("utf-8", "replace").decode("utf-8"))
