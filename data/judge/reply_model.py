"""Replies as pydantic models: the JSON schema that is sent, and the check of what comes back.

The message of an error names the field and what would be accepted, and is sent back to the judge once.

Replies are validated here and not by the SDK's `messages.parse`. That raises on a reply which does not fit,
so that its usage, stop reason and text are lost, which are priced, recorded and sent back for repair; message
batches do not have it; and it alters the schema, which is part of the key of every cached call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Strict,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    create_model,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from ragtriage.data.store.judge_results import Injection


class ReplyError(ValueError):
    """A reply that does not fit; the message names the field and what would be accepted."""


class ReplyObject(BaseModel):
    """An object in a reply: every field is required, no other is accepted, and no value is converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


@dataclass(frozen=True)
class Sent:
    """What a reply is checked against."""

    ranks: tuple[int, ...] = ()  # ranks of the documents sent
    counts: Mapping[str, int] | None = None  # how many numbered claims and statements were sent, by field


def misfit(value: str, accepted: str, field: str = "") -> PydanticCustomError:
    """Return the error of a value that does not fit, for a validator to raise.

    The field is named where the validator checks the whole object.
    """
    context = {"value": value, "accepted": accepted, "field": field}
    return PydanticCustomError("misfit", "{value}; accepted: {accepted}", context)


def _sent(info: ValidationInfo) -> Sent:
    if not isinstance(info.context, Sent):
        raise TypeError("a reply is validated with what was sent as its context")
    return info.context


def _sent_ranks(
    value: object, handler: ValidatorFunctionWrapHandler, info: ValidationInfo
) -> tuple[int, ...]:
    """Return the ranks sorted and without repeats; each must be that of a document sent."""
    sent = _sent(info)
    try:
        ranks = set(handler(value))
    except ValidationError:
        ranks = {None}
    if not ranks <= set(sent.ranks):
        raise misfit(str(value)[:60], f"ranks out of {', '.join(map(str, sent.ranks))}")
    return tuple(sorted(ranks))


def _sent_rank(rank: int, info: ValidationInfo) -> int:
    """Return a rank, which must be that of a document sent."""
    sent = _sent(info)
    if rank not in sent.ranks:
        raise misfit(str(rank)[:60], f"a rank out of {', '.join(map(str, sent.ranks))}")
    return rank


Rank = Annotated[int, AfterValidator(_sent_rank)]
Ranks = Annotated[tuple[Annotated[int, Strict()], ...], Strict(False), WrapValidator(_sent_ranks)]


class Instruction(ReplyObject):
    """Text in the data that tries to instruct the judge."""

    where: str
    quote: str


class TextObject(ReplyObject):
    """A claim or a statement in a case without documents."""

    text: str


class NumberedObject(ReplyObject):
    """What is said of a claim or statement that was sent with its number."""

    n: int


Numbered = TypeVar("Numbered", bound=NumberedObject)


def each_once(entries: list[Numbered], info: ValidationInfo) -> list[Numbered]:
    """Return numbered entries in their order; each number that was sent must occur once."""
    count = (_sent(info).counts or {})[str(info.field_name)]
    numbers = sorted(entry.n for entry in entries)
    if numbers != list(range(1, count + 1)):
        listed = ", ".join(str(number) for number in dict.fromkeys(numbers))[:80]
        raise misfit(f"numbers {listed or 'none'}", f"each of 1 to {count} once")
    return sorted(entries, key=lambda entry: entry.n)


def injections(instructions: Sequence[Instruction]) -> tuple[Injection, ...]:
    """Return the reported attempts to instruct the judge, as they are stored."""
    return tuple(Injection(entry.where, entry.quote) for entry in instructions)


def reply_model(
    name: str, fields: Mapping[str, Any], base: type[ReplyObject] = ReplyObject
) -> type[ReplyObject]:
    """Return the model of an object with these fields, by name and type, after those of its base."""
    definitions: dict[str, Any] = {field: (kind, ...) for field, kind in fields.items()}
    return create_model(name, __base__=base, **definitions)


def wire_schema(model: type[ReplyObject]) -> dict[str, Any]:
    """Return a model's JSON schema without titles and descriptions and with its definitions in place.

    It is part of the key of a cached call: a change of it makes old workspaces ask everything again.
    """
    schema = model.model_json_schema()
    definitions = schema.pop("$defs", {})

    def plain(node: Mapping[str, Any]) -> dict[str, Any]:
        if "$ref" in node:
            return plain(definitions[node["$ref"].rpartition("/")[2]])
        return {
            key: plain(value) if isinstance(value, dict) else value
            for key, value in node.items()
            if isinstance(value, dict) or key not in ("title", "description")
        }

    return plain(schema)


Reply = TypeVar("Reply", bound=ReplyObject)


def validate_reply(reply: object, model: type[Reply], sent: Sent | None = None) -> Reply:
    """Check the JSON values of a reply and return them as the model.

    Raises:
        ReplyError: a field is missing, unknown or not as accepted.
    """
    try:
        return model.model_validate(reply, context=sent or Sent())
    except ValidationError as error:
        raise ReplyError(_problem(error.errors(include_url=False), wire_schema(model))) from error


def _problem(errors: Sequence[ErrorDetails], schema: Mapping[str, Any]) -> str:
    """Describe the first error: missing and unknown fields of an object together, before any value."""
    fields = [error for error in errors if error["type"] in ("missing", "extra_forbidden")]
    if fields:
        parent = fields[0]["loc"][:-1]
        names: dict[str, list[str]] = {"missing": [], "extra_forbidden": []}
        for error in fields:
            if error["loc"][:-1] == parent:
                names[error["type"]].append(str(error["loc"][-1]))
        wrong = [f"missing {', '.join(names['missing'])}"] if names["missing"] else []
        if names["extra_forbidden"]:
            wrong.append(f"unknown {', '.join(names['extra_forbidden'])[:80]}")
        return f"{_path(parent)}: {'; '.join(wrong)}; accepted: {_accepted(_node(schema, parent))}"
    first = errors[0]
    if first["type"] == "misfit":
        field = first["ctx"]["field"]
        return f"{_path((*first['loc'], field) if field else first['loc'])}: {first['msg']}"
    node = _node(schema, first["loc"])
    wrong_value = {"object": "not an object", "array": "not a list"}.get(
        node["type"], repr(str(first["input"])[:40])
    )
    return f"{_path(first['loc'])}: {wrong_value}; accepted: {_accepted(node)}"


def _node(schema: Mapping[str, Any], location: Sequence[int | str]) -> Mapping[str, Any]:
    for step in location:
        schema = schema["items"] if isinstance(step, int) else schema["properties"][step]
    return schema


def _accepted(node: Mapping[str, Any]) -> str:
    if "enum" in node:
        return ", ".join(node["enum"])
    if node["type"] == "object":
        return ", ".join(node["properties"])
    words = {"boolean": "true, false", "string": "text", "integer": "a whole number"}
    return words.get(node["type"], "a list of objects")


def _path(location: Sequence[int | str]) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)
    return "".join(steps).removeprefix(".") or "the reply"


_EMPTY: Mapping[str, Any] = {"array": (), "boolean": False, "string": "", "integer": 0, "number": 0}


def expected_reply(schema: Mapping[str, Any], entries: Mapping[str, Sequence[Mapping[str, Any]]]) -> Any:
    """Return a reply that says nothing but what `entries` give.

    Of an `enum` it has the last value; lists are empty, and the rest is false or empty. `entries` lists by
    field the objects of its list, each with some of its fields.
    """
    if "enum" in schema:
        return schema["enum"][-1]
    if schema.get("type") != "object":
        empty = _EMPTY.get(str(schema.get("type")))
        return [] if empty == () else empty
    reply: dict[str, Any] = {}
    for name, node in schema["properties"].items():
        if name in entries:
            reply[name] = [{**expected_reply(node["items"], {}), **entry} for entry in entries[name]]
        else:
            reply[name] = expected_reply(node, {})
    return reply
