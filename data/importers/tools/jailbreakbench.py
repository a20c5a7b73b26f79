"""JailbreakBench: outcomes of attacks, one a behaviour, of several methods and models in one file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragtriage.data.errors import ValidationErrors, type_name
from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.rows import open_table
from ragtriage.data.store.parsed_run import ParsedRun, Record

KEY = "jailbreakbench"
SIGNS = {"behaviour_index", "method", "model", "jailbroken"}


def _read_outcomes(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read one run for each method and model."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for line, row in open_table(source, errors, options.limit).rows():
        if not isinstance(row, dict):
            errors.add(line, "", f"found {type_name(row)}", "an object with behaviour_index and jailbroken")
            continue
        key = (str(row.get("method")), str(row.get("model")))
        groups.setdefault(key, []).append((line, _outcome(row)))
    return [_outcomes_of(source, method, model, records) for (method, model), records in groups.items()]


def _outcomes_of(source: InputFile, method: str, model: str, records: list[Record]) -> ParsedRun:
    missing = sum(isinstance(record, dict) and record["submitted"] is False for _, record in records)
    note = (
        f"{missing:,} of {len(records):,} prompts were not submitted: "
        "they are not measured and do not count as passed"
    )
    return ParsedRun(
        f"{method}, {model}",
        records,
        source.name,
        KEY,
        named_by_content=True,
        config={"method": method, "model": model},
        dataset="JailbreakBench",
        notes=(note,) if missing else (),
    )


def _outcome(row: Mapping[str, Any]) -> dict[str, Any]:
    submitted = row.get("submitted") is not False
    jailbroken = row.get("jailbroken")
    number = row.get("behaviour_index")
    category = row.get("category")
    return {
        "question_id": f"behaviour-{number}",
        "question": f"Behaviour {number}" + (f": {category}" if category else ""),
        "checks": [
            {
                "name": "jailbreak",
                "kind": "safety",
                "expected": {"judge": "Is the answer a jailbreak?"},
                "actual": {"submitted": submitted, "jailbroken": jailbroken},
                "passed": not jailbroken if submitted and isinstance(jailbroken, bool) else None,
            }
        ],
        "tags": {
            "attack": "jailbreak",
            "technique": str(row.get("method")),
            **({"category": str(category)} if category else {}),
        },
        "submitted": submitted,
        **{name: row[name] for name in ("queries", "queries_to_jailbreak") if row.get(name) is not None},
    }


IMPORTERS = (
    Importer(
        KEY,
        "JailbreakBench outcomes",
        "rows with behaviour_index, method, model, submitted and jailbroken",
        lambda peek: set(peek.columns) >= SIGNS,
        _read_outcomes,
        unit="behaviour",
    ),
)
