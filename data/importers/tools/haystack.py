"""Haystack: rows and results of evaluation runs, comparisons of two runs, and scores alone."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.formats.table import reader_of, table_reader
from ragtriage.data.importers.importer import Options, Peek, Reader, Row, ToolRows, run_of
from ragtriage.data.importers.parsing.cells import is_blank
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.rows import open_table
from ragtriage.data.importers.parsing.shapes import items, mapping, unquoted_number
from ragtriage.data.importers.parsing.values import Fields, number
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.metrics.metric_registry import declared

QUESTIONS = ("question", "questions")
ANSWERS = ("predicted_answer", "predicted_answers", "responses")
REFERENCES = ("answer", "true_answers", "ground_truth_answers", "ground_truth_answer")
INPUTS = {*QUESTIONS, *ANSWERS, *REFERENCES, "contexts", "context"}
METRICS = {"sas": "answer_similarity", "answer_faithfulness": "faithfulness"}
OF_ONE_RUN = "the answers and contexts of the first run only: the file holds none of the others"
STEP = 1e-6  # to which scores without samples are compared


def _is_report(names: set[str]) -> bool:
    """Return whether these are the columns of a detailed report, of one run or of two side by side."""
    has_question = not names.isdisjoint(QUESTIONS)
    if not has_question or names.isdisjoint(("contexts", "context")):
        return False
    return not names.isdisjoint(ANSWERS) or "responses" in _runs_of(names, ())[1]


def _runs_of(columns: Iterable[str], order: Sequence[str]) -> tuple[list[str], set[str]]:
    """Return the names of runs that columns begin with, and what all of them have; none where they do not."""
    rest = [name for name in order or sorted(columns) if name not in INPUTS]
    if not rest:
        return [], set()
    parts = rest[0].split("_")
    for length in range(len(parts) - 1, 0, -1):
        first, end = "_".join(parts[:length]), "_".join(parts[length:])
        ends = {name.removeprefix(f"{first}_") for name in rest if name.startswith(f"{first}_")}
        runs = [name.removesuffix(f"_{end}") for name in rest if name.endswith(f"_{end}")]
        if len(runs) > 1 and {f"{run}_{each}" for run in runs for each in ends} == set(rest):
            return runs, ends
    return [], set()


def _samples(records: Iterator[Record]) -> Iterator[Record]:
    """Yield the rows of a report as those of a table: one a run."""
    for line, row in records:
        if not isinstance(row, dict):
            yield line, row
            continue
        runs, ends = _runs_of(row, list(map(str, row)))
        for position, run in enumerate(runs or [""]):
            prefix = f"{run}_" if run else ""
            own = {name.removeprefix(prefix): value for name, value in row.items() if name.startswith(prefix)}
            shared = {name: value for name, value in row.items() if name in INPUTS}
            if position and ends.isdisjoint(ANSWERS):
                shared = {name: value for name, value in shared.items() if name not in ANSWERS}
            if position:
                shared = {name: value for name, value in shared.items() if not name.startswith("context")}
            yield line, _sample({**shared, **own}, run)


def _sample(row: Row, run: str) -> Row:
    sample: Row = {"run": run} if run else {}
    scores: Row = {}
    for name, value in row.items():
        if name in QUESTIONS:
            sample["question"] = value
        elif name in ANSWERS:
            sample["answer"] = value
        elif name in REFERENCES:
            sample["reference_answer"] = value
        elif name in INPUTS:
            sample["contexts"] = value
        elif isinstance(unquoted_number(value), int | float):
            scores[_metric(name)] = unquoted_number(value)
        elif not is_blank(value, blank_text=True):
            sample[name] = value
    return {**sample, "scores": scores} if scores else sample


def _metric(name: str) -> str:
    plain = name.removeprefix("metric_")
    return METRICS.get(plain, metric_name(plain)[0])


REPORT = ToolRows(
    _is_report,
    _samples,
    "read as a report of Haystack: where an answer is predicted, `answer` is the reference",
)


def _read_report(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    runs = _read_rows(source, options, errors)
    return [runs[0], *(replace(run, notes=(*run.notes, OF_ONE_RUN)) for run in runs[1:])] if runs else []


def _is_result(peek: Peek) -> bool:
    results = mapping(peek.keys.get("results"))
    scored = (mapping(result).keys() >= {"score", "individual_scores"} for result in results.values())
    return isinstance(peek.keys.get("inputs"), Mapping) and bool(results) and all(scored)


def _read_result(source: InputFile, _options: Options, _errors: ValidationErrors) -> list[ParsedRun]:
    """Read an EvaluationRunResult: inputs and scores as lists of one value a question."""
    document = Fields(source.document())
    columns = {name: items(values) for name, values in document.fields("inputs").all.items()}
    results = document.fields("results").all
    scores = {name: items(mapping(result).get("individual_scores")) for name, result in results.items()}
    lists = {**columns, **scores}
    count = max(map(len, lists.values()), default=0)
    rows = (
        (at + 1, {name: values[at] for name, values in lists.items() if at < len(values)})
        for at in range(count)
    )
    samples = ((line, _native(_sample(row, ""))) for line, row in rows)
    return [run_of(source, "haystack_result", samples, document.text("run_name"))]


def _native(sample: Row) -> Row:
    contexts = sample.pop("contexts", None)
    texts = [{"text": text} for text in items(contexts) if isinstance(text, str) and text.strip()]
    return {**sample, "retrieved": texts if isinstance(contexts, list) else None}


def _read_scores(source: InputFile, _options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read the scores of a run without its samples: a run that is known by its means."""
    rows = [row for _, row in open_table(source, errors).rows() if isinstance(row, Mapping)]
    means: dict[str, float] = {}
    left_out = []
    for row in rows:
        name, value = str(row.get("metrics")), number(row.get("score"))
        if value is not None and declared(_metric(name)):
            means[_metric(name)] = value
        else:
            left_out.append(name)
    if not means:
        raise source.error("holds no score of a known metric", "faithfulness, context_relevance, sas")
    notes = ["summary scores only: no samples, no intervals"]
    notes += [f"metrics that are not known are left out: {', '.join(left_out)}"] if left_out else []
    config: dict[str, Any] = {"known_by": "means", "step": STEP}
    return [run_of(source, "haystack_scores", (), config=config, means=means, notes=tuple(notes))]


_read_rows = reader_of(REPORT, "haystack")
READERS = {
    "haystack": table_reader("haystack", REPORT, _read_report),
    "haystack_result": Reader(_read_result, _is_result),
    "haystack_scores": Reader(
        _read_scores,
        lambda peek: peek.columns == {"metrics", "score"},
        rows=ToolRows(lambda names: names == {"metrics", "score"}, lambda rows: rows, "scores of Haystack"),
    ),
}
