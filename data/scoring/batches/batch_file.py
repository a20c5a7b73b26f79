"""The scores of a batch in a file, of which a part is read at a time: a large run is not held as a whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from ragtriage.data.scoring.batch_scores import ScoredChunk
from ragtriage.data.scoring.batches.wire import to_table


class BatchFile:
    """A file with the scores of one batch, as ragtriage.data.scoring.batches.wire has them."""

    def __init__(self, path: Path, batch: ScoredChunk) -> None:
        """Write the scores to `path`."""
        table = to_table(batch)
        self._path = path
        self._columns = [json.loads(name) for name in table.column_names]
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)

    def read(self, wanted: Callable[[list[Any]], bool]) -> Any:
        """Return the columns whose name, a list of its parts, is wanted; the file is mapped, not read."""
        places = [place for place, parts in enumerate(self._columns) if wanted(parts)]
        with pa.memory_map(str(self._path)) as file:
            return pa.ipc.open_file(file).read_all().select(places)
