"""The list of runs while another process adds one."""

from __future__ import annotations

import pytest

from ragtriage.data.api import add_run, runs_answer
from ragtriage.data.scoring.run_store import RunStore


def test_a_run_that_has_no_display_name_yet_is_listed_by_its_own(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_run([{"question": "Who?", "answer": "Ann."}], "first", "shop", str(workspace.workspace.root))
    fresh = RunStore(workspace.workspace)
    monkeypatch.setattr(fresh, "names", dict)
    assert [entry["name"] for entry in runs_answer(fresh)] == ["first"]
