"""`import ragtriage`: the numbers of the command line, also beside the user's packages of the same names."""

from __future__ import annotations

import doctest
import json
import os
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
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.calls import shadowing_packages

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
    metrics = ragtriage.metrics(other, workspace=root)
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
    assert str(report).startswith("FAIL: ")


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
        ragtriage.metrics("nobody", workspace=root)
    with pytest.raises(ragtriage.RagtriageError, match="accepted: a pandas DataFrame or a list of dicts"):
        ragtriage.add_run([], "empty", workspace=tmp_path)
    assert ragtriage.runs(tmp_path / "none").empty
    assert not (tmp_path / "none").exists()


USER_PROGRAM = """
import sys
from pathlib import Path
import data, metrics
from ragtriage.dashboard import TITLE
import pandas as pd
import ragtriage
from ragtriage.calls import shadowing_packages

assert (data.MINE, metrics.MINE, TITLE) == (True, True, "mine")
assert set(shadowing_packages()) == {"data", "metrics", "dashboard"}
records = [
    {"question_id": f"q{n}", "question": f"{n}?", "answer": "a" if n else None,
     "scores": {"faithfulness": n / 10}, "retrieved": [{"id": "a", "text": "A"}], "relevant": [{"id": "a"}]}
    for n in range(10)
]
run = ragtriage.add_run(pd.DataFrame(records), "mine", config={"top_k": 5})
report = ragtriage.gate(run)
print(run.run_id, ragtriage.metrics(run).loc["faithfulness", "mean"], report.verdict, len(ragtriage.runs()))
print(ragtriage.samples(run).loc[3, "question"], ragtriage.scores(run)["faithfulness"].tolist()[9])
print(ragtriage.diagnose(run).bad, ragtriage.compare(run, run).n_shared)
try:
    ragtriage.gate("nobody")
except ragtriage.RagtriageError as error:
    print("no run 'nobody'" in str(error))
assert data is sys.modules["data"] and not hasattr(data, "api")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with packages of its own called data, metrics and dashboard, and a program."""
    for name, text in (
        ("data", "MINE = True\n"),
        ("metrics", "MINE = True\n"),
        ("dashboard", "TITLE = 'mine'\n"),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(text, encoding="utf-8")
    (tmp_path / "program.py").write_text(USER_PROGRAM, encoding="utf-8")
    return tmp_path


def _run_program(project: Path, python_path: list[Path]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, python_path))}
    environment["RAGTRIAGE_WORKSPACE"] = "workspace"
    return subprocess.run(
        [sys.executable, "program.py"], cwd=project, env=environment, capture_output=True, text=True
    )


@pytest.mark.parametrize("in_path", [False, True])  # beside the program, and in PYTHONPATH too
def test_it_works_beside_packages_of_the_same_names(project: Path, in_path: bool) -> None:
    done = _run_program(project, [project, REPOSITORY] if in_path else [REPOSITORY])
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[1:] == ["3? 0.9", "8 10", "True"]
    run_id, mean, verdict, n_runs = lines[0].split()
    assert (float(mean), verdict, n_runs) == (0.45, "FAIL", "1")
    records = [
        {
            "question_id": f"q{n}",
            "question": f"{n}?",
            "answer": "a" if n else None,
            "scores": {"faithfulness": n / 10},
            "retrieved": [{"id": "a", "text": "A"}],
            "relevant": [{"id": "a"}],
        }
        for n in range(10)
    ]
    here = ragtriage.add_run(pd.DataFrame(records), "mine", config={"top_k": 5}, workspace=project / "other")
    assert here.run_id == run_id, "the same content, whichever process adds it"


def test_what_cannot_be_done_names_the_packages_in_the_way(project: Path) -> None:
    program = "import sys, data, ragtriage\nsys.executable = '/nowhere/python'\nragtriage.runs()\n"
    (project / "program.py").write_text(program, encoding="utf-8")
    done = _run_program(project, [REPOSITORY])
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ragtriage.errors.RagtriageError: ")
    assert f"'data' is {project / 'data' / '__init__.py'}" in last
    assert "accepted: " in last


def test_nothing_is_in_the_way_here_and_the_import_is_light(tmp_path: Path) -> None:
    assert shadowing_packages() == {}
    probe = "import sys, ragtriage; print(json.dumps(sorted(sys.modules)))".replace(
        "import sys", "import json, sys"
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
    assert not {"pandas", "numpy", "duckdb", "data", "metrics", "dashboard"} & set(json.loads(done.stdout))


def test_the_examples_in_docstrings_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(tmp_path))
    results = [doctest.testmod(module) for module in (ragtriage, ragtriage.functions)]
    assert [result.failed for result in results] == [0, 0]
    assert min(result.attempted for result in results) >= 4


def test_every_public_name_is_documented() -> None:
    assert sorted(ragtriage.__all__) == ragtriage.__all__
    text = (DOCS / "python.md").read_text(encoding="utf-8")
    for name in ragtriage.__all__:
        assert getattr(ragtriage, name).__doc__
        assert name in text
    assert (REPOSITORY / "ragtriage" / "py.typed").exists()
