"""Files of sampled calls: refusals kept at 20 %, errors at 100 %, the rest at 5 %."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# calls kept, their rate, and how many of them are right
STRATA = ((20, 0.05, 12), (30, 0.2, 6), (50, 1.0, 5))


def calls(
    name: str = "call", strata: tuple[tuple[int, float, int], ...] = STRATA
) -> Iterator[dict[str, Any]]:
    """Yield the kept calls as native records; the weighted share of right ones is 275 / 600 = 0.458."""
    at = 0
    for n, rate, right in strata:
        for number in range(n):
            at += 1
            yield {
                "question_id": f"{name}-{at}",
                "question": f"Which {name} of the list has the number {at} on it?",
                "answer": f"Number {at} is written on that {name}, as the list says.",
                "query_type": "usual" if rate < 1 else "odd",
                "latency_ms": 100.0 * (1 + at % 7),
                "scores": {
                    "correctness": float(number < right),
                    "faithfulness": 0.5 + 0.5 * (number < right),
                },
                "sampling_rate": rate,
            }


def written(path: Path, records: Iterator[dict[str, Any]]) -> Path:
    """Write records as JSONL."""
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return path
