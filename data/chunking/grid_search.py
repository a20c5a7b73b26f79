"""A grid search over chunkings: each configuration chunks, indexes, retrieves, and becomes a run."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from data.chunking.chunkers import Chunk, Chunking, Strategy, TokenizedText, Unit, chunks_of
from data.chunking.corpus import Corpus, Document
from data.chunking.questions import Questions
from data.chunking.retrievers import open_retriever, retriever_name
from data.errors import DataError, ValidationErrors
from data.importers.load import import_parsed_runs
from data.scoring.run_store import RunStore
from data.store.parsed_run import ParsedRun, Record
from data.store.workspace import Run
from metrics.schema.scores import FloatArray, IntArray

__all__ = ["GridPlan", "GridStep", "plan_configurations", "run_grid"]

DEPTH = 20
FORMAT = "chunking grid"
_IDENTITY = ("grid", "chunking", "chunk_size", "chunk_overlap", "chunk_unit", "chunk_headings")


@dataclass(frozen=True)
class GridPlan:
    """What a grid tries.

    Attributes:
        corpus: texts to split.
        questions: questions with gold spans in them.
        chunkings: one configuration each.
        retriever: "bm25", or "embedding:PATH" of a model on this machine.
        depth: chunks retrieved for each question.
        title: of the grid.
        created_at: time of its runs, naive UTC; None for the time at which each is made.
    """

    corpus: Corpus
    questions: Questions
    chunkings: tuple[Chunking, ...]
    retriever: str = "bm25"
    depth: int = DEPTH
    title: str = ""
    created_at: datetime | None = None

    @cached_property
    def key(self) -> str:
        """12 hex digits over all that its configurations share; plans that share it grow into one grid."""
        unit = self.chunkings[0].unit if self.chunkings else ""
        shared = [self.corpus.version, self.questions.version, self.retriever, self.depth, unit]
        return hashlib.sha256(json.dumps(shared).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class GridStep:
    """How far a grid is.

    Attributes:
        done: configurations finished.
        total: configurations in all.
        configuration: title of the one that is run next, "" at the end.
        seconds_left: estimated from those run so far for those that are missing; None before the first.
    """

    done: int
    total: int
    configuration: str
    seconds_left: float | None


GridWatch = Callable[[GridStep], None]


def plan_configurations(
    sizes: Sequence[int],
    overlaps: Sequence[int],
    unit: Unit = "tokens",
    strategies: Sequence[Strategy] = (),
    headings: Sequence[bool] = (False,),
) -> tuple[tuple[Chunking, ...], tuple[str, ...]]:
    """List the chunkings of a grid, and why others are not possible.

    The fixed grid has every size with every overlap. The other strategies take the middle one of the sizes as
    their largest chunk, each with and without headings as asked for.

    Raises:
        DataError: no chunking is possible; the message says why.
    """
    if not sizes:
        raise DataError("no chunk size; accepted: one or more whole numbers of 1 or more")
    ordered_sizes = sorted(set(sizes))
    middle = ordered_sizes[len(ordered_sizes) // 2]
    candidates: list[tuple[Strategy, int, int, bool]] = [
        ("fixed", size, overlap, False) for size in ordered_sizes for overlap in sorted(set(overlaps))
    ]
    candidates += [
        (strategy, middle, 0, with_headings) for strategy in strategies for with_headings in headings
    ]
    chunkings, refused = dict[Chunking, None](), dict[str, None]()
    for strategy, size, overlap, with_headings in candidates:
        try:
            chunkings[Chunking(strategy, size, overlap, unit, with_headings)] = None
        except DataError as error:
            refused[str(error)] = None
    if not chunkings:
        raise DataError("; ".join(refused) or "no overlap; accepted: one or more whole numbers of 0 or more")
    return tuple(chunkings), tuple(refused)


def run_grid(store: RunStore, plan: GridPlan, project: str, watch: GridWatch | None = None) -> list[Run]:
    """Run the configurations that are not in the project yet, and return the runs of all, as planned.

    Each is imported wholly or not at all, so that an interrupted grid goes on from the finished ones.

    Args:
        store: of the workspace.
        plan: what to try.
        project: what the runs belong to.
        watch: called before each configuration and at the end.

    Raises:
        DataError: the retriever cannot be opened.
    """
    open_retriever(plan.retriever, [])  # a wrong name is refused before any work, and imports are not timed
    finished = {_identity(run.config): run for run in store.runs(project)}
    identities = [_identity(_chunking_config(plan, chunking)) for chunking in plan.chunkings]
    missing = sum(identity not in finished for identity in identities)
    texts = {document.doc_id: TokenizedText(document.text) for document in plan.corpus.documents}
    if missing:
        _prepare(texts.values())
    total, n_new, runs = len(plan.chunkings), 0, []
    began = time.monotonic()
    for done, (chunking, identity) in enumerate(zip(plan.chunkings, identities, strict=True)):
        left = (time.monotonic() - began) / n_new * (missing - n_new) if n_new else None
        if watch is not None:
            watch(GridStep(done, total, chunking.title, left))
        run = finished.get(identity)
        if run is None:
            run = _run_configuration(store, plan, chunking, project, texts)
            n_new += 1
        runs.append(run)
    if watch is not None:
        watch(GridStep(total, total, "", 0.0))
    return runs


def _prepare(texts: Iterable[TokenizedText]) -> None:
    """Do what all configurations share before the first is timed: import semchunk, tokenize the texts."""
    import_module("semchunk")
    for text in texts:
        _ = text.starts, text.headings


def _identity(config: Mapping[str, Any]) -> str:
    return json.dumps([config.get(name) for name in _IDENTITY])


def _chunking_config(plan: GridPlan, chunking: Chunking) -> dict[str, Any]:
    return {
        "grid": plan.key,
        "chunking": chunking.strategy,
        "chunk_size": chunking.size,
        "chunk_overlap": chunking.overlap,
        "chunk_unit": chunking.unit,
        "chunk_headings": chunking.headings,
    }


@dataclass
class _Timings:
    """Seconds by step."""

    seconds: dict[str, float] = field(default_factory=dict)
    _since: float = field(default_factory=time.perf_counter)

    def end(self, step: str) -> None:
        now = time.perf_counter()
        self.seconds[f"{step}_s"] = round(now - self._since, 4)
        self._since = now


@dataclass(frozen=True)
class _DocumentChunk:
    """One chunk with the document that it is part of."""

    document: Document
    chunk: Chunk

    @property
    def text(self) -> str:
        return self.document.text[self.chunk.start : self.chunk.end]

    def indexed(self, headings: bool) -> str:
        """Return what is indexed: the text, under title and headings where asked for."""
        above = dict.fromkeys(filter(None, (self.document.title, *self.chunk.headings))) if headings else {}
        return "\n".join([*above, self.text])


def _run_configuration(
    store: RunStore, plan: GridPlan, chunking: Chunking, project: str, texts: Mapping[str, TokenizedText]
) -> Run:
    timings = _Timings()
    chunks = [
        _DocumentChunk(document, chunk)
        for document in plan.corpus.documents
        for chunk in chunks_of(texts[document.doc_id], chunking)
    ]
    tokens = [
        texts[entry.document.doc_id].size(entry.chunk.start, entry.chunk.end, "tokens") for entry in chunks
    ]
    timings.end("chunking")
    retriever = open_retriever(plan.retriever, [entry.indexed(chunking.headings) for entry in chunks])
    timings.end("indexing")
    questions = [str(record["question"]) for record in plan.questions.records]
    positions, scores = retriever.search(questions, plan.depth)
    timings.end("retrieving")
    parsed = ParsedRun(
        name=chunking.title,
        records=_records(plan.questions, chunks, tokens, positions, scores),
        file=plan.title or plan.corpus.name,
        format=FORMAT,
        config={
            **_chunking_config(plan, chunking),
            "grid_title": plan.title or plan.corpus.name,
            "retriever": retriever_name(plan.retriever),
            "depth": plan.depth,
            "corpus": plan.corpus.name,
            "n_chunks": len(chunks),
            "index_characters": sum(entry.chunk.end - entry.chunk.start for entry in chunks),
            "index_tokens": sum(tokens),
        },
        dataset=plan.questions.name,
        dataset_version=plan.questions.version,
        corpus_version=plan.corpus.version,
        created_at=plan.created_at,
        notes=(*plan.corpus.notes, *plan.questions.notes),
        measured=timings.seconds,
    )
    return import_parsed_runs(store, [parsed], project, ValidationErrors(parsed.file))[0].run


def _records(
    questions: Questions,
    chunks: Sequence[_DocumentChunk],
    tokens: Sequence[int],
    positions: IntArray,
    scores: FloatArray,
) -> Iterator[Record]:
    """List the samples: each question with its retrieved chunks; (q, depth) positions, -1 for none."""
    relevant = _RelevantChunks(chunks)
    for line, (record, row, row_scores) in enumerate(
        zip(questions.records, positions, scores, strict=True), 1
    ):
        hits = [int(position) for position in row if position >= 0]
        yield (
            line,
            {
                **record,
                "retrieved": [
                    _retrieved(chunks[at], float(row_scores[rank])) for rank, at in enumerate(hits)
                ],
                "retrieved_tokens": [tokens[position] for position in hits],
                "relevant_chunks": relevant.count(record["relevant_spans"]),
            },
        )


def _retrieved(entry: _DocumentChunk, score: float) -> dict[str, Any]:
    start, end = entry.chunk.start, entry.chunk.end
    doc_id = entry.document.doc_id
    return {
        "id": f"{doc_id}:{start}-{end}",
        "text": entry.text,
        "score": score,
        "doc_id": doc_id,
        "start": start,
        "end": end,
    }


class _RelevantChunks:
    """Counts the chunks of an index that overlap the gold spans of a question."""

    def __init__(self, chunks: Iterable[_DocumentChunk]) -> None:
        ranges: dict[str, list[tuple[int, int]]] = {}
        for entry in chunks:
            ranges.setdefault(entry.document.doc_id, []).append((entry.chunk.start, entry.chunk.end))
        self._ranges = {doc_id: np.array(pairs, dtype=np.int64) for doc_id, pairs in ranges.items()}

    def count(self, spans: Sequence[Mapping[str, Any]]) -> int:
        """Count the different chunks that hold a character of any of the spans."""
        total = 0
        for doc_id in {span["doc_id"] for span in spans}:
            ranges = self._ranges.get(doc_id)
            if ranges is None:
                continue
            overlapping = np.zeros(len(ranges), dtype=np.bool_)
            for span in spans:
                if span["doc_id"] == doc_id:
                    overlapping |= (ranges[:, 0] < span["end"]) & (ranges[:, 1] > span["start"])
            total += int(overlapping.sum())
        return total
