"""The bundled live traffic: real times and token counts, with the answers of two bundled runs in their place.

Each call of the Azure LLM trace is given a question of the handbook by a hash of its number, with the answer,
documents and scores that one version has for it: V2 until the release, V3 from then on.
"""

import csv
import gzip
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from time import time
from typing import Any

from ragtriage.data.live.calls import Call, Calls, TraceFacts, call_of, live_folder, put_calls, put_fact
from ragtriage.data.live.policy import FILE_NAME, Policy, read_policy
from ragtriage.data.live.windows import FILE, ORIGIN, publish
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.stored_file import replace_file
from ragtriage.data.store.workspace import Run

Samples = list[dict[str, Any]]


def load_traffic(store: RunStore, folder: Path, entry: Mapping[str, Any]) -> list[Run]:
    """Load the bundled traffic into its project, and publish the time before the release and since.

    Args:
        store: the runs of the workspace.
        folder: of the bundled samples.
        entry: of the manifest: `project`, `file`, and `traffic` with `policy`, `origin`, `release_at` and
            `versions` (name of the release, file of its run; the earlier first).
    """
    traffic = entry["traffic"]
    calls = Calls.of(store.workspace, entry["project"], create=True)
    path = live_folder(store.workspace, entry["project"]) / FILE_NAME
    if not path.exists():
        replace_file(path, (folder / traffic["policy"]).read_bytes())
    release_at = datetime.fromisoformat(traffic["release_at"]).replace(tzinfo=UTC).timestamp()
    versions = [(version["release"], _samples(folder / version["file"])) for version in traffic["versions"]]
    made = list(_calls(folder / entry["file"], versions, release_at, read_policy(path).policy))
    with calls.changing() as connection:
        put_calls(connection, made)
        put_fact(connection, FILE, Path(entry["file"]).name)
        put_fact(connection, ORIGIN, traffic["origin"])
    first, last = made[0].time // 60 * 60, made[-1].time // 60 * 60 + 60
    parts = [(first, release_at), (release_at, last)]
    runs = [publish(store, calls, entry["project"], *part) for part in parts]
    return [run for run in runs if run is not None]


def _calls(
    path: Path, versions: list[tuple[str, Samples]], release_at: float, policy: Policy
) -> Iterator[Call]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        now = time()
        for number, row in enumerate(csv.DictReader(file)):
            moment = datetime.fromisoformat(row["TIMESTAMP"][:26]).replace(tzinfo=UTC).timestamp()
            release, samples = versions[moment >= release_at]
            digest = hashlib.sha256(f"{path.name} {number}".encode()).hexdigest()
            sample = samples[int(digest[32:40], 16) % len(samples)]
            tokens = {"input_tokens": int(row["ContextTokens"]), "output_tokens": int(row["GeneratedTokens"])}
            facts = TraceFacts(moment, release=release)
            known = {**sample, **tokens, "trace_id": digest[:32]}
            refused = bool(sample["refused"])
            call = call_of(digest[:32], known, facts, refused=refused, disliked=False, policy=policy)
            yield replace(call, came=now)


def _samples(path: Path) -> Samples:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file][1:]  # the first line is about the run
