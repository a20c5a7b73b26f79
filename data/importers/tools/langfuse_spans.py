"""Langfuse: scores by people and evaluators, and observations, which are the spans of traces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any

from ragtriage.data.declarations import declaration_fault
from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.payloads import decoded
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.parsing.rows import rows_at
from ragtriage.data.importers.parsing.spool import Spool
from ragtriage.data.importers.spans.samples import SCORED_WITHOUT_ANSWER
from ragtriage.data.importers.spans.span import Span, kind_of
from ragtriage.data.importers.spans.traces import Traces
from ragtriage.data.importers.spans.values import (
    field_of,
    fields_in,
    kind_in,
    last_line,
    nanoseconds,
    number,
    objects_in,
    question_id_in,
    tags_of,
    text_in,
    value_in,
    without_blanks,
)
from ragtriage.data.store.parsed_run import ParsedRun, Record

ANNOTATOR = "langfuse"  # where a rating does not say whose it is


def is_scores(peek: Peek) -> bool:
    """Return whether these are scores alone: in the API by subject, on the screen and before by trace."""
    return any(
        {"name", "dataType"} <= row.keys()
        and (isinstance(row.get("subject"), dict) or {"traceId", "value"} <= row.keys())
        for row in peek.rows_at("data")
    )


class ScoresById:
    """Scores of files that hold nothing else, on disk by the trace or observation that they are about."""

    def __init__(self, files: Iterable[InputFile], errors: ValidationErrors) -> None:
        self._spool = Spool()
        for file in files:
            for line, row in rows_at(file, "data", errors):
                if isinstance(row, Mapping):
                    self.add(line, row)

    def add(self, line: int, row: Mapping[str, Any]) -> None:
        """Keep a score."""
        for about in _subjects(row):
            self._spool.add(about, line, row)

    def of(self, *ids: object) -> list[Mapping[str, Any]]:
        """Return the scores of a trace, or of its observations, each once."""
        rows = [row for about in ids if isinstance(about, str) for _, row in self._spool.rows(about)]
        return list({str(row.get("id", position)): row for position, row in enumerate(rows)}.values())


def _subjects(row: Mapping[str, Any]) -> set[str]:
    subject = fields_in(row.get("subject"))
    about = (subject.get("id"), subject.get("traceId"), field_of(row, "traceId", "observationId"))
    return {text for text in map(text_in, about) if text}


def with_scores(
    record: dict[str, Any],
    rows: Iterable[Mapping[str, Any]],
    line: int,
    errors: ValidationErrors,
    declared: dict[str, Any],
) -> dict[str, Any]:
    """Return a record with scores: those by people as human labels, categories without a direction as tags.

    Several numbers of one name are averaged, as the tool does. A metric whose categories say which side is
    good is added to `declared`.
    """
    by_name: dict[str, list[tuple[float, str | None]]] = {}
    human: list[dict[str, Any]] = []
    tags: dict[str, Any] = {}
    for row in rows:
        name = text_in(row.get("name"))
        if name is None:
            continue
        value, word, comment = _value(row), _word(row), text_in(row.get("comment"))
        if value is not None and word is not None:
            metric = metric_name(name)[0]
            declaration = {"direction": "higher", "range": [0, 1]}
            if metric not in declared and declaration_fault(metric, declaration) is None:
                declared[metric] = declaration
        if row.get("source") == "ANNOTATION":
            human.append(_rating(row, name, value, word, comment))
        elif value is not None:
            by_name.setdefault(metric_name(name)[0], []).append((value, comment))
        elif word is not None:
            tags[name] = word
    scores = {name: _averaged(values) for name, values in by_name.items()}
    if any(len(values) > 1 for values in by_name.values()):
        errors.remark("several scores of one name on a trace are averaged", line)
    if scores and record.get("answer") is None:
        errors.remark(SCORED_WITHOUT_ANSWER, line)
    return {
        **record,
        **({"scores": {**record.get("scores", {}), **scores}} if scores else {}),
        **({"human": [*record.get("human", []), *human]} if human else {}),
        **({"tags": {**record.get("tags", {}), **tags}} if tags else {}),
    }


def _averaged(values: list[tuple[float, str | None]]) -> dict[str, Any]:
    reason = next((comment for _, comment in values if comment), None)
    return {"value": fmean(value for value, _ in values), "reason": reason}


def _word(row: Mapping[str, Any]) -> str | None:
    """Return the category or the text of a score; None for a number."""
    word = field_of(row, "stringValue") or row.get("value")
    return word.strip() or None if isinstance(word, str) and number(word) is None else None


def _value(row: Mapping[str, Any]) -> float | None:
    """Return the number of a score; a category is one where its word says which side is good.

    The number beside a category is its place in a list, not a value.
    """
    kind, word = row.get("dataType"), _word(row)
    if kind in ("TEXT", "CORRECTION"):
        return None
    if kind == "CATEGORICAL" or (word is not None and row.get("value") in (None, "", word)):
        return value_in(word) if word is not None else None
    return value_in(row.get("value"))


def _rating(
    row: Mapping[str, Any], name: str, value: float | None, word: str | None, comment: str | None
) -> dict[str, Any]:
    """Return a rating by a person; one of two sides, or a word that says which, is on a scale of 0 to 1."""
    rating: dict[str, Any] = {
        "annotator": text_in(field_of(row, "authorUserId", "author", "userId")) or ANNOTATOR,
        "metric": metric_name(name)[0],
        "value": value,
        "note": ": ".join(filter(None, (word, comment))) or None,
    }
    if value is not None and row.get("dataType") in ("CATEGORICAL", "BOOLEAN"):
        rating |= {"low": 0.0, "high": 1.0}
    return rating


def error_of(row: Mapping[str, Any]) -> str | None:
    """Return why a trace, an item or an observation failed; None where it did not."""
    if row.get("level") != "ERROR":
        return None
    return last_line(row.get("statusMessage")) or "failed (level ERROR)"


def url_of(row: Mapping[str, Any]) -> str | None:
    """Return the address of a trace, where the row has the whole of it."""
    address = text_in(field_of(row, "url", "traceUrl", "htmlPath"))
    if address and address.startswith("/"):
        host = text_in(field_of(row, "host", "baseUrl")) or ""
        address = host.rstrip("/") + address
    return address if address and address.startswith(("https://", "http://")) else None


FILES_LOOKED_AT = 5
PARENTS = ("isRootObservation", "parentObservationId", "parent_observation_id")


def is_observations(peek: Peek) -> bool:
    """Return whether the rows are observations: of the API, of a screen, or of an export to storage."""
    return any(
        {"id", "type"} <= row.keys()
        and bool({"traceId", "trace_id"} & row.keys())
        and any(name in row for name in PARENTS)
        for row in peek.rows_at("data")
    )


def is_traces(peek: Peek) -> bool:
    """Return whether this is a trace with its observations, a list of such, or a folder of them."""
    if peek.folder is None:
        return _is_trace(peek.keys) or any(map(_is_trace, peek.rows_at("data")))
    files = islice(_files(peek.folder), FILES_LOOKED_AT)
    return any(_is_trace(Peek(InputFile.from_path(path)).keys) for path in files)


def _is_trace(fields: Mapping[str, Any]) -> bool:
    observations = fields.get("observations")
    if not isinstance(observations, list):
        return False
    if isinstance(fields.get("trace"), dict):
        return True
    whole = any(isinstance(observation, dict) and "traceId" in observation for observation in observations)
    return whole and {"id", "input", "output"} <= fields.keys()


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file() and path.suffix == ".json")


def read_observations(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read observations: one sample per trace."""
    rows = rows_at(source, "data", errors)
    traces = Traces(errors, "Langfuse").read(rows, lambda row: [span_of(row)], "observation")
    scores = ScoresById((file for file in options.companions if is_scores(Peek(file))), errors)
    return _runs(traces, scores, source, "langfuse_observations", options, errors)


def read_traces(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read traces with their observations and scores: one sample per trace."""
    traces, scores = Traces(errors, "Langfuse"), ScoresById(options.companions, errors)
    for line, document in _documents(source, errors):
        if not isinstance(document, Mapping) or not _is_trace(document):
            errors.leave_out("a document that is no trace with observations")
            continue
        trace = fields_in(document.get("trace")) or document
        root = _root(trace)
        traces.add(line, root)
        for row in objects_in(document.get("observations")):
            span = span_of(row)
            traces.add(line, replace(span, trace_id=root.trace_id, parent_id=span.parent_id or root.span_id))
        for score in objects_in(trace.get("scores")) or objects_in(document.get("scores")):
            scores.add(line, {**score, "traceId": root.trace_id})
    return _runs(traces, scores, source, "langfuse_trace", options, errors)


def _documents(source: InputFile, errors: ValidationErrors) -> Iterator[Record]:
    if source.is_folder and source.path is not None:
        for position, path in enumerate(_files(source.path), start=1):
            try:
                yield position, InputFile.from_path(path).document()
            except InputError:
                errors.leave_out("a file that cannot be read as a trace")
    elif Peek(source).kind == "json" and _is_trace(Peek(source).keys):
        yield 1, source.document()
    else:
        yield from rows_at(source, "data", errors)


def _runs(
    traces: Traces,
    scores: ScoresById,
    source: InputFile,
    key: str,
    options: Options,
    errors: ValidationErrors,
) -> list[ParsedRun]:
    def scored(records: Iterable[Any], declared: dict[str, Any]) -> Iterator[Record]:
        for line, record in records:
            yield line, with_scores(record, scores.of(record["trace_id"]), line, errors, declared)

    runs = traces.runs(source, key, options.limit)
    declared: dict[str, Any] = {}  # filled while the records are read
    return [replace(run, records=scored(run.records, declared), metrics=declared) for run in runs]


def _root(trace: Mapping[str, Any]) -> Span:
    """Return a trace as the root of its observations."""
    trace_id = text_in(trace.get("id")) or ""
    begin, seconds = nanoseconds(trace.get("timestamp")), number(trace.get("latency"))
    metadata = fields_in(trace.get("metadata"))
    place = {name: text_in(trace.get(name)) for name in ("release", "version", "environment", "name")}
    fields = {
        "question_id": question_id_in(metadata),
        "conversation_id": text_in(trace.get("sessionId")),
        "trace_url": url_of(trace),
    }
    return Span(
        trace_id,
        f"trace {trace_id}",
        None,
        text_in(trace.get("name")) or "",
        "root",
        begin,
        None if begin is None or seconds is None else begin + round(seconds * 1e9),
        decoded(trace.get("input")),
        decoded(trace.get("output")),
        fields=without_blanks(fields),
        tags=tags_of(metadata, decoded(trace.get("tags")), place),
    )


def span_of(row: Mapping[str, Any]) -> Span:
    """Return an observation as a span."""
    metadata = fields_in(row.get("metadata"))
    parent = text_in(field_of(row, "parentObservationId", "parent_observation_id"))
    kind, name, output = kind_of(row.get("type")), text_in(row.get("name")) or "", decoded(row.get("output"))
    usage = fields_in(field_of(row, "usageDetails", "usage_details", "usage"))
    costs = fields_in(field_of(row, "costDetails", "cost_details"))
    is_root = parent is None
    fields = {
        "question_id": question_id_in(metadata),
        "conversation_id": text_in(field_of(row, "sessionId", "session_id")),
    }
    return Span(
        text_in(field_of(row, "traceId", "trace_id")) or "",
        text_in(row.get("id")) or "",
        parent,
        name,
        "root" if is_root and kind not in ("llm", "retriever") else kind_in(kind, name, output),
        nanoseconds(field_of(row, "startTime", "start_time")),
        nanoseconds(field_of(row, "endTime", "end_time")),
        decoded(row.get("input")),
        output,
        error=error_of(row),
        input_tokens=_amount(usage, "input", "promptTokens") or _amount(row, "inputUsage", "promptTokens"),
        output_tokens=_amount(usage, "output", "completionTokens")
        or _amount(row, "outputUsage", "completionTokens"),
        cost=_amount(costs, "total") or _amount(row, "totalCost", "total_cost", "calculatedTotalCost"),
        model=text_in(field_of(row, "model", "providedModelName", "provided_model_name")),
        fields=without_blanks(fields) if is_root else {},
        tags=tags_of(metadata) if is_root else {},
    )


def _amount(fields: Mapping[str, Any], *names: str) -> float | None:
    """Return the first amount under some names; 0 is written where nothing was counted."""
    return next((amount for name in names if (amount := number(fields.get(name)))), None)
