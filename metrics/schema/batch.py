"""The array inputs of the metrics: one batch of samples.

Every block is optional: a run without claims has ``claims=None``. Within a block a per-sample ``status``
says whether that sample recorded the input: SCORED (recorded, perhaps empty), NOT_APPLICABLE (meaningless
there) or NOT_RUN (not recorded). Ranks are 1-based; column c of a (n, K) array is rank c + 1.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, StrArray

ANSWERABLE = ("yes", "partial", "no", "conversational")  # codes 0..3 of Answers.answerable; -1 is unknown


@dataclass(frozen=True)
class Rankings:
    """Ranked lists joined with gold labels by id."""

    # (n, K) grade of the document at each rank; 0 for not relevant, unjudged or a repeat of a document
    # ranked above (a repeat keeps its rank); NaN past the end of the list
    grades: FloatArray
    # (n, G) grades of all relevant documents (grade > 0), descending, NaN padded: the ideal list
    gold: FloatArray
    # (n, U) first 1-based rank at which each gold unit is found; inf when nowhere; NaN padded. A unit
    # is a hop (any of its alternatives satisfies it) or a relevant document without a hop
    unit_rank: FloatArray
    # (n,) SCORED where a list was recorded and gold exists; NOT_APPLICABLE where the question has no
    # relevant document or the context was not retrieved; NOT_RUN where list or gold is missing
    status: NDArray[np.int8]
    reason: NDArray[np.object_]  # (n,) object array of str, "" where SCORED
    has_hops: BoolArray  # (n,) True where the gold names hops


@dataclass(frozen=True)
class SpanRankings:
    """Ranked chunks with character offsets against gold spans."""

    gold_chars: FloatArray  # (n,) number of distinct gold characters
    new_gold: FloatArray  # (n, K) gold characters first covered at each rank; NaN past the end of the list
    union_chars: FloatArray  # (n, K) distinct characters covered by the top c + 1 chunks; NaN past the end
    chunk_chars: FloatArray  # (n, K) characters of the chunk at each rank, repeats too; NaN past the end
    status: NDArray[np.int8]  # (n,) as in Rankings
    reason: NDArray[np.object_]  # (n,) as in Rankings
    hits: BoolArray  # (n, K) True where the chunk at that rank holds any gold character and is not a repeat
    # (n, K) tokens of the chunk at that rank; NaN past the end and where not recorded
    tokens: FloatArray | None = None
    # (n,) chunks of the whole index that hold gold; NaN where not recorded
    relevant_chunks: FloatArray | None = None


IN_PART = 2  # code of a claim that the other side says only a part of, which counts a half


def entailment(codes: NDArray[np.int8]) -> FloatArray:
    """(m,) how far claims are entailed, from their codes: 1 wholly, 0.5 in part, 0 not or not recorded."""
    return np.where(codes == IN_PART, 0.5, codes == 1).astype(np.float64)


@dataclass(frozen=True)
class Claims:
    """The m claims of n answers."""

    sample: IntArray  # (m,) row of the sample each claim belongs to, ascending
    # (m,) int8: 1 entailed by the reference answer, IN_PART, 0 not, -1 not recorded
    in_reference: NDArray[np.int8]
    supported: BoolArray  # (m, K) True where the document at that rank supports the claim
    contradicted: BoolArray  # (m, K) True where the document at that rank contradicts the claim
    support_known: BoolArray  # (m,) whether support was recorded for the claim
    # (n,) SCORED where claims were recorded (an empty list is recorded), else NOT_RUN
    status: NDArray[np.int8]
    # (n,) int8 codes of source.Source: COMPUTED for recorded labels, ESTIMATED for lexical
    source: NDArray[np.int8]
    # (m,) whether contradiction was recorded; None: wherever support was
    contradiction_known: BoolArray | None = None
    # (m, K) True where the document at that rank carries a part of a claim that none carries whole;
    # None where that was not asked
    partly: BoolArray | None = None

    def grounding(self, documents: BoolArray | None = None) -> FloatArray:
        """(m,) how far documents support each claim: 1 wholly, 0.5 in part, 0 not.

        Args:
            documents: (m, K) those that count; None for all.
        """
        shown = np.ones_like(self.supported) if documents is None else documents
        whole = np.any(self.supported & shown, axis=1)
        part = np.zeros_like(whole) if self.partly is None else np.any(self.partly & shown, axis=1)
        return np.asarray(np.maximum(whole, part / 2), dtype=np.float64)


@dataclass(frozen=True)
class ReferenceClaims:
    """The m claims of n reference answers."""

    sample: IntArray  # (m,) row of the sample, ascending
    in_answer: NDArray[np.int8]  # (m,) int8: 1 entailed by the answer, IN_PART, 0 not, -1 not recorded
    supported: BoolArray  # (m, K) True where the document at that rank supports the claim
    support_known: BoolArray  # (m,) whether support was recorded
    status: NDArray[np.int8]  # (n,) SCORED where recorded, else NOT_RUN
    source: NDArray[np.int8]  # (n,) as in Claims


@dataclass(frozen=True)
class ContextUse:
    """The documents that the answers draw on."""

    used: BoolArray  # (n, K) True where the answer draws on the document at that rank
    share: FloatArray  # (n, K) share of the answer that rests on that document; NaN where not recorded
    documents: IntArray  # (n,) number of documents handed to the generator
    refused: BoolArray  # (n,) True where the answer is a refusal
    status: NDArray[np.int8]  # (n,) SCORED where use is known, else NOT_RUN / NOT_APPLICABLE
    # (n,) int8 Source: COMPUTED for recorded use, JUDGED for a judge's, ESTIMATED for lexical use
    source: NDArray[np.int8]


@dataclass(frozen=True)
class Answers:
    """Refusal and answerability."""

    # (n,) int8: 1 refused, 0 answered, -1 unknown (no answer recorded, or `unread`)
    refused: NDArray[np.int8]
    # (n,) int8 Source: HUMAN/IMPORTED when recorded, ESTIMATED when detected by phrases
    refused_source: NDArray[np.int8]
    answerable: NDArray[np.int8]  # (n,) int8 code into ANSWERABLE; -1 unknown
    # (n,) int8: 1 the context holds the gold, 2 only a part of it, 0 none, -1 unknown
    context_has_gold: NDArray[np.int8]
    unread: StrArray  # (n,) the language of an answer in which refusals cannot be estimated, else ""
    # (n,) True where there is an answer: the question is labelled answerable or, without a label, gold
    # is recorded or a reference answers it; None where only the labels tell
    expected: BoolArray | None = None


@dataclass(frozen=True)
class JudgeLabels:
    """A judge's labels of n answers as a whole."""

    # (n,) whether the answer addresses the question: 1 fully, 0.5 partly, 0 not; NaN unknown
    addresses: FloatArray
    complete: FloatArray  # (n,) how much of what is asked for it states: 1, 2/3, 1/3 or 0; NaN unknown
    # (n,) agreement with the reference: 1 correct, 0.5 partly, 0 incorrect; NaN without one
    agrees: FloatArray
    contradicts_itself: FloatArray  # (n,) 1 or 0; NaN unknown
    injections: FloatArray  # (n,) attempts to instruct the judge found in the sample; NaN unknown
    has_answer: BoolArray  # (n,) whether an answer was recorded


OTHER, UNDECIDED, SAME = range(3)  # codes of Wordings.outcome; below 0 where nothing was compared
OTHER_LANGUAGE = -2  # the estimate was not measured in the language of the answer


@dataclass(frozen=True)
class Wordings:
    """How the words of n answers compare with those of their references."""

    # (n,) int8: SAME, OTHER, UNDECIDED where the words do not tell, -1 without a reference,
    # OTHER_LANGUAGE where the estimate was not measured
    outcome: NDArray[np.int8]
    score: FloatArray  # (n,) from 0 to 1, to sort by; NaN where nothing was compared
    has_answer: BoolArray  # (n,) whether an answer was recorded


@dataclass(frozen=True)
class Checks:
    """The m expected-against-actual checks of n samples."""

    sample: IntArray  # (m,) row of the sample, ascending
    suite: NDArray[np.object_]  # (m,) object array of str, e.g. "format", "safety", "router", "tool"
    passed: BoolArray  # (m,) bool


@dataclass(frozen=True)
class Citations:
    """The m sentences of n answers, their c citations; a document cited twice by a sentence counts once."""

    # (n,) SCORED where the sentences were read, NOT_APPLICABLE for refusals, else NOT_RUN
    status: NDArray[np.int8]
    reason: NDArray[np.object_]  # (n,) object array of str, "" where SCORED
    # (n,) int8 Source of the support: COMPUTED for labels, ESTIMATED where told from words
    source: NDArray[np.int8]
    broken: IntArray  # (n,) marks that name nothing or lack the declared form
    sample: IntArray  # (m,) row of the sample each sentence belongs to, ascending
    needed: BoolArray  # (m,) whether the sentence needs a citation
    together: NDArray[np.int8]  # (m,) int8: 1 the cited documents together support it, 0 not, -1 unknown
    sentence: IntArray  # (c,) row of the sentence each citation belongs to, ascending
    in_range: BoolArray  # (c,) whether it names a document of the context
    # (c,) int8: 1 the document supports the sentence, or any claim of it; 0 not, -1 unknown
    supports: NDArray[np.int8]
    alone: NDArray[np.int8]  # (c,) int8: 1 the document alone supports the whole sentence, 0 not, -1 unknown
    # (c,) int8: 1 the other citations support the whole sentence without it, 0 not, -1 unknown
    rest: NDArray[np.int8]


@dataclass(frozen=True)
class Facets:
    """The retrieved documents and the F facets (hops, aspects, gold answers) of n questions."""

    # (n, K, F) True where the document at that rank is gold for the facet; a repeat says nothing
    ranked: BoolArray
    gold: BoolArray  # (n, G, F) True where the gold document is gold for the facet
    # (n,) SCORED where facets are named and a list was recorded, else NOT_APPLICABLE / NOT_RUN
    status: NDArray[np.int8]
    reason: NDArray[np.object_]  # (n,) "" where SCORED


@dataclass(frozen=True)
class Passages:
    """The texts of the retrieved documents, compared by their words."""

    with_question: FloatArray  # (n, K) similarity of each passage with the question; NaN where it has no text
    mean_pair: FloatArray  # (n,) mean similarity of two passages; NaN with fewer than two texts
    duplicate: BoolArray  # (n, K) True where a passage ranked above is a near-duplicate
    # (n,) share of the reference answer's content words that a passage has; NaN unknown
    reference_words: FloatArray
    says: IntArray  # (n, K) code of the answer that a passage is labelled to give, -1 without a label


@dataclass(frozen=True)
class Batch:
    """All inputs of n samples; None where the run records nothing of the kind."""

    n: int  # number of samples
    documents: IntArray  # (n,) number of documents handed to the generator; 0 where none or not recorded
    rankings: Rankings | None = None
    spans: SpanRankings | None = None
    claims: Claims | None = None
    reference_claims: ReferenceClaims | None = None
    context_use: ContextUse | None = None
    answers: Answers | None = None
    checks: Checks | None = None
    # (n, K) int8 label of each retrieved document (1 relevant, 0 not, -1 not labelled)
    document_relevant: NDArray[np.int8] | None = None
    # the longer ranked lists before reranking, joined with the gold likewise
    first_pass: Rankings | None = None
    first_pass_spans: SpanRankings | None = None  # the same joined with gold spans
    judge_labels: JudgeLabels | None = None  # a judge's labels of the answers as a whole
    citations: Citations | None = None
    facets: Facets | None = None  # what the documents say of the facets of the questions
    passages: Passages | None = None  # the texts of the documents, compared by their words
    wordings: Wordings | None = None  # the answers, compared with their references by their words

    @property
    def chunk_tokens(self) -> FloatArray | None:
        """(n, K) tokens of the retrieved chunks; None where none were recorded."""
        return _if_any(None if self.spans is None else self.spans.tokens)

    @property
    def chunk_totals(self) -> FloatArray | None:
        """(n,) chunks of the index that hold gold; None where none were recorded."""
        return _if_any(None if self.spans is None else self.spans.relevant_chunks)

    @property
    def coverage_labels(self) -> object | None:
        """Whatever tells what of the answer the context has; None where nothing does."""
        words = self.passages is not None and bool(np.isfinite(self.passages.reference_words).any())
        return self.reference_claims or self.facets or (self.passages if words else None)

    @property
    def agreement_labels(self) -> object | None:
        """Whatever tells which documents contradict each other; None where nothing does."""
        says = self.passages is not None and bool(not self.n or (self.passages.says >= 0).any())
        contradicted = self.claims is not None and bool(self.claims.contradicted.any())
        return (self.passages if says else None) or (self.claims if contradicted else None)


def _if_any(values: FloatArray | None) -> FloatArray | None:
    return None if values is None or (values.size and np.isnan(values).all()) else values
