"""Values of foreign JSON brought to a shape: objects, numbers, tags, ids with repeats, gold given as text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ragtriage.data.importers.parsing.payloads import decoded
from ragtriage.data.store.sample_models import as_json
from ragtriage.data.store.sample_schema import FIELDS, document_id
from ragtriage.data.text.folding import folded_question
from ragtriage.data.text.sentences import split_sentences

LARGEST = 2**63


def mapping(value: object) -> Mapping[str, Any]:
    """Return an object; an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def objects(value: object) -> list[dict[str, Any]]:
    """Return the objects in a list; none where it is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def items(value: object) -> list[Any]:
    """Return a list; an empty one in place of anything else."""
    return value if isinstance(value, list) else []


def as_float(value: object) -> float | None:
    """Return a number, also one that is written as text; None for anything else."""
    try:
        return float(value)  # type: ignore[arg-type]  # what float refuses is none
    except (TypeError, ValueError, OverflowError):
        return None


def unquoted_number(value: object) -> object:
    """Return a number also where it is written as text; anything else as it is, for validation to report."""
    number = as_float(value) if isinstance(value, str) else None
    return value if number is None else number


def milliseconds(seconds: object) -> object:
    """Return seconds as milliseconds; what is not a number as it is, for validation to report."""
    value = unquoted_number(seconds)
    return round(value * 1000, 6) if isinstance(value, int | float) and not isinstance(value, bool) else value


def tag_value(value: object) -> object:
    """Return a value as that of a tag: text, a number or a truth value; anything else as JSON."""
    return value if value is None or isinstance(value, str | bool | int | float) else as_json(value)


def all_tags_of(value: object) -> dict[str, Any]:
    """Return tags from a list of words, each a tag of its own, or from an object of key and value."""
    if isinstance(value, list):
        return {f"tag_{word}": True for word in value if isinstance(word, str | int)}
    return {str(key): tag_value(item) for key, item in mapping(value).items()}


def plain_settings(value: object) -> dict[str, Any]:
    """Return an object as the configuration of a run; numbers too large to be stored become text."""
    settings: dict[str, Any] = {}
    for key, item in mapping(value).items():
        if isinstance(item, str) or (isinstance(item, int) and abs(item) >= LARGEST):
            settings[storable(key)] = storable(item)
        elif item is not None:
            settings[storable(key)] = as_json(item) if isinstance(item, dict | list) else item
    return settings


def storable(text: object) -> str:
    """Return a name or a setting as text that can be stored: halves of surrogate pairs become "?"."""
    return str(text).encode("utf-8", "replace").decode("utf-8")


class Numbering:
    """The questions of a run so far."""

    def __init__(self) -> None:
        self._named: dict[str, int] = {}  # id -> hash of its question
        self._asked: Counter[tuple[str | None, int]] = Counter()

    def of(self, name: object, question: object) -> dict[str, object]:
        """Return `question_id` and `repeat` of the next sample of a question.

        A name that another question has already, or that is neither text nor a whole number, is not an id:
        the question's text then identifies it.
        """
        usable = isinstance(name, str | int) and not isinstance(name, bool) and str(name).strip()
        text = hash(folded_question(question)) if isinstance(question, str) else 0
        key = str(name) if usable else None
        if key is not None and self._named.setdefault(key, text) != text:
            key = None
        asked = (key, 0 if key else text)
        repeat = self._asked[asked]
        self._asked[asked] += 1
        return ({"question_id": key} if key else {}) | ({"repeat": repeat} if repeat else {})


SHORTEST = 20  # characters: a shorter sentence or passage ("Yes.") stands in many documents by chance


def held_gold(gold: str, documents: Sequence[str]) -> list[int]:
    """Return the positions of the documents that hold a gold passage, or a part of it.

    Whitespace and case do not count. A document holds it where one text contains the other, or where it
    contains a whole sentence of the passage: chunks may cut a gold passage in two.
    """
    whole = folded_question(gold)
    sentences = [
        sentence
        for start, end in split_sentences(gold)
        if len(sentence := folded_question(gold[start:end])) >= SHORTEST
    ]
    held = []
    for position, text in enumerate(documents):
        document = folded_question(text)
        within = len(document) >= SHORTEST and document in whole
        if whole and (whole in document or within or any(sentence in document for sentence in sentences)):
            held.append(position)
    return held


def relevant_of_texts(golds: Iterable[object], documents: object) -> tuple[list[dict[str, Any]], bool]:
    """Return gold texts as gold documents, and whether any of them is among the retrieved ones.

    A gold passage that is not text is passed over.

    Returns:
        The retrieved documents that hold gold, by id, and for each passage that none holds an id of its own.
    """
    retrieved = objects(documents)
    texts = [text if isinstance(text := document.get("text"), str) else "" for document in retrieved]
    relevant: dict[str, None] = {}
    is_retrieved = False
    for gold in golds:
        if not isinstance(gold, str) or not gold.strip():
            continue
        held = held_gold(gold, texts)
        is_retrieved = is_retrieved or bool(held)
        ids = [str(retrieved[at].get("id") or document_id(texts[at])) for at in held]
        relevant.update(dict.fromkeys(ids or [document_id(gold)]))
    return [{"id": name} for name in relevant], is_retrieved


def with_ids(documents: object, ids: object) -> object:
    """Return documents with ids that stand in a list beside them, where there is one for each."""
    listed = objects(documents)
    if isinstance(ids, list) and isinstance(documents, list) and len(ids) == len(listed) == len(documents):
        return [{**document, "id": name} for document, name in zip(listed, ids, strict=True)]
    return documents


_HOP = re.compile(r"<(\d{1,2})-hop>\s*")  # as Ragas writes in front of the passages of a multi-hop question


def gold_passages(value: object) -> list[dict[str, Any]]:
    """Return gold passages in the native form, from a list of texts, its text, or a single passage."""
    listed = decoded(value) if isinstance(value, str) and value.lstrip().startswith("[") else value
    if isinstance(listed, str):
        listed = [listed]
    passages = []
    for item in listed if isinstance(listed, list | tuple) else ():
        text = item.get("text", item.get("content")) if isinstance(item, Mapping) else item
        if not isinstance(text, str) or not text.strip():
            continue
        hop = _HOP.match(text)
        passages.append({"text": text[hop.end() :], "hop": hop[1]} if hop else {"text": text})
    return passages


def others(row: Mapping[str, Any], read: Iterable[str]) -> dict[str, Any]:
    """Return what a row has besides the columns that were read, under names that no sample has."""
    known = set(read)
    return {
        f"{name} (column)" if name in FIELDS else str(name): value
        for name, value in row.items()
        if name not in known and value not in (None, "", [], {})
    }
