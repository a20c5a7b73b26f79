"""Results that all pages and visitors share: computed once, kept until others need their room.

What a page shows follows from runs that never change, settings and labels, so a result is kept under what
identifies these. All results share one room of memory; those that were not used for longest give way.
"""

import os
import sys
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, is_dataclass
from functools import wraps
from threading import Lock, RLock
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
import pyarrow as pa
import streamlit as st

from ragtriage.data.read_costs import add_costs
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.workspace import Run, Workspace
from ragtriage.metrics.metric_registry import imported_declarations

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
ROOM = "RAGTRIAGE_CACHE_MB"
USUAL_ROOM = 384
SAMPLED = 64  # items of a long list whose mean size stands for all
SMALLEST = 256  # bytes that any result is taken to need
COUNTED_ELSEWHERE = (ScoredRun, RunStore, Ledger, Workspace, Run)


class KeptResults:
    """Results by key, up to a number of bytes; safe to share between threads.

    A result is computed by one thread while others that want it wait. One that is larger than the whole room
    is given out and not kept.

    Attributes:
        room: bytes that all results may need.
        used: bytes that they need now.
    """

    def __init__(self, room: int) -> None:
        self.room, self.used = room, 0
        self._results: OrderedDict[Any, tuple[Any, int]] = OrderedDict()
        self._making: dict[Any, RLock] = {}
        self._lock = Lock()

    def get(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return the result kept under a key; it is made where there is none."""
        with self._lock:
            if key in self._results:
                return self._found(key)
            making = self._making.setdefault(key, RLock())
        with making:
            with self._lock:
                if key in self._results:
                    return self._found(key)
            try:
                result = make()
                add_costs(made=1)
                self._keep(key, result, size_of(result))
            finally:
                with self._lock:
                    self._making.pop(key, None)
        return result

    def drop(self, function: str) -> None:
        """Forget what a function returned."""
        with self._lock:
            for key in [key for key in self._results if key[0] == function]:
                self.used -= self._results.pop(key)[1]

    def _found(self, key: Any) -> Any:
        add_costs(kept=1)
        self._results.move_to_end(key)
        return self._results[key][0]

    def _keep(self, key: Any, result: Any, size: int) -> None:
        if size > self.room:
            return
        with self._lock:
            self._results[key] = (result, size)
            self.used += size
            while self.used > self.room:
                self.used -= self._results.popitem(last=False)[1][1]


def room_asked(megabytes: str | None) -> int:
    """Return the bytes of a number of MB as the environment has it; the usual room where it is none."""
    try:
        return max(int(float(megabytes or USUAL_ROOM) * 1_000_000), 0)
    except (ValueError, OverflowError):
        sys.stderr.write(f"{ROOM} is {megabytes!r}, not a number of MB; {USUAL_ROOM} MB are used\n")
        return USUAL_ROOM * 1_000_000


_RESULTS = KeptResults(room_asked(os.environ.get(ROOM)))


def kept(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Keep what a function returns, by its arguments; for functions that depend on nothing else.

    What is declared of imported metrics belongs to every key, since it decides what is better or worse.
    """
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def looked_up(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        metrics = imported_declarations().items()
        declarations = tuple(
            (name, metric.title, metric.higher_is_better, metric.bounds) for name, metric in sorted(metrics)
        )
        key = (name, key_of(args), key_of(kwargs), declarations)
        return cast("Result", _RESULTS.get(key, lambda: function(*args, **kwargs)))

    return looked_up


def kept_with_spinner(text: str) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Keep what a function returns, as `kept` does, and show a text while it is computed."""

    def keeping(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        @wraps(function)
        def computed(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            with st.spinner(text):
                return function(*args, **kwargs)

        return kept(computed)

    return keeping


def forget(function: Callable[..., Any]) -> None:
    """Forget what a kept function returned."""
    _RESULTS.drop(f"{function.__module__}.{function.__qualname__}")


def key_of(value: Any) -> Any:
    """Return what identifies an argument: a `cache_key` where it has one, else its value.

    Raises:
        TypeError: it has neither.
    """
    own = getattr(value, "cache_key", None)
    if own is not None:
        return type(value).__name__, own
    if isinstance(value, RunStore):
        return "store", value.workspace.root.as_posix(), value.ledger.version()
    if isinstance(value, Ledger):
        return "ledger", value.path.as_posix(), value.version()
    if isinstance(value, Run):
        return "run", value.run_id
    if isinstance(value, (list, tuple)):
        return tuple(map(key_of, value))
    if isinstance(value, Mapping):
        return tuple((name, key_of(item)) for name, item in value.items())
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if is_dataclass(value) and not isinstance(value, type):
        return type(value).__name__, *(key_of(getattr(value, each.name)) for each in fields(value))
    hash(value)
    return type(value).__name__, value


def size_of(result: Any) -> int:
    """Return about how many bytes a result needs beside the runs, which are counted where they are read."""
    return max(SMALLEST, _size(result, set()))


def _size(value: Any, seen: set[int]) -> int:
    if value is None or id(value) in seen or isinstance(value, (*COUNTED_ELSEWHERE, type)):
        return 0
    seen.add(id(value))
    if isinstance(value, (np.ndarray, pa.Table, pa.ChunkedArray, pa.Array)):
        return int(value.nbytes)
    if isinstance(value, (str, bytes, int, float, bool)):
        return sys.getsizeof(value)
    if isinstance(value, Mapping):
        return _size_of_items([*value.keys()], seen) + _size_of_items([*value.values()], seen)
    if isinstance(value, (list, tuple, set, frozenset)):
        return _size_of_items(value, seen)
    if is_dataclass(value):
        return sum(_size(getattr(value, each.name, None), seen) for each in fields(value))
    if hasattr(value, "to_plotly_json"):  # the parts of a chart lead to each other: counted by what is drawn
        return _size(value.to_plotly_json(), seen)
    return sum(_size(item, seen) for item in getattr(value, "__dict__", {}).values())


def _size_of_items(items: Collection[Any], seen: set[int]) -> int:
    few = [item for item, _ in zip(items, range(SAMPLED), strict=False)]
    size = sum(_size(item, seen) for item in few)
    return sys.getsizeof(items) + (size if len(few) == len(items) else size * len(items) // len(few))
