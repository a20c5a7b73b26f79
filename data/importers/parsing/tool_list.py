"""The schemas of the tools of a whole run: from a file, or from the header of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.store.parsed_run import Record
from ragtriage.metrics.suites.tool_schemas import tool_schemas

TOOLS_ACCEPTED = "a list of tools with a name and a JSON schema of the arguments, or {tools: [...]}"


def read_tools(source: InputFile) -> tuple[Mapping[str, Any], ...]:
    """Read a JSON file with the schemas of tools: a list, or an object with it as `tools`, as MCP lists them.

    Raises:
        InputError: it holds no such list, or a schema is malformed.
    """
    document = source.document()
    tools = document.get("tools") if isinstance(document, Mapping) else document
    fault = tools_fault(tools)
    if fault:
        raise source.error(fault, TOOLS_ACCEPTED)
    return tuple(tools) if isinstance(tools, list) else ()


def tools_fault(tools: object) -> str:
    """Return what is wrong with a list of tools; "" where nothing is."""
    if not isinstance(tools, list) or not all(isinstance(tool, Mapping) for tool in tools):
        return "holds no list of tools"
    try:
        tool_schemas(tools)
    except ValueError as fault:
        return str(fault).partition("; accepted")[0]
    return ""


def with_tools(records: Iterable[Record], tools: Iterable[Mapping[str, Any]]) -> Iterator[Record]:
    """Yield records with the tools of the run where they list none of their own."""
    shared = list(tools)
    for line, record in records:
        if isinstance(record, dict) and record.get("tools") is None:
            yield line, {**record, "tools": shared}
        else:
            yield line, record
