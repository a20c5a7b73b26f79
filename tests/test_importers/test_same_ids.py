"""Equal ids with different questions are never averaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from command_line import run

from ragtriage.data.scoring.run_store import RunStore

ROWS = ("1,What is a?,x,1", "2,What is b?,y,0", "1,Who is c?,z,0", "1,what is  a?,v,0")


def test_two_batches_in_one_table_are_told_apart(workspace: RunStore, capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "batches.csv"
    path.write_text("\n".join(["id,question,answer,faithfulness", *ROWS]), encoding="utf-8")
    answer = run(capsys, workspace.workspace.root, "import", str(path), "--map", "question_id=id")
    assert answer.code == 0
    assert "another question under the same id" in answer.out
    scored = workspace.scored(workspace.find("batches"))
    assert scored.question_ids.tolist() == ["1", "1 (2)", "2"]
    assert scored.repeats.tolist() == [0, 0, 0, 1]  # the last row asks the first question again


def test_the_native_format_refuses_them(workspace: RunStore, capsys: Any, tmp_path: Path) -> None:
    rows = [
        {"question_id": "1", "question": text, "answer": "x", "repeat": at} for at, text in enumerate("ab")
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    answer = run(capsys, workspace.workspace.root, "import", str(path))
    assert answer.code == 2
    assert "question_id '1' has another question before" in answer.err
    assert not workspace.runs()
