"""Formulas of tool calls worked by hand: selection, order, arguments as BFCL checks them, pass^k."""

from __future__ import annotations

from typing import Any

import pytest

from ragtriage.metrics.suites.tool import (
    ExpectedCall,
    ToolCall,
    argument_errors,
    common_subsequence,
    paired_calls,
    same_value,
    schema_errors,
    selection,
)
from ragtriage.metrics.suites.tool_schemas import NO_SCHEMA, tool_schema, tool_schemas

WEATHER = tool_schema(
    {
        "name": "weather",
        "parameters": {
            "type": "dict",
            "properties": {
                "city": {"type": "string"},
                "days": {"type": "integer", "default": 1},
                "height": {"type": "float"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "when": {"type": ["string", "null"]},
            },
            "required": ["city"],
        },
    }
)


def test_selection_is_one_of_multisets() -> None:
    chosen = selection(["search", "book", "book"], ["book", "search", "search", "pay"])
    assert (chosen.expected, chosen.called, chosen.hits) == (3, 4, 2)
    assert chosen.missing == ("book",)
    assert chosen.needless == ("search", "pay")
    assert (chosen.precision, chosen.recall, chosen.exact) == (2 / 4, 2 / 3, False)


def test_no_call_is_right_where_none_is_expected() -> None:
    assert selection([], []).exact
    assert selection([], []).precision is None
    assert selection([], []).recall is None
    assert not selection([], ["search"]).exact


@pytest.mark.parametrize(
    ("first", "second", "length"),
    [("abc", "abc", 3), ("abc", "acb", 2), ("abcd", "xbyd", 2), ("", "abc", 0), ("abc", "", 0)],
)
def test_longest_common_subsequence(first: str, second: str, length: int) -> None:
    assert common_subsequence(first, second) == length


@pytest.mark.parametrize(
    ("expected", "value", "same"),
    [
        ("New York, NY", "new york ny", True),
        ("3.5_x-1/2*^", "35x12", True),
        ("New York", "Newark", False),
        ({}, {}, True),
        ({"a": [1, "X"]}, {"a": [1.0, "x"]}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ([1, 2], [2, 1], False),
        (True, 1, False),
        (1, "1", False),
        (None, None, True),
    ],
)
def test_values_are_compared_as_bfcl_does(expected: object, value: object, same: bool) -> None:
    assert same_value(expected, value) is same


@pytest.mark.parametrize(
    ("arguments", "errors"),
    [
        ({"city": "Paris"}, []),
        ({"city": "paris", "days": 1}, []),  # its default is as good as left out
        ({"city": "Paris", "days": 3}, [("days", "unexpected")]),
        ({}, [("city", "missing")]),
        ({"city": 5}, [("city", "type")]),
        ({"city": "Rome"}, [("city", "value")]),
        ({"city": "Paris", "country": "FR"}, [("country", "unexpected")]),
        ({"city": "Paris", "height": 2}, [("height", "unexpected")]),
    ],
)
def test_arguments_against_one_accepted_value_each(
    arguments: dict[str, Any], errors: list[tuple[str, str]]
) -> None:
    expected = ExpectedCall.exactly("weather", {"city": "Paris"})
    found = argument_errors(expected, ToolCall("weather", arguments), WEATHER)
    assert [(error.argument, error.kind) for error in found] == errors


@pytest.mark.parametrize(
    ("accepted", "arguments", "errors"),
    [
        ({"city": ["Paris", "Paris, FR"], "days": ["", 7]}, {"city": "PARIS FR"}, []),
        ({"city": ["Paris"], "days": [7]}, {"city": "Paris"}, [("days", "missing")]),
        ({"city": ["Paris"], "days": ["", 7]}, {"city": "Paris", "days": 7.5}, [("days", "type")]),
        ({"city": ["Paris"], "height": [2.0]}, {"city": "Paris", "height": 2}, []),
        ({"city": ["Paris"], "height": [1]}, {"city": "Paris", "height": True}, [("height", "type")]),
        ({"city": ["Paris"], "tags": [["a", "b"]]}, {"city": "Paris", "tags": ["A", "b"]}, []),
        ({"city": ["Paris"], "tags": [["a"]]}, {"city": "Paris", "tags": [1]}, [("tags", "type")]),
        ({"city": ["Paris"], "when": ["", None]}, {"city": "Paris", "when": None}, []),
    ],
)
def test_arguments_against_accepted_values(
    accepted: dict[str, list[Any]], arguments: dict[str, Any], errors: list[tuple[str, str]]
) -> None:
    expected = ExpectedCall("weather", accepted, nested=True)
    found = argument_errors(expected, ToolCall("weather", arguments), WEATHER)
    assert [(error.argument, error.kind) for error in found] == errors


def test_objects_among_accepted_values_hold_accepted_values_themselves() -> None:
    expected = ExpectedCall("f", {"at": [{"x": [1, 2], "y": ["", 3]}]}, nested=True)
    assert argument_errors(expected, ToolCall("f", {"at": {"x": 2}})) == []
    assert argument_errors(expected, ToolCall("f", {"at": {"x": 3}}))[0].kind == "value"
    assert argument_errors(expected, ToolCall("f", {"at": {"y": 3}}))[0].kind == "value"
    assert argument_errors(expected, ToolCall("f", {"at": {"x": 1, "z": 1}}))[0].kind == "value"


def test_arguments_that_do_not_matter_or_cannot_be_read() -> None:
    assert argument_errors(ExpectedCall("f"), ToolCall("f", {"x": 1})) == []
    error = argument_errors(ExpectedCall.exactly("f", {}), ToolCall("f", None, "no JSON"))[0]
    assert (error.kind, error.value) == ("malformed", "no JSON")


def test_calls_of_one_name_are_paired_so_that_most_are_right() -> None:
    expected = [
        ExpectedCall("f", {"x": [1, 2]}, nested=True),  # takes either call, the second only the first
        ExpectedCall("f", {"x": [1]}, nested=True),
        ExpectedCall.exactly("g", {}),
    ]
    called = [ToolCall("f", {"x": 1}), ToolCall("f", {"x": 2}), ToolCall("h", {})]
    pairs = paired_calls(expected, called, {})
    assert [(call.arguments, errors) for _, call, errors in pairs] == [({"x": 2}, []), ({"x": 1}, [])]


@pytest.mark.parametrize(
    "tool",
    [
        {
            "type": "function",
            "function": {"name": "f", "parameters": {"properties": {"a": {"type": "string"}}}},
        },
        {"name": "f", "input_schema": {"type": "object", "properties": {"a": {"type": "string"}}}},
        {"name": "f", "inputSchema": {"properties": {"a": {"type": "string"}}}},
        {"name": "f", "parameters": {"type": "dict", "properties": {"a": {"type": "string"}}}},
    ],
)
def test_schemas_in_the_forms_of_openai_anthropic_mcp_and_bfcl(tool: dict[str, Any]) -> None:
    schema = tool_schemas([tool])["f"]
    assert schema.types_of("a") == ("string",)
    assert schema.writes is None


def test_a_schema_says_whether_its_tool_writes() -> None:
    assert tool_schema({"name": "f", "annotations": {"readOnlyHint": True}}).writes is False
    assert tool_schema({"name": "f", "annotations": {"readOnlyHint": False}}).writes is True
    assert tool_schema({"name": "f", "writes": True}).writes is True
    assert NO_SCHEMA.writes is None


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ({"parameters": {}}, "has no name"),
        (5, "is int"),
        ({"name": "f", "parameters": []}, "parameters of tool 'f' are not an object"),
        ({"name": "f", "parameters": {"properties": [1]}}, "properties of tool 'f'"),
        ({"name": "f", "parameters": {"properties": {}, "required": "a"}}, "`required` of tool 'f'"),
    ],
)
def test_a_malformed_schema_is_one_sentence(tool: object, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        tool_schema(tool)


@pytest.mark.parametrize(
    ("arguments", "errors"),
    [
        ({"city": "Paris"}, []),
        ({"city": "Paris", "days": 2, "when": None}, []),
        ({}, [("city", "missing")]),
        ({"city": 7}, [("city", "type")]),
        ({"city": "Paris", "days": True, "zone": "C"}, [("days", "type"), ("zone", "unexpected")]),
        ({"city": "Paris", "unit": "C"}, []),
        ({"city": "Paris", "unit": "K"}, [("unit", "value")]),
        ({"city": "Paris", "level": True}, [("level", "value")]),  # a truth value is no 1
        ({"city": "Paris", "level": None}, []),
    ],
)
def test_a_schema_says_what_is_wrong_where_no_call_is_expected(
    arguments: dict[str, Any], errors: list[tuple[str, str]]
) -> None:
    properties = {
        **{"city": {"type": "string"}, "days": {"type": "integer"}, "when": {"type": ["string", "null"]}},
        **{"unit": {"type": "string", "enum": ["C", "F"]}, "level": {"enum": [1, 2]}},
    }
    schema = tool_schema({"name": "weather", "parameters": {"properties": properties, "required": ["city"]}})
    found = schema_errors(ToolCall("weather", arguments), schema)
    assert [(error.argument, error.kind) for error in found] == errors


def test_a_schema_says_nothing_of_arguments_that_are_not_recorded() -> None:
    assert schema_errors(ToolCall("weather"), WEATHER) == []
    assert schema_errors(ToolCall("weather", {"x": 1}), NO_SCHEMA) == []
    assert [error.kind for error in schema_errors(ToolCall("w", None, "no JSON"), NO_SCHEMA)] == ["malformed"]
