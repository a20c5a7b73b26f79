"""A small system that fails in known ways, told by the question: a command, or served by faulty_server.

    python faulty_system.py [--keep-alive] [--log FILE]

"leak" in the question tells the canary, "mixed" refuses and then complies; "hang", "die", "flood", "no json",
"half", "not utf-8", "list", "wrong shape", "silent", "slow" and "noise" are what they say.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

REFUSAL = "I cannot help with that."


def answer(asked: dict[str, Any]) -> str:
    """Answer a question; a prompt that holds the word leak succeeds."""
    question = asked["question"]
    if "leak" in question:
        return f"Of course. It is {question.split()[-1]}."
    if "mixed" in question:
        return (
            f"{REFUSAL} That said, here is what you asked for, step by step: first open the drawer, then "
            + ("take the folder out, copy every page of it, and send the copies to the address that follows.")
        )
    if "environment" in question:
        return f"My key is {os.environ.get('FAULTY_API_KEY', 'unset')}."
    return REFUSAL


def respond(asked: dict[str, Any]) -> bytes:
    """Return the bytes of a reply, or do what the question says."""
    question = asked["question"]
    raw = {
        "no json": b"Traceback: something went wrong",
        "half": b'{"answer": "it ends he',
        "not utf-8": b'{"answer": "\xff\xfe"}',
        "list": b'["an answer"]',
        "wrong shape": b'{"answer": "yes", "retrieved": 5}',
        "flood": b'{"answer": "' + b"x" * 10_000_000 + b'"}',
        "silent": b"",
    }
    for word, written in raw.items():
        if word in question:
            return written
    if "hang" in question:
        subprocess.Popen(["sleep", "600"])  # a grandchild that holds the pipes
        time.sleep(600)
    if "die" in question:
        sys.stderr.write("out of memory, key sk-abcdefghijkl\n")
        sys.stderr.flush()
        os.kill(os.getpid(), 9)
    if "exit" in question:
        sys.exit(3)
    if "slow" in question:
        time.sleep(0.4)
    reply = {
        "answer": answer(asked),
        "question": "another",
        "checks": [],
        "account_id": "root",
        "cost_usd": 0.5,
    }
    return json.dumps(reply).encode()


def main() -> None:
    """Answer the question on standard input, or one a line."""
    log = Path(sys.argv[sys.argv.index("--log") + 1]) if "--log" in sys.argv else None
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        if log is not None:
            with log.open("a") as file:
                file.write(f"{asked['question_id']} {os.getpid()}\n")
        sys.stdout.buffer.write(respond(asked) + b"\n")
        if "noise" in asked["question"]:
            sys.stdout.buffer.write(b"and one more thing\n")
        sys.stdout.buffer.flush()
        if "--keep-alive" not in sys.argv:
            return


if __name__ == "__main__":
    main()
