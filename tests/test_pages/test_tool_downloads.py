"""The dashboard offers the scores of cases to the tools whose ids they have, and to no other."""

from __future__ import annotations

import json

import numpy as np
import pytest
from exported_runs import IDS, traced_run
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.shell.components import _content
from ragtriage.data.api import add_run, diagnosis_of
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings
from ragtriage.data.exports.tools import tools_of
from ragtriage.data.scoring.run_store import RunStore


def _page(root: str, run_id: str, rows: list[int]) -> None:
    import numpy as np

    from ragtriage.dashboard.shell.components import tool_downloads
    from ragtriage.data.api import diagnosis_of, open_store
    from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings

    store = open_store(root)
    diagnosis = diagnosis_of(store, store.find(run_id), DiagnosisSettings())
    tool_downloads(diagnosis, store.ledger, np.array(rows, dtype=np.int64), "export")


@pytest.mark.parametrize(
    ("rows", "titles"),
    [
        ([0, 1, 2], ["Langfuse", "Phoenix", "MLflow", "LangSmith"]),
        ([5], []),  # the one that was never traced
        ([], []),
    ],
)
def test_tools_whose_ids_the_cases_have_are_offered(
    workspace: RunStore, rows: list[int], titles: list[str]
) -> None:
    root, run_id = str(workspace.workspace.root), traced_run(workspace)
    app = AppTest.from_function(_page, args=(root, run_id, rows), default_timeout=60).run()
    assert not app.exception
    labels = [button.proto.label for button in app.get("download_button")]
    assert labels == [f"Scores and labels for {title}" for title in titles]
    assert [caption.value for caption in app.caption] == [
        "`ragtriage export RUN --to langfuse` prints the lines that send such a file." for _ in titles[:1]
    ]


def test_a_download_holds_the_cases_on_the_list_in_its_order(workspace: RunStore) -> None:
    run_id = traced_run(workspace)
    diagnosis = diagnosis_of(workspace, workspace.find(run_id), DiagnosisSettings())
    content = _content("langfuse", diagnosis, workspace.ledger, np.array([2, 0]))
    bodies = [json.loads(line) for line in content.splitlines()]
    assert list(dict.fromkeys(body["traceId"] for body in bodies)) == [IDS[2]["trace_id"], IDS[0]["trace_id"]]
    assert {body["metadata"]["source"] for body in bodies} == {"computed", "human"}


def test_a_run_from_a_table_is_offered_to_no_tool(workspace: RunStore) -> None:
    run = add_run(
        [{"question": "q?", "scores": {"tone": 1}}], "table", workspace=str(workspace.workspace.root)
    )
    assert tools_of(workspace.scored(run), np.arange(1)) == []
