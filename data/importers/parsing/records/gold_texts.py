"""Gold that a file gives as texts, found among the retrieved documents by their folded text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ragtriage.data.store.sample_schema import document_id
from ragtriage.data.text.folding import folded_question
from ragtriage.data.text.sentences import split_sentences

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
        if whole and (whole in document or within or any(one in document for one in sentences)):
            held.append(position)
    return held


def relevant_of_texts(golds: Iterable[object], documents: object) -> tuple[list[dict[str, Any]], bool]:
    """Return gold texts as gold documents, and whether any of them is among the retrieved ones.

    Args:
        golds: the gold passages; what is no text is passed over.
        documents: the retrieved documents in the native form.

    Returns:
        The retrieved documents that hold gold, by id, and for each passage that none holds an id of its own.
    """
    retrieved = [one for one in documents if isinstance(one, dict)] if isinstance(documents, list) else []
    texts = [text if isinstance(text := one.get("text"), str) else "" for one in retrieved]
    relevant: dict[str, None] = {}
    found = False
    for gold in golds:
        if not isinstance(gold, str) or not gold.strip():
            continue
        held = held_gold(gold, texts)
        found = found or bool(held)
        ids = [str(retrieved[at].get("id") or document_id(texts[at])) for at in held]
        relevant.update(dict.fromkeys(ids or [document_id(gold)]))
    return [{"id": name} for name in relevant], found
