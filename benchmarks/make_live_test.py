"""Make the bundled live test: users who are drawn, with answers of the bundled handbook runs V1 and V2.

    python benchmarks/make_live_test.py -o data/bundled/live_tests/v2_against_v1.csv.gz

Each user is drawn and assigned to a version by `ragtriage.assign`. A question is one of the 48; whether it
helped depends on whether that version's case passes. Seconds, ratings and who comes back are drawn.
The seed is one at which a guardrail is left open, so that the page shows it: this measures no version.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import ragtriage
from ragtriage.data.api import diagnosis_of, open_store
from ragtriage.data.demo import load_project
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings, passing_of

SEED, USERS, DAYS, START = 10, 2_600, 14, datetime(2026, 11, 6)  # noqa: DTZ001 -- UTC, as files have it
ARMS = {"V1": "V1 baseline", "V2": "V2 smaller chunks"}  # and the run of each
HELPS = {True: 0.9, False: 0.13}  # by whether the case passes: it completes the task
COMES_BACK = {"V1": 0.36, "V2": 0.32}  # within a week
SECONDS = {"V1": 2.03, "V2": 2.13}
COLUMNS = (
    *("user_id", "variant", "timestamp", "question_id", "task_completed"),
    *("satisfaction_score", "nps_score", "response_time"),
)


def passing_cases() -> dict[str, dict[str, bool]]:
    """Return arm -> question id -> whether its case passes, as Triage has it."""
    with TemporaryDirectory() as folder:
        store = open_store(folder, create=True)
        runs = {run.name: run for run in load_project(store, "handbook")}
        passing = {}
        for arm, name in ARMS.items():
            diagnosis = diagnosis_of(store, runs[name], DiagnosisSettings())
            ids = [str(key) for key in diagnosis.scored.question_ids]
            passing[arm] = dict(zip(ids, (passing_of(diagnosis) == 1).tolist(), strict=True))
    return passing


def drawn_rows(seed: int, right: dict[str, dict[str, bool]]) -> list[list[object]]:
    """Return the rows, by time."""
    rng = np.random.default_rng(seed)
    rows: list[list[object]] = []
    for number in range(USERS):
        user = f"u{number:04}"
        arm = ragtriage.assign(user, "chunks", dict.fromkeys(ARMS, 0.5))
        rows += _user_rows(rng, user, arm, right[arm])
    return sorted(rows, key=lambda row: (str(row[2]), str(row[0])))


def _user_rows(rng: np.random.Generator, user: str, arm: str, right: dict[str, bool]) -> list[list[object]]:
    ids = list(right)
    patience, first = rng.normal(0, 0.1), int(rng.integers(0, DAYS))
    days = [first] * int(1 + rng.poisson(1.7))
    if rng.random() < COMES_BACK[arm]:
        days += [first + int(rng.integers(1, 8))] * int(1 + rng.poisson(1.0))
    rows: list[list[object]] = []
    for day in (day for day in days if day < DAYS):
        question = ids[int(rng.integers(len(ids)))]
        done = rng.random() < min(max(HELPS[right[question]] + patience, 0), 1)
        moment = START + timedelta(days=day, minutes=int(rng.integers(7 * 60, 20 * 60)))
        rated = (
            int(np.clip(round(rng.normal(4.3 if done else 2.7, 0.8)), 1, 5)) if rng.random() < 0.16 else ""
        )
        seconds = SECONDS[arm] * rng.lognormal(-0.08, 0.4)
        answers = (rated, "", f"{seconds:.2f}")
        rows.append([user, arm, f"{moment:%Y-%m-%dT%H:%M}", question, "yes" if done else "no", *answers])
    if rng.random() < 0.23:  # asked once, after the last question
        helped = np.mean([row[4] == "yes" for row in rows])
        rows[-1][6] = int(np.clip(round(rng.normal(5.6 + 3.6 * helped, 1.6)), 0, 10))
    return rows


def main() -> None:
    """Write the file; the same bytes every time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([COLUMNS, *drawn_rows(given.seed, passing_cases())])
    given.output.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))


if __name__ == "__main__":
    main()
