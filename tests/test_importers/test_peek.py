"""The first look at a file, large JSON documents, SQLite databases, and files that belong together."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from ragtriage.data.errors import InputError
from ragtriage.data.importers.detect import detect
from ragtriage.data.importers.importer import Peek
from ragtriage.data.importers.parsing import documents_in_json
from ragtriage.data.importers.parsing.containers import open_sqlite, rows_of
from ragtriage.data.importers.parsing.documents_in_json import items_at, outline, value_at
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.rows import Spool
from ragtriage.data.importers.parsing.shapes import (
    answer_in,
    contexts_in,
    decoded,
    question_in,
    reference_in,
)

DOCUMENT = {
    "name": "v1",
    "results": {"version": 3, "results": [{"n": n, "s": 0.5} for n in range(50)]},
    "z": 1,
}


def json_file(document: Any) -> InputFile:
    return InputFile.from_bytes("t.json", json.dumps(document).encode())


@pytest.mark.parametrize("large", [False, True])
def test_items_of_a_document_are_the_same_whether_it_is_parsed_at_once_or_read_item_by_item(
    large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if large:
        monkeypatch.setattr(documents_in_json, "WHOLE_UP_TO", 400)
    source = json_file(DOCUMENT)
    assert list(items_at(source, "results.results")) == [(n + 1, {"n": n, "s": 0.5}) for n in range(50)]
    assert list(items_at(json_file([1, 2]), "")) == [(1, 1), (2, 2)]
    assert value_at(source, "z") == 1
    assert value_at(source, "results.version") == 3
    assert value_at(source, "nothing.there") is None
    seen = outline(source)
    assert seen["name"] == "v1"
    assert seen["results"]["results"][:2] == [{"n": 0, "s": 0.5}, {"n": 1, "s": 0.5}]
    assert Peek(source).keys["name"] == "v1"


def test_a_large_document_with_nan_is_parsed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents_in_json, "WHOLE_UP_TO", 100)
    source = InputFile.from_bytes("t.json", b'{"rows": [' + b'{"n": 1, "v": NaN},' * 30 + b'{"n": 2}]}')
    rows = [row for _, row in items_at(source, "rows")]
    assert len(rows) == 31
    assert rows[0]["v"] != rows[0]["v"]


def test_a_document_that_is_cut_short_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents_in_json, "WHOLE_UP_TO", 100)
    source = InputFile.from_bytes("t.json", json.dumps(DOCUMENT).encode()[:-40])
    with pytest.raises(InputError, match=r"^t\.json: is not JSON, or is cut short \(.*\); accepted: one"):
        list(items_at(source, "results.results"))


def database(path: Path, mode: str = "delete") -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA journal_mode={mode}")
    connection.execute("CREATE TABLE records (id INTEGER PRIMARY KEY, input TEXT)")
    connection.executemany("INSERT INTO records (input) VALUES (?)", [("a",), ("b",)])
    connection.commit()
    return connection


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_database_is_read_and_not_written_also_while_its_tool_has_it_open(
    mode: str, tmp_path: Path
) -> None:
    path = tmp_path / "t.sqlite"
    writer = database(path, mode)
    before = contents(tmp_path)
    source = InputFile.from_path(path)
    peek = Peek(source)
    assert peek.kind == "sqlite"
    assert peek.tables == {"records"}
    with open_sqlite(source) as connection:
        assert [row["input"] for row in rows_of(connection, "records")] == ["a", "b"]
        with pytest.raises(sqlite3.DatabaseError, match="not authorized"):
            connection.execute("DELETE FROM records")
    assert contents(tmp_path) == before
    writer.close()


def test_what_a_writer_has_not_committed_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    writer = database(path)
    writer.executemany("INSERT INTO records (input) VALUES (?)", [("x" * 2_000,)] * 200)
    writer.commit()
    writer.execute("PRAGMA cache_size = 1")  # pages are written before the commit
    writer.execute("UPDATE records SET input = 'not committed'")
    assert (tmp_path / "t.sqlite-journal").stat().st_size > 0
    before = contents(tmp_path)
    with open_sqlite(InputFile.from_path(path)) as connection:
        read = {row["input"] for row in rows_of(connection, "records")}
    assert read == {"a", "b", "x" * 2_000}
    assert contents(tmp_path) == before
    writer.close()


def test_an_uploaded_database_is_read(tmp_path: Path) -> None:
    database(tmp_path / "t.sqlite").close()
    source = InputFile.from_bytes("t.sqlite", (tmp_path / "t.sqlite").read_bytes())
    with open_sqlite(source) as connection:
        assert [row["input"] for row in rows_of(connection, "records")] == ["a", "b"]


def test_a_damaged_database_is_one_sentence(tmp_path: Path) -> None:
    database(tmp_path / "t.sqlite").close()
    content = (tmp_path / "t.sqlite").read_bytes()
    source = InputFile.from_bytes("t.sqlite", content[:600])
    with (
        pytest.raises(InputError, match="is an SQLite database that cannot be read"),
        open_sqlite(source) as connection,
    ):
        list(rows_of(connection, "records"))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_database_that_is_cut_short_is_called_so(share: float, tmp_path: Path) -> None:
    database(tmp_path / "t.sqlite").close()
    content = (tmp_path / "t.sqlite").read_bytes()
    source = InputFile.from_bytes("t.sqlite", content[: int(len(content) * share)])
    with pytest.raises(InputError, match=r"^t\.sqlite: is an SQLite database that cannot be read: "):
        detect(source)


def test_a_spool_returns_the_rows_of_a_key_in_order() -> None:
    spool = Spool()
    for line in range(1, 7):
        spool.add("odd" if line % 2 else "even", line, {"line": line, "big": 10**30, "text": "\u20ac\ud800"})
    assert spool.keys == ["odd", "even"]
    assert [line for line, _ in spool.rows("odd")] == [1, 3, 5]
    assert [row["line"] for _, row in spool.rows("even")] == [2, 4, 6]
    assert list(spool.rows("none")) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Who?", "Who?"),
        ({"question": "Who?"}, "Who?"),
        ("{'question': 'Who?'}", "Who?"),
        (json.dumps(json.dumps({"input": "Who?"})), "Who?"),
        (
            {"messages": [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "Who?"}]},
            "Who?",
        ),
        ([{"role": "user", "parts": [{"type": "text", "content": "Who?"}]}], "Who?"),
        ({"anything": "Who?"}, "Who?"),
        ({"a": "x", "b": "y"}, None),
        ({}, None),
        (None, None),
    ],
)
def test_the_question_in_an_input(value: Any, expected: str | None) -> None:
    assert question_in(value) == expected


def test_answers_references_and_contexts_in_outputs() -> None:
    output = {"answer": "Ann", "contexts": ["c1", {"id": "d", "page_content": "c2"}]}
    assert answer_in(output) == "Ann"
    assert answer_in({"choices": [{"message": {"role": "assistant", "content": "Ann"}}]}) == "Ann"
    assert reference_in({"expected_response": "Ann"}) == "Ann"
    assert contexts_in(json.dumps(output)) == [{"text": "c1"}, {"id": "d", "text": "c2"}]
    assert contexts_in({"answer": "Ann"}) is None


def test_text_that_only_begins_like_json_stays_text() -> None:
    assert decoded("[1] The Nile is long") == "[1] The Nile is long"
    assert decoded('"Quoted" she said') == '"Quoted" she said'
