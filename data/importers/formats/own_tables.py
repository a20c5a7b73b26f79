"""Tables as people make them by hand, brought to a row per sample and a column per fact.

Nested objects are lifted, e-mail addresses left out, documents in numbered columns joined, units in cells
read, transcripts split into turns, rows per metric put together, systems side by side taken apart.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ragtriage.data.importers.formats.wide_tables import (
    Proposed,
    Row,
    changed,
    documents_grouped,
    pivoted,
    side_by_side,
)
from ragtriage.data.importers.parsing.cells import is_blank
from ragtriage.data.importers.parsing.columns import guessed, head_columns
from ragtriage.data.importers.parsing.head_column import HeadColumn
from ragtriage.data.importers.parsing.headings import (
    EMAIL,
    holds_emails,
    holds_ids,
    is_given,
    mentions_emails,
)
from ragtriage.data.importers.parsing.names import heading_words, plain_name, says, synonyms
from ragtriage.data.importers.parsing.rows import Table
from ragtriage.data.importers.parsing.shapes import TEXT_KEYS
from ragtriage.metrics.metric_registry import declared


@dataclass(frozen=True)
class Reshaped:
    """A table with a row per sample, and the fields that its shape gives to columns."""

    table: Table
    proposed: Proposed


def reshaped(table: Table, overrides: Mapping[str, str] | None = None) -> Reshaped:
    """Return a table made by hand with a row per sample; one that is so already comes back as it is.

    Args:
        table: the table as it lies in the file.
        overrides: column, or path such as "eval.score" in nested objects -> field, as the user set it.
    """
    table, proposed = _lifted(table, overrides or {})
    steps = (_without_emails, _documents_joined, _units_read, _turns_split, pivoted)
    grouped = () if overrides else (documents_grouped,)
    for step in (*steps, *grouped, partial(side_by_side, mapped={*(overrides or {})})):
        table, own = step(table)
        proposed = {**proposed, **own}
    return Reshaped(table, {name: given for name, given in proposed.items() if name in table.columns})


DEEPEST = 5  # levels of nested objects
GENERIC = {"text", "content", "value", "score", "string", "body", "message"}  # keys named by what holds them
TELLING = {"question", "answer", "retrieved", "reference_answer"}


def _lifted(table: Table, overrides: Mapping[str, str]) -> tuple[Table, Proposed]:
    """Lift what lies in nested objects, where they hold what a run is read from, or what is mapped."""
    if table.kind not in ("json", "jsonl"):
        return table, {}
    rows = [row for _, row in table.head if isinstance(row, dict)]
    paths = _paths(rows)
    of_mapping = [path for path in overrides if path in paths and path not in table.columns]
    fields = _fields_of(paths)
    flat = (c for c in head_columns(table) if not c.values or not all(isinstance(v, dict) for v in c.values))
    outer = guessed([*flat])
    telling = {field for field in fields.values() if field in TELLING or field.startswith("scores.")}
    if not (telling and telling - set(outer.values())) and not of_mapping:
        return table, {}
    lifted = [*paths] if telling - set(outer.values()) else of_mapping
    tops = {path.partition(".")[0] for path in lifted} if len(lifted) == len(paths) else set()

    def change(row: Row) -> Iterator[Row]:
        kept = {name: value for name, value in row.items() if name not in tops or not isinstance(value, dict)}
        yield {**kept, **{path: value for path in lifted if (value := _at(row, path)) is not None}}

    columns = [*(name for name in table.columns if name not in tops), *lifted]
    taken = set(outer.values())
    why = "a key in nested objects"
    proposed = {
        path: (field, why) for path in lifted if (field := fields.get(path, "")) and field not in taken
    }
    return changed(table, change, columns, ""), proposed


def _paths(rows: Sequence[Row]) -> dict[str, list[object]]:
    """Return the paths of the values in nested objects, with the values, where no field reads the object."""
    known = {name for field in ("retrieved", "scores", "candidates") for name in synonyms()[field]}
    paths: dict[str, list[object]] = {}

    def walk(value: object, path: str, depth: int) -> None:
        if isinstance(value, dict) and depth < DEEPEST:
            for key, inner in value.items():
                walk(inner, f"{path}.{key}", depth + 1)
        elif value is not None:
            paths.setdefault(path, []).append(value)

    for row in rows:
        for name, value in row.items():
            if isinstance(value, dict) and plain_name(name) not in known | {"tags", "metadata", "config"}:
                walk(value, name, 1)
    return paths


def _fields_of(paths: Mapping[str, Sequence[object]]) -> dict[str, str]:
    """Return the fields that the paths in nested objects fill, by their last telling keys."""
    titles: dict[str, str] = {}
    for path in paths:
        keys = path.split(".")
        leaf = keys[-2] if keys[-1].lower() in GENERIC and len(keys) > 1 else keys[-1]
        titles.setdefault(leaf, path)
    most = max(map(len, paths.values()), default=0)
    fields = guessed([HeadColumn(leaf, tuple(paths[path]), most) for leaf, path in titles.items()])
    for leaf, path in titles.items():  # a passage, with its id, is gold and no reference answer
        beside = {
            other.rpartition(".")[2] for other in paths if other.rpartition(".")[0] == path.rpartition(".")[0]
        }
        if fields[leaf] == "reference_answer" and beside & {"id", "title", "start_index"}:
            fields[leaf] = ""
    if "retrieved" not in fields.values():  # passages that an answer cites were in its context
        cited = (leaf for leaf, field in fields.items() if field == "citations")
        fields |= {leaf: "retrieved" for leaf in cited if _are_passages(paths[titles[leaf]])}
    return {titles[leaf]: field for leaf, field in fields.items() if _is_certain(field, paths[titles[leaf]])}


OF_PATHS = {  # fields that a key inside an object may fill
    *("question", "answer", "reference_answer", "retrieved", "retrieved_ids", "question_id", "refused"),
    *("latency_ms", "cost_usd", "input_tokens", "output_tokens", "citations"),
}


def _is_certain(field: str, values: Sequence[object]) -> bool:
    """Return whether a key inside an object fills a field for sure: settings and filters lie there too."""
    if field == "question":
        return all(isinstance(value, str) for value in values)
    return field in OF_PATHS or declared(field.removeprefix("scores.")) is not None


def _are_passages(values: Sequence[object]) -> bool:
    items = [item for value in values if isinstance(value, list) for item in value]
    return bool(items) and all(
        isinstance(item, dict) and any(key in item for key in TEXT_KEYS) for item in items
    )


def _at(row: Mapping[str, Any], path: str) -> object:
    value: object = row
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


RATER = "rater"
NO_ADDRESS = "[e-mail]"


def _without_emails(table: Table) -> tuple[Table, Proposed]:
    """Leave out e-mail addresses, as columns and in comments; who judged stays apart under a number."""
    columns = head_columns(table)
    addresses = [column.name for column in columns if holds_emails(column)]
    comments = [column.name for column in columns if says(column.name, "comment") and mentions_emails(column)]
    if not addresses and not comments:
        return table, {}
    numbers: dict[str, str] = {}
    keeps = bool(addresses) and RATER not in table.columns and any(map(is_given, columns))

    def change(row: Row) -> Iterator[Row]:
        kept = {name: value for name, value in row.items() if name not in addresses}
        for name in comments:
            kept[name] = EMAIL.sub(NO_ADDRESS, value) if isinstance(value := row.get(name), str) else value
        address = str(row.get(addresses[0]) or "").strip().lower() if addresses else ""
        if keeps and EMAIL.fullmatch(address):
            kept[RATER] = numbers.setdefault(address, f"rater {len(numbers) + 1}")
        yield kept

    note = f"left out, as it holds e-mail addresses: {', '.join(map(repr, addresses))}" if addresses else ""
    if comments:
        masked = f"e-mail addresses are {NO_ADDRESS} in {', '.join(map(repr, comments))}"
        note = f"{note}; {masked}" if note else masked
    if keeps:
        note += "; those who judged are rater 1, rater 2 and so on"
    left = [name for name in table.columns if name not in addresses] + [RATER] * keeps
    proposed = {RATER: ("tags.rater", "people, without their addresses")}
    return changed(table, change, left, note), proposed if keeps else {}


NUMBERED = re.compile(r"(.*?)_?(\d{1,2})(?:_(id|ids|text|content|score|title|source|name))?")
OF_ONE = {"ctx", "chunk", "doc", "document", "passage", "context", "source", "hit"}


def _documents_joined(table: Table) -> tuple[Table, Proposed]:
    """Join documents in columns of their own, as ctx1, ctx1_id, ctx2, into one list in their order."""
    found: dict[str, dict[tuple[int, str], HeadColumn]] = {}
    for column in head_columns(table):
        match = NUMBERED.fullmatch(plain_name(column.name))
        if (
            match
            and (match[1] in OF_ONE or says(match[1], "documents"))
            and (column.numeric < 1 or match[3] == "score")
        ):
            found.setdefault(match[1], {})[(int(match[2]), match[3] or "")] = column
    parts = max(found.values(), key=len, default={})
    ranks = sorted({rank for rank, _ in parts})
    if len(ranks) < 2 or ranks[0] > 1:
        return table, {}
    keys = {place: _part(place[1], column) for place, column in parts.items()}
    names = {column.name for column in parts.values()}
    joined = f"{parts[min(parts)].name} to {parts[max(parts)].name}"

    def change(row: Row) -> Iterator[Row]:
        documents: dict[int, Row] = {}
        for place, column in parts.items():
            if not is_blank(value := row.get(column.name), blank_text=True):
                documents.setdefault(place[0], {})[keys[place]] = value
        kept = {name: value for name, value in row.items() if name not in names}
        yield {**kept, joined: [documents[rank] for rank in ranks if rank in documents]}

    columns = [*(name for name in table.columns if name not in names), joined]
    why = f"documents in {len(names)} columns, in the order of their numbers"
    return changed(table, change, columns, ""), {joined: ("retrieved", why)}


def _part(ending: str, column: HeadColumn) -> str:
    if ending in ("title", "score"):
        return ending
    is_id = ending in ("id", "ids", "source", "name") or (not ending and holds_ids(column))
    return "id" if is_id else "text"


_NUMBER = r"(\d+(?:[.,]\d+)*)"
_WITH_UNIT = re.compile(rf"[<~≈]?\s*{_NUMBER}\s*([^\W\d]+\.?|%|¢|\$)|(US\$|\$)\s*{_NUMBER}")
UNITS = {  # unit in lower case -> what it measures, and how many of the unit that is kept it is
    **dict.fromkeys(("ms", "msec", "millis"), ("ms", 1.0)),
    **dict.fromkeys(("s", "sec", "secs", "sek", "second", "seconds", "sekunden", "秒"), ("ms", 1000.0)),
    **dict.fromkeys(("min", "minutes"), ("ms", 60_000.0)),
    **dict.fromkeys(("ct", "cts", "cent", "cents", "¢"), ("USD", 0.01)),
    **dict.fromkeys(("$", "us$", "usd"), ("USD", 1.0)),
    "%": ("share", 0.01),
    **dict.fromkeys(("token", "tokens"), ("tokens", 1.0)),
}
OF_UNIT = {"ms": "latency_ms", "USD": "cost_usd"}


def _units_read(table: Table) -> tuple[Table, Proposed]:
    """Read numbers written with their units, as 1,8 s or 0.4 ct, in milliseconds, dollars or shares."""
    measured = {column.name: unit for column in head_columns(table) if (unit := _unit_of(column))}
    if not measured:
        return table, {}

    def change(row: Row) -> Iterator[Row]:
        read = {name: _converted(row.get(name)) for name in measured}
        yield {**row, **{name: cell[0] for name, cell in read.items() if cell is not None}}

    notes, proposed = [], {}
    taken = set(guessed([c for c in head_columns(table) if c.name not in measured]).values())
    for column in head_columns(table):
        if column.name not in measured:
            continue
        unit = measured[column.name]
        value = _converted(column.values[0])
        shown = f"{value[0]:g} {unit}" if value and unit != "share" else f"{value[0] if value else 0:g}"
        cents = ", cents taken as those of a dollar" if unit == "USD" and "c" in str(column.values[0]) else ""
        notes.append(f"column {column.name!r} is read with its units: {column.values[0]} is {shown}{cents}")
        of_retrieval = unit == "ms" and plain_name(column.name) in synonyms()["retrieval_ms"]
        field = "retrieval_ms" if of_retrieval else OF_UNIT.get(unit, "")
        if field and field not in taken:
            proposed[column.name] = (field, f"its cells are in {unit}" if unit == "ms" else "its unit")
            taken.add(field)
    return changed(table, change, table.columns, "; ".join(notes)), proposed


def _share(cell: object) -> float | None:
    """Return a share written as 85% or as 0.85; None for anything else."""
    if converted := _converted(cell):
        return converted[0] if converted[1] == "share" else None
    plain = re.fullmatch(r"[01](?:[.,]\d+)?", str(cell).strip())
    return float(plain[0].replace(",", ".")) if plain else None


def _unit_of(column: HeadColumn) -> str:
    """Return the unit that all cells of a column are in, once converted; "" where they are in none."""
    if not column.values or not all(isinstance(value, str) for value in column.values):
        return ""
    units = {converted[1] if (converted := _converted(value)) else "" for value in column.values}
    if all(isinstance(value, str) and _CLOCK.fullmatch(value.strip()) for value in column.values):
        return "ms" if says(column.name, "latency") and not plain_name(column.name).endswith("time") else ""
    shares = [number for value in column.values if (number := _share(value)) is not None]
    if units == {"share", ""} and len(shares) == len(column.values) and max(shares) <= 1:
        return "share"
    return units.pop() if len(units) == 1 else ""


_CLOCK = re.compile(r"(\d{1,2}):([0-5]\d):([0-5]\d(?:[.,]\d+)?)")
_MINUTES = re.compile(r"(\d+)\s*min\.?\s*(\d+(?:[.,]\d+)?)\s*s(?:ec|ek)?\.?")


def _duration(cell: str) -> tuple[float, str] | None:
    """Return a time such as 1 min 5 s or 00:01:05 in milliseconds; None for other text."""
    if match := _CLOCK.fullmatch(cell) or _MINUTES.fullmatch(cell):
        *larger, seconds = (float(part.replace(",", ".")) for part in match.groups())
        return sum(part * 60.0**at for at, part in enumerate([seconds, *reversed(larger)])) * 1000, "ms"
    return None


def _converted(cell: object) -> tuple[float, str] | None:
    if isinstance(cell, str) and (duration := _duration(cell.strip())):
        return duration
    match = _WITH_UNIT.fullmatch(cell.strip()) if isinstance(cell, str) else None
    if match is None:
        return None
    unit = UNITS.get((match[2] or match[3]).lower().rstrip("."))
    if unit is None:
        return None
    digits = match[1] or match[4]
    whole = re.fullmatch(r"[1-9]\d{0,2}(,\d{3})+", digits) and unit[1] == 1.0  # 1,420 ms is no fraction
    text = digits.replace(",", "") if whole or ("," in digits and "." in digits) else digits.replace(",", ".")
    try:
        return float(text) * unit[1], unit[0]
    except ValueError:
        return None


TURN = re.compile(r"\s*(?:\[[^\]\n]*\]\s*)?\**([^\W\d_][\w .'-]{0,24}?)\**\s*[:：]\**\s*(.*)")
MOSTLY = 0.8


def _turns_split(table: Table) -> tuple[Table, Proposed]:
    """Split transcripts in cells into turns: the user's last question, its answer, and what was before."""
    columns = head_columns(table)
    if "question" in guessed(columns).values() and not _one_column_only(columns):
        return table, {}
    transcripts = [c.name for c in columns if c.values and c.share(_is_transcript) >= MOSTLY]
    if not transcripts:
        return table, {}
    name = transcripts[0]

    def change(row: Row) -> Iterator[Row]:
        turns = turns_in(row.get(name))
        yield {**row, name: turns} if turns else row

    why = "a transcript: its last question, the answer to it, and the turns before"
    return changed(table, change, table.columns, ""), {name: ("question", why)}


def _one_column_only(columns: Sequence[HeadColumn]) -> bool:
    """Return whether the question is guessed from a column of transcripts itself."""
    fields = guessed(columns)
    question = next((name for name, field in fields.items() if field == "question"), "")
    column = next((column for column in columns if column.name == question), None)
    return column is not None and column.share(_is_transcript) >= MOSTLY


def _is_transcript(value: object) -> bool:
    return {"user", "assistant"} <= {turn["role"] for turn in turns_in(value)}


def turns_in(value: object) -> list[dict[str, str]]:
    """Return the turns of a transcript in text, "User: ..." and "Bot: ..." on lines; none in other text."""
    turns: list[dict[str, str]] = []
    for line in value.splitlines() if isinstance(value, str) else ():
        match = TURN.fullmatch(line)
        speaker = match[1].strip().lower() if match else ""
        role = next((role for role in ("user", "assistant") if speaker in heading_words(role)), "")
        if match and role:
            turns.append({"role": role, "text": match[2].strip()})
        elif turns:
            turns[-1]["text"] = f"{turns[-1]['text']}\n{line}".strip()
        elif line.strip():
            return []
    return turns
