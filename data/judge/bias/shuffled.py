"""The evaluation of a sample with its documents in another order, to see what their order does."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ragtriage.data.judge.evaluation import EvaluationTask
from ragtriage.data.judge.requests import Sample, TaskSample, Workflow
from ragtriage.data.store.judge_replies import Evidence, JudgeReply, reply_from, reply_payload
from ragtriage.data.store.judge_results import TaskResult

SHUFFLED = "shuffled"  # kind of the stored results
ORDER = "order"  # in a stored payload: the rank of each document, in the order in which they were shown
ONE_DOCUMENT = "fewer than two documents with a text, so there is no order to change"


@dataclass(frozen=True)
class ShuffledTask:
    """Evaluates answers as another task does, with the documents of each sample in another order."""

    task: EvaluationTask

    @property
    def kind(self) -> str:
        """Kind of the stored results."""
        return SHUFFLED

    @property
    def prompt(self) -> str:
        """Version of the evaluation's prompts: the two differ in nothing but the order."""
        return self.task.prompt

    @property
    def columns(self) -> tuple[str, ...]:
        """Sample columns that it reads."""
        return self.task.columns

    def workflow(self, task_sample: TaskSample) -> Workflow:
        """Evaluate with the documents in a random order; the labels name them by their own ranks again."""
        documents = list(task_sample.sample["retrieved"] or ())
        order = _order(task_sample.sample)
        if len(order) < 2:
            return TaskResult("not_applicable", ONE_DOCUMENT)
        sample = {**task_sample.sample, "retrieved": [documents[rank - 1] for rank in order]}
        result = yield from self.task.workflow(replace(task_sample, sample=sample))
        if result.status != "scored":
            return result
        payload = reply_payload(_by_own_rank(reply_from(result.payload), order))
        return TaskResult("scored", "", {**payload, ORDER: order})


def share_of_rows(rows: Sequence[int], share: float, seed: int = 0) -> list[int]:
    """Draw a share of rows at random, at least one, the same at each call."""
    number = min(len(rows), max(1, round(share * len(rows))))
    drawn = np.random.default_rng(seed).permutation(len(rows))[:number]
    return [rows[at] for at in sorted(drawn.tolist())]


def _order(sample: Sample) -> list[int]:
    """Return the ranks of the documents with a text in a random order that is not theirs, always the same."""
    documents = sample["retrieved"] or ()
    ranks = [rank for rank, document in enumerate(documents, start=1) if document["text"]]
    if len(ranks) < 2:
        return ranks
    content = "\x1e".join([sample["question"] or "", *(documents[rank - 1]["text"] for rank in ranks)])
    digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).digest()
    rng = np.random.default_rng(int.from_bytes(digest[:8], "big"))
    order = ranks
    while order == ranks:
        order = [ranks[at] for at in rng.permutation(len(ranks)).tolist()]
    return order


def _by_own_rank(reply: JudgeReply, order: Sequence[int]) -> JudgeReply:
    """Return the labels with the documents' own ranks in place of the positions they were shown at."""

    def ranks(positions: Sequence[int]) -> tuple[int, ...]:
        return tuple(sorted(order[position - 1] for position in positions))

    def evidence(items: Sequence[Evidence]) -> tuple[Evidence, ...]:
        return tuple(replace(item, rank=order[item.rank - 1]) for item in items)

    return replace(
        reply,
        form=replace(reply.form, ranks=ranks(reply.form.ranks)),
        relevant=ranks(reply.relevant),
        used=ranks(reply.used),
        claims=tuple(
            replace(
                claim, by=ranks(claim.by), against=ranks(claim.against), evidence=evidence(claim.evidence)
            )
            for claim in reply.claims
        ),
        statements=tuple(
            replace(statement, by=ranks(statement.by), evidence=evidence(statement.evidence))
            for statement in reply.statements
        ),
    )
