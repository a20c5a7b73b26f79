"""Cases of the Berkeley Function Calling Leaderboard: tools, question, accepted values of each argument."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ragtriage.data.errors import ValidationErrors, type_name
from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.parsing.rows import open_table
from ragtriage.data.store.parsed_run import ParsedRun, Record

ACCEPTED = "a row with tools and messages, or with function and question, as BFCL writes it"
EXPECTED = ("expected_calls", "ground_truth")
ACTUAL = ("actual_calls", "tool_calls", "calls", "result")
IDS = ("question_id", "id")
USED = {*EXPECTED, *ACTUAL, *IDS, "messages", "question", "tools", "function", "expects_call"}


def _is_bfcl(peek: Peek) -> bool:
    names = peek.columns
    joined = {"messages", "tools", "expected_calls"} <= names
    return joined or (
        {"id", "question", "function"} <= names and _is_list(peek.first, "question", "function")
    )


def _is_list(row: Mapping[str, Any], *names: str) -> bool:
    return all(isinstance(row.get(name), list) for name in names)


def _read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read cases with the calls made, where the rows hold them; without them each check is not measured."""
    table = open_table(source, errors, options.limit, rows=options.rows)
    notes: tuple[str, ...] = table.notes
    if not set(ACTUAL) & set(table.columns):
        notes = (*notes, f"no calls are recorded, the checks are not measured: add {ACTUAL[0]} to the rows")
    records = _records(table.rows(), errors)
    return [ParsedRun(source.stem, records, source.name, "bfcl", notes=notes)]


def _records(rows: Iterator[Record], errors: ValidationErrors) -> Iterator[Record]:
    for line, row in rows:
        messages = _messages(row) if isinstance(row, dict) else None
        if not isinstance(row, dict):
            errors.add(line, "", f"found {type_name(row)}", ACCEPTED)
        elif not messages:
            errors.add(line, "messages", "holds no message of a user", ACCEPTED)
        else:
            yield line, _sample(row, messages)


def _messages(row: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the messages up to the last one of the user; of several turns, those of the first."""
    listed = row.get("messages", row.get("question"))
    if isinstance(listed, str):
        return [{"role": "user", "text": listed}]
    turn = listed[0] if isinstance(listed, list) and listed and isinstance(listed[0], list) else listed
    messages = [
        {"role": str(message.get("role") or "user"), "text": message["content"]}
        for message in (turn if isinstance(turn, list) else ())
        if isinstance(message, Mapping) and isinstance(message.get("content"), str)
    ]
    last = max((place for place, message in enumerate(messages) if message["role"] == "user"), default=-1)
    return messages[: last + 1]


def _sample(row: Mapping[str, Any], messages: list[dict[str, str]]) -> dict[str, Any]:
    name = next((str(row[key]) for key in IDS if row.get(key) is not None), None)
    tools = row.get("tools", row.get("function"))
    check: dict[str, Any] = {"name": "tool calls", "kind": "tool", "expected": _expected(row, name or "")}
    actual = next((row[key] for key in ACTUAL if row.get(key) is not None), None)
    if isinstance(actual, str):
        actual = []  # a reply in words: no call
    sample = {
        "question_id": name,
        "question": messages[-1]["text"],
        "history": messages[:-1] or None,
        "tools": [tools] if isinstance(tools, Mapping) else tools,
        "checks": [check | ({} if actual is None else {"actual": actual})],
        "tags": {"category": name.rstrip("0123456789-").rstrip("_")} if name else None,
    }
    return {key: value for key, value in row.items() if key not in USED} | {
        key: value for key, value in sample.items() if value is not None
    }


def _expected(row: Mapping[str, Any], name: str) -> Any:
    """Return the accepted calls; where none are listed, whether any call is right, or none at all."""
    calls = next((row[key] for key in EXPECTED if row.get(key) is not None), None)
    if calls is not None:
        return calls
    expects = row.get("expects_call")
    if expects is None:
        expects = None if "relevance" not in name else "irrelevance" not in name
    return None if expects is None else {"any_call": True} if expects else []


BFCL = Importer(
    "bfcl",
    "BFCL",
    "rows with tools, messages and expected_calls, or with function and question; calls made: actual_calls",
    _is_bfcl,
    _read,
    written_by="BFCL v3",
    unit="case",
)
