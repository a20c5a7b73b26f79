"""What stands beside a number: its interval, how that was obtained, and its source."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ragtriage.dashboard.wording.escaping import capital
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.metrics.metric_registry import declared, title_of
from ragtriage.metrics.number_text import NOT_MEASURED, count, interval_text, number, percent
from ragtriage.metrics.statistics.intervals import METHODS, Interval


def method_text(method: str, too_few: bool = False) -> str:
    """Return how an interval was obtained, in words, and whether it rests on few questions."""
    return METHODS.get(method, method) + (", few questions" if too_few else "")


def source_text(summary: MetricSummary | None, sources: Mapping[str, int] | None = None) -> str:
    """Return how a number was obtained: its source, or its sources with their counts."""
    counts = sources if summary is None else summary.sources
    if not counts:
        return NOT_MEASURED
    names = ", ".join(f"{name} {n:,}" for name, n in counts.items())
    text = next(iter(counts)) if len(counts) == 1 else names
    if summary is None or summary.raw is None:
        return text
    return f"{text}, corrected by {summary.n_labels:,} random labels (raw {number(summary.raw)})"


def span(value: Interval) -> str:
    """Format a 95 % interval in percent."""
    return f"{percent(value.low)} to {percent(value.high)}"


def methods(values: Sequence[Interval]) -> str:
    """Return how the intervals of a chart were computed."""
    names = dict.fromkeys(METHODS[value.method] for value in values if value.method in METHODS)
    return f"95 %: {', '.join(names)}" if names else ""


def metric_label(metric: str) -> str:
    """Return the title of a metric, with its direction where lower is better."""
    declaration = declared(metric)
    lower_is_better = declaration is not None and declaration.higher_is_better is False
    return f"{capital(title_of(metric))}{' (lower is better)' if lower_is_better else ''}"


def mean_text(summary: MetricSummary | None) -> str:
    """Format a mean over questions with its interval and n."""
    if summary is None or summary.mean is None:
        return NOT_MEASURED
    interval = interval_text(summary.low, summary.high, 3)
    return f"{number(summary.mean, 3)} {interval}, n = {summary.n_scored:,}"


def sampling_text(scored: ScoredRun) -> str:
    """Return of how many calls a run is a sample, and whether they weigh; "" where it is all there is."""
    sampling = scored.sampling
    if sampling is None:
        return ""
    if scored.question_weights is None:
        return f"Sampled: {sampling.share_text}, kept at {percent(sampling.least)}"
    return f"Sampled: {sampling.share_text}, weighted by 1 / rate"


def case_noun(scored: ScoredRun) -> str:
    """Return what a case is called where cases are counted: of a weighted sample one that was kept."""
    return "case" if scored.question_weights is None else "kept call"


def calls_share(share: float | None) -> str:
    """Return the share of all calls that counted cases stand for, in brackets; "" where cases weigh alike."""
    return "" if share is None else f" ({percent(share)} of all calls)"


def finding_counts(severities: Iterable[str]) -> str:
    """Count findings by how much they matter, e.g. "1 error, 2 warnings, 6 notes"."""
    counts = Counter(severities)
    found = [count(counts[word], word) for word in ("error", "warning", "note") if counts[word]]
    return ", ".join(found) or "no findings"
