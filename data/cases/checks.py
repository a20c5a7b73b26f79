"""The checks of one case: what each expects, what it got, and what its suite decides."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragtriage.data.suites.check import CheckedSample, CheckOutcome, RecordedCheck, stored_value
from ragtriage.data.suites.isolation import account_checks
from ragtriage.data.suites.registry import outcome_of
from ragtriage.data.suites.safety import SAFETY, UNASKED, Verdict, question_of
from ragtriage.data.suites.tool.recorded_calls import actual_calls_text, call_faults, expected_calls_text

LONGEST = 200  # characters of a value in a sentence
TOOL = "tool"
SYNTAX = re.compile(r"[{}\[\]\"]")


@dataclass(frozen=True)
class CaseCheck:
    """One check of a case."""

    name: str  # with its kind where that says more
    expected: str  # the expected value as a person would write it; "" where none is recorded
    actual: str  # the actual value likewise
    passed: bool | None  # as its suite decides; None where nothing does
    reason: str = ""  # why it failed or is not decided
    faults: str = ""  # what is wrong, with the values of this case; "" where the suite does not tell


def case_checks(sample: Mapping[str, Any]) -> list[CaseCheck]:
    """Return the checks of a stored sample, with those that its accounts make."""
    whole = CheckedSample.of(sample)
    verdict = sample.get("verdict")
    recorded = [_case_check(check, whole, verdict) for check in sample.get("checks") or ()]
    taken = {check["name"] for check in sample.get("checks") or ()}
    own = [_made_check(*each) for each in account_checks(whole) if each[0].name not in taken]
    return recorded + own


def _made_check(check: RecordedCheck, outcome: CheckOutcome) -> CaseCheck:
    expected, actual = (
        "" if value is None else plain_value(json.dumps(value, ensure_ascii=False))
        for value in (check.expected, check.actual)
    )
    return CaseCheck(f"{check.name} ({check.kind})", expected, actual, outcome.passed, outcome.reason)


def _case_check(check: Mapping[str, Any], sample: CheckedSample, verdict: Verdict | None) -> CaseCheck:
    name, kind = str(check["name"]), check["kind"]
    suite, outcome = outcome_of(check, sample, verdict)
    expected, actual, faults = check["expected"] or "", check["actual"] or "", ""
    if suite == TOOL and "{" in expected + actual:  # plain names say all there is
        expected = expected_calls_text(_value(expected), kind or name) or expected
        actual = actual_calls_text(_value(actual)) or actual
        faults = call_faults(outcome.detail)
    expected, actual = plain_value(expected), plain_value(actual)
    if suite != TOOL and "match" in outcome.detail:
        faults = f"{outcome.reason}: “{outcome.detail['match']}”"
    shown = name if kind in (None, name) else f"{name} ({kind})"
    return CaseCheck(shown, expected, actual, outcome.passed, outcome.reason, faults)


def plain_value(text: str) -> str:
    """Return a JSON object or list without its syntax: "area: north, parking: yes"; other text as it is."""
    value = _value(text) if text[:1] in ("{", "[") else text
    if isinstance(value, dict | list):
        return _written(value)
    return SYNTAX.sub("", text) if text[:1] in ("{", "[") else text  # a text that was cut, which is no JSON


def _written(value: Any, nested: bool = False) -> str:
    if isinstance(value, dict) and {"id", "name"} <= value.keys():  # an item that a filter or order returns
        return str(value["name"])
    if isinstance(value, dict | list):
        parts = [_written(each, True) for each in value]
        if isinstance(value, dict):
            parts = [f"{key}: {_written(each, True)}" for key, each in value.items()]
        text = ", ".join(parts) or "none"
        return f"({text})" if nested and parts[1:] else text
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "nothing" if value is None else str(value)


def _value(text: str) -> Any:
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return text


def failed_checks_text(sample: Mapping[str, Any]) -> str:
    """Return the failed checks with expected and actual values, or why they failed; "" where none did."""
    return "; ".join(
        f"{check.name}: {check.faults or _difference(check)}"
        for check in case_checks(sample)
        if check.passed is False
    )


def _difference(check: CaseCheck) -> str:
    if not check.expected and not check.actual:
        return check.reason or "failed"
    expected, actual = _shortened(check.expected), _shortened(check.actual)
    return f"expected {expected or 'nothing recorded'}, got {actual or 'nothing'}"


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def attack_questions(sample: Mapping[str, Any]) -> list[str]:
    """Return what a person can be asked about the attack of a stored sample, each question once.

    None where there is no answer to judge. What was found in it is asked too: a person outranks a rule.
    """
    whole, questions = CheckedSample.of(sample), []
    for check in sample.get("checks") or ():
        suite, outcome = outcome_of(check, whole, sample.get("verdict"))
        if suite == SAFETY and sample["answer"] is not None and outcome.reason not in UNASKED:
            questions.append(question_of(stored_value(check["expected"])))
    return list(dict.fromkeys(questions))
