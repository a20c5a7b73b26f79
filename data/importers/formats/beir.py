"""Relevance labels (qrels), and folders in the BEIR layout (queries, corpus, qrels), with runs or without."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.formats import trec
from ragtriage.data.importers.formats.trec import is_score_json
from ragtriage.data.importers.importer import Options, Peek, Reader, question_set
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.rows import json_lines
from ragtriage.data.importers.parsing.shapes import OWN, as_float, mapping, own_fields
from ragtriage.data.store.parsed_run import ParsedRun, Record

ACCEPTED = (
    "lines `question_id 0 document_id grade` (TREC), tab-separated question, document, grade (BEIR), or JSON "
    "{question id: {document id: grade}}"
)

LABEL = ("query-id", "corpus-id")  # names in a line of MTEB
Qrels = dict[str, list[dict[str, Any]]]


def read_qrels(source: InputFile) -> Qrels:
    """Read TREC qrels, BEIR's with their header, MTEB's lines, or JSON: question id -> [{id, grade}].

    Raises:
        InputError: the file is none of these.
    """
    if source.ending != ".jsonl" and source.head(64).lstrip()[:1] == b"{":
        document = source.document()
        if not is_score_json(document):
            raise source.error("is not JSON of relevance labels", ACCEPTED)
        return {
            str(question): [{"id": str(name), "grade": float(grade)} for name, grade in grades.items()]
            for question, grades in document.items()
        }
    errors = ValidationErrors(source.name)
    qrels: Qrels = defaultdict(list)
    if source.ending == ".jsonl":
        for line, row in json_lines(source, errors):
            names, grade = [mapping(row).get(name) for name in LABEL], as_float(mapping(row).get("score", 1))
            if None in names or grade is None:
                errors.add(line, "", "is no label", f"an object with {', '.join(LABEL)} and score (MTEB)")
                continue
            qrels[str(names[0])].append({"id": str(names[1]), "grade": grade})
        errors.raise_if_any()
        return dict(qrels)
    for line, text in source.lines(errors):
        parts = text.rstrip("\r\n").split("\t") if text.count("\t") == 2 else text.split()
        if line == 1 and parts[-1].strip().lower() in {"score", "grade", "rel", "relevance"}:
            continue
        grade = as_float(parts[-1])
        if len(parts) not in (3, 4) or grade is None:
            errors.add(line, "", f"found {text.strip()[:60]!r}", ACCEPTED)
            continue
        qrels[parts[0].strip()].append({"id": parts[-2].strip(), "grade": grade})
    errors.raise_if_any()
    return dict(qrels)


def with_qrels(records: Iterable[Record], qrels: Qrels) -> Iterator[Record]:
    """Yield the records with `relevant` from the labels of their question, if it has any."""
    for line, record in records:
        labels = qrels.get(str(record.get("question_id"))) if isinstance(record, dict) else None
        if isinstance(record, dict) and labels is not None:
            record = {**record, "relevant": labels}
        yield line, record


RUN_ENDINGS = (".trec", ".run", ".txt", ".json", ".res")
QUERIES, CORPUS = "queries.jsonl", "corpus.jsonl"
FOLDER_ACCEPTED = (
    "a file; or a folder with queries.jsonl, corpus.jsonl, qrels/test.tsv and at least one run "
    f"({', '.join(RUN_ENDINGS)}, plain or gzip)"
)


def is_beir(folder: Path) -> bool:
    """Return whether a folder holds runs, or questions in the BEIR layout."""
    return has_runs(folder) or _file_in(folder, QUERIES) is not None


def has_runs(folder: Path) -> bool:
    """Return whether a folder holds files that may be runs."""
    return any(_runs(folder))


def beir_inputs(folder_source: InputFile, folder: Path, options: Options) -> list[tuple[InputFile, Options]]:
    """Return the runs of a folder, each with the folder's questions, documents and labels.

    Raises:
        InputError: the folder has no run, or several qrels of which none is named test.
    """
    runs = sorted(_runs(folder))
    if not runs:
        raise folder_source.error("is a folder with a BEIR data set and no run", FOLDER_ACCEPTED)
    folder_options = beir_options(folder_source, folder, options)
    return [(InputFile.from_path(run), folder_options) for run in runs]


def beir_options(folder_source: InputFile, folder: Path, options: Options) -> Options:
    """Return options with the questions, documents and labels of a folder, where the user names no others.

    Raises:
        InputError: the folder has several qrels of which none is named test.
    """
    return replace(
        options,
        queries=options.queries or _source(_file_in(folder, QUERIES)),
        corpus=options.corpus or _source(_file_in(folder, CORPUS)),
        qrels=options.qrels or _source(_qrels(folder, folder_source)),
        dataset=options.dataset or folder.resolve().name,
    )


def _runs(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        ending = Path(path.name.removesuffix(".gz")).suffix.lower()
        if path.is_file() and ending in RUN_ENDINGS and not path.name.startswith("."):
            yield path


def _file_in(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def _qrels(folder: Path, folder_source: InputFile) -> Path | None:
    paths = sorted(
        path
        for path in (folder / "qrels").glob("*")
        if path.is_file() and path.name.removesuffix(".gz").endswith((".tsv", ".jsonl"))
    )
    if len(paths) < 2:
        return paths[0] if paths else None
    test = [path for path in paths if path.name.partition(".")[0] == "test"]
    if not test:
        names = ", ".join(path.name for path in paths)
        raise folder_source.error(f"holds the labels {names}", "qrels/test.tsv, or --qrels FILE to name one")
    return test[0]


def _source(path: Path | None) -> InputFile | None:
    return None if path is None else InputFile.from_path(path)


KEY = "beir_questions"
QUESTIONS_ACCEPTED = f"{QUERIES} with {{_id, text}}, corpus.jsonl with {{_id, title, text}}, qrels/test.tsv"


def _read_questions(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read the questions that are judged; of a large corpus, the texts of gold documents alone."""
    folder = Peek(source).folder
    if folder is None:
        raise source.error("is not a folder", f"a folder with {QUESTIONS_ACCEPTED}")
    options = beir_options(source, folder, options)
    if options.queries is None:
        raise source.error(f"holds no {QUERIES}", QUESTIONS_ACCEPTED)
    queries = trec.read_queries(options.queries)
    own = _own(options.queries, errors)
    qrels = read_qrels(options.qrels) if options.qrels is not None else {}
    gold = {label["id"] for labels in qrels.values() for label in labels if label["grade"] > 0}
    texts: dict[str, str] = {}
    for _, row in json_lines(options.corpus, errors) if options.corpus is not None else ():
        fields = mapping(row)
        name, text = str(fields.get("_id", fields.get("id"))), fields.get("text")
        if name in gold and isinstance(text, str):
            texts[name] = text
    records: list[Record] = []
    for name in [name for name in queries if name in qrels or name in own or not qrels][: options.limit]:
        labels = [
            {**label, **({"text": texts[label["id"]]} if label["id"] in texts else {})}
            for label in qrels.get(name, ())
        ]
        relevant = {"relevant": labels} if name in qrels else {}
        record = {**relevant, **own.get(name, {}), "question_id": name, "question": queries[name]}
        records.append((len(records) + 1, record))
    unjudged = sum(name not in qrels and name not in own for name in queries) if qrels else 0
    unasked = sum(name not in queries for name in qrels)
    return question_set(source, KEY, records, notes=_notes(unjudged, unasked, len(gold - texts.keys())))


def _own(queries: InputFile, errors: ValidationErrors) -> dict[str, dict[str, Any]]:
    """Return what our own export says of each question beside its text."""
    if f'"{OWN}"'.encode() not in queries.head(1 << 14):
        return {}
    rows = (mapping(row) for _, row in json_lines(queries, errors))
    return {str(row.get("_id")): own_fields(row.get("metadata")) for row in rows}


def _notes(unjudged: int, unasked: int, lacking: int) -> tuple[str, ...]:
    notes = (
        f"questions without relevance labels are left out: {unjudged:,}" if unjudged else "",
        f"labels of questions that {QUERIES} does not have are left out: {unasked:,}" if unasked else "",
        f"gold documents without a text in the corpus: {lacking:,}" if lacking else "",
    )
    return tuple(filter(None, notes))


READERS = {
    KEY: Reader(
        _read_questions,
        lambda peek: peek.folder is not None and is_beir(peek.folder) and (not has_runs(peek.folder)),
    )
}
