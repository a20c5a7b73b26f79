"""By what the losses of the stages are measured: the qualities that several runs have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from data.comparisons import GOOD_SHARE
from data.diagnoses import Diagnosis
from metrics.catalogue import declared, ordered
from metrics.diagnosis import Cutoffs

__all__ = ["BEST", "OWN_CONTEXT", "QUALITY", "qualities_of", "right_from"]

QUALITY = (
    *("correctness", "answer_correctness", "factual_correctness", "answer_f1", "answer_recall"),
    *("faithfulness", GOOD_SHARE),
)  # the first that both runs have is the default
OWN_CONTEXT: Mapping[str, str] = {
    "faithfulness": "faithfulness holds each answer against its own context, so it says little of what "
    "retrieval loses; correctness would say more",
    GOOD_SHARE: "a case with a poor context counts as bad whatever its answer, so the pass rate blames "
    "retrieval more than the answers do; correctness would say more",
}
DECIDING = ("faithfulness", "answer_relevancy", "correctness", "check_failed")  # what makes a case bad
BEST = 1.0  # every quality here ends at 1
RIGHT = 0.5


def qualities_of(diagnoses: Sequence[Diagnosis]) -> list[str]:
    """List what the quality can be read from: what all the runs have, from 0 to 1, the default first.

    The pass rate is among them where the same things make a case good or bad in all the runs: what is not
    measured fails nobody.
    """
    others = [name for name in ordered(diagnoses[0].table.metrics) if _is_quality(name)]
    return [
        name
        for name in (*QUALITY, *others)
        if (_alike(diagnoses) if name == GOOD_SHARE else all(_has(one, name) for one in diagnoses))
    ]


def _is_quality(name: str) -> bool:
    found = declared(name)
    if found is None or name in QUALITY or found.stage != "answer":
        return False
    return found.higher_is_better is True and found.bounds == (0.0, BEST)


def _has(diagnosis: Diagnosis, name: str) -> bool:
    table = diagnosis.table
    values = table.evidence[name] if name == "check_failed" else table.values(name)
    return bool(np.isfinite(values).any())


def _alike(diagnoses: Sequence[Diagnosis]) -> bool:
    """Whether the pass rate rests on the same measurements in all the runs, and on any."""
    found = [{name for name in DECIDING if _has(one, name)} for one in diagnoses]
    return bool(found[0]) and all(one == found[0] for one in found)


def right_from(quality: str, cutoffs: Cutoffs) -> float:
    """Give the value from which an answer counts as right: the metric's own cut-off where it has one."""
    return float(getattr(cutoffs, quality, RIGHT))
