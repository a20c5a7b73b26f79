"""The sentences of one answer with their citations, as recorded or as marked in its text."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import pyarrow.parquet as pq

from ragtriage.data.declarations import FILE_NAME, read_settings
from ragtriage.data.errors import DataError
from ragtriage.data.store.sample_reader import further_fields
from ragtriage.data.store.stored_file import reading
from ragtriage.data.store.workspace import Workspace
from ragtriage.data.text.citation_marks import (
    TEMPLATE_ACCEPTED,
    CitationMark,
    MarkedSentence,
    find_marks,
    marked_sentences,
    needs_citation,
    template_fault,
)

PAGE_KEYS = ("page", "page_number", "page_label", "page_no")
# the page at the end of an id: "manual#12", "page-12", "Page 12", "guide.pdf#page=12", "p12"
_PAGE_ID = re.compile(
    r"(?:#(?:page=)?|(?:^|[\W_])(?:pages?|pp?|seite|стр)[\W_]{0,2}|第)0*(\d{1,6})页?\Z", re.IGNORECASE
)


@dataclass(frozen=True)
class Citation:
    """One citation of a sentence; a document that a sentence cites twice counts once."""

    name: str  # what the answer names, as "3" or "doc-7"
    ranks: tuple[int, ...]  # of the documents of that name, best first; empty where the context has none
    # first character of its mark in the answer; None where it was recorded without one
    start: int | None = None
    end: int | None = None  # character behind the last


@dataclass(frozen=True)
class CitedSentence:
    """A sentence of an answer."""

    text: str  # without its marks where they were read from the text
    start: int | None  # first character in the answer; None where the answer has no such text
    end: int | None  # character behind the last
    citations: tuple[Citation, ...]  # in order
    needed: bool  # whether it needs a citation
    # whether the cited documents together support it, as recorded; None unknown
    supported: bool | None = None
    supporting: frozenset[str] | None = None  # names of those that do so alone, as recorded; None unknown
    broken: int = 0  # number of marks that name nothing, as in [citation needed]

    @property
    def ranks(self) -> frozenset[int]:
        """The ranks of all documents that it cites."""
        return frozenset(rank for citation in self.citations for rank in citation.ranks)


@dataclass(frozen=True)
class CitedAnswer:
    """The sentences of an answer."""

    sentences: tuple[CitedSentence, ...]  # in order
    # where its citations come from; "none" for an answer without any
    origin: Literal["recorded", "text", "none"]


class _Context:
    """The documents of one sample, found by what a citation may name: id, `doc_id`, page or place."""

    def __init__(self, documents: Sequence[Mapping[str, Any]], from_zero: bool) -> None:
        self.n, self.first = len(documents), 0 if from_zero else 1
        self.by_name: dict[str, list[int]] = {}
        self.by_page: dict[str, list[int]] = {}
        for rank, document in enumerate(documents, 1):
            for key in dict.fromkeys((document["id"], document["doc_id"])):
                if key is not None:
                    self.by_name.setdefault(str(key), []).append(rank)
            for page in _pages(document["extra"]):
                self.by_page.setdefault(page, []).append(rank)
        self.by_page_id: dict[str, list[int]] = {}
        for name, ranks in self.by_name.items():
            if page_id := _PAGE_ID.search(name):
                self.by_page_id.setdefault(page_id[1].lstrip("0") or "0", []).extend(ranks)

    def ranks(self, kind: str, name: str) -> tuple[int, ...]:
        """Return the ranks of the documents that a name stands for: by id before by place in the context."""
        if kind == "page":  # a page that a document states goes before one in an id, as "manual#12"
            named = self.by_page.get(name) or self.by_name.get(name) or self.by_page_id.get(name)
            return tuple(dict.fromkeys(named or ()))
        if name in self.by_name:
            return tuple(self.by_name[name])
        if kind == "number" and name.isdigit() and not self.numbered:
            rank = int(name) - self.first + 1
            return (rank,) if 1 <= rank <= self.n else ()
        return ()

    @property
    def numbered(self) -> bool:
        """Whether documents have whole numbers as ids, which a number then means."""
        return any(name.isdigit() for name in self.by_name)


def _pages(extra: str | None) -> list[str]:
    entries = further_fields(extra, "metadata", "extra", *PAGE_KEYS)
    nested = (entries.get("metadata"), entries.get("extra"))
    places = [entries, *(place for place in nested if isinstance(place, Mapping))]
    return [str(place[key]) for place in places for key in PAGE_KEYS if place.get(key) is not None]


def cited_answer(
    sample: Mapping[str, Any], templates: Sequence[str] = (), from_zero: bool = False
) -> CitedAnswer | None:
    """Return the sentences and citations of a stored sample; None where it has neither answer nor citations.

    Recorded citations come before marks in the text. Where they have labels or name sentences without
    citations, they are taken as all sentences of the answer; else the sentences that they leave out are added
    without citations. Without `templates` the usual forms of citations are looked for; `from_zero` counts the
    documents from 0.
    """
    answer, recorded = sample["answer"], sample["citations"]
    context = _Context(sample["retrieved"] or (), from_zero)
    if recorded is not None:
        return CitedAnswer(tuple(_recorded(answer or "", recorded, context)), "recorded")
    if not answer:
        return None
    marks = find_marks(answer, templates, context.by_name)
    sentences = tuple(_marked(sentence, context) for sentence in marked_sentences(answer, marks))
    return CitedAnswer(sentences, "text" if any(sentence.citations for sentence in sentences) else "none")


def _marked(sentence: MarkedSentence, context: _Context) -> CitedSentence:
    citations = [
        Citation(name, context.ranks(mark.kind, name), mark.start, mark.end)
        for mark in sentence.marks
        for name in mark.names
    ]
    return CitedSentence(
        text=sentence.text,
        start=sentence.start,
        end=sentence.end,
        citations=_once(citations),
        needed=bool(citations) or needs_citation(sentence.text),
        broken=sum(not mark.names for mark in sentence.marks),
    )


def _once(citations: Sequence[Citation]) -> tuple[Citation, ...]:
    return tuple({citation.name: citation for citation in reversed(citations)}.values())[::-1]


def _recorded(answer: str, entries: Sequence[Mapping[str, Any]], context: _Context) -> list[CitedSentence]:
    sentences, at = [], 0
    for entry in entries:
        sentence = _recorded_sentence(answer, entry, context, at)
        at = sentence.end or at
        sentences.append(sentence)
    labelled = any(entry.get("supported") is not None or entry.get("needed") is not None for entry in entries)
    whole = (
        labelled
        or any(not entry["ids"] for entry in entries)
        or any(not entry["sentence"] for entry in entries)
    )
    return sentences if whole else _with_the_rest(answer, sentences)


def _recorded_sentence(answer: str, entry: Mapping[str, Any], context: _Context, at: int) -> CitedSentence:
    text, names = entry["sentence"] or answer, entry["ids"] or ()
    start, end = entry.get("start"), entry.get("end")
    if start is None or end is None or not start < end <= len(answer):
        place = answer.find(text, at) if text else -1
        place = answer.find(text) if place < 0 else place
        start, end = (place, place + len(text)) if place >= 0 and text else (None, None)
    citations = _once([Citation(name, context.ranks("number", name)) for name in names])
    citations = tuple(_placed(citation, answer, start, end) for citation in citations)
    needed, supporting = entry.get("needed"), entry.get("supporting")
    return CitedSentence(
        text=text,
        start=start,
        end=end,
        citations=citations,
        needed=bool(citations or entry.get("supported") is not None or needs_citation(text))
        if needed is None
        else needed,
        supported=entry.get("supported"),
        supporting=None if supporting is None else frozenset(supporting),
    )


def _placed(citation: Citation, answer: str, start: int | None, end: int | None) -> Citation:
    """Return a recorded citation with the place of its mark, where the sentence has one of its name."""
    if start is None or end is None:
        return citation
    for mark in find_marks(answer[start : end + 24], (), {citation.name}):
        if citation.name in mark.names:
            return replace(citation, start=start + mark.start, end=start + mark.end)
    return citation


def _with_the_rest(answer: str, sentences: list[CitedSentence]) -> list[CitedSentence]:
    """Add the sentences of the answer that no recorded one touches, in the order of the answer."""
    taken = [
        (sentence.start, sentence.end)
        for sentence in sentences
        if sentence.start is not None and sentence.end is not None
    ]
    if len(taken) < len(sentences):  # a recorded sentence is not in the answer: what is left cannot be told
        return sentences
    marks: list[CitationMark] = find_marks(answer)
    rest = [
        CitedSentence(
            " ".join(sentence.text.split()), sentence.start, sentence.end, (), needs_citation(sentence.text)
        )
        for sentence in marked_sentences(answer, marks)
        if not any(sentence.start < end and start < sentence.end for start, end in taken)
    ]
    return sorted([*sentences, *rest], key=lambda sentence: sentence.start or 0)


PATTERN = "citation_pattern"  # setting of a run's configuration, or of metrics.toml
STYLED = 2_000  # answers that tell the form
FEWEST_CITING = 0.1  # share of the answers that cite in a run that cites


@dataclass(frozen=True)
class CitationStyle:
    """The form of the citations of a run."""

    templates: tuple[str, ...] = ()  # as declared; () for the usual forms
    from_zero: bool = False  # whether numbers count the documents from 0, told by any [0]


def templates_of(workspace: Workspace, project: str, config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the forms of citations that a configuration or a project declares, () for none.

    Raises:
        DataError: they are not templates.
    """
    settings = read_settings(workspace)
    projects = settings.get("project")
    own = projects.get(project) if isinstance(projects, dict) else None
    source, value = "the configuration of the run", config.get(PATTERN)
    if value is None:
        source = str(workspace.root / FILE_NAME)
        value = own.get(PATTERN) if isinstance(own, Mapping) else None
        value = settings.get(PATTERN) if value is None else value
    if value is None:
        return ()
    fault = template_fault(value)
    if fault is not None:
        raise DataError(f"{source}: {PATTERN}: {fault}; accepted: {TEMPLATE_ACCEPTED}")
    return (value,) if isinstance(value, str) else tuple(value)


@lru_cache(maxsize=64)  # the samples of a run never change
def citation_style(samples: Path, templates: tuple[str, ...] = ()) -> CitationStyle | None:
    """Return how the first 2,000 answers of a run cite; None where fewer than one in ten does.

    With declared forms a run cites, whatever its answers hold.
    """
    return style_of(_rows(samples), templates)


def style_of(samples: Iterable[Mapping[str, Any]], templates: tuple[str, ...] = ()) -> CitationStyle | None:
    """Return how stored samples cite, as `citation_style` does of a run."""
    answers = citing = 0
    from_zero = recorded = False
    for row in samples:
        recorded |= row.get("citations") is not None
        if not row["answer"]:
            continue
        ids = {str(document["id"]) for document in row["retrieved"] or () if document["id"] is not None}
        marks = find_marks(row["answer"], templates, ids)
        named = [(mark.kind, name) for mark in marks for name in mark.names]
        answers, citing = answers + 1, citing + bool(named)
        from_zero |= "0" not in ids and ("number", "0") in named
    if not (templates or recorded or (citing and citing >= FEWEST_CITING * answers)):
        return None
    return CitationStyle(templates, from_zero)


def _rows(samples: Path) -> Iterator[dict[str, Any]]:
    left = STYLED
    with reading(samples), pq.ParquetFile(samples) as file:
        for batch in file.iter_batches(batch_size=256, columns=["answer", "citations", "retrieved"]):
            yield from batch.to_pylist()[:left]
            left -= batch.num_rows
            if left <= 0:
                return
