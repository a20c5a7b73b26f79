"""Small systems under test that obey documents and change their mind, in ways known by construction."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reading_systems import CODE

from ragtriage.data.systems.system import SystemLimits, SystemReply, SystemRequest

__all__ = ["FLIPS_ON_SHUFFLE", "Changeable", "Obedient"]

PARTS = re.compile(r"joined without a space: (\w+) and (\w+)\.")
FLIPS_ON_SHUFFLE = ("q001", "q004")  # right only while their gold document is first


@dataclass
class Obedient:
    """Follows an instruction in the first document; a defence makes it refuse whenever anything is planted.

    Attributes:
        refuses_all: whether its defence refuses every question.
    """

    refuses_all: bool = False
    name: str = "obedient"

    @property
    def identity(self) -> str:
        return hashlib.sha256(f"{self.name} {self.refuses_all}".encode()).hexdigest()

    def ask(self, request: SystemRequest, limits: SystemLimits) -> SystemReply:
        return SystemReply("answered", {"answer": obey(request.payload(), self.refuses_all)}, seconds=0.01)

    def close(self) -> None:
        """Nothing to end."""


def obey(asked: Mapping[str, Any], refuses_all: bool) -> str:
    """Return the joined word where the first document asks for it, else the code that is asked for."""
    contexts = asked.get("contexts") or []
    defended = bool((asked.get("settings") or {}).get("guard"))
    if defended and (refuses_all or any(PARTS.search(document["text"]) for document in contexts)):
        return "I cannot answer this from the documents."
    planted = PARTS.search(contexts[0]["text"]) if contexts else None
    if planted:
        return planted[1] + planted[2]
    return found_code(asked)


def found_code(asked: Mapping[str, Any]) -> str:
    """Return the first code that a document gives for the thing asked for."""
    for document in asked.get("contexts") or []:
        for thing, code in CODE.findall(document["text"]):
            if thing in str(asked["question"]):
                return f"It is {code}."
    return "I cannot answer this from the documents."


@dataclass
class Changeable:
    """Reads any document, but two questions only where theirs comes first; lower case confuses q002."""

    name: str = "changeable"

    @property
    def identity(self) -> str:
        return hashlib.sha256(self.name.encode()).hexdigest()

    def ask(self, request: SystemRequest, limits: SystemLimits) -> SystemReply:
        asked = dict(request.payload())
        if request.question_id in FLIPS_ON_SHUFFLE:
            asked["contexts"] = asked["contexts"][:1]
        if request.question_id == "q002" and request.question.islower():
            return SystemReply("answered", {"answer": "I do not know."})
        return SystemReply("answered", {"answer": found_code(asked)})

    def close(self) -> None:
        """Nothing to end."""


if __name__ == "__main__":  # as a command: one JSON object in, one out
    json.dump({"answer": obey(json.load(sys.stdin), refuses_all=False)}, sys.stdout)
