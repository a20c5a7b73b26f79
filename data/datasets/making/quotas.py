"""What questions are written from: shares of documents, sections and kinds, and passages that go together."""

import math
import random
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise

from ragtriage.data.datasets.windows import CorpusWindows, Passage
from ragtriage.data.text.tokens import content_tokens, count_words, folded_question, jaccard, surface_tokens

COMMON_SHARE, COMMON_LEAST = 0.2, 3  # documents in which a block stands that says nothing of any one of them
SAME = 0.9  # Jaccard of 5-grams from which two passages are one
SHINGLE, SKETCH = 5, 6  # words of an n-gram; smallest hashes by which likely pairs are found
FEWEST_WORDS = 20  # of a passage to write from
RARE = range(2, 9)  # passages that hold a term which joins two of them
NAME = 4  # how many other rare terms a shared name counts for
MOST_PAIRS = 5_000  # that are looked at, those with the most shared terms
LIKE = 0.5  # Jaccard of words from which two passages say much the same
N_SIMILAR = 2  # passages beside the one that an adversarial question is about
CANDIDATES = 3  # questions that one request may bring
SPARE = 1.5  # candidates for each question that is wanted
_NAMED = re.compile(r"(?<=[^\W_] )[^\W\d_a-z][\w-]+")  # letters without case count as well
TWO_PASSAGES = ("multi-hop", "comparison")


def largest_remainder(weights: Mapping[str, float], n: int) -> dict[str, int]:
    """Return whole shares of n by weight; ties go to the earlier name."""
    total = sum(weights.values())
    exact = {name: n * weight / total for name, weight in weights.items()}
    shares = {name: math.floor(share) for name, share in exact.items()}
    order = sorted(exact, key=lambda name: shares[name] - exact[name])
    for name in order[: n - sum(shares.values())]:
        shares[name] += 1
    return shares


def document_quotas(lengths: Mapping[str, int], n: int) -> dict[str, int]:
    """Return how many of n questions each document gets: by the square root of its length, at least one.

    Where there are more documents than questions, the longest get one each.
    """
    named = sorted(lengths, key=lambda name: -lengths[name])[:n]
    rest = largest_remainder({name: math.sqrt(lengths[name]) for name in named}, n)
    quotas = {name: max(rest[name], 1) for name in named}
    while sum(quotas.values()) > n:  # what the small ones were given comes from the largest
        quotas[max(quotas, key=lambda name: (quotas[name], lengths[name]))] -= 1
    return {name: quotas[name] for name in lengths if name in quotas}


@dataclass(frozen=True)
class Writing:
    """What one request to write questions is about."""

    kind: str
    passages: tuple[Passage, ...]  # that the questions are about
    similar: tuple[Passage, ...] = ()  # that look like the passage and must not answer
    wanted: int = 1  # questions


class WritingPlan:
    """Chooses what to write from; the same corpus, numbers and seed give the same choice."""

    def __init__(self, windows: CorpusWindows, shares: Mapping[str, int], seed: int) -> None:
        self.windows, self.seed = windows, seed
        self._used, self._sections = Counter[int](), Counter[tuple[str, ...]]()
        self._taken = set[tuple[str, tuple[int, ...]]]()
        lengths = Counter[str]()
        for at in self.usable:
            lengths[self._passages[at].doc_id] += len(self._passages[at].text)
        self.quotas = document_quotas(lengths, sum(shares.values())) if lengths else {}
        self.slots = self._dealt(shares) if lengths else Counter[tuple[str, str]]()

    @property
    def _passages(self) -> list[Passage]:
        return self.windows.passages

    @cached_property
    def usable(self) -> list[int]:
        """Passages to write from, by number: long enough, said in few documents, and each only once."""
        common = self._common_blocks()
        kept = []
        for at, passage in enumerate(self._passages):
            own = [block for block in _blocks(passage.text) if block not in common]
            if count_words(" ".join(own)) >= FEWEST_WORDS:
                kept.append(at)
        same = _near_duplicates([self._passages[at].text for at in kept])
        return [at for number, at in enumerate(kept) if number not in same]

    @cached_property
    def dropped(self) -> int:
        """How many passages are not written from."""
        return len(self._passages) - len(self.usable)

    def _common_blocks(self) -> set[str]:
        documents = self.windows.corpus.documents
        counts = Counter(block for document in documents for block in set(_blocks(document.text)))
        least = max(COMMON_SHARE * len(documents), COMMON_LEAST - 1)
        return {block for block, n in counts.items() if n > least}

    def _dealt(self, shares: Mapping[str, int]) -> Counter[tuple[str, str]]:
        """Deal the kinds over the documents: (kind, document) -> questions."""
        kinds = [kind for kind, share in shares.items() for _ in range(share)]
        random.Random(self.seed).shuffle(kinds)  # noqa: S311 -- spreads questions, guards nothing
        documents = [name for name, quota in self.quotas.items() for _ in range(quota)]
        return Counter(zip(kinds, documents, strict=True))

    def writings(self, needed: Mapping[tuple[str, str], int], at_round: int = 1) -> list[Writing]:
        """Return what to write from for so many more questions of each kind and document.

        What an earlier round did not bring is asked for with more to spare. Where a document has nothing
        more for a kind, another one stands in; fewer where none has.
        """
        result = []
        for (kind, doc_id), n in sorted(needed.items()):
            left = math.ceil(SPARE * at_round * n)
            while left > 0:
                places = self._next(kind, doc_id)
                if places is None:
                    break
                self._taken.add((kind, places))
                for at in places:
                    self._used[at] += 1
                    self._sections[self._section(at)] += 1
                result.append(self._writing(kind, places, CANDIDATES))
                left -= CANDIDATES
        return result

    def _writing(self, kind: str, places: tuple[int, ...], wanted: int) -> Writing:
        passages = tuple(self._passages[at] for at in places)
        similar = tuple(self.similar(places[0])) if kind == "adversarial" else ()
        return Writing(kind, passages, similar, wanted)

    def _next(self, kind: str, doc_id: str) -> tuple[int, ...] | None:
        """Return the least used passages of a kind, of the document if it has any left."""
        pairs = kind in TWO_PASSAGES
        everywhere = self.pairs if pairs else [(at,) for at in self._shuffled]
        for source in (self._of_document[pairs].get(doc_id, ()), everywhere):
            free = [places for places in source if (kind, places) not in self._taken]
            free.sort(key=self._use)
            if kind == "adversarial":
                free = [next((places for places in free if self.similar(places[0])), ())]
            if free and free[0]:
                return free[0]
        return None

    @cached_property
    def _of_document(self) -> dict[bool, dict[str, list[tuple[int, ...]]]]:
        """The passages of each document, and the pairs that have one of them."""
        found = {pairs: defaultdict[str, list[tuple[int, ...]]](list) for pairs in (True, False)}
        for pair in self.pairs:
            for doc_id in dict.fromkeys(self._passages[at].doc_id for at in pair):
                found[True][doc_id].append(pair)
        for at in self._shuffled:
            found[False][self._passages[at].doc_id].append((at,))
        return {pairs: dict(places) for pairs, places in found.items()}

    def _use(self, places: tuple[int, ...]) -> tuple[int, int]:
        """Return how often passages were written from, and their sections."""
        return sum(self._used[at] for at in places), sum(self._sections[self._section(at)] for at in places)

    def _section(self, at: int) -> tuple[str, ...]:
        passage = self._passages[at]
        return (passage.doc_id, *passage.headings)

    @cached_property
    def _shuffled(self) -> list[int]:
        places = list(self.usable)
        random.Random(self.seed).shuffle(places)  # noqa: S311 -- spreads questions, guards nothing
        return places

    @cached_property
    def _words(self) -> dict[int, frozenset[str]]:
        return {at: frozenset(content_tokens(self._passages[at].text.lower())) for at in self.usable}

    @cached_property
    def _names(self) -> dict[int, frozenset[str]]:
        """The words of each passage that are written as names are: with a capital within a sentence."""
        found = {at: _NAMED.findall(self._passages[at].text) for at in self.usable}
        return {at: frozenset(content_tokens(" ".join(names).lower())) for at, names in found.items()}

    @cached_property
    def pairs(self) -> list[tuple[int, ...]]:
        """Pairs of passages of different sections that share a rare term; without any, neighbours.

        Those that share the most rare terms come first, a name counting for several; no two of a pair say
        much the same.
        """
        holders = defaultdict[str, list[int]](list)
        for at, words in self._words.items():
            for word in words:
                holders[word].append(at)
        shared = Counter[tuple[int, int]]()
        for word, places in holders.items():
            for pair in combinations(places, 2) if len(places) in RARE else ():
                named = all(word in self._names[at] for at in pair)
                shared[pair] += NAME if named else 1
        if not shared:
            shared.update(pairwise(self.usable))
        rng = random.Random(self.seed)  # noqa: S311 -- spreads questions, guards nothing
        order = {pair: (-n, rng.random()) for pair, n in sorted(shared.items())}
        likely = sorted(order, key=lambda pair: order[pair])[:MOST_PAIRS]
        return [pair for pair in likely if self._goes_together(*pair)]

    def _goes_together(self, first: int, second: int) -> bool:
        if self._section(first) == self._section(second) and second - first > 1:
            return False
        return jaccard(self._words[first], self._words[second]) < LIKE

    def similar(self, at: int) -> list[Passage]:
        """Return the windows elsewhere that are most like a passage by BM25; none that says the same."""
        if at not in self._similar:
            passage, found = self._passages[at], list[Passage]()
            for window in self.windows.search(passage.text):
                words = frozenset(content_tokens(window.text.lower()))
                if (
                    words
                    and not window.overlaps(passage)
                    and len(words & self._words[at]) / len(words) < SAME
                ):
                    found.append(window)
                if len(found) == N_SIMILAR:
                    break
            self._similar[at] = found
        return self._similar[at]

    @cached_property
    def _similar(self) -> dict[int, list[Passage]]:
        return {}


def _blocks(text: str) -> Iterator[str]:
    """Yield the paragraphs of a text as they are compared."""
    paragraph = list[str]()
    for line in [*text.splitlines(), ""]:
        if line.strip():
            paragraph.append(line)
        elif paragraph:
            yield folded_question(" ".join(paragraph))
            paragraph = []


def _near_duplicates(texts: Sequence[str]) -> set[int]:
    """Return the texts that say what an earlier one says, by number."""
    kept, buckets, same = dict[int, frozenset[int]](), defaultdict[int, list[int]](list), set[int]()
    for number, text in enumerate(texts):
        words = surface_tokens(text)
        grams = (" ".join(words[at : at + SHINGLE]) for at in range(max(len(words) - SHINGLE + 1, 1)))
        shingles = frozenset(zlib.crc32(gram.encode("utf-8", "surrogatepass")) for gram in grams)
        smallest = sorted(shingles)[:SKETCH]  # two texts that are 0.9 alike share one of them all but always
        likely = {other for value in smallest for other in buckets[value]}
        if any(jaccard(shingles, kept[other]) >= SAME for other in likely):
            same.add(number)
            continue
        kept[number] = shingles
        for value in smallest:
            buckets[value].append(number)
    return same
