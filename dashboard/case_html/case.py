"""One case as HTML: every text from outside is escaped, nothing is loaded, nothing runs.

Claims and sentences of the answer carry their verdict as colour and as a mark, and link to the evidence in
the ranked context below. Colours are translucent, so that they hold on light and on dark.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dashboard.wording.escaping import shorten
from data.text.context_attribution import ContextAttribution, attribute_answer

__all__ = [
    "STYLE",
    "CaseHighlights",
    "answer_html",
    "context_html",
    "conversation_html",
    "gold_ids",
    "highlights_of",
]

FOLD = 700  # characters of a document shown before it is folded
STYLE = """<style>
.rt{font-size:.93rem;line-height:1.55;overflow-wrap:anywhere}
.rt p{margin:.2rem 0 .6rem;white-space:pre-wrap}
.rt-doc{border:1px solid rgba(128,140,150,.35);border-left-width:5px;border-radius:8px;
  padding:.5rem .8rem;margin:.5rem 0}
.rt-gold{border-left-color:#E69F00}.rt-used{border-left-color:#2b8cc4}
.rt-goldused{border-left-color:#009E73}.rt-ignored{border-left-style:dashed}
.rt-tag{display:inline-block;border:1px solid currentColor;border-radius:9px;padding:0 .5em;margin-right:.4em;
  font-size:.75rem;opacity:.85}
.rt-yes{background:rgba(0,158,115,.17);border-bottom:2px solid #009E73}
.rt-no{background:rgba(213,94,0,.17);border-bottom:2px dashed #D55E00}
.rt-against{background:rgba(204,121,167,.22);border-bottom:3px double #CC79A7}
.rt a{color:inherit;font-size:.78em;text-decoration:none;border:1px solid rgba(128,140,150,.6);
  border-radius:4px;padding:0 .3em;margin-left:.2em}
.rt mark{background:rgba(240,200,60,.35);color:inherit}
.rt details>summary{cursor:pointer;opacity:.75}
.rt-small{font-size:.8rem;opacity:.75}
.rt-turn{border-left:3px solid rgba(128,140,150,.4);padding-left:.7rem;margin:.4rem 0}
.rt ul{margin:.2rem 0 .4rem;padding-left:1.2rem}
.rt ins{background:rgba(0,158,115,.2);text-decoration:none;border-bottom:2px solid #009E73}
.rt del{background:rgba(213,94,0,.16);text-decoration:line-through}
</style>"""


Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class CaseHighlights:
    """What is known of how an answer and its context hang together.

    Attributes:
        used: ranks that the answer draws on.
        used_how: "recorded", "citation" or "estimated"; "" where nothing is known.
        attribution: the lexical estimate, None where answer or texts are missing.
        gold: ids of relevant documents.
        marks: rank -> character spans of the document that support the answer.
        gold_text: rank -> character spans of the document that are gold.
    """

    used: frozenset[int]
    used_how: str
    attribution: ContextAttribution | None
    gold: frozenset[str]
    marks: Mapping[int, Spans]
    gold_text: Mapping[int, Spans] = field(default_factory=dict)


def gold_ids(sample: Mapping[str, Any]) -> frozenset[str]:
    """Give the ids that the sample names as relevant."""
    return frozenset(one["id"] for one in sample["relevant"] or () if (one["grade"] or 0) > 0)


def highlights_of(sample: Mapping[str, Any]) -> CaseHighlights:
    """Gather the evidence of a case: recorded use first, else what its words say."""
    documents = [document["text"] or "" for document in sample["retrieved"] or ()]
    found = attribute_answer(sample["answer"], documents) if sample["answer"] and any(documents) else None
    used, how = frozenset(found.used if found else ()), "estimated" if found else ""
    if sample["used"] is not None:
        used, how = frozenset(one["rank"] for one in sample["used"]), f"recorded: {sample['used_source']}"
    marks: dict[int, tuple[tuple[int, int], ...]] = {}
    for sentence in found.sentences if found else ():
        for one in sentence.spans:
            marks[one.rank] = (*marks.get(one.rank, ()), *one.spans)
    return CaseHighlights(used, how, found, gold_ids(sample), marks, gold_text(sample))


def gold_text(sample: Mapping[str, Any]) -> dict[int, Spans]:
    """Find the gold spans inside each document that carries its place in the text it was cut from."""
    found: dict[int, Spans] = {}
    for rank, document in enumerate(sample["retrieved"] or (), 1):
        start, end = document["start"], document["end"]
        if start is None or end is None:
            continue
        inside = {
            (max(one["start"], start) - start, min(one["end"], end) - start)
            for one in sample["relevant_spans"] or ()
            if one["doc_id"] == document["doc_id"] and one["start"] < end and one["end"] > start
        }
        if inside:
            found[rank] = tuple(sorted(inside))
    return found


def conversation_html(sample: Mapping[str, Any]) -> str:
    """Write the turns before the question, folded when there are many, and the question."""
    turns = [
        f'<div class="rt-turn">{_small(turn["role"])}<p>{_safe(turn["text"])}</p></div>'
        for turn in sample["history"] or ()
    ]
    folded = (
        f"<details><summary>{len(turns)} earlier turns</summary>{''.join(turns)}</details>" if turns else ""
    )
    return f'<div class="rt">{folded}<p><b>{_safe(sample["question"])}</b></p></div>'


def answer_html(sample: Mapping[str, Any], evidence: CaseHighlights) -> str:
    """Write the answer with its claims by verdict; without claims, its sentences by the lexical estimate."""
    answer = sample["answer"]
    if answer is None:
        return '<div class="rt"><p class="rt-small">No answer was recorded.</p></div>'
    if sample["claims"]:
        return f'<div class="rt"><p>{_safe(answer)}</p>{_claims(sample["claims"])}</div>'
    if evidence.attribution is None:
        return f'<div class="rt"><p>{_safe(answer)}</p></div>'
    return f'<div class="rt"><p>{_marked_answer(answer, evidence.attribution)}</p></div>'


def _marked_answer(answer: str, attribution: ContextAttribution) -> str:
    parts, at = [], 0
    for sentence in attribution.sentences:
        parts.append(_safe(answer[at : sentence.start]))
        look = "rt-yes" if sentence.spans else "rt-no"
        title = "estimated: words found in the context" if sentence.spans else "estimated: no support found"
        links = "".join(_link(one.rank) for one in sentence.spans[:3])
        text = _safe(answer[sentence.start : sentence.end])
        parts.append(f'<span class="{look}" title="{title}">{text}</span>{links}')
        at = sentence.end
    return "".join([*parts, _safe(answer[at:])])


def _claims(claims: Sequence[Mapping[str, Any]]) -> str:
    return "<ul>" + "".join(f"<li>{_claim(claim)}</li>" for claim in claims) + "</ul>"


def _claim(claim: Mapping[str, Any]) -> str:
    supported, against = claim["supported_by"], claim["contradicted_by"] or ()
    look, word = "", "support not recorded"
    if supported:
        look, word = "rt-yes", "supported"
    elif against:
        look, word = "rt-against", "contradicted"
    elif supported is not None:
        look, word = "rt-no", "not in the context"
    right = {True: "right", False: "wrong", None: "not checked against the reference"}[claim["in_reference"]]
    links = "".join(_link(rank) for rank in [*(supported or ()), *against][:6])
    return f'<span class="{look}">{_safe(claim["text"])}</span>{links} {_small(f"{word} · {right}")}'


def _link(rank: int) -> str:
    return f'<a href="#document-{rank}">{rank}</a>'


def context_html(sample: Mapping[str, Any], evidence: CaseHighlights) -> str:
    """Write the ranked context with gold, used and ignored marks; long texts folded, evidence highlighted."""
    documents = sample["retrieved"]
    if documents is None:
        return '<div class="rt"><p class="rt-small">No context was recorded.</p></div>'
    if not documents:
        return '<div class="rt"><p class="rt-small">Nothing was retrieved.</p></div>'
    body = "".join(_document(rank, document, evidence) for rank, document in enumerate(documents, 1))
    return f'<div class="rt">{body}</div>'


def _document(rank: int, document: Mapping[str, Any], evidence: CaseHighlights) -> str:
    in_text = evidence.gold_text.get(rank, ())
    gold, used = document["id"] in evidence.gold or bool(in_text), rank in evidence.used
    how = "" if evidence.used_how.startswith("recorded") else " (estimated)"
    tags = [_gold_tag(in_text)] if gold else []
    if document["relevant"] is not None:
        tags.append("labelled relevant" if document["relevant"] else "labelled not relevant")
    if evidence.used_how:
        tags.append(f"used{how}" if used else f"ignored{how}")
    look = {(True, True): "rt-goldused", (True, False): "rt-gold", (False, True): "rt-used"}.get(
        (gold, used), ""
    )
    ignored = " rt-ignored" if evidence.used_how and not used else ""
    score = "" if document["score"] is None else f" · score {document['score']:.3g}"
    name = _safe(shorten(document["id"], 60))
    marked = "".join(f'<span class="rt-tag">{tag}</span>' for tag in tags)
    head = f'<b>{rank}</b> <span class="rt-small">{name}{score}</span> {marked}'
    text = _document_text(document["text"], evidence.marks.get(rank, in_text))
    return f'<div class="rt-doc {look}{ignored}" id="document-{rank}">{head}{text}</div>'


def _gold_tag(in_text: Spans) -> str:
    if not in_text:
        return "gold"
    covered = len(set().union(*(range(start, end) for start, end in in_text)))
    return f"gold: {covered:,} characters"


def _document_text(text: str | None, spans: Spans) -> str:
    if not text:
        return '<p class="rt-small">text not recorded</p>'
    marked = _highlight(text, spans)
    if len(text) <= FOLD:
        return f"<p>{marked}</p>"
    start = max(0, min((span[0] for span in spans), default=0) - 80)
    teaser = ("…" if start else "") + shorten(text[start:], FOLD // 2)
    whole = f"<details><summary>all {len(text):,} characters</summary><p>{marked}</p></details>"
    return f"<p>{_safe(teaser)}</p>{whole}"


def _highlight(text: str, spans: Spans) -> str:
    parts, at = [], 0
    for start, end in sorted(spans):
        if start >= at:
            parts += [_safe(text[at:start]), f"<mark>{_safe(text[start:end])}</mark>"]
            at = end
    return "".join([*parts, _safe(text[at:])])


def _small(text: str) -> str:
    return f'<span class="rt-small">{_safe(text)}</span>'


def _safe(text: str | None) -> str:
    return html.escape(text or "", quote=True)
