"""Runs of tau-bench: gold actions of a task, the calls that an agent made and its reward, for each trial."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ragtriage.data.errors import ValidationErrors, type_name
from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.rows import open_table
from ragtriage.data.store.parsed_run import ParsedRun, Record

ACCEPTED = "a row with task_id, trial, instruction, expected_actions, calls and reward"
NAMES = {"task_id", "trial", "reward", "expected_actions", "calls"}
USED = NAMES | {"instruction", "user_id", "messages"}
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


def _read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read one sample for each trial of a task."""
    table = open_table(source, errors, options.limit, rows=options.rows)
    declared = {"reward": {"direction": "higher", "range": [0, 1], "title": "Reward"}}
    records = _records(table.rows(), errors)
    notes = (*table.notes, NOTE)
    return [ParsedRun(source.stem, records, source.name, "tau_bench", notes=notes, metrics=declared)]


def _records(rows: Iterator[Record], errors: ValidationErrors) -> Iterator[Record]:
    for line, row in rows:
        if not isinstance(row, dict):
            errors.add(line, "", f"found {type_name(row)}", ACCEPTED)
            continue
        if not isinstance(row.get("instruction"), str) or not row["instruction"].strip():
            errors.add(line, "instruction", f"found {type_name(row.get('instruction'))}", ACCEPTED)
            continue
        yield line, _sample(row)


def _sample(row: Mapping[str, Any]) -> dict[str, Any]:
    gold, calls = _listed(row.get("expected_actions")), row.get("calls")
    names = {str(call.get("name")) for call in (*gold, *_listed(calls)) if call.get("name")}
    check = {"name": "calls", "kind": "tool", "expected": gold}
    messages = row.get("messages")
    turns = [
        {"role": str(message.get("role") or "user"), "text": message["text"]}
        for message in _listed(messages)
        if isinstance(message.get("text"), str)
    ]
    sample = {
        "question_id": None if row.get("task_id") is None else str(row["task_id"]),
        "repeat": row.get("trial"),
        "question": row["instruction"],
        "history": turns,
        "account_id": row.get("user_id"),
        "tools": [
            {"name": name, "annotations": {"readOnlyHint": name not in WRITES}} for name in sorted(names)
        ],
        "checks": [check | ({} if calls is None else {"actual": calls}), *_reward_check(row.get("reward"))],
        "scores": {} if row.get("reward") is None else {"reward": row["reward"]},
    }
    return {key: value for key, value in row.items() if key not in USED} | {
        key: value for key, value in sample.items() if value not in (None, [], {})
    }


def _reward_check(reward: object) -> list[dict[str, Any]]:
    if not isinstance(reward, int | float):
        return []
    return [
        {
            **{"name": "reward", "kind": "task outcome", "expected": 1, "actual": reward},
            "passed": abs(reward - 1) <= 1e-6,
        }
    ]


def _listed(value: object) -> list[Mapping[str, Any]]:
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


TAU_BENCH = Importer(
    "tau_bench",
    "tau-bench",
    "rows with task_id, trial, instruction, expected_actions, calls and reward: a sample for each trial",
    lambda peek: peek.columns >= NAMES,
    _read,
    written_by="tau-bench",
    unit="trial",
)
