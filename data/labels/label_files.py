"""Human labels and preferences from files: a table, the TSV of ARES, the JSON of RAGChecker.

Of RAGChecker's meta-evaluation `human_labeled_data.json` lists each pair of answers once for every annotator,
with a label from -2 (the first is much better) to 2 (the second is); `baseline_NAME.json` lists each pair
once, with the scores of a tool for both answers.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ragtriage.data.errors import DataError
from ragtriage.data.labels.agreement_report import CORRELATIONS, PreferenceAgreement, preference_agreement
from ragtriage.data.labels.ratings import (
    PASS,
    RATING_DIMENSIONS,
    RatingDimension,
    dimension_of,
    rate,
    start_queue,
)
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.sample_reader import StoredSamples
from ragtriage.metrics.schema.metric import whole_number
from ragtriage.metrics.schema.scores import FloatArray, IntArray

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
Row = tuple[str, dict[str, str]]  # place, as "line 3", and cells by column


@dataclass(frozen=True)
class FileLabel:
    """One label of a file or of a table."""

    place: str  # of its row, as "line 3"
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
    of ARES has `Query`, `Answer` and the three columns of `ARES`. An empty cell is not a label.

    Raises:
        DataError: the file cannot be read, names no dimension or sample, or holds a value out of its scale.
    """
    return labels_of(list(_rows(path)), path.name)


def records_of(table: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Return the rows of a table that is no file; what is empty, None or NaN in it is no label."""

    def text(cell: Any) -> str:
        if cell is None or cell != cell:
            return ""
        whole = isinstance(cell, float) and cell.is_integer()  # as a column with gaps has whole numbers
        return str(int(cell) if whole else cell)

    return [
        (f"row {number}", {str(name): text(cell) for name, cell in cells.items()})
        for number, cells in enumerate(table, 1)
    ]


def labels_of(rows: Sequence[Row], name: str) -> list[FileLabel]:
    """Return the labels of a table, see read_labels; messages call it by its name.

    Raises:
        DataError: it names no dimension or sample, or holds a value out of its scale.
    """
    columns = {column for _, cells in rows for column in cells}
    labelled = _dimension_columns(columns)
    tall = {"dimension", "value"} <= columns
    if not labelled and not tall:
        raise DataError(
            f"{name}: no column of labels; accepted: {', '.join([*RATING_DIMENSIONS, *ARES])}, "
            "evaluator:NAME, or the two columns dimension and value"
        )
    if not columns & {*IDS, *QUESTIONS, "Query"}:
        raise DataError(f"{name}: no column that names the sample; accepted: question_id, question, Query")
    problems: list[str] = []
    labels = []
    for place, cells in rows:
        pairs = [(column, key, cells.get(column, "")) for column, key in labelled.items()]
        if tall:
            pairs.append(("value", cells.get("dimension", ""), cells.get("value", "")))
        for column, key, cell in pairs:
            if cell.strip().lower() in _BLANK:
                continue
            try:
                labels.append(_label(place, cells, key, cell))
            except DataError as error:
                problems.append(f"{place}, {column}: {error}")
    if problems:
        more = f"; and {len(problems) - _MOST_SHOWN:,} more" if len(problems) > _MOST_SHOWN else ""
        raise DataError(f"{name}: {'; '.join(problems[:_MOST_SHOWN])}{more}")
    if not labels:
        raise DataError(f"{name}: no label in it; accepted: at least one row with a value")
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
                f"line {reader.line_num}",
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
        yield f"line {line}", {str(name): "" if cell is None else str(cell) for name, cell in cells.items()}


def _dimension_columns(columns: set[str]) -> dict[str, str]:
    """Return the columns that hold labels, with the dimension of each."""
    named = {column: column for column in sorted(columns) if column in RATING_DIMENSIONS}
    evaluators = {column: column for column in sorted(columns) if column.startswith("evaluator:")}
    return named | evaluators | {column: key for column, key in ARES.items() if column in columns}


def _label(place: str, cells: Mapping[str, str], key: str, cell: str) -> FileLabel:
    dimension = dimension_of(key)
    by_name = {name.lower(): text for name, text in cells.items()}
    repeat = by_name.get("repeat", "").strip()
    if repeat and whole_number(repeat) is None:
        raise DataError(f"repeat {repeat[:40]!r}; accepted: a whole number")
    return FileLabel(
        place=place,
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


def load_labels(
    ledger: Ledger, scored: ScoredRun, labels: Sequence[FileLabel], name: str, random: bool, who: str
) -> LoadedLabels:
    """Store labels with a run, as those of one annotator; messages call their file or table by its name.

    That they are a random sample of the run's samples is for the caller to declare.

    Raises:
        DataError: a label matches several samples, or none matches any.
    """
    rows = _matched(scored, labels, name)
    matched = [(label, row) for label, row in zip(labels, rows, strict=True) if row is not None]
    if not matched:
        first = labels[0]
        raise DataError(
            f"{name}: none of {len(labels):,} labels matches a sample of run {scored.run.run_id} "
            f"({first.place}: {(first.question_id or first.question)[:60]!r}); accepted: question ids or "
            "texts that the run has"
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
    return LoadedLabels(name, len(matched), len(labels) - len(matched), dimensions, random)


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
    matches: list[int | None] = []
    for label in labels:
        rows = by_id.get(label.question_id, []) if label.question_id else by_text.get(label.question, [])
        if label.repeat is not None:
            rows = [row for row in rows if int(scored.repeats[row]) == label.repeat]
        if label.answer:
            rows = [row for row in rows if answers[row] == label.answer]
        if len(rows) > 1:
            raise DataError(
                f"{file}, {label.place}: {len(rows)} samples have this question; accepted: a "
                "column repeat or answer that says which"
            )
        matches.append(rows[0] if rows else None)
    return matches


LABEL = "_label"
SIDES = ("model1", "model2")


def file_preferences(human: Path, scores: Sequence[Path]) -> list[PreferenceAgreement]:
    """Compare which answer tools and humans prefer; every human label counts, beside the score of its pair.

    A score that is missing is replaced by the median difference, as RAGChecker does (Ru et al. 2024), and
    counted. A score named like a human label is compared with that label alone.

    Raises:
        DataError: a file is not of the form.
    """
    entries = _entries(human)
    aspects = [name for name in entries[0] if name.endswith(LABEL)]
    if not aspects:
        raise DataError(
            f"{human.name}: no field ..._label in its first entry; accepted: human_labeled_data.json"
        )
    ids = [str(entry.get("instance_id")) for entry in entries]
    known = {name: at for at, name in enumerate(dict.fromkeys(ids))}
    pair = np.array([known[name] for name in ids], dtype=np.int64)
    labels = {aspect: _numbers(human, entries, aspect) for aspect in aspects}
    rows = []
    for path in scores:
        for metric, by_pair in _differences(path, known).items():
            wanted = [metric.rpartition(".")[2]] if metric.rpartition(".")[2] in aspects else aspects
            filled = np.isnan(by_pair)
            by_pair = np.where(filled, np.nanmedian(by_pair) if not filled.all() else np.nan, by_pair)
            for aspect in wanted:
                values, own = by_pair[pair], labels[aspect]
                both = np.isfinite(values) & np.isfinite(own)
                ceiling = _between_annotators(own, pair)
                rows.append(
                    preference_agreement(
                        aspect.removesuffix(LABEL),
                        metric,
                        (values[both], own[both]),
                        pair[both],
                        filled=int(filled[pair][both].sum()),
                        ceiling=ceiling,
                    )
                )
    return rows


def _entries(path: Path) -> list[Mapping[str, Any]]:
    try:
        entries = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no JSON"
        raise DataError(f"{path}: cannot be read ({reason}); accepted: a JSON list of pairs") from error
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise DataError(f"{path.name}: not a list of objects; accepted: a JSON list of pairs of answers")
    return entries


def _numbers(path: Path, entries: Sequence[Mapping[str, Any]], field: str) -> FloatArray:
    values = [entry.get(field) for entry in entries]
    for at, value in enumerate(values):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise DataError(f"{path.name}, entry {at}, {field}: {str(value)[:40]!r}; accepted: a number")
    return np.array([np.nan if value is None else float(value) for value in values])


def _differences(path: Path, known: Mapping[str, int]) -> dict[str, FloatArray]:
    """Return the second answer's score minus the first's by metric, in the order of the known pairs."""
    by_metric: dict[str, FloatArray] = {}
    for at, entry in enumerate(_entries(path)):
        place = known.get(str(entry.get("instance_id")))
        sides = [entry.get(side) for side in SIDES]
        if place is None or not all(isinstance(side, dict) for side in sides):
            raise DataError(
                f"{path.name}, entry {at}: no pair of the labels; accepted: instance_id, model1, model2"
            )
        first, second = (_scores(side) for side in sides)
        for metric in first.keys() & second.keys():
            column = by_metric.setdefault(metric, np.full(len(known), np.nan))
            column[place] = second[metric] - first[metric]
    if not by_metric:
        raise DataError(f"{path.name}: no scores in it; accepted: model1.TOOL.METRIC with a number")
    return dict(sorted(by_metric.items()))


def _scores(side: Any) -> dict[str, float]:
    """Return the numbers of the objects of one answer, as TOOL.METRIC."""
    return {
        f"{tool}.{metric}": float(value)
        for tool, scores in side.items()
        if isinstance(scores, dict)
        for metric, value in scores.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def _between_annotators(labels: FloatArray, pair: IntArray) -> dict[str, float]:
    """Return the correlation of the first and the second label of each pair; empty where no pair has two."""
    order = np.argsort(pair, kind="stable")
    first, second = labels[order][:-1], labels[order][1:]
    starts = np.diff(pair[order], prepend=-1)[:-1] != 0
    same = (pair[order][:-1] == pair[order][1:]) & starts
    both = same & np.isfinite(first) & np.isfinite(second)
    if not both.any():
        return {}
    return {name: statistic(first[both], second[both]) for name, statistic in CORRELATIONS.items()} | {
        "n": float(both.sum())
    }
