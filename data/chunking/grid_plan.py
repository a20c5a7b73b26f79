"""What a grid search over chunkings tries, and how far it is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from ragtriage.data.chunking.chunkers import Chunking, Strategy, Unit
from ragtriage.data.chunking.corpus import Corpus, Document
from ragtriage.data.chunking.questions import Questions
from ragtriage.data.errors import DataError

DEPTH = 20


@dataclass(frozen=True)
class GridPlan:
    """What a grid tries."""

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
