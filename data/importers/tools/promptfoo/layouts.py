"""The files that promptfoo writes, each read as results of version 3: JSON, its older table, JSONL, CSV."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.parsing.cells import object_in
from ragtriage.data.importers.parsing.documents_in_json import items_at, small_values
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.parsing.records.shapes import mapping, objects, unquoted_number
from ragtriage.data.importers.parsing.rows import open_table
from ragtriage.data.store.parsed_run import Record

STATUS = re.compile(r"Status(?: \(\d+\))?")
FAILED = 2  # failureReason: 0 none, 1 an assertion, 2 an error


def results_in(source: InputFile, peek: Peek, errors: ValidationErrors) -> Iterator[Record]:
    """Yield the results of a file in the form of version 3, whatever its own."""
    if peek.kind == "csv":
        yield from _of_csv(source, errors)
    elif peek.kind == "jsonl":
        yield from open_table(source, errors).rows()
    else:
        found = False
        for record in items_at(source, "results.results"):
            found = True
            yield record
        if not found:
            yield from _of_table(source)


def _of_table(source: InputFile) -> Iterator[Record]:
    """Yield the outputs in the table of version 2, a row of which holds one for each prompt."""
    head = mapping(small_values(source, "results.table", ("head",)).get("head"))
    names = head.get("vars") if isinstance(head.get("vars"), list) else []
    prompts = head.get("prompts") if isinstance(head.get("prompts"), list) else []
    for line, row in items_at(source, "results.table.body"):
        if not isinstance(row, dict):
            yield line, row
            continue
        values = row.get("vars") if isinstance(row.get("vars"), list) else []
        variables = dict(zip(map(str, names or ()), values or (), strict=False))
        for at, output in enumerate(objects(row.get("outputs"))):
            prompt = mapping((prompts or [])[at]) if at < len(prompts or ()) else {}
            yield (
                line,
                {
                    **output,
                    "vars": variables,
                    "promptIdx": at,
                    "testIdx": row.get("testIdx", line - 1),
                    "provider": output.get("provider") or prompt.get("provider"),
                    "prompt": {"raw": output.get("prompt"), "label": prompt.get("label")},
                    "testCase": row.get("test") or {"description": row.get("description")},
                    "response": {"output": output.get("text"), "error": output.get("error")},
                    "success": output.get("pass"),
                },
            )


def _of_csv(source: InputFile, errors: ValidationErrors) -> Iterator[Record]:
    """Yield the outputs of a CSV file: the columns of a prompt are its answer, Status, Score and more."""
    for line, row in open_table(source, errors).rows():
        if not isinstance(row, dict):
            yield line, row
            continue
        columns = list(row)
        starts = [at - 1 for at, name in enumerate(columns) if STATUS.fullmatch(name) and at]
        names = [name for name in columns[: starts[0]] if name != "Description"] if starts else []
        for nth, (start, end) in enumerate(zip(starts, [*starts[1:], len(columns)], strict=True)):
            values = {re.sub(r" \(\d+\)$", "", name): row[name] for name in columns[start + 1 : end]}
            label = re.match(r"\[(.*?)\]\s*(.*)", columns[start], re.DOTALL)
            failed = values.get("Status") == "ERROR"
            reason = values.get("Grader Reason") or None
            scores = object_in(values.get("Named Scores"))
            exact = {
                name.removeprefix("Metric: "): unquoted_number(value)
                for name, value in values.items()
                if name.startswith("Metric: ") and value not in (None, "")
            }
            yield (
                line,
                {
                    "vars": {name: row[name] for name in names},
                    "promptIdx": nth,
                    "testIdx": None,
                    "provider": {"id": label[1] if label else columns[start]},
                    "prompt": {"label": label[2] if label else None},
                    "testCase": {"description": row.get("Description")},
                    "response": {"output": None if failed else row[columns[start]]},
                    "error": (reason or "error") if failed else None,
                    "failureReason": FAILED if failed else 0,
                    "success": None if failed else values.get("Status") == "PASS",
                    "score": None if failed else unquoted_number(values.get("Score")),
                    "namedScores": {**exact, **scores},
                    "gradingResult": {"reason": reason},
                },
            )
