"""How many samples a second each importer reads, and whether its memory grows with the file.

python benchmarks/import_speed.py [--samples 20000] [NAME ...]

Each file of tests/fixtures/exports is blown up: its 12 questions again and again, with ids and questions of
their own. A process of its own reads a tenth of it and then all of it, from the file to validated samples;
the difference of the peaks of memory is what the size of the file costs.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from files_table import EXPORTS

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import inputs_of, joined
from ragtriage.data.store.parsed_run import normalise

UNIT = 12  # questions in each file
HEX = re.compile(  # ids; plain numbers such as times in nanoseconds stay
    r"\b(?=\d*[a-f])[0-9a-f]{16,32}\b|\b[0-9a-f]{8}(?=-[0-9a-f]{4}-)"
)
DECIMAL_ID = re.compile(r'(?<=")\d{16,20}(?=")')
QUESTION_ID = re.compile(r"\bq(\d\d)\b")
PATHS = {  # where the list of samples or spans stands in a JSON document; "" is the document itself
    "deepeval/test_run_v4.3.1.json": "testCases",
    "promptfoo/results_v0.121.20.json": "results.results",
    "llamaindex/retrieval_eval.json": "",
    "phoenix/experiment.json": "",
    "phoenix/spans_api.json": "",
    "langfuse/api_experiment_items.json": "data",
    "langfuse/api_v2_observations.json": "data",
    "mlflow/traces_v3.17.2.json": "",
    "opik/experiment_rag-v1.json": "items",
    "weave/eval_results_query.json": "rows",
    "braintrust/fetch.json": "events",
    "braintrust/eval_results.json": "",
}
LINES = (
    "promptfoo/results_v0.121.20.jsonl",
    "langsmith/results.jsonl",
    "langsmith/runs.jsonl",
    "phoenix/spans.jsonl",
    "otel/genai.otlp.jsonl",
    "otel/openinference.otlp.jsonl",
    "langfuse/ui_traces_export.jsonl",
    "mlflow/eval_results_v3.17.2.jsonl",
    "weave/calls.jsonl",
    "trulens/records_v2.16.0.jsonl",
    "ragas/evaluate.jsonl",
    "ragas/experiment_rag-v1.jsonl",
)
DATABASES = ("trulens/default_v2.16.0.sqlite",)


def copies(text: str, count: int) -> Iterator[str]:
    """Yield a text again and again, each time with ids and questions of its own."""
    questions = [
        row["question"] for row in json.loads((EXPORTS / "_expected/expected.json").read_text())["rows"]
    ]
    for number in range(count):
        copy = HEX.sub(partial(_numbered, number), text)
        copy = QUESTION_ID.sub(rf"q\1-{number}", copy)
        for question in questions:
            copy = copy.replace(question, f"{question} ({number})")
        yield copy


def _numbered(number: int, found: re.Match[str]) -> str:
    return f"{number:08d}{found.group()[8:]}"


def blown_up(name: str, folder: Path, samples: int) -> Path:
    """Write a file with about that many samples and return its path."""
    source, target = EXPORTS / name, folder / Path(name).name
    count = -(-samples // UNIT)
    if name in DATABASES:
        return _database(source, target, count)
    text = source.read_text(encoding="utf-8")
    if name in LINES:
        with target.open("w", encoding="utf-8") as file:
            for copy in copies(text, count):
                file.write(copy if copy.endswith("\n") else copy + "\n")
        return target
    document = json.loads(text)
    keys = [key for key in PATHS[name].split(".") if key]
    listed = document
    for key in keys:
        listed = listed[key]
    unit = json.dumps(listed)
    marker = "@rows@"
    if keys:
        parent = document
        for key in keys[:-1]:
            parent = parent[key]
        parent[keys[-1]] = marker
    head, _, tail = (json.dumps(document) if keys else f'"{marker}"').partition(f'"{marker}"')
    with target.open("w", encoding="utf-8") as file:
        file.write(head + "[")
        for number, copy in enumerate(copies(unit, count)):
            file.write("," * bool(number) + copy[1:-1])
        file.write("]" + tail)
    return target


def _database(source: Path, target: Path, count: int) -> Path:
    """Copy the rows of every table of a database again and again."""
    shutil.copyfile(source, target)
    with sqlite3.connect(target) as connection:
        rows = connection.execute("SELECT * FROM trulens_events").fetchall()
        insert = f"INSERT INTO trulens_events VALUES ({', '.join('?' * len(rows[0]))})"
        for number, copy in enumerate(copies(json.dumps(rows, default=str), count)):
            if not number:  # the rows that are there
                continue
            copy = DECIMAL_ID.sub(partial(_numbered, number), copy)
            connection.executemany(insert, json.loads(copy))
    return target


def read(path: Path) -> int:
    """Read a file as an import does, without storing; return the number of samples."""
    count = 0
    for source, options in joined(inputs_of(str(path), Options())):
        errors = ValidationErrors(source.name)
        for parsed in read_runs(source, options, errors):
            for line, record in parsed.records:
                count += normalise(record, line, errors) is not None
        errors.raise_if_any()
    return count


def measured(path: Path) -> tuple[int, float, int]:
    """Return samples, seconds and the peak of memory in MB of reading a file in a process of its own."""
    answer = subprocess.run(
        [sys.executable, __file__, "--read", str(path)], capture_output=True, text=True, check=False
    )
    if answer.returncode:
        raise SystemExit(f"{path.name}: {answer.stderr.strip().splitlines()[-1]}")
    n, seconds, peak = answer.stdout.split()
    return int(n), float(seconds), int(peak)


def main() -> int:
    """Print a line for each file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="parts of file names; all files without one")
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.read:
        started = time.perf_counter()
        n = read(arguments.read)
        print(
            n,
            time.perf_counter() - started,
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        )
        return 0
    print(
        "| file | MB | samples | samples/s | memory of a tenth, MB | of all, MB |\n|---|---|---|---|---|---|"
    )
    every = (*PATHS, *LINES, *DATABASES)
    for name in [name for name in every if any(part in name for part in arguments.names or [""])]:
        with tempfile.TemporaryDirectory() as folder:
            small = measured(blown_up(name, Path(folder), arguments.samples // 10))
            path = blown_up(name, Path(folder), arguments.samples)
            n, seconds, peak = measured(path)
            size = path.stat().st_size >> 20
        print(f"| {name} | {size} | {n:,} | {n / seconds:,.0f} | {small[2]} | {peak} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
