"""The importers of Phoenix."""

from __future__ import annotations

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.tools.phoenix import database, experiments, spans
from ragtriage.data.importers.tools.phoenix.annotations import is_annotations
from ragtriage.data.store.parsed_run import ParsedRun

TRIED = "Phoenix 20.26 (client 3.5)"


def _annotations_alone(source: InputFile, _options: Options, _errors: ValidationErrors) -> list[ParsedRun]:
    raise source.error(
        "holds annotations of Phoenix, without the questions", "them in one command with the spans"
    )


IMPORTERS = (
    Importer(
        "phoenix",
        "Phoenix spans",
        "JSONL, CSV or Parquet of the data frame of spans, or JSON of the API; also of Arize AX",
        spans.is_spans,
        spans.read,
        written_by=TRIED,
        example="client.spans.get_spans_dataframe(...).to_parquet(FILE)",
        unit="trace",
    ),
    Importer(
        "phoenix_annotations",
        "Phoenix annotations",
        "CSV, JSONL, Parquet or JSON of the API: annotation_name, annotator_kind, result, span_id",
        is_annotations,
        _annotations_alone,
        written_by=TRIED,
        companion_of=("phoenix",),
        alone=False,
        example="client.spans.get_span_annotations_dataframe(...).to_csv(FILE)",
    ),
    Importer(
        "phoenix_experiment",
        "Phoenix experiment",
        "JSON or CSV of the server: example_id, input, reference_output, output, annotations",
        experiments.is_experiment,
        experiments.read,
        written_by=TRIED,
        example="/v1/experiments/ID/json",
    ),
    Importer(
        "phoenix_database",
        "Phoenix database",
        "SQLite of a Phoenix server: a run for each project and each experiment",
        database.is_database,
        database.read,
        written_by=TRIED,
        example="phoenix.db in PHOENIX_WORKING_DIR",
        unit="trace",
    ),
)
