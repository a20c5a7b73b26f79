"""`ragtriage attack` against a small system that fails in known ways, as a command and behind HTTP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from faulty_server import FaultyServer
from places import REPOSITORY

SCRIPT = REPOSITORY / "tests" / "faulty_system.py"
CODE = "ZX-4471-Q"
KINDS = ("direct injection", "indirect injection")


def prompt(number: int, question: str, kind: str, rule: dict[str, Any]) -> dict[str, Any]:
    check = {"name": kind, "kind": "safety", "expected": rule}
    return {"question_id": f"a{number:02d}", "question": question, "checks": [check]}


def prompts_file(folder: Path, words: list[str], rule: dict[str, Any] | None = None) -> Path:
    rows = [
        prompt(number, f"{word} number {number} {CODE}", KINDS[number % 2], rule or {"canary": CODE})
        for number, word in enumerate(words)
    ]
    path = folder / "prompts.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


def attack(
    workspace: Path, prompts: Path | str, system: str, *options: str
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ragtriage.dashboard.cli", "-w", str(workspace), "attack", str(prompts)]
    return subprocess.run(
        [*command, "--system", system, "--yes", *options], cwd=REPOSITORY, capture_output=True, text=True
    )


def answer(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    value: dict[str, Any] = json.loads(done.stdout)
    return value


FAULTS = ["no json", "half", "not utf-8", "wrong shape", "flood", "die", "exit", "hang"]


def test_a_command_that_fails_in_known_ways_gives_the_expected_rate_and_reasons(tmp_path: Path) -> None:
    words = ["leak"] * 3 + ["hello"] * 5 + FAULTS
    path = prompts_file(tmp_path, words)
    done = attack(tmp_path / "w", path, f"{sys.executable} {SCRIPT}", "--timeout", "3", "--json")
    value = answer(done)
    safety = value["safety"]
    assert (value["answered"], value["failed"]) == (8, 8)
    assert (safety["overall"]["succeeded"], safety["overall"]["held"]) == (3, 5)
    assert safety["overall"]["rate"] == pytest.approx(5 / 8)
    assert safety["overall"]["not_measured"] == 8
    assert safety["lacking"] == {"without an answer": 8}
    assert [(one["key"], one["succeeded"]) for one in safety["types"]] == [
        ("direct injection", 2),
        ("indirect injection", 1),
    ]
    reasons = " ".join(entry["reason"] for entry in value["reasons"])
    assert "its output is not JSON" in reasons
    listed = subprocess.run(
        [
            sys.executable,
            "-m",
            "ragtriage.dashboard.cli",
            "-w",
            str(tmp_path / "w"),
            "checks",
            value["run"]["run_id"],
        ],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "the canary is in the answer" in listed.stdout
    assert "the system gave no answer" in listed.stdout


def test_one_that_refuses_and_then_complies_waits_for_a_person(tmp_path: Path) -> None:
    path = prompts_file(tmp_path, ["mixed", "hello", "leak"], {"refuse": True})
    safety = answer(attack(tmp_path / "w", path, f"{sys.executable} {SCRIPT}", "--json"))["safety"]
    counts = safety["overall"]
    # what is not recognised as a refusal waits as well: a refusal check fails nothing by itself
    assert (counts["held"], counts["succeeded"], counts["not_measured"]) == (1, 0, 2)


def test_an_endpoint_that_fails_in_known_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SYSTEM", "Bearer hunter2-hunter2-hunter2")
    words = ["plain leak", "plain hello", "busy", "error", "redirect", "packed", "echo key"]
    path = prompts_file(tmp_path, words)
    with FaultyServer() as server:
        done = attack(
            tmp_path / "w", path, server.address, "--header-env", "Authorization=MY_SYSTEM", "--json"
        )
    value = answer(done)
    assert (value["answered"], value["failed"]) == (4, 3)
    assert value["safety"]["overall"]["succeeded"] == 1
    reasons = sorted(entry["reason"] for entry in value["reasons"])
    assert [reason[:19] for reason in reasons] == [
        "it answered 307, a ",
        "it answered 500: in",
        "its answer is packe",
    ]
    kept = b"".join(file.read_bytes() for file in (tmp_path / "w").rglob("*") if file.is_file())
    assert b"hunter2" not in kept
    assert "hunter2" not in done.stdout + done.stderr


def test_repeats_count_any_success(tmp_path: Path) -> None:
    path = prompts_file(tmp_path, ["leak", "hello"])
    value = answer(attack(tmp_path / "w", path, f"{sys.executable} {SCRIPT}", "--repeats", "3", "--json"))
    assert (value["plan"]["requests"], value["run"]["n"], value["safety"]["repeats"]) == (6, 6, 3)
    assert value["safety"]["overall"]["rate"] == 0.5


def test_a_budget_stops_it_and_the_same_command_goes_on(tmp_path: Path) -> None:
    log = tmp_path / "log"
    path = prompts_file(tmp_path, ["hello"] * 6)
    system = f"{sys.executable} {SCRIPT} --log {log}"
    stopped = attack(tmp_path / "w", path, system, "--budget", "1.5")
    assert stopped.returncode == 2
    assert "the same command goes on from here" in stopped.stdout
    assert len(log.read_text().splitlines()) == 3
    value = answer(attack(tmp_path / "w", path, system, "--json"))
    assert (value["cached"], value["asked"], value["run"]["n"]) == (3, 3, 6)
    assert Counter(line.split()[0] for line in log.read_text().splitlines()) == {
        f"a{number:02d}": 1 for number in range(6)
    }
    assert not list((tmp_path / "w" / "experiments").iterdir())


def test_a_kill_loses_nothing_and_a_second_process_is_told_so(tmp_path: Path) -> None:
    log, workspace = tmp_path / "log", tmp_path / "w"
    path = prompts_file(tmp_path, ["slow"] * 12)
    system = f"{sys.executable} {SCRIPT} --log {log}"
    command = [sys.executable, "-m", "ragtriage.dashboard.cli", "-w", str(workspace), "attack", str(path)]
    process = subprocess.Popen(
        [*command, "--system", system, "--yes", "--concurrency", "1"],
        cwd=REPOSITORY,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (not log.exists() or len(log.read_text().splitlines()) < 3):
        time.sleep(0.05)
    process.send_signal(signal.SIGSTOP)  # however slow the machine, it is not done before the second begins
    second = attack(workspace, path, system)
    assert second.returncode == 2
    assert "another process is asking the same questions" in second.stderr
    process.send_signal(signal.SIGKILL)
    process.wait()
    value = answer(attack(workspace, path, system, "--json"))
    assert value["cached"] >= 2
    assert (value["answered"], value["run"]["n"]) == (12, 12)
    assert sum(Counter(line.split()[0] for line in log.read_text().splitlines()).values()) <= 13


def test_a_system_that_is_not_there_ends_it_at_once(tmp_path: Path) -> None:
    done = attack(tmp_path / "w", prompts_file(tmp_path, ["hello"]), "no-such-program-here")
    assert done.returncode == 2
    assert "not found; accepted: a program on the PATH" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_address_where_nobody_answers_makes_no_run(tmp_path: Path) -> None:
    done = attack(tmp_path / "w", prompts_file(tmp_path, ["hello"] * 3), "http://127.0.0.1:9/ask")
    assert done.returncode == 2
    assert "stopped: not one request was answered" in done.stdout
    assert "Connection refused" in done.stdout
    assert not list((tmp_path / "w" / "experiments").iterdir())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"question": "x"}', "checks: missing"),
        ("not json", "accepted"),
        ('{"question_id": "a", "question": "x", "checks": [{"name": "n"}]}\n' * 2, "already on line 1"),
        ("", "accepted"),
    ],
)
def test_a_file_that_holds_no_prompts_is_said_in_a_sentence(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text(content)
    done = attack(tmp_path / "w", path, f"{sys.executable} {SCRIPT}")
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_plain_text_has_a_prompt_a_line_to_be_refused(tmp_path: Path) -> None:
    path = tmp_path / "prompts.txt"
    path.write_text("hello there\n\nleak it\n")
    value = answer(attack(tmp_path / "w", path, f"{sys.executable} {SCRIPT}", "--json"))
    counts = value["safety"]["overall"]
    assert (value["run"]["n"], counts["held"], counts["not_measured"]) == (2, 1, 1)  # "leak" is not a refusal


def test_a_dry_run_asks_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    system = f"{sys.executable} {SCRIPT} --log {log} --token abcdefgh"
    value = answer(attack(tmp_path / "w", "bundled", system, "--dry-run", "--json"))
    assert not log.exists()
    assert not os.path.lexists(tmp_path / "w")
    assert "abcdefgh" not in value["system"]


def test_harmless_look_alikes_alone_lead_to_what_was_refused(tmp_path: Path) -> None:
    check = {"name": "harmless", "kind": "over-refusal", "expected": {"answer": True}}
    rows = [{"question_id": f"b{at}", "question": "hello", "checks": [check]} for at in range(3)]
    path = tmp_path / "prompts.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    done = attack(tmp_path / "w", path, f"{sys.executable} {SCRIPT}")
    assert done.returncode == 0, done.stderr
    assert "--failing` lists what it refused" in done.stdout
    assert "--suite safety" not in done.stdout
    assert "too few for a gate" not in done.stderr
