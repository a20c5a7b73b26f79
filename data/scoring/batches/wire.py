"""The scores of a batch as one Arrow table: what processes exchange, and a file that is read in part."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ragtriage.data.scoring.batch_scores import ScoredChunk, ScoreKey
from ragtriage.metrics.schema.scores import Scores, Source

PARTS = ("value", "status", "reason")  # of the scores of a metric


def to_table(batch: ScoredChunk) -> pa.Table:
    """Return the scores of a batch as one Arrow table with a row per sample, for from_table to read."""
    columns: dict[str, Any] = {}
    for (metric, source), scores in batch.blocks.items():
        reasons = pa.array(scores.reason, pa.string()).dictionary_encode()
        for part, values in zip(PARTS, (scores.values, scores.status, reasons), strict=True):
            columns[score_column((metric, source), part)] = values
    for name, values in batch.stage_features.items():
        columns[json.dumps(["evidence", name])] = values
    for name, table in batch.tables.items():
        for column in table.column_names:
            columns[json.dumps(["table", name, column])] = table[column]
    facts = json.dumps({"n": batch.n, "missing": dict(batch.missing)})
    return pa.table(columns).replace_schema_metadata({"facts": facts})


def score_column(key: ScoreKey, part: str) -> str:
    """Return the name of the column with one of the PARTS of a metric's scores."""
    return json.dumps(["score", key[0], int(key[1]), part])


def from_table(table: pa.Table) -> ScoredChunk:
    """Return the scores of a batch from the table that to_table made."""
    facts = json.loads(table.schema.metadata[b"facts"])
    kinds: dict[str, list[tuple[list[Any], Any]]] = {"score": [], "evidence": [], "table": []}
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind, *path = json.loads(name)
        kinds[kind].append((path, column))
    tables: dict[str, dict[str, Any]] = {}
    for (name, part), column in kinds["table"]:
        tables.setdefault(name, {})[part] = column
    return ScoredChunk(
        n=facts["n"],
        blocks=dict(_blocks(kinds["score"])),
        stage_features={name: column.to_numpy() for (name,), column in kinds["evidence"]},
        missing=facts["missing"],
        tables={name: pa.table(columns) for name, columns in tables.items()},
    )


def _blocks(columns: list[tuple[list[Any], Any]]) -> Iterator[tuple[ScoreKey, Scores]]:
    for at in range(0, len(columns), len(PARTS)):
        (metric, source, _), values = columns[at]
        status, reason = columns[at + 1][1], columns[at + 2][1]
        n = len(values)
        yield (
            (metric, Source(source)),
            Scores(
                values.to_numpy(),
                status.to_numpy(),
                _texts(reason),
                np.full(n, source, dtype=np.int8),
            ),
        )


def _texts(reasons: Any) -> NDArray[np.object_]:
    """Return the texts of a dictionary column; equal ones share an object."""
    encoded = reasons.combine_chunks()
    words = np.array([*encoded.dictionary.to_pylist(), None], dtype=object)
    texts: NDArray[np.object_] = words[pc.fill_null(encoded.indices, -1).to_numpy()]  # the last is None
    return texts


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
