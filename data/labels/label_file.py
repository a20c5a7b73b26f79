"""Human labels from a file of their own: a table of labels, or the TSV that ARES labels its samples in."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragtriage.data.errors import DataError
from ragtriage.data.labels.random_sample import start_queue
from ragtriage.data.labels.rating_dimensions import PASS, RATING_DIMENSIONS, RatingDimension, dimension_of
from ragtriage.data.labels.ratings import rate
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.sample_reader import StoredSamples
from ragtriage.metrics.schema.whole_number import whole_number

ARES: Mapping[str, str] = {
    "Context_Relevance_Label": "context_relevance",
    "Answer_Faithfulness_Label": "faithfulness",
    "Answer_Relevance_Label": "answer_relevancy",
}
IDS = ("question_id", "query_id", "id")
QUESTIONS = ("question", "query")
_WORDS: Mapping[str, float] = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_BLANK = ("", "nan", "none", "null")
_MOST_SHOWN = 5
Row = tuple[int, dict[str, str]]  # line of the file, cells by column


@dataclass(frozen=True)
class FileLabel:
    """One label of the file."""

    line: int
    question_id: str  # of the sample, "" where the file names questions by their text
    question: str  # text of the question, without needless white space
    answer: str  # text of the answer likewise, "" where the file has none
    repeat: int | None  # which repeat of the question; None where the file does not say
    dimension: str  # key of what was labelled
    value: float  # on the scale of the dimension


@dataclass(frozen=True)
class LoadedLabels:
    """What became of the labels of a file."""

    file: str
    labels: int  # number of labels that a sample was found for
    unmatched: int  # number of labels without one
    dimensions: Mapping[str, int]  # keys of the labelled dimensions -> number of labels
    random: bool  # whether they were declared a random sample


def read_labels(path: Path) -> list[FileLabel]:
    """Read a file of labels: CSV, TSV or JSON lines.

    Each row names its sample by `question_id` or `question` (and `answer`, `repeat` where these are needed
    to tell samples apart), and has a column for each labelled dimension, or `dimension` and `value`. The TSV
    of ARES has `Query`, `Answer` and the three columns of `ARES`. An empty cell is no label.

    Raises:
        DataError: the file cannot be read, names no dimension or sample, or holds a value out of its scale.
    """
    rows = list(_rows(path))
    columns = {name for _, cells in rows for name in cells}
    labelled = _dimension_columns(columns)
    tall = {"dimension", "value"} <= columns
    if not labelled and not tall:
        raise DataError(
            f"{path.name}: no column of labels; accepted: {', '.join([*RATING_DIMENSIONS, *ARES])}, "
            "evaluator:NAME, or the two columns dimension and value"
        )
    if not columns & {*IDS, *QUESTIONS, "Query"}:
        raise DataError(
            f"{path.name}: no column that names the sample; accepted: question_id, question, Query"
        )
    problems: list[str] = []
    labels = []
    for line, cells in rows:
        pairs = [(column, key, cells.get(column, "")) for column, key in labelled.items()]
        if tall:
            pairs.append(("value", cells.get("dimension", ""), cells.get("value", "")))
        for column, key, cell in pairs:
            if cell.strip().lower() in _BLANK:
                continue
            try:
                labels.append(_label(line, cells, key, cell))
            except DataError as error:
                problems.append(f"line {line}, {column}: {error}")
    if problems:
        more = f"; and {len(problems) - _MOST_SHOWN:,} more" if len(problems) > _MOST_SHOWN else ""
        raise DataError(f"{path.name}: {'; '.join(problems[:_MOST_SHOWN])}{more}")
    if not labels:
        raise DataError(f"{path.name}: no label in it; accepted: at least one row with a value")
    return labels


def _rows(path: Path) -> Iterator[Row]:
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise DataError(f"{path}: cannot be read ({reason}); accepted: CSV, TSV or JSON lines") from error
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        yield from _json_rows(path, text)
        return
    delimiter = "\t" if path.suffix.lower() == ".tsv" or "\t" in text.partition("\n")[0] else ","
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        for cells in reader:
            yield (
                reader.line_num,
                {name: cell for name, cell in cells.items() if name and isinstance(cell, str)},
            )
    except csv.Error as error:
        raise DataError(f"{path.name}, line {reader.line_num}: {error}; accepted: CSV or TSV") from error


def _json_rows(path: Path, text: str) -> Iterator[Row]:
    for line, row in enumerate(text.split("\n"), start=1):
        if not row.strip():
            continue
        try:
            cells = json.loads(row)
        except (ValueError, RecursionError):
            cells = None
        if not isinstance(cells, dict):
            raise DataError(f"{path.name}, line {line}: not a JSON object; accepted: one object per line")
        yield line, {str(name): "" if cell is None else str(cell) for name, cell in cells.items()}


def _dimension_columns(columns: set[str]) -> dict[str, str]:
    """Return the columns that hold labels, with the dimension of each."""
    named = {column: column for column in sorted(columns) if column in RATING_DIMENSIONS}
    evaluators = {column: column for column in sorted(columns) if column.startswith("evaluator:")}
    return named | evaluators | {column: key for column, key in ARES.items() if column in columns}


def _label(line: int, cells: Mapping[str, str], key: str, cell: str) -> FileLabel:
    dimension = dimension_of(key)
    by_name = {name.lower(): text for name, text in cells.items()}
    repeat = by_name.get("repeat", "").strip()
    if repeat and whole_number(repeat) is None:
        raise DataError(f"repeat {repeat[:40]!r}; accepted: a whole number")
    return FileLabel(
        line=line,
        question_id=next((by_name[name] for name in IDS if by_name.get(name)), ""),
        question=_plain(next((by_name[name] for name in QUESTIONS if by_name.get(name)), "")),
        answer=_plain(by_name.get("answer", "")),
        repeat=int(repeat) if repeat else None,
        dimension=dimension.key,
        value=_value(dimension, cell),
    )


def _value(dimension: RatingDimension, cell: str) -> float:
    """Return the value of a cell: a number of the scale, one of its words, or yes and no for its two ends."""
    text = cell.strip().strip("[]").lower()
    words = dict(dimension.levels)
    value = {**_WORDS, **words}.get(text)
    if value is None:
        try:
            value = float(text)
        except ValueError:
            value = -1.0
    levels = [level for _, level in dimension.levels]
    if not (any(abs(value - level) < 1e-6 for level in levels) if levels else 0.0 <= value <= 1.0):
        accepted = ", ".join(f"{level:g} ({word})" for word, level in dimension.levels) or "0 to 1"
        raise DataError(f"{cell[:40]!r}; accepted: {accepted}")
    return min(levels, key=lambda level: abs(value - level)) if levels else value


def _plain(text: str) -> str:
    return " ".join(text.split())


def load_labels(ledger: Ledger, scored: ScoredRun, path: Path, random: bool, who: str) -> LoadedLabels:
    """Store the labels of a file with a run, as those of one annotator.

    Args:
        ledger: of the workspace.
        scored: the run.
        path: the file.
        random: whether they are a random sample of the run's samples, which the caller declares.
        who: name of the annotator.

    Raises:
        DataError: the file is not accepted, a label matches several samples, or none matches any.
    """
    labels = read_labels(path)
    rows = _matched(scored, labels, path.name)
    matched = [(label, row) for label, row in zip(labels, rows, strict=True) if row is not None]
    if not matched:
        first = labels[0]
        raise DataError(
            f"{path.name}: none of {len(labels):,} labels matches a sample of run {scored.run.run_id} (line "
            f"{first.line}: {(first.question_id or first.question)[:60]!r}); accepted: question ids or texts "
            "that the run has"
        )
    run_id = scored.run.run_id
    dimensions: dict[str, int] = {}
    queues: dict[str, int] = {}
    for label, row in matched:
        key = label.dimension
        if random and key not in queues:
            queues[key] = start_queue(ledger, run_id, key, who).queue_id
        case = (run_id, str(scored.question_ids[scored.question[row]]), int(scored.repeats[row]))
        if key == PASS:
            ledger.add_label(case, who, "pass" if label.value else "fail", queue_id=queues.get(key))
        else:
            rate(ledger, case, who, key, label.value, queues.get(key))
        dimensions[key] = dimensions.get(key, 0) + 1
    return LoadedLabels(path.name, len(matched), len(labels) - len(matched), dimensions, random)


def _matched(scored: ScoredRun, labels: Sequence[FileLabel], file: str) -> list[int | None]:
    """Return the row of each label's sample, None where there is none."""
    by_text: dict[str, list[int]] = {}
    by_id: dict[str, list[int]] = {}
    samples = StoredSamples(scored.samples_path).read(range(scored.n), ("question_id", "question", "answer"))
    answers = []
    for row, sample in enumerate(samples):
        by_id.setdefault(str(sample["question_id"]), []).append(row)
        by_text.setdefault(_plain(sample["question"] or ""), []).append(row)
        answers.append(_plain(sample["answer"] or ""))
    found: list[int | None] = []
    for label in labels:
        rows = by_id.get(label.question_id, []) if label.question_id else by_text.get(label.question, [])
        if label.repeat is not None:
            rows = [row for row in rows if int(scored.repeats[row]) == label.repeat]
        if label.answer:
            rows = [row for row in rows if answers[row] == label.answer]
        if len(rows) > 1:
            raise DataError(
                f"{file}, line {label.line}: {len(rows)} samples have this question; accepted: a "
                "column repeat or answer that tells which"
            )
        found.append(rows[0] if rows else None)
    return found
