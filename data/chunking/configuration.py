"""One configuration of a grid: chunk, index and retrieve, and store what was found as a run."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ragtriage.data.chunking.chunkers import Chunking
from ragtriage.data.chunking.grid_plan import GridPlan
from ragtriage.data.chunking.prepared_corpus import CorpusChunk, PreparedCorpus
from ragtriage.data.chunking.questions import Questions
from ragtriage.data.chunking.retrievers import WORDS, Bm25Index, Retriever, open_retriever, retriever_name
from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.load import import_parsed_runs
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.schema.scores import FloatArray, IntArray

FORMAT = "chunking grid"


def chunking_config(plan: GridPlan, chunking: Chunking) -> dict[str, Any]:
    """Return what a run records of its chunking."""
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


def run_configuration(
    store: RunStore, plan: GridPlan, chunking: Chunking, project: str, corpus: PreparedCorpus
) -> Run:
    """Run one configuration of a plan and import what it finds: wholly, or not at all.

    Args:
        store: of the workspace.
        plan: what the configuration is part of.
        chunking: of the configuration.
        project: what its run belongs to.
        corpus: the plan's, shared by its configurations.
    """
    split = corpus.split(chunking)
    chunks, tokens = split.chunks, split.tokens
    timings = _Timings({"chunking_s": round(split.seconds, 4)})
    retriever = _retriever(plan, chunking, corpus, chunks)
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
            **chunking_config(plan, chunking),
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


def _retriever(
    plan: GridPlan, chunking: Chunking, corpus: PreparedCorpus, chunks: Sequence[CorpusChunk]
) -> Retriever:
    if plan.retriever == WORDS:
        return Bm25Index.of_tokens([corpus.words(entry, chunking.headings) for entry in chunks])
    return open_retriever(plan.retriever, [entry.indexed(chunking.headings) for entry in chunks])


def _records(
    questions: Questions,
    chunks: Sequence[CorpusChunk],
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


def _retrieved(entry: CorpusChunk, score: float) -> dict[str, Any]:
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

    def __init__(self, chunks: Iterable[CorpusChunk]) -> None:
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
