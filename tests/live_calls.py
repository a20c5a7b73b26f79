"""Calls of live traffic without spans, for tests of what watches them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ragtriage.data.live.calls import Call, Calls, packed, put_calls
from ragtriage.data.scoring.run_store import RunStore, open_store

PROJECT = "shop"
BEGIN = 1_772_388_000.0  # 2026-03-01 18:00 UTC


def made(folder: Path) -> tuple[RunStore, Calls]:
    """Return an empty workspace with a project of live traffic."""
    store = open_store(str(folder / "workspace"), create=True)
    return store, Calls.of(store.workspace, PROJECT, create=True)


def call(name: str, time: float, **facts: Any) -> Call:
    """Return a call that was answered, at a time in seconds after BEGIN."""
    given: dict[str, Any] = {
        "release": "1.0",
        "user_id": "",
        "question": f"Question {name}?",
        "stratum": "rest",
        "rate": 1.0,
        "kept": False,
        "refused": False,
        "answerable": True,
        "error": None,
        "context_tokens": 1000.0,
        "output_tokens": 10.0,
        "latency_ms": None,
    }
    return Call(name, BEGIN + time, **{**given, **facts})


def put(calls: Calls, *given: Call) -> None:
    """Store calls."""
    with calls.changing() as connection:
        put_calls(connection, given)


def refusing(minutes: int, share: float, first: int = 0, n: int = 60) -> list[Call]:
    """Return n calls a minute from a minute on, of which a share is refused."""
    return [
        call(f"{minute}-{at}", minute * 60 + at * 60 / n, refused=at < share * n)
        for minute in range(first, first + minutes)
        for at in range(n)
    ]


def kept(name: str, time: float, **sample: Any) -> Call:
    """Return a call that is kept, with a sample that can be judged; `refused` and `error` are of the call."""
    text = f"Turtle {name} lives eighty years."
    full = {
        "question": f"How long does turtle {name} live?",
        "answer": text,
        "retrieved": [{"id": "a", "text": f"Every turtle such as {name} lives eighty years."}],
        "trace_id": name,
        **sample,
    }
    facts = {key: full.pop(key) for key in ("refused", "error") if key in full}
    return call(name, time, kept=True, question=full["question"], sample=packed(full), **facts)
