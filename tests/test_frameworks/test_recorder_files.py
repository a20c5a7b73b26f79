"""What a recorder writes: whole lines after those that are there, and nothing that breaks the application."""

from __future__ import annotations

import errno
import json
import logging
import os
import threading
from pathlib import Path
from typing import Any

import pytest

import ragtriage
from ragtriage.recorder import CallRecorder, Calls


def _record(recorder: CallRecorder, question: str, **facts: Any) -> None:
    """Record a call as a framework's recorder does."""
    calls: Calls = recorder._calls
    key = f"{question}-{threading.get_ident()}"
    calls.begin(key, None, kind="chain", input=question)
    calls.end(key, **{"output": f"About {question}", **facts})


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_file_is_gone_on_with_and_repeats_are_counted_on(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    for _ in range(2):
        with CallRecorder(path) as recorder:
            _record(recorder, "Who?")
            _record(recorder, "When?")
    assert [(line["question"], line.get("repeat", 0)) for line in _lines(path)] == [
        *[("Who?", 0), ("When?", 0)],
        *[("Who?", 1), ("When?", 1)],
    ]
    run = CallRecorder(path).add_run("all", project="p", workspace=tmp_path / "workspace")
    assert (run.n, run.n_questions) == (4, 2)


def test_a_line_that_was_cut_off_is_removed_and_a_whole_one_gets_its_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text('{"question": "Who?", "answer": "Ann."}\n{"question": "Wh', encoding="utf-8")
    with caplog.at_level(logging.WARNING, "ragtriage"), CallRecorder(path) as recorder:
        _record(recorder, "When?")
    assert [line["question"] for line in _lines(path)] == ["Who?", "When?"]
    assert "calls.jsonl: its last line is cut off and was removed" in caplog.text
    path.write_text('{"question": "Who?", "answer": "Ann."}', encoding="utf-8")
    with CallRecorder(path) as recorder:
        _record(recorder, "Who?")
    assert [line.get("repeat", 0) for line in _lines(path)] == [0, 1]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "missing/calls.jsonl",
            None,
            r"calls.jsonl: No such file or directory; accepted: a file that can be",
        ),
        (".", None, "Is a directory; accepted: a file that can be written, in a folder that exists"),
        ("notes.txt", "Shopping\nmilk\n", r"notes.txt:1: is not a JSON object; accepted: a file of records"),
        ("list.json", "[1]\n", r"list.json:1: is not a JSON object"),
    ],
)
def test_a_file_that_cannot_hold_records_is_refused_untouched(
    tmp_path: Path, name: str, content: str | None, message: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(ragtriage.RagtriageError, match=message):
        CallRecorder(path)
    if content is not None:
        assert path.read_text(encoding="utf-8") == content


def test_a_full_disk_breaks_no_call_leaves_no_half_line_and_is_told_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, write, free = tmp_path / "calls.jsonl", os.write, [60]

    def write_some(file: int, data: bytes) -> int:
        """Write as much as fits, as a disk does that fills up."""
        if not free[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = write(file, data[: free[0]])
        free[0] -= written
        return written

    recorder = CallRecorder(path)
    _record(recorder, "There is room?")
    monkeypatch.setattr("ragtriage.recorder.os.write", write_some)
    for number in range(3):
        _record(recorder, f"Question {number}?")
    monkeypatch.undo()
    _record(recorder, "There is room again?")
    with pytest.raises(ragtriage.RagtriageError, match=r"3 records could not be written: .*No space left"):
        recorder.close()
    assert [line["question"] for line in _lines(path)] == ["There is room?", "There is room again?"]


def test_texts_that_break_lines_or_encodings_stay_one_line(tmp_path: Path) -> None:
    path, hostile = tmp_path / "calls.jsonl", "a\nb\u2028c\x00\ud800 </script>"
    with CallRecorder(path) as recorder:
        _record(recorder, hostile, error="ValueError: \ud800")
        _record(recorder, "Who?", output={"answer": float("nan"), "context": object()})
    first, second = path.read_bytes().splitlines()
    assert json.loads(first)["question"] == hostile
    assert json.loads(second)["question"] == "Who?"


def test_a_call_without_a_question_or_with_a_fault_is_no_record_and_no_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    recorder = CallRecorder()
    _record(recorder, "")
    _record(recorder, "Who?", output_tokens="many", input_tokens=[1])
    calls: Calls = recorder._calls
    calls.begin("a", None, kind="chain", input="Broken?")
    calls.begin("b", "a", kind="llm", input_tokens="x")
    calls.end("b", input_tokens=object())
    calls.end("a")
    calls.end("never begun")
    assert recorder.records == []
    assert "A call could not be recorded" in caplog.text
    assert calls._calls == {}


def test_spans_that_come_late_or_never_end_leave_nothing_behind() -> None:
    recorder = CallRecorder()
    calls: Calls = recorder._calls
    calls.begin("root", None, kind="chain", input="Who?")
    calls.begin("inner", "root", kind="retriever", query="Who?")
    calls.end("root", output="Ann.")
    calls.end("inner", documents=[{"id": "late", "text": "Late."}])
    (record,) = recorder.records
    assert "retrieved" not in record
    calls.begin("open", None, kind="chain", input="When?")
    recorder.close()
    assert calls._calls == {}
    assert len(recorder.records) == 1
    calls.begin("after", None, kind="chain", input="After?")
    calls.end("after", output="x")
    assert len(recorder.records) == 1


def test_nothing_recorded_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(ragtriage.RagtriageError, match="run: holds no records"):
        CallRecorder().add_run("run", workspace=tmp_path)
