"""JSON documents: columns paired by key or by position, several lists of rows, keys that occur twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import run
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.store.parsed_run import normalise
from ragtriage.data.store.workspace import Workspace


def read(document: object, **options: Any) -> tuple[list[Any], str]:
    """Return the records of a JSON document with one run, and its notes."""
    text = document if isinstance(document, str) else json.dumps(document)
    errors = ValidationErrors("t.json")
    (parsed,) = read_runs(InputFile.from_bytes("t.json", text.encode()), Options(**options), errors)
    records = [record for _, record in parsed.records]
    errors.raise_if_any()
    return records, " | ".join(parsed.notes)


FRAME = pd.DataFrame(
    {"question": ["q1", "q2", "q3"], "contexts": [["a"], ["b"], ["c"]], "faithfulness": [0.25, 0.5, 1.0]}
)


@pytest.mark.parametrize("orient", ["columns", "index", "records", "split", "table"])
def test_every_form_that_pandas_writes_pairs_its_cells(orient: Any) -> None:
    records, _ = read(FRAME.to_json(orient=orient))
    assert [(record["question"], record["scores"]["faithfulness"]) for record in records] == [
        ("q1", 0.25),
        ("q2", 0.5),
        ("q3", 1.0),
    ]


def test_columns_are_paired_by_key_whatever_their_order() -> None:
    document = {
        "question": {"7": "q7", "3": "q3", "5": "q5"},
        "contexts": {"3": ["c3"], "5": ["c5"], "7": ["c7"]},
        "faithfulness": {"5": 0.5, "7": 0.75, "3": 0.25},
    }
    records, notes = read(document)
    assert [
        (record["question"], record["retrieved"][0]["text"], record["scores"]["faithfulness"])
        for record in records
    ] == [("q7", "c7", 0.75), ("q3", "c3", 0.25), ("q5", "c5", 0.5)]
    assert notes == ""


def test_a_cell_that_a_column_lacks_is_told_and_moves_no_other() -> None:
    document = {"question": {"0": "q0", "1": "q1"}, "answer": {"1": "a1"}, "rating": {"0": 0.5, "1": 0.25}}
    records, notes = read(document)
    assert [(record["question"], record.get("answer")) for record in records] == [("q0", None), ("q1", "a1")]
    assert "columns without a cell: 'answer' for 1 of 2 rows; cells are paired by key" in notes


def test_the_keys_of_rows_that_are_no_numbers_are_their_ids() -> None:
    records, _ = read({"query": {"a": "first?", "b": "second?"}, "answer": {"b": "2", "a": "1"}})
    assert [(record["question_id"], record["question"], record["answer"]) for record in records] == [
        ("a", "first?", "1"),
        ("b", "second?", "2"),
    ]


def test_rows_under_their_ids_keep_them() -> None:
    records, _ = read(
        {"a": {"question": "first?", "answer": "1"}, "b": {"question": "second?", "answer": "2"}}
    )
    assert [(record["question_id"], record["answer"]) for record in records] == [("a", "1"), ("b", "2")]


@pytest.mark.parametrize(
    "document",
    [
        {"question": ["q1", "q2"], "answer": ["a1"]},
        {"question": {"0": "q1", "1": "q2"}, "answer": ["a1", "a2"]},
    ],
)
def test_columns_that_cannot_be_paired_are_refused(document: object) -> None:
    with pytest.raises(
        InputError, match=r"t\.json: holds columns that cannot be paired: .*question 2, answer"
    ):
        read(document)


TWO_LISTS = {
    "info": {"tool": "x"},
    "faithfulness": [
        {"query": "q1", "response": "a", "score": 0.5},
        {"query": "q2", "response": "b", "score": 1.0},
    ],
    "relevancy": [{"query": "q1", "response": "a", "score": 0.25}],
    "models": [{"name": "m"}],
}


def test_several_lists_of_questions_are_asked_about() -> None:
    with pytest.raises(InputError) as caught:
        read(TWO_LISTS)
    assert str(caught.value) == (
        "t.json: holds several lists of questions: 'faithfulness' (2), 'relevancy' (1); "
        "accepted: the name of the one to read: --rows NAME, or the choice on the page Runs"
    )
    records, notes = read(TWO_LISTS, rows="relevancy")
    assert [record["scores"]["score"] for record in records] == [0.25]
    assert notes.startswith(
        "rows are read from 'relevancy'; lists of rows that are left out: 'faithfulness' (2), 'models' (1)"
    )


def test_a_list_without_questions_is_left_out_and_told() -> None:
    document = {"data": [{"metric": "f", "mean": 0.5}], "cases": [{"query": "q1", "response": "a"}]}
    records, notes = read(document)
    assert [record["question"] for record in records] == ["q1"]
    assert notes.startswith("rows are read from 'cases'; lists of rows that are left out: 'data' (1)")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.json", json.dumps(TWO_LISTS), "holds no list of rows named 'x'; accepted: 'faithfulness' (2)"),
        ("t.json", '{"a": [{"query": "q", "answer": "b"}]}', "named 'x'; accepted: 'a' (1)"),
        ("t.csv", "query,answer\nq,a\n", "is csv, which holds no lists of rows to choose from"),
    ],
)
def test_a_list_that_is_not_there_is_named(name: str, content: str, message: str) -> None:
    source = InputFile.from_bytes(name, content.encode())
    with pytest.raises(InputError) as caught:
        read_runs(source, Options(rows="x"), ValidationErrors(name))
    assert message in str(caught.value)


def test_the_command_reads_the_list_that_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "batch.json"
    file.write_text(json.dumps(TWO_LISTS), encoding="utf-8")
    asked = run(capsys, tmp_path / "ws", "import", str(file))
    assert asked.code == 2
    assert "holds several lists" in asked.err
    loaded = run(capsys, tmp_path / "ws", "import", str(file), "--rows", "faithfulness", "--json").json[
        "runs"
    ]
    assert [(entry["n"], entry["notes"][0][:40]) for entry in loaded] == [
        (2, "rows are read from 'faithfulness'; lists")
    ]


def test_the_page_asks_which_list_to_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "batch.json"
    file.write_text(json.dumps(TWO_LISTS), encoding="utf-8")
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(Workspace(tmp_path / "ws").create().root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["upload_path"] = str(file)
    app.switch_page("runs/runs.py").run()
    assert any("lists of questions: choose the one to read" in each.value for each in app.caption)
    assert app.button(key="load").disabled
    app.selectbox(key=f"rows_{file}").select_index(1).run()
    assert not list(app.error), [error.value for error in app.error]
    assert "left out" in " ".join(caption.value for caption in app.caption)
    assert not app.button(key="load").disabled


TWICE = '{"question": "q1", "answer": "first", "answer": "last", "retrieved": [{"id": "a", "id": "b"}]}'


@pytest.mark.parametrize("name", ["t.jsonl", "t.json"])
def test_keys_that_stand_twice_are_told(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    lines = ['{"question": "q0", "answer": "x", "retrieved": []}', TWICE, TWICE.replace("q1", "q2")]
    file = tmp_path / name
    file.write_text("\n".join(lines) if name == "t.jsonl" else f"[{', '.join(lines)}]", encoding="utf-8")
    where = "first on line 2; " if name == "t.jsonl" else ""
    expected = [
        f"the key {key!r} occurs more than once in one object: the last value is read ({where}2 in all)"
        for key in ("id", "answer")
    ]
    dry = run(capsys, tmp_path / "ws", "import", str(file), "--dry-run", "--json").json["files"][0]
    (loaded,) = run(capsys, tmp_path / "ws", "import", str(file), "--json").json["runs"]
    assert dry["runs"][0]["notes"] == loaded["notes"] == expected


def test_documents_of_a_run_in_json_that_stand_twice_are_told() -> None:
    errors = ValidationErrors("run.json")
    source = InputFile.from_bytes("run.json", b'{"q1": {"d1": 1.0, "d1": 0.5}, "q2": {"d2": 1.0}}')
    read_runs(source, Options(), errors)
    assert "the key 'd1' occurs more than once" in errors.notes[0]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (42, "42"),
        (2.0, "2"),
        (0.5, "0.5"),
        (True, "true"),
        (["Paris", "Lyon"], "Paris\nLyon"),
        ([{"type": "text", "text": "Paris"}], "Paris"),
        ([1, False], "1\nfalse"),
        ([], ""),
    ],
)
@pytest.mark.parametrize("others", [{"retrieved": ["c"]}, {"contexts": ["c"]}])
def test_answers_that_are_no_text_become_text(value: object, expected: str, others: dict[str, Any]) -> None:
    row = {"question": "q", "answer": value, **others}
    records, _ = read([row, {**row, "question": "p"}])
    samples = [normalise(record, 1, ValidationErrors("t")) for record in records]
    assert [sample and sample["answer"] for sample in samples] == [expected, expected]


def test_reference_answers_that_are_no_text_become_text() -> None:
    for value, expected in ((7, "7"), (False, "false"), ([1945, 1946], "1945")):
        records, _ = read([{"query": "q", "response": "a", "ground_truth": value}])
        assert records[0]["reference_answer"] == expected
