"""JSON schemas from files, used on untrusted text: nothing is fetched, and no schema can hang.

References resolve inside the schema alone, patterns are matched by RE2, a schema has at most 2,000 objects,
and one validation applies at most 100,000 keywords, at most 128 inside one another.
"""

import json
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import orjson
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable

from ragtriage.data.text.patterns import PatternError, found_in

MOST_OBJECTS = 2_000  # of a schema: it is itself validated, which takes longer than using it
MOST_STEPS = 100_000  # keywords applied
# keywords applied inside one another, at 4 frames each: the limit of the interpreter may be met inside a
# compiled library, which then panics instead of raising RecursionError
MOST_NESTED = 128
NOT_JSON = "it holds half of a surrogate pair, a whole number of more than 64 bits, or is nested too deeply"
_DEEPEST = 64
_UNBOUNDED = (
    "patternProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
    "$dynamicRef",
    "$recursiveRef",
)


class UnusableSchemaError(ValueError):
    """A schema that cannot be used; the message says why in a few words."""


def usable_schema(schema: Any) -> None:
    """Raise where a schema cannot be used.

    Raises:
        UnusableSchemaError: it is not a schema, or holds a pattern or keyword that is not accepted.
    """
    try:
        text = orjson.dumps(schema, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        raise UnusableSchemaError(NOT_JSON) from None
    _usable(text)


def schema_violation(schema: Any, value: Any) -> str | None:
    """Return how a value breaks a schema, a few words without the value; None where it conforms.

    Raises:
        UnusableSchemaError: the schema cannot be used, refers to itself without end, or cannot be applied to
            this value, as a multiple of 0.5 to a number that no double holds.
    """
    usable_schema(schema)
    validator = _validator()(schema, registry=Registry())
    try:
        error = next(iter(validator.iter_errors(value)), None)
    except Unresolvable:
        raise UnusableSchemaError("a reference leads outside the schema") from None
    except (ArithmeticError, RecursionError, TypeError, ValueError) as error:
        if isinstance(error, UnusableSchemaError):
            raise
        raise UnusableSchemaError("it cannot be applied to this value") from None
    return None if error is None else f"breaks {error.validator} at {_place(error)}"


def _place(error: ValidationError) -> str:
    return "/".join(str(part) for part in error.absolute_path)[:60] or "the top"


@lru_cache(maxsize=256)
def _usable(text: bytes) -> None:
    schema = orjson.loads(text)
    if not isinstance(schema, dict | bool):
        raise UnusableSchemaError("it is neither an object nor true or false")
    objects = 0
    for key, value in _keywords(schema, 0):
        objects += isinstance(value, dict)
        if objects > MOST_OBJECTS:
            raise UnusableSchemaError(f"it has more than {MOST_OBJECTS:,} objects")
        if key in _UNBOUNDED:
            raise UnusableSchemaError(f"the keyword {key} is not supported")
        if key == "pattern" and isinstance(value, str):
            try:
                found_in(value, "")
            except PatternError as error:
                raise UnusableSchemaError(f"pattern {value[:40]!r}: {error}") from None
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise UnusableSchemaError(f"{_place(error)}: {error.message[:80]}") from None
    except RecursionError:
        raise UnusableSchemaError("it is nested too deeply") from None


def _keywords(value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    if depth > _DEEPEST:
        raise UnusableSchemaError(f"it is nested more than {_DEEPEST} deep")
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, inner in entries:
        yield str(key), inner
        yield from _keywords(inner, depth + 1)


def _validator() -> Any:
    """Return a validator class that counts the keywords it applies."""
    applied = nested = 0

    def counted(keyword: Callable[..., Any]) -> Callable[..., Iterator[ValidationError]]:
        def apply(*given: Any) -> Iterator[ValidationError]:
            nonlocal applied, nested
            applied, nested = applied + 1, nested + 1
            if applied > MOST_STEPS:
                raise UnusableSchemaError(f"it applies more than {MOST_STEPS:,} keywords to this value")
            if nested > MOST_NESTED:
                raise UnusableSchemaError("it refers to itself without end, or its value is too deep")
            try:
                yield from keyword(*given) or ()
            finally:
                nested -= 1

        return apply

    keywords = {**Draft202012Validator.VALIDATORS, "pattern": _matches, "uniqueItems": _unique}
    return extend(Draft202012Validator, {name: counted(keyword) for name, keyword in keywords.items()})


def _matches(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not found_in(pattern, instance):
        yield ValidationError("does not match the pattern")


def _unique(_validator: Any, wanted: bool, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if wanted and isinstance(instance, list):
        texts = {json.dumps(_alike(entry), sort_keys=True) for entry in instance}
        if len(texts) < len(instance):
            yield ValidationError("has an entry twice")


def _alike(value: Any) -> Any:
    """Return a JSON value in which equal numbers are written alike: 1.0 is 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_alike(entry) for entry in value]
    if isinstance(value, dict):
        return {key: _alike(entry) for key, entry in value.items()}
    return value
