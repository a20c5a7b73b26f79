"""Items of a dataset from questions that exist: those of a file, of a question set, or of a run.

Gold that comes with a question is looked up in the corpus. Where there is none, or none of it is found, the
passages that search finds for question and answer are proposed: a reader accepts one, or it is no gold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ragtriage.data.cases.export import native_record
from ragtriage.data.chunking.corpus import Corpus
from ragtriage.data.chunking.questions import GoldLocator, has_spans, read_questions
from ragtriage.data.datasets.item import DETAILS, GoldSpan, Item, quoted
from ragtriage.data.datasets.windows import CorpusWindows, Passage
from ragtriage.data.errors import ValidationErrors, WorkspaceError
from ragtriage.data.importers.load import is_question_file, named_questions
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.parsed_run import ParsedRun
from ragtriage.data.store.question_sets import LoadedSet, Question, parsed_set
from ragtriage.data.store.sample_reader import StoredSamples
from ragtriage.data.text.tokens import content_tokens, split_sentences, surface_tokens

PROPOSED = 3  # passages for a question without gold
SEARCHED = 20  # windows that are ranked again for them
MOST_SENTENCES = 3  # of a proposed passage, where there is an answer to look for
FUSION = 60  # constant of reciprocal rank fusion
SHORT_QUOTE = 25  # characters: a shorter text may stand at other places by chance


@dataclass(frozen=True)
class ItemsRead:
    """Questions as items of a corpus."""

    items: tuple[Item, ...]
    facts: Mapping[str, Any]  # of their batch
    notes: tuple[str, ...]  # how gold was found, and what was not


def open_source(store: RunStore, wanted: str, corpus: Corpus) -> LoadedSet:
    """Return the questions of a file, of a question set, or of a run; of a .txt file, each line is one.

    The corpus is that of files which name their gold by its offsets in one of several texts.

    Raises:
        InputError: the file cannot be read as questions.
        WorkspaceError: there is nothing of that name.
    """
    if is_question_file(wanted):
        return _of_file(store, InputFile.from_path(wanted), corpus)
    try:
        return named_questions(store.workspace, wanted)
    except WorkspaceError as no_set:
        try:
            run = store.find(wanted).with_samples()
        except WorkspaceError as no_run:
            raise WorkspaceError(
                f"questions {wanted!r}: no file, question set or run; accepted: a path, or a name that "
                "`ragtriage questions` or `ragtriage runs` lists"
            ) from (no_run or no_set)
    records: dict[str, Question] = {}
    for sample in StoredSamples(store.workspace.samples_path(run.run_id)).each():
        records.setdefault(sample["question_id"], native_record(sample))
    parsed = ParsedRun(run.name, list(enumerate(records.values(), 1)), run.name, "run")
    return parsed_set(parsed, ValidationErrors(run.name))


def _of_file(store: RunStore, source: InputFile, corpus: Corpus) -> LoadedSet:
    errors = ValidationErrors(source.name)
    if source.is_folder or source.ending != ".txt":
        loaded = named_questions(store.workspace, str(source.path))
        if loaded.facts.n_gold or source.is_folder or not has_spans(source):
            return loaded
        read = read_questions(source, corpus)
        return parsed_set(
            ParsedRun(read.name, list(enumerate(read.records, 1)), source.name, "spans"), errors
        )
    lines = ((line, text.strip()) for line, text in source.lines(errors))
    records = [(line, {"question": text}) for line, text in lines if text]
    return parsed_set(ParsedRun(source.stem, records, source.name, "text"), errors)


def read_items(loaded: LoadedSet, windows: CorpusWindows) -> ItemsRead:
    """Return the questions of a set as items, their gold found in a corpus, or passages proposed for it.

    A question that is asked again, in the same words but for case and marks, is left out where it has no gold
    of its own.
    """
    locator = GoldLocator(windows.corpus)
    real = not any(map(_has_gold_or_answer, loaded.questions))
    counts = dict.fromkeys(("gold", "partly", "missing", "proposed", "alternatives", "again"), 0)
    items: list[Item] = []
    asked: set[tuple[str, ...]] = set()
    for question in loaded.questions:
        key = tuple(surface_tokens(question["question"]))
        if key in asked and not _has_gold_or_answer(question):
            counts["again"] += 1
            continue
        asked.add(key)
        before = locator.counts["missing"]
        spans = locator.spans_of(question)
        missing = locator.counts["missing"] - before
        item = quoted(_item(question, spans, loaded, real), windows.corpus)
        if not question.get("relevant_spans"):
            item = _with_alternatives(item, windows)
        counts["gold"] += bool(spans)
        counts["partly"] += bool(spans and missing)
        counts["missing"] += bool(missing and not spans)
        counts["alternatives"] += len(item.spans) - len(spans)
        if not item.spans and item.answerable != "no":
            item = replace(item, proposed=propose(item, windows))
            counts["proposed"] += bool(item.proposed)
        items.append(item)
    facts = {"by": "user" if real else "file", "source": loaded.facts.name, "gold": counts}
    return ItemsRead(
        tuple(items), facts, (*(locator.notes() if counts["gold"] else ()), *_notes(counts, len(items)))
    )


def _has_gold_or_answer(question: Question) -> bool:
    fields = ("relevant", "relevant_spans", "reference_answer", "reference_claims", "answerable")
    return any(question.get(name) for name in fields)


def _item(question: Question, spans: Sequence[Mapping[str, Any]], loaded: LoadedSet, real: bool) -> Item:
    known = question.get(DETAILS)
    origin = {"by": "user" if real else "file", "file": loaded.facts.name}
    details = {"origin": origin, **(known if isinstance(known, Mapping) else {})}
    details.pop("quotes", None)
    kind = question.get("query_type") or ("real" if real else "")
    return Item.from_question({**question, "relevant_spans": spans, "query_type": kind, DETAILS: details})


def _with_alternatives(item: Item, windows: CorpusWindows) -> Item:
    """Return an item where the other places of the same text are alternatives to its gold."""
    for hop, spans in item.hops.items():
        name = hop  # a span without a hop gets one with its first alternative
        for quote in dict.fromkeys(span.quote for span in spans if len(span.quote) >= SHORT_QUOTE):
            for place in windows.locate(quote):
                more = item.with_alternative(place, name)
                name = more.spans[-1].hop if more is not item else name
                item = more
    return item


def propose(item: Item, windows: CorpusWindows, most: int = PROPOSED) -> tuple[GoldSpan, ...]:
    """Return the passages that may answer a question, best first.

    Windows are ranked by BM25 for the question and for question and answer together (reciprocal rank fusion).
    Where there is an answer, a window is cut to the few sentences that hold most of it.
    """
    queries = (item.question, f"{item.question} {item.answer}") if item.answer else (item.question,)
    scores: dict[Passage, float] = {}
    for query in queries:
        for rank, window in enumerate(windows.search(query, SEARCHED), start=1):
            scores[window] = scores.get(window, 0.0) + 1 / (FUSION + rank)
    best = sorted(scores, key=lambda window: -scores[window])[:most]
    return tuple(_cut(window, item) if item.answer else window.span() for window in best)


def _cut(window: Passage, item: Item) -> GoldSpan:
    """Return the fewest sentences of a window that hold most words of the answer."""
    wanted = content_tokens(item.answer.lower())
    asked = content_tokens(item.question.lower()) - wanted
    sentences = split_sentences(window.text)
    runs = [
        (first, last)
        for first in range(len(sentences))
        for last in range(first, min(first + MOST_SENTENCES, len(sentences)))
    ]

    def fit(run: tuple[int, int]) -> tuple[int, int, int]:
        held = content_tokens(window.text[sentences[run[0]][0] : sentences[run[1]][1]].lower())
        return len(held & wanted), run[0] - run[1], len(held & asked)

    if not runs:
        return window.span()
    first, last = max(runs, key=fit)
    start, end = sentences[first][0], sentences[last][1]
    return GoldSpan(window.doc_id, window.start + start, window.start + end, window.text[start:end])


def _notes(counts: Mapping[str, int], n: int) -> tuple[str, ...]:
    lines = {
        "gold": f"questions with gold in the corpus: {{:,}} of {n:,}",
        "partly": "questions of which a part of the gold was not found: {:,}",
        "missing": "questions whose gold was not found: {:,}",
        "proposed": "questions for which search proposes passages, to be accepted by a reader: {:,}",
        "alternatives": "places that hold the same text as gold, kept as alternatives: {:,}",
        "again": "questions left out, asked before in the same words: {:,}",
    }
    return tuple(text.format(counts[key]) for key, text in lines.items() if counts[key] or key == "gold")
