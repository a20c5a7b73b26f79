"""Cells of other tools' tables as values of sample fields: parse lists, numbers and flags from text."""

import json
import math
import re
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from statistics import fmean
from typing import Any

from ragtriage.data.importers.parsing.literals import LiteralError, read_literal
from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.shapes import documents_of
from ragtriage.data.store.sample_models import answer_text, as_json, is_finite
from ragtriage.data.store.sample_schema import FIELDS

LIST_ACCEPTED = "a JSON list or a Python list"
PSEUDO_FIELDS = ("run", "retrieved_ids", "retrieved_scores", "relevant_texts", "latency_s", "sampling_weight")
FAILED_WORDS = {"", "nan", "null", "none", "n/a", "na", "-"}
VERDICTS = {"true": True, "false": False, "yes": True, "no": False}
FLAGS = {**VERDICTS, "1": True, "0": False}
ANSWERABLE = {
    **dict.fromkeys(("yes", "true", "1", "answerable"), "yes"),
    **dict.fromkeys(("partial", "partially_answerable"), "partial"),
    **dict.fromkeys(("no", "false", "0", "unanswerable"), "no"),
    "conversational": "conversational",
}
QUESTION_KEYS = ("question", "query", "user_input", "input", "prompt", "text")
ANSWER_KEYS = ("answer", "response", "output", "result", "content", "text")
OBJECT_KEYS = {  # field -> keys under which tools keep its text, where a cell is an object
    "question": QUESTION_KEYS,
    "answer": ANSWER_KEYS,
    "reference_answer": ("reference_answer", "reference", "expected_output", "expected", *ANSWER_KEYS[:3]),
}
ROLES = {"human": "user", "ai": "assistant"}


class CellError(ValueError):
    """A cell does not fit its field."""

    def __init__(self, what: str, accepted: str) -> None:
        super().__init__(what)
        self.what = what
        self.accepted = accepted


def is_blank(value: object, *, blank_text: bool) -> bool:
    """Return whether a cell is empty: null, NaN, or, with `blank_text`, text of nothing but spaces."""
    if value is None:
        return True
    if isinstance(value, float):
        return math.isnan(value)
    return blank_text and isinstance(value, str) and not value.strip()


def read_score(value: object) -> object:
    """Return a metric cell as a number or a truth value, or NaN if it is blank or marks a failure.

    Of several values it is the mean.

    Raises:
        CellError: it is neither.
    """
    if isinstance(value, list | tuple) or (isinstance(value, str) and value.lstrip().startswith("[")):
        # The mean of a list of scores, as tools write it where several evaluators scored one sample.
        items = parse_structure(value)
        listed = items if isinstance(items, list | tuple) else [items]
        numbers = [_number(item) for item in listed if item is not None]
        if any(not isinstance(n, float) and not (isinstance(n, int) and is_finite(n)) for n in numbers):
            raise CellError(f"found {_shown(value)}", "numbers, or nothing if the metric failed")
        return fmean(map(float, numbers)) if numbers else math.nan  # type: ignore[arg-type]  # checked above
    if value is None or (isinstance(value, str) and value.strip().lower() in FAILED_WORDS):
        return math.nan
    if isinstance(value, dict):
        return value
    if isinstance(value, str) and value.strip().lower() in VERDICTS:
        return VERDICTS[value.strip().lower()]
    number = _number(value)
    if isinstance(number, bool | float) or (isinstance(number, int) and is_finite(number)):
        return number
    raise CellError(f"found {_shown(value)}", "a number, or nothing if the metric failed")


def read_cell(field: str, value: object) -> object:
    """Return a cell as the value of a field; validation checks it later.

    Raises:
        CellError: text that should be a list, an object or a label is not.
    """
    if field in OBJECT_KEYS and (fields := object_in(value)):
        value = next((fields[key] for key in OBJECT_KEYS[field] if key in fields), value)
    read = READERS.get(field)
    return value if read is None else read(value)


def object_in(value: object) -> dict[str, Any]:
    """Return the object that a cell is or that its text reads as; an empty one where it is none."""
    if isinstance(value, str) and not value.lstrip().startswith("{"):
        return {}
    try:
        fields = parse_structure(value)
    except CellError:
        return {}
    return fields if isinstance(fields, dict) else {}


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _number(value: object) -> object:
    if isinstance(value, Decimal):
        return float(value)
    if not isinstance(value, str):
        return value
    text = value.strip().replace("\u2212", "-")
    try:
        return int(text) if text.lstrip("+-").isdecimal() and len(text) < 19 else float(text)
    except ValueError:
        return value


def _text(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return str(value)


def parse_structure(value: object) -> object:
    """Parse text that is a JSON or Python list or object; return other text as it is.

    Raises:
        CellError: the text begins like a list and cannot be read as one.
    """
    if not isinstance(value, str):
        return value
    text = value.strip()
    if not text.startswith(("[", "{", "(", "array(")):
        return value
    with suppress(ValueError, RecursionError):  # it may be a Python literal
        return json.loads(text)
    try:
        return read_literal(text)
    except LiteralError as error:
        raise CellError(f"begins like a list but cannot be read: {error}", LIST_ACCEPTED) from error


def _listed(value: object) -> object:
    items = parse_structure(value)
    if isinstance(items, str | int | float):
        return [items]
    return list(items) if isinstance(items, tuple) else items


MOST_IN_ID = 80  # characters
_BETWEEN_IDS = re.compile(r"\s*[,;|\n]\s*|\s+/\s+")


def ids_in(text: str) -> list[str]:
    """Return the ids of documents that a cell lists, as in "KB-118, KB-120"; none where it holds a text."""
    number = re.fullmatch(r"\s*\d+,\d+\s*", text)  # as 3,7: a comma inside an id
    ids = [text.strip()] if number else [part for part in _BETWEEN_IDS.split(text.strip()) if part]
    shaped = all(len(each) <= MOST_IN_ID and not any(map(str.isspace, each)) for each in ids)
    if not shaped or not any(_looks_like_id(each) for each in ids):
        return []
    return ids


def _looks_like_id(text: str) -> bool:
    """Return whether a word has what those of a language do not: digits, underscores, dots or slashes."""
    return any(mark.isdigit() or mark in "_./#:" for mark in text) or "-" in text


def _ids(value: object) -> object:
    """Return ids as a list: of a JSON or Python list, or of text with commas, semicolons or line ends."""
    if isinstance(value, str) and value.strip().lower() in FAILED_WORDS:
        return []
    try:
        listed = _listed(value)
    except CellError:
        if ids := ids_in(str(value).strip(" []()")):  # [KB-118, KB-120], without quotes
            return ids
        raise
    return (ids_in(value) if isinstance(value, str) and listed == [value] else []) or listed


def _structured(value: object) -> object:
    structure = parse_structure(value)
    if isinstance(structure, str):
        raise CellError(f"found {_shown(structure)}", "JSON")
    return structure


def _tags(value: object) -> object:
    """Return tags as an object; each item of a plain list is a tag of its own, `tag_<item>`."""
    tags = _structured(value)
    if isinstance(tags, list | tuple):
        tags = dict(_tag(item) for item in tags if item is not None)
    if not isinstance(tags, dict):
        return tags
    return {key: as_json(item) if isinstance(item, list | dict) else item for key, item in tags.items()}


def _tag(item: object) -> tuple[str, object]:
    if isinstance(item, dict) and "key" in item and "value" in item:
        return str(item["key"]), item["value"]
    name = item.get("name") if isinstance(item, dict) else item
    if isinstance(name, str | int) and str(name).strip():
        return f"tag_{name}", True
    raise CellError(f"holds {_shown(item)}", "texts, or objects with `key` and `value`")


def _scores(value: object) -> object:
    """Return scores as an object; in a list, each item is an object with a name and a value.

    Of several items with one name, as of two annotators, the value is the mean of those that are numbers.
    """
    scores = _structured(value)
    if not isinstance(scores, list | tuple):
        return scores
    by_name: dict[str, list[dict[str, Any]]] = {}
    for score in map(_score, scores):
        if score is not None:
            by_name.setdefault(score[0], []).append(score[1])
    for name, same in by_name.items():
        if len(same) > 1:
            numbers = [score["value"] for score in same if isinstance(score["value"], int | float)]
            finite = [float(number) for number in numbers if not math.isnan(number)]
            reason = next((score["reason"] for score in same if score["reason"]), None)
            by_name[name] = [{"value": fmean(finite) if finite else math.nan, "reason": reason}]
    return {name: score for name, (score,) in by_name.items()}


def _score(item: object) -> tuple[str, dict[str, Any]] | None:
    """Return the name and the value of a score; None where it is a label or a comment alone."""
    fields = item if isinstance(item, dict) else {}
    name = next((fields[key] for key in ("name", "metric") if key in fields), None)
    if not isinstance(item, dict) or not isinstance(name, str):
        raise CellError(f"holds {_shown(item)}", "objects with `name` and `value`")
    number = next((item[key] for key in ("value", "score") if item.get(key) is not None), None)
    reason = next((item[key] for key in ("error", "reason", "explanation", "comment") if item.get(key)), None)
    if number is None and not item.get("error") and (item.get("label") or item.get("stringValue")):
        return None
    try:
        return metric_name(name)[0], {"value": read_score(number), "reason": reason}
    except CellError:  # a category
        return None


def _documents(value: object) -> object:
    try:
        return documents_of(parse_structure(value))
    except CellError:
        if isinstance(value, str) and not value.strip().endswith(("]", ")", "}")):
            return documents_of(value)  # prose that begins with a bracket, e.g. "[1] The Nile ..."
        raise


def _relevant(value: object) -> object:
    """Return ids or objects; in a list of lists, each inner list has the alternatives of one hop."""
    items = _ids(value)
    if not isinstance(items, list) or not any(isinstance(item, list) for item in items):
        return items
    hops = [item if isinstance(item, list) else [item] for item in items]
    if len(hops) == 1:
        return [{"id": name, "hop": "1"} for name in hops[0]]
    return [{"id": name, "hop": str(hop)} for hop, names in enumerate(hops, start=1) for name in names]


def _reference(value: object) -> object:
    """Return the reference answer: of a list of acceptable ones the first that is not empty."""
    answers = value
    if isinstance(value, str) and value.lstrip().startswith(("[", "array(")):
        try:
            answers = parse_structure(value)
        except CellError:
            return value
    if isinstance(answers, list | tuple):
        return answer_text(next(([answer] for answer in answers if answer not in (None, "")), None))
    return None if answers == "" else answer_text(answers)


def _answerable(value: object) -> object:
    label = parse_structure(value)
    if isinstance(label, list) and len(label) == 1:
        label = label[0]
    key = str(label).strip().lower().replace("-", "_").replace(" ", "_")
    if key in ANSWERABLE:
        return ANSWERABLE[key]
    raise CellError(f"found {_shown(label)}", "yes, partial, no, conversational, answerable, unanswerable")


def read_turns(value: object) -> object:
    """Return conversation turns in the native form, under whichever of the usual keys they are."""
    items = parse_structure(value)
    return [_turn(item) for item in items] if isinstance(items, list) else items


def _turn(item: object) -> object:
    if not isinstance(item, dict):
        return item
    role = next((item[key] for key in ("role", "speaker", "type") if item.get(key)), None)
    text = next((item[key] for key in ("text", "content", "value") if item.get(key) is not None), "")
    if isinstance(text, list):
        text = "\n".join(str(part.get("text", "")) if isinstance(part, dict) else str(part) for part in text)
    return {"role": ROLES.get(str(role), role), "text": text}


def _flag(value: object) -> object:
    if isinstance(value, str):
        return FLAGS.get(value.strip().lower(), value)
    return bool(value) if value in (0, 1) and isinstance(value, int | float) else value


def _type(value: object) -> object:
    """Return the type of a question; several of them in a list are one."""
    names = parse_structure(value) if isinstance(value, list | str) else value
    return ", ".join(map(str, names)) if isinstance(names, list) else _text(names)


def _weight(value: object) -> object:
    """Return how many calls a row stands for."""
    weight = _number(value)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 1 <= weight < math.inf:
        raise CellError(f"found {_shown(value)}", "a weight of 1 or more: how many calls the row stands for")
    return weight


STRUCTURED = (*("relevant_spans", "claims", "reference_claims", "used", "citations"), *("human", "checks"))
NUMBERS = (
    *("repeat", "latency_ms", "latency_s", "retrieval_ms", "input_tokens", "output_tokens"),
    *("cost_usd", "peak_memory_mb", "sampling_rate"),
)
READERS: dict[str, Callable[[object], Any]] = {
    **dict.fromkeys(STRUCTURED, _structured),
    **dict.fromkeys(NUMBERS, _number),
    **dict.fromkeys(("search_query", "prompt"), _text),
    **dict.fromkeys(
        ("question_id", "conversation_id"),
        lambda value: str(int(value)) if isinstance(value, float) and value.is_integer() else value,
    ),
    **dict.fromkeys(("retrieved", "candidates"), _documents),
    **dict.fromkeys(("retrieved_scores", "relevant_texts"), _listed),
    "retrieved_ids": _ids,
    "answer": answer_text,
    "query_type": _type,
    "relevant": _relevant,
    "scores": _scores,
    "tags": _tags,
    "question": lambda value: read_turns(value) if isinstance(value, list) else _text(value),
    "reference_answer": _reference,
    "answerable": _answerable,
    "refused": _flag,
    "sampling_weight": _weight,
    "history": read_turns,
}
if unknown := READERS.keys() - FIELDS - set(PSEUDO_FIELDS):
    raise AssertionError(f"readers for fields that no sample has: {sorted(unknown)}")
