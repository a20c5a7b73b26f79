"""Schemas of tools, in the forms that OpenAI, Anthropic, MCP and BFCL write them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

PARAMETERS = ("parameters", "input_schema", "inputSchema", "args_schema", "schema")
ACCEPTED = "a name and a JSON schema of its arguments, as OpenAI, Anthropic, MCP or BFCL write it"
MOST_DEPTH = 20  # of a schema and of a value that are looked into


@dataclass(frozen=True)
class ToolSchema:
    """What a tool may be called with."""

    name: str  # of the tool
    # argument -> its JSON schema; None where no schema of arguments is recorded
    properties: Mapping[str, Mapping[str, Any]] | None = None
    required: tuple[str, ...] = ()  # names of arguments that have to be given
    defaults: Mapping[str, Any] = field(default_factory=dict)  # argument -> value where it is left out
    open: bool = False  # whether arguments beyond `properties` are allowed
    # whether it changes something: `writes`, or MCP's `annotations.readOnlyHint`; None where the schema
    # does not say
    writes: bool | None = None

    def types_of(self, argument: str) -> tuple[str, ...]:
        """Return the types that an argument may have, as the schema names them."""
        return _types((self.properties or {}).get(argument, {}))

    def known_values(self, argument: str) -> list[Any]:
        """Return the values of an argument that the schema itself names: enum, const and default."""
        declared = (self.properties or {}).get(argument)
        return [] if declared is None else list(_named_values(declared, 0))


NO_SCHEMA = ToolSchema("")


def tool_schemas(tools: Iterable[object]) -> dict[str, ToolSchema]:
    """Return the schemas of tools by name.

    Raises:
        ValueError: one of them is malformed; the message is one sentence.
    """
    schemas = (tool_schema(tool, place) for place, tool in enumerate(tools, start=1))
    return {schema.name: schema for schema in schemas}


def tool_schema(tool: object, place: int = 1) -> ToolSchema:
    """Return one tool of a list, read from any of the known forms.

    Raises:
        ValueError: it is malformed; the message is one sentence.
    """
    if isinstance(tool, str) and tool:
        return ToolSchema(tool)
    if not isinstance(tool, Mapping):
        raise ValueError(f"tool {place} is {type(tool).__name__}; accepted: {ACCEPTED}")
    inner = tool.get("function")
    declared = {**tool, **inner} if isinstance(inner, Mapping) else tool
    name = declared.get("name")
    if not isinstance(name, str) or not name:
        raise ValueError(f"tool {place} has no name; accepted: {ACCEPTED}")
    parameters = next((declared[key] for key in PARAMETERS if declared.get(key) is not None), None)
    if parameters is None:
        return ToolSchema(name, writes=_writes(declared))
    if not isinstance(parameters, Mapping):
        raise ValueError(f"the parameters of tool {name[:80]!r} are not an object; accepted: {ACCEPTED}")
    return _with_parameters(name, parameters, _writes(declared))


def _with_parameters(name: str, parameters: Mapping[str, Any], writes: bool | None) -> ToolSchema:
    properties = parameters.get("properties", {})
    if not isinstance(properties, Mapping) or not all(
        isinstance(schema, Mapping) for schema in properties.values()
    ):
        raise ValueError(
            f"the properties of tool {name[:80]!r} are not objects by argument; accepted: {ACCEPTED}"
        )
    required = parameters.get("required") or ()
    if not isinstance(required, list | tuple) or not all(isinstance(each, str) for each in required):
        raise ValueError(f"`required` of tool {name[:80]!r} is not a list of names; accepted: {ACCEPTED}")
    defaults = {key: entry["default"] for key, entry in properties.items() if "default" in entry}
    is_open = parameters.get("additionalProperties") not in (None, False)
    return ToolSchema(name, properties, tuple(required), defaults, is_open, writes)


def _writes(tool: Mapping[str, Any]) -> bool | None:
    if isinstance(tool.get("writes"), bool):
        return bool(tool["writes"])
    annotations = tool.get("annotations")
    hint = annotations.get("readOnlyHint") if isinstance(annotations, Mapping) else None
    return not hint if isinstance(hint, bool) else None


def _is_integer(value: object) -> bool:
    return not isinstance(value, bool) and (
        isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# A name of a type that is not here fits any value.
OF_TYPE: Mapping[str, Callable[[object], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": _is_integer,
    "int": _is_integer,
    "number": _is_number,
    "float": _is_number,
    "double": _is_number,
    "boolean": lambda value: isinstance(value, bool),
    "bool": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list | tuple),
    "list": lambda value: isinstance(value, list | tuple),
    "tuple": lambda value: isinstance(value, list | tuple),
    "object": lambda value: isinstance(value, Mapping),
    "dict": lambda value: isinstance(value, Mapping),
    "null": lambda value: value is None,
}


def fits_type(value: object, schema: Mapping[str, Any], depth: int = 0) -> bool:
    """Return whether a value has a type that its schema allows, items of a list as well.

    A whole number fits "number" and "float"; a truth value is not a number.
    """
    types = _types(schema)
    if types and not any(name not in OF_TYPE or OF_TYPE[name](value) for name in types):
        return False
    items = schema.get("items")
    if isinstance(value, list | tuple) and isinstance(items, Mapping) and depth < MOST_DEPTH:
        return all(fits_type(item, items, depth + 1) for item in value)
    return True


def _types(schema: Mapping[str, Any]) -> tuple[str, ...]:
    declared = schema.get("type")
    own = [declared] if isinstance(declared, str) else declared if isinstance(declared, list) else []
    nullable = ["null"] if schema.get("nullable") is True and own else []
    options = schema.get("anyOf") or schema.get("oneOf") or ()
    listed = (
        [option for option in options if isinstance(option, Mapping)] if isinstance(options, list) else []
    )
    inner = [option["type"] for option in listed if isinstance(option.get("type"), str)]
    if len(inner) < len(listed):  # an option that names no type fits anything
        return ()
    return tuple(name for name in (*own, *nullable, *inner) if isinstance(name, str))


def _named_values(schema: Mapping[str, Any], depth: int) -> Iterable[Any]:
    if isinstance(schema.get("enum"), list):
        yield from schema["enum"]
    yield from (schema[key] for key in ("const", "default") if key in schema)
    if depth >= MOST_DEPTH:
        return
    inner = [schema.get("items"), *_listed(schema.get("anyOf")), *_listed(schema.get("oneOf"))]
    properties = schema.get("properties")
    inner += list(properties.values()) if isinstance(properties, Mapping) else []
    for entry in inner:
        if isinstance(entry, Mapping):
            yield from _named_values(entry, depth + 1)


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
