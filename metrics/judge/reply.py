"""A judge's reading of one answer: the labels it must give, checked, and joined where they came in parts.

The judge gives labels and never numbers. What it sends is checked against the form that the case calls for;
the message of an error names the field and what would be accepted, and goes back to the judge once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from metrics.judge.reply_schema import (
    ADDRESSES,
    AGREES,
    COMPLETE,
    VERDICTS,
    Injection,
    ReplyReader,
    ReplySchema,
    follow_up_schema,
    injections_of,
    names_of,
    reply_schema,
)
from metrics.schema.scores import MetricsError

__all__ = [
    "EVALUATION",
    "JudgeReply",
    "JudgedClaim",
    "JudgedStatement",
    "join_follow_up",
    "parse_reply",
    "reply_from",
    "reply_payload",
]


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
        by: ranks of the documents that carry it.
        in_answer: whether the answer entails it; None without an answer.
    """

    text: str
    by: tuple[int, ...]
    in_answer: bool | None


@dataclass(frozen=True)
class JudgeReply:
    """What a judge says of one sample; None for what the case gives no ground to say.

    Attributes:
        form: which labels were asked for.
        refused: whether the answer declines.
        addresses: key of ADDRESSES.
        complete: key of COMPLETE.
        agrees: key of AGREES.
        contradicts_itself: whether the answer states a thing and its opposite.
        relevant: ranks of the documents that help to answer the question.
        used: ranks of the documents that the answer draws on.
        claims: of the answer.
        statements: claims of the reference answer.
        injections: attempts to instruct the judge.
        parts: messages that the documents came in; completeness rests on the first.
    """

    form: ReplySchema
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


def parse_reply(reply: object, form: ReplySchema) -> JudgeReply:
    """Check a reply against the form and give the reading.

    Raises:
        MetricsError: a field is missing, unknown or not as accepted, a rank was not sent, the verdict on a
            claim does not follow from its ranks, or a refusal is said to address the question.
    """
    schema = reply_schema(form)
    given, context = ReplyReader(reply, "", names_of(schema)), bool(form.ranks)
    if form.answer:
        _refusal_addresses_nothing(given)
    return JudgeReply(
        form=form,
        refused=given.flag("refused") if form.answer else None,
        addresses=given.word("addresses", ADDRESSES) if form.answer else None,
        complete=given.word("complete", COMPLETE) if form.answer else None,
        agrees=given.word("agrees", AGREES) if form.answer and form.reference else None,
        contradicts_itself=given.flag("contradicts_itself") if form.answer else None,
        relevant=given.ranks("relevant", form) if context else (),
        used=given.ranks("used", form) if context and form.answer else (),
        claims=_claims(given, schema, form) if form.answer else (),
        statements=_statements(given, schema, form) if form.reference else (),
        injections=injections_of(given),
    )


def _refusal_addresses_nothing(given: ReplyReader) -> None:
    if given.flag("refused") and given.word("addresses", ADDRESSES) != "no":
        raise MetricsError(
            f"addresses: {given.value['addresses']!r} beside refused true; "
            "accepted: no where refused is true, or refused false"
        )


def _claims(given: ReplyReader, schema: Mapping[str, Any], form: ReplySchema) -> tuple[JudgedClaim, ...]:
    return tuple(_claim(one, form) for one in given.entries("claims", names_of(schema, "claims")))


def _claim(one: ReplyReader, form: ReplySchema) -> JudgedClaim:
    by = one.ranks("by", form) if form.ranks else ()
    against = one.ranks("against", form) if form.ranks else ()
    claim = JudgedClaim(one.text("text"), by, against, one.flag("in_reference") if form.reference else None)
    if form.ranks and one.word("verdict", VERDICTS) != claim.verdict:
        raise MetricsError(
            f"{one.at}.verdict: {one.value['verdict']!r} beside by {list(by)} and against {list(against)}; "
            "accepted: supported with ranks in by, contradicted with none in by and some in against, "
            "not_in_context with none in either"
        )
    return claim


def _statements(
    given: ReplyReader, schema: Mapping[str, Any], form: ReplySchema
) -> tuple[JudgedStatement, ...]:
    return tuple(
        JudgedStatement(
            one.text("text"),
            one.ranks("by", form) if form.ranks else (),
            one.flag("in_answer") if form.answer else None,
        )
        for one in given.entries("statements", names_of(schema, "statements"))
    )


def join_follow_up(begun: JudgeReply, reply: object, ranks: Sequence[int]) -> JudgeReply:
    """Add the labels on further documents to a reading that was begun.

    Args:
        begun: the reading so far.
        reply: what the judge sent on these documents, for the claims and statements of `begun` by number.
        ranks: ranks of the documents it was sent.

    Raises:
        MetricsError: as parse_reading, or a claim was left out or named twice.
    """
    form = replace(begun.form, ranks=tuple(dict.fromkeys(ranks)))
    schema = follow_up_schema(form)
    given = ReplyReader(reply, "", names_of(schema))
    claims, statements = begun.claims, begun.statements
    if form.answer:
        found = _by_number(given, "claims", names_of(schema, "claims"), len(claims))
        claims = tuple(_more_claim(claim, one, form) for claim, one in zip(claims, found, strict=True))
    if form.reference:
        found = _by_number(given, "statements", names_of(schema, "statements"), len(statements))
        pairs = zip(statements, found, strict=True)
        statements = tuple(replace(old, by=_union(old.by, one.ranks("by", form))) for old, one in pairs)
    return replace(
        begun,
        form=replace(begun.form, ranks=_union(begun.form.ranks, form.ranks)),
        relevant=_union(begun.relevant, given.ranks("relevant", form)),
        used=_union(begun.used, given.ranks("used", form) if form.answer else ()),
        claims=claims,
        statements=statements,
        injections=(*begun.injections, *injections_of(given)),
        parts=begun.parts + 1,
    )


def _more_claim(claim: JudgedClaim, one: ReplyReader, form: ReplySchema) -> JudgedClaim:
    by, against = one.ranks("by", form), one.ranks("against", form)
    return replace(claim, by=_union(claim.by, by), against=_union(claim.against, against))


def _by_number(given: ReplyReader, name: str, names: Sequence[str], count: int) -> list[ReplyReader]:
    found = {one.number("n"): one for one in given.entries(name, names)}
    if sorted(found) != list(range(1, count + 1)) or len(given.value[name]) != count:
        numbers = ", ".join(str(one) for one in sorted(found))[:80]
        raise MetricsError(f"{name}: numbers {numbers or 'none'}; accepted: each of 1 to {count} once")
    return [found[at] for at in range(1, count + 1)]


def _union(one: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted({*one, *other}))


EVALUATION = "reading"


def reply_payload(read: JudgeReply) -> dict[str, Any]:
    """Give a reading as JSON values."""
    return asdict(read)


def reply_from(payload: Mapping[str, Any]) -> JudgeReply:
    """Give back the reading of a payload."""
    form = payload["form"]
    return JudgeReply(
        form=ReplySchema(form["answer"], form["reference"], tuple(form["ranks"])),
        refused=payload["refused"],
        addresses=payload["addresses"],
        complete=payload["complete"],
        agrees=payload["agrees"],
        contradicts_itself=payload["contradicts_itself"],
        relevant=tuple(payload["relevant"]),
        used=tuple(payload["used"]),
        claims=tuple(
            JudgedClaim(one["text"], tuple(one["by"]), tuple(one["against"]), one["in_reference"])
            for one in payload["claims"]
        ),
        statements=tuple(
            JudgedStatement(one["text"], tuple(one["by"]), one["in_answer"]) for one in payload["statements"]
        ),
        injections=tuple(Injection(one["where"], one["quote"]) for one in payload["injections"]),
        parts=payload.get("parts", 1),
    )
