"""The headline of live traffic: is it still as good, since when, with which release?"""

from __future__ import annotations

from math import inf, isfinite, isnan

from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.dashboard.wording.escaping import capital, shorten
from ragtriage.data.live.alerts.rules import is_fact, nearest_name
from ragtriage.data.live.alerts.states import AlertState, rule_title
from ragtriage.data.live.alerts.states import value_text as value_of_rule
from ragtriage.data.live.policy import DAY
from ragtriage.data.live.production.buckets import SHARES
from ragtriage.data.live.production.facts import FEWEST, Measure, Production
from ragtriage.data.live.production.times import HOUR, clock, day_of
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import (
    NOT_MEASURED,
    count,
    interval_text,
    number,
    percent,
    points,
    signed,
)
from ragtriage.metrics.statistics.intervals import Interval

FIRST_TRACE = Headline(
    "empty",
    "Send a first trace",
    "Start `ragtriage collect`, and send it the spans of your system over OTLP.",
)
TITLES = {"wrongly_refused": "wrongly refused", "refused": "refused", "errors": "errors"}
SUBJECTS = {"wrongly_refused": "wrong refusals", "refused": "refusals", "errors": "errors"}
RELEASE, SHORT = 24, 3  # characters of its name


def measure_title(name: str) -> str:
    """Return the name of a measure as it stands in a sentence."""
    if name.startswith("latency_p"):
        return f"latency {name.removeprefix('latency_')}"
    return TITLES.get(name) or title_of(name)


def in_percent(measure: Measure) -> bool:
    """Return whether a measure is written in percent: a share of which less is better."""
    return measure.name in SHARES or measure.name == "ignored_top_ranked"


def value_text(measure: Measure, value: float | None) -> str:
    """Format a value of a measure."""
    if value is None or not isfinite(value):
        return NOT_MEASURED
    if measure.name.startswith("latency_p"):
        return f"{number(value / 1000, 1)} s" if value >= 1000 else f"{number(value, 0)} ms"
    return percent(value) if in_percent(measure) else number(value)


def ends_text(measure: Measure, value: Interval) -> str:
    """Format the interval of a measure."""
    if not (isfinite(value.low) and isfinite(value.high)):
        return "no interval"
    if in_percent(measure):
        return f"{percent(value.low)} to {percent(value.high)}"
    if measure.name.startswith("latency_p"):
        return f"{value_text(measure, value.low)} to {value_text(measure, value.high)}"
    return interval_text(value.low, value.high)


def change_text(measure: Measure) -> str:
    """Format the change of a measure since before; "" where it is not known."""
    change = measure.change
    if change is None:
        return ""
    if in_percent(measure):
        return points(change.value)
    if measure.name.startswith("latency_p"):
        return f"{signed(change.value / 1000, 1)} s"
    return signed(change.value)


def since_text(facts: Production) -> str:
    """Return since when the later part is, as "since 18:45"."""
    return f"since {clock(facts.times.later, facts.times.last - facts.times.first)}"


def distance(alert: AlertState, facts: Production) -> float:
    """Return how far beyond its limit the measure of an alert is: as it is for a share, else as a ratio."""
    measure = facts.measure(alert.rule.metric)
    latest = alert.latest
    value = measure.since.mean if measure is not None else inf if latest is None else latest.value
    limit = alert.rule.limit
    if limit is None or isnan(value):
        return 0.0
    beyond = value - limit if alert.rule.at_most is not None else limit - value
    bounded = measure is not None and not measure.name.startswith("latency_p")
    return beyond if bounded else beyond / max(abs(limit), 1e-9)


def production_headline(facts: Production) -> Headline:
    """Conclude: judge silent, alerts by distance, drift, what no rule watches, too few, good."""
    firing = [alert for alert in facts.alerts if alert.state == "firing"]
    judge = next((alert for alert in firing if alert.rule.silent == "judge"), None)
    traffic = next((alert for alert in firing if alert.rule.silent == "traffic"), None)
    by_metric = sorted(
        (alert for alert in firing if alert.rule.metric), key=lambda alert: -distance(alert, facts)
    )
    drifts = [alert for alert in firing if alert.rule.drift]
    worse = next((each for each in facts.measures if each.is_worse and each.rule is None), None)
    if judge is not None:
        statement = f"The judge has been silent since {_clock(facts, judge.since)}: no kept call is judged"
    elif traffic is not None:
        statement = f"No calls since {_clock(facts, traffic.since)}"
    elif by_metric:
        statement = _alert_statement(by_metric[0], facts)
    elif drifts:
        statement = _drift_statement(drifts[0], facts)
    elif worse is not None:
        statement = _moved(worse, facts)
    else:
        return _quiet(facts, facts.score)
    return Headline("bad", statement, _detail(facts), _doubt(facts))


def _clock(facts: Production, moment: float) -> str:
    return clock(moment, facts.times.last - facts.times.begin)


def _alert_statement(alert: AlertState, facts: Production) -> str:
    measure = facts.measure(alert.rule.metric)
    if measure is None:
        return f"{capital(rule_title(alert.rule))} firing since {_clock(facts, alert.since)}"
    if measure.is_worse:
        return _moved(measure, facts)
    limit = value_text(measure, measure.limit)
    subject = capital(SUBJECTS.get(measure.name) or measure_title(measure.name))
    verb = "are" if measure.name in SUBJECTS else "is"
    side = "above" if alert.rule.at_most is not None else "below"
    return f"{subject} {verb} at {value_text(measure, measure.since.mean)}, {side} the limit of {limit}"


def _moved(measure: Measure, facts: Production) -> str:
    """Return what moved from where to where, with the release that it moved with."""
    subject = capital(SUBJECTS.get(measure.name) or measure_title(measure.name))
    before = mean_before(measure)
    verb = "rose" if measure.since.mean > before else "fell"
    start, end = value_text(measure, before), value_text(measure, measure.since.mean)
    if start.endswith(" %") and end.endswith(" %"):
        start = start.removesuffix(" %")
    release = facts.times.release
    when = f"with {release_text(release)}" if release else since_text(facts)
    return f"{subject} {verb} from {start} to {end} {when}"


def release_text(release: str) -> str:
    """Return a release as it stands in a sentence: a short name or a number says that it is one."""
    bare = len(release) <= SHORT or release[0].isdigit()
    return f"{'release ' if bare else ''}{shorten(release, RELEASE)}"


def mean_before(measure: Measure) -> float:
    """Return the mean before; NaN where it is not known."""
    return measure.before.mean if measure.before is not None else float("nan")


def _drift_statement(alert: AlertState, facts: Production) -> str:
    if alert.rule.drift == "topics":
        moved = "" if alert.latest is None else f": {percent(alert.latest.value)} of the calls moved"
        return f"Question topics shifted at {_clock(facts, alert.since)}{moved}"
    subject = capital(alert.rule.drift.replace("_", " "))
    return f"{subject} have drifted since {_clock(facts, alert.since)}"


def _not_told(facts: Production) -> str:
    """Return what the rules cannot tell: a value beyond a limit, too few calls, no data; "" for nothing."""
    unclear = next((alert for alert in facts.alerts if alert.state == "unclear"), None)
    few = next((alert for alert in facts.alerts if alert.state == "cannot_tell"), None)
    if unclear is not None and unclear.latest is not None:
        title, at = capital(rule_title(unclear.rule)), _clock(facts, unclear.latest.first)
        return f"{title}: {unclear_text(unclear)} in the {at} window"
    if few is not None and few.latest is not None:
        judged = "judged call" if few.rule.metric and not is_fact(few.rule) else "call"
        return (
            f"Only {count(few.latest.n, judged)} in the {_clock(facts, few.latest.first)} window: "
            "too few to tell"
        )
    blind = [alert for alert in facts.alerts if alert.state in ("no_data", "cannot_tell")]
    if not blind:
        return ""
    have = "has" if len(blind) == 1 else "have"
    total = count(len(facts.alerts), "rule")
    return f"{len(blind)} of {total} {have} no data: {rule_title(blind[0].rule)}, {no_data_text(blind[0])}"


def unclear_text(alert: AlertState) -> str:
    """Return how a rule that does not fire is beyond its limit: by the value alone, or in too few windows."""
    latest, rule = alert.latest, alert.rule
    if latest is None or latest.position == "beyond":
        return f"beyond the limit, not yet in {count(rule.windows, 'window')} in a row"
    side = "above" if rule.at_most is not None else "below"
    return f"{value_of_rule(rule, latest.value)} is {side} the limit, not beyond chance"


def no_data_text(alert: AlertState) -> str:
    """Return why a rule has no data."""
    if alert.rule.drift:
        return "too few windows to compare with"
    if alert.rule.silent:
        return "nothing to judge" if alert.rule.silent == "judge" else "no whole window"
    near = nearest_name(alert.rule.metric)
    return f"no call has it; did you mean {near}?" if near else "no call has it"


def _quiet(facts: Production, scored: Measure | None) -> Headline:
    """Conclude where no alert fires and nothing is worse beyond chance."""
    detail, doubt = _detail(facts), _doubt(facts)
    if failing := _failing(facts):
        return Headline("bad", failing, detail, doubt)
    unclear = any(alert.state == "unclear" for alert in facts.alerts)
    if not unclear and (scored is None or not facts.judged):
        said = "" if facts.kept else " No call is kept."
        return Headline("not measured", "Traffic only: nothing is judged", f"{detail}{said}", doubt)
    if not_told := _not_told(facts):
        return Headline("cannot tell", not_told, detail, doubt)
    if scored is not None and scored.since.n_scored < FEWEST:
        statement = f"{count(scored.since.n_scored, 'judged call')} {since_text(facts)}: too few to tell"
        return Headline("cannot tell", statement, detail, doubt)
    span = span_text(facts.times.last - facts.times.first)
    judged = f"{facts.judged:,} judged"
    if not facts.alerts:
        statement = f"Nothing got worse beyond chance in {span}, {judged}; no rule watches it"
        return Headline("cannot tell", statement, detail, doubt)
    return Headline("good", f"No alert in {span}, {judged}", detail, doubt)


def _failing(facts: Production) -> str:
    """Return what no rule watches and most calls have: an error or a refusal; "" for neither."""
    said = {"errors": ("call", "failed"), "refused": ("call", "were refused")}
    said["wrongly_refused"] = ("answerable call", "were wrongly refused")
    for name, (noun, verb) in said.items():
        measure = facts.measure(name)
        if measure is None or measure.rule is not None or not measure.since.n_scored:
            continue
        n = measure.since.n_scored
        hits = round(measure.since.mean * n)
        if hits > n / 2 and (n >= FEWEST or hits == n):
            return f"{hits:,} of {count(n, noun)} {since_text(facts)} {verb}"
    return ""


def span_text(seconds: float) -> str:
    """Format a length of time."""
    if seconds % DAY == 0 and seconds > DAY:
        return count(round(seconds / DAY), "day")
    return count(round(seconds / HOUR), "hour") if seconds >= HOUR else f"{seconds / 60:.0f} minutes"


def _detail(facts: Production) -> str:
    """Return the numbers: refusals since, the score with its change, and the context of refusals."""
    fault = facts.policy.fault
    return (
        f"{_numbers(facts)} No rule is applied, as the policy is wrong: {fault}" if fault else _numbers(facts)
    )


def _numbers(facts: Production) -> str:
    parts = []
    refusals, score = facts.refusals, facts.score
    if refusals is not None and refusals.since.n_scored:
        n = refusals.since.n_scored
        noun = "answerable call" if refusals.name == "wrongly_refused" else "call"
        hits = round(refusals.since.mean * n)
        parts.append(f"{hits:,} of {count(n, noun)} {since_text(facts)} were refused")
    if score is not None and score.since.n_scored:
        name = measure_title(score.name)
        if score.change is not None and score.change.is_change:
            parts.append(f"{name.lower()} changed by {change_text(score)} {_ends_of_change(score)}")
        else:
            parts.append(
                f"{name.lower()} {value_text(score, score.since.mean)} {ends_text(score, score.since)}"
            )
    sentence = "; ".join(parts)
    share, n = facts.context_had_it
    wrong = "wrong refusals" if refusals is not None and refusals.name == "wrongly_refused" else "refusals"
    had = (
        f" In {percent(share)} of the {n:,} {wrong} that are kept the context had the answer."
        if n >= FEWEST
        else ""
    )
    return (
        f"{sentence}.{had}" if sentence else f"{count(facts.calls, 'call')}, of which no answer is recorded."
    )


def _ends_of_change(measure: Measure) -> str:
    """Format the interval of a change that is known."""
    if measure.change is None:
        return ""
    scale, digits = (100.0, 0) if in_percent(measure) else (1.0, 2)
    low, high = (signed(scale * end, digits) for end in (measure.change.low, measure.change.high))
    return f"[{low}, {high}]"


def _doubt(facts: Production) -> str:
    if not facts.others_since:
        return ""
    return f"{count(facts.others_since, 'call')} {since_text(facts)} are still of another release"


def band_facts(facts: Production) -> list[str]:
    """Return calls, time and sample, each a line of plain text."""
    times, traffic = facts.times, facts.traffic
    span = times.last - times.first
    there = [at for at, n in enumerate(traffic.calls.tolist()) if n]
    first, last = (there[0], there[-1] + 1) if there else (0, len(traffic.calls))
    begin, end = (times.first + at * times.piece for at in (first, last))
    day = f"{day_of(begin)}, " if span <= DAY else ""
    shown = f"{day}{clock(begin, span)} to {clock(end, span)} UTC"
    kept = f" ({percent(facts.judged / facts.calls)})" if facts.calls else ""
    weighted = ", weighted" if any(each.stratum.rate < 1 for each in facts.sampling.strata) else ""
    silent = f" · {_silence_text(facts)}" if traffic.silent else ""
    return [
        f"{count(facts.calls, 'call')} · {shown}",
        f"{facts.judged:,} judged{kept}{weighted}{silent}",
    ]


def _silence_text(facts: Production) -> str:
    """Return how long no call came, as "13 silent minutes, no silent window"."""
    seconds, n = facts.times.piece, facts.traffic.silent
    long = f"{seconds // 60} min" if seconds < HOUR else f"{seconds // HOUR} h"
    said = count(n, "silent minute") if seconds == 60 else f"{n:,} × {long} silent"
    rule = next((each for each in facts.alerts if each.rule.silent == "traffic"), None)
    silent = rule is None or any(each.window.position == "beyond" for each in rule.windows)
    return said if silent else f"{said}, no silent window"
