"""Dev and test: a question's part follows from a hash of its id, so it stays whatever else the set holds.

Questions made of another one (`origin.from`) are in its part: a misspelt copy in dev would give its test
question away. Leakage: examples of a prompt that are questions of the set too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ragtriage.data.datasets.dataset import Dataset
from ragtriage.data.datasets.item import Item
from ragtriage.data.diagnosis import tuned_questions
from ragtriage.data.errors import DataError, WorkspaceError
from ragtriage.data.store.access import must_write
from ragtriage.data.store.stored_file import replace_file
from ragtriage.data.text.tokens import content_tokens, jaccard, surface_tokens

TAG, DEV, TEST = tuned_questions.SPLIT, tuned_questions.DEV, "test"
SHARE = 0.25  # of the questions, usually, that are dev
NEAR = 0.8  # Jaccard of the content words from which two questions are one
_FILE = "split.json"


def split_share(dataset: Dataset) -> float | None:
    """Return the share of dev questions that was set; None where the dataset is not split.

    Raises:
        WorkspaceError: the file that says so is damaged.
    """
    path = dataset.folder / _FILE
    if not path.is_file():
        return None
    try:
        return float(json.loads(path.read_text("utf-8"))["dev"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkspaceError(
            f"{path}: cannot be read ({type(error).__name__}); accepted: the file that "
            "`ragtriage dataset split` wrote"
        ) from error


def set_split(dataset: Dataset, share: float) -> None:
    """Set the share of dev questions; more of them leave all that were dev before in it.

    Raises:
        DataError: the share is not between 0 and 1.
    """
    if not 0 < share < 1:
        raise DataError(f"share {share:g} of dev questions; accepted: more than 0 and less than 1, as 0.25")
    must_write(f"workspace {dataset.workspace.root}")
    replace_file(dataset.folder / _FILE, json.dumps({"dev": share}).encode())


def part_of(item: Item, share: float) -> str:
    """Return "dev" or "test" for an item."""
    return DEV if drawn(str(item.origin.get("from") or item.question_id)) < share else TEST


def drawn(name: str) -> float:
    """Return a number in [0, 1) that follows from a name alone and is as good as drawn."""
    return int(hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8], 16) / 2**32


def with_parts(items: Iterable[Item], share: float | None) -> list[Item]:
    """Return the items with their part as the tag `split`; as they are where there is no share."""
    if share is None:
        return list(items)
    return [replace(item, tags={**item.tags, TAG: part_of(item, share)}) for item in items]


@dataclass(frozen=True)
class Leak:
    """An item that is also among the examples of a prompt."""

    item: Item
    example: str
    how: Literal[
        "exact", "folded", "near"
    ]  # folded: but for case and marks; near: four content words of five
    likeness: float  # Jaccard of the content words


def leaks(items: Sequence[Item], examples: Iterable[str]) -> list[Leak]:
    """Return the items that an example gives away, each with the example that is most like it."""
    texts = list(dict.fromkeys(examples))
    exact, by_words = set(texts), {tuple(surface_tokens(text)): text for text in texts}
    words = [(text, content_tokens(text.lower())) for text in texts]
    found: list[Leak] = []
    for item in items:
        same = by_words.get(tuple(surface_tokens(item.question)))
        if item.question in exact:
            found.append(Leak(item, item.question, "exact", 1.0))
        elif same is not None:
            found.append(Leak(item, same, "folded", 1.0))
        else:
            own = content_tokens(item.question.lower())
            best, text = max(((jaccard(own, other), text) for text, other in words), default=(0.0, ""))
            if best >= NEAR:
                found.append(Leak(item, text, "near", best))
    return found
