"""One question in two runs as HTML: the answers with a word diff, the contexts with their rank moves."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from markupsafe import Markup, escape

from ragtriage.dashboard.present.templating import render
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.metrics.number_text import percent

MOST_WORDS = 4000  # of one answer; longer ones are shown without a diff, which would be slow and unreadable
LEAST_SHARED = 0.25  # below it two answers are different texts, and marks would cover nearly all of both
_WORDS = re.compile(r"\s+|[^\W_]+|.", re.DOTALL)
_WORD = re.compile(r"[^\W_]+")
_DROPPED, _ADDED = Markup("<del>{}</del>"), Markup("<ins>{}</ins>")


def shared_words(before: str, after: str) -> float:
    """Return the share of words that two texts have in common, of the words of both (Jaccard, with counts).

    Two texts without words share all.
    """
    left, right = (Counter(_WORD.findall(text.casefold())) for text in (before, after))
    either = (left | right).total()
    return (left & right).total() / either if either else 1.0


def diff_html(before: str, after: str) -> tuple[Markup, Markup]:
    """Return both texts as escaped HTML, with dropped words in <del> and added ones in <ins>."""
    left, right = _WORDS.findall(before), _WORDS.findall(after)
    if len(left) > MOST_WORDS or len(right) > MOST_WORDS:
        return escape(before), escape(after)
    dropped, added = Markup(), Markup()
    for kind, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        old, new = "".join(left[a:b]), "".join(right[c:d])
        dropped += old if kind == "equal" or not old else _DROPPED.format(old)
        added += new if kind == "equal" or not new else _ADDED.format(new)
    return dropped, added


@dataclass(frozen=True)
class ComparedSide:
    """One run's side of a question."""

    name: str  # of the run
    value: str  # of the metric on display, as text
    sample: Mapping[str, Any] | None  # the sample; None where the run lacks the question


def compared_cases_html(question: str, left: ComparedSide, right: ComparedSide) -> Markup:
    """Return a question with its answers and ranked contexts in the baseline and in another run.

    Words that differ are marked where the answers share at least a quarter of their words.
    """
    answers, note = _answers(left.sample, right.sample)
    contexts = [(side.sample or {}).get("retrieved") or [] for side in (left, right)]
    moves = (_moves(contexts[0], contexts[1], "dropped"), _moves(contexts[1], contexts[0], "new"))
    sides = [
        {
            "name": side.name,
            "value": side.value,
            "here": side.sample is not None,
            "repeat": (side.sample or {}).get("repeat"),
            "answer": answer,
            "documents": documents,
        }
        for side, answer, documents in zip((left, right), answers, moves, strict=True)
    ]
    return render("compared_case.html", question=question, note=note, sides=sides)


def _answers(
    left: Mapping[str, Any] | None, right: Mapping[str, Any] | None
) -> tuple[tuple[str | Markup, str | Markup], str]:
    """Return both answers and what is said of their difference."""
    before, after = ((sample or {}).get("answer") or "" for sample in (left, right))
    if not before or not after:
        return (before, after), "one answer is missing: nothing to mark" if before or after else ""
    if before == after:
        return (before, after), "the answers are the same"
    share = shared_words(before, after)
    if share < LEAST_SHARED:
        return (
            before,
            after,
        ), f"too different to mark word by word: {percent(share)} of the words are shared"
    note = f"struck through = dropped, underlined = added; {percent(share)} of the words are shared"
    return diff_html(before, after), note


def _moves(
    documents: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]], missing: str
) -> list[dict[str, object]]:
    """List documents with their move; a document that the other side has twice counts at its first rank.

    A document is the same by its id, or by its text where each run gives ids of its own.
    """
    by_rank = list(reversed(list(enumerate(others, 1))))
    ranks = {document["id"]: rank for rank, document in by_rank}
    ranks_of_text = {document["text"]: rank for rank, document in by_rank if document["text"]}
    rows: list[dict[str, object]] = []
    for rank, document in enumerate(documents, 1):
        other = ranks.get(document["id"]) or ranks_of_text.get(document["text"])
        if other is None:
            move = missing
        else:
            move = "same rank" if other == rank else f"rank {other} on the other side"
        text = shorten(document["text"] or document["id"], 110)
        rows.append({"rank": rank, "move": move, "only_here": other is None, "text": text})
    return rows
