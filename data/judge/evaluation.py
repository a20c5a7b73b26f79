"""The judge's reading as work on a sample: one question where the context fits, several where it does not."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from data.judge.requests import Request, Sample, TaskSample, Workflow
from data.store.judge_results import TaskResult
from metrics.judge.prompts import Document, JudgedCase, Prompt, case_message, load_prompt
from metrics.judge.reply import EVALUATION, JudgeReply, join_follow_up, parse_reply, reply_payload
from metrics.judge.reply_schema import ReplySchema, follow_up_schema, reply_schema

__all__ = ["EvaluationTask", "judged_case", "split_documents"]

COLUMNS = ("question", "history", "answer", "reference_answer", "retrieved", "context_mode")
BYTES_A_TOKEN = 2  # fewer than any language has, so that what is taken to fit does fit
USUAL_BYTES = 3.5  # of a token of running text
LABELLED = 2.5  # tokens of a claim with its labels for one of its text
MOST_SPLITS = 4  # times that what did not fit is cut finer


def judged_case(sample: Sample) -> JudgedCase:
    """Give what there is to judge of a stored sample; documents without a text are left out."""
    documents = enumerate(sample["retrieved"] or (), start=1)
    return JudgedCase(
        question=sample["question"],
        history=tuple((turn["role"] or "", turn["text"] or "") for turn in sample["history"] or ()),
        answer=sample["answer"],
        reference=sample["reference_answer"],
        documents=tuple(Document(rank, one["text"]) for rank, one in documents if one["text"]),
    )


@dataclass(frozen=True)
class EvaluationTask:
    """Reads answers.

    Attributes:
        reading: prompt of the reading.
        further: prompt for the documents that did not fit.
        window: tokens that a request may hold, the reply included.
    """

    evaluation: Prompt
    follow_up: Prompt
    window: int

    @classmethod
    def of(cls, window: int, folder: Path | None = None) -> EvaluationTask:
        """Load the prompts, from a folder of one's own where it has them."""
        return cls(load_prompt("reading", folder), load_prompt("further", folder), window)

    @property
    def kind(self) -> str:
        """What it is."""
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

    def workflow(self, given: TaskSample) -> Workflow:
        """Ask for a reading; where the context is too long, ask on with the documents that are left."""
        case = judged_case(given.sample)
        if case.answer is None and case.reference is None and not case.documents:
            return TaskResult(
                "not_applicable", "the sample has no answer, no reference and no documents with text"
            )
        room = self._room(case)
        for _ in range(MOST_SPLITS):
            outcome = yield from self._read(case, split_documents(case.documents, room), given.attempt)
            if outcome.status != "context_exceeded" or not case.documents:
                return outcome
            room //= 2
        return outcome

    def _room(self, case: JudgedCase) -> int:
        """Tokens that the documents may take."""
        rest = [case.question, case.answer or "", case.reference or "", *(text for _, text in case.history)]
        taken = sum(_tokens(text) for text in rest) + _tokens(self.evaluation.text)
        return max(self.window - taken - _reply(case, len(case.documents)), 500)

    def _read(self, case: JudgedCase, parts: Sequence[Sequence[Document]], attempt: int) -> Workflow:
        call = yield self._first(case, parts[0], attempt)
        if call.payload is None:
            return TaskResult(call.status, call.reason)
        read = parse_reply(call.payload, _form(case, parts[0]))
        for part in parts[1:]:
            call = yield self._next(case, read, part, attempt)
            if call.payload is None:
                return TaskResult(call.status, f"documents {part[0].rank} to {part[-1].rank}: {call.reason}")
            read = join_follow_up(read, call.payload, [one.rank for one in part])
        return TaskResult("scored", "", reply_payload(read))

    def _first(self, case: JudgedCase, part: Sequence[Document], attempt: int) -> Request:
        form = _form(case, part)
        return Request(
            kind=EVALUATION,
            prompt=self.evaluation.version,
            system=self.evaluation.text,
            user=case_message(case, part),
            schema=reply_schema(form),
            check=partial(parse_reply, form=form),
            expected_tokens=_reply(case, len(part)),
            attempt=attempt,
        )

    def _next(self, case: JudgedCase, read: JudgeReply, part: Sequence[Document], attempt: int) -> Request:
        claims, statements = [one.text for one in read.claims], [one.text for one in read.statements]
        form, ranks = _form(case, part), [one.rank for one in part]
        return Request(
            kind="further",
            prompt=self.follow_up.version,
            system=self.follow_up.text,
            user=case_message(case, part, claims, statements, further=True),
            schema=follow_up_schema(form),
            check=partial(_check_further, read, ranks),
            expected_tokens=100 + 25 * (len(claims) + len(statements)),
            attempt=attempt,
        )


def _check_further(read: JudgeReply, ranks: Sequence[int], reply: object) -> JudgeReply:
    return join_follow_up(read, reply, ranks)


def _form(case: JudgedCase, part: Sequence[Document]) -> ReplySchema:
    return ReplySchema(
        case.answer is not None, case.reference is not None, tuple(dict.fromkeys(one.rank for one in part))
    )


def _tokens(text: str) -> int:
    return len(text.encode("utf-8", "replace")) // BYTES_A_TOKEN + 10


def _reply(case: JudgedCase, documents: int) -> int:
    """Guess the tokens of a reply: each claim comes back as text with its labels."""
    labelled = len(f"{case.answer or ''}{case.reference or ''}".encode("utf-8", "replace")) / USUAL_BYTES
    return 150 + int(LABELLED * labelled) + 4 * documents


def split_documents(documents: Sequence[Document], room: int) -> list[list[Document]]:
    """Divide documents into parts of at most `room` tokens, in rank order; a longer document is cut.

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
    size = _tokens(document.text)
    if size <= room or len(document.text) < 2:
        return [document]
    count = -(-size // max(room - 20, 1))
    length = -(-len(document.text) // count)
    starts = range(0, len(document.text), length)
    pieces = [Document(document.rank, document.text[start : start + length]) for start in starts]
    return [half for piece in pieces for half in (_pieces(piece, room) if len(pieces) > 1 else [piece])]
