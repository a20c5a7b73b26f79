"""Questions that two runs share, by id or by their text."""

from __future__ import annotations

from typing import Any

import pytest
from command_line import run as command

from ragtriage.data.api import add_run, gate
from ragtriage.data.comparison.question_match import match_questions
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run

N = 12


def _samples(prefix: str, right: int, same_text: int = N) -> list[dict[str, Any]]:
    """Questions of which the first `right` are answered rightly, and all but some have texts of their own."""
    return [
        {
            "question_id": f"{prefix}{at:02d}",
            "question": f"What is {at}?" if at < same_text else f"What is {prefix}{at}?",
            "answer": "An answer.",
            "tags": {"critical": "yes"} if at == 3 else {},
            "scores": {"correctness": 1.0 if at < right else 0.0},
        }
        for at in range(N)
    ]


def _runs(store: RunStore, *sides: list[dict[str, Any]]) -> list[Run]:
    root = str(store.workspace.root)
    return [add_run(samples, f"V{at}", "p", root) for at, samples in enumerate(sides)]


def test_the_same_texts_under_other_ids_are_the_same_questions(workspace: RunStore) -> None:
    base, run = _runs(workspace, _samples("a", 12), _samples("z", 8)[::-1])
    matched = match_questions(workspace.scored(base), workspace.scored(run))
    assert (len(matched.base), matched.only_base, matched.only_other, matched.by_text) == (N, 0, 0, N)
    report = gate(run.run_id, base.run_id, workspace=str(workspace.workspace.root))
    assert "12 questions are paired by text: the ids differ between the runs." in report.warnings
    assert not [warning for warning in report.warnings if "missing" in warning or "differ (" in warning]
    assert [case.question_id for case in report.newly_failing] == ["z08", "z09", "z10", "z11"]
    critical = next(each for each in report.results if each.gate.kind == "critical")
    assert (critical.verdict, critical.n_total) == ("PASS", 1)


def test_the_command_says_so(workspace: RunStore, capsys: pytest.CaptureFixture[str]) -> None:
    base, run = _runs(workspace, _samples("a", 12), _samples("z", 8, same_text=10))
    answer = command(capsys, workspace.workspace.root, "compare", base.run_id, run.run_id)
    assert answer.code == 0
    assert "10 questions are paired by text: the ids differ between the runs." in answer.out
    assert "10 shared questions" in answer.out


def test_a_text_that_a_run_has_twice_pairs_nothing(workspace: RunStore) -> None:
    twice = _samples("z", 12)
    twice[1]["question"] = twice[0]["question"]
    other_talk = _samples("y", 12)
    other_talk[0]["history"] = [{"role": "user", "text": "Hello."}]
    base, doubled, talk = _runs(workspace, _samples("a", 12), twice, other_talk)
    assert match_questions(workspace.scored(base), workspace.scored(doubled)).by_text == N - 2
    assert match_questions(workspace.scored(base), workspace.scored(talk)).by_text == N - 1
