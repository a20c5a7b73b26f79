"""Groups of cases by the stage that lost them: what the bars of the stage losses lead to.

A case belongs by its value in two runs, and a mark sees only one. So the mark names the run with the gold
documents and the quality, and the page, which has both runs, finds its rows by data.stage_losses.lost_rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from data.tables import RunTable
from metrics.values import BoolArray

__all__ = ["LOSS_MARKS", "LossMark", "loss_mark", "loss_mark_text"]

Stage = Literal["retrieval", "generation"]
_KEYS: dict[str, Stage] = {"lost_retrieval": "retrieval", "lost_generation": "generation"}


@dataclass(frozen=True)
class LossMark:
    """What such a mark names.

    Attributes:
        where: the stage that lost the case.
        oracle: id of the run with the gold documents.
        quality: the metric, or the pass rate, that tells right from wrong.
    """

    where: Stage
    oracle: str
    quality: str


def loss_mark(text: str) -> LossMark | None:
    """Read a mark; None where it is not one of these."""
    key, _, value = text.partition(":")
    oracle, _, quality = value.partition(":")
    return LossMark(_KEYS[key], oracle, quality) if key in _KEYS else None


def loss_mark_text(where: Stage, oracle: str, quality: str) -> str:
    """Write a mark."""
    return f"lost_{where}:{oracle}:{quality}"


def _two_runs(_table: RunTable, _value: str) -> BoolArray:
    raise ValueError("it compares two runs; accepted: a page, which has both at hand")


LOSS_MARKS: dict[str, tuple[Callable[[str], str], Callable[[RunTable, str], BoolArray]]] = {
    "lost_retrieval": (
        lambda _: "retrieval lost the answer: wrong as retrieved, right with the gold documents",
        _two_runs,
    ),
    "lost_generation": (lambda _: "the answer is wrong with the gold documents too", _two_runs),
}
