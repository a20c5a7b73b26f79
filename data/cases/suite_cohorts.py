"""Cohorts of cases by their checks.

The value of `check` is the suite and the name of the check, both quoted as in a URL and parted by a slash, so
that a name with any character stays one value.
"""

from collections.abc import Mapping
from urllib.parse import quote, unquote

import numpy as np

from ragtriage.data.cases.cohort import Cohort
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.suites.check_table import check_table
from ragtriage.data.suites.registry import part_rows, part_title
from ragtriage.data.suites.router import decisions
from ragtriage.data.suites.safety import WAITS
from ragtriage.data.suites.safety_findings import attacks_in
from ragtriage.metrics.diagnosis.check_kinds import suite_title
from ragtriage.metrics.schema.scores import BoolArray
from ragtriage.metrics.suites.safety import ATTACK_TYPES

LONGEST_VALUE = 400


def suite_cohort(suite: str) -> str:
    """Return the cohort of the cases that fail a check of a suite."""
    return f"suite:{quote(suite, safe='')}"


def check_cohort(suite: str, name: str, reason: str = "") -> str:
    """Return the cohort of the cases that fail a check of a name, for one reason where that is given.

    A name that is too long for an address gives the cohort of the whole suite.
    """
    parts = [suite, name, *([reason] if reason else [])]
    value = "/".join(quote(part, safe="") for part in parts)
    return f"check:{value}" if len(value) <= LONGEST_VALUE * 3 else suite_cohort(suite)


def _parts(value: str, most: int) -> list[str]:
    parts = [unquote(part) for part in value.split("/")]
    if not value or len(value) > LONGEST_VALUE * 3 or len(parts) > most:
        raise ValueError(f"{value[:60]!r}; accepted: the key of a suite, or SUITE/NAME")
    return parts


def _failing(scored: ScoredRun, parts: list[str]) -> BoolArray:
    """(n,) True for the samples that fail a check of a suite, a name and a reason."""
    failing = np.zeros(scored.n, dtype=np.bool_)
    checks = check_table(scored)
    if checks is not None:
        suite, name, reason = [*parts, "", ""][:3]
        matching = checks.of(suite) & checks.failed
        if name:
            matching &= checks.name.equal(name)
        if reason:
            matching &= checks.reason.equal(reason)
        failing[checks.sample[matching]] = True
    return failing


def _check_title(value: str) -> str:
    suite, name, reason = [*_parts(value, 3), "", ""][:3]
    return f"fails {name or suite_title(suite)}{f': {reason}' if reason else ''}"


def _route_rows(scored: ScoredRun, value: str) -> BoolArray:
    """(n,) True for the samples that should take one route and took another; "" stands for any wrong one."""
    wanted = _routes(value)
    rows = np.zeros(scored.n, dtype=np.bool_)
    checks = check_table(scored)
    for decision in [] if checks is None else decisions(checks):
        expected, actual = (
            [*decision.routes].index(route) if route in decision.routes else -1 for route in wanted
        )
        taken = decision.actual == actual if wanted[1] else decision.actual != decision.expected
        rows[decision.sample[(decision.expected == expected) & taken]] = True
    return rows


def _routes(value: str) -> tuple[str, str]:
    expected, arrow, actual = value.partition(">")
    if not arrow or not expected or len(value) > LONGEST_VALUE * 3:
        raise ValueError(f"{value[:60]!r}; accepted: EXPECTED>TAKEN")
    return unquote(expected), unquote(actual)


def _route_title(value: str) -> str:
    expected, actual = _routes(value)
    return f"should go to {expected} and {f'goes to {actual}' if actual else 'goes elsewhere'}"


SUITE_COHORTS: Mapping[str, Cohort] = {
    "suite": Cohort(
        lambda value: f"fails a check of the suite {suite_title(_parts(value, 1)[0])}",
        lambda scored, value: _failing(scored, _parts(value, 1)),
    ),
    "route": Cohort(_route_title, _route_rows),
    "check": Cohort(_check_title, lambda scored, value: _failing(scored, _parts(value, 3))),
}


PART_COHORTS: Mapping[str, Cohort] = {
    "part": Cohort(part_title, part_rows),
    "calls": Cohort(  # in addresses of earlier versions
        lambda value: part_title(f"tool/{value}"), lambda scored, value: part_rows(scored, f"tool/{value}")
    ),
}


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
