"""One case as HTML, written by templates that escape every value; nothing is loaded, nothing runs."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any
from urllib.parse import urlsplit

from markupsafe import Markup

from ragtriage.dashboard.present.templating import render
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.data.exports.feedback import sample_ids
from ragtriage.data.store.judge_results import ENTAILS
from ragtriage.data.suites.citation_support import Basis, SentenceSupport, sentence_support, support_basis
from ragtriage.data.suites.citations import CitationStyle, CitedSentence, cited_answer
from ragtriage.data.text.context_attribution import ContextAttribution, ContextAttributor, attribute_answer
from ragtriage.data.text.shown_case import CUT
from ragtriage.metrics.number_text import count

LINE = 240  # characters of a document in a folded card
FOLD = 700  # characters of a document that are shown unfolded


Spans = tuple[tuple[int, int], ...]
MOST_QUOTES = 4
MOST_SENTENCES = 400  # of an answer that are marked
CORRECTNESS = {True: "right", False: "wrong", None: "not checked against the reference"}
PARTLY_RIGHT = "right in part"
USE_SOURCES = {  # source of recorded use -> how it is known
    "judge": "recorded by the judge",
    "citation": "recorded from citations",
    "lexical": "recorded, from shared words",
    "imported": "recorded in the file",
}


@dataclass(frozen=True)
class CaseHighlights:
    """The links from an answer to its context, and which documents are gold."""

    # ranks of the documents that the answer uses; those that a claim cites are among them unless a judge, a
    # person or the file says otherwise
    used: frozenset[int]
    # one of USE_SOURCES, "cited", "from claim labels" or "estimated"; "" where nothing is known
    used_how: str
    # the lexical estimate; None where the answer or all texts are missing
    attribution: ContextAttribution | None
    gold: frozenset[str]  # ids of relevant documents
    marks: Mapping[int, Spans]  # rank -> character spans of the document that support the answer
    # rank -> character spans of the document that are gold
    gold_text: Mapping[int, Spans] = field(default_factory=dict)


@dataclass(frozen=True)
class _Segment:
    """A part of a text with its CSS class ("" for plain text), its tooltip and the ranks it links to."""

    text: str
    look: str = ""
    title: str = ""
    ranks: tuple[int, ...] = ()


def gold_ids(sample: Mapping[str, Any]) -> frozenset[str]:
    """Return the ids of the documents that the sample names as relevant."""
    return frozenset(label["id"] for label in sample["relevant"] or () if (label["grade"] or 0) > 0)


def highlights_of(sample: Mapping[str, Any]) -> CaseHighlights:
    """Collect what to highlight in a case; recorded use, citations and claims come before the estimate."""
    documents = [document["text"] or "" for document in sample["retrieved"] or ()]
    has_texts = sample["answer"] and any(documents)
    attribution = attribute_answer(sample["answer"], documents) if has_texts else None
    used, how = _used_documents(sample, attribution)
    marks: dict[int, Spans] = {}
    for sentence in attribution.sentences if attribution else ():
        for support in sentence.spans:
            marks[support.rank] = (*marks.get(support.rank, ()), *support.spans)
    return CaseHighlights(used, how, attribution, gold_ids(sample), marks, gold_text(sample))


def _used_documents(
    sample: Mapping[str, Any], attribution: ContextAttribution | None
) -> tuple[frozenset[int], str]:
    """Return the ranks that the answer uses and how that is known, as the alignment metrics take it."""
    support = [claim["supported_by"] for claim in sample["claims"] or ()]
    by_claims = frozenset(rank for ranks in support for rank in ranks or ())
    if sample["used"] is not None:
        recorded = frozenset(use["rank"] for use in sample["used"])
        lexical = sample["used_source"] == "lexical"
        return recorded | by_claims if lexical else recorded, USE_SOURCES.get(
            sample["used_source"], "recorded"
        )
    if sample["citations"] is not None:
        cited = {name for part in sample["citations"] for name in part["ids"] or ()}
        documents = enumerate(sample["retrieved"] or (), 1)
        return frozenset(rank for rank, document in documents if document["id"] in cited), "cited"
    if support and None not in support:
        return by_claims, "from claim labels"
    if attribution is None:
        return by_claims, "from claim labels" if by_claims else ""
    return frozenset(attribution.used) | by_claims, "estimated"


def gold_text(sample: Mapping[str, Any]) -> dict[int, Spans]:
    """Return the gold spans inside each document whose position in the source text is recorded."""
    by_rank: dict[int, Spans] = {}
    for rank, document in enumerate(sample["retrieved"] or (), 1):
        start, end = document["start"], document["end"]
        if start is None or end is None:
            continue
        inside = {
            (max(span["start"], start) - start, min(span["end"], end) - start)
            for span in sample["relevant_spans"] or ()
            if span["doc_id"] == document["doc_id"] and span["start"] < end and span["end"] > start
        }
        if inside:
            by_rank[rank] = tuple(sorted(inside))
    return by_rank


def conversation_html(sample: Mapping[str, Any], unfolded: bool = False) -> Markup:
    """Return the question, after the earlier turns of the conversation, folded at first."""
    turns, question = sample["history"] or (), sample["question"] or ""
    return render("conversation.html", turns=turns, question=question, unfolded=unfolded)


def answer_html(sample: Mapping[str, Any], highlights: CaseHighlights, anchor: str = "document") -> Markup:
    """Return the answer with its claims; without claims, its sentences by the lexical estimate.

    The anchor begins the ids of the documents, which differ where a page shows several cases.
    """
    answer, judged = sample["answer"], (sample.get("judged") or {}).get("claims") or ()
    pairs: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]] = zip_longest(
        sample["claims"] or (), judged, fillvalue={}
    )
    claims = [_claim(claim, labels) for claim, labels in pairs]
    segments = [] if answer is None else _answer_segments(answer, highlights.attribution)
    return render("answer.html", answer=answer, claims=claims, segments=segments, anchor=anchor)


def _answer_segments(answer: str, attribution: ContextAttribution | None) -> list[_Segment]:
    segments, at = [], 0
    for sentence in attribution.sentences[:MOST_SENTENCES] if attribution else ():
        segments.append(_Segment(answer[at : sentence.start]))
        look = "rt-yes" if sentence.spans else "rt-no"
        title = "estimated: words found in the context" if sentence.spans else "estimated: no support found"
        ranks = tuple(support.rank for support in sentence.spans[:3])
        segments.append(_Segment(answer[sentence.start : sentence.end], look, title, ranks))
        at = sentence.end
    return [*segments, _Segment(answer[at:])]


def _claim(claim: Mapping[str, Any], judged: Mapping[str, Any]) -> dict[str, object]:
    """Return what is shown of a claim; a judge's labels say more of it than the sample holds."""
    supported, against = claim["supported_by"], claim["contradicted_by"] or ()
    look, support = "", "support not recorded"
    if supported:
        together = judged.get("support") == "together"
        look, support = "rt-yes", "supported by documents only together" if together else "supported"
        support += "; another document contradicts it" if against else ""
    elif judged.get("support") == "partly" and not against:
        look, support = "rt-no", "supported in part, counts a half"
    elif against:
        look, support = "rt-against", "contradicted"
    elif supported is not None:
        look, support = "rt-no", "not in the context"
    return {
        "text": claim["text"],
        "look": look,
        "support": support,
        "correctness": PARTLY_RIGHT
        if judged.get("in_reference") == ENTAILS["partly"]
        else CORRECTNESS[claim["in_reference"]],
        "ranks": [*(supported or ()), *against][:6],
        "quotes": judged.get("evidence", ())[:MOST_QUOTES],
    }


def context_html(
    sample: Mapping[str, Any], highlights: CaseHighlights, anchor: str = "document", unfolded: bool = False
) -> Markup:
    """Return the ranked context, with gold, used and ignored documents marked and support highlighted."""
    documents = sample["retrieved"]
    nothing = "No context was recorded." if documents is None else "Nothing was retrieved."
    shown = [_document(rank, document, highlights) for rank, document in enumerate(documents or (), 1)]
    return render("context.html", documents=shown, nothing=nothing, anchor=anchor, unfolded=unfolded)


def context_cards_html(
    sample: Mapping[str, Any], highlights: CaseHighlights, doubt: str = "", anchor: str = "document"
) -> Markup:
    """Return the ranked context below its counts: a line for each document, open where it is used or gold."""
    cards = []
    for rank, document in enumerate(sample["retrieved"] or (), 1):
        shown, text = _document(rank, document, highlights), document["text"] or ""
        spans = _spans_shown(text, rank, highlights)
        shown["line"] = shorten(text, LINE)
        shown["details"] = [tag for tag in shown["tags"] if tag.startswith(("gold:", "labelled"))]
        shown["used"], shown["gold"] = (
            rank in highlights.used,
            any(tag.startswith("gold") for tag in shown["tags"]),
        )
        shown["excerpt"] = _excerpt(text, spans) if shown["teaser"] else ()
        cards.append(shown)
    return render(
        "context_cards.html",
        cards=cards,
        counts=_context_counts(sample, highlights),
        how=f"Use {highlights.used_how or 'not known'}",
        doubt=doubt,
        anchor=anchor,
    )


def _context_counts(sample: Mapping[str, Any], highlights: CaseHighlights) -> str:
    """Return how many documents there are, how many of them are used, and how much gold is known."""
    documents = sample["retrieved"]
    if not documents:
        return "Context: not recorded" if documents is None else "Context: nothing retrieved"
    used = len([rank for rank in highlights.used if rank <= len(documents)])
    of = f"{used} of {len(documents)} used" if highlights.used_how else f"{len(documents)} retrieved"
    if highlights.gold:
        gold = sum(document["id"] in highlights.gold for document in documents)
        return f"Context: {of}, {gold} gold" + (
            f" of {len(highlights.gold)}" if gold < len(highlights.gold) else ""
        )
    if sample["relevant_spans"]:
        with_gold = len(highlights.gold_text)
        return f"Context: {of}, {f'gold text in {with_gold}' if with_gold else 'no gold text'}"
    return f"Context: {of}, no gold recorded"


def _excerpt(text: str, spans: Spans) -> list[_Segment]:
    """Return the part of a long text around its first highlight, with the highlights in it."""
    start = max(0, min((span[0] for span in spans), default=0) - 80)
    end = min(len(text), start + FOLD // 2)
    inside = tuple((max(a, start) - start, min(b, end) - start) for a, b in spans if a < end and b > start)
    segments = _marked_segments(text[start:end], inside)
    return [_Segment("…" if start else ""), *segments, _Segment("…" if end < len(text) else "")]


def _document(rank: int, document: Mapping[str, Any], highlights: CaseHighlights) -> dict[str, Any]:
    gold_spans = highlights.gold_text.get(rank, ())
    gold, used = document["id"] in highlights.gold or bool(gold_spans), rank in highlights.used
    tags = []
    if gold_spans:
        covered = len(set().union(*(range(start, end) for start, end in gold_spans)))
        tags.append(f"gold: {covered:,} characters")
    elif gold:
        tags.append("gold")
    if document["relevant"] is not None:
        tags.append("labelled relevant" if document["relevant"] else "labelled not relevant")
    if highlights.used_how:
        how = " (estimated)" if highlights.used_how == "estimated" else ""
        tags.append(f"used{how}" if used else f"ignored{how}")
    looks = {(True, True): "rt-goldused", (True, False): "rt-gold", (False, True): "rt-used"}
    ignored = " rt-ignored" if highlights.used_how and not used else ""
    text = document["text"] or ""
    spans = _spans_shown(text, rank, highlights)
    # the beginning of a long text, or what surrounds its first highlight
    start = max(0, min((span[0] for span in spans), default=0) - 80)
    teaser = ("…" if start else "") + shorten(text[start:], FOLD // 2)
    # how much of a document is shown once it is opened
    shown = text.removesuffix(CUT)
    extent = f"{'all' if shown == text else 'first'} {len(shown):,} characters"
    return {
        "rank": rank,
        "name": shorten(document["id"], 60),
        "score": "" if document["score"] is None else f" · score {document['score']:.3g}",
        "tags": tags,
        "look": looks.get((gold, used), "") + ignored,
        "length": len(text),
        "extent": extent,
        "teaser": teaser if len(text) > FOLD else "",
        "segments": _marked_segments(text, spans),
    }


def _spans_shown(text: str, rank: int, highlights: CaseHighlights) -> Spans:
    """Return the highlights of a document without those behind the end of its text, which may be cut."""
    spans = highlights.marks.get(rank, highlights.gold_text.get(rank, ()))
    return tuple(span for span in spans if span[0] < len(text))


def _marked_segments(text: str, spans: Spans) -> list[_Segment]:
    segments, at = [], 0
    for start, end in sorted(spans):
        if start >= at:
            segments += [_Segment(text[at:start]), _Segment(text[start:end], "mark")]
            at = end
    return [*segments, _Segment(text[at:])]


LONGEST_ADDRESS = 2000  # characters
SPELLED = {"langfuse": "Langfuse", "langsmith": "LangSmith", "mlflow": "MLflow", "trulens": "TruLens"}
_PLAIN = re.compile(
    r"https?://[!#-;=?-\[\]_a-z~]+", re.IGNORECASE
)  # nothing that ends an attribute or a line


def safe_address(text: str) -> str:
    """Return an address of http or https with a host and without a user, as it is; "" for anything else."""
    if len(text) > LONGEST_ADDRESS or not _PLAIN.fullmatch(text):
        return ""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc
        return text if usable and (parts.port is None or parts.port) else ""
    except ValueError:  # no port, or no IPv6 address
        return ""


def trace_html(sample: Mapping[str, Any]) -> Markup:
    """Return a link to the case in the tool that recorded it; empty where the file has no safe address."""
    ids = sample_ids(sample)
    address, name = safe_address(ids.get("trace_url", "")), ids.get("tool", "")
    if not address:
        return Markup("")
    tool = SPELLED.get(name.lower(), name[:1].upper() + name[1:])
    return render(
        "trace.html",
        address=address,
        host=urlsplit(address).netloc,
        tool=shorten(tool, 40) or "the tool that recorded it",
    )


def trace_id(sample: Mapping[str, Any]) -> str:
    """Return the id of the case's trace; "" where the file has none."""
    ids = sample_ids(sample)
    return ids.get("trace_id") or ids.get("run_id", "")


LONGEST_NAME = 40
MOST_UNFOLDED = 8  # sentences; a longer list repeats the answer, and is folded at first
MOST_CITING = 200
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
    pairs = list(zip(answer.sentences, support, strict=True))[:MOST_CITING]
    citations = [citation for sentence in answer.sentences for citation in sentence.citations]
    outside = sum(not citation.ranks for citation in citations)
    uncited = sum(sentence.needed and not sentence.citations for sentence in answer.sentences)
    parts = [f"Citations: {len(citations):,} in {count(len(answer.sentences), 'sentence')}"]
    parts += [f"{outside:,} not in the context"] if outside else []
    parts += [f"{count(uncited, 'sentence')} without one"] if uncited else []
    return render(
        "citations.html",
        counts=", ".join(parts),
        sentences=[_sentence(sentence, known) for sentence, known in pairs],
        how=BASES[basis],
        unfolded=len(pairs) <= MOST_UNFOLDED,
        anchor=anchor,
    )


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
