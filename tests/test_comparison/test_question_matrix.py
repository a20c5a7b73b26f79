"""The matrix of questions and versions, and the questions that rose, fell or stayed."""

from __future__ import annotations

import numpy as np
import pytest

from ragtriage.data.api import add_run
from ragtriage.data.cases.cohorts import cohort_title
from ragtriage.data.cases.comparison_cohorts import ChangedCohort, changed_cohort, changed_cohort_key
from ragtriage.data.comparison.compare import compare
from ragtriage.data.comparison.question_changes import changed_rows, question_matrix
from ragtriage.data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings, diagnose
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.metrics.gates.wording import GOOD_SHARE


def _diagnosis(store: RunStore, name: str, values: dict[str, list[float | None]]) -> Diagnosis:
    """Add a run with one repeat for each value of a question."""
    records = [
        {
            "question_id": question,
            "repeat": repeat,
            "question": f"{question}?",
            "answer": "a",
            "scores": {} if value is None else {"faithfulness": value},
        }
        for question, repeats in values.items()
        for repeat, value in enumerate(repeats)
    ]
    run = add_run(records, name, "p", str(store.workspace.root))
    return diagnose(store.scored(run), DiagnosisSettings(), [])


@pytest.fixture
def sides(workspace: RunStore) -> tuple[Diagnosis, Diagnosis]:
    base = _diagnosis(workspace, "a", {"q1": [0.2, 0.4], "q2": [0.9], "q3": [0.5], "q4": [None], "q5": [1.0]})
    other = _diagnosis(workspace, "b", {"q3": [0.5], "q2": [0.1, 0.3], "q1": [0.6], "q4": [0.5], "q9": [0.5]})
    return base, other


def test_repeats_are_averaged_and_missing_values_stay_missing(sides: tuple[Diagnosis, Diagnosis]) -> None:
    matrix = question_matrix(sides[0], [sides[1]], "faithfulness")
    found = {
        question: [None if np.isnan(value) else round(float(value), 3) for value in line]
        for question, line in zip(matrix.question_ids, matrix.values, strict=True)
    }
    assert found == {
        "q1": [0.3, 0.6], "q2": [0.9, 0.2], "q3": [0.5, 0.5], "q4": [None, 0.5], "q5": [1.0, None],
    }  # fmt: skip
    at = matrix.find("q5")
    assert at is not None
    assert matrix.rows[at, 1] == -1, "the other run lacks the question"
    assert matrix.find("q9") is None


@pytest.mark.parametrize(
    ("order", "higher", "expected"),
    [
        ("change", True, ["q2", "q1", "q3"]),
        ("loss", True, ["q2", "q3", "q1"]),
        ("gain", True, ["q1", "q3", "q2"]),
        ("gain", False, ["q2", "q3", "q1"]),
        ("spread", None, ["q2", "q1", "q3"]),
        ("file", True, ["q1", "q2", "q3"]),
    ],
)
def test_questions_are_ordered_with_those_without_a_value_last(
    sides: tuple[Diagnosis, Diagnosis], order: str, higher: bool | None, expected: list[str]
) -> None:
    matrix = question_matrix(sides[0], [sides[1]], "faithfulness")
    ordered = [matrix.question_ids[at] for at in matrix.ordered(order, 1, higher)]  # type: ignore[arg-type] # text
    assert ordered[:3] == expected
    assert sorted(ordered[3:]) == ["q4", "q5"]


@pytest.mark.parametrize("metric", ["faithfulness", GOOD_SHARE])
def test_the_cases_of_a_bar_are_as_many_as_it_says(sides: tuple[Diagnosis, Diagnosis], metric: str) -> None:
    base, other = sides
    comparison = compare(base, other, ["faithfulness"])
    counts = next(row.difference for row in comparison.differences if row.metric == metric)

    def questions(sign: int) -> int:
        return len(set(other.scored.question[changed_rows(base, other, metric, sign)]))

    assert (questions(1), questions(-1), questions(0)) == (counts.better, counts.worse, counts.same)


def test_the_key_of_changed_cases_names_baseline_and_metric() -> None:
    key = changed_cohort_key(-1, "abc", "recall@5")
    assert key == "fell:abc:recall@5"
    assert changed_cohort(key) == ChangedCohort(-1, "abc", "recall@5")
    assert changed_cohort("newly_failing:abc") is None
    assert cohort_title(key) == "Recall@5 fell against the baseline"
