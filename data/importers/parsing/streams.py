"""Byte streams between a stored file and its readers: decompression with a limit, transcoding to UTF-8."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Callable
from typing import BinaryIO, cast

from ragtriage.data.errors import InputError
from ragtriage.data.importers.parsing.limits import LIFT

TEXT_ACCEPTED = "UTF-8 text, or UTF-16 with a byte order mark"

ErrorFactory = Callable[[str, str], InputError]


class DecompressedStream(io.RawIOBase):
    """Stored bytes, decompressed if they are gzip; damage and excess of the size limit raise InputError."""

    def __init__(self, stored: BinaryIO, *, gzipped: bool, limit: int, make_error: ErrorFactory) -> None:
        self._limit = limit
        self._make_error = make_error
        self._stored = stored
        self._gzipped = gzipped
        self._stream = cast(BinaryIO, gzip.GzipFile(fileobj=stored) if gzipped else stored)
        self._read = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # narrower buffer
        """Fill a buffer; raises InputError if the content is damaged."""
        try:
            data = self._stream.read(len(buffer))
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise self._make_error(
                f"is a gzip file that is cut short or damaged ({error})", "a whole gzip file"
            ) from error
        except OSError as error:
            raise self._make_error(f"cannot be read: {error.strerror}", "a readable file") from error
        self._read += len(data)
        if self._gzipped and self._read > self._limit:
            raise self._make_error(
                f"unpacks to more than {self._limit:,} bytes", f"at most {self._limit:,} bytes unpacked{LIFT}"
            )
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close this stream and those it reads from."""
        self._stream.close()
        self._stored.close()
        super().close()


class TranscodedStream(io.RawIOBase):
    """UTF-16 or UTF-32 text as UTF-8."""

    def __init__(self, stream: BinaryIO, encoding: str, *, make_error: ErrorFactory) -> None:
        self._make_error = make_error
        self._stream = stream
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._pending = b""
        self._ended = False

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # narrower buffer
        """Fill a buffer; raises InputError if the content is damaged."""
        while not self._pending and not self._ended:
            chunk = self._stream.read(1 << 15)
            self._ended = not chunk
            try:
                self._pending = self._decoder.decode(chunk, self._ended).encode("utf-8")
            except UnicodeError as error:
                raise self._make_error(
                    f"is marked as {self._encoding.upper()} but is not ({error})", TEXT_ACCEPTED
                ) from error
        data, self._pending = self._pending[: len(buffer)], self._pending[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close this stream and those it reads from."""
        self._stream.close()
        super().close()
