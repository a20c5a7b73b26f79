"""A grid search over chunkings: each cell chunks, indexes, retrieves, and becomes a run like any other."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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

__all__ = ["GridPlan", "GridStep", "plan_cells", "run_grid"]

DEPTH = 20
FORMAT = "chunking grid"
_CELL = ("grid", "chunking", "chunk_size", "chunk_overlap", "chunk_unit", "chunk_headings")


@dataclass(frozen=True)
class GridPlan:
    """What a grid tries.

    Attributes:
        corpus: texts to cut.
        questions: questions with gold spans in them.
        chunkings: one cell each.
        retriever: "bm25", or "embedding:PATH" of a model on this machine.
        depth: chunks retrieved for each question.
        title: what to call the grid.
    """

    corpus: Corpus
    questions: Questions
    chunkings: tuple[Chunking, ...]
    retriever: str = "bm25"
    depth: int = DEPTH
    title: str = ""

    @cached_property
    def key(self) -> str:
        """12 hex digits over all that its cells share; grids of like cells grow into one."""
        unit = self.chunkings[0].unit if self.chunkings else ""
        shared = [self.corpus.version, self.questions.version, self.retriever, self.depth, unit]
        return hashlib.sha256(json.dumps(shared).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class GridStep:
    """Where a grid stands.

    Attributes:
        done: cells finished.
        total: cells in all.
        cell: title of the cell being made, "" at the end.
        seconds_left: estimated from the cells made so far for those that are missing; None before the first.
    """

    done: int
    total: int
    cell: str
    seconds_left: float | None


GridWatch = Callable[[GridStep], None]


def plan_cells(
    sizes: Sequence[int],
    overlaps: Sequence[int],
    unit: Unit = "tokens",
    strategies: Sequence[Strategy] = (),
    headings: Sequence[bool] = (False,),
) -> tuple[tuple[Chunking, ...], tuple[str, ...]]:
    """List the cells of a grid, and name those that cannot be.

    The fixed grid has every size with every overlap. The other strategies take the middle one of the sizes as
    their largest chunk, each with and without headings as asked for.

    Raises:
        DataError: no cell is possible; the message names why.
    """
    if not sizes:
        raise DataError("no chunk size; accepted: one or more whole numbers of 1 or more")
    wanted: list[tuple[Strategy, int, int, bool]] = [
        ("fixed", size, overlap, False) for size in sorted(set(sizes)) for overlap in sorted(set(overlaps))
    ]
    middle = sorted(set(sizes))[len(set(sizes)) // 2]
    wanted += [(one, middle, 0, with_headings) for one in strategies for with_headings in headings]
    cells, refused = dict[Chunking, None](), dict[str, None]()
    for strategy, size, overlap, with_headings in wanted:
        try:
            cells[Chunking(strategy, size, overlap, unit, with_headings)] = None
        except DataError as error:
            refused[str(error)] = None
    if not cells:
        raise DataError("; ".join(refused) or "no overlap; accepted: one or more whole numbers of 0 or more")
    return tuple(cells), tuple(refused)


def run_grid(store: RunStore, plan: GridPlan, project: str, watch: GridWatch | None = None) -> list[Run]:
    """Run the cells that are not in the project yet, each wholly or not at all; give all, as planned.

    Args:
        store: of the workspace.
        plan: what to try.
        project: what the runs belong to.
        watch: called before each cell and at the end.

    Raises:
        DataError: the retriever cannot be had.
    """
    open_retriever(plan.retriever, [])  # a wrong name is told before any work, and imports are not timed
    there = {_cell_key(run.config): run for run in store.runs(project)}
    texts = {one.doc_id: TokenizedText(one.text) for one in plan.corpus.documents}
    missing = sum(_cell_key(_cell_config(plan, one)) not in there for one in plan.chunkings)
    if missing:
        _prepare(texts.values())
    begun, made, found = time.monotonic(), 0, []
    for at, chunking in enumerate(plan.chunkings):
        left = (time.monotonic() - begun) / made * (missing - made) if made else None
        if watch is not None:
            watch(GridStep(at, len(plan.chunkings), chunking.title, left))
        run = there.get(_cell_key(_cell_config(plan, chunking)))
        if run is None:
            run = _run_cell(store, plan, chunking, project, texts)
            made += 1
        found.append(run)
    if watch is not None:
        watch(GridStep(len(plan.chunkings), len(plan.chunkings), "", 0.0))
    return found


def _prepare(texts: Iterable[TokenizedText]) -> None:
    """Do what all cells share before the first of them is timed: load what cuts, find tokens and headings."""
    import_module("semchunk")
    for text in texts:
        _ = text.starts, text.headings


def _cell_key(config: Mapping[str, Any]) -> str:
    return json.dumps([config.get(name) for name in _CELL])


def _cell_config(plan: GridPlan, chunking: Chunking) -> dict[str, Any]:
    return {
        "grid": plan.key,
        "chunking": chunking.strategy,
        "chunk_size": chunking.size,
        "chunk_overlap": chunking.overlap,
        "chunk_unit": chunking.unit,
        "chunk_headings": chunking.headings,
    }


@dataclass
class _Clock:
    """Seconds by step."""

    seconds: dict[str, float] = field(default_factory=dict)
    _since: float = field(default_factory=time.perf_counter)

    def lap(self, step: str) -> None:
        now = time.perf_counter()
        self.seconds[f"{step}_s"] = round(now - self._since, 4)
        self._since = now


@dataclass(frozen=True)
class _Piece:
    """One chunk of one document."""

    document: Document
    chunk: Chunk

    @property
    def text(self) -> str:
        return self.document.text[self.chunk.start : self.chunk.end]

    def indexed(self, headings: bool) -> str:
        """What the index sees: the text, under title and headings where asked for."""
        above = dict.fromkeys(filter(None, (self.document.title, *self.chunk.headings))) if headings else {}
        return "\n".join([*above, self.text])


def _run_cell(
    store: RunStore, plan: GridPlan, chunking: Chunking, project: str, texts: Mapping[str, TokenizedText]
) -> Run:
    clock = _Clock()
    pieces = [
        _Piece(document, chunk)
        for document in plan.corpus.documents
        for chunk in chunks_of(texts[document.doc_id], chunking)
    ]
    tokens = [texts[one.document.doc_id].size(one.chunk.start, one.chunk.end, "tokens") for one in pieces]
    clock.lap("chunking")
    retriever = open_retriever(plan.retriever, [one.indexed(chunking.headings) for one in pieces])
    clock.lap("indexing")
    found = retriever.search([str(one["question"]) for one in plan.questions.records], plan.depth)
    clock.lap("retrieving")
    draft = ParsedRun(
        name=chunking.title,
        records=_records(plan.questions, pieces, tokens, found),
        file=plan.title or plan.corpus.name,
        format=FORMAT,
        config=_config(plan, chunking, pieces, tokens),
        dataset=plan.questions.name,
        dataset_version=plan.questions.version,
        corpus_version=plan.corpus.version,
        notes=(*plan.corpus.notes, *plan.questions.notes),
        measured=clock.seconds,
    )
    return import_parsed_runs(store, [draft], project, ValidationErrors(draft.file))[0].run


def _config(
    plan: GridPlan, chunking: Chunking, pieces: Sequence[_Piece], tokens: Sequence[int]
) -> dict[str, Any]:
    return {
        **_cell_config(plan, chunking),
        "grid_title": plan.title or plan.corpus.name,
        "retriever": retriever_name(plan.retriever),
        "depth": plan.depth,
        "corpus": plan.corpus.name,
        "n_chunks": len(pieces),
        "index_characters": sum(one.chunk.end - one.chunk.start for one in pieces),
        "index_tokens": sum(tokens),
    }


def _records(
    questions: Questions,
    pieces: Sequence[_Piece],
    tokens: Sequence[int],
    found: tuple[IntArray, FloatArray],
) -> Iterator[Record]:
    relevant = _RelevantChunks(pieces)
    for line, (record, places, scores) in enumerate(zip(questions.records, *found, strict=True), 1):
        hits = [int(place) for place in places if place >= 0]
        yield (
            line,
            {
                **record,
                "retrieved": [_retrieved(pieces[at], float(scores[rank])) for rank, at in enumerate(hits)],
                "retrieved_tokens": [tokens[at] for at in hits],
                "relevant_chunks": relevant.count(record["relevant_spans"]),
            },
        )


def _retrieved(piece: _Piece, score: float) -> dict[str, Any]:
    start, end = piece.chunk.start, piece.chunk.end
    doc_id = piece.document.doc_id
    return {
        "id": f"{doc_id}:{start}-{end}",
        "text": piece.text,
        "score": score,
        "doc_id": doc_id,
        "start": start,
        "end": end,
    }


class _RelevantChunks:
    """The chunks of an index by their place, to count those that overlap the gold of a question."""

    def __init__(self, pieces: Iterable[_Piece]) -> None:
        places: dict[str, list[tuple[int, int]]] = {}
        for one in pieces:
            places.setdefault(one.document.doc_id, []).append((one.chunk.start, one.chunk.end))
        self._places = {doc_id: np.array(found, dtype=np.int64) for doc_id, found in places.items()}

    def count(self, spans: Sequence[Mapping[str, Any]]) -> int:
        """Count the different chunks that hold a character of any of the spans."""
        total = 0
        for doc_id in {span["doc_id"] for span in spans}:
            places = self._places.get(doc_id)
            if places is None:
                continue
            touched = np.zeros(len(places), dtype=np.bool_)
            for span in spans:
                if span["doc_id"] == doc_id:
                    touched |= (places[:, 0] < span["end"]) & (places[:, 1] > span["start"])
            total += int(touched.sum())
        return total
