"""The main effect of each bundled experiment on one scale, and the questions that turn; names of systems."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from ragtriage.dashboard.experiments.registry import VIEWS, effect_of
from ragtriage.dashboard.experiments.view import ExperimentView, name_of
from ragtriage.data.experiments.experiment import experiments
from ragtriage.data.experiments.registry import KINDS, ExperimentSummary, experiment_summary, turned_questions
from ragtriage.data.scoring.run_store import RunStore


def _summary(store: RunStore, kind: str) -> ExperimentSummary:
    entry = next(entry for entry in experiments(store.workspace) if entry.kind == kind)
    return experiment_summary(store, entry)


def test_every_kind_has_an_effect() -> None:
    without = next(field.default for field in fields(ExperimentView) if field.name == "effect")
    assert {key for key, view in VIEWS.items() if view.effect is not without} == set(KINDS)


@pytest.mark.parametrize(
    ("kind", "difference", "is_shown"),
    [
        ("position", -14 / 48, True),
        ("noise", 0.0, False),
        ("sources", 0.25, True),
        ("stability", -17 / 48, True),
        ("injection", 0.0, False),
        ("languages", -0.79, False),  # no test
    ],
)
def test_the_effect_of_a_bundled_experiment(
    demo: RunStore, kind: str, difference: float, is_shown: bool
) -> None:
    effect = effect_of(_summary(demo, kind))
    assert effect is not None
    assert effect.difference == pytest.approx(difference, abs=0.01)
    assert effect.is_shown is is_shown
    assert bool(effect.follows) is (difference < 0 or kind == "sources")  # what a source adds is no loss


def test_the_questions_that_turn_are_those_of_the_effect(demo: RunStore) -> None:
    effect = effect_of(_summary(demo, "position"))
    assert effect is not None
    first, second = (demo.scored(demo.find(run_id)) for run_id in effect.arms)
    turned = turned_questions(first, second, "answer_match")
    assert [question.is_lost for question in turned] == [True] * 14
    assert turned[0].question == "who got the first nobel prize in physics"
    back = turned_questions(second, first, "answer_match")
    assert [question.is_lost for question in back] == [False] * 14


@pytest.mark.parametrize(
    ("system", "name", "called"),
    [
        ("http://localhost:8000/ask?key=1", "", "The system"),
        ("http://localhost:8000/ask", "Help desk 2", "Help desk 2"),
        ("python src/my_rag.py --top-k 5", "", "my_rag"),
        ("built-in extractive", "", "built-in extractive"),
    ],
)
def test_a_system_is_named_as_its_owner_calls_it(demo: RunStore, system: str, name: str, called: str) -> None:
    summary = _summary(demo, "noise")
    renamed = replace(summary.experiment, system=system, name=name)
    assert name_of(replace(summary, experiment=renamed)) == called
