"""Other words for a question: its own paraphrases, plain rewordings, or what a model writes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ragtriage.data.experiments.questions import AskedQuestion, Questions
from ragtriage.data.judge.reply_model import ReplyError, ReplyObject, validate_reply, wire_schema
from ragtriage.data.judge.requests import ModelCall, Request
from ragtriage.data.prompts.prompt import JudgedCase, case_message, load_prompt

_PREFIX = re.compile(r"^(what|who|when|where|which|how|why)\b", re.IGNORECASE)


def _polite(question: str) -> str:
    return f"Could you tell me: {question}"


def _lower_without_mark(question: str) -> str:
    return question.lower().rstrip(" ?？.")


def _statement(question: str) -> str:
    bare = question.strip().rstrip(" ?？.")
    bare = bare[:1].lower() + bare[1:] if _PREFIX.match(bare) else bare
    return f"I need to know this: {bare}."


REWORDINGS: dict[str, Callable[[str], str]] = {
    "polite": _polite,
    "lower case, no question mark": _lower_without_mark,
    "as a statement": _statement,
}


def rewordings(question: str) -> list[tuple[str, str]]:
    """Return plain rewordings of a question as (name, text), those alone that differ from it.

    They change its form and not its words: a system that flips on them would flip on less than a paraphrase.
    """
    made = [(name, reword(question)) for name, reword in REWORDINGS.items()]
    return [(name, text) for name, text in made if text != question]


N_PARAPHRASES = 3  # as many as there are plain rewordings
REPLY_TOKENS = 150


class ParaphraseReply(ReplyObject):
    """A question in other words."""

    paraphrases: list[str]


@dataclass(frozen=True)
class ToParaphrase:
    """The questions of an experiment, and what a model is asked on those without paraphrases.

    Attributes:
        questions: all of them.
        places: of those that a model writes on.
        requests: one for each of these.
    """

    questions: Questions
    places: tuple[int, ...]
    requests: tuple[Request, ...]

    def written(self, calls: Sequence[ModelCall | None], model: str) -> Questions:
        """Return the questions with what a model wrote; one that it wrote nothing for stays as it is."""
        entries = list(self.questions.questions)
        for place, call in zip(self.places, calls, strict=True):
            if call is not None and call.payload is not None:
                texts = _different(call.payload["paraphrases"], entries[place].question)
                entries[place] = replace(entries[place], paraphrases=texts, paraphrased_by=model)
        return replace(self.questions, questions=tuple(entries))


def paraphrase_requests(questions: Questions, prompts: Path | None = None) -> ToParaphrase:
    """Return what to ask a model; questions that bring paraphrases keep theirs.

    Args:
        questions: of the experiment.
        prompts: folder of the user's own prompts, if any.
    """
    fixed = load_prompt("paraphrases", prompts)
    places = [at for at, entry in enumerate(questions.questions) if not entry.paraphrases]
    requests = [
        Request(
            kind="paraphrases",
            prompt=fixed.version,
            system=fixed.text,
            user=case_message(_case(questions.questions[at])),
            schema=wire_schema(ParaphraseReply),
            check=partial(_check, questions.questions[at].question),
            expected_tokens=REPLY_TOKENS,
        )
        for at in places
    ]
    return ToParaphrase(questions, tuple(places), tuple(requests))


def _case(entry: AskedQuestion) -> JudgedCase:
    turns = tuple((turn.get("role", ""), turn.get("text", "")) for turn in entry.history)
    return JudgedCase(entry.question, turns)


def _check(question: str, reply: object) -> ParaphraseReply:
    checked = validate_reply(reply, ParaphraseReply)
    if len(_different(checked.paraphrases, question)) < N_PARAPHRASES:
        raise ReplyError(
            f"paraphrases: too few; accepted: {N_PARAPHRASES} that differ from the question and each other"
        )
    return checked


def _different(texts: Sequence[str], question: str) -> tuple[str, ...]:
    """Return the texts that differ from a question and from each other by more than case and blanks."""
    kept: dict[str, str] = {}
    for text in texts:
        kept.setdefault(_bare(text), " ".join(text.split()))
    own = _bare(question)
    return tuple(text for bare, text in kept.items() if bare and bare != own)[:N_PARAPHRASES]


def _bare(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(" ?？.")
