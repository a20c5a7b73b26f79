"""Metrics that a judge, a human label or another tool supplies, and those computed from relevance labels.

`any_relevant`, `context_relevance` and `context_precision` are computed where every retrieved document has a
relevance label; others are declared only, so that an imported column has a meaning, a direction and bounds.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from ragtriage.metrics.schema.batch import Batch
from ragtriage.metrics.schema.metric import Compute, Convention, Metric, ratio, require
from ragtriage.metrics.schema.scores import BoolArray, IntArray, Scores, Status

LabelArray = np.ndarray[tuple[int, int], np.dtype[np.int8]]
_NO_DOCUMENT = "no document was retrieved"


def _listed(labels: LabelArray, documents: IntArray) -> BoolArray:
    listed: BoolArray = np.arange(labels.shape[1]) < documents[:, None]
    return listed


def _gaps(labels: LabelArray, documents: IntArray) -> list[tuple[BoolArray, Status, str]]:
    labelled = np.sum(_listed(labels, documents) & (labels >= 0), axis=1)
    return [
        (documents == 0, Status.NOT_APPLICABLE, _NO_DOCUMENT),
        (labelled < documents, Status.NOT_RUN, "not every retrieved document has a relevance label"),
    ]


def context_relevance(labels: LabelArray, documents: IntArray) -> Scores:
    """Share of the retrieved documents that are labelled relevant to the question.

    Args:
        labels: (n, K) 1 relevant, 0 not, -1 not labelled.
        documents: (n,) number of retrieved documents.
    """
    relevant = np.sum(_listed(labels, documents) & (labels == 1), axis=1)
    return Scores.build(ratio(relevant, documents), _gaps(labels, documents))


def any_relevant(labels: LabelArray, documents: IntArray) -> Scores:
    """Return whether any retrieved document is labelled relevant to the question.

    Args:
        labels: (n, K) 1 relevant, 0 not, -1 not labelled.
        documents: (n,) number of retrieved documents.
    """
    any_relevant = np.any(_listed(labels, documents) & (labels == 1), axis=1)
    (none, status, reason), (open_, open_status, open_reason) = _gaps(labels, documents)
    return Scores.build(
        any_relevant.astype(np.float64),
        [(none, status, reason), (open_ & ~any_relevant, open_status, open_reason)],
    )


def context_precision(labels: LabelArray, documents: IntArray) -> Scores:
    """Mean precision at the ranks of the relevant documents, over those retrieved; 0 where none is relevant.

    Ragas' definition. It divides by the relevant documents that were retrieved, so it measures their order
    and not what is missing.

    Args:
        labels: (n, K) 1 relevant, 0 not, -1 not labelled.
        documents: (n,) number of retrieved documents.
    """
    relevant = _listed(labels, documents) & (labels == 1)
    precision_at = np.cumsum(relevant, axis=1) / np.arange(1, labels.shape[1] + 1)
    count = np.sum(relevant, axis=1)
    total = np.sum(np.where(relevant, precision_at, 0.0), axis=1)
    return Scores.build(np.where(count == 0, 0.0, ratio(total, count)), _gaps(labels, documents))


def _of_labels(formula: Callable[[LabelArray, IntArray], Scores]) -> Compute:
    def compute(batch: Batch, _k: int, _convention: Convention) -> Scores:
        return formula(require(batch.document_relevant), batch.documents)

    return compute


_supplied = partial(
    Metric,
    component="answer",
    needs=("scores",),
    undefined="Never; not run where no judge, human or tool supplied it.",
)
_RAGAS = "Ragas (Es et al. 2024)"
_MTRAG = "MTRAG (Katsis et al. 2025)"
_RATED = "Rescaled to 0 to 1 where the rating scale is declared; otherwise on the raters' own scale."

CONTEXT: tuple[Metric, ...] = (
    _supplied(
        key="any_relevant",
        title="Any document relevant",
        meaning="Whether at least one retrieved document is relevant to the question.",
        formula="1 if any retrieved document is labelled relevant, else 0",
        component="retrieval",
        needs=("retrieved.relevant",),
        undefined="No document was retrieved.",
        reference="Hit rate over relevance labels",
        compute=_of_labels(any_relevant),
    ),
    _supplied(
        key="context_relevance",
        title="Context relevance",
        plain="on-topic documents",
        meaning="How many of the retrieved documents are relevant to the question.",
        formula="retrieved documents labelled relevant / retrieved documents",
        component="retrieval",
        needs=("retrieved.relevant",),
        undefined="No document was retrieved.",
        reference="ARES (Saad-Falcon et al. 2024); TruLens context relevance",
        compute=_of_labels(context_relevance),
        aliases=("contextual_relevancy",),
    ),
    _supplied(
        key="context_precision",
        title="Context precision",
        plain="useful documents found",
        meaning="Whether the relevant documents are ranked above the others.",
        formula="sum over ranks i of precision@i * relevant_i / relevant documents retrieved; 0 if none",
        component="retrieval",
        needs=("retrieved.relevant",),
        undefined="No document was retrieved.",
        reference=_RAGAS,
        bands=(0.70, 0.85),
        compute=_of_labels(context_precision),
        aliases=("contextual_precision", "llm_context_precision_with_reference"),
    ),
    _supplied(
        key="context_entity_recall",
        title="Context entity recall",
        meaning="How many of the entities in the reference answer the retrieved documents mention.",
        formula="entities of the reference found in the context / entities of the reference",
        component="retrieval",
        reference=_RAGAS,
    ),
)

ANSWERS: tuple[Metric, ...] = (
    _supplied(
        key="answer_correctness",
        title="Answer correctness",
        meaning="Whether the answer agrees with the reference answer in facts and in wording.",
        formula="Ragas: 0.75 * F1 of the statements + 0.25 * embedding similarity",
        reference=_RAGAS,
        caution="A quarter of it is embedding similarity, which wrong answers have too.",
    ),
    _supplied(
        key="factual_correctness",
        title="Factual correctness",
        meaning="Whether the facts of the answer and of the reference answer are the same.",
        formula="Ragas: F1 (or precision, or recall) of claims entailed both ways",
        reference=_RAGAS,
    ),
    _supplied(
        key="rl_f",
        title="RL-F",
        meaning="How much of the answer the documents support, by a judge without the reference answer.",
        formula="Ragas faithfulness",
        component="generation",
        reference=_MTRAG,
    ),
    _supplied(
        key="rb_llm",
        title="RB-LLM",
        meaning="How good the answer is compared with the reference answer, by a judge.",
        formula="judged 0 to 1 against the reference answer",
        reference=f"{_MTRAG}, after RAD-Bench (Kuo et al. 2024)",
    ),
    _supplied(
        key="conditional_idk",
        title="Conditional IDK",
        meaning="Whether the answer says that it does not know, as judged by the tool.",
        formula="1 or 0 by the tool",
        reference=_MTRAG,
        higher_is_better=None,
    ),
    _supplied(
        key="win_rate",
        title="Win rate",
        plain="preferred to the other",
        meaning="How often people preferred this answer to another system's on the same question.",
        formula="comparisons won / comparisons, in percent",
        reference=_MTRAG,
        bounds=(0.0, 100.0),
    ),
    *(
        _supplied(
            key=title.lower(),
            title=title,
            meaning=meaning,
            formula="rating by a human or a judge",
            reference=_MTRAG,
            caution=_RATED,
        )
        for title, meaning in (
            ("Appropriateness", "Whether the answer fits the question and the turn of the conversation."),
            ("Naturalness", "Whether the answer reads like something a person would say."),
            ("Fluency", "Whether the answer is grammatical and easy to read."),
        )
    ),
)

FEEDBACK: tuple[Metric, ...] = (
    _supplied(
        key="user_feedback",
        title="User feedback",
        meaning="The user's rating of the answer.",
        formula="1 for thumbs up, 0 for thumbs down",
        component="feedback",
        reference="recorded by the application",
    ),
    _supplied(
        key="user_task_completed",
        title="Task completed",
        meaning="Whether the user got done what the question was for.",
        formula="1 for yes, 0 for no",
        component="feedback",
        reference="recorded by the application",
    ),
    _supplied(
        key="user_satisfaction",
        title="User satisfaction",
        meaning="How satisfied the user was with the answer.",
        formula="(score - 1) / 4, of a score from 1 to 5",
        component="feedback",
        reference="recorded by the application",
    ),
)
