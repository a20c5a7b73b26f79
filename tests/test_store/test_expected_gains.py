"""Expected gains: entered with a name, added up, held against the next run, undone."""

from __future__ import annotations

from typing import Any

import pytest

from ragtriage.data.api import add_run
from ragtriage.data.diagnosis.f1_tree import f1_diagnosis
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run
from ragtriage.data.strategy.expected_gains import Outlook, expect_gain, expected_gains, outlook_of, undo_gain


def _run(store: RunStore, name: str, right: int, n: int = 12) -> Run:
    """Add a run whose answers make 10 claims, so many of them right in even questions and one more in odd."""

    def sample(at: int) -> dict[str, Any]:
        good = right + at % 2
        return {
            "question_id": f"q{at}",
            "question": f"Question {at}?",
            "answer": "An answer.",
            "claims": [{"text": f"claim {i}", "in_reference": i < good} for i in range(10)],
            "reference_claims": [{"text": f"fact {i}", "in_answer": True} for i in range(3)],
        }

    return add_run([sample(at) for at in range(n)], name, "shop", str(store.workspace.root))


def _outlook(store: RunStore, run: Run) -> Outlook:
    fresh = RunStore(store.workspace)
    return outlook_of(fresh, run, f1_diagnosis(fresh.scored(run)).tree)


def test_entries_add_up_and_the_newest_of_a_user_is_undone(workspace: RunStore) -> None:
    run, ledger = _run(workspace, "first", 5), workspace.ledger
    expect_gain(ledger, run.run_id, "precision", 0.05, "Rerank", "Ada")
    expect_gain(ledger, run.run_id, "precision", 0.02, "", " Bo ")
    expect_gain(ledger, run.run_id, "recall", 0.01, "Rewrite", "Ada")
    assert _outlook(workspace, run).total == pytest.approx(0.08)
    removed = undo_gain(ledger, run.run_id, "Ada")
    assert removed is not None
    assert (removed.part, removed.measure) == ("recall", "Rewrite")
    assert [(entry.who, entry.gain) for entry in expected_gains(ledger, run.run_id)] == [
        ("Ada", 0.05),
        ("Bo", 0.02),
    ]
    assert undo_gain(ledger, run.run_id, "nobody") is None
    assert expected_gains(ledger, "another run") == ()


@pytest.mark.parametrize(
    ("part", "gain", "who", "said"),
    [
        ("luck", 0.1, "Ada", "accepted: precision, recall"),
        ("precision", 0.0, "Ada", "above 0, at most 1"),
        ("precision", 1.1, "Ada", "above 0, at most 1"),
        ("precision", float("nan"), "Ada", "above 0, at most 1"),
        ("precision", 0.1, "  ", "name of who expects it"),
    ],
)
def test_what_is_not_accepted_is_told(
    workspace: RunStore, part: str, gain: float, who: str, said: str
) -> None:
    with pytest.raises(DataError, match=said):
        expect_gain(workspace.ledger, "r", part, gain, "", who)


# F1 with recall 1 is 2P / (P + 1): 0.667 and 0.75 before, 0.824 and 0.889 after: 0.157 and 0.139, mean 0.148
@pytest.mark.parametrize(
    ("expected", "standing"),
    [(0.148, "as expected"), (0.3, "less than expected"), (0.05, "more than expected")],
)
def test_the_sum_is_held_against_the_next_run(workspace: RunStore, expected: float, standing: str) -> None:
    first = _run(workspace, "first", 5, n=60)
    expect_gain(workspace.ledger, first.run_id, "precision", expected - 0.01, "Rerank", "Ada")
    _run(workspace, "second", 7, n=60)
    _run(workspace, "third", 9, n=60)
    expect_gain(workspace.ledger, first.run_id, "recall", 0.01, "Rewrite", "Bo")
    with workspace.ledger.open() as connection:
        connection.execute("UPDATE expected_gains SET at = '2099-01-01T00:00:00' WHERE who = 'Bo'")
    outcome = _outlook(workspace, first).outcome
    assert outcome is not None
    assert outcome.got == pytest.approx((14 / 17 - 2 / 3 + 8 / 9 - 3 / 4) / 2)
    assert (outcome.run.name, outcome.n, outcome.standing, outcome.late) == ("second", 60, standing, 1)


def test_too_few_questions_decide_nothing(workspace: RunStore) -> None:
    first = _run(workspace, "first", 5, n=4)
    _run(workspace, "second", 7, n=4)
    expect_gain(workspace.ledger, first.run_id, "precision", 0.1, "", "Ada")
    outcome = _outlook(workspace, first).outcome
    assert outcome is not None
    assert outcome.standing == "cannot tell"


def test_a_promise_beyond_the_sums_is_cautioned(workspace: RunStore) -> None:
    run = _run(workspace, "first", 5)
    assert _outlook(workspace, run).outcome is None
    expect_gain(workspace.ledger, run.run_id, "recall", 0.1, "", "Ada")
    expect_gain(workspace.ledger, run.run_id, "precision", 0.25, "", "Ada")
    cautions = _outlook(workspace, run).cautions
    assert cautions == (
        "Recall: 0.10 is expected, and a perfect part gives at most 0.00 with the other side as it is",
        "the sum of 0.35 would raise F1 above 1",
    )
