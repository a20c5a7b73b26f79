"""The start of a worker process: it scores without libraries whose loading would be half of its start.

pyarrow loads pandas, where it finds it, to ask of each list that becomes an array whether it is a series;
numba loads SciPy, to multiply matrices.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

UNUSED = ("pandas", "scipy")


class WithoutUnused(MetaPathFinder):
    """Finds none of the UNUSED libraries, wherever they are installed."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 -- the interface of a finder
        target: ModuleType | None = None,  # noqa: ARG002 -- the interface of a finder
    ) -> ModuleSpec | None:
        """Refuse the unused libraries, and leave all else to the finders that follow."""
        if fullname in UNUSED:
            raise ModuleNotFoundError(fullname, name=fullname)
        return None


if __name__ == "__main__":
    sys.meta_path.insert(0, WithoutUnused())
    from ragtriage.data.scoring.batches.worker import work

    work()
