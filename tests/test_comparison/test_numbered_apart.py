"""Ids that name other questions in two runs pair nothing; rewordings and translations stay paired."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ragtriage.data.api import add_run, gate
from ragtriage.data.comparison.question_match import match_questions
from ragtriage.data.scoring.run_store import RunStore

ASKED = (
    "Which plan covers repairs of roof {}?",
    "When does desk {} close on holidays?",
    "What costs lane {}?",
)
OTHERS = ("Who signed treaty number {}?", "How heavy may parcel {} be?", "Why is bridge {} painted green?")
GERMAN = ("Welcher Tarif übernimmt die Reparatur von Dach {}?", "Wann schließt Schalter {} an Feiertagen?")


def _store(store: RunStore, name: str, question: Callable[[int], str]) -> str:
    samples = [
        {
            "question_id": f"q{at:02d}",
            "question": question(at),
            "answer": f"It is written in paragraph {at} of the rules, page {at + 3}.",
            "scores": dict.fromkeys(("correctness", "faithfulness", "answer_relevancy"), 1 - at % 7 / 100),
        }
        for at in range(60)
    ]
    return add_run(samples, name, "shop", str(store.workspace.root)).run_id


@pytest.mark.parametrize(
    ("question", "shared"),
    [
        (lambda at: OTHERS[at % 3].format(at), 0),
        (lambda at: ASKED[at % 3].format(at).upper(), 60),
        (lambda at: f"Please say: {ASKED[at % 3].format(at)}", 60),
        (lambda at: GERMAN[at % 2].format(at), 60),
        (lambda at: (ASKED if at % 5 else OTHERS)[at % 3].format(at), 60),  # a few were replaced
    ],
)
def test_questions_without_a_common_word_are_not_one(
    workspace: RunStore, question: Callable[[int], str], shared: int
) -> None:
    base = _store(workspace, "V1", lambda at: ASKED[at % 3].format(at))
    other = _store(workspace, "V2", question)
    runs = [workspace.scored(workspace.find(run)) for run in (base, other)]
    matched = match_questions(*runs)
    assert (len(matched.base), matched.unrelated) == (shared, 60 - shared)
    conclusion = gate(other, base, workspace=str(workspace.workspace.root)).conclusion()
    assert (conclusion.state == "ship") == (shared == 60)
