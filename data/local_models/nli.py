"""NLI faithfulness: a claim holds where one passage of the context entails it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from ragtriage.data.local_models.models import NliModel
from ragtriage.data.store.judge_results import TaskResult
from ragtriage.data.text.refusal_detection import detect_refusal
from ragtriage.data.text.sentences import split_sentences
from ragtriage.metrics.schema.scores import FloatArray

THRESHOLD = 0.8  # probability of entailment from which a claim holds; a default, to be calibrated on labels
WINDOW = 400  # words of a passage that the model reads at once
MOST_CLAIMS, MOST_WINDOWS = 100, 200


def windows(text: str, size: int = WINDOW) -> list[str]:
    """Cut a passage into windows of about `size` words that overlap by half."""
    words = text.split()
    if len(words) <= size:
        return [text] if words else []
    step = size // 2
    starts = range(0, len(words) - step, step)
    return [" ".join(words[start : start + size]) for start in starts]


def nli_result(sample: Mapping[str, Any], model: NliModel, threshold: float = THRESHOLD) -> TaskResult:
    """Return which claims of a sample the context entails or contradicts, and which documents disagree.

    Claims are those recorded, else the sentences of the answer. Each is compared with every window of every
    document; the largest probability counts.
    """
    answer = sample["answer"] or ""
    claims = [str(claim["text"]) for claim in sample["claims"] or ()] or _sentences(answer)
    documents = [document["text"] or "" for document in sample["retrieved"] or ()]
    parts = [(rank, part) for rank, text in enumerate(documents, 1) for part in windows(text)][:MOST_WINDOWS]
    if not claims or detect_refusal(answer).refused:
        return TaskResult("not_applicable", "the answer claims nothing")
    if not parts:
        return TaskResult("not_applicable", "no retrieved document has a text")
    claims = claims[:MOST_CLAIMS]
    found = model.classify([(part, claim) for claim in claims for _, part in parts])
    entailed, contradicted = found.reshape(len(claims), len(parts), 3)[:, :, [0, 2]].transpose(2, 0, 1)
    held, against = entailed.max(axis=1) >= threshold, contradicted.max(axis=1) >= threshold
    values = {
        "nli_faithfulness": float(held.mean()),
        "nli_contradicted": float((against & ~held).mean()),
        **_consistency(entailed, contradicted, [rank for rank, _ in parts], threshold),
    }
    evidence = [
        {
            "claim": claim,
            "entailment": round(float(entailed[at].max()), 4),
            "contradiction": round(float(contradicted[at].max()), 4),
            "rank": parts[int(entailed[at].argmax())][0],
        }
        for at, claim in enumerate(claims)
    ]
    return TaskResult("scored", "", {"values": values, "evidence": evidence})


def _sentences(answer: str) -> list[str]:
    return [answer[start:end] for start, end in split_sentences(answer)]


def _consistency(
    entailed: FloatArray, contradicted: FloatArray, ranks: Sequence[int], threshold: float
) -> dict[str, float]:
    """Return 1 - the pairs of documents that disagree on a claim / the pairs that both speak of one."""
    numbers = np.asarray(ranks)
    distinct = np.unique(numbers)
    supports = np.stack([(entailed[:, numbers == rank] >= threshold).any(axis=1) for rank in distinct])
    opposes = np.stack([(contradicted[:, numbers == rank] >= threshold).any(axis=1) for rank in distinct])
    same = against = 0
    for one, other in combinations(range(len(distinct)), 2):
        both = (supports[one] | opposes[one]) & (supports[other] | opposes[other])
        differs = (supports[one] & opposes[other]) | (opposes[one] & supports[other])
        same, against = same + bool(both.any()), against + bool(differs.any())
    return {"nli_context_consistency": 1.0 - against / same} if same else {}
