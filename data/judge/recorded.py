"""Replies of a judge that were recorded, with their origin, published as the judge result of their run."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragtriage.data.errors import DataError
from ragtriage.data.judge.evaluation import COLUMNS, judged_case
from ragtriage.data.judge.first_form import parse_first_form
from ragtriage.data.judge.reply import FORM, parse_reply
from ragtriage.data.judge.reply_model import ReplyError
from ragtriage.data.store.judge_replies import EVALUATION, RequestedLabels, reply_payload
from ragtriage.data.store.judge_results import RECORDED, JudgeResult, TaskResult, judge_results_of, publish
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.sample_reader import StoredSamples
from ragtriage.data.store.workspace import Run, Workspace


@dataclass(frozen=True)
class RecordedReplies:
    """A file of recorded replies: a first line about all of them, then one line a reply."""

    model: str  # who wrote them
    prompt: str  # version of the prompt they answer
    form: int  # version of the form they fill in
    origin: str  # how they came about, in a sentence for the reader
    replies: Mapping[str, Any]  # by question id, as the judge sent them


def read_recorded(path: Path) -> RecordedReplies:
    """Read a file of recorded replies: JSON lines, compressed with gzip."""
    head, *lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    return RecordedReplies(**head, replies={line["question_id"]: line["reply"] for line in lines})


def publish_recorded(workspace: Workspace, run: Run, recorded: RecordedReplies) -> JudgeResult | None:
    """Store recorded replies as the judge result of a run; return None where the run has one already.

    Raises:
        DataError: a reply does not fit the form that it was recorded with.
    """
    ledger = Ledger(workspace.ledger_path)
    if any(result.kind == EVALUATION for result in judge_results_of(ledger, run.run_id)):
        return None
    outcomes = {}
    samples = StoredSamples(workspace.samples_path(run.run_id)).read(range(run.n), (*COLUMNS, "question_id"))
    for row, sample in enumerate(samples):
        reply = recorded.replies.get(sample["question_id"])
        if reply is None:
            continue
        case = judged_case(sample)
        ranks = tuple(document.rank for document in case.documents)
        requested = RequestedLabels(case.answer is not None, case.reference is not None, ranks)
        try:
            if recorded.form == FORM:
                texts = {document.rank: document.text for document in case.documents}
                labels = parse_reply(reply, requested, texts)
            else:
                labels = parse_first_form(reply, requested)
        except ReplyError as error:
            raise DataError(f"recorded reply on {sample['question_id']}: {error}") from error
        outcomes[row, 0] = TaskResult("scored", "", reply_payload(labels))
    result = JudgeResult(
        run_id=run.run_id,
        kind=EVALUATION,
        model=recorded.model,
        prompt=recorded.prompt,
        sdk=f"{RECORDED}{recorded.origin}",
        digest="",
        samples=0,
        scored=0,
        at="",
    )
    return publish(workspace, ledger, result, outcomes)
