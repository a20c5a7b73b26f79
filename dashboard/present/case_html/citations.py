"""The sentences of one answer with what they cite, each citation a link to its document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from ragtriage.dashboard.present.templating import render
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.data.suites.citation_support import Basis, SentenceSupport, sentence_support, support_basis
from ragtriage.data.suites.citations import CitationStyle, CitedAnswer, CitedSentence, cited_answer
from ragtriage.data.text.context_attribution import ContextAttributor
from ragtriage.metrics.number_text import count

LONGEST_NAME = 40
MOST_UNFOLDED = 8  # sentences; a longer list repeats the answer, and is folded at first
MOST_SENTENCES = 200
LOOKS = {True: "rt-yes", False: "rt-no", None: ""}
CITATION_WORDS = {True: "supports it", False: "does not support it", None: "support not known"}
CITATION_MARKS = {True: " ✓", False: " ✕", None: ""}
BASES: Mapping[Basis, str] = {
    "labels": "Support: labels of the sentences.",
    "claims": "Support: labels of the claims, each put to the sentence that has most of its words.",
    "words": "Support: estimated from shared words; paraphrase is missed.",
    "": "Support: not known.",
}


def citations_html(
    sample: Mapping[str, Any], style: CitationStyle | None, anchor: str = "document"
) -> Markup:
    """Return the sentences of an answer with their citations; nothing where the run does not cite."""
    if style is None or sample["refused"]:
        return Markup()
    answer = cited_answer(sample, style.templates, style.from_zero)
    if answer is None or not answer.sentences:
        return Markup()
    basis = support_basis(sample, answer)
    support = sentence_support(sample, answer, basis, ContextAttributor())
    pairs = list(zip(answer.sentences, support, strict=True))[:MOST_SENTENCES]
    return render(
        "citations.html",
        counts=_counts(answer),
        sentences=[_sentence(sentence, known) for sentence, known in pairs],
        how=BASES[basis],
        unfolded=len(pairs) <= MOST_UNFOLDED,
        anchor=anchor,
    )


def _counts(answer: CitedAnswer) -> str:
    citations = [citation for sentence in answer.sentences for citation in sentence.citations]
    outside = sum(not citation.ranks for citation in citations)
    uncited = sum(sentence.needed and not sentence.citations for sentence in answer.sentences)
    parts = [f"Citations: {len(citations):,} in {count(len(answer.sentences), 'sentence')}"]
    parts += [f"{outside:,} not in the context"] if outside else []
    parts += [f"{count(uncited, 'sentence')} without one"] if uncited else []
    return ", ".join(parts)


def _sentence(sentence: CitedSentence, support: SentenceSupport) -> dict[str, Any]:
    citations = [
        {
            "name": shorten(citation.name, LONGEST_NAME),
            "ranks": citation.ranks,
            "title": CITATION_WORDS[supports],
            "mark": CITATION_MARKS[supports],
        }
        for citation, supports in zip(sentence.citations, support.supports, strict=True)
    ]
    return {
        "text": sentence.text,
        "citations": citations,
        "broken": sentence.broken,
        "state": _state(sentence, support.together),
        "look": LOOKS[support.together] if sentence.citations else "rt-no" if sentence.needed else "",
    }


def _state(sentence: CitedSentence, together: bool | None) -> str:
    if not sentence.citations:
        return "no citation, but it needs one" if sentence.needed else "needs no citation"
    if together is None:
        return "support not known"
    return "supported by what it cites" if together else "not wholly supported by what it cites"
