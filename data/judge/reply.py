"""The judge's form: what is asked of a case, and how a reply becomes labels.

Evidence comes first: each claim with the documents that bear on it, each with a quote, then what the evidence
amounts to, then the labels of the answer as a whole. Quotes are looked up in the documents; one that is not
there voids the support that rests on it. The reference answer is compared in a form of its own, so that
support and relevance can be asked without it; one form may also ask for everything at once.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, model_validator

from ragtriage.data.judge.reply_model import (
    Instruction,
    NumberedObject,
    Rank,
    Ranks,
    ReplyError,
    ReplyObject,
    Sent,
    TextObject,
    each_once,
    injections,
    misfit,
    reply_model,
    validate_reply,
    wire_schema,
)
from ragtriage.data.store.judge_results import (
    ENTAILS,
    Evidence,
    Injection,
    JudgedClaim,
    JudgedStatement,
    JudgeReply,
    RequestedLabels,
)

FORM = 3  # version, stored with each reply; the second has no "partly" in `in_reference` and `in_answer`
SUPPORT = ("none", "partly", "together", "alone")  # in rising order
Texts = Mapping[int, str]  # of the documents sent, by rank


class Quote(ReplyObject):
    """A document that carries a statement of the reference, or a part of it, with its words."""

    rank: Rank
    quote: str


class SidedQuote(Quote):
    """A document that bears on a claim of the answer, with its words."""

    side: Literal["for", "against"]


class Support(ReplyObject):
    """What the quotes amount to."""

    evidence: list[Quote]
    support: Literal["alone", "together", "partly", "none"]

    @model_validator(mode="after")
    def _support_follows_from_evidence(self) -> Self:
        ranks = {quote.rank for quote in self.evidence if getattr(quote, "side", "for") == "for"}
        fewest = {"none": 0, "together": 2}.get(self.support, 1)
        if len(ranks) < fewest or (ranks and self.support == "none"):
            raise misfit(
                f"{self.support!r} beside documents quoted for it: {sorted(ranks)}",
                "none without any, alone or partly with one or more, together with two or more",
                "support",
            )
        return self


class SidedSupport(Support):
    """What the quotes for a claim amount to; those against it stand beside them."""

    evidence: list[SidedQuote]  # type: ignore[assignment] # a list of what the form asks more of


class ContextClaim(SidedSupport, TextObject):
    """A claim of the answer, labelled against the documents."""


class ContextStatement(Support, TextObject):
    """A claim of the reference answer, labelled against the documents."""


class FurtherClaim(SidedSupport, NumberedObject):
    """What further documents say of a claim."""


class FurtherStatement(Support, NumberedObject):
    """What further documents say of a statement."""


Entails = Literal["yes", "partly", "no"]


class ComparedClaim(NumberedObject):
    """Whether the reference says a claim of the answer."""

    in_reference: Entails


Agreement = Literal["correct", "partly", "incorrect", "cannot_tell"]


@dataclass(frozen=True)
class FurtherLabels:
    """What is asked of further documents."""

    claims: bool  # what they say of the claims of the answer
    statements: bool  # what they say of the statements of the reference
    answer: bool  # whether there is an answer, which may have used them
    documents: bool  # whether they are relevant, and used


@cache
def _reply_model(answer: bool, reference: bool, context: bool) -> type[ReplyObject]:
    """Return the model of a reply with exactly the labels that the case calls for."""
    fields: dict[str, Any] = {}
    if answer:
        in_reference = {"in_reference": Entails} if reference else {}
        fields["claims"] = list[reply_model("Claim", in_reference, ContextClaim if context else TextObject)]  # type: ignore[misc] # a model made here
    if reference:
        fields["statements"] = _statements(answer, context)
    if context:
        fields["relevant"] = Ranks
    if context and answer:
        fields["used"] = Ranks
    if answer:
        fields |= {"contradicts_itself": bool, "refused": bool, "addresses": Literal["fully", "partly", "no"]}
    if answer and reference:
        fields["agrees"] = Agreement
    return reply_model("Reply", fields | {"instructions": list[Instruction]})


@cache
def _reference_model(answer: bool, context: bool) -> type[ReplyObject]:
    """Return the model of a reply that compares an answer with the reference."""
    fields: dict[str, Any] = {"statements": _statements(answer, context)}
    if answer:
        fields["claims"] = Annotated[list[ComparedClaim], AfterValidator(each_once)]
        fields["agrees"] = Agreement
    return reply_model("Compared", fields | {"instructions": list[Instruction]})


def _statements(answer: bool, context: bool) -> Any:
    in_answer = {"in_answer": Entails} if answer else {}
    return list[reply_model("Statement", in_answer, ContextStatement if context else TextObject)]  # type: ignore[misc] # a model made here


@cache
def _follow_up_model(asked: FurtherLabels) -> type[ReplyObject]:
    """Return the model of a reply on further documents of a case whose evaluation has begun."""
    fields: dict[str, Any] = {}
    if asked.claims:
        fields["claims"] = Annotated[list[FurtherClaim], AfterValidator(each_once)]
    if asked.statements:
        fields["statements"] = Annotated[list[FurtherStatement], AfterValidator(each_once)]
    if asked.documents:
        fields["relevant"] = Ranks
    if asked.documents and asked.answer:
        fields["used"] = Ranks
    return reply_model("FollowUp", fields | {"instructions": list[Instruction]})


def reply_schema(requested: RequestedLabels) -> dict[str, Any]:
    """Return the JSON schema of a reply: exactly the labels that the case calls for."""
    return wire_schema(_reply_model(requested.answer, requested.reference, bool(requested.ranks)))


def reference_schema(requested: RequestedLabels) -> dict[str, Any]:
    """Return the JSON schema of a reply that compares an answer with the reference."""
    return wire_schema(_reference_model(requested.answer, bool(requested.ranks)))


def follow_up_schema(asked: FurtherLabels) -> dict[str, Any]:
    """Return the JSON schema of a reply on further documents."""
    return wire_schema(_follow_up_model(asked))


def parse_reply(reply: object, requested: RequestedLabels, texts: Texts) -> JudgeReply:
    """Check a reply and return its labels.

    Its quotes are looked up in the texts of the documents that were sent.

    Raises:
        ReplyError: a field is missing, unknown or not as accepted, a rank was not sent, the support of a
            claim does not follow from its evidence, or a refusal is said to address the question.
    """
    model = _reply_model(requested.answer, requested.reference, bool(requested.ranks))
    labels = dict(validate_reply(reply, model, Sent(requested.ranks)))
    if labels.get("refused") and labels["addresses"] != "no":
        raise ReplyError(
            f"addresses: {labels['addresses']!r} beside refused true; "
            "accepted: no where refused is true, or refused false"
        )
    return JudgeReply(
        form=requested,
        refused=labels.get("refused"),
        addresses=labels.get("addresses"),
        complete=None,
        agrees=labels.get("agrees"),
        contradicts_itself=labels.get("contradicts_itself"),
        relevant=labels.get("relevant", ()),
        used=labels.get("used", ()),
        claims=tuple(_claim(claim, texts) for claim in labels.get("claims", ())),
        statements=tuple(_statement(entry, texts) for entry in labels.get("statements", ())),
        injections=injections(labels["instructions"]),
        version=FORM,
    )


def join_reference(begun: JudgeReply, reply: object, texts: Texts) -> JudgeReply:
    """Add to an evaluation what comparing it with the reference answer says.

    The reply is on the claims of `begun` by number.

    Raises:
        ReplyError: as for `parse_reply`, or a claim was left out or numbered twice.
    """
    model = _reference_model(begun.form.answer, bool(texts))
    labels = dict(validate_reply(reply, model, Sent(tuple(texts), {"claims": len(begun.claims)})))
    claims = [
        replace(claim, in_reference=ENTAILS[compared.in_reference])
        for claim, compared in zip(begun.claims, labels.get("claims", ()), strict=True)
    ]
    return replace(
        begun,
        form=replace(begun.form, reference=True),
        agrees=labels.get("agrees"),
        claims=tuple(claims),
        statements=tuple(_statement(entry, texts) for entry in labels["statements"]),
        injections=_more_injections(begun, labels),
    )


def join_follow_up(begun: JudgeReply, reply: object, texts: Texts, asked: FurtherLabels) -> JudgeReply:
    """Add the labels on further documents to an evaluation that has begun.

    The reply is on the claims and statements of `begun` by number.

    Raises:
        ReplyError: as for `parse_reply`, or a claim was left out or numbered twice.
    """
    sent = Sent(tuple(texts), {"claims": len(begun.claims), "statements": len(begun.statements)})
    labels = dict(validate_reply(reply, _follow_up_model(asked), sent))
    claims, statements = begun.claims, begun.statements
    if asked.claims:
        claims = tuple(
            _on_claim(claim, more, texts) for claim, more in zip(claims, labels["claims"], strict=True)
        )
    if asked.statements:
        statements = tuple(
            _on_statement(entry, more, texts)
            for entry, more in zip(statements, labels["statements"], strict=True)
        )
    return replace(
        begun,
        form=replace(begun.form, ranks=_union(begun.form.ranks, sent.ranks)),
        relevant=_union(begun.relevant, labels.get("relevant", ())),
        used=_union(begun.used, labels.get("used", ())),
        claims=claims,
        statements=statements,
        injections=_more_injections(begun, labels),
        parts=begun.parts + asked.documents,
    )


def _claim(claim: Any, texts: Texts) -> JudgedClaim:
    judged = JudgedClaim(claim.text, (), (), ENTAILS.get(getattr(claim, "in_reference", "")))
    return _on_claim(judged, claim, texts) if isinstance(claim, Support) else judged


def _statement(entry: Any, texts: Texts) -> JudgedStatement:
    judged = JudgedStatement(entry.text, (), ENTAILS.get(getattr(entry, "in_answer", "")))
    return _on_statement(judged, entry, texts) if isinstance(entry, Support) else judged


def _evidence(labelled: Support, texts: Texts) -> tuple[Evidence, ...]:
    """Return the evidence with whether each quote stands in the document it names."""
    return tuple(
        Evidence(
            quote.rank, quote.quote, getattr(quote, "side", "for"), is_quoted(quote.quote, texts[quote.rank])
        )
        for quote in labelled.evidence
    )


def _carried_by(support: str, evidence: Sequence[Evidence]) -> tuple[int, ...]:
    """Return the ranks that carry a whole claim; documents that carry it only together need every quote."""
    quoted = {item.rank for item in evidence if item.side == "for"}
    ranks = {item.rank for item in evidence if item.side == "for" and item.found}
    if support in ("partly", "none") or (support == "together" and ranks != quoted):
        return ()
    return tuple(sorted(ranks))


def _on_claim(claim: JudgedClaim, labelled: Support, texts: Texts) -> JudgedClaim:
    """Return a claim with what documents say of it, added to what others said."""
    evidence = _evidence(labelled, texts)
    against = tuple(item.rank for item in evidence if item.side == "against" and item.found)
    return replace(
        claim,
        by=_union(claim.by, _carried_by(labelled.support, evidence)),
        against=_union(claim.against, against),
        support=_stronger(claim.support, labelled.support),
        evidence=(*claim.evidence, *evidence),
    )


def _on_statement(statement: JudgedStatement, labelled: Support, texts: Texts) -> JudgedStatement:
    """Return a statement of the reference with what documents say of it, added to what others said."""
    evidence = _evidence(labelled, texts)
    return replace(
        statement,
        by=_union(statement.by, _carried_by(labelled.support, evidence)),
        support=_stronger(statement.support, labelled.support),
        evidence=(*statement.evidence, *evidence),
    )


def _stronger(support: str | None, more: str) -> str:
    return max(support or "none", more, key=SUPPORT.index)


def _more_injections(begun: JudgeReply, labels: Mapping[str, Any]) -> tuple[Injection, ...]:
    """Return the attempts to instruct the judge, each once: a text is sent more than once."""
    return tuple(dict.fromkeys((*begun.injections, *injections(labels["instructions"]))))


def _union(ranks: Sequence[int], more: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted({*ranks, *more}))


FEWEST_WORDS, FEWEST_BYTES = 3, 8  # a shorter quote, such as "the", is evidence of nothing
_ELLIPSIS = re.compile(r"\[?(?:\.{3,}|…)\]?")
_WORD = re.compile(r"\w+")


def is_quoted(quote: str, text: str) -> bool:
    """Return whether a quote stands in a text, word for word.

    Case, spacing and punctuation may differ. Stretches around an ellipsis must follow one another, and none
    begins or ends within a number: "5 million people" is not a quote from "15 million people".
    A quote of fewer than three words and eight bytes counts only where it is the whole text.
    """
    words = _words(text)
    stretches = [stretch for part in _ELLIPSIS.split(quote) if (stretch := _words(part))]
    quoted = " ".join(stretches)
    long_enough = len(quoted.split()) >= FEWEST_WORDS or len(quoted.encode()) >= FEWEST_BYTES
    if not quoted or not (long_enough or quoted == words):
        return False
    at = 0
    for stretch in stretches:
        # the pattern of a stretch that does not begin or end within a number
        before = r"(?<!\d)" if stretch[0].isdecimal() else ""
        after = r"(?!\d)" if stretch[-1].isdecimal() else ""
        whole_numbers = re.compile(f"{before}{re.escape(stretch)}{after}")
        match = whole_numbers.search(words, at)
        if match is None:
            return False
        at = match.end()
    return True


def _words(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text.encode("utf-8", "replace").decode("utf-8")).casefold()
    return " ".join(_WORD.findall(plain))
