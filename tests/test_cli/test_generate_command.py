"""The generate command from end to end, against a service on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import run as command
from judge_server import JudgeServer, Script, parts_of

from ragtriage.data.api import add_run
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run, Workspace

RECORDS: list[dict[str, Any]] = [
    {
        "question_id": f"q{at}",
        "question": f"What does number {at} eat?",
        "answer": "Nothing.",
        "reference_answer": f"secret reference {at}",
        "retrieved": [{"id": f"d{at - 1}", "text": f"Number {at - 1} eats hay."}],
        "relevant": [f"d{at}"],
    }
    for at in range(1, 6)
]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-secret")
    monkeypatch.setattr("ragtriage.data.judge.job_spec.BACKOFF_SECONDS", 0.01)


@pytest.fixture
def original(workspace: RunStore) -> Run:
    return add_run(RECORDS, "zoo v1", "zoo", str(workspace.workspace.root), {"model": "theirs"})


def _reply(body: dict[str, Any]) -> object:
    parts = parts_of(body)
    assert set(parts) <= {"question", "document"}
    assert "secret" not in str(body)
    documents = [text for _, text in parts.get("document", [])]
    return {"answer": f"From {len(documents)}: {' '.join(documents)}"}


def test_a_run_is_made_and_a_second_time_costs_nothing(
    workspace: RunStore, original: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    root = workspace.workspace.root
    words = ("generate", original.run_id, "--context", "oracle", "--json")
    with JudgeServer(Script(reply=_reply)) as server:
        first = command(capsys, root, *words, "--base-url", server.url)
        asked = len(server.asked)
        again = command(capsys, root, *words, "--base-url", server.url)
        assert (asked, len(server.asked)) == (4, 4)
    assert (first.code, again.code) == (0, 0)
    assert (first.json["state"], first.json["progress"]["scored"]) == ("done", 4)
    assert first.json["progress"]["not_applicable"] == 1  # no list of the run holds d5
    assert first.json["generated"]["run_id"] == again.json["generated"]["run_id"]
    made = workspace.find(first.json["generated"]["run_id"])
    assert (made.config["generated_from"], made.config["context"]) == (original.run_id, "oracle")
    samples = workspace.scored(made).samples.read(list(range(5)))
    assert [one["answer"] for one in samples[:2]] == [
        "From 1: Number 1 eats hay.",
        "From 1: Number 2 eats hay.",
    ]
    assert samples[4]["answer"] is None
    assert "document d5" in samples[4]["extra"]


def test_a_corpus_holds_what_no_list_does(
    workspace: RunStore, original: Run, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "d5.txt").write_text("Number 5 eats fish.")
    with JudgeServer(Script(reply=_reply)) as server:
        words = ("generate", original.run_id, "--corpus", str(corpus), "--base-url", server.url)
        answer = command(capsys, workspace.workspace.root, *words)
    assert answer.code == 0
    assert "5 of 5 samples have an answer" in answer.out
    assert f"ragtriage judge {original.run_id}" in answer.out


def test_a_dry_run_asks_nobody(
    workspace: RunStore, original: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    with JudgeServer() as server:
        words = ("generate", original.run_id, "--dry-run", "--json", "--base-url", server.url)
        plan = command(capsys, workspace.workspace.root, *words)
        assert server.asked == []
    assert (plan.json["kind"], plan.json["calls"], plan.json["nothing"]) == ("answer:oracle", 4, 1)
    assert plan.json["cost_usd"] > 0
    assert len(workspace.runs()) == 1
    text = command(capsys, workspace.workspace.root, *words[:3]).out
    assert "1 without texts of gold documents" in text


def test_what_fails_is_a_sample_without_an_answer_and_its_reason(
    workspace: RunStore, original: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    faults = iter(["refusal", "schema", "schema"])

    with JudgeServer(Script(reply=_reply, fault=lambda _key, _times: next(faults, ""))) as server:
        words = ("generate", original.run_id, "--context", "none", "--concurrency", "1", "--json")
        answer = command(capsys, workspace.workspace.root, *words, "--base-url", server.url)
    assert answer.code == 0
    assert answer.json["progress"]["failed"] == {"refused": 1, "invalid": 1}
    made = workspace.find(answer.json["generated"]["run_id"])
    samples = workspace.scored(made).samples.read(list(range(5)))
    lacking = [one["extra"] for one in samples if one["answer"] is None]
    assert len(lacking) == 2
    assert "refused" in lacking[0]
    assert "invalid" in lacking[1]


def test_a_budget_that_is_spent_leaves_no_run_of_a_part(
    workspace: RunStore, original: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    with JudgeServer(Script(reply=_reply)) as server:
        words = ("generate", original.run_id, "--budget", "0.000001", "--base-url", server.url)
        answer = command(capsys, workspace.workspace.root, *words)
        assert server.asked == []
    assert answer.code == 2
    assert "smaller than the most that one call can cost" in answer.out
    assert "No run was made" in answer.out
    assert len(RunStore(Workspace(workspace.workspace.root)).runs()) == 1


def test_what_cannot_be_done_is_said_before_anything_is_asked(
    workspace: RunStore,
    original: Run,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = workspace.workspace.root
    bare = add_run([{"question": "Why?"}], "bare", "zoo", str(root))
    made = add_run(RECORDS, "made", "zoo", str(root), {"generated_from": original.run_id})
    nothing = command(capsys, root, "generate", bare.run_id)
    assert (nothing.code, "no gold documents" in nothing.err) == (2, True)
    twice = command(capsys, root, "generate", made.run_id)
    assert (twice.code, original.run_id in twice.err) == (2, True)
    assert command(capsys, root, "generate", original.run_id, "--context", "gold").code == 2
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    keyless = command(capsys, root, "generate", original.run_id)
    assert (keyless.code, "ANTHROPIC_API_KEY" in keyless.out) == (2, True)


SET: list[dict[str, Any]] = [
    {
        "question_id": "a",
        "question": "What does it eat?",
        "reference_answer": "secret",
        "relevant": [{"id": "d1", "text": "It eats hay."}, {"text": "It eats oats."}],
    },
    {"question_id": "b", "question": "Where?", "reference_answer": "secret"},
]


@pytest.mark.parametrize(
    ("context", "answers"),
    [("oracle", ["From 2: It eats hay. It eats oats.", None]), ("none", ["From 0: ", "From 0: "])],
)
def test_a_question_set_is_answered_from_its_gold_passages_or_closed_book(
    workspace: RunStore,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    context: str,
    answers: list[str | None],
) -> None:
    file = tmp_path / "zoo.jsonl"
    file.write_text("\n".join(map(json.dumps, SET)))
    root = workspace.workspace.root
    assert command(capsys, root, "import", str(file)).code == 0
    words = ("generate", "--questions", "zoo", "--context", context)
    plan = command(capsys, root, *words, "--dry-run", "--json").json
    assert (plan["samples"], plan["calls"]) == (2, sum(answer is not None for answer in answers))
    with JudgeServer(Script(reply=_reply)) as server:
        answer = command(capsys, root, *words, "--base-url", server.url)
    assert answer.code == 0, answer.err
    assert "Next: `ragtriage judge" in answer.out
    (made,) = workspace.runs()
    samples = workspace.scored(made).samples.read([0, 1])
    assert [sample["answer"] for sample in samples] == answers
    assert [sample["reference_answer"] for sample in samples] == ["secret", "secret"]
    assert (made.dataset, made.config["question_set"]) == ("zoo", made.dataset_version)
    assert "generated_from" not in made.config


def test_a_file_of_questions_is_kept_before_it_is_answered(
    workspace: RunStore, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "zoo.jsonl"
    file.write_text("\n".join(map(json.dumps, SET)))
    root = workspace.workspace.root
    answer = command(capsys, root, "generate", "--questions", str(file), "--context", "none", "--dry-run")
    assert answer.code == 0
    assert "kept 2 questions as question set zoo" in answer.err
    assert command(capsys, root, "generate", "--questions", "zoo", "--dry-run", "--context", "none").code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "takes a RUN or --questions"),
        (("run", "--questions", "zoo"), "takes a RUN or --questions"),
        (("--questions", "zoo", "--context", "retrieved"), "a question set has nothing retrieved"),
        (("--questions", "zoo"), "no question set 'zoo'"),
    ],
)
def test_what_generate_takes(
    workspace: RunStore, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    answer = command(capsys, workspace.workspace.root, "generate", *words)
    assert answer.code == 2
    assert said in answer.err
