"""How much of a page a parser kept: its text in order, and its headings with the text below each (MHS)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rapidfuzz.distance import Indel, Levenshtein
from rapidfuzz.process import cdist

from ragtriage.metrics.experiments.tree_edit import MOST_PAIRS, OrderedTree, tree_edit_distance


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


Section = tuple[str, str]  # heading, text under it; the text before the first heading has the heading ""
Nodes = list[tuple[str, str]]  # kind and text, in postorder


def heading_similarity(
    gold: Sequence[Section], parsed: Sequence[Section], structure_only: bool = False
) -> float | None:
    """Return MHS: 1 - tree edit distance / nodes of the larger tree, all levels of headings alike.

    A page is a tree of its headings, each with the text under it as a leaf, and of the text before the
    first. A node renamed costs the normalised Levenshtein distance of the texts, or 1 where it is of another
    kind.

    Args:
        gold: true sections of the page, in order.
        parsed: sections that a parser found.
        structure_only: MHS-S: texts do not count.

    Returns:
        0..1; 0 where the parser found no heading; None where the page has none (not applicable), and where
        the trees have more than 2 million pairs of nodes.

    Source: opendataloader-bench, evaluator_heading_level.py.
    """
    if not any(heading for heading, _ in gold):
        return None
    if not any(heading for heading, _ in parsed):
        return 0.0
    (first, first_nodes), (second, second_nodes) = _tree(gold), _tree(parsed)
    if len(first_nodes) * len(second_nodes) > MOST_PAIRS:
        return None
    kinds = [np.array([kind for kind, _ in nodes]) for nodes in (first_nodes, second_nodes)]
    texts = [[text for _, text in nodes] for nodes in (first_nodes, second_nodes)]
    different = kinds[0][:, None] != kinds[1][None, :]
    rename = np.zeros(different.shape)
    if not structure_only:
        rename = cdist(*texts, scorer=Levenshtein.normalized_distance, dtype=np.float64)
    distance = tree_edit_distance(first, second, np.where(different, 1.0, rename))
    return max(0.0, 1.0 - distance / max(len(first_nodes), len(second_nodes)))


def _tree(sections: Sequence[Section]) -> tuple[OrderedTree, Nodes]:
    nodes: Nodes = []
    leftmost: list[int] = []
    for heading, text in sections:
        start = len(nodes)
        if text:
            nodes.append(("text", text))
            leftmost.append(start)
        if heading:
            nodes.append(("heading", heading))
            leftmost.append(start)
    nodes.append(("page", ""))
    leftmost.append(0)
    return OrderedTree(np.array(leftmost, dtype=np.int64)), nodes
