"""What the Trend page concludes: what Compare says of the newest version against the baseline."""

from dataclasses import dataclass

from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.dashboard.wording.escaping import in_sentence
from ragtriage.metrics.metric_registry import title_of


@dataclass(frozen=True)
class TrendFacts:
    """The basis of a trend."""

    versions: int  # number of versions on display
    measured: int  # how many of them have the metric on display
    metric: str  # full name of it; "" for none
    pair: Headline | None = None  # of the newest version against the baseline; None without one


def trend_headline(facts: TrendFacts) -> Headline:
    """Return how the newest version compares with the baseline, else why that cannot be said."""
    metric = in_sentence(title_of(facts.metric)) if facts.metric else "the metric"
    if facts.versions < 2:
        detail = "This project has one version. Load the next one on the Runs page"
        return Headline("empty", "A trend needs two runs", detail)
    if not facts.measured:
        detail = "Load runs with scores, or judge one"
        return Headline("not measured", "No version has a metric that can be drawn", detail)
    if facts.measured < 2:
        statement = f"Only one of {facts.versions:,} runs has {metric}"
        return Headline("not measured", statement, "A trend needs two")
    if facts.pair is None:
        detail = "A test needs samples of the baseline and of a version after it; means alone give none"
        return Headline("not measured", "No later version can be tested", detail)
    return facts.pair
