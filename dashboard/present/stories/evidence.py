"""What proves the point of an example: the passage that answers its question, the claims it does not back."""

from collections.abc import Mapping, Sequence
from typing import Any

from ragtriage.dashboard.present.case_html.case import gold_ids, gold_text
from ragtriage.dashboard.present.stories.story import Passage
from ragtriage.dashboard.wording.escaping import shorten, without_markdown
from ragtriage.data.cases.checks import failed_checks_text
from ragtriage.data.text.context_attribution import attribute_answer
from ragtriage.data.text.tokens import content_tokens, lowered, split_sentences

BEFORE, LONGEST_PASSAGE = 120, 560  # characters before what is marked, and in all
LONGEST_ANSWER, LEAD = 560, 60  # of an answer, and what of it stands before a first mark that comes late
MOST_MARKED = 2
Case = Mapping[str, Any]
Span = tuple[int, int]


def proving_passage(case: Case, name: str, other: Case | None, other_name: str) -> Passage | None:
    """Return the passage that answers the question, from what the run was given, else the baseline.

    Without a gold passage in either, it is what checks found, else what the run was given first.
    """
    mine = _gold_passage(case)
    if mine is not None:
        rank, text, spans = mine
        of = f"rank {rank} of {len(case['retrieved'])}"
        return _passage(f"The passage that answers it, given to {name} ({of})", text, spans)
    theirs = None if other is None else _gold_passage(other)
    if theirs is not None:
        _, text, spans = theirs
        heading = f"The passage that answers it, given to {other_name}, not to {name}"
        return _passage(heading, text, spans)
    failed = failed_checks_text(case)
    if failed:
        return Passage("What its checks found", failed)
    texts = _texts(case)
    if not texts or not texts[0].strip():
        return None
    lacking = "; none of its passages is known to answer it" if gold_ids(case) or _has_spans(case) else ""
    return _passage(f"What {name} was given first{lacking}", texts[0], ())


def _texts(case: Case) -> list[str]:
    return [document["text"] or "" for document in case["retrieved"] or ()]


def _has_spans(case: Case) -> bool:
    return bool(case["relevant_spans"])


def _gold_passage(case: Case) -> tuple[int, str, Sequence[Span]] | None:
    """Return rank, text and what counts of the first gold passage that the case was given; None without one.

    Where gold is known by its id alone, what counts are the sentences nearest to the reference answer.
    """
    texts, spans = _texts(case), gold_text(case)
    if spans:
        rank = max(spans, key=lambda at: sum(end - start for start, end in spans[at]))
        return rank, texts[rank - 1], spans[rank]
    gold = gold_ids(case)
    for rank, document in enumerate(case["retrieved"] or (), 1):
        if document["id"] in gold and texts[rank - 1].strip():
            return rank, texts[rank - 1], _nearest(case["reference_answer"] or "", texts[rank - 1])
    return None


def _nearest(reference: str, text: str) -> list[Span]:
    """Return the sentences of a text that hold most of the words of the first sentence of a reference."""
    supports = [support for each in attribute_answer(reference, [text]).sentences for support in each.spans]
    return list(supports[0].spans[:1]) if supports else []


def _passage(heading: str, text: str, spans: Sequence[Span]) -> Passage:
    """Return the part of a text around what counts, on one line and without Markdown."""
    whole = sorted(spans)
    start = max(0, whole[0][0] - BEFORE) if whole else 0
    if start:
        start = next((at for at, _ in split_sentences(text) if start <= at <= whole[0][0]), start)
        start = text.find(" ", start) + 1 if text[start - 1].isalnum() else start
    shown = " ".join(without_markdown(text[start : start + 2 * LONGEST_PASSAGE]).split())
    marked = [" ".join(without_markdown(text[slice(*span)]).split()) for span in whole]
    parts = tuple(part for part in marked if part and part in shown)
    if len(shown) > LONGEST_PASSAGE:
        shown = f"{shown[:LONGEST_PASSAGE].rpartition(' ')[0]} …"
    return Passage(heading, f"{'… ' if start else ''}{shown}", parts)


def shown_answer(case: Case, unfaithful: bool) -> tuple[str, tuple[str, ...], str]:
    """Return an answer without Markdown, its parts that no document backs, and how these are known.

    Args:
        case: with answer, claims and what was retrieved.
        unfaithful: whether the answer is known to hold such parts; only then are they sought.
    """
    answer = without_markdown(str(case["answer"] or "")) or "no answer recorded"
    marked, how = _unbacked(case, answer) if unfaithful else ([], "")
    first = min((answer.find(part) for part in marked), default=0)
    if len(answer) > LONGEST_ANSWER and first > LONGEST_ANSWER // 2:
        answer = f"{shorten(answer, LEAD)}\n… {answer[first:]}"
    return answer, tuple(marked), how


def _unbacked(case: Case, answer: str) -> tuple[list[str], str]:
    sentences = [answer[start:end] for start, end in split_sentences(answer)]
    claims = case["claims"] or ()
    if claims:
        faulty = [
            str(claim["text"])
            for claim in claims
            if claim["contradicted_by"] or (claim["supported_by"] is not None and not claim["supported_by"])
        ]
        nearest = [max(sentences, key=lambda part: _shared(claim, part), default="") for claim in faulty]
        return list(dict.fromkeys(filter(None, nearest)))[:MOST_MARKED], "underlined"
    texts = _texts(case)
    parts = attribute_answer(answer, texts).sentences if any(texts) else ()
    unbacked = [answer[part.start : part.end] for part in parts if not part.spans]
    return unbacked[:MOST_MARKED], "underlined, estimated from shared words" if unbacked else ""


def _shared(claim: str, sentence: str) -> float:
    """Return how much two texts have in common: shared content words, less those of the sentence alone."""
    words, others = content_tokens(lowered(claim)), content_tokens(lowered(sentence))
    return len(words & others) - 0.1 * len(others - words)
