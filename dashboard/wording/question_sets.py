"""Sentences about question sets."""

from __future__ import annotations

import re

from ragtriage.data.store.question_sets import QuestionSet
from ragtriage.metrics.number_text import count


def gold_text(facts: QuestionSet) -> str:
    """Return how many questions of a set have gold, and of which kind."""
    kinds = [("ids", facts.n_gold_ids), ("texts", facts.n_gold_texts), ("spans", facts.n_gold_spans)]
    named = [name if number == facts.n_gold else f"{name} {number:,}" for name, number in kinds if number]
    return f"{facts.n_gold:,} ({', '.join(named)})" if named else f"{facts.n_gold:,}"


def set_line(facts: QuestionSet) -> str:
    """Return the facts of a set in one line."""
    parts = [
        count(facts.n, "question"),
        f"gold {gold_text(facts)}",
        f"reference answers {facts.n_references:,}",
        f"two or more hops {facts.n_hops:,}" if facts.n_hops else "",
        f"unanswerable {facts.n_unanswerable:,}" if facts.n_unanswerable else "",
        f"documents {facts.n_documents:,}" if facts.n_documents else "",
        f"from {facts.origin.get('file', '')} ({facts.origin.get('format', '')})",
    ]
    return "; ".join(filter(None, parts))


def set_argument(facts: QuestionSet) -> str:
    """Return what names a set in a command: its name, or its id where a shell would take the name apart."""
    return facts.name if re.fullmatch(r"[\w.][\w.-]*", facts.name) else facts.set_id


def kept_text(facts: QuestionSet, is_new: bool) -> str:
    """Return what an import says of a question set that it kept."""
    kept = "kept" if is_new else "already there:"
    name = set_argument(facts)
    corpus = "" if facts.n_documents else "CORPUS "
    documents = f", documents {facts.n_documents:,}" if facts.n_documents else ""
    grid = f"`ragtriage grid {corpus}--questions {name}` tries chunkings on it, " if facts.n_gold else ""
    return (
        f"{kept} {count(facts.n, 'question')} as question set {facts.name} ({facts.set_id}), not as a run: "
        f"gold {gold_text(facts)}, reference answers {facts.n_references:,}{documents}. {grid}"
        f"`ragtriage import RUN_FILE --questions {name}` joins it to a run."
    )
