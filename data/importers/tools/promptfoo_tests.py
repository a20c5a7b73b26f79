"""promptfoo: test cases, which are questions in variables with assertions on the answers."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import yaml

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Options, Peek, Reader, Row, question_set
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.rows import object_rows, open_table
from ragtriage.data.importers.parsing.shapes import gold_passages, items, mapping, objects, own_fields
from ragtriage.data.importers.tools.promptfoo import HEAD, ID_KEYS, REFERENCE_VARS, question_variable
from ragtriage.data.store.parsed_run import ParsedRun

KEY = "promptfoo_tests"
# assertions whose value is what the answer should say, the most exact first
REFERENCES = ("factuality", "equals", "similar", "context-recall", "icontains", "contains")
OF_A_RESULT = ("testIdx", "promptIdx", "namedScores", "response")
ACCEPTED = "tests of promptfoo: objects with `vars`, one of which is the question"


YAML = (".yaml", ".yml")


def _tests(source: InputFile, options: Options, errors: ValidationErrors) -> Iterator[tuple[int, Row]]:
    if source.ending in YAML:
        return object_rows(enumerate(_of_yaml(source)[: options.limit], start=1), errors, ACCEPTED)
    rows = "tests" if isinstance(Peek(source).keys.get("tests"), list) else options.rows
    return object_rows(open_table(source, errors, options.limit, rows=rows).rows(), errors, ACCEPTED)


def _of_yaml(source: InputFile) -> list[Any]:
    """Return the tests of a YAML file: of a list or of a configuration; no tag of it makes an object.

    Raises:
        InputError: it is no YAML, or has no list of tests.
    """
    try:
        document = yaml.safe_load(source.whole())
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise source.error(f"is not YAML ({' '.join(str(error).split())[:120]})", ACCEPTED) from error
    tests = document.get("tests") if isinstance(document, dict) else document
    if not isinstance(tests, list):
        raise source.error(
            "has no list of tests", f"{ACCEPTED}; a file that `tests` names is read by its own name"
        )
    return tests


def _read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    variable = question_variable(
        [row for _, row in islice(_tests(source, options, ValidationErrors(source.name)), HEAD)]
    )
    if variable is None:
        raise source.error("has no variable that holds a question", ACCEPTED)
    records = ((line, _question(row, variable)) for line, row in _tests(source, options, errors))
    return question_set(source, KEY, records)


def _question(row: Row, variable: str) -> Row:
    variables, metadata = mapping(row.get("vars")), mapping(row.get("metadata"))
    named = next((metadata[key] for key in ID_KEYS if metadata.get(key)), None)
    others = {name: value for name, value in metadata.items() if isinstance(value, str | int | float | bool)}
    return {
        "question_id": str(named or row.get("description") or "") or None,
        "question": variables.get(variable),
        "reference_answer": _reference(row, variables),
        "relevant": gold_passages(metadata.get("gold")) or None,
        "tags": {name: str(value) for name, value in others.items()} or None,
        **own_fields(metadata),
    }


def _reference(row: Row, variables: Mapping[str, Any]) -> str | None:
    values = {entry.get("type"): entry.get("value") for entry in objects(items(row.get("assert")))}
    given = [values.get(name) for name in REFERENCES] + [variables.get(name) for name in REFERENCE_VARS]
    return next((value for value in given if isinstance(value, str) and value.strip()), None)


def _is_tests(peek: Peek) -> bool:
    if peek.source.ending in YAML:
        return re.search(rb"^\s*(?:- )?vars:", peek.source.head(1 << 14), re.MULTILINE) is not None
    rows = peek.rows_at("tests")
    return any(isinstance(row.get("vars"), dict) for row in rows) and not any(
        name in row for row in rows for name in OF_A_RESULT
    )


READERS = {KEY: Reader(_read, _is_tests)}
