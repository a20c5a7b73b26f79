"""What a piece of work costs: reads of files and databases, rows, results taken from memory, model calls."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass
class ReadCosts:
    """Counts of what was done."""

    queries: int = 0  # reads of a Parquet file, a database or the index of runs
    rows: int = 0  # rows that they returned, where that is known
    kept: int = 0  # results found in memory
    made: int = 0  # results that were computed and kept
    model_calls: int = 0  # requests to a language model


_OPEN: ContextVar[ReadCosts | None] = ContextVar("read_costs", default=None)


@contextmanager
def counting_costs() -> Iterator[ReadCosts]:
    """Yield the costs of the block in this thread, counted while it runs."""
    costs = ReadCosts()
    token = _OPEN.set(costs)
    try:
        yield costs
    finally:
        _OPEN.reset(token)


def add_costs(queries: int = 0, rows: int = 0, kept: int = 0, made: int = 0, model_calls: int = 0) -> None:
    """Add to the costs of the block that is being counted, if any."""
    costs = _OPEN.get()
    if costs is None:
        return
    costs.queries += queries
    costs.rows += rows
    costs.kept += kept
    costs.made += made
    costs.model_calls += model_calls
