"""One question in two runs as HTML: the answers with a word diff, the contexts with their rank moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from dashboard.case_html.templating import render
from dashboard.case_html.word_diff import diff_html
from dashboard.wording.escaping import shorten

__all__ = ["compared_cases_html"]


def compared_cases_html(left: Mapping[str, Any], right: Mapping[str, Any]) -> tuple[Markup, Markup]:
    """Return a question's answer and ranked context in the baseline and in another run."""
    answers = diff_html(left["answer"] or "", right["answer"] or "")
    contexts = (left["retrieved"] or [], right["retrieved"] or [])
    moves = (_moves(contexts[0], contexts[1], "dropped"), _moves(contexts[1], contexts[0], "new"))
    first, second = (
        render("dashboard.case_html", "compared_case.html", answer=answer, documents=documents)
        for answer, documents in zip(answers, moves, strict=True)
    )
    return first, second


def _moves(
    documents: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]], missing: str
) -> list[dict[str, object]]:
    """List documents with their move; a document that the other side has twice counts at its first rank."""
    ranks = {document["id"]: rank for rank, document in reversed(list(enumerate(others, 1)))}
    rows: list[dict[str, object]] = []
    for rank, document in enumerate(documents, 1):
        other = ranks.get(document["id"])
        if other is None:
            move = missing
        else:
            move = "same rank" if other == rank else f"rank {other} on the other side"
        text = shorten(document["text"] or document["id"], 110)
        rows.append({"rank": rank, "move": move, "only_here": other is None, "text": text})
    return rows
