"""LangSmith: results of an experiment as a table or as one result a line.

A failed evaluator is an empty cell in a table; only the lines with `evaluation_results` say why it failed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.formats.tool_rows import Row
from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.parsing.cells import CellError, read_score
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.metric_names import metric_name
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.payloads import (
    CONTEXT_KEYS,
    answer_in,
    contexts_in,
    decoded,
    question_in,
    reference_in,
)
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.parsing.records.shapes import (
    Numbering,
    mapping,
    milliseconds,
    objects,
    storable,
    tag_value,
    tags_of,
)
from ragtriage.data.importers.parsing.rows import open_table
from ragtriage.data.importers.parsing.spool import Spool
from ragtriage.data.importers.spans.samples import SCORED_WITHOUT_ANSWER
from ragtriage.data.importers.tools.facts import last_line, milliseconds_between
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.data.store.sample_models import is_finite

ACCEPTED = "results.to_pandas() as CSV or JSONL, or one {run, example, evaluation_results} a line"
PARTS = ("inputs", "outputs", "reference", "feedback")
NO_SCORE = "the evaluator gave no score; this file does not say why"
OWN = ("error", "execution_time", "example_id", "id")


def _is_table(peek: Peek) -> bool:
    parts = {name.partition(".")[0] for name in peek.columns if "." in name}
    return "inputs" in parts and bool(parts & {"outputs", "reference", "feedback"})


def _is_results(peek: Peek) -> bool:
    return any(isinstance(row.get("run"), dict) and "evaluation_results" in row for row in peek.rows)


def read_table(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read a table with the columns inputs.*, outputs.*, reference.* and feedback.*: a run."""
    rows = open_table(source, errors, options.limit).rows()
    return [ParsedRun(source.stem, _of_table(rows, errors), source.name, "langsmith_table")]


def _of_table(rows: Iterator[Record], errors: ValidationErrors) -> Iterator[Record]:
    numbering = Numbering()
    for line, row in rows:
        if not isinstance(row, dict):
            yield line, row
            continue
        parts: dict[str, Row] = {part: {} for part in PARTS}
        rest: Row = {}
        for name, value in row.items():
            part, _, key = str(name).partition(".")
            if part in parts and key:
                if part == "feedback" or not _is_blank(value):
                    parts[part][key] = value
            elif not _is_blank(value):
                rest[str(name)] = value
        scores, tags = _feedback(parts["feedback"])
        record = _record(parts["inputs"], parts["outputs"], parts["reference"], rest.get("error"))
        record["latency_ms"] = milliseconds(rest.get("execution_time"))
        record["tags"] |= tags
        _tell_scored(record, scores, errors, line)
        own = {"run_id": rest.get("id"), "example_id": rest.get("example_id")}
        others = {name: value for name, value in rest.items() if name not in OWN}
        yield (
            line,
            {
                **{f"{name} (column)" if name in record else name: value for name, value in others.items()},
                **record,
                **({"scores": scores} if scores else {}),
                **own,
                **numbering.of(rest.get("example_id"), record["question"]),
            },
        )


def read_results(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read one result of an experiment a line: a run for each experiment."""
    spool, numberings = Spool(), dict[str, Numbering]()
    for line, row in islice(open_table(source, errors).rows(), options.limit):
        if not isinstance(row, dict) or not isinstance(row.get("run"), dict):
            errors.add(line, "run", "is no object", "an object with run, example and evaluation_results")
            continue
        run, example = row["run"], mapping(row.get("example"))
        name = storable(run.get("session_name") or source.stem)
        record = _record(
            mapping(run.get("inputs")) or mapping(example.get("inputs")),
            mapping(run.get("outputs")),
            mapping(example.get("outputs")),
            run.get("error"),
        )
        record["latency_ms"] = milliseconds_between(run.get("start_time"), run.get("end_time"))
        record["tags"] = {**tags_of(example.get("metadata")), **tags_of(run.get("tags")), **record["tags"]}
        scores, tags = _evaluated(mapping(row.get("evaluation_results")).get("results"))
        record["tags"] |= tags
        _tell_scored(record, scores, errors, line)
        example_id = example.get("id") or run.get("reference_example_id")
        record |= {"run_id": run.get("id"), "trace_id": run.get("trace_id"), "example_id": example_id}
        record |= {"scores": scores} if scores else {}
        record |= numberings.setdefault(name, Numbering()).of(example_id, record["question"])
        spool.add(name, line, record)
    return [
        ParsedRun(name, spool.rows(name), source.name, "langsmith", named_by_content=name != source.stem)
        for name in spool.keys
    ]


def _record(
    inputs: Mapping[str, Any], outputs: Mapping[str, Any], reference: Mapping[str, Any], error: Any
) -> Row:
    """Return what the pipeline was asked, what it answered and what it should have answered."""
    texts = {name: value for name, value in outputs.items() if name not in CONTEXT_KEYS}
    several = {"inputs": inputs, "outputs": texts, "reference": reference}
    return {
        "question": question_in(dict(inputs)),
        "answer": answer_in(texts),
        "reference_answer": reference_in(dict(reference)),
        "retrieved": contexts_in(dict(outputs)),
        "tags": {"error": last_line(error)} if error else {},
        "tool": "LangSmith",
        **{name: dict(values) for name, values in several.items() if len(values) > 1},
    }


def _feedback(values: Mapping[str, Any]) -> tuple[Row, Row]:
    """Return the feedback of a table as scores, and as tags where it is a category."""
    scores: Row = {}
    tags: Row = {}
    for name, cell in values.items():
        value = decoded(cell)
        try:
            score = read_score(value)
        except CellError:
            tags[f"feedback.{name}"] = tag_value(value)
            continue
        if isinstance(score, float) and math.isnan(score):
            scores[metric_name(name)[0]] = {"value": None, "reason": NO_SCORE}
        elif isinstance(score, int | float):
            scores[metric_name(name)[0]] = score
        else:
            tags[f"feedback.{name}"] = tag_value(value)
    return scores, tags


def _evaluated(results: object) -> tuple[Row, Row]:
    """Return the results of the evaluators as scores, and as tags where they are a category."""
    scores: Row = {}
    tags: Row = {}
    for result in objects(results):
        name, score = str(result.get("key") or "feedback"), result.get("score")
        failed = bool(mapping(result.get("extra")).get("error"))
        comment = result.get("comment")
        if score is None and not failed and result.get("value") is not None:
            tags[f"feedback.{name}"] = tag_value(result["value"])
        elif isinstance(score, bool | int | float) and is_finite(score) and not failed:
            scores[metric_name(name)[0]] = {"value": float(score), "reason": comment}
        else:
            reason = comment if score is None or failed else f"the score is {str(score)[:40]!r}"
            scores[metric_name(name)[0]] = {"value": None, "reason": reason or "the evaluator gave no score"}
    return scores, tags


def _tell_scored(record: Row, scores: Row, errors: ValidationErrors, line: int) -> None:
    values = [score["value"] if isinstance(score, dict) else score for score in scores.values()]
    if record["answer"] is None and any(value is not None for value in values):
        errors.remark(SCORED_WITHOUT_ANSWER, line)


def _is_blank(value: object) -> bool:
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


IMPORTERS = (
    Importer(
        "langsmith",
        "LangSmith results",
        "one {run, example, evaluation_results} a line",
        _is_results,
        read_results,
        written_by="LangSmith 0.15",
        example="for row in client.evaluate(...): file.write(json.dumps(row, default=lambda o: o.dict()))",
    ),
    Importer(
        "langsmith_table",
        "LangSmith table",
        "a table with inputs.*, outputs.*, reference.* and feedback.*",
        _is_table,
        read_table,
        written_by="LangSmith 0.15",
        example="client.evaluate(...).to_pandas().to_csv('results.csv')",
    ),
)
