"""What answers need: a document, a live state, or both together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ragtriage.metrics.schema.scores import FloatArray, MetricsError
from ragtriage.metrics.statistics.intervals import Interval, mean_over_questions
from ragtriage.metrics.statistics.paired import SIGNIFICANCE
from ragtriage.metrics.statistics.repeated_measures import PairTest, pair_tests

Need = Literal["both", "document", "state", "either", "lost together", "none"]
NEEDS: tuple[Need, ...] = ("both", "document", "state", "either", "lost together", "none")
SourceVerdict = Literal["both", "document", "state", "worse together", "cannot tell", "not measured"]
RIGHT_FROM = 0.5  # value from which an answer counts as right
DOCUMENT, STATE, BOTH = range(3)  # columns


@dataclass(frozen=True)
class SourceEffect:
    """The effect of leaving a source out, over the questions measured with each alone and with both."""

    right: tuple[Interval, Interval, Interval]  # quality with the document alone, the state alone, both
    without_state: PairTest  # the document alone (second) against both (first); Holm over the two pairs
    without_document: PairTest  # the state alone against both
    needs: Mapping[Need, Interval]  # share of the questions of each kind; {} where none is measured
    verdict: SourceVerdict  # sources whose absence costs answers, by the tests
    n: int  # questions


def source_effect(values: FloatArray, seed: int = 0) -> SourceEffect:
    """Return what each source is good for, paired on the question.

    Args:
        values: (q, 3) quality with the document alone, the state alone and both, NaN where not measured; a
            question counts where all three are.
        seed: of drawn signs.

    Raises:
        MetricsError: there are not three columns.
    """
    if values.ndim != 2 or values.shape[1] != 3:
        raise MetricsError(f"source_effect takes (questions, 3) values, not {values.shape}")
    full = values[np.isfinite(values).all(axis=1)]
    document, state, both = (mean_over_questions(full[:, at]) for at in (DOCUMENT, STATE, BOTH))
    without_state, without_document = pair_tests(full, [BOTH], [DOCUMENT, STATE], seed)
    kinds = np.array(needs_of(full))
    needs = {need: mean_over_questions((kinds == need).astype(np.float64)) for need in NEEDS}
    return SourceEffect(
        (document, state, both),
        without_state,
        without_document,
        needs if len(full) else {},
        _verdict(without_state, without_document),
        len(full),
    )


def needs_of(values: FloatArray) -> list[Need]:
    """Return what each question needs, from (q, 3) measured values; right from 0.5 on.

    Right with both: "both" where it is wrong with each alone, "document" or "state" where that one alone is
    enough and the other is not, "either" where each is. Wrong with both: "lost together" where a source alone
    was enough, else "none".
    """
    alone: dict[tuple[bool, bool], Need] = {
        (False, False): "both",
        (True, False): "document",
        (False, True): "state",
        (True, True): "either",
    }
    return [
        alone[document, state] if both else "lost together" if document or state else "none"
        for document, state, both in (values >= RIGHT_FROM).tolist()
    ]


def _verdict(without_state: PairTest, without_document: PairTest) -> SourceVerdict:
    if not without_state.n:
        return "not measured"
    signs = [
        np.sign(pair.difference) if pair.adjusted_p < SIGNIFICANCE else 0.0
        for pair in (without_state, without_document)
    ]
    if max(signs) > 0:
        return "worse together"
    if min(signs) == max(signs):
        return "both" if signs[0] else "cannot tell"
    return "state" if signs[0] else "document"
