"""The next steps of a run: their order by hand-made runs, and the same list behind every door."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import Any

import pytest
from command_line import run as run_command
from page_text import page_text
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.cli.results.gate import junit_xml, markdown_summary
from ragtriage.dashboard.mcp_server.verdicts import VerdictTools
from ragtriage.dashboard.present.stories.causes_slides import LONGEST_TITLE, STEPS
from ragtriage.dashboard.present.stories.context import StoryView
from ragtriage.dashboard.present.stories.sections import default_sections, render_section
from ragtriage.dashboard.present.stories.story import StorySection
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.dashboard.wording.next_steps import step_sentences, step_words
from ragtriage.data.api import add_run
from ragtriage.data.gates.baseline import baseline_of
from ragtriage.data.gates.config import load_gates, read_gates
from ragtriage.data.gates.next_steps import HORIZONS, NextStep
from ragtriage.data.gates.report import gate_run
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run

GATES = '[[gate]]\nmetric = "faithfulness"\nat_least = 0.85\nseverity = "{}"\nreason = "made up"\n'
SPREAD = [0.9, 0.95, 1.0, 0.92, 0.97] * 8


def _steps(store: RunStore, run: Run, gates: str = "") -> tuple[NextStep, ...]:
    config = read_gates(gates, "gates.toml") if gates else load_gates(store.workspace)
    return gate_run(store, run, baseline_of(store, run), config).conclusion().next_steps


def _kinds(steps: tuple[NextStep, ...]) -> list[tuple[str, str]]:
    return [(step.horizon, step.kind) for step in steps]


def _run(store: RunStore, values: list[float], more: dict[str, Any] | None = None, checks: Any = None) -> Run:
    samples: list[dict[str, Any]] = [
        {
            "question_id": f"q{at}",
            "question": f"Question {at}?",
            "answer": "An answer.",
            "scores": {"faithfulness": value, "context_recall": 1.0, "answer_relevancy": 1.0, **(more or {})},
        }
        for at, value in enumerate(values)
    ]
    if checks:
        samples[0]["checks"] = checks
    return add_run(samples, "run", "shop", str(store.workspace.root))


def test_where_all_gates_hold_labels_come_later(workspace: RunStore) -> None:
    steps = _steps(workspace, _run(workspace, SPREAD, {"correctness": 1.0}), GATES.format("block"))
    assert _kinds(steps) == [("later", "labels")]


def test_answers_that_people_rated_are_not_labelled_again(workspace: RunStore) -> None:
    samples: list[dict[str, Any]] = []
    for at in range(40):
        rating = {
            "annotator": "ann",
            "metric": "correctness",
            "value": 5 if at % 3 else 1,
            "low": 1,
            "high": 5,
        }
        samples.append(
            {"question_id": f"q{at}", "question": f"What is {at}?", "answer": "x", "human": [rating]}
        )
    run = add_run(samples, "run", "shop", str(workspace.workspace.root))
    assert "labels" not in [step.kind for step in _steps(workspace, run, GATES.format("block"))]


def test_labels_come_now_where_nothing_checked_the_answers(workspace: RunStore) -> None:
    steps = _steps(workspace, _run(workspace, SPREAD), GATES.format("block"))
    assert _kinds(steps) == [("now", "labels")]
    assert step_words(steps[0]).what == "Label all 40 answers by hand"


def test_a_fault_of_many_cases_is_repaired_before_answers_are_labelled(workspace: RunStore) -> None:
    steps = _steps(workspace, _run(workspace, [value - 0.6 for value in SPREAD]), GATES.format("block"))
    assert _kinds(steps)[:2] == [("now", "stage"), ("now", "labels")]


def test_the_largest_stage_and_the_failing_gate_come_now(workspace: RunStore) -> None:
    low = [value - 0.6 for value in SPREAD]
    steps = _steps(workspace, _run(workspace, low, {"correctness": 1.0}), GATES.format("block"))
    assert _kinds(steps) == [("now", "stage"), ("now", "gates"), ("later", "labels")]
    assert (steps[0].key, steps[0].n, steps[0].of, steps[0].pass_rate) == ("unfaithful", 40, 40, 1.0)
    assert step_words(steps[1]).what.startswith("Raise faithfulness from 0.")
    assert step_words(steps[1]).what.endswith(" to 0.85")
    assert step_words(steps[1]).why == "Made up.", "the reason of the gate"


def test_an_undecided_gate_comes_now_where_none_fails(workspace: RunStore) -> None:
    steps = _steps(workspace, _run(workspace, [1.0, 0.6] * 6), GATES.format("block"))
    assert ("now", "questions") in _kinds(steps)


def test_a_failing_warning_comes_next_and_what_is_not_measured_now(workspace: RunStore) -> None:
    other = GATES.format("block").replace("faithfulness", "answer_f1")
    low = [value - 0.6 * (at % 3 == 0) for at, value in enumerate(SPREAD)]
    steps = _steps(workspace, _run(workspace, low), GATES.format("warn") + other)
    assert {("next", "gates"), ("now", "measure")} <= set(_kinds(steps))


def test_one_leak_comes_before_many_other_failures(workspace: RunStore) -> None:
    low = [value - 0.6 for value in SPREAD]
    leak = [{"suite": "isolation", "name": "tenant", "passed": False}]
    steps = _steps(workspace, _run(workspace, low, checks=leak), GATES.format("block"))
    assert (steps[0].horizon, steps[0].key, steps[0].n) == ("now", "check_isolation", 1)


@pytest.mark.parametrize(
    ("project", "name"),
    [("", "V4 rerank"), ("", "V1 baseline"), ("musique", "")],
)
def test_every_door_shows_the_same_steps(
    demo: RunStore,
    monkeypatch: pytest.MonkeyPatch,
    project: str,
    name: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = demo.find(name) if name else [run for run in demo.runs(project) if not run.means][-1]
    steps = _steps(demo, run)
    order = [HORIZONS.index(step.horizon) for step in steps]
    assert steps
    assert order == sorted(order)
    view = StoryView(demo, run, baseline_of(demo, run).run)
    assert view.next_steps == steps
    whats = [step_words(step).what for step in steps]
    slide = render_section(view, StorySection("next"))
    assert [row["What"] for row in slide.rows] == whats
    assert slide.slide is not None
    assert [step.title for step in slide.slide.steps] == [
        shorten(what, LONGEST_TITLE) for what in whats[:STEPS]
    ]
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(demo.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(project=run.project, run=run.run_id)
    assert whats[0][1:] in page_text(app.run())
    tools = VerdictTools(demo)
    for answer in (tools.triage(run.run_id), tools.gate(run.run_id), tools.diagnose(run.run_id)):
        assert answer["next_steps"] == step_sentences(steps)
    shown = run_command(capsys, demo.workspace.root, "gate", run.run_id).out
    assert f"1. {whats[0]}" in shown
    diagnosed = run_command(capsys, demo.workspace.root, "diagnose", run.run_id).out
    assert f"1. {whats[0]}" in diagnosed
    values = run_command(capsys, demo.workspace.root, "diagnose", run.run_id, "--json").json
    assert values["next_steps"] == json.loads(json.dumps([step.to_dict() for step in steps]))
    report = gate_run(demo, run, baseline_of(demo, run), load_gates(demo.workspace))
    assert all(what in junit_xml(report).replace("&gt;", ">") for what in whats)
    markdown = re.sub(r"\\(.)", r"\1", markdown_summary(report)).replace("\u2060", "")
    assert all(f"{at}. {what}" in markdown for at, what in enumerate(whats, 1))
    concluded = run_command(capsys, demo.workspace.root, "gate", run.run_id, "--json").json["conclusion"]
    assert concluded["next_steps"] == json.loads(json.dumps([step.to_dict() for step in steps]))
    assert concluded["faults"] == [asdict(fault) for fault in report.conclusion().faults]


def test_advise_shows_the_steps_of_the_run_that_it_rests_on(
    demo: RunStore, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = run_command(capsys, demo.workspace.root, "advise", "handbook", "--json").json
    steps = _steps(demo, demo.find(answer["run"]))
    assert answer["next_steps"] == json.loads(json.dumps([step.to_dict() for step in steps]))
    assert (
        f"1. {step_words(steps[0]).what}"
        in run_command(capsys, demo.workspace.root, "advise", "handbook").out
    )


def test_the_stakeholder_story_has_them() -> None:
    assert default_sections("stakeholder")[-1] == StorySection("next")
