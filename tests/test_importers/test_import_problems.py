"""Bad input is refused by file, line and field, with what would be accepted."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from places import FIXTURES

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.input_file import InputFile, Limits
from ragtriage.data.store.parsed_run import normalise

GOOD = b'{"question": "q", "answer": "a"}\n'
CASES: dict[str, tuple[str, bytes, list[str]]] = {
    "not JSON": (
        "r.jsonl",
        GOOD + b"{oops}\n" + GOOD,
        ["r.jsonl:2: is not JSON", "one JSON object per line"],
    ),
    "cut short": ("r.jsonl", GOOD + b'{"question": "x', ["r.jsonl:2: is not JSON", "column 14"]),
    "first line not JSON": ("r.jsonl", b"oops\n" + GOOD, ["r.jsonl:1: is not JSON"]),
    "no question": (
        "r.jsonl",
        GOOD + b'{"answer": "a"}\n',
        ["r.jsonl:2: question: missing", "accepted: text"],
    ),
    "empty question": ("r.jsonl", b'{"question": " "}\n', ["r.jsonl:1: question: empty"]),
    "question is a number": ("r.jsonl", b'{"question": 7}\n', ["r.jsonl:1: question: found 7", "text"]),
    "answer is a list with an object": (
        "r.jsonl",
        b'{"question": "q", "answer": ["a", {"b": 1}]}\n',
        ["r.jsonl:1: answer: found a list of 2"],
    ),
    "record is a list": ("r.jsonl", GOOD + b"[1]\n", ["r.jsonl:2: found a list", "a JSON object"]),
    "nested wrong type": (
        "r.jsonl",
        b'{"question": "q", "retrieved": [{"id": "a"}, {"id": []}]}\n',
        ["r.jsonl:1: retrieved[1].id: found a list of 0"],
    ),
    "NaN outside scores": (
        "r.jsonl",
        b'{"question": "q", "latency_ms": NaN}\n',
        ["latency_ms: found nan", "finite"],
    ),
    "not UTF-8": (
        "r.jsonl",
        GOOD + b'{"question": "\xff"}\n',
        ["r.jsonl:2: byte 15 (0xff) is not UTF-8", "UTF-8"],
    ),
    "not UTF-8 in CSV": ("r.csv", b"question,answer\nq,\xe9\n", ["r.csv:2: byte 3 (0xe9) is not UTF-8"]),
    "not UTF-8 in JSON": (
        "r.json",
        b'[\n{"question": "\xff"}]',
        ["r.json:2: byte 17", "(0xff) is not UTF-8"],
    ),
    "NUL bytes": ("r.jsonl", GOOD + b'{"question": "\0"}\n', ["r.jsonl:2: holds a NUL byte at byte 15"]),
    "empty": ("r.jsonl", b"", ["r.jsonl: is empty", "at least one record"]),
    "only blank": ("r.jsonl", b"\xef\xbb\xbf \n\n", ["r.jsonl: holds only blank lines"]),
    "empty list": ("r.json", b"[]", ["r.json: "]),
    "only a header": ("r.csv", b"question,answer\n", ["r.csv: holds no records"]),
    "truncated gzip": (
        "r.jsonl.gz",
        gzip.compress(GOOD * 50)[:-12],
        ["r.jsonl.gz: is a gzip file that is cut short"],
    ),
    "damaged gzip": (
        "r.gz",
        b"\x1f\x8b\x08\x00rubbish",
        ["r.gz: is a gzip file that is cut short or damaged"],
    ),
    "too many cells": (
        "r.csv",
        b"question,answer\nq,a\nq,a,b\n",
        ["r.csv:3: has 3 cells", "2 cells as in the header"],
    ),
    "open quote": ("r.csv", b'question,answer\nq,a\nq,"a\n', ["r.csv:3: cannot be read"]),
    "document cut short": (
        "r.json",
        b"[1, 2,\n 3\n",
        ["r.json:2: is not JSON: it ends before it is complete"],
    ),
    "bad document": ("r.json", b'{"question": "q",\n "answer": }', ["r.json:2: is not JSON", "column 12"]),
    "nested too deeply": ("r.json", b"[" * 200_000, ["r.json: is not JSON: it is nested too deeply"]),
    "endless number": (
        "r.jsonl",
        GOOD + b'{"question": "q", "rank": 1' + b"0" * 5000 + b"}\n",
        ["r.jsonl:2: is not JSON: it holds a whole number with too many digits;"],
    ),
    "number too large for a format": (
        "r.json",
        b'{"q1": {"d1": 1' + b"0" * 400 + b', "d2": 1}}',
        [
            "r.json: cannot be read as Run as JSON",
            ": a number in it is too large; its version may be unknown",
        ],
    ),
    "list in a cell": (
        "r.csv",
        b"question,contexts,answer\nq,\"['a', oops]\",a\nq,\"['a']\",a\n",
        ["r.csv:2: contexts (as retrieved): begins like a list", "a JSON list or a Python list"],
    ),
    "metric is text": (
        "r.csv",
        b"user_input,response,faithfulness\nq,a,0.5\nq,a,good\n",
        ["r.csv:3: faithfulness (as scores.faithfulness): found 'good'", "a number, or nothing"],
    ),
    "late header": (
        "r.jsonl",
        GOOD + b'{"ragtriage_run": {}}\n',
        ["r.jsonl:2: ragtriage_run: is not on the first"],
    ),
    "unknown fact": (
        "r.jsonl",
        b'{"ragtriage_run": {"colour": 1}}\n' + GOOD,
        ["r.jsonl:1: ragtriage_run.colour: is not a property of a run", "name, config"],
    ),
}


def load(source: InputFile, options: Options) -> None:
    errors = ValidationErrors(source.name)
    for parsed in read_runs(source, options, errors):
        for line, record in parsed.records:
            normalise(record, line, errors)
    errors.raise_if_any()


def failure(source: InputFile, options: Options | None = None) -> str:
    with pytest.raises(InputError) as caught:
        load(source, options or Options())
    return str(caught.value)


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_named_by_file_line_and_field(case: str) -> None:
    name, content, parts = CASES[case]
    message = failure(InputFile.from_bytes(name, content))
    assert all(part in message for part in parts), message
    assert "; accepted: " in message


def test_all_problems_are_gathered_and_counted() -> None:
    message = failure(InputFile.from_bytes("r.jsonl", GOOD + b"{oops\n" * 30))
    assert message.count("is not JSON") == 20
    assert message.endswith("... and 10 more problems")


def test_an_over_long_line_is_named_and_the_lines_after_it_are_still_checked() -> None:
    long = b'{"question": "' + b"x" * 5000 + b'"}\n'
    source = InputFile.from_bytes("r.jsonl", GOOD + long + b"{oops\n", Limits(line_bytes=1000))
    message = failure(source)
    assert "r.jsonl:2: is longer than 1,000 bytes; accepted: lines of at most 1,000 bytes" in message
    assert "r.jsonl:3: is not JSON" in message


def test_an_over_long_cell_in_csv_is_named() -> None:
    source = InputFile.from_bytes("r.csv", b"question,answer\nq," + b"x" * 2000, Limits(line_bytes=1000))
    assert "r.csv:2: is longer than 1,000 bytes" in failure(source)


def test_a_gzip_bomb_is_stopped_at_the_limit() -> None:
    source = InputFile.from_bytes("r.gz", gzip.compress(GOOD * 1000), Limits(unpacked_bytes=5000))
    assert "r.gz: unpacks to more than 5,000 bytes; accepted: at most 5,000" in failure(source)


def test_a_document_beyond_the_limit_points_to_the_formats_that_stream() -> None:
    source = InputFile.from_bytes(
        "r.json", b'[{"question": "q"},\n' + b" " * 500 + b"]", Limits(document_bytes=100)
    )
    assert "r.json: is larger than 100 bytes" in failure(source)
    assert "JSONL or Parquet" in failure(source)


def test_places_that_are_no_file_are_named(tmp_path: Path) -> None:
    assert f"{tmp_path}: is a folder that no tool is known to write" in failure(InputFile.from_path(tmp_path))
    missing = tmp_path / "missing.jsonl"
    assert f"{missing}: does not exist" in failure(InputFile.from_path(missing))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert f"{pipe}: is not a regular file" in failure(InputFile.from_path(pipe))
    assert "cannot be opened" in failure(InputFile.from_path("bad\0name"))


def test_a_file_without_permission_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    path = tmp_path / "r.jsonl"
    path.write_bytes(GOOD)
    monkeypatch.setattr(Path, "open", refuse)  # root may read anything, so permissions alone prove nothing
    assert "r.jsonl: may not be read (no permission); accepted: a file that this user can read" in failure(
        InputFile.from_path(path)
    )


TABLE = b"Froge,Antwart,kurz\nwas?,das,x\nwer?,der,x\n"


@pytest.mark.parametrize(
    ("mapping", "parts"),
    [
        (
            {"Farge": "question"},
            ["t.csv: Farge: no such column to map", "the columns are Froge, Antwart, kurz"],
        ),
        (
            {"Froge": "qestion"},
            ["Froge: mapped to 'qestion', which is not a field", "question, history", "tags.<key>"],
        ),
        ({"Froge": "question", "kurz": "question"}, ["kurz: mapped to 'question', as 'Froge' already is"]),
        ({"Antwart": "answer"}, ["question: no question column found (columns: 'Froge'"]),
    ],
)
def test_a_wrong_mapping_lists_columns_and_fields(mapping: dict[str, str], parts: list[str]) -> None:
    message = failure(InputFile.from_bytes("t.csv", TABLE), Options(mapping=mapping))
    assert all(part in message for part in parts), message


def test_a_mapping_is_refused_where_the_format_has_no_columns() -> None:
    path = FIXTURES / "mtrag/small.json"
    message = failure(InputFile.from_path(path), Options(mapping={"a": "question"}))
    what, _, accepted = message.partition("; accepted: ")
    assert what.endswith("is inspectorraget, which takes no mapping of columns")
    assert accepted.endswith("pipeline_results, ragas, table_questions, table")


def test_ragchecker_labels_that_do_not_fit_are_named_by_row_and_field() -> None:
    row = (
        b'{"results": [{"query_id": "1", "query": "q", "gt_answer": "g", "response": "r",'
        b' "retrieved_context": [{"text": "t"}], "response_claims": ["a", ["b", "c", "d"], 5],'
        b' "answer2response": ["Entailment", "Maybe", "Neutral"],'
        b' "retrieved2response": [["Neutral"], ["Neutral", "Neutral"], ["Neutral"]],'
        b' "gt_answer_claims": ["x"], "response2answer": []}]}'
    )
    message = failure(InputFile.from_bytes("c.json", row))
    assert (
        "c.json:1: answer2response: found 'Maybe'; accepted: Entailment | Neutral | Contradiction" in message
    )
    assert "retrieved2response[1]: found list of 2; accepted: a list of 1 labels" in message
    assert "response_claims[2]: found int" in message
    assert "response2answer: found list of 0; accepted: a list of 1 items" in message


def test_parquet_whose_text_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    offsets = pa.py_buffer(np.array([0, 1], dtype=np.int32).tobytes())
    text = pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(b"\xff")])
    path = tmp_path / "r.parquet"
    pq.write_table(pa.table({"question": text}), path)
    with pytest.raises(InputError, match="is a Parquet file that cannot be read"):
        list(read_runs(InputFile.from_path(path), Options(), ValidationErrors("r.parquet"))[0].records)
