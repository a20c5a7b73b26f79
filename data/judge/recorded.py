"""Labels of a judge that was asked elsewhere, with their origin, as the judge result of their run."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragtriage.data.store.judge_replies import EVALUATION
from ragtriage.data.store.judge_results import RECORDED, JudgeResult, TaskResult, judge_results_of, publish
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.sample_reader import StoredSamples
from ragtriage.data.store.workspace import Run, Workspace


@dataclass(frozen=True)
class RecordedLabels:
    """A file of recorded labels: a first line about all of them, then one line a question."""

    model: str  # whose labels they are
    prompt: str  # version of the prompt that it answered
    origin: str  # how they came about, in a sentence for the reader
    labels: Mapping[str, Mapping[str, Any]]  # by question id, as a workspace stores them (`reply_payload`)


def read_recorded(path: Path) -> RecordedLabels:
    """Read a file of recorded labels: JSON lines, compressed with gzip."""
    head, *lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    return RecordedLabels(**head, labels={line["question_id"]: line["labels"] for line in lines})


def publish_recorded(workspace: Workspace, run: Run, recorded: RecordedLabels) -> JudgeResult | None:
    """Store recorded labels as the judge result of a run; return None where the run has one already."""
    ledger = Ledger(workspace.ledger_path)
    if any(result.kind == EVALUATION for result in judge_results_of(ledger, run.run_id)):
        return None
    samples = StoredSamples(workspace.samples_path(run.run_id)).read(range(run.n), ("question_id",))
    outcomes = {
        (row, 0): TaskResult("scored", "", recorded.labels[sample["question_id"]])
        for row, sample in enumerate(samples)
        if sample["question_id"] in recorded.labels
    }
    sdk = f"{RECORDED}{recorded.origin}"
    result = JudgeResult(run.run_id, EVALUATION, recorded.model, recorded.prompt, sdk)
    return publish(workspace, ledger, result, outcomes)
