"""Memory: recall by the age of what is remembered, and leaks between accounts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
