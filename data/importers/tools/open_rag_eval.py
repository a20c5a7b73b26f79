"""open-rag-eval: one row for each passage, with the answer on the first row of a query."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.formats.table import reader_of
from ragtriage.data.importers.formats.tool_rows import Row, ToolRows
from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.spool import Spool
from ragtriage.data.store.parsed_run import ParsedRun, Record

CITED = re.compile(r"\[(\d{1,4})\]")


def _samples(records: Iterator[Record]) -> Iterator[Record]:
    """Yield one row for each query and run, with its passages in the order of the rows."""
    spool = Spool()
    for line, row in records:
        key = f"{row.get('query_id')}\x1f{row.get('query_run')}" if isinstance(row, dict) else f"line {line}"
        spool.add(key, line, row)
    for key in spool.keys:
        rows = list(spool.rows(key))
        line, first = rows[0]
        yield line, _sample([row for _, row in rows]) if isinstance(first, dict) else first


def _sample(rows: list[Row]) -> Row:
    passages = [
        {"text": row["passage"], "passage_id": _identifier(row.get("passage_id"))}
        for row in rows
        if row.get("passage")
    ]
    answer = next((row["generated_answer"] for row in rows if row.get("generated_answer")), None)
    rest = {name: value for name, value in rows[0].items() if name not in ("passage", "passage_id")}
    return {**rest, "generated_answer": answer, "retrieved": passages}


def _identifier(value: object) -> str | None:
    return None if value in (None, "") else str(value).strip("[] ")


def _read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read a table; citations of passages that the query has not are told."""
    runs = _read_rows(source, options, errors)
    return [replace(run, records=_checked(run, errors)) for run in runs]


def _checked(run: ParsedRun, errors: ValidationErrors) -> Iterator[Record]:
    for line, record in run.records:
        if isinstance(record, dict) and isinstance(record.get("answer"), str):
            documents = record.get("retrieved") or ()
            ids = {str(document.get("id")) for document in documents if isinstance(document, dict)}
            for cited in dict.fromkeys(CITED.findall(record["answer"])):
                if cited not in ids:
                    errors.remark("an answer cites a passage that its query has not", line)
        yield line, record


ROWS = ToolRows(
    lambda names: {"query_id", "query", "passage_id", "passage", "generated_answer"} <= names,
    _samples,
    "read as rows of open-rag-eval: the rows of one query and run are the passages of one sample",
)
_read_rows = reader_of(ROWS, "open_rag_eval")
IMPORTERS = (
    Importer(
        "open_rag_eval",
        "open-rag-eval",
        "CSV with query_id, query, query_run, passage_id, passage, generated_answer: a row for each passage",
        lambda peek: ROWS.fits(set(peek.columns)),
        _read,
        mapped=True,
        written_by="open-rag-eval",
        rows=ROWS,
        unit="answer",
    ),
)
