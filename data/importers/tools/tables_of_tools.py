"""Tables of ARES, open-rag-eval, UpTrain, Giskard and continuous-eval: columns hold other than they say."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.formats.table import reader_of, table_reader
from ragtriage.data.importers.importer import Options, Peek, Reader, Row, ToolRows, each, read_each
from ragtriage.data.importers.parsing.cells import CellError, read_score
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.rows import Spool
from ragtriage.data.importers.parsing.shapes import decoded, items, mapping, objects, others, unquoted_number
from ragtriage.data.importers.parsing.values import fields_in
from ragtriage.data.store.parsed_run import ParsedRun, Record

ARES_METRICS = {
    "Context_Relevance_Label": "context_relevance",
    "Answer_Faithfulness_Label": "faithfulness",
    "Answer_Relevance_Label": "answer_relevancy",
}
ARES_NAMES = {"Query": "question", "Answer": "answer", "input": "input (ARES)", "output": "output (ARES)"}


def _of_ares(row: Row) -> Row:
    """Return a row with its one document as the context, and its labels as those of a person.

    A label is 1 or 0; a blank is none, and anything else stays as it is.
    """
    labels: dict[str, float | None] = {}
    for name in ARES_METRICS:
        with suppress(CellError):
            number = read_score(row.get(name))
            labels[name] = float(number) if isinstance(number, int | float) and number in (0, 1) else None
    sample = {ARES_NAMES.get(name, name): value for name, value in row.items() if labels.get(name) is None}
    document, relevant = sample.pop("Document", None), labels.get("Context_Relevance_Label")
    known = {} if relevant is None else {"relevant": relevant == 1.0}
    sample["retrieved"] = [{"text": document, **known}] if document else []
    rating = {"annotator": "ares", "low": 0.0, "high": 1.0}
    rated = {ARES_METRICS[name]: value for name, value in labels.items() if value is not None}
    sample["human"] = [{**rating, "metric": name, "value": value} for name, value in rated.items()] or None
    blank = {name for name in ARES_METRICS if sample.get(name) in (None, "")}
    return {name: value for name, value in sample.items() if name not in blank}


ARES = ToolRows(
    lambda names: {"Query", "Document", "Answer"} <= names,
    each(_of_ares),
    "read as rows of ARES: `Document` is the only retrieved one, a label is a person's, a blank is none",
)


CITED = re.compile(r"\[(\d{1,4})\]")


def _samples(records: Iterator[Record]) -> Iterator[Record]:
    """Yield one row for each query and run, with its passages in the order of the rows."""
    spool = Spool()
    for line, row in records:
        key = f"{row.get('query_id')}\x1f{row.get('query_run')}" if isinstance(row, dict) else f"line {line}"
        spool.add(key, line, row)
    for key in spool.keys:
        rows = list(spool.rows(key))
        line, first = rows[0]
        if not isinstance(first, dict):
            yield line, first
            continue
        passages = [
            {"text": row["passage"], "passage_id": None if name in (None, "") else str(name).strip("[] ")}
            for _, row in rows
            if row.get("passage")
            for name in [row.get("passage_id")]
        ]
        answers = (row["generated_answer"] for _, row in rows if row.get("generated_answer"))
        rest = {name: value for name, value in first.items() if name not in ("passage", "passage_id")}
        yield line, {**rest, "generated_answer": next(answers, None), "retrieved": passages}


def _read_cited(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read a table; citations of passages that the query has not are told."""

    def checked(records: Iterable[Record]) -> Iterator[Record]:
        for line, record in records:
            if isinstance(record, dict) and isinstance(record.get("answer"), str):
                ids = {str(document.get("id")) for document in objects(record.get("retrieved"))}
                for _ in set(CITED.findall(record["answer"])) - ids:
                    errors.remark("an answer cites a passage that its query has not", line)
            yield line, record

    return [replace(run, records=checked(run.records)) for run in _read_rows(source, options, errors)]


OPEN_RAG_EVAL = ToolRows(
    lambda names: {"query_id", "query", "passage_id", "passage", "generated_answer"} <= names,
    _samples,
    "read as rows of open-rag-eval: the rows of one query and run are the passages of one sample",
)
_read_rows = reader_of(OPEN_RAG_EVAL, "open_rag_eval")


EMPTY = ("EMPTY MESSAGE", "<EMPTY MESSAGE>")
SCORE, REASON = "score_", "explanation_"


def _of_experiment(row: Row) -> Row:
    """Return a row with the passage cut out of a document as the context, and the document as candidate."""
    sample = {name: value for name, value in row.items() if name not in ("response", "document_text")}
    passage, document = row.get("response"), row.get("document_text")
    if row.get("answer") in EMPTY:
        sample["answer"] = None
    sample["retrieved"] = [{"text": passage}] if passage and passage not in EMPTY else []
    sample["candidates"] = [{"text": document}] if document else []
    if row.get("question_idx") is not None and row.get("row_idx") is not None:
        sample["question_id"] = f"{row['question_idx']}-{row['row_idx']}"
    if row.get("experiment_id") is not None:
        persona = f" ({row['persona']})" if row.get("persona") else ""
        sample["run"] = f"experiment {row['experiment_id']}{persona}"
    return sample


def _of_result(row: Row) -> Row:
    """Return a row with each check as a score and its explanation as the reason."""
    checks = [name.removeprefix(SCORE) for name in row if name.startswith(SCORE)]
    used = {f"{prefix}{check}" for check in checks for prefix in (SCORE, REASON)}
    scores: Row = {}
    for check in checks:
        value, reason = row[f"{SCORE}{check}"], row.get(f"{REASON}{check}")
        scores[metric_name(check)[0]] = {
            "value": None if isinstance(value, str) and not value.strip() else unquoted_number(value),
            "reason": reason if isinstance(reason, str) and reason else None,
        }
    return {**{name: value for name, value in row.items() if name not in used}, "scores": scores}


EXPERIMENT = ToolRows(
    lambda names: {"question", "question_idx", "document_text", "response", "answer"} <= names,
    each(_of_experiment),
    "read as an experiment of UpTrain: `response` is the passage that was cut out of `document_text`, "
    "EMPTY MESSAGE is none",
)
RESULTS = ToolRows(
    lambda names: (
        "question" in names and any(f"{REASON}{name[6:]}" in names for name in names if name[:6] == SCORE)
    ),
    each(_of_result),
    "read as results of UpTrain: `score_` columns are scores, `explanation_` columns their reasons",
)


GISKARD = "giskard_testset"
COLUMNS = {"question", "reference_answer", "reference_context", "conversation_history"}
DOCUMENT = re.compile(r"^Document \d+: ", re.MULTILINE)
MOST_TAG = 60


def _of_giskard(row: Row, _line: int, _errors: ValidationErrors) -> Row:
    fields, turns = fields_in(row.get("metadata")), decoded(row.get("conversation_history"))
    labels = {key: fields[key] for key in ("topic", "seed_document_id") if fields.get(key) is not None}
    context = row.get("reference_context")
    # The numbers of the documents in a reference context are not ids outside the toolkit.
    passages = DOCUMENT.split(context) if isinstance(context, str) else []
    history = [
        {"role": turn.get("role"), "text": turn.get("content")} if isinstance(turn, Mapping) else turn
        for turn in items(turns)
    ]
    record = {
        "question_id": row.get("id"),
        "question": row.get("question"),
        "history": history or None,
        "reference_answer": row.get("reference_answer"),
        "relevant": [{"text": text.removesuffix("\n\n")} for text in passages if text.strip()] or None,
        "query_type": fields.get("question_type"),
        "tags": {key: str(value) for key, value in labels.items() if len(str(value)) <= MOST_TAG} or None,
    }
    return {**others(row, (*COLUMNS, "id", "metadata")), **record}


REFUSAL = "refuse-to-answer"
RATINGS = {
    "correct": {"metric": "correctness", "value": 1.0},
    "incorrect": {"metric": "correctness", "value": 0.0},
    REFUSAL: {"metric": "refused", "value": 1.0},
}
# Shares of chunks in or out of the gold; the names alone would read as metrics of a judge.
OWN_NAMES = {
    "context_precision": "retrieval_precision",
    "context_recall": "retrieval_recall",
    "context_f1": "retrieval_f1",
}
HINT = "the data set that was evaluated, as JSONL, in the same command: metrics are joined by position"


def _of_continuous_eval(row: Row) -> Row:
    """Return a row with its annotation as a human label; a refusal is neither right nor wrong."""
    if "annotation" not in row:
        return row
    label = str(row.get("annotation") or "").strip().lower()
    if label not in RATINGS:
        return {"refused": None, **row, "human": None}
    human = {**RATINGS[label], "annotator": "continuous-eval", "note": label, "low": 0.0, "high": 1.0}
    refused = {"refused": True, "refused_source": "human"} if label == REFUSAL else {}
    rest = {name: value for name, value in row.items() if name != "annotation"}
    return {"refused": None, **rest, **refused, "human": [human]}


def _is_metrics(peek: Peek) -> bool:
    """Return whether a document is {module: {metric: [{name: value}]}}."""
    modules = list(peek.keys.values())
    metrics = [rows for module in map(mapping, modules) for rows in module.values()]
    first = (isinstance(rows, list) and rows and _is_figures(rows[0]) for rows in metrics)
    return bool(modules) and all(map(mapping, modules)) and all(first)


def _is_figures(row: object) -> bool:
    values = mapping(row).values()
    return bool(values) and all(value is None or isinstance(value, int | float) for value in values)


def _read_data(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read a data set, with the metrics of the files beside it joined to its rows by position."""
    figures: list[Row] = []
    for file in options.companions:
        figures = _merged(file, figures, _figures(file))

    def joined(records: Iterator[Record]) -> Iterator[Record]:
        count = 0
        for line, row in CONTINUOUS_EVAL.convert(records):
            count += 1
            if isinstance(row, dict) and count <= len(figures):
                row = {**row, "scores": figures[count - 1]}
            yield line, row
        if figures and options.limit is None and count != len(figures):
            raise source.error(f"has {count:,} rows for metrics of {len(figures):,}", HINT)

    return reader_of(replace(CONTINUOUS_EVAL, convert=joined), "continuous_eval")(source, options, errors)


def _figures(file: InputFile) -> list[Row]:
    """Return the figures of each row in a file of metrics, under our names."""
    rows: list[Row] = []
    for module in file.document().values():
        for listed in module.values():
            if not all(map(_is_figures, listed)):
                raise file.error("holds metrics that are not numbers", "{module: {metric: [{name: number}]}}")
            named = [
                {OWN_NAMES.get(name, metric_name(name)[0]): value for name, value in row.items()}
                for row in listed
            ]
            rows = _merged(file, rows, named)
    return rows


def _merged(file: InputFile, rows: list[Row], more: list[Row]) -> list[Row]:
    if rows and len(rows) != len(more):
        raise file.error(f"has metrics of {len(rows):,} rows and of {len(more):,}", "one value for each row")
    return [{**row, **other} for row, other in zip(rows, more, strict=True)] if rows else more


CONTINUOUS_EVAL = ToolRows(
    lambda names: (
        "question" in names and ("ground_truth_contexts" in names or {"ground_truths", "annotation"} <= names)
    ),
    each(_of_continuous_eval),
    "read as a data set of continuous-eval: an annotation is a human label, a model is a run",
)


READERS = {
    "ares": table_reader("ares", ARES),
    "open_rag_eval": table_reader("open_rag_eval", OPEN_RAG_EVAL, _read_cited),
    "uptrain_experiment": table_reader("uptrain_experiment", EXPERIMENT),
    "uptrain": table_reader("uptrain", RESULTS),
    GISKARD: Reader(read_each(GISKARD, _of_giskard, questions=True)),
    "continuous_eval": table_reader("continuous_eval", CONTINUOUS_EVAL, _read_data),
    "continuous_eval_metrics": Reader(detect=_is_metrics),
}
