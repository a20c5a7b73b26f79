"""What a rerun costs, for whoever works on the pages: RAGTRIAGE_COSTS=1 prints it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from ragtriage.dashboard.shell.memory import give_back_memory
from ragtriage.data.read_costs import ReadCosts, counting_costs

COSTS = "costs"  # of the last rerun, in the session state
SWITCH = "RAGTRIAGE_COSTS"


@contextmanager
def costs_told(page: str) -> Iterator[None]:
    """Count what a rerun of a page reads, and print it to standard error where the developer asks for it."""
    begun = time.perf_counter()
    with counting_costs() as costs:
        st.session_state[COSTS] = costs  # at the beginning: a page that stops writes no state any more
        try:
            yield
        finally:
            give_back_memory(costs)
            if os.environ.get(SWITCH):
                sys.stderr.write(_line(page, costs, time.perf_counter() - begun))


def _line(page: str, costs: ReadCosts, seconds: float) -> str:
    reads = f"{costs.queries:,} queries, {costs.rows:,} rows"
    results = f"{costs.kept:,} of {costs.kept + costs.made:,} results were kept"
    return f"{page}: {reads}, {results}, {costs.model_calls:,} model calls, {1000 * seconds:,.0f} ms\n"
