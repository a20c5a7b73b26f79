"""TEDS: how alike the tables of a page are to the true ones, as trees of rows and cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from ragtriage.metrics.experiments.table_cells import Cell, Table
from ragtriage.metrics.experiments.tree_edit import MOST_PAIRS, OrderedTree, tree_edit_distance
from ragtriage.metrics.schema.scores import BoolArray, FloatArray

TableSimilarity = float | None


def page_similarity(
    gold: Sequence[Table], parsed: Sequence[Table], structure_only: bool = False
) -> TableSimilarity:
    """Return TEDS of a page: 1 - tree edit distance / nodes of the larger tree, all its tables in one tree.

    A node is a table, a row or a cell. A cell renamed costs the normalised Levenshtein distance of the texts,
    or 1 where it covers another number of rows or columns; anything else costs 1.

    Args:
        gold: true tables of the page.
        parsed: tables that a parser found.
        structure_only: TEDS-S: texts do not count.

    Returns:
        0..1; 0 where the parser found no table; None where the page has none (not applicable), and where
        the trees have more than 2 million pairs of nodes.

    Source: Zhong, ShafieiBavani and Jimeno Yepes 2020, "Image-based table recognition: data, model, and
    evaluation"; all tables of a page in one tree as in opendataloader-bench.
    """
    if not gold:
        return None
    if not parsed:
        return 0.0
    (first, first_cells), (second, second_cells) = _tree(gold), _tree(parsed)
    nodes = len(first_cells), len(second_cells)
    if nodes[0] * nodes[1] > MOST_PAIRS:
        return None
    rename = _rename_costs(first_cells, second_cells, structure_only)
    size = max(nodes) - 1  # the page itself counts as no node
    return 1.0 - tree_edit_distance(first, second, rename) / size


def matched_similarity(gold: Sequence[Table], parsed: Sequence[Table]) -> TableSimilarity:
    """Return the mean TEDS of the true tables, each with the parsed table that is most like it.

    Pairs are taken from the most alike on, each table once. A true table without a partner counts 0, and so
    does each parsed table beyond the true ones: the mean is over the larger number.

    Returns:
        0..1; None where the page has no table, or the tables are too large to compare.
    """
    if not gold:
        return None
    if _nodes(gold) * _nodes(parsed) > MOST_PAIRS:
        return None
    similarity = [[page_similarity([true], [found]) for found in parsed] for true in gold]
    pairs = sorted(
        ((value or 0.0, i, j) for i, row in enumerate(similarity) for j, value in enumerate(row)),
        key=lambda pair: (-pair[0], pair[1], pair[2]),
    )
    total, rows, columns = 0.0, set[int](), set[int]()
    for value, i, j in pairs:
        if i not in rows and j not in columns:
            total, rows, columns = total + value, rows | {i}, columns | {j}
    return total / max(len(gold), len(parsed))


def _nodes(tables: Sequence[Table]) -> int:
    return sum(1 + sum(1 + len(row) for row in table) for table in tables)


Node = str | Cell


def _tree(tables: Sequence[Table]) -> tuple[OrderedTree, list[Node]]:
    """Return the tables as one tree, and what stands at its nodes in postorder."""
    leftmost: list[int] = []
    nodes: list[Node] = []

    def close(start: int, node: Node) -> None:
        leftmost.append(min(start, len(nodes)))
        nodes.append(node)

    for table in tables:
        table_start = len(nodes)
        for row in table:
            row_start = len(nodes)
            for cell in row:
                close(len(nodes), cell)
            close(row_start, "row")
        close(table_start, "table")
    close(0, "page")
    return OrderedTree(np.array(leftmost, dtype=np.int64)), nodes


def _rename_costs(first: Sequence[Node], second: Sequence[Node], structure_only: bool) -> FloatArray:
    """Return the (n, m) costs of renaming a node to another."""
    kinds = [np.array([_kind(node) for node in nodes], dtype=np.int64) for nodes in (first, second)]
    different: BoolArray = (kinds[0][:, None, :] != kinds[1][None, :, :]).any(axis=2)
    if structure_only:
        structure: FloatArray = different.astype(np.float64)
        return structure
    texts = [[node.text if isinstance(node, Cell) else "" for node in nodes] for nodes in (first, second)]
    distances = cdist(*texts, scorer=Levenshtein.normalized_distance, dtype=np.float64)
    costs: FloatArray = np.where(different, 1.0, distances)
    return costs


def _kind(node: Node) -> tuple[int, int, int]:
    if isinstance(node, Cell):
        return 0, node.columns, node.rows
    return ("cell", "row", "table", "page").index(node), 0, 0
