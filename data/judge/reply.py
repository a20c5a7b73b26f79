"""The judge's reply as pydantic models: the JSON schema that is sent, and the check of what comes back.

The fields of a reply depend on the case: without a reference answer, for instance, there is no `agrees`.
The message of an error names the field and what would be accepted, and is sent back to the judge once.

Replies are validated here and not by the SDK's `messages.parse`. That raises on a reply which does not fit,
so that its usage, stop reason and text are lost, which are priced, recorded and sent back for repair; message
batches do not have it; and it alters the schema, which is part of the key of every cached call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, Literal, Self, TypeVar

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
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from data.store.judge_replies import Injection, JudgedClaim, JudgedStatement, JudgeReply, RequestedLabels

__all__ = [
    "Instruction",
    "ReplyError",
    "ReplyObject",
    "follow_up_schema",
    "join_follow_up",
    "misfit",
    "parse_reply",
    "reply_schema",
    "validate_reply",
    "wire_schema",
]


class ReplyError(ValueError):
    """A reply that does not fit; the message names the field and what would be accepted."""


class ReplyObject(BaseModel):
    """An object in a reply: every field is required, no other is accepted, and no value is converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


@dataclass(frozen=True)
class Sent:
    """What a reply is checked against.

    Attributes:
        ranks: ranks of the documents sent.
        counts: how many numbered claims and statements were sent, by field.
    """

    ranks: tuple[int, ...] = ()
    counts: Mapping[str, int] | None = None


def misfit(value: str, accepted: str, field: str = "") -> PydanticCustomError:
    """Return the error of a value that does not fit, for a validator to raise.

    Args:
        value: what was sent, quoted.
        accepted: what would be accepted.
        field: name of the field, when the validator checks the whole object.
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


Ranks = Annotated[tuple[Annotated[int, Strict()], ...], Strict(False), WrapValidator(_sent_ranks)]


class Instruction(ReplyObject):
    """Text in the data that tries to instruct the judge."""

    where: str
    quote: str


class TextObject(ReplyObject):
    """A claim or a statement in a case without documents."""

    text: str


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


class NumberedStatement(ReplyObject):
    """The further documents that contain a statement."""

    n: int
    by: Ranks


class NumberedClaim(NumberedStatement):
    """The further documents that support or contradict a claim."""

    against: Ranks


Numbered = TypeVar("Numbered", bound=NumberedStatement)


def _each_once(entries: list[Numbered], info: ValidationInfo) -> list[Numbered]:
    """Return the entries in the order of their numbers; each number must occur once."""
    sent = _sent(info)
    count = (sent.counts or {})[str(info.field_name)]
    numbers = sorted(entry.n for entry in entries)
    if numbers != list(range(1, count + 1)):
        listed = ", ".join(str(number) for number in dict.fromkeys(numbers))[:80]
        raise misfit(f"numbers {listed or 'none'}", f"each of 1 to {count} once")
    return sorted(entries, key=lambda entry: entry.n)


def _model(name: str, fields: Mapping[str, Any], base: type[ReplyObject] = ReplyObject) -> type[ReplyObject]:
    definitions: dict[str, Any] = {field: (kind, ...) for field, kind in fields.items()}
    return create_model(name, __base__=base, **definitions)


@cache
def _reply_model(answer: bool, reference: bool, context: bool) -> type[ReplyObject]:
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
        fields["claims"] = list[_model("Claim", in_reference, ContextClaim if context else TextObject)]  # type: ignore[misc] # a model made here
    if reference:
        in_answer = {"in_answer": bool} if answer else {}
        base = ContextStatement if context else TextObject
        fields["statements"] = list[_model("Statement", in_answer, base)]  # type: ignore[misc] # a model made here
    return _model(
        "Reply", fields | {"instructions": list[Instruction]}, AnswerReply if answer else ReplyObject
    )


@cache
def _follow_up_model(answer: bool, reference: bool) -> type[ReplyObject]:
    """Return the model of a reply on further documents of a case whose evaluation has begun."""
    fields: dict[str, Any] = {"relevant": Ranks}
    if answer:
        fields |= {"used": Ranks, "claims": Annotated[list[NumberedClaim], AfterValidator(_each_once)]}
    if reference:
        fields["statements"] = Annotated[list[NumberedStatement], AfterValidator(_each_once)]
    return _model("FollowUp", fields | {"instructions": list[Instruction]})


def reply_schema(requested: RequestedLabels) -> dict[str, Any]:
    """Return the JSON schema of a reply: exactly the labels that the case calls for."""
    return wire_schema(_reply_model(requested.answer, requested.reference, bool(requested.ranks)))


def follow_up_schema(requested: RequestedLabels) -> dict[str, Any]:
    """Return the JSON schema of a reply on further documents."""
    return wire_schema(_follow_up_model(requested.answer, requested.reference))


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


def parse_reply(reply: object, requested: RequestedLabels) -> JudgeReply:
    """Check a reply and return its labels.

    Raises:
        ReplyError: a field is missing, unknown or not as accepted, a rank was not sent, the verdict on a
            claim does not follow from its ranks, or a refusal is said to address the question.
    """
    model = _reply_model(requested.answer, requested.reference, bool(requested.ranks))
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


def join_follow_up(begun: JudgeReply, reply: object, ranks: Sequence[int]) -> JudgeReply:
    """Add the labels on further documents to an evaluation that has begun.

    Args:
        begun: the labels so far.
        reply: what the judge sent on these documents, for the claims and statements of `begun` by number.
        ranks: ranks of the documents it was sent.

    Raises:
        ReplyError: as for `parse_reply`, or a claim was left out or numbered twice.
    """
    sent = Sent(
        tuple(dict.fromkeys(ranks)), {"claims": len(begun.claims), "statements": len(begun.statements)}
    )
    labels = dict(validate_reply(reply, _follow_up_model(begun.form.answer, begun.form.reference), sent))
    claims = [
        replace(claim, by=_union(claim.by, more.by), against=_union(claim.against, more.against))
        for claim, more in zip(begun.claims, labels.get("claims", ()), strict=True)
    ]
    statements = [
        replace(statement, by=_union(statement.by, more.by))
        for statement, more in zip(begun.statements, labels.get("statements", ()), strict=True)
    ]
    return replace(
        begun,
        form=replace(begun.form, ranks=_union(begun.form.ranks, sent.ranks)),
        relevant=_union(begun.relevant, labels["relevant"]),
        used=_union(begun.used, labels.get("used", ())),
        claims=tuple(claims),
        statements=tuple(statements),
        injections=(*begun.injections, *injections(labels["instructions"])),
        parts=begun.parts + 1,
    )


def injections(instructions: Sequence[Instruction]) -> tuple[Injection, ...]:
    """Return the reported attempts to instruct the judge, as they are stored."""
    return tuple(Injection(entry.where, entry.quote) for entry in instructions)


def _union(ranks: Sequence[int], more: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted({*ranks, *more}))
