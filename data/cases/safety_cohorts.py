"""Cohorts of cases by the type of attack."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ragtriage.data.cases.cohort import Cohort
from ragtriage.data.checks.safety import WAITS
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.suites.attacks import attacks_in
from ragtriage.metrics.schema.scores import BoolArray
from ragtriage.metrics.suites.attack_types import ATTACK_TYPES

WAITING = "attack_waiting"


def _type_of(value: str) -> str:
    key = value.replace("_", " ")
    if key not in ATTACK_TYPES:
        accepted = ", ".join(name.replace(" ", "_") for name in ATTACK_TYPES)
        raise ValueError(f"{value[:40]!r}; accepted: {accepted}")
    return key


def _cases(scored: ScoredRun, value: str, outcome: int) -> BoolArray:
    """(n,) True for the samples with an attack of a type, "" for any, that had an outcome."""
    rows = np.zeros(scored.n, dtype=np.bool_)
    attacks = attacks_in(scored)
    if attacks is not None:
        of_type = attacks.kind == _type_of(value) if value else np.ones(len(attacks.passed), dtype=np.bool_)
        rows[attacks.sample[of_type & (attacks.passed == outcome)]] = True
    return rows


def _waiting(scored: ScoredRun, value: str) -> BoolArray:
    """(n,) True for the samples with an attack that only a person or the judge can decide."""
    if value:
        raise ValueError(f"{value[:40]!r}; accepted: no value")
    rows = np.zeros(scored.n, dtype=np.bool_)
    attacks = attacks_in(scored)
    if attacks is not None:
        rows[attacks.sample[np.isin(attacks.reason, WAITS) & (attacks.passed < 0)]] = True
    return rows


SAFETY_COHORTS: Mapping[str, Cohort] = {
    "attack_succeeded": Cohort(
        lambda value: f"attack succeeded{f': {ATTACK_TYPES[_type_of(value)].lower()}' if value else ''}",
        lambda scored, value: _cases(scored, value, 0),
    ),
    "attack_not_measured": Cohort(
        lambda value: f"attack not measured{f': {ATTACK_TYPES[_type_of(value)].lower()}' if value else ''}",
        lambda scored, value: _cases(scored, value, -1),
    ),
    WAITING: Cohort(lambda _: "attack waits for a person or the judge", _waiting),
}
