"""Paraphrases by a model: planned, asked once, kept, within the budget, and named as the model's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Answer, run
from judge_server import JudgeServer, Script, parts_of
from reading_systems import write_questions

from ragtriage.data.api import open_store
from ragtriage.data.experiments.experiment import experiments
from ragtriage.data.experiments.questions import AskedQuestion, Questions
from ragtriage.data.experiments.stability import paraphrase_requests
from ragtriage.data.judge.reply_model import ReplyError

Capture = pytest.CaptureFixture[str]
MODEL = "claude-haiku-4-5"


def _three(body: dict[str, Any]) -> object:
    question = parts_of(body)["question"][0][1]
    return {"paraphrases": [f"{start} {question}" for start in ("Say:", "I ask:", "Please tell:")]}


@pytest.fixture
def questions(tmp_path: Path) -> str:
    """Four questions, the first with a paraphrase of its own."""
    path = write_questions(tmp_path / "codes.jsonl", 4)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows[0]["paraphrases"] = ["Which code has item000?"]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return str(path)


def stability(capsys: Capture, tmp_path: Path, questions: str, *more: str) -> Answer:
    words = ("experiment", "stability", "--system", "builtin", "--questions", questions, "--yes")
    return run(capsys, tmp_path / "w", *words, "--repeats", "2", "--paraphrase-model", MODEL, *more)


def test_questions_without_paraphrases_get_those_of_the_model_once(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, questions: str
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-secret")
    with JudgeServer(Script(reply=_three)) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        planned = stability(capsys, tmp_path, questions, "--dry-run", "--json").json
        assert not server.asked
        first = stability(capsys, tmp_path, questions)
        asked = len(server.asked)
    again = stability(capsys, tmp_path, questions, "--json")  # without the service
    assert again.code == 0, again.err
    assert (planned["paraphrases"]["calls"], planned["paraphrases"]["cached"]) == (3, 0)
    assert planned["paraphrases"]["cost_usd"] > 0
    assert first.code == 0, first.err
    assert asked == 3
    assert "calls      3 to make" in first.err
    said = " ".join(first.out.split())
    assert (
        "Of 4 questions, 1 have paraphrases of their own; 3 have paraphrases written by claude-haiku-4-5"
        in said
    )
    assert again.json["progress"]["asked"] == 0
    (experiment,) = experiments(open_store(str(tmp_path / "w")).workspace)
    assert experiment.parameters["paraphrase_model"] == MODEL
    store = open_store(str(tmp_path / "w"))
    (reworded,) = (run for run in store.runs(experiment.project) if run.name == "Reworded 1")
    texts = [sample["question"] for sample in store.scored(reworded).samples.read(range(4), ("question",))]
    assert texts[0] == "Which code has item000?"
    assert texts[1] == "Say: What is the code of item001?"


def test_a_budget_too_small_for_a_paraphrase_ends_it_in_one_sentence(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, questions: str
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-secret")
    with JudgeServer(Script(reply=_three)) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        answer = stability(capsys, tmp_path, questions, "--budget", "0.0001")
        assert not server.asked
    assert answer.code == 2
    assert "the budget of $0.0001 is smaller than the most that one call can cost" in answer.err
    assert "the same command goes on from here" in answer.err


def test_what_was_paraphrased_before_a_stop_is_not_asked_again(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, questions: str
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-secret")

    with JudgeServer(Script(reply=_three)) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        two = stability(capsys, tmp_path, questions, "--limit", "3")
        assert two.code == 0, two.err
        assert len(server.asked) == 2
        whole = stability(capsys, tmp_path, questions)
        assert whole.code == 0, whole.err
        assert len(server.asked) == 3
    assert "1 to make, 2 of 3 are there already" in whole.err


def test_paraphrases_and_no_rewording_are_not_both_accepted(
    capsys: Capture, tmp_path: Path, questions: str
) -> None:
    answer = stability(capsys, tmp_path, questions, "--no-rewording")
    assert answer.code == 2
    assert "accepted: one of them" in answer.err


@pytest.mark.parametrize(
    "texts", [["What is it?", "what is it", "Which?"], ["Which?", "Which", "which ?"], [], ["a", " ", "b"]]
)
def test_three_that_differ_are_accepted_and_no_fewer(texts: list[str]) -> None:
    asked = paraphrase_requests(Questions("q", (AskedQuestion("q1", "What is it?"),)))
    with pytest.raises(ReplyError, match="3 that differ"):
        asked.requests[0].check({"paraphrases": texts})
    assert asked.requests[0].check({"paraphrases": ["Which is it?", "Name it.", "Tell it."]})
