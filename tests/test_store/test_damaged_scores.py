"""Scores, summaries and indexes that are damaged: noticed, and computed again from the runs."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from command_line import run

from ragtriage.data.api import add_run
from ragtriage.data.scoring.run_cache import RunIndex
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run, Workspace


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _zeroed(path: Path) -> None:
    content = bytearray(path.read_bytes())
    middle = len(content) // 3
    content[middle : middle + 400] = bytes(min(400, len(content) - middle))
    path.write_bytes(content)


def _foreign(path: Path) -> None:
    path.write_text('{"another": ["thing"]}', encoding="utf-8")


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "cut": _cut,
    "zeroed": _zeroed,
    "foreign": _foreign,
    "gone": Path.unlink,
}


@pytest.fixture
def scored(workspace: RunStore) -> Run:
    records = [
        {
            "question_id": f"q{i}",
            "question": f"q{i}?",
            "answer": "An answer [1].",
            "retrieved": [{"id": f"d{i % 7}", "text": f"text {i}"}, {"id": "e", "text": "other"}],
            "relevant": [f"d{i % 5}"],
            "scores": {"faithfulness": i / 50},
        }
        for i in range(50)
    ]
    run = add_run(records, "one", workspace=str(workspace.workspace.root))
    workspace.summary(run)
    return run


def _seen(store: RunStore, run: Run) -> Any:
    """Read everything that is stored with the scores."""
    scored = store.scored(run)
    columns = {metric: scored.values(metric).round(9).tolist() for metric in scored.metrics}
    features = {name: values.tolist() for name, values in scored.stage_features.items()}
    tables = [table.to_pylist() for name in ("use", "ranked") if (table := scored.auxiliary_table(name))]
    summary = {name: mean.to_dict() for name, mean in store.summary(run).items()}
    return json.loads(json.dumps([columns, features, tables, summary, scored.missing]))


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize(
    "name", ["scores.parquet", "evidence.parquet", "ranked.parquet", "use.parquet", "summary.json"]
)
def test_damaged_scores_are_computed_again(
    workspace: RunStore, scored: Run, name: str, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = _seen(workspace, scored)
    (folder,) = (workspace.workspace.scores_folder / scored.run_id).iterdir()
    assert (folder / name).is_file()
    DAMAGES[damage](folder / name)
    workspace.workspace.index_path.unlink()
    assert json.dumps(_seen(RunStore(workspace.workspace), scored)) == json.dumps(before)
    DAMAGES[damage](folder / name)
    assert run(capsys, workspace.workspace.root, "diagnose", scored.run_id).code == 0


def test_scores_of_an_earlier_version_have_no_checksums(workspace: RunStore, scored: Run) -> None:
    before = _seen(workspace, scored)
    (folder,) = (workspace.workspace.scores_folder / scored.run_id).iterdir()
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    del summary["files"]
    (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    written = (folder / "scores.parquet").stat().st_mtime_ns
    assert json.dumps(_seen(RunStore(workspace.workspace), scored)) == json.dumps(before)
    assert (folder / "scores.parquet").stat().st_mtime_ns == written, "they are used as they are"
    _cut(folder / "evidence.parquet")
    assert json.dumps(_seen(RunStore(workspace.workspace), scored)) == json.dumps(before)


def test_scores_deleted_under_an_open_dashboard_are_computed_again(workspace: RunStore, scored: Run) -> None:
    before = workspace.summary(scored)["faithfulness"].mean
    shutil.rmtree(workspace.workspace.scores_folder)
    assert workspace.scored(scored).values("faithfulness").mean() == pytest.approx(before)
    shutil.rmtree(workspace.workspace.scores_folder / scored.run_id)
    (workspace.workspace.scores_folder / scored.run_id).write_text("a stray file", encoding="utf-8")
    assert workspace.scored(scored).values("faithfulness").mean() == pytest.approx(before)


def _another(store: RunStore, run: Run) -> Run:
    """Add a run with other scores."""
    records = [
        {"question": f"{i}?", "answer": "Another.", "scores": {"faithfulness": 0.9}} for i in range(run.n)
    ]
    other = store.find(add_run(records, "two", workspace=str(store.workspace.root)).run_id)
    store.summary(other)
    return other


def test_scores_of_another_run_are_not_believed(workspace: RunStore, scored: Run) -> None:
    before = _seen(workspace, scored)
    other = _another(workspace, scored)
    folder = workspace.workspace.scores_folder
    shutil.rmtree(folder / scored.run_id)
    shutil.copytree(folder / other.run_id, folder / scored.run_id)
    workspace.workspace.index_path.unlink()
    fresh = RunStore(workspace.workspace)
    assert fresh.summary(scored)["faithfulness"].mean == pytest.approx(0.49)
    assert json.dumps(_seen(fresh, scored)) == json.dumps(before)


def test_samples_of_another_run_are_named(
    workspace: RunStore, scored: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    other = _another(workspace, scored)
    path = workspace.workspace.samples_path(scored.run_id)
    shutil.copy(workspace.workspace.samples_path(other.run_id), path)
    answer = run(capsys, workspace.workspace.root, "diagnose", scored.run_id)
    assert answer.code == 2
    assert answer.err.startswith(f"error: {path}: holds the samples of another run; accepted: ")


def test_an_emptied_entry_of_the_index_is_read_again(workspace: RunStore, scored: Run) -> None:
    before = workspace.summary(scored)["faithfulness"]
    with closing(sqlite3.connect(workspace.workspace.index_path, isolation_level=None)) as connection:
        connection.execute("UPDATE entries SET body = '{}' WHERE kind != 'run'")
        assert connection.execute("SELECT changes()").fetchone()[0]
    assert RunStore(workspace.workspace).summary(scored)["faithfulness"] == before


def _other_table(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE entries (something TEXT)")


def _bad_entries(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("""UPDATE entries SET body = '{"half": ' WHERE rowid % 2""")
        connection.execute(
            """UPDATE entries SET body = '{"faithfulness": {"mean": 1}}' WHERE rowid % 2 = 0"""
        )


def _bad_schema(path: Path) -> None:
    body = path.read_bytes()
    path.write_bytes(body.replace(b"CREATE TABLE entries", b"CRE\xdfTE TABLE entries"))


@pytest.mark.parametrize("damage", [*DAMAGES.values(), _other_table, _bad_entries, _bad_schema])
def test_a_damaged_index_is_made_anew(
    workspace: RunStore, scored: Run, damage: Callable[[Path], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    for i in range(300):  # several pages of the database
        workspace.index.write(f"another {i}", "note", "x" * 500)
    before = workspace.summary(scored)["faithfulness"]
    damage(workspace.workspace.index_path)
    fresh = RunStore(workspace.workspace)
    assert [run.run_id for run in fresh.runs()] == [scored.run_id]
    assert fresh.summary(scored)["faithfulness"] == before
    assert run(capsys, workspace.workspace.root, "metrics", scored.run_id).code == 0
    stored = RunIndex(Workspace(workspace.workspace.root))
    assert stored.read(scored.run_id, "run") is not None


def test_an_index_that_cannot_be_a_file_is_done_without(workspace: RunStore, scored: Run) -> None:
    workspace.workspace.index_path.unlink()
    workspace.workspace.index_path.mkdir()
    fresh = RunStore(workspace.workspace)
    assert [run.run_id for run in fresh.runs()] == [scored.run_id]
    assert fresh.summary(scored)["faithfulness"].mean == pytest.approx(0.49)


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_samples_are_named_and_the_run_can_be_deleted(
    workspace: RunStore, scored: Run, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    root, path = workspace.workspace.root, workspace.workspace.samples_path(scored.run_id)
    DAMAGES[damage](path)
    shutil.rmtree(workspace.workspace.scores_folder)
    for command in (("diagnose", scored.run_id), ("export", scored.run_id), ("metrics", scored.run_id)):
        answer = run(capsys, root, *command)
        assert answer.code == 2
        assert answer.err.startswith(
            f"error: {path}: is {'missing' if damage == 'gone' else 'damaged'}; accept"
        )
        assert answer.err.count("\n") == 1
    assert scored.run_id in run(capsys, root, "runs").out
    assert run(capsys, root, "delete", "--yes", scored.run_id).code == 0
