"""What answers from a context: the sentence that fits the question best, or Claude."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ragtriage.data.systems.system import ModelUse
from ragtriage.data.text.sentences import split_sentences
from ragtriage.data.text.tokens import content_tokens, lowered

NEEDS_MODEL = "query_rewriting {how} is not available: it needs a model (--model)"
NO_ANSWER = "I cannot answer this: the documents do not say."
LEAST_COVERED = 0.5  # share of the question's words that a document needs, for a sentence of it to answer
OF_DOCUMENT = 0.5  # weight of a word that only the rest of the document has


@dataclass(frozen=True)
class Answer:
    """What a reader says: an answer, or what to search for instead of a question.

    Attributes:
        text: what it says; "" where it failed.
        reason: why it failed; "" where it did not.
        fields: of the sample, beside the answer: tokens, cost and time.
        passing: whether a failure may be gone when asked again.
    """

    text: str
    reason: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    passing: bool = False


class Reader(Protocol):
    """Answers a question from documents."""

    @property
    def name(self) -> str:
        """How it is called on screens."""

    def answer(self, question: str, history: Sequence[Mapping[str, str]], documents: Sequence[str]) -> Answer:
        """Answer from documents in rank order; from none, closed book."""

    @property
    def asks_model(self) -> bool:
        """Whether a model answers, which can then write what to search for as well."""

    def rewritten(self, question: str, how: str) -> Answer:
        """Return what to search for: a passage that could answer ("hyde"), or the question widened."""

    def expected_use(self, tokens: Sequence[int], rewritten: Sequence[int]) -> ModelUse:
        """Return what it takes to answer from so many tokens each, and to rewrite questions of so many."""

    def start(self) -> None:
        """Start what it needs; raises a DataError where it cannot answer, as without a key."""

    def close(self) -> None:
        """End what it started."""


class Extractive:
    """Answers with the sentence of the documents that shares most words with the question. No model.

    A word counts wholly in the sentence and by half in the rest of its document. Equal sentences: the first
    wins. Where no document has half of the question's words, it declines.
    """

    name = "extractive"
    asks_model = False

    def answer(
        self,
        question: str,
        history: Sequence[Mapping[str, str]],  # noqa: ARG002 -- a reader's interface
        documents: Sequence[str],
    ) -> Answer:
        """Answer from documents; without any it declines."""
        wanted = content_tokens(lowered(question))
        best, best_score = NO_ANSWER, 0.0
        for document in documents:
            lower = lowered(document)
            covered = wanted & content_tokens(lower)
            if not wanted or len(covered) < LEAST_COVERED * len(wanted):
                continue
            for start, end in split_sentences(document):
                inside = len(wanted & content_tokens(lower[start:end]))
                score = inside + OF_DOCUMENT * (len(covered) - inside)
                if inside and score > best_score:
                    best, best_score = document[start:end], score
        return Answer(best, fields={"cost_usd": 0.0})

    def rewritten(self, question: str, how: str) -> Answer:  # noqa: ARG002 -- a reader's interface
        """Return that it cannot: a question is rewritten by a model."""
        return Answer("", NEEDS_MODEL.format(how=how))

    def expected_use(self, tokens: Sequence[int], rewritten: Sequence[int]) -> ModelUse:  # noqa: ARG002 -- likewise
        """Return that no model is asked."""
        return ModelUse(0, 0, 0, 0.0)

    def start(self) -> None:
        """Nothing to start."""

    def close(self) -> None:
        """Nothing to end."""
