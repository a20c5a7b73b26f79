"""What a grid search over chunkings tries, how far it is, and what a configuration costs a question."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from ragtriage.data.chunking.chunkers import Chunking, Strategy, Unit
from ragtriage.data.chunking.corpus import Corpus, CorpusChunk, Document, PreparedCorpus
from ragtriage.data.chunking.questions import Questions
from ragtriage.data.chunking.retrievers import WORDS, Bm25Index, Retriever, open_retriever, retriever_name
from ragtriage.data.errors import DataError, ValidationErrors
from ragtriage.data.importers.load import import_parsed_runs
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.schema.scores import FloatArray, IntArray

DEPTH = 20


@dataclass(frozen=True)
class GridPlan:
    """The configurations that a grid tries."""

    corpus: Corpus  # texts to split
    questions: Questions  # questions with gold spans in them
    chunkings: tuple[Chunking, ...]  # one configuration each
    retriever: str = "bm25"  # "bm25", or "embedding:PATH" of a model on this machine
    depth: int = DEPTH  # chunks retrieved for each question
    title: str = ""
    created_at: datetime | None = None  # time of its runs, naive UTC; None for the time at which each is made

    @cached_property
    def key(self) -> str:
        """12 hex digits over all that its configurations share; plans that share it grow into one grid."""
        unit = self.chunkings[0].unit if self.chunkings else ""
        shared = [self.corpus.version, self.questions.version, self.retriever, self.depth, unit]
        return hashlib.sha256(json.dumps(shared).encode()).hexdigest()[:12]

    def to_json(self) -> str:
        """Return the plan as JSON, for a process that works on it."""
        values = {name: getattr(self, name) for name in ("retriever", "depth", "title")}
        moment = None if self.created_at is None else self.created_at.isoformat()
        values |= {"corpus": asdict(self.corpus), "questions": asdict(self.questions)}
        return json.dumps({**values, "chunkings": list(map(asdict, self.chunkings)), "created_at": moment})

    @classmethod
    def from_json(cls, text: str) -> GridPlan:
        """Return the plan that to_json wrote."""
        values: Mapping[str, Any] = json.loads(text)
        corpus, questions, moment = values["corpus"], values["questions"], values["created_at"]
        documents = tuple(Document(**document) for document in corpus["documents"])
        return cls(
            Corpus(corpus["name"], documents, tuple(corpus["notes"])),
            Questions(questions["name"], tuple(questions["records"]), tuple(questions["notes"])),
            tuple(Chunking(**chunking) for chunking in values["chunkings"]),
            values["retriever"],
            values["depth"],
            values["title"],
            None if moment is None else datetime.fromisoformat(moment),
        )


@dataclass(frozen=True)
class GridStep:
    """How far a grid is."""

    done: int  # configurations finished
    total: int  # configurations in all
    configuration: str  # title of the one that is run next, "" at the end
    # estimated from those run so far for those that are missing; None before the first
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

    The plan's corpus is shared by its configurations.
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
        dataset_version=plan.questions.stated_version or plan.questions.version,
        corpus_version=plan.corpus.version,
        created_at=plan.created_at,
        notes=(*plan.corpus.notes, *plan.questions.notes),
        measured=timings.seconds,
    )
    # a run of its own, so that a grid that is stopped keeps what is finished
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


@dataclass(frozen=True)
class TrialCost:
    """Means over the samples of a trial; None where not recorded."""

    tokens: float | None  # of the top k chunks
    milliseconds: float | None  # of the whole answer where recorded, else of its retrieval
    usd: float | None

    def at_price(self, price: float) -> TrialCost:
        """Return the same with what the tokens cost, at USD for a million of them."""
        return self if self.tokens is None else replace(self, usd=self.tokens * price / 1e6)


NO_COST = TrialCost(None, None, None)


def trial_cost(scored: ScoredRun, k: int) -> TrialCost:
    """Return what a question costs in a run of which k chunks are handed on."""
    lists = pq.read_table(scored.samples_path, columns=["retrieved_tokens"])["retrieved_tokens"].to_pylist()
    tokens = [sum(sizes[:k]) for sizes in lists if sizes]
    milliseconds = _mean(scored, "latency_ms") or _mean(scored, "retrieval_ms")
    retrieving = scored.run.measured.get("retrieving_s")
    if milliseconds is None and retrieving is not None and scored.n:
        milliseconds = 1000 * float(retrieving) / scored.n
    return TrialCost(float(np.mean(tokens)) if tokens else None, milliseconds, _mean(scored, "cost_usd"))


def _mean(scored: ScoredRun, metric: str) -> float | None:
    values = scored.values(metric)
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else None
