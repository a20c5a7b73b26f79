"""What the Trend page says in sentences: how many versions got worse, and which ground differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dashboard.rounding import count, interval_text, signed
from data.trends import Change

__all__ = ["VERDICTS", "grounds", "newest_sentence", "tally"]

VERDICTS = {
    "regression": "▼ regression",
    "worse": "▼ worse, within the limit",
    "better": "▲ better",
    "cannot tell": "· cannot tell",
    "unchanged": "= unchanged",
    "no shared question": "no shared question",
    "baseline": "baseline",
    "before the baseline": "before the baseline",
    "no baseline": "no baseline",
    "mean only": "mean only, cannot be compared",
}
MOST_NAMED = 3


def tally(changes: Mapping[str, Change], most: float | None) -> str:
    """Say how many of the later versions regressed, got better, or cannot be told from the baseline.

    Args:
        changes: run id -> its difference to the baseline.
        most: drop that is let pass; None where none is defined for the metric.
    """
    known = [one.verdict for one in changes.values() if one.pair.difference.n_pairs]
    if not known:
        return ""
    limit = "" if most is None else f" (a drop of more than {most:g}, and beyond chance)"
    parts = [
        (known.count("regression"), f"regressed{limit}"),
        (known.count("worse"), "got worse by less than that" if most is not None else "got worse"),
        (known.count("better"), "got better"),
        (known.count("unchanged"), "did not change"),
        (known.count("cannot tell"), "cannot be told from the baseline"),
    ]
    told = "; ".join(f"{n:,} {what}" for n, what in parts if n or what.startswith("regressed"))
    return f"Of {count(len(known), 'version')} after the baseline: {told}."


def newest_sentence(name: str, change: Change) -> str:
    """Say how the newest version stands to the baseline: the number, its uncertainty, and the verdict."""
    gap = change.pair.difference
    span = interval_text(gap.low, gap.high, 3).replace("-", "−")
    return (
        f"The newest, {name}: {signed(gap.difference, 3)} {span} "
        f"over {count(gap.n_pairs, 'shared question')}, {VERDICTS[change.verdict].split(' ', 1)[1]}."
    )


def grounds(changes: Mapping[str, Change], labels: Mapping[str, str]) -> list[str]:
    """Say which versions do not rest on the same ground as the baseline, one line a difference.

    Args:
        changes: run id -> its difference to the baseline.
        labels: name of each run by id; outside text, which the caller escapes with the rest.
    """
    found: dict[str, list[str]] = {}
    for run_id, change in changes.items():
        for warning in change.pair.warnings:
            found.setdefault(warning, []).append(labels[run_id])
    return [f"{_names(names)}: {warning}" for warning, names in found.items()]


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MOST_NAMED])
    return shown if len(names) <= MOST_NAMED else f"{shown} and {len(names) - MOST_NAMED} more"
