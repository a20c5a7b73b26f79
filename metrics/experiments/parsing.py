"""How much of a page a parser kept: text in order, headings (MHS), tables (TEDS) and their cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rapidfuzz.distance import Indel, Levenshtein
from rapidfuzz.process import cdist

from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, MetricsError


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
    (first, first_nodes), (second, second_nodes) = _heading_tree(gold), _heading_tree(parsed)
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


def _heading_tree(sections: Sequence[Section]) -> tuple[OrderedTree, Nodes]:
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


MOST_PAIRS = 2_000_000  # pairs of nodes that are compared at most; beyond, a similarity is not measured


@dataclass(frozen=True)
class OrderedTree:
    """A tree by its nodes in postorder."""

    leftmost: IntArray  # (n,) index of the leftmost leaf below each node; a leaf's own

    @property
    def keyroots(self) -> IntArray:
        """Ascending indices of the nodes that have a left sibling, and of the root."""
        reversed_first = np.unique(self.leftmost[::-1], return_index=True)[1]
        return np.sort(len(self.leftmost) - 1 - reversed_first)


def tree_edit_distance(first: OrderedTree, second: OrderedTree, rename: FloatArray) -> float:
    """Return the least cost to make one tree the other, a deletion and an insertion of a node costing 1.

    Args:
        first: tree of n nodes.
        second: tree of m nodes.
        rename: (n, m) cost of renaming a node of the first to one of the second.

    Raises:
        MetricsError: the costs do not fit the trees.

    Source: Zhang and Shasha 1989, "Simple fast algorithms for the editing distance between trees".
    """
    shape = len(first.leftmost), len(second.leftmost)
    if rename.shape != shape:
        raise MetricsError(f"rename costs are {rename.shape}; accepted: {shape}, one a pair of nodes")
    costs, distances = rename.tolist(), [[0.0] * shape[1] for _ in range(shape[0])]
    left, right = first.leftmost.tolist(), second.leftmost.tolist()
    for i in first.keyroots.tolist():
        for j in second.keyroots.tolist():
            _forest_distances(i, j, left, right, costs, distances)
    return distances[-1][-1] if min(shape) else float(max(shape))


def _forest_distances(
    i: int, j: int, left: list[int], right: list[int], costs: list[list[float]], distances: list[list[float]]
) -> None:
    """Fill the distances of all pairs of subtrees on the left paths of nodes i and j.

    A row of `above` holds the distances of the forest up to one node of the first tree from every forest of
    the second; two nodes on the left paths are trees by themselves, others are taken from what is filled.
    """
    first, second = left[i], right[j]
    columns = j - second + 2
    forests = [[float(column) for column in range(columns)]]
    for node in range(first, i + 1):
        above = forests[-1]
        row = [above[0] + 1.0] + [0.0] * (columns - 1)
        # Zhang and Shasha 1989: where both are whole trees, the nodes are matched; else the subtrees are
        # taken as done
        whole, before, node_costs = left[node] == first, forests[left[node] - first], costs[node]
        for column in range(1, columns):
            other = second + column - 1
            cost = min(above[column], row[column - 1]) + 1.0
            if whole and right[other] == second:
                cost = min(cost, above[column - 1] + node_costs[other])
                distances[node][other] = cost
            else:
                cost = min(cost, before[right[other] - second] + distances[node][other])
            row[column] = cost
        forests.append(row)


LabelledCell = tuple[str, str, str]


@dataclass(frozen=True)
class CellCheck:
    """The labelled cells of a page."""

    gold: int  # cells of the true tables
    parsed: int  # cells of the parsed tables
    found: int  # cells that are in both, each as often as in the one that has it less often
    order: float  # share of the pairs of found cells that stand in the true order; NaN below two of them

    @property
    def recall(self) -> float | None:
        """Found / gold; None where the true page has no labelled cell (not applicable)."""
        return self.found / self.gold if self.gold else None

    @property
    def f1(self) -> float | None:
        """2 found / (gold + parsed); None where the true page has no labelled cell (not applicable)."""
        return 2 * self.found / (self.gold + self.parsed) if self.gold else None


def labelled_cells(table: Table) -> list[LabelledCell]:
    """Return the cells of a table with a text as (row header, column header, value), in reading order.

    The first row holds the column headers and the first column the row headers; a cell that covers several
    places counts once for each.
    """
    rows = grid(table)
    return [
        (row[0], header, value)
        for row in rows[1:]
        for header, value in zip(rows[0][1:], row[1:], strict=True)
        if value
    ]


def check_cells(gold: Sequence[Table], parsed: Sequence[Table]) -> CellCheck:
    """Return how many labelled cells of the true tables were found, and whether in their order.

    A cell is found where a parsed table has the same row header, column header and value. A value beside a
    wrong header is not found: it would answer another question. Upper and lower case and white space do not
    count, nor do other signs than letters and digits in a header; in a value they do: 8.3 is not 83.

    Args:
        gold: true tables of the page.
        parsed: tables that a parser found.
    """
    true, parsed_cells = _cells(gold), _cells(parsed)
    shared = Counter(true) & Counter(parsed_cells)
    return CellCheck(len(true), len(parsed_cells), shared.total(), _order(true, parsed_cells))


def _cells(tables: Sequence[Table]) -> list[LabelledCell]:
    return [
        (_header(row), _header(column), "".join(value.split()).casefold())
        for table in tables
        for row, column, value in labelled_cells(table)
    ]


def _header(text: str) -> str:
    """Return the letters and digits of a header; all of it where it has none."""
    kept = "".join(character for character in text if character.isalnum())
    return (kept or "".join(text.split())).casefold()


def _order(true: Sequence[LabelledCell], found: Sequence[LabelledCell]) -> float:
    """Return the share of pairs in order, over the cells that occur once on both sides."""
    once = [{cell for cell, n in Counter(cells).items() if n == 1} for cells in (true, found)]
    unique = once[0] & once[1]
    place = {cell: position for position, cell in enumerate(found)}
    places = np.array([place[cell] for cell in true if cell in unique], dtype=np.int64)
    pairs = len(places) * (len(places) - 1) // 2
    if not pairs:
        return float("nan")
    in_order = sum(int((places[i + 1 :] > places[i]).sum()) for i in range(len(places)))
    return in_order / pairs


MOST_SPAN = 1_000  # columns or rows that one cell may be said to cover


@dataclass(frozen=True)
class Cell:
    """A cell."""

    text: str  # what stands in it, white space folded
    columns: int = 1  # that it covers
    rows: int = 1  # that it covers


Table = tuple[tuple[Cell, ...], ...]


def grid(table: Table) -> list[list[str]]:
    """Return the texts by row and column, a cell that covers several places written in each of them."""
    places: dict[tuple[int, int], str] = {}
    for row, cells in enumerate(table):
        column = 0
        for cell in cells:
            while (row, column) in places:
                column += 1
            rows = len(table)
            for down in range(row, min(row + cell.rows, rows)):
                for right in range(column, column + min(cell.columns, MOST_SPAN)):
                    places.setdefault((down, right), cell.text)
            column += min(cell.columns, MOST_SPAN)
    width = max((column for _, column in places), default=-1) + 1
    return [[places.get((row, column), "") for column in range(width)] for row in range(len(table))]


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
    similarity = [[page_similarity([true], [page]) for page in parsed] for true in gold]
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
    # the root comes last in postorder, and its leftmost leaf is node 0
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
