"""The experiment command end to end: a command as system, a plan, a kill, the list, and errors."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from command_line import run
from places import REPOSITORY
from reading_systems import ReadingSystem, even, write_questions

from ragtriage.data.experiments.plan import estimate, plan_experiment
from ragtriage.data.experiments.questions import open_questions
from ragtriage.data.experiments.registry import kind_of
from ragtriage.data.experiments.run_experiment import PROBED, kept_replies, run_experiment
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Workspace
from ragtriage.data.systems.system import SystemLimits, SystemReply, SystemRequest

Capture = pytest.CaptureFixture[str]
SYSTEM = f"{sys.executable} {REPOSITORY / 'tests' / 'slow_reader.py'}"


@pytest.fixture
def questions(tmp_path: Path) -> str:
    return str(write_questions(tmp_path / "codes.jsonl", 8))


def test_the_built_in_system_answers_offline_and_says_so(
    capsys: Capture, tmp_path: Path, questions: str
) -> None:
    words = ("experiment", "position", "--system", "builtin", "--questions", questions, "--documents", "3")
    answer = run(capsys, tmp_path / "w", *words)
    assert answer.code == 0, answer.err
    assert "built-in extractive" in answer.out
    assert "Gold at rank 2 of 3" in answer.out
    assert "Answer match: computed" in answer.out
    assert "cost       none: no model is asked" in answer.err
    listed = run(capsys, tmp_path / "w", "experiment", "list", "--json").json
    assert [(entry["kind"], entry["state"], entry["n_questions"]) for entry in listed] == [
        ("position", "done", 8)
    ]
    shown = run(capsys, tmp_path / "w", "experiment", "show", listed[0]["experiment_id"], "--json").json
    assert shown["findings"]["effect"]["verdict"] == "cannot tell"
    assert shown["quality"] == {"metric": "answer_match", "source": "computed"}


def test_a_dry_run_asks_nothing_and_keeps_nothing(capsys: Capture, tmp_path: Path, questions: str) -> None:
    words = ("experiment", "noise", "--system", "builtin", "--questions", questions, "--documents", "3")
    answer = run(capsys, tmp_path / "w", *words, "--dry-run", "--json")
    assert answer.json["plan"]["remaining"] == answer.json["plan"]["requests"] > 0
    assert (answer.json["plan"]["cost_usd"], answer.json["plan"]["model_calls"]) == (0, 0)
    assert run(capsys, tmp_path / "w", "experiment", "list", "--json").json == []
    assert not (tmp_path / "w" / "experiments").exists()


def test_arms_offline_leave_out_what_needs_a_model(capsys: Capture, tmp_path: Path, questions: str) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for at in range(8):
        (corpus / f"doc{at:03d}.md").write_text(f"The code of item{at:03d} is K{at * 37 + 1000}X.")
    answer = run(
        capsys,
        tmp_path / "w",
        *("experiment", "arms", "--system", "builtin", "--questions", questions, "--corpus", str(corpus)),
        *("--factor", "top_k=1,3", "--factor", "query_rewriting=none,hyde", "--json"),
    )
    assert answer.code == 0, answer.err
    assert [arm["levels"] for arm in answer.json["arms"]] == [
        {"top_k": 1, "query_rewriting": "none"},
        {"top_k": 3, "query_rewriting": "none"},
    ]
    assert [arm["quality"]["mean"] for arm in answer.json["arms"]] == [1.0, 1.0]
    assert "query_rewriting hyde is not available: it needs a model" in " ".join(
        answer.json["experiment"]["notes"]
    )
    effects = answer.json["findings"]["effects"]["effects"]
    assert [(entry["factor"], entry["verdict"]) for entry in effects] == [("top_k", "unchanged")]


def test_a_killed_command_goes_on_where_it_was(capsys: Capture, tmp_path: Path, questions: str) -> None:
    log = tmp_path / "asked.txt"
    words = [
        *("experiment", "position", "--system", SYSTEM, "--questions", questions, "--documents", "3"),
        *("--concurrency", "1", "--yes"),
    ]
    environment = {**os.environ, "ASKED": str(log), "RAGTRIAGE_WORKSPACE": str(tmp_path / "w")}
    process = subprocess.Popen([sys.executable, "-m", "ragtriage.dashboard.cli", *words], env=environment)
    deadline = time.monotonic() + 120
    while (not log.exists() or log.read_text().count("\n") < 6) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = log.read_text().splitlines()
    assert len(before) >= 6
    os.environ["ASKED"] = str(log)
    try:
        answer = run(capsys, tmp_path / "w", *words, "--json")
    finally:
        del os.environ["ASKED"]
    assert answer.code == 0, answer.err
    asked = log.read_text().splitlines()
    assert len(asked) - len(set(asked)) <= 1 + PROBED  # in flight at the kill, and asked anew of the system
    assert answer.json["progress"]["cached"] >= len(before) - 1
    assert answer.json["experiment"]["state"] == "done"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("position", "--system", "builtin", "--questions", "nowhere"), "no file, question set or run"),
        (
            ("position", "--system", "true", "--questions", "{}", "--model", "x"),
            "--model is for --system builtin",
        ),
        (("position", "--system", "builtin", "--questions", "{}", "--ranks", "1,2"), "three or more ranks"),
        (("noise", "--system", "builtin", "--questions", "{}", "--shares", "0,1"), "from 0 to below 1"),
        (("arms", "--system", "builtin", "--questions", "{}", "--factor", "top_k"), "NAME=A,B"),
        (("arms", "--system", "builtin", "--questions", "{}", "--factor", "top_k=3"), "nothing changes"),
        (("arms", "--system", "builtin", "--questions", "{}", "--factor", "k=3,4"), "setting 'k'"),
        (
            ("arms", "--system", "true", "--questions", "{}", "--factor", "k=3,nan"),
            "factors: holds text that is not valid Unicode, or a number that is not finite",
        ),
        (
            ("arms", "--system", "true", "--questions", "{}", "--factor", f"k=3,{'9' * 30}"),
            "factors: holds a whole number of more than 64 bits",
        ),
        (
            ("arms", "--system", "true", "--questions", "{}", "--factor", "k=3,\udcff"),
            "factors: holds text that is not valid Unicode",
        ),
        (
            ("position", "--system", "true", "--questions", "{}", "--documents", "3", "--project", "\udcff"),
            "project: holds text that is not valid Unicode",
        ),
        (("show", "nothing"), "no experiment 'nothing'"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    capsys: Capture, tmp_path: Path, questions: str, words: tuple[str, ...], said: str
) -> None:
    answer = run(capsys, tmp_path / "w", "experiment", *(word.format(questions) for word in words))
    assert answer.code == 2
    assert said in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ('"gold": [{"text": "x", "grade": "high"}]', "gold: grade 'high'; accepted: a number"),
        ('"gold": [{"text": "x", "grade": [1]}]', "gold: grade [1]; accepted: a number"),
        ('"gold_passages": {"text": "a\\ud800"}', "gold_passages: holds half of a surrogate pair"),
        ('"gold": [{"id": "\\ud800", "text": "a"}]', "gold: holds half of a surrogate pair"),
        ('"wrong_answers": ["\\ud800"]', "wrong_answers: holds half of a surrogate pair"),
        ('"paraphrases": ["a", "\\ud800"]', "paraphrases: holds half of a surrogate pair"),
    ],
)
def test_a_field_of_a_question_that_cannot_be_sent_is_one_sentence(
    capsys: Capture, tmp_path: Path, fields: str, said: str
) -> None:
    (tmp_path / "q.jsonl").write_text(f'{{"question_id": "q1", "question": "Who?", {fields}}}\n')
    words = ("experiment", "stability", "--system", "builtin", "--questions", str(tmp_path / "q.jsonl"))
    answer = run(capsys, tmp_path / "w", *words)
    assert (answer.code, answer.err.strip().count("\n")) == (2, 0)
    assert f"question_id 'q1': {said}" in answer.err


def test_a_corpus_that_no_index_can_hold_is_one_sentence(
    capsys: Capture, tmp_path: Path, questions: str
) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"id": "a", "text": "x"}\n{"id": "b", "text": "a\\ud800"}\n')
    words = ("arms", "--system", "builtin", "--questions", questions, "--factor", "top_k=1,2")
    answer = run(capsys, tmp_path / "w", "experiment", *words, "--corpus", str(tmp_path / "corpus.jsonl"))
    assert answer.code == 2
    assert "corpus.jsonl:2: holds half of a surrogate pair; accepted: text, in valid Unicode" in answer.err


@pytest.mark.parametrize("kind", ["position", "noise", "stability", "arms"])
def test_a_system_that_only_fails_is_not_measured(
    capsys: Capture, tmp_path: Path, questions: str, kind: str
) -> None:
    words = ["experiment", kind, "--system", f"{sys.executable} -c 1/0", "--questions", questions]
    words += {"arms": ["--factor", "k=1,2"], "stability": []}.get(kind, ["--documents", "3"])
    answer = run(capsys, tmp_path / "w", *words)
    assert answer.code == 0, answer.err
    assert "no answer is measured" in answer.out
    assert "it ended with exit code 1" in answer.out


def test_claude_without_a_key_is_one_sentence_before_anything_is_asked(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, questions: str
) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    words = ("experiment", "noise", "--system", "builtin", "--questions", questions, "--documents", "3")
    answer = run(capsys, tmp_path / "w", *words, "--model", "claude-haiku-4-5")
    assert answer.code == 2
    assert "error: no API key: set ANTHROPIC_API_KEY" in answer.err
    assert not list((tmp_path / "w").rglob("journal.jsonl"))


def test_the_plan_counts_what_a_time_out_leaves_to_ask(tmp_path: Path, questions: str) -> None:
    """Of 3 arms with 8 questions, those whose time ran out are asked again; the answered ones are not."""
    store = RunStore(Workspace(tmp_path / "ws").create())
    system = Sometimes()
    planned = plan_experiment(kind_of("noise"), open_questions(store, questions), {"documents": 3}, system)
    run_experiment(store, planned, system, SystemLimits(concurrency=1))
    late = system.late
    plan = estimate(planned, kept_replies(store, planned, system), SystemLimits(), system)
    assert 0 < late == plan.remaining < plan.requests
    system.awake = True
    outcome = run_experiment(store, planned, system, SystemLimits())
    assert (outcome.progress.asked, outcome.progress.failed) == (late, 0)
    runs = [store.scored(store.find(run_id)) for run_id in outcome.experiment.run_ids]
    assert all(np.isfinite(scored.values("answer_match")).all() for scored in runs[:2])
    again = run_experiment(store, planned, system, SystemLimits())
    assert again.experiment.run_ids == outcome.experiment.run_ids


class Sometimes(ReadingSystem):
    """Runs out of time on every third question while it is not awake."""

    awake, late = False, 0

    def __init__(self) -> None:
        super().__init__(even)

    def ask(self, request: SystemRequest, limits: SystemLimits) -> SystemReply:
        if not self.awake and int(request.question_id[1:]) % 3 == 0:
            self.late += 1
            return SystemReply("failed", {}, "no answer within 3 s", passing=True)
        return super().ask(request, limits)


KINDS = {
    "position": ("--documents", "4"),
    "noise": ("--documents", "3"),
    "stability": (),
    "injection": (),
    "arms": ("--factor", "k=1,2"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_system_that_fails_at_everything_is_not_measured(
    capsys: Capture, tmp_path: Path, questions: str, kind: str
) -> None:
    words = ("experiment", kind, "--system", "false", "--questions", questions, *KINDS[kind])
    answer = run(capsys, tmp_path / "w", *words)
    assert answer.code == 0, answer.err
    assert answer.out.startswith("false: no answer is measured in any arm")
    assert "times: " in answer.out.split("failed: ")[1]
    found = run(capsys, tmp_path / "w", *words, "--json").json
    assert found["findings"] is None
    assert {arm["quality"]["mean"] for arm in found["arms"]} == {None}


@pytest.mark.parametrize("kind", ["position", "noise", "stability", "injection"])
def test_an_arm_whose_run_is_deleted_is_not_measured(
    capsys: Capture, tmp_path: Path, questions: str, kind: str
) -> None:
    words = ("experiment", kind, "--system", "builtin", "--questions", questions, *KINDS[kind])
    arms = run(capsys, tmp_path / "w", *words, "--json").json["arms"]
    assert run(capsys, tmp_path / "w", "delete", arms[0]["run_id"], "--yes").code == 0
    experiment = run(capsys, tmp_path / "w", "experiment", "list", "--json").json[0]
    answer = run(capsys, tmp_path / "w", "experiment", "show", experiment["experiment_id"], "--json")
    assert answer.code == 0, answer.err
    assert answer.json["experiment"]["state"] == "unfinished"
    assert [arm["quality"]["mean"] is None for arm in answer.json["arms"]] == [True] + [False] * (
        len(arms) - 1
    )
