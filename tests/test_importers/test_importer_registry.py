"""The registry says what a file shows before a module is loaded: it agrees with what the modules read."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest
from places import FIXTURES, REPOSITORY

from ragtriage.data.errors import DataError
from ragtriage.data.importers.importer import Peek, Reader, recognises
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.registry import (
    GENERAL,
    QUESTION_FILES,
    TOOLS,
    candidates,
    importer_of,
    importers,
    keys_of,
)

ROOM = REPOSITORY / "data" / "importers"
DECLARING = sorted(
    f"{path.parent.name}.{path.stem}"
    for path in ROOM.glob("*/*.py")
    if "\nREADERS = {" in path.read_text(encoding="utf-8")
)
FILES = [path for path in sorted(FIXTURES.rglob("*")) if path.suffix not in (".md", ".txt", ".py", "")]


def test_every_reader_is_declared_once_with_a_way_to_know_its_files() -> None:
    readers: dict[str, Reader] = {}
    for module in DECLARING:
        readers |= import_module(f"ragtriage.data.importers.{module}").READERS
    listed = (*TOOLS, *QUESTION_FILES, *GENERAL)
    keys = keys_of(listed)
    assert len(keys) == len(set(keys)) > 70
    assert readers.keys() <= set(keys)
    assert {entry.module for entry in listed} == set(DECLARING)
    for key, facts in (item for entry in listed for item in entry.importers.items()):
        reader = readers.get(key, Reader())
        assert facts.get("marks") or reader.detect, key
        assert bool(facts.get("refused")) == (reader.read is None), key


def test_an_importer_is_found_by_its_key() -> None:
    found = {key: importer_of(key) for key in importers()}
    assert found == dict(importers())
    assert importer_of("no_format") is None


def test_what_recognises_a_file_is_asked_for_it() -> None:
    recognised = 0
    for path in (FIXTURES, *FILES):
        peek = Peek(InputFile.from_path(path))
        try:
            recognising = [key for key, importer in importers().items() if recognises(importer, peek)]
            asked = [importer.key for importer in candidates(peek)]
        except DataError:
            continue  # refused before any importer is asked
        recognised += bool(recognising)
        assert [key for key in asked if key in recognising] == recognising, path
    assert recognised > 150


def test_a_plain_file_loads_no_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text('{"question": "Who?", "answer": "Ann", "retrieved": [{"id": "d", "text": "t"}]}\n')
    for name in [name for name in sys.modules if name.startswith("ragtriage.data.importers.tools.")]:
        monkeypatch.delitem(sys.modules, name)
    assert [importer.key for importer in candidates(Peek(InputFile.from_path(path)))][-4:] == [
        "native_questions",
        "native",
        "table_questions",
        "table",
    ]
    assert not [name for name in sys.modules if name.startswith("ragtriage.data.importers.tools.")]
