"""RAGChecker's symptom table: what pairs of mean scores say about where a run fails."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

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
