"""The three requests of making questions: written, looked at alone, read blind beside other passages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator

from ragtriage.data.datasets.item import Item
from ragtriage.data.datasets.making.quotas import CANDIDATES, Writing
from ragtriage.data.datasets.windows import Passage
from ragtriage.data.judge.reply_model import (
    Instruction,
    NumberedObject,
    Rank,
    ReplyError,
    ReplyObject,
    Sent,
    each_once,
    misfit,
    validate_reply,
    wire_schema,
)
from ragtriage.data.judge.requests import Request
from ragtriage.data.prompts.prompt import Prompt, load_prompt, tagged_message

ALONE_AT_ONCE = 10  # questions in one request
MOST_EXAMPLES = 8  # real questions that are shown
MOST_HEADINGS = 30  # of an outline
WRITE_TOKENS, ALONE_TOKENS, READ_TOKENS = 160, 40, 60  # of a reply: a question, a question, a passage


class Quote(ReplyObject):
    """A part of the gold."""

    passage: Rank
    quote: str
    asks: str


class Candidate(ReplyObject):
    """A question as it was written."""

    question: str
    answer: str
    fact: str
    quotes: list[Quote]
    missing: str
    earlier_question: str
    earlier_answer: str


class WriteReply(ReplyObject):
    """The questions of one request."""

    candidates: list[Candidate]
    instructions: list[Instruction]


def _up_to_five(value: int) -> int:
    if not 1 <= value <= 5:
        raise misfit(str(value)[:20], "1, 2, 3, 4, 5")
    return value


class QuestionAlone(NumberedObject):
    """How a question strikes somebody without the documents."""

    stands_alone: bool
    open: str
    realism: Annotated[int, AfterValidator(_up_to_five)]
    answer: str


class AloneReply(ReplyObject):
    """How each question strikes somebody without the documents."""

    questions: Annotated[list[QuestionAlone], AfterValidator(each_once)]


class PassageRead(NumberedObject):
    """How far a passage answers."""

    answers: Literal["full", "part", "none"]
    quote: str


class ReadReply(ReplyObject):
    """What the passages answer, read without knowing which is the gold."""

    passages: Annotated[list[PassageRead], AfterValidator(each_once)]
    answer: str
    denied: str


@dataclass(frozen=True)
class MakingPrompts:
    """The fixed prompts."""

    write: Prompt
    alone: Prompt
    read: Prompt

    @classmethod
    def of(cls, folder: Path | None = None) -> Self:
        """Load them, those of the user's own folder first."""
        return cls(*(load_prompt(f"dataset_{name}", folder) for name in ("write", "alone", "read")))

    @property
    def versions(self) -> dict[str, str]:
        """Their versions by name."""
        return {each.name: each.version for each in (self.write, self.alone, self.read)}


def write_request(
    prompt: Prompt,
    writing: Writing,
    outline: Sequence[str] = (),
    examples: Sequence[str] = (),
    language: str = "",
) -> Request:
    """Return the request for questions on passages.

    `language` is the name of the questions' language; that of the passages when left out.
    """
    lines = [
        f"kind: {writing.kind}",
        f"wanted: at most {writing.wanted}",
        f"language: {language or 'that of the passage'}",
    ]
    blocks = []
    for number, passage in enumerate(writing.passages, start=1):
        if passage.headings:
            blocks.append(("headings", f' passage="{number}"', " > ".join(passage.headings)))
        blocks.append(("passage", f' n="{number}"', passage.text))
    blocks += [("similar", "", passage.text) for passage in writing.similar]
    if outline:
        blocks.append(("outline", "", "\n".join(outline[:MOST_HEADINGS])))
    blocks += [("example", "", text) for text in examples[:MOST_EXAMPLES]]
    sent = Sent(ranks=tuple(range(1, len(writing.passages) + 1)))
    return _request(
        prompt,
        tagged_message(blocks, lines),
        WriteReply,
        partial(check_written, sent),
        WRITE_TOKENS * writing.wanted,
    )


def _request(
    prompt: Prompt,
    user: str,
    reply: type[ReplyObject],
    check: Callable[[object], object],
    expected_tokens: int,
) -> Request:
    return Request(
        kind=prompt.name,
        prompt=prompt.version,
        system=prompt.text,
        user=user,
        schema=wire_schema(reply),
        check=check,
        expected_tokens=expected_tokens,
    )


def check_written(sent: Sent, reply: object) -> WriteReply:
    """Check a reply to a request for questions.

    Raises:
        ReplyError: it has another form, too many questions, or one without a quote.
    """
    checked = validate_reply(reply, WriteReply, sent)
    if len(checked.candidates) > CANDIDATES:
        raise ReplyError(f"candidates: {len(checked.candidates)}; accepted: at most {CANDIDATES}")
    for at, candidate in enumerate(checked.candidates):
        if not candidate.question.strip() or not any(each.quote.strip() for each in candidate.quotes):
            raise ReplyError(f"candidates[{at}]: no question or no quote; accepted: both")
    return checked


def alone_request(prompt: Prompt, items: Sequence[Item], examples: Sequence[str] = ()) -> Request:
    """Return the request on how questions strike somebody without the documents."""
    blocks = []
    for number, item in enumerate(items, start=1):
        blocks += [("earlier", f' n="{number}"', text) for _, text in item.history]
        blocks.append(("question", f' n="{number}"', item.question))
    blocks += [("example", "", text) for text in examples[:MOST_EXAMPLES]]
    sent = Sent(counts={"questions": len(items)})
    check = partial(validate_reply, model=AloneReply, sent=sent)
    return _request(prompt, tagged_message(blocks), AloneReply, check, ALONE_TOKENS * len(items))


def read_request(prompt: Prompt, item: Item, passages: Sequence[Passage]) -> Request:
    """Return the request to answer a question from passages, without word of which is the gold."""
    blocks = [("earlier", "", text) for _, text in item.history]
    blocks.append(("question", "", item.question))
    blocks += [("document", f' rank="{rank}"', each.text) for rank, each in enumerate(passages, start=1)]
    sent = Sent(counts={"passages": len(passages)})
    check = partial(validate_reply, model=ReadReply, sent=sent)
    return _request(prompt, tagged_message(blocks), ReadReply, check, READ_TOKENS * len(passages))
