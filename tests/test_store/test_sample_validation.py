"""What a record may hold: the value each field is read as, and the error of every value it does not take."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any, get_args, get_type_hints

import pyarrow as pa
import pytest
from typing_extensions import is_typeddict

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.store.parsed_run import normalise
from ragtriage.data.store.sample_models import SampleModel
from ragtriage.data.store.sample_schema import SCHEMA

NO_DOCUMENT = dict.fromkeys(("id", "text", "score", "doc_id", "start", "end", "relevant", "extra"))
NO_CHECK = dict.fromkeys(("name", "kind", "expected", "actual", "passed"))
ACCEPTED: list[tuple[str, Any, Any]] = [
    ("question_id", 12, "12"),
    ("question_id", 10**30, str(10**30)),
    ("repeat", 2.0, 2),
    ("repeat", None, 0),
    ("answer", "", ""),
    ("answer", "中", "中"),
    ("latency_ms", 3, 3.0),
    ("latency_ms", -1.5, -1.5),
    ("refused", False, False),
    ("answerable", "partial", "partial"),
    ("retrieved", [], []),
    ("retrieved", [{"id": 7}], [NO_DOCUMENT | {"id": "7"}]),
    ("retrieved", [{"id": "a", "start": 0.0}], [NO_DOCUMENT | {"id": "a", "start": 0}]),
    ("retrieved", [{"id": "a", "page": 3}], [NO_DOCUMENT | {"id": "a", "extra": '{"page": 3}'}]),
    ("retrieved", [{"id": "a", "extra": 1}], [NO_DOCUMENT | {"id": "a", "extra": '{"extra": 1}'}]),
    ("retrieved", [{"id": "a", "\ud800": 1}], [NO_DOCUMENT | {"id": "a", "extra": '{"\\ud800": 1}'}]),
    ("relevant", ["a", 2], [{"id": "a", "grade": 1.0, "hop": None}, {"id": "2", "grade": 1.0, "hop": None}]),
    ("relevant", [{"id": "a", "grade": None, "hop": 2}], [{"id": "a", "grade": 1.0, "hop": "2"}]),
    ("used", [{"rank": 1}, {"rank": 1.0}], [{"rank": 1, "share": None}] * 2),
    ("citations", [{}], [{"sentence": None, "ids": None}]),
    ("history", [{"role": "", "text": ""}], [{"role": "", "text": ""}]),
    ("checks", [{"name": "n", "expected": [1, None]}], [NO_CHECK | {"name": "n", "expected": "[1, null]"}]),
    ("scores", {"m": 1}, [{"metric": "m", "value": 1.0, "reason": None}]),
    ("scores", {"m": True}, [{"metric": "m", "value": 1.0, "reason": None}]),
    ("scores", {"m": math.nan}, [{"metric": "m", "value": None, "reason": None}]),
    ("scores", {"m": {"value": -math.inf, "reason": 5}}, [{"metric": "m", "value": None, "reason": "5"}]),
    ("tags", {"a": "x", "b": 1, "c": True, "d": None}, [("a", "x"), ("b", "1"), ("c", "true")]),
]
REFUSED: list[tuple[str, Any, str]] = [
    ("question_id", "", "question_id: found ''; accepted: text of at least one character, or a whole number"),
    ("question_id", True, "question_id: found True; accepted: text of at least one"),
    ("question_id", 1.0, "question_id: found 1.0; accepted: text of at least one"),
    ("repeat", True, "repeat: found True; accepted: a whole number of 0 or more"),
    ("repeat", "1", "repeat: found '1'; accepted: a whole number of 0 or more"),
    ("repeat", 1.5, "repeat: found 1.5; accepted: a whole number of 0 or more"),
    ("repeat", 10**9 + 1, "repeat: found 1000000001; accepted: a whole number"),
    ("answer", "\ud800", "answer: holds half of a surrogate pair; accepted: text, in valid Unicode"),
    ("answer", b"x", "answer: found b'x'; accepted: text"),
    ("latency_ms", math.inf, "latency_ms: found inf; accepted: a finite number, or null"),
    ("latency_ms", True, "latency_ms: found True; accepted: a finite number"),
    ("latency_ms", "3", "latency_ms: found '3'; accepted: a finite number"),
    ("latency_ms", Decimal(3), "latency_ms: found Decimal('3'); accepted: a finite number"),
    ("latency_ms", 10**400, "latency_ms: found 1000"),
    ("refused", 1, "refused: found 1; accepted: true, false or null"),
    ("answerable", "maybe", "answerable: found 'maybe'; accepted: yes | partial | no | conversational"),
    ("retrieved", ("a",), "retrieved: found ('a',); accepted: a list"),
    ("retrieved", [None], "retrieved[0]: found None; accepted: text, or an object with `id`, `text` or both"),
    (
        "retrieved",
        ["a", {"score": 1}],
        "retrieved[1]: has neither id nor text; accepted: an object with `id`",
    ),
    (
        "retrieved",
        [{"id": "a", "score": math.nan}],
        "retrieved[0].score: found nan; accepted: a finite number",
    ),
    ("relevant", [{"grade": 1}], "relevant[0].id: missing; accepted: an object with id"),
    ("relevant", [{"id": "a", "gain": 1}], "relevant[0]: unknown gain; accepted: id, grade, hop"),
    ("relevant", [1.0], "relevant[0]: found 1.0; accepted: an object with id, grade, hop"),
    ("relevant_spans", [{"doc_id": "d", "start": 4, "end": 4}], "relevant_spans[0]: ends at 4, starts at 4"),
    ("relevant_spans", [{"doc_id": "d", "start": 4}], "relevant_spans[0].end: missing; accepted: an object"),
    ("used", [{"rank": 0}], "used[0].rank: found 0; accepted: a whole number of 1 or more"),
    (
        "claims",
        [{"text": "c", "supported_by": [1, 0]}],
        "claims[0].supported_by[1]: found 0; accepted: a whole",
    ),
    ("claims", [{"text": "c", "supported_by": 1}], "claims[0].supported_by: found 1; accepted: a list"),
    ("citations", [{"ids": [None]}], "citations[0].ids[0]: found None; accepted: text of at least one"),
    ("scores", [1], "scores: found a list of 1; accepted: an object of metric: number"),
    ("scores", {"m": "high"}, "scores.m: found 'high'; accepted: a finite number, or null"),
    ("scores", {"value": "high"}, "scores.value: found 'high'; accepted: a finite number, or null"),
    (
        "scores",
        {"m": {"reason": "\ud800"}},
        "scores.m.reason: holds half of a surrogate pair; accepted: text",
    ),
    ("tags", {"a": ["x"]}, "tags.a: found a list of 1; accepted: text, a number, true or false"),
    ("tags", "x", "tags: found 'x'; accepted: an object of key: value"),
]


@pytest.mark.parametrize(("field", "value", "stored"), ACCEPTED)
def test_an_accepted_value_is_read_as(field: str, value: Any, stored: Any) -> None:
    errors = ValidationErrors("r.jsonl")
    sample = normalise({"question": "q", field: value}, 3, errors)
    assert sample is not None, errors.first
    if field == "tags":
        stored = [{"key": key, "value": text} for key, text in stored]
    assert repr(sample[field]) == repr(stored), "the same type too: 1 is not 1.0, nor True"


@pytest.mark.parametrize(("field", "value", "message"), REFUSED)
def test_a_refused_value_is_named_by_line_and_field(field: str, value: Any, message: str) -> None:
    errors = ValidationErrors("r.jsonl")
    assert normalise({"question": "q", field: value}, 3, errors) is None
    assert str(errors.first[0]).startswith(f"r.jsonl:3: {message}")
    assert errors.total == 1


def test_all_errors_of_a_record_are_reported_and_unknown_keys_of_an_object_once() -> None:
    errors = ValidationErrors("r.jsonl")
    record = {"answer": {"b": 1}, "used": [{"rank": 0, "a": 1, "b": 2}], "history": [{"role": 1, "text": 2}]}
    assert normalise(record, 1, errors) is None
    messages = "\n".join(map(str, errors.first))
    assert errors.total == 6
    assert "question: missing (fields found: answer, history, used); accepted: text" in messages
    assert "used[0]: unknown a, b; accepted: rank, share" in messages
    assert all(field in messages for field in ("answer: ", "used[0].rank: ", "history[0].role: "))


def test_unknown_fields_of_a_record_are_kept() -> None:
    sample = normalise({"question": "q", "note": {"a": 1}, "extra": 2}, 1, ValidationErrors("r"))
    assert sample is not None
    assert sample["extra"] == '{"note": {"a": 1}, "extra": 2}'


def test_a_document_without_an_id_takes_the_text_where_that_is_a_gold_id() -> None:
    sample = normalise(
        {"question": "q", "retrieved": ["a", "b"], "relevant": ["a"]}, 1, ValidationErrors("r")
    )
    assert sample is not None
    assert [document["id"] for document in sample["retrieved"]] == ["a", "text-3e23e8160039"]


def test_models_and_stored_schema_have_the_same_fields() -> None:
    stored = [name for name in SCHEMA.names if name not in ("row", "extra")]
    assert list(SampleModel.__annotations__) == stored
    for name, annotation in get_type_hints(SampleModel, include_extras=True).items():
        model, kind = _model_in(annotation), SCHEMA.field(name).type
        if name not in ("scores", "tags") and model is not None:
            assert pa.types.is_list(kind)
            assert [field.name for field in kind.value_type] == list(model.__annotations__)


def _model_in(annotation: Any) -> Any:
    if is_typeddict(annotation):
        return annotation
    return next((model for model in map(_model_in, get_args(annotation)) if model is not None), None)
