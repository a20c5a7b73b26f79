"""Items that a system returns: filters and dates, their order, and what a memory recalls by age or leaks."""

import math
import re
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ragtriage.metrics.schema.scores import FloatArray, MetricsError

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


@dataclass(frozen=True)
class Ordering:
    """The order of returned items, held against a key."""

    n: int  # items that have a key
    tau: float  # Kendall's tau-b of place and key, 1 in order, -1 reversed; NaN below two different keys
    # 1-based place of the first item that should stand before one above it; None in order
    first_inversion: int | None

    @property
    def in_order(self) -> bool:
        """Whether no item should stand before one above it; ties may stand in any order."""
        return self.first_inversion is None


def ordering_of(keys: Sequence[float], descending: bool = False) -> Ordering:
    """Return how far items stand in the order of their keys.

    Args:
        keys: (n,) finite key of each item, in the order in which the items were returned.
        descending: whether the largest key comes first.
    """
    values = np.asarray(keys, dtype=np.float64) * (-1.0 if descending else 1.0)
    places = np.arange(len(values), dtype=np.float64)
    before = np.maximum.accumulate(values)
    inverted = np.flatnonzero(values < before)
    first = int(inverted[0]) + 1 if len(inverted) else None
    return Ordering(len(values), kendall_tau_b(places, values), first)


def kendall_tau_b(first: FloatArray, second: FloatArray) -> float:
    """Return Kendall's tau-b, the correlation of two rankings with ties; NaN where one is constant.

    (concordant - discordant) / sqrt((pairs - ties in first) (pairs - ties in second)), over all n (n - 1) / 2
    pairs. Source: Kendall 1945, "The treatment of ties in ranking problems", Biometrika 33.

    Args:
        first: (n,) finite values.
        second: (n,) finite values.

    Raises:
        MetricsError: the two differ in length, or hold a value that is not finite.
    """
    if first.shape != second.shape or first.ndim != 1:
        raise MetricsError(f"shapes {first.shape} and {second.shape}; accepted: two of one shape (n,)")
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise MetricsError("a value that is not finite; accepted: finite values")
    total, ties_first, ties_second = 0, 0, 0
    for at in range(len(first) - 1):  # a row of pairs at a time: memory stays linear in n
        first_sign, other = np.sign(first[at + 1 :] - first[at]), np.sign(second[at + 1 :] - second[at])
        total += int((first_sign * other).sum())
        ties_first += int((first_sign == 0).sum())
        ties_second += int((other == 0).sum())
    pairs = len(first) * (len(first) - 1) // 2
    scale = float((pairs - ties_first) * (pairs - ties_second))
    return float(total / np.sqrt(scale)) if scale > 0 else float("nan")


GAPS = ((0, "same day"), (1, "1 day"), (3, "2 to 3 days"), (7, "4 to 7 days"), (30, "8 to 30 days"))
_OLDER = "over 30 days"


def gap_label(days: float) -> str:
    """Return the group that an age in days belongs to: recall is reported by it.

    Args:
        days: from the day of what is remembered to the day of the question, 0 or more.
    """
    return next((label for most, label in GAPS if days <= most), _OLDER)


@dataclass(frozen=True)
class Leak:
    """Documents of other accounts in one retrieved list."""

    n_documents: int  # documents that name an account
    n_foreign: int  # those of another account than the one that asks
    first_rank: int | None  # 1-based rank of the first of these; None without one

    def at(self, k: int) -> bool:
        """Return whether a document of another account is among the first k."""
        return self.first_rank is not None and self.first_rank <= k


def leak_of(account: str, owners: Sequence[str | None]) -> Leak:
    """Return what a retrieved list holds of other accounts.

    Args:
        account: the account that asks.
        owners: account of each document in order of rank; None for a document that belongs to none, which is
            shared and never a leak.
    """
    foreign = [rank for rank, owner in enumerate(owners, start=1) if owner is not None and owner != account]
    known = sum(owner is not None for owner in owners)
    return Leak(known, len(foreign), foreign[0] if foreign else None)
