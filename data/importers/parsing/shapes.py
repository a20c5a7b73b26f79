"""Values of foreign JSON brought to a shape: documents, inputs and outputs, objects, tags, ids, gold."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from ragtriage.data.importers.parsing.literals import LiteralError, read_literal
from ragtriage.data.store.question_sets import KEPT as OF_A_QUESTION
from ragtriage.data.store.sample_models import as_json
from ragtriage.data.store.sample_schema import FIELDS, document_id
from ragtriage.data.text.tokens import folded_question, split_sentences

TEXT_KEYS = (
    *("text", "page_content", "content", "contents", "context", "passage", "chunk", "body", "snippet"),
    *("quote",),
)
ID_KEYS = (
    *("id", "chunk_id", "doc_id", "document_id", "passage_id", "node_id", "docid", "_id", "id_", "pid"),
    *("doc",),
)
SCORE_KEYS = ("score", "similarity", "similarity_score", "relevance_score")
REPR_STARTS = ("Document(", "page_content=")


def documents_of(value: object) -> object:
    """Return the items of a ranked list in the native form; a single document becomes a list of one.

    Other values are returned unchanged: validation then reports them with their field.
    """
    if isinstance(value, str | dict):
        return [document_of(value)]
    if isinstance(value, list | tuple):
        return [document_of(item) for item in value]
    return value


def document_of(value: object) -> object:
    """Return a document from a text, a repr of a document, or an object with any of the usual keys."""
    if isinstance(value, str):
        text = value
        value = {"text": text}
        if text.startswith(REPR_STARTS):
            with suppress(LiteralError):  # it may only look like a repr
                value = read_literal(text if text.startswith("Document(") else f"Document({text})")
        if not isinstance(value, dict):
            return {"text": text}
    return _from_object(value) if isinstance(value, dict) else value


def _from_object(fields: dict[str, Any]) -> dict[str, Any]:
    # None, {} and NaN, which alone is not itself, are not values.
    rest = {key: value for key, value in fields.items() if value not in (None, {}) and value == value}
    document: dict[str, Any] = {}
    for name, keys in (("id", ID_KEYS), ("text", TEXT_KEYS), ("score", SCORE_KEYS)):
        key = next((key for key in keys if key in rest), None)
        if key is not None:
            document[name] = rest.pop(key)
    if not document.keys() & {"id", "text"} and "title" in rest:
        document["text"] = rest.pop("title")
    if isinstance(document.get("score"), str):
        with suppress(ValueError):
            document["score"] = float(document["score"])
    if isinstance(stored := rest.get("extra"), str):
        with suppress(ValueError):
            rest["extra"] = json.loads(stored)
            if isinstance(rest["extra"], dict):
                rest.update(rest.pop("extra"))
    return {**document, **rest}


MOST_DECODED = 16 << 20
MAX_DEPTH = 6
QUESTION_KEYS = (
    *("question", "query", "user_input", "input", "prompt", "user_query", "input_value", "query_str", "text"),
)
ANSWER_KEYS = ("answer", "response", "output", "result", "content", "text", "output_value", "generated_text")
REFERENCE_KEYS = (
    *("reference_answer", "reference", "expected_output", "expected_answer", "expected_response"),
    *("expected", "ground_truth", "answer", "output", "response"),
)
CONTEXT_KEYS = (
    *("contexts", "context", "retrieved_contexts", "retrieval_context", "retrieved_documents", "documents"),
    *("source_documents", "source_nodes", "chunks", "passages"),
)


def decoded(value: Any, times: int = 3) -> Any:
    """Return a value with JSON in its text decoded, also JSON in JSON; a Python repr where it is not JSON.

    Text that is neither is returned as it is. Nothing is evaluated.
    """
    for _ in range(times):
        if not isinstance(value, str) or len(value) > MOST_DECODED:
            return value
        text = value.strip()
        if text[:1] not in ("{", "[", '"'):
            return value
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            if text[0] == '"':
                return value
            try:
                return read_literal(text)
            except LiteralError:
                return value
    return value


def question_in(value: Any) -> str | None:
    """Return the question in the input of a trace, a task or a row; None where there is none.

    Of a conversation it is the user's last message.
    """
    return _text(decoded(value), QUESTION_KEYS, "user")


def answer_in(value: Any) -> str | None:
    """Return the answer in the output of a trace or a row; None where there is none."""
    return _text(decoded(value), ANSWER_KEYS, "assistant")


def reference_in(value: Any) -> str | None:
    """Return the reference answer in what a tool keeps as expected; None where there is none."""
    return _text(decoded(value), REFERENCE_KEYS, "assistant")


def contexts_in(value: Any) -> list[Any] | None:
    """Return the documents in an output, in the native form; None where it has no list of documents."""
    fields = decoded(value)
    if not isinstance(fields, Mapping):
        return None
    for key in CONTEXT_KEYS:
        listed = decoded(fields.get(key))
        if isinstance(listed, list):
            read = documents_of(listed)
            return read if isinstance(read, list) else None
    nested = [fields[key] for key in ("output", "result", "outputs") if isinstance(fields.get(key), Mapping)]
    return contexts_in(nested[0]) if nested else None


def _text(value: Any, keys: Sequence[str], role: str, depth: int = 0) -> str | None:
    """Return the text under the first of some keys, inside messages, parts and choices."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    if depth == MAX_DEPTH or not value:
        return None
    if isinstance(value, list):
        return _message(value, keys, role, depth)
    return _under_a_key(value, keys, role, depth) if isinstance(value, Mapping) else None


def _under_a_key(value: Mapping[str, Any], keys: Sequence[str], role: str, depth: int) -> str | None:
    listed = [key for key in ("messages",) if isinstance(value.get(key), list | str)]
    for key in (*listed, *keys, "content", "parts", "choices", "message"):
        if value.get(key) is not None:
            text = _text(decoded(value[key]), keys, role, depth + 1)
            if text is None and isinstance(value[key], str) and value[key].strip():
                return str(value[key])  # an answer that is written in JSON
            if text is not None:
                return text
    return _text(next(iter(value.values())), keys, role, depth + 1) if len(value) == 1 else None


def _message(items: list[Any], keys: Sequence[str], role: str, depth: int) -> str | None:
    """Return the last message of a role, else the texts of all parts, one a line."""
    messages = [item for item in items if isinstance(item, Mapping) and ("role" in item or "type" in item)]
    roles = {"user": ("user", "human"), "assistant": ("assistant", "ai", "model")}[role]
    of_role = [m for m in messages if str(m.get("role") or m.get("type")).lower() in roles]
    if of_role:
        return _text(of_role[-1], ("content", "text", "parts", *keys), role, depth + 1)
    texts = [_text(item, ("text", "content", *keys), role, depth + 1) for item in items]
    shown = [text for text in texts if text]
    return "\n".join(shown) if shown else None


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


OWN = "ragtriage"  # where our exports keep what the form of a tool has no place for


def own_fields(metadata: object) -> dict[str, Any]:
    """Return the fields of a question that our own export put into the metadata of another form."""
    record = decoded(mapping(metadata).get(OWN))
    return {name: value for name, value in mapping(record).items() if name in OF_A_QUESTION}


def others(row: Mapping[str, Any], read: Iterable[str]) -> dict[str, Any]:
    """Return what a row has besides the columns that were read, under names that no sample has."""
    known = set(read)
    return {
        f"{name} (column)" if name in FIELDS else str(name): value
        for name, value in row.items()
        if name not in known and value not in (None, "", [], {})
    }
