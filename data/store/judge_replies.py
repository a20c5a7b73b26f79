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
