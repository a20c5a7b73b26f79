"""Columns as the first rows of a table show them: numbers, decimal commas, flags, verdicts, checks."""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from shlex import quote
from typing import Any

from ragtriage.data.importers.parsing.cells import CellError, is_blank, parse_structure, read_score
from ragtriage.data.importers.parsing.names import (
    heading_words,
    metric_name,
    plain_name,
    says,
    synonyms,
    words_in_order,
    words_of,
)
from ragtriage.metrics.diagnosis.check_kinds import is_known_kind, suite_of

FIELD = re.compile(r"checks\.(.+)\.(expected|actual)")
COLUMN = re.compile(r"(expected|actual)_(.+)")
QUALITY = re.compile(r"(?:score|quality)_.+|.+_(?:score|quality)")


def is_check_field(field: str) -> bool:
    """Return whether a field is `checks.<kind>.expected` or `checks.<kind>.actual`."""
    return FIELD.fullmatch(field) is not None


def check_columns(columns: Iterable[str]) -> dict[str, str]:
    """Return the columns that make checks -> their field, as expected_route -> checks.route.expected.

    An expected column without its actual one counts where the kind is known: its checks are then not
    measured. Names that common fields go by, such as expected_output, are none.
    """
    taken = {name for names in synonyms().values() for name in names}
    sides: dict[str, dict[str, str]] = {}
    for column in columns:
        plain = plain_name(column)
        match = COLUMN.fullmatch(plain)
        if match and plain not in taken:
            sides.setdefault(match[2], {}).setdefault(match[1], column)
    return {
        column: f"checks.{kind}.{side}"
        for kind, both in sides.items()
        if "expected" in both and ("actual" in both or is_known_kind(kind))
        for side, column in both.items()
    }


def has_route_checks(fields: Iterable[str]) -> bool:
    """Return whether some fields that columns fill are checks of a router."""
    kinds = [match[1] for match in map(FIELD.fullmatch, fields) if match]
    return any(suite_of(kind) == "router" for kind in kinds)


def is_route_quality(column: str) -> bool:
    """Return whether a column of numbers beside a router's checks is the quality of an answer.

    score_strong and unify_score are.
    """
    return bool(QUALITY.fullmatch(plain_name(column)))


def put_check(record: dict[str, Any], field: str, value: object, *, blank_text: bool) -> None:
    """Add one side of a check to the checks of a record; a blank cell adds nothing."""
    match = FIELD.fullmatch(field)
    if match is None or is_blank(value, blank_text=blank_text):
        return
    checks = record.setdefault("checks", [])
    if not isinstance(checks, list):  # validation says what is accepted
        return
    kind, side = match[1], match[2]
    check = next((entry for entry in checks if isinstance(entry, dict) and entry.get("name") == kind), None)
    if check is None:
        check = {"name": kind, "kind": kind}
        checks.append(check)
    check[side] = value
    with suppress(CellError):
        check[side] = parse_structure(value)


PAIRS = words_in_order("pairs")  # of verdicts, the good one first
FLAGS = (("true", "false"), ("yes", "no"), ("1", "0"), ("1.0", "0.0"), ("y", "n"))
LETTERS = "abcdef"
GRADES = {letter: round(1 - at / (len(LETTERS) - 1), 6) for at, letter in enumerate(LETTERS)}
GOOD_WORDS = heading_words("true_is_good")  # words in the name of a column with flags that make TRUE good
# Words that make it a verdict, of which only the people who judged know whether TRUE is good.
UNCLEAR_WORDS = heading_words("true_is_unclear")


@dataclass(frozen=True)
class Verdict:
    """How the words of a column are read as numbers."""

    values: Mapping[str, float]  # word in lower case -> number
    plain: bool  # whether higher is better is plain from the name and the words
    shown: str  # the words that are 1 and 0, as they stand in the column
    note: str = ""  # what to say of how they are read; "" where there is nothing to say
    refused: frozenset[str] = frozenset()  # words in lower case that say that the answer refuses
    judges_right: bool = False  # whether the words say that an answer is right or wrong


def verdict_of(name: str, cells: Collection[object]) -> Verdict | None:
    """Return how a column of verdicts is read; None where its cells or its name are those of none."""
    words: dict[str, str] = {}
    for cell in cells:
        words.setdefault(str(cell).strip().lower(), str(cell).strip())
    in_name = set(plain_name(name).split("_"))
    last = plain_name(name).rpartition("_")[2]
    if not words or (last in heading_words("comment") and last not in heading_words("score")):
        return None  # a comment or a reason is no verdict, whatever word it is
    if words.keys() <= GRADES.keys():
        if len(words) < 2 or not heading_words("grade") & in_name:
            return None  # as the options of a multiple choice
        steps = ", ".join(f"{letter.upper()} = {value:g}" for letter, value in GRADES.items())
        return Verdict(GRADES, True, "A to F", f"column {name!r} holds letter grades, read as {steps}")
    for good, bad in PAIRS:
        if words.keys() <= {good, bad} and (len(words) == 2 or GOOD_WORDS & in_name):
            shown = f"{words.get(good, good)}/{words.get(bad, bad)}"
            note = f"column {name!r} holds {shown}, read as 1 and 0"
            judges = good in ("right", "correct", "accurate")
            return Verdict({good: 1.0, bad: 0.0}, True, shown, note, judges_right=judges)
    if last in heading_words("about_text") and not says(name, "score"):
        return _of_flags(words, name)
    return (
        _of_flags(words, name)
        or _in_words(words, name)
        or _on_a_scale(words, name)
        or _in_stars(words, name)
        or _out_of(words, name)
    )


def _of_flags(words: Mapping[str, str], name: str) -> Verdict | None:
    values = {word: float(at == 0) for pair in FLAGS for at, word in enumerate(pair)}
    if not words.keys() <= values.keys() or not _judges(name):
        return None
    pair = next((pair for pair in FLAGS if words.keys() & set(pair)), FLAGS[0])
    shown = "/".join(words.get(word, word) for word in pair)
    return Verdict(values, is_plain(name), shown)


PARTLY = 0.4  # below the threshold of correctness: what is partly right does not pass
LEVELS = {"good": 1.0, "right": 1.0, "partly": PARTLY, "bad": 0.0, "wrong": 0.0, "refused": 0.0}
NO_LEVEL = "neutral"


def _in_words(words: Mapping[str, str], name: str) -> Verdict | None:
    """Return how words such as oui, partiel and non, or richtig and falsch, are read; None for others."""
    kinds = {}
    for word in words:
        plain = word.casefold().strip(" .!")
        kind = next((kind for kind in (*LEVELS, NO_LEVEL) if plain in heading_words(kind)), None)
        if kind is None:
            return None
        kinds[word] = kind
    judges_right = not {"right", "wrong"}.isdisjoint(kinds.values())
    levels = {LEVELS[kind] for kind in kinds.values() if kind in LEVELS}
    marks = all(not any(map(str.isalpha, word)) for word in words)  # as ✓ and ✗, which always judge
    plain_sign = (judges_right or marks) and len(levels) > 1
    if not levels or not (_judges(name) or "?" in name or plain_sign):
        return None
    values = {word: LEVELS.get(kind, math.nan) for word, kind in kinds.items()}
    refused = frozenset(word for word, kind in kinds.items() if kind == "refused")
    note = _steps(name, words, values, refused)
    shown = "/".join(words[word] for word in sorted(values, key=lambda word: -values[word]))
    return Verdict(values, is_plain(name), shown, note, refused, judges_right)


def _on_a_scale(words: Mapping[str, str], name: str) -> Verdict | None:
    """Return how a scale in words is read, as "agree" and "disagree"; None where the words are on none."""
    plain = {word: word.casefold().strip(" .!") for word in words}
    asked = _judges(name) or "?" in name
    for scale in words_in_order("scales"):
        agrees = len(scale) > 4 and len(words) > 1 and set(plain.values()) & {scale[0], scale[-1]}
        if set(plain.values()) <= set(scale) and (asked or agrees):
            steps = {word: 1 - at / (len(scale) - 1) for at, word in enumerate(scale)}
            values = {word: round(steps[each], 6) for word, each in plain.items()}
            values |= {word: round(value, 6) for word, value in steps.items()}
            shown = f"{scale[0]} to {scale[-1]}"
            return Verdict(values, is_plain(name), shown, _steps(name, words, values, frozenset()))
    return None


STARS = re.compile(r"([★⭐]+)(☆*)")
OUT_OF = re.compile(r"\d+(?:[.,]5)?(\s*(?:/|out of|of|von|sur|de|di|из)\s*)(\d{1,3})")
MOST_STARS = 5


def _in_stars(words: Mapping[str, str], name: str) -> Verdict | None:
    """Return how stars are read, ★★★★☆ as 4 of 5; None for other words."""
    rated = [STARS.fullmatch(word) for word in words]
    if not all(rated):
        return None
    most = max(MOST_STARS, *(len(word) for word in words))
    forms = {(match[1][0], bool(match[2])) for match in rated if match}
    values = {
        star * at + "☆" * (most - at) * filled: at / most
        for star, _ in forms
        for filled in (False, True)
        for at in range(most + 1)
        if at or filled
    }
    note = f"column {name!r} holds stars, read as shares of {most}"
    return Verdict(values, is_plain(name), f"stars of {most}", note)


def _out_of(words: Mapping[str, str], name: str) -> Verdict | None:
    """Return how marks out of the greatest one are read, 7/10 as 0.7; None for other words."""
    marks = [OUT_OF.fullmatch(word) for word in words]
    kinds = {(mark[1], int(mark[2])) for mark in marks if mark}
    if not all(marks) or len(kinds) != 1 or not (_judges(name) or "?" in name):
        return None
    ((between, most),) = kinds
    if not 2 <= most <= 100:  # a mark out of 1 is a flag, one out of more a count
        return None
    halves = [at / 2 for at in range(2 * most + 1)]
    values = {
        text: half / most
        for half in halves
        for text in (f"{half:g}{between}{most}", f"{half:g}{between}{most}".replace(".", ","))
    }
    note = f"column {name!r} holds marks out of {most}, read as shares: {most / 2:g} is 0.5"
    return Verdict(values, is_plain(name), f"marks out of {most}", note)


def _steps(name: str, words: Mapping[str, str], values: Mapping[str, float], refused: Collection[str]) -> str:
    """Return what to say of the words of a column and the numbers they are read as."""
    best_first = sorted((word for word in words if not math.isnan(values[word])), key=lambda w: -values[w])
    steps = ", ".join(f"{words[word]} = {values[word]:g}" for word in best_first)
    unknown = [words[word] for word in words if math.isnan(values[word])]
    rest = f"; no score: {', '.join(unknown)}" if unknown else ""
    rest += f"; of them refusals: {', '.join(words[word] for word in sorted(refused))}" if refused else ""
    return f"column {name!r} is read as {steps}{rest}"


def _judges(name: str) -> bool:
    """Return whether the name of a column says that something is judged."""
    if (GOOD_WORDS | UNCLEAR_WORDS) & words_of(name):
        return True
    return says(name, "judged_right", "judgement", "helpful", "score", "fault")


def is_plain(name: str) -> bool:
    """Return whether the name of a column of verdicts says that yes is good."""
    return not (UNCLEAR_WORDS | heading_words("negation")) & words_of(name) and not says(
        name, "wrong", "refused", "fault"
    )


DECIMAL_COMMA = re.compile(r"\s*[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+\s*")
PERHAPS_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*")
FLAG_WORDS = {"true", "false", "yes", "no", "0", "1", "0.0", "1.0"}
NO_QUANTITY = heading_words("no_quantity")
MIXED_FROM = 0.2  # share of numbers from which on a column with text too is called mixed
SHOWN = 8
ASKED = " good? say --metric "


@dataclass(frozen=True)
class HeadColumn:
    """The cells of a column in the first rows, without blanks."""

    name: str
    values: tuple[object, ...]
    rows: int  # number of rows, blanks included

    @property
    def distinct(self) -> int:
        """Number of different cells."""
        return len({repr(value) for value in self.values})

    def share(self, fits: Callable[[object], bool]) -> float:
        """Return the share of the cells that fit."""
        return sum(map(fits, self.values)) / len(self.values) if self.values else 0.0

    @cached_property
    def has_decimal_commas(self) -> bool:
        """True where the numbers are written as in 0,85; false where the commas could separate thousands."""
        with_comma = [value for value in self.values if isinstance(value, str) and "," in value]
        if not with_comma or not all(map(DECIMAL_COMMA.fullmatch, with_comma)):
            return False
        whole = all(_number(value) is not None for value in self.values if value not in with_comma)
        return whole and not all(map(PERHAPS_THOUSANDS.fullmatch, with_comma))

    @cached_property
    def numbers(self) -> tuple[float | None, ...]:
        """The cells as numbers: NaN for a failed metric, None for what is none."""
        commas = self.has_decimal_commas
        return tuple(_number(with_point(value) if commas else value) for value in self.values)

    @cached_property
    def finite(self) -> tuple[float, ...]:
        """The finite numbers among the cells."""
        return tuple(number for number in self.numbers if number is not None and isfinite(number))

    @property
    def numeric(self) -> float:
        """Share of the cells that are numbers or mark a failed metric."""
        return sum(number is not None for number in self.numbers) / len(self.values) if self.values else 0.0

    @property
    def is_flags(self) -> bool:
        """True where every cell is TRUE or FALSE, yes or no, 0 or 1."""
        return bool(self.values) and all(str(value).strip().lower() in FLAG_WORDS for value in self.values)

    @property
    def says_yes_or_no(self) -> bool:
        """True where every cell is a yes or a no in some language, and both occur."""
        words = {str(value).strip(" .!").casefold() for value in self.values}
        yes, no = words & heading_words("good"), words & heading_words("bad")
        return bool(yes and no) and words == yes | no

    @cached_property
    def verdict(self) -> Verdict | None:
        """How its words are read as a verdict; None where it is none."""
        name = self.name.removeprefix("scores.").removeprefix("human.")
        is_count = bool(NO_QUANTITY & words_of(name))
        return None if is_count else verdict_of(name, dict.fromkeys(map(str, self.values)))

    @property
    def is_share(self) -> bool:
        """True where the numbers are in [0, 1] and not all whole, as those of a metric are."""
        return all(0 <= n <= 1 for n in self.finite) and not all(n.is_integer() for n in self.finite)


def with_point(value: object) -> object:
    """Return a number written with a decimal comma in the usual form; anything else as it is."""
    if isinstance(value, str) and DECIMAL_COMMA.fullmatch(value):
        return value.replace(".", "").replace(",", ".")
    return value


def _number(value: object) -> float | None:
    """Return a cell as a number, NaN for a failed metric, None for what is none, as a list of several."""
    if isinstance(value, list | tuple) and len(value) > 1:
        return None
    try:
        score = read_score(value)
    except CellError:
        return None
    return float(score) if isinstance(score, int | float) and not isinstance(score, bool) else None


def questions_about(
    columns: Sequence[HeadColumn], fields: Mapping[str, str], declared: Collection[str] = ()
) -> list[str]:
    """Return what to say about columns with numbers, and what to ask about those that became no score."""
    notes = []
    for column in columns:
        field = fields.get(column.name)
        if field is None:
            continue
        if field.startswith(("scores.", "human.")) or field.endswith(("_ms", "_s", "_tokens", "_usd", "_mb")):
            notes += _notes_on_score(column, field, declared)
        elif field == "" or field.startswith("tags."):
            notes += _notes_on_text(column, "as a tag" if field else "as extra")
    asked = [column for column in columns if _is_asked(column, fields.get(column.name))]
    if not asked:
        return notes
    shown = ", ".join(f"{column.name!r} ({_range(column)})" for column in asked[:SHOWN])
    more = f" and {len(asked) - SHOWN:,} more" if len(asked) > SHOWN else ""
    example = "--map " + quote(f"scores.{plain_name(asked[0].name)}={asked[0].name}")
    question = (
        f"kept as tags or extra, though they hold numbers or TRUE / FALSE: {shown}{more}; if one is a score, "
        f"map it to scores.NAME, as in {example}"
    )
    return [*notes, question]


def is_question(note: str, declared: Collection[str] = ()) -> bool:
    """Return whether a note asks which way a verdict is good, and no declared metric answers that."""
    return ASKED in note and not any(f"{ASKED}{quote(metric)}=" in note for metric in declared)


def _notes_on_score(column: HeadColumn, field: str, declared: Collection[str]) -> list[str]:
    verdict, metric = column.verdict, field.partition(".")[2]
    is_known = metric in declared or metric_name(column.name)[1]
    if verdict is not None and not verdict.plain and not is_known:
        yes = verdict.shown.partition("/")[0]
        asked = f"is {yes}{ASKED}{quote(metric)}=higher or {quote(metric)}=lower"
        return [f"column {column.name!r} holds {verdict.shown}: {asked}"]
    if verdict is not None and verdict.note:
        return [verdict.note]
    if column.has_decimal_commas:
        example = next(value for value in column.values if value != with_point(value))
        return [f"column {column.name!r} is read with decimal commas: {example!s} is {with_point(example)}"]
    if column.is_flags and not column.finite:
        return [f"column {column.name!r} ({_range(column)}) is read as {field}: 1 for TRUE or yes, else 0"]
    return []


def _notes_on_text(column: HeadColumn, kept: str) -> list[str]:
    if column.values and all(isinstance(v, str) and PERHAPS_THOUSANDS.fullmatch(v) for v in column.values):
        what = f"has commas that could be decimal or separate thousands ({column.values[0]})"
        return [f"column {column.name!r} {what}: kept {kept}"]
    texts = [value for value, number in zip(column.values, column.numbers, strict=True) if number is None]
    if len(column.finite) < MIXED_FROM * len(column.values) or not texts or _names_no_quantity(column):
        return []
    first = " ".join(str(texts[0]).split())[:40]
    return [
        f"column {column.name!r} mixes numbers ({len(column.finite):,}) and text ({len(texts):,}, as "
        f"{first!r}): kept {kept}, not as a score"
    ]


def _is_asked(column: HeadColumn, field: str | None) -> bool:
    if field is None or not (field == "" or field.startswith("tags.")):
        return False
    if column.is_flags or column.says_yes_or_no:
        return True
    if len(set(column.finite)) < 2 or column.numeric < 1.0 or _names_no_quantity(column):
        return False
    return column.distinct < column.rows or not all(number.is_integer() for number in column.finite)


def _names_no_quantity(column: HeadColumn) -> bool:
    return bool(NO_QUANTITY & set(plain_name(column.name).split("_")))


def _range(column: HeadColumn) -> str:
    if column.is_flags or column.says_yes_or_no:
        return " / ".join(sorted({str(value).strip() for value in column.values}, reverse=True)[:2])
    return f"{min(column.finite):g} to {max(column.finite):g}"
