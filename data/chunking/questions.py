"""Questions with gold as character spans, checked against the corpus that the spans point into."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import orjson

from ragtriage.data.chunking.corpus import Corpus, Document
from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.rows import open_table
from ragtriage.data.store.sample_validation import normalise

ACCEPTED = (
    "rows with `question` and `relevant_spans` [{doc_id, start, end}], or `question`, `references` and "
    "`corpus_id` as chunking_evaluation writes them"
)
NAMED_DOCUMENTS = 5  # in an error
KEPT = ("question_id", "question", "relevant_spans", "reference_answer", "query_type", "answerable", "tags")


@dataclass(frozen=True)
class Questions:
    """The questions of a grid."""

    name: str  # of the question set
    # in the native form, with `question_id`, `question` and `relevant_spans` at least
    records: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...] = field(default=())  # what was left out, and why

    @cached_property
    def version(self) -> str:
        """Hash over all records."""
        return hashlib.sha256(orjson.dumps(list(self.records), option=orjson.OPT_SORT_KEYS)).hexdigest()[:12]


def read_questions(source: InputFile, corpus: Corpus) -> Questions:
    """Read questions and keep those whose gold lies in the corpus.

    Rows of chunking_evaluation that name another corpus are left out and counted; any other span that is not
    in the corpus is a validation error.

    Raises:
        InputError: the file or a row of it cannot be used; the first twenty problems and a count.
    """
    problems = ValidationErrors(source.name)
    records, seen, elsewhere, columns = [], dict[str, int](), 0, set[str]()
    for line, row in open_table(source, problems).rows():
        columns.update(map(str, row) if isinstance(row, Mapping) else ())
        record = _native(row, line, corpus, problems)
        if record is None:
            elsewhere += isinstance(row, Mapping) and "references" in row
            continue
        sample = normalise(record, line, problems)
        if sample is None or not _spans_fit(sample, line, corpus, problems):
            continue
        first = seen.setdefault(sample["question_id"], line)
        if first != line:
            what = f"question_id {sample['question_id']!r} is at line {first} already"
            problems.add(line, "question_id", what, "each question once")
        spans = {"question_id": sample["question_id"], "relevant_spans": sample["relevant_spans"] or []}
        records.append({**{key: record[key] for key in KEPT if record.get(key) is not None}, **spans})
    problems.raise_if_any()
    if not any(record["relevant_spans"] for record in records):
        missing = f"the column relevant_spans is missing (found: {', '.join(sorted(columns)[:12])})"
        has_column = columns & {"relevant_spans", "references"}
        raise source.error("no question has gold in this corpus" if has_column else missing, ACCEPTED)
    without_gold = sum(not record["relevant_spans"] for record in records)
    notes = (
        f"left out because they are about other corpora: {elsewhere}" if elsewhere else "",
        f"not scored because they name no gold text: {without_gold}" if without_gold else "",
    )
    return Questions(source.stem, tuple(records), tuple(filter(None, notes)))


def has_spans(source: InputFile) -> bool:
    """Return whether a file has gold as spans, in the native form or as chunking_evaluation writes it."""
    try:
        columns = set(open_table(source, ValidationErrors(source.name)).columns)
    except InputError:
        return False  # a document of another tool
    return "relevant_spans" in columns or {"references", "corpus_id"} <= columns


def _native(row: object, line: int, corpus: Corpus, problems: ValidationErrors) -> dict[str, Any] | None:
    """Return a row in the native form; None where it is about another corpus or no object."""
    if not isinstance(row, Mapping):
        problems.add(line, "", "is not an object", ACCEPTED)
        return None
    if "references" not in row:
        return {str(key): _parsed(value) if key == "relevant_spans" else value for key, value in row.items()}
    document = corpus.by_name.get(str(row.get("corpus_id")))
    if document is None:
        return None
    spans = _references(row["references"], line, document, problems)
    return {"question": row.get("question"), "relevant_spans": spans}


def _parsed(value: object) -> object:
    """Read a list that a table holds as text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value  # the validation of the field reports it


def _references(
    value: object, line: int, document: Document, problems: ValidationErrors
) -> list[dict[str, Any]]:
    accepted = "a JSON list of {content, start_index, end_index}"
    references = _parsed(value)
    if not isinstance(references, list) or not all(isinstance(entry, Mapping) for entry in references):
        problems.add(line, "references", "is not a list of objects", accepted)
        return []
    spans = []
    for at, entry in enumerate(references):
        start, end = entry.get("start_index"), entry.get("end_index")
        content = entry.get("content")
        text = document.text[start:end] if isinstance(start, int) and isinstance(end, int) else None
        if text is None:
            problems.add(line, f"references[{at}]", "lacks start_index or end_index", accepted)
        elif isinstance(content, str) and content != text:
            what = f"{document.doc_id}[{start}:{end}] reads {text[:40]!r}, not {content[:40]!r}"
            problems.add(line, f"references[{at}]", what, "offsets in characters of this corpus as stored")
        else:
            spans.append({"doc_id": document.doc_id, "start": start, "end": end})
    return spans


def _spans_fit(sample: Mapping[str, Any], line: int, corpus: Corpus, problems: ValidationErrors) -> bool:
    """Check the spans against the texts they point into; a document named by its file gets its id."""
    before = problems.total
    for at, span in enumerate(sample["relevant_spans"] or ()):
        document = corpus.by_name.get(span["doc_id"])
        if document is None:
            names = ", ".join(document.doc_id for document in corpus.documents[:NAMED_DOCUMENTS])
            more = " ..." if len(corpus.documents) > NAMED_DOCUMENTS else ""
            what = f"{span['doc_id']!r} is not a document of the corpus"
            problems.add(line, f"relevant_spans[{at}].doc_id", what, f"one of {names}{more}")
            continue
        span["doc_id"] = document.doc_id
        if span["end"] > len(document.text):
            what = f"ends at {span['end']:,}; {document.doc_id} has {len(document.text):,} characters"
            problems.add(line, f"relevant_spans[{at}]", what, "0 <= start < end <= length of the text")
    return problems.total == before
