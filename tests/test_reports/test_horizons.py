"""Recommendations by horizon: the rules on hand-made runs, and what bundled runs are told."""

from __future__ import annotations

from typing import Any

import pytest

from ragtriage.dashboard.present.stories.context import StoryView
from ragtriage.dashboard.present.stories.sections import default_sections, render_section
from ragtriage.dashboard.present.stories.story import StorySection
from ragtriage.data.api import add_run, diagnosis_of
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings
from ragtriage.data.diagnosis.f1_tree import f1_diagnosis
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.gates.baseline import baseline_of
from ragtriage.data.gates.config import load_gates, read_gates
from ragtriage.data.gates.report import gate_run
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run
from ragtriage.data.strategy.horizons import HORIZONS, MOST_SHOWN, Recommendation, recommendations

GATES = '[[gate]]\nmetric = "faithfulness"\nat_least = 0.85\nseverity = "{}"\nreason = "made up"\n'


def _told(store: RunStore, run: Run, gates: str = "") -> tuple[Recommendation, ...]:
    scored = store.scored(run)
    config = read_gates(gates, "gates.toml") if gates else load_gates(store.workspace)
    report = gate_run(store, run, baseline_of(store, run), config)
    diagnosis = diagnosis_of(store, run, DiagnosisSettings())
    return recommendations(diagnosis, report, check_run(scored), f1_diagnosis(scored).tree)


def _run(store: RunStore, values: list[float | None], more: dict[str, float] | None = None) -> Run:
    samples: list[dict[str, Any]] = [
        {
            "question_id": f"q{at}",
            "question": f"Question {at}?",
            "answer": "An answer.",
            "scores": {}
            if value is None
            else {"faithfulness": value, "context_recall": 1.0, "answer_relevancy": 1.0, **(more or {})},
        }
        for at, value in enumerate(values)
    ]
    return add_run(samples, "run", "shop", str(store.workspace.root))


SPREAD = [0.9, 0.95, 1.0, 0.92, 0.97] * 8


def test_where_all_gates_hold_the_release_comes_now(workspace: RunStore) -> None:
    told = _told(workspace, _run(workspace, list(SPREAD), {"correctness": 1.0}), GATES.format("block"))
    assert [(entry.horizon, entry.what) for entry in told] == [
        ("now", "Release this version"),
        ("later", "Label 40 random answers by hand"),
    ]


def test_no_release_comes_where_nothing_checked_the_answers(workspace: RunStore) -> None:
    told = _told(workspace, _run(workspace, list(SPREAD)), GATES.format("block"))
    assert [(entry.horizon, entry.what) for entry in told] == [("now", "Label 40 random answers by hand")]


def test_a_failing_blocking_gate_and_the_largest_stage_come_now(workspace: RunStore) -> None:
    low = [value - 0.6 for value in SPREAD]
    first, second, *rest = _told(workspace, _run(workspace, list(low)), GATES.format("block"))
    assert (first.horizon, first.owner) == ("now", "generation")
    assert first.what == "Meet the gate “Faithfulness: at least 0.85”"
    assert first.number == "0.35, 0.50 short, n = 40"
    assert (second.horizon, second.number) == ("now", "40 of 40 cases; repaired, at most 100 % would pass")
    assert [entry.horizon for entry in rest] == ["later"]


def test_an_undecided_gate_comes_now_where_none_fails(workspace: RunStore) -> None:
    wide = [1.0, 0.6] * 6
    told = _told(workspace, _run(workspace, list(wide)), GATES.format("block"))
    assert ("now", "Ask more questions", "1 gate, n = 12") in {
        (entry.horizon, entry.what, entry.number) for entry in told
    }


def test_a_failing_warning_comes_next_and_what_is_not_measured_now(workspace: RunStore) -> None:
    low = [value - 0.6 for value in SPREAD]
    other = GATES.format("block").replace("faithfulness", "answer_f1")
    told = _told(workspace, _run(workspace, list(low)), GATES.format("warn") + other)
    found = {entry.what: entry.horizon for entry in told}
    assert found["Meet the gate “Faithfulness: at least 0.85”"] == "next"
    assert found["Measure what blocking gates need"] == "now"


@pytest.mark.parametrize(
    ("name", "now"),
    [
        ("V1 baseline", "Meet the gate “Faithfulness: at least 0.90”"),
        ("V2 smaller chunks", "Ask more questions"),
        ("V3 strict prompt", "Meet the gate “Over-refusal: at most 0.15”"),
        ("V4 rerank", "Release this version"),
    ],
)
def test_what_bundled_runs_are_told_first(demo: RunStore, name: str, now: str) -> None:
    told = _told(demo, demo.find(name))
    assert told[0].horizon == "now"
    assert told[0].what == now
    order = [HORIZONS.index(entry.horizon) for entry in told]
    assert order == sorted(order)
    assert all(order.count(at) <= MOST_SHOWN for at in range(3))
    assert all(entry.what and entry.reason and entry.number and entry.owner for entry in told)


def test_the_stakeholder_story_has_them(demo: RunStore) -> None:
    assert StorySection("horizons") in default_sections("stakeholder")
    section = render_section(StoryView(demo, demo.find("V1 baseline")), StorySection("horizons"))
    assert section.measured
    assert section.rows[0]["When"] == "now"
    assert set(section.rows[0]) == {"When", "What", "Why", "Number", "Owner"}
