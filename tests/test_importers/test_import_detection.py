"""Formats are detected from the content, whatever the file's name and encoding."""

from __future__ import annotations

import codecs
import gzip
import json
from collections.abc import Callable

import pytest
from places import FIXTURES

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import detect, read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.registry import GENERAL, keys_of

FORMAT_OF = {
    "native/run.jsonl": "native",
    "native/run.json": "native",
    "native/run.csv": "native",
    "native/questions.jsonl": "native_questions",
    "ragas/v0_2.csv": "ragas",
    "ragas/v0_1.jsonl": "ragas",
    "ragchecker/checking_outputs.json": "ragchecker",
    "ragchecker/pairs.json": "ragchecker_pairs",
    "mtrag/small.json": "inspectorraget",
    "inspectorraget/small.json": "inspectorraget",
    "iris_vector_rag/detailed_small.csv": "table",
    "iris_vector_rag/pipelines_small.json": "pipeline_results",
    "tables/versions.tsv": "table",
    "tables/means.csv": "versions",
    "tables/questions.csv": "table_questions",
    "ranx/run.trec": "trec",
    "ranx/run.json": "scores_json",
}
ENCODINGS: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda content: content,
    "gzip": gzip.compress,
    "byte order mark": lambda content: codecs.BOM_UTF8 + content,
    "gzip of a byte order mark": lambda content: gzip.compress(codecs.BOM_UTF8 + content, mtime=0),
    "UTF-16": lambda content: content.decode().encode("utf-16"),
    "UTF-16 big endian": lambda content: codecs.BOM_UTF16_BE + content.decode().encode("utf-16-be"),
    "Windows line ends": lambda content: content.replace(b"\n", b"\r\n"),
    "two gzip members": lambda content: (
        gzip.compress(content[:50], mtime=0) + gzip.compress(content[50:], mtime=0)
    ),
}


def count(source: InputFile) -> list[int]:
    errors = ValidationErrors(source.name)
    counts = [sum(1 for _ in parsed.records) for parsed in read_runs(source, Options(), errors)]
    errors.raise_if_any()
    return counts


@pytest.mark.parametrize("path", FORMAT_OF)
def test_format_and_number_of_records_do_not_depend_on_the_encoding(path: str) -> None:
    content, counted = (FIXTURES / path).read_bytes(), count(InputFile.from_path(FIXTURES / path))
    for name, encoded in ENCODINGS.items():
        source = InputFile.from_bytes("upload", encoded(content))
        assert (detect(source), count(source)) == (FORMAT_OF[path], counted), name


def test_every_format_has_a_fixture() -> None:
    assert set(FORMAT_OF.values()) == set(keys_of(GENERAL))


RECORDS = [{"question": "a", "answer": "b", "tags": {"x": "1"}}, {"question": "c", "answer": "d"}]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("run.json", "\n".join(json.dumps(record) for record in RECORDS)),
        ("run.txt", "\n\n" + "\n\n".join(json.dumps(record) for record in RECORDS) + "\n"),
        ("run.jsonl", json.dumps(RECORDS)),
        ("run.csv", json.dumps(RECORDS, indent=2)),
        ("run", '{"samples": [\n' + ",\n".join(json.dumps(record) for record in RECORDS) + "\n]}"),
    ],
)
def test_native_records_are_found_under_any_ending(name: str, content: str) -> None:
    source = InputFile.from_bytes(name, content.encode())
    assert detect(source) == "native"
    assert count(source) == [2]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["question", "answer"], "native"),
        (["question", "answer", "my_column"], "table"),
        (["question", "retrieved", "my_column"], "native"),
        (["question", "retrieved", "ground_truth"], "table"),
        (["question", "contexts", "answer"], "ragas"),
        (["userInput", "actualOutput"], "table"),
        (["QUERY", "Response", "Latency (s)"], "table"),
    ],
)
def test_names_of_columns_decide_between_native_and_table(columns: list[str], expected: str) -> None:
    content = ",".join(columns) + "\n" + ",".join("x" for _ in columns) + "\n"
    assert detect(InputFile.from_bytes("t.csv", content.encode())) == expected


def test_what_is_no_evaluation_is_refused_with_what_was_seen_and_what_is_accepted() -> None:
    with pytest.raises(InputError) as caught:
        detect(InputFile.from_bytes("people.csv", b"name,age\nAda,36\n"))
    message = str(caught.value)
    assert message.startswith("people.csv: is read as csv with columns 'name', 'age'")
    assert message.endswith(
        "or a table with a question in each row (`--map question=COLUMN` names its column)"
    )
    assert "--help-formats" in message


def test_a_format_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(InputError, match=r"the format 'exel' is not known; accepted: auto, or one that"):
        read_runs(InputFile.from_bytes("x", b"{}"), Options(format="exel"), ValidationErrors("x"))


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"PK\x03\x04rest", "a zip archive"),
        (b"%PDF-1.7", "a PDF"),
        (gzip.compress(b"PK\x03\x04rest", mtime=0), "a zip archive"),
        (b"PAR1 but not really", "a Parquet file that cannot be read"),
    ],
)
def test_other_kinds_of_files_are_named(content: bytes, what: str) -> None:
    with pytest.raises(InputError, match=what):
        detect(InputFile.from_bytes("f", content))
