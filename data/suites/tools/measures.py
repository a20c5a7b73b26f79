"""The measures of tool calls over a run: each a mean over questions with its interval, and its counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.suites.summary import rate_values
from ragtriage.data.suites.tools.calls import CallChecks
from ragtriage.data.suites.tools.cohorts import call_cohort
from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.statistics.intervals import Interval, mean_over_questions
from ragtriage.metrics.statistics.question_means import question_means


@dataclass(frozen=True)
class CallMeasure:
    """One measure.

    Attributes:
        key: of the measure in JSON.
        title: on screen.
        hits: of `total`, counted over all checks.
        total: what is counted.
        share: hits / total of each sample, as a mean over questions.
        cohort: the cases that lower it.
    """

    key: str
    title: str
    hits: int
    total: int
    share: Interval
    cohort: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"measure": self.key, "hits": self.hits, "total": self.total, **rate_values(self.share)}


def call_measures(scored: ScoredRun, checks: CallChecks) -> list[CallMeasure]:
    """Return the measures that some check of a run allows."""
    measures = [_measure(scored, checks, *row) for row in (*_choice_rows(checks), *_content_rows(checks))]
    return [measure for measure in measures if measure.total]


_Row = tuple[str, str, FloatArray, FloatArray, str]  # key, title, hits, totals, cohort


def _choice_rows(checks: CallChecks) -> list[_Row]:
    """Return what is measured of the calls: which were made, with which arguments, in which order."""
    wanted, called, hits = checks.counts("expected"), checks.counts("called"), checks.counts("hits")
    missing, needless = checks.counts("missing"), checks.counts("needless")
    exact = _where(np.isfinite(missing), (missing == 0) & ~(needless > 0))
    one = np.ones(len(checks.details))
    called_if_wanted = _where(np.isfinite(checks.counts("wants_call")), called > 0)
    arguments = checks.counts("right"), checks.counts("pairs")
    fits = checks.counts("schema_fits"), checks.counts("schema_calls")
    return [
        ("selection", "Exactly the expected tools called", exact, one, "selection"),
        ("recall", "Expected calls that were made", hits, wanted, "missing"),
        ("precision", "Calls made that were expected", hits, called, "needless"),
        ("arguments", "Calls with right arguments", *arguments, "arguments"),
        ("schema", "Calls whose arguments fit the schema", *fits, "arguments"),
        ("irrelevance", "No call where none is right", _where(wanted == 0, called == 0), one, "unwanted"),
        ("relevance", "A call where one is right", called_if_wanted, one, "silent"),
        ("order", "Calls in the expected order", checks.counts("in_order"), one, "order"),
        ("common_sequence", "Expected calls in order", checks.counts("common"), wanted, "order"),
    ]


def _content_rows(checks: CallChecks) -> list[_Row]:
    """Return what is measured of the values in the calls and of their results."""
    values, identifiers = checks.counts("values"), checks.counts("identifiers")
    invented, results = checks.counts("invented_identifiers"), checks.counts("results")
    found = identifiers - invented
    return [
        ("identifiers_found", "Identifiers found in what was read", found, identifiers, "invented"),
        (
            "values_found",
            "Other values found in what was read",
            values - identifiers - (checks.counts("not_found") - invented),
            values - identifiers,
            "inferred",
        ),
        (
            "results",
            "Results that are no error",
            results - checks.counts("error_results"),
            results,
            "error_results",
        ),
        (
            "filled_results",
            "Results that hold something",
            results - checks.counts("empty_results"),
            results,
            "empty_results",
        ),
    ]


def _where(applies: Any, values: Any) -> FloatArray:
    return np.where(applies, np.asarray(values, dtype=np.float64), np.nan)


def _measure(
    scored: ScoredRun,
    checks: CallChecks,
    key: str,
    title: str,
    hits: FloatArray,
    totals: FloatArray,
    cohort: str,
) -> CallMeasure:
    counted = np.isfinite(hits) & np.isfinite(totals)
    kept, of = np.where(counted, hits, 0.0), np.where(counted, totals, 0.0)
    sums = np.bincount(checks.sample, weights=kept, minlength=scored.n)
    total = np.bincount(checks.sample, weights=of, minlength=scored.n)
    shares = np.divide(sums, total, out=np.full(scored.n, np.nan), where=total > 0)
    share = share_over_questions(scored, shares)
    return CallMeasure(key, title, int(kept.sum()), int(of.sum()), share, call_cohort(cohort))


def share_over_questions(scored: ScoredRun, shares: FloatArray) -> Interval:
    """Return the mean over questions of (n,) shares of samples, repeats averaged first, with its interval."""
    return mean_over_questions(question_means(shares, scored.question)[0], scored.clusters)
