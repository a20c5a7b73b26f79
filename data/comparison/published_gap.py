"""How much of the gap to a published result the conditions explain, by rows that differ in one alone."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from ragtriage.data.comparison.published_results import PublishedRow, PublishedTable
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.data.store.workspace import Run, flat_settings

QUESTIONS, LANGUAGE = "questions", "language"


@dataclass(frozen=True)
class Condition:
    """A condition under which both sides were measured."""

    name: str  # questions, language, or what the row names, as model, retriever, corpus_size
    ours: str  # "" where it is not recorded
    published: str

    @property
    def alike(self) -> bool | None:
        """Whether both sides have the same; None where one is not recorded."""
        return self.ours.casefold() == self.published.casefold() if self.ours and self.published else None


@dataclass(frozen=True)
class ConditionEffect:
    """What a condition changes in one metric, by the published rows that differ in it alone."""

    condition: str
    pairs: int  # of rows; 0 where the table has none: then the effect is not known
    smallest: float  # difference of a pair, without its sign; NaN with no pair
    largest: float
    low: float  # expected of ours less published: both ends alike where the table has the row with our level,
    high: float  # else as far as the largest difference in either direction; NaN with no pair


@dataclass(frozen=True)
class ExplainedGap:
    """The gap of one metric: real, and expected from the conditions."""

    metric: str
    real: float  # our mean less the published one
    low: float | None  # ends of our interval less the published mean; None without one
    high: float | None
    effects: tuple[ConditionEffect, ...]  # of each condition that differs or is not recorded

    @property
    def explained(self) -> tuple[float, float]:
        """Least and most of the gap, on the scale of the metric, that the known effects add up to."""
        sign = -1.0 if self.real < 0 else 1.0
        ends = [(sign * effect.low, sign * effect.high) for effect in self.effects if effect.pairs]
        least, most = (sum(choose(pair) for pair in ends) for choose in (min, max))
        size = abs(self.real)
        return min(max(least, 0.0), size), min(max(most, 0.0), size)


def conditions_of(
    run: Run, languages: Sequence[str], table: PublishedTable, against: PublishedRow
) -> list[Condition]:
    """Return the conditions of our run and of a published row.

    Args:
        run: ours; a setting is a condition of the row by the name that the row gives it.
        languages: of its questions.
        table: the published one.
        against: the row of it that ours is compared with.
    """
    settings = {path.casefold(): value for path, value in flat_settings(run.config).items()}

    def setting(*names: str) -> str:
        listed = [(path, value) for path, value in settings.items() if set(names) & set(path.split("."))]
        return ", ".join(str(value) if len(listed) == 1 else f"{path} {value}" for path, value in listed)

    spoken = ", ".join(languages)
    named = [
        Condition(name, spoken if name == LANGUAGE else setting(name.casefold()), published)
        for name, published in against.conditions.items()
    ]
    unnamed = [Condition("model and retriever", setting("model", "retriever"), against.name)]
    return [
        Condition(QUESTIONS, run.dataset, table.dataset),
        *(named or unnamed),
        *([] if LANGUAGE in against.conditions else [Condition(LANGUAGE, spoken, table.language)]),
    ]


def explained_gaps(
    ours: Mapping[str, MetricSummary],
    conditions: Sequence[Condition],
    table: PublishedTable,
    against: PublishedRow,
) -> list[ExplainedGap]:
    """Return the gap of each shared metric with what the conditions that are not alike may change in it."""
    open_conditions = [condition for condition in conditions if not condition.alike]
    gaps = []
    for metric, summary in ours.items():
        published = against.values.get(metric)
        if published is None or summary.mean is None:
            continue
        effects = tuple(_effect(condition, metric, table.rows, against) for condition in open_conditions)
        low, high = (None if end is None else end - published for end in (summary.low, summary.high))
        gaps.append(ExplainedGap(metric, summary.mean - published, low, high, effects))
    return gaps


def _effect(
    condition: Condition, metric: str, rows: Sequence[PublishedRow], against: PublishedRow
) -> ConditionEffect:
    pairs = list(_one_apart(condition.name, [row for row in rows if metric in row.values]))
    if not pairs:
        return ConditionEffect(condition.name, 0, *[float("nan")] * 4)
    sizes = [abs(first.values[metric] - second.values[metric]) for first, second in pairs]
    others = [second if first == against else first for first, second in pairs if against in (first, second)]
    same = next(
        (row for row in others if row.conditions[condition.name].casefold() == condition.ours.casefold()),
        None,
    )
    low, high = (-max(sizes), max(sizes))
    if same is not None:
        low = high = same.values[metric] - against.values[metric]
    return ConditionEffect(condition.name, len(pairs), min(sizes), max(sizes), low, high)


def _one_apart(name: str, rows: Sequence[PublishedRow]) -> Iterator[tuple[PublishedRow, PublishedRow]]:
    """Yield the pairs of rows that state the same conditions and differ in one of them alone."""
    for first, second in combinations(rows, 2):
        one, other = first.conditions, second.conditions
        if one.keys() == other.keys() and [key for key in one if one[key] != other[key]] == [name]:
            yield first, second
