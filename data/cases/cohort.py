"""What a cohort is: a saved group of cases that a bar or cell of a chart opens.

A cohort is written as its key ("misranked") or as "key:value" ("gold_at:3"). That text is what the URL of the
Cases page has. The cohorts of each page are declared in a module of their own and gathered in
ragtriage.data.cases.cohorts.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.schema.metric import whole_number
from ragtriage.metrics.schema.scores import BoolArray

HIGHEST_RANK = 10**6


@dataclass(frozen=True)
class Cohort:
    """One kind of cohort."""

    title: Callable[[str], str]  # returns the title for the value after the colon ("" without one)
    # returns (n,) True for the samples of a run that belong to it, given the value; raises ValueError
    # for a value that it does not accept
    rows: Callable[[ScoredRun, str], BoolArray]


def parse_rank(value: str) -> int:
    """Return the rank or k that a cohort's value names.

    Raises:
        ValueError: the value is not a rank.
    """
    rank = whole_number(value)
    if rank is None or not 1 <= rank <= HIGHEST_RANK:
        raise ValueError(f"{value[:20]!r}; accepted: a rank of 1 or more")
    return rank
