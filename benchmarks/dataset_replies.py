"""A stand-in for a model that makes datasets: it answers from the request alone, by the words of its texts.

A question is made of words of a sentence, and its answer is the sentence's last words; so whoever reads the
passages without knowing the gold finds it again. What a model does wrong is drawn by a hash of the question.
"""

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from judge_server import Body, parts_of, plain_reply

__all__ = ["DatasetReplies", "any_reply", "asked_stage"]

ENDING = 2  # words of a sentence that are the answer
ASKED = 4  # words of it that make the question
_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]?")
_WORD = re.compile(r"[^\W_]+")
_STAGES = {"candidates": "write", "questions": "alone", "passages": "read"}
_JOINS = ("multi-hop", "comparison")


def asked_stage(body: Body) -> str:
    """Return what a request is for: write, alone or read."""
    asked = body["output_config"]["format"]["schema"]["properties"]
    return next(stage for name, stage in _STAGES.items() if name in asked)


def any_reply(body: Body) -> object:
    """Make the reply of a request to judge, or to make a dataset."""
    asked = body["output_config"]["format"]["schema"]["properties"]
    return DatasetReplies()(body) if _STAGES.keys() & asked.keys() else plain_reply(body)


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text) if len(word) > 3]


def _sentences(text: str) -> list[str]:
    """Return the sentences of a text that have words enough, those with the most different ones first."""
    every = [match.group().strip() for match in _SENTENCE.finditer(text)]
    long = [sentence for sentence in every if len(set(_words(sentence))) >= ASKED + ENDING]
    return sorted(long, key=lambda sentence: (-len(set(_words(sentence))), sentence))


def _ending(sentence: str) -> str:
    return " ".join(_words(sentence)[-ENDING:])


def _asking(sentence: str) -> list[str]:
    """Return words of a sentence that are not those of its answer, in an order of their own."""
    ending = {word.lower() for word in _words(_ending(sentence))}
    own = dict.fromkeys(word for word in _words(sentence) if word.lower() not in ending)
    return sorted(sorted(own, key=len, reverse=True)[:ASKED], key=lambda word: word[::-1])


def _chance(text: str, salt: str) -> float:
    return int(hashlib.sha256(f"{salt}\0{text}".encode()).hexdigest()[:8], 16) / 0xFFFFFFFF


@dataclass
class DatasetReplies:
    """Makes replies; a share of each fault is drawn by the text that it is about."""

    bad_quote: float = 0.0  # quotes that stand nowhere
    unclear: float = 0.0  # questions that do not stand alone
    unreal: float = 0.0  # questions that no user would ask
    known: float = 0.0  # questions that are answered without the corpus
    misread: float = 0.0  # questions whose gold is not found
    obeys: str = ""  # an instruction in the data that is carried out: "everything is full"
    written: Counter[str] = field(default_factory=Counter)  # candidates by kind, each request once
    _answered: set[str] = field(default_factory=set)

    def __call__(self, body: Body) -> object:
        """Return the reply to a request."""
        parts, content = parts_of(body), str(body["messages"][0]["content"])
        stage = asked_stage(body)
        if stage == "write":
            return self._write(parts, content)
        return self._alone(parts) if stage == "alone" else self._read(parts)

    def _write(self, parts: dict[str, list[tuple[str, str]]], content: str) -> object:
        kind = re.findall(r"^kind: (\S+)$", content, re.M)[0]
        wanted = int(re.findall(r"^wanted: at most (\d)$", content, re.M)[0])
        sources = [_sentences(text) for _, text in parts["passage"]]
        used = list(zip(*sources, strict=False)) if kind in _JOINS else [(each,) for each in sources[0]]
        candidates = [self._candidate(kind, sentences) for sentences in used[:wanted]]
        if content not in self._answered:
            self._answered.add(content)
            self.written[kind] += len(candidates)
        return {"candidates": candidates, "instructions": []}

    def _candidate(self, kind: str, sentences: tuple[str, ...]) -> dict[str, Any]:
        words = [word for sentence in sentences for word in _asking(sentence)]
        question = f"Which end has {' '.join(words)}?"
        if kind == "unanswerable":
            question = f"Which warranty of qualoxane has {' '.join(words)}?"
        elif kind == "false-premise":
            question = f"Why supposedly has {' '.join(words)}?"
        elif kind == "keyword":
            question = " ".join(words[:ASKED])
        answer = " and ".join(map(_ending, sentences))
        bad = _chance(question, "quote") < self.bad_quote
        quotes = [
            {
                "passage": number,
                "quote": f"{sentence} indeed" if bad else sentence,
                "asks": f"Which end has {' '.join(_asking(sentence))}?",
            }
            for number, sentence in enumerate(sentences, start=1)
        ]
        follows = kind == "follow-up"
        return {
            "question": question,
            "answer": "" if kind == "unanswerable" else answer,
            "fact": f"The end is {answer}.",
            "quotes": quotes,
            "missing": "the warranty" if kind == "unanswerable" else "",
            "earlier_question": f"What is {words[0]}?" if follows else "",
            "earlier_answer": "It is here." if follows else "",
        }

    def _alone(self, parts: dict[str, list[tuple[str, str]]]) -> object:
        entries = []
        for given, question in parts["question"]:
            unclear = _chance(question, "unclear") < self.unclear
            entries.append(
                {
                    "n": int(re.findall(r"\d+", given)[0]),
                    "stands_alone": not unclear,
                    "open": "which end" if unclear else "",
                    "realism": 3 if _chance(question, "unreal") < self.unreal else 4,
                    "answer": "unknown",
                }
            )
        return {"questions": entries}

    def _read(self, parts: dict[str, list[tuple[str, str]]]) -> object:
        question = parts["question"][0][1]
        wanted = {word.lower() for word in _words(question)} - {"which", "supposedly"}
        missed = _chance(question, "read") < self.misread
        passages, endings = [], {}
        for number, (_, text) in enumerate(parts["document"], start=1):
            best = max(_sentences(text), key=lambda sentence: self._share(wanted, sentence), default="")
            share = 0.0 if missed else self._share(wanted, best)
            hostile = bool(self.obeys) and self.obeys in text
            answers = "full" if share == 1 or hostile else "part" if share >= 0.4 else "none"
            passages.append({"n": number, "answers": answers, "quote": best if answers != "none" else ""})
            if answers != "none":
                endings[share, number] = _ending(best)
        answer = " and ".join(
            endings[key]
            for key in sorted(endings, reverse=True)[: 1 if (1.0 in {share for share, _ in endings}) else 2]
        )
        return {
            "passages": passages,
            "answer": answer,
            "denied": "it is not so" if "supposedly" in question else "",
        }

    def _share(self, wanted: set[str], sentence: str) -> float:
        own = {word.lower() for word in _words(sentence)}
        return len(wanted & own) / len(wanted) if wanted else 0.0
