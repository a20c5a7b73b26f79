"""The forms that a judge fills in: which labels a case calls for, as JSON schemas, and the checks of a field.

A reply is checked field by field; the message of an error names the field and what would be accepted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metrics.judge.prompts import JudgedCase
from metrics.schema.scores import MetricsError

__all__ = [
    "ADDRESSES",
    "AGREES",
    "COMPLETE",
    "INSTRUCTIONS",
    "TEXT",
    "VERDICTS",
    "Injection",
    "ReplyReader",
    "ReplySchema",
    "choice",
    "follow_up_schema",
    "injections_of",
    "names_of",
    "object_schema",
    "reply_schema",
]

ADDRESSES: Mapping[str, float] = {"fully": 1.0, "partly": 0.5, "no": 0.0}
COMPLETE: Mapping[str, float] = {"complete": 1.0, "mostly": 2 / 3, "partly": 1 / 3, "no": 0.0}
AGREES: Mapping[str, float] = {"correct": 1.0, "partly": 0.5, "incorrect": 0.0}
VERDICTS = ("supported", "contradicted", "not_in_context")


@dataclass(frozen=True)
class ReplySchema:
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
    def of(cls, case: JudgedCase) -> ReplySchema:
        """Give the form of a case."""
        ranks = tuple(dict.fromkeys(one.rank for one in case.documents))
        return cls(case.answer is not None, case.reference is not None, ranks)


@dataclass(frozen=True)
class Injection:
    """Text in the data that tried to instruct the judge.

    Attributes:
        where: where it stands, e.g. "document 3".
        quote: the text.
    """

    where: str
    quote: str


_RANKS = {"type": "array", "items": {"type": "integer"}}
TEXT, _FLAG = {"type": "string"}, {"type": "boolean"}


def object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Give the schema of an object that has these fields, all of them and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": object_schema(properties)}


def choice(words: Sequence[str] | Mapping[str, float]) -> dict[str, Any]:
    """Give the schema of one word out of several."""
    return {"type": "string", "enum": list(words)}


INSTRUCTIONS = _list({"where": TEXT, "quote": TEXT})


def reply_schema(form: ReplySchema) -> dict[str, Any]:
    """Give the JSON schema of a reading: exactly the labels that the case calls for."""
    asked: dict[str, Any] = {}
    context = bool(form.ranks)
    if form.answer:
        asked |= {"refused": _FLAG, "addresses": choice(ADDRESSES), "complete": choice(COMPLETE)}
        asked |= {"agrees": choice(AGREES)} if form.reference else {}
        asked |= {"contradicts_itself": _FLAG}
    asked |= {"relevant": _RANKS} if context else {}
    asked |= {"used": _RANKS} if context and form.answer else {}
    if form.answer:
        of_context = {"verdict": choice(VERDICTS), "by": _RANKS, "against": _RANKS} if context else {}
        of_reference = {"in_reference": _FLAG} if form.reference else {}
        asked["claims"] = _list({"text": TEXT} | of_context | of_reference)
    if form.reference:
        by = {"by": _RANKS} if context else {}
        asked["statements"] = _list({"text": TEXT} | by | ({"in_answer": _FLAG} if form.answer else {}))
    return object_schema(asked | {"instructions": INSTRUCTIONS})


def follow_up_schema(form: ReplySchema) -> dict[str, Any]:
    """Give the JSON schema of the labels on further documents of a reading that was begun."""
    asked: dict[str, Any] = {"relevant": _RANKS}
    number = {"type": "integer"}
    if form.answer:
        asked |= {"used": _RANKS, "claims": _list({"n": number, "by": _RANKS, "against": _RANKS})}
    if form.reference:
        asked["statements"] = _list({"n": number, "by": _RANKS})
    return object_schema(asked | {"instructions": INSTRUCTIONS})


class ReplyReader:
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
        """Read true or false."""
        found = self.value[name]
        if not isinstance(found, bool):
            raise MetricsError(f"{self._path(name)}: {str(found)[:40]!r}; accepted: true, false")
        return found

    def word(self, name: str, accepted: Sequence[str] | Mapping[str, float]) -> str:
        """Read one of the accepted words."""
        found = self.value[name]
        if found not in tuple(accepted):
            raise MetricsError(f"{self._path(name)}: {str(found)[:40]!r}; accepted: {', '.join(accepted)}")
        return str(found)

    def text(self, name: str) -> str:
        """Read a text."""
        found = self.value[name]
        if not isinstance(found, str):
            raise MetricsError(f"{self._path(name)}: {str(found)[:40]!r}; accepted: text")
        return found

    def number(self, name: str) -> int:
        """Read a whole number."""
        found = self.value[name]
        if not isinstance(found, int) or isinstance(found, bool):
            raise MetricsError(f"{self._path(name)}: {str(found)[:40]!r}; accepted: a whole number")
        return found

    def ranks(self, name: str, form: ReplySchema) -> tuple[int, ...]:
        """Read ranks of documents that were sent, in order and each once."""
        found = self.value[name]
        if not isinstance(found, list) or any(type(one) is not int or one not in form.ranks for one in found):
            listed = ", ".join(map(str, form.ranks))
            raise MetricsError(f"{self._path(name)}: {str(found)[:60]}; accepted: ranks out of {listed}")
        return tuple(sorted(set(found)))

    def entries(self, name: str, names: Sequence[str]) -> list[ReplyReader]:
        """Read a list of objects that have these fields."""
        found = self.value[name]
        if not isinstance(found, list):
            raise MetricsError(f"{self._path(name)}: not a list; accepted: a list of objects")
        return [ReplyReader(one, f"{self._path(name)}[{at}]", names) for at, one in enumerate(found)]


def names_of(schema: Mapping[str, Any], name: str | None = None) -> list[str]:
    """Name the fields of a schema, or those of the entries of one of its lists."""
    inside = schema if name is None else schema["properties"][name]["items"]
    return list(inside["properties"])


def injections_of(given: ReplyReader) -> tuple[Injection, ...]:
    """Read what the judge reports as attempts to instruct it."""
    entries = given.entries("instructions", ("where", "quote"))
    return tuple(Injection(one.text("where"), one.text("quote")) for one in entries)
