"""Generating new answers to the questions of a run: from gold documents, retrieved ones, or none.

The answers are a run of their own. Compared with the original it separates retrieval errors from generation
errors, see ragtriage.data.comparison.oracle_gap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from ragtriage.data.cases.export import native_record
from ragtriage.data.errors import DataError, ValidationErrors
from ragtriage.data.generation.oracle_context import GoldTexts, oracle_documents
from ragtriage.data.importers.load import import_parsed_runs
from ragtriage.data.judge.reply_model import ReplyError
from ragtriage.data.judge.requests import Request, Sample, TaskSample, Workflow
from ragtriage.data.prompts.prompt import Document, JudgedCase, Prompt, case_message, load_prompt
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.judge_results import TaskResult
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.data.store.sample_reader import StoredSamples
from ragtriage.data.store.workspace import Run

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
