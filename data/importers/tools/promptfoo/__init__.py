"""promptfoo: results as JSON (version 2 and 3), JSONL or CSV, or a folder of them; a run per prompt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from ragtriage.data.errors import InputError, ValidationErrors, type_name
from ragtriage.data.importers.formats.tool_rows import Row
from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.parsing.documents_in_json import small_values
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.parsing.records.shapes import (
    Numbering,
    mapping,
    objects,
    plain_settings,
    storable,
)
from ragtriage.data.importers.parsing.spool import Spool
from ragtriage.data.importers.tools.facts import moment, text_in
from ragtriage.data.importers.tools.promptfoo.layouts import results_in
from ragtriage.data.importers.tools.promptfoo.samples import (
    listed_contexts,
    question_id,
    question_variable,
    sample_of,
)
from ragtriage.data.importers.tools.promptfoo.scores import shortened
from ragtriage.data.store.parsed_run import ParsedRun, Record

__all__ = ["IMPORTERS"]

ACCEPTED = "the JSON, JSONL or CSV that `promptfoo eval -o FILE` writes"
CSV_COLUMNS = {"Status", "Score", "Named Scores"}
HEAD = 50
MOST_FILES = 100  # looked at to recognise a folder


def is_promptfoo(peek: Peek) -> bool:
    """Return whether a file is the output of promptfoo, or a folder holds such files."""
    if peek.folder is not None:
        return any(map(_is_results, _data_files(peek.folder)[:MOST_FILES]))
    return _is_readable(peek) or _is_other_output(peek)


def _is_results(file: Path) -> bool:
    try:
        return _is_readable(Peek(InputFile.from_path(file)))
    except InputError:  # an empty file, or one that may not be read
        return False


def _is_readable(peek: Peek) -> bool:
    results = mapping(peek.keys.get("results"))
    if "evalId" in peek.keys and (isinstance(results.get("results"), list) or "table" in results):
        return True
    rows = objects(results.get("results")) or (peek.rows if peek.kind == "jsonl" else ())
    if any({"testIdx", "promptIdx", "namedScores"} <= row.keys() for row in rows):
        return True
    return peek.columns >= CSV_COLUMNS


def _is_other_output(peek: Peek) -> bool:
    """Return whether it is the YAML, HTML or XML that promptfoo writes, which hold the same less readably."""
    if peek.kind != "csv":
        return False
    head = peek.source.head(1 << 14).lstrip()
    is_html = head[:15].lower().startswith((b"<!doctype html", b"<html"))
    return head.startswith((b"evalId: ", b"<promptfoo")) or (is_html and b"promptfoo" in head)


def read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read the results of an eval; of a folder, each eval once, from JSON before JSONL before CSV.

    Raises:
        InputError: it is an output of promptfoo that is not read, or holds no results.
    """
    if source.is_folder and source.path is not None:
        return _of_folder(source, options, errors)
    peek = Peek(source)
    if not _is_readable(peek):
        raise source.error("is the YAML, HTML or XML output of promptfoo", ACCEPTED)
    facts: Mapping[str, Any] = {}
    if peek.kind == "json":
        facts = {
            **small_values(source, "", ("evalId",)),
            **small_values(source, "results", ("prompts", "timestamp", "version")),
        }
    rows = islice(results_in(source, peek, errors), options.limit)
    return _runs(source, rows, facts, errors)


def _data_files(folder: Path) -> list[Path]:
    endings = {".json", ".jsonl", ".csv"}
    try:
        return sorted(path for path in folder.iterdir() if path.suffix.lower() in endings and path.is_file())
    except OSError:
        return []


def _of_folder(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    paths = filter(_is_results, _data_files(Path(source.path or ".")))
    files = [InputFile.from_path(path) for path in paths]
    for kind in ("json", "jsonl", "csv"):
        of_kind = [file for file in files if Peek(file).kind == kind]
        by_eval = {str(Peek(file).keys.get("evalId") or file.name): file for file in of_kind}
        if by_eval:
            if len(files) > len(by_eval):
                errors.remark(f"other files with the same results are passed over for {kind.upper()}")
            return [run for file in by_eval.values() for run in read(file, options, errors)]
    raise source.error("is a folder without results of promptfoo", ACCEPTED)


def _runs(
    source: InputFile, rows: Iterator[Record], facts: Mapping[str, Any], errors: ValidationErrors
) -> list[ParsedRun]:
    head = list(islice(rows, HEAD))
    variable = question_variable([row for _, row in head if isinstance(row, dict)])
    listed = any(listed_contexts(row) is not None for _, row in head if isinstance(row, dict))
    spool = Spool()
    labels: dict[str, tuple[str, str]] = {}
    numberings: dict[str, Numbering] = {}
    for part in (head, rows):
        for line, row in part:
            if not isinstance(row, dict):
                errors.add(line, "results", f"found {type_name(row)}", "an object with vars and response")
                continue
            key, label = _run_of(row)
            labels.setdefault(key, label)
            record = sample_of(row, variable, listed, errors, line)
            name = question_id(row)
            record |= numberings.setdefault(key, Numbering()).of(name, record.get("question"))
            spool.add(key, line, record | {"run_id": facts.get("evalId"), "tool": "promptfoo"})
    if not labels:
        errors.raise_if_any()
        version = (
            f" (results version {facts['version']})" if isinstance(facts.get("version"), int | str) else ""
        )
        raise source.error(f"is an eval of promptfoo{version} without results", ACCEPTED)
    providers = Counter(provider for provider, _ in labels.values())
    return [
        ParsedRun(
            provider if providers[provider] == 1 else f"{provider} {shortened(prompt) or key}",
            spool.rows(key),
            source.name,
            "promptfoo",
            named_by_content=True,
            config=_config(provider, prompt, key, facts),
            created_at=_time(facts),
        )
        for key, (provider, prompt) in labels.items()
    ]


def _time(facts: Mapping[str, Any]) -> datetime | None:
    """Return when an eval ran: its time stamp, or the one that its id ends with."""
    _, _, in_id = str(facts.get("evalId") or "").removeprefix("eval-").partition("-")
    given = text_in(facts.get("timestamp"))
    return moment(given) or (moment(in_id) if "T" in in_id else None)


def _run_of(row: Row) -> tuple[str, tuple[str, str]]:
    """Return the key of the run that a result belongs to, with its provider and the label of its prompt."""
    provider = row.get("provider")
    fields = mapping(provider)
    name = (
        fields.get("label")
        or fields.get("id")
        or (provider if isinstance(provider, str) else "")
        or "promptfoo"
    )
    prompt = mapping(row.get("prompt"))
    label = prompt.get("label") if isinstance(prompt.get("label"), str) else ""
    nth = row.get("promptIdx")
    return f"{name}\x1f{label if nth is None else nth}", (storable(name), storable(label))


def _config(provider: str, label: str, key: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the provider and the template of its prompt."""
    prompts = objects(facts.get("prompts"))
    nth = key.rpartition("\x1f")[2]
    at = int(nth) if nth.isdecimal() and len(nth) < 6 else -1
    raw = prompts[at].get("raw") if 0 <= at < len(prompts) else None
    prompt = raw if isinstance(raw, str) else label
    return plain_settings({"provider": provider, "prompt": prompt or None})


IMPORTERS = (
    Importer(
        "promptfoo",
        "promptfoo",
        "the JSON, JSONL or CSV of `promptfoo eval -o FILE`, or a folder of them",
        is_promptfoo,
        read,
        written_by="promptfoo 0.121",
        example="promptfoo eval -o results.json",
        shares_folder=True,
    ),
)
