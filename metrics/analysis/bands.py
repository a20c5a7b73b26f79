"""What a mean says in plain words: its band on a named scale, whether the band is certain, and one sentence.

The sentence states the number and its uncertainty. It never states a cause, because no cause was measured.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ragtriage.metrics.schema.metric import Metric

TARGETS = "production targets"


@dataclass(frozen=True)
class Bands:
    """The bands of one metric. A value on an edge belongs to the better band."""

    names: tuple[str, ...]  # of the bands, worst first
    edges: tuple[float, ...]  # between them, on the scale of the metric; falling where lower is better
    scale: str  # whose edges they are, as named beside every band

    def at(self, value: float) -> str:
        """Return the name of the band that a value is in."""
        sign = -1.0 if self.edges[0] > self.edges[-1] else 1.0
        return self.names[sum(sign * value >= sign * edge - 1e-12 for edge in self.edges)]


@dataclass(frozen=True)
class BandScale:
    """The bands that one source sets."""

    key: str  # name in commands and links
    title: str  # on screen
    bands: Mapping[str, Bands]  # metric key -> its bands
    declared: bool = False  # whether a metric that is not listed takes the bands of its declaration

    def of(self, metric: Metric) -> Bands | None:
        """Return the bands of a metric on this scale; None where it has none."""
        if metric.key in self.bands or not self.declared or metric.bands is None:
            return self.bands.get(metric.key)
        return Bands(("needs work", "good", "excellent"), metric.bands, self.title)


_FAIR = ("poor", "fair", "good")
_GUIDE = {
    **dict.fromkeys(
        ("answer_precision", "answer_recall", "context_recall", "chunk_precision", "context_utilization"),
        (_FAIR, (0.30, 0.70)),
    ),
    "answer_f1": (("poor", "fair", "good", "excellent"), (0.20, 0.40, 0.60)),
    "faithfulness": (_FAIR, (0.50, 0.80)),
    "hallucination": (("poor", "problematic", "good", "excellent"), (0.50, 0.30, 0.10)),
    "noise_sensitivity_relevant": (_FAIR, (0.50, 0.20)),
    "noise_sensitivity_irrelevant": (_FAIR, (0.30, 0.10)),
}


def _scale(key: str, title: str, rows: Mapping[str, tuple[tuple[str, ...], tuple[float, ...]]]) -> BandScale:
    bands = {metric: Bands(names, edges, title) for metric, (names, edges) in rows.items()}
    return BandScale(key, title, MappingProxyType(bands))


GUIDES = (
    _scale("ragchecker", "RAGChecker guide, strict use", {**_GUIDE, "self_knowledge": (_FAIR, (0.50, 0.10))}),
    _scale(
        "ragchecker-general",
        "RAGChecker guide, general use",
        # What the model knows by itself is not a fault in general use, so these names do not judge.
        {**_GUIDE, "self_knowledge": (("mostly memory", "mixed", "mostly context"), (0.50, 0.10))},
    ),
    _scale(
        "ragas",
        "Ragas scale",
        {
            "faithfulness": (("poor", "good", "excellent"), (0.70, 0.90)),
            "answer_relevancy": (("poor", "good", "excellent"), (0.60, 0.80)),
        },
    ),
)


@dataclass(frozen=True)
class Interpretation:
    """A mean in words."""

    band: str | None  # of the mean; None where the metric has no bands or nothing was measured
    sure: bool  # True where the whole interval lies in that band
    sentence: str  # number, interval, n, band and scale; "not measured" where it was not
    meaning: str  # what the metric says, from its declaration
    scale: str = ""  # whose band it is; "" without a band
    mean_alone: bool = False  # whether there is no interval

    @property
    def standing(self) -> str:
        """Band and scale for a table: "cannot tell" where the interval spans several, "" without bands."""
        if self.band is None:
            return ""
        if self.mean_alone:
            return f"{self.band} by the mean alone ({self.scale})"
        return f"{self.band if self.sure else 'cannot tell'} ({self.scale})"


def interpret(
    metric: Metric,
    title: str,
    mean: float | None,
    low: float | None,
    high: float | None,
    n: int,
    bands: Bands | None = None,
) -> Interpretation:
    """Put a mean into words.

    Args:
        metric: its declaration.
        title: title of the metric, with its k.
        mean: over questions; None where not measured.
        low: lower end of the 95 % interval; None where there is none.
        high: upper end.
        n: questions behind it.
        bands: of the scale in use; None for no band.
    """
    if mean is None:
        return Interpretation(None, False, f"{title} was not measured.", metric.meaning)
    numbers = [_number(metric, value) for value in (mean, low or 0.0, high or 0.0)]
    questions = f"{n:,} question{'' if n == 1 else 's'}"
    least, greatest = metric.bounds
    if not least - 1e-9 <= mean <= greatest + 1e-9:
        sentence = f"{title} is {mean:.3g} over {questions}, outside of {least:g} to {greatest:g}: no band."
        return Interpretation(None, False, sentence, metric.meaning)
    band, scale = (None, "") if bands is None else (bands.at(mean), bands.scale)
    if low is None or high is None:
        reported = band is not None and n != 1  # a mean that was reported; one question alone is not a mean
        named = f": {band} by the mean alone ({scale})" if reported else ""
        over = f" over {questions}" if n else ""  # a published mean may not say how many
        sentence = f"{title} is {numbers[0]}{over}{named}; there is no interval, so it decides nothing."
        return Interpretation(band, False, sentence, metric.meaning, scale, mean_alone=reported)
    statement = f"{title} is {numbers[0]} (95 % interval {numbers[1]} to {numbers[2]}, {questions})"
    if bands is None:
        return Interpretation(None, False, f"{statement}.", metric.meaning)
    reached = {bands.at(value) for value in (low, mean, high)}
    sentence = f"{statement}: {_band_text(bands, reached)}."
    return Interpretation(band, len(reached) == 1, sentence, metric.meaning, scale)


def _number(metric: Metric, value: float) -> str:
    digits = 2 if metric.bounds[1] <= 1 else 0 if abs(value) >= 100 else 1
    return f"{value:,.{digits}f}".replace("-", "\u2212")


def _band_text(bands: Bands, reached: set[str]) -> str:
    at = [number for number, name in enumerate(bands.names) if name in reached]
    if len(at) == 1:
        return f"{bands.names[at[0]]} ({bands.scale})"
    limits = " and ".join(f"{edge:.2f}" for edge in sorted(bands.edges[at[0] : at[-1]]))
    return (
        f"{bands.names[at[0]]} or {bands.names[at[-1]]}, too few questions to tell "
        f"(limit {limits}, {bands.scale})"
    )
