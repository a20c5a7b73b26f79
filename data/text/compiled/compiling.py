"""How the loops are compiled. Imported where numba is installed alone."""

from __future__ import annotations

from typing import Any, TypeVar, cast

from numba import njit

__all__ = ["Array", "compiled"]

Array = Any  # of NumPy; numba infers the element type
_Function = TypeVar("_Function")


def compiled(function: _Function) -> _Function:
    """Have a function of arrays compiled when it is called first, and kept for other processes."""
    return cast(_Function, njit(cache=True, nogil=True)(function))
