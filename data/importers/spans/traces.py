"""The traces of a file: spans grouped on disk by trace, labels joined to them, samples run by run."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from typing import Any, Self

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import run_of
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.rows import Spool
from ragtriage.data.importers.parsing.shapes import storable
from ragtriage.data.importers.parsing.values import moment, ranked
from ragtriage.data.importers.spans.samples import STEPS, sample_of_trace
from ragtriage.data.importers.spans.span import Labels, Span
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.data.store.sample_schema import question_key

LAST = 1 << 62
UNJOINED = "scores or labels of a span that is not in the file"


@dataclass
class _Known:
    """The facts of a trace that are kept in memory."""

    start: int
    line: int
    run: str
    of_root: bool


class Traces:
    """The traces of a file; memory holds a line or two about each, its spans lie on disk.

    Every sample keeps the name of their tool beside its fields.
    """

    def __init__(self, errors: ValidationErrors, tool: str = "") -> None:
        self._errors = errors
        self._extra = {"tool": tool} if tool else {}
        self._spans, self._labels = Spool(), Spool()
        self._known: dict[str, _Known] = {}
        self._records_documents = False
        self._asked: Counter[str] = Counter()
        self._unread = 0
        self._unjoined: set[str] = set()

    def add(self, line: int, span: Span) -> None:
        """Keep a span; one that names no trace is left out."""
        if not span.trace_id:
            self._errors.leave_out("a span without a trace id")
            return
        self._spans.add(span.trace_id, line, vars(span))
        self._records_documents |= span.documents is not None or (span.kind in STEPS and bool(span.output))
        start = LAST if span.start is None else span.start
        of_root = not span.parent_id
        known = self._known.get(span.trace_id)
        if known is None:
            known = self._known[span.trace_id] = _Known(start, line, span.run, of_root)
            self._unread += 1
        known.start = min(known.start, start)
        if (not of_root, span.run) < (not known.of_root, known.run):
            known.run, known.line, known.of_root = span.run, line, of_root

    def read(
        self, rows: Iterable[Record], spans_of: Callable[[dict[str, Any]], Iterable[Span]], what: str
    ) -> Self:
        """Keep the spans of rows that are objects; any other is left out as a row that is no `what`."""
        for line, row in rows:
            if isinstance(row, dict):
                for span in spans_of(row):
                    self.add(line, span)
            else:
                self._errors.leave_out(f"a row that is no {what}")
        return self

    def attach(self, line: int, labels: Labels, *, span_id: str = "", trace_id: str = "") -> None:
        """Keep labels of a span or of a whole trace, which may be in the file before them or after."""
        key = f"span {span_id}" if span_id else f"trace {trace_id}"
        self._labels.add(key, line, vars(labels))
        self._unjoined.add(key)

    def samples(self, run: str | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the sample of each trace, of one run or of all, in order of time.

        Questions that are asked again are numbered as repeats.
        """
        chosen = [(known.start, key) for key, known in self._known.items() if run in (None, known.run)]
        for _, trace_id in sorted(chosen):
            self._unread -= 1
            spans = []
            for _, value in self._spans.rows(trace_id):
                span = Span(**value)
                labels_of_span = self._labels_of(f"span {span.span_id}") if span.span_id else ()
                spans.append(reduce(with_labels, labels_of_span, span))
            # The labels of a trace are spans without a time: the root's own win over them.
            nowhere = Span(trace_id, parent_id="?")
            spans += [with_labels(nowhere, labels) for labels in self._labels_of(f"trace {trace_id}")]
            line = self._known[trace_id].line
            sample = sample_of_trace(spans, self._errors, line, null_is_empty=self._records_documents)
            if sample is not None:
                yield line, {**self._numbered(sample), **self._extra}
        if self._unread == 0 and self._unjoined:  # all traces are read: the rest belongs to none
            self._errors.remark(UNJOINED, times=len(self._unjoined))
            self._unjoined.clear()

    def runs(self, source: InputFile, key: str) -> list[ParsedRun]:
        """Return a parsed run for each run that has a sample, the earliest first; the file is read."""
        starts: dict[str, int] = {}  # in nanoseconds
        for known in self._known.values():
            starts[known.run] = min(starts.get(known.run, LAST), known.start)
        parsed = []
        for name, start in sorted(starts.items(), key=lambda run: (run[1], run[0])):
            samples = self.samples(name)
            created = None if start == LAST else moment(start // 1_000_000_000)
            if (first := next(samples, None)) is not None:
                records = chain([first], samples)
                parsed.append(run_of(source, key, records, storable(name), created_at=created))
        return parsed

    def _numbered(self, sample: dict[str, Any]) -> dict[str, Any]:
        key = str(sample.get("question_id") or question_key(sample["question"], sample.get("history")))
        run = f"{self._known[sample['trace_id']].run}\x1f{key}"
        if "repeat" not in sample and self._asked[run]:
            sample["repeat"] = self._asked[run]
        self._asked[run] += 1
        return sample

    def _labels_of(self, key: str) -> Iterator[Labels]:
        self._unjoined.discard(key)
        return (Labels(**labels) for _, labels in self._labels.rows(key))


def with_labels(span: Span, labels: Labels) -> Span:
    """Return a span with labels that were kept apart from it."""
    documents = span.documents
    if labels.relevant:
        documents = ranked(documents) or []
        for position, relevant in labels.relevant.items():
            if int(position) < len(documents):
                documents[int(position)]["relevant"] = relevant
    return replace(
        span,
        documents=documents,
        input=_extended(span.input, labels.input),
        output=_extended(span.output, labels.output),
        scores={**span.scores, **labels.scores},
        human=[*span.human, *labels.human],
        fields={**span.fields, **labels.fields},
        tags={**span.tags, **labels.tags},
    )


def _extended(messages: Any, more: Sequence[Any]) -> Any:
    if not more or not (messages is None or isinstance(messages, list)):
        return messages
    return [*(messages or ()), *more]
