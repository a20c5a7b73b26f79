"""The arrays of runs in memory: an index beside the scores, few open files, and room that is kept to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ragtriage.data.api import add_run
from ragtriage.data.diagnosis.context import context_choice
from ragtriage.data.read_costs import counting_costs
from ragtriage.data.scoring import run_cache
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import INDEX_FILE, ScoredRun
from ragtriage.data.scoring.stored_scores import checksums, is_intact
from ragtriage.data.store.workspace import Workspace


def _runs(root: Path, names: str, n: int = 30) -> None:
    for at, name in enumerate(names):
        records = [
            {
                "question_id": f"q{place:02}",
                "question": f"Frage {place}: Größe?",
                "answer": "a",
                "tags": {"part": str(place % 3)},
                "scores": {"faithfulness": (place + at) % 7 / 7, "helpfulness": place / n},
            }
            for place in range(n)
        ]
        add_run(records, name, "p", str(root))


def _open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_the_index_beside_the_scores_is_that_of_the_samples(demo: RunStore) -> None:
    for run in [run for run in demo.runs() if run.n][:12]:
        scored = demo.scored(run)
        stored = ScoredRun(demo.workspace, run, scored.scores_path)
        assert (scored.scores_path / INDEX_FILE).exists()
        from_samples = ScoredRun(demo.workspace, run, Path("no scores here"))
        columns = sorted(stored.index.column_names)
        assert columns == sorted(from_samples.index.column_names)
        for name in columns:
            assert stored.index[name].to_pylist() == from_samples.index[name].to_pylist(), (run.name, name)
        assert stored.question_ids.tolist() == sorted(set(stored.index["question_id"].to_pylist()))


def test_the_index_counts_among_the_files_that_must_be_intact(workspace: RunStore) -> None:
    _runs(workspace.workspace.root, "a")
    folder = workspace.scored(workspace.find("a")).scores_path
    assert INDEX_FILE in checksums(folder)
    (folder / INDEX_FILE).write_bytes(b"cut")
    assert not is_intact(folder)
    opened = workspace.scored(workspace.find("a"))
    opened.release()
    assert opened.index.num_rows == 30, "a process that has the run open reads the samples"
    again = RunStore(Workspace(workspace.workspace.root))
    assert again.scored(again.find("a")).index.num_rows == 30


def test_questions_are_sorted_as_text_is(workspace: RunStore) -> None:
    ids = ["é", "z", "Z", "a10", "a2", "\U0001f600", "￰", "ä"]
    records = [{"question_id": each, "question": "?", "answer": "a"} for each in ids]
    run = add_run(records, "odd", "p", str(workspace.workspace.root))
    scored = workspace.scored(run)
    assert scored.question_ids.tolist() == sorted(ids)
    assert scored.question_ids[scored.question].tolist() == scored.index["question_id"].to_pylist()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files as Linux lists them")
def test_runs_in_memory_keep_no_file_open(workspace: RunStore) -> None:
    _runs(workspace.workspace.root, "abcdefghij", 3)
    for run in workspace.runs():
        workspace.scored(run).values("faithfulness")
    before = _open_files()
    fresh = RunStore(Workspace(workspace.workspace.root))
    for run in fresh.runs():
        scored = fresh.scored(run)
        assert np.isfinite(scored.values("faithfulness")).all()
        assert scored.failures("faithfulness", scored.sources["faithfulness"][0]) == {}
    assert _open_files() - before < 4


def test_what_no_setting_changes_survives_a_release(workspace: RunStore) -> None:
    _runs(workspace.workspace.root, "a")
    scored = workspace.scored(workspace.find("a"))
    assert scored.has_values("faithfulness")
    assert not scored.has_values("correctness")
    choice = context_choice(scored)
    scored.release()
    with counting_costs() as costs:
        assert scored.has_values("faithfulness")
        assert context_choice(scored) is choice
    assert costs.queries == 0


def test_a_metric_of_one_source_is_read_and_held_once(workspace: RunStore) -> None:
    _runs(workspace.workspace.root, "a")
    scored = workspace.scored(workspace.find("a"))
    (source,) = scored.sources["faithfulness"]
    column = scored.column("faithfulness")
    assert column is not None
    assert column is scored.column("faithfulness", source)
    assert column.nbytes == 30 * 9 + 1, "a value and a status a sample, and one source"


def test_arrays_beyond_the_room_are_released_and_read_again(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _runs(workspace.workspace.root, "abcd")
    runs = workspace.runs()
    values = {run.run_id: workspace.scored(run).values("faithfulness").copy() for run in runs}
    size = workspace.scored(runs[0]).nbytes
    assert size > 0
    monkeypatch.setattr(run_cache, "ROOM", 2 * size)
    fresh = RunStore(Workspace(workspace.workspace.root))
    opened = [fresh.scored(run) for run in runs]
    for run, scored in zip(runs, opened, strict=True):
        scored.values("faithfulness")
        assert len(scored.question_ids) == 30
        assert fresh.scored(run) is scored
        assert sum(each.nbytes for each in opened) <= 2 * size
    assert opened[0].nbytes == 0
    for run, scored in zip(runs, opened, strict=True):
        assert fresh.scored(run) is scored, "what refers to a run keeps on referring to the one that is open"
        assert scored.values("faithfulness").tolist() == values[run.run_id].tolist()
        assert [group.name for group in scored.slices] == ["part"]
