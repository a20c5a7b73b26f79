"""Edit distance of ordered trees (Zhang and Shasha 1989)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ragtriage.metrics.schema.scores import FloatArray, IntArray, MetricsError

MOST_PAIRS = 2_000_000  # pairs of nodes that are compared at most; beyond, a similarity is not measured


@dataclass(frozen=True)
class OrderedTree:
    """A tree by its nodes in postorder.

    Attributes:
        leftmost: (n,) index of the leftmost leaf below each node; a leaf's own.
    """

    leftmost: IntArray

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
