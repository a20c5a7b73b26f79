"""Questions and passages with their languages, from JSONL."""

import gzip
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from ragtriage.data.errors import DataError
from ragtriage.data.text.language import language_of

NOT_RECORDED = "not recorded"
MOST_BYTES = 500_000_000  # of a file
ID_FIELDS = ("id", "_id", "doc_id")


@dataclass(frozen=True)
class LanguagePassage:
    """A passage."""

    doc_id: str  # its id
    text: str  # as stored
    language: str  # as given, else as told from the text


@dataclass(frozen=True)
class LanguageQuestion:
    """A question."""

    question_id: str  # its id
    question: str  # its text
    language: str  # as given, else as told from the text
    relevant: tuple[str, ...]  # ids of the passages that answer it, in any language
    parallel_id: str  # of its meaning: translations of one question share it; its own id where none is given


@dataclass(frozen=True)
class MultilingualSet:
    """Questions in several languages with the passages they are answered from."""

    name: str  # of the questions' file
    questions: tuple[LanguageQuestion, ...]  # in the order of the file
    passages: tuple[LanguagePassage, ...]  # by id

    @property
    def languages(self) -> list[str]:
        """Languages of the passages, those of the questions first, in their order."""
        asked = dict.fromkeys(entry.language for entry in self.questions)
        there = dict.fromkeys(entry.language for entry in self.passages)
        return [*(name for name in asked if name in there), *(name for name in there if name not in asked)]


def read_multilingual(questions: str, corpus: str) -> MultilingualSet:
    """Read questions and passages.

    Args:
        questions: JSONL with `question_id` (or `id`), `question`, `relevant` and maybe `language` and
            `parallel_id`.
        corpus: JSONL with `id` (or `_id`, `doc_id`), `text` and maybe `language`.

    Raises:
        DataError: a file or line cannot be used; the message names it.
    """
    asked = tuple(_question(entry, where) for entry, where in _lines(questions))
    passages = sorted(
        (_passage(entry, where) for entry, where in _lines(corpus)), key=lambda each: each.doc_id
    )
    ids = {passage.doc_id for passage in passages}
    if len(ids) < len(passages):
        raise DataError(f"{corpus}: two passages have one id; accepted: an id for each")
    if not any(set(question.relevant) & ids for question in asked):
        raise DataError(f"{questions}: no relevant passage is in {corpus}; accepted: ids that the corpus has")
    return MultilingualSet(Path(questions).stem, asked, tuple(passages))


def _lines(path: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    try:
        with gzip.open(path) if path.endswith(".gz") else Path(path).open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", "") or error
        raise DataError(f"{path}: cannot be read ({reason}); accepted: a JSONL file") from error
    if len(content) > MOST_BYTES:
        raise DataError(f"{path}: larger than {MOST_BYTES // 1_000_000} MB; accepted: a smaller JSONL file")
    lines = content.splitlines()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            entry = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise DataError(f"{where}: is not JSON ({error}); accepted: a JSON object a line") from error
        if not isinstance(entry, dict):
            raise DataError(f"{where}: is not an object; accepted: a JSON object a line")
        yield entry, where


def _question(entry: Mapping[str, Any], where: str) -> LanguageQuestion:
    text = _text(entry, ("question", "query", "text"), where)
    name = _text(entry, ("question_id", *ID_FIELDS), where)
    listed = entry.get("relevant")
    if not isinstance(listed, list) or not listed:
        raise DataError(f"{where}: no `relevant`; accepted: a list of passage ids, or of objects with `id`")
    relevant = tuple(str(each.get("id")) if isinstance(each, dict) else str(each) for each in listed)
    return LanguageQuestion(
        name, text, _language(entry, text), relevant, str(entry.get("parallel_id") or name)
    )


def _passage(entry: Mapping[str, Any], where: str) -> LanguagePassage:
    text = _text(entry, ("text",), where)
    return LanguagePassage(_text(entry, ID_FIELDS, where), text, _language(entry, text))


def _text(entry: Mapping[str, Any], names: tuple[str, ...], where: str) -> str:
    for name in names:
        value = entry.get(name)
        if isinstance(value, str | int) and str(value).strip():
            return str(value)
    raise DataError(f"{where}: no {' or '.join(f'`{name}`' for name in names)}; accepted: text")


def _language(entry: Mapping[str, Any], text: str) -> str:
    declared = entry.get("language") or entry.get("lang")
    return declared[:20] if isinstance(declared, str) else language_of(text) or NOT_RECORDED
