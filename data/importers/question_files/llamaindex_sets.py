"""Data sets of LlamaIndex: queries with a corpus and relevant documents, and labelled RAG data sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ragtriage.data.errors import ValidationErrors, type_name
from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.parsing.documents_in_json import items_at
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.question_files.gold_passages import gold_passages, others, question_set
from ragtriage.data.store.parsed_run import ParsedRun, Record

QA, RAG = "llamaindex_qa", "llamaindex_rag"
QA_PARTS = ("queries", "corpus", "relevant_docs")
EXAMPLE = ("query", "reference_contexts", "reference_answer")


def _is_qa(peek: Peek) -> bool:
    return all(isinstance(peek.keys.get(part), dict) for part in ("queries", "relevant_docs"))


def _is_rag(peek: Peek) -> bool:
    examples = peek.keys.get("examples")
    if not isinstance(examples, list) or not examples or not isinstance(examples[0], Mapping):
        return False
    return "query" in examples[0] and bool({"reference_contexts", "reference_answer"} & examples[0].keys())


def _read_qa(source: InputFile, options: Options, _: ValidationErrors) -> list[ParsedRun]:
    document = source.document()
    parts = {part: document.get(part) or {} for part in QA_PARTS}
    wrong = next((part for part, value in parts.items() if not isinstance(value, dict)), "")
    if wrong:
        what = f"is a LlamaIndex data set whose `{wrong}` is no object"
        raise source.error(what, "queries, corpus and relevant_docs as objects by id")
    asked = parts["queries"].keys()
    unasked = sum(question not in asked for question in parts["relevant_docs"])
    notes = (f"labels of questions that the file does not have are left out: {unasked}",) if unasked else ()
    records = list(_qa_records(parts))[: options.limit]
    documents = [
        {"id": name, "text": text} for name, text in parts["corpus"].items() if isinstance(text, str) and text
    ]
    return question_set(source, QA, records, notes=notes, documents=documents)


def _qa_records(parts: Mapping[str, Mapping[str, Any]]) -> Iterator[Record]:
    corpus = parts["corpus"]
    for at, (name, question) in enumerate(parts["queries"].items(), start=1):
        labels = parts["relevant_docs"].get(name)
        record: dict[str, Any] = {"question_id": name, "question": question}
        if isinstance(labels, list):
            texts = {
                label: corpus[label]
                for label in labels
                if isinstance(label, str) and isinstance(corpus.get(label), str)
            }
            record["relevant"] = [
                {"id": label, **({"text": texts[label]} if isinstance(label, str) and label in texts else {})}
                for label in labels
            ]
        elif labels is not None:
            record["relevant"] = labels  # validation says what is accepted
        yield at, record


def _read_rag(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    return question_set(source, RAG, _rag_records(source, options, errors))


def _rag_records(source: InputFile, options: Options, errors: ValidationErrors) -> Iterator[Record]:
    for at, example in items_at(source, "examples"):
        if options.limit is not None and at > options.limit:
            return
        if not isinstance(example, dict):
            errors.add(at, "examples", f"found {type_name(example)}", "an object with `query`")
            continue
        record = {
            "question": example.get("query"),
            "reference_answer": example.get("reference_answer") or None,
            "relevant": gold_passages(example.get("reference_contexts")) or None,
        }
        yield at, {**others(example, EXAMPLE), **record}


IMPORTERS = (
    Importer(
        QA,
        "LlamaIndex QA data set",
        "JSON with queries, corpus and relevant_docs by id",
        _is_qa,
        _read_qa,
        holds="questions",
        written_by="LlamaIndex 0.12-0.14",
        example="`EmbeddingQAFinetuneDataset.save_json(path)`",
    ),
    Importer(
        RAG,
        "LlamaIndex labelled RAG data set",
        "JSON with examples of query, reference_contexts and reference_answer",
        _is_rag,
        _read_rag,
        holds="questions",
        written_by="LlamaIndex 0.12",
        companion_of=("llamaindex_predictions",),
        example="`LabelledRagDataset.save_json(path)`",
    ),
)
