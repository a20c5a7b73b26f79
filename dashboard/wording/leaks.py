"""Leaks between accounts in words: they are said before anything else."""

from __future__ import annotations

from ragtriage.data.suites.check_table import CheckedRun
from ragtriage.data.suites.isolation import leaks_of
from ragtriage.metrics.number_text import count


def leak_text(run: CheckedRun) -> str:
    """Return how many cases of a run leak data of another account, without full stop; "" where none does."""
    leaks = leaks_of(run)
    if not leaks.n_leaks:
        return ""
    cases = f"{leaks.n_leaks:,} of {count(leaks.n_checked, 'case')}"
    in_answers = f", {leaks.n_told:,} of them in the answer" if leaks.n_told else ""
    return (
        f"Critical: {cases} {'leaks' if leaks.n_leaks == 1 else 'leak'} data of another account{in_answers}"
    )
