"""The judge's evaluation of a sample: one request if the context fits the model's window, else several."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from data.judge.reply import follow_up_schema, join_follow_up, parse_reply, reply_schema
from data.judge.requests import Request, Sample, TaskSample, Workflow
from data.prompts.message import Document, JudgedCase, case_message
from data.prompts.prompt import Prompt, load_prompt
from data.store.judge_replies import EVALUATION, JudgeReply, RequestedLabels, reply_payload
from data.store.judge_results import TaskResult

__all__ = ["EvaluationTask", "judged_case", "split_documents"]

COLUMNS = ("question", "history", "answer", "reference_answer", "retrieved", "context_mode")
BYTES_A_TOKEN = 2  # fewer than in any language, so that a request that seems to fit does fit
USUAL_BYTES = 3.5  # of a token of running text
LABELLED = 2.5  # tokens of a claim with its labels, per token of its text
MOST_SPLITS = 4  # times that the documents are split again after the model found them too long


def judged_case(sample: Sample) -> JudgedCase:
    """Return the texts of a stored sample; documents without a text are left out."""
    documents = enumerate(sample["retrieved"] or (), start=1)
    return JudgedCase(
        question=sample["question"],
        history=tuple((turn["role"] or "", turn["text"] or "") for turn in sample["history"] or ()),
        answer=sample["answer"],
        reference=sample["reference_answer"],
        documents=tuple(Document(rank, document["text"]) for rank, document in documents if document["text"]),
    )


@dataclass(frozen=True)
class EvaluationTask:
    """Evaluates answers.

    Attributes:
        evaluation: prompt of the first request.
        follow_up: prompt for the documents that did not fit into it.
        window: tokens that a request may hold, the reply included.
    """

    evaluation: Prompt
    follow_up: Prompt
    window: int

    @classmethod
    def of(cls, window: int, folder: Path | None = None) -> EvaluationTask:
        """Load the prompts, from `folder` where it has them."""
        return cls(load_prompt("reading", folder), load_prompt("further", folder), window)

    @property
    def kind(self) -> str:
        """Kind of the stored results."""
        return EVALUATION

    @property
    def prompt(self) -> str:
        """Version of both prompts."""
        both = f"{self.evaluation.version}{self.follow_up.version}"
        return hashlib.sha256(both.encode()).hexdigest()[:12]

    @property
    def columns(self) -> tuple[str, ...]:
        """Sample columns that it reads."""
        return COLUMNS

    def workflow(self, task_sample: TaskSample) -> Workflow:
        """Ask for an evaluation; a context that is too long is split, and split finer if still too long."""
        case = judged_case(task_sample.sample)
        if case.answer is None and case.reference is None and not case.documents:
            return TaskResult(
                "not_applicable", "the sample has no answer, no reference and no documents with text"
            )
        texts = [case.question, case.answer or "", case.reference or "", *(text for _, text in case.history)]
        taken = sum(_tokens(text) for text in texts) + _tokens(self.evaluation.text)
        room = max(self.window - taken - _reply_tokens(case, len(case.documents)), 500)
        for _ in range(MOST_SPLITS):
            result = yield from self._evaluate(
                case, split_documents(case.documents, room), task_sample.attempt
            )
            if result.status != "context_exceeded" or not case.documents:
                return result
            room //= 2
        return result

    def _evaluate(self, case: JudgedCase, parts: Sequence[Sequence[Document]], attempt: int) -> Workflow:
        """Ask about the first part of the documents, then for the labels on each further part."""
        requested = _requested_labels(case, parts[0])
        call = yield Request(
            kind=EVALUATION,
            prompt=self.evaluation.version,
            system=self.evaluation.text,
            user=case_message(case, parts[0]),
            schema=reply_schema(requested),
            check=partial(parse_reply, requested=requested),
            expected_tokens=_reply_tokens(case, len(parts[0])),
            attempt=attempt,
        )
        if call.payload is None:
            return TaskResult(call.status, call.reason)
        reply = parse_reply(call.payload, requested)
        for part in parts[1:]:
            call = yield self._follow_up_request(case, reply, part, attempt)
            if call.payload is None:
                return TaskResult(call.status, f"documents {part[0].rank} to {part[-1].rank}: {call.reason}")
            reply = join_follow_up(reply, call.payload, [document.rank for document in part])
        return TaskResult("scored", "", reply_payload(reply))

    def _follow_up_request(
        self, case: JudgedCase, reply: JudgeReply, part: Sequence[Document], attempt: int
    ) -> Request:
        claims = [claim.text for claim in reply.claims]
        statements = [statement.text for statement in reply.statements]
        ranks = [document.rank for document in part]
        return Request(
            kind="further",
            prompt=self.follow_up.version,
            system=self.follow_up.text,
            user=case_message(case, part, claims, statements, follow_up=True),
            schema=follow_up_schema(_requested_labels(case, part)),
            check=lambda payload: join_follow_up(reply, payload, ranks),
            expected_tokens=100 + 25 * (len(claims) + len(statements)),
            attempt=attempt,
        )


def _requested_labels(case: JudgedCase, documents: Sequence[Document]) -> RequestedLabels:
    ranks = tuple(dict.fromkeys(document.rank for document in documents))
    return RequestedLabels(case.answer is not None, case.reference is not None, ranks)


def _tokens(text: str) -> int:
    return len(text.encode("utf-8", "replace")) // BYTES_A_TOKEN + 10


def _reply_tokens(case: JudgedCase, documents: int) -> int:
    """Estimate the tokens of a reply: each claim comes back as text with its labels."""
    labelled = len(f"{case.answer or ''}{case.reference or ''}".encode("utf-8", "replace")) / USUAL_BYTES
    return 150 + int(LABELLED * labelled) + 4 * documents


def split_documents(documents: Sequence[Document], room: int) -> list[list[Document]]:
    """Split documents into parts of at most `room` tokens, in rank order; a longer document is cut.

    Args:
        documents: in rank order.
        room: tokens of the judge's models that a part may hold.

    Returns:
        At least one part; the pieces of a cut document keep its rank.
    """
    parts: list[list[Document]] = [[]]
    taken = 0
    for document in documents:
        for piece in _pieces(document, room):
            size = _tokens(piece.text)
            if parts[-1] and taken + size > room:
                parts.append([])
                taken = 0
            parts[-1].append(piece)
            taken += size
    return parts


def _pieces(document: Document, room: int) -> list[Document]:
    """Cut a document into pieces of at most `room` tokens, again where characters are of uneven size."""
    size = _tokens(document.text)
    if size <= room or len(document.text) < 2:
        return [document]
    count = -(-size // max(room - 20, 1))
    length = -(-len(document.text) // count)
    starts = range(0, len(document.text), length)
    pieces = [Document(document.rank, document.text[start : start + length]) for start in starts]
    return [part for piece in pieces for part in (_pieces(piece, room) if len(pieces) > 1 else [piece])]
