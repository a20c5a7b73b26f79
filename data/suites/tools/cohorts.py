"""Which cases have some property of their tool calls: what the tables of the suite Tools open."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

import numpy as np

from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.suites.tools.calls import call_checks
from ragtriage.metrics.schema.scores import BoolArray

Detail = Mapping[str, Any]
Matches = Callable[[Detail, Sequence[str]], bool]
LONGEST = 2000


def _listed(detail: Detail, key: str, fields: Sequence[str], wanted: Sequence[str]) -> bool:
    """Return whether an entry of a list has the wanted fields; those that are "" do not matter."""
    return any(
        all(not text or str(entry.get(field)) == text for field, text in zip(fields, wanted, strict=False))
        for entry in detail.get(key, ())
    )


def _invented(detail: Detail, wanted: Sequence[str]) -> bool:
    return _listed(detail, "invented", ("kind", "call", "argument", "value"), ["identifier", *wanted])


def _inferred(detail: Detail, wanted: Sequence[str]) -> bool:
    entries = [entry for entry in detail.get("invented", ()) if entry["kind"] != "identifier"]
    return _listed({"invented": entries}, "invented", ("kind", "call", "argument"), wanted)


def _named(key: str) -> Matches:
    return lambda detail, wanted: bool(detail.get(key)) and (not wanted or wanted[0] in detail[key])


# key -> title, and which details match the rest of the parts
COHORTS: Mapping[str, tuple[str, Matches]] = {
    "selection": (
        "calls other tools than expected",
        lambda detail, _: bool(detail.get("missing") or detail.get("needless")),
    ),
    "missing": ("misses an expected call", _named("missing")),
    "needless": ("makes a needless call", _named("needless")),
    "either": (
        "misses a call or makes a needless one",
        lambda detail, wanted: _named("missing")(detail, wanted) or _named("needless")(detail, wanted),
    ),
    "arguments": (
        "calls a tool with wrong arguments",
        lambda detail, wanted: _listed(detail, "errors", ("error", "call", "argument"), wanted),
    ),
    "unwanted": (
        "calls a tool where no call is right",
        lambda detail, _: detail.get("expected") == 0 and bool(detail.get("called")),
    ),
    "silent": (
        "calls no tool where a call is right",
        lambda detail, _: detail.get("wants_call") is True and not detail.get("called"),
    ),
    "order": ("calls tools in another order", lambda detail, _: detail.get("in_order") is False),
    "invented": ("invents an identifier", _invented),
    "inferred": ("gives an argument a value that nothing read holds", _inferred),
    "error_results": ("gets an error from a tool", lambda detail, _: bool(detail.get("error_results"))),
    "empty_results": (
        "gets an empty result from a tool",
        lambda detail, _: bool(detail.get("empty_results")),
    ),
    "unreadable": ("has calls or schemas that cannot be read", lambda detail, _: bool(detail.get("fault"))),
}


def call_cohort(key: str, *parts: str) -> str:
    """Return the cohort of the cases with some property of their calls."""
    return f"calls:{'/'.join([key, *(quote(part, safe='') for part in parts)])}"


def cohort_title(value: str) -> str:
    """Return what the cases of a cohort have in common.

    Raises:
        ValueError: the value names none.
    """
    key, parts = _split(value)
    shown = [part for part in parts if part]
    return f"{COHORTS[key][0]}{': ' if shown else ''}{', '.join(shown)}"


def matching_calls(scored: ScoredRun, value: str) -> BoolArray:
    """(n,) True for the samples of a cohort.

    Raises:
        ValueError: the value names none.
    """
    key, parts = _split(value)
    matching = np.zeros(scored.n, dtype=np.bool_)
    checks = call_checks(scored)
    if checks is not None:
        matches = COHORTS[key][1]
        chosen = [place for place, detail in enumerate(checks.details) if matches(detail, parts)]
        matching[checks.sample[chosen]] = True
    return matching


def _split(value: str) -> tuple[str, list[str]]:
    key, *parts = value[: LONGEST + 1].split("/")
    if key not in COHORTS or len(parts) > 3 or len(value) > LONGEST:
        raise ValueError(
            f"{value[:60]!r}; accepted: one of {', '.join(COHORTS)}, with its parts after slashes"
        )
    return key, [unquote(part) for part in parts]
