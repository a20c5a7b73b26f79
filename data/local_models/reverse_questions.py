"""Questions made from an answer by the judge's model, for relevancy by reverse questions."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from ragtriage.data.judge.reply_model import ReplyError, ReplyObject, validate_reply, wire_schema
from ragtriage.data.judge.requests import Request, TaskSample, Workflow
from ragtriage.data.prompts.prompt import JudgedCase, Prompt, case_message, load_prompt
from ragtriage.data.store.judge_results import TaskResult

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
