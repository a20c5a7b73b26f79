"""Questions with labelled passages: MuSiQue by hop, RGB with altered ones, RAMDocs with misinformation.

RGB's four files are for noise and refusals (`en`, `en_refine`), answers of several parts (`en_int`) and
altered facts (`en_fact`): Chen et al. 2024, "Benchmarking large language models in retrieval-augmented
generation" (AAAI).
"""

from collections.abc import Mapping
from itertools import chain, zip_longest
from typing import Any

from ragtriage.data.errors import ValidationErrors, type_name
from ragtriage.data.importers.formats.table import table_reader
from ragtriage.data.importers.importer import Options, Reader, Row, ToolRows, each, read_each
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.shapes import items, mapping, objects, others
from ragtriage.data.store.parsed_run import ParsedRun
from ragtriage.data.store.sample_schema import document_id

MUSIQUE = "musique"
OF_MUSIQUE = (
    *("id", "paragraphs", "question", "question_decomposition", "answer", "answer_aliases", "answerable"),
)
ACCEPTED = "a list of {idx, paragraph_text, is_supporting}"


def _read_musique(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    documents: list[dict[str, str]] = []  # the different paragraphs of all questions
    ids: set[str] = set()

    def sample(row: Row, line: int, errors: ValidationErrors) -> Row | None:
        paragraphs = row.get("paragraphs")
        if not isinstance(paragraphs, list) or not all(isinstance(entry, Mapping) for entry in paragraphs):
            errors.add(line, "paragraphs", "is not a list of objects", ACCEPTED)
            return None
        for position, paragraph in enumerate(paragraphs):
            if type(idx := _index(paragraph, position)) is not int:
                errors.add(line, f"paragraphs[{position}].idx", f"found {type_name(idx)}", "a whole number")
                return None
        for document in filter(None, map(_paragraph, paragraphs)):
            if document["id"] not in ids:
                ids.add(document["id"])
                documents.append(document)
        return _of_musique(row, paragraphs)

    return read_each(MUSIQUE, sample, questions=True, documents=documents)(source, options, errors)


def _index(paragraph: Mapping[str, Any], position: int) -> object:
    """Return the number by which steps name a paragraph: where it has none, its place in the list."""
    return position if paragraph.get("idx") is None else paragraph["idx"]


def _paragraph(paragraph: Mapping[str, Any]) -> dict[str, str] | None:
    text, title = paragraph.get("paragraph_text"), paragraph.get("title")
    if not isinstance(text, str) or not text.strip():
        return None
    named = {"title": title} if isinstance(title, str) and title else {}
    return {"id": document_id(text), "text": text, **named}


def _of_musique(row: Row, paragraphs: list[Mapping[str, Any]]) -> Row:
    answerable = row.get("answerable")
    hops: dict[Any, int] = {}  # index of a paragraph -> the first hop that it supports, counted from 1
    for hop, step in enumerate(items(row.get("question_decomposition")), start=1):
        if isinstance(step, Mapping) and isinstance(step.get("paragraph_support_idx"), int):
            hops.setdefault(step["paragraph_support_idx"], hop)
    gold = [
        (entry, hops.get(_index(entry, position)))
        for position, entry in enumerate(paragraphs)
        if entry.get("is_supporting")
    ]
    gold.sort(key=lambda passage: passage[1] or len(hops) + 1)
    passages = [({"text": entry.get("paragraph_text")}, hop) for entry, hop in gold]
    record = {
        "question_id": row.get("id"),
        "question": row.get("question"),
        "reference_answer": row.get("answer"),
        "relevant": [{**passage, **({} if hop is None else {"hop": hop})} for passage, hop in passages],
        "query_type": f"{len(hops)}-hop" if hops else None,
        "answerable": ("no", "yes")[answerable] if isinstance(answerable, bool) else None,
    }
    aliases = {"answer_aliases": row["answer_aliases"]} if row.get("answer_aliases") else {}
    return {**others(row, OF_MUSIQUE), **aliases, **record}


RGB = "rgb"
OF_RGB = ("id", "query", "answer", "positive", "negative", "positive_wrong", "fakeanswer")


def _of_rgb(row: Row, line: int, errors: ValidationErrors) -> Row | None:
    if not isinstance(row.get("positive"), list) or not isinstance(row.get("negative"), list):
        errors.add(line, "positive and negative", "are not both lists", "lists of passages, as RGB has them")
        return None
    answers = [_texts(part) for part in _listed(row.get("answer"))]
    # a list of texts are ways to say one answer, a list of lists the parts of one
    parts = answers if any(isinstance(part, list) for part in _listed(row.get("answer"))) else []
    accepted = list(chain.from_iterable(answers))
    return {
        **others(row, OF_RGB),
        "question_id": row.get("id"),
        "question": row.get("query"),
        "reference_answer": " and ".join(part[0] for part in parts if part) or next(iter(accepted), None),
        "answers": accepted,
        "answer_parts": parts if len(parts) > 1 else None,
        "gold_passages": _passages(row["positive"]),
        "negatives": _passages(row["negative"]),
        "altered_passages": _passages(_listed(row.get("positive_wrong"))),
        "altered_answer": row.get("fakeanswer"),
    }


def _passages(listed: list[Any]) -> list[Row]:
    """Return passages as objects; of an answer of several parts one of each part first."""
    in_parts = any(isinstance(part, list) for part in listed)
    parts = zip_longest(*map(_texts, listed)) if in_parts else [listed]
    return [{"text": text} for text in chain.from_iterable(parts) if isinstance(text, str)]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _texts(value: Any) -> list[str]:
    return [str(entry) for entry in _listed(value) if isinstance(entry, str | int | float)]


NAMES = {"question", "retrieved", "gold_answers", "wrong_answers"}
ORIGINAL = {"question", "documents", "gold_answers", "wrong_answers", "disambig_entity"}
NOISE = "noise"


def _of_ramdocs(row: Row) -> Row:
    """Return a row whose gold answers are facets: a document that gives one is gold for it."""
    listed = row.get("retrieved", row.get("documents"))
    documents = list(map(dict, objects(listed)))
    answers = [answer for answer in items(row.get("gold_answers")) if isinstance(answer, str)]
    question = str(row.get("question_id") or "question")
    for place, document in enumerate(documents):
        document.setdefault("id", f"{question}-{place}")
        if document.get("type") == NOISE:  # "unknown" is not an answer
            document.pop("answer", None)
    gold = [
        {"id": str(document["id"]), "hop": document["answer"]}
        for document in documents
        if document.get("type") == "correct" and document.get("answer") in answers
    ]
    facets = {entry["hop"] for entry in gold}
    missing = [
        {"id": f"{question}: no document gives gold answer {number}", "hop": answer}
        for number, answer in enumerate(answers, start=1)
        if answer not in facets
    ]
    used = {"retrieved", "documents", "gold_answers"}
    rest = {name: value for name, value in row.items() if name not in used}
    reference = "\n".join(answers) or None
    return {**rest, "retrieved": documents, "relevant": gold + missing, "reference_answer": reference}


RAMDOCS = ToolRows(
    lambda names: names >= NAMES or names >= ORIGINAL,
    each(_of_ramdocs),
    "read as RAMDocs: gold answers are facets, a document labelled correct is gold for the one it gives",
)


READERS = {
    MUSIQUE: Reader(
        _read_musique,
        lambda peek: (
            "question" in peek.first
            and any("is_supporting" in mapping(each) for each in items(peek.first.get("paragraphs"))[:1])
        ),
    ),
    RGB: Reader(read_each(RGB, _of_rgb, questions=True)),
    "ramdocs": table_reader("ramdocs", RAMDOCS),
}
