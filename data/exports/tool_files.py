"""The tools that take scores back, and the file for each, written sample by sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.errors import DataError
from ragtriage.data.exports.feedback import Chosen, Counts, RunFeedback, SampleFeedback, sample_ids
from ragtriage.data.exports.langfuse import LANGFUSE
from ragtriage.data.exports.langsmith import LANGSMITH
from ragtriage.data.exports.mlflow import MLFLOW
from ragtriage.data.exports.phoenix import PHOENIX
from ragtriage.data.exports.tool import Tool
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.ledger import Ledger
from ragtriage.metrics.schema.scores import IntArray

TOOLS: Mapping[str, Tool] = {
    "langfuse": LANGFUSE,
    "phoenix": PHOENIX,
    "mlflow": MLFLOW,
    "langsmith": LANGSMITH,
}
UNNAMED = "unnamed"  # no tool takes a score without a name
LOOKED_AT = 64  # samples that tell which tools scores can go back to


def tools_of(scored: ScoredRun, rows: IntArray) -> list[str]:
    """List the tools whose ids some rows of a run have, by the first of them."""
    samples = scored.samples.read(rows[:LOOKED_AT].tolist(), ("extra", "tags"))
    ids = [sample_ids(sample) for sample in samples]
    return [name for name, tool in TOOLS.items() if any(map(tool.accepts, ids))]


class ToolFile:
    """The scores and human labels of a run, or of some of its rows, as a file for a tool.

    Attributes:
        tool: the tool.
        counts: what became of the scores; complete when the last line has been read.
    """

    def __init__(
        self,
        name: str,
        diagnosis: Diagnosis,
        ledger: Ledger,
        chosen: Chosen | None = None,
        rows: IntArray | None = None,
    ) -> None:
        if name not in TOOLS:
            raise DataError(f"tool {name!r}; accepted: {', '.join(TOOLS)}")
        self.tool = TOOLS[name]
        self._run = diagnosis.scored.run
        self._rows = np.arange(diagnosis.scored.n) if rows is None else rows
        self._feedback = RunFeedback(diagnosis, ledger, chosen or Chosen(), self._rows)

    @property
    def counts(self) -> Counts:
        """What became of the scores."""
        return self._feedback.counts

    def lines(self) -> Iterator[bytes]:
        """Yield the file in pieces, one a sample.

        Raises:
            DataError: no sample has the id that the tool needs, or nothing is left to write.
        """
        header = self.tool.header
        for sample in self._feedback.samples(self.tool.accepts):
            piece = self._piece(sample)
            if piece:
                yield header + piece
                header = b""
        if not self.counts.samples:
            raise self._nothing()

    def _piece(self, sample: SampleFeedback) -> bytes:
        piece = bytearray()
        for given in sample.entries:
            entry = given if given.name.strip() else replace(given, name=UNNAMED)
            line = self.tool.line(sample, entry)
            if line is None:
                self.counts.failed += 1
            else:
                piece += line
                self.counts.count(entry)
        self.counts.samples += bool(piece)
        return bytes(piece)

    def _nothing(self) -> DataError:
        tool, run = self.tool, self._run
        if self.counts.without_id == len(self._rows):
            return DataError(
                f"{run.name} ({run.run_id}), read as {run.origin['format']}, has no {tool.id_name}, by which "
                f"{tool.title} joins scores; accepted: a run imported from {tool.imports}"
            )
        return DataError(
            f"{run.name} ({run.run_id}) has no score or label for {tool.title} left to write; accepted: "
            "other metrics or sources, or a run with scores"
        )
