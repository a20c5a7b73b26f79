"""Questions made of others by rules, without a model: false premises, typing errors, searches, absence.

All follow from the seed. An item that no rule fits is passed over; how many could not be made is said.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from ragtriage.data.chunking.corpus import Corpus
from ragtriage.data.datasets.checks import ELSEWHERE, FreeChecks
from ragtriage.data.datasets.dataset import Dataset
from ragtriage.data.datasets.item import Item
from ragtriage.data.datasets.windows import CorpusWindows
from ragtriage.data.errors import DataError
from ragtriage.data.text.language import language_of
from ragtriage.data.text.tokens import content_tokens, split_sentences, word_list

RuleKind = Literal["false-premise", "misspelt", "keyword"]
SUFFIXES: Mapping[RuleKind, str] = {"false-premise": "false", "misspelt": "typed", "keyword": "search"}
HELD_OUT = "held-out"
WORDS_FOR_AN_ERROR = 6  # of a question, for each typing error
MOST_ERRORS = 3
SHORTEST_TYPED = 4  # letters of a word that is mistyped
CLAIM_WORDS = range(6, 26)  # of a sentence that is asked about as a claim
# a number with what is counted, a month or a day of the week, a name inside a sentence
_NUMBER = re.compile(
    r"(?<![\w.,/-])\d{1,3}(?:[.,]\d{3})+(?![\w/-])|(?<![\w.,/-])\d+(?:[.,]\d+)?(?![\w/-]|[.,]\d)"
)
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September", "October"),
    *("November", "December"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_CALENDAR = re.compile(rf"\b(?:{'|'.join((*_MONTHS, *_DAYS))})\b")
_NAME = re.compile(r"(?<=[^\W\d_] |[,;:] )[^\W\d_a-zа-яё][^\W\d_]+(?: [^\W\d_a-zа-яё][^\W\d_]+){0,3}(?![\w])")
_WORD = re.compile(r"[^\W_]+(?:['’.,-](?<!, )[^\W_]+)*")
_POINTING = {
    "he",
    "she",
    "it",
    "they",
    "his",
    "her",
    "its",
    "their",
    "this",
    "that",
    "these",
    "those",
    "there",
}
_MARKUP = re.compile(r"[\[\]()*#|`<>{}\n]")
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm"), ("йцукенгшщзхъ", "фывапролджэ", "ячсмитьбю")
# what is right and wrong, in the language of the question
_CORRECTIONS = {
    "en": "Not {wrong} but {right}: {quote}",
    "de": "Nicht {wrong}, sondern {right}: {quote}",
    "es": "No {wrong}, sino {right}: {quote}",
    "fr": "Non pas {wrong}, mais {right} : {quote}",
    "ru": "Не {wrong}, а {right}: {quote}",
}


@dataclass(frozen=True)
class Entity:
    """A number, a date or a name in a text, and what others must share to take its place."""

    text: str
    start: int  # in characters of the text that it stands in
    kind: str  # number, month, day or name
    key: str  # the word behind a number, before a name

    def fits(self, other: str) -> bool:
        """Return whether another text of its kind and key is a likely slip for it."""
        if self.kind != "number":
            return len(other.split()) == len(self.text.split())
        own, another = _value(self.text), _value(other)
        is_year = re.fullmatch(r"(?:1[5-9]|20)\d\d", self.text) is not None
        near = abs(own - another) <= 30 if is_year else own / 4 <= another <= own * 4
        return own != another and near and ({*self.text} & {".", ","}) == ({*other} & {".", ","})


def entities_in(text: str) -> Iterator[Entity]:
    """Yield the numbers, dates and names of a text, but for names at the start of a sentence."""
    for match in _NUMBER.finditer(text):
        behind = _WORD.match(text[match.end() :].lstrip(" %€$-"))
        sign = text[match.end() : match.end() + 1].strip() if not text[match.end() :][:1].isalnum() else ""
        before = text[max(0, match.start() - 1) : match.start()].strip()
        unit = behind.group().lower() if behind and not sign.startswith("%") else ""
        yield Entity(match.group(), match.start(), "number", f"{before if before in '$€£' else ''}{unit}")
    for match in _CALENDAR.finditer(text):
        yield Entity(match.group(), match.start(), "day" if match.group() in _DAYS else "month", "")
    for match in _NAME.finditer(text):
        words = text[: match.start()].split()
        if not _CALENDAR.search(match.group()) and words and not words[-1].endswith((".", "!", "?")):
            yield Entity(match.group(), match.start(), "name", words[-1].lower().strip(",;:"))


def _value(text: str) -> float:
    plain = text.replace(",", "") if re.fullmatch(r"\d{1,3}(?:,\d{3})+", text) else text.replace(",", ".")
    try:
        return float(plain)
    except ValueError:
        return float(re.sub(r"\D", "", text))


class CorpusRules:
    """The rules with what they need of a corpus."""

    def __init__(self, windows: CorpusWindows) -> None:
        self.windows = windows
        self.checks = FreeChecks(windows, ())
        self.stop = word_list("stop_words")

    @cached_property
    def entities(self) -> Mapping[tuple[str, str], list[str]]:
        """(kind, key) -> the different texts in the corpus, in order."""
        found = defaultdict[tuple[str, str], dict[str, None]](dict)
        for document in self.windows.corpus.documents:
            for entity in entities_in(document.text):
                found[entity.kind, entity.key].setdefault(entity.text)
        return {key: list(texts) for key, texts in found.items()}

    @cached_property
    def small(self) -> frozenset[str]:
        """The words that the corpus has in small letters too."""
        texts = (document.text for document in self.windows.corpus.documents)
        return frozenset(word for text in texts for word in _WORD.findall(text) if word.islower())

    def false_premise(self, item: Item, draw: random.Random) -> Item | None:
        """Return a question that takes another number, date or name for granted than its gold has.

        One that stands in the question is changed, numbers and dates before names, which a rule tells less
        well. Where there is none, an English sentence of the gold is asked about as a claim.
        """
        known = {entity.text for entity in entities_in(item.question)}
        slips = [
            (spans[0].quote, each) for spans in item.hops.values() for each in entities_in(spans[0].quote)
        ]
        draw.shuffle(slips)
        for quote, entity in sorted(
            slips, key=lambda slip: (slip[1].kind == "name", slip[1].text not in known)
        ):
            asked = item.question if entity.text in known else self._claim(item, quote, entity)
            for other in self._others(entity, item, draw) if asked else ():
                before, found, after = asked.partition(entity.text)
                question = f"{before}{other}{after}"
                if found and self._is_false(question, other):
                    form = _CORRECTIONS.get(language_of(question) or "en", _CORRECTIONS["en"])
                    answer = form.format(wrong=other, right=entity.text, quote=_sentence(quote, entity))
                    # the gold answers it still: it is what denies the premise
                    return replace(item, question=question, answer=answer, claims=())
        return None

    def _others(self, entity: Entity, item: Item, draw: random.Random) -> list[str]:
        """Return what may take an entity's place: nothing that the documents of the gold speak of."""
        if not self._is_name(entity.text, entity.kind):
            return []
        own = {span.doc_id for span in item.spans}
        others = [
            text
            for text in self.entities.get((entity.kind, entity.key), [])
            if entity.fits(text)
            and self._is_name(text, entity.kind)
            and own.isdisjoint(self.documents.get(text.lower(), ()))
        ]
        draw.shuffle(others)
        return others

    @cached_property
    def documents(self) -> Mapping[str, set[str]]:
        """Entity or word in small letters -> the documents that have it."""
        places = defaultdict[str, set[str]](set)
        for document in self.windows.corpus.documents:
            for word in _WORD.findall(document.text.lower()):
                places[word].add(document.doc_id)
            for entity in entities_in(document.text):
                places[entity.text.lower()].add(document.doc_id)
        return places

    def _is_name(self, text: str, kind: str) -> bool:
        """Return whether a capitalised text is a name: the corpus has none of its words in small letters."""
        return kind != "name" or not any(word.lower() in self.small for word in text.split())

    def _claim(self, item: Item, quote: str, entity: Entity) -> str:
        """Return the sentence of an entity as a question; "" where it is no plain English one."""
        sentence = _sentence(quote, entity).strip()
        first, _, rest = sentence.partition(" ")
        plain = sentence.endswith(".") and first[:1].isupper() and not _MARKUP.search(sentence)
        of_the_question = content_tokens(sentence.lower()) & content_tokens(item.question.lower())
        if not plain or entity.kind == "name" or not of_the_question or first.lower() in _POINTING:
            return ""
        if len(sentence.split()) not in CLAIM_WORDS or {
            language_of(sentence),
            language_of(item.question),
        } != {"en"}:
            return ""
        return f"Is it true that {first.lower() if first.lower() in self.small else first} {rest[:-1]}?"

    def _is_false(self, question: str, other: str) -> bool:
        """Return whether no window says so: that holds the new text and most words of the question."""
        words = content_tokens(question.lower()) - content_tokens(other.lower())
        near = np.flatnonzero(self.checks.shares(frozenset(words)) >= ELSEWHERE)
        return not any(other.lower() in self.windows.windows[int(at)].text.lower() for at in near)

    def misspelt(self, item: Item, draw: random.Random) -> Item | None:
        """Return a question with typing errors: a key beside the right one, or two letters swapped."""
        words = list(re.finditer(r"\S+", item.question))
        typed = [
            match
            for match in (re.search(r"^\W*([^\W\d_]+)\W*$", word.group()) and word for word in words)
            if match is not None
            and (letters := match.group().strip("\"'“”‘’«»(),.;:?!…-")).islower()
            and letters.isalpha()
            and len(letters) >= SHORTEST_TYPED
            and any(letters[1:-1].find(key) >= 0 for rows in _ROWS for row in rows for key in row)
        ]
        # an error in a word that carries the meaning makes a search harder, one in "the" does not
        typed = [each for each in typed if each.group().lower() not in self.stop] or typed
        n = min(MOST_ERRORS, max(1, len(words) // WORDS_FOR_AN_ERROR), len(typed))
        question = item.question
        for match in sorted(draw.sample(typed, n), key=lambda each: -each.start()):
            question = question[: match.start()] + mistyped(match.group(), draw) + question[match.end() :]
        return replace(item, question=question) if question != item.question else None

    def keyword(self, item: Item, _: random.Random) -> Item | None:
        """Return the content words of a question in their order, as typed into a search box."""
        words = _WORD.findall(item.question.lower().replace("’", "'"))
        kept = [word for word in words if word.partition("'")[0] not in self.stop]
        fits = 2 <= len(kept) < len(words) and not item.history
        return replace(item, question=" ".join(kept)) if fits else None


def _sentence(quote: str, entity: Entity) -> str:
    for start, end in split_sentences(quote):
        if start <= entity.start < end:
            return quote[start:end]
    return quote


def mistyped(word: str, draw: random.Random) -> str:
    """Return a word with one typing error inside it, never in its first letter."""
    places = [at for at in range(1, len(word)) if word[at].isalpha()]
    draw.shuffle(places)
    for at in places:
        swapped = at + 1 < len(word) and word[at + 1].isalpha() and word[at] != word[at + 1]
        if swapped and draw.random() < 0.5:
            return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        if beside := _beside(word[at]):
            return word[:at] + draw.choice(beside) + word[at + 1 :]
    return word


def _beside(letter: str) -> list[str]:
    """Return the keys beside that of a small letter; [] for a letter of neither keyboard."""
    for rows in _ROWS:
        for at, row in enumerate(rows):
            column = row.find(letter)
            if column >= 0:
                near = [row[column - 1 : column], row[column + 1 : column + 2]]
                near += [
                    rows[next_][column : column + 1] for next_ in (at - 1, at + 1) if 0 <= next_ < len(rows)
                ]
                return [key for key in near if key]
    return []


RULES: Mapping[RuleKind, Callable[[CorpusRules, Item, random.Random], Item | None]] = {
    "false-premise": CorpusRules.false_premise,
    "misspelt": CorpusRules.misspelt,
    "keyword": CorpusRules.keyword,
}


def derive(
    rules: CorpusRules,
    items: Sequence[Item],
    kind: RuleKind,
    n: int,
    seed: int,
    taken: Collection[str] = (),
) -> list[Item]:
    """Return up to n items made of others by a rule, in an order that the seed fixes.

    Those that were made of others themselves, or whose copy of this kind is among the items or has one of the
    ids that are taken, are passed over.
    """
    taken = {item.question_id for item in items} | set(taken)
    made: list[Item] = []
    for item in _shuffled([each for each in items if _may_be_changed(each)], f"{seed} {kind}"):
        question_id = f"{item.question_id}-{SUFFIXES[kind]}"
        if len(made) == n:
            break
        if question_id in taken or item.kind in SUFFIXES:
            continue
        changed = RULES[kind](rules, item, random.Random(f"{seed} {question_id}"))  # noqa: S311 -- no secret
        if changed is not None:
            made.append(_from(changed, item, question_id, kind, seed))
    return made


def add_derived(
    dataset: Dataset, items: Sequence[Item], windows: CorpusWindows, wanted: Mapping[str, int], seed: int
) -> dict[str, list[Item]]:
    """Add questions made of items by rules to their dataset; return those of each kind wanted."""
    rules = CorpusRules(windows)
    # a copy that a reader rejected is not made again
    taken = {item.question_id for batch in dataset.batches() for item in batch.items}
    made: dict[str, list[Item]] = {
        kind: derive(rules, items, kind, wanted[kind], seed, taken) for kind in RULES if wanted.get(kind)
    }
    added = [item for each in made.values() for item in each]
    if added:
        facts = {"by": "rules", "source": dataset.name, "seed": seed}
        short = {kind: wanted[kind] - len(each) for kind, each in made.items() if len(each) < wanted[kind]}
        dataset.add_batch(
            added, windows.corpus, {**facts, "mix": {kind: wanted[kind] for kind in made}, "short": short}
        )
    return made


def _may_be_changed(item: Item) -> bool:
    return (
        item.origin.get("by") != "rules"
        and bool(item.spans)
        and item.answerable != "no"
        and not item.rejected_by
    )


def _from(changed: Item, item: Item, question_id: str, kind: str, seed: int) -> Item:
    origin = {"by": "rules", "rule": kind, "seed": seed, "from": item.question_id}
    tags = {**item.tags, "synthetic": "true"}
    plain = kind if kind != HELD_OUT else "unanswerable"
    return replace(
        changed, question_id=question_id, kind=plain, origin=origin, tags=tags, judged={}, proposed=()
    )


def _shuffled(items: Sequence[Item], salt: str) -> list[Item]:
    return sorted(items, key=lambda item: hashlib.sha256(f"{salt} {item.question_id}".encode()).hexdigest())


@dataclass(frozen=True)
class HeldOut:
    """Questions that a corpus does not answer, because their documents were taken out."""

    documents: tuple[str, ...]  # ids, to be left out of the index of the system too
    corpus: Corpus  # without them
    items: tuple[Item, ...]


def hold_out(items: Sequence[Item], windows: CorpusWindows, n: int, seed: int) -> HeldOut:
    """Return up to n questions whose gold lies in documents that are taken out of the corpus.

    Documents are taken one after the other, in an order that the seed fixes, until there are enough; never
    more than a quarter of the corpus. A question that a window elsewhere may answer, by its words, is none.

    Raises:
        DataError: the corpus has fewer than 4 documents.
    """
    corpus = windows.corpus
    most = len(corpus.documents) // 4
    if not most:
        raise DataError(
            f"corpus {corpus.name}: has {len(corpus.documents)} documents; accepted: at least 4, so that one "
            "can be held out"
        )
    candidates = [
        each for each in _shuffled(items, f"{seed} {HELD_OUT}") if _may_be_changed(each) and each.answer
    ]
    checks, out = FreeChecks(windows, ()), dict[str, None]()
    chosen: list[Item] = []
    for item in candidates:
        own = {span.doc_id for span in item.spans}
        if len(chosen) == n or len(own) != 1 or len({*out, *own}) > most:
            continue
        if _may_be_answered(checks, item, own):
            continue
        out.update(dict.fromkeys(own))
        chosen.append(item)
    documents = tuple(each for each in corpus.documents if each.doc_id not in out)
    reduced = Corpus(f"{corpus.name} without {len(out)}", documents)
    made = [
        _from(
            replace(item, answer="", claims=(), spans=(), distractors=(), answerable="no"),
            item,
            f"{item.question_id}-{HELD_OUT}",
            HELD_OUT,
            seed,
        )
        for item in chosen
    ]
    return HeldOut(tuple(sorted(out)), reduced, tuple(made))


def _may_be_answered(checks: FreeChecks, item: Item, without: Collection[str]) -> bool:
    """Return whether a window of another document holds most words of answer and question."""
    answer, question = (frozenset(content_tokens(text.lower())) for text in (item.answer, item.question))
    both = (checks.shares(answer) >= ELSEWHERE) & (checks.shares(question) >= ELSEWHERE)
    return any(checks.windows.windows[int(at)].doc_id not in without for at in np.flatnonzero(both))
