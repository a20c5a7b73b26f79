"""Hostile versions of a file: cut short, emptied, with values of other types, nested deeply."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Iterator
from typing import Any

__all__ = ["mutations"]

VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        -1,
        1e308,
        10**40,
        "",
        "nan",
        "text",
        "\ud800",
        [],
        {},
        [None],
        [[]],
        [{"a": 1}],
        {"a": []},
    ),
    *({"name": 7, "role": [], "score": "high"}, "[" * 500, float("nan")),
)
DEEP: Any = "x"
for _ in range(60):
    DEEP = [DEEP, {"a": DEEP}] if isinstance(DEEP, str) else [DEEP]


def mutations(name: str, content: bytes, seed: int = 7, times: int = 60) -> Iterator[bytes]:
    """Yield hostile versions of a JSON, JSONL or CSV file; the same ones each time."""
    chance = random.Random(seed)
    yield content[: len(content) // 2]
    yield content[: len(content) // 3]
    yield content.replace(b":", b"", 3)
    if name.endswith(".csv"):
        yield from _tables(content.decode(), chance, times)
        return
    lines = name.endswith(".jsonl")
    text = content.decode()
    document = [json.loads(line) for line in text.splitlines()] if lines else json.loads(text)
    for count in range(times):
        changed = _changed(document, chance, 0.002 if count % 3 else 0.05)
        written = map(_written, changed if isinstance(changed, list) else [changed])
        yield "\n".join(written).encode() if lines else _written(changed).encode()


def _written(value: Any) -> str:
    return json.dumps(value)  # half of a surrogate pair as an escape, as tools write it


def _changed(value: Any, chance: random.Random, share: float) -> Any:
    if chance.random() < share:
        return DEEP if chance.random() < 0.05 else chance.choice(VALUES)
    if isinstance(value, dict):
        return {
            key if chance.random() > share / 4 else f"{key}x": _changed(entry, chance, share)
            for key, entry in value.items()
        }
    return [_changed(entry, chance, share) for entry in value] if isinstance(value, list) else value


def _tables(text: str, chance: random.Random, times: int) -> Iterator[bytes]:
    rows = list(csv.reader(io.StringIO(text)))
    for count in range(times):
        share = 0.01 if count % 3 else 0.1
        out = io.StringIO()
        csv.writer(out).writerows(
            [_cell(cell, chance) if chance.random() < share else cell for cell in row] for row in rows
        )
        yield out.getvalue().encode("utf-8", "replace")


def _cell(cell: str, chance: random.Random) -> str:
    return chance.choice(
        ("", "nan", "{", "[" * 200, "{'a': (", "[None, 1]", "{}", "x" + cell, cell[: len(cell) // 2])
    )
