"""Benchmarks of tool calls: BFCL's cases, tau-bench's runs. Their calls become checks of Tools."""

from collections.abc import Mapping
from typing import Any

from ragtriage.data.errors import ValidationErrors, type_name
from ragtriage.data.importers.importer import Options, Peek, Reader, Row, read_each
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.rows import open_table
from ragtriage.data.importers.parsing.shapes import objects
from ragtriage.data.store.parsed_run import ParsedRun

CASE_ACCEPTED = "a row with tools and messages, or with function and question, as BFCL writes it"
NO_CALLS = "no calls are recorded, the checks are not measured: add actual_calls to the rows"
EXPECTED = ("expected_calls", "ground_truth")
ACTUAL = ("actual_calls", "tool_calls", "calls", "result")
IDS = ("question_id", "id")
OF_CASE = {*EXPECTED, *ACTUAL, *IDS, "messages", "question", "tools", "function", "expects_call"}


def _is_bfcl(peek: Peek) -> bool:
    lists = all(isinstance(peek.first.get(name), list) for name in ("question", "function"))
    return peek.columns >= {"messages", "tools", "expected_calls"} or ("id" in peek.columns and lists)


def _read_cases(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read cases with the calls made, where the rows hold them; without them each check is not measured."""
    columns = open_table(source, ValidationErrors(source.name), options.limit, rows=options.rows).columns
    note = "" if set(ACTUAL) & set(columns) else NO_CALLS
    return read_each("bfcl", _case, CASE_ACCEPTED, note)(source, options, errors)


def _messages(row: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the messages up to the last one of the user; of several turns, those of the first."""
    listed = row.get("messages", row.get("question"))
    if isinstance(listed, str):
        return [{"role": "user", "text": listed}]
    turn = listed[0] if isinstance(listed, list) and listed and isinstance(listed[0], list) else listed
    messages = [
        {"role": str(message.get("role") or "user"), "text": message["content"]}
        for message in objects(turn)
        if isinstance(message.get("content"), str)
    ]
    last = max((place for place, message in enumerate(messages) if message["role"] == "user"), default=-1)
    return messages[: last + 1]


def _case(row: Row, line: int, errors: ValidationErrors) -> Row | None:
    messages = _messages(row)
    if not messages:
        errors.add(line, "messages", "holds no message of a user", CASE_ACCEPTED)
        return None
    name = next((str(row[key]) for key in IDS if row.get(key) is not None), None)
    tools = row.get("tools", row.get("function"))
    check: Row = {"name": "tool calls", "kind": "tool", "expected": _expected(row, name or "")}
    actual = next((row[key] for key in ACTUAL if row.get(key) is not None), None)
    if isinstance(actual, str):
        actual = []  # a reply in words: no call
    sample = {
        "question_id": name,
        "question": messages[-1]["text"],
        "history": messages[:-1] or None,
        "tools": [tools] if isinstance(tools, Mapping) else tools,
        "checks": [check | ({} if actual is None else {"actual": actual})],
        "tags": {"category": name.rstrip("0123456789-").rstrip("_")} if name else None,
    }
    return {key: value for key, value in row.items() if key not in OF_CASE} | {
        key: value for key, value in sample.items() if value is not None
    }


def _expected(row: Mapping[str, Any], name: str) -> Any:
    """Return the accepted calls; where none are listed, whether any call is right, or none at all."""
    calls = next((row[key] for key in EXPECTED if row.get(key) is not None), None)
    if calls is not None:
        return calls
    expects = row.get("expects_call")
    if expects is None:
        expects = None if "relevance" not in name else "irrelevance" not in name
    return None if expects is None else {"any_call": True} if expects else []


TRIAL_ACCEPTED = "a row with task_id, trial, instruction, expected_actions, calls and reward"
OF_TRIAL = {
    *("task_id", "trial", "reward", "expected_actions", "calls", "instruction", "user_id", "messages")
}
REWARD = {"direction": "higher", "range": [0, 1], "title": "Reward"}
# The tools of tau-bench that change its database; the rest look something up.
WRITES = (
    *("book_reservation", "cancel_reservation", "send_certificate", "update_reservation_baggages"),
    *("update_reservation_flights", "update_reservation_passengers"),
    *("cancel_pending_order", "exchange_delivered_order_items", "modify_pending_order_address"),
    *("modify_pending_order_items", "modify_pending_order_payment", "modify_user_address"),
    "return_delivered_order_items",
)
NOTE = (
    "calls of tools that change something are compared, reads need not match; the reward is a check of its "
    "own, as the state of the database may be right with other calls"
)


def _trial(row: Row, line: int, errors: ValidationErrors) -> Row | None:
    if not isinstance(row.get("instruction"), str) or not row["instruction"].strip():
        errors.add(line, "instruction", f"found {type_name(row.get('instruction'))}", TRIAL_ACCEPTED)
        return None
    gold, calls = objects(row.get("expected_actions")), row.get("calls")
    names = {str(call.get("name")) for call in (*gold, *objects(calls)) if call.get("name")}
    reward = row.get("reward")
    checks: list[Row] = [{"name": "calls", "kind": "tool", "expected": gold}]
    checks[0] |= {} if calls is None else {"actual": calls}
    if isinstance(reward, int | float):
        outcome = {"name": "reward", "kind": "task outcome", "expected": 1, "actual": reward}
        checks.append(outcome | {"passed": abs(reward - 1) <= 1e-6})
    sample = {
        "question_id": None if row.get("task_id") is None else str(row["task_id"]),
        "repeat": row.get("trial"),
        "question": row["instruction"],
        "history": [
            {"role": str(message.get("role") or "user"), "text": message["text"]}
            for message in objects(row.get("messages"))
            if isinstance(message.get("text"), str)
        ],
        "account_id": row.get("user_id"),
        "tools": [
            {"name": name, "annotations": {"readOnlyHint": name not in WRITES}} for name in sorted(names)
        ],
        "checks": checks,
        "scores": {} if reward is None else {"reward": reward},
    }
    return {key: value for key, value in row.items() if key not in OF_TRIAL} | {
        key: value for key, value in sample.items() if value not in (None, [], {})
    }


READERS = {
    "bfcl": Reader(_read_cases, _is_bfcl),
    "tau_bench": Reader(read_each("tau_bench", _trial, TRIAL_ACCEPTED, NOTE, metrics={"reward": REWARD})),
}
