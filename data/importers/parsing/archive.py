"""Members of a zip archive, with zstd as well as deflate; nothing is unpacked to disk."""

from __future__ import annotations

import json
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ragtriage.data.importers.parsing.input_file import LIFT, InputFile

ZIP_MAGIC = b"PK\x03\x04"
ACCEPTED = "a whole zip archive without a password"
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError, ValueError)


@contextmanager
def open_archive(source: InputFile) -> Iterator[zipfile.ZipFile]:
    """Open a zip archive.

    Raises:
        InputError: it is damaged, has a password, or unpacks to more than the limit of its file.
    """
    kind: Any = zipfile.ZipFile
    if sys.version_info < (3, 14):  # the standard library unpacks zstd from 3.14 on
        from backports.zstd import zipfile as zipfile_with_zstd

        kind = zipfile_with_zstd.ZipFile
    try:
        with kind(source.random_access()) as archive:
            limit = source.limits.document_bytes
            if sum(entry.file_size for entry in archive.infolist()) > limit:
                raise source.error(f"unpacks to more than {limit:,} bytes", f"at most {limit:,} bytes{LIFT}")
            yield archive
    except DAMAGE as error:
        raise source.error(f"is a zip archive that cannot be read: {error}", ACCEPTED) from error


def member_names(source: InputFile) -> frozenset[str]:
    """Return the names in a zip archive; none where the file is no zip archive that can be read."""
    return source.remembered("members", lambda: _names(source))


def _names(source: InputFile) -> frozenset[str]:
    if not source.magic().startswith(ZIP_MAGIC):
        return frozenset()
    try:
        with zipfile.ZipFile(source.random_access()) as archive:
            return frozenset(archive.namelist())
    except DAMAGE:
        return frozenset()


def json_member(source: InputFile, archive: zipfile.ZipFile, name: str) -> Any:
    """Return a member of an archive that holds JSON.

    Raises:
        InputError: it is damaged, or not JSON.
    """
    try:
        return json.loads(archive.read(name))
    except (*DAMAGE, RecursionError) as error:
        raise source.error(f"has a member {name!r} that cannot be read: {error}", ACCEPTED) from error
