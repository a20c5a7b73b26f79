"""Decide a check of tool calls, and tell which values of the arguments nothing that was read holds."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from ragtriage.data.suites.check import RECORDED, CheckedSample, CheckOutcome, RecordedCheck, recorded_outcome
from ragtriage.data.suites.tool.recorded_calls import NO_ERROR, Expected, MadeCall, expected_of, made_calls
from ragtriage.metrics.suites.grounding import ArgumentValue, Reading, argument_values
from ragtriage.metrics.suites.tool import (
    ArgumentError,
    ErrorKind,
    Selection,
    common_subsequence,
    paired_calls,
    schema_errors,
    selection,
)
from ragtriage.metrics.suites.tool_schemas import NO_SCHEMA, ToolSchema, tool_schemas

KEY = "tool"
MOST_PAIRS = 10_000
LONGEST_KEPT = 20_000  # characters of a passage that is kept normalised
NOTHING_READ = Reading(())
MOST_LOOKUPS = 100_000  # of a value in one text, in one check; the rest is undecided
MOST_LISTED = 50  # errors and values that a check lists; all are counted
SHOWN = 160  # characters of a value in a reason or a detail
FAILED_CALL = "the call failed"
UNREADABLE = "calls or schemas that cannot be read"
REASONS: Mapping[ErrorKind, str] = {
    "missing": "an argument is missing",
    "unexpected": "an unexpected argument",
    "type": "an argument of the wrong type",
    "value": "a wrong value of an argument",
    "malformed": "arguments that cannot be read",
}
Detail = dict[str, Any]


def tool_call_outcome(check: RecordedCheck, sample: CheckedSample) -> CheckOutcome:
    """Return whether the calls are the expected ones; a recorded verdict stands.

    Without a recorded verdict a check passes if just the expected tools were called, with right arguments,
    and in the expected order where the check says that it matters. A value that cannot be read as calls is
    compared as it is.
    """
    try:
        return _outcome(check, sample)
    except ValueError as fault:
        return _unreadable(check, sample, str(fault))
    except RecursionError:
        return _unreadable(check, sample, "the calls are nested too deeply")


def _unreadable(check: RecordedCheck, sample: CheckedSample, fault: str) -> CheckOutcome:
    """Return the recorded verdict, or none, with a sentence that names the sample."""
    reason = "" if check.passed else UNREADABLE if check.passed is None else RECORDED
    name = _shortened(str(sample["question_id"] or "without an id"), 80)
    return CheckOutcome(check.passed, reason, {"fault": f"Sample {name}: {_shortened(fault, 400)}."})


def _outcome(check: RecordedCheck, sample: CheckedSample) -> CheckOutcome:
    if check.expected == NO_ERROR and check.passed is not None:
        return CheckOutcome(check.passed, "" if check.passed else FAILED_CALL)
    calls = made_calls(check.actual)
    expected = expected_of(check.expected, check.kind, isinstance(check.actual, list))
    other = (calls, check.actual), (expected, check.expected)
    if any(read is None and value is not None for read, value in other) or (
        calls is None and expected is None
    ):
        return recorded_outcome(check)
    if max(1, len(calls or ())) * max(1, len(expected.calls) if expected else 0) > MOST_PAIRS:
        raise ValueError(f"more than {MOST_PAIRS:,} pairs of an expected and a made call to compare")
    schemas = _schemas(sample["tools"])
    detail: Detail = {}
    if calls is not None:
        detail = _origins(calls, schemas, sample, check.actual) | _results(calls)
    if calls is not None and expected is None:
        detail |= _held_against_schemas(calls, schemas)
        detail |= {"made": len(calls)} if check.passed is None else {}
    if expected is None or calls is None:
        verdict = CheckOutcome(None, f"no {'actual' if calls is None else 'expected'} calls are recorded")
    else:
        verdict = _compared(expected, calls, _writing(expected, schemas, sample), schemas, detail)
    if check.passed is None:
        return CheckOutcome(verdict.passed, verdict.reason, detail)
    recorded = "" if check.passed else verdict.reason or RECORDED
    return CheckOutcome(check.passed, recorded, detail | {"recorded": True})


def _compared(
    expected: Expected,
    actual_calls: Sequence[MadeCall],
    writing: frozenset[str] | None,
    schemas: Mapping[str, ToolSchema],
    detail: Detail,
) -> CheckOutcome:
    """Return the verdict of comparing calls, and add to the detail what the suite counts."""
    if expected.any_call:
        detail |= {"wants_call": True, "called": len(actual_calls)}
        return CheckOutcome(
            bool(actual_calls), "" if actual_calls else "no tool was called, one was expected"
        )
    wanted = [call for call in expected.calls if writing is None or call.name in writing]
    calls = [entry for entry in actual_calls if writing is None or entry.call.name in writing]
    chosen = selection([call.name for call in wanted], [entry.call.name for entry in calls])
    pairs = paired_calls(wanted, [entry.call for entry in calls], schemas)
    compared = [
        errors
        for entry, call, errors in pairs
        if entry.accepted is not None and (call.arguments is not None or bool(call.fault))
    ]
    errors = [error for faults in compared for error in faults]
    detail |= _selection_detail(chosen, expected.lists_all) | {
        "pairs": len(compared),
        "right": sum(not faults for faults in compared),
        "exact_calls": sum(not faults for _, _, faults in pairs),
        "errors": [_error_detail(error) for error in errors[:MOST_LISTED]],
    }
    if writing is not None:
        detail["writes"] = True
    reasons = _reasons(chosen, expected.lists_all, errors)
    if expected.ordered:
        names = [call.name for call in wanted], [entry.call.name for entry in calls]
        detail |= {"in_order": names[0] == names[1], "common": common_subsequence(*names)}
        reasons += ["calls in another order"] * (
            names[0] != names[1] and sorted(names[0]) == sorted(names[1])
        )
    return CheckOutcome(not reasons, "; ".join(reasons))


def _selection_detail(chosen: Selection, lists_all: bool) -> Detail:
    detail: Detail = {"expected": chosen.expected, "hits": chosen.hits, "missing": list(chosen.missing)}
    if lists_all:
        detail |= {"called": chosen.called, "needless": list(chosen.needless)}
    return detail


def _reasons(chosen: Selection, lists_all: bool, errors: Sequence[ArgumentError]) -> list[str]:
    """Return why calls are not the expected ones, without their values: reasons are counted."""
    needless = lists_all and chosen.needless
    reasons = ["a call is missing"] * bool(chosen.missing)
    if needless:
        reasons.append("a needless call" if chosen.expected else "a call where none is right")
    return reasons + list(dict.fromkeys(REASONS[error.kind] for error in errors))


def _error_detail(error: ArgumentError) -> Detail:
    detail: Detail = {"call": error.call, "argument": error.argument, "error": error.kind}
    if error.kind not in ("missing", "malformed"):
        detail["value"] = _shown(error.value)
    if error.accepted:
        detail["accepted"] = _shown(error.accepted[0] if len(error.accepted) == 1 else list(error.accepted))
    return detail


def _writing(
    expected: Expected, schemas: Mapping[str, ToolSchema], sample: CheckedSample
) -> frozenset[str] | None:
    """Return the tools that write, where check, tag or schemas say so: then only they are compared."""
    if expected.writes is not None:
        return frozenset(expected.writes)
    tagged = next((tag["value"] for tag in sample["tags"] or () if tag["key"] == "write_tools"), None)
    if tagged is not None:
        return frozenset(filter(None, (name.strip() for name in str(tagged).split(","))))
    declared = [schema for schema in schemas.values() if schema.writes is not None]
    if not declared:
        return None
    return frozenset(schema.name for schema in schemas.values() if schema.writes is not False)


def _held_against_schemas(actual_calls: Sequence[MadeCall], schemas: Mapping[str, ToolSchema]) -> Detail:
    """Return how many calls can be held against the schema of their tool, how many fit, and what breaks it.

    Nothing says which calls are right; a schema still says which arguments are wrong.
    """
    calls = [(entry.call, schemas.get(entry.call.name, NO_SCHEMA)) for entry in actual_calls]
    held = [
        schema_errors(call, schema)
        for call, schema in calls
        if call.fault or (call.arguments is not None and schema.properties is not None)
    ]
    errors = [error for faults in held for error in faults]
    return {
        "schema_calls": len(held),
        "schema_fits": sum(not faults for faults in held),
        "errors": [_error_detail(error) for error in errors[:MOST_LISTED]],
    }


def _origins(
    calls: Sequence[MadeCall], schemas: Mapping[str, ToolSchema], sample: CheckedSample, actual: object
) -> Detail:
    """Return how many values of arguments were looked up, and those that nothing read before holds.

    Where an earlier result is not recorded whole, a value that is not found is undecided, unless the call
    itself says which of its values were not found. So are the values after the first MOST_LOOKUPS lookups, as
    of a trace with a thousand calls.
    """
    more, whole = _read_beside(actual)
    readings = [_reading(text) for text in dict.fromkeys([*_read_texts(sample), *more])]
    counts: Detail = {
        "values": 0,
        "identifiers": 0,
        "undecided": 0,
        "not_found": 0,
        "invented_identifiers": 0,
    }
    invented: list[Detail] = []
    lookups = 0
    for entry in calls:
        schema = schemas.get(entry.call.name, NO_SCHEMA)
        for value in argument_values(entry.call.arguments or {}):
            lookups += len(readings)
            if lookups > MOST_LOOKUPS:
                counts["undecided"] += 1
                continue
            if not _is_held(entry, value, readings, schema):
                if entry.ungrounded is None and not whole:
                    counts["undecided"] += 1
                    continue
                counts["not_found"] += 1
                counts["invented_identifiers"] += value.kind == "identifier"
                invented.append(_invented(entry, value))
            counts["values"] += 1
            counts["identifiers"] += value.kind == "identifier"
        if entry.result_text:
            readings.append(Reading([entry.result_text]))
        whole = whole and entry.result_is_whole
    return counts | {"invented": invented[:MOST_LISTED]}


def _is_held(entry: MadeCall, value: ArgumentValue, readings: Sequence[Reading], schema: ToolSchema) -> bool:
    """Return whether a value was read before its call; what the call itself says of it goes first."""
    if entry.ungrounded is not None and value.path not in entry.ungrounded:
        return True
    return any(reading.holds(value) for reading in readings) or NOTHING_READ.holds(
        value, schema.known_values(value.argument)
    )


def _reading(text: str) -> Reading:
    """Return what was read; passages that many samples have are normalised once."""
    return _kept_reading(text) if len(text) <= LONGEST_KEPT else Reading([text])


@lru_cache(maxsize=2048)
def _kept_reading(text: str) -> Reading:
    return Reading([text])


def _invented(entry: MadeCall, value: ArgumentValue) -> Detail:
    shown = _shown(value.value)
    return {"call": entry.call.name, "argument": value.path[:120], "value": shown, "kind": value.kind}


def _read_texts(sample: CheckedSample) -> list[str]:
    """Return what the system had read before its first call."""
    texts = [sample["question"], sample["prompt"], sample["account_id"], sample["conversation_id"]]
    texts += [turn["text"] for turn in sample["history"] or ()]
    texts += [document["text"] for document in sample["retrieved"] or ()]
    texts += [document["id"] for document in sample["retrieved"] or ()]
    return [text for text in dict.fromkeys(texts) if text]


def _read_beside(actual: object) -> tuple[list[str], bool]:
    """Return what a check says was read before its calls, and whether that is all of it."""
    if not isinstance(actual, Mapping):
        return [], True
    texts = actual.get("read")
    listed = [text for text in texts if isinstance(text, str)] if isinstance(texts, list) else []
    return listed, actual.get("read_is_whole") is not False


def _results(calls: Sequence[MadeCall]) -> Detail:
    known = [entry for entry in calls if entry.has_result]
    if not known:
        return {}
    return {
        "results": len(known),
        "error_results": sum(entry.is_error for entry in known),
        "empty_results": sum(entry.is_empty for entry in known),
    }


@lru_cache(maxsize=256)
def _schemas(text: str | None) -> Mapping[str, ToolSchema]:
    tools = json.loads(text) if text else []
    return tool_schemas(tools if isinstance(tools, list) else [tools])


def _shown(value: object) -> str:
    return _shortened(
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str), SHOWN
    )


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."
