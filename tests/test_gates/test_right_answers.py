"""A run of which most answers are wrong is never ready, whatever its gates look at."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from ragtriage.dashboard.headlines.triage import report_headline
from ragtriage.data.api import add_run, gate
from ragtriage.data.gates.report import GateReport
from ragtriage.data.labels.ratings import queue_state, start_queue
from ragtriage.data.scoring.run_store import RunStore

SCORES = {"faithfulness": 0.97, "answer_relevancy": 0.95}


def _gated(store: RunStore, answers: list[str], **more: Any) -> GateReport:
    """Gate a run of 40 questions about years, whose scores all hold, by the bundled gates."""
    samples = [
        {
            "question": f"When was treaty {at} signed?",
            "answer": answers[at % len(answers)].format(year=1700 + at),
            "reference_answer": f"In {1700 + at}.",
            "scores": {name: score - at % 3 / 100 for name, score in SCORES.items()},
            **more,
        }
        for at in range(40)
    ]
    root = str(store.workspace.root)
    return gate(add_run(samples, "run", workspace=root).run_id, workspace=root)


@pytest.mark.parametrize("more", [{}, {"scores": {**SCORES, "correctness": 0.1}}])
def test_wrong_answers_are_not_shipped(workspace: RunStore, more: dict[str, Any]) -> None:
    report = _gated(workspace, ["It was Napoleon in 1666."], **more)
    assert (report.verdict, report.exit_code(), report.conclusion().state) == ("FAIL", 1, "do_not_ship")
    assert report.results[-1].sentence.startswith("Right answers: 0.00 [0.00, 0.09] over 40 of 40 questions")


def test_a_run_of_which_half_is_wrong_cannot_be_told(workspace: RunStore) -> None:
    report = _gated(workspace, ["In {year}.", ""])
    assert report.conclusion().state == "cannot_tell"
    assert report.conclusion().doubts[0] == "50 % of the answers are right"


def test_few_right_answers_are_named_however_few_the_questions(workspace: RunStore) -> None:
    report = _gated(workspace, ["In {year}.", "In {year}.", "In 1666."])
    assert report.conclusion().state == "cannot_tell"
    assert report.conclusion().doubts == ("68 % of the answers are right",)


def test_right_answers_need_no_gate_of_their_own(workspace: RunStore) -> None:
    report = _gated(workspace, ["In {year}."])
    assert report.conclusion().state == "ship"
    assert "right answers" not in [result.gate.metric for result in report.results]


def test_a_change_that_holds_does_not_make_mostly_bad_cases_good(workspace: RunStore) -> None:
    samples = [
        {
            "question": f"When was treaty {at} signed?",
            "retrieved": [{"doc_id": f"d{at}" if at % 3 == 0 else f"x{at}"}],
            "gold_doc_ids": [f"d{at}"],
        }
        for at in range(60)
    ]
    root = str(workspace.workspace.root)
    base, run = (add_run(samples, name, workspace=root, config={"name": name}) for name in ("V1", "V2"))
    alone, compared = gate(base.run_id, workspace=root), gate(run.run_id, base.run_id, workspace=root)
    rate = {each.gate.kind: each.verdict for each in compared.results if each.gate.metric == "pass rate"}
    assert rate == {"mean": "FAIL", "regression": "PASS"}
    assert (alone.conclusion().state, compared.conclusion().state) == ("do_not_ship", "do_not_ship")


def test_wrong_refusals_do_not_stand_for_answers_that_nobody_checked(workspace: RunStore) -> None:
    samples = [
        {
            "question": f"When was treaty {at} signed?",
            "answer": ""
            if at < 8
            else f"After the long war of {1600 + at}, at a conference in the mountains.",
            "scores": {} if at < 8 else SCORES,
        }
        for at in range(40)
    ]
    root = str(workspace.workspace.root)
    report = gate(add_run(samples, "run", workspace=root).run_id, workspace=root)
    assert report.conclusion().state == "not_checked"
    assert report.halves == {}


def test_numbers_beyond_all_scales_are_left_out_without_a_warning(workspace: RunStore) -> None:
    samples = [
        {
            "question": f"What is {at}?",
            "answer": "A number.",
            "latency_ms": 1e308,
            "scores": {"faithfulness": 1e308, "odd": 1e308, "even": -1e308 if at % 2 else 1.0},
        }
        for at in range(40)
    ]
    root = str(workspace.workspace.root)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        run = add_run(samples, "run", workspace=root)
        assert gate(run.run_id, workspace=root).conclusion().state == "not_checked"
        summary = workspace.summary(run)
    assert {name: summary[name].n_scored for name in ("latency_ms", "odd", "even") if name in summary} == {
        "latency_ms": 0,
        "odd": 0,
        "even": 20,
    }


def _read_by_people(store: RunStore, *labels: tuple[int, str, str]) -> tuple[str, tuple[str, ...]]:
    """Return state and doubts of a run that ships by its scores, with labels (question, person, verdict)."""
    names = ("answer_correctness", "faithfulness", "answer_relevancy")
    records = [
        {
            "question_id": f"q{at:03d}",
            "question": f"What does clause {at} say?",
            "answer": f"Clause {at} says that item {at} is covered, up to {at + 90} euros.",
            "scores": dict.fromkeys(names, 0.95 if at % 9 else 1.0),
        }
        for at in range(100)
    ]
    run = add_run(records, "V1", "shop", str(store.workspace.root))
    for at, person, verdict in labels:
        store.ledger.add_label((run.run_id, f"q{at:03d}", 0), person, "pass" if verdict == "pass" else "fail")
    conclusion = gate(run.run_id, workspace=str(store.workspace.root)).conclusion()
    return conclusion.state, conclusion.doubts


def test_people_who_contradict_the_scores_keep_a_run_from_shipping(workspace: RunStore) -> None:
    assert _read_by_people(workspace) == ("ship", ())
    agreeing = [(at, "ann", "fail" if at == 3 else "pass") for at in range(12)]
    assert _read_by_people(workspace, *agreeing) == ("ship", ())
    state, doubts = _read_by_people(workspace, *[(at, "ann", "fail") for at in range(20, 28)])
    assert (state, doubts) == ("cannot_tell", ("people call 9 of 20 answers bad that scores call right",))


def test_people_who_contradict_one_another_keep_a_run_from_shipping(workspace: RunStore) -> None:
    labels = [(at, person, verdict) for at in range(8) for person, verdict in (("a", "pass"), ("b", "fail"))]
    state, doubts = _read_by_people(workspace, *labels, *[(at, "a", "pass") for at in range(30, 90)])
    assert (state, doubts) == ("cannot_tell", ("people differ on 8 of 8 cases that several read",))


@pytest.mark.parametrize(
    ("names", "wrong", "state", "said"),
    [
        (("answer_correctness",), 0, "ship", "ready to ship"),
        (("answer_correctness", "faithfulness"), 4, "ship", "ready to ship"),
        (("answer_correctness",), 20, "cannot_tell", "right answers 0.80, needs 0.75"),
        (("answer_correctness",), 45, "cannot_tell", "45 of 100 cases are bad"),
        (
            ("answer_correctness", "faithfulness", "answer_relevancy"),
            45,
            "cannot_tell",
            "55 % of the answers",
        ),
        (("faithfulness",), 0, "not_checked", "answer relevancy not measured"),
    ],
)
def test_right_answers_stand_for_gates_that_are_not_measured(
    workspace: RunStore, names: tuple[str, ...], wrong: int, state: str, said: str
) -> None:
    """What is right and in nothing that was measured bad may ship; many wrong answers never do."""
    root = str(workspace.workspace.root)
    samples = [
        {
            "question": f"What does clause {at} say?",
            "answer": f"Clause {at} says that item {at} is covered, up to {at + 90} euros.",
            "scores": dict.fromkeys(names, 0.9 + at % 10 / 100)
            | ({"answer_correctness": at / 1000} if at < wrong else {}),
        }
        for at in range(100)
    ]
    run = add_run(samples, "V1", "shop", root)
    report = gate(run.run_id, workspace=root)
    assert (report.conclusion().state, said in report_headline(report).text) == (state, True)
    assert report.conclusion(strict=True).state != "ship" or len(names) == 3


def test_checks_without_answers_stand_for_no_answers(workspace: RunStore) -> None:
    """That memory finds its facts says what was retrieved; no answer was given, so none is right."""
    samples = [
        {
            "question": f"Which room did I book in week {at}?",
            "retrieved": [{"id": f"d{at}", "text": f"Room {at} in week {at}."}],
            "checks": [{"name": "room", "kind": "memory", "expected": f"Room {at}", "passed": True}],
        }
        for at in range(60)
    ]
    root = str(workspace.workspace.root)
    report = gate(add_run(samples, "run", workspace=root).run_id, workspace=root)
    assert "right answers" not in {result.gate.metric for result in report.results}
    assert report.conclusion().state == "not_checked"


@pytest.mark.parametrize("labels", [0, 20])
def test_words_stand_for_no_gate_unless_labels_correct_them(workspace: RunStore, labels: int) -> None:
    report = _gated(workspace, ["In {year}."], scores={})
    assert report.conclusion().state == "not_checked"
    run = workspace.find(report.run.run_id)
    queue = start_queue(workspace.ledger, run.run_id, "pass", "Ann")
    for row in queue_state(workspace.ledger, workspace.scored(run), queue).remaining[:labels]:
        question = str(workspace.scored(run).question_ids[workspace.scored(run).question[row]])
        workspace.ledger.add_label((run.run_id, question, 0), "Ann", "pass", queue_id=queue.queue_id)
    state = gate(run.run_id, workspace=str(workspace.workspace.root)).conclusion().state
    assert state == ("ship" if labels else "not_checked")


def test_right_answers_stand_for_no_score_on_an_undeclared_scale(workspace: RunStore) -> None:
    root = str(workspace.workspace.root)
    samples = [
        {
            "question": f"What does clause {at} say?",
            "answer": f"Clause {at} says that item {at} is covered, up to {at + 90} euros.",
            "scores": {"answer_correctness": 0.9 + at % 10 / 100, "faithfulness": 2 + at % 4},
        }
        for at in range(100)
    ]
    report = gate(add_run(samples, "V1", "shop", root).run_id, workspace=root)
    assert report.conclusion().state == "cannot_tell"
    assert "to be declared first" in report_headline(report).statement


def test_right_refusals_and_wordy_answers_stand_for_nothing(workspace: RunStore) -> None:
    root = str(workspace.workspace.root)
    refused = [
        {"question": f"Who owns plot {at}?", "answer": "I cannot answer that.", "answerable": "no"}
        for at in range(60)
    ]
    report = gate(add_run(refused, "refusals", "shop", root).run_id, workspace=root)
    assert report.conclusion().state == "not_checked"
    claims = {"answer_f1": 0.2, "answer_precision": 0.1, "answer_recall": 1.0, "faithfulness": 0.95}
    wordy = [
        {
            "question": f"Who owns plot {at}?",
            "answer": f"Owner {at}, who came in {1900 + at}.",
            "scores": claims,
        }
        for at in range(60)
    ]
    report = gate(add_run(wordy, "wordy", "shop", root).run_id, workspace=root)
    assert report.conclusion().state == "cannot_tell"
    assert report_headline(report).statement == "wordy: no verdict; 60 of 60 answers say more than asked"


def _with_languages(good_of_40: int) -> list[dict[str, Any]]:
    """Return samples of 160 English questions, nearly all right, and 40 German ones."""
    return [
        {
            "question": f"What does clause {at} say?",
            "answer": f"Clause {at} says that item {at} is covered, up to {at + 90} euros.",
            "tags": {"language": "de" if at % 5 == 0 else "en"},
            "scores": dict.fromkeys(("faithfulness", "answer_relevancy"), 0.9 + at % 10 / 100)
            | {"answer_correctness": 0.1 if at % 5 == 0 and at // 5 >= good_of_40 else 0.9 + at % 7 / 100},
        }
        for at in range(200)
    ]


@pytest.mark.parametrize(("good", "state"), [(20, "cannot_tell"), (28, "ship"), (40, "ship")])
def test_a_language_of_which_many_fail_keeps_a_run_from_shipping(
    workspace: RunStore, good: int, state: str
) -> None:
    root = str(workspace.workspace.root)
    report = gate(add_run(_with_languages(good), "V1", "shop", root).run_id, workspace=root)
    assert report.conclusion().state == state
    if state == "cannot_tell":
        assert "50 % of the questions with language de are good" in report_headline(report).statement


def test_a_gate_of_ones_own_must_be_measured_unless_the_file_says_otherwise(workspace: RunStore) -> None:
    """Faithfulness is not measured; right answers stand in for it only where the file allows it."""
    root = workspace.workspace.root
    samples = _with_languages(40)
    for sample in samples:
        del sample["scores"]["faithfulness"], sample["scores"]["answer_relevancy"]
    run = add_run(samples, "V1", "shop", str(root))
    plain = '[[gate]]\nmetric = "faithfulness"\nat_least = 0.85\nseverity = "block"\n'
    states = []
    for more in ("", "unless_right = true\n", "unless_right = false\n", "required = true\n"):
        (root / "gates.toml").write_text(plain + more, encoding="utf-8")
        states.append(gate(run.run_id, workspace=str(root)).conclusion().state)
    assert states == ["not_checked", "ship", "not_checked", "not_checked"]
