"""What the Benchmarks page concludes: where the means of a run lie on a scale of target bands."""

from collections.abc import Sequence
from dataclasses import dataclass

from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.dashboard.wording.escaping import capital, in_sentence, shorten
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.metrics.analysis.bands import Bands
from ragtriage.metrics.metric_registry import bounds_of, is_share, title_of
from ragtriage.metrics.number_text import count, number, percent

LONGEST_NAME = 28
GOOD = "good"
ROUNDING = 1e-9


@dataclass(frozen=True)
class BandStanding:
    """Where the mean of one metric lies on its bands."""

    metric: str  # full name
    mean: float  # on the scale of the metric
    bands: Bands  # of the scale in use
    # the bands that its interval touches, worst first; that of the mean where it has no interval
    reached: tuple[str, ...]
    n: int  # questions behind it; 0 where only the mean was reported
    doubted: bool = False  # whether a check says that the figure cannot be right
    # whether the mean is outside the bounds of the metric; such a figure is in no band
    impossible: bool = False

    @property
    def below(self) -> bool:
        """Return whether all of it lies in the lowest band."""
        return not self.impossible and self.reached == self.bands.names[:1]

    @property
    def good(self) -> bool:
        """Return whether all of it lies in the band named good, or better."""
        return not self.impossible and (
            self.bands.names.index(self.reached[0]) >= self.bands.names.index(GOOD)
        )

    @property
    def missing(self) -> float:
        """How far the mean is from leaving the lowest band, on the scale of the metric; 0 where it has."""
        if self.impossible:
            return 0.0
        sign = -1.0 if self.bands.edges[0] > self.bands.edges[-1] else 1.0
        return max(0.0, sign * (self.bands.edges[0] - self.mean))


def standings_of(
    ours: dict[str, MetricSummary], bands: dict[str, Bands], doubted: frozenset[str] = frozenset()
) -> list[BandStanding]:
    """Return where our means lie, the furthest off first; bands that judge nothing are left out.

    Args:
        ours: the measured means of a run.
        bands: by metric, of the scale in use.
        doubted: metrics that a check says cannot be right.
    """
    standings = []
    for name, scale in bands.items():
        summary = ours.get(name)
        if summary is None or summary.mean is None or GOOD not in scale.names:
            continue
        values = [value for value in (summary.low, summary.mean, summary.high) if value is not None]
        reached = {scale.at(value) for value in values}
        ordered = tuple(band for band in scale.names if band in reached)
        low, high = bounds_of(name)
        impossible = not low - ROUNDING <= summary.mean <= high + ROUNDING  # NaN is impossible too
        cannot_be = impossible or name in doubted
        standings.append(
            BandStanding(name, summary.mean, scale, ordered, summary.n_scored, cannot_be, impossible)
        )
    return sorted(standings, key=lambda standing: (not standing.missing, -standing.missing))


def benchmark_headline(
    name: str, standings: Sequence[BandStanding], doubts: Sequence[str] = (), asked: int = 0
) -> Headline:
    """Return where a run stands.

    Args:
        name: of the run.
        standings: where its means lie, the furthest off first.
        doubts: what the checks say cannot be right about them.
        asked: questions of the run; 0 where only means were reported.
    """
    doubt = "; ".join(doubts)
    if not standings:
        detail = (
            "Targets and published results rest on the claims of answers and references, as RAGChecker "
            "writes them or a judge labels them"
        )
        return Headline("not measured", "No published metric is measured here", detail, doubt)
    name, total = shorten(name, LONGEST_NAME), len(standings)
    targets = "the one target" if total == 1 else f"all {total} targets"
    below = [standing for standing in standings if standing.below]
    good = [standing for standing in standings if standing.good]
    unclear = [standing for standing in standings if len(standing.reached) > 1 and not standing.good]
    impossible = [standing for standing in standings if standing.impossible]
    unclear = [standing for standing in unclear if not standing.impossible]
    basis = _basis(standings, asked)
    if below:
        doubted = all(standing.doubted for standing in below)
        of = "the one target" if total == 1 else f"{len(below)} of {total} targets"
        lowest = below[0].bands.names[0]
        where = "below the minimum" if below[0].bands.names[1] == "minimum" else lowest
        detail = f"Furthest off: {_distance(below[0])}. {basis}"
        return Headline("doubted" if doubted else "bad", f"{name} is {where} on {of}", detail, doubt)
    if impossible:
        has = "has an impossible value" if len(impossible) == 1 else "have impossible values"
        of = "the one target" if total == 1 else f"{len(impossible)} of {total} targets"
        detail = f"{capital(_named(impossible))}: outside the values that the metric can take. {basis}"
        return Headline("doubted", f"{name}: {of} {has}", detail, doubt)
    if unclear:
        on = targets if len(unclear) == total else f"{len(unclear)} of {total} targets"
        are = "is" if len(unclear) == 1 else "are"
        statement = f"{name}: {on} {are} undecided"
        detail = f"{capital(_named(unclear))}: the interval spans several bands. {basis}"
        return Headline("doubted" if doubt else "cannot tell", statement, detail, doubt)
    if len(good) == total:
        statement = f"{name} is in the good band on {targets}"
        return Headline("doubted" if doubt else "good", statement, basis, doubt)
    lacking = [standing for standing in standings if not standing.good]
    statement = f"{name} is in the good band on {len(good)} of {total} targets"
    detail = f"Between the lowest band and good: {_named(lacking)}. {basis}"
    return Headline("doubted" if doubt else "good", statement, detail, doubt)


def _named(standings: Sequence[BandStanding]) -> str:
    names = [in_sentence(title_of(standing.metric)) for standing in standings]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{', '.join(names[:3])}{more}"


def _distance(standing: BandStanding) -> str:
    edge = standing.bands.edges[0]
    ours, needed = (_shown(standing.metric, value) for value in (standing.mean, edge))
    lower = standing.bands.edges[0] > standing.bands.edges[-1]
    word = standing.bands.names[1]
    return (
        f"{in_sentence(title_of(standing.metric))} {ours}, {word} {'at most' if lower else 'from'} {needed}"
    )


def _shown(metric: str, value: float) -> str:
    return percent(value) if is_share(metric) else number(value, 2)


def _basis(standings: Sequence[BandStanding], asked: int) -> str:
    sizes = sorted({standing.n for standing in standings})
    if sizes == [0]:
        return "Reported means without samples: no interval, no test"
    sampled = [size for size in sizes if size]
    least = "" if len(sampled) == 1 else f"{sampled[0]:,} to "
    measured = f"{least}{count(sampled[-1], 'question')}"
    if sampled[0] < asked:
        measured = (
            f"{least}{sampled[-1]:,} of {count(asked, 'question')}, those with a value for these targets"
        )
    return f"n = {measured}; bands judged by the whole 95 % interval"
