"""A guard around the importers: a file that one of them fails on is refused in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ragtriage.data.errors import DataError
from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.metrics.schema.scores import MetricsError

SHOWN = 120  # characters of what an importer failed with
TOLD = (DataError, MetricsError, OSError, ImportError, MemoryError)  # these say themselves what is wrong


@contextmanager
def refusing(source: InputFile, importer: Importer) -> Iterator[None]:
    """Turn any unexpected exception of an importer into an InputError, which has it as its cause.

    Raises:
        InputError: the importer failed on something that it does not expect in the file.
    """
    try:
        yield
    except TOLD:
        raise
    except Exception as error:  # a file may hold anything, and a user can only mend the file
        said = " ".join(str(error).split())[:SHOWN]
        failure = f"{type(error).__name__}: {said}" if said else type(error).__name__
        what = f"cannot be read as {importer.title} ({failure}); it may be of a version that is not known"
        raise source.error(what, importer.accepts) from error


def recognises(importer: Importer, peek: Peek) -> bool:
    """Return whether an importer recognises a file; one that fails on it does not, and others are asked."""
    try:
        return importer.detect(peek)
    except TOLD:
        raise
    except Exception:  # noqa: BLE001 - what one importer trips over may be the format of another
        return False
