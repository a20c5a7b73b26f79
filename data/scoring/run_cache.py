"""The one cache of a run store: what was worked out of runs, by run and by what was asked of it.

Runs never change, so nothing here goes stale but what rests on files that are gone or on labels.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import RLock
from typing import Any, TypeVar

ROOM = 256_000_000  # bytes that everything kept may need together
ENTRY = 512  # bytes that a value without arrays is taken to need, for each of its items

T = TypeVar("T")


class RunCache:
    """Values by run and by what was asked of it, up to ROOM bytes; safe to share between threads.

    What was not used for longest gives way. A scored run then releases its arrays and stays, as diagnoses
    that are kept refer to it, and reads again what they ask for; anything else is dropped.
    """

    def __init__(self) -> None:
        self._values: OrderedDict[tuple[str, Hashable], Any] = (
            OrderedDict()
        )  # the last that was used at the end
        self._sizes: dict[tuple[str, Hashable], int] = {}
        self._needed = 0  # the sum of the sizes
        self._lock = RLock()

    def get(
        self,
        run_id: str,
        asked: Hashable,
        make: Callable[[], T],
        holds: Callable[[T], bool] = lambda _: True,
    ) -> T:
        """Return what was asked of a run; it is made where it is not kept, or holds no more."""
        key = run_id, asked
        with self._lock:
            value: T
            if key in self._values and holds(value := self._values[key]):
                self._used(key, value)
                return value
            self._values.pop(key, None)
            self._measure(key, 0)
        made = make()
        with self._lock:
            value = self._values.setdefault(key, made)  # another thread may have been first
            self._used(key, value)
        return value

    def _used(self, key: tuple[str, Hashable], value: Any) -> None:
        """Count a value as the last used, and measure it anew: a run grows as pages read its metrics."""
        self._values.move_to_end(key)
        arrays = getattr(value, "nbytes", None)
        self._measure(key, ENTRY * max(1, len(value)) if arrays is None else arrays)
        for other in list(self._values) if self._needed > ROOM else ():
            if self._needed <= ROOM or other == key:
                break
            self._measure(other, 0)
            if hasattr(self._values[other], "release"):
                self._values[other].release()
            else:
                del self._values[other]

    def _measure(self, key: tuple[str, Hashable], size: int) -> None:
        self._needed += size - self._sizes.pop(key, 0)
        if size:
            self._sizes[key] = size
