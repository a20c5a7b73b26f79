"""A judge that passes what people fail: a doubt on every number that rests on it."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ragtriage.data.scoring.grouping import NOT_GIVEN
from ragtriage.data.scoring.label_correction import FEWEST_RATED, rated_values
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.text.language import language_name
from ragtriage.metrics.diagnosis.patterns import CaseThresholds
from ragtriage.metrics.metric_registry import declared, is_share, title_of
from ragtriage.metrics.number_text import count, interval_text, number
from ragtriage.metrics.sanity.rule import Finding
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, Source
from ragtriage.metrics.statistics.agreement import misses_bad, rate_intervals
from ragtriage.metrics.statistics.intervals import Interval

WEAK_JUDGE = "weak_judge"
FEWEST_BAD = 5  # of a run or a slice that people call bad: with fewer the judge is not judged
SLICES = ("language", "query_type")
_SAME_LABELS = {"faithfulness": ("ungrounded", "hallucination", "self_knowledge")}


@dataclass(frozen=True)
class _Part:
    """The judge on the rated samples of a run, or of a slice of it."""

    where: str  # "" for the whole run, else such as "in Finnish"
    threshold: float  # below it an answer is bad
    rows: BoolArray
    fails: Interval  # share of what people fail that the judge fails

    @property
    def weak(self) -> bool:
        return misses_bad(self.fails)


def weak_judges(scored: ScoredRun) -> list[Finding]:
    """Return a finding for each judged metric, or slice of it, that people's ratings do not bear out.

    Where the judge holds in one slice and not in another, the doubt is on that slice alone.
    """
    findings: list[Finding] = []
    for metric in scored.metrics:
        parts = _judge_in_parts(scored, metric)
        slices = [part for part in parts if part.where]
        if any(not part.weak for part in slices):
            parts = slices
        elif parts and not parts[0].where:
            parts = parts[:1]
        holds = [part.where for part in parts if part.where and not part.weak]
        findings += [_finding(metric, part, holds) for part in parts if part.weak]
    return findings


def _judge_in_parts(scored: ScoredRun, metric: str) -> list[_Part]:
    """Return the judge on the run, then by language and query type, where enough is rated."""
    declaration = declared(metric)
    if Source.JUDGED not in scored.sources[metric] or not declaration or not is_share(metric):
        return []
    people = _people(scored, metric)
    if people is None or declaration.higher_is_better is not True:
        return []
    column = scored.column(metric, Source.JUDGED)
    if column is None:
        return []
    threshold = getattr(CaseThresholds(), metric, 0.5)
    both = np.isfinite(column.values) & np.isfinite(people)
    parts = []
    for where, rows in [("", np.ones(scored.n, dtype=np.bool_)), *_slices(scored)]:
        rated = both & rows
        good = people[rated] >= threshold - 1e-9
        if rated.sum() >= FEWEST_RATED and (~good).sum() >= FEWEST_BAD:
            clusters = scored.clusters[scored.question][rated]
            fails = rate_intervals(column.values[rated] >= threshold - 1e-9, good, clusters)[1]
            parts.append(_Part(where, threshold, rows, fails))
    return parts


def _people(scored: ScoredRun, metric: str) -> FloatArray | None:
    """(n,) what people say of a metric: rated in this workspace, else in the file; None without any."""
    if (rated := rated_values(scored, metric)) is not None:
        return rated
    column = scored.column(metric, Source.HUMAN) if Source.HUMAN in scored.sources[metric] else None
    return None if column is None else column.values


def _slices(scored: ScoredRun) -> Iterator[tuple[str, BoolArray]]:
    for group in scored.slices:
        if group.name in SLICES:
            for code, label in enumerate(group.labels):
                if label != NOT_GIVEN:
                    language = group.name == "language"
                    where = f"in {language_name(label)}" if language else f"on {label} questions"
                    yield where, group.codes == code


def _finding(metric: str, part: _Part, holds: list[str]) -> Finding:
    bad, title = part.fails.n_scored, title_of(metric)
    name = title[:1].lower() + title[1:]
    failed = round(part.fails.mean * bad)
    where = f" {part.where}" if part.where else ""
    elsewhere = f" It holds {', '.join(holds)}." if holds else ""
    return Finding(
        WEAK_JUDGE,
        "warning",
        f"The judge of {name} passes bad answers{where}",
        f"Of {count(bad, 'answer')}{where} that people rate below {part.threshold:g}, "
        f"the judge of {name} fails {failed:,} ({number(part.fails.mean)} "
        f"{interval_text(part.fails.low, part.fails.high)}): a pass by it says little."
        f"{elsewhere} Correct the mean by labels of a random sample, or use another judge.",
        (("true negative rate", part.fails.mean), ("answers people call bad", bad)),
        int(part.rows.sum()),
        tuple(np.flatnonzero(part.rows).tolist()) if part.where else (),
        (metric, *_SAME_LABELS.get(metric, ())),
    )
