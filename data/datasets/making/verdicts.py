"""What a model's replies mean for an item: how its question stands alone, and what was read blind.

`Item.judged` holds `alone` {stands_alone, open, realism, answer, known} and `read` {gold, others, answer,
match, denied}: `gold` has what the passages with the gold answer (full, part, none), `others` that of the
passages beside them, `match` how the answer compares with the reference (same, unknown, other).
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ragtriage.data.datasets.checks import CHECKS, FreeChecks, query_of
from ragtriage.data.datasets.item import GoldSpan, Item
from ragtriage.data.datasets.making.quotas import TWO_PASSAGES
from ragtriage.data.datasets.making.requests import PassageRead, QuestionAlone, ReadReply
from ragtriage.data.datasets.windows import CorpusWindows, Passage
from ragtriage.data.text.right_by_text import right_by_text
from ragtriage.data.text.tokens import content_tokens

LEAST_REALISM = 4
N_OTHERS = 4  # passages beside the gold
ABSENT_DEPTH = 10  # windows in which what cannot be answered must not be answered, by question and by fact
HOLDS = 0.3  # share of the answer's content words that another place which answers holds
KNOWN = "known_without_corpus"  # the tag of a question that the model answers without the corpus


def alone_verdict(item: Item, alone: QuestionAlone) -> Item:
    """Return an item with how its question stands alone; rejected where it does not, or is unreal."""
    known = False
    if item.answer and item.answerable == "yes" and alone.answer.strip().casefold() not in ("", "unknown"):
        match = right_by_text(alone.answer, [item.answer], item.question)
        known = match is not None and match.outcome == "same"
    said = {**alone.model_dump(exclude={"n"}), "known": known}
    tags = {**item.tags, KNOWN: "true"} if known else item.tags
    item = replace(item, judged={**item.judged, "alone": said}, tags=tags)
    if not alone.stands_alone:
        return replace(item, rejected_by="stands_alone", reason=alone.open.strip() or "leaves something open")
    if alone.realism < LEAST_REALISM:
        return replace(item, rejected_by="realism", reason=f"realism {alone.realism} of 5")
    return item


@dataclass(frozen=True)
class Shown:
    """The passages of a question that is read blind, in the order in which they are shown."""

    passages: tuple[Passage, ...]
    hops: tuple[str, ...]  # of each, the hop whose gold it holds; "" for one beside the gold


def shown_passages(item: Item, checks: FreeChecks, seed: int) -> Shown:
    """Return the gold of an item and what looks like it, shuffled by the seed."""
    windows = checks.windows
    gold = list[tuple[Passage, str]]()
    for hop, found in item.hops.items():
        if not any(passage.holds(found[0]) for passage, _ in gold):
            gold.append((windows.around(found[0]), hop))
    others = [(passage, "") for passage in _others(item, checks, [passage for passage, _ in gold])]
    both = gold + others
    random.Random(f"{seed} {item.question_id}").shuffle(both)  # noqa: S311 -- hides the gold from a reader
    return Shown(tuple(passage for passage, _ in both), tuple(hop for _, hop in both))


def _others(item: Item, checks: FreeChecks, gold: Sequence[Passage]) -> list[Passage]:
    windows = checks.windows
    if item.answerable == "no":
        nearest = str(item.judged.get("nearest", ""))
        found = [windows.around(span) for span in item.distractors]
        found += windows.search(query_of(item), ABSENT_DEPTH) + windows.search(nearest, ABSENT_DEPTH)
        return _apart(found, [])
    found = [windows.around(span) for span in item.distractors]
    elsewhere = CHECKS["elsewhere"].run(checks, item).place
    found += [windows.around(elsewhere)] if elsewhere is not None else []
    found += windows.search(f"{query_of(item)} {item.answer}")
    spans = [Passage(span.doc_id, span.start, span.end, span.quote) for span in item.spans]
    return _apart(found, [*gold, *spans])[:N_OTHERS]


def _apart(passages: Sequence[Passage], taken: Sequence[Passage]) -> list[Passage]:
    """Return the passages that overlap neither what is taken nor an earlier one."""
    kept, shown = list[Passage](), list(taken)
    for passage in passages:
        if not any(map(passage.overlaps, shown)):
            kept.append(passage)
            shown.append(passage)
    return kept


def read_verdict(item: Item, shown: Shown, reply: ReadReply, windows: CorpusWindows) -> Item:
    """Return an item as its blind reading leaves it: accepted, with more gold, or rejected with a reason."""
    gold, others = list[tuple[str, PassageRead]](), list[tuple[Passage, PassageRead]]()
    for passage, hop, read in zip(shown.passages, shown.hops, reply.passages, strict=True):
        if hop:
            gold.append((hop, read))
        else:
            others.append((passage, read))
    match = right_by_text(reply.answer, [item.answer], item.question) if item.answer else None
    said: dict[str, Any] = {
        "gold": [read.answers for _, read in gold],
        "others": [read.answers for _, read in others],
        "answer": reply.answer.strip(),
        "match": "" if match is None else match.outcome,
        "denied": reply.denied.strip(),
    }
    item = replace(item, judged={**item.judged, "read": said})
    if item.answerable == "no":
        reason = _answered_after_all(item, others, reply, windows)
    elif item.kind in TWO_PASSAGES or len(gold) > 1:
        reason = _not_together(item, gold, others, windows)
    else:
        item, reason = _one_place(item, gold, others, windows)
    if not reason and item.answerable != "no":
        reason = _answered_otherwise(said)
    return replace(item, rejected_by="read", reason=reason) if reason else item


def _answered_after_all(
    item: Item, others: Sequence[tuple[Passage, PassageRead]], reply: ReadReply, windows: CorpusWindows
) -> str:
    """Return where an item that has no answer is answered; "" where it is nowhere."""
    if item.kind == "false-premise":
        return "" if reply.denied.strip() else "no passage denies what it assumes"
    full = (passage for passage, read in others if read.answers == "full" and _quoted(passage, read, windows))
    answering = next(full, None)
    if answering is not None:
        return f"answered in {answering.doc_id}"
    parts = sum(read.answers == "part" for _, read in others)
    return "answered by several passages together" if parts > 1 and reply.answer.strip() else ""


def _not_together(
    item: Item,
    gold: Sequence[tuple[str, PassageRead]],
    others: Sequence[tuple[Passage, PassageRead]],
    windows: CorpusWindows,
) -> str:
    """Return why the hops of an item are not all needed, or do not suffice; "" where they are."""
    enough = [read for _, read in gold if read.answers == "full"]
    enough += [
        read for passage, read in others if read.answers == "full" and _verified(passage, read, item, windows)
    ]
    if enough:
        return "one passage is enough" if item.kind in TWO_PASSAGES else ""
    lacking = [hop for hop, read in gold if read.answers == "none"]
    return f"not needed: {', '.join(lacking)}" if lacking else ""


def _one_place(
    item: Item,
    gold: Sequence[tuple[str, PassageRead]],
    others: Sequence[tuple[Passage, PassageRead]],
    windows: CorpusWindows,
) -> tuple[Item, str]:
    """Return an item with the other places that answer as alternatives, and why it is rejected, or ""."""
    hop, read = gold[0]
    if read.answers != "full":
        return item, f"the gold answers {'in part' if read.answers == 'part' else 'nothing'}"
    for passage, other in others:
        if other.answers != "full":
            continue
        span = _verified(passage, other, item, windows)
        if span is None or len(item.hops) > 1:
            continue  # a claim without a quote that holds the answer changes nothing
        if item.kind == "adversarial":
            return item, f"a similar passage answers too: {passage.doc_id}"
        item = item.with_alternative(span, hop)
        hop = item.spans[0].hop
    return item, ""


def _quoted(passage: Passage, read: PassageRead, windows: CorpusWindows) -> GoldSpan | None:
    """Return where the quote of a passage stands in it; None where it does not."""
    found = windows.locate(read.quote, passage.doc_id)
    return next((span for span in found if passage.holds(span)), None)


def _verified(passage: Passage, read: PassageRead, item: Item, windows: CorpusWindows) -> GoldSpan | None:
    """Return where a quote stands in its passage; None where it does not, or has too little of the answer."""
    answer = content_tokens(item.answer.lower())
    held = len(answer & content_tokens(read.quote.lower()))
    return _quoted(passage, read, windows) if held >= HOLDS * len(answer) else None


def _answered_otherwise(said: Mapping[str, Any]) -> str:
    if not said["answer"]:
        return "not answered from its gold"
    return f"answered otherwise: {said['answer']}" if said["match"] == "other" else ""
