"""Which questions two runs share: those of the same id, else those of the same text."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.stored_file import reading
from ragtriage.data.text.language import language_of
from ragtriage.data.text.tokens import folded_question
from ragtriage.metrics.schema.scores import IntArray

HISTORY = "\x1f"  # between a question and the conversation before it
FEWEST_SHARED = 10  # ids of which most name other questions
ALIKE = 2 / 3  # share of their words that two wordings of a question have in common, if references differ
MOST_READ = 50  # questions that tell the language of a run
_WORD = re.compile(r"[^\W\d_]{4,}|[\u3040-\u30ff\u4e00-\u9fff]")


@dataclass(frozen=True)
class QuestionMatch:
    """Which questions two runs share."""

    base: IntArray  # (s,) indexes of the shared questions in the baseline
    other: IntArray  # (s,) indexes of the same questions in the other run
    only_base: int  # questions that only the baseline has
    only_other: int  # questions that only the other run has
    by_text: int = 0  # shared questions that have other ids in the two runs, and the same text
    unrelated: int = 0  # ids that both runs have for other questions; they are not shared
    sampled: bool = False  # whether one run is a sample of calls: nothing is paired then


def match_questions(base: ScoredRun, other: ScoredRun) -> QuestionMatch:
    """Match the questions of two runs by id, and those left on both sides by text where it is unique.

    Ids that most often name other questions were numbered apart: such a pair is not one. Calls that were
    sampled are matched with nothing: each of them stands for others.
    """
    left, right = base.question_ids, other.question_ids
    if base.is_sample or other.is_sample:
        none = np.zeros(0, dtype=np.int64)
        return QuestionMatch(none, none, len(left), len(right), sampled=True)
    if len(left) == len(right) and bool((left == right).all()):
        at_base = at_other = np.arange(len(left), dtype=np.int64)
    else:
        _, at_base, at_other = np.intersect1d(left, right, assume_unique=True, return_indices=True)
    strangers: frozenset[str] = frozenset()
    if _most_texts_differ(base, other, at_base, at_other):
        strangers = _unrelated(base.samples_path, other.samples_path)
    if strangers:
        kept = ~np.isin(left[at_base], list(strangers))
        at_base, at_other = at_base[kept], at_other[kept]
    by_text = 0
    if len(at_base) < min(len(left), len(right)):
        pairs = _pairs_by_text(base.samples_path, other.samples_path)
        by_text = len(pairs)
        at_base = np.append(at_base, np.searchsorted(left, [first for first, _ in pairs]))
        at_other = np.append(at_other, np.searchsorted(right, [second for _, second in pairs]))
    order = np.argsort(at_base, kind="stable")
    shared = len(at_base)
    only = len(left) - shared, len(right) - shared
    shared_at = at_base[order].astype(np.int64), at_other[order].astype(np.int64)
    return QuestionMatch(*shared_at, *only, by_text, len(strangers))


def first_rows(scored: ScoredRun) -> IntArray:
    """(q,) row of the first sample of each question."""
    return np.unique(scored.question, return_index=True)[1].astype(np.int64)


def paired_by_text(matched: QuestionMatch) -> Iterator[str]:
    """Yield a sentence on the questions that are not paired by id; none where all are."""
    if matched.unrelated:
        yield f"{matched.unrelated:,} ids name other questions in the two runs: not paired."
    if matched.by_text:
        questions = "question is" if matched.by_text == 1 else "questions are"
        yield f"{matched.by_text:,} {questions} paired by text: the ids differ between the runs."


def _most_texts_differ(base: ScoredRun, other: ScoredRun, at_base: IntArray, at_other: IntArray) -> bool:
    """Return whether most of the questions under the same ids have different texts, by what was scored."""
    tables = [scored.auxiliary_table("texts") for scored in (base, other)]
    if tables[0] is None or tables[1] is None or not len(at_base):
        return False
    asked = [
        np.asarray(table["asked"])[first_rows(scored)]
        for table, scored in zip(tables, (base, other), strict=True)
    ]
    return bool(2 * (asked[0][at_base] != asked[1][at_other]).sum() > len(at_base))


@lru_cache(maxsize=64)  # the samples of a run never change
def _unrelated(base: Path, other: Path) -> frozenset[str]:
    """Return the ids of both runs that name other questions, where those are most; else none.

    Other questions share no word, or few and have other references. A question in another language or script
    is not another question.
    """
    left, right = question_texts(base), question_texts(other)
    shared = [name for name in left if name in right]
    expected, others = _references(base), _references(other)
    apart = [
        name
        for name in shared
        if _are_others(_words(left[name]), _words(right[name]), expected.get(name), others.get(name))
    ]
    if len(shared) < FEWEST_SHARED or 2 * len(apart) <= len(shared):
        return frozenset()
    languages = {language_of(" ".join(side[name] for name in apart[:MOST_READ])) for side in (left, right)}
    return frozenset(apart) if len(languages) == 1 else frozenset()


def _are_others(words: set[str], other: set[str], expected: str | None, also: str | None) -> bool:
    """Return whether two questions are not wordings of one, by their words and their references."""
    if not words or not other or words.isdisjoint(other):
        return bool(words and other)
    differ = bool(expected and also and expected != also)
    return differ and len(words & other) < ALIKE * len(words | other)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(folded_question(text)))


@lru_cache(maxsize=64)  # the samples of a run never change
def _references(samples: Path) -> dict[str, str]:
    """Return question id -> its reference, folded; only those of questions that have one."""
    with reading(samples):
        table = pq.read_table(samples, columns=["question_id", "reference_answer"])
    pairs = zip(*(table[name].to_pylist() for name in table.column_names), strict=True)
    return {str(question): folded_question(reference) for question, reference in pairs if reference}


@lru_cache(maxsize=64)  # the samples of a run never change
def _pairs_by_text(base: Path, other: Path) -> Sequence[tuple[str, str]]:
    """Return the ids in both runs of the questions whose text is the same and whose ids are not shared.

    A text that a run has under several ids pairs nothing, and neither does another conversation before it.
    """
    sides = [question_texts(samples) for samples in (base, other)]
    known = [Counter(side.values()) for side in sides]
    ids = {text: question for question, text in sides[1].items() if question not in sides[0]}
    return [
        (question, ids[text])
        for question, text in sides[0].items()
        if question not in sides[1] and text in ids and known[0][text] == known[1][text] == 1
    ]


@lru_cache(maxsize=64)
def question_texts(samples: Path) -> dict[str, str]:
    """Return question id -> its text, behind HISTORY the conversation before it, in the order of the ids."""
    with reading(samples):
        names = ["question_id", "question", "history"]
        recorded = pq.read_schema(samples).names
        table = pq.read_table(samples, columns=[name for name in names if name in recorded])
    columns = table.to_pydict()
    histories = columns.get("history") or [None] * table.num_rows
    texts = {
        str(question): f"{text.strip()}{HISTORY}{history}" if history else text.strip()
        for question, text, history in zip(
            columns["question_id"], columns["question"], histories, strict=True
        )
    }
    return dict(sorted(texts.items()))
