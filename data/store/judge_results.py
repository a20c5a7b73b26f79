"""What a judge said of a run, as a file beside it: made from the ledger's verdicts, named by its content.

Under judgements/<run_id>/ lies one Parquet file a judgement: row, attempt, status, reason, payload (JSON).
The ledger says which of them stands; scores made with it lie in a folder of their own, so nothing goes stale.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from data.store.ledger import Ledger
from data.store.workspace import Workspace, utc_now

__all__ = [
    "CallStatus",
    "JudgeResult",
    "TaskResult",
    "current_results",
    "judge_of",
    "judge_result_path",
    "judge_results_of",
    "publish",
    "read_payload",
    "read_task_results",
]

SampleKey = tuple[int, int]  # row, attempt
JUDGE = "judge"  # of the file's metadata
ROWS_AT_ONCE = 1000  # a case is read without the others
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
_LIST = f"SELECT {_ROW} FROM judgements WHERE run_id = ? ORDER BY judgement_id DESC"  # noqa: S608 -- constant
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
    """A judgement as the ledger has it.

    Attributes:
        run_id: the run.
        kind: "reading", "evaluator:NAME".
        model: who judged.
        prompt: version of what was asked.
        sdk: library that asked.
        digest: names its file.
        samples: rows it speaks of.
        scored: rows that have a verdict.
        at: ISO time in UTC.
    """

    run_id: str
    kind: str
    model: str
    prompt: str
    sdk: str
    digest: str
    samples: int
    scored: int
    at: str

    @property
    def judge(self) -> str:
        """Model and prompt: who judged, as far as two runs are concerned."""
        return f"{self.model}@{self.prompt}"


def judge_result_path(workspace: Workspace, run_id: str, digest: str) -> Path:
    """Where the file of a judgement lies."""
    return workspace.root / "judgements" / run_id / f"{digest}.parquet"


def judge_results_of(ledger: Ledger, run_id: str) -> list[JudgeResult]:
    """List the judgements of a run, newest first."""
    if not ledger.path.exists():
        return []
    with ledger.open() as connection:
        return [JudgeResult(*row) for row in connection.execute(_LIST, (run_id,))]


def current_results(ledger: Ledger) -> dict[str, dict[str, str]]:
    """Say which judgement of each kind stands: run id -> kind -> digest, the newest of each."""
    if not ledger.path.exists():
        return {}
    found: dict[str, dict[str, str]] = {}
    with ledger.open() as connection:
        for run_id, kind, digest in connection.execute(_STANDING):
            found.setdefault(run_id, {})[kind] = digest
    return found


def publish(
    workspace: Workspace,
    ledger: Ledger,
    made: JudgeResult,
    outcomes: Mapping[SampleKey, TaskResult],
) -> JudgeResult:
    """Make what a judge said stand beside a run, with what the same judge said of it before.

    Args:
        workspace: where the run lies.
        ledger: of it.
        made: who judged what; digest and counts are filled here.
        outcomes: by row and attempt.
    """
    listed = [one for one in judge_results_of(ledger, made.run_id) if one.kind == made.kind]
    earlier = next((one for one in listed if one.judge == made.judge), None)
    before = (
        {}
        if earlier is None
        else read_task_results(judge_result_path(workspace, made.run_id, earlier.digest))
    )
    table = _table({**before, **outcomes})
    digest = _digest(made.judge, table)
    path = judge_result_path(workspace, made.run_id, digest)
    if not path.exists():
        with workspace.staging(path.parent) as stage:
            named = table.replace_schema_metadata({JUDGE: made.judge})
            pq.write_table(named, stage / path.name, compression="zstd", row_group_size=ROWS_AT_ONCE)
            (stage / path.name).rename(path)
    scored = len({row for row, status in zip(*_first(table), strict=True) if status == "scored"})
    rows = len(set(table["row"].to_pylist()))
    found = JudgeResult(
        made.run_id, made.kind, made.model, made.prompt, made.sdk, digest, rows, scored, _now()
    )
    if not listed or listed[0].digest != digest:
        with ledger.open() as connection:
            identity = (found.run_id, found.kind, found.judge, found.model, found.prompt, found.sdk)
            connection.execute(_ADD, (*identity, digest, rows, scored, found.at))
    return found


def _now() -> str:
    return utc_now().isoformat()


def _first(table: pa.Table) -> tuple[list[int], list[str]]:
    return table["row"].to_pylist(), table["status"].to_pylist()


def _table(outcomes: Mapping[SampleKey, TaskResult]) -> pa.Table:
    places = sorted(outcomes)
    found = [outcomes[place] for place in places]
    payloads = [None if one.payload is None else json.dumps(one.payload, ensure_ascii=False) for one in found]
    columns: Sequence[Sequence[object]] = (
        [row for row, _ in places],
        [attempt for _, attempt in places],
        [one.status for one in found],
        [one.reason for one in found],
        payloads,
    )
    return pa.table(dict(zip(_SCHEMA.names, columns, strict=True)), schema=_SCHEMA)


def _digest(judge: str, table: pa.Table) -> str:
    content = hashlib.sha256(judge.encode())
    for name in _SCHEMA.names:
        content.update("\x1e".join(map(str, table[name].to_pylist())).encode("utf-8", "surrogatepass"))
    return content.hexdigest()[:16]


def judge_of(path: Path) -> str:
    """Name the judge whose judgement a file holds; "" where it is gone."""
    if not path.exists():
        return ""
    return str((pq.read_schema(path).metadata or {}).get(JUDGE.encode(), b"").decode())


def read_payload(path: Path, row: int) -> Any:
    """Give what the judge said of one sample, as JSON values; None where it has no verdict."""
    if not path.exists():
        return None
    found = pq.read_table(path, filters=[("row", "=", row), ("attempt", "=", 0)])["payload"].to_pylist()
    return json.loads(found[0]) if found and found[0] is not None else None


def read_task_results(path: Path) -> dict[SampleKey, TaskResult]:
    """Read a judgement's file; empty where it is gone."""
    if not path.exists():
        return {}
    return {
        (one["row"], one["attempt"]): TaskResult(
            one["status"], one["reason"], None if one["payload"] is None else json.loads(one["payload"])
        )
        for one in pq.read_table(path).to_pylist()
    }


CallStatus = Literal[
    "scored", "refused", "truncated", "context_exceeded", "invalid", "overloaded", "timeout", "error"
]


@dataclass(frozen=True)
class TaskResult:
    """What the work on one sample came to.

    Attributes:
        status: "scored", "not_applicable" where there is nothing to ask, or what went wrong.
        reason: in words; "" where scored.
        payload: JSON values; None where not scored.
    """

    status: CallStatus | Literal["not_applicable"]
    reason: str = ""
    payload: Any = None
