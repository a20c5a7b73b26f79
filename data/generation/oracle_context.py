"""The gold documents of a question with their texts: what an oracle would hand to the generator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from data.chunking.corpus import Corpus
from data.store.duckdb_engine import query

__all__ = ["GoldTexts", "gold_texts", "oracle_documents"]

Sample = Mapping[str, Any]
GivenDocument = dict[str, Any]
NO_GOLD = "the sample names no gold documents"
NOTHING_RELEVANT = "no document is relevant to this question"
NO_CORPUS = "its gold is known by spans alone, and their text needs the corpus"
SHOWN = 3  # ids named in a reason


@dataclass(frozen=True)
class GoldTexts:
    """Where texts of gold documents are looked up beside a sample's own lists.

    Attributes:
        listed: id -> text, of gold documents that other samples of the run list.
        corpus: the documents of the corpus, where one is given.
    """

    listed: Mapping[str, str] = field(default_factory=dict)
    corpus: Corpus | None = None

    def find(self, name: str) -> str:
        """Give the text of a document; "" where it is nowhere."""
        if name in self.listed:
            return self.listed[name]
        document = None if self.corpus is None else self.corpus.by_name.get(name)
        if document is None or not document.text.strip():
            return ""
        return f"{document.title}\n{document.text}" if document.title else document.text


def gold_texts(samples: Path, corpus: Corpus | None = None) -> GoldTexts:
    """Gather the texts of the gold documents that any sample of a run lists.

    An id that stands for different texts, as where each question numbers its own documents, is left out.

    Args:
        samples: the samples.parquet of the run.
        corpus: the corpus, if there is one.
    """
    found = query("gold_texts", {"samples": str(samples)}).to_pylist()
    return GoldTexts({one["id"]: one["text"] for one in found}, corpus)


def oracle_documents(sample: Sample, texts: GoldTexts) -> tuple[list[GivenDocument], str]:
    """Give the gold documents of a sample in the native form, or the reason why there are none to give.

    All that the question needs must be there: every gold document, of documents with the same hop one. A part
    of the gold would be no oracle.

    Returns:
        The documents with `id` and `text` and "", or none and a reason.
    """
    found, reason = _by_id(sample, texts)
    if found or not sample.get("relevant_spans"):
        return found, reason
    return _by_spans(sample["relevant_spans"], texts.corpus)


def _by_id(sample: Sample, texts: GoldTexts) -> tuple[list[GivenDocument], str]:
    gold = [one for one in sample.get("relevant") or () if one["grade"] is None or one["grade"] > 0]
    if not gold:
        return [], NO_GOLD if sample.get("relevant") is None else NOTHING_RELEVANT
    own = _own_texts(sample)
    found = {one["id"]: own.get(one["id"]) or texts.find(one["id"]) for one in gold}
    met = {one["hop"] for one in gold if found[one["id"]]}
    lacking = [
        one["id"] for one in gold if not found[one["id"]] and (one["hop"] is None or one["hop"] not in met)
    ]
    if lacking:
        return [], f"no text of gold {_named(lacking)} in the run{_nor(texts.corpus)}"
    return [{"id": name, "text": text} for name, text in found.items() if text], ""


def _own_texts(sample: Sample) -> dict[str, str]:
    lists = [*(sample.get("candidates") or ()), *(sample.get("retrieved") or ())]
    return {one["id"]: one["text"] for one in lists if one["text"]}


def _named(names: Iterable[str]) -> str:
    different = list(dict.fromkeys(names))
    more = f" and {len(different) - SHOWN} more" if len(different) > SHOWN else ""
    noun = "document" if len(different) == 1 else "documents"
    return f"{noun} {', '.join(name[:60] for name in different[:SHOWN])}{more}"


def _nor(corpus: Corpus | None) -> str:
    return "; a corpus may have it" if corpus is None else f" nor in the corpus {corpus.name}"


def _by_spans(spans: Sequence[Mapping[str, Any]], corpus: Corpus | None) -> tuple[list[GivenDocument], str]:
    if corpus is None:
        return [], NO_CORPUS
    found = []
    for span in spans:
        document = corpus.by_name.get(span["doc_id"])
        start, end = span["start"], span["end"]
        text = "" if document is None else document.text[start:end]
        if document is None:
            return [], f"the corpus {corpus.name} has no document {span['doc_id'][:60]}"
        if end > len(document.text) or not text.strip():
            return [], f"characters {start} to {end} of {span['doc_id'][:60]} hold no text in the corpus"
        place = {"doc_id": span["doc_id"], "start": start, "end": end}
        found.append({"id": f"{span['doc_id']}:{start}-{end}", "text": text, **place})
    return found, ""
