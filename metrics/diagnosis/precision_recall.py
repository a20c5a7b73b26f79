"""Precision read against recall, of the context and of the answer: four cases each, with what to try."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Subject = Literal["context", "answer"]
HIGH = 0.5  # a mean from here on is high
# for each subject the metrics that can stand for its precision and its recall, the first that is measured
PAIRS: Mapping[Subject, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "context": (("context_precision", "context_relevance"), ("context_recall",)),
    "answer": (("answer_precision",), ("answer_recall",)),
}
_READINGS: Mapping[tuple[Subject, bool, bool], tuple[str, str]] = {
    ("context", True, True): (
        "Retrieval finds what is needed and little else.",
        "What still fails, fails after it: look at generation.",
    ),
    ("context", False, True): (
        "Retrieval finds what is needed among much that is not.",
        "Rerank, pass fewer documents, or add a relevance threshold.",
    ),
    ("context", True, False): (
        "What is retrieved is relevant, but much of what is needed is missing.",
        "Retrieve more documents, split the question into hops, or look at chunk boundaries.",
    ),
    ("context", False, False): (
        "Retrieval misses what is needed and returns what is not.",
        "Look at embeddings, chunking and query processing before anything else.",
    ),
    ("answer", True, True): (
        "Answers cover most of what is asked, and most of what they say was asked for.",
        "",
    ),
    ("answer", False, True): (
        "Answers hold what is asked for among much that is not.",
        "Where the context supports the rest, ask for shorter answers; else look at the prompt.",
    ),
    ("answer", True, False): (
        "What answers say is right, but they leave out much of what is asked for.",
        "Look at limits on their length, and at whether the context holds the rest (context recall).",
    ),
    ("answer", False, False): (
        "Answers miss what is asked for and say something else.",
        "Look at the context first; where it holds the answer, at the prompt and the model.",
    ),
}


@dataclass(frozen=True)
class PairReading:
    """What a precision and a recall say together."""

    subject: Subject  # whose they are
    precision: str  # name of the metric that stands for the precision
    recall: str  # name of the one that stands for the recall
    values: tuple[float, float]  # their means
    high: tuple[bool, bool]  # whether each is high
    meaning: str  # what they say together
    advice: str  # what to try; "" for nothing


def pair_readings(means: Mapping[str, float]) -> list[PairReading]:
    """Return the readings of the pairs of which both sides have a mean.

    Args:
        means: metric name -> mean over the questions; NaN where not measured.
    """
    known = {name: mean for name, mean in means.items() if mean == mean}
    readings = []
    for subject, names in PAIRS.items():
        precision, recall = (next((name for name in side if name in known), "") for side in names)
        if precision and recall:
            values = known[precision], known[recall]
            high = values[0] >= HIGH, values[1] >= HIGH
            readings.append(PairReading(subject, precision, recall, values, high, *_READINGS[subject, *high]))
    return readings
