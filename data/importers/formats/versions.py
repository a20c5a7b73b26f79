"""Runs with means: a table with a row per version, and dated results of several pipelines in one document."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Any

from ragtriage.data.errors import ValidationErrors, type_name
from ragtriage.data.importers.formats.table import runs_of_table
from ragtriage.data.importers.importer import Options, Reader, run_of
from ragtriage.data.importers.parsing.columns import plan_columns
from ragtriage.data.importers.parsing.head_column import with_point
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import guessed_fields, metric_name, plain_name
from ragtriage.data.importers.parsing.rows import Table, open_table
from ragtriage.data.importers.parsing.shapes import mapping
from ragtriage.data.store.parsed_run import ParsedRun
from ragtriage.metrics.metric_registry import declared, is_share

SHORT = {"f1": "answer_f1", "precision": "answer_precision", "recall": "answer_recall"}
FACTS = {"version", "date", "n", "unit", "source"}
NAMES = (
    *("version", "name", "config", "configuration", "pipeline", "system", "variant", "experiment", "run"),
    *("model",),
)
CHUNKING = {
    *("chunk_size", "size", "chunk_overlap", "overlap", "chunk_strategy", "chunker", "splitter", "top_k")
}
CHUNK_NAMES = {"size": "chunk_size", "overlap": "chunk_overlap"}  # as a printed grid has them
NO_MEAN = {"std", "stdev", "sd", "se", "min", "max", "median", "ci", "total", "count"}
MOST_ROWS = 1000
UNITS = {"percent": 100.0, "%": 100.0, "share": 1.0}
_BLANK = {"", "-", "–", "nan", "null", "none", "n/a"}
PERCENT_FROM = 1.5  # a value above this cannot be a share


def is_versions(columns: Iterable[str]) -> bool:
    """Return whether a table has versions with means: names or chunkings, metrics, and no question."""
    names = {plain_name(name) for name in columns}
    metrics = {name for name in names - FACTS if _metric(name)}
    if not metrics or not names.isdisjoint({"question_id", "query_id"}) or guessed_fields(names) & OF_SAMPLES:
        return False
    settings = names - FACTS - metrics
    return "version" in names if not settings else bool(names & ({*NAMES} | CHUNKING))


OF_SAMPLES = {"question", "answer", "retrieved", "reference_answer", "question_id", "conversation_id"}


def _metric(column: str) -> str:
    plain = plain_name(column)
    plain = plain.removeprefix("avg_").removeprefix("mean_").removesuffix("_mean").removesuffix("_avg")
    name = SHORT.get(plain, plain)
    metric = declared(name)
    if metric is not None:
        return name if metric.per_k else metric.key
    key, is_known = metric_name(plain)
    return key if is_known and declared(key) is not None else ""


def read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read one run per version, without records."""
    table = open_table(source, errors, options.limit, rows=options.rows)
    rows = [
        (line, {plain_name(str(key)): value for key, value in row.items()})
        for line, row in islice(table.rows(), MOST_ROWS + 1)
        if isinstance(row, Mapping)
    ]
    if len(rows) > MOST_ROWS:
        raise source.error(f"has more than {MOST_ROWS:,} versions", f"at most {MOST_ROWS:,}, one in a row")
    shares = ((row, name) for _, row in rows for name in row.keys() - FACTS if is_share(_metric(name)))
    values = [_value(row[name]) for row, name in shares if not str(row[name]).rstrip().endswith("%")]
    scale = 100.0 if any(value is not None and value > PERCENT_FROM for value in values) else 1.0
    named = next((name for name in NAMES if any(row.get(name) not in (None, "") for _, row in rows)), "")
    runs = [run for line, row in rows for run in _parsed_run(source, line, row, (named, scale), errors)]
    errors.raise_if_any()
    runs = [replace(run, notes=(*table.notes, *run.notes)) for run in runs]
    again = {name for name, times in Counter(run.name for run in runs).items() if times > 1}
    runs = [replace(run, name=_told_apart(run)) if run.name in again else run for run in runs]
    name, times = Counter(run.name for run in runs).most_common(1)[0] if runs else ("", 0)
    if times > 1:
        what = f"has {times:,} rows for {name!r} with the same settings"
        raise source.error(what, "one row with means for each version, or a question in each row of samples")
    return runs


def _told_apart(run: ParsedRun) -> str:
    """Return the name of a run with its settings, where the name alone is that of several."""
    settings = {name: value for name, value in run.config.items() if name not in BOOKKEEPING}
    return f"{run.name}, {_name_of(settings)}" if settings else run.name


BOOKKEEPING = {"known_by", "step", "n_questions", "source"}


def _parsed_run(
    source: InputFile,
    line: int,
    row: Mapping[str, Any],
    reading: tuple[str, float],  # the column with the names, "" for none; and the scale of the shares
    errors: ValidationErrors,
) -> Iterator[ParsedRun]:
    named, scale = reading
    settings = _settings(row, named)
    name = str(row.get(named) or "").strip() if named else _name_of(settings)
    if not name:
        errors.add(line, named or "version", "missing", "a name for the version")
        return
    unit = str(row.get("unit") or "").strip().lower()
    if unit and unit not in UNITS:
        errors.add(line, "unit", f"found {unit[:40]!r}", ", ".join(UNITS))
        return
    scale = UNITS.get(unit, scale)
    means, digits = {}, 0
    for column in row.keys() - FACTS - settings.keys() - {named}:
        metric = _metric(column)
        text = with_point(str(row[column] if row[column] is not None else "").strip())
        value = _value(text)
        if not metric:
            continue
        if value is None and str(text).lower() not in _BLANK:
            errors.add(
                line, column, f"found {str(text)[:40]!r}", "a number, or nothing if it was not measured"
            )
        elif value is not None:
            share = is_share(metric)  # other metrics have a unit of their own
            own_scale = 100.0 if str(text).endswith("%") else scale
            means[metric] = value / own_scale if share else value
            digits = max(digits, len(str(text).rstrip("%").strip().partition(".")[2])) if share else digits
    if not means:
        errors.add(line, "", "has no mean", "at least one metric with a number")
        return
    config: dict[str, Any] = {"known_by": "means", "step": 10.0**-digits / scale}
    n = _value(row.get("n"))
    if n is not None and n >= 1:
        config["n_questions"] = int(n)
    told = f"read as settings: {', '.join(settings)}" if settings else ""
    yield run_of(
        *(source, "versions", (), name),
        config=settings | config | ({"source": str(row["source"])} if row.get("source") else {}),
        created_at=_date(row.get("date"), line, errors),
        notes=("summary scores only: no samples, no intervals", *filter(None, [told])),
        means=dict(sorted(means.items())),
    )


def _settings(row: Mapping[str, Any], named: str) -> dict[str, Any]:
    """Return the settings in a row: what is neither its name, nor a fact, nor a mean or its spread."""
    settings = {}
    for column, value in row.items():
        spread = NO_MEAN & set(column.split("_"))
        if column in FACTS or column == named or _metric(column) or spread or value in (None, ""):
            continue
        chunked = not {"chunk_size", "chunk_overlap"} & row.keys()
        name = CHUNK_NAMES.get(column, column) if chunked else column
        number = _value(value)
        settings[name] = value if number is None else int(number) if number.is_integer() else number
    return settings


def _name_of(settings: Mapping[str, Any]) -> str:
    """Return a name made of the settings, for a row without one, such as "chunk_size 256, overlap 32"."""
    return ", ".join(f"{name} {value}" for name, value in settings.items())


def _value(value: object) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = float(str(value).strip().removesuffix("%"))
    except ValueError:
        return None
    return number if abs(number) < 1e9 else None


def _date(value: object, line: int, errors: ValidationErrors) -> datetime | None:
    if value is None or not str(value).strip():
        return None
    try:
        return datetime.fromisoformat(str(value).strip()).replace(tzinfo=None)
    except ValueError:
        errors.add(line, "date", f"found {str(value)[:40]!r}", "a date as in 2026-01-31")
        return None


TIME_FORMATS = ("%Y%m%d_%H%M%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S")
MEANS_NOTE = "the file gives metrics as means over the run only: kept in the configuration, not as scores"


def read_pipelines(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read one run for each pipeline."""
    document: Mapping[str, Any] = source.document()
    created_at = _timestamp(document.get("timestamp"), errors)
    runs: list[ParsedRun] = []
    for name, rows in document["pipeline_results"].items():
        field = f"pipeline_results.{name}"
        if not isinstance(rows, list):
            errors.add(None, field, f"found {type_name(rows)}", "a list of objects")
            continue
        table = Table.of("json", islice(enumerate(rows, start=1), options.limit))
        plan = plan_columns(table, options.mapping, source.name)
        means = dict(mapping(mapping(document.get("ragas_results")).get(name)))
        config = {"pipeline": name, **({"reported_means": means} if means else {})}
        facts = {"config": config, "created_at": created_at, "notes": (MEANS_NOTE,) if means else ()}
        base = run_of(source, "pipeline_results", (), name, **facts)
        parts = runs_of_table(table, plan, base, errors)
        runs += [part if part.name == name else replace(part, name=f"{name} {part.name}") for part in parts]
    return runs


def _timestamp(value: object, errors: ValidationErrors) -> datetime | None:
    if value is None:
        return None
    for pattern in TIME_FORMATS:
        try:
            return datetime.strptime(str(value), pattern)  # noqa: DTZ007 - the file names no zone: UTC
        except ValueError:
            continue
    errors.add(None, "timestamp", f"found {str(value)[:40]!r}", "a time as in 20250610_204702")
    return None


READERS = {
    "versions": Reader(read, lambda peek: is_versions(peek.columns)),
    "pipeline_results": Reader(
        read_pipelines, lambda peek: isinstance(peek.keys.get("pipeline_results"), dict)
    ),
}
