"""Langfuse: experiment items, traces with or without their observations, and scores imported beside them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.importer import Options, Peek, Reader, run_of
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.rows import Spool, rows_at
from ragtriage.data.importers.parsing.shapes import answer_in, contexts_in, decoded, question_in, reference_in
from ragtriage.data.importers.parsing.values import (
    Fields,
    error_tag,
    kind_in,
    milliseconds_between,
    moment,
    number,
    question_id_in,
    tags_of,
    value_in,
    without_blanks,
)
from ragtriage.data.importers.spans.samples import SCORED_WITHOUT_ANSWER, sample_of_trace, samples_of
from ragtriage.data.importers.spans.span import Span, kind_of
from ragtriage.data.importers.spans.traces import Traces
from ragtriage.data.importers.tools.langfuse_scores import AVERAGED, ScoresById, is_scores, with_scores
from ragtriage.data.store.parsed_run import ParsedRun, Record


def _error_of(row: Fields) -> str | None:
    """Return why a trace, an item or an observation failed; None where it did not."""
    return (row.error("statusMessage") or "failed (level ERROR)") if row.at("level") == "ERROR" else None


def _url_of(row: Fields) -> str | None:
    """Return the address of a trace, where the row has the whole of it."""
    address = row.text("url", "traceUrl", "htmlPath")
    if address and address.startswith("/"):
        address = (row.text("host", "baseUrl") or "").rstrip("/") + address
    return address if address and address.startswith(("https://", "http://")) else None


def _place(row: Fields) -> dict[str, str | None]:
    return {name: row.text(name) for name in ("release", "version", "environment", "name")}


FILES_LOOKED_AT = 5


def _is_traces(peek: Peek) -> bool:
    """Return whether this is a trace with its observations, a list of such, or a folder of them."""
    if peek.folder is None:
        return _is_trace(peek.keys) or any(map(_is_trace, peek.rows_at("data")))
    files = islice(_files(peek.folder), FILES_LOOKED_AT)
    return any(_is_trace(Peek(InputFile.from_path(path)).keys) for path in files)


def _is_trace(fields: Mapping[str, Any]) -> bool:
    observations = fields.get("observations")
    if not isinstance(observations, list):
        return False
    whole = any(isinstance(observation, dict) and "traceId" in observation for observation in observations)
    return isinstance(fields.get("trace"), dict) or (whole and {"id", "input", "output"} <= fields.keys())


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file() and path.suffix == ".json")


def _read_observations(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read observations: one sample per trace."""
    rows = rows_at(source, "data", errors)
    traces = Traces(errors, "Langfuse").read(rows, lambda row: [_span_of(Fields(row))], "observation")
    scores = ScoresById((file for file in options.companions if is_scores(Peek(file))), errors)
    return _scored(traces.runs(source, "langfuse_observations"), scores, errors)


def _read_traces(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read traces with their observations and scores: one sample per trace."""
    traces, scores = Traces(errors, "Langfuse"), ScoresById(options.companions, errors)
    for line, value in _documents(source, errors):
        document = Fields(value)
        if not _is_trace(document.all):
            errors.leave_out("a document that is not a trace with observations")
            continue
        trace = document.fields("trace") or document
        root = _root(trace)
        traces.add(line, root)
        for span in map(_span_of, document.objects("observations")):
            traces.add(line, replace(span, trace_id=root.trace_id, parent_id=span.parent_id or root.span_id))
        for score in trace.objects("scores") or document.objects("scores"):
            scores.add(line, {**score.all, "traceId": root.trace_id})
    return _scored(traces.runs(source, "langfuse_trace"), scores, errors)


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


def _scored(runs: Sequence[ParsedRun], scores: ScoresById, errors: ValidationErrors) -> list[ParsedRun]:
    declared: dict[str, Any] = {}  # filled while the records are read

    def scored(records: Iterable[Any]) -> Iterator[Record]:
        for line, record in records:
            yield line, with_scores(record, scores.of(record["trace_id"]), line, errors, declared)

    return [replace(run, records=scored(run.records), metrics=declared) for run in runs]


def _root(trace: Fields) -> Span:
    """Return a trace as the root of its observations."""
    trace_id, metadata = trace.text("id") or "", trace.fields("metadata")
    begin, seconds = trace.nanoseconds("timestamp"), trace.number("latency")
    fields = {
        "question_id": question_id_in(metadata.all),
        "conversation_id": trace.text("sessionId"),
        "trace_url": _url_of(trace),
    }
    return Span(
        trace_id,
        f"trace {trace_id}",
        name=trace.text("name") or "",
        kind="root",
        start=begin,
        end=None if begin is None or seconds is None else begin + round(seconds * 1e9),
        input=trace.decoded("input"),
        output=trace.decoded("output"),
        fields=without_blanks(fields),
        tags=tags_of(metadata.all, trace.at("tags"), _place(trace)),
    )


def _span_of(row: Fields) -> Span:
    """Return an observation as a span."""
    parent, metadata = row.text("parentObservationId", "parent_observation_id"), row.fields("metadata")
    kind, name, output = kind_of(row.at("type")), row.text("name") or "", row.decoded("output")
    usage = row.fields("usageDetails", "usage_details", "usage")
    costs = row.fields("costDetails", "cost_details")
    session = row.text("sessionId", "session_id")
    fields = without_blanks({"question_id": question_id_in(metadata.all), "conversation_id": session})
    of_root: dict[str, Any] = {"fields": fields, "tags": tags_of(metadata.all)} if parent is None else {}
    return Span(
        row.text("traceId", "trace_id") or "",
        row.text("id") or "",
        parent,
        name,
        "root" if parent is None and kind not in ("llm", "retriever") else kind_in(kind, name, output),
        row.nanoseconds("startTime", "start_time"),
        row.nanoseconds("endTime", "end_time"),
        row.decoded("input"),
        output,
        error=_error_of(row),
        input_tokens=usage.amount("input", "promptTokens") or row.amount("inputUsage", "promptTokens"),
        output_tokens=usage.amount("output", "completionTokens")
        or row.amount("outputUsage", "completionTokens"),
        cost=costs.amount("total") or row.amount("totalCost", "total_cost", "calculatedTotalCost"),
        model=row.text("model", "providedModelName", "provided_model_name"),
        **of_root,
    )


FROM_SPANS = (
    *("retrieved", "candidates", "search_query", "retrieval_ms", "history", "latency_ms", "checks"),
    *("input_tokens", "output_tokens", "cost_usd"),
)


class Companions:
    """The contents of other files of one import on a trace: its scores, and its observations."""

    def __init__(self, files: Iterable[InputFile], errors: ValidationErrors) -> None:
        kinds = [(file, is_scores(Peek(file))) for file in files]
        self.scores = ScoresById((file for file, of_scores in kinds if of_scores), errors)
        self._spans = Spool()
        for file in (file for file, of_scores in kinds if not of_scores):
            for line, row in rows_at(file, "data", errors):
                if (span := _span_of(Fields(row))).trace_id:
                    self._spans.add(span.trace_id, line, vars(span))

    def completed(self, record: dict[str, Any], trace: object, line: int) -> dict[str, Any]:
        """Return a record with what the observations of its trace tell beyond it."""
        spans = [Span(**value) for _, value in self._spans.rows(trace)] if isinstance(trace, str) else []
        # The question of the row stands where its observations have none.
        sample = sample_of_trace(spans, line=line) if spans else None
        if sample is None:
            return record
        added = {name: sample[name] for name in FROM_SPANS if name in sample and record.get(name) is None}
        tags = {**record.get("tags", {}), **sample.get("tags", {})}
        return {**record, **added, **({"tags": tags} if tags else {})}


ITEMS = "langfuse_experiment"
OWN_SCORES = "own_scores"  # of an item, until those of other files are joined to them


def _read_items(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read the items of experiments: a run for each."""
    companions, spool = Companions(options.companions, errors), Spool()
    runs: dict[str, ParsedRun] = {}
    for line, value in rows_at(source, "data", errors):
        if options.limit is not None and line > options.limit:
            break
        row = Fields(value)
        if not row.at("experimentItemId"):
            errors.leave_out("a row that is not an experiment item")
            continue
        experiment = row.text("experimentId", "experimentName") or ""
        spool.add(experiment, line, value)
        if experiment not in runs:
            dataset = row.text("experimentDatasetName") or ""
            facts: dict[str, Any] = {"dataset": dataset, "created_at": moment(row.at("startTime"))}
            runs[experiment] = run_of(source, ITEMS, (), row.text("experimentName"), **facts)

    def scored(experiment: str, declared: dict[str, Any]) -> Iterator[Record]:
        lacking = "an item without a question in its input"
        for line, record in samples_of(spool.rows(experiment), _of_item, errors, lacking):
            own, trace = record.pop(OWN_SCORES), record.get("trace_id")
            scores = {str(score.all.get("id", at)): score.all for at, score in enumerate(own)}
            joined = companions.scores.of(trace, record.get("observation_id"))
            scores |= {str(score.get("id")): score for score in joined}
            completed = companions.completed(record, trace, line)
            yield line, with_scores(completed, scores.values(), line, errors, declared)

    metrics: dict[str, dict[str, Any]] = {key: {} for key in runs}  # filled while the records are read
    return [replace(runs[key], records=scored(key, metrics[key]), metrics=metrics[key]) for key in runs]


def _of_item(row: Fields, _line: int) -> dict[str, Any]:
    metadata = row.fields("metadata").all
    return {
        "question_id": question_id_in(metadata) or row.text("experimentItemId"),
        "question": question_in(row.at("input")),
        "answer": answer_in(row.at("output")),
        "reference_answer": reference_in(row.at("expectedOutput")),
        "retrieved": contexts_in(row.at("output")),
        "latency_ms": milliseconds_between(row.at("startTime"), row.at("endTime")),
        "tags": {**tags_of(metadata), **error_tag(_error_of(row))},
        "trace_id": row.text("traceId"),
        "observation_id": row.text("id"),
        OWN_SCORES: row.objects("scores"),
        "tool": "Langfuse",
    }


TRACES = "langfuse_traces"
COLUMNS = {
    *("id", "timestamp", "input", "output", "metadata"),
    *("bookmarked", "htmlPath", "errorCount", "observationCount"),
    *("name", "userId", "sessionId", "release", "version", "environment", "tags", "public", "latency"),
    *("usage", "inputCost", "outputCost", "totalCost", "level", "warningCount", "defaultCount", "debugCount"),
    *("inputTokens", "outputTokens", "totalTokens", "projectId", "createdAt", "updatedAt", "externalId"),
    *("observations", "scores", "comments", "expectedOutput", "costDetails", "usageDetails", "statusMessage"),
}


def _read_rows(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    companions = Companions(options.companions, errors)
    declared: dict[str, Any] = {}  # filled while the records are read

    def records() -> Iterator[Record]:
        for line, value in rows_at(source, "data", errors):
            row = Fields(value)
            record = _of_trace(row)
            if not row.at("id"):
                errors.leave_out("a row that is not a trace")
            elif not (record["question"] or "").strip():
                errors.leave_out("a trace without a question in its input")
            else:
                scores = companions.scores.of(row.at("id"))
                named = {str(score.get("name")) for score in scores}
                record = _with_columns(without_blanks(record), row, named, line, errors)
                record = companions.completed(record, row.at("id"), line)
                yield line, with_scores(record, scores, line, errors, declared)

    return [run_of(source, TRACES, records(), metrics=declared)]


def _of_trace(row: Fields) -> dict[str, Any]:
    metadata, usage, seconds = row.fields("metadata").all, row.fields("usage"), row.number("latency")
    read, written = row.number("inputTokens"), row.number("outputTokens")
    return {
        "question_id": question_id_in(metadata),
        "question": question_in(row.at("input")),
        "answer": answer_in(row.at("output")) or None,
        "reference_answer": reference_in(row.at("expectedOutput")),
        "retrieved": contexts_in(row.at("output")),
        "conversation_id": row.text("sessionId"),
        "latency_ms": None if seconds is None else seconds * 1000,
        "input_tokens": usage.number("promptTokens", "input") if read is None else read,
        "output_tokens": usage.number("completionTokens", "output") if written is None else written,
        "cost_usd": row.number("totalCost"),
        "tags": {**tags_of(metadata, row.at("tags"), _place(row)), **error_tag(_error_of(row))},
        "trace_id": row.text("id"),
        "trace_url": _url_of(row),
        "tool": "Langfuse",
    }


def _with_columns(
    record: dict[str, Any], row: Fields, named: set[str], line: int, errors: ValidationErrors
) -> dict[str, Any]:
    """Return a record with the scores of its columns: a list in each, of every evaluator's value."""
    scores: dict[str, Any] = {}
    words: dict[str, str] = {}
    for name, cell in row.all.items():
        values = decoded(cell) if name not in COLUMNS and name not in named else None
        if not isinstance(values, list) or not values:
            continue
        numbers = [number for number in map(value_in, values) if number is not None]
        if any(isinstance(value, str) and number(value) is None for value in values):
            words[name] = ", ".join(map(str, values))  # whether by a person is not told here
        elif numbers:
            scores[metric_name(name)[0]] = fmean(numbers)
            if len(numbers) > 1:
                errors.remark(AVERAGED, line)
    if scores and record.get("answer") is None:
        errors.remark(SCORED_WITHOUT_ANSWER, line)
    tags = {**record.get("tags", {}), **words}
    return {**record, "scores": scores, "tags": tags} if scores or words else record


READERS = {
    "langfuse_experiment": Reader(_read_items),
    "langfuse_scores": Reader(detect=is_scores),
    "langfuse_trace": Reader(_read_traces, _is_traces),
    "langfuse_observations": Reader(_read_observations),
    "langfuse_traces": Reader(_read_rows),
}
