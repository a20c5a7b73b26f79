"""What the headings of a table that people made by hand say, with the cells below them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import median

from ragtriage.data.importers.parsing.cells import FAILED_WORDS, ids_in
from ragtriage.data.importers.parsing.head_column import HeadColumn, is_plain
from ragtriage.data.importers.parsing.names import (
    heading_words,
    metric_name,
    plain_name,
    role_of,
    says,
    scale_in,
    words_of,
)
from ragtriage.metrics.sanity.columns import usual_scale

SCHOOL = {"note", "noten", "schulnote"}  # from 1 to 6 they are grades, of which less is better
LONGEST_HEADING = 4  # words of a heading that names what is rated, rather than describing it
MOST_OF_THE_TEXT = 0.5
TEXT = 40  # characters that a typical cell of text has at least
EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
NOT_READ = " and is not read"
PEOPLE = {"human", "manual", "annotator", "reviewer", "expert", "sme"}  # words for those who judge
JUDGEMENTS = {"verdict", "label", "judgement", "judgment", "rating", "assessment", "evaluation", "review"}
PASSED = {"pass", "passed", "passes", "good", "right", "correct", "acceptable"}  # words for a right answer
BY_WORD = "a word in its name"


def by_a_word(columns: Sequence[HeadColumn], taken: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of columns whose headings have a word for them, as "Bot answer" or "Pregunta" have.

    A field that several columns could be is left open, but for the question, which is the first of them.
    """
    candidates: dict[str, list[str]] = {}
    for column in columns:
        if column.name in taken or not column.values:
            continue
        field = _role(column)
        if field and field not in taken.values():
            candidates.setdefault(field, []).append(column.name)
    return {names[0]: field for field, names in candidates.items() if len(names) == 1 or field == "question"}


def _role(column: HeadColumn) -> str:
    if column.numeric > 0.5 or column.is_flags or column.verdict is not None:
        time = says(column.name, "latency") and not says(column.name, "score", "rater")
        is_cost = says(column.name, "cost") and column.numeric > 0.5
        return "cost_usd" if is_cost else "latency_ms" if time and column.numeric > 0.5 else ""
    if says(column.name, "correct") and says(column.name, "answer") and "?" not in column.name:
        return "reference_answer"
    if says(column.name, "reference") and says(column.name, "documents"):
        return "relevant"
    return role_of(column.name, of_text=column.distinct > 1 and _is_text(column, 10))


def holds_ids(column: HeadColumn) -> bool:
    """Return whether the cells name documents by their ids, as in "KB-118, KB-120", and hold no text."""
    named = [cell for cell in column.values if str(cell).strip().lower() not in FAILED_WORDS]
    return len(named) * 2 > len(column.values) and all(isinstance(c, str) and ids_in(c) for c in named)


def names_rater(column: HeadColumn) -> bool:
    """Return whether a column says who judged."""
    plain = plain_name(column.name)
    few = column.distinct <= max(2, len(column.values) // 2)
    return few and (plain in heading_words("rater") or bool(words_of(plain) & heading_words("rater")))


def holds_emails(column: HeadColumn) -> bool:
    """Return whether the cells are e-mail addresses."""
    return bool(column.values) and all(EMAIL.fullmatch(str(cell).strip()) for cell in column.values)


def mentions_emails(column: HeadColumn) -> bool:
    """Return whether some cells hold an e-mail address."""
    return any(EMAIL.search(cell) for cell in column.values if isinstance(cell, str))


def metric_of(column: HeadColumn) -> str:
    """Return the key of the metric that a column of scores or verdicts holds, by its heading."""
    key, is_known = metric_name(without_scale(column.name))
    if is_known or not is_plain(column.name):
        return key
    short = len(words_of(column.name)) <= LONGEST_HEADING
    if says(column.name, "judged_right") and (short or "?" in column.name):
        return "correctness"
    if says(column.name, "helpful") and (short or "?" in column.name):
        return "helpful"
    judges = column.verdict is not None and column.verdict.judges_right and says(column.name, "judgement")
    return "correctness" if judges or _of_people(column) else key


def _of_people(column: HeadColumn) -> bool:
    """Return whether people passed or failed the answers, as in a column "human verdict" of pass and fail."""
    words = words_of(plain_name(column.name))
    called = {*map(str.casefold, column.verdict.shown.split("/"))} if column.verdict else set()
    return bool(words & PEOPLE and words & JUDGEMENTS and called & PASSED)


def without_scale(heading: str) -> str:
    """Return a heading without the scale that it names."""
    return re.sub(r"\s*[(/\[]\s*\d.*$", "", heading) or heading


def is_rating(column: HeadColumn) -> bool:
    """Return whether a column of whole numbers is a rating: its heading says so, or names its scale."""
    if column.numeric < 1.0 or len(column.finite) < 2 or min(column.finite) < 0:
        return False
    if says(column.name, "no_rating") or (plain_name(column.name) in SCHOOL and max(column.finite) <= 6):
        return False
    if metric_name(without_scale(column.name))[1] or not is_plain(column.name):
        return False
    if max(column.finite) <= 1.0 and scale_in(column.name) is None:  # a share, of which only its name tells
        return False
    asks = "?" in column.name and len(words_of(column.name)) > 2
    return ends_of(column) is not None and (
        asks or scale_in(column.name) is not None or says(column.name, "score", "judged_right", "helpful")
    )


def ends_of(column: HeadColumn) -> tuple[float, float] | None:
    """Return the scale of a rating: the one its heading names, else the usual one of its values."""
    least, most = min(column.finite), max(column.finite)
    named = scale_in(column.name)
    if named is not None:
        return named if named[0] <= least and most <= named[1] else None
    return usual_scale(least, most)


def unread_text(columns: Sequence[HeadColumn], fields: Mapping[str, str]) -> str:
    """Return what to say of a column that holds most of the text and is not read; "" where none does."""
    sizes = {
        column.name: sum(len(cell) for cell in column.values if isinstance(cell, str)) for column in columns
    }
    total = sum(sizes.values())
    lost = [
        column
        for column in columns
        if not fields.get(column.name, "") or fields[column.name].startswith("tags.")
        if total and sizes[column.name] > MOST_OF_THE_TEXT * total and _is_text(column)
    ]
    if not lost:
        return ""
    taken = set(fields.values())
    goal = next((each for each in ("answer", "retrieved", "reference_answer") if each not in taken), "answer")
    name = lost[0].name
    share = round(100 * sizes[name] / total)
    return f"column {name!r} holds {share} % of the text{NOT_READ}; {mapped(goal, name)} reads it"


def is_first(note: str) -> bool:
    """Return whether a note on an import is said before anything else: most of the text is not read."""
    return NOT_READ in note


def mapped(field: str, column: str) -> str:
    """Return the option that reads a column as a field."""
    from shlex import quote

    return f"--map {quote(f'{field}={column}')}"


def _is_text(column: HeadColumn, least: int = TEXT) -> bool:
    lengths = [len(cell) for cell in column.values if isinstance(cell, str)]
    return bool(lengths) and median(lengths) >= least and column.distinct > 1


def give_to_people(columns: Sequence[HeadColumn], fields: Mapping[str, str]) -> dict[str, str]:
    """Return the columns of verdicts and ratings as what people gave: their scores become labels."""
    return {
        column.name: f"human.{fields[column.name].removeprefix('scores.')}"
        for column in columns
        if fields.get(column.name, "").startswith("scores.")
    }
