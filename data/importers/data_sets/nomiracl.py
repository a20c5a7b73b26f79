"""NoMIRACL: answers of several models on contexts that hold the answer or do not, told by the words they say.

Thakur et al. 2024, "NoMIRACL: knowing when you don't know for robust multilingual retrieval-augmented
generation". A response that says both words, or neither, is invalid: it neither answers nor refuses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Importer, run_of
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.rows import open_table
from ragtriage.data.importers.parsing.shapes import mapping
from ragtriage.data.store.parsed_run import ParsedRun, Record

KEY = "nomiracl"
SIGNS = {"query_id", "subset", "results"}
ANSWERS, DECLINES = "yes, answer is present", "i don't know"
ANSWERABLE = {"relevant": "yes", "non_relevant": "no"}


def response_label(response: str) -> Literal["answered", "refused", "invalid"]:
    """Return what a response does: it has to say that the answer is present, or that it does not know."""
    lower = response.lower()
    answers, declines = ANSWERS in lower, DECLINES in lower
    if answers == declines:
        return "invalid"
    return "answered" if answers else "refused"


def _read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read one run for each model."""
    runs: dict[str, list[Record]] = {}
    for line, value in open_table(source, errors, options.limit).rows():
        row = mapping(value)
        results = row.get("results")
        if not isinstance(results, Mapping) or row.get("subset") not in ANSWERABLE:
            accepted = "results {model: text}, subset relevant or non_relevant"
            errors.add(line, "results", "no responses of a subset", accepted)
            continue
        case = _case(row)
        for model, response in results.items():
            runs.setdefault(str(model), []).append((line, _sample(case, str(response or ""))))
    parsed = []
    for model, records in runs.items():
        labels = [record["tags"]["response"] for _, record in records if isinstance(record, dict)]
        invalid = labels.count("invalid")
        note = f"neither answering nor declining clearly, so no refusal: {invalid:,} of {len(records):,}"
        facts = {"config": {"generator_model": model}, "notes": (note,) if invalid else ()}
        parsed.append(run_of(source, KEY, records, model, dataset="NoMIRACL", **facts))
    return parsed


def _case(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the samples of all models share; a question without its text is called by its id."""
    name = f"{row.get('language') or ''}-{row['query_id']}".removeprefix("-")
    retrieved = row.get("retrieved") or [{"id": str(name)} for name in row.get("docids") or ()]
    tags = {"subset": row["subset"], **({"language": row["language"]} if row.get("language") else {})}
    return {
        "question_id": name,
        "question": row.get("question") or f"Query {name} (its text is not in the file)",
        "answerable": ANSWERABLE[row["subset"]],
        "retrieved": retrieved,
        "tags": tags,
    }


def _sample(case: Mapping[str, Any], response: str) -> dict[str, Any]:
    label = response_label(response)
    return {
        **case,
        "answer": response,
        "refused": label == "refused",
        "refused_source": "imported",
        "tags": {**case["tags"], "response": label},
        "scores": {"answers_by_its_words": float(label == "answered")},
    }


IMPORTERS = (
    Importer(
        KEY,
        "NoMIRACL",
        "rows with query_id, subset (relevant, non_relevant) and results {model: response}",
        lambda peek: peek.columns >= SIGNS and isinstance(peek.first.get("results"), Mapping),
        _read,
        unit="response",
    ),
)
