"""RAGChecker's symptom table: what pairs of mean scores say about where a run fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

Means = Mapping[str, float]


@dataclass(frozen=True)
class SymptomEdges:
    """Where a mean counts as low or high; the defaults are the edges of RAGChecker's guide."""

    low: float = 0.30  # precision, recall, context recall and utilization below it are low
    low_f1: float = 0.20  # answer F1 below it is low
    low_faithfulness: float = 0.50  # faithfulness below it is low
    hallucination: float = 0.30  # hallucination above it is high
    noise_relevant: float = 0.50  # noise sensitivity (relevant) above it is high
    noise_irrelevant: float = 0.30  # noise sensitivity (irrelevant) above it is high

    def all_low(self, means: Means, metrics: tuple[str, ...]) -> bool:
        """Return whether every one of the metrics is low."""
        own = {"answer_f1": self.low_f1, "faithfulness": self.low_faithfulness}
        return all(means[name] < own.get(name, self.low) for name in metrics)

    def noisy(self, means: Means) -> bool:
        """Return whether either kind of noise sensitivity is high."""
        return (
            means["noise_sensitivity_relevant"] > self.noise_relevant
            or means["noise_sensitivity_irrelevant"] > self.noise_irrelevant
        )


@dataclass(frozen=True)
class Symptom:
    """A row of the symptom table."""

    key: str  # name in files and links
    title: str  # name on screen
    condition: str  # when it applies, with the edges by their names in braces
    meaning: str  # what it points to
    advice: str  # what to try
    needs: tuple[tuple[str, ...], ...]  # sets of metrics; any one of them suffices
    # whether the means of a set meet the condition
    shows: Callable[[Means, SymptomEdges, tuple[str, ...]], bool]

    def condition_at(self, edges: SymptomEdges) -> str:
        """Return the condition with the edges in use."""
        return self.condition.format(edges=edges)

    def measured(self, means: Means) -> list[tuple[str, ...]]:
        """Return the sets of metrics that all have a mean."""
        known = {name for name, value in means.items() if value == value}
        return [names for names in self.needs if known.issuperset(names)]


def _everything_low(means: Means, edges: SymptomEdges, names: tuple[str, ...]) -> bool:
    return edges.all_low(means, names)


SYMPTOMS = (
    Symptom(
        "hallucinates",
        "Low precision with high hallucination",
        "answer precision below {edges.low:g} and hallucination above {edges.hallucination:g}",
        "Wrong claims come from the model itself, not from the context.",
        "Ask for grounded answers, lower the temperature, or change the model.",
        (("answer_precision", "hallucination"),),
        lambda means, edges, _names: (
            means["answer_precision"] < edges.low and means["hallucination"] > edges.hallucination
        ),
    ),
    Symptom(
        "misled",
        "Low precision with high noise sensitivity",
        "answer precision below {edges.low:g} and noise sensitivity above {edges.noise_relevant:g} "
        "(relevant) or {edges.noise_irrelevant:g} (irrelevant)",
        "Wrong claims come from what was retrieved.",
        "Pass fewer documents, rerank, or use chunks with less irrelevant text.",
        (("answer_precision", "noise_sensitivity_relevant", "noise_sensitivity_irrelevant"),),
        lambda means, edges, _names: means["answer_precision"] < edges.low and edges.noisy(means),
    ),
    Symptom(
        "starved",
        "Low recall with low context recall",
        "answer recall and context recall both below {edges.low:g}",
        "The answer lacks what the context lacks: the retriever is the limit.",
        "Look at chunking, embeddings and query processing, or retrieve more.",
        (("answer_recall", "context_recall"),),
        _everything_low,
    ),
    Symptom(
        "underuses",
        "Low recall with low utilization",
        "answer recall and context utilization both below {edges.low:g}",
        "The context had the information and the answer omits it: the generator is the limit.",
        "Look at the limits on the answer's length, the order of the context and the prompt.",
        (("answer_recall", "context_utilization"),),
        _everything_low,
    ),
    Symptom(
        "everything_low",
        "Everything low",
        "answer precision and answer recall below {edges.low:g}, with context recall below {edges.low:g} and "
        "faithfulness below {edges.low_faithfulness:g} where both are measured, else with answer F1 below "
        "{edges.low_f1:g}",
        "Nothing downstream can be judged while everything is low.",
        "Check the data first (corpus, questions, field mapping), then start with retrieval.",
        (
            ("answer_precision", "answer_recall", "context_recall", "faithfulness"),
            ("answer_precision", "answer_recall", "answer_f1"),
        ),
        _everything_low,
    ),
)


def symptoms(means: Means, edges: SymptomEdges | None = None) -> list[Symptom]:
    """Return the symptoms that a run's means show; a symptom with a missing mean never shows.

    Source: Ru et al. 2024, "RAGChecker", whose diagnosis uses these pairs.

    Args:
        means: metric key -> mean over the run, in 0..1.
        edges: where a mean counts as low or high; those of RAGChecker's guide when left out.
    """
    edges = edges or SymptomEdges()
    return [
        symptom
        for symptom in SYMPTOMS
        if any(symptom.shows(means, edges, names) for names in symptom.measured(means)[:1])
    ]
