"""Filters: extracted and expected constraints, dates among them, returned items, and empty results."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Literal

Day = tuple[int | None, int, int]  # year (None where it is not written), month, day
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
NAME = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
TIME = r"(?:[T ]\d{1,2}:\d{2}[\w:.+\-]{0,20})?"
YEAR_FIRST = re.compile(rf"(?<!\d)(\d{{4}})[-/.年](\d{{1,2}})[-/.月](\d{{1,2}})日?{TIME}(?!\d)")
YEAR_LAST = re.compile(rf"(?<!\d)(\d{{1,2}})[-/.](\d{{1,2}})[-/.](\d{{4}}|\d{{2}}){TIME}(?!\d)")
SHORT = re.compile(r"(?<![\d/])(\d{1,2})/(\d{1,2})(?![\d/])")
MONTH_DAY = re.compile(
    rf"\b{NAME}\s{{1,3}}(\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s{{1,3}}(\d{{4}}))?(?!\d)", re.IGNORECASE
)
DAY_MONTH = re.compile(
    rf"(?<!\d)(\d{{1,2}})(?:st|nd|rd|th)?(?:\s{{1,3}}of)?\s{{1,3}}{NAME}(?:,?\s{{1,3}}(\d{{4}}))?(?!\d)",
    re.IGNORECASE,
)


def day_of(text: str) -> Day | None:
    """Return the day that a text as a whole names; None where it names none, or something more."""
    stripped = text.strip()
    if not 3 <= len(stripped) <= 40 or not any(map(str.isdigit, stripped)):
        return None
    for pattern, read in PATTERNS:
        match = pattern.fullmatch(stripped)
        if match is not None:
            return next(iter(read(match)), None)
    return None


def days_in(text: str) -> Iterator[Day]:
    """Yield the days that are named in a text; 5/4/2024 is read both ways."""
    for pattern, read in PATTERNS:
        for match in pattern.finditer(text):
            yield from read(match)


def is_near(day: Day | None, days: Collection[Day]) -> bool:
    """Return whether a day is among some; where one is written without its year, month and day decide."""
    if day is None:
        return False
    year, *date = day
    return any([*other] == date and (year is None or at is None or year == at) for at, *other in days)


def _valid(year: int | None, month: int, day: int) -> list[Day]:
    return [(year, month, day)] if 1 <= month <= 12 and 1 <= day <= 31 else []


def _year(digits: str | None) -> int | None:
    if not digits:
        return None
    return int(digits) if len(digits) == 4 else 2000 + int(digits) if int(digits) < 50 else 1900 + int(digits)


def _month(name: str) -> int:
    return MONTHS.index(name[:3].casefold()) + 1


def _year_first(match: re.Match[str]) -> list[Day]:
    return _valid(int(match[1]), int(match[2]), int(match[3]))


def _both_ways(match: re.Match[str]) -> list[Day]:
    first, second = int(match[1]), int(match[2])
    year = _year(match[3]) if match.re.groups > 2 else None
    return [*_valid(year, first, second), *_valid(year, second, first)]


def _month_day(match: re.Match[str]) -> list[Day]:
    return _valid(_year(match[3]), _month(match[1]), int(match[2]))


def _day_month(match: re.Match[str]) -> list[Day]:
    return _valid(_year(match[3]), _month(match[2]), int(match[1]))


PATTERNS = (
    (YEAR_FIRST, _year_first),
    (YEAR_LAST, _both_ways),
    (MONTH_DAY, _month_day),
    (DAY_MONTH, _day_month),
    (SHORT, _both_ways),
)


EARTH_KM = 6371.0088  # mean radius, IUGG
Operator = Literal["=", "in", "<=", ">=", "near"]
OPERATORS: tuple[Operator, ...] = ("=", "in", "<=", ">=", "near")
EmptyResult = Literal["fabricated", "false empty", "right empty", "not empty"]


@dataclass(frozen=True)
class Constraint:
    """What an item has to satisfy."""

    field: str  # attribute of the item
    operator: Operator  # how the attribute is compared
    value: Any  # the bound: a text or number, a tuple of them for "in", (latitude, longitude) for "near"
    km: float = math.nan  # for "near", the greatest distance in kilometres; NaN otherwise

    @property
    def text(self) -> str:
        """The constraint as a person writes it, such as "stars >= 4"."""
        if self.operator == "near":
            return f"{self.field} within {self.km:g} km"
        values = ", ".join(str(value) for value in self.value) if self.operator == "in" else str(self.value)
        return f"{self.field} {self.operator} {values}"


@dataclass(frozen=True)
class Agreement:
    """Found against expected members of a set."""

    n_found: int  # members found
    n_expected: int  # members expected
    n_both: int  # found and expected

    @property
    def precision(self) -> float:
        """Share of the found that is expected; NaN where nothing is found."""
        return self.n_both / self.n_found if self.n_found else math.nan

    @property
    def recall(self) -> float:
        """Share of the expected that is found; NaN where nothing is expected."""
        return self.n_both / self.n_expected if self.n_expected else math.nan

    @property
    def exact(self) -> bool:
        """Whether both sets are equal."""
        return self.n_both == self.n_found == self.n_expected


def agreement(returned: AbstractSet[Hashable], expected: AbstractSet[Hashable]) -> Agreement:
    """Return how far two sets agree: extracted and expected constraints, or returned and satisfying items."""
    return Agreement(len(returned), len(expected), len(returned & expected))


def haversine_km(origin: tuple[float, float], place: tuple[float, float]) -> float:
    """Return the great-circle distance in kilometres of two places in degrees (latitude, longitude).

    2 R asin(sqrt(sin²(Δφ/2) + cos φ1 cos φ2 sin²(Δλ/2))), R = 6371.0088 km. Source: Sinnott 1984, "Virtues of
    the haversine", Sky and Telescope 68.
    """
    (lat1, lon1), (lat2, lon2) = (map(math.radians, point) for point in (origin, place))
    half = (
        math.sin((lat2 - lat1) / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    )
    return 2 * EARTH_KM * math.asin(math.sqrt(min(1.0, half)))


def holds(constraint: Constraint, item: Mapping[str, Any]) -> bool:
    """Return whether an item satisfies a constraint; one that lacks the attribute does not.

    Texts are compared without regard to case and outer spaces, and texts that are numbers as numbers.
    """
    value = item.get(constraint.field)
    if value is None:
        return False
    if constraint.operator == "near":
        place = place_of(value)
        return place is not None and haversine_km(constraint.value, place) <= constraint.km
    if constraint.operator in ("<=", ">="):
        number, bound = number_of(value), number_of(constraint.value)
        if number is None or bound is None:
            return False
        return number <= bound if constraint.operator == "<=" else number >= bound
    accepted = constraint.value if constraint.operator == "in" else (constraint.value,)
    values = value if isinstance(value, list | tuple) else (value,)
    return not {comparable(member) for member in values}.isdisjoint(comparable(member) for member in accepted)


def comparable(value: Any) -> Hashable:
    """Return a value as it is compared: a number where it is one, else its text without case."""
    number = number_of(value)
    if number is not None:
        return number
    return " ".join(str(value).split()).casefold()


def violations(
    items: Sequence[Mapping[str, Any]], constraints: Sequence[Constraint]
) -> dict[Constraint, int]:
    """Return for each constraint how many of the returned items break it."""
    return {constraint: sum(not holds(constraint, item) for item in items) for constraint in constraints}


def empty_result(n_right: int, n_named: int) -> EmptyResult:
    """Return what an answer makes of an empty result.

    Args:
        n_right: items that satisfy the filters.
        n_named: items that the answer names, or that were returned.

    Returns:
        "fabricated" where nothing is right and an item is named, "false empty" where something is right and
        nothing is named, "right empty" where nothing is right and nothing is named.
    """
    if not n_right:
        return "fabricated" if n_named else "right empty"
    return "not empty" if n_named else "false empty"


def number_of(value: Any) -> float | None:
    """Return a value, or a text, as a finite number; None where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def place_of(value: Any) -> tuple[float, float] | None:
    """Return (latitude, longitude) of a pair, or of an object with both; None where it is no place."""
    if isinstance(value, Mapping):
        value = [value.get("latitude", value.get("lat")), value.get("longitude", value.get("lon"))]
    if not isinstance(value, list | tuple) or len(value) != 2:
        return None
    latitude, longitude = number_of(value[0]), number_of(value[1])
    return None if latitude is None or longitude is None else (latitude, longitude)
