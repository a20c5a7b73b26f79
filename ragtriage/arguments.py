"""What the public functions accept: calls are held against annotations, so that an error names both."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from inspect import signature
from numbers import Integral, Real
from os import PathLike
from typing import Any, ParamSpec, TypeAlias, TypeVar

from ragtriage import RagtriageError
from ragtriage.results import Run

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Kind: TypeAlias = tuple[Callable[[Any], bool], str]
ANYTHING: tuple[Kind, bool] = ((lambda _: True, ""), True)
FILE, A_RUN = "the path of a file", "a run, its id or its name"
# annotation without "| None" -> types, and what a message says of them
KINDS: Mapping[str, tuple[tuple[type, ...], str]] = {
    "RunName": ((str, Run), A_RUN),
    "RunName | Sequence[RunName]": ((str, Run, list, tuple), f"{A_RUN}, or a list of runs"),
    "Path": ((str, PathLike, type(None)), "a path"),
    "str": ((str,), "a text"),
    "str | int": ((str, Integral), "a text or a whole number"),
    "str | PathLike[str]": ((str, PathLike), FILE),
    "str | PathLike[str] | Sequence[str | PathLike[str]]": (
        (str, PathLike, list, tuple),
        f"{FILE}, or a list of paths",
    ),
    "bool": ((bool,), "True or False"),
    "int": ((Integral,), "a whole number"),
    "float": ((Real,), "a number"),
    "Mapping[str, Any]": ((Mapping,), "a mapping"),
}


def checked(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Return a function that raises RagtriageError for an argument that its annotation does not accept.

    An annotation that is none of KINDS, no choice of words and no list or mapping of these accepts all.
    """
    described = signature(function)
    kinds = {
        name: (kind, str(argument.annotation).endswith("| None"))
        for name, argument in described.parameters.items()
        if (kind := _kind(str(argument.annotation).removesuffix(" | None"))) is not None
    }

    @wraps(function)
    def called(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            given = described.bind(*args, **kwargs).arguments
        except TypeError as error:
            accepted = ", ".join(described.parameters)
            raise TypeError(f"{function.__name__}: {error}; accepted: {accepted}") from None
        for name, value in given.items():
            (fits, accepted), optional = kinds.get(name, ANYTHING)
            if not fits(value) and not (optional and value is None):
                raise RagtriageError(f"{name} {_shown(value)}; accepted: {accepted}")
        return function(*args, **kwargs)

    return called


def _kind(annotation: str) -> Kind | None:
    """Return whether a value fits an annotation, and what is accepted; None where all is."""
    if annotation in KINDS:
        types, text = KINDS[annotation]
        return lambda value: isinstance(value, types), text
    if annotation.startswith("Literal["):
        words = ast.literal_eval(annotation.removeprefix("Literal"))
        return lambda value: isinstance(value, str) and value in words, ", ".join(map(repr, words))
    outer, _, inner = annotation.removesuffix("]").partition("[")
    items = _kind(inner.removeprefix("str, ")) if inner else None
    if items is None or outer not in ("Sequence", "Collection", "Mapping"):
        return None
    fits, text = items
    if outer == "Mapping":
        return (
            lambda value: isinstance(value, Mapping) and all(map(fits, value.values())),
            f"a mapping of names, each to {text}",
        )
    return (
        lambda value: (
            isinstance(value, Collection)
            and not isinstance(value, str | bytes | Mapping)
            and all(map(fits, value))
        ),
        f"a list of these: {text}" if inner.startswith("Literal[") else f"a list, each {text}",
    )


def _shown(value: Any) -> str:
    """Return a value as a message quotes it: short, and a large one by its type."""
    text = repr(value)
    return text if len(text) <= 60 and "\n" not in text else f"is a {type(value).__name__}"
