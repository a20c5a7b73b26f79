"""Map the columns of a table to fields: guessed from names and values, shown in the preview, overridable."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from statistics import median
from typing import Any

from ragtriage.data.errors import InputError, ValidationError
from ragtriage.data.importers.parsing.cells import PSEUDO_FIELDS, CellError, is_blank, read_cell
from ragtriage.data.importers.parsing.head_column import (
    HeadColumn,
    check_columns,
    has_route_checks,
    is_check_field,
    is_route_quality,
    questions_about,
)
from ragtriage.data.importers.parsing.headings import (
    BY_WORD,
    Siblings,
    by_a_word,
    directions,
    ends_of,
    ends_of_labels,
    give_to_people,
    holds_ids,
    is_given,
    is_rating,
    mapped,
    metric_of,
    names_rater,
    ratings,
    reasons_in,
    siblings_of,
    unread_text,
)
from ragtriage.data.importers.parsing.names import (
    MAP_QUESTION,
    NoQuestionError,
    is_option,
    metric_name,
    plain_name,
    role_of,
    says,
    synonyms,
)
from ragtriage.data.importers.parsing.nested_ids import gold_ids_of, is_nested, nested_ids
from ragtriage.data.importers.parsing.rows import Table
from ragtriage.data.store.parsed_run import MappedColumn
from ragtriage.data.store.sample_schema import FIELDS

PREFIXES = ("scores.", "human.", "tags.")


def check_overrides(columns: tuple[str, ...], overrides: Mapping[str, str], file: str) -> None:
    """Check that the columns and fields of a mapping exist, and that no field occurs twice.

    A path inside documents, as `context_docs[].metadata.section_id`, may hold their ids.

    Raises:
        InputError: the mapping is wrong.
    """
    all_fields = [*FIELDS, *PSEUDO_FIELDS]
    errors = []
    column_of: dict[str, str] = {}
    for column, field in overrides.items():
        nested = is_nested(column) and field in {"retrieved_ids", ""}
        if column not in columns and not (nested and column.partition("[]")[0] in columns):
            errors.append(ValidationError(file, None, column, *_no_such_column(column, field, columns)))
        if field and field not in all_fields and not is_prefixed(field):
            prefixed = "scores.<metric>, human.<metric>, tags.<key>, checks.<kind>.expected or .actual"
            what = f"mapped to {field!r}, which is not a field"
            close = get_close_matches(field, all_fields, n=1, cutoff=0.7)
            meant = f"did you mean {close[0]}? " if close else ""
            accepted = f"{meant}{', '.join(all_fields)}, {prefixed}, or nothing to keep it as extra"
            errors.append(ValidationError(file, None, column, what, accepted))
        if field and field in column_of:
            what = f"mapped to {field!r}, as {column_of[field]!r} already is"
            errors.append(ValidationError(file, None, column, what, "each field once"))
        column_of[field] = column
    if errors:
        raise InputError(errors)


def _no_such_column(column: str, field: str, columns: Sequence[str]) -> tuple[str, str]:
    """Return what is wrong with a column that is mapped and not there, and the nearest that is."""
    what, listed = "no such column to map", ", ".join(columns)
    plain = {plain_name(each): each for each in reversed(columns)}
    names = [plain_name(column), *synonyms().get(field, ())]
    near = next((close for name in names for close in get_close_matches(name, plain, n=1, cutoff=0.8)), None)
    found = plain[near] if near else next((each for each in columns if role_of(each) == field), "")
    if not found or not field:
        return what, listed
    return what, f"{found!r} looks like the {field}: `{mapped(field, found)}`; the columns are {listed}"


def is_prefixed(field: str) -> bool:
    """Return whether a field is `scores.<metric>`, `human.<metric>`, `tags.<key>` or a side of a check."""
    prefixed = any(field.startswith(prefix) and field != prefix for prefix in PREFIXES)
    return prefixed or is_check_field(field)


RATER = "tags.rater"
TEXT_KINDS = ("csv", "markdown")  # containers in which an empty cell is an empty text
MAX_RUNS = 50
MAX_TAG_LENGTH = 60
MAX_TAG_VALUES = 20
SECONDS_UP_TO = 300  # a larger median must be milliseconds: nobody waits five minutes for an answer
TEXT_FIELDS = {"question", "answer", "reference_answer", "search_query", "prompt", "query_type"}
LIST_FIELDS = {"retrieved", "candidates", "history", "relevant", "relevant_texts", "retrieved_ids"}
NUMBER_FIELDS = {
    *("latency_ms", "latency_s", "retrieval_ms", "input_tokens", "output_tokens", "cost_usd"),
    *("peak_memory_mb", "sampling_rate", "sampling_weight"),
}
RATE, WEIGHT = "sampling_rate", "sampling_weight"
OF_SAMPLING = {RATE, WEIGHT}
_OF_ANYTHING = {"sample_rate", "weight", "weights"}  # rates and weights of other things than calls, too


@dataclass(frozen=True)
class Plan:
    """How the rows of a table are converted to records."""

    # column -> field, "scores.<metric>", "tags.<key>", a pseudo field, or "" (kept as extra)
    fields: Mapping[str, str]
    shown: tuple[MappedColumn, ...]  # the same with examples, for the preview
    factors: Mapping[str, float]  # column -> factor for its numbers, e.g. 1000 for seconds.
    blank_text: bool  # whether empty text means null in this container format
    notes: tuple[str, ...]  # assumptions, for the reader
    decimal_commas: frozenset[str] = frozenset()  # columns whose numbers are written as in 0,85
    # column -> metric whose values it explains; None for no such column
    reasons: Mapping[str, str] | None = None
    # column of a score -> its words in lower case -> number; None for no such column
    verdicts: Mapping[str, Mapping[str, float]] | None = None
    # metric -> what the words and the name of its column say of its direction; None likewise
    metrics: Mapping[str, Mapping[str, Any]] | None = None
    siblings: Siblings | None = None  # the columns beside scores; None where there is no table
    # column that people rated in -> the ends of its scale
    ends: Mapping[str, tuple[float, float]] | None = None
    rater: str = ""  # column with the names of the people who judged; "" where there is none
    # column of a score -> its words in lower case that say that the answer refuses; None likewise
    refusals: Mapping[str, frozenset[str]] | None = None

    def column(self, field: str) -> str | None:
        """Return the column of a field, or None."""
        return next((column for column, target in self.fields.items() if target == field), None)


def plan_columns(
    table: Table,
    overrides: Mapping[str, str],  # column -> field, set by the user; "" keeps a column as extra
    file: str,
    *,
    # a tool's own columns; every numeric column after the last of them is a metric
    metrics_after: Collection[str] = (),
    # ids of gold documents from another file; those of the table itself are looked up in it
    gold_ids: Collection[str] = (),
    declared: Collection[str] = (),  # metrics that the user has declared: their columns are scores
    # column -> field and why, as the shape of the table has it; a mapping of the user's goes before
    proposed: Mapping[str, tuple[str, str]] | None = None,
) -> Plan:
    """Return the mapping of the columns of a table to fields.

    Raises:
        NoQuestionError: no column reads as the question.
        InputError: an override is wrong.
    """
    check_overrides(table.columns, overrides, file)
    blank_text = table.kind in TEXT_KINDS
    columns = head_columns(table)
    given = {name: field for name, (field, _) in (proposed or {}).items() if field not in overrides.values()}
    fields, siblings, reasons = _all_fields(columns, {**given, **overrides}, metrics_after, declared)
    of_fields = {field: column for column, field in fields.items()}
    if "question" not in of_fields:
        what = f"no question column found (columns: {', '.join(map(repr, fields)) or 'none'})"
        names = ", ".join(synonyms()["question"])
        accepted = f"one of {names}; or a mapping of a column to it ({MAP_QUESTION}), or that renamed"
        raise NoQuestionError(ValidationError(file, None, "question", what, accepted), tuple(fields))
    factors, notes = _units([column for column in columns if column.name not in given], fields)
    settled = {*overrides, *siblings.limits, *siblings.verdicts}
    guessed = {name: field for name, field in fields.items() if name not in settled}
    notes += (*siblings.notes, *questions_about(columns, guessed, declared))
    shown = []
    for column in columns:
        field = fields[column.name]
        why = _why(column, field, siblings, reasons)
        if column.name in given:
            why = (proposed or {})[column.name][1]
        why = "as you mapped it" if column.name in overrides else why
        more = tuple(_example(column.values[at:]) for at in (1, 2) if at < len(column.values))
        example = _example(column.values)
        shown.append(MappedColumn(column.name, field, example, why, more, is_given(column)))
    # ids inside the documents, unless a column of the table has them
    paths, examples = dict[str, str](), dict[str, str]()
    if "retrieved" in of_fields and "retrieved_ids" not in of_fields:
        gold = gold_ids_of(table.head, of_fields.get("relevant")) or set(gold_ids)
        nested = nested_ids(table.head, of_fields["retrieved"], gold)
        paths = {path: "retrieved_ids" if path == nested.chosen else "" for path in nested.examples}
        examples = {path: _example((value,)) for path, value in nested.examples.items()}
        notes += () if any(map(is_nested, overrides)) else nested.notes
    paths |= {name: field for name, field in overrides.items() if is_nested(name)}
    shown += [
        MappedColumn(path, field, examples.get(path, ""), "ids inside the documents")
        for path, field in paths.items()
    ]
    verdicts = {
        column.name: column.verdict
        for column in columns
        if column.verdict is not None and fields[column.name].startswith(("scores.", "human."))
    }
    lost = unread_text(columns, fields)
    return Plan(
        {**fields, **paths},
        tuple(shown),
        factors,
        blank_text,
        (*filter(None, [lost]), *notes, *_left_over(fields)),
        frozenset(column.name for column in columns if column.has_decimal_commas),
        reasons,
        {name: verdict.values for name, verdict in verdicts.items()},
        {**ratings(columns, fields, siblings), **directions(verdicts, fields)},
        siblings,
        ends_of_labels(columns, fields),
        next((name for name, field in fields.items() if field == RATER), ""),
        {name: verdict.refused for name, verdict in verdicts.items() if verdict.refused},
    )


def guessed(columns: Sequence[HeadColumn]) -> dict[str, str]:
    """Return column -> the field that it is guessed to fill; "" for none."""
    return _all_fields([*columns], {}, (), ())[0]


def head_columns(table: Table) -> list[HeadColumn]:
    """Return the columns of a table as its first rows show them."""
    rows = [row for _, row in table.head if isinstance(row, dict)]
    columns = []
    for name in table.columns:
        cells = (row.get(name) for row in rows)
        filled = tuple(cell for cell in cells if not is_blank(cell, blank_text=table.kind in TEXT_KINDS))
        columns.append(HeadColumn(name, filled, len(rows)))
    return columns


def _all_fields(
    columns: list[HeadColumn],
    overrides: Mapping[str, str],
    metrics_after: Collection[str],
    declared: Collection[str],
) -> tuple[dict[str, str], Siblings, dict[str, str]]:
    """Return the field of every column, the columns beside scores, and those that explain one."""
    fields = dict(overrides)
    _guess_fields(columns, fields)
    for name, field in check_columns([column.name for column in columns]).items():
        fields.setdefault(name, field)
    _guess_by_words(columns, fields)
    _guess_metrics(columns, fields, metrics_after, declared)
    given = [column for column in columns if column.name not in overrides and is_given(column)]
    raters = [column.name for column in columns if column.name not in fields and names_rater(column)]
    if raters and give_to_people(given, fields) and RATER not in fields.values():
        fields[raters[0]] = RATER
    if RATER in fields.values():
        fields |= give_to_people(given, fields)
    siblings = siblings_of(columns, fields, {*overrides, *declared})
    fields |= dict.fromkeys(siblings.limits, "")
    fields |= {name: f"checks.{plain_name(name)}.passed" for name in siblings.verdicts}
    reasons = reasons_in(columns, fields)
    for column in columns:
        is_tag = column.name not in reasons and _is_tag(column)
        fields.setdefault(column.name, f"tags.{column.name}" if is_tag else "")
    return {column.name: fields[column.name] for column in columns}, siblings, reasons


def _why(column: HeadColumn, field: str, siblings: Siblings, reasons: Mapping[str, str]) -> str:
    """Return what the field of a column was guessed from."""
    if column.name in siblings.verdicts:
        score = siblings.verdicts[column.name].score
        return f"what the tool decided on {score}" if score else "what the tool decided"
    if column.name in siblings.limits:
        return "stands beside a score"
    if column.name in reasons:
        return f"explains {reasons[column.name]}"
    if field == RATER:
        return "says who judged"
    if field.startswith("human."):
        return "a column says who judged"
    if field.startswith("scores."):
        return _why_a_score(column, siblings.scales.get(field.removeprefix("scores.")))
    if field.startswith("tags."):
        return f"{column.distinct} different {'value' if column.distinct == 1 else 'values'}"
    if not field:
        return "" if column.values else "is empty"
    if field == "retrieved_ids" and plain_name(column.name) not in synonyms()[field]:
        return "its name; holds ids of documents, no text"
    return "its name" if plain_name(column.name) in synonyms().get(field, (field,)) else BY_WORD


def _why_a_score(column: HeadColumn, scale: tuple[float, float] | None) -> str:
    if scale is not None:
        return f"name of a metric, from {scale[0]:g} to {scale[1]:g}"
    if metric_name(column.name)[1]:
        return "name of a metric"
    if column.verdict is not None:
        return f"holds {column.verdict.shown}"
    ends = ends_of(column) if is_rating(column) else None
    return f"a rating from {ends[0]:g} to {ends[1]:g}" if ends else "holds numbers"


def _guess_fields(columns: list[HeadColumn], fields: dict[str, str]) -> None:
    by_plain = {plain_name(column.name): column for column in reversed(columns)}
    exact = {column.name: column for column in columns}
    for field, names in synonyms().items():
        if field in fields.values() or (field == WEIGHT and RATE in fields.values()):
            continue
        for name in names:
            column = exact.get(name) or by_plain.get(name)
            if column is None or is_option(name, by_plain):
                continue
            if column.name in fields or not _fits(column, field):
                continue
            fields[column.name] = field
            break
    for name in exact:
        if is_prefixed(name):
            fields.setdefault(name, name)
    _distrust_row_numbers(exact, fields)


def _guess_by_words(columns: list[HeadColumn], fields: dict[str, str]) -> None:
    """Guess the fields left open from words in the headings; documents named by ids alone have no text."""
    exact = {column.name: column for column in columns}
    by_word = by_a_word(columns, fields)
    fields |= {name: field for name, field in by_word.items() if _fits(exact[name], field)}
    for name, field in [*fields.items()]:
        if field == "retrieved" and name in exact and holds_ids(exact[name]):
            fields[name] = "retrieved_ids" if "retrieved_ids" not in fields.values() else ""


def _fits(column: HeadColumn, field: str) -> bool:
    if not column.values:
        return field in FIELDS and column.name == field
    if field == "run":
        texts = column.share(lambda value: isinstance(value, str | int) and len(str(value)) <= MAX_TAG_LENGTH)
        few = column.distinct <= max(1, min(MAX_RUNS, column.rows // 2))
        return texts == 1.0 and few
    if field in OF_SAMPLING and plain_name(column.name) in _OF_ANYTHING:
        return column.distinct > 1 and column.share(lambda value: _reads_as(field, value)) == 1.0
    if field in NUMBER_FIELDS:
        return column.numeric >= 0.5
    if column.numeric == 1.0 and (
        field == "retrieved" or plain_name(column.name) == "q"
    ):  # counts, row numbers
        return False
    if field == "scores" and plain_name(column.name) != field:  # as lists of {name, score} alone
        return column.share(lambda value: isinstance(value, list) and _reads_as(field, value)) == 1.0
    return column.share(lambda value: _reads_as(field, value)) >= 0.5


def _reads_as(field: str, value: object) -> bool:
    try:
        parsed = read_cell(field, value)
    except CellError:
        return False
    if field == RATE:
        return isinstance(parsed, int | float) and 0 < parsed <= 1
    if field in TEXT_FIELDS:
        return isinstance(parsed, str) or (field == "question" and isinstance(parsed, list))
    if field in LIST_FIELDS:
        return isinstance(parsed, list)
    if field == "repeat":
        return isinstance(parsed, int | float | str)
    return isinstance(parsed, bool) if field == "refused" else parsed is not None


def _distrust_row_numbers(columns: Mapping[str, HeadColumn], fields: dict[str, str]) -> None:
    """Unmap an id that differs on every row though questions recur: it numbers rows, not questions."""
    names = {field: column for column, field in fields.items()}
    identifier, question = columns.get(names.get("question_id", "")), columns.get(names.get("question", ""))
    if identifier is None or question is None or plain_name(identifier.name) == "question_id":
        return
    if identifier.distinct == len(identifier.values) and question.distinct < len(question.values):
        fields[identifier.name] = ""


def _guess_metrics(
    columns: list[HeadColumn], fields: dict[str, str], own: Collection[str], declared: Collection[str]
) -> None:
    last = max((i for i, column in enumerate(columns) if column.name in own), default=len(columns))
    routed, taken = (
        has_route_checks(fields.values()),
        set(fields.values()),
    )  # a file may have thousands of columns
    named = [metric_name(column.name) for column in columns]
    keys = [  # a metric that the user has declared keeps the name that it was declared by
        (name if name in declared else metric_of(column), is_known)
        for column, (name, is_known) in zip(columns, named, strict=True)
    ]
    # `correctness` has its name before `correct`, which is called so too, wherever the two stand
    by_name = sorted(range(len(columns)), key=lambda at: plain_name(columns[at].name) != keys[at][0])
    for position in by_name:
        column, (key, is_known) = columns[position], keys[position]
        if column.name in fields:
            continue
        numbers = column.numeric == 1.0 or column.is_flags
        mostly = column.numeric >= 0.5 or numbers or not column.values  # other cells are reported as errors
        after = position > last and (numbers or not column.values)
        is_share = column.numeric == 1.0 and column.is_share and not says(column.name, "no_rating")
        asked_for = key in declared and mostly
        asked_for |= routed and column.numeric == 1.0 and is_route_quality(column.name)
        if (is_known and mostly) or after or is_share or asked_for or is_given(column):
            names = (f"scores.{key}_{n}" if n > 1 else f"scores.{key}" for n in range(1, len(columns) + 2))
            field = next(name for name in names if name not in taken)
            fields[column.name] = field
            taken.add(field)


def _is_tag(column: HeadColumn) -> bool:
    numbers_rows = 2 < column.distinct == len(column.values)
    if not column.values or numbers_rows or column.distinct > MAX_TAG_VALUES:
        return False
    return all(isinstance(cell, str | int) and len(str(cell)) <= MAX_TAG_LENGTH for cell in column.values)


def _units(columns: list[HeadColumn], fields: Mapping[str, str]) -> tuple[dict[str, float], list[str]]:
    factors: dict[str, float] = {}
    notes: list[str] = []
    for column in columns:
        field = fields[column.name]
        if field == "latency_s":
            factors[column.name] = 1000.0
        numbers = column.finite
        if field not in {"latency_ms", "retrieval_ms"} or column.name == field or not numbers:
            continue
        typical = median(numbers)
        words = plain_name(column.name).split("_")
        in_ms = bool({"ms", "millis", "milliseconds"} & set(words))
        in_s = bool({"s", "sec", "secs", "seconds"} & set(words))
        if in_s or (not in_ms and typical < SECONDS_UP_TO):
            factors[column.name] = 1000.0
        unit = "seconds" if column.name in factors else "milliseconds"
        why = "by its name" if in_ms or in_s else f"by its size, median {typical:.3g}"
        notes.append(f"column {column.name!r} is read as {unit} ({why}) and fills {field}")
    return factors, notes


def _left_over(fields: Mapping[str, str]) -> list[str]:
    filled = {field: column for column, field in fields.items()}
    notes = []
    for field in ("question", "answer", "reference_answer", "retrieved"):
        others = [
            column
            for column, target in fields.items()
            if target != field
            and not (target in FIELDS or target in PSEUDO_FIELDS)
            and plain_name(column) in synonyms()[field]
        ]
        if others and field in filled:
            names = ", ".join(repr(column) for column in others)
            notes.append(f"{field} is taken from {filled[field]!r}; {names} could be it too")
    return notes


def _example(values: tuple[object, ...]) -> str:
    if not values:
        return ""
    text = " ".join(str(values[0]).split())
    return text if len(text) <= 80 else text[:77] + "..."
