"""The message that presents one case to a model: its texts as data between tags that they cannot close."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Document:
    """A retrieved document, or a piece of one.

    Attributes:
        rank: 1-based rank in the retrieved list.
        text: its text.
    """

    rank: int
    text: str


@dataclass(frozen=True)
class JudgedCase:
    """The texts of one sample.

    Attributes:
        question: the question.
        history: (role, text) of the earlier turns.
        answer: None where none was recorded.
        reference: reference answer, None where there is none.
        documents: those with a text, in rank order; empty where there is none.
    """

    question: str
    history: tuple[tuple[str, str], ...] = ()
    answer: str | None = None
    reference: str | None = None
    documents: tuple[Document, ...] = ()


def case_message(
    case: JudgedCase,
    documents: Sequence[Document] | None = None,
    claims: Sequence[str] = (),
    statements: Sequence[str] = (),
    follow_up: bool = False,
    check: str = "",
) -> str:
    """Write one case as delimited data.

    Each tag carries a mark made from the whole content. No text inside can know the mark beforehand, so none
    can close its own tag.

    Args:
        case: the texts.
        documents: those of this message; all of the case's when left out.
        claims: claims of the answer that an earlier message returned, numbered from 1.
        statements: claims of the reference answer, likewise.
        follow_up: whether an earlier message held the reference, so that it is left out here.
        check: a question about the case that came with it, data like the rest; "" for none.
    """
    shown = case.documents if documents is None else documents
    blocks = [("check", "", check)] if check else []
    blocks += [("history", f' role="{_letters(role)}"', text) for role, text in case.history]
    blocks.append(("question", "", case.question))
    blocks += [("document", f' rank="{document.rank}"', document.text) for document in shown]
    if case.answer is not None:
        blocks.append(("answer", "", case.answer))
    if case.reference is not None and not follow_up:
        blocks.append(("reference", "", case.reference))
    blocks += [("claim", f' n="{number}"', text) for number, text in enumerate(claims, start=1)]
    blocks += [("statement", f' n="{number}"', text) for number, text in enumerate(statements, start=1)]
    content = "\x1f".join("\x1e".join(block) for block in blocks)
    mark = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    tagged = [f"<{tag}-{mark}{attributes}>\n{text}\n</{tag}-{mark}>" for tag, attributes, text in blocks]
    # lone surrogates, which no request can carry, become question marks
    return "\n".join([f"mark: {mark}", *tagged]).encode("utf-8", "replace").decode("utf-8")


def evaluator_message(case: JudgedCase, question: str, definition: str = "") -> str:
    """Write a case with the yes / no question that is asked about it."""
    check = " ".join(f"{question} {definition}".split())
    return case_message(case).replace("\n", f"\ncheck: {check}\n", 1)


def _letters(role: str) -> str:
    return "".join(character for character in role if character.isalnum())[:20]
