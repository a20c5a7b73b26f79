"""The fixed prompts: Markdown files in `data/prompts/texts`, or of the same name in the user's own folder.

A prompt's version is made from its text, so a changed word counts as another judge.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from ragtriage.data.errors import DataError

PROMPTS = (
    *("reading", "reference", "further", "evaluator", "answering"),
    *("hyde", "expansion", "reverse_questions", "paraphrases", "attack"),
    *("dataset_write", "dataset_alone", "dataset_read"),
)


@dataclass(frozen=True)
class Prompt:
    """A fixed prompt."""

    name: str  # one of PROMPTS
    text: str  # what is sent as the system prompt
    version: str  # first 12 hexadecimal digits of the SHA-256 of the text


def load_prompt(name: str, folder: Path | None = None) -> Prompt:
    """Read a prompt: `NAME.md` in `folder` if that file exists, else the bundled one.

    Raises:
        DataError: unknown name, or a file that is empty or not UTF-8 text.
    """
    if name not in PROMPTS:
        raise DataError(f"unknown prompt {name!r}; known: {', '.join(PROMPTS)}")
    path = files("ragtriage.data.prompts") / "texts" / f"{name}.md"
    if folder is not None and (folder / f"{name}.md").is_file():
        path = folder / f"{name}.md"
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text ({error.reason}); accepted: a prompt in Markdown") from error
    if not text.strip():
        raise DataError(f"{path}: empty; accepted: a prompt in Markdown, or no such file")
    return Prompt(name, text, hashlib.sha256(text.encode("utf-8")).hexdigest()[:12])


def label_wording(label: str) -> str:
    """Return the judge prompts' description of a label, so that annotators are asked the same question.

    Raises:
        DataError: the prompts describe no such label.
    """
    prompts = f"{load_prompt('reading').text}\n{load_prompt('reference').text}"
    description = re.search(rf"^ *- `{re.escape(label)}`: (.+)$", prompts, re.MULTILINE)
    if description is None:
        raise DataError(
            f"unknown label {label!r}; accepted: one that the prompt reading.md or reference.md describes"
        )
    text = description[1].replace("`", '"')
    return text[:1].upper() + text[1:]


@dataclass(frozen=True)
class Document:
    """A retrieved document, or a piece of one."""

    rank: int  # 1-based rank in the retrieved list
    text: str  # its text


@dataclass(frozen=True)
class JudgedCase:
    """The texts of one sample."""

    question: str  # the question
    history: tuple[tuple[str, str], ...] = ()  # (role, text) of the earlier turns
    answer: str | None = None  # None where none was recorded
    reference: str | None = None  # reference answer, None where there is none
    documents: tuple[Document, ...] = ()  # those with a text, in rank order; empty where there is none


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
    return tagged_message(blocks)


def tagged_message(blocks: Sequence[tuple[str, str, str]], lines: Sequence[str] = ()) -> str:
    """Write blocks of data, each (tag, attributes, text), between tags whose mark is made from all of them.

    `lines` stand before the data; they are ours, and hold nothing from outside.
    """
    content = "\x1f".join("\x1e".join(block) for block in blocks)
    mark = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    tagged = [f"<{tag}-{mark}{attributes}>\n{text}\n</{tag}-{mark}>" for tag, attributes, text in blocks]
    # lone surrogates, which no request can carry, become question marks
    return "\n".join([f"mark: {mark}", *lines, *tagged]).encode("utf-8", "replace").decode("utf-8")


def evaluator_message(case: JudgedCase, question: str, definition: str = "") -> str:
    """Write a case with the yes / no question that is asked about it."""
    check = " ".join(f"{question} {definition}".split())
    return case_message(case).replace("\n", f"\ncheck: {check}\n", 1)


def _letters(role: str) -> str:
    return "".join(character for character in role if character.isalnum())[:20]
