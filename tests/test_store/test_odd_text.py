"""Text that steers a line or breaks a parser: no traceback anywhere, and nothing is reordered."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import run
from places import APP, REPOSITORY
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.cli.terminal import plain
from ragtriage.dashboard.shell.selection import _mapping, _read
from ragtriage.dashboard.wording.escaping import chart_text, markdown_text, shorten
from ragtriage.data.cases.cohort import parse_rank
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Workspace
from ragtriage.data.text.printable import UNPRINTABLE
from ragtriage.metrics.schema.metric import whole_number

RLO, ISOLATE = "\u202e", "\u2066"
BRACKETS = "[" * 1900
NINES = "9" * 40
ODD = {
    "question_id": f"a{RLO}b",
    "question": f"What {RLO}is gnp.exe {ISOLATE}http://a.b/{BRACKETS}?",
    "answer": f"See [1], [²] and [{NINES}] {RLO}or http://a.b/{BRACKETS}",
    "retrieved": [{"id": f"d{RLO}", "text": f"text {BRACKETS}"}, {"id": "²", "text": "x"}],
    "relevant": [f"d{RLO}"],
    "tags": {f"kind{RLO}": f"odd{RLO}"},
    "scores": {
        f"tidy{RLO}ness": 0.5,
        "recall@²": 1,
        f"recall@{NINES}": 1,
        "recall@" + "9" * 5000: 1,
        "faithfulness": -1e300,
        "grade": 10**40,
    },
}


@pytest.fixture
def odd(workspace: RunStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Import a file of odd text and return the id of its run."""
    file = tmp_path / "odd.json"
    facts = {"name": f"run{RLO}name", "created_at": "0001-01-01T00:00:00"}
    samples = [{**ODD, "question_id": f"{n}{RLO}"} for n in range(4)]
    file.write_text(json.dumps({"run": facts, "samples": samples}), encoding="utf-8")
    imported = run(capsys, workspace.workspace.root, "import", "--project", f"p{RLO}", str(file))
    assert imported.code == 0, imported.err
    return workspace.runs()[0].run_id


def test_commands_show_odd_text_without_what_steers_the_line(
    workspace: RunStore, odd: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = workspace.workspace.root
    for words in (("runs",), ("show", odd), ("metrics", odd), ("diagnose", odd), ("check", odd)):
        for flags in ((), ("--json",)):
            answer = run(capsys, root, *words, *flags)
            assert answer.code == 0, (words, answer.err)
            assert not UNPRINTABLE.search(answer.out + answer.err), words
    listed = run(capsys, root, "runs", "--json").json
    assert listed[0]["name"] == f"run{RLO}name", "the value itself is unchanged"
    for ending in ("html", "pptx"):
        assert run(capsys, root, "report", odd, "-o", str(tmp_path / f"r.{ending}")).code == 0
    assert RLO not in (tmp_path / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["triage", "diagnosis", "cases", "trend", "retrieval", "runs"])
def test_pages_show_odd_text(
    workspace: RunStore, odd: str, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(workspace.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=120)
    app.query_params.update({"project": f"p{RLO}", "run": odd, "case": f"0{RLO}~{NINES}", "k": "²"})
    app.query_params["mapping"] = BRACKETS
    app.switch_page(f"{page}/{page}.py").run()
    assert not app.exception
    shown = [element.value for element in (*app.markdown, *app.caption, *app.title, *app.subheader)]
    assert shown
    assert not any(UNPRINTABLE.search(str(text)) for text in shown)


@pytest.mark.parametrize("created_at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_times_that_no_calendar_holds_are_named(
    workspace: RunStore, tmp_path: Path, created_at: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "r.json"
    content = {"run": {"name": "r", "created_at": created_at}, "samples": [{"question": "q?"}]}
    file.write_text(json.dumps(content), encoding="utf-8")
    answer = run(capsys, workspace.workspace.root, "import", str(file))
    assert answer.code == 2
    assert f"created_at: found {created_at!r}; accepted: a time as in" in answer.err


@pytest.mark.parametrize("text", ["²", "٣²", NINES, "9" * 5000, "", "-1", "1.0"])
def test_what_python_cannot_read_as_a_number_is_none(text: str) -> None:
    assert whole_number(text) is None
    assert _read("k", text, 5) is None
    with pytest.raises(ValueError, match="a rank of 1 or more"):
        parse_rank(text)
    assert whole_number("17") == 17


def test_what_reorders_a_line_is_marked_wherever_text_is_escaped() -> None:
    text = f"a{RLO}b{ISOLATE}c\ud800"
    assert markdown_text(text) == chart_text(text) == shorten(text, 20) == "a�b�c�"
    assert plain(f"{text}\u2028") == "a b c  "
    assert _mapping(BRACKETS) is None
    assert _mapping('{"a": ' + "9" * 5000 + "}") is None


def test_a_file_whose_name_is_no_text_is_named(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ragtriage.dashboard.cli", "--workspace", str(tmp_path), "import"]
    answer = subprocess.run(
        [*map(str.encode, command), b"\xff\xe2\x80\xae.csv"], cwd=REPOSITORY, capture_output=True, check=False
    )
    assert answer.returncode == 2
    assert b"does not exist; accepted: a path that exists" in answer.stderr
    assert b"\xe2\x80\xae" not in answer.stderr
    assert b"Traceback" not in answer.stderr


def test_half_of_a_surrogate_pair_in_a_name_is_stored_as_a_question_mark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text('{"question": "Which?", "answer": "That one."}\n', "utf-8")
    answer = run(capsys, tmp_path / "w", "import", str(file), "--name", "a\ud800b", "--project", "p\udfff")
    assert answer.code == 0
    (stored,) = RunStore(Workspace(tmp_path / "w")).runs()
    assert (stored.name, stored.project) == ("a?b", "p?")
