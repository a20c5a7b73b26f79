"""Generating new answers to the questions of a run: from gold documents, retrieved ones, or none.

The answers are a run of their own. Compared with the original it separates retrieval errors from generation
errors, see ragtriage.data.comparison.oracle_gap.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from ragtriage.data.cases.export import native_record
from ragtriage.data.chunking.corpus import Corpus
from ragtriage.data.errors import DataError, ValidationErrors
from ragtriage.data.importers.load import import_parsed_runs
from ragtriage.data.judge.reply_model import ReplyError
from ragtriage.data.judge.requests import Request, Sample, TaskSample, Workflow
from ragtriage.data.prompts.prompt import Document, JudgedCase, Prompt, case_message, load_prompt
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.duckdb_engine import query
from ragtriage.data.store.judge_results import TaskResult
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.data.store.question_sets import QuestionSet, questions_path
from ragtriage.data.store.sample_reader import StoredSamples
from ragtriage.data.store.workspace import Run, Workspace

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


Context = Literal["oracle", "retrieved", "none"]
CONTEXTS: Mapping[str, str] = {
    "oracle": "oracle context",
    "retrieved": "retrieved context, answered again",
    "none": "closed book",
}
MODES = {"oracle": "oracle", "retrieved": "retrieved", "none": "closed_book"}
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
EXPECTED_TOKENS = 300
NO_TEXTS = "the sample has no retrieved document with a text"
NOT_ASKED = "not asked"
QUESTION_COLUMNS = ("question", "history")
GOLD_COLUMNS = ("retrieved", "candidates", "relevant", "relevant_spans")
OF_THE_QUESTION = (
    *("question_id", "repeat", "question", "history", "conversation_id", "search_query"),
    *("reference_answer", "relevant", "relevant_spans", "answerable", "query_type", "tags"),
)
OF_THE_RETRIEVAL = ("retrieved", "candidates", "retrieved_tokens", "relevant_chunks")
AT_ONCE = 256  # samples read at a time


@dataclass(frozen=True)
class GenerationTask:
    """Answers questions from a context."""

    context: str  # one of CONTEXTS
    texts: GoldTexts = field(default_factory=GoldTexts)  # texts of the gold documents, for the oracle context
    answering: Prompt = field(default_factory=partial(load_prompt, "answering"))  # the fixed prompt

    def __post_init__(self) -> None:
        if self.context not in CONTEXTS:
            raise DataError(f"context {self.context[:40]!r}; accepted: {', '.join(CONTEXTS)}")

    @property
    def kind(self) -> str:
        """Kind of the stored results."""
        return f"answer:{self.context}"

    @property
    def prompt(self) -> str:
        """Version of the fixed prompt."""
        return self.answering.version

    @property
    def columns(self) -> tuple[str, ...]:
        """Sample columns that it reads."""
        return (
            *QUESTION_COLUMNS,
            *{"oracle": GOLD_COLUMNS, "retrieved": ("retrieved",), "none": ()}[self.context],
        )

    def documents(self, sample: Sample) -> tuple[list[dict[str, Any]], str]:
        """Return the documents of the context in rank order; without any, the reason."""
        if self.context == "none":
            return [], ""
        if self.context == "oracle":
            return oracle_documents(sample, self.texts)
        listed = list(sample["retrieved"] or ())
        return (listed, "") if any(document["text"] for document in listed) else ([], NO_TEXTS)

    def workflow(self, task_sample: TaskSample) -> Workflow:
        """Ask for the answer; repeats of a question send the same request and share its answer."""
        documents, reason = self.documents(task_sample.sample)
        if reason:
            return TaskResult("not_applicable", reason)
        call = yield self._request(task_sample, documents)
        if call.payload is None:
            return TaskResult(call.status, call.reason)
        return TaskResult("scored", "", {"answer": call.payload["answer"]})

    def _request(self, task_sample: TaskSample, documents: Iterable[Mapping[str, Any]]) -> Request:
        return Request(
            kind=self.kind,
            prompt=self.answering.version,
            system=self.answering.text,
            user=case_message(_asked(task_sample.sample, documents)),
            schema=SCHEMA,
            check=_check,
            expected_tokens=EXPECTED_TOKENS,
            attempt=task_sample.attempt,
        )


def _asked(sample: Sample, documents: Iterable[Mapping[str, Any]]) -> JudgedCase:
    """Return the case that is sent: never with the answer or the reference."""
    return JudgedCase(
        question=sample["question"],
        history=tuple((turn["role"] or "", turn["text"] or "") for turn in sample["history"] or ()),
        documents=tuple(
            Document(rank, document["text"])
            for rank, document in enumerate(documents, start=1)
            if document["text"]
        ),
    )


def _check(reply: object) -> str:
    answer = reply.get("answer") if isinstance(reply, dict) else None
    if not isinstance(answer, str) or not answer.strip():
        raise ReplyError("answer: missing or empty; accepted: text")
    return answer


def generated_run(
    run: Run,
    samples: Iterable[Sample],
    results: Mapping[int, TaskResult],
    task: GenerationTask,
    model: str,
    of_a_set: bool = False,
) -> ParsedRun:
    """Return the run of the answers, ready to import.

    Questions, references and gold are those of the original run. All that belongs to its answers is left out:
    scores, labels, claims, used documents, citations, latency and the like. A sample without an answer stays,
    with the reason under `extra`.

    Args:
        run: the original run.
        samples: its stored samples, each with its row.
        results: of the task, by row.
        task: what was asked.
        model: that answered.
        of_a_set: whether the original is a question set and no run.
    """
    config = {
        **run.config,
        "generator_model": model,
        "generator_prompt": task.prompt,
        "context": task.context,
        ("question_set" if of_a_set else "generated_from"): run.run_id,
    }
    return ParsedRun(
        name=f"{run.name} ({CONTEXTS[task.context]})",
        records=_records(samples, results, task),
        file=f"{run.run_id} answered by {model}",
        format="generated",
        config=config,
        dataset=run.dataset,
        dataset_version=run.dataset_version,
        corpus_version=run.corpus_version,
        notes=_notes(run, results, task, model),
    )


def _records(
    samples: Iterable[Sample], results: Mapping[int, TaskResult], task: GenerationTask
) -> Iterator[Record]:
    for sample in samples:
        yield sample["row"] + 1, _record(sample, results.get(sample["row"]), task)


def _record(sample: Sample, result: TaskResult | None, task: GenerationTask) -> dict[str, Any]:
    names = OF_THE_QUESTION if task.context != "retrieved" else (*OF_THE_QUESTION, *OF_THE_RETRIEVAL)
    record = native_record({**{name: sample.get(name) for name in names}, "extra": None})
    record["context_mode"] = MODES[task.context]
    if task.context == "oracle":
        record["retrieved"] = task.documents(sample)[0] or None
    if result is not None and result.status == "scored":
        # replace lone surrogates, which no file can hold
        record["answer"] = result.payload["answer"].encode("utf-8", "replace").decode("utf-8")
    else:
        status, reason = (result.status, result.reason) if result else ("not_run", NOT_ASKED)
        record["no_answer"] = {"status": status, "reason": reason}
    return record


def _notes(run: Run, results: Mapping[int, TaskResult], task: GenerationTask, model: str) -> tuple[str, ...]:
    answered = sum(result.status == "scored" for result in results.values())
    contexts = {
        "oracle": "the gold documents",
        "retrieved": "the retrieved documents",
        "none": "no documents",
    }
    source = contexts[task.context]
    first = f"{answered} of {run.n} samples of {run.run_id} were answered by {model} from {source}"
    failed = [result for result in results.values() if result.status != "scored"]
    missing = [
        f"{count} without an answer ({status.replace('_', ' ')}), for instance: "
        + next(result.reason for result in failed if result.status == status)
        for status, count in Counter(result.status for result in failed).most_common()
    ]
    others = run.n - len(results)
    return (first, *missing, *([f"{others} without an answer: {NOT_ASKED}"] if others else []))


def generate_run(
    store: RunStore,
    run: Run,
    results: Mapping[int, TaskResult],
    task: GenerationTask,
    model: str,
    questions: Path | None = None,
) -> Run:
    """Import the run of the answers into the original's project, and score it.

    Args:
        store: of the workspace.
        run: the original run, or the facts of a question set in the form of one.
        results: of the task, by row of the original.
        task: what was asked.
        model: that answered.
        questions: the questions of a question set; None for those of the run.

    Raises:
        DataError: no sample has an answer.
    """
    if not any(result.status == "scored" for result in results.values()):
        reasons = Counter(result.reason for result in results.values()).most_common(1)
        raise DataError(
            f"{run.name} ({run.run_id}): no sample got an answer from {CONTEXTS[task.context]} "
            f"({reasons[0][0] if reasons else NOT_ASKED}); accepted: a run with at least one"
        )
    stored = StoredSamples(questions or store.workspace.samples_path(run.run_id))
    blocks = (range(start, min(start + AT_ONCE, run.n)) for start in range(0, run.n, AT_ONCE))
    samples = (sample for rows in blocks for sample in stored.read(rows))
    parsed = generated_run(run, samples, results, task, model, of_a_set=questions is not None)
    return import_parsed_runs(store, [parsed], run.project, ValidationErrors(parsed.file))[-1].run
