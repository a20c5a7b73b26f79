"""Ids of questions and the repeats of each, for tools that name their rows and may ask one thing twice."""

from __future__ import annotations

from collections import Counter

from ragtriage.data.text.folding import folded_question


class Numbering:
    """The questions of a run so far."""

    def __init__(self) -> None:
        self._named: dict[str, int] = {}  # id -> hash of its question
        self._asked: Counter[tuple[str | None, int]] = Counter()

    def of(self, name: object, question: object) -> dict[str, object]:
        """Return `question_id` and `repeat` of the next sample of a question.

        A name that another question has already is no id: the question's text then identifies it.

        Args:
            name: what the tool calls the row; None, or anything but text and whole numbers, is no name.
            question: its text.
        """
        usable = isinstance(name, str | int) and not isinstance(name, bool) and str(name).strip()
        text = hash(folded_question(question)) if isinstance(question, str) else 0
        key = str(name) if usable else None
        if key is not None and self._named.setdefault(key, text) != text:
            key = None
        asked = (key, 0 if key else text)
        repeat = self._asked[asked]
        self._asked[asked] += 1
        return ({"question_id": key} if key else {}) | ({"repeat": repeat} if repeat else {})
