"""Checks of the suite memory: was what an earlier turn said remembered.

`expected` names what to remember: `memory_id` (an id, or a list of them, among the retrieved documents, the
first `k` of them where given), `fact` (a text that the answer must hold) or `turn` (one that a retrieved
document must hold). The age comes from `days`, or from `day` (when it was said) and `asked` (the day of the
question). `actual` says what was recalled instead: ids, a text, or true or false.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from ragtriage.data.suites.check import (
    CheckedSample,
    CheckOutcome,
    MalformedCheckError,
    RecordedCheck,
    recorded_outcome,
    shown,
)
from ragtriage.data.suites.check_table import CheckedRun, counts_of
from ragtriage.data.suites.suite import (
    Figure,
    Part,
    Suite,
    SuiteChecks,
    figure_values,
    part_cohort,
    suite_checks,
)
from ragtriage.data.text.tokens import folded_question
from ragtriage.metrics.suites.items import GAPS, gap_label, number_of

FORGOTTEN = "what was to be remembered is not there"
KEY = "memory"
RANKS = (1, 3, 5, 10)
_NAMED = ("memory_id", "fact", "turn")
_KEYS = (*_NAMED, "day", "asked", "days", "k")


def memory_outcome(check: RecordedCheck, sample: CheckedSample) -> CheckOutcome:
    """Return what evaluating a memory check finds; a recorded verdict stands.

    Raises:
        MalformedCheckError: its expected value cannot be read.
    """
    expected = read_memory(check)
    if expected is None:
        return recorded_outcome(check)
    gap = _gap(expected)
    detail: dict[str, Any] = {"days": gap, "gap": None if gap is None else gap_label(gap)}
    if check.passed is not None:
        return CheckOutcome(check.passed, "" if check.passed else FORGOTTEN, detail)
    recalled, rank = _recalled(expected, check.actual, sample)
    detail |= {"rank": rank, "ranked": "fact" not in expected and not isinstance(check.actual, bool)}
    if recalled is None:
        return CheckOutcome(None, "nothing recalled is recorded, and no answer or document", detail)
    return CheckOutcome(recalled, "" if recalled else FORGOTTEN, detail)


def read_memory(check: RecordedCheck) -> dict[str, Any] | None:
    """Return what a memory check expects; None where its expected value is none of ours.

    Raises:
        MalformedCheckError: a day, an age or k cannot be read, or a key is not known.
    """
    expected = check.expected
    if not isinstance(expected, Mapping) or not any(key in expected for key in _NAMED):
        return None
    unknown = [key for key in expected if key not in _KEYS]
    if unknown:
        raise MalformedCheckError(f"unknown {shown(unknown[0])}", ", ".join(_KEYS))
    for name in ("fact", "turn"):
        if name in expected and not (isinstance(expected[name], str) and expected[name].strip()):
            raise MalformedCheckError(f"{name} {shown(expected[name])}", "text")
    k = expected.get("k")
    if k is not None and (isinstance(k, bool) or not isinstance(k, int) or k < 1):
        raise MalformedCheckError(f"k {shown(k)}", "a whole number of 1 or more")
    _gap(expected)
    return dict(expected)


def _gap(expected: Mapping[str, Any]) -> float | None:
    """Return the age in days of what is to be remembered; None where it is not told."""
    if expected.get("days") is not None:
        days = number_of(expected["days"])
        if days is None or days < 0:
            raise MalformedCheckError(f"days {shown(expected['days'])}", "a number of 0 or more")
        return days
    day, asked = (_day(expected, name) for name in ("day", "asked"))
    if day is None or asked is None:
        return None
    if asked < day:
        raise MalformedCheckError(f"asked {asked} before day {day}", "a day that is not earlier")
    return float((asked - day).days)


def _day(expected: Mapping[str, Any], name: str) -> date | None:
    if expected.get(name) is None:
        return None
    try:
        return date.fromisoformat(str(expected[name])[:10])
    except ValueError:
        raise MalformedCheckError(f"{name} {shown(expected[name])}", "a day such as 2023-05-02") from None


def _recalled(
    expected: Mapping[str, Any], actual: Any, sample: CheckedSample
) -> tuple[bool | None, int | None]:
    """Return whether it was recalled, and the 1-based rank of the first document that holds it."""
    if isinstance(actual, bool):
        return actual, None
    documents = sample["retrieved"]
    if "memory_id" in expected:
        wanted = expected["memory_id"]
        names = {str(identifier) for identifier in (wanted if isinstance(wanted, list) else [wanted])}
        if actual is not None:
            ids = [str(identifier) for identifier in (actual if isinstance(actual, list) else [actual])]
        elif documents is None:
            return None, None
        else:
            ids = [str(document["id"]) for document in documents]
        rank = next((at for at, name in enumerate(ids[: expected.get("k")], start=1) if name in names), None)
        return rank is not None, rank
    return _told(str(expected.get("fact") or expected.get("turn")), "turn" in expected, actual, sample)


def _told(
    fact: str, in_documents: bool, actual: Any, sample: CheckedSample
) -> tuple[bool | None, int | None]:
    wanted = folded_question(fact)
    if isinstance(actual, str) or (actual is None and not in_documents):
        text = actual if isinstance(actual, str) else sample["answer"]
        return (None, None) if not text else (wanted in folded_question(text), None)
    texts = (
        actual if isinstance(actual, list) else [document["text"] for document in sample["retrieved"] or ()]
    )
    if not texts:
        return None, None
    held = (at for at, text in enumerate(texts, start=1) if wanted in folded_question(str(text or "")))
    rank = next(held, None)
    return rank is not None, rank


@dataclass(frozen=True)
class MemoryFindings:
    """What the memory checks of a run amount to."""

    recall: tuple[Figure, ...]  # share recalled, then among the first k documents where ranks are known
    by_gap: tuple[Figure, ...]  # share recalled by the age of what was said
    within: tuple[Figure, ...]  # share recalled of what was said at most some days ago
    n_decided: int  # checks that passed or failed
    n_recalled: int  # those that passed
    counts: Mapping[str, Mapping[str, int]]  # age -> how many were decided ("n") and recalled

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {**counts_of(self), "by_gap": self.counts, **figure_values(self.recall)}


def _findings(run: CheckedRun) -> MemoryFindings | None:
    """Return what the memory checks of a run amount to; None where none says what to remember."""
    checks = _with_verdicts(suite_checks(run, KEY).having("gap"))
    if not len(checks):
        return None
    gaps = [
        label for label in (*(label for _, label in GAPS), gap_label(1e9)) if len(checks.having("gap", label))
    ]
    within = [
        days
        for days, _ in GAPS
        if any(detail["days"] is not None and detail["days"] <= days for detail in checks.details)
    ]
    counts: dict[str, dict[str, int]] = {}
    for detail in checks.details:
        entry = counts.setdefault(detail["gap"] or "age not recorded", {"n": 0, "recalled": 0})
        entry["n"] += detail["recalled"] is not None
        entry["recalled"] += detail["recalled"] == 1
    return MemoryFindings(
        (Figure("recall", "Recalled", checks.mean(_is_recalled)), *_recall_at(checks)),
        tuple(
            Figure(gap, gap, checks.having("gap", gap).mean(_is_recalled), part_cohort(KEY, "gap", gap))
            for gap in gaps
        ),
        tuple(
            Figure(str(days), f"{days} {'day' if days == 1 else 'days'}", checks.mean(_of_age(days)))
            for days in within
        ),
        int((checks.passed >= 0).sum()),
        int((checks.passed == 1).sum()),
        counts,
    )


def memory_recall(run: CheckedRun) -> tuple[Figure, ...]:
    """Return the share of memories among the first k documents; () where a run does not measure it."""
    return _recall_at(_with_verdicts(suite_checks(run, KEY).having("ranked", True)))


def _with_verdicts(checks: SuiteChecks) -> SuiteChecks:
    """Return checks whose details say whether it was recalled; None where that is not measured."""
    return checks.with_details(
        [
            {**detail, "recalled": None if passed < 0 else float(passed)}
            for detail, passed in zip(checks.details, checks.passed.tolist(), strict=True)
        ]
    )


def _recall_at(checks: SuiteChecks) -> tuple[Figure, ...]:
    if not any(detail.get("ranked") for detail in checks.details):
        return ()
    deepest = max(detail.get("rank") or 1 for detail in checks.details)
    depths = [k for at, k in enumerate(RANKS) if not at or RANKS[at - 1] < deepest]
    return tuple(Figure(f"recall@{k}", f"In the first {k}", checks.mean(_within_rank(k))) for k in depths)


def _is_recalled(detail: Mapping[str, Any]) -> float | None:
    return detail.get("recalled")


def _within_rank(k: int) -> Callable[[Mapping[str, Any]], float | None]:
    def held(detail: Mapping[str, Any]) -> float | None:
        if detail.get("recalled") is None or not detail.get("ranked"):
            return None
        return float(detail.get("rank") is not None and detail["rank"] <= k)

    return held


def _of_age(days: int) -> Callable[[Mapping[str, Any]], float | None]:
    return lambda detail: (
        _is_recalled(detail) if detail["days"] is not None and detail["days"] <= days else None
    )


MEMORY_SUITE = Suite(
    KEY,
    _findings,
    memory_outcome,
    read_memory,
    {"gap": Part("forgotten after {}", lambda detail, gaps: [detail.get("gap")] == gaps, failed_only=True)},
)
