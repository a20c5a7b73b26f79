"""An item of a dataset: a question with its answer, its gold as verbatim spans, and what checks said."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ragtriage.data.chunking.corpus import Corpus
from ragtriage.data.store.question_sets import Question
from ragtriage.data.text.tokens import folded

# kind -> what a question of it asks; `real` is a question that a user asked
KINDS: Mapping[str, str] = {
    "single": "one fact",
    "multi-hop": "two or more passages together",
    "unanswerable": "near the corpus, not in it",
    "adversarial": "similar passages, and only one of them answers",
    "comparison": "two things compared",
    "aggregation": "a list or a count",
    "temporal": "when, or what holds at a time",
    "false-premise": "assumes what the corpus denies",
    "follow-up": "needs the turn before it",
    "keyword": "typed as a search",
    "misspelt": "with typing errors",
    "real": "asked by a user",
}
# how files name kinds, beside the names above
_SYNONYMS = {
    "single fact": "single",
    "single-hop": "single",
    "single_hop": "single",
    "two-hop": "multi-hop",
    "multi_hop": "multi-hop",
    "list": "aggregation",
    "false premise": "false-premise",
    "false_premise": "false-premise",
    "conversational": "follow-up",
    "follow up": "follow-up",
    "follow_up": "follow-up",
    "misspelled": "misspelt",
}
DETAILS = "dataset"  # the field of a question in which an item's further facts stand


@dataclass(frozen=True)
class Stretch:
    """A stretch of a document."""

    doc_id: str
    start: int  # in characters of the document as stored
    end: int  # one past the last character

    def overlaps(self, other: Stretch) -> bool:
        """Return whether two stretches share a character."""
        return self.doc_id == other.doc_id and self.start < other.end and other.start < self.end


@dataclass(frozen=True)
class GoldSpan(Stretch):
    """A passage of the corpus that answers, or a part of what does."""

    quote: str = ""  # the text there, as it was when the span was set; "" where no corpus was at hand
    hop: str = ""  # spans of one hop are alternatives, and every hop is needed; "" for a span needed itself

    def to_dict(self) -> dict[str, Any]:
        """Return the span as `relevant_spans` has it."""
        place = {"doc_id": self.doc_id, "start": self.start, "end": self.end}
        return {**place, "hop": self.hop} if self.hop else place


@dataclass(frozen=True)
class Item:
    """A question of a dataset; two items with the same `content_hash` ask the same and have the same gold."""

    question_id: str
    question: str
    answer: str = ""  # reference answer; "" for none
    kind: str = ""  # one of KINDS, or as the file names it
    spans: tuple[GoldSpan, ...] = ()
    answerable: str = "yes"  # as `answerable` of the native form; "" where not known
    claims: tuple[str, ...] = ()  # the reference answer in claims
    history: tuple[tuple[str, str], ...] = ()  # (role, text) of earlier turns
    tags: Mapping[str, str] = field(default_factory=dict)
    distractors: tuple[GoldSpan, ...] = ()  # passages that look like the gold and do not answer
    proposed: tuple[GoldSpan, ...] = ()  # what search proposes as gold, best first; gold by no one's word
    # what the model's checks said, `alone` and `read` (see `ragtriage.data.datasets.making.verdicts`), and of
    # a question without an answer what is `missing` and the `nearest` text; empty: none ran
    judged: Mapping[str, Any] = field(default_factory=dict)
    # who wrote it: `by` (model, rules, file, user), `model`, `prompt`, `seed`, `round`, `from` (another item)
    origin: Mapping[str, Any] = field(default_factory=dict)
    rejected_by: str = ""  # key of the filter that rejected it; "" for an item that passed them all
    reason: str = ""  # why that filter rejected it

    @property
    def content_hash(self) -> str:
        """Hash over what a reader decides on; where the gold stands, and how it is set, does not count."""
        gold = sorted(
            (span.hop, folded(span.quote) or f"{span.doc_id} {span.start}-{span.end}") for span in self.spans
        )
        content = (self.question, self.answer, self.answerable, self.history, gold)
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]

    @property
    def hops(self) -> dict[str, tuple[GoldSpan, ...]]:
        """The spans that are needed: hop, or the number of a span without one -> its alternatives."""
        hops: dict[str, tuple[GoldSpan, ...]] = {}
        for at, span in enumerate(self.spans):
            key = span.hop or f"span {at + 1}"
            hops[key] = (*hops.get(key, ()), span)
        return hops

    def with_alternative(self, span: GoldSpan, hop: str = "") -> Item:
        """Return the item with one more place that answers, an alternative to `hop`.

        Without one it is an alternative to the hop whose text has most of its words.
        """
        hops = self.hops
        if (span.doc_id, span.start, span.end) in {
            (each.doc_id, each.start, each.end) for each in self.spans
        }:
            return self
        words = set(span.quote.split())
        shared = {
            name: max(len(words & set(known.quote.split())) for known in places)
            for name, places in hops.items()
        }
        target = hop or max(shared, key=lambda name: shared[name], default="1")
        name = target if any(known.hop == target for known in self.spans) else self._free_hop()
        joined = tuple(
            replace(known, hop=name) if known in hops.get(target, ()) else known for known in self.spans
        )
        return replace(self, spans=(*joined, replace(span, hop=name)))

    def _free_hop(self) -> str:
        taken = {span.hop for span in self.spans}
        return next(str(number) for number in range(1, len(taken) + 2) if str(number) not in taken)

    def to_question(self) -> Question:
        """Return the item as a question in the native form; what the form does not have is in `dataset`."""
        details = {
            "judged": dict(self.judged),
            "origin": dict(self.origin),
            "quotes": [span.quote for span in self.spans],
            "distractors": [{**span.to_dict(), "quote": span.quote} for span in self.distractors],
            "proposed": [{**span.to_dict(), "quote": span.quote} for span in self.proposed],
            "rejected_by": self.rejected_by,
            "reason": self.reason,
        }
        kept = {name: value for name, value in details.items() if value and value != [""] * len(self.spans)}
        question = {
            "question_id": self.question_id,
            "question": self.question,
            "history": [{"role": role, "text": text} for role, text in self.history],
            "reference_answer": self.answer,
            "reference_claims": [{"text": text} for text in self.claims],
            "relevant_spans": [span.to_dict() for span in self.spans],
            "answerable": self.answerable,
            "query_type": self.kind,
            "tags": dict(self.tags),
            DETAILS: kept,
        }
        always = ("question_id", "question", *(("relevant_spans",) if self.answerable == "no" else ()))
        return {name: value for name, value in question.items() if value or name in always}

    @classmethod
    def from_question(cls, question: Mapping[str, Any]) -> Item:
        """Return a question in the native form as an item; gold that is no span is left to the caller."""
        details = question.get(DETAILS)
        details = details if isinstance(details, Mapping) else {}
        quotes = list(details.get("quotes") or ())
        spans = question.get("relevant_spans") or ()
        quotes += [""] * (len(spans) - len(quotes))
        return cls(
            question_id=str(question["question_id"]),
            question=str(question["question"]),
            answer=str(question.get("reference_answer") or ""),
            kind=kind_of(str(question.get("query_type") or "")),
            spans=tuple(_span(span, quote) for span, quote in zip(spans, quotes, strict=False)),
            answerable=str(question.get("answerable") or ""),
            claims=tuple(str(claim["text"]) for claim in question.get("reference_claims") or ()),
            history=tuple((turn.get("role") or "", turn["text"]) for turn in question.get("history") or ()),
            tags={str(key): str(value) for key, value in (question.get("tags") or {}).items()},
            distractors=tuple(_span(span, span.get("quote")) for span in details.get("distractors") or ()),
            proposed=tuple(_span(span, span.get("quote")) for span in details.get("proposed") or ()),
            judged=dict(details.get("judged") or {}),
            origin=dict(details.get("origin") or {}),
            rejected_by=str(details.get("rejected_by") or ""),
            reason=str(details.get("reason") or ""),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON values, as the history of a review keeps them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Item:
        """Return an item from what `to_dict` gave."""
        named = ("spans", "distractors", "proposed")
        spans = {name: tuple(GoldSpan(**span) for span in values.get(name, ())) for name in named}
        turns = tuple((role, text) for role, text in values["history"])
        return cls(**{**values, **spans, "history": turns, "claims": tuple(values["claims"])})


def kind_of(name: str) -> str:
    """Return the kind that a file names in its own words; the file's word where it is none of ours."""
    plain = name.strip().lower()
    return plain if plain in KINDS else _SYNONYMS.get(plain, name)


def quoted(item: Item, corpus: Corpus) -> Item:
    """Return an item whose spans have the text that stands in the corpus now, where they lie in it."""
    spans, distractors, proposed = (
        _quoted(listed, corpus) for listed in (item.spans, item.distractors, item.proposed)
    )
    return replace(item, spans=spans, distractors=distractors, proposed=proposed)


def _quoted(spans: Iterable[GoldSpan], corpus: Corpus) -> tuple[GoldSpan, ...]:
    result = []
    for span in spans:
        document = corpus.by_name.get(span.doc_id)
        inside = document is not None and span.end <= len(document.text)
        text = document.text[span.start : span.end] if document is not None and inside else span.quote
        doc_id = document.doc_id if document is not None else span.doc_id
        result.append(replace(span, doc_id=doc_id, quote=text))
    return tuple(result)


def stands(span: GoldSpan, corpus: Corpus) -> bool:
    """Return whether the text of a span is where it says, or any text where it has none of its own."""
    document = corpus.by_name.get(span.doc_id)
    text = "" if document is None else document.text[span.start : span.end]
    return text == span.quote if span.quote else bool(text.strip())


def _span(span: Mapping[str, Any], quote: object) -> GoldSpan:
    hop = span.get("hop")
    place = (str(span["doc_id"]), int(span["start"]), int(span["end"]))
    return GoldSpan(*place, quote=str(quote or ""), hop="" if hop is None else str(hop))


def kind_counts(items: Sequence[Item]) -> dict[str, int]:
    """Count items by kind, in the order of KINDS, then the words of files."""
    names = [*KINDS, *sorted({item.kind for item in items} - set(KINDS))]
    counts = {name: sum(item.kind == name for item in items) for name in names}
    return {name: n for name, n in counts.items() if n}
