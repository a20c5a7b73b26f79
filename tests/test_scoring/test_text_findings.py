"""Faults that the texts of a run show without any judge: found, told first, and not shipped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import run as ragtriage

from ragtriage.dashboard.headlines.triage import report_headline
from ragtriage.data.api import add_run, gate
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings, diagnose
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.summaries import summarise
from ragtriage.metrics.sanity.documents import FAULTS_OF_TEXTS, read_first
from ragtriage.metrics.sanity.rule import Finding

N = 120
KEY = "sk-proj-abc123DEF456ghi789JKL012mno345"
Change = Callable[[int, dict[str, Any]], None]


def _samples(change: Change | None = None, n: int = N) -> list[dict[str, Any]]:
    """Return a run that ships: varied whole answers, with imported scores that hold."""
    samples = []
    for at in range(n):
        words = " and ".join(f"item {at * 7 % 31 + step}" for step in range(3 + at % 9))
        sample = {
            "question_id": f"q{at}",
            "question": f"What does paragraph {at} of the rules say about travel?",
            "answer": f"Paragraph {at} says that the traveller brings {words}. It holds for all staff.",
            "scores": dict.fromkeys(
                ("correctness", "faithfulness", "answer_relevancy"), 0.9 if at % 20 == 7 else 1.0
            ),
        }
        if change is not None:
            change(at, sample)
        samples.append(sample)
    return samples


def _checked(store: RunStore, samples: list[dict[str, Any]]) -> tuple[dict[str, Finding], Any]:
    run = add_run(samples, "V1", "shop", str(store.workspace.root))
    findings = check_run(store.scored(run))
    on_texts = {each.rule: each for each in findings if each.rule in ("secrets", *FAULTS_OF_TEXTS)}
    return on_texts, gate(run.run_id, workspace=str(store.workspace.root))


def test_whole_answers_raise_nothing_and_ship(workspace: RunStore) -> None:
    findings, report = _checked(workspace, _samples())
    assert not findings
    assert report.conclusion().state == "ship"


def _cut(at: int, sample: dict[str, Any]) -> None:
    sample["answer"] = sample["answer"][: 55 + at % 17]


def _cut_at_80(at: int, sample: dict[str, Any]) -> None:
    sample["answer"] = (sample["answer"] + f" It is of {1990 + at}, in a newer version, and applies.")[:80]


def _ended_by_limit(at: int, sample: dict[str, Any]) -> None:
    sample["finish_reason"] = "length" if at % 2 else "stop"


def _most_tokens(at: int, sample: dict[str, Any]) -> None:
    sample["output_tokens"] = 64 if at % 3 else 30 + at % 25
    if at % 3:
        sample["answer"] = sample["answer"][:-12]


@pytest.mark.parametrize(
    ("change", "least", "says"),
    [
        (_cut, 90, "middle of a sentence"),
        (_cut_at_80, 118, "at exactly 80 characters"),
        (_ended_by_limit, 60, "ended by the limit of tokens"),
        (_most_tokens, 80, "at exactly 64 tokens"),
    ],
)
def test_truncated_answers_are_told_first_and_never_ship(
    workspace: RunStore, change: Change, least: int, says: str
) -> None:
    findings, report = _checked(workspace, _samples(change))
    assert list(findings) == ["truncated"]
    assert least <= findings["truncated"].n_affected <= N
    assert says in findings["truncated"].message
    assert report.conclusion().state == "cannot_tell"
    assert report_headline(report).statement == f"V1: {findings['truncated'].title}"
    (fault,) = report.to_dict()["conclusion"]["faults"]
    assert fault == {"key": "truncated", "n": findings["truncated"].n_affected, "of": N}


def test_one_truncated_answer_is_a_note(workspace: RunStore) -> None:
    def change(at: int, sample: dict[str, Any]) -> None:
        if at == 5:
            sample["answer"] = sample["answer"].removesuffix("all staff.") + "the"

    findings, report = _checked(workspace, _samples(change))
    assert findings["truncated"].severity == "note"
    assert findings["truncated"].rows == (5,)
    assert report.conclusion().state == "ship"


@pytest.mark.parametrize(("few", "reference"), [(True, ""), (False, "as they write it without a mark")])
def test_answers_without_last_marks_may_be_a_style(workspace: RunStore, few: bool, reference: str) -> None:
    def change(at: int, sample: dict[str, Any]) -> None:
        if at % 3 or not few:
            sample["answer"] = sample["answer"].rstrip(".")
        if reference:
            sample["reference_answer"] = f"Paragraph {at} says what they bring, {reference}"

    assert "truncated" not in _checked(workspace, _samples(change))[0]


def test_long_answers_of_which_none_ends_with_a_mark_are_read_first(workspace: RunStore) -> None:
    def change(at: int, sample: dict[str, Any]) -> None:
        sample["answer"] = f"The warranty of product {at} covers parts and labour for the first two ye"

    findings, report = _checked(workspace, _samples(change))
    assert findings["truncated"].n_affected == N
    assert "labour for the first two ye”" in findings["truncated"].message
    assert report.conclusion().state == "cannot_tell"


def test_secrets_stop_the_release_masked_and_are_the_first_thing_said(
    workspace: RunStore, capsys: pytest.CaptureFixture[str]
) -> None:
    def change(at: int, sample: dict[str, Any]) -> None:
        sample["answer"] += f" Use {KEY}, and SSN 123-45-6789."
        if at == 0:
            sample["retrieved"] = [{"id": "d", "text": f"The key is {KEY}, the SSN 123-45-6789."}]

    findings, report = _checked(workspace, _samples(change))
    found = findings["secrets"]
    assert (found.severity, found.n_affected) == ("error", N)
    assert "API key sk-p…45 (120 times)" in found.message
    assert "In 1 answer it comes from the context" in found.message
    assert report.conclusion().state == "do_not_ship"
    assert report.exit_code() == 1
    assert report_headline(report).detail.startswith("Critical: 120 of 120 answers reveal an API key or a US")
    root: Path = workspace.workspace.root
    for command in ("gate", "diagnose", "check"):
        answer = ragtriage(capsys, root, command, report.run.run_id)
        assert KEY not in answer.out
        assert "123-45-6789" not in answer.out
        assert "120 answers reveal an API key" in " ".join(answer.out.split())


def test_what_the_question_or_the_reference_gives_is_no_leak(workspace: RunStore) -> None:
    def change(at: int, sample: dict[str, Any]) -> None:
        if at == 0:
            sample |= {"question": f"What is {KEY}?", "answer": f"{KEY} is a key for the test system only."}
        if at == 1:
            sample |= {"reference_answer": "DE89370400440532013000", "answer": "DE89 3704 0044 0532 0130 00"}

    findings, _ = _checked(workspace, _samples(change))
    assert "secrets" not in findings


def test_errors_with_a_text_are_missing_and_not_wrong(workspace: RunStore) -> None:
    def change(at: int, sample: dict[str, Any]) -> None:
        sample |= {"reference_answer": sample["answer"], "latency_ms": 900.0}
        if at < 4:
            sample |= {"answer": "504 Gateway Timeout", "latency_ms": 30_000.0}
        if at == 4:
            sample |= {"answer": "Paragraph 4 says th", "tags": {"error": "connection reset by peer"}}

    findings, report = _checked(workspace, _samples(change))
    assert findings["error_answers"].rows == (0, 1, 2, 3, 4)
    assert "4 % of all samples ended in an error" in findings["error_answers"].message
    diagnosis = report.diagnosis
    assert diagnosis is not None
    assert diagnosis.answers.missing == 5
    assert not diagnosis.bad.bad[:5].any()
    assert not (workspace.scored(report.run).values("correctness")[:5] >= 0).any()
    assert np.nanmax(workspace.scored(report.run).values("latency_ms")) == 900


def test_many_errors_stop_the_release(workspace: RunStore) -> None:
    def change(at: int, sample: dict[str, Any]) -> None:
        if at % 3 == 0:
            sample["answer"] = "Request timed out."

    _, report = _checked(workspace, _samples(change))
    assert report.conclusion().state == "do_not_ship"
    assert report_headline(report).detail.startswith("40 of 120 answers are errors")


def test_answers_in_another_language_than_the_question(workspace: RunStore) -> None:
    def change(at: int, sample: dict[str, Any]) -> None:
        if at % 2:
            sample["question"] = f"Was sagt Absatz {at} der Regeln über die Reisen der Angestellten?"
        if at == 1:
            sample["question"] += " Bitte auf Englisch."

    findings, report = _checked(workspace, _samples(change))
    found = findings["other_language"]
    assert found.n_affected == 59
    assert "59 of 59 to German questions" in found.message
    assert report.conclusion().state == "cannot_tell"


def test_an_answer_in_the_language_of_its_reference_is_none(workspace: RunStore) -> None:
    def change(at: int, sample: dict[str, Any]) -> None:
        sample["question"] = f"Was sagt Absatz {at} der Regeln über die Reisen der Angestellten?"
        sample["reference_answer"] = sample["answer"].replace("brings", "takes")

    findings, _ = _checked(workspace, _samples(change))
    assert not findings


def _one_text(at: int, sample: dict[str, Any]) -> None:
    sample["answer"] = "The premium plan covers all that is listed."
    sample["reference_answer"] = f"Item {at} of the list."


def _one_long_text(_at: int, sample: dict[str, Any]) -> None:
    sample["answer"] = "The premium plan covers all repairs that the contract lists, at any time of the year."


def _repeated(_at: int, sample: dict[str, Any]) -> None:
    sample["answer"] = sample["question"].upper()


def _asked_back(_at: int, sample: dict[str, Any]) -> None:
    sample["answer"] = f"You asked: “{sample['question']}”"


def _one_word(_at: int, sample: dict[str, Any]) -> None:
    sample["answer"] = "It is covered."


def _copied(_at: int, sample: dict[str, Any]) -> None:
    sample["reference_answer"] = sample["answer"]


def _copied_words(at: int, sample: dict[str, Any]) -> None:
    words = sample["answer"] if at % 3 else f"Item {at * 7 % 31} and others."
    sample["reference_answer"] = f" {words.rstrip('.').upper()} "


@pytest.mark.parametrize(
    ("change", "rule", "title"),
    [
        (_one_text, "same_answer", "120 of 120 questions get the same answer"),
        (_one_long_text, "same_answer", "120 of 120 questions get the same answer"),
        (_repeated, "echo", "120 of 120 answers repeat their question"),
        (_asked_back, "echo", "120 of 120 answers repeat their question"),
        (_one_word, "same_answer", "120 of 120 questions get the same answer"),
        (_copied, "copied_references", "120 of 120 long answers are their reference word for word"),
        (_copied_words, "copied_references", "80 of 120 long answers are their reference word for word"),
    ],
)
def test_answers_that_are_no_answers_are_said_first_and_do_not_ship(
    workspace: RunStore, change: Change, rule: str, title: str
) -> None:
    findings, report = _checked(workspace, _samples(change))
    assert (findings[rule].severity, findings[rule].title) == ("warning", title)
    assert report.conclusion().state == "cannot_tell"
    assert report_headline(report).statement == f"V1: {title}"


def _label(at: int, sample: dict[str, Any]) -> None:
    sample["answer"] = "Yes, the answer is present." if at % 3 else "No, it is absent from these."


def _label_of_references(at: int, sample: dict[str, Any]) -> None:
    _label(at, sample)
    sample["reference_answer"] = sample["answer"]


@pytest.mark.parametrize("change", [_label, _label_of_references])
def test_labels_may_well_be_the_same(workspace: RunStore, change: Change) -> None:
    assert "same_answer" not in _checked(workspace, _samples(change))[0]


@pytest.mark.parametrize("text", ["null", "None", "{}", "...", "TODO", "N/A"])
def test_what_stands_for_an_empty_answer_is_none(workspace: RunStore, text: str) -> None:
    def change(at: int, sample: dict[str, Any]) -> None:
        sample |= {"answer": text, "reference_answer": f"Bring item {at}."}

    _, report = _checked(workspace, _samples(change))
    assert report.conclusion().state == "do_not_ship"
    assert "right answers 0.00" in report_headline(report).detail


def test_a_run_that_was_given_its_gold_does_not_ship(workspace: RunStore) -> None:
    def change(_at: int, sample: dict[str, Any]) -> None:
        sample["context_mode"] = "oracle"

    conclusion = _checked(workspace, _samples(change))[1].conclusion()
    assert conclusion.state == "cannot_tell"
    assert conclusion.doubts == ("120 of 120 cases were given their gold, so retrieval is not tested",)


def test_questions_under_several_ids_shrink_n(workspace: RunStore) -> None:
    findings, report = _checked(
        workspace, _samples(lambda at, sample: sample.update(question=f"What does paragraph {at % 60} say?"))
    )
    assert dict(findings["asked_twice"].evidence) == {"questions": 120.0, "effective n": 60.0}
    assert "60 of them with different answers" in findings["asked_twice"].message
    assert report.conclusion().state == "cannot_tell"


def test_copies_of_a_question_narrow_no_interval(workspace: RunStore) -> None:
    def copied(times: int, **more: Any) -> tuple[float, ...]:
        samples = [
            {
                "question_id": f"{at}-{copy}",
                "question": f"What does paragraph {at} of the statute say?",
                "answer": "It allows it.",
                "scores": {"faithfulness": 0.2 if at % 5 == 0 else 1.0, "answer_correctness": 0.9},
                **{name: f"{value} {at // 2}-{copy}" for name, value in more.items()},
            }
            for copy in range(times)
            for at in range(40)
        ]
        run = add_run(samples, f"{times}{more}", "p", str(workspace.workspace.root))
        scored = workspace.scored(run)
        rate, metric = diagnose(scored, DiagnosisSettings()).pass_rate, summarise(scored)["faithfulness"]
        return rate.n_clusters, round(rate.low, 6), round(metric.low or 0, 6), round(metric.high or 0, 6)

    assert copied(5) == copied(1)
    assert copied(5)[0] == 40
    assert copied(3, conversation_id="talk")[0] == 20, "a conversation that is held again is no other"


def test_sources_that_are_asked_for_and_never_named(workspace: RunStore) -> None:
    asked = _samples(lambda _at, sample: sample.update(prompt="Answer briefly. Cite the sources as [1]."))
    findings, report = _checked(workspace, asked)
    assert findings["uncited"].n_affected == N
    assert report.conclusion().state == "cannot_tell"
    asked[0]["answer"] += " [1]"
    assert "uncited" not in _checked(workspace, asked)[0]


def test_notes_are_not_read_first() -> None:
    few = Finding("truncated", "note", "1 of 120 answers is cut off", "")
    assert not read_first([few])
