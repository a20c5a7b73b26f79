"""Made rows of a live test: users with several answers over two weeks, one arm better by a known lift."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

COLUMNS = (
    *("user_id", "query", "system_type", "timestamp", "satisfaction_score", "task_completed", "nps_score"),
    *("response_time", "pre_response_time"),
)


def write_rows(path: Path, users: int = 600, lift: float = 0.15, slower: float = 0.0, seed: int = 1) -> Path:
    """Write a CSV of two arms; V2 completes more tasks by the lift, and is slower by so many seconds."""
    rng = np.random.default_rng(seed)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for user in range(users):
            second = user % 2
            pace, skill = rng.normal(2, 0.5), rng.beta(6, 4)
            for _ in range(int(rng.integers(1, 6))):
                day, hour = int(rng.integers(1, 15)), int(rng.integers(0, 24))
                done = rng.random() < min(skill + lift * second, 1)
                rated = int(rng.integers(1, 6)) if rng.random() < 0.2 else ""
                seconds = pace + slower * second + rng.normal(0, 0.1)
                moment = f"2026-03-{day:02d}T{hour:02d}:30:00"
                answers = (rated, "yes" if done else "no", "" if rated == "" else rng.integers(0, 11))
                writer.writerow(
                    (
                        f"u{user}",
                        "How many days?",
                        f"V{second + 1}",
                        moment,
                        *answers,
                        f"{seconds:.3f}",
                        f"{pace:.3f}",
                    )
                )
    return path
