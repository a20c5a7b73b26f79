"""What a first repair of each part of a pipeline takes and brings: a stated table, an estimate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from ragtriage.metrics.diagnosis.stages import Owner

Effort = Literal["hours", "days", "weeks"]


@dataclass(frozen=True)
class Repair:
    """What a first repair takes, and the least and most of its stage's cases that it mends, as shares."""

    effort: Effort
    least: float
    most: float


REPAIRS: Mapping[Owner, Repair] = MappingProxyType(
    {
        "format": Repair("hours", 0.6, 0.9),  # an output schema or an example in the prompt
        "refusal": Repair("hours", 0.4, 0.8),  # another instruction, a relevance threshold
        "reranking": Repair("days", 0.3, 0.6),  # another reranker, more documents passed on
        "retrieval": Repair("days", 0.3, 0.6),  # chunking, embeddings, query processing; a new index
        "generation": Repair("days", 0.2, 0.5),  # prompt, then model
        "orchestration": Repair("days", 0.3, 0.7),  # router, tools, filters, memory
        "safety": Repair("days", 0.5, 1.0),  # access filter, guardrails
    }
)
UPSTREAM: tuple[Owner, ...] = ("retrieval", "reranking")  # their repaired cases still need the generator


@dataclass(frozen=True)
class Gain:
    """The pass rate now and after a first repair: an estimate."""

    now: float  # share of good cases
    low: float  # the same where the repair mends the least share of the cases that it is expected to
    high: float  # where it mends the most
    effort: Effort  # that it takes


def expected_gain(owner: Owner, now: float, if_perfect: float, passing_complete: float) -> Gain | None:
    """Return what a first repair of a stage brings; None where the table has no repair of its owner.

    Args:
        owner: the part of the pipeline that must change.
        now: pass rate.
        if_perfect: pass rate if every case of the stage were good.
        passing_complete: pass rate of the cases with all of the gold in their context; a case whose context
            is repaired passes as often as those do.
    """
    repair = REPAIRS.get(owner)
    if repair is None:
        return None
    room = (if_perfect - now) * (passing_complete if owner in UPSTREAM else 1.0)
    return Gain(now, now + repair.least * room, now + repair.most * room, repair.effort)
