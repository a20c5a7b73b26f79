"""Rows grouped by a key on disk, for files whose samples or runs are scattered over many rows."""

from __future__ import annotations

import json
import tempfile
from array import array
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

import orjson


class Spool:
    """Rows kept in a temporary file by key, in order of arrival; memory holds 24 bytes a row.

    The file is gone when the spool is no longer used. Values come back as JSON: NaN as None, tuples as lists.
    """

    def __init__(self) -> None:
        self._file = cast(BinaryIO, tempfile.TemporaryFile(prefix="ragtriage-"))  # noqa: SIM115 # lives on
        self._places: dict[str, array[int]] = {}
        self._end = 0

    def add(self, key: str, line: int, value: Any) -> None:
        """Keep a row under a key."""
        options = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY
        try:
            content = orjson.dumps(value, default=str, option=options)
        except (orjson.JSONEncodeError, UnicodeEncodeError):  # numbers of over 64 bits, lone surrogates
            content = json.dumps(value, default=str).encode()
        self._file.seek(self._end)
        self._file.write(content)
        self._places.setdefault(key, array("q")).extend((line, self._end, len(content)))
        self._end += len(content)

    @property
    def keys(self) -> list[str]:
        """The keys in order of first arrival."""
        return list(self._places)

    def rows(self, key: str) -> Iterator[tuple[int, Any]]:
        """Yield the rows of a key with their lines."""
        places = self._places.get(key, array("q"))
        for at in range(0, len(places), 3):
            line, start, length = places[at : at + 3]
            self._file.seek(start)
            content = self._file.read(length)
            try:
                yield line, orjson.loads(content)
            except orjson.JSONDecodeError:  # lone surrogates
                yield line, json.loads(content)
