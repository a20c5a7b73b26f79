"""lm-evaluation-harness: logged samples, one line a document and filter."""

from collections.abc import Iterator
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Options, Reader, Row, run_of
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.rows import Spool, object_rows, rows_at
from ragtriage.data.importers.parsing.shapes import contexts_in, items, question_in
from ragtriage.data.importers.parsing.values import Fields, number, question_id_in, text_in
from ragtriage.data.store.parsed_run import ParsedRun, Record

USUAL_FILTER = "none"
REPEATED = "the first of several replies to a question is read"


def _read(source: InputFile, _options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    documents = Spool()
    for line, row in object_rows(rows_at(source, "", errors), errors, "a logged sample"):
        documents.add(str(row.get("doc_id")), line, row)
    shares = {name: {"direction": "higher", "range": [0.0, 1.0]} for name in ("acc", "acc_norm")}
    return [run_of(source, "lm_eval", _samples(documents, errors), metrics=shares)]


def _samples(documents: Spool, errors: ValidationErrors) -> Iterator[Record]:
    for name in documents.keys:
        lines = [(line, Fields(row)) for line, row in documents.rows(name)]
        line, first = next((each for each in lines if each[1].text("filter") == USUAL_FILTER), lines[0])
        if any(len(items(reply)) > 1 for reply in items(first.at("resps"))) and not _choices(first):
            errors.remark(REPEATED, line)
        yield line, _sample(name, first, [row for _, row in lines])


def _sample(name: str, first: Fields, rows: list[Fields]) -> Row:
    document, choices = first.fields("doc"), _choices(first)
    prompt = first.fields("arguments").fields("gen_args_0").text("arg_0")
    return {
        "question_id": question_id_in(document.all) or name,
        "question": _question(document) or prompt,
        "answer": _best_choice(first, choices) if choices else _reply(first),
        "reference_answer": _target(first, choices),
        "retrieved": contexts_in(document.all),
        "scores": _scores(rows, is_choice=bool(choices)),
        "tool": "lm-evaluation-harness",
    }


def _question(document: Fields) -> str | None:
    """Return the question of a document under one of the usual names, and nothing else that it holds."""
    asked = {name: document.at(name) for name in ("question", "query", "input", "problem", "prompt")}
    return question_in({name: value for name, value in asked.items() if isinstance(value, str)})


def _choices(row: Fields) -> list[str]:
    """Return the choices of a multiple-choice document that was scored by the likelihood of each."""
    choices = row.fields("doc").at("choices")
    texts = choices.get("text") if isinstance(choices, dict) else choices
    replies = items(row.at("filtered_resps"))
    is_scored = bool(replies) and all(isinstance(reply, list) for reply in replies)
    listed = [str(text) for text in items(texts)]
    return listed if is_scored and len(listed) == len(replies) else []


def _best_choice(row: Fields, choices: list[str]) -> str | None:
    likelihoods = [
        number(items(reply)[0]) if items(reply) else None for reply in items(row.at("filtered_resps"))
    ]
    known = [(value, text) for value, text in zip(likelihoods, choices, strict=True) if value is not None]
    return max(known, key=lambda each: each[0])[1] if known else None


def _reply(row: Fields) -> str | None:
    replies: Any = row.at("resps")
    while isinstance(replies, list) and replies:
        replies = replies[0]
    return text_in(replies)


def _target(row: Fields, choices: list[str]) -> str | None:
    target = row.text("target")
    if choices and target is not None and target.isdecimal() and int(target) < len(choices):
        return choices[int(target)]
    listed = row.decoded("target")
    return text_in(listed[0]) if isinstance(listed, list) and listed else target


def _scores(rows: list[Fields], *, is_choice: bool) -> Row:
    """Return the metrics of every filter; that of a choice says whether the answer is right."""
    scores: Row = {}
    for row in rows:
        kind = row.text("filter") or USUAL_FILTER
        for name in map(str, items(row.at("metrics"))):
            value = row.at(name)
            if isinstance(value, bool | int | float):
                plain = "correctness" if is_choice and name == "acc" else metric_name(name)[0]
                scores[plain if kind == USUAL_FILTER else f"{plain}_{metric_name(kind)[0]}"] = float(value)
    return scores


READERS = {"lm_eval": Reader(_read)}
