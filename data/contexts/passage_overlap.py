"""Passages compared by their words: with the question, and with each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import sqrt

from ragtriage.data.text.tokens import content_tokens, lowered, surface_tokens

NEAR_DUPLICATE = 0.8  # Jaccard similarity of two passages that say the same
KEPT = 4096  # passages whose words are kept: the passages of a corpus return question after question
LONGEST = 20_000  # characters of a passage that are compared
MOST_PAIRED = 10  # passages of a question that are compared with each other: the work grows with the square


@dataclass(frozen=True)
class PassageOverlap:
    """How the passages of one question overlap.

    Attributes:
        with_question: of each passage, cosine of its distinct content words with the question's; None where
            the passage has no text.
        mean_pair: mean Jaccard similarity of the distinct words of two passages; None with fewer than two.
        duplicate: of each passage, whether one ranked above it is a near-duplicate.
    """

    with_question: tuple[float | None, ...]
    mean_pair: float | None
    duplicate: tuple[bool, ...]


def passage_overlap(question: str, passages: Sequence[str | None]) -> PassageOverlap:
    """Compare passages, in rank order, with the question and, the first MOST_PAIRED, with each other."""
    asked = content_tokens(lowered(question[:LONGEST]))
    similarity = tuple(_cosine(asked, _content(text[:LONGEST])) if text else None for text in passages)
    words = {rank: _words(text[:LONGEST]) for rank, text in enumerate(passages[:MOST_PAIRED]) if text}
    pairs = {pair: _jaccard(words[pair[0]], words[pair[1]]) for pair in combinations(words, 2)}
    later = {below for (_, below), value in pairs.items() if value >= NEAR_DUPLICATE}
    total = 0.0
    for value in pairs.values():  # not sum(): its last digit depends on the version of Python
        total += value
    return PassageOverlap(
        similarity,
        total / len(pairs) if pairs else None,
        tuple(rank in later for rank in range(len(passages))),
    )


def word_coverage(reference: str, passages: Sequence[str | None]) -> float | None:
    """Return the share of a reference answer's content words that any passage has; None where it has none."""
    wanted = content_tokens(lowered(reference[:LONGEST]))
    if not wanted:
        return None
    there = set().union(*(_content(text[:LONGEST]) for text in passages if text))
    return len(wanted & there) / len(wanted)


@lru_cache(maxsize=KEPT)
def _content(text: str) -> frozenset[str]:
    return frozenset(content_tokens(lowered(text)))


@lru_cache(maxsize=KEPT)
def _words(text: str) -> frozenset[str]:
    return frozenset(surface_tokens(text))


def _cosine(one: set[str], other: frozenset[str]) -> float:
    return len(one & other) / sqrt(len(one) * len(other)) if one and other else 0.0


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the words in both / the words in either; 1 where neither has one."""
    shared = len(one & other)
    whole = len(one) + len(other) - shared
    return shared / whole if whole else 1.0
