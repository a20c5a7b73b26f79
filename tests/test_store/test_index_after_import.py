"""What an import leaves in the index of runs: a page that lists them writes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.load import import_parsed_runs
from ragtriage.data.read_costs import counting_costs
from ragtriage.data.scoring.run_cache import RunIndex
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store import stored_file
from ragtriage.data.store import workspace as workspace_module
from ragtriage.data.store.parsed_run import ParsedRun

RUNS = 5


@pytest.fixture
def imported(workspace: RunStore) -> RunStore:
    """Five runs of one import, and a process that has not looked at them."""
    runs = [
        ParsedRun(
            f"v{at}", [(1, {"question": "a?", "scores": {"faithfulness": at / 9}})], "f", "native", True
        )
        for at in range(RUNS)
    ]
    import_parsed_runs(workspace, runs, "p", ValidationErrors("f"))
    return RunStore(workspace.workspace)


def test_a_first_look_at_all_runs_writes_nothing(imported: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the index was written")

    monkeypatch.setattr(RunIndex, "write_entries", refuse)
    with counting_costs() as costs:
        means = [imported.summary(run)["faithfulness"].mean for run in imported.runs()]
    assert means == [pytest.approx(at / 9) for at in range(RUNS)]
    assert costs.queries == 2, "the facts of all runs, and their means"


def test_an_import_commits_to_the_index_once(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    write = RunIndex.write_entries

    def counted(self: RunIndex, entries: Any) -> None:
        written.append(len(entries))
        write(self, entries)

    monkeypatch.setattr(RunIndex, "write_entries", counted)
    runs = [ParsedRun(f"v{at}", [(1, {"question": "a?"})], "f", "native", True) for at in range(RUNS)]
    import_parsed_runs(workspace, runs, "p", ValidationErrors("f"))
    assert written == [2 * RUNS]


def test_scores_made_again_are_entered_too(imported: RunStore) -> None:
    run = imported.runs()[0]
    imported.workspace.discard(imported.workspace.scores_folder / run.run_id)
    imported.workspace.index_path.unlink()
    again = RunStore(imported.workspace)
    again.scored(run)
    assert again.index.read(run.run_id, again.options(run).folder)["faithfulness"]["n_scored"] == 1


def test_only_what_cannot_be_made_again_is_waited_for(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores have checksums and are derived: no disk is waited for on their account."""
    waited: list[str] = []
    for module in (stored_file, workspace_module):
        monkeypatch.setattr(module, "sync", lambda path: waited.append(path.as_posix()))
    run = ParsedRun("v", [(1, {"question": "a?"})], "f", "native", True)
    import_parsed_runs(workspace, [run], "p", ValidationErrors("f"))
    assert len(waited) == 8
    assert not [path for path in waited if "/scores" in path]
