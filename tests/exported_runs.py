"""A run with ids of the tool that recorded it, for the tests of exports back to tools."""

from __future__ import annotations

from typing import Any

from ragtriage.data.api import add_run
from ragtriage.data.scoring.run_store import RunStore

__all__ = ["IDS", "RECORDS", "traced_run"]

IDS = [
    {
        "trace_id": f"{at:032x}",
        "span_id": f"{10**15 + at}",  # all digits, as some are: CSV readers take it for a number
        "run_id": f"01a1fff5-4061-781f-b23b-f1b4cee3cd{at:02x}",
    }
    for at in range(6)
]
SCORES: list[dict[str, Any]] = [
    {"faithfulness": {"value": 0.125, "reason": "=SUM(A1)\x00 of\nboth"}, "tone": 0.1 + 0.2},
    {"faithfulness": {"value": None, "reason": "judge timed out"}, "tone": 1},
    {"faithfulness": 1 / 3},
    {"tone": -2.5},
    {"faithfulness": 0},
    {"faithfulness": 1},
]
RECORDS: list[dict[str, Any]] = [
    {
        "question_id": f"q{at}",
        "question": f"Question {at}?",
        "answer": f"Answer {at}.",
        "retrieved": [{"id": "d1", "text": "one"}, {"id": "d2", "text": "two"}],
        "relevant": ["d2"],
        "scores": SCORES[at],
        **(IDS[at] if at < 5 else {}),  # the last was never traced
    }
    for at in range(6)
]
RECORDS[2]["human"] = [
    {"annotator": "ann", "metric": "correctness", "value": 4, "low": 1, "high": 5, "note": "misses a year"}
]


def traced_run(store: RunStore) -> str:
    """Load the run with two labels and a rating by people, and return its id."""
    run = add_run(RECORDS, "traced", workspace=str(store.workspace.root))
    ledger = store.ledger
    ledger.add_label((run.run_id, "q0", 0), "ann", "fail", "wrong year", "-1 would do")
    ledger.add_label((run.run_id, "q0", 0), "bob", "pass")
    ledger.add_label((run.run_id, "q1", 0), "bob", None, "", "a note alone")
    return run.run_id
