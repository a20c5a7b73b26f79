"""Bad files: reported with file, line, field and what would be accepted; nothing of them is loaded."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import run

Capture = pytest.CaptureFixture[str]
GOOD = json.dumps({"question": "fine?", "answer": "fine"}).encode()


def _lines(*lines: bytes) -> bytes:
    return b"\n".join(lines) + b"\n"


CASES: dict[str, tuple[bytes, list[str]]] = {
    "not JSON": (_lines(GOOD, b"{oops"), [":2", "accepted:"]),
    "NaN literal": (
        _lines(GOOD, b'{"question": "a?", "latency_ms": NaN}'),
        [":2", "latency_ms", "finite number"],
    ),
    "missing question": (_lines(GOOD, b'{"question_id": "x", "answer": "b"}'), [":2", "question", "missing"]),
    "wrong type": (_lines(GOOD, b'{"question": "a?", "repeat": "two"}'), [":2", "repeat", "whole number"]),
    "unknown encoding": (b'{"question": "\xff\xfe\xfa"}\n', ["UTF-8"]),
    "empty": (b"", ["empty"]),
    "truncated gzip": (gzip.compress(_lines(GOOD) * 500, mtime=0)[:-40], ["gzip"]),
    "one id twice": (
        _lines(b'{"question_id": "x", "question": "a?"}', b'{"question_id": "x", "question": "b?"}'),
        [":2", "question_id", "line 1"],
    ),
    "an object for text": (
        _lines(GOOD, b'{"question": "a?", "answer": {"b": 1}}'),
        [":2", "answer", "accepted: text"],
    ),
    "bad rank": (
        _lines(GOOD, b'{"question": "a?", "used": [{"rank": 0}]}'),
        [":2", "used[0].rank", "1 or more"],
    ),
    "empty question": (_lines(GOOD, b'{"question": "  "}'), [":2", "question", "empty"]),
    "no question anywhere": (_lines(b'{"a": 1}', b'{"a": 2}'), ["question"]),
}


@pytest.mark.parametrize("name", CASES)
def test_every_bad_file_ends_with_2_and_says_where(capsys: Capture, tmp_path: Path, name: str) -> None:
    content, parts = CASES[name]
    file = tmp_path / "bad.jsonl"
    file.write_bytes(content)
    answer = run(capsys, tmp_path / "ws", "import", str(file), "--json")
    assert answer.code == 2
    assert "bad.jsonl" in answer.err
    for part in parts:
        assert part in answer.err, answer.err
    assert run(capsys, tmp_path / "ws", "runs", "--json").json == []
    assert [path.name for path in (tmp_path / "ws" / "runs").iterdir()] == [], "no leftover"


@pytest.mark.parametrize(
    ("make", "part"),
    [(lambda path: path.mkdir(), "folder"), (lambda path: None, "bad.jsonl")],
    ids=["a directory", "no such file"],
)
def test_what_is_no_file(capsys: Capture, tmp_path: Path, make: Callable[[Path], None], part: str) -> None:
    path = tmp_path / "bad.jsonl"
    make(path)
    answer = run(capsys, tmp_path / "ws", "import", str(path))
    assert answer.code == 2
    assert part in answer.err
    assert "Traceback" not in answer.err


def test_a_line_beyond_the_limit_is_refused_without_reading_it_whole(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    with path.open("wb") as file:
        file.write(GOOD + b'\n{"question": "')
        for _ in range(66):
            file.write(b"a" * (1 << 20))
        file.write(b'"}\n')
    answer = run(capsys, tmp_path / "ws", "import", str(path))
    assert answer.code == 2
    assert "long.jsonl:2" in answer.err
    assert len(answer.err) < 5000


def test_twenty_problems_are_shown_and_the_rest_counted(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_bytes(_lines(GOOD, *[b'{"question": 1}' for _ in range(30)]))
    answer = run(capsys, tmp_path / "ws", "import", str(path))
    assert answer.err.count("many.jsonl:") == 20
    assert "and 10 more problems" in answer.err


def test_a_bad_file_does_not_keep_a_good_one_out(capsys: Capture, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_bytes(_lines(GOOD))
    bad.write_bytes(b"{oops\n")
    answer = run(capsys, tmp_path / "ws", "import", str(bad), str(good), "--json")
    assert answer.code == 2
    assert [entry["name"] for entry in answer.json["runs"]] == ["good"]
    assert len(answer.json["errors"]) == 1


def test_a_file_of_several_runs_is_loaded_whole_or_not_at_all(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "versions.csv"
    rows = ["one,a?,0.5", "one,b?,0.5", "two,a?,0.5", "two,b?,good"]
    path.write_text("\n".join(["pipeline_name,query,faithfulness", *rows]), encoding="utf-8")
    answer = run(capsys, tmp_path / "ws", "import", str(path), "--json")
    assert answer.code == 2
    assert "versions.csv:5: " in answer.err
    assert run(capsys, tmp_path / "ws", "runs", "--json").json == []
    path.write_text(
        "\n".join(["pipeline_name,query,faithfulness", *rows[:3], "two,b?,0.5"]), encoding="utf-8"
    )
    loaded = run(capsys, tmp_path / "ws", "import", str(path), "--json").json["runs"]
    assert [entry["name"] for entry in loaded] == ["one", "two"]


def test_a_byte_order_mark_and_a_failed_score_are_no_problem(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "bom.jsonl"
    lines = _lines(
        b'{"question": "a?", "scores": {"faithfulness": NaN}}',
        b'{"question": "b?", "scores": {"faithfulness": 1}}',
    )
    path.write_bytes(b"\xef\xbb\xbf" + lines)
    assert run(capsys, tmp_path / "ws", "import", str(path)).code == 0
    metric = run(capsys, tmp_path / "ws", "metrics", "bom", "--json").json["metrics"]["faithfulness"]
    assert (metric["mean"], metric["n_scored"], metric["n_applicable"], metric["n_failed"]) == (1.0, 1, 2, 1)
    assert (metric["worst"], metric["best"]) == (0.5, 1.0)
