"""How the loops are compiled. Imported only where numba is installed."""

from __future__ import annotations

from typing import Any, TypeVar, cast

from numba import njit

Array = Any  # of NumPy; numba infers the element type
_Function = TypeVar("_Function")


def compiled(function: _Function) -> _Function:
    """Return a function of arrays that is compiled at its first call and cached for other processes."""
    return cast(_Function, njit(cache=True, nogil=True)(function))
