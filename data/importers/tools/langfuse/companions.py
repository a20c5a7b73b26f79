"""Files that complete traces and items of Langfuse in one import: scores, and observations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.parsing.rows import rows_at
from ragtriage.data.importers.parsing.spool import Spool
from ragtriage.data.importers.spans.samples import sample_of_trace
from ragtriage.data.importers.spans.span import Span
from ragtriage.data.importers.tools.langfuse.observations import span_of
from ragtriage.data.importers.tools.langfuse.scores import ScoresById, is_scores

FROM_SPANS = (
    *("retrieved", "candidates", "search_query", "retrieval_ms", "history", "latency_ms", "checks"),
    *("input_tokens", "output_tokens", "cost_usd"),
)


class Companions:
    """What other files of one import hold on a trace.

    Attributes:
        scores: scores by the id of their trace or observation.
    """

    def __init__(self, files: Iterable[InputFile], errors: ValidationErrors) -> None:
        kinds = [(file, is_scores(Peek(file))) for file in files]
        self.scores = ScoresById((file for file, scores in kinds if scores), errors)
        self._spans = Spool()
        for file in (file for file, scores in kinds if not scores):
            for line, row in rows_at(file, "data", errors):
                span = span_of(row) if isinstance(row, Mapping) else None
                if span is not None and span.trace_id:
                    self._spans.add(span.trace_id, line, vars(span))

    def completed(self, record: dict[str, Any], trace: object, line: int) -> dict[str, Any]:
        """Return a record with what the observations of its trace tell beyond it."""
        spans = [Span(**value) for _, value in self._spans.rows(trace)] if isinstance(trace, str) else []
        # The question of the row stands where its observations have none.
        sample = sample_of_trace(spans, line=line) if spans else None
        if sample is None:
            return record
        found = {name: sample[name] for name in FROM_SPANS if name in sample and record.get(name) is None}
        tags = {**record.get("tags", {}), **sample.get("tags", {})}
        return {**record, **found, **({"tags": tags} if tags else {})}
