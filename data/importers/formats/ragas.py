"""Tables of Ragas (0.1 to 0.4): its own columns, then a numeric column for each metric; its test sets."""

from collections.abc import Iterable, Mapping
from typing import Any

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.formats.table import runs_of_table
from ragtriage.data.importers.importer import Options, Reader, Row, read_each
from ragtriage.data.importers.parsing.columns import plan_columns
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.rows import open_table
from ragtriage.data.importers.parsing.shapes import (
    OWN,
    decoded,
    gold_passages,
    others,
    own_fields,
    question_in,
    with_ids,
)
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


def _with_objects(row: Mapping[str, Any]) -> bool:
    """Return whether its contexts are objects: those of Ragas are texts."""
    contexts = decoded(row.get("contexts"))
    return isinstance(contexts, list) and any(isinstance(each, Mapping) for each in contexts)


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
    asked = {file.name: _questions(InputFile.from_path(file)) for file in files} if results else {}
    name = next((name for name, questions in asked.items() if results <= questions), None)
    if name is None or results == asked[name]:
        return ()
    whole = f"{len(results):,} of the {len(asked[name]):,} questions of datasets/{name}"
    return (f"holds {whole}: Ragas drops a row that fails without a trace",)


def _questions(source: InputFile) -> set[str]:
    try:
        rows = open_table(source, ValidationErrors(source.name)).rows()
        return {str(row["user_input"]) for _, row in rows if isinstance(row, dict) and row.get("user_input")}
    except InputError:
        return set()


KEY = "ragas_testset"
OF_A_RUN = ("response", "multi_responses", "retrieved_contexts", "retrieved_context_ids")
TAGS = ("persona_name", "query_style", "query_length", "synthesizer_name")
ACCEPTED = "a test set without responses and retrieved contexts, or a run that has them"


def _of_a_run(row: Mapping[str, Any]) -> str:
    """Return the field that shows a run: a response, what was retrieved, a conversation that was answered."""
    turns = decoded(row.get("user_input"))
    last = turns[-1] if isinstance(turns, list) and turns else None
    if isinstance(last, Mapping) and last.get("type", last.get("role")) in ("ai", "assistant"):
        return "user_input"
    return next((name for name in OF_A_RUN if row.get(name) not in (None, "", "[]")), "")


def _question(row: Row, line: int, errors: ValidationErrors) -> Row | None:
    if name := _of_a_run(row):
        errors.add(line, name, "holds an answer, in a test set of Ragas that has none before", ACCEPTED)
        return None
    record = {
        "question_id": row.get("id") or None,
        "question": question_in(row.get("user_input")),
        "reference_answer": row.get("reference") or None,
        "relevant": _gold(row) or None,
        "tags": {name: str(row[name]) for name in TAGS if row.get(name) not in (None, "")} or None,
    }
    known = (
        *OF_A_RUN,
        *TAGS,
        OWN,
        "id",
        "user_input",
        "reference",
        "reference_contexts",
        "reference_context_ids",
    )
    return {**others(row, known), **record, **own_fields(row)}


def _gold(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the reference contexts, with their ids where there is one for each."""
    passages, names = gold_passages(row.get("reference_contexts")), decoded(row.get("reference_context_ids"))
    if not passages and isinstance(names, list):
        return [{"id": name} for name in names]
    paired = with_ids(passages, names)
    return paired if isinstance(paired, list) else passages


READERS = {
    "ragas": Reader(read, lambda peek: is_ragas(peek.columns) and not any(map(_with_objects, peek.rows))),
    KEY: Reader(
        read_each(KEY, _question, questions=True),
        lambda peek: (
            "user_input" in peek.columns
            and not peek.columns.isdisjoint({"reference", "reference_contexts"})
            and not any(map(_of_a_run, peek.rows))
        ),
    ),
}
