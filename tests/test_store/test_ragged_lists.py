"""Lists of an Arrow column as tables: every value at its place, whatever is empty, null or cut."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from ragtriage.data.store.sample_schema import Ragged, numbers, padded

LISTS: dict[str, list[list[float] | None]] = {
    "of one length": [[1.0, 2.0], [3.0, 4.0]],
    "of several": [[1.0], None, [], [2.0, 3.0, 4.0], [5.0, 6.0]],
    "all empty": [[], [], None],
    "no rows": [],
}


@pytest.mark.parametrize("rows", LISTS.values(), ids=LISTS)
def test_spread_entries_stand_where_their_lists_have_them(rows: list[list[float] | None]) -> None:
    column = pa.chunked_array([pa.array([[9.0], *rows], pa.list_(pa.float64()))]).slice(1)
    lists = Ragged.of(column)
    values = numbers(lists.entries)
    table = lists.spread(values, -1.0)
    wanted = [[*(row or []), *[-1.0] * (lists.width - len(row or []))] for row in rows]
    np.testing.assert_array_equal(table, np.array(wanted).reshape(len(rows), lists.width))
    shape = (len(rows), lists.width)
    np.testing.assert_array_equal(table, padded(values, lists.sample, lists.place, shape, -1.0))
    table[:] = 0.0  # a table of its own, no view of the column
    assert numbers(lists.entries).tolist() == [value for row in rows for value in row or []]
