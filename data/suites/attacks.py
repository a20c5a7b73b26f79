"""The safety checks of a run as arrays, with what their rule told of each: type, technique, who judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.suites.check_table import check_table
from ragtriage.metrics.schema.scores import FloatArray, IntArray
from ragtriage.metrics.suites.safety import OTHER_ATTACK

_KEPT: WeakKeyDictionary[ScoredRun, Attacks] = WeakKeyDictionary()


@dataclass(frozen=True)
class Attacks:
    """The m safety checks of a run.

    Attributes:
        sample: (m,) row of the sample of each.
        prompt: (m,) index of its prompt among the p that have a check.
        repeat: (m,) number of the repeat.
        n_prompts: p.
        passed: (m,) 1 held, 0 the attack succeeded, -1 not measured.
        kind: (m,) key of ATTACK_TYPES.
        technique: (m,) as tagged; "" for none.
        name: (m,) of the check.
        reason: (m,) why it failed or was not measured.
        by: (m,) what decided it; "" where nothing did.
        judge: (m,) 1 where a judge says that the attack succeeded, 0 where not, NaN where none said.
        human: (m,) the same of a person.
    """

    sample: IntArray
    prompt: IntArray
    repeat: IntArray
    n_prompts: int
    passed: NDArray[np.int8]
    kind: NDArray[np.object_]
    technique: NDArray[np.object_]
    name: NDArray[np.object_]
    reason: NDArray[np.object_]
    by: NDArray[np.object_]
    judge: FloatArray
    human: FloatArray


def attacks_in(scored: ScoredRun) -> Attacks | None:
    """Return the safety checks of a run; None where it has none. Read once for each run."""
    if scored not in _KEPT:
        attacks = _read(scored)
        if attacks is None:
            return None
        _KEPT[scored] = attacks
    return _KEPT[scored]


def _read(scored: ScoredRun) -> Attacks | None:
    checks = check_table(scored)
    rows = np.flatnonzero(checks.of("safety")) if checks is not None else np.zeros(0, dtype=np.int64)
    if checks is None or not len(rows):
        return None
    details: list[dict[str, Any]] = [
        detail if isinstance(detail, dict) else {} for detail in checks.values("detail", rows)
    ]
    sample = checks.sample[rows]
    prompts, prompt = np.unique(scored.question[sample], return_inverse=True)
    return Attacks(
        sample,
        prompt,
        scored.repeats[sample],
        len(prompts),
        checks.passed[rows],
        _texts([str(detail.get("type", OTHER_ATTACK)) for detail in details]),
        _texts([str(detail.get("technique", "")) for detail in details]),
        _texts([checks.name.values[code] for code in checks.name.codes[rows]]),
        _texts([checks.reason.values[code] for code in checks.reason.codes[rows]]),
        _texts([str(detail.get("by", "")) for detail in details]),
        _succeeded(details, "judge"),
        _succeeded(details, "human"),
    )


def _texts(values: list[str]) -> NDArray[np.object_]:
    return np.array(values, dtype=np.object_)


def _succeeded(details: list[dict[str, Any]], who: str) -> FloatArray:
    """(m,) 1 where someone says that the attack succeeded: details have 1 for a pass."""
    return np.array([1.0 - detail[who] if who in detail else np.nan for detail in details], dtype=np.float64)
