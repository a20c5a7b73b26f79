"""A judge's labels of one sample, the values that their words stand for, and their stored JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

__all__ = [
    "ADDRESSES",
    "AGREES",
    "COMPLETE",
    "EVALUATION",
    "VERDICTS",
    "Injection",
    "JudgeReply",
    "JudgedClaim",
    "JudgedStatement",
    "RequestedLabels",
    "reply_from",
    "reply_payload",
]

EVALUATION = "reading"  # kind of the stored results and calls
ADDRESSES: Mapping[str, float] = {"fully": 1.0, "partly": 0.5, "no": 0.0}
COMPLETE: Mapping[str, float] = {"complete": 1.0, "mostly": 2 / 3, "partly": 1 / 3, "no": 0.0}
AGREES: Mapping[str, float] = {"correct": 1.0, "partly": 0.5, "incorrect": 0.0}
VERDICTS = ("supported", "contradicted", "not_in_context")


@dataclass(frozen=True)
class RequestedLabels:
    """What a sample holds, which decides the labels that the judge is asked for.

    Attributes:
        answer: an answer was recorded.
        reference: there is a reference answer.
        ranks: ranks of the documents sent; empty where there is none.
    """

    answer: bool
    reference: bool
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class Injection:
    """Text in the data that tried to instruct the judge.

    Attributes:
        where: its location, e.g. "document 3".
        quote: the text.
    """

    where: str
    quote: str


@dataclass(frozen=True)
class JudgedClaim:
    """A claim of the answer.

    Attributes:
        text: the claim.
        by: ranks of the documents that support it.
        against: ranks of those that state the opposite.
        in_reference: whether the reference answer entails it; None without one.
    """

    text: str
    by: tuple[int, ...]
    against: tuple[int, ...]
    in_reference: bool | None

    @property
    def verdict(self) -> str:
        """One of VERDICTS."""
        return VERDICTS[0] if self.by else VERDICTS[1] if self.against else VERDICTS[2]


@dataclass(frozen=True)
class JudgedStatement:
    """A claim of the reference answer.

    Attributes:
        text: the claim.
        by: ranks of the documents that contain it.
        in_answer: whether the answer entails it; None without an answer.
    """

    text: str
    by: tuple[int, ...]
    in_answer: bool | None


@dataclass(frozen=True)
class JudgeReply:
    """A judge's labels of one sample; None for labels that were not asked for.

    The field names are the keys of the stored JSON.

    Attributes:
        form: which labels were asked for.
        refused: whether the answer declines.
        addresses: key of ADDRESSES.
        complete: key of COMPLETE.
        agrees: key of AGREES.
        contradicts_itself: whether the answer states something and its opposite.
        relevant: ranks of the documents that help to answer the question.
        used: ranks of the documents that the answer uses.
        claims: of the answer.
        statements: claims of the reference answer.
        injections: attempts to instruct the judge.
        parts: messages that the documents were sent in; completeness rests on the first.
    """

    form: RequestedLabels
    refused: bool | None
    addresses: str | None
    complete: str | None
    agrees: str | None
    contradicts_itself: bool | None
    relevant: tuple[int, ...]
    used: tuple[int, ...]
    claims: tuple[JudgedClaim, ...]
    statements: tuple[JudgedStatement, ...]
    injections: tuple[Injection, ...]
    parts: int = 1


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
            JudgedClaim(claim["text"], tuple(claim["by"]), tuple(claim["against"]), claim["in_reference"])
            for claim in payload["claims"]
        ),
        statements=tuple(
            JudgedStatement(statement["text"], tuple(statement["by"]), statement["in_answer"])
            for statement in payload["statements"]
        ),
        injections=tuple(Injection(entry["where"], entry["quote"]) for entry in payload["injections"]),
        parts=payload.get("parts", 1),
    )
