"""The evaluation plan: sizes from the project's own runs, steps with commands that exist."""

from __future__ import annotations

import re
import shlex
from datetime import datetime
from math import sqrt
from typing import Any

import numpy as np
import pytest
from command_line import run as run_command
from page_text import page_text
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.cli.main import COMMANDS, app
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.dashboard.tables.project import size_text
from ragtriage.data.api import add_run, diagnosis_of
from ragtriage.data.datasets.dataset import find_dataset
from ragtriage.data.datasets.item_analysis import analyse_items
from ragtriage.data.datasets.resolution import resolution_of
from ragtriage.data.datasets.review import read_draft
from ragtriage.data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings
from ragtriage.data.errors import DataError, ValidationErrors
from ragtriage.data.importers.load import import_parsed_runs
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.parsed_run import ParsedRun
from ragtriage.data.store.workspace import Run
from ragtriage.data.strategy.holdings import sample_size
from ragtriage.data.strategy.plan import USE_CASES, Plan, plan_of
from ragtriage.metrics.statistics.power import questions_for_difference


def _plan(store: RunStore, project: str, use_case: str) -> Plan:
    def diagnosed(run: Run) -> Diagnosis:
        return diagnosis_of(store, run, DiagnosisSettings())

    return plan_of(store, project, use_case, diagnosed)


def _add(store: RunStore, name: str, values: list[float], offset: int = 0) -> Run:
    samples: list[dict[str, Any]] = [
        {
            "question_id": f"q{at + offset}",
            "question": f"Question {at + offset}?",
            "answer": "An answer.",
            "scores": {"faithfulness": value},
        }
        for at, value in enumerate(values)
    ]
    return add_run(samples, name, "shop", str(store.workspace.root))


def _size(store: RunStore) -> Any:
    fresh = RunStore(store.workspace)
    runs = list(fresh.runs("shop"))
    return sample_size(runs, lambda run: diagnosis_of(fresh, run, DiagnosisSettings()), "faithfulness")


def test_two_runs_that_share_questions_give_the_paired_deviation(workspace: RunStore) -> None:
    before, after = [0.1, 0.5, 0.9, 0.3, 0.7, 0.6], [0.2, 0.5, 0.8, 0.7, 0.7, 0.9]
    _add(workspace, "a", before)
    _add(workspace, "b", after)
    size = _size(workspace)
    deviation = float(np.std(np.subtract(after, before), ddof=1))
    assert (size.basis, size.n_behind) == ("paired", 6)
    assert size.deviation == pytest.approx(deviation)
    assert size.questions() == questions_for_difference(deviation, 0.05)


def test_without_shared_questions_one_run_gives_its_own_deviation(workspace: RunStore) -> None:
    values = [0.1, 0.5, 0.9, 0.3, 0.7, 0.6]
    _add(workspace, "a", values)
    _add(workspace, "b", values[::-1], offset=100)
    size = _size(workspace)
    assert (size.basis, size.n_behind) == ("one run", 6)
    assert size.deviation == pytest.approx(sqrt(2) * float(np.std(values, ddof=1)))


def test_without_values_the_worst_case_of_a_share_is_assumed(workspace: RunStore) -> None:
    _add(workspace, "a", [0.5] * 3)  # too few, and all the same
    size = _size(workspace)
    assert (size.basis, size.questions(), size.n_behind, size.runs) == ("assumed", 1570, 0, ())


def test_the_plan_and_the_page_datasets_say_the_same_number_of_questions(demo: RunStore) -> None:
    items = read_draft(find_dataset(demo.workspace, "handbook questions")).items
    runs = [run for run in demo.runs("handbook") if run.name[:2] in ("V1", "V2", "V3", "V4")]

    def diagnosed(run: Run) -> Diagnosis:
        return diagnosis_of(demo, run, DiagnosisSettings())

    analysis = analyse_items([each.item for each in items], runs, diagnosed)
    resolution = resolution_of(len(items), analysis.passes)
    assert dict(resolution.needed)[0.05] == sample_size(runs, diagnosed).questions(0.05) == 859


@pytest.mark.parametrize("use_case", USE_CASES)
@pytest.mark.parametrize("project", ["handbook", "ragchecker", "iris", "nothing there; rm -rf"])
def test_every_step_names_a_command_that_is_parsed(demo: RunStore, use_case: str, project: str) -> None:
    plan = _plan(demo, project, use_case)
    assert [step.key for step in plan.steps[:2]] == ["load", "questions"]
    for step in plan.steps:
        program, name, *words = shlex.split(step.command)
        assert program == "ragtriage"
        assert name in COMMANDS
        context = app.make_context("ragtriage", [name])  # click keeps the -h of the first context it sees
        command = app.get_command(context, name)
        assert command is not None
        command.make_context(name, words, parent=context)  # raises where an option or argument is wrong
        if "--project" in words:
            assert words[words.index("--project") + 1] == project


def test_the_plan_knows_what_the_project_holds(demo: RunStore) -> None:
    plan = _plan(demo, "handbook", "regulated")
    held = plan.holdings.held()
    assert held["gold"]
    assert held["references"]
    assert held["citations"]  # parsed from the answers: no field records them
    assert not held["repeats"]
    done = {step.key: step.done for step in plan.steps}
    assert done["load"]
    assert not done["labels"]
    assert not done["questions"]
    assert (plan.holdings.gold, plan.holdings.references) == (42, 48)
    assert not done["gold"], "42 questions of 385 have gold"
    assert not done["references"]
    why = {step.key: step.why for step in plan.steps}
    assert why["references"].endswith("; 48 have one")
    draft = {step.key: step.done for step in _plan(demo, "handbook", "prototype").steps}
    assert draft["gold"]
    assert draft["references"]
    assert {"safety", "isolation", "repeats", "watch"} <= set(done)
    assert plan.n_labels == 385
    empty = _plan(demo, "no such project", "prototype")
    assert empty.holdings.run is None
    assert not any(step.done for step in empty.steps if step.key != "gates")


def test_checks_of_an_earlier_run_count_and_the_difference_is_the_use_cases(workspace: RunStore) -> None:
    attacks: list[dict[str, Any]] = [
        {
            "question_id": f"a{at}",
            "question": f"Attack {at}?",
            "answer": "No.",
            "checks": [{"name": "leak", "kind": "safety", "expected": {"canary": "ZX-4471-Q"}}],
        }
        for at in range(120)
    ]
    add_run(attacks, "attacks", "shop", str(workspace.workspace.root))
    _add(workspace, "newest", [0.1, 0.5, 0.9, 0.3, 0.7, 0.6])
    plan = _plan(RunStore(workspace.workspace), "shop", "production")
    assert plan.holdings.checks == {"safety": 120}
    assert {step.key: step.done for step in plan.steps}["safety"]
    draft = _plan(RunStore(workspace.workspace), "shop", "prototype")
    assert f"a difference of 0.15 in pass rate takes {draft.n_questions:,} questions" in size_text(draft)


@pytest.mark.parametrize(("format", "kind"), [("attack", ""), ("experiment", "noise")])
def test_attacks_and_experiments_do_not_hide_what_the_system_s_own_run_holds(
    workspace: RunStore, format: str, kind: str
) -> None:
    own = _add(workspace, "own", [0.1, 0.5, 0.9, 0.3, 0.7, 0.6])
    checks = [{"name": "leak", "kind": "safety", "expected": "refused", "actual": "answered"}]
    trial = ParsedRun(
        name="trial",
        records=[
            (line, {"question": f"Attack {line}?", "answer": "No.", "checks": checks})
            for line in range(1, 13)
        ],
        file="trial",
        format=format,
        config={"experiment_kind": kind},
        created_at=datetime(2030, 1, 1),
    )
    import_parsed_runs(workspace, [trial], "shop", ValidationErrors("trial"))
    plan = _plan(RunStore(workspace.workspace), "shop", "production")
    assert plan.holdings.run is not None
    assert plan.holdings.run.run_id == own.run_id
    assert plan.holdings.n_runs == 2
    assert plan.holdings.checks == {"safety": 12}


def test_an_unknown_use_case_or_project_is_told(demo: RunStore, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DataError, match="accepted: prototype, production"):
        _plan(demo, "handbook", "fun")
    assert "“mtrag, judged”" in run_command(capsys, demo.workspace.root, "advise").err
    assert "accepted: " in run_command(capsys, demo.workspace.root, "advise", "nope").err


def test_the_command_gives_the_plan_as_text_and_json(
    demo: RunStore, capsys: pytest.CaptureFixture[str]
) -> None:
    text = run_command(capsys, demo.workspace.root, "advise", "handbook").out
    assert re.search(r"from \d runs paired on 48 questions", " ".join(text.split()))
    answer = run_command(
        capsys, demo.workspace.root, "advise", "handbook", "--for", "research", "--json"
    ).json
    assert answer["use_case"] == "research"
    assert answer["questions"]["basis"] == "paired"
    assert {"key", "what", "why", "command", "done"} == set(answer["steps"][0])
    assert "ragtriage f1" in " ".join(step["command"] for step in answer["steps"])


def test_the_page_runs_shows_the_plan(demo: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(demo.workspace.root))
    page = AppTest.from_file(str(APP), default_timeout=60)
    page.session_state["selection"] = Selection(project="handbook", use_case="regulated")
    page.session_state["runs_tab"] = "What to measure next"
    page.switch_page("runs/runs.py").run()
    assert not page.exception
    said = page_text(page).replace("\\", "")
    assert "Regulated, handbook:" in said
    assert "ragtriage init --profile regulated" in said
