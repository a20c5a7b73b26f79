"""A run as an importer parsed it, not yet in a workspace, and its records in the native form made samples.

The models decide what is accepted; this module words their errors and fills what follows from the rest of a
record: ids, `repeat`, sources. Unknown fields are kept under `extra`. Ranks are 1-based.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast, get_args, get_type_hints

import pydantic
from pydantic.fields import FieldInfo
from typing_extensions import is_typeddict

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.store.sample_models import CUSTOM, SampleModel, as_json, is_unicode, sample_adapter
from ragtriage.data.store.sample_schema import FIELDS, Sample, document_id, question_key

Record = tuple[int, object]  # 1-based line or row, and its value in the native form


@dataclass(frozen=True)
class MappedColumn:
    """How a column of the source is mapped to a field, for the preview."""

    column: str  # name in the file
    field: str  # field of the sample it fills, "scores.<metric>", "tags.<key>", or "" if it is kept as extra
    example: str  # the first value, shortened
    why: str = ""  # what it was guessed from
    more: tuple[str, ...] = ()  # the values after the first, shortened, at most two
    judges: bool = False  # whether it holds verdicts or ratings, which a person may have given


@dataclass(frozen=True)
class ParsedRun:
    """A run as an importer read it."""

    name: str  # its name, from the content or from the name of the file
    records: Iterable[Record]  # (line, record) pairs in the native form; consumed once, may be a generator
    file: str  # name of the file for messages
    format: str  # key of the importer
    named_by_content: bool = False  # whether the name is in the file (then it is part of the run's identity)
    config: Mapping[str, Any] = field(default_factory=dict)  # pipeline configuration from the file
    dataset: str = ""  # name of the question set, or ""
    dataset_version: str = ""
    corpus_version: str = ""  # version of the documents, or ""
    created_at: datetime | None = None  # time of the run, if the file has it; naive UTC
    mapping: tuple[MappedColumn, ...] = ()  # how the columns were mapped to fields, where that was guessed
    notes: tuple[str, ...] = ()  # notes for the reader: assumptions, rows left out and why
    # measurements of producing the run, e.g. seconds by step; not part of its identity.
    measured: Mapping[str, float] = field(default_factory=dict)
    # metric -> mean, for an aggregate-only run, which has no records
    means: Mapping[str, float] = field(default_factory=dict)
    # what the file declares of its metrics, by name: {direction, range, title}
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # of a question set, the corpus in its file: {id, text, title}; complete once the records are consumed
    documents: Sequence[Mapping[str, str]] = ()
    # returns further notes, once the records are consumed
    closing_notes: Callable[[], tuple[str, ...]] | None = None
    # schemas of the tools that the system could call in all samples that list none of their own
    tools: Sequence[Mapping[str, Any]] = ()
    questions: bool = False  # whether it is a question set: questions with gold, without answers of a system
    question_ids: Set[str] | None = None  # of all records, where they are known before the records are read

    @property
    def all_notes(self) -> tuple[str, ...]:
        """The notes, with those that are known once the records are consumed."""
        return (*self.notes, *(self.closing_notes() if self.closing_notes is not None else ()))


SHOWN_KEYS = 8
SHOWN_UNKNOWN = 5


def normalise(record: object, line: int, errors: ValidationErrors) -> Sample | None:
    """Return the sample of a record, or None with its errors added.

    Returns:
        The sample with the columns of SCHEMA except `row`; None when the record is not valid.
    """
    if not isinstance(record, Mapping):
        errors.add(line, "", f"found {_kind(record)}", "a JSON object with at least `question`")
        return None
    try:
        sample: Sample = sample_adapter.validator.validate_python(record)
    except pydantic.ValidationError as error:
        for field, what, accepted in _worded(error, record):
            errors.add(line, field, what, accepted)
        return None
    _fill(sample)
    unknown = {} if record.keys() <= FIELDS else {str(k): v for k, v in record.items() if k not in FIELDS}
    sample["extra"] = as_json(unknown) if unknown else None
    return sample


def _kind(value: object) -> str:
    names = {list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else type(value).__name__)


def _fill(sample: Sample) -> None:
    sample["repeat"] = sample["repeat"] or 0
    if sample["question_id"] is None:
        sample["question_id"] = question_key(sample["question"], sample["history"])
    gold_ids = {document["id"] for document in sample["relevant"] or ()}
    for name in ("retrieved", "candidates"):
        for document in sample[name] or ():
            if document["id"] is None:
                text = document["text"]
                document["id"] = (
                    text if text in gold_ids else document_id(text)
                )  # a list of ids, not of texts
    if sample["used"] is not None and sample["used_source"] is None:
        sample["used_source"] = "imported"
    if sample["refused"] is not None and sample["refused_source"] is None:
        sample["refused_source"] = "imported"


def _model_in(annotation: Any) -> type | None:
    """Return the model of the objects that a field lists, if it lists objects."""
    if is_typeddict(annotation):
        return cast(type, annotation)
    return next(filter(None, map(_model_in, get_args(annotation))), None)


def _is_required(annotation: Any) -> bool:
    parts = getattr(annotation, "__metadata__", ())
    return all(part.is_required() for part in parts if isinstance(part, FieldInfo))


MODELS = {
    field: get_type_hints(model, include_extras=True)
    for field, annotation in get_type_hints(SampleModel, include_extras=True).items()
    if (model := _model_in(annotation))
}
KEYS = {field: ", ".join(parts) for field, parts in MODELS.items()}
REQUIRED = {
    field: ", ".join(name for name, annotation in parts.items() if _is_required(annotation))
    for field, parts in MODELS.items()
}
OBJECTS = {field: f"an object with {keys}" for field, keys in KEYS.items()} | {
    "retrieved": "text, or an object with `id`, `text` or both",
    "candidates": "text, or an object with `id`, `text` or both",
    "scores": "an object of metric: number",
    "tags": "an object of key: value",
    "tools": "a JSON schema of a tool, an object",
}


def _worded(error: pydantic.ValidationError, record: Mapping[Any, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield field, what is wrong, and what would be accepted, for each error of a record."""
    unknown: dict[str, list[str]] = {}
    for detail in error.errors(include_url=False):
        location, value = detail["loc"], detail["input"]
        field, top = _path(location), str(location[0])
        if detail["type"] == "extra_forbidden":
            unknown.setdefault(_path(location[:-1]), []).append(str(location[-1]))
        elif detail["type"] == "missing" or (value is None and isinstance(location[-1], str)):
            if field == "question":
                keys = ", ".join(sorted(str(key) for key in record)[:SHOWN_KEYS]) or "none"
                yield field, f"missing (fields found: {keys})", "text"
            else:
                yield field, "missing", f"an object with {REQUIRED[top]}"
        elif detail["type"] == CUSTOM:
            accepted = detail["ctx"]["accepted"]
            if isinstance(value, str) and not is_unicode(value):
                yield field, "holds half of a surrogate pair", f"{accepted}, in valid Unicode"
            else:
                yield field, detail["ctx"].get("what") or _found(value), accepted
        else:
            yield field, _found(value), "a list" if detail["type"] == "list_type" else OBJECTS[top]
    for field, names in unknown.items():
        yield field, f"unknown {', '.join(names[:SHOWN_UNKNOWN])}", KEYS[field.partition("[")[0]]


def _path(location: Sequence[str | int]) -> str:
    """Return a location of pydantic as the path of a field, e.g. `retrieved[2].id`."""
    if location[0] in ("scores", "tags") and len(location) == 3 and location[2] in ("[key]", "value"):
        location = location[:2]
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in location]
    return "".join(parts).removeprefix(".")


def _found(value: object) -> str:
    """Return what was found in place of an accepted value, shortened."""
    if isinstance(value, Mapping):
        return "found an object"
    if isinstance(value, list):
        return f"found a list of {len(value)}"
    shown = repr(value)
    return f"found {shown if len(shown) <= 60 else shown[:57] + '...'}"
