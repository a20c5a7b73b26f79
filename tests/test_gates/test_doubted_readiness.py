"""Runs whose gates hold and that are not ready: another judge, citations of the wrong document, labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ragtriage.dashboard.headlines.triage import report_headline
from ragtriage.data.api import add_file, add_run, gate
from ragtriage.data.scoring.run_store import RunStore

TOWNS = ("Aachen", "Bremen", "Celle", "Dresden")


def _samples(faithfulness: float = 0.9, cited: int = 0) -> list[dict[str, Any]]:
    rules = [f"A day of parking in {TOWNS[at % 4]}, zone {at}, costs {at + 11} euros." for at in range(60)]
    return [
        {
            "question_id": f"q{at}",
            "question": f"What does parking in {TOWNS[at % 4]}, zone {at}, cost?",
            "answer": rule.rstrip(".") + (f" [{cited}]." if cited else "."),
            "reference_answer": f"{at + 11} euros",
            "retrieved": [
                {"id": f"d{at}", "text": rule},
                {"id": f"x{at}", "text": "The library lends books and opens at nine."},
            ],
            "scores": dict.fromkeys(("faithfulness", "answer_relevancy"), faithfulness + at % 7 / 100),
        }
        for at, rule in enumerate(rules)
    ]


@pytest.mark.parametrize(("cited", "state"), [(1, "ship"), (2, "cannot_tell")])
def test_citations_of_documents_that_say_something_else_are_told(
    workspace: RunStore, cited: int, state: str
) -> None:
    root = str(workspace.workspace.root)
    concluded = gate(add_run(_samples(cited=cited), "V1", "p", root).run_id, workspace=root).conclusion()
    assert concluded.state == state
    assert concluded.doubts == (() if cited == 1 else ("0 of 60 citations support their sentence",))


def test_scores_that_move_while_the_answers_stay_are_the_judges(workspace: RunStore) -> None:
    root = str(workspace.workspace.root)
    base = add_run(_samples(0.86), "V1", "p", root).run_id
    again, later = _samples(0.87), _samples(0.93)
    other_context = _samples(0.93)
    for sample in other_context:
        sample["retrieved"] = sample["retrieved"][:1]
    states = [
        gate(add_run(samples, name, "p", root).run_id, base, workspace=root).conclusion()
        for name, samples in (("V2", again), ("V3", later), ("V4", other_context))
    ]
    assert [concluded.state for concluded in states] == ["ship", "cannot_tell", "ship"]
    moved = "60 of 60 shared questions have the same answer, yet faithfulness moved by +0.07"
    assert states[1].doubts == (moved,)


def test_a_column_of_peoples_verdicts_says_how_many_answers_are_right(
    workspace: RunStore, tmp_path: Path
) -> None:
    rows = [f"What is {at}?,It is number {at}.,{'pass' if at % 3 else 'fail'}" for at in range(60)]
    file = tmp_path / "read.csv"
    file.write_text("\n".join(["question,answer,human verdict", *rows]), encoding="utf-8")
    root = str(workspace.workspace.root)
    report = gate(add_file(str(file), workspace=root)[0].run_id, workspace=root)
    assert report.conclusion().state == "cannot_tell"
    assert report.halves == {"right answers": "67 % of the answers are right"}
    assert report_headline(report).statement.startswith("read: 20 of 60 cases are bad")
