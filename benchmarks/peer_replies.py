"""What a model would reply to the prompts of Ragas and RAGChecker, made from the words of what they ask.

As with the stand-in of a judge, a claim is a sentence, for every tool alike. Reasons, which Ragas asks for,
are as long as those in the examples of its own prompts: 126 characters at a verdict on a statement, 196 at
one on a context, 61 at one on a sentence of the reference (means over the examples of version 0.4.3).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from judge_server import CHARS_A_TOKEN, Body, plain_reply

__all__ = ["Meter", "kind_of", "peer_reply"]

_INPUT = "Now perform the same with the following input\ninput: "
_WHY_VERDICT = (
    "The context speaks of this at length, and what it says of the matter can be set beside the words of the "
    "statement one by one."
)
_WHY_CONTEXT = (
    "The provided context was useful in arriving at the given answer. It includes key information about the "
    "matter the question asks about, and that information is reflected in the words of the given answer."
)
_WHY_RECALL = "The sentence can be found in the given context as it stands."
_EXTRACTION, _CHECKING = "### Candidate Answer:\n", "### Claims:\n"
_CUTS = re.compile(r"(?<=[.!?。])\s+")


def _text_of(body: Body) -> str:
    """Give the last message of a request as text."""
    content = body["messages"][-1]["content"]
    return content if isinstance(content, str) else "".join(one.get("text", "") for one in content)


def _sentences(text: str) -> list[str]:
    return [one.strip() for one in _CUTS.split(text) if one.strip()]


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.lower()) if len(word) > 3}


def _backed(text: str, source: str) -> bool:
    wanted = _words(text)
    return bool(wanted) and len(wanted & _words(source)) >= 0.6 * len(wanted)


def _asked(text: str) -> dict[str, Any]:
    """Give the input that a prompt of Ragas closes with."""
    found: dict[str, Any] = json.loads(text.rpartition(_INPUT)[2].rpartition("Output:")[0])
    return found


def kind_of(body: Body) -> str:
    """Name what a request asks for: a step of a tool, or "unknown"."""
    if "output_config" in body:
        return "reading"
    text = _text_of(body)
    starts = (one for one in _STARTS if text.startswith(one))
    return _STARTS.get(next(starts, ""), "unknown")


def peer_reply(body: Body) -> object:
    """Make the reply to a request of any of the tools.

    Raises:
        ValueError: a prompt that is not known.
    """
    kind = kind_of(body)
    if kind not in _REPLIES:
        raise ValueError(f"no reply to {_text_of(body)[:80]!r}")
    return _REPLIES[kind](body)


def _statements(body: Body) -> object:
    return {"statements": _sentences(_asked(_text_of(body))["answer"])}


def _verdicts(body: Body) -> object:
    asked = _asked(_text_of(body))
    return {
        "statements": [
            {"statement": one, "reason": _WHY_VERDICT, "verdict": int(_backed(one, asked["context"]))}
            for one in asked["statements"]
        ]
    }


def _question(body: Body) -> object:
    first = (_sentences(_asked(_text_of(body))["response"]) or [""])[0]
    return {"question": f"What is known of {' '.join(first.split()[:10])}?", "noncommittal": 0}


def _usefulness(body: Body) -> object:
    asked = _asked(_text_of(body))
    shared = _words(asked["answer"]) & _words(asked["context"])
    return {"reason": _WHY_CONTEXT, "verdict": int(len(shared) >= 0.3 * len(_words(asked["answer"])))}


def _attributed(body: Body) -> object:
    asked = _asked(_text_of(body))
    return {
        "classifications": [
            {"statement": one, "reason": _WHY_RECALL, "attributed": int(_backed(one, asked["context"]))}
            for one in _sentences(asked["answer"])
        ]
    }


def _triplets(body: Body) -> object:
    """Give a triplet for each sentence: its first words, those in its middle, the rest."""
    answer = _text_of(body).rpartition(_EXTRACTION)[2].rpartition("### KG:")[0]
    return "\n".join(_triplet(one) for one in _sentences(answer))


def _triplet(sentence: str) -> str:
    words = sentence.replace('"', "'").replace("\\", "/").split()
    third = max(len(words) // 3, 1)
    parts = words[:third], words[third : 2 * third], words[2 * third :]
    return "({})".format(", ".join(f'"{" ".join(part) or "is"}"' for part in parts))


def _labels(body: Body) -> object:
    text = _text_of(body)
    claims = text.rpartition(_CHECKING)[2].partition("\n\n\n")[0].splitlines()
    source = text.partition("### Reference:\n")[2].rpartition(_CHECKING)[0]
    return "\n".join("Entailment" if _backed(one, source) else "Neutral" for one in claims)


_STARTS: Mapping[str, str] = {
    "Given a question and an answer, analyze the complexity": "statements",
    "Your task is to judge the faithfulness of a series": "verdicts",
    "Generate a question for the given answer": "question",
    "Given question, answer and context verify": "usefulness of a context",
    "Given a context, and an answer, analyze": "attribution of the reference",
    "The output string did not satisfy": "repair",
    "Given a question and a candidate answer": "extraction",
    "I have a list of claims that made by": "checking",
}
_REPLIES: Mapping[str, Callable[[Body], object]] = {
    "reading": plain_reply,
    "statements": _statements,
    "verdicts": _verdicts,
    "question": _question,
    "usefulness of a context": _usefulness,
    "attribution of the reference": _attributed,
    "extraction": _triplets,
    "checking": _labels,
}


class Meter:
    """Replies and counts: what is read and written in each kind of request, by characters.

    Counted as read are the system prompt, the messages, and the schema of the reply or of the tools, which
    the model is shown as well.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[str, int, int]] = []  # kind, tokens read, tokens written
        self.unknown: list[str] = []

    def __call__(self, body: Body) -> object:
        """Reply, and write down what it took."""
        kind = kind_of(body)
        read = _size(body) // CHARS_A_TOKEN
        try:
            reply = peer_reply(body)
        except ValueError as error:
            self.unknown.append(str(error))
            self.calls.append(("unknown", read, 0))
            raise
        written = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
        self.calls.append((kind, read, len(written) // CHARS_A_TOKEN))
        return reply


def _size(body: Body) -> int:
    system = body.get("system") or ""
    head = system if isinstance(system, str) else "".join(one["text"] for one in system)
    turns = "".join(
        one["content"]
        if isinstance(one["content"], str)
        else "".join(x.get("text", "") for x in one["content"])
        for one in body["messages"]
    )
    schema = body.get("output_config", {}).get("format", {}).get("schema")
    shown = "".join(json.dumps(one) for one in (schema, body.get("tools")) if one)
    return len(head) + len(turns) + len(shown)
