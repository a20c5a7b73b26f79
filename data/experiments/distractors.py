"""Passages that do not help: drawn for each question from the other questions' passages and the corpus."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragtriage.data.chunking.retrievers import Bm25Index
from ragtriage.data.experiments.questions import AskedQuestion, Passage, Questions
from ragtriage.data.text.answer_match import normalised
from ragtriage.data.text.folding import folded

SEARCHED = 5  # times as many as are needed are looked at first: some hold the answer


@dataclass(frozen=True)
class Drawn:
    """The distractors of one question.

    Attributes:
        passages: the most alike to the question first.
        with_answer: candidates that were left out because they hold an accepted answer.
    """

    passages: tuple[Passage, ...]
    with_answer: int


class Distractors:
    """A pool of passages to draw from, searched by the words of a question."""

    def __init__(self, questions: Questions) -> None:
        pool: dict[str, Passage] = {}
        for passage in _all_passages(questions):
            pool.setdefault(folded(passage.text), passage)
        self._pool = tuple(pool.values())
        self._normalised = [normalised(passage.text) for passage in self._pool]
        self._index = Bm25Index([passage.text for passage in self._pool])

    def draw(self, question: AskedQuestion, count: int) -> Drawn:
        """Draw the passages that look most like a question and hold none of its accepted answers.

        Those that a run retrieved for it come first, then those of the pool by BM25; where too few share a
        word with it, others follow in an order fixed by the question's id.
        """
        accepted = tuple(filter(None, map(normalised, (*question.answers, question.altered))))
        taken = {folded(passage.text) for passage in question.gold}
        names = {passage.doc_id for passage in question.gold}
        drawn: list[Passage] = []
        with_answer = 0
        for passage, content in self._candidates(question, count):
            key = folded(passage.text)
            if len(drawn) == count:
                break
            if key in taken or passage.doc_id in names:
                continue
            taken.add(key)
            if any(answer in content for answer in accepted):
                with_answer += 1
                continue
            names.add(passage.doc_id)
            drawn.append(passage)
        return Drawn(tuple(drawn), with_answer)

    def _candidates(self, question: AskedQuestion, count: int) -> Iterable[tuple[Passage, str]]:
        for passage in question.retrieved:
            yield passage, normalised(passage.text)
        depth = min(len(self._pool), SEARCHED * (count + len(question.gold)))
        hits = [int(at) for at in self._index.search([question.question], depth)[0][0] if at >= 0]
        for at in (*hits, *self._others(question, set(hits))):
            yield self._pool[at], self._normalised[at]

    def _others(self, question: AskedQuestion, hits: set[int]) -> Iterable[int]:
        """Yield the rest of the pool from a place that the question's id fixes."""
        size = len(self._pool)
        start = int(hashlib.sha256(question.question_id.encode()).hexdigest()[:8], 16) % max(size, 1)
        return (at for step in range(size) if (at := (start + step) % size) not in hits)


def draw_distractors(
    questions: Questions, asked: Sequence[AskedQuestion], count: int
) -> tuple[dict[str, tuple[Passage, ...]], tuple[str, ...]]:
    """Draw `count` distractors for each question; the questions without as many are not in the result.

    Returns:
        question id -> distractors, and notes on what was left out.
    """
    pool = Distractors(questions)
    drawn = {question.question_id: pool.draw(question, count) for question in asked}
    full = {name: entry.passages for name, entry in drawn.items() if len(entry.passages) == count}
    with_answer = sum(entry.with_answer for entry in drawn.values())
    notes = []
    if with_answer:
        notes.append(
            f"passages not drawn as distractors because they hold an accepted answer: {with_answer:,}"
        )
    if len(full) < len(drawn):
        notes.append(f"questions left out for want of {count:,} distractors: {len(drawn) - len(full):,}")
    return full, tuple(notes)


def _all_passages(questions: Questions) -> Iterable[Passage]:
    for question in questions.questions:
        yield from question.gold
        yield from question.retrieved
    yield from questions.documents
