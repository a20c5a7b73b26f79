"""The folder in which a reader of the documentation types its commands, and how they are typed in tests."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest
from copied_workspace import copied
from places import BUNDLED, FIXTURES, REPOSITORY

import ragtriage
from ragtriage.dashboard.cli.main import main
from ragtriage.dashboard.present.stories.sections import add_sample_stories
from ragtriage.data.judge.evaluators import Evaluator, add_evaluator
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Workspace

__all__ = ["ReadersFolder", "make_folder", "steps"]

SERVER = re.compile(r"ragtriage (?:serve|demo|mcp|watch(?!.* --once))\b")
PLAIN = re.compile(r"ragtriage (?:[^|&;<>$`\"#\n]|\"[^$`\"]*\")*(?:#.*)?")  # nothing that a shell must do
SECONDS = 60


@dataclass(frozen=True)
class ReadersFolder:
    """A folder with a workspace and the files that the documentation speaks of.

    Attributes:
        path: the folder.
        environment: of the commands.
    """

    path: Path
    environment: Mapping[str, str]

    def type(self, commands: str, runs: Mapping[str, tuple[str, str]]) -> tuple[int, str]:
        """Run commands as a shell does; return the exit code and what they print.

        Args:
            commands: what the reader types.
            runs: the words that stand for a run, as RUN, and the project and name of that run.
        """
        ids = {(run.project, run.name): run.run_id for run in _store(self.path).runs()}
        script = re.sub(rf"\b({'|'.join(runs)})\b", lambda found: ids[runs[found[1]]], commands)
        if SERVER.match(script):
            return self._start_and_stop(script)
        if PLAIN.fullmatch(script.strip()):
            return self._call(script)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script], cwd=self.path, env=self.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=SECONDS, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout

    def _call(self, script: str) -> tuple[int, str]:
        """Run a command of ragtriage in this process: starting Python anew takes longer than most of them."""
        printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
        with (
            patch.dict(os.environ, self.environment, clear=True),
            contextlib.chdir(self.path),
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
            pytest.raises(SystemExit) as ended,
        ):
            main(shlex.split(script, comments=True)[1:])
        return int(ended.value.code or 0), printed.buffer.getvalue().decode()

    def _start_and_stop(self, script: str) -> tuple[int, str]:
        """Start a command that runs until it is stopped, wait for its first line, and press Ctrl+C."""
        server = subprocess.Popen(
            ["bash", "-c", f"exec {script}"], cwd=self.path, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
        assert server.stdout is not None
        try:
            first = server.stdout.readline()
            time.sleep(0.5)
            server.send_signal(signal.SIGINT)
            rest, _ = server.communicate(timeout=SECONDS)
            return server.returncode, first + rest
        finally:
            server.kill()


def steps(commands: str) -> list[str]:
    """Divide a block into commands of ragtriage and what a shell must run together."""
    found = [""]
    for line in re.sub(r"\\\n\s*", "", commands).splitlines():
        if SERVER.match(line) or PLAIN.fullmatch(line):
            found += [line, ""]
        else:
            found[-1] += f"{line}\n"
    return [step for step in found if step.strip()]


def make_folder(path: Path, samples: RunStore, judge: str) -> ReadersFolder:
    """Make a reader's folder with a copy of the bundled samples; `judge` is where a stand-in answers."""
    copied(samples.workspace.root, path / "ragtriage-workspace")
    store = _store(path)
    add_sample_stories(store)
    question = "Does the answer state a figure that no document has?"
    add_evaluator(store.ledger, "handbook", Evaluator("invented_figures", "invented figure", question), "Ann")
    _command(path / "bin" / "ragtriage", f'exec "{sys.executable}" -m ragtriage.dashboard.cli.main "$@"')
    _command(path / "bin" / "python", f'exec "{sys.executable}" "$@"')
    _command(path / "tell-the-team", "cat")
    (path / "my_bot.py").write_text("print('{}')\n", encoding="utf-8")
    shutil.copytree(BUNDLED / "handbook" / "corpus", path / "handbook")
    shutil.copy(BUNDLED / "handbook" / "questions.jsonl", path)
    shutil.copy(FIXTURES / "exports" / "promptfoo" / "results_v0.121.20.json", path / "promptfoo.json")
    shutil.copy(FIXTURES / "exports" / "ragas" / "evaluate.csv", path / "ragas.csv")
    shutil.copy(FIXTURES / "own_tables" / "01_support_desk_en.csv", path / "support.csv")
    nested = {"question": "Who?", "answer": "Ann did.", "eval": {"groundedness": {"score": 0.5}}}
    (path / "nested.jsonl").write_text(f"{json.dumps(nested)}\n", encoding="utf-8")
    later = FIXTURES / "exports2"
    shutil.copy(later / "azure" / "evaluate_result.json", path / "azure.json")
    shutil.copy(later / "bedrock" / "rag_output_retrieve_and_generate.jsonl", path / "bedrock.jsonl")
    (path / "logs").mkdir()
    for log in (later / "inspect").glob("*.eval"):
        shutil.copy(log, path / "logs")
    _write_results(path)
    _write_labels(path, store)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAGTRIAGE_")}
    environment |= {
        "PATH": f"{path / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(REPOSITORY),
        "PYTHONUNBUFFERED": "1",
        "BROWSER": "true",  # a command that opens no window
        "ANTHROPIC_BASE_URL": judge,
        "ANTHROPIC_API_KEY": "of a stand-in",
    }
    return ReadersFolder(path, environment)


def _store(path: Path) -> RunStore:
    return RunStore(Workspace(path / "ragtriage-workspace"))


def _command(path: Path, line: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
    path.chmod(0o755)


def _write_labels(path: Path, store: RunStore) -> None:
    """Write labels of a few answers of a bundled run."""
    run = next(run for run in store.runs("mtrag") if run.name == "GPT-4.0")
    rows = ragtriage.samples(run.run_id, workspace=store.workspace.root).head(6)
    lines = [f"{question}\t{number % 2}" for number, question in enumerate(rows["question_id"])]
    (path / "labels.tsv").write_text("\n".join(["question_id\tfaithfulness", *lines]), encoding="utf-8")


def _write_results(path: Path) -> None:
    """Write what a reader's own evaluation may have written."""
    records = [
        {
            "trace_id": f"trace-{number}",
            "question": f"What is in part {number}?",
            "answer": f"Part {number} holds a spring.",
            "retrieved": [f"Part {number} holds a spring.", "Another part."],
            "scores": {"faithfulness": 0.95 - number % 5 / 100, "answer_relevancy": 0.9},
        }
        for number in range(12)
    ]
    text = "\n".join(map(json.dumps, records))
    (path / "results").mkdir()
    for name in ("results.jsonl", "results/2.4.1.jsonl"):
        (path / name).write_text(text, encoding="utf-8")
    (path / "items.json").write_text(json.dumps(records), encoding="utf-8")
    with (path / "results.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["prompt", "output", "helpfulness"])
        rows.writerows([record["question"], record["answer"], 4] for record in records)
