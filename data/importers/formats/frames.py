"""Runs from Python: a DataFrame, a list of dicts, or results of LangChain, LlamaIndex and Haystack."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from ragtriage.data.errors import InputError, ValidationError, ValidationErrors
from ragtriage.data.importers.formats import native
from ragtriage.data.importers.formats.ragas import OWN_COLUMNS, is_ragas
from ragtriage.data.importers.formats.table import brought_to_samples, runs_of_table
from ragtriage.data.importers.importer import ToolRows
from ragtriage.data.importers.parsing.columns import plan_columns
from ragtriage.data.importers.parsing.objects import PLAIN, USAGE, framework_fields, plain, structured_text
from ragtriage.data.importers.parsing.rows import Table
from ragtriage.data.importers.parsing.shapes import answer_in, documents_of, question_in
from ragtriage.data.store.parsed_run import ParsedRun

if TYPE_CHECKING:
    import pandas as pd

QUESTIONS = ("question", "query", "input", "user_input", "messages")
ANSWERS = ("answer", "result", "response", "output", "output_text", "generation", "messages", "replies")
DOCUMENTS = (
    *("retrieved", "context", "contexts", "source_documents", "source_nodes", "documents"),
    "retrieved_documents",
)
T = TypeVar("T")
SPEAKERS = {"human": "user", "user": "user", "ai": "assistant", "assistant": "assistant"}
RETRIEVAL_QA = {"query", "result", "source_documents"}  # a chain of LangChain, also with texts alone
MOST_LOOKED_AT = 3  # items of a list
DEEPEST = 3
QUESTION_ACCEPTED = f"the question under one of {', '.join(QUESTIONS)}"
ANSWER_ACCEPTED = "the response once its response_gen was read"


def is_result(row: object, depth: int = 0) -> bool:
    """Return whether a row is an object of a framework, or holds one."""
    if isinstance(row, PLAIN) or depth > DEEPEST:
        return False
    if isinstance(row, Mapping):
        if depth == 0 and (row.keys() == {"query", "result"} or row.keys() >= RETRIEVAL_QA):
            return True
        return any(is_result(value, depth + 1) for value in row.values())
    if isinstance(row, list | tuple):
        return any(is_result(item, depth + 1) for item in row[:MOST_LOOKED_AT])
    return framework_fields(row) is not None


def rows_of_results(rows: Iterable[object], errors: ValidationErrors) -> list[Any]:
    """Return rows of which some are or hold objects of a framework, in the native form.

    Args:
        rows: dicts of chains, engines or pipelines, and answers of Haystack. One that is neither stays.
        errors: takes the rows without a question, and those whose answer is a stream that was not read.
    """
    found = []
    for number, row in enumerate(rows, start=1):
        value = plain(row)
        if not isinstance(value, Mapping):
            found.append(row)
            continue
        if isinstance(row, Mapping):
            texts = {key: structured_text(row[key]) for key in ANSWERS if key in row and key in value}
            value = {**value} | {key: text for key, text in texts.items() if text is not row[key]}
        parts = row.values() if isinstance(row, Mapping) else (row,)
        if unread := next(filter(_is_unread, parts), None):
            what = f"found {type(unread).__name__}, a stream that was not read"
            errors.add(number, "answer", what, ANSWER_ACCEPTED)
        record = record_of_result(value)
        if not record.get("question"):
            given = f"found {type(row).__name__}" if not isinstance(row, Mapping) else "is missing"
            names = ", ".join(str(key)[:40] for key in [*value][:10])
            errors.add(number, "question", f"{given} (with {names})", QUESTION_ACCEPTED)
        found.append(record)
    return found


def _is_unread(value: object) -> bool:
    """Return whether a value is a streamed response of which nothing is written yet."""
    if not hasattr(value, "response_txt") and not hasattr(value, "queue"):
        return False
    fields = framework_fields(value)
    return fields is not None and "source_nodes" in fields and not fields.get("response")


def record_of_result(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result of plain values in the native form, with what else it has as it is."""
    parts = list(_parts(row))
    asked, question = _of_first(parts, QUESTIONS, question_in)
    answered, answer = _of_first(parts, ANSWERS, answer_in)
    retrieved, documents = _of_first(parts, DOCUMENTS, _documents)
    documents = _artifacts(row.get("messages")) if documents is None else documents
    read = {asked, answered, retrieved, "answers", "question", "answer", "retrieved"}
    rest = {key: value for key, value in row.items() if key not in read and not _is_part(value)}
    known = {"question": question, "answer": answer, "retrieved": documents, **_figures(parts, row)}
    if turns := _turns(row.get("chat_history")):
        known["history"] = turns
        del rest["chat_history"]
    return {**rest, **{key: value for key, value in known.items() if value is not None}}


def _parts(row: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a row and the objects in it that hold a part of the result, those of later components first."""
    yield row
    inner = [value for value in reversed([*row.values()]) if _is_part(value)]
    for part in (row, *inner):
        answers = part.get("answers")
        if isinstance(answers, list) and answers and isinstance(answers[0], Mapping):
            yield answers[0]
    yield from inner


def _is_part(value: object) -> bool:
    """Return whether a value is a response, a message, or what a component of a pipeline returned."""
    if not isinstance(value, Mapping):
        return False
    listed = any(
        isinstance(value.get(key), list) for key in ("replies", "documents", "answers", "source_nodes")
    )
    return listed or "role" in value


def _of_first(
    parts: Sequence[Mapping[str, Any]], keys: Sequence[str], read: Callable[[Any], T | None]
) -> tuple[str, T | None]:
    """Return the first value under some keys that can be read, with its key if that is one of the row."""
    for part in parts:
        for key in keys:
            if part.get(key) is not None and (value := read(part[key])) is not None:
                return (key if part is parts[0] else ""), value
    return "", None


def _documents(value: Any) -> list[Any] | None:
    """Return a list of documents in the native form; None for texts in one, and for messages."""
    if not isinstance(value, list) or any(isinstance(item, Mapping) and "role" in item for item in value):
        return None
    documents = documents_of(value)
    return documents if isinstance(documents, list) else None


def _artifacts(messages: Any) -> list[Any] | None:
    """Return the documents that the tools of an agent returned beside their messages."""
    listed = messages if isinstance(messages, list) else []
    found = [_documents(message.get("artifact")) for message in listed if isinstance(message, Mapping)]
    known = [documents for documents in found if documents is not None]
    return [document for documents in known for document in documents] if known else None


def _turns(messages: Any) -> list[dict[str, Any]]:
    """Return the messages of a conversation as turns in the native form; none for anything else."""
    turns = []
    for message in messages if isinstance(messages, list) else []:
        role = SPEAKERS.get(str(message.get("role"))) if isinstance(message, Mapping) else None
        text = answer_in([message]) if role == "assistant" else question_in([message]) if role else None
        turns += [{"role": role, "text": text}] if text else []
    return turns


def _figures(parts: Sequence[Mapping[str, Any]], row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tokens and the model that the messages of a result state, where the row has none itself."""
    listed = [value for part in parts for value in part.values()]
    items = [
        *parts[1:],
        *(item for value in listed for item in (value if isinstance(value, list) else [value])),
    ]
    stated = {id(item): item[USAGE] for item in items if isinstance(item, Mapping) and item.get(USAGE)}
    figures: dict[str, Any] = {}
    for name in ("input_tokens", "output_tokens"):
        amounts = [usage[name] for usage in stated.values() if name in usage]
        figures |= {name: sum(amounts)} if amounts and name not in row else {}
    tags = {
        name: usage[name] for usage in stated.values() for name in ("model", "finish_reason") if name in usage
    }
    own = row.get("tags")
    return {**figures, **({"tags": {**tags, **(own if isinstance(own, Mapping) else {})}} if tags else {})}


FRAME_ACCEPTED = "a pandas DataFrame or a list of dicts with at least one row"
RESULTS_ACCEPTED = (
    "a pandas DataFrame or a list with at least one row, each a dict or a GeneratedAnswer of Haystack"
)


def runs_from_frame(
    frame: pd.DataFrame | Sequence[Mapping[str, Any]],  # the rows; native, Ragas or any other column names
    name: str,  # name of the run, unless a column has it
    errors: ValidationErrors,  # collector of the errors of single rows, by 1-based row
    *,
    mapping: Mapping[str, str] | None = None,  # column -> field, in place of the guess
    config: Mapping[str, Any] | None = None,  # pipeline configuration to record
    dataset: str = "",
    tools: Iterable[ToolRows] = (),  # the rows of tools that are recognised
) -> list[ParsedRun]:
    """Return the parsed runs of a DataFrame, or of a list of dicts or of results of frameworks.

    Raises:
        InputError: there are no rows, or the mapping is wrong.
    """
    rows = frame_rows(frame, name, results=True)
    table = Table.of("frame", enumerate(rows, start=1))
    base = ParsedRun(name, (), name, "table", config=dict(config or {}), dataset=dataset)
    if native.is_native(table.columns) and not mapping:
        return [replace(base, format="native", records=native.records_of_native(table, errors))]
    ragas = is_ragas(table.columns)
    table = table if ragas else brought_to_samples(table, tools)
    plan = plan_columns(table, mapping or {}, name, metrics_after=OWN_COLUMNS if ragas else ())
    return runs_of_table(table, plan, replace(base, format="ragas" if ragas else "table"), errors)


def frame_rows(frame: Any, name: str, *, results: bool = False) -> list[dict[str, Any]]:
    """Return the rows of a DataFrame or of a list of dicts as plain Python values.

    With `results`, rows that are or hold objects of a framework are brought to the native form.

    Raises:
        InputError: it is neither, has no rows, or one cannot be used; the message calls it by its name.
    """
    accepted = RESULTS_ACCEPTED if results else FRAME_ACCEPTED
    rows = frame
    if hasattr(frame, "to_dict") and hasattr(frame, "columns"):
        rows = frame.to_dict(orient="records")
    what = ""
    if not isinstance(rows, Sequence) or isinstance(rows, str | bytes):
        what = f"found {type(frame).__name__}"
    elif not rows:
        what = "holds no records"
    if what:
        raise InputError([ValidationError(name, None, "", what, accepted)])
    errors = ValidationErrors(name)
    from_objects = results and any(map(is_result, rows))
    values = rows_of_results(rows, errors) if from_objects else [*map(plain, rows)]
    for number, (row, value) in enumerate(zip(rows, values, strict=True), 1):
        if not isinstance(value, Mapping):
            errors.add(number, "", f"found {type(row).__name__}", accepted)
    errors.raise_if_any()
    return values
