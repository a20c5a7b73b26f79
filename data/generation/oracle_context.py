"""What answers are generated from: the gold documents of a question, and question sets as samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragtriage.data.chunking.corpus import Corpus
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.duckdb_engine import query
from ragtriage.data.store.question_sets import QuestionSet, questions_path
from ragtriage.data.store.workspace import Run, Workspace

Sample = Mapping[str, Any]
GoldDocument = dict[str, Any]
NO_GOLD = "the sample names no gold documents"
NOTHING_RELEVANT = "no document is relevant to this question"
NO_CORPUS = "its gold is known by spans alone, and their text needs the corpus"
SHOWN = 3  # ids named in a reason


@dataclass(frozen=True)
class GoldTexts:
    """Texts of gold documents that a sample does not list itself."""

    # id -> text, of gold documents listed by other samples of the run
    listed: Mapping[str, str] = field(default_factory=dict)
    corpus: Corpus | None = None  # the corpus, where there is one

    def find(self, name: str) -> str:
        """Return the text of a document; "" where there is none."""
        if name in self.listed:
            return self.listed[name]
        document = None if self.corpus is None else self.corpus.by_name.get(name)
        if document is None or not document.text.strip():
            return ""
        return f"{document.title}\n{document.text}" if document.title else document.text


def gold_texts(samples: Path, corpus: Corpus | None = None) -> GoldTexts:
    """Return the texts of the gold documents that any sample of a run lists.

    An id with different texts, as where each question numbers its own documents, is left out.

    Args:
        samples: the samples.parquet of the run.
        corpus: the corpus, if there is one.
    """
    rows = query("gold_texts", {"samples": str(samples)}).to_pylist()
    return GoldTexts({row["id"]: row["text"] for row in rows}, corpus)


def oracle_documents(sample: Sample, texts: GoldTexts) -> tuple[list[GoldDocument], str]:
    """Return the gold documents of a sample in the native format, or the reason why there are none.

    The context must be complete: every gold document, or one of those with the same hop.

    Returns:
        The documents with `id` and `text` and "", or none and a reason.
    """
    documents, reason = _by_id(sample, texts)
    if documents or not sample.get("relevant_spans"):
        return documents, reason
    return _by_spans(sample["relevant_spans"], texts.corpus)


def _by_id(sample: Sample, texts: GoldTexts) -> tuple[list[GoldDocument], str]:
    judged = sample.get("relevant") or ()
    gold = [document for document in judged if document["grade"] is None or document["grade"] > 0]
    if not gold:
        return [], NO_GOLD if sample.get("relevant") is None else NOTHING_RELEVANT
    lists = [*(sample.get("candidates") or ()), *(sample.get("retrieved") or ())]
    own = {document["id"]: document["text"] for document in lists if document["text"]}
    by_id = {document["id"]: own.get(document["id"]) or texts.find(document["id"]) for document in gold}
    hops = {document["hop"] for document in gold if by_id[document["id"]]}
    missing = [
        document["id"]
        for document in gold
        if not by_id[document["id"]] and (document["hop"] is None or document["hop"] not in hops)
    ]
    if missing:
        corpus = texts.corpus
        where = "; a corpus may have it" if corpus is None else f" nor in the corpus {corpus.name}"
        return [], f"no text of gold {_named(missing)} in the run{where}"
    return [{"id": name, "text": text} for name, text in by_id.items() if text], ""


def _named(names: Iterable[str]) -> str:
    different = list(dict.fromkeys(names))
    more = f" and {len(different) - SHOWN} more" if len(different) > SHOWN else ""
    noun = "document" if len(different) == 1 else "documents"
    return f"{noun} {', '.join(name[:60] for name in different[:SHOWN])}{more}"


def _by_spans(spans: Sequence[Mapping[str, Any]], corpus: Corpus | None) -> tuple[list[GoldDocument], str]:
    if corpus is None:
        return [], NO_CORPUS
    documents = []
    for span in spans:
        document = corpus.by_name.get(span["doc_id"])
        start, end = span["start"], span["end"]
        text = "" if document is None else document.text[start:end]
        if document is None:
            return [], f"the corpus {corpus.name} has no document {span['doc_id'][:60]}"
        if end > len(document.text) or not text.strip():
            return [], f"characters {start} to {end} of {span['doc_id'][:60]} hold no text in the corpus"
        location = {"doc_id": span["doc_id"], "start": start, "end": end}
        documents.append({"id": f"{span['doc_id']}:{start}-{end}", "text": text, **location})
    return documents, ""


@dataclass(frozen=True)
class AskedQuestions:
    """The questions that answers are generated for."""

    run: Run  # the run that has them, or the facts of a question set in the form of one
    store: RunStore  # where a job finds the samples of `run`
    questions: Path | None = None  # file of the questions of a set; None for a run, which has its samples

    @property
    def samples(self) -> Path:
        """File of the samples, of a run or a set."""
        return self.store.workspace.samples_path(self.run.run_id)


class _QuestionWorkspace(Workspace):
    """A workspace in which a job finds the questions of a set where it looks for the samples of a run."""

    def samples_path(self, run_id: str) -> Path:
        """Return the path of the questions of a set."""
        return questions_path(self, run_id)


def questions_of_set(store: RunStore, facts: QuestionSet, project: str) -> AskedQuestions:
    """Return the questions of a set that the workspace keeps; their answers will be a run of `project`."""
    run = Run(
        run_id=facts.set_id,
        name=facts.name,
        project=project,
        n=facts.n,
        n_questions=facts.n,
        created_at=facts.created_at,
        imported_at=facts.created_at,
        origin=facts.origin,
        config={},
        dataset=facts.name,
        dataset_version=facts.dataset_version,
        corpus_version=facts.corpus_version,
        content_hash=facts.content_hash,
        notes=facts.notes,
        fields=(),
    )
    questions = questions_path(store.workspace, facts.set_id)
    return AskedQuestions(run, RunStore(_QuestionWorkspace(store.workspace.root)), questions)
