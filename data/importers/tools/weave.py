"""W&B Weave: calls of evaluations and of traced code, and the results of evaluations by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Importer, row_names
from ragtriage.data.importers.parsing.documents_in_json import value_at
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.payloads import answer_in, contexts_in, decoded, question_in
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.parsing.rows import rows_at
from ragtriage.data.importers.parsing.spool import Spool
from ragtriage.data.importers.spans.samples import sample_of_trace, samples_of
from ragtriage.data.importers.spans.span import Span, kind_of
from ragtriage.data.importers.spans.traces import Traces
from ragtriage.data.importers.spans.values import (
    fields_in,
    kind_in,
    last_line,
    moment,
    nanoseconds,
    number,
    objects_in,
    question_id_in,
    reference_beside_question,
    text_in,
    value_in,
    without_blanks,
)
from ragtriage.data.store.parsed_run import ParsedRun, Record

REFERENCE = "weave:///"
EVALUATION, ROW = ".evaluate", ".predict_and_score"
MOST_DEEP = 50
AGREES = 1e-3  # a summary's mean and that of its rows differ by rounding alone
UNRESOLVED = "{} is a reference to Weave (weave:///...), which the export does not resolve"
REASONS = ("reason", "explanation", "comment", "rationale")


def _op(call: Mapping[str, Any]) -> str:
    """Return the name of a call's op, as "Evaluation.predict_and_score"."""
    return str(call.get("op_name")).rpartition("/")[2].partition(":")[0]


def _read_calls(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read calls: one run per evaluation, one sample per row; without evaluations, one sample per trace."""
    calls, evaluations, rows = Spool(), dict[str, dict[str, Any]](), Spool()
    for line, row in rows_at(source, "calls", errors):
        if not isinstance(row, Mapping) or not text_in(row.get("id")):
            errors.leave_out("a row that is no call")
            continue
        call = {str(key): decoded(value) for key, value in row.items()}
        parent = text_in(call.get("parent_id"))
        if _op(call).endswith(EVALUATION):
            evaluations[str(call["id"])] = call
        elif _op(call).endswith(ROW):
            rows.add(parent or "", line, call)
        else:
            calls.add(parent or "", line, call)
    base = ParsedRun(source.stem, (), source.name, "weave")
    if not rows.keys:
        listed = ((line, row) for line, row in rows_at(source, "calls", errors) if isinstance(row, dict))
        return Traces(errors, "Weave").read(listed, _call_span, "call").runs(source, "weave", options.limit)
    runs = []
    for evaluation in rows.keys:
        about = evaluations.get(evaluation, {})
        records = islice(_samples(rows.rows(evaluation), calls, errors), options.limit)
        means = {name: fields_in(entry).get("mean") for name, entry in fields_in(about.get("output")).items()}
        runs.append(
            replace(
                _named(base, about, evaluation if len(rows.keys) > 1 else ""),
                records=records if options.limit else _agreeing(records, means, errors),
            )
        )
    return runs


def _named(base: ParsedRun, evaluation: Mapping[str, Any], otherwise: str) -> ParsedRun:
    """Return a run with the name, the model and the data set of its evaluation."""
    inputs = fields_in(evaluation.get("inputs"))
    name = text_in(evaluation.get("display_name")) or otherwise
    model, dataset = (_object_of(inputs.get(key)) for key in ("model", "self"))
    return replace(
        base,
        name=name or base.name,
        named_by_content=bool(name),
        config={"model": model} if model else {},
        dataset=dataset or "",
        created_at=moment(evaluation.get("started_at")),
    )


def _object_of(reference: object) -> str | None:
    is_reference = isinstance(reference, str) and reference.startswith(REFERENCE)
    return str(reference).rpartition("/")[2] or None if is_reference else None


def _call_span(row: Mapping[str, Any]) -> list[Span]:
    call = {str(key): decoded(value) for key, value in row.items()}
    trace_id, parent = text_in(call.get("trace_id")) or "", text_in(call.get("parent_id"))
    return [_span(call, trace_id, parent)] if text_in(row.get("id")) else []


def _samples(rows: Iterator[tuple[int, Any]], calls: Spool, errors: ValidationErrors) -> Iterator[Record]:
    asked: Counter[str] = Counter()
    for line, row in rows:
        below = list(_below(calls, str(row["id"])))
        inputs = fields_in(row.get("inputs"))
        example, output = _resolved(inputs.get("example"), "inputs.example", line, errors), row.get("output")
        result = fields_in(_resolved(output, "output", line, errors))
        failed = [error for call in (row, *below) if (error := last_line(call.get("exception")))]
        root = replace(
            _span(row, str(row["id"]), None),
            kind="root",
            input=example if example is not None else _asked_of(below),
            output=_resolved(result.get("output"), "output.output", line, errors),
            error=failed[0] if failed else None,
            scores=_scores(result.get("scores")),
            fields=without_blanks(
                {
                    "question_id": question_id_in(fields_in(example)),
                    "reference_answer": reference_beside_question(example),
                    "latency_ms": _milliseconds(result.get("model_latency")),
                    "run_id": text_in(row.get("parent_id")),
                }
            ),
        )
        spans = [_span(call, root.trace_id, text_in(call.get("parent_id"))) for call in below]
        sample = sample_of_trace([root, *spans], errors, line)
        if sample is not None:
            key = str(sample.get("question_id") or sample["question"])
            yield line, {**sample, "repeat": asked[key], "tool": "Weave"}
            asked[key] += 1


def _below(calls: Spool, parent: str) -> Iterator[dict[str, Any]]:
    """Yield the calls inside a call, level by level; a call is not followed twice."""
    seen, level = {parent}, [parent]
    for _ in range(MOST_DEEP):
        inner = [
            call for caller in level for _, call in calls.rows(caller) if str(call.get("id")) not in seen
        ]
        level = [str(call.get("id")) for call in inner]
        seen.update(level)
        yield from inner


def _resolved(value: object, field: str, line: int, errors: ValidationErrors) -> Any:
    """Return a value of a call; None in place of a reference that an export leaves as it is."""
    if isinstance(value, str) and value.startswith(REFERENCE):
        errors.remark(UNRESOLVED.format(field), line)
        return None
    return value


def _asked_of(below: list[dict[str, Any]]) -> object:
    return next((fields_in(call.get("inputs")) for call in below if question_in(_own(call))), None)


def _own(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs of a call without the object that it is a method of."""
    inputs = fields_in(call.get("inputs"))
    return {
        key: value
        for key, value in inputs.items()
        if key != "self" and not (isinstance(value, str) and value.startswith(REFERENCE))
    }


def _milliseconds(value: object) -> float | None:
    seconds = number(value)
    return None if seconds is None else seconds * 1000


def _span(call: Mapping[str, Any], trace_id: str, parent: str | None) -> Span:
    usage = [fields_in(entry) for entry in fields_in(fields_in(call.get("summary")).get("usage")).values()]
    name, output = _op(call), call.get("output")
    kind = kind_of(fields_in(fields_in(call.get("attributes")).get("weave")).get("kind"))
    return Span(
        trace_id,
        str(call.get("id")),
        parent,
        name,
        kind_in("chain" if kind == "other" else kind, name, output),
        nanoseconds(call.get("started_at")),
        nanoseconds(call.get("ended_at")),
        _own(call) or None,
        output,
        error=last_line(call.get("exception")),
        input_tokens=_tokens(usage, "prompt_tokens", "input_tokens"),
        output_tokens=_tokens(usage, "completion_tokens", "output_tokens"),
    )


def _tokens(usage: list[Mapping[str, Any]], *names: str) -> float | None:
    counts = [count for entry in usage for name in names if (count := number(entry.get(name))) is not None]
    return sum(counts) if counts else None


def _scores(scores: object) -> dict[str, Any]:
    """Return scores by scorer; of a scorer that gives an object, each number in it. Null has failed."""
    scored: dict[str, Any] = {}
    for name, value in fields_in(scores).items():
        entry = decoded(value)
        if isinstance(entry, Mapping):
            reason = next((text for key in REASONS if (text := text_in(entry.get(key)))), None)
            values = {key: amount for key, part in entry.items() if (amount := value_in(part)) is not None}
            for key, amount in values.items():
                metric = name if len(values) == 1 else f"{name}_{key}"
                scored[metric_name(str(metric))[0]] = {"value": amount, "reason": reason}
        elif entry is None or value_in(entry) is not None:
            scored[metric_name(str(name))[0]] = value_in(entry)
    return scored


def _agreeing(
    records: Iterator[Record], means: Mapping[str, object], errors: ValidationErrors
) -> Iterator[Record]:
    """Yield records, and tell where the mean of their scores is not the one that Weave reports."""
    values: dict[str, list[float]] = {}
    for line, record in records:
        yield line, record
        scores = record["scores"] if isinstance(record, dict) and "scores" in record else {}
        for name, score in scores.items():
            value = score["value"] if isinstance(score, Mapping) else score
            if value is not None:
                values.setdefault(name, []).append(value)
    for name, reported in means.items():
        mean, own = number(reported), values.get(metric_name(str(name))[0])
        if mean is not None and own and abs(sum(own) / len(own) - mean) > AGREES:
            rows = f"{sum(own) / len(own):.4g} over {len(own)}"
            errors.remark(f"Weave reports {str(name)[:60]} {mean:.4g}; the mean of the rows is {rows}")


def _read_results(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read the rows of evaluations: one run per evaluation, one repeat per trial."""
    trials, path = Spool(), "rows"
    for line, row in rows_at(source, path, errors):
        fields = fields_in(row)
        if not fields:
            errors.leave_out("a row that is no row of an evaluation")
        for evaluation in objects_in(fields.get("evaluations")):
            asks = {"example": fields.get("raw_data_row"), "digest": fields.get("row_digest")}
            for trial in objects_in(evaluation.get("trials")):
                trials.add(text_in(evaluation.get("evaluation_call_id")) or "", line, {**trial, **asks})
    summary = value_at(source, "summary") if Peek(source).keys else None
    about = {
        str(entry.get("evaluation_call_id")): entry
        for entry in objects_in(fields_in(summary).get("evaluations"))
    }
    base = ParsedRun(source.stem, (), source.name, "weave_results")
    runs = []
    for key in trials.keys:
        evaluation = about.get(key, {})
        stats = objects_in(evaluation.get("scorer_stats"))
        means = {str(entry.get("scorer_key")): entry.get("numeric_mean") for entry in stats}
        records = islice(_of_trials(trials.rows(key), errors), options.limit)
        runs.append(
            replace(
                _named(base, evaluation, key if len(trials.keys) > 1 else ""),
                records=records if options.limit else _agreeing(records, means, errors),
            )
        )
    return runs


def _of_trials(rows: Iterator[tuple[int, Any]], errors: ValidationErrors) -> Iterator[Record]:
    def sample(row: Mapping[str, Any], line: int) -> dict[str, Any]:
        example = _resolved(row.get("example"), "raw_data_row", line, errors)
        output = decoded(_resolved(row.get("model_output"), "model_output", line, errors))
        error = last_line(row.get("exception"))
        return {
            "question_id": question_id_in(fields_in(example)) or text_in(row.get("digest")),
            "question": question_in(example),
            "answer": answer_in(output),
            "reference_answer": reference_beside_question(example),
            "retrieved": contexts_in(output),
            "scores": _scores(row.get("scores")),
            "latency_ms": _milliseconds(row.get("model_latency_seconds")),
            "cost_usd": number(row.get("total_cost")),
            "tags": {"error": error} if error else {},
            "trace_id": text_in(row.get("predict_and_score_call_id")),
            "tool": "Weave",
        }

    return samples_of(rows, sample, errors, "a row without a question in its data")


WRITTEN_BY = "Weave 0.54"
IMPORTERS = (
    Importer(
        "weave",
        "Weave calls",
        "JSONL, JSON or CSV of calls with op_name weave:///...: evaluations, or traced code",
        lambda peek: any(str(row.get("op_name")).startswith(REFERENCE) for row in peek.rows_at("calls")),
        _read_calls,
        written_by=WRITTEN_BY,
        unit="trace",
        example="the export button above the table of traces, as JSONL or CSV",
    ),
    Importer(
        "weave_results",
        "Weave evaluation results",
        "JSON with rows: row_digest, raw_data_row, evaluations with trials",
        row_names("row_digest", "evaluations", at="rows"),
        _read_results,
        written_by=WRITTEN_BY,
        example="the answer of the API (eval_results/query), saved as JSON",
    ),
)
