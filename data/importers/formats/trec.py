"""TREC runs, and runs in JSON as {question id: {document id: score}}, the form of BEIR and ranx."""

import json
import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Options, Reader
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.shapes import as_float
from ragtriage.data.store.parsed_run import ParsedRun, Record

QUERIES_ACCEPTED = "JSONL of {_id, text} as BEIR writes it, or lines of question id, tab, text"
CORPUS_ACCEPTED = "JSONL of {_id, title, text} as BEIR writes it"


def read_queries(source: InputFile) -> dict[str, str]:
    """Return the texts of questions by id.

    Raises:
        InputError: some line is neither of the accepted forms.
    """
    errors = ValidationErrors(source.name)
    queries: dict[str, str] = {}
    for line, text in source.lines(errors):
        if text.lstrip().startswith("{"):
            record = _object(text)
            name, query = _identifier(record), record.get("text")
        else:
            name, _, query = map(str.strip, text.strip("\r\n").partition("\t"))
        if name and isinstance(query, str) and query.strip():
            queries[name] = query
        else:
            errors.add(line, "", f"found {text.strip()[:60]!r}", QUERIES_ACCEPTED)
    errors.raise_if_any()
    return queries


def read_texts(source: InputFile, document_ids: Collection[str]) -> dict[str, str]:
    """Return the texts of some documents of a corpus by id, title first.

    Raises:
        InputError: a line of the corpus is not a document.
    """
    errors = ValidationErrors(source.name)
    texts: dict[str, str] = {}
    for line, text in source.lines(errors):
        record = _object(text)
        name, body, title = _identifier(record), record.get("text"), record.get("title")
        if not name or not isinstance(body, str):
            errors.add(line, "", f"found {text.strip()[:60]!r}", CORPUS_ACCEPTED)
        elif name in document_ids:
            texts[name] = f"{title}\n{body}" if isinstance(title, str) and title.strip() else body
    errors.raise_if_any()
    return texts


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _identifier(record: Mapping[str, Any]) -> str:
    for value in map(record.get, ("_id", "id", "qid", "query_id", "doc_id")):
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            return str(value)
    return ""


ACCEPTED = "lines `question_id Q0 document_id rank score tag`"
JSON_ACCEPTED = "{question id: {document id: score}}"
COLUMNS = 6
UNTOLD_TAGS = {"none", "null", "run", "runid", "run_id", "tag", "default", "std"}
UNTOLD_NAMES = {"input", "output", "ranking", "result", "results", "run", "runs", "submission"}
NO_TEXT = (
    "the texts of the questions were not given: their ids are shown instead (--queries FILE gives the texts)"
)


class _Hit(NamedTuple):
    document: str
    score: float
    rank: str
    line: int


Lists = dict[str, list[_Hit]]


def first_lines(source: InputFile) -> list[str]:
    """Return up to twenty whole lines from the beginning of a file."""
    head = source.head(1 << 16)
    try:
        lines = head.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        lines = head[: head.rfind(b"\n") + 1].decode("utf-8", "replace").split("\n")
    return lines[:20] if len(lines) > 20 else lines


def is_trec(lines: Sequence[str]) -> bool:
    """Return whether lines look like a TREC run: six columns, with an integer rank and a numeric score.

    The last of several lines may be cut: `read` then names it.
    """
    rows = [line.split() for line in lines if line.strip()]
    return bool(rows) and all(
        len(row) == COLUMNS
        and row[3].removeprefix("-").isdecimal()
        and _number(row[4]) is not None
        and not row[0].startswith(("{", "["))
        for row in rows[: max(1, len(rows) - 1)]
    )


def is_score_json(document: object) -> bool:
    """Return whether a JSON document is {question id: {document id: score}}."""
    if not isinstance(document, Mapping) or not all(isinstance(held, Mapping) for held in document.values()):
        return False
    scores = (score for held in document.values() for score in held.values())
    numbers = all(isinstance(score, int | float) and not isinstance(score, bool) for score in scores)
    return numbers and any(document.values())


def read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read a TREC run; a file with several tags has several runs.

    As trec_eval does, documents are ordered by score (as 32-bit numbers) descending, ties by document id
    descending; the rank column is only checked. A run whose lines are grouped by question, as most are, is
    read twice, once for its faults and once a question at a time; another is held in memory.
    """
    grouped = None if options.corpus else _grouped_run(source, options)
    if grouped is not None:
        return [grouped]
    runs: dict[str, Lists] = defaultdict(lambda: defaultdict(list))
    first_lines: dict[str, tuple[int, str]] = {}
    questions: set[str] = set()
    tag = ""
    for line, text in source.lines(errors):
        row = text.split()
        score = _number(row[4]) if len(row) == COLUMNS else None
        if score is None:
            errors.add(line, "", f"found {text.strip()[:60]!r}", ACCEPTED)
            continue
        questions.add(row[0])
        if options.limit is not None and len(questions) > options.limit:
            break
        first_lines.setdefault(row[5], (line, tag))
        tag = row[5]
        runs[tag][row[0]].append(_Hit(row[2], score, row[3], line))
    _refuse_cut_tags(runs, first_lines, errors)
    errors.raise_if_any()
    if len(runs) == 1:
        return [_parsed_run(source, options, _name(source, tag), lists, "trec") for lists in runs.values()]
    several = [_parsed_run(source, options, name, lists, "trec") for name, lists in runs.items()]
    return [replace(run, named_by_content=True) for run in several]


class _ScatteredError(Exception):
    """The lines of a run are not valid, or not grouped by question, or have several tags."""


def _grouped_run(source: InputFile, options: Options) -> ParsedRun | None:
    """Return a run of one tag whose lines are valid and grouped by question; None where they are not."""
    questions, disagreeing, tag = set[str](), 0, ""
    try:
        for question, named, hits in _groups(source, options.limit):
            if question in questions:
                return None
            questions.add(question)
            tag = named
            disagreeing += _disagrees(_ordered(hits))
    except _ScatteredError:
        return None
    if not questions:
        return None
    queries = read_queries(options.queries) if options.queries else {}

    def records() -> Iterator[Record]:
        try:
            for question, _, hits in _groups(source, options.limit):
                yield from _records({question: _ordered(hits)}, queries, {})
        except _ScatteredError as error:
            raise source.error("was changed while it was read", "a file that stays as it is") from error

    notes = (*_query_notes(questions, queries, options), *_rank_notes(disagreeing, len(questions)))
    name = _name(source, tag)
    return ParsedRun(name, records(), source.name, "trec", notes=notes, question_ids=questions)


def _groups(source: InputFile, limit: int | None) -> Iterator[tuple[str, str, list[_Hit]]]:
    """Yield question, tag and hits of neighbouring lines, of the first questions where there is a limit.

    Raises:
        _ScatteredError: a line is not valid, or has another tag.
    """
    errors = ValidationErrors(source.name)
    hits: list[_Hit] = []
    question, tag, n = "", "", 0
    for line, text in source.lines(errors):
        row = text.split()
        score = _number(row[4]) if len(row) == COLUMNS else None
        if score is None or (n and row[5] != tag):
            raise _ScatteredError
        if row[0] != question or not n:
            if hits:
                yield question, tag, hits
            question, tag, hits, n = row[0], row[5], [], n + 1
            if limit is not None and n > limit:
                break
        hits.append(_Hit(row[2], score, row[3], line))
    if errors.total or errors.notes:
        raise _ScatteredError
    if hits:
        yield question, tag, hits


def _refuse_cut_tags(
    runs: Mapping[str, Lists], first_lines: Mapping[str, tuple[int, str]], errors: ValidationErrors
) -> None:
    """Report a tag on a single line that is the beginning of the tag on the line before it."""
    for tag, (line, before) in first_lines.items():
        is_only_line = sum(map(len, runs[tag].values())) == 1
        if is_only_line and before != tag and before.startswith(tag):
            what = f"the tag {tag!r} is cut short: the lines before have {before!r}; is the file complete?"
            errors.add(line, "", what, ACCEPTED)


def _name(source: InputFile, tag: str) -> str:
    """Return the name of a file's only run: that of the file, or its tag where that says less (input.TAG)."""
    name = source.stem
    says_less = name.lower() in UNTOLD_NAMES or name.lower() == f"input.{tag}".lower()
    return tag if says_less and tag.lower() not in UNTOLD_TAGS else name


def read_json(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read a run in JSON; documents are ordered as in a TREC run."""
    document: Any = source.document()
    if not is_score_json(document):
        raise source.error("is not a run", JSON_ACCEPTED)
    lists: Lists = {}
    for line, (question, scores) in enumerate(document.items(), 1):
        invalid = [name for name, score in scores.items() if not math.isfinite(score)]
        if invalid:
            errors.add(line, f"{question}.{invalid[0]}", f"found {scores[invalid[0]]}", "a finite score")
        lists[str(question)] = [_Hit(str(name), float(score), "", line) for name, score in scores.items()]
    errors.raise_if_any()
    return [_parsed_run(source, options, source.stem, lists, "scores_json")]


def _number(text: str) -> float | None:
    value = as_float(text)
    return None if value is None or not math.isfinite(value) else value


def _parsed_run(source: InputFile, options: Options, name: str, lists: Lists, file_format: str) -> ParsedRun:
    ordered = {question: _ordered(hits) for question, hits in lists.items()}
    queries = read_queries(options.queries) if options.queries else {}
    document_ids = {hit.document for hits in ordered.values() for hit in hits}
    texts = read_texts(options.corpus, document_ids) if options.corpus else {}
    records = list(_records(ordered, queries, texts))[: options.limit]
    notes = list(_query_notes(ordered.keys(), queries, options))
    missing = sum(hit.document not in texts for hits in ordered.values() for hit in hits)
    if options.corpus is not None and missing:
        notes.append(f"retrieved documents that are not in {options.corpus.name}: {missing:,}")
    notes += _rank_notes(sum(_disagrees(hits) for hits in ordered.values()), len(ordered))
    return ParsedRun(name, records, source.name, file_format, notes=tuple(notes))


def _ordered(hits: Sequence[_Hit]) -> Sequence[_Hit]:
    scores = np.array([hit.score for hit in hits], dtype=np.float32)
    if (scores[1:] < scores[:-1]).all():
        return hits
    by_name = sorted(hits, key=lambda hit: hit.document.encode("utf-8", "surrogatepass"), reverse=True)
    return sorted(by_name, key=lambda hit: -float(np.float32(hit.score)))


def _records(
    ordered: Mapping[str, Sequence[_Hit]], queries: Mapping[str, str], texts: Mapping[str, str]
) -> Iterator[Record]:
    for question, hits in ordered.items():
        listed = [{"id": hit.document, "score": hit.score, "text": texts.get(hit.document)} for hit in hits]
        record = {"question_id": question, "question": queries.get(question, question), "retrieved": listed}
        yield hits[0].line if hits else 1, record


def _query_notes(questions: Set[str], queries: Mapping[str, str], options: Options) -> Iterator[str]:
    if options.queries is None:
        yield NO_TEXT
        return
    name = options.queries.name
    if (lacking := len(queries.keys() - questions)) and options.limit is None:
        yield f"questions of {name} without results: {lacking:,} of {len(queries):,}"
    if unknown := len(questions - queries.keys()):
        yield f"questions whose text is not in {name}: {unknown:,}; their ids are shown instead"


def _rank_notes(disagreeing: int, questions: int) -> Iterator[str]:
    if disagreeing:
        yield (
            f"the rank column disagrees with the scores in {disagreeing:,} of {questions:,} questions; "
            "the scores decide, ties by document id descending, as in trec_eval"
        )


def _disagrees(hits: Sequence[_Hit]) -> bool:
    """Return whether the ranks do not ascend in the order of the scores, from whatever first rank.

    A rank that is not an integer disagrees: trec_eval ignores the column, and so are its values here.
    """
    if not all(hit.rank.removeprefix("-").isdecimal() for hit in hits if hit.rank):
        return True
    ranks = [int(hit.rank) for hit in hits if hit.rank]
    return any(later <= earlier for earlier, later in pairwise(ranks))


READERS = {
    "trec": Reader(read, lambda peek: peek.kind == "csv" and is_trec(first_lines(peek.source))),
    "scores_json": Reader(read_json, lambda peek: is_score_json(peek.document)),
}
