"""The facts of live traffic as JSON values, null where nothing is known."""

from __future__ import annotations

from math import isfinite
from typing import Any

from ragtriage.data.live.alerts.states import AlertState, rule_title
from ragtriage.data.live.production.facts import Measure, Production
from ragtriage.data.live.production.times import iso
from ragtriage.metrics.schema.scores import finite_or_none
from ragtriage.metrics.statistics.intervals import Interval


def production_dict(facts: Production) -> dict[str, Any]:
    """Return the facts as JSON values; times are UTC."""
    times, sampling = facts.times, facts.sampling
    return {
        "project": facts.project,
        "from": iso(times.first),
        "to": iso(times.last),
        "step_seconds": times.step,
        "compared_from": iso(times.begin),
        "since": iso(times.later),
        "release": times.release or None,
        "calls": facts.calls,
        "calls_since": facts.calls_since,
        "calls_before": facts.calls_before,
        "calls_of_other_releases_since": facts.others_since,
        "users": facts.users or None,
        "kept": facts.kept,
        "judged": facts.judged,
        "kept_without_run": facts.unpublished,
        "silent_pieces": facts.traffic.silent,
        "measures": [_measure(each, facts) for each in facts.measures],
        "topics": _topics(facts),
        "alerts": [_alert(each) for each in facts.alerts],
        "to_label": [
            {
                "question": row.question,
                "calls": row.calls,
                "refused": row.refused,
                "context_complete": row.context_complete,
                "before": finite_or_none(row.before),
                "trace_id": row.trace_id or None,
            }
            for row in facts.to_label
        ],
        "sampling": {
            "strata": [
                {
                    "stratum": each.stratum.name,
                    "rate": each.stratum.rate,
                    "calls": each.stratum.calls,
                    "kept": each.stratum.kept,
                    "judged": each.judged,
                }
                for each in sampling.strata
            ],
            "metric": sampling.metric or None,
            "weighted": finite_or_none(sampling.weighted),
        },
        "policy": facts.policy.source,
        "taken_out": dict(facts.taken_out),
        "losses": dict(facts.losses),
        "origin": facts.origin or None,
    }


def _measure(measure: Measure, facts: Production) -> dict[str, Any]:
    change = measure.change
    steps = zip(facts.times.steps, measure.steps, strict=False)
    return {
        "name": measure.name,
        "of": "all calls" if measure.of_all else "kept calls, weighted by 1 / rate",
        **_interval(measure.since),
        "before": None if measure.before is None else _interval(measure.before),
        "change": None if change is None else [change.value, change.low, change.high],
        "worse": measure.is_worse,
        "at_most": None if measure.rule is None else measure.rule.at_most,
        "at_least": None if measure.rule is None else measure.rule.at_least,
        "steps": [{"from": iso(first), **_interval(value)} for (first, _), value in steps],
    }


def _interval(value: Interval) -> dict[str, Any]:
    return {
        "value": finite_or_none(value.mean),
        "low": finite_or_none(value.low),
        "high": finite_or_none(value.high),
        "n": value.n_scored,
        "effective_n": value.n_effective,
    }


def _topics(facts: Production) -> dict[str, Any] | None:
    topics = facts.topics
    if topics is None:
        return None
    return {
        "change": topics.change,
        "rate_part": topics.by_rate,
        "mix_part": topics.by_mix,
        "mix_p": finite_or_none(topics.mix.p),
        "rows": [
            {
                "topic": row.name,
                "before": finite_or_none(row.before),
                "since": finite_or_none(row.since),
                "calls_before": row.calls_before,
                "calls_since": row.calls_since,
                "adds": row.adds,
            }
            for row in topics.rows
        ],
    }


def _alert(alert: AlertState) -> dict[str, Any]:
    latest = alert.latest
    return {
        "rule": rule_title(alert.rule),
        "state": alert.state,
        "since": iso(alert.since) if isfinite(alert.since) else None,
        "value": None if latest is None else finite_or_none(latest.value),
        "low": None if latest is None else finite_or_none(latest.low),
        "high": None if latest is None else finite_or_none(latest.high),
        "calls": None if latest is None else latest.n,
        "windows_beyond": sum(each.window.position == "beyond" for each in alert.windows),
        "windows": len(alert.windows),
    }
