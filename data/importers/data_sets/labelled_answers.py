"""Answers with labels: attribution (BEGIN), citations (HAGRID), factuality (FRANK), refusals (NoMIRACL)."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.formats.table import reader_of, table_reader
from ragtriage.data.importers.importer import Options, Reader, Row, ToolRows, each, run_of
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.rows import open_table
from ragtriage.data.importers.parsing.shapes import as_float, mapping
from ragtriage.data.store.parsed_run import ParsedRun, Record

# Label -> a person's faithfulness; None where there is nothing to attribute, or the label does not say.
LABELS: Mapping[str, float | None] = {
    "fully attributable": 1.0,
    "not fully attributable": 0.0,
    "entailment": 1.0,
    "partial hallucination": 0.0,
    "hallucination": 0.0,
    "entailment, uncooperative": 1.0,
    "uncooperative": None,
    "generic": None,
}
COLUMNS = ("begin_label", "attribution_label", "label")
_PARTS: Mapping[frozenset[str], str] = {
    frozenset({"entailment", "hallucination"}): "partial hallucination",
    frozenset({"entailment", "uncooperative"}): "entailment, uncooperative",
}
_STEMS = {
    "entail": "entailment",
    "hallucinat": "hallucination",
    "uncoop": "uncooperative",
    "generic": "generic",
}
NO_QUESTION = "(no question recorded)"


def attribution_label(text: object) -> str | None:
    """Return the label of LABELS that a text spells; None where it spells none."""
    if not isinstance(text, str):
        return None
    plain = " ".join(re.sub(r"[_\-]", " ", text.lower()).split())
    if plain in LABELS:
        return plain
    if re.fullmatch(r"(?:not |un)(?:fully )?attributable", plain):
        return "not fully attributable"
    if re.fullmatch(r"(?:fully )?attributable", plain):
        return "fully attributable"
    # A label that a word begins like: "entailmentt" is entailment.
    words = [word.strip() for word in re.split(r"[,;/+&]", plain)]
    labels = [
        next((label for stem, label in _STEMS.items() if word.startswith(stem) and len(word) <= 20), None)
        for word in words
    ]
    names = frozenset(label for label in labels if label)
    if None in labels:
        return None
    return next(iter(names)) if len(names) == 1 else _PARTS.get(names)


def _labelled(row: Row) -> tuple[str, str] | None:
    """Return the label as written and as read; None without one."""
    for column in COLUMNS:
        label = attribution_label(row.get(column))
        if label is not None:
            return str(row[column]), label
    return None


def _attributed(row: Row) -> Row:
    labelled = _labelled(row)
    if labelled is None:
        return row
    written, label = labelled
    sample = {**row, "question": row["question"] or NO_QUESTION, "attribution": label}
    value = LABELS[label]
    if value is not None:
        rating = {"annotator": "label", "metric": "faithfulness", "value": value, "note": written}
        sample["human"] = [{**rating, "low": 0, "high": 1}]
    return sample


def _read_attributed(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read a table; labels that are spelled in another way are told."""

    def checked(records: Iterable[Record]) -> Iterator[Record]:
        for line, record in records:
            tags = record.get("tags") if isinstance(record, dict) else None
            if isinstance(record, dict) and isinstance(tags, Mapping):
                if record.get("question") == NO_QUESTION:
                    errors.remark("an answer without a question is kept: it opens a conversation", line)
                written: Any = next((tags[name] for name in COLUMNS if tags.get(name)), None)
                label = attribution_label(written)
                if label is None and written is not None:
                    errors.remark(f"label {str(written)[:40]!r} is none of attribution and stays a tag", line)
                elif label is not None and label != str(written).lower():
                    errors.remark(f"label {str(written)[:40]!r} is read as {label!r}", line)
            yield line, record

    return [replace(run, records=checked(run.records)) for run in _read_rows(source, options, errors)]


ATTRIBUTED = ToolRows(
    lambda names: {"question", "context", "answer"} <= names and bool(names & set(COLUMNS)),
    each(_attributed),
    "read as answers labelled by attribution: a label that says so is a person's faithfulness of 1 or 0",
)
_read_rows = reader_of(ATTRIBUTED, "attribution_labels")


SENTENCE_LABELS = ("attributable", "supported", "attributable_label")
CITED = ("cited", "citations", "ids")


def _cited(row: Row) -> Row:
    """Return a row with its numbered passages as documents and its sentences as citations."""
    passages, sentences = row.get("passages"), row.get("sentences")
    rest = {name: value for name, value in row.items() if name not in ("passages", "sentences")}
    return {
        **rest,
        "retrieved": list(map(_document, passages)) if isinstance(passages, list) else passages,
        "citations": list(map(_sentence, sentences)) if isinstance(sentences, list) else sentences,
    }


CITED_ROWS = ToolRows(
    lambda names: {"question", "answer", "sentences", "passages"} <= names,
    each(_cited),
    "read as answers with labelled sentences: the label is of a sentence with all its citations together",
)


def _document(passage: Any) -> Any:
    if not isinstance(passage, Mapping):
        return passage
    rest = {name: value for name, value in passage.items() if name != "number"}
    return {"id": str(passage["number"]), **rest} if "number" in passage else rest


def _sentence(entry: Any) -> Any:
    if not isinstance(entry, Mapping):
        return entry
    cited: list[Any] = next((entry[name] for name in CITED if isinstance(entry.get(name), list)), [])
    label = next((entry[name] for name in SENTENCE_LABELS if isinstance(entry.get(name), bool)), None)
    return {"sentence": entry.get("text"), "ids": [str(name) for name in cited], "supported": label}


FACTS = ("question_id", "system", "split")
RATED = "human_factuality"


def _rated(row: Row) -> Row:
    """Return a row with its factuality as a person's rating and every other number as a score."""
    rating = {"annotator": "FRANK", "metric": "faithfulness", "value": as_float(row.get(RATED)), "note": None}
    return {
        **{name: row[name] for name in FACTS if row.get(name) not in (None, "")},
        "question": f"article {row.get('question_id')}",
        "human": [{**rating, "low": 0, "high": 1}],
        "scores": {name: as_float(value) for name, value in row.items() if name not in (*FACTS, RATED)},
    }


FRANK = ToolRows(
    lambda names: {"question_id", "system", RATED, "FactCC"} <= names,
    each(_rated),
    "read as FRANK's scores: human factuality is a person's faithfulness, and no texts are there",
)


# Thakur et al. 2024, "NoMIRACL: knowing when you don't know for robust multilingual retrieval-augmented
# generation". A response that says both words, or neither, is invalid: it neither answers nor refuses.
NOMIRACL = "nomiracl"
PRESENT, UNKNOWN = "yes, answer is present", "i don't know"
ANSWERABLE = {"relevant": "yes", "non_relevant": "no"}


def response_label(response: str) -> Literal["answered", "refused", "invalid"]:
    """Return what a response does: it has to say that the answer is present, or that it does not know."""
    lower = response.lower()
    answers, declines = PRESENT in lower, UNKNOWN in lower
    if answers == declines:
        return "invalid"
    return "answered" if answers else "refused"


def _read_models(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read one run for each model."""
    runs: dict[str, list[Record]] = {}
    for line, value in open_table(source, errors, options.limit).rows():
        row = mapping(value)
        results = row.get("results")
        if not isinstance(results, Mapping) or row.get("subset") not in ANSWERABLE:
            accepted = "results {model: text}, subset relevant or non_relevant"
            errors.add(line, "results", "no responses of a subset", accepted)
            continue
        case = _asked(row)
        for model, response in results.items():
            runs.setdefault(str(model), []).append((line, _answered(case, str(response or ""))))
    parsed = []
    for model, records in runs.items():
        labels = [record["tags"]["response"] for _, record in records if isinstance(record, dict)]
        invalid = labels.count("invalid")
        note = f"neither answering nor declining clearly, so no refusal: {invalid:,} of {len(records):,}"
        facts = {"config": {"generator_model": model}, "notes": (note,) if invalid else ()}
        parsed.append(run_of(source, NOMIRACL, records, model, dataset="NoMIRACL", **facts))
    return parsed


def _asked(row: Mapping[str, Any]) -> dict[str, Any]:
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


def _answered(case: Mapping[str, Any], response: str) -> dict[str, Any]:
    label = response_label(response)
    return {
        **case,
        "answer": response,
        "refused": label == "refused",
        "refused_source": "imported",
        "tags": {**case["tags"], "response": label},
        "scores": {"answers_by_its_words": float(label == "answered")},
    }


READERS = {
    "attribution_labels": Reader(
        _read_attributed, lambda peek: ATTRIBUTED.fits(set(peek.columns)) and any(map(_labelled, peek.rows))
    ),
    "cited_answers": table_reader("cited_answers", CITED_ROWS),
    "frank": table_reader("frank", FRANK),
    NOMIRACL: Reader(_read_models, lambda peek: isinstance(peek.first.get("results"), Mapping)),
}
