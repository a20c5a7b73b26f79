"""Estimates without a judge: which documents an answer draws on, and whether it declines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metrics.abstention import detect_refusal
from metrics.attribution import Attributor
from metrics.values import BoolArray, IntArray

__all__ = ["estimated_refusals", "estimated_use"]


def estimated_refusals(answers: Any, wanted: BoolArray) -> NDArray[np.int8]:
    """Detect refusals by their phrases: 1 refused, 0 answered, -1 where no answer is recorded or wanted."""
    found = np.full(len(answers), -1, dtype=np.int8)
    for row in np.flatnonzero(wanted):
        answer = answers[int(row)].as_py()
        if answer is not None:
            found[row] = detect_refusal(answer).refused
    return found


def estimated_use(table: Any, rows: IntArray) -> Iterator[tuple[int, list[tuple[int, float]]]]:
    """Attribute answers to documents by their words: (row, [(rank, share)]) where texts are recorded."""
    attributor = Attributor()
    answers, retrieved = table["answer"], table["retrieved"]
    for row in rows.tolist():
        answer = answers[row].as_py()
        texts = [document["text"] for document in retrieved[row].as_py()]
        if not answer or not any(texts):
            continue
        found = attributor.attribute(answer, [text or "" for text in texts])
        yield row, [(rank, found.shares[rank - 1]) for rank in found.used]
