"""Random queues and ratings: the order is drawn, what is drawn is marked, and all can be taken back."""

from __future__ import annotations

from typing import Any

import pytest

from ragtriage.data.api import add_run
from ragtriage.data.errors import DataError
from ragtriage.data.labels.ratings import (
    RATING_DIMENSIONS,
    dimension_of,
    offered_dimensions,
    queue_of,
    queue_state,
    rate,
    ratings_of,
    share_of,
    start_queue,
    undo,
)
from ragtriage.data.prompts.prompt import label_wording, load_prompt
from ragtriage.data.scoring.label_correction import rows_of
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.judge_results import ADDRESSES, AGREES, COMPLETE
from ragtriage.data.store.ledger import Ledger

N = 40


def _run(store: RunStore, n: int = N) -> ScoredRun:
    records: list[dict[str, Any]] = [
        {"question_id": f"q{at:02}", "question": f"{at}?", "answer": "yes"} for at in range(n)
    ]
    return store.scored(add_run(records, "run", "p", str(store.workspace.root)))


def _case(scored: ScoredRun, row: int) -> tuple[str, str, int]:
    return scored.run.run_id, str(scored.question_ids[scored.question[row]]), int(scored.repeats[row])


def test_a_queue_is_a_seeded_permutation_that_everybody_shares(workspace: RunStore) -> None:
    scored, ledger = _run(workspace), workspace.ledger
    mine = start_queue(ledger, scored.run.run_id, "correctness", " Ann ")
    assert mine.who == "Ann"
    assert start_queue(ledger, scored.run.run_id, "correctness", "Ann") == mine
    other = start_queue(ledger, scored.run.run_id, "correctness", "Bo")
    assert (other.queue_id != mine.queue_id, other.seed) == (True, mine.seed)
    order = mine.order(N).tolist()
    assert sorted(order) == list(range(N))
    assert order != list(range(N))
    assert queue_of(Ledger(ledger.path), mine.queue_id) == mine
    assert queue_of(ledger, 999) is None


def test_next_is_the_first_that_its_person_has_not_rated_in_it(workspace: RunStore) -> None:
    scored, ledger = _run(workspace), workspace.ledger
    queue = start_queue(ledger, scored.run.run_id, "correctness", "Ann")
    first, second, third, *rest = queue.order(N).tolist()
    rate(ledger, _case(scored, rest[0]), "Ann", "correctness", 0.0)  # found by browsing
    rate(ledger, _case(scored, first), "Bo", "correctness", 1.0)
    state = queue_state(ledger, scored, queue)
    assert (state.remaining[0], state.rated, state.total) == (first, frozenset(), N)
    assert (state.after(first), state.drawn(first), state.drawn(second)) == (second, True, False)
    rate(ledger, _case(scored, first), "Ann", "correctness", 0.5, queue.queue_id)
    rate(ledger, _case(scored, second), "Ann", "correctness", None, queue.queue_id)  # cannot be said
    state = queue_state(ledger, scored, queue)
    assert (state.rated, state.remaining[0]) == (frozenset({first, second}), third)
    assert (state.drawn(first), state.after(first)) == (True, third)
    taken = undo(ledger, scored.run.run_id, "Ann", "correctness")
    assert taken is not None
    assert (taken.question_id, taken.value) == (_case(scored, second)[1], None)
    assert queue_state(ledger, scored, queue).remaining[0] == second


def test_verdicts_in_a_queue_are_labels_that_carry_its_number(workspace: RunStore) -> None:
    scored, ledger = _run(workspace, 3), workspace.ledger
    run_id = scored.run.run_id
    queue = start_queue(ledger, run_id, "pass", "Ann")
    first, second, third = queue.order(3).tolist()
    ledger.add_label(_case(scored, first), "Ann", "pass", queue_id=queue.queue_id)
    ledger.add_label(_case(scored, second), "Ann", None, note="odd", queue_id=queue.queue_id)  # rates nothing
    ledger.add_label(_case(scored, third), "Ann", "fail")
    assert {one.question_id: one.queue_id for one in ledger.labels(run_id)} == {
        _case(scored, first)[1]: queue.queue_id,
        _case(scored, second)[1]: queue.queue_id,
        _case(scored, third)[1]: None,
    }
    assert queue_state(ledger, scored, queue).rated == {first}
    assert {one.question_id: one.value for one in ratings_of(ledger, run_id, "pass")} == {
        _case(scored, first)[1]: 1.0,
        _case(scored, third)[1]: 0.0,
    }
    assert [one.value for one in ratings_of(ledger, run_id, "pass", drawn=True)] == [1.0]
    taken = ledger.undo_label(run_id, "Ann")
    assert taken is not None
    assert taken.queue_id is None


def test_a_word_said_later_while_browsing_does_not_touch_the_drawn_one(workspace: RunStore) -> None:
    scored, ledger = _run(workspace, 1), workspace.ledger
    case, run_id = _case(scored, 0), scored.run.run_id
    queue = start_queue(ledger, run_id, "completeness", "Ann")
    rate(ledger, case, "Ann", "completeness", 1 / 3, queue.queue_id)
    rate(ledger, case, "Ann", "completeness", 1.0)
    assert [one.value for one in ratings_of(ledger, run_id, "completeness")] == [1.0]
    assert [one.value for one in ratings_of(ledger, run_id, "completeness", drawn=True)] == [1 / 3]


def test_people_rate_on_the_scale_of_the_judge() -> None:
    scales = {key: {value for _, value in one.levels} for key, one in RATING_DIMENSIONS.items()}
    assert scales["correctness"] == set(AGREES.values()) == {0.0, 0.5, 1.0}
    assert scales["answer_relevancy"] == set(ADDRESSES.values())
    assert scales["completeness"] == set(COMPLETE.values())
    assert (scales["faithfulness"], share_of(3, 4)) == (set(), 0.75)
    assert dimension_of("evaluator:wrong_date").metric == "evaluator_wrong_date"


@pytest.mark.parametrize(
    ("quantity", "label"),
    [("correctness", "agrees"), ("answer_relevancy", "addresses")],
)
def test_people_are_asked_in_the_words_of_the_judges_prompt(quantity: str, label: str) -> None:
    question = RATING_DIMENSIONS[quantity].question
    texts = f"{load_prompt('reading').text}\n{load_prompt('reference').text}"
    prompt = texts.replace("`", '"')
    assert f'- "{label}": {question[:1].lower()}{question[1:]}\n' in prompt
    assert all(f'"{word}"' in question for word, _ in RATING_DIMENSIONS[quantity].levels)


def test_people_are_told_of_refusals_documents_and_claims_what_the_judge_is_told() -> None:
    assert 'A refusal is "no".' in RATING_DIMENSIONS["answer_relevancy"].question
    assert "the question and the documents call for" in RATING_DIMENSIONS["completeness"].question
    faithfulness = RATING_DIMENSIONS["faithfulness"].question
    for words in ("a sentence with two facts is two claims", "what you know yourself is no support"):
        assert words in load_prompt("reading").text
        assert words in faithfulness
    with pytest.raises(DataError, match="unknown label"):
        label_wording("kindness")


@pytest.mark.parametrize(
    ("quantity", "value", "told"),
    [
        ("correctness", 0.7, "0.5 .partly."),
        ("faithfulness", 1.2, "0 to 1"),
        ("evaluator:tone", 0.5, "1 .yes."),
        ("pass", 1.0, "is a label"),
        ("evaluator:", 1.0, "attack_success, evaluator:NAME"),
        ("spelling", 1.0, "accepted: pass, correctness"),
    ],
)
def test_what_is_off_the_scale_is_refused(
    workspace: RunStore, quantity: str, value: float, told: str
) -> None:
    with pytest.raises(DataError, match=told):
        rate(workspace.ledger, ("r", "q", 0), "Ann", quantity, value)


@pytest.mark.parametrize(("supported", "claims"), [(1, 0), (3, 2), (-1, 2)])
def test_a_share_needs_claims(supported: int, claims: int) -> None:
    with pytest.raises(DataError, match="1 claim or more"):
        share_of(supported, claims)


def test_nobody_rates_without_a_name(workspace: RunStore) -> None:
    with pytest.raises(DataError, match=r"name of (its|the) annotator"):
        rate(workspace.ledger, ("r", "q", 0), " ", "correctness", 1.0)
    with pytest.raises(DataError, match=r"name of (its|the) annotator"):
        start_queue(workspace.ledger, "r", "correctness", "")


def test_the_stamp_sees_ratings_come_and_go(workspace: RunStore) -> None:
    ledger = workspace.ledger
    seen = {ledger.version()}
    rate(ledger, ("r", "q", 0), "Ann", "correctness", 1.0)
    seen.add(ledger.version())
    undo(ledger, "r", "Ann", "correctness")
    seen.add(ledger.version())
    assert len(seen) == 3
    assert undo(ledger, "r", "Ann", "correctness") is None


def test_the_evaluators_of_a_project_can_be_rated(workspace: RunStore) -> None:
    assert [one.key for one in offered_dimensions(workspace.ledger, "p")] == [*RATING_DIMENSIONS]
    with workspace.ledger.open() as connection:
        connection.execute(
            "INSERT INTO evaluators (project, name, label, question, who, at) VALUES (?, ?, ?, ?, ?, ?)",
            ("p", "wrong_date", "wrong date", "Is a date wrong?", "Ann", "now"),
        )
    own = offered_dimensions(workspace.ledger, "p")[-1]
    assert (own.key, own.question, own.binary) == ("evaluator:wrong_date", "Is a date wrong?", True)
    assert [one.key for one in offered_dimensions(workspace.ledger, "other")] == [*RATING_DIMENSIONS]


def test_rows_are_found_by_question_and_repeat(workspace: RunStore) -> None:
    records = [
        {"question_id": name, "repeat": repeat, "question": "?", "answer": "a"}
        for repeat in (0, 1)
        for name in ("b", "a")
    ]
    scored = workspace.scored(add_run(records, "run", "p", str(workspace.workspace.root)))
    found = rows_of(scored, [("a", 0), ("b", 1), ("a", 7), ("z", 0)])
    read = {
        (one["question_id"], one["repeat"]): row
        for row, one in enumerate(scored.samples.read(range(4), ["question_id", "repeat"]))
    }
    assert found == {case: read[case] for case in (("a", 0), ("b", 1))}
    assert rows_of(scored, []) == {}
