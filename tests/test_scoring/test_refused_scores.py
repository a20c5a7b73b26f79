"""Imported scores on answers that only their words make refusals: left out, and said."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import run
from places import FIXTURES

from ragtriage.data import api
from ragtriage.data.diagnosis.run_checks import check_run, refused_scores
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Workspace

REFUSAL = "I cannot answer this question based on the given context."


def _records(refused: bool | None) -> list[dict[str, object]]:
    """Four answers of which the tool scored one, which reads as a refusal, 0 and the others 0.8."""
    records: list[dict[str, object]] = []
    for at in range(4):
        answer, score = (REFUSAL, 0.0) if at == 0 else (f"It is the {at}th.", 0.8)
        record = {"question_id": f"q{at}", "question": f"Which {at}?", "answer": answer}
        records.append({**record, "refused": refused, "scores": {"faithfulness": score}})
    return records


def test_a_mean_that_differs_from_the_tools_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = FIXTURES / "exports/trulens/records_v2.16.0.jsonl"  # its leaderboard: faithfulness 0.845242 of 12
    answer = run(capsys, tmp_path, "import", str(file), "--explain")
    assert answer.code == 0
    said = "1 answer looks like a refusal, so its imported scores are left out"
    assert said in " ".join(answer.out.split())
    store = RunStore(Workspace(tmp_path))
    (stored,) = store.runs()
    (finding,) = refused_scores(store.scored(stored))
    assert "faithfulness 0.922 of 11, with it 0.845 of 12" in finding.message
    assert said in " ".join(run(capsys, tmp_path, "check", stored.run_id).out.split())


def test_the_means_are_on_the_scale_of_the_metric(tmp_path: Path) -> None:
    rows = [
        {**record, "scores": {"faithfulness": 1 if at == 0 else 5}}
        for at, record in enumerate(_records(None))
    ]
    api.add_run(rows, "toy", workspace=str(tmp_path), config={"score_scales": {"faithfulness": [1, 5]}})
    store = RunStore(Workspace(tmp_path))
    (finding,) = refused_scores(store.scored(store.find("toy")))
    assert "faithfulness 1.000 of 3, with it 0.750 of 4" in finding.message


@pytest.mark.parametrize(("refused", "fires"), [(None, True), (False, False), (True, False)])
def test_only_a_refusal_that_nobody_recorded_is_said(
    tmp_path: Path, refused: bool | None, fires: bool
) -> None:
    api.add_run(_records(refused), "toy", workspace=str(tmp_path))
    store = RunStore(Workspace(tmp_path))
    findings = {finding.rule: finding for finding in check_run(store.scored(store.find("toy")))}
    assert ("refused_scores" in findings) == fires
    if fires:
        finding = findings["refused_scores"]
        assert (finding.severity, finding.samples, finding.metrics) == ("note", ("q0~0",), ("faithfulness",))
        assert "faithfulness 0.800 of 3, with it 0.600 of 4" in finding.message
