"""Langfuse: experiment items, traces, observations and scores, from its API and from its screens."""

from __future__ import annotations

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.tools.langfuse import items, observations, rows, scores
from ragtriage.data.store.parsed_run import ParsedRun

__all__ = ["IMPORTERS"]

WRITTEN_BY = "Langfuse 3"
HOSTS = ("langfuse_experiment", "langfuse_traces")
WITH_SPANS = ("langfuse_observations", "langfuse_trace")


def _scores_alone(source: InputFile, _options: Options, _errors: ValidationErrors) -> list[ParsedRun]:
    accepted = "them in one command with the traces, observations or experiment items that they are about"
    raise source.error("holds Langfuse scores alone, without questions", accepted)


IMPORTERS = (
    Importer(
        "langfuse_experiment",
        "Langfuse experiment items",
        "JSON of the API, `{data: [{experimentItemId, input, output, expectedOutput, scores}]}`",
        items.is_items,
        items.read,
        written_by=WRITTEN_BY,
        example="the answer of the API on the items of an experiment, saved as JSON",
    ),
    Importer(
        "langfuse_scores",
        "Langfuse scores",
        "JSON of the API or an export of the screen, one score per row: name, dataType and what it is about",
        scores.is_scores,
        _scores_alone,
        written_by=WRITTEN_BY,
        companion_of=(*HOSTS, *WITH_SPANS),
        alone=False,
        example="the export button above the table of scores; imported together with the traces",
    ),
    Importer(
        "langfuse_trace",
        "Langfuse trace",
        "JSON with trace and observations, as a trace is downloaded; a list or a folder of such",
        observations.is_traces,
        observations.read_traces,
        written_by=WRITTEN_BY,
        unit="trace",
        example="Download JSON in the header of a trace",
        shares_folder=True,
    ),
    Importer(
        "langfuse_observations",
        "Langfuse observations",
        "JSON of the API, or CSV, JSON or JSONL of the screen: one span per row, with traceId and type",
        observations.is_observations,
        observations.read,
        written_by=WRITTEN_BY,
        companion_of=HOSTS,
        unit="trace",
        example="the export button above the table of observations; alone or together with traces",
    ),
    Importer(
        "langfuse_traces",
        "Langfuse traces",
        "CSV, JSON or JSONL, a trace a row with input, output and a column for each score",
        rows.is_trace_rows,
        rows.read,
        written_by=WRITTEN_BY,
        example="the export button above the table of traces, as CSV, JSON or JSONL",
    ),
)
