"""A judge's labels of one sample, the values that their words stand for, and their stored JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

EVALUATION = "reading"  # kind of the stored results and calls
ADDRESSES: Mapping[str, float] = {"fully": 1.0, "partly": 0.5, "no": 0.0}
COMPLETE: Mapping[str, float] = {"complete": 1.0, "mostly": 2 / 3, "partly": 1 / 3, "no": 0.0}
AGREES: Mapping[str, float] = {"correct": 1.0, "partly": 0.5, "incorrect": 0.0}
ENTAILS: Mapping[str, float] = {"yes": 1.0, "partly": 0.5, "no": 0.0}
VERDICTS = ("supported", "contradicted", "not_in_context")


@dataclass(frozen=True)
class RequestedLabels:
    """The contents of a sample, which decide the labels that the judge is asked for.

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
class Evidence:
    """A document that a judge quotes on a claim.

    Attributes:
        rank: of the document.
        quote: its words.
        side: "for" or "against" the claim.
        found: whether the document holds the quote; the support by one that does not is void.
    """

    rank: int
    quote: str
    side: str
    found: bool


@dataclass(frozen=True)
class JudgedClaim:
    """A claim of the answer.

    Attributes:
        text: the claim.
        by: ranks of the documents that support it, alone or together.
        against: ranks of those that state the opposite.
        in_reference: value of ENTAILS, how far the reference answer says it; None without one.
        support: "alone", "together", "partly" or "none", as the judge said; None where it was not asked.
        evidence: quotes that `by` and `against` rest on; none where they were not asked for.
    """

    text: str
    by: tuple[int, ...]
    against: tuple[int, ...]
    in_reference: float | None
    support: str | None = None
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
    """A claim of the reference answer.

    Attributes:
        text: the claim.
        by: ranks of the documents that contain it, alone or together.
        in_answer: value of ENTAILS, how far the answer says it; None without an answer.
        support: as of JudgedClaim.
        evidence: as of JudgedClaim, all of it for the statement.
    """

    text: str
    by: tuple[int, ...]
    in_answer: float | None
    support: str | None = None
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class JudgeReply:
    """A judge's labels of one sample; None for labels that were not asked for.

    The field names are the keys of the stored JSON.

    Attributes:
        form: which labels were asked for.
        refused: whether the answer declines.
        addresses: key of ADDRESSES.
        complete: key of COMPLETE; asked by the first form alone.
        agrees: key of AGREES, or "cannot_tell" where the reference does not speak to the question.
        contradicts_itself: whether the answer states something and its opposite.
        relevant: ranks of the documents that help to answer the question.
        used: ranks of the documents that the answer uses.
        claims: of the answer.
        statements: claims of the reference answer.
        injections: attempts to instruct the judge.
        parts: messages that the documents were sent in.
        version: of the form; the first has no quotes.
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
    version: int = 1


@dataclass(frozen=True)
class QuoteCheck:
    """How many quotes of a reply stand in the documents they name.

    Attributes:
        quotes: of claims and statements.
        void: of them, those that do not.
        partly: claims of the answer that documents carry a part of, each of which counts as half supported.
    """

    quotes: int = 0
    void: int = 0
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
