"""A folder in the BEIR layout without runs: its judged questions, with the texts of their gold documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.formats import trec
from ragtriage.data.importers.formats.beir import QUERIES, beir_options, has_runs, is_beir
from ragtriage.data.importers.formats.qrels import Qrels, read_qrels
from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.parsing.rows import json_lines
from ragtriage.data.importers.question_files.gold_passages import question_set
from ragtriage.data.store.parsed_run import ParsedRun

KEY = "beir_questions"
ACCEPTED = f"{QUERIES} with {{_id, text}}, corpus.jsonl with {{_id, title, text}}, qrels/test.tsv"


def _detect(peek: Peek) -> bool:
    return peek.folder is not None and is_beir(peek.folder) and not has_runs(peek.folder)


def _read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read the questions that are judged; of a large corpus, the texts of gold documents alone."""
    folder = Peek(source).folder
    if folder is None:
        raise source.error("is no folder", f"a folder with {ACCEPTED}")
    options = beir_options(source, folder, options)
    if options.queries is None:
        raise source.error(f"holds no {QUERIES}", ACCEPTED)
    queries = trec.read_queries(options.queries)
    qrels = read_qrels(options.qrels) if options.qrels is not None else {}
    gold = {label["id"] for labels in qrels.values() for label in labels if label["grade"] > 0}
    texts = _texts(options.corpus, gold, errors) if options.corpus is not None else {}
    asked = [name for name in queries if name in qrels or not qrels][: options.limit]
    records = [(at, _record(name, queries[name], qrels, texts)) for at, name in enumerate(asked, start=1)]
    return question_set(source, KEY, records, notes=_notes(queries, qrels, gold - texts.keys()))


def _texts(corpus: InputFile, names: set[str], errors: ValidationErrors) -> dict[str, str]:
    texts = {}
    for _, row in json_lines(corpus, errors):
        name = str(row.get("_id", row.get("id"))) if isinstance(row, dict) else ""
        if name in names and isinstance(row, dict) and isinstance(row.get("text"), str):
            texts[name] = row["text"]
    return texts


def _record(name: str, question: str, qrels: Qrels, texts: Mapping[str, str]) -> dict[str, Any]:
    record: dict[str, Any] = {"question_id": name, "question": question}
    if name in qrels:
        record["relevant"] = [
            {**label, **({"text": texts[label["id"]]} if label["id"] in texts else {})}
            for label in qrels[name]
        ]
    return record


def _notes(queries: Mapping[str, str], qrels: Qrels, lacking: set[str]) -> tuple[str, ...]:
    unjudged = sum(name not in qrels for name in queries) if qrels else 0
    unasked = sum(name not in queries for name in qrels)
    notes = (
        f"questions without relevance labels are left out: {unjudged:,}" if unjudged else "",
        f"labels of questions that {QUERIES} does not have are left out: {unasked:,}" if unasked else "",
        f"gold documents without a text in the corpus: {len(lacking):,}" if lacking else "",
    )
    return tuple(filter(None, notes))


IMPORTERS = (
    Importer(
        KEY,
        "BEIR data set",
        f"a folder with {ACCEPTED}, and no run",
        _detect,
        _read,
        holds="questions",
        written_by="BEIR 2",
    ),
)
