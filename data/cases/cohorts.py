"""Marks: named groups of cases that a bar or a cell of a view leads to.

A mark is written as its key, or as "key:value"; that text is what the address holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow.compute as pc

from data.cases.agreement_cohorts import AGREEMENT_MARKS
from data.cases.alignment_cohorts import USE_MARKS
from data.cases.retrieval_cohorts import RANK_MARKS
from data.errors import DataError
from data.scoring.scored_run import ScoredRun
from metrics.schema.scores import BoolArray

__all__ = [
    "BROKEN_MARKS",
    "JUDGE_MARKS",
    "LOSS_MARKS",
    "MARKS",
    "Cohort",
    "OracleGapCohort",
    "cohort_rows",
    "cohort_title",
    "newly_failing_baseline",
    "newly_failing_cohort_key",
    "oracle_gap_cohort",
    "oracle_gap_cohort_key",
]

Stage = Literal["retrieval", "generation"]
_KEYS: dict[str, Stage] = {"lost_retrieval": "retrieval", "lost_generation": "generation"}


@dataclass(frozen=True)
class OracleGapCohort:
    """What such a mark names.

    Attributes:
        where: the stage that lost the case.
        oracle: id of the run with the gold documents.
        quality: the metric, or the pass rate, that tells right from wrong.
    """

    where: Stage
    oracle: str
    quality: str


def oracle_gap_cohort(text: str) -> OracleGapCohort | None:
    """Read a mark; None where it is not one of these."""
    key, _, value = text.partition(":")
    oracle, _, quality = value.partition(":")
    return OracleGapCohort(_KEYS[key], oracle, quality) if key in _KEYS else None


def oracle_gap_cohort_key(where: Stage, oracle: str, quality: str) -> str:
    """Write a mark."""
    return f"lost_{where}:{oracle}:{quality}"


def _two_runs(_scored: ScoredRun, _value: str) -> BoolArray:
    raise ValueError("it compares two runs; accepted: a page, which has both at hand")


LOSS_MARKS: dict[str, tuple[Callable[[str], str], Callable[[ScoredRun, str], BoolArray]]] = {
    "lost_retrieval": (
        lambda _: "retrieval lost the answer: wrong as retrieved, right with the gold documents",
        _two_runs,
    ),
    "lost_generation": (lambda _: "the answer is wrong with the gold documents too", _two_runs),
}


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
Made = tuple[Callable[[str], str], Callable[[ScoredRun, str], BoolArray]]


def _title(word: str) -> str:
    if word not in WORDS:
        raise ValueError(f"{word!r} is no state of a judging; accepted: {', '.join(WORDS)}")
    return WORDS[word]


def _state(scored: ScoredRun, word: str) -> BoolArray:
    said = scored.auxiliary_table("judged")
    if said is None:
        return np.full(scored.n, word == "not run")
    return np.asarray(pc.equal(said["status"], word).to_numpy(zero_copy_only=False), dtype=np.bool_)


def _injected(scored: ScoredRun, _value: str) -> BoolArray:
    said = scored.auxiliary_table("judged")
    if said is None:
        return np.zeros(scored.n, dtype=np.bool_)
    return np.asarray(said["injections"].to_numpy() > 0, dtype=np.bool_)


JUDGE_MARKS: dict[str, Made] = {
    "judging": (_title, _state),
    "injection": (lambda _: "text in the sample tries to instruct the judge", _injected),
}


_KEY = "newly_failing"


def newly_failing_baseline(text: str) -> str | None:
    """Read the id of the baseline from a mark; None where it is another mark."""
    key, _, baseline = text.partition(":")
    return baseline if key == _KEY else None


def newly_failing_cohort_key(baseline: str) -> str:
    """Write a mark."""
    return f"{_KEY}:{baseline}"


BROKEN_MARKS: dict[str, tuple[Callable[[str], str], Callable[[ScoredRun, str], BoolArray]]] = {
    _KEY: (lambda _: "newly failing: passed in the baseline of the gates", _two_runs)
}


@dataclass(frozen=True)
class Cohort:
    """One group of cases.

    Attributes:
        title: what to call it, given the value after the colon ("" without one).
        rows: (n,) samples of a run that belong to it, given the value; raises ValueError for a wrong value.
    """

    title: Callable[[str], str]
    rows: Callable[[ScoredRun, str], BoolArray]


MARKS: Mapping[str, Cohort] = {
    key: Cohort(*made)
    for key, made in {
        **USE_MARKS,
        **RANK_MARKS,
        **LOSS_MARKS,
        **BROKEN_MARKS,
        **AGREEMENT_MARKS,
        **JUDGE_MARKS,
    }.items()
}


def cohort_title(text: str) -> str:
    """Name a mark for people."""
    mark, value = _found(text)
    return mark.title(value)


def cohort_rows(scored: ScoredRun, text: str) -> BoolArray:
    """Say of every sample of a run whether it bears the mark.

    Raises:
        DataError: there is no such mark, or its value is none.
    """
    mark, value = _found(text)
    try:
        return mark.rows(scored, value)
    except ValueError as error:
        raise DataError(f"mark {text[:60]!r}: {error}") from error


def _found(text: str) -> tuple[Cohort, str]:
    key, _, value = text.partition(":")
    if key not in MARKS:
        raise DataError(f"mark {text[:60]!r}; accepted: {', '.join(MARKS)}")
    return MARKS[key], value
