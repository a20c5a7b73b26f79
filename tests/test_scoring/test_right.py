"""Right, the first part of a good case: what it is taken from, and what is said of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from command_line import run

from ragtriage.dashboard.headlines.diagnosis import diagnosis_headline
from ragtriage.dashboard.headlines.triage import report_headline
from ragtriage.dashboard.pages.cases.open_case import scores_with_thresholds
from ragtriage.dashboard.wording.diagnosis import stage_evidence
from ragtriage.dashboard.wording.main_loss import loss_sentence
from ragtriage.dashboard.wording.right import right_by_text_sentence, right_sentences
from ragtriage.data.api import add_run, gate
from ragtriage.data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings, diagnose, passing_of
from ragtriage.data.diagnosis.good_case import case_parts, corrected_right_rate, right_by_context
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.ledger import Verdict
from ragtriage.metrics.diagnosis.stages import STAGES

RIGHT, OTHER, OPEN, REFUSED = "It is Ann Lee.", "It is Bob Ray.", "It is Lee Ray.", "I cannot answer that."
CLAIMS = {
    "claims": [{"text": "Bob Ray.", "in_reference": True}],
    "reference_claims": [{"text": "Bob Ray.", "in_answer": True}],
}
GOLD, NOISE = {"id": "gold", "text": "Ann Lee leads it."}, {"id": "noise", "text": "Bob Ray is a cook."}


def _sample(at: int, answer: str, **more: Any) -> dict[str, Any]:
    question = {"question_id": f"q{at:03}", "question": f"Who leads team {at}?"}
    return {**question, "answer": answer, "reference_answer": "Ann Lee", **more}


def _add(store: RunStore, samples: list[dict[str, Any]]) -> str:
    return add_run(samples, "run", "p", str(store.workspace.root)).run_id


def _diagnosis(store: RunStore, samples: list[dict[str, Any]]) -> Diagnosis:
    found = store.find(_add(store, samples))
    return diagnose(store.scored(found), DiagnosisSettings(), store.ledger.labels(found.run_id))


def _answers(**counts: int) -> list[dict[str, Any]]:
    texts = {"right": RIGHT, "other": OTHER, "open": OPEN, "refused": REFUSED}
    answers = [texts[kind] for kind, n in counts.items() for _ in range(n)]
    return [_sample(at, answer) for at, answer in enumerate(answers)]


def test_answers_and_references_alone_are_measured_by_their_words(workspace: RunStore) -> None:
    found = _diagnosis(workspace, _answers(right=6, other=2, refused=1, open=1))
    np.testing.assert_array_equal(passing_of(found), [1] * 6 + [0] * 3 + [np.nan])
    assert found.coverage.names == ("right_by_text", "answerability")
    assert found.pass_rate.mean == pytest.approx(6 / 9)
    stages = [STAGES[code].key for code in found.stages.stage[found.bad.bad]]
    assert stages == ["wrong", "wrong", "refused"]
    assert (found.answers.enough, found.answers.by_text) == (True, 8)
    assert right_by_text_sentence(found) == (
        "6 of 9 answers are right by their words (an estimate); 1 refused; the words of 1 more do not decide."
    )
    assert "refused a question that has an answer" in stage_evidence(found, {"row": 8})
    headline = diagnosis_headline("run", found, ())
    assert headline.statement == "run: 3 of 9 answers do not match the reference, 1 refused"
    assert "at which stage" in headline.detail
    sample = {"row": 6}
    assert stage_evidence(found, sample).endswith("estimated from its words")


def test_an_answer_whose_words_do_not_decide_is_not_called_good_by_its_context(workspace: RunStore) -> None:
    gold = {"relevant": [{"id": "gold"}]}
    samples = [_sample(at, RIGHT, retrieved=[GOLD], **gold) for at in range(6)]
    samples += [_sample(6, OPEN, retrieved=[GOLD], **gold), _sample(7, OPEN, retrieved=[NOISE], **gold)]
    # the last one is bad by its context, whatever its words
    np.testing.assert_array_equal(passing_of(_diagnosis(workspace, samples)), [1] * 6 + [np.nan, 0])


def test_where_too_few_words_decide_there_are_bounds_and_no_verdict(workspace: RunStore) -> None:
    found = _diagnosis(workspace, _answers(right=4, other=2, open=4))
    assert not found.measured.any()
    assert right_by_text_sentence(found) == (
        "Between 40 % and 80 % of 10 answers are right by their words; label all of them to know. "
        "2 clearly say something else: read them."
    )
    report = gate(found.scored.run.run_id, workspace=str(workspace.workspace.root))
    assert "Between 40 % and 80 %" in report_headline(report).detail


@pytest.mark.parametrize(
    ("more", "metric"),
    [
        ({"scores": {"correctness": 1.0}}, "correctness"),
        ({"scores": {"answer_correctness": 0.5}}, "answer_correctness"),
        ({"scores": {"factual_correctness": 0.9, "answer_f1": 0.1}}, "factual_correctness"),
        ({"scores": {"correctness": 1.0, "answer_correctness": 0.1}}, "correctness"),
        ({"scores": {"answer_f1": 0.9}}, "answer_f1"),
        (CLAIMS, "answer_f1"),
    ],
)
def test_words_are_no_verdict_where_something_better_is_known(
    workspace: RunStore, more: dict[str, Any], metric: str
) -> None:
    found = _diagnosis(workspace, [_sample(0, OTHER, **more), *(_sample(at, RIGHT) for at in range(1, 6))])
    part = case_parts(found, 0)[0]
    assert (part.key, part.metric, part.good) == ("right", metric, True)
    assert case_parts(found, 1)[0].metric == "right_by_text"
    assert case_parts(found, 1)[0].source == "estimated"
    assert found.right.wording.n == 5


@pytest.mark.parametrize("metric", ["answer_correctness", "factual_correctness"])
def test_imported_correctness_tells_what_is_right(workspace: RunStore, metric: str) -> None:
    samples = [
        {**_sample(at, OPEN), "scores": {metric: 0.1 if at < 12 else 0.8, "faithfulness": 0.95 + at / 1000}}
        for at in range(40)
    ]
    found = _diagnosis(workspace, samples)
    np.testing.assert_array_equal(passing_of(found), [0] * 12 + [1] * 28)
    assert (found.answers.checked, found.answers.by_text) == (40, 0)
    named = metric.replace("_", " ")
    assert right_sentences(found)[0] == f"Right: 28 of 40 answers by imported {named} (0.50 or more)."
    assert case_parts(found, 0)[0].source == "imported"
    assert stage_evidence(found, {"row": 0}).startswith(f"imported {named} 0.10 with faithfulness 0.95")


@pytest.mark.parametrize("metric", ["answer_similarity", "rouge_l", "bleu", "bert_score"])
def test_a_similarity_does_not_tell_what_is_right(workspace: RunStore, metric: str) -> None:
    samples = [{**_sample(at, OPEN), "scores": {metric: at / 40}} for at in range(40)]
    found = _diagnosis(workspace, samples)
    assert found.answers.checked == 0
    assert not found.measured.any()


def test_a_persons_label_outranks_every_source(workspace: RunStore) -> None:
    run_id = _add(workspace, _answers(right=4, other=1))
    workspace.ledger.add_label((run_id, "q004", 0), "ann", "pass")
    found = diagnose(
        workspace.scored(workspace.find(run_id)), DiagnosisSettings(), workspace.ledger.labels(run_id)
    )
    part = case_parts(found, 4)[0]
    assert (part.metric, part.source, part.good) == ("label", "human", True)
    assert passing_of(found)[4] == 1


def test_right_without_its_context_and_wrong_with_it_are_counted_and_named(workspace: RunStore) -> None:
    gold = {"relevant": [{"id": "gold"}]}
    samples = [_sample(at, RIGHT, retrieved=[NOISE], **gold) for at in range(6)]
    samples += [_sample(at, OTHER, retrieved=[GOLD], **gold) for at in range(6, 8)]
    samples += [_sample(8, RIGHT, retrieved=[GOLD], **gold), _sample(9, REFUSED, retrieved=[GOLD], **gold)]
    found = _diagnosis(workspace, samples)
    counts = right_by_context(found)
    assert (counts.right_without, counts.n_without) == (6, 6)
    assert (counts.wrong_complete, counts.n_complete) == (2, 3)
    [wrong] = right_sentences(found)[1:]  # the first sentence on the run says the other
    assert loss_sentence(found, ()).startswith("6 of 10 cases lack the answer in the context, and 6 of these")
    assert wrong.startswith("Wrong with complete context: 2 of 3 answers")


def test_refusals_alone_are_no_answers_that_are_right_by_their_words(workspace: RunStore) -> None:
    scores = {"correctness": 1.0}
    samples = [{**_sample(at, OTHER), "scores": scores} for at in range(6)]
    samples += [_sample(at, REFUSED) for at in range(6, 9)]
    assert right_by_text_sentence(_diagnosis(workspace, samples)) == ""


def test_twenty_labels_drawn_at_random_correct_the_share(workspace: RunStore) -> None:
    run_id = _add(workspace, _answers(right=30, open=20))
    for at in range(20):  # every third answer whose words do not decide is right
        row = at if at < 10 else 20 + at
        verdict: Verdict = "pass" if at < 10 or at % 3 == 0 else "fail"
        workspace.ledger.add_label((run_id, f"q{row:03}", 0), "ann", verdict, queue_id=1)
    labels = workspace.ledger.labels(run_id)
    scored = workspace.scored(workspace.find(run_id))
    corrected = corrected_right_rate(diagnose(scored, DiagnosisSettings(), labels))
    assert corrected is not None
    assert corrected.n_labelled == 20
    assert corrected.mean == pytest.approx(0.6 * (10.5 / 11) + 0.4 * (3.5 / 11), abs=0.01)
    assert corrected.low < 0.7 < corrected.high
    assert corrected_right_rate(diagnose(scored, DiagnosisSettings(), labels[:19])) is None


def test_diagnose_says_the_four_parts(workspace: RunStore, capsys: pytest.CaptureFixture[str]) -> None:
    run_id = _add(workspace, _answers(right=6, other=2, refused=1, open=1))
    answer = run(capsys, workspace.workspace.root, "diagnose", run_id, "--json").json
    assert answer["parts"]["right"] == {
        "n_known": 9, "n_good": 6, "threshold": 0.5, "taken_from": {"answerability": 1, "right_by_text": 8}
    }  # fmt: skip
    assert answer["parts"]["grounded"]["n_known"] == 0
    assert list(answer["parts"]) == ["right", "grounded", "found", "on_question"]
    by_text = {"n": 10, "same": 6, "other": 3, "undecided": 1, "has_rate": True}
    assert answer["right"]["by_text"] == by_text


def test_the_open_case_shows_all_four_parts_with_source_and_threshold(workspace: RunStore) -> None:
    samples = _answers(right=6, other=2, refused=1, open=1)
    samples[0]["scores"] = {"faithfulness": 0.9}
    found = _diagnosis(workspace, samples)
    shown = [
        scores_with_thresholds(found, sample)[:4]
        for sample in found.scored.samples.read([0, 8, 9], ("row", "scores"))
    ]
    titles = [[score.title for score in scores] for scores in shown]
    assert titles[0][:2] == ["Right: Right by text", "Grounded: Faithfulness"]
    assert titles[0][2:] == ["Found", "On the question: Answer relevancy"]
    assert [(scores[0].title, scores[0].source) for scores in shown[1:]] == [
        ("Right to refuse", "estimated"),
        ("Right", ""),
    ]
    assert "do not decide" in shown[2][0].help
    assert [score.threshold for score in shown[0]] == [0.5, 0.8, 0.5, 0.5]
