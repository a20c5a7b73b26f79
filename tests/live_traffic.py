"""Live traffic for tests: calls every ten seconds, with a release in the middle."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from ragtriage.data.live.calls import Call, Calls, TraceFacts, call_of, live_folder, put_calls
from ragtriage.data.live.policy import FILE_NAME, read_policy
from ragtriage.data.live.windows import publish
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Workspace

START = datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()
HALF = START + 1_800
PROJECT = "live"
ALERTS = """
[keep]
rest = 0.5
[[alerts]]
metric = "refused"
at_most = 0.3
[[alerts]]
metric = "correctness"
at_least = 0.5
"""


def traffic(
    folder: Path,
    *,
    refused: tuple[int, int] = (10, 10),
    scores: tuple[float | None, float | None] = (0.9, 0.9),
    policy: str = "",
    every: int = 10,
    users: int = 0,
    published: bool = True,
) -> RunStore:
    """Return a workspace with an hour of calls, of which the second half has another release.

    Args:
        folder: of the workspace.
        refused: one call in so many is refused, before and since.
        scores: correctness of answered calls, before and since; None where nothing is judged.
        policy: text of policy.toml.
        every: seconds between two calls.
        users: how many users call in turn; 0 for unknown ones.
        published: whether both halves are published as runs.
    """
    store = RunStore(Workspace(folder).create())
    calls = Calls.of(store.workspace, PROJECT, create=True)
    path = live_folder(store.workspace, PROJECT) / FILE_NAME
    path.write_text(policy, encoding="utf-8")
    rules = read_policy(path).policy
    made: list[Call] = []
    for at, second in enumerate(range(0, 3_600, every)):
        later = int(second >= 1_800)
        is_refused, topic = at % refused[later] == 0, ("leave", "pay", "travel")[at % 3]
        score = scores[later]
        sample = {
            "question": f"May I ask about {topic}, form {at % 12}?",
            "answer": "I cannot answer that." if is_refused else f"Yes, form {at % 12} says so.",
            "tags": {"topic": topic},
            "input_tokens": 1_000.0 + at % 5,
            **({} if score is None else {"scores": {"correctness": 0.0 if is_refused else score}}),
        }
        facts = TraceFacts(START + second, f"user {at % users}" if users else "", ("one", "two")[later])
        made.append(call_of(f"{at:032x}", sample, facts, refused=is_refused, disliked=False, policy=rules))
    with calls.changing() as connection:
        put_calls(connection, made)
    for first, last in ((START, HALF), (HALF, START + 3_600)) if published else ():
        publish(store, calls, PROJECT, first, last)
    return store
