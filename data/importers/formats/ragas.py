"""Tables written by Ragas (0.1 and 0.2 names): its own columns, then a numeric column for each metric."""

from __future__ import annotations

from collections.abc import Iterable

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.formats.table import runs_of_table
from ragtriage.data.importers.parsing.columns import plan_columns
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.rows import open_table
from ragtriage.data.store.parsed_run import ParsedRun

NAMES = {
    *("user_input", "retrieved_contexts", "reference_contexts", "retrieved_context_ids"),
    *("reference_context_ids", "response", "multi_responses", "reference", "rubrics"),
    *("persona_name", "query_style", "query_length", "synthesizer_name"),
}
NAMES_BEFORE_0_2 = {"question", "contexts", "answer", "ground_truth", "ground_truths"}
OWN_COLUMNS = NAMES | NAMES_BEFORE_0_2
MOST_DATASETS = 100


def is_ragas(columns: Iterable[str]) -> bool:
    """Return whether these columns are those of a Ragas table."""
    names = set(columns)
    if "user_input" in names:
        return len(names & NAMES) > 1
    return {"question", "contexts"} <= names and len(names & NAMES_BEFORE_0_2) > 2


def read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read a Ragas table; a blank or NaN cell is a metric that failed."""
    scored = open_table(source, errors, options.limit, rows=options.rows)
    plan = plan_columns(scored, options.mapping, source.name, metrics_after=OWN_COLUMNS)
    base = ParsedRun(source.stem, (), source.name, "ragas", notes=_dropped_rows(source, options))
    return runs_of_table(scored, plan, base, errors)


def _dropped_rows(source: InputFile, options: Options) -> tuple[str, ...]:
    """Return how many rows of its data set an experiment has: Ragas drops a row that fails without a trace.

    That shows only where the file lies in the folder that Ragas writes, beside `datasets`.
    """
    if source.path is None or source.path.parent.name != "experiments" or options.limit is not None:
        return ()
    results = _questions(source)
    folder = source.path.parent.parent / "datasets"
    files = [path for path in sorted(folder.glob("*"))[:MOST_DATASETS] if path.suffix in (".csv", ".jsonl")]
    for file in files if results else ():
        asked = _questions(InputFile.from_path(file))
        if results <= asked and len(results) < len(asked):
            return (
                f"holds {len(results):,} of the {len(asked):,} questions of datasets/{file.name}: "
                "Ragas drops a row that fails without a trace",
            )
        if results == asked:
            return ()
    return ()


def _questions(source: InputFile) -> set[str]:
    try:
        rows = open_table(source, ValidationErrors(source.name)).rows()
        return {str(row["user_input"]) for _, row in rows if isinstance(row, dict) and row.get("user_input")}
    except InputError:
        return set()
