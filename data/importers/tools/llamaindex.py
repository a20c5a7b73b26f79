"""LlamaIndex: results of BatchEvalRunner and of a retriever evaluation, predictions, and data sets."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice, zip_longest
from math import isfinite, log2
from typing import Any

from ragtriage.data.declarations import declaration_fault
from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Options, Peek, Reader, Row, question_set, run_of
from ragtriage.data.importers.parsing.documents_in_json import items_at, names_of
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.rows import object_rows, rows_at
from ragtriage.data.importers.parsing.shapes import (
    OWN,
    Numbering,
    documents_of,
    gold_passages,
    items,
    mapping,
    others,
    own_fields,
    relevant_of_texts,
    unquoted_number,
)
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.data.store.sample_models import is_finite

BATCH, RETRIEVAL, PREDICTIONS = "llamaindex", "llamaindex_retrieval", "llamaindex_predictions"
NAMES = {"relevancy": "answer_relevancy", "context_relevancy": "context_relevance"}
BATCH_ACCEPTED = "an object of evaluator -> list of {query, response, contexts, passing, score}"
CORRECTNESS = "correctness is from 1 to 5 in LlamaIndex: read as (score - 1) / 4"
NOTHING_RETRIEVED = "nothing was retrieved: LlamaIndex computes no metric then"
HEAD = 50
TOLERANCE = 1e-6


def _is_batch(peek: Peek) -> bool:
    rows = [value[0] for value in peek.keys.values() if isinstance(value, list) and value]
    is_result = all(isinstance(row, dict) and {"query", "response", "passing"} <= row.keys() for row in rows)
    return bool(rows) and len(rows) >= len(peek.keys) - 1 and is_result


def read_batch(source: InputFile, _options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read the results of several evaluators, one list each in the order of the questions."""
    names = names_of(source)
    if not any(result for name in names for result in islice(items_at(source, name), 1)):
        raise source.error("is a result of LlamaIndex's BatchEvalRunner without results", BATCH_ACCEPTED)
    graded = islice(items_at(source, "correctness"), HEAD) if "correctness" in names else ()
    grades = [unquoted_number(mapping(result).get("score")) for _, result in graded]
    to_five = any(isinstance(grade, int | float) and grade > 1 for grade in grades)
    records = _of_batch(source, names, to_five, errors)
    return [run_of(source, BATCH, records, notes=(CORRECTNESS,) if to_five else ())]


def _of_batch(
    source: InputFile, names: Sequence[str], to_five: bool, errors: ValidationErrors
) -> Iterator[Record]:
    numbering = Numbering()
    for line, listed in enumerate(zip_longest(*(items_at(source, name) for name in names)), start=1):
        by_name = {name: item[1] for name, item in zip(names, listed, strict=True) if item is not None}
        results = list(by_name.values())
        if any(not isinstance(result, dict) for result in results):
            errors.add(line, "", "holds a result that is not an object", BATCH_ACCEPTED)
            continue
        if len(by_name) < len(names):
            missing = next(name for name in names if name not in by_name)
            errors.add(line, missing[:60], "has fewer results than other evaluators", "lists of one length")
            return
        if len({str(result["query"]) for result in results if result.get("query") is not None}) > 1:
            accepted = "lists with the questions in one order"
            errors.add(line, "query", "differs between the evaluators", accepted)
            continue
        question, answer, contexts, reference = (  # of each the first that an evaluator was given
            next((result[name] for result in results if result.get(name) is not None), None)
            for name in ("query", "response", "contexts", "reference")
        )
        yield (
            line,
            {
                "question": question,
                "answer": answer,
                "reference_answer": reference,
                "retrieved": documents_of(contexts),
                "tool": "LlamaIndex",
                **_verdicts(by_name, to_five),
                **numbering.of(None, question),
            },
        )


def _verdicts(by_name: Mapping[str, Mapping[str, Any]], to_five: bool) -> Row:
    scores: Row = {}
    checks: list[Row] = []
    for name, result in by_name.items():
        score, passing = unquoted_number(result.get("score")), result.get("passing")
        value = score if score is not None else passing
        reason = result.get("feedback")
        if result.get("invalid_result") or value is None:
            value, reason = None, result.get("invalid_reason") or reason or "the evaluator gave no score"
        elif to_five and name == "correctness" and isinstance(score, int | float):
            value = (score - 1) / 4
        scores[NAMES.get(name) or metric_name(name)[0]] = {"value": value, "reason": reason}
        if isinstance(passing, bool) and value is not None:
            checks.append({"name": name, "kind": "evaluator", "actual": score, "passed": passing})
    return {"scores": scores} | ({"checks": checks} if checks else {})


def read_retrieval(source: InputFile, _options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read the results of a retriever evaluation; its figures are compared with those of its own ids."""
    rows = rows_at(source, "", errors)
    head = list(islice(rows, HEAD))
    names: dict[str, None] = {}
    for _, row in head:
        names.update(dict.fromkeys(mapping(mapping(row).get("metric_dict"))))
    keys = sorted({metric_name(name)[0] for name in names})
    share = {"direction": "higher", "range": [0, 1]}
    declared = {key: share for key in keys if declaration_fault(key, share) is None}
    records = _of_retrieval(chain(head, rows), list(names), errors)
    return [run_of(source, RETRIEVAL, records, metrics=declared)]


def _of_retrieval(rows: Iterator[Record], names: Sequence[str], errors: ValidationErrors) -> Iterator[Record]:
    numbering = Numbering()
    for line, row in rows:
        if not isinstance(row, dict):
            yield line, row
            continue
        ids, texts, expected = map(row.get, ("retrieved_ids", "retrieved_texts", "expected_ids"))
        retrieved: Any = ids
        if isinstance(ids, list):
            paired = texts if isinstance(texts, list) and len(texts) == len(ids) else [None] * len(ids)
            retrieved = [{"id": name, "text": text} for name, text in zip(ids, paired, strict=True)]
        scores = {}
        for name in names:
            score = unquoted_number(mapping(mapping(row.get("metric_dict")).get(name)).get("score"))
            failed = NOTHING_RETRIEVED if ids == [] else "LlamaIndex computed no value"
            scores[metric_name(name)[0]] = {"value": score, "reason": failed if score is None else None}
            _compare(name, score, ids, expected, errors, line)
        record = {"question": row.get("query"), "retrieved": retrieved, "relevant": expected}
        record |= {"scores": scores, "tool": "LlamaIndex"}
        yield line, record | numbering.of(None, row.get("query"))


def _compare(name: str, score: Any, ids: Any, expected: Any, errors: ValidationErrors, line: int) -> None:
    """Remark a figure that is above its bound, or that the ids of the row do not give."""
    if not isinstance(ids, list) or not isinstance(expected, list):
        return
    if not isinstance(score, int | float) or not is_finite(score):
        return
    names = list(map(str, ids))
    ours = _figures(names, set(map(str, expected))).get(name)
    if ours is None or abs(ours - score) <= TOLERANCE:
        return
    why = ": it counts a repeated document again" if len(set(names)) < len(names) else ""
    above = "above 1 and " if score > 1 else ""
    errors.remark(f"{name} of LlamaIndex is {above}not what its ids give{why}", line)


def _figures(ids: Sequence[str], expected: set[str]) -> dict[str, float]:
    """Return the retrieval metrics of LlamaIndex with each document counted once, at its first rank."""
    if not expected:
        return {}
    ranking = list(dict.fromkeys(ids))
    ranks = [rank for rank, name in enumerate(ranking, start=1) if name in expected]
    ideal = sum(1 / log2(rank + 1) for rank in range(1, min(len(expected), len(ranking)) + 1))
    return {
        "hit_rate": float(bool(ranks)),
        "mrr": 1 / ranks[0] if ranks else 0.0,
        "recall": len(ranks) / len(expected),
        "precision": len(ranks) / len(ranking) if ranking else 0.0,
        "ap": sum(nth / rank for nth, rank in enumerate(ranks, start=1)) / len(expected),
        "ndcg": sum(1 / log2(rank + 1) for rank in ranks) / ideal if isfinite(ideal) and ideal else 0.0,
    }


def read_predictions(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read predictions; their questions and references stand in the data set, in the same order.

    Raises:
        InputError: the data set is not given, or holds another number of questions.
    """
    held = [file for file in options.companions if isinstance(Peek(file).keys.get("examples"), list)]
    if len(held) != 1:
        what = "is the predictions of LlamaIndex, which hold no questions"
        raise source.error(what, "it together with the rag_dataset.json that they were made over")
    asked, answered = (
        sum(1 for _ in items_at(file, path))
        for file, path in ((held[0], "examples"), (source, "predictions"))
    )
    if asked != answered:
        what = f"holds {answered:,} predictions for {asked:,} examples of {held[0].name}"
        raise source.error(what, "the data set that they were made over, one prediction for each example")
    return [run_of(source, PREDICTIONS, _of_predictions(source, held[0], errors))]


def _of_predictions(source: InputFile, dataset: InputFile, errors: ValidationErrors) -> Iterator[Record]:
    numbering = Numbering()
    pairs = zip(items_at(source, "predictions"), items_at(dataset, "examples"), strict=True)
    for (line, prediction), (_, example) in pairs:
        if not isinstance(prediction, dict) or not isinstance(example, dict):
            accepted = "a prediction {response, contexts} and an example {query, ...}"
            errors.add(line, "", "is not an object", accepted)
            continue
        golds = example.get("reference_contexts")
        retrieved = documents_of(prediction.get("contexts"))
        relevant = relevant_of_texts(golds, retrieved)[0] if isinstance(golds, list) else []
        record = {
            "question": example.get("query"),
            "answer": prediction.get("response"),
            "reference_answer": example.get("reference_answer") or None,
            "retrieved": retrieved,
            "relevant": relevant or None,
            "reference_contexts": golds,
            "tool": "LlamaIndex",
        }
        yield line, record | numbering.of(None, example.get("query"))


QA, RAG = "llamaindex_qa", "llamaindex_rag"
QA_PARTS = ("queries", "corpus", "relevant_docs")
EXAMPLE = ("query", "reference_contexts", "reference_answer")


def _read_qa(source: InputFile, _options: Options, _: ValidationErrors) -> list[ParsedRun]:
    document = source.document()
    parts = {part: document.get(part) or {} for part in QA_PARTS}
    wrong = next((part for part, value in parts.items() if not isinstance(value, dict)), "")
    if wrong:
        what = f"is a LlamaIndex data set whose `{wrong}` is not an object"
        raise source.error(what, "queries, corpus and relevant_docs as objects by id")
    asked = parts["queries"].keys()
    unasked = sum(question not in asked for question in parts["relevant_docs"])
    notes = (f"labels of questions that the file does not have are left out: {unasked}",) if unasked else ()
    texts = {name: text for name, text in parts["corpus"].items() if isinstance(text, str) and text}
    documents = [{"id": name, "text": text} for name, text in texts.items()]
    return question_set(source, QA, _qa_records(parts), notes=notes, documents=documents)


def _qa_records(parts: Mapping[str, Mapping[str, Any]]) -> Iterator[Record]:
    corpus = parts["corpus"]
    for at, (name, question) in enumerate(parts["queries"].items(), start=1):
        labels = parts["relevant_docs"].get(name)
        record: dict[str, Any] = {"question_id": name, "question": question}
        if isinstance(labels, list):
            texts = [corpus.get(label) if isinstance(label, str) else None for label in labels]
            record["relevant"] = [
                {"id": label, **({"text": text} if isinstance(text, str) else {})}
                for label, text in zip(labels, texts, strict=True)
            ]
        elif labels is not None:
            record["relevant"] = labels  # validation says what is accepted
        yield at, record


def _read_rag(source: InputFile, _options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    def examples() -> Iterator[Record]:
        for at, example in object_rows(
            items_at(source, "examples"), errors, "an object with `query`", "examples"
        ):
            record = {
                "question": example.get("query"),
                "reference_answer": example.get("reference_answer") or None,
                "relevant": gold_passages(example.get("reference_contexts")) or None,
            }
            yield at, {**others(example, (*EXAMPLE, OWN)), **record, **own_fields(example)}

    return question_set(source, RAG, examples())


READERS = {
    BATCH: Reader(read_batch, _is_batch),
    RETRIEVAL: Reader(read_retrieval),
    PREDICTIONS: Reader(read_predictions, lambda peek: len(peek.keys) == 1),
    QA: Reader(
        _read_qa,
        lambda peek: all(isinstance(peek.keys.get(part), dict) for part in ("queries", "relevant_docs")),
    ),
    RAG: Reader(
        _read_rag,
        lambda peek: any(
            "query" in row and not row.keys().isdisjoint(EXAMPLE[1:])
            for row in map(mapping, items(peek.keys.get("examples"))[:1])
        ),
    ),
}
