"""Which questions two runs share: those of the same id, else those of the same text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.stored_file import reading
from ragtriage.metrics.schema.scores import IntArray


@dataclass(frozen=True)
class QuestionMatch:
    """Which questions two runs share."""

    base: IntArray  # (s,) indexes of the shared questions in the baseline
    other: IntArray  # (s,) indexes of the same questions in the other run
    only_base: int  # questions that only the baseline has
    only_other: int  # questions that only the other run has
    by_text: int = 0  # shared questions that have other ids in the two runs, and the same text


def match_questions(base: ScoredRun, other: ScoredRun) -> QuestionMatch:
    """Match the questions of two runs by id, and those left on both sides by text where it is unique."""
    left, right = base.question_ids, other.question_ids
    if len(left) == len(right) and bool((left == right).all()):
        same = np.arange(len(left), dtype=np.int64)
        return QuestionMatch(same, same, 0, 0)
    _, at_base, at_other = np.intersect1d(left, right, assume_unique=True, return_indices=True)
    by_text = 0
    if len(at_base) < min(len(left), len(right)):
        pairs = _pairs_by_text(base.samples_path, other.samples_path)
        by_text = len(pairs)
        at_base = np.append(at_base, np.searchsorted(left, [first for first, _ in pairs]))
        at_other = np.append(at_other, np.searchsorted(right, [second for _, second in pairs]))
    order = np.argsort(at_base, kind="stable")
    shared = len(at_base)
    only = len(left) - shared, len(right) - shared
    return QuestionMatch(at_base[order].astype(np.int64), at_other[order].astype(np.int64), *only, by_text)


def first_rows(scored: ScoredRun) -> IntArray:
    """(q,) row of the first sample of each question."""
    return np.unique(scored.question, return_index=True)[1].astype(np.int64)


def paired_by_text(matched: QuestionMatch) -> Iterator[str]:
    """Yield a sentence on the questions that are paired by text; none where all are paired by id."""
    if matched.by_text:
        questions = "question is" if matched.by_text == 1 else "questions are"
        yield f"{matched.by_text:,} {questions} paired by text: the ids differ between the runs."


@lru_cache(maxsize=64)  # the samples of a run never change
def _pairs_by_text(base: Path, other: Path) -> Sequence[tuple[str, str]]:
    """Return the ids in both runs of the questions whose text is the same and whose ids are not shared.

    A text that a run has under several ids pairs nothing, and neither does another conversation before it.
    """
    sides = [_texts(samples) for samples in (base, other)]
    known = [Counter(side.values()) for side in sides]
    ids = {text: question for question, text in sides[1].items() if question not in sides[0]}
    return [
        (question, ids[text])
        for question, text in sides[0].items()
        if question not in sides[1] and text in ids and known[0][text] == known[1][text] == 1
    ]


@lru_cache(maxsize=64)
def _texts(samples: Path) -> dict[str, str]:
    """Return question id -> its text, with the conversation before it, in the order of the ids."""
    with reading(samples):
        names = ["question_id", "question", "history"]
        recorded = pq.read_schema(samples).names
        table = pq.read_table(samples, columns=[name for name in names if name in recorded])
    columns = table.to_pydict()
    histories = columns.get("history") or [None] * table.num_rows
    texts = {
        str(question): f"{text.strip()}\x1f{history}" if history else text.strip()
        for question, text, history in zip(
            columns["question_id"], columns["question"], histories, strict=True
        )
    }
    return dict(sorted(texts.items()))
