"""W&B Weave: calls of evaluations and of traced code, and the results of evaluations by row."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Options, Peek, Reader, run_of
from ragtriage.data.importers.parsing.documents_in_json import value_at
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.rows import Spool, rows_at
from ragtriage.data.importers.parsing.shapes import answer_in, contexts_in, decoded, question_in
from ragtriage.data.importers.parsing.values import (
    Fields,
    error_tag,
    fields_in,
    kind_in,
    last_line,
    moment,
    number,
    question_id_in,
    reference_beside_question,
    text_in,
    value_in,
    without_blanks,
)
from ragtriage.data.importers.spans.samples import sample_of_trace, samples_of
from ragtriage.data.importers.spans.span import Span, kind_of
from ragtriage.data.importers.spans.traces import Traces
from ragtriage.data.store.parsed_run import ParsedRun, Record

REFERENCE = "weave:///"
EVALUATION, ROW = ".evaluate", ".predict_and_score"
MOST_DEEP = 50
AGREES = 1e-3  # a summary's mean and that of its rows differ by rounding alone
UNRESOLVED = "{} is a reference to Weave (weave:///...), which the export does not resolve"
REASONS = ("reason", "explanation", "comment", "rationale")


def _op(call: Fields) -> str:
    """Return the name of a call's op, as "Evaluation.predict_and_score"."""
    return str(call.at("op_name")).rpartition("/")[2].partition(":")[0]


def _read_calls(source: InputFile, _options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read calls: one run per evaluation, one sample per row; without evaluations, one sample per trace."""
    calls, evaluations, rows = Spool(), dict[str, Fields](), Spool()
    for line, row in rows_at(source, "calls", errors):
        call = Fields(row)
        if not call.text("id"):
            errors.leave_out("a row that is not a call")
            continue
        if _op(call).endswith(EVALUATION):
            evaluations[str(call.at("id"))] = call
        else:
            (rows if _op(call).endswith(ROW) else calls).add(call.text("parent_id") or "", line, row)
    if not rows.keys:
        listed = ((line, row) for line, row in rows_at(source, "calls", errors) if isinstance(row, dict))
        return Traces(errors, "Weave").read(listed, _call_span, "call").runs(source, "weave")
    runs = []
    for evaluation in rows.keys:
        about = evaluations.get(evaluation, Fields(None))
        records = _samples(rows.rows(evaluation), calls, errors)
        means = {name: fields_in(entry).get("mean") for name, entry in about.fields("output").all.items()}
        name = about.text("display_name") or (evaluation if len(rows.keys) > 1 else None)
        runs.append(run_of(source, "weave", _agreeing(records, means, errors), name, **_facts(about)))
    return runs


def _facts(evaluation: Fields) -> dict[str, Any]:
    """Return the model and the data set of an evaluation, and its time."""
    inputs = evaluation.fields("inputs")
    model, dataset = (
        str(value).rpartition("/")[2] if _is_reference(value) else ""
        for value in (inputs.at("model"), inputs.at("self"))
    )
    return {
        "config": {"model": model} if model else {},
        "dataset": dataset,
        "created_at": moment(evaluation.decoded("started_at")),
    }


def _is_reference(value: object) -> bool:
    return isinstance(value, str) and value.startswith(REFERENCE)


def _call_span(row: Mapping[str, Any]) -> list[Span]:
    call = Fields(row)
    return [_span(call, call.text("trace_id") or "", call.text("parent_id"))] if call.text("id") else []


def _samples(rows: Iterator[tuple[int, Any]], calls: Spool, errors: ValidationErrors) -> Iterator[Record]:
    asked: Counter[str] = Counter()
    for line, value in rows:
        row = Fields(value)
        name, inputs, below = str(row.at("id")), row.fields("inputs"), list(_below(calls, str(row.at("id"))))
        example = _resolved(inputs.at("example"), "inputs.example", line, errors)
        result = Fields(_resolved(row.at("output"), "output", line, errors))
        failed = [error for call in (row, *below) if (error := last_line(call.decoded("exception")))]
        fields = {
            "question_id": question_id_in(example),
            "reference_answer": reference_beside_question(example),
            "latency_ms": _milliseconds(result.number("model_latency")),
            "run_id": row.text("parent_id"),
        }
        asks = (call.fields("inputs").all for call in below if question_in(_own(call)))
        root = replace(
            _span(row, name, None),
            kind="root",
            input=example if example is not None else next(asks, None),
            output=_resolved(result.at("output"), "output.output", line, errors),
            error=failed[0] if failed else None,
            scores=_scores(result.at("scores")),
            fields=without_blanks(fields),
        )
        spans = [_span(call, name, call.text("parent_id")) for call in below]
        sample = sample_of_trace([root, *spans], errors, line)
        if sample is not None:
            key = str(sample.get("question_id") or sample["question"])
            yield line, {**sample, "repeat": asked[key], "tool": "Weave"}
            asked[key] += 1


def _below(calls: Spool, parent: str) -> Iterator[Fields]:
    """Yield the calls inside a call, level by level; a call is not followed twice."""
    seen, level = {parent}, [parent]
    for _ in range(MOST_DEEP):
        below = (Fields(call) for caller in level for _, call in calls.rows(caller))
        inner = [call for call in below if str(call.at("id")) not in seen]
        level = [str(call.at("id")) for call in inner]
        seen.update(level)
        yield from inner


def _resolved(value: object, field: str, line: int, errors: ValidationErrors) -> Any:
    """Return a value of a call; None in place of a reference that an export leaves as it is."""
    if _is_reference(value):
        errors.remark(UNRESOLVED.format(field), line)
        return None
    return value


def _own(call: Fields) -> dict[str, Any]:
    """Return the inputs of a call without the object that it is a method of."""
    inputs = call.fields("inputs").all.items()
    return {key: value for key, value in inputs if key != "self" and not _is_reference(value)}


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000


def _span(call: Fields, trace_id: str, parent: str | None) -> Span:
    usage = [Fields(entry) for entry in call.fields("summary").fields("usage").all.values()]
    name, output = _op(call), call.decoded("output")
    kind = kind_of(call.fields("attributes").fields("weave").at("kind"))
    return Span(
        trace_id,
        str(call.at("id")),
        parent,
        name,
        kind_in("chain" if kind == "other" else kind, name, output),
        call.nanoseconds("started_at"),
        call.nanoseconds("ended_at"),
        _own(call) or None,
        output,
        error=last_line(call.decoded("exception")),
        input_tokens=_tokens(usage, "prompt_tokens", "input_tokens"),
        output_tokens=_tokens(usage, "completion_tokens", "output_tokens"),
    )


def _tokens(usage: list[Fields], *names: str) -> float | None:
    counts = [count for entry in usage for name in names if (count := entry.number(name)) is not None]
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


def _read_results(source: InputFile, _options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read the rows of evaluations: one run per evaluation, one repeat per trial."""
    trials = Spool()
    for line, value in rows_at(source, "rows", errors):
        row = Fields(value)
        if not row:
            errors.leave_out("a row that is not a row of an evaluation")
        asks = {"example": row.at("raw_data_row"), "digest": row.at("row_digest")}
        for evaluation in row.objects("evaluations"):
            for trial in evaluation.objects("trials"):
                trials.add(evaluation.text("evaluation_call_id") or "", line, {**trial.all, **asks})
    summary = Fields(value_at(source, "summary") if Peek(source).keys else None)
    about = {str(entry.at("evaluation_call_id")): entry for entry in summary.objects("evaluations")}

    def sample(row: Fields, line: int) -> dict[str, Any]:
        example = _resolved(row.at("example"), "raw_data_row", line, errors)
        output = decoded(_resolved(row.at("model_output"), "model_output", line, errors))
        return {
            "question_id": question_id_in(example) or row.text("digest"),
            "question": question_in(example),
            "answer": answer_in(output),
            "reference_answer": reference_beside_question(example),
            "retrieved": contexts_in(output),
            "scores": _scores(row.at("scores")),
            "latency_ms": _milliseconds(row.number("model_latency_seconds")),
            "cost_usd": row.number("total_cost"),
            "tags": error_tag(row.at("exception")),
            "trace_id": row.text("predict_and_score_call_id"),
            "tool": "Weave",
        }

    runs = []
    for key in trials.keys:
        evaluation = about.get(key, Fields(None))
        stats = evaluation.objects("scorer_stats")
        means = {str(entry.at("scorer_key")): entry.at("numeric_mean") for entry in stats}
        samples = samples_of(trials.rows(key), sample, errors, "a row without a question in its data")
        name = evaluation.text("display_name") or (key if len(trials.keys) > 1 else None)
        runs.append(
            run_of(source, "weave_results", _agreeing(samples, means, errors), name, **_facts(evaluation))
        )
    return runs


READERS = {
    "weave": Reader(
        _read_calls,
        lambda peek: any(str(row.get("op_name")).startswith(REFERENCE) for row in peek.rows_at("calls")),
    ),
    "weave_results": Reader(_read_results),
}
