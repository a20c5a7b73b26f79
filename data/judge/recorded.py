"""Replies of a judge that were recorded, with their origin, published as the judge result of their run."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import model_validator

from ragtriage.data.errors import DataError
from ragtriage.data.judge.evaluation import COLUMNS, judged_case
from ragtriage.data.judge.reply import join_reference, parse_reply
from ragtriage.data.judge.reply_model import (
    Instruction,
    Ranks,
    ReplyError,
    ReplyObject,
    Sent,
    TextObject,
    injections,
    misfit,
    reply_model,
    validate_reply,
)
from ragtriage.data.prompts.prompt import JudgedCase
from ragtriage.data.store.judge_replies import (
    EVALUATION,
    JudgedClaim,
    JudgedStatement,
    JudgeReply,
    RequestedLabels,
    reply_payload,
    share_said,
)
from ragtriage.data.store.judge_results import RECORDED, JudgeResult, TaskResult, judge_results_of, publish
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.sample_reader import StoredSamples
from ragtriage.data.store.workspace import Run, Workspace


class ContextClaim(TextObject):
    """A claim of the answer, labelled against the documents."""

    verdict: Literal["supported", "contradicted", "not_in_context"]
    by: Ranks
    against: Ranks

    @model_validator(mode="after")
    def _verdict_follows_from_ranks(self) -> Self:
        if self.verdict != JudgedClaim(self.text, self.by, self.against, None).verdict:
            raise misfit(
                f"{self.verdict!r} beside by {list(self.by)} and against {list(self.against)}",
                "supported with ranks in by, contradicted with none in by and some in against, "
                "not_in_context with none in either",
                "verdict",
            )
        return self


class ContextStatement(TextObject):
    """A claim of the reference answer, labelled against the documents."""

    by: Ranks


class AnswerReply(ReplyObject):
    """The labels that every recorded answer gets."""

    refused: bool
    addresses: Literal["fully", "partly", "no"]
    complete: Literal["complete", "mostly", "partly", "no"]

    @model_validator(mode="after")
    def _refusal_addresses_nothing(self) -> Self:
        if self.refused and self.addresses != "no":
            raise misfit(
                f"{self.addresses!r} beside refused true",
                "no where refused is true, or refused false",
                "addresses",
            )
        return self


@cache
def _model(answer: bool, reference: bool, context: bool) -> type[ReplyObject]:
    """Return the model of a reply with exactly the labels that the case calls for."""
    fields: dict[str, Any] = {}
    if answer and reference:
        fields["agrees"] = Literal["correct", "partly", "incorrect"]
    if answer:
        fields["contradicts_itself"] = bool
    if context:
        fields["relevant"] = Ranks
    if context and answer:
        fields["used"] = Ranks
    if answer:
        in_reference = {"in_reference": bool} if reference else {}
        fields["claims"] = list[reply_model("Claim", in_reference, ContextClaim if context else TextObject)]  # type: ignore[misc] # a model made here
    if reference:
        in_answer = {"in_answer": bool} if answer else {}
        base = ContextStatement if context else TextObject
        fields["statements"] = list[reply_model("Statement", in_answer, base)]  # type: ignore[misc] # a model made here
    return reply_model(
        "Reply", fields | {"instructions": list[Instruction]}, AnswerReply if answer else ReplyObject
    )


def parse_first_form(reply: object, requested: RequestedLabels) -> JudgeReply:
    """Check a reply of the first form and return its labels.

    Raises:
        ReplyError: a field is missing, unknown or not as accepted, a rank was not sent, the verdict on a
            claim does not follow from its ranks, or a refusal is said to address the question.
    """
    # recordings keep the form they were made with: they are checked by its model, not by the present one
    model = _model(requested.answer, requested.reference, bool(requested.ranks))
    labels = dict(validate_reply(reply, model, Sent(requested.ranks)))
    claims = [
        {"by": (), "against": (), "in_reference": None, **dict(claim)} for claim in labels.get("claims", ())
    ]
    statements = [{"by": (), "in_answer": None, **dict(entry)} for entry in labels.get("statements", ())]
    return JudgeReply(
        form=requested,
        refused=labels.get("refused"),
        addresses=labels.get("addresses"),
        complete=labels.get("complete"),
        agrees=labels.get("agrees"),
        contradicts_itself=labels.get("contradicts_itself"),
        relevant=labels.get("relevant", ()),
        used=labels.get("used", ()),
        claims=tuple(
            JudgedClaim(claim["text"], claim["by"], claim["against"], share_said(claim["in_reference"]))
            for claim in claims
        ),
        statements=tuple(
            JudgedStatement(entry["text"], entry["by"], share_said(entry["in_answer"]))
            for entry in statements
        ),
        injections=injections(labels["instructions"]),
    )


@dataclass(frozen=True)
class RecordedReplies:
    """A file of recorded replies: a first line about all of them, then one line a reply."""

    model: str  # who wrote them
    prompt: str  # version of the prompt they answer
    form: int  # version of the form they fill in
    origin: str  # how they came about, in a sentence for the reader
    replies: Mapping[str, Any]  # by question id, as the judge sent them; from the second form on a pair


def read_recorded(path: Path) -> RecordedReplies:
    """Read a file of recorded replies: JSON lines, compressed with gzip."""
    head, *lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    return RecordedReplies(**head, replies={line["question_id"]: line["reply"] for line in lines})


def _labels(reply: Any, case: JudgedCase, form: int) -> JudgeReply:
    """Return the labels of a recorded reply."""
    texts = {document.rank: document.text for document in case.documents}
    requested = RequestedLabels(case.answer is not None, case.reference is not None, tuple(texts))
    if form == 1:
        return parse_first_form(reply, requested)
    begun = parse_reply(reply["reading"], replace(requested, reference=False), texts)
    return join_reference(begun, _in_words(reply["reference"]), texts) if requested.reference else begun


def _in_words(reply: Mapping[str, Any]) -> dict[str, Any]:
    """Return a comparison with the reference in words, where the second form had true and false."""
    words = {True: "yes", False: "no"}

    def worded(entry: Mapping[str, Any]) -> dict[str, Any]:
        flags = {name: entry[name] for name in ("in_answer", "in_reference") if name in entry}
        return {**entry, **{name: words.get(value, value) for name, value in flags.items()}}

    listed = {
        name: [worded(entry) for entry in reply[name]] for name in ("statements", "claims") if name in reply
    }
    return {**reply, **listed}


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
        try:
            labels = _labels(reply, judged_case(sample), recorded.form)
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
