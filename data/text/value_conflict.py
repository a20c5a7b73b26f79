"""Whether an answer gives another value than a short reference: a number, amount, date, time, yes or no.

A value counts only against one of its own kind: euros against euros, a year against a year, chapters against
chapters. Where the answer has the value of the reference too, or nearly, nothing is said.
"""

from __future__ import annotations

import re

from ragtriage.data.text.answer_values import FUNCTION_WORDS, WORDS, ComparedText, Token, is_number

LONGEST, MOST_VALUES, MOST_GIVEN = 12, 3, 3  # content words and values of a reference, values of an answer
_NEAR, _ROUGHLY = 0.02, 0.25  # how far apart two numbers may be; where the answer says "about"
_HEDGES = frozenset(
    (
        *("about", "approximately", "around", "roughly", "nearly", "almost", "over"),
        *("circa", "ca", "etwa", "rund", "ungefahr", "knapp", "environ", "unos"),
    )
)
_CURRENCIES = frozenset({"~$", "~eur", "~gbp"})
_PERIODS = {word: unit for unit in ("hour", "day", "week", "month", "year") for word in WORDS["units"][unit]}
_YES, _NO = frozenset(WORDS["yes"]), frozenset(WORDS["no"])
_FIRST_WORD = re.compile(r"\W*([^\W\d_]+)\s*(?:[,.;:!]|$)")
# units in which one number is never the same value; a day and a working day are one, meters may be minutes
_UNITS = frozenset(
    f"~{unit}" for unit in ("hour", "day", "week", "month", "year", "$", "eur", "gbp", "%", "km")
)
_TIME = re.compile(r"(?<![\d:])([01]?\d|2[0-3]):([0-5]\d)(?![\d:])")
_HALF_DAY = 12 * 60  # minutes: 9:30 may be 21:30
_CONVERTIBLE = tuple(
    frozenset(f"~{unit}" for unit in units)
    for units in (("min", "hour", "day", "week", "month", "year"), ("km", "m", "mile", "ft"))
)
_Values = dict[str, set[float]]  # kind -> values


def gives_another_value(answer: ComparedText, reference: ComparedText, question: ComparedText) -> bool:
    """Return whether a short reference has a value that the answer lacks, and the answer another of its kind.

    Without the question it is not known which values were asked for and which were given with it.
    """
    if not question.tokens or len(reference.content) > LONGEST:
        return False
    first, answered = _first_word(reference), _first_word(answer)
    if (first in _YES and answered in _NO) or (first in _NO and answered in _YES):
        return True
    wanted, given, asked = (_values_by_kind(text) for text in (reference, answer, question))
    if not 0 < sum(map(len, wanted.values())) <= MOST_VALUES or _other_period(answer, reference):
        return False
    hedged = not _HEDGES.isdisjoint(answer.readings)
    unshared = _UNITS - (answer.readings & reference.readings)
    return _in_another_unit(wanted, given, unshared, asked) or any(
        _conflict(kind, values, given, asked, hedged) for kind, values in wanted.items() if kind in given
    )


def in_other_units(answer: ComparedText, reference: ComparedText) -> bool:
    """Return whether both give a time or a length, and in other units: 14 days are two weeks."""
    return any(
        bool(units & answer.readings and units & reference.readings)
        and units & answer.readings != units & reference.readings
        for units in _CONVERTIBLE
    )


def _conflict(kind: str, values: set[float], given: _Values, asked: _Values, hedged: bool) -> bool:
    """Return whether the answer has values of a kind, and none that the reference has."""
    of_question = set().union(*asked.values())
    wanted, others = values - of_question, given[kind] - of_question
    anywhere = given[kind] if kind in ("month", "time") else set().union(*given.values())
    if not wanted or not 0 < len(others) <= MOST_GIVEN:
        return False
    exact = kind in ("day", "month", "year", "time")
    tolerance = 0.0 if exact else _ROUGHLY if hedged else _NEAR
    return not any(
        abs(value - other) <= tolerance * max(abs(value), abs(other))
        for value in wanted
        for other in anywhere
    )


def _in_another_unit(wanted: _Values, given: _Values, units: frozenset[str], asked: _Values) -> bool:
    """Return whether the answer has a number of the reference in another unit: weeks for days.

    Units that both texts name tell nothing: "$6 a month" has one of money and one of time.
    """
    of_question = set().union(*asked.values())
    return any(
        bool(values - of_question) and values - of_question <= given[other]
        for kind, values in wanted.items()
        for other in (units & given.keys()) - {kind}
        if kind in units
    )


def _values_by_kind(text: ComparedText) -> _Values:
    values: _Values = {}
    tokens = ComparedText(_TIME.sub(" ", text.text)).tokens
    for at, token in enumerate(tokens):
        if token[0].startswith("@"):
            values.setdefault("month", set()).add(float(token[0][1:]))
        elif is_number(token):
            kind = _kind(tokens, at)
            values.setdefault(kind, set()).update(float(each[1:]) for each in token if each[0] == "#")
    for hour, minute in _TIME.findall(text.folded):
        values.setdefault("time", set()).add((int(hour) * 60 + int(minute)) % _HALF_DAY)
    return values


def _kind(tokens: list[Token], at: int) -> str:
    """Return the kind of a number: its unit, a part of a date, a year, or the word that it counts."""
    after = tokens[at + 1][0] if at + 1 < len(tokens) else ""
    before = tokens[at - 1][0] if at else ""
    if after.startswith("~"):
        return after
    if before in _CURRENCIES:
        return before
    value = float(tokens[at][0][1:])
    is_year = len(tokens[at]) == 1 and value.is_integer() and 1000 <= value <= 2100
    nearby = [token[0] for token in tokens[max(0, at - 2) : at + 3]]
    if any(reading.startswith("@") for reading in nearby):
        return "year" if is_year else "day" if value <= 31 else "number"
    if after and after[0] not in "#@" and after not in FUNCTION_WORDS:
        return f"count of {after[:4]}"
    return "year" if is_year else "number"


def _other_period(answer: ComparedText, reference: ComparedText) -> bool:
    """Return whether amounts of money are for another time: 100 a month is 1,200 a year."""
    if _CURRENCIES.isdisjoint(reference.readings):
        return False
    periods = [{_PERIODS[word] for word in _PERIODS.keys() & text.readings} for text in (answer, reference)]
    return bool(periods[0] and periods[1] and periods[0] != periods[1])


def _first_word(text: ComparedText) -> str:
    """Return the word that a text begins with where a punctuation mark follows it."""
    match = _FIRST_WORD.match(text.folded)
    return match[1] if match else ""
