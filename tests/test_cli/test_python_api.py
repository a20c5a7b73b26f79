"""`import ragtriage`: the numbers of the command line, also beside the user's packages of the same names."""

from __future__ import annotations

import doctest
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import run as command
from places import DOCS, REPOSITORY

import ragtriage
from ragtriage import actions, functions
from ragtriage.data.scoring.run_store import RunStore

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def root(demo: RunStore) -> Path:
    return demo.workspace.root


@pytest.fixture
def run_ids(demo: RunStore) -> list[str]:
    return [run.run_id for run in demo.runs("iris") if run.n == 30]


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Turn a frame back into JSON values."""
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in rows]


def test_the_functions_return_the_numbers_of_the_command_line(
    capsys: Capture, root: Path, run_ids: list[str]
) -> None:
    base, other = run_ids[:2]
    listed = command(capsys, root, "runs", "--json").json
    frame = ragtriage.runs(root)
    assert frame["run_id"].tolist() == [entry["run_id"] for entry in listed]
    assert frame["n"].tolist() == [entry["n"] for entry in listed]

    shown = command(capsys, root, "metrics", other, "--json", "--per-sample").json
    metrics = ragtriage.summarize(other, workspace=root)
    assert list(metrics.index) == list(shown["metrics"])
    for column in ("mean", "low", "high", "n_scored", "n_applicable", "source", "band"):
        expected = {name: entry[column] for name, entry in shown["metrics"].items()}
        assert metrics[column].astype(object).where(metrics[column].notna(), None).to_dict() == expected

    scores = ragtriage.scores(other, root)
    assert len(scores) == 30
    by_question = scores.drop(columns="repeat").groupby("question_id").mean()
    for question, values in shown["samples"].items():
        for metric, value in values.items():
            expected_value = np.nan if value is None else pytest.approx(value)
            actual = by_question.loc[question, metric]
            assert actual == expected_value or (np.isnan(actual) and value is None)

    diagnosed = command(capsys, root, "diagnose", other, "--faithfulness", "0.7", "--json").json
    diagnosis = ragtriage.diagnose(other, faithfulness=0.7, workspace=root)
    assert (diagnosis.bad, diagnosis.patterns, diagnosis.stages) == (
        diagnosed["bad"],
        diagnosed["patterns"],
        diagnosed["stages"],
    )
    assert diagnosis.pass_rate.mean == diagnosed["pass_rate"]["mean"]
    assert diagnosis.fix_first["key"].tolist() == [entry["key"] for entry in diagnosed["fix_first"]]

    compared = command(capsys, root, "compare", base, other, "--json").json["comparisons"][0]
    comparison = ragtriage.compare(base, other, workspace=root)
    assert comparison.n_shared == compared["n_shared"]
    assert _records(comparison.metrics) == list(compared["metrics"].values())

    gated = command(capsys, root, "gate", other, "--baseline", base, "--json").json
    report = ragtriage.gate(other, base, workspace=root)
    assert (report.verdict, report.exit_code, report.baseline_id) == (gated["verdict"], 1, base)
    assert report.gates["sentence"].tolist() == [entry["sentence"] for entry in gated["gates"]]
    assert _records(report.newly_failing) == gated["newly_failing"]
    assert report.blocked
    assert str(report).startswith("do not ship: ")


def test_samples_are_those_that_were_added(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "question_id": ["a", "b", "c"],
            "question": ["A?", "B?", "C?"],
            "answer": ["1", None, "3"],
            "retrieved": [[{"id": "x", "text": "X"}], [], [{"id": "y", "text": "Y"}]],
        }
    )
    run = ragtriage.add_run(frame, "frame", config={"top_k": np.int64(3).item()}, workspace=tmp_path)
    samples = ragtriage.samples(run, tmp_path)
    assert samples["question"].tolist() == ["A?", "B?", "C?"]
    assert samples.loc[0, "retrieved"] == [{"id": "x", "text": "X"}]
    assert list(ragtriage.scores(run, tmp_path)["question_id"]) == ["a", "b", "c"]
    assert ragtriage.add_run(frame, "frame", config={"top_k": 3}, workspace=tmp_path) == run


def test_errors_say_what_would_be_accepted(tmp_path: Path, root: Path) -> None:
    with pytest.raises(ragtriage.RagtriageError, match=r"no run 'nobody'.*accepted"):
        ragtriage.summarize("nobody", workspace=root)
    with pytest.raises(
        ragtriage.RagtriageError, match="accepted: a pandas DataFrame or a list with at least one row"
    ):
        ragtriage.add_run([], "empty", workspace=tmp_path)
    assert ragtriage.runs(tmp_path / "none").empty
    assert not (tmp_path / "none").exists()


def test_the_import_is_light(tmp_path: Path) -> None:
    probe = (
        "import json, sys, ragtriage; ragtriage.gate, ragtriage.label, ragtriage.Run; "
        "print(json.dumps(sorted(sys.modules)))"
    )
    environment = {"PYTHONPATH": str(REPOSITORY), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", probe],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(json.loads(done.stdout))
    assert "ragtriage.actions" in loaded
    assert not {"pandas", "numpy", "plotly", "duckdb", "ragtriage.data", "ragtriage.dashboard"} & loaded


def test_the_examples_in_docstrings_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(tmp_path))
    results = [doctest.testmod(module) for module in (ragtriage, functions, actions)]
    assert [result.failed for result in results] == [0, 0, 0]
    assert min(result.attempted for result in results) >= 2


def test_every_public_name_is_documented() -> None:
    assert sorted(ragtriage.__all__) == ragtriage.__all__
    text = (DOCS / "python.md").read_text(encoding="utf-8")
    for name in ragtriage.__all__:
        assert getattr(ragtriage, name).__doc__
        assert name in text
    assert (REPOSITORY / "ragtriage" / "py.typed").exists()
