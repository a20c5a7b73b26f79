"""The first form of the judge's reply, to read replies that were recorded with it; nothing is asked by it.

It asks for a verdict on each claim, for ranks without quotes, and for how complete the answer is.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, Self

from pydantic import model_validator

from ragtriage.data.judge.reply_model import (
    Instruction,
    Ranks,
    ReplyObject,
    Sent,
    TextObject,
    injections,
    misfit,
    reply_model,
    validate_reply,
)
from ragtriage.data.store.judge_replies import JudgedClaim, JudgedStatement, JudgeReply, RequestedLabels


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
            JudgedClaim(claim["text"], claim["by"], claim["against"], claim["in_reference"])
            for claim in claims
        ),
        statements=tuple(
            JudgedStatement(entry["text"], entry["by"], entry["in_answer"]) for entry in statements
        ),
        injections=injections(labels["instructions"]),
    )
