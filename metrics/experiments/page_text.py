"""How much of a page's text a parser kept, in its order."""

from __future__ import annotations

from rapidfuzz.distance import Indel


def folded(text: str) -> str:
    """Return text with every run of white space as one space, and none at its ends."""
    return " ".join(text.split())


def text_similarity(gold: str, parsed: str) -> float | None:
    """Return 1 - indel distance / (length of gold + length of parsed), the NID of a page.

    The indel distance counts the characters to delete and to insert, so text in another order costs twice
    what moved. White space is folded first.

    Args:
        gold: true text of the page.
        parsed: text that a parser made of it.

    Returns:
        0..1; None where the true page has no text (not applicable).

    Source: opendataloader-bench, evaluator_reading_order.py; rapidfuzz's normalised indel similarity.
    """
    gold, parsed = folded(gold), folded(parsed)
    return float(Indel.normalized_similarity(gold, parsed)) if gold else None
