"""Files that would take more memory than they look: refused before they are unpacked or parsed."""

from __future__ import annotations

import gzip
import io
import json
import time
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import run

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import import_source
from ragtriage.data.importers.parsing.columns import plan_columns
from ragtriage.data.importers.parsing.input_file import (
    NO_LIMITS,
    InputFile,
    Limits,
    parsed_bytes,
    usual_limits,
)
from ragtriage.data.importers.parsing.rows import open_table
from ragtriage.data.scoring.run_store import RunStore

SMALL = Limits(samples=100, lines=300, parsed_bytes=100_000, unpacked_bytes=1_000_000)


def _refused(store: RunStore, name: str, content: bytes, limits: Limits = SMALL) -> str:
    with pytest.raises(InputError) as refused:
        import_source(store, InputFile.from_bytes(name, content, limits), Options(), "p")
    assert store.runs() == []
    return str(refused.value)


def _rows(count: int) -> list[dict[str, str]]:
    return [{"question_id": f"q{i}", "question": f"q{i}?"} for i in range(count)]


def test_a_small_archive_of_many_small_values_is_not_parsed(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    bomb = b'[{"question": "q?"}' + b",{}" * (100 << 20) + b"]"
    archive = gzip.compress(bomb)
    assert len(archive) < 400_000

    def parsed(*_: object) -> None:
        pytest.fail("it was parsed")

    monkeypatch.setattr("ragtriage.data.importers.parsing.input_file.read_json", parsed)
    refused = _refused(workspace, "bomb.json.gz", archive, Limits())
    assert "bomb.json.gz: is a document of many small values, which takes about 21,3" in refused
    assert (
        "accepted: at most 2,048 MB, or JSONL, which is read line by line; --no-limits lifts this" in refused
    )


@pytest.mark.parametrize("indent", [None, 1])
def test_the_memory_of_ordinary_documents_is_not_overrated(indent: int | None) -> None:
    contexts = ["A sentence, with a comma, of a document. " * 12] * 5
    rows = [{"question": f"q{i}?", "contexts": contexts, "score": 0.25} for i in range(200)]
    content = json.dumps(rows, indent=indent).encode()
    assert len(content) < parsed_bytes(content) < 6 * len(content)


@pytest.mark.parametrize("ending", ["jsonl", "csv", "json", "parquet"])
def test_too_many_samples_are_refused(workspace: RunStore, ending: str) -> None:
    rows = _rows(101)
    contents = {
        "jsonl": "\n".join(map(json.dumps, rows)).encode(),
        "json": json.dumps(rows).encode(),
        "csv": b"question_id,question\n" + b"".join(f"q{i},q{i}?\n".encode() for i in range(101)),
        "parquet": _parquet(pa.Table.from_pylist(rows)),
    }
    refused = _refused(workspace, f"r.{ending}", contents[ending])
    assert refused == (
        f"r.{ending}: holds more than 100 samples; accepted: at most 100 a run; --no-limits lifts this"
    )


def test_too_many_lines_are_refused(workspace: RunStore) -> None:
    lines = "".join(f"q{i % 3} Q0 d{i} {i} {1 / (i + 1)} tag\n" for i in range(301))
    assert "has more than 300 lines; accepted: at most 300 lines" in _refused(
        workspace, "r.run", lines.encode()
    )


def _parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def test_a_text_that_parquet_stores_once_for_every_row_is_counted_each_time(workspace: RunStore) -> None:
    table = pa.table({"question": [f"q{i}?" for i in range(90)], "answer": ["x" * 20_000] * 90})
    content = _parquet(table)
    assert len(content) < 30_000
    assert "unpacks to more than 1,000,000 bytes" in _refused(workspace, "r.parquet", content)


def test_large_rows_are_not_gathered_to_guess_columns_from() -> None:
    line = json.dumps({"question": "q?", "answer": "x" * (9 << 20)}) + "\n"
    table = open_table(InputFile.from_bytes("r.jsonl", line.encode() * 5), ValidationErrors("r.jsonl"))
    assert len(table.head) == 2
    assert sum(1 for _ in table.rows()) == 5


def test_a_table_has_at_most_so_many_columns(workspace: RunStore) -> None:
    names = [f"c{at}" for at in range(Limits().columns)]
    text = f"question,{','.join(names)}\n" + f"q?{',1' * len(names)}\n"
    source = InputFile.from_bytes("wide.csv", text.encode())
    with pytest.raises(InputError, match="has 10,001 columns; accepted: at most 10,000 columns; --no-limits"):
        open_table(source, ValidationErrors("wide.csv"))


def test_columns_of_a_wide_table_are_guessed_in_seconds() -> None:
    n = 9_000
    names = ["question", "expected_route", "actual_route", *(f"score_{at}" for at in range(n))]
    text = f"{','.join(names)}\n" + f"q?,a,b{',0.5' * n}\n" * 2
    table = open_table(InputFile.from_bytes("wide.csv", text.encode()), ValidationErrors("wide.csv"))
    before = time.process_time()
    plan = plan_columns(table, {}, "wide.csv")
    assert time.process_time() - before < 8  # over a minute where each column looks at all others
    assert sum(field.startswith("scores.") for field in plan.fields.values()) == n


def test_limits_can_be_lifted(
    workspace: RunStore, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(NO_LIMITS, "0")
    monkeypatch.setattr("ragtriage.data.importers.parsing.input_file.Limits", partial(Limits, samples=5))
    file = tmp_path / "r.jsonl"
    file.write_text("\n".join(json.dumps({**row, "answer": "a"}) for row in _rows(6)), encoding="utf-8")
    refused = run(capsys, workspace.workspace.root, "import", str(file))
    assert refused.code == 2
    assert "holds more than 5 samples" in refused.err
    assert run(capsys, workspace.workspace.root, "import", "--no-limits", str(file)).code == 0
    assert workspace.runs()[0].n == 6
    assert usual_limits().samples > 10**15
