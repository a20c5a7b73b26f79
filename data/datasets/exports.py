"""Datasets as files of other tools, each of which ragtriage reads back.

What a form has no place for stands under `ragtriage` in its metadata; what is lost otherwise is said. Forms
with passages and no offsets get the text of one place for each hop.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from ragtriage.data.chunking.corpus import Corpus
from ragtriage.data.datasets.item import Item
from ragtriage.data.datasets.split import TAG, TEST
from ragtriage.data.errors import DataError, ValidationErrors
from ragtriage.data.importers.parsing.shapes import OWN
from ragtriage.data.store.parsed_run import normalise
from ragtriage.data.store.question_sets import KEPT
from ragtriage.data.store.sample_schema import LATER_FIELDS, SCHEMA
from ragtriage.data.store.stored_file import write_file
from ragtriage.metrics.number_text import count

Files = Mapping[str, bytes]  # path below the folder -> content; "" for a single file


@dataclass(frozen=True)
class Export:
    """What is written of a dataset: items, and the corpus that their gold points into."""

    name: str
    items: Sequence[Item]
    corpus: Corpus
    card: str  # in Markdown, for the forms that have a place for it

    def parts(self) -> dict[str, list[Item]]:
        """Return the items by part of the split; all are test where there is no split."""
        parts: dict[str, list[Item]] = {}
        for item in self.items:
            parts.setdefault(item.tags.get(TAG, TEST), []).append(item)
        return dict(sorted(parts.items(), reverse=True))


@dataclass(frozen=True)
class Form:
    """A form that a dataset is written in."""

    title: str  # of the tool and what it calls the file
    place: str  # what is written: "file .jsonl" or "folder"
    files: Callable[[Export], Files]
    keeps: str  # what of the gold it keeps: "offsets", "documents" or "texts"


def _native(export: Export) -> Files:
    return {"": _lines(item.to_question() for item in export.items)}


def _parquet(export: Export) -> Files:
    """Return a file of a data set hub for each part, with the card as its README."""
    files: dict[str, bytes] = {}
    configured = []
    for part, items in export.parts().items():
        files[f"data/{part}-00000-of-00001.parquet"] = _table(items)
        configured.append(f"  - split: {part}\n    path: data/{part}-*.parquet\n")
    head = f"---\nconfigs:\n- config_name: default\n  data_files:\n{''.join(configured)}---\n\n"
    return {**files, "README.md": (head + export.card).encode()}


def _table(items: Sequence[Item]) -> bytes:
    """Return items as Parquet with the columns of a question."""
    errors = ValidationErrors("dataset")
    names = [*KEPT, "extra"]
    rows = []
    for line, item in enumerate(items, start=1):
        sample = normalise(item.to_question(), line, errors)
        if sample is None:
            raise AssertionError(f"an item that was stored is not a sample: {errors.first}")
        rows.append({**dict.fromkeys(LATER_FIELDS), **sample})
    schema = pa.schema([SCHEMA.field(name) for name in names])
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), sink, compression="zstd")
    return sink.getvalue()


def _beir(export: Export) -> Files:
    queries = _lines(
        {"_id": item.question_id, "text": item.question, "metadata": {OWN: own_record(item, spans=True)}}
        for item in export.items
    )
    qrels = {
        f"qrels/{part}.tsv": "".join(
            [
                "query-id\tcorpus-id\tscore\n",
                *(f"{query}\t{document}\t1\n" for query, document in _gold(items)),
            ]
        ).encode()
        for part, items in export.parts().items()
    }
    return {"corpus.jsonl": _corpus(export.corpus), "queries.jsonl": queries, **qrels}


def _mteb(export: Export) -> Files:
    """Return the layout of a retrieval task: three configurations, named in the head of the README."""
    qrels = {
        f"qrels/{part}.jsonl": _lines(
            {"query-id": query, "corpus-id": document, "score": 1.0} for query, document in _gold(items)
        )
        for part, items in export.parts().items()
    }
    files = {"corpus.jsonl": _corpus(export.corpus), "queries.jsonl": _beir(export)["queries.jsonl"], **qrels}
    listed = {
        "default": [(path.removeprefix("qrels/").removesuffix(".jsonl"), path) for path in qrels],
        "corpus": [("corpus", "corpus.jsonl")],
        "queries": [("queries", "queries.jsonl")],
    }
    head = "".join(
        f"- config_name: {name}\n  data_files:\n"
        + "".join(f"  - split: {part}\n    path: {path}\n" for part, path in paths)
        for name, paths in listed.items()
    )
    return {**files, "README.md": f"---\nconfigs:\n{head}---\n\n{export.card}".encode()}


def _corpus(corpus: Corpus) -> bytes:
    return _lines({"_id": each.doc_id, "title": each.title, "text": each.text} for each in corpus.documents)


def _gold(items: Iterable[Item]) -> list[tuple[str, str]]:
    """Return (question, document) of all gold, each pair once."""
    pairs = ((item.question_id, span.doc_id) for item in items for span in item.spans)
    listed = list(dict.fromkeys(pairs))
    broken = next((name for pair in listed for name in pair if set(name) & set("\t\r\n")), None)
    if broken is not None:
        raise DataError(f"id {broken!r}: holds a tab or a line break; accepted: ids that qrels can hold")
    return listed


def _ragas(export: Export) -> Files:
    return {
        "": _lines(
            {
                "id": item.question_id,
                "user_input": item.question,
                "reference": item.answer,
                "reference_contexts": passages(item),
                "synthesizer_name": item.kind,
                OWN: own_record(item),
            }
            for item in export.items
        )
    }


def _deepeval(export: Export) -> Files:
    goldens = [
        {
            "input": item.question,
            "actual_output": None,
            "expected_output": item.answer or None,
            "context": passages(item),
            "source_file": item.spans[0].doc_id if item.spans else None,
            "additional_metadata": {OWN: own_record(item)},
        }
        for item in export.items
    ]
    return {"": orjson.dumps(goldens, option=orjson.OPT_INDENT_2)}


def _llamaindex(export: Export) -> Files:
    examples = [
        {
            "query": item.question,
            "query_by": _author(item),
            "reference_contexts": passages(item),
            "reference_answer": item.answer,
            "reference_answer_by": _author(item),
            OWN: own_record(item),
        }
        for item in export.items
    ]
    return {"": orjson.dumps({"examples": examples}, option=orjson.OPT_INDENT_2)}


def _author(item: Item) -> dict[str, str]:
    by_model = item.origin.get("by") == "model"
    return {
        "model_name": str(item.origin.get("model") or "") if by_model else "",
        "type": "ai" if by_model else "human",
    }


def _promptfoo(export: Export) -> Files:
    """Return tests; a question with nothing to check against would pass always, and is left out."""
    tests = [
        {
            "description": item.question_id,
            "vars": {"question": item.question},
            "assert": [wanted],
            "metadata": {
                "kind": item.kind,
                "gold": passages(item),
                OWN: {**own_record(item), "reference_answer": item.answer},
            },
        }
        for item in export.items
        if (wanted := _assertion(item))
    ]
    return {"": orjson.dumps(tests, option=orjson.OPT_INDENT_2)}


def _assertion(item: Item) -> dict[str, str]:
    if item.answerable == "no":
        refusal = "Says that the question cannot be answered, or corrects it."
        return {"type": "llm-rubric", "value": refusal}
    return {"type": "factuality", "value": item.answer} if item.answer else {}


FORMS: Mapping[str, Form] = {
    "native": Form("native questions", "file .jsonl", _native, "offsets"),
    "beir": Form("BEIR", "folder", _beir, "documents"),
    "mteb": Form("MTEB retrieval task", "folder", _mteb, "documents"),
    "ragas": Form("Ragas test set", "file .jsonl", _ragas, "texts"),
    "deepeval": Form("DeepEval goldens", "file .json", _deepeval, "texts"),
    "llamaindex": Form("LlamaIndex LabelledRagDataset", "file .json", _llamaindex, "texts"),
    "promptfoo": Form("promptfoo tests", "file .json", _promptfoo, "texts"),
    "parquet": Form("Hugging Face data set", "folder", _parquet, "offsets"),
}


def passages(item: Item) -> list[str]:
    """Return the text of the first place of each hop."""
    return [spans[0].quote for spans in item.hops.values() if spans[0].quote.strip()]


def own_record(item: Item, spans: bool = False) -> dict[str, Any]:
    """Return what most forms have no place for, in native names."""
    question = item.to_question()
    names = ("question_id", "history", "answerable", "query_type", "tags", "reference_claims")
    with_corpus = ("reference_answer", "relevant_spans") if spans else ()
    return {name: question[name] for name in (*names, *with_corpus) if question.get(name)}


def losses(export: Export, to: str) -> list[str]:
    """Return what a form does not keep of these items, in sentences."""
    keeps = FORMS[to].keeps
    alternatives = sum(len(spans) - 1 for item in export.items for spans in item.hops.values())
    lines = []
    if keeps != "offsets" and alternatives:
        kept = "count as needed there" if keeps == "documents" else "left out"
        lines.append(
            f"{FORMS[to].title} has no alternatives: {count(alternatives, 'other place')} of gold {kept}."
        )
    unlabelled = sum(not item.spans for item in export.items)
    if keeps == "documents" and unlabelled:
        lines.append(f"{FORMS[to].title} scores only questions with gold: {unlabelled:,} have none.")
    unchecked = sum(not _assertion(item) for item in export.items)
    if to == "promptfoo" and unchecked:
        lines.append(
            f"{FORMS[to].title} need an answer to check: {count(unchecked, 'question')} without one left out."
        )
    return lines


def export_bytes(export: Export, to: str) -> bytes:
    """Return a dataset in a form as one file; a folder as a ZIP archive."""
    files = FORMS[to].files(export)
    if "" in files:
        return files[""]
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as folder:
        for path, content in files.items():
            folder.writestr(path, content)
    return archive.getvalue()


def write_export(export: Export, to: str, output: str) -> list[str]:
    """Write a dataset in a form; return the paths written.

    Raises:
        DataError: it cannot be written, or the folder has something in it.
    """
    files = FORMS[to].files(export)
    if "" in files:
        write_file(output, files[""])
        return [output]
    folder = Path(output)
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise DataError(f"{output}: is there already; accepted: a new folder, or an empty one")
        for path in files:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"{output}: cannot be written ({error.strerror}); accepted: a writable folder"
        ) from error
    for path, content in files.items():
        write_file(str(folder / path), content)
    return [str(folder / path) for path in files]


def _lines(records: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)
