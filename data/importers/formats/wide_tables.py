"""Tables whose rows are no samples: a row for each metric, or several systems side by side in a row."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from ragtriage.data.importers.parsing.cells import is_blank
from ragtriage.data.importers.parsing.columns import guessed, head_columns
from ragtriage.data.importers.parsing.head_column import HeadColumn
from ragtriage.data.importers.parsing.headings import holds_ids
from ragtriage.data.importers.parsing.names import heading_words, plain_name, role_of, says
from ragtriage.data.importers.parsing.rows import Table
from ragtriage.data.store.parsed_run import Record

Row = dict[str, Any]
Proposed = Mapping[str, tuple[str, str]]  # column -> the field it fills, and why
MOST_NUMBERS = 0.8  # share of numbers from which on a column is no text


def changed(table: Table, change: Callable[[Row], Iterable[Row]], columns: Iterable[str], note: str) -> Table:
    """Return a table with other rows in place of each; rows that are no objects stay for the importer."""

    def rows(records: Iterable[Record]) -> Iterator[Record]:
        for line, row in records:
            if isinstance(row, dict):
                yield from ((line, other) for other in change(row))
            else:
                yield line, row

    head = tuple(rows(table.head))
    notes = (*table.notes, note) if note else table.notes
    return replace(table, columns=tuple(columns), head=head, rest=rows(table.rest), notes=notes)


MOST_METRICS = 50


def pivoted(table: Table) -> tuple[Table, Proposed]:
    """Put the rows of a long table together, of which each has one metric of a sample; it is read whole."""
    columns = head_columns(table)
    metric = next((c for c in columns if plain_name(c.name) in heading_words("metric")), None)
    value = next(
        (c for c in columns if c is not metric and _may_be_value(c) and (c.numeric >= 0.9 or c.verdict)), None
    )
    if metric is None or value is None or not 1 < metric.distinct <= MOST_METRICS:
        return table, {}
    if not all(isinstance(name, str) for name in metric.values):
        return table, {}
    told = [c.name for c in columns if says(c.name, "about_text") and c not in (metric, value)]
    kept = [c.name for c in columns if c.name not in {metric.name, value.name, *told}]
    head = [row for _, row in table.head if isinstance(row, dict)]
    if len({_key(row, kept) for row in head}) * 2 > len(head):
        return table, {}
    samples: dict[str, tuple[int, Row]] = {}
    for line, row in table.rows():
        if isinstance(row, dict):
            _, sample = samples.setdefault(_key(row, kept), (line, {name: row.get(name) for name in kept}))
            name = str(row.get(metric.name) or "").strip()
            if name:
                sample[name] = row.get(value.name)
                sample |= {f"{name}_reason": row[each] for each in told[:1] if row.get(each)}
    names = dict.fromkeys(chain.from_iterable(sample for _, sample in samples.values()))
    note = f"rows with one {metric.name!r} each are put together: {len(samples):,} samples"
    wide = Table.of(table.kind, iter(samples.values()), names, (*table.notes, note))
    return wide, {}


def _may_be_value(column: HeadColumn) -> bool:
    return plain_name(column.name) in heading_words("value")


def _key(row: Row, columns: Iterable[str]) -> str:
    return repr([row.get(name) for name in columns])


RANK = {"rank", "rang", "position", "doc_rank", "排名", "順位"}


def documents_grouped(table: Table) -> tuple[Table, Proposed]:
    """Put rows together that have one retrieved document each of the same question and answer, by rank."""
    columns = head_columns(table)
    fields = guessed(columns)
    rank = next((c for c in columns if plain_name(c.name) in RANK and c.numeric == 1), None)
    parts = {c.name: part for c in columns if (part := _part_of_document(c, fields))}
    same = [name for name, field in fields.items() if field in ("question_id", "question", "answer")]
    if rank is None or not {"id", "text"} & {*parts.values()} or len({*parts.values()}) < len(parts):
        return table, {}
    if not {"question", "answer"} <= {fields[name] for name in same} or not _repeats(table, same, rank.name):
        return table, {}
    groups: dict[str, list[tuple[int, Row]]] = {}
    for line, row in table.rows():
        if isinstance(row, dict):
            groups.setdefault(_key(row, same), []).append((line, row))
    others = [c.name for c in columns if c.name not in {rank.name, *parts}]
    vary = [
        n for n in others if any(len({_key(row, [n]) for _, row in rows}) > 1 for rows in groups.values())
    ]
    kept = [name for name in others if name not in vary]
    documents = "retrieved documents"

    def samples() -> Iterator[Record]:
        for rows in groups.values():
            ranked = sorted((row for _, row in rows), key=lambda row: float(str(row.get(rank.name) or "inf")))
            found = [{part: row[name] for name, part in parts.items() if row.get(name)} for row in ranked]
            yield rows[0][0], {name: rows[0][1].get(name) for name in kept} | {documents: found}

    note = f"rows with one document each are put together by {rank.name!r}: {len(groups):,} samples"
    if vary:
        note += f"; left out, as it differs between the rows of a sample: {', '.join(map(repr, vary))}"
    grouped = Table.of(table.kind, samples(), [*kept, documents], (*table.notes, note))
    return grouped, {documents: ("retrieved", "a row for each document")}


def _repeats(table: Table, same: list[str], rank: str) -> bool:
    """Return whether the first rows repeat some cells, each time with another rank."""
    rows = [row for _, row in table.head if isinstance(row, dict)]
    ranks: dict[str, list[str]] = {}
    for row in rows:
        ranks.setdefault(_key(row, same), []).append(str(row.get(rank)))
    return len(ranks) * 2 <= len(rows) and all(len({*each}) == len(each) for each in ranks.values())


def _part_of_document(column: HeadColumn, fields: Mapping[str, str]) -> str:
    """Return what a column holds of the one document of its row; "" where it holds something else."""
    plain = plain_name(column.name)
    if plain in ("score", "similarity", "retrieval_score") and column.numeric > MOST_NUMBERS:
        return "score"
    if plain in ("doc_id", "document_id", "chunk_id", "passage_id"):
        return "id"
    if not (fields.get(column.name) == "retrieved" or plain in ("doc", "document", "chunk", "passage")):
        return ""
    return "text" if _is_text(column) and not holds_ids(column) else "id"


SIDES = ("answer", "score", "judged_right", "judgement", "helpful", "latency", "cost")
NO_SYSTEM = (  # what a heading says beside the word for the answer, where that names no system
    *(
        *("answer", "question", "reference", "correct", "judged_right", "helpful", "about_text", "fault"),
        *("latency",),
    ),
    *("rater", "documents", "no_rating", "good", "bad"),
)
SYSTEM = "system"
FEWEST_WORDS = 2  # of a typical answer


def side_by_side(table: Table, mapped: set[str]) -> tuple[Table, Proposed]:
    """Take systems apart that stand side by side: a column of answers each, and maybe of scores beside it."""
    columns = {column.name: column for column in head_columns(table)}
    sides = _sides(columns)
    of_systems = {column for parts in sides.values() for column in parts.values()}
    has_answer = "answer" in guessed([c for name, c in columns.items() if name not in of_systems]).values()
    if len(sides) < 2 or has_answer or of_systems & mapped:
        return table, {}
    shared = [name for name in table.columns if name not in of_systems]
    answer = "answer" if "answer" not in shared else "answer of the system"
    parts = dict.fromkeys(chain.from_iterable(sides.values()))

    def change(row: Row) -> Iterator[Row]:
        same = {name: row[name] for name in shared if name in row}
        for system, own in sides.items():
            cells = {(answer if part == "answer" else part): row.get(name) for part, name in own.items()}
            if not all(is_blank(cell, blank_text=True) for cell in cells.values()):
                yield {**same, **cells, SYSTEM: system}

    names = [answer if part == "answer" else part for part in parts]
    note = f"systems side by side are read as a run each: {', '.join(sides)}"
    proposed = {answer: ("answer", "a column for each system"), SYSTEM: ("run", "the systems side by side")}
    return changed(table, change, [*shared, *names, SYSTEM], note), proposed


def _sides(columns: Mapping[str, HeadColumn]) -> dict[str, dict[str, str]]:
    """Return system -> {"answer" or what the column is called otherwise -> its column}."""
    if repeated := _repeated(columns):
        return repeated
    systems: dict[str, dict[str, str]] = {}
    for name, column in columns.items():
        if role_of(name) in ("question", "reference_answer", "retrieved") or says(name, "reference", "rater"):
            continue
        for system, part in _split_heading(name):
            is_answer = says(part, "answer")
            if is_answer and not _is_text(column):
                continue
            systems.setdefault(system, {})["answer" if is_answer else part] = name
    for system, parts in systems.items():
        if "answer" not in parts and system in columns and _is_text(columns[system]):
            parts["answer"] = system
    return {system: parts for system, parts in systems.items() if "answer" in parts}


def _repeated(columns: Mapping[str, HeadColumn]) -> dict[str, dict[str, str]]:
    """Return the systems whose columns have the same headings, as below a merged cell for each: 1, 2."""
    again: dict[str, list[str]] = {}
    for name in columns:
        base = re.sub(r" \(\d+\)$", "", name)
        again.setdefault(base if base in columns else name, []).append(name)
    answers = next(
        (names for base, names in again.items() if role_of(base) == "answer" and len(names) > 1), []
    )
    if not answers or not all(_is_text(columns[name]) for name in answers):
        return {}
    parts = {base: names for base, names in again.items() if len(names) == len(answers)}
    return {
        str(at + 1): {"answer" if answers[at] in names else base: names[at] for base, names in parts.items()}
        for at in range(len(answers))
    }


def _split_heading(name: str) -> Iterator[tuple[str, str]]:
    """Yield the system and the rest of a heading such as "Nota Colibrí", "Answer (A)" or "gpt-4 score"."""
    words = [word for word in re.split(r"[\s_:()\[\]]+", name) if word]
    for part, rest in ((words[0], words[1:]), (words[-1], words[:-1])) if len(words) > 1 else ():
        if says(part, *SIDES) and not says(" ".join(rest), *NO_SYSTEM):
            yield " ".join(rest), part


def _is_text(column: HeadColumn) -> bool:
    texts = [value for value in column.values if isinstance(value, str)]
    several = [text for text in texts if len(text.split()) >= FEWEST_WORDS or len(text) > 12]
    is_prose = len(texts) * 2 > len(column.values) and len(several) * 2 > len(texts)
    return is_prose and column.numeric < MOST_NUMBERS and column.verdict is None
