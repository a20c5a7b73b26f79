"""The citations of many answers as arrays, and their counts by answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ragtriage.data.citations.answer import CitedAnswer, cited_answer
from ragtriage.data.citations.style import CitationStyle
from ragtriage.data.citations.support import SentenceSupport, sentence_support, support_basis
from ragtriage.data.text.context_attribution import ContextAttributor
from ragtriage.metrics.schema.batch import Batch, Citations
from ragtriage.metrics.schema.scores import BoolArray, Status
from ragtriage.metrics.schema.source import Source

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

    Args:
        table: the samples.
        style: how the run cites, None for not at all.
        refused: (n,) True for refusals; one told from its phrases is none where its citations are recorded.
        sure: (n,) True where that is recorded or judged.
        claims_only: whether support comes from labels of claims alone, as for a judge.
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
