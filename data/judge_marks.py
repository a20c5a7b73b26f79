"""Cases by what became of their judging: declared as marks that the Judge page leads to."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow.compute as pc

from data.tables import RunTable
from metrics.values import BoolArray

__all__ = ["JUDGE_MARKS"]

WORDS = {
    "scored": "the judge gave a verdict",
    "refused": "the judge's model declined to read it",
    "truncated": "the judge's reply was cut off",
    "context_exceeded": "the sample does not fit the judge's context window",
    "invalid": "the judge's reply did not fit the form",
    "overloaded": "the judge's service was overloaded",
    "timeout": "the judge did not reply in time",
    "error": "the judge's service failed",
    "not_applicable": "there is nothing to judge",
    "not run": "no judge has read it",
}
Made = tuple[Callable[[str], str], Callable[[RunTable, str], BoolArray]]


def _title(word: str) -> str:
    if word not in WORDS:
        raise ValueError(f"{word!r} is no state of a judging; accepted: {', '.join(WORDS)}")
    return WORDS[word]


def _state(table: RunTable, word: str) -> BoolArray:
    said = table.beside("judged")
    if said is None:
        return np.full(table.n, word == "not run")
    return np.asarray(pc.equal(said["status"], word).to_numpy(zero_copy_only=False), dtype=np.bool_)


def _injected(table: RunTable, _value: str) -> BoolArray:
    said = table.beside("judged")
    if said is None:
        return np.zeros(table.n, dtype=np.bool_)
    return np.asarray(said["injections"].to_numpy() > 0, dtype=np.bool_)


JUDGE_MARKS: dict[str, Made] = {
    "judging": (_title, _state),
    "injection": (lambda _: "text in the sample tries to instruct the judge", _injected),
}
