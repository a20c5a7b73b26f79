"""The process of the server: what it loads ahead, memory given back, and what a rerun costs.

RAGTRIAGE_COSTS=1 prints these costs.
"""

import ctypes
import gc
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from typing import Any

import streamlit as st

from ragtriage.data.read_costs import ReadCosts, counting_costs

MODULES = (  # in the order in which the first page needs them
    "ragtriage.dashboard.shell.header",
    "ragtriage.dashboard.shell.session",
    "pandas",
    "pyarrow.dataset",
    "PIL.ImageFile",
    "streamlit.material_icon_names",
    "ragtriage.dashboard.present.page_html.blocks",
    "ragtriage.dashboard.pages.triage.run_tabs",
    "ragtriage.dashboard.pages.triage.lists",
    "ragtriage.dashboard.pages.triage.overview",
)
_threads: list[threading.Thread] = []  # the one that preloads, once it was started
COSTS = "costs"  # of the last rerun, in the session state
SWITCH = "RAGTRIAGE_COSTS"
MANY_ROWS = 50_000  # read in one rerun: less leaves little behind


def start_preloading() -> None:
    """Import the modules in a thread of its own."""
    _threads.append(threading.Thread(target=_preload, name="preload", daemon=True))
    _threads[-1].start()


def wait_for_preload() -> None:
    """Return once every module is loaded; at once where nothing was started."""
    for thread in _threads:
        thread.join()


def _preload() -> None:
    gc.disable()  # it would search again and again through what stays for good: a sixth of the time
    try:
        for module in MODULES:
            with suppress(Exception):  # the page itself tells what is missing or broken
                import_module(module)
        gc.freeze()
    finally:
        gc.enable()


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
                reads = f"{costs.queries:,} queries, {costs.rows:,} rows"
                results = f"{costs.kept:,} of {costs.kept + costs.made:,} results were kept"
                calls = f"{costs.model_calls:,} model calls, {1000 * (time.perf_counter() - begun):,.0f} ms"
                sys.stderr.write(f"{page}: {reads}, {results}, {calls}\n")


def give_back_memory(costs: ReadCosts) -> None:
    """Return freed memory to the system after a rerun that read much; does nothing without glibc.

    Arrays of 100,000 samples come and go by the dozen: a server held 930 MB, of which it used 670.
    """
    trim = _trim()
    if trim is not None and (costs.made or costs.rows >= MANY_ROWS):
        trim(0)


@cache
def _trim() -> Any:
    if not sys.platform.startswith("linux"):
        return None
    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):  # another C library
        return None
