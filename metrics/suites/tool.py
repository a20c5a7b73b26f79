"""Tool calls against expected ones: selection, order, arguments by BFCL's rules, repeats (pass^k)."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from ragtriage.metrics.suites.tool_schemas import NO_SCHEMA, ToolSchema, fits_type

ErrorKind = Literal["missing", "unexpected", "type", "value", "malformed"]
DROPPED = re.compile(r"[ ,./\-_*^]")  # what BFCL drops from strings before it compares them
OMITTED = ""  # among the accepted values: the argument may be left out


@dataclass(frozen=True)
class ToolCall:
    """A call that the system made."""

    name: str  # of the tool
    arguments: Mapping[str, Any] | None = None  # by name; None where they are not recorded
    fault: str = ""  # why its arguments cannot be read, such as text that is not JSON; "" where they can


@dataclass(frozen=True)
class ExpectedCall:
    """A call that is expected."""

    name: str  # of the tool
    # argument -> its accepted values, "" among them where it may be left out; None where the arguments
    # do not matter
    accepted: Mapping[str, Sequence[Any]] | None = None
    # whether objects among the accepted values hold lists of accepted values too, as BFCL's do
    nested: bool = False

    @classmethod
    def exactly(cls, name: str, arguments: Mapping[str, Any] | None) -> Self:
        """Return a call of which each argument has one accepted value."""
        return cls(name, None if arguments is None else {key: (value,) for key, value in arguments.items()})


@dataclass(frozen=True)
class Selection:
    """The names of called tools against those of expected ones, as multisets."""

    expected: int  # number of expected calls
    called: int  # number of calls made
    hits: int  # number of calls in both
    missing: tuple[str, ...]  # names of expected calls that were not made, in the expected order
    needless: tuple[str, ...]  # names of calls that nothing expects, in the order they were made

    @property
    def precision(self) -> float | None:
        """Hits / calls made; None without a call."""
        return self.hits / self.called if self.called else None

    @property
    def recall(self) -> float | None:
        """Hits / expected calls; None where none is expected."""
        return self.hits / self.expected if self.expected else None

    @property
    def exact(self) -> bool:
        """Whether just the expected tools were called, each as often; no call where none is expected."""
        return not self.missing and not self.needless


@dataclass(frozen=True)
class ArgumentError:
    """What is wrong with an argument of a call."""

    call: str  # name of the tool
    argument: str  # its name; "" where the arguments cannot be read at all
    # "missing" (required), "unexpected", "type", "value" (not among the accepted) or "malformed"
    kind: ErrorKind
    value: Any = None  # the value given; None where none is
    accepted: tuple[Any, ...] = ()  # what would be right: accepted values, or types of the schema


def selection(expected: Iterable[str], called: Iterable[str]) -> Selection:
    """Return the names of called tools against those of expected ones, as multisets."""
    wanted, left = list(expected), list(called)
    hits = (Counter(wanted) & Counter(left)).total()
    return Selection(len(wanted), len(left), hits, _surplus(wanted, left), _surplus(left, wanted))


def _surplus(names: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    left = Counter(others)
    surplus = []
    for name in names:
        if left[name]:
            left[name] -= 1
        else:
            surplus.append(name)
    return tuple(surplus)


def common_subsequence(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence of two sequences of names."""
    before = [0] * (len(second) + 1)
    for name in first:
        row = [0]
        for place, other in enumerate(second):
            row.append(before[place] + 1 if name == other else max(before[place + 1], row[place]))
        before = row
    return before[-1]


def same_value(expected: object, value: object) -> bool:
    """Return whether two values of an argument are equal: strings without spaces, , . / - _ * ^ and case.

    Source: `standardize_string` of BFCL's AST checker. Lists are compared in order, objects by key; a truth
    value is not a number.
    """
    if isinstance(expected, str) and isinstance(value, str):
        return _plain(expected) == _plain(value)
    if isinstance(expected, bool) or isinstance(value, bool):
        return expected is value
    if isinstance(expected, Mapping) and isinstance(value, Mapping):
        return expected.keys() == value.keys() and all(same_value(expected[key], value[key]) for key in value)
    if isinstance(expected, list | tuple) and isinstance(value, list | tuple):
        return len(expected) == len(value) and all(map(same_value, expected, value))
    return bool(expected == value)


def _plain(text: str) -> str:
    return DROPPED.sub("", text).casefold().replace("'", '"')


def _accepts(option: object, value: object, nested: bool) -> bool:
    """Return whether an accepted value is the one given.

    With `nested`, the keys of objects hold lists of accepted values.
    """
    if nested and isinstance(option, Mapping) and isinstance(value, Mapping):
        supplied = all(
            key in option and _any_accepts(option[key], entry, nested) for key, entry in value.items()
        )
        return supplied and all(key in value or OMITTED in _options(option[key]) for key in option)
    if nested and isinstance(option, list) and isinstance(value, list):
        return len(option) == len(value) and all(
            _accepts(*pair, nested) for pair in zip(option, value, strict=True)
        )
    return same_value(option, value)


def _any_accepts(options: object, value: object, nested: bool) -> bool:
    return any(_accepts(option, value, nested) for option in _options(options))


def _options(options: object) -> Sequence[Any]:
    return options if isinstance(options, list | tuple) else (options,)


def argument_errors(
    expected: ExpectedCall, call: ToolCall, schema: ToolSchema = NO_SCHEMA
) -> list[ArgumentError]:
    """Return what is wrong with the arguments of a call; [] where they are right or do not matter.

    An argument at its default of the schema and one that is left out are the same. Source: the AST checker of
    the Berkeley Function Calling Leaderboard (Patil et al., ICML 2025).

    Args:
        expected: the call that is expected, of the same tool.
        call: the call made.
        schema: of the tool; NO_SCHEMA where none is recorded.
    """
    if expected.accepted is None:
        return []
    if call.fault:
        return [ArgumentError(call.name, "", "malformed", call.fault)]
    if call.arguments is None:
        return []
    errors = [
        ArgumentError(call.name, name, "missing", None, tuple(accepted))
        for name, accepted in expected.accepted.items()
        if name not in call.arguments and not _may_be_omitted(name, accepted, schema)
    ]
    errors += [
        ArgumentError(call.name, name, "missing")
        for name in schema.required
        if name not in call.arguments and name not in expected.accepted
    ]
    return errors + [
        error
        for name, value in call.arguments.items()
        if (error := _value_error(expected, call.name, name, value, schema)) is not None
    ]


def schema_errors(call: ToolCall, schema: ToolSchema) -> list[ArgumentError]:
    """Return how the arguments of a call break the schema of its tool, whatever call was expected.

    They break it with arguments that cannot be read, one that is required and missing, one that the schema
    does not name, a wrong type, or a value that is not in its `enum`.
    """
    if call.arguments is None or schema.properties is None:
        return argument_errors(ExpectedCall(call.name, {}), call) if call.fault else []
    errors = argument_errors(ExpectedCall.exactly(call.name, call.arguments), call, schema)
    wrong = {error.argument for error in errors}
    return errors + [
        ArgumentError(call.name, name, "value", value, tuple(schema.properties[name]["enum"]))
        for name, value in call.arguments.items()
        if name not in wrong and name in schema.properties and not _in_enum(value, schema.properties[name])
    ]


def _in_enum(value: object, declared: Mapping[str, Any]) -> bool:
    options = declared.get("enum")
    if not isinstance(options, list | tuple) or (value is None and fits_type(None, declared)):
        return True
    return any(option == value and isinstance(option, bool) == isinstance(value, bool) for option in options)


def _may_be_omitted(name: str, accepted: Sequence[Any], schema: ToolSchema) -> bool:
    if OMITTED in [option for option in accepted if isinstance(option, str)]:
        return len(accepted) > 1 or name not in schema.required
    return name in schema.defaults and any(same_value(option, schema.defaults[name]) for option in accepted)


def _value_error(
    expected: ExpectedCall, tool: str, name: str, value: object, schema: ToolSchema
) -> ArgumentError | None:
    known = schema.properties is None or name in schema.properties or schema.open
    accepted = (expected.accepted or {}).get(name)
    is_default = name in schema.defaults and same_value(schema.defaults[name], value)
    if not known or (accepted is None and not is_default):
        return ArgumentError(tool, name, "unexpected", value)
    declared = (schema.properties or {}).get(name, {})
    if not fits_type(value, declared):
        return ArgumentError(tool, name, "type", value, schema.types_of(name))
    if accepted is None or any(_accepts(option, value, expected.nested) for option in accepted):
        return None
    return ArgumentError(tool, name, "value", value, tuple(accepted))


def paired_calls(
    expected: Sequence[ExpectedCall], called: Sequence[ToolCall], schemas: Mapping[str, ToolSchema]
) -> list[tuple[ExpectedCall, ToolCall, list[ArgumentError]]]:
    """Return expected calls with the calls made that answer them, and what is wrong with their arguments.

    Calls are paired by name so that as many as possible are right (a maximum matching); the rest of one name
    are paired in order. Calls without a partner are in the selection: missing or needless.
    """
    pairs = []
    for name in dict.fromkeys(entry.name for entry in expected):
        wanted = [entry for entry in expected if entry.name == name]
        calls = [call for call in called if call.name == name]
        schema = schemas.get(name, NO_SCHEMA)
        errors = [[argument_errors(entry, call, schema) for call in calls] for entry in wanted]
        for row, column in _matched([[not cell for cell in row] for row in errors]):
            pairs.append((wanted[row], calls[column], errors[row][column]))
    return pairs


def _matched(right: Sequence[Sequence[bool]]) -> list[tuple[int, int]]:
    """Return (row, column) pairs: as many right ones as possible, then the rest in order."""
    columns = len(right[0])
    partner: dict[int, int] = {}  # column -> row

    def assign(row: int, tried: set[int]) -> bool:
        for column in range(columns):
            if right[row][column] and column not in tried:
                tried.add(column)
                if column not in partner or assign(partner[column], tried):
                    partner[column] = row
                    return True
        return False

    for row in range(len(right)):
        assign(row, set())
    rest_rows = [row for row in range(len(right)) if row not in partner.values()]
    rest_columns = [column for column in range(columns) if column not in partner]
    return sorted(
        [(row, column) for column, row in partner.items()] + list(zip(rest_rows, rest_columns, strict=False))
    )
