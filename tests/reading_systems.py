"""Small systems under test that read a context well at some places and badly at others, by construction."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragtriage.data.systems.system import SystemLimits, SystemReply, SystemRequest

__all__ = ["ReadingSystem", "even", "forgets_the_middle", "reads_late", "write_languages", "write_questions"]

CODE = re.compile(r"code of (\S+) is (\S+)\.")


@dataclass
class ReadingSystem:
    """Finds the code that a question asks for, with a probability by the place of its document.

    Attributes:
        reads: (rank, documents) -> probability, drawn from a hash of question and rank.
        name: of the system.
        asked: keys of the requests, in the order in which they came.
    """

    reads: Callable[[int, int], float]
    name: str = "reader"
    asked: list[str] = field(default_factory=list)

    @property
    def identity(self) -> str:
        return hashlib.sha256(self.name.encode()).hexdigest()

    def ask(self, request: SystemRequest, limits: SystemLimits) -> SystemReply:
        self.asked.append(request.key)
        return SystemReply("answered", {"answer": answer(request.payload(), self.reads)}, seconds=0.01)

    def close(self) -> None:
        """Nothing to end."""


def answer(asked: Mapping[str, Any], reads: Callable[[int, int], float]) -> str:
    """Return the code of the thing asked for, where the system reads its document."""
    thing = str(asked["question"]).removeprefix("What is the code of ").removesuffix("?")
    contexts = asked.get("contexts") or []
    for rank, document in enumerate(contexts, 1):
        for found, code in CODE.findall(document["text"]):
            if found == thing and _draw(f"{asked['question_id']}/{rank}") < reads(rank, len(contexts)):
                return f"It is {code}."
    return "I cannot answer this from the documents."


def _draw(text: str) -> float:
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) / 16**8


def even(rank: int, documents: int) -> float:
    return 0.7


def forgets_the_middle(rank: int, documents: int) -> float:
    return 0.95 if rank in (1, documents) else 0.5


def reads_late(rank: int, documents: int) -> float:
    return 0.95 if rank == documents else 0.5


def write_questions(path: Path, n: int) -> Path:
    """Write questions whose answer is a code in one gold document each."""
    codes = [f"K{at * 37 + 1000}X" for at in range(n)]
    rows = [
        {
            "question_id": f"q{at:03d}",
            "question": f"What is the code of item{at:03d}?",
            "answers": [code],
            "gold": {
                "id": f"doc{at:03d}",
                "text": f"Note {at}. The code of item{at:03d} is {code}.",
            },
        }
        for at, code in enumerate(codes)
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


if __name__ == "__main__":  # as a command: one JSON object in, one out
    json.dump({"answer": answer(json.load(sys.stdin), forgets_the_middle)}, sys.stdout)


def write_languages(folder: Path) -> None:
    """Write q.jsonl, a question in English and in German, and c.jsonl, the passage of each language."""
    asked = [
        {"id": f"q-{language}", "question": text, "relevant": ["d-en", "d-de"], "language": language}
        for language, text in {"en": "Where is the bridge?", "de": "Wo ist die Brücke?"}.items()
    ]
    passages = [
        {"id": "d-en", "text": "The bridge is in Kiel.", "language": "en"},
        {"id": "d-de", "text": "Die Brücke ist in Kiel.", "language": "de"},
    ]
    files: dict[str, Any] = {"q": asked, "c": passages}
    for name, lines in files.items():
        text = "\n".join(json.dumps(line) for line in lines)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
