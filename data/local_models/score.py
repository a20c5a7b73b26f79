"""Score a run by models on this machine; the judge's model makes questions of answers for one metric."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ragtriage.data.judge.reply_model import ReplyError, ReplyObject, validate_reply, wire_schema
from ragtriage.data.judge.requests import Request, TaskSample, Workflow
from ragtriage.data.local_models.models import (
    EmbeddingModel,
    NliModel,
    context_result,
    nli_result,
    recorded_questions,
    reverse_result,
)
from ragtriage.data.prompts.prompt import JudgedCase, Prompt, case_message, load_prompt
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.judge_results import (
    JudgeResult,
    TaskResult,
    judge_result_path,
    publish,
    read_task_results,
)
from ragtriage.data.store.workspace import Run
from ragtriage.data.text.refusal_detection import detect_refusal

N_QUESTIONS = 3
REPLY_TOKENS = 150


class ReverseReply(ReplyObject):
    """The questions that an answer answers, and whether it commits itself to anything."""

    committal: bool
    questions: list[str]


def _check(reply: object) -> ReverseReply:
    checked = validate_reply(reply, ReverseReply)
    if checked.committal and (not checked.questions or not all(text.strip() for text in checked.questions)):
        raise ReplyError(f"questions: none, or an empty one; accepted: {N_QUESTIONS} questions")
    return checked


@dataclass(frozen=True)
class ReverseQuestionTask:
    """Asks for questions that an answer answers; the model sees the answer alone."""

    fixed: Prompt = field(default_factory=partial(load_prompt, "reverse_questions"))

    @property
    def kind(self) -> str:
        """Kind of the stored results."""
        return "reverse_questions"

    @property
    def prompt(self) -> str:
        """Version of the fixed prompt."""
        return self.fixed.version

    @property
    def columns(self) -> tuple[str, ...]:
        """Sample columns that it reads."""
        return ("answer",)

    def workflow(self, task_sample: TaskSample) -> Workflow:
        """Ask once; not applicable to a sample without an answer."""
        answer = task_sample.sample["answer"]
        if not answer or not answer.strip():
            return TaskResult("not_applicable", "the sample has no answer")
        call = yield Request(
            kind=self.kind,
            prompt=self.prompt,
            system=self.fixed.text,
            user=case_message(JudgedCase(question="", answer=answer)),
            schema=wire_schema(ReverseReply),
            check=_check,
            expected_tokens=REPLY_TOKENS,
            attempt=task_sample.attempt,
        )
        if call.payload is None:
            return TaskResult(call.status, call.reason)
        reply = _check(call.payload)
        questions = reply.questions[:N_QUESTIONS] if reply.committal else []
        return TaskResult("scored", "", {"questions": questions})


COLUMNS = ("question", "answer", "retrieved", "claims", "extra")
READ_AT_ONCE = 64
LOCAL_KINDS = {
    "local:nli": "NLI faithfulness",
    "local:context": "context quality by embeddings",
    "local:reverse_questions": "relevancy by reverse questions",
}


@dataclass(frozen=True)
class LocalModels:
    """The models to score with."""

    nli: NliModel | None = None  # tells entailment; None to leave NLI faithfulness out
    # of questions and passages; None to leave context quality and reverse questions out
    embedding: EmbeddingModel | None = None
    threshold: float = 0.8  # probability of entailment from which a claim holds
    # row -> questions made from the answer, by the judge's model; None for those recorded
    questions: Mapping[int, Sequence[str]] | None = None


def score_locally(
    store: RunStore, run: Run, models: LocalModels, progress: Callable[[int], None] | None = None
) -> list[JudgeResult]:
    """Score a run and store the results, one for each kind of metric.

    Args:
        store: of the workspace.
        run: with samples.
        models: what to score with.
        progress: called with the number of samples done.

    Returns:
        What was stored; a kind that applies to no sample is left out.
    """
    outcomes: dict[str, dict[tuple[int, int], TaskResult]] = {}
    before = ""
    for sample in _samples(store, run):
        for kind, result in _results(sample, models, before).items():
            outcomes.setdefault(kind, {})[sample["row"], 0] = result
        before = sample["question"]
        if progress is not None:
            progress(sample["row"] + 1)
    return [
        publish(store.workspace, store.ledger, _head(run, kind, models), results)
        for kind, results in outcomes.items()
        if any(result.status == "scored" for result in results.values())
    ]


def _samples(store: RunStore, run: Run) -> Iterator[dict[str, Any]]:
    samples = store.scored(run).samples
    for start in range(0, run.n, READ_AT_ONCE):
        rows = range(start, min(start + READ_AT_ONCE, run.n))
        for row, sample in zip(rows, samples.read(rows, COLUMNS), strict=True):
            yield {**sample, "row": row}


def _results(sample: Mapping[str, Any], models: LocalModels, before: str) -> dict[str, TaskResult]:
    results = {}
    if models.nli is not None:
        results["local:nli"] = nli_result(sample, models.nli, models.threshold)
    if models.embedding is not None:
        results["local:context"] = context_result(sample, models.embedding)
        asked = (
            recorded_questions(sample)
            if models.questions is None
            else list(models.questions.get(sample["row"], ()))
        )
        off_topic = before if before != sample["question"] else ""
        refused = detect_refusal(sample["answer"] or "").refused
        results["local:reverse_questions"] = (
            TaskResult("not_applicable", "the answer is a refusal")
            if refused
            else reverse_result(sample["question"], asked, off_topic, models.embedding)
        )
    return results


def _head(run: Run, kind: str, models: LocalModels) -> JudgeResult:
    """Return the result without what publishing fills in: a changed threshold counts as another model."""
    if kind == "local:nli" and models.nli is not None:
        model, prompt = models.nli.name, f"entailment {models.threshold:g}"
    else:
        model = "" if models.embedding is None else models.embedding.name
        asked = "recorded questions" if models.questions is None else "questions of the judge's model"
        prompt = asked if kind == "local:reverse_questions" else "cosine"
    return JudgeResult(run.run_id, kind, model, prompt, "local")


def off_topic_baseline(store: RunStore, run: Run, results: Sequence[JudgeResult]) -> float | None:
    """Return the mean cosine of reverse questions with the question of another sample; None without any."""
    for result in results:
        if result.kind == "local:reverse_questions":
            path = judge_result_path(store.workspace, run.run_id, result.digest)
            payloads = [outcome.payload for outcome in read_task_results(path).values() if outcome.payload]
            values = [payload["off_topic"] for payload in payloads if payload["off_topic"] is not None]
            return sum(values) / len(values) if values else None
    return None
