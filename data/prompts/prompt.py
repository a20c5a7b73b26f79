"""The fixed prompts: Markdown files in `data/prompts/texts`, or of the same name in the user's own folder.

A prompt's version is made from its text, so a changed word counts as another judge.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from ragtriage.data.errors import DataError

PROMPTS = (
    *("reading", "reference", "further", "evaluator", "answering"),
    *("hyde", "expansion", "reverse_questions", "paraphrases", "attack"),
)


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
