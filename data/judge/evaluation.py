"""The judge's evaluation of a sample: a request without the reference answer and one that compares with it.

A context that does not fit the model's window takes several of each.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

from ragtriage.data.errors import DataError
from ragtriage.data.judge.reply import (
    FORM,
    FurtherLabels,
    follow_up_schema,
    join_follow_up,
    join_reference,
    parse_reply,
    reference_schema,
    reply_schema,
)
from ragtriage.data.judge.reply_model import expected_reply
from ragtriage.data.judge.requests import ModelCall, Request, Sample, TaskSample, Workflow
from ragtriage.data.prompts.prompt import Document, JudgedCase, Prompt, case_message, load_prompt
from ragtriage.data.store.judge_results import (
    EVALUATION,
    JudgeReply,
    RequestedLabels,
    TaskResult,
    reply_payload,
)
from ragtriage.data.text.tokens import split_sentences

ReferenceWay = Literal["apart", "along"]
REFERENCE_WAYS: tuple[ReferenceWay, ...] = ("apart", "along")
Parts = Sequence[Sequence[Document]]
Steps = Generator[Request, ModelCall, tuple[JudgeReply, TaskResult | None]]  # labels so far, and a failure

COLUMNS = ("question", "history", "answer", "reference_answer", "retrieved", "context_mode")
BYTES_A_TOKEN = 2  # fewer than in any language, so that a request that seems to fit does fit
USUAL_BYTES = 3.5  # of a token of running text
LABELLED, QUOTED = 2.5, 5.0  # tokens of a claim with its labels, per token of its text; with quotes for them
MOST_SPLITS = 4  # times that the documents are split again after the model found them too long


def judged_case(sample: Sample) -> JudgedCase:
    """Return the texts of a stored sample; documents without a text, or with a blank one, are left out."""
    documents = enumerate(sample["retrieved"] or (), start=1)
    return JudgedCase(
        question=sample["question"],
        history=tuple((turn["role"] or "", turn["text"] or "") for turn in sample["history"] or ()),
        answer=sample["answer"],
        reference=sample["reference_answer"],
        documents=tuple(
            Document(rank, document["text"])
            for rank, document in documents
            if (document["text"] or "").strip()
        ),
    )


@dataclass(frozen=True)
class EvaluationTask:
    """Evaluates answers."""

    evaluation: Prompt  # prompt of the first request
    comparison: Prompt  # prompt that compares the answer with the reference
    follow_up: Prompt  # prompt for the documents that did not fit into either
    window: int  # tokens that a request may hold, the reply included
    # "apart" if the reference is sent in a request of its own, after support and relevance were asked without
    # it, "along" if one request asks for everything
    reference: ReferenceWay = "apart"
    kind: ClassVar = EVALUATION
    columns: ClassVar = COLUMNS

    @classmethod
    def of(cls, window: int, folder: Path | None = None, reference: ReferenceWay = "apart") -> EvaluationTask:
        """Load the prompts, from `folder` where it has them.

        Raises:
            DataError: a prompt of the folder was written for another form.
        """
        evaluation, comparison, follow_up = (
            _prompt_of_form(name, folder, schema) for name, schema in _FULLEST.items()
        )
        return cls(evaluation, comparison, follow_up, window, reference)

    @property
    def prompt(self) -> str:
        """Version of the form, the prompts, and when the reference is shown."""
        versions = f"{self.evaluation.version}{self.comparison.version}{self.follow_up.version}"
        return hashlib.sha256(f"{FORM} {self.reference} {versions}".encode()).hexdigest()[:12]

    @property
    def other_way(self) -> EvaluationTask:
        """The same task with the reference shown the other way."""
        return replace(self, reference="along" if self.reference == "apart" else "apart")

    def workflow(self, task_sample: TaskSample) -> Workflow:
        """Ask for an evaluation; a context that is too long is split, and split finer if still too long."""
        case = judged_case(task_sample.sample)
        if case.answer is None and not case.documents:
            return TaskResult("not_applicable", "the sample has no answer and no documents with text")
        texts = [case.question, case.answer or "", case.reference or "", *(text for _, text in case.history)]
        taken = sum(_tokens(text) for text in texts) + _tokens(self._first_prompt(case).text)
        room = max(self.window - taken - _reply_tokens(case, len(case.documents)), 500)
        for _ in range(MOST_SPLITS):
            parts = split_documents(case.documents, room)
            result = yield from self._evaluate(case, parts, task_sample.attempt)
            if result.status != "context_exceeded" or not case.documents:
                return result
            room //= 2
        return result

    def _first_prompt(self, case: JudgedCase) -> Prompt:
        """Return the prompt of the first request, which also compares where a reference goes along."""
        if self.reference == "apart" or case.reference is None:
            return self.evaluation
        text = f"{self.evaluation.text}\n\n{self.comparison.text}"
        return Prompt("reading", text, f"{self.evaluation.version}{self.comparison.version}")

    def _evaluate(self, case: JudgedCase, parts: Parts, attempt: int) -> Workflow:
        """Evaluate without the reference and compare with it afterwards, or both at once."""
        apart = self.reference == "apart" and case.reference is not None
        shown = replace(case, reference=None) if apart else case
        prompt = self._first_prompt(case)
        requested = _requested_labels(shown, parts[0])
        schema = reply_schema(requested)
        call = yield Request(
            kind=EVALUATION,
            prompt=prompt.version,
            system=prompt.text,
            user=case_message(shown, parts[0]),
            schema=schema,
            check=partial(parse_reply, requested=requested, texts=_texts(parts[0])),
            expected_tokens=_reply_tokens(shown, len(parts[0])),
            attempt=attempt,
            expected_reply=expected_reply(schema, _expected_claims(shown)) if apart or parts[1:] else None,
        )
        if call.payload is None:
            return TaskResult(call.status, call.reason)
        reply = parse_reply(call.payload, requested, _texts(parts[0]))
        answer = case.answer is not None
        asked = FurtherLabels(answer, requested.reference, answer, documents=True)
        reply, failure = yield from self._further(case, reply, parts[1:], asked, attempt)
        if failure is None and apart:
            reply, failure = yield from self._compare(case, reply, parts, attempt)
        return failure or TaskResult("scored", "", reply_payload(reply))

    def _compare(self, case: JudgedCase, begun: JudgeReply, parts: Parts, attempt: int) -> Steps:
        """Ask for the labels that rest on the reference."""
        requested = _requested_labels(case, parts[0])
        schema = reference_schema(requested)
        compared = {"claims": _numbers(begun.claims), "statements": _expected_claims(case)["statements"]}
        call = yield Request(
            kind="reference",
            prompt=self.comparison.version,
            system=self.comparison.text,
            user=case_message(case, parts[0], [claim.text for claim in begun.claims]),
            schema=schema,
            check=lambda payload: join_reference(begun, payload, _texts(parts[0])),
            expected_tokens=_reply_tokens(replace(case, answer=None), len(parts[0])) + 8 * len(begun.claims),
            attempt=attempt,
            expected_reply=expected_reply(schema, compared) if parts[1:] else None,
        )
        if call.payload is None:
            return begun, TaskResult(call.status, f"comparison with the reference: {call.reason}")
        reply = join_reference(begun, call.payload, _texts(parts[0]))
        asked = FurtherLabels(claims=False, statements=True, answer=case.answer is not None, documents=False)
        return (yield from self._further(case, reply, parts[1:], asked, attempt))

    def _further(
        self, case: JudgedCase, reply: JudgeReply, parts: Parts, asked: FurtherLabels, attempt: int
    ) -> Steps:
        """Ask for the labels on each further part of the documents."""
        for part in parts:
            call = yield self._follow_up_request(case, reply, part, asked, attempt)
            if call.payload is None:
                reason = f"documents {part[0].rank} to {part[-1].rank}: {call.reason}"
                return reply, TaskResult(call.status, reason)
            reply = join_follow_up(reply, call.payload, _texts(part), asked)
        return reply, None

    def _follow_up_request(
        self,
        case: JudgedCase,
        reply: JudgeReply,
        part: Sequence[Document],
        asked: FurtherLabels,
        attempt: int,
    ) -> Request:
        claims = [claim.text for claim in reply.claims] if asked.claims else []
        statements = [statement.text for statement in reply.statements] if asked.statements else []
        schema = follow_up_schema(asked)
        numbers = {"claims": _numbers(claims), "statements": _numbers(statements)}
        return Request(
            kind="further",
            prompt=self.follow_up.version,
            system=self.follow_up.text,
            user=case_message(case, part, claims, statements, follow_up=True),
            schema=schema,
            check=lambda payload: join_follow_up(reply, payload, _texts(part), asked),
            expected_tokens=100 + 60 * (len(claims) + len(statements)),
            attempt=attempt,
            expected_reply=expected_reply(schema, numbers),
        )


def _prompt_of_form(name: str, folder: Path | None, schema: Mapping[str, Any]) -> Prompt:
    """Load a prompt; one that leaves out fields of the form, as written for an earlier form, is an error."""
    prompt = load_prompt(name, folder)
    absent = [name for name in _field_names(schema) if f"`{name}`" not in prompt.text]
    if absent:
        raise DataError(
            f"prompt {prompt.name}.md: does not describe {', '.join(absent)}; accepted: a prompt that "
            "describes every field of the form in backticks, as the bundled one does"
        )
    return prompt


def _field_names(schema: Mapping[str, Any]) -> list[str]:
    """List the fields of the objects and lists in a schema, but for those of `instructions`."""
    names: list[str] = []
    for name, node in schema.get("properties", {}).items():
        names.append(name)
        if name != "instructions":
            names += _field_names(node.get("items", {}))
    return list(dict.fromkeys(names))


_FULLEST = {  # by prompt
    "reading": reply_schema(RequestedLabels(answer=True, reference=False, ranks=(1,))),
    "reference": reference_schema(RequestedLabels(answer=True, reference=True, ranks=(1,))),
    "further": follow_up_schema(FurtherLabels(claims=True, statements=True, answer=True, documents=True)),
}


def _requested_labels(case: JudgedCase, documents: Sequence[Document]) -> RequestedLabels:
    return RequestedLabels(case.answer is not None, case.reference is not None, tuple(_texts(documents)))


def _texts(documents: Sequence[Document]) -> dict[int, str]:
    """Return the text that was sent of each document, by rank; pieces of one are joined."""
    texts: dict[int, str] = {}
    for document in documents:
        texts[document.rank] = texts.get(document.rank, "") + document.text
    return texts


def _expected_claims(case: JudgedCase) -> dict[str, list[dict[str, Any]]]:
    """Return a claim for each sentence of the answer and of the reference."""
    texts = {"claims": case.answer or "", "statements": case.reference or ""}
    return {
        name: [{"text": text[start:end]} for start, end in split_sentences(text)]
        for name, text in texts.items()
    }


def _numbers(entries: Sequence[object]) -> list[dict[str, Any]]:
    return [{"n": number} for number in range(1, len(entries) + 1)]


def _tokens(text: str) -> int:
    return len(text.encode("utf-8", "replace")) // BYTES_A_TOKEN + 10


def _reply_tokens(case: JudgedCase, documents: int) -> int:
    """Estimate the tokens of a reply: each claim comes back as text with its labels and quotes."""
    labelled = len(f"{case.answer or ''}{case.reference or ''}".encode("utf-8", "replace")) / USUAL_BYTES
    return 150 + int((QUOTED if documents else LABELLED) * labelled) + 4 * documents


def split_documents(documents: Sequence[Document], room: int) -> list[list[Document]]:
    """Split documents into parts of at most `room` tokens, in rank order; a longer document is cut.

    `room` is in tokens of the judge's models.

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
