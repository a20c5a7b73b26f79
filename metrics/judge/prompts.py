"""What the judge is sent: the fixed prompt, and the message that holds one case as delimited data.

The prompts are the Markdown files in `metrics/prompts`; a folder of one's own may hold other versions under
the same names. A prompt's version is made from its text, so a changed word is another judge.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from metrics.schema.scores import MetricsError

__all__ = [
    "PROMPTS",
    "Document",
    "JudgedCase",
    "Prompt",
    "case_message",
    "evaluator_message",
    "fenced_text",
    "load_prompt",
]

PROMPTS = ("reading", "further", "evaluator", "answering")


@dataclass(frozen=True)
class Prompt:
    """A fixed prompt.

    Attributes:
        name: one of PROMPTS.
        text: what is sent as the system prompt.
        version: first 12 hexadecimal digits of the SHA-256 of the text.
    """

    name: str
    text: str
    version: str


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
    """What there is to judge of one sample.

    Attributes:
        question: what was asked.
        history: (role, text) of the turns before it.
        answer: None where none was recorded.
        reference: reference answer, None where there is none.
        documents: those with a text, in rank order; empty where there is none.
    """

    question: str
    history: tuple[tuple[str, str], ...] = ()
    answer: str | None = None
    reference: str | None = None
    documents: tuple[Document, ...] = ()


def load_prompt(name: str, folder: Path | None = None) -> Prompt:
    """Read a prompt: from a folder of one's own where it holds `NAME.md`, else the one that comes along.

    Raises:
        MetricsError: unknown name, or a file that is empty or no UTF-8 text.
    """
    if name not in PROMPTS:
        raise MetricsError(f"unknown prompt {name!r}; known: {', '.join(PROMPTS)}")
    own = None if folder is None else folder / f"{name}.md"
    try:
        given = own is not None and own.is_file()
        text = (own if given and own else files("metrics.judge") / "prompt_texts" / f"{name}.md").read_text(
            "utf-8"
        )
    except UnicodeDecodeError as error:
        raise MetricsError(
            f"{own}: no UTF-8 text ({error.reason}); accepted: a prompt in Markdown"
        ) from error
    if not text.strip():
        raise MetricsError(f"{own}: empty; accepted: a prompt in Markdown, or no such file")
    return Prompt(name, text, hashlib.sha256(text.encode("utf-8")).hexdigest()[:12])


def fenced_text(label: str) -> str:
    """Give what the reading's prompt asks for under a label, in words for people: they are asked the same.

    Raises:
        MetricsError: the prompt has no such label.
    """
    found = re.search(rf"^ *- `{re.escape(label)}`: (.+)$", load_prompt("reading").text, re.MULTILINE)
    if found is None:
        raise MetricsError(f"unknown label {label!r}; accepted: one that the prompt of the reading describes")
    text = found[1].replace("`", '"')
    return text[:1].upper() + text[1:]


def case_message(
    case: JudgedCase,
    documents: Sequence[Document] | None = None,
    claims: Sequence[str] = (),
    statements: Sequence[str] = (),
    further: bool = False,
) -> str:
    """Write one case as delimited data.

    The tags carry a mark made from the whole content, which a text inside it cannot know beforehand, so none
    can close its own tag.

    Args:
        case: what there is to judge.
        documents: those of this message; all of the case's when left out.
        claims: claims of the answer that an earlier message gave, numbered from 1.
        statements: claims of the reference answer, likewise.
        further: whether an earlier message gave the reference, so that it stays out, with or without claims.
    """
    parts = [
        *_wrapped("history", [(f' role="{_plain(role)}"', text) for role, text in case.history]),
        *_wrapped("question", [("", case.question)]),
        *_wrapped("document", _ranked(case.documents if documents is None else documents)),
        *_wrapped("answer", [] if case.answer is None else [("", case.answer)]),
        *_wrapped("reference", [] if case.reference is None or further else [("", case.reference)]),
        *_wrapped("claim", _numbered(claims)),
        *_wrapped("statement", _numbered(statements)),
    ]
    return _marked(parts)


def evaluator_message(case: JudgedCase, question: str, definition: str = "") -> str:
    """Write a case with the yes / no question that is asked about it."""
    check = " ".join(f"{question} {definition}".split())
    return case_message(case).replace("\n", f"\ncheck: {check}\n", 1)


Part = tuple[str, str, str]  # tag, attributes, text


def _wrapped(tag: str, entries: Iterable[tuple[str, str]]) -> list[Part]:
    return [(tag, attributes, text) for attributes, text in entries]


def _ranked(documents: Iterable[Document]) -> list[tuple[str, str]]:
    return [(f' rank="{one.rank}"', one.text) for one in documents]


def _numbered(texts: Sequence[str]) -> list[tuple[str, str]]:
    return [(f' n="{at}"', text) for at, text in enumerate(texts, start=1)]


def _plain(role: str) -> str:
    return "".join(mark for mark in role if mark.isalnum())[:20]


def _marked(parts: Sequence[Part]) -> str:
    content = "\x1f".join("\x1e".join(part) for part in parts)
    mark = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    blocks = [f"<{tag}-{mark}{given}>\n{_sendable(text)}\n</{tag}-{mark}>" for tag, given, text in parts]
    return "\n".join([f"mark: {mark}", *blocks])


def _sendable(text: str) -> str:
    """Drop lone surrogates, which no message can carry."""
    return text.encode("utf-8", "replace").decode("utf-8")
