"""Live tests that are kept: the same conclusion as of the files, immutable, renamed, deleted, refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import run
from live_test_rows import write_rows
from places import FIXTURES

from ragtriage.data.ab.ab_test import TestOptions, live_test
from ragtriage.data.ab.reading import read_test
from ragtriage.data.ab.stored_tests import (
    StoredTest,
    delete_test,
    find_test,
    keep_test,
    rename_test,
    stored_tests,
)
from ragtriage.data.errors import DataError, WorkspaceError
from ragtriage.data.store.access import READ_ONLY
from ragtriage.data.store.workspace import Workspace

GUARDED = TestOptions(guardrails={"back_within_7_days": 0.03}, worth=0.05, shares=(1.0, 1.0))


@pytest.fixture
def rows_file(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "rows.csv")


@pytest.fixture
def kept(tmp_path: Path, rows_file: Path) -> StoredTest:
    workspace = Workspace(tmp_path / "workspace").create()
    return keep_test(workspace, read_test([rows_file]), GUARDED, "V2, live", rows_file.name, "users drawn")


@pytest.mark.parametrize(
    ("paths", "columns"),
    [
        ("rows.csv", {}),
        (FIXTURES / "open_bandit_ab", {}),
        (FIXTURES / "carpentries_feedback", {"by": "survey", "base": "2019"}),
    ],
)
def test_a_kept_test_concludes_what_its_files_do(
    tmp_path: Path, rows_file: Path, paths: str | Path, columns: dict[str, str]
) -> None:
    rows = read_test([rows_file if paths == "rows.csv" else paths], **columns)
    workspace = Workspace(tmp_path / "workspace").create()
    kept = keep_test(workspace, rows, TestOptions(), "a test", "rows")
    again = find_test(workspace, "a test")
    assert live_test(again.rows(), again.options).to_dict() == live_test(rows, TestOptions()).to_dict()
    assert kept.test_id == again.test_id


def test_no_id_of_a_person_and_no_question_comes_into_the_workspace(kept: StoredTest) -> None:
    rows = kept.rows()
    assert rows.user_column == "user_id"
    assert "query" not in rows.cells
    assert "pre_response_time" in rows.cells
    content = b"".join(path.read_bytes() for path in kept.folder.iterdir())
    assert b"u599" not in content
    assert b"How many days" not in content


def test_a_cell_stays_what_it_is(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    cells = [1, 0, "1", 0.0] * 50 + [True, None, 1e300, [3], {"x": 1}, "don't know", "\u202e"]
    lines = [json.dumps({"arm": arm, "click": cell}) for arm in "ab" for cell in cells]
    file.write_text("\n".join(lines), encoding="utf-8")
    rows = read_test([file])
    first = live_test(rows, TestOptions()).to_dict()
    kept = keep_test(Workspace(tmp_path / "w").create(), rows, TestOptions(), "cells", "rows.jsonl")
    assert live_test(kept.rows(), TestOptions()).to_dict() == first
    assert (first["metric"], first["arms"][0]["metrics"][0]["other_cells"]) == ("click", 12)


def test_the_same_test_is_kept_once_and_another_option_is_another_test(
    kept: StoredTest, rows_file: Path
) -> None:
    rows = read_test([rows_file])
    same = keep_test(kept.workspace, rows, GUARDED, "another name", rows_file.name, "users drawn")
    assert (same.test_id, same.name) == (kept.test_id, "V2, live")
    other = keep_test(kept.workspace, rows, TestOptions(), "without", rows_file.name)
    assert other.test_id != kept.test_id
    assert [test.name for test in stored_tests(kept.workspace)[0]] == ["V2, live", "without"]


def test_a_test_is_renamed_and_deleted(kept: StoredTest) -> None:
    rename_test(kept, " chunks,  live ")
    again = find_test(kept.workspace, "chunks, live")
    assert (again.test_id, again.note, again.options) == (kept.test_id, "users drawn", GUARDED)
    for name in ("", "x" * 121, "\ud800"):
        with pytest.raises(DataError, match="accepted: text of at most 120"):
            rename_test(kept, name)
    delete_test(again)
    assert stored_tests(kept.workspace) == ([], [])
    with pytest.raises(WorkspaceError, match="accepted: a test kept by"):
        find_test(kept.workspace, "chunks, live")


def test_what_was_damaged_is_refused_with_a_sentence(kept: StoredTest) -> None:
    facts = (kept.folder / "test.json").read_text("utf-8")
    (kept.folder / "test.json").write_text(facts.replace('"worth": 0.05', '"worth": 0.01'), "utf-8")
    tests, problems = stored_tests(kept.workspace)
    assert tests == []
    assert len(problems) == 1
    assert "test.json: was changed; accepted: the test as it was kept" in problems[0]
    for content in ("{", "[]", '{"name": 1}', "[" * 100_000):
        (kept.folder / "test.json").write_text(content, "utf-8")
        assert "cannot be read" in stored_tests(kept.workspace)[1][0]
    (kept.folder / "test.json").write_text(facts, "utf-8")
    (kept.folder / "rows.parquet").write_bytes(b"PAR1")
    with pytest.raises(WorkspaceError, match=r"rows.parquet: was changed; accepted"):
        find_test(kept.workspace, "V2, live").rows()
    (kept.folder / "rows.parquet").unlink()
    with pytest.raises(WorkspaceError, match=r"rows.parquet: cannot be read"):
        find_test(kept.workspace, "V2, live").rows()


def test_who_only_reads_changes_nothing(
    kept: StoredTest, rows_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(READ_ONLY, "1")
    rows = read_test([rows_file])
    for change in (
        lambda: keep_test(kept.workspace, rows, TestOptions(), "new", "rows"),
        lambda: rename_test(kept, "new"),
        lambda: delete_test(kept),
    ):
        with pytest.raises(WorkspaceError, match="only reads"):
            change()
    assert find_test(kept.workspace, "V2, live").rows().n == rows.n


def test_the_command_keeps_lists_and_opens_tests(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, rows_file: Path
) -> None:
    workspace = tmp_path / "workspace"
    assert "No live test is kept" in run(capsys, workspace, "ab").out
    saved = run(capsys, workspace, "ab", str(rows_file), "--worth", "0.1", "--save", "my test")
    assert saved.code == 0
    assert "Kept as 'my test'" in saved.err
    assert "V2 beats V1: task completed" in run(capsys, workspace, "ab").out
    listed = run(capsys, workspace, "ab", "--json").json
    assert [(test["name"], test["state"]) for test in listed] == [("my test", "better")]
    of_file = run(capsys, workspace, "ab", str(rows_file), "--worth", "0.1", "--json").json
    assert run(capsys, workspace, "ab", "my test", "--json").json == of_file
    nps = run(capsys, workspace, "ab", "my test", "--metric", "nps_score", "--json").json
    assert nps["metric"] == "nps_score"
    for words, message in (
        (("my test", "--by", "arm"), "--by with a kept test"),
        (("not there",), "does not exist"),
        ((str(rows_file), "--arm", "V1"), "no arm 'V1' beside the base V1; accepted: V2"),
        ((str(rows_file), "--save", "x", "--run", "V2"), "ARM=RUN"),
        ((str(rows_file), "--save", "x", "--run", "V2=none"), "no run 'none'"),
        ((str(rows_file), "--save", " "), "its name is empty"),
    ):
        answer = run(capsys, workspace, "ab", *words)
        assert answer.code == 2
        assert message in answer.err
