"""What is said of a run on the evidence there is; readings were written before the product was asked."""

from __future__ import annotations

from typing import Any

import pytest
from places import FIXTURES

from ragtriage.dashboard.headlines.triage import report_headline
from ragtriage.data.api import add_file, add_run, gate
from ragtriage.data.diagnosis.diagnosis import CheckedAnswers, DiagnosisSettings, diagnose
from ragtriage.data.gates.conclusion import conclude, exit_code
from ragtriage.data.gates.report import GateReport
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.metrics.gates.gates import Gate, GateResult
from ragtriage.metrics.sanity.rule import Finding

HELD = ("faithfulness", "answer_relevancy", "context_recall")


def _scores(at: int, *names: str) -> dict[str, float]:
    """Return scores that hold, and that vary as those of a judge do."""
    return dict.fromkeys([*HELD, *names], 0.9 if at % 20 == 7 else 1.0)


def _answers(n: int) -> list[dict[str, Any]]:
    return [
        {
            "question_id": f"q{at}",
            "question": f"{at}?",
            "answer": f"Yes, by rule {at}.",
            "scores": _scores(at),
        }
        for at in range(n)
    ]


def _report(store: RunStore, samples: list[dict[str, Any]], gates: str = "") -> GateReport:
    run = add_run(samples, "V1", "shop", str(store.workspace.root))
    path = store.workspace.root / "own.toml"
    path.write_text(gates, encoding="utf-8")
    return gate(run.run_id, config=str(path) if gates else None, workspace=str(store.workspace.root))


@pytest.mark.parametrize(
    ("name", "stage"), [("m_allwrong", "followed_noise"), ("m_f1zero", "wrong"), ("m_omits", "left_out")]
)
def test_answers_that_the_reference_contradicts_are_bad(workspace: RunStore, name: str, stage: str) -> None:
    path = FIXTURES / "situations" / f"{name}.jsonl"
    (run,) = add_file(str(path), workspace=str(workspace.workspace.root))
    diagnosis = diagnose(workspace.scored(run), DiagnosisSettings())
    assert int(diagnosis.bad.bad.sum()) == 20
    assert diagnosis.fix_first[0].key == stage
    assert gate(run.run_id, workspace=str(workspace.workspace.root)).conclusion().state != "ship"


def test_a_mean_f1_of_0_blocks_however_faithful_the_answers_are(workspace: RunStore) -> None:
    samples = _answers(120)
    for sample in samples:
        sample["scores"]["answer_f1"] = 0.0
    report = _report(workspace, samples)
    assert report.conclusion().state == "do_not_ship"
    assert "answer F1 0.00, needs 0.50" in report_headline(report).text


@pytest.mark.parametrize(("right", "state"), [(0, "not_checked"), (59, "not_checked"), (60, "ship")])
def test_half_of_the_answers_must_be_checked(workspace: RunStore, right: int, state: str) -> None:
    samples = _answers(120)
    for at, sample in enumerate(samples[:right]):
        sample["scores"] = _scores(at, "correctness")
    report = _report(workspace, samples)
    assert report.verdict == "PASS"
    assert report.conclusion().state == state
    headline = report_headline(report)
    assert (headline.state == "good") == (state == "ship")
    assert ("answers not checked" in headline.statement) == (state == "not_checked")
    assert report.to_dict()["conclusion"]["answers"]["checked"] == right


def test_a_run_without_answers_has_none_to_check(workspace: RunStore) -> None:
    samples = _answers(40)
    for sample in samples:
        del sample["answer"]
        sample["scores"] = {"context_recall": 1.0}
        sample["retrieved"] = [{"id": "a", "text": "b"}]
    assert _report(workspace, samples).conclusion().unchecked is False


def test_scores_of_answers_that_are_not_recorded_check_none(workspace: RunStore) -> None:
    samples = _answers(40)
    for sample in samples:
        del sample["answer"]
    report = _report(workspace, samples)
    assert report.conclusion().state == "not_checked"
    assert report_headline(report).detail.startswith("None of 40 answers was checked against a reference")


@pytest.mark.parametrize(
    ("kind", "state"), [("format", "not_checked"), ("router", "not_checked"), ("equals", "ship")]
)
def test_only_checks_of_the_content_check_an_answer(workspace: RunStore, kind: str, state: str) -> None:
    samples = _answers(40)
    for sample in samples:
        sample["checks"] = [{"name": "it", "kind": kind, "passed": True}]
    assert _report(workspace, samples).conclusion().state == state


@pytest.mark.parametrize(
    ("failing", "state", "said"),
    [
        (120, "do_not_ship", "checks of kind router: 0 % pass, 50 % must"),
        (60, "cannot_tell", "50 % of the cases are good and 50 % of the checks of kind router pass"),
        (12, "ship", "Pass rate 90 %"),
    ],
)
def test_a_suite_of_which_most_checks_fail_blocks(
    workspace: RunStore, failing: int, state: str, said: str
) -> None:
    samples = _right(120)
    for at, sample in enumerate(samples):
        sample["checks"] = [{"name": "route", "kind": "router", "passed": at >= failing}]
    report = _report(workspace, samples)
    assert report.conclusion().state == state
    assert said in report_headline(report).text


@pytest.mark.parametrize(("errors", "state"), [(60, "do_not_ship"), (6, "ship")])
def test_samples_that_end_in_an_error_are_missing(workspace: RunStore, errors: int, state: str) -> None:
    samples = _right(120)
    for sample in samples[:errors]:
        sample |= {"answer": "", "tags": {"error": "TimeoutError"}}
        sample["scores"] = dict.fromkeys(sample["scores"], 0.0)
    report = _report(workspace, samples)
    assert report.conclusion().state == state
    text = report_headline(report).text
    answered = f"answered {120 - errors} of 120 questions"
    assert (answered if errors > 6 else "6 of 120 questions ended in an error or without an answer") in text


def test_an_empty_answer_is_wrong_unless_there_is_none(workspace: RunStore) -> None:
    samples = _right(120)
    for sample in samples[:90]:
        sample |= {"answer": "", "scores": {}}
    report = _report(workspace, samples)
    assert report.conclusion().state == "do_not_ship"
    assert "right answers 0.25, needs 0.50" in report_headline(report).text
    for sample in samples[:90]:
        sample["answerable"] = "no"
    assert "right answers" not in report_headline(_report(workspace, samples)).text


def test_an_answer_that_says_more_than_asked_is_no_error(workspace: RunStore) -> None:
    more = {"answer_f1": 0.2, "answer_precision": 0.1, "answer_recall": 1.0}
    samples = _answers(40)
    for sample in samples:
        sample["scores"] |= more
    report = _report(workspace, samples)
    assert report.diagnosis is not None
    assert not report.diagnosis.bad.bad.any()
    assert report.diagnosis.answers.say_more == 40
    asked = "on average 10 % of what they claim was asked for"
    assert report_headline(report).detail.startswith(f"40 of 40 answers say more than asked: {asked}.")
    assert "answer_f1" not in [result.gate.metric for result in report.results], "the bundled gate"


def test_answers_beside_those_that_say_more_than_asked_are_judged_by_f1(workspace: RunStore) -> None:
    samples = _answers(40)
    for at, sample in enumerate(samples):
        wordy = {"answer_f1": 0.2, "answer_precision": 0.1, "answer_recall": 1.0}
        wrong = {"answer_f1": 0.1, "answer_precision": 0.1, "answer_recall": 0.1}
        sample["scores"] |= wordy if at < 20 else wrong
    (result,) = (each for each in _report(workspace, samples).results if each.gate.metric == "answer_f1")
    assert (result.verdict, result.n_scored) == ("FAIL", 20)


@pytest.mark.parametrize("fails", [0, 1])
def test_a_leak_between_accounts_blocks(workspace: RunStore, fails: int) -> None:
    samples = _answers(40)
    for at, sample in enumerate(samples):
        sample["scores"] = _scores(at, "correctness")
        sample["checks"] = [{"name": "leak", "kind": "isolation", "passed": at >= fails}]
    report = _report(workspace, samples)
    assert report.conclusion().state == ("do_not_ship" if fails else "ship")
    without = _report(workspace, _answers(40))
    assert "isolation" not in [result.gate.metric for result in without.results]


def _right(n: int, first: int = 0) -> list[dict[str, Any]]:
    samples = _answers(n + first)[first:]
    for at, sample in enumerate(samples):
        sample["scores"] = _scores(at, "correctness")
    return samples


def _against(store: RunStore, base: list[dict[str, Any]], samples: list[dict[str, Any]]) -> GateReport:
    root = str(store.workspace.root)
    before, run = (add_run(each, name, "shop", root) for each, name in ((base, "base"), (samples, "V2")))
    return gate(run.run_id, before.run_id, workspace=root)


def test_questions_left_out_are_not_passed(workspace: RunStore) -> None:
    report = _against(workspace, _right(100), _right(34))
    assert report.conclusion().state == "do_not_ship"
    assert "answered 34 of 100 questions of base" in report_headline(report).text
    sentence = next(each.sentence for each in report.results if each.gate.kind == "questions")
    assert "pass rate 100 % of those answered, 34 % with the missing ones as failed" in sentence


def test_a_few_questions_less_are_no_fault(workspace: RunStore) -> None:
    report = _against(workspace, _right(100), _right(95))
    assert [each for each in report.results if each.gate.kind == "questions"] == []
    assert report.conclusion().state == "ship"


def test_another_mix_of_questions_is_no_verdict_against_the_baseline(workspace: RunStore) -> None:
    report = _against(workspace, _right(100), _right(100, first=60))
    assert report.conclusion().state == "cannot_tell"
    mixed = "it shares 40 of the 100 questions of the baseline and asks 60 of its own"
    assert report_headline(report).doubt == mixed


def _result(verdict: str, required: bool = False) -> GateResult:
    gate = Gate("m", 0.5, False, "block", "", required=required)
    return GateResult(gate, verdict, None, None, None, 0)  # type: ignore[arg-type]


CHECKED, UNCHECKED = CheckedAnswers(100, 100, 0, 0), CheckedAnswers(100, 0, 0, 0)
ALL = ("do_not_ship", "cannot_tell", "not_checked")


@pytest.mark.parametrize(
    ("verdicts", "required", "answers", "state", "code", "all_codes"),
    [
        (["PASS"], False, CHECKED, "ship", 0, 0),
        (["PASS", "FAIL"], False, CHECKED, "do_not_ship", 1, 1),
        (["PASS", "INCONCLUSIVE"], False, CHECKED, "cannot_tell", 0, 3),
        (["PASS", "INCONCLUSIVE"], True, CHECKED, "cannot_tell", 1, 1),
        (["PASS", "UNMEASURED"], False, CHECKED, "cannot_tell", 0, 3),
        (["UNMEASURED"], False, CHECKED, "not_checked", 3, 3),
        (["PASS"], False, UNCHECKED, "not_checked", 0, 3),
    ],
)
def test_the_exit_code_follows_the_state(
    verdicts: list[str], required: bool, answers: CheckedAnswers, state: str, code: int, all_codes: int
) -> None:
    results = [_result(verdict, required) for verdict in verdicts]
    concluded = conclude(results, answers)
    assert concluded.state == state
    assert exit_code(concluded, results) == code
    assert exit_code(concluded, results, ALL) == all_codes
    assert exit_code(concluded, results, ("cannot_tell",)) == (3 if state == "cannot_tell" else 0)


def test_a_run_of_which_most_cases_are_bad_is_never_ready(workspace: RunStore) -> None:
    """A gate that asks for less than the thresholds of a case holds, and yet the conclusion is open."""
    samples = _answers(40)
    for at, sample in enumerate(samples):
        sample["scores"] = {"faithfulness": 0.6 + at / 1000}
        sample["checks"] = [{"name": "it", "kind": "equals", "passed": True}]
    lenient = '[[gate]]\nmetric = "faithfulness"\nat_least = 0.5\nseverity = "block"\n'
    unmeasured = lenient.replace("faithfulness", "answer_relevancy")
    assert _report(workspace, samples, lenient).conclusion().state == "cannot_tell"
    assert "0 % of the cases are good" in report_headline(_report(workspace, samples, lenient)).statement
    assert _report(workspace, samples, unmeasured).conclusion().state == "do_not_ship"


def _contradicted(report: GateReport) -> list[Finding]:
    return [finding for finding in report.findings if finding.rule == "contradicted_scores"]


def test_scores_that_call_wrong_numbers_right_are_not_shipped(workspace: RunStore) -> None:
    samples = _answers(120)
    for at, sample in enumerate(samples):
        sample |= {
            "question": f"What does {at} cost?",
            "reference_answer": f"It costs {100 + at} euros.",
        }
        sample["answer"] = f"It costs {900 + at} euros."
        sample["scores"] |= {"answer_correctness": 0.88 + at / 1000}
    concluded = _report(workspace, samples).conclusion()
    doubt = "120 of 120 answers that answer correctness calls right differ from the reference by their words"
    assert (concluded.state, concluded.doubts[0]) == ("cannot_tell", doubt)
    step = concluded.next_steps[0]
    assert (step.horizon, step.kind, step.key, step.n) == ("now", "finding", "contradicted_scores", 120)


def test_correctness_that_the_words_contradict_is_doubted(workspace: RunStore) -> None:
    samples = _answers(40)
    for at, sample in enumerate(samples):
        sample |= {"question": f"Who wrote book {at}?", "reference_answer": "Jane Austen"}
        sample["scores"] |= {"correctness": 0.9 + at / 1000}
        sample["answer"] = "Jane Austen" if at < 15 else "Charles Dickens"
    report = _report(workspace, samples)
    concluded, (finding,) = report.conclusion(), _contradicted(report)
    doubt = "25 of 40 answers that correctness calls right differ from the reference by their words"
    assert (concluded.state, doubt in concluded.doubts) == ("cannot_tell", True)
    assert (finding.severity, finding.rows, finding.title) == ("warning", tuple(range(15, 40)), doubt)
    for sample in samples[15:24]:  # fewer than half of them, and yet more than words err by
        sample["answer"] = "Jane Austen"
    report = _report(workspace, samples)
    assert (report.conclusion().state, _contradicted(report)[0].n_affected) == ("cannot_tell", 16)
    for sample in samples[24:28]:
        sample["answer"] = "Jane Austen"
    assert _contradicted(_report(workspace, samples)) == []
    assert _report(workspace, samples).conclusion().state == "ship"
    assert doubt.split(" of ")[1] not in str(_report(workspace, samples).conclusion().doubts)
