"""Whether the documents that a sentence cites support it: by labels, by claims, or by words."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from ragtriage.data.suites.citations import Citation, CitationStyle, CitedAnswer, CitedSentence, cited_answer
from ragtriage.data.text.context_attribution import ContextAttributor
from ragtriage.data.text.tokens import content_tokens, lowered
from ragtriage.metrics.schema.batch import Batch, Citations
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, Source, Status

Basis = Literal["labels", "claims", "words", ""]
FOLLOWS = 0.75  # share of the words that claims in the order of the answer keep
PLACED = 0.5  # weighted share of a claim's content words that its sentence must have


@dataclass(frozen=True)
class SentenceSupport:
    """What is known of the support of one sentence; None unknown."""

    together: bool | None  # whether all documents that it cites support it together
    # for each citation, whether its document supports the sentence, or with claims any of it
    supports: tuple[bool | None, ...]
    alone: tuple[bool | None, ...]  # for each citation, whether its document supports the whole sentence
    # for each citation, whether the other cited documents support the whole sentence without it
    rest: tuple[bool | None, ...]


def support_basis(sample: Mapping[str, Any], answer: CitedAnswer, claims_only: bool = False) -> Basis:
    """Return on what the support of a sample's sentences rests: labels before claims before words."""
    recorded = [
        sentence.supported is not None or sentence.supporting is not None for sentence in answer.sentences
    ]
    if any(recorded) and not claims_only:
        return "labels"
    claims = sample["claims"]
    if claims and all(claim["supported_by"] is not None for claim in claims):
        return "claims"
    has_text = any(document["text"] for document in sample["retrieved"] or ())
    return "words" if has_text and not claims_only else ""


def sentence_support(
    sample: Mapping[str, Any], answer: CitedAnswer, basis: Basis, attributor: ContextAttributor
) -> list[SentenceSupport]:
    """Return the support of each sentence of an answer."""
    if basis == "labels":
        return [_labelled(sentence) for sentence in answer.sentences]
    if basis == "claims":
        claims = _claims_of(sample["claims"], answer.sentences)
        return [
            _of_parts(sentence, None if claims is None else claims[at])
            for at, sentence in enumerate(answer.sentences)
        ]
    if basis == "words":
        texts = [document["text"] or "" for document in sample["retrieved"]]
        return [_of_parts(cited, _by_words(cited, texts, attributor)) for cited in answer.sentences]
    return [_of_parts(sentence, None) for sentence in answer.sentences]


def _labelled(sentence: CitedSentence) -> SentenceSupport:
    """Return the recorded labels; a joint label is that of a citation only where it is the only one."""
    cited = sentence.citations
    alone: list[bool | None] = [_alone(sentence, citation) for citation in cited]
    together = sentence.supported
    if together is None and any(alone):
        together = True
    if not any(citation.ranks for citation in cited):
        together = False if together is not None or cited else None
    if not cited:
        together = False if sentence.supported is not None else None
    rest = tuple(_rest(alone, at, together) for at in range(len(cited)))
    return SentenceSupport(together, tuple(alone), tuple(alone), rest)


def _alone(sentence: CitedSentence, citation: Citation) -> bool | None:
    if not citation.ranks:
        return False
    if sentence.supporting is not None:
        return citation.name in sentence.supporting
    return sentence.supported if len(sentence.citations) == 1 else None


def _rest(alone: Sequence[bool | None], at: int, together: bool | None) -> bool | None:
    """Return whether the other citations support the sentence: at once if one does, or if all do not."""
    others = [*alone[:at], *alone[at + 1 :]]
    if not others or together is False:
        return False
    if any(others):
        return True
    return others[0] if len(others) == 1 else None


def _of_parts(sentence: CitedSentence, parts: Sequence[frozenset[int]] | None) -> SentenceSupport:
    """Return the support of a sentence whose parts are each supported by some ranks; None unknown."""
    cited = [frozenset(citation.ranks) for citation in sentence.citations]
    if not parts:
        unknown: tuple[bool | None, ...] = tuple(None if ranks else False for ranks in cited)
        together = False if parts is not None or not any(cited) else None
        return SentenceSupport(together, unknown, unknown, tuple(None for _ in cited))

    def holds(ranks: frozenset[int]) -> bool:
        return all(part & ranks for part in parts)

    every = frozenset[int]().union(*cited)
    rest = [frozenset[int]().union(*cited[:at], *cited[at + 1 :]) for at in range(len(cited))]
    return SentenceSupport(
        holds(every),
        tuple(any(part & ranks for part in parts) for ranks in cited),
        tuple(holds(ranks) for ranks in cited),
        tuple(holds(ranks) for ranks in rest),
    )


def _claims_of(
    claims: Sequence[Mapping[str, Any]], sentences: Sequence[CitedSentence]
) -> list[list[frozenset[int]] | None] | None:
    """Return the ranks that support the claims of each sentence; None where that is not known.

    It is not where a claim has no place, or a sentence that cites has no claim.

    A claim belongs to the sentence that has most of its content words, and at least half of them by weight,
    where words that few sentences have weigh more, and claims follow the order of the sentences.
    """
    words = [content_tokens(lowered(sentence.text)) for sentence in sentences]
    weights, unseen = _weights(words), math.log1p(len(sentences))
    shares = np.zeros((len(claims), len(sentences)))
    for row, claim in enumerate(claims):
        mine = sorted(content_tokens(lowered(claim["text"])))
        whole = sum(weights.get(word, unseen) for word in mine) or 1.0
        for at, theirs in enumerate(words):
            shares[row, at] = sum(weights[word] for word in mine if word in theirs) / whole
    places = _in_order(shares)
    if len(sentences) > 1 and (shares[np.arange(len(claims)), places] < PLACED).any():
        return None
    placed: list[list[frozenset[int]]] = [[] for _ in sentences]
    for claim, at in zip(claims, places, strict=True):
        placed[at].append(frozenset(claim["supported_by"]))
    if any(cited.citations and not parts for cited, parts in zip(sentences, placed, strict=True)):
        return None  # its claims are with another sentence, or were not made
    return [parts or None for parts in placed]


def _in_order(shares: FloatArray) -> IntArray:
    """Return the sentence of each claim with the greatest sum of shares that follows the order of the answer.

    Where claims are not listed in that order, which costs much of the sum, each has its best sentence.
    """
    best = shares.argmax(axis=1)
    total = shares[0].copy()
    back = []
    for row in shares[1:]:
        reach = np.maximum.accumulate(total)
        back.append(np.where(total == reach, np.arange(len(total)), 0))
        back[-1] = np.maximum.accumulate(back[-1])
        total = reach + row
    places = [int(total.argmax())]
    for came_from in reversed(back):
        places.append(int(came_from[places[-1]]))
    ordered = np.array(places[::-1], dtype=np.int64)
    rows = np.arange(len(shares))
    follows = shares[rows, ordered].sum() >= FOLLOWS * shares[rows, best].sum()
    return ordered if follows else np.asarray(best, dtype=np.int64)


def _weights(sentences: Sequence[set[str]]) -> dict[str, float]:
    """Return inverse sentence frequencies of the words of an answer."""
    counts = Counter(word for words in sentences for word in words)
    return {word: math.log1p(len(sentences) / n) for word, n in counts.items()}


def _by_words(
    sentence: CitedSentence, texts: Sequence[str], attributor: ContextAttributor
) -> list[frozenset[int]] | None:
    """Return the cited documents that have the words of a sentence, as of one part; None without a text."""
    ranks = [rank for rank in sorted(sentence.ranks) if rank <= len(texts) and texts[rank - 1]]
    if not sentence.citations:
        return [frozenset()]
    if sentence.ranks and not ranks:
        return None
    supporting: set[int] = set()
    for rank in ranks:
        if attributor.attribute(sentence.text.replace("\n", " "), [texts[rank - 1]]).used:
            supporting.add(rank)
    return [frozenset(supporting)]


REFUSED = "the answer is a refusal, which needs no citation"
NOT_RECORDED = "no answer was recorded"
FIELDS = ("answer", "citations", "claims", "retrieved")


class _Arrays:
    """The lists that become the arrays of a block."""

    def __init__(self, n: int) -> None:
        self.status = np.full(n, Status.NOT_RUN, dtype=np.int8)
        self.reason = np.full(n, NOT_RECORDED, dtype=object)
        self.source = np.full(n, Source.COMPUTED, dtype=np.int8)
        self.broken = np.zeros(n, dtype=np.int64)
        self.sentences: list[tuple[int, bool, int]] = []
        self.citations: list[tuple[int, bool, int, int, int]] = []

    def add(self, row: int, answer: CitedAnswer, support: Sequence[SentenceSupport], words: bool) -> None:
        self.status[row], self.reason[row] = Status.SCORED, ""
        self.source[row] = Source.ESTIMATED if words else Source.COMPUTED
        for sentence, known in zip(answer.sentences, support, strict=True):
            for citation, supports, alone, rest in zip(
                sentence.citations, known.supports, known.alone, known.rest, strict=True
            ):
                codes = _code(supports), _code(alone), _code(rest)
                self.citations.append((len(self.sentences), bool(citation.ranks), *codes))
            self.sentences.append((row, sentence.needed, _code(known.together)))
            self.broken[row] += sentence.broken

    def block(self) -> Citations:
        sentences = np.array(self.sentences, dtype=np.int64).reshape(-1, 3)
        citations = np.array(self.citations, dtype=np.int64).reshape(-1, 5)
        return Citations(
            status=self.status,
            reason=self.reason,
            source=self.source,
            broken=self.broken,
            sample=sentences[:, 0],
            needed=sentences[:, 1] == 1,
            together=sentences[:, 2].astype(np.int8),
            sentence=citations[:, 0],
            in_range=citations[:, 1] == 1,
            supports=citations[:, 2].astype(np.int8),
            alone=citations[:, 3].astype(np.int8),
            rest=citations[:, 4].astype(np.int8),
        )


def _code(known: bool | None) -> int:
    return -1 if known is None else int(known)


def citations_of(
    table: Any, style: CitationStyle | None, refused: BoolArray, sure: BoolArray, claims_only: bool = False
) -> Citations | None:
    """Return the citations of an Arrow table of samples; None where the run does not cite.

    (n,) `refused` is True for refusals, `sure` where that is recorded or judged; a refusal told from its
    phrases is none where its citations are recorded. With `claims_only` support comes from labels of claims
    alone, as for a judge.
    """
    if style is None:
        return None
    arrays, attributor = _Arrays(table.num_rows), ContextAttributor()
    columns = [table[name] for name in FIELDS]
    for row in range(table.num_rows):
        if refused[row] and (sure[row] or not columns[1][row].as_py()):
            arrays.status[row], arrays.reason[row] = Status.NOT_APPLICABLE, REFUSED
            continue
        sample = {name: column[row].as_py() for name, column in zip(FIELDS, columns, strict=True)}
        answer = cited_answer(sample, style.templates, style.from_zero)
        if answer is not None:
            basis = support_basis(sample, answer, claims_only)
            support = sentence_support(sample, answer, basis, attributor)
            arrays.add(row, answer, support, basis == "words")
    return arrays.block()


def citation_table(_table: Any, batch: Batch) -> Any:
    """Return the auxiliary table of the citations, counts by answer; None where the run does not cite."""
    block = batch.citations
    if block is None:
        return None
    n, owner = batch.n, block.sample[block.sentence]
    cited = np.bincount(block.sentence, minlength=len(block.sample)) > 0

    def of_sentences(chosen: BoolArray) -> Any:
        return np.bincount(block.sample[chosen], minlength=n)

    def of_citations(chosen: BoolArray) -> Any:
        return np.bincount(owner[chosen], minlength=n)

    return pa.table(
        {
            "status": block.status,
            "source": block.source,
            "sentences": np.bincount(block.sample, minlength=n),
            "needed": of_sentences(block.needed),
            "uncited": of_sentences(block.needed & ~cited),
            "recall_known": of_sentences(block.needed & (block.together >= 0)),
            "recalled": of_sentences(block.needed & (block.together == 1)),
            "unsupported": of_sentences(block.needed & cited & (block.together == 0)),
            "citations": np.bincount(owner, minlength=n),
            "outside": of_citations(~block.in_range),
            "decided": of_citations(block.supports >= 0),
            "supporting": of_citations(block.supports == 1),
            "broken": block.broken,
        }
    )
