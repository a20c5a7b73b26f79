"""Judge results of runs: one Parquet file per result, named by its content; the labels of a sample in it.

The files are judgements/<run_id>/<digest>.parquet with row, attempt, status, reason and payload (JSON). The
annotations database lists them, and the newest of each kind is current; scores computed with one are stored
under its digest, so they never go stale.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.stored_file import reading
from ragtriage.data.store.workspace import Workspace, utc_now

EVALUATION = "reading"  # kind of the stored results and calls
ADDRESSES: Mapping[str, float] = {"fully": 1.0, "partly": 0.5, "no": 0.0}
COMPLETE: Mapping[str, float] = {"complete": 1.0, "mostly": 2 / 3, "partly": 1 / 3, "no": 0.0}
AGREES: Mapping[str, float] = {"correct": 1.0, "partly": 0.5, "incorrect": 0.0}
ENTAILS: Mapping[str, float] = {"yes": 1.0, "partly": 0.5, "no": 0.0}
VERDICTS = ("supported", "contradicted", "not_in_context")


@dataclass(frozen=True)
class RequestedLabels:
    """The contents of a sample, which decide the labels that the judge is asked for."""

    answer: bool  # an answer was recorded
    reference: bool  # there is a reference answer
    ranks: tuple[int, ...]  # ranks of the documents sent; empty where there is none


@dataclass(frozen=True)
class Injection:
    """Text in the data that tried to instruct the judge."""

    where: str  # its location, e.g. "document 3".
    quote: str


@dataclass(frozen=True)
class Evidence:
    """A document that a judge quotes on a claim."""

    rank: int  # of the document
    quote: str
    side: str  # "for" or "against" the claim
    found: bool  # whether the document holds the quote; the support by one that does not is void


@dataclass(frozen=True)
class JudgedClaim:
    """A claim of the answer."""

    text: str
    by: tuple[int, ...]  # ranks of the documents that support it, alone or together
    against: tuple[int, ...]  # ranks of those that state the opposite
    in_reference: float | None  # value of ENTAILS, how far the reference answer says it; None without one
    # "alone", "together", "partly" or "none", as the judge said; None where it was not asked
    support: str | None = None
    # quotes that `by` and `against` rest on; none where they were not asked for
    evidence: tuple[Evidence, ...] = ()

    @property
    def verdict(self) -> str:
        """One of VERDICTS."""
        return VERDICTS[0] if self.by else VERDICTS[1] if self.against else VERDICTS[2]

    @property
    def partly_by(self) -> tuple[int, ...]:
        """Ranks of the documents that carry a part of the claim, where none carries the whole."""
        if self.by or self.support != "partly":
            return ()
        return tuple(sorted({item.rank for item in self.evidence if item.side == "for" and item.found}))


@dataclass(frozen=True)
class JudgedStatement:
    """A claim of the reference answer."""

    text: str
    by: tuple[int, ...]  # ranks of the documents that contain it, alone or together
    in_answer: float | None  # value of ENTAILS, how far the answer says it; None without an answer
    support: str | None = None  # as of JudgedClaim
    evidence: tuple[Evidence, ...] = ()  # as of JudgedClaim, all of it for the statement


@dataclass(frozen=True)
class JudgeReply:
    """A judge's labels of one sample; None for labels that were not asked for.

    The field names are the keys of the stored JSON.
    """

    form: RequestedLabels  # which labels were asked for
    refused: bool | None  # whether the answer declines
    addresses: str | None  # key of ADDRESSES
    complete: str | None  # key of COMPLETE; asked by the first form alone
    agrees: str | None  # key of AGREES, or "cannot_tell" where the reference does not speak to the question
    contradicts_itself: bool | None  # whether the answer states something and its opposite
    relevant: tuple[int, ...]  # ranks of the documents that help to answer the question
    used: tuple[int, ...]  # ranks of the documents that the answer uses
    claims: tuple[JudgedClaim, ...]
    statements: tuple[JudgedStatement, ...]  # claims of the reference answer
    injections: tuple[Injection, ...]  # attempts to instruct the judge
    parts: int = 1  # messages that the documents were sent in
    version: int = 1  # of the form; the first has no quotes


@dataclass(frozen=True)
class QuoteCheck:
    """How many quotes of a reply stand in the documents they name."""

    quotes: int = 0  # of claims and statements
    void: int = 0  # of them, those that do not
    # claims of the answer that documents carry a part of, each of which counts as half supported
    partly: int = 0

    def __add__(self, other: QuoteCheck) -> QuoteCheck:
        return QuoteCheck(self.quotes + other.quotes, self.void + other.void, self.partly + other.partly)


def quote_check(reply: JudgeReply) -> QuoteCheck:
    """Count the quotes of a reply, the void ones, and the claims that are supported in part."""
    evidence = [item for claim in reply.claims for item in claim.evidence]
    evidence += [item for statement in reply.statements for item in statement.evidence]
    void = sum(not item.found for item in evidence)
    return QuoteCheck(len(evidence), void, sum(bool(claim.partly_by) for claim in reply.claims))


def reply_payload(reply: JudgeReply) -> dict[str, Any]:
    """Return a reply as JSON values."""
    return asdict(reply)


def reply_from(payload: Mapping[str, Any]) -> JudgeReply:
    """Return the reply that was stored as `payload`."""
    form = payload["form"]
    return JudgeReply(
        form=RequestedLabels(form["answer"], form["reference"], tuple(form["ranks"])),
        refused=payload["refused"],
        addresses=payload["addresses"],
        complete=payload["complete"],
        agrees=payload["agrees"],
        contradicts_itself=payload["contradicts_itself"],
        relevant=tuple(payload["relevant"]),
        used=tuple(payload["used"]),
        claims=tuple(
            JudgedClaim(
                claim["text"],
                tuple(claim["by"]),
                tuple(claim["against"]),
                share_said(claim["in_reference"]),
                claim.get("support"),
                _evidence(claim),
            )
            for claim in payload["claims"]
        ),
        statements=tuple(
            JudgedStatement(
                statement["text"],
                tuple(statement["by"]),
                share_said(statement["in_answer"]),
                statement.get("support"),
                _evidence(statement),
            )
            for statement in payload["statements"]
        ),
        injections=tuple(Injection(entry["where"], entry["quote"]) for entry in payload["injections"]),
        parts=payload.get("parts", 1),
        version=payload.get("version", 1),
    )


def share_said(said: float | bool | None) -> float | None:
    """Return how far something is said; true or false in replies of the earlier forms."""
    return None if said is None else float(said)


def _evidence(judged: Mapping[str, Any]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(item["rank"], item["quote"], item["side"], item["found"])
        for item in judged.get("evidence", ())
    )


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
    earlier = {}
    if same_judge is not None:
        earlier = read_task_results(judge_result_path(workspace, result.run_id, same_judge.digest))
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
        result, digest=digest, samples=len(set(rows)), scored=len(scored_rows), at=utc_now().isoformat()
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
