"""The card of a dataset in Markdown: what is in it, where it comes from, who read it, what it is fit for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ragtriage.data.chunking.corpus import Corpus
from ragtriage.data.datasets.chosen import REVIEWED
from ragtriage.data.datasets.dataset import Batch, Version
from ragtriage.data.datasets.item import Item, kind_counts
from ragtriage.data.datasets.readers import draft_at, reader_agreement, reader_rows
from ragtriage.data.datasets.review import Draft
from ragtriage.data.datasets.split import DEV, TAG
from ragtriage.data.text.printable import printable
from ragtriage.metrics.number_text import count

WRITTEN_BY = {
    "model": "a model",
    "rules": "rules, from other questions",
    "file": "the file's authors",
    "user": "users",
}
_STEERING = re.compile(r"([\\`*_{}\[\]<>|#~])")


def card_text(draft: Draft, items: Sequence[Item], corpus: Corpus, version: Version | None) -> str:
    """Return the card of a version, or of the draft where `version` is None."""
    name = f"{draft.dataset.name} v{version.version}" if version else f"{draft.dataset.name} (draft)"
    batches = draft.dataset.batches()
    if version is not None:
        draft, batches = draft_at(draft, version.at), _batches_of(items, batches)
    parts = [
        f"# {_plain(name)}",
        _summary(items, corpus),
        _section("Questions", _kinds(items)),
        _section("Gold", _gold(items)),
        _section("Where they come from", *map(_origin, batches)),
        _section("Filters", _filters(batches)),
        _section("Readers", _readers(draft)),
        _section("Corpus", _corpus(corpus, version)),
        _section("Licence", _licences(batches)),
        _section("Limitations", *_limits(draft, items, batches)),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _batches_of(items: Sequence[Item], batches: Iterable[Batch]) -> list[Batch]:
    """Return the batches that items of a version come from."""
    ids = {item.question_id for item in items}
    return [batch for batch in batches if any(item.question_id in ids for item in batch.items)]


def _summary(items: Sequence[Item], corpus: Corpus) -> str:
    read = sum(item.tags.get(REVIEWED) == "true" for item in items)
    return (
        f"{count(len(items), 'question')} on {count(len(corpus.documents), 'document')} "
        f"({_plain(corpus.name)}); {read:,} were read and kept by people."
    )


def _section(title: str, *paragraphs: str) -> str:
    text = "\n\n".join(filter(None, paragraphs))
    return f"## {title}\n\n{text}" if text else ""


def _kinds(items: Sequence[Item]) -> str:
    split = any(TAG in item.tags for item in items)
    rows = []
    for kind, n in kind_counts(items).items():
        own = [item for item in items if item.kind == kind]
        read = sum(item.tags.get(REVIEWED) == "true" for item in own)
        dev = [sum(item.tags.get(TAG) == DEV for item in own)] if split else []
        rows.append([kind or "not said", n, read, *dev])
    return _table(["kind", "questions", "read by people", *(["dev"] if split else [])], rows)


def _gold(items: Sequence[Item]) -> str:
    hops = [len(item.hops) for item in items]
    others = sum(len(item.spans) for item in items) - sum(hops)
    documents = {span.doc_id for item in items for span in item.spans}
    lines = (
        (sum(n == 1 for n in hops), "questions with one passage that answers"),
        (sum(n > 1 for n in hops), "questions that need several passages"),
        (others, "other passages that answer as well"),
        (sum(item.answerable == "no" for item in items), "questions that the corpus does not answer"),
        (sum(not item.spans and item.answerable != "no" for item in items), "questions without gold"),
        (sum(bool(item.answer) for item in items), "questions with a reference answer"),
        (len(documents), "documents with gold"),
    )
    return _table(["", "n"], [[words, n] for n, words in lines if n])


def _origin(batch: Batch) -> str:
    """Return how a batch came about, as a list."""
    facts = batch.facts
    gold: Mapping[str, Any] = facts.get("gold") or {}
    lines = {
        "written by": WRITTEN_BY.get(str(facts.get("by")), str(facts.get("by") or "not said")),
        "source": facts.get("source"),
        "model": facts.get("model"),
        "prompts": _pairs(facts.get("prompts")),
        "seed": facts.get("seed"),
        "asked for": facts.get("asked"),
        "mix": _pairs(facts.get("mix")),
        "short of": _pairs(facts.get("short")),
        "calls": facts.get("calls"),
        "input tokens": facts.get("input_tokens"),
        "output tokens": facts.get("output_tokens"),
        "cost in USD": facts.get("cost_usd"),
        "gold found": gold.get("gold"),
        "gold not found": gold.get("missing") or None,
        "passages proposed by search": gold.get("proposed") or None,
        "held-out documents": _listed(facts.get("held_out")),
        "pooled runs": _listed(facts.get("runs")),
        "depth of pooling": facts.get("depth"),
        "retrieved documents not located in the corpus": facts.get("not_located") or None,
    }
    told = [f"- {name}: {_plain(_value(value))}" for name, value in lines.items() if value not in (None, "")]
    return "\n".join([f"{batch.made_at[:10]}, {count(len(batch.items), 'item')}:", "", *told])


def _filters(batches: Iterable[Batch]) -> str:
    totals: dict[str, list[int]] = {}
    for batch in batches:
        for key, counts in (batch.facts.get("filters") or {}).items():
            known = totals.setdefault(str(key), [0, 0])
            totals[str(key)] = [n + more for n, more in zip(known, counts, strict=True)]
    rows = [[key, passed, rejected] for key, (passed, rejected) in totals.items()]
    return _table(["filter", "passed", "rejected"], rows) if rows else ""


def _readers(draft: Draft) -> str:
    rows = reader_rows(draft)
    if not rows:
        return "Nobody has read an item."
    table = _table(list(rows[0]), [list(row.values()) for row in rows])
    agreed = reader_agreement(draft)
    return table if agreed is None else f"{table}\n\n{agreed.sentence(_plain)}"


def _corpus(corpus: Corpus, version: Version | None) -> str:
    rows: list[list[Any]] = [
        ["version (hash of its texts)", corpus.version],
        ["documents", len(corpus.documents)],
        ["characters", corpus.characters],
        *([["question set", version.set_id], ["frozen", version.at[:10]]] if version else []),
    ]
    return _table(["", ""], rows)


def _licences(batches: Iterable[Batch]) -> str:
    licences = dict.fromkeys(str(batch.facts.get("licence") or "") for batch in batches)
    return "; ".join(_plain(licence) for licence in licences if licence) or "Not stated."


def _limits(draft: Draft, items: Sequence[Item], batches: Sequence[Batch]) -> list[str]:
    by = Counter(str(item.origin.get("by") or "") for item in items)
    written = by["model"] + by["rules"]
    unread = sum(item.tags.get(REVIEWED) != "true" for item in items)
    depths = {batch.batch_id: int(batch.facts["depth"]) for batch in batches if batch.facts.get("depth")}
    judged = _judged(draft, items, depths)
    lines = (
        f"{written:,} of {len(items):,} questions are synthetic ({by['model']:,} by a model, "
        f"{by['rules']:,} by rules): real users may ask differently."
        if written
        else "",
        f"{unread:,} of {len(items):,} questions were read by nobody." if unread else "",
        # the lists of all batches are read to the greatest depth that one of them asks for
        f"Gold of {count(judged, 'question')} was pooled to depth {max(depths.values())}: what no pooled run "
        "and no search found above it was not judged."
        if judged
        else "",
    )
    return [line for line in lines if line]


def _judged(draft: Draft, items: Sequence[Item], batch_ids: Collection[str]) -> int:
    """Return how many of the items of some batches have had a passage of their pool judged."""
    ids = {item.question_id for item in items}
    entries = [each for each in draft.items if each.batch_id in batch_ids and each.item.question_id in ids]
    return sum(any(event.action == "gold" for event in each.events) for each in entries)


def _pairs(value: object) -> str:
    return ", ".join(f"{name} {entry}" for name, entry in value.items()) if isinstance(value, Mapping) else ""


def _listed(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, Sequence) and not isinstance(value, str) else ""


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [header, ["---"] * len(header), *([_plain(_value(cell)) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _plain(text: str) -> str:
    """Return a text that Markdown shows as it stands, in one line."""
    return _STEERING.sub(r"\\\1", " ".join(printable(text).split()))
