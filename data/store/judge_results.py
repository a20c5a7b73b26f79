"""Judge results of runs: one Parquet file per result, named by its content.

The files are judgements/<run_id>/<digest>.parquet with row, attempt, status, reason and payload (JSON). The
annotations database lists them, and the newest of each kind is current; scores computed with one are stored
under its digest, so they never go stale.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.stored_file import reading
from ragtriage.data.store.workspace import Workspace, utc_now

SampleKey = tuple[int, int]  # row, attempt
JUDGE = "judge"  # of the file's metadata
RECORDED = "recorded: "  # what `sdk` begins with where no service was asked
ROW_GROUP = 1000  # reading one sample must not load all others
_SCHEMA = pa.schema(
    [
        ("row", pa.int64()),
        ("attempt", pa.int32()),
        ("status", pa.string()),
        ("reason", pa.string()),
        ("payload", pa.string()),
    ]
)
_ROW = "run_id, kind, model, prompt, sdk, digest, samples, scored, at"
_LIST = f"SELECT {_ROW} FROM judgements WHERE run_id = ? ORDER BY judgement_id DESC"  # noqa: S608 -- constant text
_STANDING = (
    "SELECT run_id, kind, digest FROM judgements AS given WHERE judgement_id ="
    " (SELECT max(judgement_id) FROM judgements AS later"
    " WHERE later.run_id = given.run_id AND later.kind = given.kind)"
)
_ADD = (
    "INSERT INTO judgements (run_id, kind, judge, model, prompt, sdk, digest, samples, scored, at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


@dataclass(frozen=True)
class JudgeResult:
    """A judge result as the annotations database lists it."""

    run_id: str
    kind: str  # "reading", "evaluator:NAME"
    model: str
    prompt: str  # version of the prompt
    sdk: str  # client library; RECORDED and the origin of replies that were recorded elsewhere
    digest: str = ""  # name of its file; this and what follows are there once it is published
    samples: int = 0  # number of rows in it
    scored: int = 0  # number of rows with a reply
    at: str = ""  # time of the result, ISO in UTC

    @property
    def judge(self) -> str:
        """Model and prompt version: the results of two runs are comparable if these are equal."""
        return f"{self.model}@{self.prompt}"

    @property
    def origin(self) -> str:
        """How recorded replies came about, in a sentence; "" where a service was asked."""
        return self.sdk.removeprefix(RECORDED) if self.sdk.startswith(RECORDED) else ""


def judge_result_path(workspace: Workspace, run_id: str, digest: str) -> Path:
    """Return the path of a judge result."""
    return workspace.root / "judgements" / run_id / f"{digest}.parquet"


def judge_results_of(ledger: Ledger, run_id: str) -> list[JudgeResult]:
    """List the judge results of a run, newest first."""
    if not ledger.path.exists():
        return []
    with ledger.open() as connection:
        return [JudgeResult(*row) for row in connection.execute(_LIST, (run_id,))]


def current_results(ledger: Ledger) -> dict[str, dict[str, str]]:
    """Return the current judge results: run id -> kind -> digest of the newest."""
    if not ledger.path.exists():
        return {}
    current: dict[str, dict[str, str]] = {}
    with ledger.open() as connection:
        for run_id, kind, digest in connection.execute(_STANDING):
            current.setdefault(run_id, {})[kind] = digest
    return current


def publish(
    workspace: Workspace,  # the run's workspace
    ledger: Ledger,  # its annotations database
    result: JudgeResult,  # the run, the kind and the judge; digest, counts and time are filled here
    outcomes: Mapping[SampleKey, TaskResult],  # results by row and attempt
) -> JudgeResult:
    """Store a judge result, merged with the same judge's earlier one of the run, and make it current."""
    listed = [item for item in judge_results_of(ledger, result.run_id) if item.kind == result.kind]
    same_judge = next((item for item in listed if item.judge == result.judge), None)
    earlier = (
        {}
        if same_judge is None
        else read_task_results(judge_result_path(workspace, result.run_id, same_judge.digest))
    )
    table = _table({**earlier, **outcomes})
    content = hashlib.sha256(result.judge.encode())
    for name in _SCHEMA.names:
        content.update("\x1e".join(map(str, table[name].to_pylist())).encode("utf-8", "surrogatepass"))
    digest = content.hexdigest()[:16]
    path = judge_result_path(workspace, result.run_id, digest)
    if not path.exists():
        with workspace.staging(path.parent) as stage:
            table_of_judge = table.replace_schema_metadata({JUDGE: result.judge})
            pq.write_table(table_of_judge, stage / path.name, compression="zstd", row_group_size=ROW_GROUP)
            (stage / path.name).rename(path)
    rows, statuses = table["row"].to_pylist(), table["status"].to_pylist()
    scored_rows = {row for row, status in zip(rows, statuses, strict=True) if status == "scored"}
    result = replace(
        result,
        digest=digest,
        samples=len(set(rows)),
        scored=len(scored_rows),
        at=utc_now().isoformat(),
    )
    if not listed or listed[0].digest != digest:
        with ledger.open() as connection:
            identity = (result.run_id, result.kind, result.judge, result.model, result.prompt, result.sdk)
            connection.execute(_ADD, (*identity, digest, result.samples, result.scored, result.at))
    return result


def _table(outcomes: Mapping[SampleKey, TaskResult]) -> pa.Table:
    keys = sorted(outcomes)
    results = [outcomes[key] for key in keys]
    columns: Sequence[Sequence[object]] = (
        [row for row, _ in keys],
        [attempt for _, attempt in keys],
        [result.status for result in results],
        [result.reason for result in results],
        [
            None if result.payload is None else json.dumps(result.payload, ensure_ascii=False)
            for result in results
        ],
    )
    return pa.table(dict(zip(_SCHEMA.names, columns, strict=True)), schema=_SCHEMA)


def judge_of(path: Path) -> str:
    """Return the judge of a stored result, or "" if the file is missing."""
    if not path.exists():
        return ""
    with reading(path):
        return str((pq.read_schema(path).metadata or {}).get(JUDGE.encode(), b"").decode())


def read_payload(path: Path, row: int) -> Any:
    """Return the first reply on one sample as JSON values, or None if there is none."""
    if not path.exists():
        return None
    with reading(path):
        of_sample = pq.read_table(path, filters=[("row", "=", row)]).sort_by("attempt")
    payload = next((text for text in of_sample["payload"].to_pylist() if text is not None), None)
    return None if payload is None else json.loads(payload)


def read_task_results(path: Path) -> dict[SampleKey, TaskResult]:
    """Read a stored result by row and attempt; empty if the file is missing."""
    if not path.exists():
        return {}
    with reading(path):
        entries = pq.read_table(path).to_pylist()
    return {
        (entry["row"], entry["attempt"]): TaskResult(
            entry["status"],
            entry["reason"],
            None if entry["payload"] is None else json.loads(entry["payload"]),
        )
        for entry in entries
    }


CallStatus = Literal[
    "scored", "refused", "truncated", "context_exceeded", "invalid", "overloaded", "timeout", "error"
]


@dataclass(frozen=True)
class TaskResult:
    """The result of a judge task on one sample."""

    # "scored", "not_applicable" if there is nothing to ask, or the kind of failure
    status: CallStatus | Literal["not_applicable"]
    reason: str = ""  # explanation; "" if scored
    payload: Any = None  # JSON values; None if not scored
