"""A judge's reading of one answer: the labels it must give, checked, and joined where they came in parts.

The judge gives labels and never numbers. What it sends is checked against the form that the case calls for;
the message of an error names the field and what would be accepted, and goes back to the judge once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from metrics.judge_prompts import JudgedCase
from metrics.values import MetricsError

__all__ = [
    "ADDRESSES",
    "AGREES",
    "COMPLETE",
    "Form",
    "Injection",
    "ReadClaim",
    "ReadStatement",
    "Reading",
    "further_schema",
    "join_further",
    "parse_reading",
    "reading_schema",
]

ADDRESSES: Mapping[str, float] = {"fully": 1.0, "partly": 0.5, "no": 0.0}
COMPLETE: Mapping[str, float] = {"complete": 1.0, "mostly": 2 / 3, "partly": 1 / 3, "no": 0.0}
AGREES: Mapping[str, float] = {"correct": 1.0, "partly": 0.5, "incorrect": 0.0}
VERDICTS = ("supported", "contradicted", "not_in_context")


@dataclass(frozen=True)
class Form:
    """Which labels a case calls for.

    Attributes:
        answer: an answer was recorded.
        reference: there is a reference answer.
        ranks: ranks of the documents sent; empty where there is none.
    """

    answer: bool
    reference: bool
    ranks: tuple[int, ...]

    @classmethod
    def of(cls, case: JudgedCase) -> Form:
        """Give the form of a case."""
        ranks = tuple(dict.fromkeys(one.rank for one in case.documents))
        return cls(case.answer is not None, case.reference is not None, ranks)


@dataclass(frozen=True)
class ReadClaim:
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
class ReadStatement:
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
class Injection:
    """Text in the data that tried to instruct the judge.

    Attributes:
        where: where it stands, e.g. "document 3".
        quote: the text.
    """

    where: str
    quote: str


@dataclass(frozen=True)
class Reading:
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
    """

    form: Form
    refused: bool | None
    addresses: str | None
    complete: str | None
    agrees: str | None
    contradicts_itself: bool | None
    relevant: tuple[int, ...]
    used: tuple[int, ...]
    claims: tuple[ReadClaim, ...]
    statements: tuple[ReadStatement, ...]
    injections: tuple[Injection, ...]


_RANKS = {"type": "array", "items": {"type": "integer"}}
_TEXT, _FLAG = {"type": "string"}, {"type": "boolean"}


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": _object(properties)}


def _choice(words: Sequence[str] | Mapping[str, float]) -> dict[str, Any]:
    return {"type": "string", "enum": list(words)}


_INSTRUCTIONS = _list({"where": _TEXT, "quote": _TEXT})


def reading_schema(form: Form) -> dict[str, Any]:
    """Give the JSON schema of a reading: exactly the labels that the case calls for."""
    asked: dict[str, Any] = {}
    context = bool(form.ranks)
    if form.answer:
        asked |= {"refused": _FLAG, "addresses": _choice(ADDRESSES), "complete": _choice(COMPLETE)}
        asked |= {"agrees": _choice(AGREES)} if form.reference else {}
        asked |= {"contradicts_itself": _FLAG}
    asked |= {"relevant": _RANKS} if context else {}
    asked |= {"used": _RANKS} if context and form.answer else {}
    if form.answer:
        of_context = {"verdict": _choice(VERDICTS), "by": _RANKS, "against": _RANKS} if context else {}
        of_reference = {"in_reference": _FLAG} if form.reference else {}
        asked["claims"] = _list({"text": _TEXT} | of_context | of_reference)
    if form.reference:
        by = {"by": _RANKS} if context else {}
        asked["statements"] = _list({"text": _TEXT} | by | ({"in_answer": _FLAG} if form.answer else {}))
    return _object(asked | {"instructions": _INSTRUCTIONS})


def further_schema(form: Form) -> dict[str, Any]:
    """Give the JSON schema of the labels on further documents of a reading that was begun."""
    asked: dict[str, Any] = {"relevant": _RANKS}
    number = {"type": "integer"}
    if form.answer:
        asked |= {"used": _RANKS, "claims": _list({"n": number, "by": _RANKS, "against": _RANKS})}
    if form.reference:
        asked["statements"] = _list({"n": number, "by": _RANKS})
    return _object(asked | {"instructions": _INSTRUCTIONS})


class _Given:
    """Reads fields of what the judge sent; every miss says where it is and what would be accepted."""

    def __init__(self, value: object, at: str, names: Sequence[str]) -> None:
        if not isinstance(value, Mapping):
            raise MetricsError(f"{at or 'the reply'}: not an object; accepted: {', '.join(names)}")
        lacking = [name for name in names if name not in value]
        unknown = [str(name) for name in value if name not in names]
        if lacking or unknown:
            wrong = [f"missing {', '.join(lacking)}"] if lacking else []
            wrong += [f"unknown {', '.join(unknown)[:80]}"] if unknown else []
            raise MetricsError(f"{at or 'the reply'}: {'; '.join(wrong)}; accepted: {', '.join(names)}")
        self.value, self.at = value, at

    def _path(self, name: str) -> str:
        return f"{self.at}.{name}" if self.at else name

    def flag(self, name: str) -> bool:
        found = self.value[name]
        if not isinstance(found, bool):
            raise MetricsError(f"{self._path(name)}: {str(found)[:40]!r}; accepted: true, false")
        return found

    def word(self, name: str, accepted: Sequence[str] | Mapping[str, float]) -> str:
        found = self.value[name]
        if found not in tuple(accepted):
            raise MetricsError(f"{self._path(name)}: {str(found)[:40]!r}; accepted: {', '.join(accepted)}")
        return str(found)

    def text(self, name: str) -> str:
        found = self.value[name]
        if not isinstance(found, str):
            raise MetricsError(f"{self._path(name)}: {str(found)[:40]!r}; accepted: text")
        return found

    def number(self, name: str) -> int:
        found = self.value[name]
        if not isinstance(found, int) or isinstance(found, bool):
            raise MetricsError(f"{self._path(name)}: {str(found)[:40]!r}; accepted: a whole number")
        return found

    def ranks(self, name: str, form: Form) -> tuple[int, ...]:
        found = self.value[name]
        if not isinstance(found, list) or any(type(one) is not int or one not in form.ranks for one in found):
            listed = ", ".join(map(str, form.ranks))
            raise MetricsError(f"{self._path(name)}: {str(found)[:60]}; accepted: ranks out of {listed}")
        return tuple(sorted(set(found)))

    def entries(self, name: str, names: Sequence[str]) -> list[_Given]:
        found = self.value[name]
        if not isinstance(found, list):
            raise MetricsError(f"{self._path(name)}: not a list; accepted: a list of objects")
        return [_Given(one, f"{self._path(name)}[{at}]", names) for at, one in enumerate(found)]


def _names(schema: Mapping[str, Any], name: str | None = None) -> list[str]:
    inside = schema if name is None else schema["properties"][name]["items"]
    return list(inside["properties"])


def parse_reading(reply: object, form: Form) -> Reading:
    """Check a reply against the form and give the reading.

    Raises:
        MetricsError: a field is missing, unknown or not as accepted, a rank was not sent, or the verdict on a
            claim does not follow from its ranks.
    """
    schema = reading_schema(form)
    given, context = _Given(reply, "", _names(schema)), bool(form.ranks)
    return Reading(
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
        injections=_injections(given),
    )


def _claims(given: _Given, schema: Mapping[str, Any], form: Form) -> tuple[ReadClaim, ...]:
    return tuple(_claim(one, form) for one in given.entries("claims", _names(schema, "claims")))


def _claim(one: _Given, form: Form) -> ReadClaim:
    by = one.ranks("by", form) if form.ranks else ()
    against = one.ranks("against", form) if form.ranks else ()
    claim = ReadClaim(one.text("text"), by, against, one.flag("in_reference") if form.reference else None)
    if form.ranks and one.word("verdict", VERDICTS) != claim.verdict:
        raise MetricsError(
            f"{one.at}.verdict: {one.value['verdict']!r} beside by {list(by)} and against {list(against)}; "
            "accepted: supported with ranks in by, contradicted with none in by and some in against, "
            "not_in_context with none in either"
        )
    return claim


def _statements(given: _Given, schema: Mapping[str, Any], form: Form) -> tuple[ReadStatement, ...]:
    return tuple(
        ReadStatement(
            one.text("text"),
            one.ranks("by", form) if form.ranks else (),
            one.flag("in_answer") if form.answer else None,
        )
        for one in given.entries("statements", _names(schema, "statements"))
    )


def _injections(given: _Given) -> tuple[Injection, ...]:
    entries = given.entries("instructions", ("where", "quote"))
    return tuple(Injection(one.text("where"), one.text("quote")) for one in entries)


def join_further(begun: Reading, reply: object, ranks: Sequence[int]) -> Reading:
    """Add the labels on further documents to a reading that was begun.

    Args:
        begun: the reading so far.
        reply: what the judge sent on these documents, for the claims and statements of `begun` by number.
        ranks: ranks of the documents it was sent.

    Raises:
        MetricsError: as parse_reading, or a claim was left out or named twice.
    """
    form = replace(begun.form, ranks=tuple(dict.fromkeys(ranks)))
    schema = further_schema(form)
    given = _Given(reply, "", _names(schema))
    claims, statements = begun.claims, begun.statements
    if form.answer:
        found = _by_number(given, "claims", _names(schema, "claims"), len(claims))
        claims = tuple(_more_claim(claim, one, form) for claim, one in zip(claims, found, strict=True))
    if form.reference:
        found = _by_number(given, "statements", _names(schema, "statements"), len(statements))
        pairs = zip(statements, found, strict=True)
        statements = tuple(replace(old, by=_union(old.by, one.ranks("by", form))) for old, one in pairs)
    return replace(
        begun,
        form=replace(begun.form, ranks=_union(begun.form.ranks, form.ranks)),
        relevant=_union(begun.relevant, given.ranks("relevant", form)),
        used=_union(begun.used, given.ranks("used", form) if form.answer else ()),
        claims=claims,
        statements=statements,
        injections=(*begun.injections, *_injections(given)),
    )


def _more_claim(claim: ReadClaim, one: _Given, form: Form) -> ReadClaim:
    by, against = one.ranks("by", form), one.ranks("against", form)
    return replace(claim, by=_union(claim.by, by), against=_union(claim.against, against))


def _by_number(given: _Given, name: str, names: Sequence[str], count: int) -> list[_Given]:
    found = {one.number("n"): one for one in given.entries(name, names)}
    if sorted(found) != list(range(1, count + 1)) or len(given.value[name]) != count:
        numbers = ", ".join(str(one) for one in sorted(found))[:80]
        raise MetricsError(f"{name}: numbers {numbers or 'none'}; accepted: each of 1 to {count} once")
    return [found[at] for at in range(1, count + 1)]


def _union(one: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted({*one, *other}))
