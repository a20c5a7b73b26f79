"""Samples from results of promptfoo: which variable asks, what was retrieved, what was answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.formats.tool_rows import Row
from ragtriage.data.importers.parsing.documents import documents_of
from ragtriage.data.importers.parsing.payloads import answer_in, contexts_in, question_in
from ragtriage.data.importers.parsing.records.shapes import mapping, objects, tag_value, tags_of
from ragtriage.data.importers.tools.facts import last_line
from ragtriage.data.importers.tools.promptfoo.layouts import FAILED
from ragtriage.data.importers.tools.promptfoo.scores import scores_and_checks

QUESTION_VARS = ("question", "query", "input", "user_input", "user_query")
CONTEXT_VARS = ("contexts", "context", "retrieved_contexts", "documents")
REFERENCE_VARS = ("reference", "reference_answer", "expected", "expected_answer", "ground_truth", "answer")
ID_KEYS = ("qid", "id", "question_id")


def question_variable(head: Sequence[Row]) -> str | None:
    """Return the variable that holds the question: by its name, or the one that ends in "?" most often."""
    asked: Counter[str] = Counter()
    names: dict[str, None] = {}
    for row in head:
        for name, value in mapping(row.get("vars")).items():
            names.setdefault(name)
            asked[name] += isinstance(value, str) and value.rstrip().endswith(("?", "\uff1f"))
    by_name = next((name for known in QUESTION_VARS for name in names if name.lower() == known), None)
    if by_name is not None or not names:
        return by_name
    (best, count), *_ = asked.most_common(1)
    return best if count else next(iter(names)) if len(names) == 1 else None


def question_id(row: Row) -> object:
    """Return what names the question of a result: its metadata, the description or the number of its test."""
    case = mapping(row.get("testCase"))
    metadata = mapping(case.get("metadata"))
    named = next((metadata[key] for key in ID_KEYS if metadata.get(key)), None)
    return named or case.get("description") or row.get("testIdx")


def sample_of(row: Row, variable: str | None, listed: bool, errors: ValidationErrors, line: int) -> Row:
    """Return the sample of a result.

    Args:
        row: the result, in the form of version 3.
        variable: the variable that holds the question; None where no one reads as it.
        listed: whether some results of the file have a list of contexts, so that a text is not one.
        errors: where a question that is read from the prompt is told.
        line: the line or position of the result.
    """
    variables, response = mapping(row.get("vars")), mapping(row.get("response"))
    prompt = mapping(row.get("prompt")).get("raw")
    question = question_in(variables.get(variable)) if variable else None
    if question is None and isinstance(prompt, str):
        question = prompt
        errors.remark("no variable reads as the question: the prompt is read as the question", line)
    output = response.get("output")
    failed = row.get("failureReason") == FAILED or (output is None and bool(row.get("error")))
    cached = response.get("cached") is True
    tokens = mapping(row.get("tokenUsage")) or mapping(response.get("tokenUsage"))
    context, reference = _contexts(row, listed), _first(variables, REFERENCE_VARS)
    used = {variable, reference[0], *(CONTEXT_VARS if context is not None else ())}
    metadata = mapping(mapping(row.get("testCase")).get("metadata"))
    tags = tags_of({name: value for name, value in metadata.items() if name not in ID_KEYS})
    record: Row = {
        "question": question,
        "answer": answer_in(output),
        "reference_answer": reference[1],
        "retrieved": context,
        "prompt": prompt if isinstance(prompt, str) else None,
        "latency_ms": None if cached else row.get("latencyMs"),  # of a cached answer that of the cache
        "cost_usd": None if cached or failed else row.get("cost", response.get("cost")),
        "input_tokens": None if cached or failed else tokens.get("prompt"),
        "output_tokens": None if cached or failed else tokens.get("completion"),
        "tags": tags
        | ({"error": last_line(row.get("error") or response.get("error") or "error")} if failed else {}),
        "vars": {name: tag_value(value) for name, value in variables.items() if name not in used} or None,
    }
    return record | scores_and_checks(row, failed)


def _first(variables: Mapping[str, Any], names: Sequence[str]) -> tuple[str | None, Any]:
    found = next((name for name in names if variables.get(name) is not None), None)
    return found, None if found is None else variables[found]


def listed_contexts(row: Row) -> list[Any] | None:
    """Return what was retrieved where it is a list: of the response, its output or a variable."""
    response = mapping(row.get("response"))
    for fields in (mapping(response.get("metadata")), mapping(row.get("vars"))):
        for name in CONTEXT_VARS:
            if isinstance(fields.get(name), list):
                documents = documents_of(fields[name])
                return documents if isinstance(documents, list) else None
    return contexts_in(response.get("output"))


def _contexts(row: Row, listed: bool) -> object:
    """Return what was retrieved; a text is one document, unless other results of the file have lists."""
    documents = listed_contexts(row)
    metadata = mapping(mapping(row.get("response")).get("metadata"))
    if documents is None:
        fields = (metadata, mapping(row.get("vars")))
        texts = [held.get(name) for held in fields for name in CONTEXT_VARS]
        text = next((text for text in texts if isinstance(text, str) and text.strip()), None)
        return None if listed or text is None else [{"text": text}]
    ids = next((metadata[name] for name in ("chunk_ids", "context_ids", "ids") if name in metadata), None)
    held = objects(documents)
    if isinstance(ids, list) and len(ids) == len(held) == len(documents):
        return [{**document, "id": name} for document, name in zip(held, ids, strict=True)]
    return documents
