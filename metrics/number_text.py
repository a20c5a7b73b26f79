"""Numbers as text, the same on every screen: a value that was not measured is a dash, never 0."""

import math

NOT_MEASURED = "–"
ROUNDING = 1e-9
MINUS = "\u2212"  # the sign, where a hyphen would be read as one
LARGEST = 1e12  # values beyond are written as 1.00e+12


def number(value: float | None, digits: int = 2) -> str:
    """Format a value with fixed digits and a true minus; large values get thousands separators."""
    if value is None or not math.isfinite(value):
        return NOT_MEASURED
    if abs(value) >= LARGEST:
        return f"{value:.2e}".replace("-", MINUS)
    if abs(value) >= 1000:
        return f"{value:,.0f}".replace("-", MINUS)
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", MINUS)


def percent(value: float | None, digits: int = 0) -> str:
    """Format a share as a percentage; only all reads 100 %, and only none 0 %.

    A share that would round to either gets the digits that tell it apart: 599 of 600 is 99.8 %. Where three
    do not, it is a bound: < 0.001 %.
    """
    if value is None or not math.isfinite(value):
        return NOT_MEASURED
    if abs(value) <= ROUNDING or abs(value - 1) <= ROUNDING:
        return f"{100 * abs(value):.0f} %"
    if not 0 < value < 1:
        return f"{100 * value:.{digits}f} %".replace("-", MINUS)
    for shown in range(digits, 4):
        text = f"{100 * value:.{shown}f}"
        if 0 < float(text) < 100:
            return f"{text} %"
    return "< 0.001 %" if value < 0.5 else "> 99.999 %"


def chosen_percent(share: float) -> str:
    """Format a share that someone chose, such as a threshold, with all its digits."""
    return f"{100 * share:g} %"


def signed(value: float | None, digits: int = 2) -> str:
    """Format a difference with its sign and a true minus; 0.00 has no sign."""
    text = number(value, digits)
    if text == NOT_MEASURED or value is None or not text.strip("0."):
        return text
    return f"+{text}" if value > 0 else text


def points(difference: float | None) -> str:
    """Format a difference of two shares in percentage points: +3 points, −1 point."""
    text = signed(None if difference is None else 100 * difference, 0)
    return text if text == NOT_MEASURED else f"{text} point{'' if text[1:] == '1' else 's'}"


def interval_text(low: float | None, high: float | None, digits: int = 2) -> str:
    """Format a 95 % interval in brackets; a dash where there is none."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return NOT_MEASURED
    return f"[{number(low, digits)}, {number(high, digits)}]"


def p_value(value: float) -> str:
    """Format a p value; very small ones as a bound."""
    if not math.isfinite(value):
        return NOT_MEASURED
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def count(value: int, noun: str) -> str:
    """Format a number of things: 1 case, 2 cases, 1,200 cases."""
    plural = noun if value == 1 else f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"
    return f"{value:,} {plural}"


def settled_by(needed: int, measured: int) -> str:
    """Return how many questions would settle a comparison, in total and in addition, rounded up."""
    total = rounded_up(needed)
    if total <= measured:  # the estimate rests on a normal bound, the conclusion on a stricter one
        return "a few more questions would settle it"
    return f"about {count(total, 'question')} would settle it, {total - measured:,} more"


def rounded_up(value: int) -> int:
    """Round a number of questions up to two digits: a third would claim to know it better."""
    step = 10 ** max(0, len(str(value)) - 2)
    return int(-(-value // step) * step)
