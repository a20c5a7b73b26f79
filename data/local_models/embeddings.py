"""What embeddings tell: quality of the context, and relevancy of the answer by reverse questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ragtriage.data.local_models.models import EmbeddingModel
from ragtriage.data.store.judge_results import TaskResult
from ragtriage.data.store.sample_reader import further_fields

SAME_MEANING = 0.95  # cosine from which two passages count as near-duplicates
MOST_QUESTIONS = 10


def context_result(sample: Mapping[str, Any], model: EmbeddingModel) -> TaskResult:
    """Return similarity, diversity and redundancy of a sample's context by the cosine of embeddings."""
    texts = [document["text"] for document in sample["retrieved"] or () if document["text"]]
    if not texts:
        return TaskResult("not_applicable", "no retrieved document has a text")
    vectors = model.encode([sample["question"], *texts])
    values = {"embedding_context_similarity": _mean(vectors[1:] @ vectors[0])}
    if len(texts) > 1:
        alike = vectors[1:] @ vectors[1:].T
        pairs = np.triu_indices(len(texts), 1)
        repeats = (np.triu(alike, 1) >= SAME_MEANING).any(axis=0)
        values["embedding_context_diversity"] = 1.0 - _mean(alike[pairs])
        values["embedding_context_redundancy"] = _mean(repeats.astype(np.float64))
    return TaskResult("scored", "", {"values": values, "evidence": []})


def recorded_questions(sample: Mapping[str, Any]) -> list[str]:
    """Return the questions that the file records as made from the answer: its `reverse_questions`."""
    questions = further_fields(sample["extra"], "reverse_questions").get("reverse_questions")
    listed = questions if isinstance(questions, list) else []
    return [question for question in listed if isinstance(question, str) and question.strip()]


def reverse_result(question: str, reverse: list[str], off_topic: str, model: EmbeddingModel) -> TaskResult:
    """Return the mean cosine of a question with the questions made from its answer.

    Args:
        question: that was asked.
        reverse: questions made from the answer alone; without any, not applicable.
        off_topic: the question of another sample, as a baseline; "" for none.
        model: of the embeddings.
    """
    if not reverse:
        return TaskResult("not_applicable", "no question can be made from the answer")
    asked = reverse[:MOST_QUESTIONS]
    vectors = model.encode([question, *asked, *([off_topic] if off_topic else [])])
    cosines = vectors[1 : 1 + len(asked)] @ vectors[0]
    values = {"reverse_question_relevancy": _mean(cosines)}
    evidence: list[dict[str, Any]] = [
        {"question": text, "cosine": round(float(cosine), 4)}
        for text, cosine in zip(asked, cosines, strict=True)
    ]
    baseline = _mean(vectors[1 : 1 + len(asked)] @ vectors[-1]) if off_topic else None
    return TaskResult("scored", "", {"values": values, "evidence": evidence, "off_topic": baseline})


def _mean(values: Any) -> float:
    return float(np.clip(np.mean(values), -1.0, 1.0))
