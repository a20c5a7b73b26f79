"""Whether each answer is right: by its correctness, else by claims of the reference, else by its words.

RIGHT_SOURCES is the one list of what tells it; everything that looks for a source reads it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragtriage.metrics.definitions.answer_text import MOST_UNDECIDED, RIGHT_BY_TEXT
from ragtriage.metrics.diagnosis.patterns import CaseThresholds
from ragtriage.metrics.schema.batch import OTHER, SAME, UNDECIDED
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, StrArray

# scores of an answer against its reference, judged or imported; similarities and overlaps are none of them
CORRECTNESS = ("correctness", "answer_correctness", "factual_correctness")
RIGHT_BY_CLAIMS = "answer_f1"
# the metrics that tell whether an answer is right; of each answer the first that is known decides
RIGHT_SOURCES = (*CORRECTNESS, RIGHT_BY_CLAIMS, RIGHT_BY_TEXT)


@dataclass(frozen=True)
class ClaimScores:
    """The evidence of the claims of n answers and their references, each (n,) and NaN where not known."""

    f1: FloatArray  # of the claims of answer and reference
    precision: FloatArray  # share of the answer's claims that the reference supports
    recall: FloatArray  # share of the reference's claims that the answer holds
    faithfulness: FloatArray  # share of the answer's claims that the context supports
    contradicted: FloatArray  # above 0 where a document contradicts a claim; NaN is taken as not


@dataclass(frozen=True)
class WordingCounts:
    """The verdicts of the words, on answers of which nothing better is known."""

    n: int  # answers compared with a reference
    same: int  # those that say what the reference says
    other: int  # those that say something else, refusals among them

    @property
    def undecided(self) -> int:
        """Answers whose words do not decide."""
        return self.n - self.same - self.other

    @property
    def enough(self) -> bool:
        """Return whether they decide so many that those stand for all; with fewer there are bounds alone."""
        return bool(self.n) and self.undecided <= MOST_UNDECIDED * self.n


@dataclass(frozen=True)
class Right:
    """The verdict on each of n answers: right or not."""

    # (n,) from 0 to 1, right from the threshold of correctness on; NaN where nothing tells
    values: FloatArray
    source: NDArray[np.int8]  # (n,) int8 codes into RIGHT_SOURCES; -1 where nothing tells
    says_more: BoolArray  # (n,) True where everything asked for is there, among more that documents support
    undecided: BoolArray  # (n,) True where words decide the other answers of the run, and not this one
    wording: WordingCounts  # what the words decide

    def decided_by(self, *sources: str) -> BoolArray:
        """(n,) True where one of these metrics decides."""
        return np.isin(self.source, [RIGHT_SOURCES.index(source) for source in sources])

    @property
    def metric(self) -> StrArray:
        """(n,) the metric that decides, "" where nothing tells."""
        return np.array([*RIGHT_SOURCES, ""], dtype=object)[self.source]


def right_answers(
    correctness: Mapping[str, FloatArray],
    claims: ClaimScores,
    text_outcome: FloatArray,
    thresholds: CaseThresholds | None = None,
) -> Right:
    """Return whether answers are right.

    The harmonic mean of claim precision and recall punishes an answer that holds all of the reference among
    more that its documents support. It says more than asked, which is not an error: its recall counts.

    Args:
        correctness: metric of CORRECTNESS -> (n,) against the reference, judged or imported; the first that
            is known decides.
        claims: decide where correctness is not known.
        text_outcome: (n,) codes of batch.Wordings, NaN where nothing was compared. They decide what is left
            where they decide most of it, else nothing.
        thresholds: the defaults where left out.
    """
    minimum = thresholds or CaseThresholds()
    supported = (claims.faithfulness >= minimum.faithfulness) & ~(claims.contradicted > 0)
    says_more = (claims.recall >= minimum.correctness) & (claims.precision < minimum.correctness) & supported
    by_claims = np.where(says_more, np.fmax(claims.f1, claims.recall), claims.f1)
    # words decide only where nothing better does
    known_of = [*(correctness.get(name, np.full(len(by_claims), np.nan)) for name in CORRECTNESS), by_claims]
    outcome = np.where(np.isnan(known_of).all(axis=0), text_outcome, np.nan)
    counts = [int((outcome == code).sum()) for code in (OTHER, UNDECIDED, SAME)]
    wording = WordingCounts(sum(counts), counts[2], counts[0])
    by_text = np.where(outcome == SAME, 1.0, np.where(outcome == OTHER, 0.0, np.nan))
    if not wording.enough:
        by_text = np.full(len(by_text), np.nan)
    by_source = [*known_of, by_text]
    known = np.isfinite(by_source)
    # argmax finds the first that is known: correctness before claims before words
    source = np.where(known.any(axis=0), known.argmax(axis=0), -1).astype(np.int8)
    values = np.select(list(known), by_source, np.nan)
    undecided = np.asarray((outcome == UNDECIDED) & wording.enough, dtype=np.bool_)
    return Right(values, source, says_more, undecided, wording)
