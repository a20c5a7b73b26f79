"""What the recorders of all frameworks share: spans become a record for each call, records become a file."""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ragtriage import RagtriageError
from ragtriage.data.importers.parsing.shapes import Numbering
from ragtriage.data.importers.parsing.values import error_line
from ragtriage.data.importers.spans.samples import sample_of_trace
from ragtriage.data.importers.spans.span import Span
from ragtriage.data.store.sample_models import as_json

if TYPE_CHECKING:
    from ragtriage.results import Run

__all__ = ["CallRecorder", "Calls", "error_text", "quietly"]

LOG = logging.getLogger("ragtriage")
OF_THE_TRACE = ("span_id", "attributes")  # of no use in a record
Record = dict[str, Any]


def error_text(error: BaseException) -> str:
    """Return an exception as a record names it."""
    text = " ".join(str(error).split())
    if isinstance(error, GeneratorExit):
        text = "the stream was not read to its end"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def quietly(work: Callable[[], object]) -> None:
    """Do some work of a recorder; what goes wrong is logged, and must not end the application."""
    try:
        work()
    except Exception:
        LOG.exception("A call could not be recorded")


@dataclass(eq=False)
class _Call:
    """A call that has not ended: its outermost span and those inside it, by their keys."""

    root: str
    open: dict[str, dict[str, Any]] = field(default_factory=dict)  # facts of the spans that have not ended
    spans: list[Span] = field(default_factory=list)  # those that have
    keys: list[str] = field(default_factory=list)  # of all of them
    is_read: bool = True  # whether nobody reads a stream of its answer any more
    ended: dict[str, Any] | None = None  # facts of the root where it ended before the call did


class Calls:
    """The open calls of a pipeline. Spans come from any thread, in any order of their calls.

    A span without a parent, or with one that is not open, begins a call. Spans say what they know as facts:
    the fields of `Span`.
    """

    def __init__(self, keep: Callable[[Record], None], tool: str, *, global_to: Collection[str] = ()) -> None:
        """Begin without a call.

        Args:
            keep: takes the record of a call once it has ended.
            tool: name of the framework.
            global_to: for a framework that reports every span of the process: the kinds of an outermost span
                that make a call. A call ends with its last span then, rather than with its outermost.
        """
        self._keep, self._tool, self._roots = keep, tool, global_to
        self._lock = threading.Lock()
        self._calls: dict[str, _Call] = {}
        self._clock = time.time_ns() - time.perf_counter_ns()  # a clock that is set back moves no span

    def _now(self) -> int:
        return self._clock + time.perf_counter_ns()

    def begin(self, key: str, parent: str | None, **facts: Any) -> None:
        """Begin a span."""
        start = self._now()
        with self._lock:
            call = self._calls.get(parent or "")
            if call is None:
                call = _Call(key)
            inner = {"parent_id": parent} if key != call.root else {}
            call.open[key] = {**facts, "start": start, **inner}
            call.keys.append(key)
            self._calls[key] = call

    def facts(self, key: str) -> Mapping[str, Any]:
        """Return what an open span has said so far; nothing where it is not open."""
        with self._lock:
            call = self._calls.get(key)
            return {} if call is None else dict(call.open.get(key, {}))

    def hold(self, key: str) -> bool:
        """Keep a call open until `release`, as somebody reads its answer as a stream.

        Returns:
            Whether the span is the outermost of a call; nothing is kept open where it is not.
        """
        with self._lock:
            call = self._calls.get(key)
            if call is None or call.root != key:
                return False
            call.is_read = False
            return True

    def release(self, key: str, **facts: Any) -> None:
        """End a call that was kept open, with what its outermost span can say now."""
        with self._lock:
            call = self._calls.get(key)
            if call is None:
                return
            call.is_read = True
            waiting = call.ended if call.ended is not None else call.open.get(call.root, {})
            waiting.update(facts)
            ended = self._take_ended(call)
        self._finish(ended)

    def end(self, key: str, **facts: Any) -> None:
        """End a span; with the outermost the call ends, and its record is kept."""
        with self._lock:
            call = self._calls.get(key)
            known = None if call is None else call.open.pop(key, None)
            if call is None or known is None:
                return
            if key == call.root:
                call.ended = {**known, **facts}
            else:
                call.spans.append(self._span(key, call, {**known, **facts}))
            ended = self._take_ended(call)
        self._finish(ended)

    def flush(self) -> None:
        """End the calls whose outermost span has ended, and forget the others."""
        with self._lock:
            calls = {id(call): call for call in self._calls.values()}.values()
            self._calls = {}
            ended = [self._with_root(call) for call in calls if call.ended is not None]
        for call in ended:
            self._finish(call)

    def _take_ended(self, call: _Call) -> _Call | None:
        if call.ended is None or not call.is_read or (self._roots and call.open):
            return None
        for key in call.keys:
            self._calls.pop(key, None)
        return self._with_root(call)

    def _with_root(self, call: _Call) -> _Call:
        facts = dict(call.ended or {})
        facts["fields"] = {"tool": self._tool, **facts.get("fields", {})}
        if facts.get("error"):  # also of a call that broke off in the middle of its answer
            facts["tags"] = {"error": error_line(facts["error"])}
        call.spans.append(self._span(call.root, call, facts))
        return call

    def _span(self, key: str, call: _Call, facts: dict[str, Any]) -> Span:
        return Span(trace_id=call.root, span_id=key, end=self._now(), **facts)

    def _finish(self, call: _Call | None) -> None:
        if call is not None:
            quietly(lambda: self._record(call))

    def _record(self, call: _Call) -> None:
        if self._roots and call.spans[-1].kind not in self._roots:
            return
        record = sample_of_trace(call.spans)
        if record is not None:
            self._keep({name: value for name, value in record.items() if name not in OF_THE_TRACE})


class _RecordFile:
    """A JSONL file to which whole lines are appended, by one process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
            lines = path.read_bytes().split(b"\n")
        except OSError as error:
            accepted = "a file that can be written, in a folder that exists"
            raise RagtriageError(f"{path}: {error.strerror or error}; accepted: {accepted}") from error
        self.records = [
            self._parsed(number, line) for number, line in enumerate(lines[:-1], 1) if line.strip()
        ]
        if lines[-1]:  # a process ended in the middle of a line, or the line has no end
            self._mend(lines[-1])

    def _parsed(self, number: int, line: bytes) -> Record:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            what = f"{self.path}:{number}: is not a JSON object"
            raise RagtriageError(f"{what}; accepted: a file of records, one JSON object a line")
        return record

    def _mend(self, last: bytes) -> None:
        try:
            record = json.loads(last)
        except (ValueError, RecursionError):
            LOG.warning("%s: its last line is cut off and was removed", self.path)
            os.ftruncate(self._file, os.fstat(self._file).st_size - len(last))
            return
        os.write(self._file, b"\n")
        self.records += [record] if isinstance(record, dict) else []

    def append(self, record: Record) -> None:
        """Append a line in one call, so that no reader sees a part of it.

        Raises:
            OSError: it cannot be written; nothing of it stays.
        """
        line = f"{as_json(record)}\n".encode()
        size = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, line)
            while written < len(line):
                written += os.write(self._file, line[written:])
        except OSError:
            os.ftruncate(self._file, size)
            raise

    def read(self) -> list[Record]:
        """Return the records of the file."""
        lines = self.path.read_bytes().split(b"\n")
        return [self._parsed(number, line) for number, line in enumerate(lines, 1) if line.strip()]

    def close(self) -> None:
        os.fsync(self._file)
        os.close(self._file)


class CallRecorder:
    """Records the calls of a pipeline while it runs, in memory or in a JSONL file.

    A record is a sample in the native form (docs/format.md): question, answer, what was retrieved, times,
    tokens, the model, and the error of a call that failed. A call without a question is none.
    """

    tool = ""  # name of the framework

    def __init__(
        self, path: str | os.PathLike[str] | None = None, *, global_to: Collection[str] = ()
    ) -> None:
        """Begin to record.

        Args:
            path: a JSONL file to append to; records are kept in memory when left out. One process writes it.
            global_to: see `Calls`.

        Raises:
            RagtriageError: the file cannot be written, or holds something else than records.
        """
        self._file = None if path is None else _RecordFile(Path(path))
        self._records: list[Record] = []
        self._numbering = Numbering()
        self._keeping = threading.Lock()
        self._lost: list[OSError] = []
        self._closed = False
        for record in self._file.records if self._file is not None else ():
            self._numbering.of(record.get("question_id"), record.get("question"))
        self._calls = Calls(self._keep, self.tool, global_to=global_to)

    def _keep(self, record: Record) -> None:
        with self._keeping:
            if self._closed:
                return
            record.update(self._numbering.of(record.pop("question_id", None), record["question"]))
            if self._file is None:
                self._records.append(record)
                return
            try:
                self._file.append(record)
            except OSError as error:
                self._lost.append(error)
                LOG.warning("%s: a record could not be written: %s", self._file.path, error)

    @property
    def records(self) -> list[Record]:
        """The records so far: those of the file, where there is one."""
        return self._file.read() if self._file is not None else list(self._records)

    def add_run(self, name: str, **options: Any) -> Run:
        """Add the records as a run, as `ragtriage.add_run` does, with its options.

        Raises:
            RagtriageError: there is no record, or one cannot be used.
        """
        from ragtriage.functions import add_run

        return add_run(self.records, name, **options)

    def close(self) -> None:
        """Stop recording, and wait until the file is on the disk.

        Raises:
            RagtriageError: some records could not be written.
        """
        self._calls.flush()
        with self._keeping:
            if self._closed:
                return
            self._closed = True
            if self._file is not None:
                self._file.close()
        if self._lost and self._file is not None:
            what = f"{self._file.path}: {len(self._lost)} records could not be written: {self._lost[0]}"
            raise RagtriageError(f"{what}; accepted: a disk with room for them")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
