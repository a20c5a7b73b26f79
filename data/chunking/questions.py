"""Questions with gold as character spans, checked against the corpus that the spans point into."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
import orjson

from ragtriage.data.chunking.corpus import Corpus, Document, read_corpus
from ragtriage.data.errors import DataError, InputError, ValidationErrors
from ragtriage.data.importers.load import is_question_file, named_questions
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.rows import open_table
from ragtriage.data.store.parsed_run import normalise
from ragtriage.data.store.question_sets import LoadedSet, corpus_path, find_set
from ragtriage.data.store.workspace import Workspace
from ragtriage.data.text.tokens import FoldedText, folded

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
    stated_version: str = ""  # of a question set that states one, such as "v2"

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
            # a row of chunking_evaluation about another corpus is not a fault of the file
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


BETWEEN = "\n\0\n"  # between documents, so that no passage is found across two
Span = dict[str, Any]


def open_questions(workspace: Workspace, wanted: str, corpus: Corpus) -> Questions:
    """Return the questions of a file or of a question set of the workspace, with their gold in a corpus.

    Raises:
        DataError: there is no such file or set, it cannot be read, or its gold is not in the corpus.
    """
    if not is_question_file(wanted):
        return questions_of_set(named_questions(workspace, wanted), corpus)
    source = InputFile.from_path(wanted)
    if not source.is_folder and has_spans(source):
        return read_questions(source, corpus)
    loaded = named_questions(workspace, wanted)
    if not loaded.facts.n_gold and not source.is_folder:
        return read_questions(source, corpus)  # which says what is missing
    return questions_of_set(loaded, corpus)


def own_corpus(workspace: Workspace, wanted: str) -> Corpus:
    """Return the documents that came with a question set of the workspace, under the name of the set.

    Raises:
        DataError: there is no such set, or no documents came with it.
    """
    if is_question_file(wanted):
        raise DataError(f"corpus: none given for {wanted}; accepted: a folder, .txt, .md or JSONL")
    facts = find_set(workspace, wanted)
    path = corpus_path(workspace, facts.set_id)
    if path is None:
        what = f"corpus: none given, and no documents came with the question set {facts.name}"
        raise DataError(f"{what}; accepted: a folder, .txt, .md or JSONL")
    return replace(read_corpus([path]), name=facts.name)


def questions_of_set(loaded: LoadedSet, corpus: Corpus) -> Questions:
    """Return the questions of a set with their gold as spans of a corpus.

    A passage that is known by its id alone is the whole document of that id. Gold that is not found is
    counted in the notes; a question without any is not scored.

    Raises:
        DataError: no gold of any question lies in the corpus.
    """
    locator = GoldLocator(corpus)
    records, partial, lost = [], 0, 0
    for question in loaded.questions:
        before = locator.counts["missing"]
        spans = locator.spans_of(question)
        missing = locator.counts["missing"] - before
        partial += bool(missing and spans)
        lost += bool(missing and not spans)
        kept = {name: question[name] for name in KEPT if name in question}
        records.append({**kept, "relevant_spans": spans})
    if not any(record["relevant_spans"] for record in records):
        has_gold = f"has gold for {loaded.facts.n_gold:,} of {loaded.facts.n:,} questions"
        raise DataError(
            f"question set {loaded.facts.name}: {has_gold}, and none of it is in the corpus {corpus.name}; "
            "accepted: the corpus that the passages were taken from"
        )
    notes = (*locator.notes(), *_notes(records, partial, lost))
    facts = loaded.facts
    stated = "" if facts.dataset_version == facts.set_id else facts.dataset_version
    return Questions(facts.name, tuple(records), notes, stated)


def _notes(records: list[dict[str, Any]], partial: int, lost: int) -> tuple[str, ...]:
    without = sum(not record["relevant_spans"] for record in records) - lost
    notes = (
        f"scored on the part of their gold that was found: {partial}" if partial else "",
        f"not scored because none of their gold is in this corpus: {lost}" if lost else "",
        f"not scored because they name no gold: {without}" if without else "",
    )
    return tuple(filter(None, notes))


@dataclass
class GoldLocator:
    """Finds passages in a corpus and counts how each was found."""

    corpus: Corpus
    # passages by how they were found: spans, verbatim, folded, whole, missing; repeated besides
    counts: Counter[str] = field(default_factory=Counter)

    @cached_property
    def _joined(self) -> str:
        return BETWEEN.join(document.text for document in self.corpus.documents)

    @cached_property
    def _folded(self) -> FoldedText:
        return FoldedText(self._joined)

    @cached_property
    def _starts(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Where each document starts in the joined text."""
        lengths = [len(document.text) + len(BETWEEN) for document in self.corpus.documents]
        return np.fromiter(accumulate(lengths[:-1], initial=0), dtype=np.int64)

    def spans_of(self, question: Mapping[str, Any]) -> list[Span]:
        """Return the different spans of a question's gold, each counted by how it was found."""
        listed = question.get("relevant_spans")
        gold = [entry for entry in question.get("relevant", ()) if entry.get("grade", 1.0) > 0]
        spans = (
            [self._checked(span) for span in listed]
            if listed
            else [_of_hop(self._located(entry), entry.get("hop")) for entry in gold]
        )
        return list({tuple(span.values()): span for span in spans if span is not None}.values())

    def _checked(self, span: Mapping[str, Any]) -> Span | None:
        document = self.corpus.by_name.get(span["doc_id"])
        fits = document is not None and span["end"] <= len(document.text)
        self.counts["spans" if fits else "missing"] += 1
        return {**span, "doc_id": document.doc_id} if fits and document else None

    def _located(self, entry: Mapping[str, Any]) -> Span | None:
        """Return the span of a passage: in the document of its id where it is there, else wherever it is."""
        named = self.corpus.by_name.get(entry["id"])
        text = entry.get("text", "")
        if not text.strip():
            whole = named is not None and bool(named.text.strip())
            self.counts["whole" if whole else "missing"] += 1
            return _span(named, 0, len(named.text)) if named is not None and whole else None
        if named is not None and (at := named.text.find(text)) >= 0:
            self.counts["verbatim"] += 1
            return _span(named, at, at + len(text))
        # text from PDF and HTML differs in spaces and typographic marks
        if named is not None and (place := FoldedText(named.text).find(folded(text))):
            self.counts["folded"] += 1
            return _span(named, *place)
        start = self._joined.find(text)
        if start >= 0:
            self.counts["verbatim"] += 1
            self.counts["repeated"] += self._joined.find(text, start + 1) >= 0
            return self._in_document(start, start + len(text))
        position = self._folded.find(folded(text))
        self.counts["missing" if position is None else "folded"] += 1
        return None if position is None else self._in_document(*position)

    def _in_document(self, start: int, end: int) -> Span:
        at = int(np.searchsorted(self._starts, start, side="right")) - 1
        first = int(self._starts[at])
        return _span(self.corpus.documents[at], start - first, end - first)

    def notes(self) -> tuple[str, ...]:
        """Return how the passages were found, in sentences."""
        ways = {
            "spans": "given as spans",
            "verbatim": "verbatim",
            "folded": "with whitespace folded",
            "whole": "as whole documents",
        }
        located = sum(self.counts[way] for way in ways)
        total = located + self.counts["missing"]
        named = ", ".join(f"{self.counts[way]:,} {words}" for way, words in ways.items() if self.counts[way])
        repeated = self.counts["repeated"]
        return (
            f"gold passages found in the corpus: {located:,} of {total:,} ({named})",
            *([f"gold passages that the corpus holds more than once: {repeated:,}"] if repeated else []),
        )


def _of_hop(span: Span | None, hop: str | None) -> Span | None:
    return span if span is None or hop is None else {**span, "hop": hop}


def _span(document: Document, start: int, end: int) -> Span:
    return {"doc_id": document.doc_id, "start": start, "end": end}
