"""Dates in texts, however they are written: 2024-05-20, 5/20/2024, 20.05.2024, May 20th, 20 May 2024."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

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
