"""Schemas of tools for a whole run: in its header, in a file, and beside samples that list their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import run

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.importer import Options, read_tools
from ragtriage.data.importers.parsing.input_file import InputFile

TOOL: dict[str, Any] = {"name": "book", "parameters": {"type": "object", "properties": {}}}
OWN: dict[str, Any] = {"name": "find"}


def _tools(text: str, options: Options) -> list[Any]:
    errors = ValidationErrors("run.jsonl")
    (parsed,) = read_runs(InputFile.from_bytes("run.jsonl", text.encode()), options, errors)
    records = [record for _, record in parsed.records]
    errors.raise_if_any()
    return [record.get("tools") for record in records if isinstance(record, dict)]


ROWS = (
    json.dumps({"question": "a?", "answer": "b"})
    + "\n"
    + json.dumps({"question": "c?", "tools": [OWN]})
    + "\n"
)


def test_tools_of_the_header_stand_in_for_those_a_sample_does_not_list() -> None:
    header = json.dumps({"ragtriage_run": {"name": "r", "tools": [TOOL]}}) + "\n"
    assert _tools(header + ROWS, Options()) == [[TOOL], [OWN]]
    assert _tools(ROWS, Options()) == [None, [OWN]]
    assert _tools(header + ROWS, Options(tools=({"name": "other"},)))[0] == [{"name": "other"}]


@pytest.mark.parametrize("document", [[TOOL], {"tools": [TOOL]}])
def test_tools_of_a_file(document: object) -> None:
    source = InputFile.from_bytes("tools.json", json.dumps(document).encode())
    assert _tools(ROWS, Options(tools=read_tools(source))) == [[TOOL], [OWN]]


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"a": 1}, "holds no list of tools"),
        (["book"], "holds no list of tools"),
        ([{"parameters": {}}], "tool 1 has no name"),
        ([{"name": "f", "parameters": {"properties": 3}}], "properties of tool 'f'"),
    ],
)
def test_a_malformed_list_is_one_sentence(document: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_tools(InputFile.from_bytes("tools.json", json.dumps(document).encode()))
    header = json.dumps({"ragtriage_run": {"tools": document}}) + "\n"
    with pytest.raises(InputError, match="tools"):
        _tools(header + ROWS, Options())


def test_the_import_command_takes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.jsonl").write_text(ROWS, encoding="utf-8")
    tools = tmp_path / "tools.json"
    words = ("import", str(tmp_path / "run.jsonl"), "--tools", str(tools), "--json")
    tools.write_text(json.dumps([{"parameters": {}}]), encoding="utf-8")
    refused = run(capsys, tmp_path / "ws", *words)
    assert refused.code == 2
    assert "tool 1 has no name" in refused.err
    assert "Traceback" not in refused.err
    tools.write_text(json.dumps([TOOL]), encoding="utf-8")
    assert run(capsys, tmp_path / "ws", *words).json["runs"][0]["n"] == 2
