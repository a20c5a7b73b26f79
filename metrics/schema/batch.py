"""The array inputs of the metrics: one batch of samples.

Every block is optional: a run without claims has ``claims=None``. Within a block a per-sample ``status``
says whether that sample recorded the input: SCORED (recorded, perhaps empty), NOT_APPLICABLE (meaningless
there) or NOT_RUN (not recorded). Ranks are 1-based; column c of a (n, K) array is rank c + 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, StrArray

ANSWERABLE = ("yes", "partial", "no", "conversational")  # codes 0..3 of Answers.answerable; -1 is unknown


@dataclass(frozen=True)
class Rankings:
    """Ranked lists joined with gold labels by id.

    Attributes:
        grades: (n, K) grade of the document at each rank; 0 for not relevant, unjudged or a repeat of a
            document ranked above (a repeat keeps its rank); NaN past the end of the list.
        gold: (n, G) grades of all relevant documents (grade > 0), descending, NaN padded: the ideal list.
        unit_rank: (n, U) first 1-based rank at which each gold unit is found; inf when nowhere; NaN padded.
            A unit is a hop (any of its alternatives satisfies it) or a relevant document without a hop.
        status: (n,) SCORED where a list was recorded and gold exists; NOT_APPLICABLE where the question has
            no relevant document or the context was not retrieved; NOT_RUN where list or gold is missing.
        reason: (n,) object array of str, "" where SCORED.
        has_hops: (n,) True where the gold names hops.
    """

    grades: FloatArray
    gold: FloatArray
    unit_rank: FloatArray
    status: NDArray[np.int8]
    reason: NDArray[np.object_]
    has_hops: BoolArray


@dataclass(frozen=True)
class SpanRankings:
    """Ranked chunks with character offsets against gold spans.

    Attributes:
        gold_chars: (n,) number of distinct gold characters.
        new_gold: (n, K) gold characters first covered at each rank; NaN past the end of the list.
        union_chars: (n, K) distinct characters covered by the top c + 1 chunks; NaN past the end.
        chunk_chars: (n, K) characters of the chunk at each rank, repeats too; NaN past the end.
        status: (n,) as in Rankings.
        reason: (n,) as in Rankings.
        hits: (n, K) True where the chunk at that rank holds any gold character and is not a repeat.
        tokens: (n, K) tokens of the chunk at that rank; NaN past the end and where not recorded.
        relevant_chunks: (n,) chunks of the whole index that hold gold; NaN where not recorded.
    """

    gold_chars: FloatArray
    new_gold: FloatArray
    union_chars: FloatArray
    chunk_chars: FloatArray
    status: NDArray[np.int8]
    reason: NDArray[np.object_]
    hits: BoolArray
    tokens: FloatArray | None = None
    relevant_chunks: FloatArray | None = None


IN_PART = 2  # code of a claim that the other side says only a part of, which counts a half


def entailment(codes: NDArray[np.int8]) -> FloatArray:
    """(m,) how far claims are entailed, from their codes: 1 wholly, 0.5 in part, 0 not or not recorded."""
    return np.where(codes == IN_PART, 0.5, codes == 1).astype(np.float64)


@dataclass(frozen=True)
class Claims:
    """The m claims of n answers.

    Attributes:
        sample: (m,) row of the sample each claim belongs to, ascending.
        in_reference: (m,) int8: 1 entailed by the reference answer, IN_PART, 0 not, -1 not recorded.
        supported: (m, K) True where the document at that rank supports the claim.
        contradicted: (m, K) True where the document at that rank contradicts the claim.
        support_known: (m,) whether support was recorded for the claim.
        status: (n,) SCORED where claims were recorded (an empty list is recorded), else NOT_RUN.
        source: (n,) int8 codes of source.Source: COMPUTED for recorded labels, ESTIMATED for lexical.
        contradiction_known: (m,) whether contradiction was recorded; None: wherever support was.
        partly: (m, K) True where the document at that rank carries a part of a claim that none carries whole;
            None where that was not asked.
    """

    sample: IntArray
    in_reference: NDArray[np.int8]
    supported: BoolArray
    contradicted: BoolArray
    support_known: BoolArray
    status: NDArray[np.int8]
    source: NDArray[np.int8]
    contradiction_known: BoolArray | None = None
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
    """The m claims of n reference answers.

    Attributes:
        sample: (m,) row of the sample, ascending.
        in_answer: (m,) int8: 1 entailed by the answer, IN_PART, 0 not, -1 not recorded.
        supported: (m, K) True where the document at that rank supports the claim.
        support_known: (m,) whether support was recorded.
        status: (n,) SCORED where recorded, else NOT_RUN.
        source: (n,) as in Claims.
    """

    sample: IntArray
    in_answer: NDArray[np.int8]
    supported: BoolArray
    support_known: BoolArray
    status: NDArray[np.int8]
    source: NDArray[np.int8]


@dataclass(frozen=True)
class ContextUse:
    """The documents that the answers draw on.

    Attributes:
        used: (n, K) True where the answer draws on the document at that rank.
        share: (n, K) share of the answer that rests on that document; NaN where not recorded.
        documents: (n,) number of documents handed to the generator.
        refused: (n,) True where the answer is a refusal.
        status: (n,) SCORED where use is known, else NOT_RUN / NOT_APPLICABLE.
        source: (n,) int8 Source: COMPUTED for recorded use, JUDGED for a judge's, ESTIMATED for lexical use.
    """

    used: BoolArray
    share: FloatArray
    documents: IntArray
    refused: BoolArray
    status: NDArray[np.int8]
    source: NDArray[np.int8]


@dataclass(frozen=True)
class Answers:
    """Refusal and answerability.

    Attributes:
        refused: (n,) int8: 1 refused, 0 answered, -1 unknown (no answer recorded, or `unread`).
        refused_source: (n,) int8 Source: HUMAN/IMPORTED when recorded, ESTIMATED when detected by phrases.
        answerable: (n,) int8 code into ANSWERABLE; -1 unknown.
        context_has_gold: (n,) int8: 1 the context holds the gold, 2 only a part of it, 0 none, -1 unknown.
        unread: (n,) the language of an answer in which refusals cannot be estimated, else "".
        expected: (n,) True where there is an answer: the question is labelled answerable or, without a label,
            gold is recorded or a reference answers it; None where only the labels tell.
    """

    refused: NDArray[np.int8]
    refused_source: NDArray[np.int8]
    answerable: NDArray[np.int8]
    context_has_gold: NDArray[np.int8]
    unread: StrArray
    expected: BoolArray | None = None


@dataclass(frozen=True)
class JudgeLabels:
    """A judge's labels of n answers as a whole.

    Attributes:
        addresses: (n,) whether the answer addresses the question: 1 fully, 0.5 partly, 0 not; NaN unknown.
        complete: (n,) how much of what is asked for it states: 1, 2/3, 1/3 or 0; NaN unknown.
        agrees: (n,) agreement with the reference: 1 correct, 0.5 partly, 0 incorrect; NaN without one.
        contradicts_itself: (n,) 1 or 0; NaN unknown.
        injections: (n,) attempts to instruct the judge found in the sample; NaN unknown.
        has_answer: (n,) whether an answer was recorded.
    """

    addresses: FloatArray
    complete: FloatArray
    agrees: FloatArray
    contradicts_itself: FloatArray
    injections: FloatArray
    has_answer: BoolArray


OTHER, UNDECIDED, SAME = range(3)  # codes of Wordings.outcome; below 0 where nothing was compared
OTHER_LANGUAGE = -2  # the estimate was not measured in the language of the answer


@dataclass(frozen=True)
class Wordings:
    """How the words of n answers compare with those of their references.

    Attributes:
        outcome: (n,) int8: SAME, OTHER, UNDECIDED where the words do not tell, -1 without a reference,
            OTHER_LANGUAGE where the estimate was not measured.
        score: (n,) from 0 to 1, to sort by; NaN where nothing was compared.
        has_answer: (n,) whether an answer was recorded.
    """

    outcome: NDArray[np.int8]
    score: FloatArray
    has_answer: BoolArray


@dataclass(frozen=True)
class Checks:
    """The m expected-against-actual checks of n samples.

    Attributes:
        sample: (m,) row of the sample, ascending.
        suite: (m,) object array of str, e.g. "format", "safety", "router", "tool".
        passed: (m,) bool.
    """

    sample: IntArray
    suite: NDArray[np.object_]
    passed: BoolArray


@dataclass(frozen=True)
class Citations:
    """The m sentences of n answers and their c citations; a document cited twice by a sentence counts once.

    Attributes:
        status: (n,) SCORED where the sentences were read, NOT_APPLICABLE for refusals, else NOT_RUN.
        reason: (n,) object array of str, "" where SCORED.
        source: (n,) int8 Source of the support: COMPUTED for labels, ESTIMATED where told from words.
        broken: (n,) marks that name nothing or lack the declared form.
        sample: (m,) row of the sample each sentence belongs to, ascending.
        needed: (m,) whether the sentence needs a citation.
        together: (m,) int8: 1 the cited documents together support it, 0 not, -1 unknown.
        sentence: (c,) row of the sentence each citation belongs to, ascending.
        in_range: (c,) whether it names a document of the context.
        supports: (c,) int8: 1 the document supports the sentence, or any claim of it; 0 not, -1 unknown.
        alone: (c,) int8: 1 the document alone supports the whole sentence, 0 not, -1 unknown.
        rest: (c,) int8: 1 the other citations support the whole sentence without it, 0 not, -1 unknown.
    """

    status: NDArray[np.int8]
    reason: NDArray[np.object_]
    source: NDArray[np.int8]
    broken: IntArray
    sample: IntArray
    needed: BoolArray
    together: NDArray[np.int8]
    sentence: IntArray
    in_range: BoolArray
    supports: NDArray[np.int8]
    alone: NDArray[np.int8]
    rest: NDArray[np.int8]


@dataclass(frozen=True)
class Facets:
    """The retrieved documents and the F facets (hops, aspects, gold answers) of n questions.

    Attributes:
        ranked: (n, K, F) True where the document at that rank is gold for the facet; a repeat says nothing.
        gold: (n, G, F) True where the gold document is gold for the facet.
        status: (n,) SCORED where facets are named and a list was recorded, else NOT_APPLICABLE / NOT_RUN.
        reason: (n,) "" where SCORED.
    """

    ranked: BoolArray
    gold: BoolArray
    status: NDArray[np.int8]
    reason: NDArray[np.object_]


@dataclass(frozen=True)
class Passages:
    """The texts of the retrieved documents, compared by their words.

    Attributes:
        with_question: (n, K) similarity of each passage with the question; NaN where it has no text.
        mean_pair: (n,) mean similarity of two passages; NaN with fewer than two texts.
        duplicate: (n, K) True where a passage ranked above is a near-duplicate.
        reference_words: (n,) share of the reference answer's content words that a passage has; NaN unknown.
        says: (n, K) code of the answer that a passage is labelled to give, -1 without a label.
    """

    with_question: FloatArray
    mean_pair: FloatArray
    duplicate: BoolArray
    reference_words: FloatArray
    says: IntArray


@dataclass(frozen=True)
class Batch:
    """All inputs of n samples; None where the run records nothing of the kind.

    Attributes:
        n: number of samples.
        documents: (n,) number of documents handed to the generator; 0 where none or not recorded.
        document_relevant: (n, K) int8 label of each retrieved document (1 relevant, 0 not, -1 not labelled).
        first_pass: the longer ranked lists before reranking, joined with the gold likewise.
        first_pass_spans: the same joined with gold spans.
        judge_labels: a judge's labels of the answers as a whole.
        facets: what the documents say of the facets of the questions.
        passages: the texts of the documents, compared by their words.
        wordings: the answers, compared with their references by their words.
    """

    n: int
    documents: IntArray
    rankings: Rankings | None = None
    spans: SpanRankings | None = None
    claims: Claims | None = None
    reference_claims: ReferenceClaims | None = None
    context_use: ContextUse | None = None
    answers: Answers | None = None
    checks: Checks | None = None
    document_relevant: NDArray[np.int8] | None = None
    first_pass: Rankings | None = None
    first_pass_spans: SpanRankings | None = None
    judge_labels: JudgeLabels | None = None
    citations: Citations | None = None
    facets: Facets | None = None
    passages: Passages | None = None
    wordings: Wordings | None = None

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
