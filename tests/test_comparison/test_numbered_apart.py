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


def _store(
    store: RunStore,
    name: str,
    question: Callable[[int], str],
    reference: Callable[[int], str] = lambda _: "",
) -> str:
    samples = [
        {
            "question_id": f"q{at:02d}",
            "question": question(at),
            "reference_answer": reference(at),
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


PLANS = (
    "Who handles claims for roof {} under the family plan?",
    "Until when is roof {} insured by the family plan?",
)


@pytest.mark.parametrize(
    ("question", "reference", "shared"),
    [
        (PLANS[1], "Until May of year {}.", 0),
        (PLANS[1], "Team {} does.", 60),  # it may be a rewording
        (PLANS[1], "", 60),
        (PLANS[0].replace("Who handles", "Which team now handles"), "Team {} in Bern does.", 60),
    ],
)
def test_questions_with_few_common_words_and_other_references_are_not_one(
    workspace: RunStore, question: str, reference: str, shared: int
) -> None:
    base = _store(workspace, "V1", PLANS[0].format, "Team {} does.".format)
    other = _store(workspace, "V2", question.format, reference.format)
    matched = match_questions(*(workspace.scored(workspace.find(run)) for run in (base, other)))
    assert (len(matched.base), matched.unrelated) == (shared, 60 - shared)
    conclusion = gate(other, base, workspace=str(workspace.workspace.root)).conclusion()
    assert "asks 60 of its own" in conclusion.doubts[0] if shared == 0 else conclusion.doubts == ()
