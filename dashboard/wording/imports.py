"""What is said of an import: a line for each run or question set, and the formats that can be read."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.registry import importer_of
from ragtriage.data.store.parsed_run import MappedColumn
from ragtriage.data.store.question_sets import QuestionSet
from ragtriage.data.store.write_run import ImportedRun
from ragtriage.metrics.number_text import count

SHOWN_RUNS = 5
SHOWN_COLUMNS = 5


def import_lines(
    imported: Sequence[ImportedRun], names: Mapping[str, str], behind: str = "", shown: int = SHOWN_RUNS
) -> list[str]:
    """Return a line for each run of an import, at most some and how many more.

    Args:
        imported: the runs.
        names: run id -> name on screen.
        behind: what stands elsewhere, e.g. "2 notes: --explain"; ends the first line.
        shown: number of runs with a line of their own.
    """
    lines = [_line(entry, names.get(entry.run.run_id, entry.run.name)) for entry in imported[:shown]]
    if lines and behind:
        lines[0] = f"{lines[0]}; {behind}"
    return [*lines, f"and {len(imported) - shown:,} more"] if len(imported) > shown else lines


def format_title(key: str) -> str:
    """Return what a format is in a sentence: the tool, or that it is a table of the user's own."""
    tables = {"table": "your table", "ragas": "a table with column names of Ragas"}  # others use them too
    importer = importer_of(key)
    return tables.get(key) or (key if importer is None else importer.title)


def _line(entry: ImportedRun, name: str) -> str:
    run = entry.run
    importer = importer_of(run.origin["format"])
    title = format_title(run.origin["format"])
    if run.means:
        return f"{name}: summary scores of {count(len(run.means), 'metric')} from {title}"
    left_out = sum(entry.left_out.values())
    unit = "row" if importer is None else importer.unit
    parts = [f"{count(run.n, 'sample')} from {title}"]
    parts[0] += f", read {run.n:,} of {count(run.n + left_out, unit)}"
    if left_out:
        reasons = [reason for reason, _ in entry.left_out.most_common(2)]
        more = ", ..." if len(entry.left_out) > len(reasons) else ""
        parts.append(f"{left_out:,} left out: {', '.join(reasons)}{more}")
    if entry.extra:
        columns = ", ".join(entry.extra[:SHOWN_COLUMNS]) + (
            ", ..." if len(entry.extra) > SHOWN_COLUMNS else ""
        )
        parts.append(f"{count(len(entry.extra), 'column')} kept as extra: {columns}")
    if entry.status == "unchanged":
        parts.append(f"unchanged, was already there as {run.run_id}")
    return f"{name}: {'; '.join(parts)}"


def column_rows(mapping: Sequence[MappedColumn]) -> list[dict[str, str]]:
    """Return how each column of a file is read and why, with the first value, as the rows of a table."""
    rows = []
    for mapped in mapping:
        kind, _, key = mapped.field.partition(".")
        meaning = f"{KINDS[kind]} {key.removesuffix('.passed')}" if key and kind in KINDS else mapped.field
        rows.append(
            {
                "column": mapped.column,
                "read as": meaning or "(kept as extra)",
                "because": mapped.why,
                "example": mapped.example,
            }
        )
    return rows


MEANINGS = {  # field -> what it is called where the columns of a file are read
    "": "not read, kept as it is",
    "question": "question",
    "answer": "answer",
    "reference_answer": "reference answer",
    "retrieved": "retrieved documents",
    "retrieved_ids": "ids of retrieved documents",
    "retrieved_scores": "scores of retrieved documents",
    "relevant": "ids of relevant documents",
    "relevant_texts": "texts of relevant documents",
    "question_id": "question id",
    "query_type": "type of question",
    "answerable": "whether it can be answered",
    "refused": "whether the answer refuses",
    "history": "earlier turns",
    "conversation_id": "conversation id",
    "run": "run, version or model",
    "latency_ms": "latency",
    "cost_usd": "cost in USD",
    "input_tokens": "input tokens",
    "output_tokens": "output tokens",
    "repeat": "number of the repeat",
    "prompt": "prompt",
}
KINDS = {"scores": "score", "human": "label by people", "tags": "tag", "checks": "check"}


def meaning_of(field: str) -> str:
    """Return what a field is called where the columns of a file are read."""
    kind, _, key = field.partition(".")
    if key and kind in KINDS:
        return f"{KINDS[kind]}: {key.removesuffix('.passed')}"
    return MEANINGS.get(field, field.replace("_", " "))


def note_on_page(note: str) -> str:
    """Return a note on an import as a page says it: a table is edited where a command has an option."""
    text, option, _ = note.partition("map it to scores.NAME, as in --map ")
    if option:
        return f"{text}choose “score” as its “Read as”"
    text, option, _ = note.partition("; --map ")
    return f"{text}: choose its “Read as”" if option else note


def formats(known: Iterable[Importer]) -> list[dict[str, Any]]:
    """Return each format by the names of the JSON answer: ragtriage's own first, the others by title."""
    return [
        {
            "format": importer.key,
            "title": importer.title,
            "holds": importer.holds,
            "file": importer.accepts,
            "written_by": importer.written_by,
            "example": importer.example,
        }
        for importer in sorted(
            known, key=lambda importer: (importer.key != "native", importer.title.casefold())
        )
    ]


def gold_text(facts: QuestionSet) -> str:
    """Return how many questions of a set have gold, and of which kind."""
    kinds = [("ids", facts.n_gold_ids), ("texts", facts.n_gold_texts), ("spans", facts.n_gold_spans)]
    named = [name if number == facts.n_gold else f"{name} {number:,}" for name, number in kinds if number]
    return f"{facts.n_gold:,} ({', '.join(named)})" if named else f"{facts.n_gold:,}"


def set_line(facts: QuestionSet) -> str:
    """Return the facts of a set in one line."""
    parts = [
        count(facts.n, "question"),
        f"gold {gold_text(facts)}",
        f"reference answers {facts.n_references:,}",
        f"two or more hops {facts.n_hops:,}" if facts.n_hops else "",
        f"unanswerable {facts.n_unanswerable:,}" if facts.n_unanswerable else "",
        f"documents {facts.n_documents:,}" if facts.n_documents else "",
        f"from {facts.origin.get('file', '')} ({facts.origin.get('format', '')})",
    ]
    return "; ".join(filter(None, parts))


def set_argument(facts: QuestionSet) -> str:
    """Return what names a set in a command: its name, or its id where a shell would take the name apart."""
    return facts.name if re.fullmatch(r"[\w.][\w.-]*", facts.name) else facts.set_id


def kept_text(facts: QuestionSet, is_new: bool) -> str:
    """Return what an import says of a question set that it kept."""
    kept = "kept" if is_new else "already there:"
    name = set_argument(facts)
    corpus = "" if facts.n_documents else "CORPUS "
    documents = f", documents {facts.n_documents:,}" if facts.n_documents else ""
    grid = f"`ragtriage grid {corpus}--questions {name}` tries chunkings on it, " if facts.n_gold else ""
    return (
        f"{kept} {count(facts.n, 'question')} as question set {facts.name} ({facts.set_id}), not as a run: "
        f"gold {gold_text(facts)}, reference answers {facts.n_references:,}{documents}. {grid}"
        f"`ragtriage import RUN_FILE --questions {name}` joins it to a run."
    )
