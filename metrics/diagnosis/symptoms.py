"""RAGChecker's symptom table: what pairs of mean scores say about where a run fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

__all__ = ["HIGH_HALLUCINATION", "HIGH_NOISE", "LOW", "SYMPTOMS", "Symptom", "symptoms"]

LOW = 0.5  # a precision, recall or utilization below one half
HIGH_HALLUCINATION = 0.15  # about one claim in seven is made up
HIGH_NOISE = 0.3  # relevant and irrelevant noise together: nearly a third of all claims

Means = Mapping[str, float]


@dataclass(frozen=True)
class Symptom:
    """A row of the symptom table.

    Attributes:
        key: name in files and links.
        title: name on screen.
        condition: when it applies, with its thresholds.
        meaning: what it points to.
        advice: what to try.
        needs: metrics whose means it uses.
        shows: whether the means meet the condition.
    """

    key: str
    title: str
    condition: str
    meaning: str
    advice: str
    needs: tuple[str, ...]
    shows: Callable[[Means], bool]


def _noise(means: Means) -> float:
    return means["noise_sensitivity_relevant"] + means["noise_sensitivity_irrelevant"]


_EVERYTHING = ("answer_precision", "answer_recall", "context_recall", "faithfulness")

SYMPTOMS = (
    Symptom(
        "hallucinates",
        "Low precision with high hallucination",
        f"answer precision below {LOW} and hallucination at or above {HIGH_HALLUCINATION}",
        "Wrong claims come from the model itself, not from the context.",
        "Ask for grounded answers, lower the temperature, or change the model.",
        ("answer_precision", "hallucination"),
        lambda means: means["answer_precision"] < LOW and means["hallucination"] >= HIGH_HALLUCINATION,
    ),
    Symptom(
        "misled",
        "Low precision with high noise sensitivity",
        f"answer precision below {LOW} and noise sensitivity, relevant and irrelevant together, at or above "
        f"{HIGH_NOISE}",
        "Wrong claims come from what was retrieved.",
        "Pass fewer documents, rerank, or cut chunks that contain less irrelevant text.",
        ("answer_precision", "noise_sensitivity_relevant", "noise_sensitivity_irrelevant"),
        lambda means: means["answer_precision"] < LOW and _noise(means) >= HIGH_NOISE,
    ),
    Symptom(
        "starved",
        "Low recall with low context recall",
        f"answer recall and context recall both below {LOW}",
        "The answer lacks what the context lacks: the retriever is the limit.",
        "Look at chunking, embeddings and query processing, or retrieve more.",
        ("answer_recall", "context_recall"),
        lambda means: means["answer_recall"] < LOW and means["context_recall"] < LOW,
    ),
    Symptom(
        "underuses",
        "Low recall with low utilization",
        f"answer recall and context utilization both below {LOW}",
        "The context had the information and the answer omits it: the generator is the limit.",
        "Look at the limits on the answer's length, the order of the context and the prompt.",
        ("answer_recall", "context_utilization"),
        lambda means: means["answer_recall"] < LOW and means["context_utilization"] < LOW,
    ),
    Symptom(
        "everything_low",
        "Everything low",
        f"answer precision, answer recall, context recall and faithfulness all below {LOW}",
        "Nothing downstream can be judged while everything is low.",
        "Check the data first (corpus, questions, field mapping), then start with retrieval.",
        _EVERYTHING,
        lambda means: all(means[name] < LOW for name in _EVERYTHING),
    ),
)


def symptoms(means: Means) -> list[Symptom]:
    """Return the symptoms that a run's means show; a symptom with a missing mean never shows.

    Source: Ru et al. 2024, "RAGChecker", whose diagnosis uses these pairs; the thresholds are ours.

    Args:
        means: metric key -> mean over the run, in 0..1.
    """
    measured = {name for name, value in means.items() if value == value}
    return [symptom for symptom in SYMPTOMS if measured.issuperset(symptom.needs) and symptom.shows(means)]
