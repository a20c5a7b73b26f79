"""The folder in which MLflow keeps what it records where it has no database: `mlruns`, or a part of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.spans.traces import Traces, runs_of_spans
from ragtriage.data.importers.tools.facts import fields_in
from ragtriage.data.importers.tools.mlflow import tables
from ragtriage.data.importers.tools.mlflow.database import setting
from ragtriage.data.importers.tools.mlflow.trace import spans_of
from ragtriage.data.store.parsed_run import ParsedRun

ACCEPTED = "the folder mlruns, or that of an experiment, a run or its artifacts in it"
BELOW = ("", "*/", "*/*/")  # of the folder of an experiment: mlruns and its parent lie above
SPANS = "artifacts/traces.json"
TABLES = ("eval_results*.json", "eval_results*.jsonl", "eval_results*.csv", "eval_results*.parquet")
MOST_FILES = 100_000
SMALL = 1 << 20


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML has no types
    """A loader of plain data that follows no alias, of which a few can stand for any amount."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Compose a node.

        Raises:
            yaml.YAMLError: it is an alias.
        """
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("holds an alias")
        return super().compose_node(parent, index)


def is_folder(peek: Peek) -> bool:
    """Return whether a folder holds traces or tables of evaluations as MLflow lays them out."""
    if peek.folder is None:
        return False
    try:
        found = next(_traces(peek.folder), None) or next(_tables(peek.folder), None)
    except OSError:
        return False
    return found is not None


def _traces(folder: Path) -> Iterator[Path]:
    """Yield the folders of traces, which have their spans in `artifacts/traces.json`."""
    patterns = [f"{below}traces/*/{SPANS}" for below in BELOW]
    if folder.name == "traces":
        patterns.insert(0, f"*/{SPANS}")
    for pattern in patterns:
        yield from (path.parent.parent for path in islice(folder.glob(pattern), MOST_FILES))


def _tables(folder: Path) -> Iterator[Path]:
    """Yield the tables of evaluations among the artifacts of runs."""
    patterns = [f"{below}artifacts/{name}" for below in BELOW for name in TABLES]
    if folder.name == "artifacts":
        patterns += TABLES
    for pattern in patterns:
        yield from sorted(islice(folder.glob(pattern), MOST_FILES))


def read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read the traces of a folder, a run for each run of MLflow, and the tables of evaluations in it."""
    folder = source.path or Path()
    traces = Traces(errors, {"tool": "MLflow"})
    for count, path in enumerate(sorted(set(_traces(folder))), start=1):
        try:
            spans = spans_of(_trace(path))
        except (InputError, OSError):
            errors.leave_out("a trace whose files cannot be read")
            continue
        for span in spans:
            traces.add(count, span)
    base = ParsedRun(source.stem, (), source.name, "mlflow_folder")
    runs = [_named(run, folder) for run in runs_of_spans(traces, base, options.limit)]
    for path in dict.fromkeys(_tables(folder)):
        runs += _of_table(path, options, errors)
    if not runs:
        raise source.error("is a folder of MLflow with no trace and no table that holds a question", ACCEPTED)
    return runs


def _trace(path: Path) -> dict[str, Any]:
    """Return the trace in a folder as its file would have it.

    Raises:
        InputError: its spans cannot be read.
        OSError: a file cannot be read.
    """
    assessments = sorted((path / "assessments").glob("*.yaml"))[:SMALL]
    info: dict[str, Any] = {"trace_id": path.name, **_yaml(path / "trace_info.yaml")}
    info["trace_metadata"] = _texts(path / "request_metadata") or info.get("trace_metadata")
    info["tags"] = _texts(path / "tags") or info.get("tags")
    info["assessments"] = [_yaml(one) for one in assessments]
    return {"info": info, "data": fields_in(InputFile.from_path(path / SPANS).document())}


def _yaml(path: Path) -> dict[str, Any]:
    """Return the fields of a small YAML file; none where it is damaged or too large."""
    if not path.is_file() or path.stat().st_size > SMALL:
        return {}
    try:
        found = yaml.load(path.read_text(encoding="utf-8", errors="replace"), _Loader)  # noqa: S506 # a SafeLoader
        plain = json.loads(json.dumps(found, default=str))
    except (yaml.YAMLError, RecursionError, TypeError, ValueError):
        return {}
    return plain if isinstance(plain, dict) else {}


def _texts(folder: Path) -> dict[str, str]:
    """Return the contents of the files in a folder by their names: so MLflow keeps tags and parameters."""
    files = (
        path for path in islice(folder.glob("*"), 1_000) if path.is_file() and path.stat().st_size < SMALL
    )
    return {path.name: path.read_text(encoding="utf-8", errors="replace") for path in files}


def _named(run: ParsedRun, folder: Path) -> ParsedRun:
    """Return a run with the name and the parameters that its own folder gives it."""
    if not run.name.isalnum():  # the id of a run is hexadecimal
        return run
    places = (place for below in BELOW for place in folder.glob(f"{below}{run.name}"))
    place = next((place for place in places if (place / "meta.yaml").is_file()), None)
    if place is None and (folder.parent / run.name / "meta.yaml").is_file():
        place = folder.parent / run.name
    if place is None:
        return run
    params = {name: setting(text) for name, text in sorted(_texts(place / "params").items())}
    return replace(run, name=str(_yaml(place / "meta.yaml").get("run_name") or run.name), config=params)


def _of_table(path: Path, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Return the runs of a table among the artifacts; [] where it is none of the known ones."""
    file = InputFile.from_path(path)
    peek = Peek(file)
    if tables.is_traces(peek):
        return tables.read_traces(file, options, errors)
    if tables.is_results(peek):
        return tables.read_results(file, options, errors)
    return tables.read_legacy(file, options, errors) if tables.is_legacy(peek) else []
