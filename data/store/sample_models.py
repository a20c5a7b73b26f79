"""The sample as pydantic models: what each field of a record accepts, and what it is read as.

The models are typed dictionaries rather than classes, since a validated sample is written to Arrow as it is.
A field that is missing or null becomes None. Types are strict: text that looks like a number is not one.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    Strict,
    TypeAdapter,
    with_config,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema
from typing_extensions import TypedDict

CUSTOM = "custom"  # type of our own errors, with `accepted` in their context, and `what` if not "found ..."
LARGEST_WHOLE = 1_000_000_000
MOST_NESTED = 20  # lists in lists of an answer
DEEPEST = 64  # lists and objects in each other that are stored as such; writers of JSON give up at 254


def is_unicode(text: str) -> bool:
    """Return whether text can be written as UTF-8, which half of a surrogate pair cannot."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def as_json(value: object) -> str:
    """Return any value as JSON text that can be stored; half of a surrogate pair stays escaped.

    What is nested deeper than any reader follows is kept as a text of JSON in its place.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except RecursionError:
        text = ""
    if not text or text.count("[") + text.count("{") > DEEPEST:
        value = _flattened(value, DEEPEST)
        text = json.dumps(value, ensure_ascii=False, default=str)
    return text if is_unicode(text) else json.dumps(value, default=str)


def _flattened(value: object, levels: int) -> object:
    """Return a value whose lists and objects below a number of levels are texts of JSON."""
    if not isinstance(value, Mapping | list | tuple):
        return value
    if not levels:
        try:
            return json.dumps(value, default=str)
        except RecursionError:
            return "nested too deeply to be kept"
    if isinstance(value, Mapping):
        return {key: _flattened(entry, levels - 1) for key, entry in value.items()}
    return [_flattened(entry, levels - 1) for entry in value]


def is_finite(value: float) -> bool:
    """Return whether a number is finite as a float too, which a whole number of 309 digits is not."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def answer_text(value: object, depth: int = 0) -> object:
    """Return a number, a truth value or a list of texts as text, one item a line; anything else as it is."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float) and is_finite(value):
        return str(int(value)) if value == int(value) and abs(value) < LARGEST_WHOLE else str(value)
    if not isinstance(value, list | tuple) or depth == MOST_NESTED:
        return value
    items = [answer_text(_part(item), depth + 1) for item in value if item is not None]
    return "\n".join(map(str, items)) if all(isinstance(item, str) for item in items) else value


PART_KEYS = {"text", "content", "type", "role", "speaker", "timestamp"}


def _part(item: object) -> object:
    """Return the text of a part of a message, as {type, text} or {speaker, text}; a passage is none."""
    if not isinstance(item, Mapping) or not item.keys() <= PART_KEYS:
        return item
    return item.get("text", item.get("content", item))


def _with_error(schema: CoreSchema, accepted: str) -> CoreSchema:
    """Return a schema with one error for all that can be wrong with a value."""
    return core_schema.custom_error_schema(
        schema, CUSTOM, custom_error_message=CUSTOM, custom_error_context={"accepted": accepted}
    )


def _invalid(what: str, accepted: str) -> PydanticCustomError:
    return PydanticCustomError(CUSTOM, CUSTOM, {"what": what, "accepted": accepted})


@dataclass(frozen=True)
class Accepts:
    """Annotation of a type: what its errors say would be accepted, and the only classes it takes, if any."""

    text: str
    classes: tuple[type, ...] = ()

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Wrap the schema of the annotated type."""
        schema = handler(source)
        if self.classes:
            schema = core_schema.chain_schema([core_schema.is_instance_schema(self.classes), schema])
        return _with_error(schema, self.text)


@dataclass(frozen=True)
class WholeFrom:
    """Annotation of an int: whole numbers from a least one, written with or without a fraction of zero."""

    least: int

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """Build the schema: a strict int, or a float through the lax int, which alone would take "1" too."""
        strict = core_schema.int_schema(strict=True, ge=self.least, le=LARGEST_WHOLE)
        lax = core_schema.int_schema(ge=self.least, le=LARGEST_WHOLE)
        of_float = core_schema.chain_schema([core_schema.is_instance_schema(float), lax])
        whole = core_schema.union_schema([strict, of_float], mode="left_to_right")
        return _with_error(whole, f"a whole number of {self.least} or more")


T = TypeVar("T")
Maybe = Annotated[T | None, Field(default=None)]
ListOf = Annotated[list[T], Strict()]

PlainText = Annotated[str, Strict(), Field(min_length=0)]  # only with a bound does pydantic check the Unicode
Text = Annotated[PlainText, Accepts("text")]
Identifier = Annotated[
    Annotated[str, Strict(), Field(min_length=1)] | Annotated[int, Strict(), AfterValidator(str)],
    Field(union_mode="left_to_right"),
    Accepts("text of at least one character, or a whole number"),
]
Number = Annotated[
    float,
    Strict(),
    Field(allow_inf_nan=False),
    Accepts("a finite number, or null", (float, int)),  # strict floats of pydantic take Decimal too
]
Rate = Annotated[
    float,
    Strict(),
    Field(gt=0, le=1),
    Accepts("a number above 0 and at most 1: the share of such calls that was kept", (float, int)),
]
Flag = Annotated[bool, Strict(), Accepts("true, false or null")]
Rank = Annotated[int, WholeFrom(1)]
Count = Annotated[int, WholeFrom(0)]
JsonText = Annotated[Any, AfterValidator(as_json)]


def _not_blank(text: str) -> str:
    if not text.strip():
        raise _invalid("empty", "text with at least one character")
    return text


Question = Annotated[Text, AfterValidator(_not_blank)]


class Document(TypedDict):
    """A retrieved document."""

    id: Maybe[Identifier]
    text: Maybe[Text]
    score: Maybe[Number]
    doc_id: Maybe[Identifier]
    start: Maybe[Count]
    end: Maybe[Count]
    relevant: Maybe[Flag]
    extra: Maybe[Any]


DOCUMENT_KEYS = Document.__annotations__.keys() - {"extra"}


def _as_document(value: object) -> object:
    """Return a text as a document, and the keys that a document does not have as JSON under `extra`."""
    if isinstance(value, str):
        return {"text": value}
    if type(value) is not dict and not isinstance(value, Mapping):  # the first is asked ten times as fast
        return value
    if value.get("id") is None and value.get("text") is None:
        raise _invalid("has neither id nor text", "an object with `id`, `text` or both")
    if value.keys() <= DOCUMENT_KEYS:
        return value
    extra = as_json({str(key): entry for key, entry in value.items() if key not in DOCUMENT_KEYS})
    return {**{key: value.get(key) for key in DOCUMENT_KEYS}, "extra": extra}


@with_config(extra="forbid")
class RelevantDocument(TypedDict):
    """A gold document."""

    id: Identifier
    grade: Annotated[
        Number | None, AfterValidator(lambda grade: 1.0 if grade is None else grade), Field(default=1.0)
    ]
    hop: Maybe[Identifier]


def _as_relevant(value: object) -> object:
    return {"id": value} if isinstance(value, str | int) and not isinstance(value, bool) else value


@with_config(extra="forbid")
class Span(TypedDict):
    """Gold as characters of a document."""

    doc_id: Identifier
    start: Count
    end: Count
    hop: NotRequired[Identifier | None]


def _not_reversed(span: Span) -> Span:
    if span.get("hop") is None:
        span.pop("hop", None)  # the identity of a run hashes what is there
    if span["end"] <= span["start"]:
        raise _invalid(f"ends at {span['end']}, starts at {span['start']}", "start < end, in characters")
    return span


@with_config(extra="forbid")
class Turn(TypedDict):
    """An earlier turn of the conversation."""

    role: Text
    text: Text


@with_config(extra="forbid")
class Claim(TypedDict):
    """A claim of the answer."""

    text: Text
    in_reference: Maybe[Flag]
    supported_by: Maybe[ListOf[Rank]]
    contradicted_by: Maybe[ListOf[Rank]]


@with_config(extra="forbid")
class ReferenceClaim(TypedDict):
    """A claim of the reference answer."""

    text: Text
    in_answer: Maybe[Flag]
    supported_by: Maybe[ListOf[Rank]]


@with_config(extra="forbid")
class UsedDocument(TypedDict):
    """A retrieved document that the answer uses."""

    rank: Rank
    share: Maybe[Number]


@with_config(extra="forbid")
class Citation(TypedDict):
    """The documents that a sentence of the answer cites.

    `start` and `end` are characters of the answer. `supported` says whether the cited documents together
    support the sentence, `supporting` which of them do so alone, `needed` whether it needs a citation at all.
    Absent keys stay absent, so that ids of runs of earlier versions stay valid.
    """

    sentence: Maybe[Text]
    ids: Maybe[ListOf[Identifier]]
    start: NotRequired[Count | None]
    end: NotRequired[Count | None]
    supported: NotRequired[Flag | None]
    supporting: NotRequired[ListOf[Identifier] | None]
    needed: NotRequired[Flag | None]


@with_config(extra="forbid")
class HumanValue(TypedDict):
    """A rating by an annotator, with the ends of the scale."""

    annotator: Identifier
    metric: Text
    value: Maybe[Number]
    note: Maybe[Text]
    low: Maybe[Number]
    high: Maybe[Number]


@with_config(extra="forbid")
class Check(TypedDict):
    """An assertion on the answer, of a suite by its name or else by its kind."""

    name: Text
    kind: Maybe[Text]
    expected: Maybe[JsonText]
    actual: Maybe[JsonText]
    passed: Maybe[Flag]
    suite: NotRequired[Text | None]


def _without_no_suite(check: Check) -> Check:
    """Leave out a suite that is null, as in a stored table, so that ids of runs stay valid."""
    if check.get("suite") is None:
        check.pop("suite", None)
    return check


NamedCheck = Annotated[Check, AfterValidator(_without_no_suite)]


class Score(TypedDict):
    """A metric's value by another tool; without a value it was tried and failed."""

    value: Maybe[Number]
    reason: Maybe[Text]


def _as_score(entry: object) -> dict[str, object]:
    reason = None
    if type(entry) is float and math.isfinite(entry):
        return {"value": entry, "reason": None}
    if isinstance(entry, Mapping):
        reason, entry = entry.get("reason"), entry.get("value")
    if isinstance(entry, bool):
        entry = float(entry)
    elif isinstance(entry, float) and not math.isfinite(entry):
        entry = None
    return {"value": entry, "reason": None if reason is None else str(reason)}


def _list_scores(scores: dict[str, Score]) -> list[dict[str, Any]]:
    return [{"metric": metric, **score} for metric, score in scores.items()]


def _list_tags(tags: dict[str, str | None]) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in tags.items() if value is not None]


Key = Annotated[Text, BeforeValidator(str)]
ScoreOrNumber = Annotated[Score, BeforeValidator(_as_score)]
Scores = Annotated[dict[Key, ScoreOrNumber], AfterValidator(_list_scores)]
JsonNumber = Annotated[Any, Accepts("a number, true or false", (int, float)), AfterValidator(json.dumps)]
TagValue = Annotated[
    PlainText | JsonNumber, Field(union_mode="left_to_right"), Accepts("text, a number, true or false")
]
Tags = Annotated[dict[Key, TagValue | None], AfterValidator(_list_tags)]


class SampleModel(TypedDict):
    """A record in the native form; keys beyond these are left to the caller."""

    question_id: Maybe[Identifier]
    repeat: Maybe[Count]
    question: Question
    history: Maybe[ListOf[Turn]]
    conversation_id: Maybe[Identifier]
    search_query: Maybe[Text]
    answer: Maybe[Annotated[Text, BeforeValidator(answer_text)]]
    reference_answer: Maybe[Annotated[Text, BeforeValidator(answer_text)]]
    retrieved: Maybe[ListOf[Annotated[Document, BeforeValidator(_as_document)]]]
    candidates: Maybe[ListOf[Annotated[Document, BeforeValidator(_as_document)]]]
    relevant: Maybe[ListOf[Annotated[RelevantDocument, BeforeValidator(_as_relevant)]]]
    relevant_spans: Maybe[ListOf[Annotated[Span, AfterValidator(_not_reversed)]]]
    claims: Maybe[ListOf[Claim]]
    reference_claims: Maybe[ListOf[ReferenceClaim]]
    used: Maybe[ListOf[UsedDocument]]
    used_source: Maybe[
        Annotated[
            Literal["judge", "citation", "lexical", "imported"],
            Accepts("judge | citation | lexical | imported"),
        ]
    ]
    citations: Maybe[ListOf[Citation]]
    answerable: Maybe[
        Annotated[
            Literal["yes", "partial", "no", "conversational"], Accepts("yes | partial | no | conversational")
        ]
    ]
    refused: Maybe[Flag]
    refused_source: Maybe[
        Annotated[Literal["human", "judge", "imported"], Accepts("human | judge | imported")]
    ]
    query_type: Maybe[Text]
    context_mode: Maybe[
        Annotated[Literal["retrieved", "oracle", "closed_book"], Accepts("retrieved | oracle | closed_book")]
    ]
    human: Maybe[ListOf[HumanValue]]
    latency_ms: Maybe[Number]
    retrieval_ms: Maybe[Number]
    input_tokens: Maybe[Number]
    output_tokens: Maybe[Number]
    cost_usd: Maybe[Number]
    peak_memory_mb: Maybe[Number]
    prompt: Maybe[Text]
    checks: Maybe[ListOf[NamedCheck]]
    scores: Maybe[Scores]
    tags: Maybe[Tags]
    retrieved_tokens: Maybe[ListOf[Count]]
    relevant_chunks: Maybe[Count]
    account_id: Maybe[Identifier]
    tools: Maybe[Annotated[ListOf[dict[str, Any]], AfterValidator(as_json)]]
    sampling_rate: Maybe[Rate]


sample_adapter = TypeAdapter(SampleModel)
