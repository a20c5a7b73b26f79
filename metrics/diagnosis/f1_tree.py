"""Why F1 is low: a tree of what costs precision and recall, and the most F1 that each part could give back.

Every part has a counterfactual: what the F1 of a sample would be if that part were perfect and nothing else
changed. "Wrong" is here what the reference does not entail, true or not. Repairs overlap, since F1 is not a
sum of its parts, so gains of siblings do not add up; but no part promises more than the part above it, and
none more than an F1 of 1.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray
from ragtriage.metrics.statistics.intervals import Interval, intervals, question_means

_ROUNDING = 1e-6
_ROUNDED = 2e-3  # imported shares often have three digits


@dataclass(frozen=True)
class F1Shares:
    """The claims of each sample as shares, all (n,); NaN where not known."""

    precision: FloatArray  # answer claims that the reference entails / answer claims
    recall: FloatArray  # reference claims that the answer entails / reference claims
    hallucination: FloatArray  # answer claims that are wrong and supported by no document / answer claims
    # answer claims that are wrong and supported by a relevant document / answer claims
    noise_relevant: FloatArray
    self_knowledge: FloatArray  # answer claims that are right and supported by no document / answer claims
    # reference claims that a document supports and the answer leaves out / reference claims
    omission: FloatArray
    context_recall: FloatArray  # reference claims that a document supports / reference claims

    @property
    def noise_irrelevant(self) -> FloatArray:
        """(n,) wrong claims that irrelevant documents alone support: the wrong claims that are left."""
        left = 1 - self.precision - self.hallucination - self.noise_relevant
        return np.asarray(np.maximum(left, 0.0), dtype=np.float64)

    @property
    def not_retrieved(self) -> FloatArray:
        """(n,) reference claims that are neither in the answer nor in any document."""
        return np.asarray(np.maximum(1 - self.recall - self.omission, 0.0), dtype=np.float64)

    @property
    def utilization(self) -> FloatArray:
        """(n,) of the reference claims in the context, the share in the answer; NaN without any there."""
        used, backed = self.context_recall - self.omission, self.context_recall
        share: FloatArray = np.divide(used, backed, out=np.full(len(used), np.nan), where=backed > 0)
        return share


@dataclass(frozen=True)
class F1Part:
    """One part of the tree."""

    key: str  # name in links and JSON
    parent: str  # key of the part above, "" for the root
    metric: str  # the metric that measures it
    title: str  # on screen
    repaired: str  # what a perfect part means for the claims
    measures: tuple[str, ...]  # what to try, the cheapest first
    value: Callable[[F1Shares], FloatArray]  # returns its (n,) metric from the shares
    # returns (n,) precision and recall if the part were perfect
    perfect: Callable[[F1Shares], tuple[FloatArray, FloatArray]]
    by_support: bool = True  # whether it rests on which documents support the claims
    costs_f1: bool = True  # False for a part that is watched though F1 loses nothing by it


@dataclass(frozen=True)
class F1Branch:
    """A part of the tree as measured in a run."""

    part: F1Part  # which
    value: Interval  # mean of its metric over questions
    gain: Interval  # mean F1 that a perfect part would add over questions
    bound: float  # mean F1 with it perfect: F1 now + gain
    n_cases: int  # samples that a perfect part would give a higher F1


@dataclass(frozen=True)
class F1Tree:
    """The tree of a run."""

    f1: Interval  # mean over questions, of the samples below
    # the measured parts; each follows its parent, siblings by gain, the largest first
    branches: tuple[F1Branch, ...]
    n_samples: int  # samples that the whole tree rests on
    n_f1: int  # samples with precision and recall, of which those are a part
    by_support: bool  # whether support is known, so that precision and recall have parts


def f1_of(precision: FloatArray, recall: FloatArray) -> FloatArray:
    """Return the (n,) harmonic mean of precision and recall; 0 where both are 0.

    Source: van Rijsbergen 1979, "Information Retrieval", chapter 7; per sample, as RAGChecker has it.
    """
    total = precision + recall
    return np.divide(2 * precision * recall, total, out=np.zeros(len(total)), where=total > 0)


def _precision_up(share: FloatArray, shares: F1Shares) -> tuple[FloatArray, FloatArray]:
    """Return precision with a share of the answer claims made right, and recall as it is."""
    return np.minimum(shares.precision + share, 1.0), shares.recall


def _recall_up(share: FloatArray, shares: F1Shares) -> tuple[FloatArray, FloatArray]:
    """Return precision as it is, and recall with a share of the reference claims answered."""
    return shares.precision, np.minimum(shares.recall + share, 1.0)


F1_PARTS: tuple[F1Part, ...] = (
    F1Part(
        "precision",
        "",
        "answer_precision",
        "Precision",
        "every claim of the answer is one that the reference entails",
        ("Look at the part below with the largest gain first.",),
        lambda shares: shares.precision,
        lambda shares: _precision_up(1 - shares.precision, shares),
        by_support=False,
    ),
    F1Part(
        "recall",
        "",
        "answer_recall",
        "Recall",
        "every claim of the reference is answered",
        ("Look at the part below with the largest gain first.",),
        lambda shares: shares.recall,
        lambda shares: _recall_up(1 - shares.recall, shares),
        by_support=False,
    ),
    F1Part(
        "faithfulness",
        "precision",
        "faithfulness",
        "Faithfulness",
        "every claim that no document supports is in the reference; those that are already change nothing",
        (
            "Tell the model to answer from the context alone, and to say where it does not suffice.",
            "Lower the temperature.",
            "Check claims against the context after generation, and drop what fails.",
        ),
        lambda shares: 1 - shares.hallucination - shares.self_knowledge,
        lambda shares: _precision_up(shares.hallucination, shares),
    ),
    F1Part(
        "hallucination",
        "faithfulness",
        "hallucination",
        "Hallucination",
        "every claim in neither reference nor documents is replaced by one of the reference",
        (
            "Ask for a citation with each claim.",
            "Let the model refuse where the context does not hold the answer.",
            "Try a stronger model.",
        ),
        lambda shares: shares.hallucination,
        lambda shares: _precision_up(shares.hallucination, shares),
    ),
    F1Part(
        "self_knowledge",
        "faithfulness",
        "self_knowledge",
        "Self-knowledge",
        "claims of the reference from the model's memory stay as they are: F1 loses nothing by them",
        (
            "Where answers must be traceable, ask for the context alone; this may cost F1.",
            "Add what the model knows by itself to the corpus.",
        ),
        lambda shares: shares.self_knowledge,
        lambda shares: (shares.precision, shares.recall),
        costs_f1=False,
    ),
    F1Part(
        "noise_relevant",
        "precision",
        "noise_sensitivity_relevant",
        "Noise from relevant documents",
        "every claim from a relevant document that the reference lacks is replaced by one of the reference",
        (
            "Read its cases first: claims that are true but missing in the reference count here. "
            "Complete the reference, or ask for shorter answers.",
            "Use smaller chunks, so that less text surrounds the answer.",
            "Extract the sentences that matter before generation.",
            "Ask the model to quote first and answer then.",
        ),
        lambda shares: shares.noise_relevant,
        lambda shares: _precision_up(shares.noise_relevant, shares),
    ),
    F1Part(
        "noise_irrelevant",
        "precision",
        "noise_sensitivity_irrelevant",
        "Noise from irrelevant documents",
        "every claim that irrelevant documents alone support is replaced by one of the reference",
        (
            "Rerank, and cut off documents below a score.",
            "Retrieve fewer documents.",
            "Filter by metadata (product, version, language) before the search.",
        ),
        lambda shares: shares.noise_irrelevant,
        lambda shares: _precision_up(shares.noise_irrelevant, shares),
    ),
    F1Part(
        "context_recall",
        "recall",
        "context_recall",
        "Claim recall",
        "every claim of the reference that is missing from context and answer is retrieved and answered",
        (
            "Raise top-k and rerank.",
            "Search by words and by embedding together.",
            "Rewrite or split the question before the search.",
            "Add what the corpus lacks.",
        ),
        lambda shares: shares.context_recall,
        lambda shares: _recall_up(shares.not_retrieved, shares),
    ),
    F1Part(
        "utilization",
        "recall",
        "context_utilization",
        "Context utilization",
        "every claim of the reference that the context holds is answered",
        (
            "Put the best documents first and last.",
            "Pass fewer or shorter documents.",
            "Try a model that reads long contexts better.",
        ),
        lambda shares: shares.utilization,
        lambda shares: _recall_up(shares.omission, shares),
    ),
    F1Part(
        "omission",
        "utilization",
        "omission",
        "Omission",
        "every claim that the context holds and the answer leaves out is answered",
        (
            "Ask for a complete answer, point by point.",
            "Raise the limit of output tokens.",
            "Let the model check its draft against the context for what is missing.",
        ),
        lambda shares: shares.omission,
        lambda shares: _recall_up(shares.omission, shares),
    ),
)


def perfect_f1(shares: F1Shares, part: F1Part) -> FloatArray:
    """Return the (n,) F1 of each sample if a part were perfect and the other side of F1 stayed as it is."""
    return f1_of(*part.perfect(shares))


def consistent(shares: F1Shares) -> BoolArray:
    """Return (n,) True where all shares are known and no part is larger than its whole.

    Imported values may contradict each other; such a sample has no sums to speak of.
    """
    known = np.all([np.isfinite(values) for values in vars(shares).values()], axis=0)
    whole = np.nan_to_num(
        [
            shares.precision + shares.hallucination + shares.noise_relevant,
            shares.recall + shares.omission,
            shares.self_knowledge + 1 - shares.precision,
            shares.omission + 1 - shares.context_recall,
        ],
        nan=2.0,
    )
    fits: BoolArray = known & np.all(whole <= 1 + _ROUNDED, axis=0)
    return fits


def f1_tree(
    shares: F1Shares, question: IntArray, clusters: IntArray, weights: FloatArray | None = None
) -> F1Tree | None:
    """Return the tree of a run, over the samples that have everything the tree needs.

    Where no sample knows which documents support its claims, the tree ends at precision and recall.
    All means are over questions, repeats averaged first, and all parts are over the same samples.

    Args:
        shares: of the n samples.
        question: (n,) codes 0..q-1 of the question of each sample.
        clusters: (q,) codes of the independent group of each question.
        weights: (q,) of each question; None where all weigh alike.

    Returns:
        The tree; None where no sample has both precision and recall.
    """
    scored = np.isfinite(shares.precision) & np.isfinite(shares.recall)
    whole = scored & consistent(shares)
    by_support = bool(whole.any())
    kept = whole if by_support else scored
    if not kept.any():
        return None
    parts = [part for part in F1_PARTS if by_support or not part.by_support]
    now = f1_of(shares.precision, shares.recall)
    gains = [perfect_f1(shares, part) - now for part in parts]
    columns = np.column_stack([now, *(part.value(shares) for part in parts), *gains])
    columns = np.where(kept[:, None], columns, np.nan)
    means, _ = question_means(columns, question)
    n = len(np.unique(question[kept]))
    estimates = intervals(means, clusters, [n] * means.shape[1], weights=weights)
    f1, values, gained = estimates[0], estimates[1 : len(parts) + 1], estimates[len(parts) + 1 :]
    # a part that costs no F1 has no gain by definition, not by a sample
    branches = [
        F1Branch(
            part,
            value,
            gain if part.costs_f1 else replace(gain, low=0.0, high=0.0),
            f1.mean + gain.mean,
            int((kept & (raised > _ROUNDING)).sum()),
        )
        for part, value, gain, raised in zip(parts, values, gained, gains, strict=True)
    ]
    return F1Tree(f1, tuple(_ordered(branches, "")), int(kept.sum()), int(scored.sum()), by_support)


def _ordered(branches: list[F1Branch], parent: str) -> list[F1Branch]:
    """Return the branches below a parent, each followed by its own, the largest gain first."""
    below = sorted(
        (branch for branch in branches if branch.part.parent == parent), key=lambda branch: -branch.gain.mean
    )
    return [entry for branch in below for entry in (branch, *_ordered(branches, branch.part.key))]
