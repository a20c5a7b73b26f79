"""Gold passages of a question set located in a corpus: verbatim first, then with whitespace folded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from ragtriage.data.chunking.corpus import Corpus, Document, read_corpus
from ragtriage.data.chunking.questions import KEPT, Questions, has_spans, read_questions
from ragtriage.data.errors import DataError
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.question_choice import is_question_file, named_questions
from ragtriage.data.store.question_sets import LoadedSet, corpus_path, find_set
from ragtriage.data.store.workspace import Workspace
from ragtriage.data.text.folding import FoldedText, folded

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
    locator = _Locator(corpus)
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
    return Questions(loaded.facts.name, tuple(records), notes)


def _notes(records: list[dict[str, Any]], partial: int, lost: int) -> tuple[str, ...]:
    without = sum(not record["relevant_spans"] for record in records) - lost
    notes = (
        f"scored on the part of their gold that was found: {partial}" if partial else "",
        f"not scored because none of their gold is in this corpus: {lost}" if lost else "",
        f"not scored because they name no gold: {without}" if without else "",
    )
    return tuple(filter(None, notes))


@dataclass
class _Locator:
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
        found = (
            [self._checked(span) for span in listed] if listed else [self._located(entry) for entry in gold]
        )
        return list({tuple(span.values()): span for span in found if span is not None}.values())

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
        if named is not None and (place := FoldedText(named.text).find(folded(text))):
            self.counts["folded"] += 1
            return _span(named, *place)
        return self._anywhere(text)

    def _anywhere(self, text: str) -> Span | None:
        at = self._joined.find(text)
        if at >= 0:
            self.counts["verbatim"] += 1
            self.counts["repeated"] += self._joined.find(text, at + 1) >= 0
            return self._in_document(at, at + len(text))
        place = self._folded.find(folded(text))
        self.counts["missing" if place is None else "folded"] += 1
        return None if place is None else self._in_document(*place)

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
        found = sum(self.counts[way] for way in ways)
        total = found + self.counts["missing"]
        named = ", ".join(f"{self.counts[way]:,} {words}" for way, words in ways.items() if self.counts[way])
        repeated = self.counts["repeated"]
        return (
            f"gold passages found in the corpus: {found:,} of {total:,} ({named})",
            *([f"gold passages that the corpus holds more than once: {repeated:,}"] if repeated else []),
        )


def _span(document: Document, start: int, end: int) -> Span:
    return {"doc_id": document.doc_id, "start": start, "end": end}
