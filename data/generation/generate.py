"""Answering the questions of a run anew: from its gold documents, from what it retrieved, or from nothing.

The answers make a run of their own. Beside the one it was made from it tells what is lost in retrieval and
what in generation, see data.comparison.oracle_gap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from data.cases.export import native_record
from data.errors import DataError, ValidationErrors
from data.generation.oracle_context import GoldTexts, oracle_documents
from data.importers.load import import_parsed_runs
from data.judge.reply import ReplyError
from data.judge.requests import Request, Sample, TaskSample, Workflow
from data.prompts.message import Document, JudgedCase, case_message
from data.prompts.prompt import Prompt, load_prompt
from data.scoring.run_store import RunStore
from data.store.judge_results import TaskResult
from data.store.parsed_run import ParsedRun, Record
from data.store.sample_reader import StoredSamples
from data.store.workspace import Run

__all__ = ["CONTEXTS", "Context", "GenerationTask", "generate_run", "generated_run"]

Context = Literal["oracle", "retrieved", "none"]
CONTEXTS: Mapping[str, str] = {
    "oracle": "oracle context",
    "retrieved": "retrieved context, answered anew",
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
ASKED = ("question", "history")
GOLD = ("retrieved", "candidates", "relevant", "relevant_spans")
OF_THE_QUESTION = (
    *("question_id", "repeat", "question", "history", "conversation_id", "search_query"),
    *("reference_answer", "relevant", "relevant_spans", "answerable", "query_type", "tags"),
)
OF_THE_RETRIEVAL = ("retrieved", "candidates", "retrieved_tokens", "relevant_chunks")
AT_ONCE = 256  # samples read at a time


@dataclass(frozen=True)
class GenerationTask:
    """Answers questions from a context.

    Attributes:
        context: one of CONTEXTS.
        texts: where the texts of gold documents are looked up, for the oracle.
        answering: the fixed prompt.
    """

    context: str
    texts: GoldTexts = field(default_factory=GoldTexts)
    answering: Prompt = field(default_factory=partial(load_prompt, "answering"))

    def __post_init__(self) -> None:
        if self.context not in CONTEXTS:
            raise DataError(f"context {self.context[:40]!r}; accepted: {', '.join(CONTEXTS)}")

    @property
    def kind(self) -> str:
        """What it is."""
        return f"answer:{self.context}"

    @property
    def prompt(self) -> str:
        """Version of the fixed prompt."""
        return self.answering.version

    @property
    def columns(self) -> tuple[str, ...]:
        """Sample columns that it reads."""
        return (*ASKED, *{"oracle": GOLD, "retrieved": ("retrieved",), "none": ()}[self.context])

    def documents(self, sample: Sample) -> tuple[list[dict[str, Any]], str]:
        """Give the documents that the context holds, in rank order; without any, the reason."""
        if self.context == "none":
            return [], ""
        if self.context == "oracle":
            return oracle_documents(sample, self.texts)
        listed = list(sample["retrieved"] or ())
        return (listed, "") if any(one["text"] for one in listed) else ([], NO_TEXTS)

    def workflow(self, task_sample: TaskSample) -> Workflow:
        """Ask for the answer; repeats of a question ask the same, so that one answer stands for them all."""
        documents, reason = self.documents(task_sample.sample)
        if reason:
            return TaskResult("not_applicable", reason)
        call = yield self._request(task_sample, documents)
        if call.payload is None:
            return TaskResult(call.status, call.reason)
        return TaskResult("scored", "", {"answer": call.payload["answer"]})

    def _request(self, given: TaskSample, documents: Iterable[Mapping[str, Any]]) -> Request:
        return Request(
            kind=self.kind,
            prompt=self.answering.version,
            system=self.answering.text,
            user=case_message(_asked(given.sample, documents)),
            schema=SCHEMA,
            check=_check,
            expected_tokens=EXPECTED_TOKENS,
            attempt=given.attempt,
        )


def _asked(sample: Sample, documents: Iterable[Mapping[str, Any]]) -> JudgedCase:
    """Make the case that is sent: never with the answer or the reference."""
    return JudgedCase(
        question=sample["question"],
        history=tuple((turn["role"] or "", turn["text"] or "") for turn in sample["history"] or ()),
        documents=tuple(
            Document(rank, one["text"]) for rank, one in enumerate(documents, start=1) if one["text"]
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
    outcomes: Mapping[int, TaskResult],
    work: GenerationTask,
    model: str,
) -> ParsedRun:
    """Make the draft of the run that the answers are.

    Questions, references and gold are those of the original run. What spoke of its answers is left out:
    scores, labels, claims, used documents, citations, latency and the like. A sample without an answer stays,
    with the reason under `extra`.

    Args:
        run: the original run.
        samples: its samples as stored, each with its row.
        outcomes: what the work came to, by row.
        work: what was asked.
        model: who answered.
    """
    config = {
        **run.config,
        "generator_model": model,
        "generator_prompt": work.prompt,
        "context": work.context,
        "generated_from": run.run_id,
    }
    return ParsedRun(
        name=f"{run.name} ({CONTEXTS[work.context]})",
        records=_records(samples, outcomes, work),
        file=f"{run.run_id} answered by {model}",
        format="generated",
        config=config,
        dataset=run.dataset,
        dataset_version=run.dataset_version,
        corpus_version=run.corpus_version,
        notes=_notes(run, outcomes, work, model),
    )


def _records(
    samples: Iterable[Sample], outcomes: Mapping[int, TaskResult], work: GenerationTask
) -> Iterator[Record]:
    for sample in samples:
        yield sample["row"] + 1, _record(sample, outcomes.get(sample["row"]), work)


def _record(sample: Sample, outcome: TaskResult | None, work: GenerationTask) -> dict[str, Any]:
    names = OF_THE_QUESTION if work.context != "retrieved" else (*OF_THE_QUESTION, *OF_THE_RETRIEVAL)
    record = native_record({**{name: sample.get(name) for name in names}, "extra": None})
    record["context_mode"] = MODES[work.context]
    if work.context == "oracle":
        record["retrieved"] = work.documents(sample)[0] or None
    if outcome is not None and outcome.status == "scored":
        record["answer"] = _storable(outcome.payload["answer"])
    else:
        status, reason = (outcome.status, outcome.reason) if outcome else ("not_run", NOT_ASKED)
        record["no_answer"] = {"status": status, "reason": reason}
    return record


def _storable(text: str) -> str:
    """Replace half surrogate pairs, which no file can carry."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _notes(run: Run, outcomes: Mapping[int, TaskResult], work: GenerationTask, model: str) -> tuple[str, ...]:
    given = sum(one.status == "scored" for one in outcomes.values())
    held = {"oracle": "the gold documents", "retrieved": "the retrieved documents", "none": "no documents"}
    first = f"{given} of {run.n} samples of {run.run_id} were answered by {model} from {held[work.context]}"
    failed = [one for one in outcomes.values() if one.status != "scored"]
    lacking = [
        f"{count} without an answer ({status.replace('_', ' ')}), for instance: "
        + next(one.reason for one in failed if one.status == status)
        for status, count in Counter(one.status for one in failed).most_common()
    ]
    others = run.n - len(outcomes)
    return (first, *lacking, *([f"{others} without an answer: {NOT_ASKED}"] if others else []))


def generate_run(
    store: RunStore, run: Run, outcomes: Mapping[int, TaskResult], work: GenerationTask, model: str
) -> Run:
    """Put the run that the answers are into the workspace, in the original's project, and score it.

    Args:
        store: of the workspace.
        run: the original run.
        outcomes: what the work came to, by row of the original run.
        work: what was asked.
        model: who answered.

    Raises:
        DataError: no sample has an answer.
    """
    if not any(one.status == "scored" for one in outcomes.values()):
        why = Counter(one.reason for one in outcomes.values()).most_common(1)
        raise DataError(
            f"{run.name} ({run.run_id}): no sample got an answer from {CONTEXTS[work.context]} "
            f"({why[0][0] if why else NOT_ASKED}); accepted: a run with at least one"
        )
    stored = StoredSamples(store.workspace.samples_path(run.run_id))
    blocks = (range(start, min(start + AT_ONCE, run.n)) for start in range(0, run.n, AT_ONCE))
    samples = (sample for rows in blocks for sample in stored.read(rows))
    draft = generated_run(run, samples, outcomes, work, model)
    return import_parsed_runs(store, [draft], run.project, ValidationErrors(draft.file))[-1].run
