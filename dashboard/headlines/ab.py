"""The headline of a live test: which arm, whether it may stop, and what it costs."""

from __future__ import annotations

import re
from math import isfinite

from ragtriage.dashboard.headlines.headline import Headline, State
from ragtriage.dashboard.wording.escaping import capital, shorten
from ragtriage.data.ab.ab_test import ArmResult, LiveTest, MetricResult
from ragtriage.metrics.number_text import NOT_MEASURED, count, number, p_value, percent, signed
from ragtriage.metrics.statistics.power import units_per_arm

NAME, METRIC = 22, 30
UNIT = re.compile(r"(?<=[a-z])_(ms|s|seconds)$", re.IGNORECASE)  # the unit at the end of a column's name
COMPLETES = ("task completed", "completed")
FIRST_TEST = Headline(
    "empty",
    "Start a first test",
    "Assign users with ragtriage.assign, record what they do, and give the file to `ragtriage ab`.",
)
NOT_RANDOMISED = "nobody was assigned to an arm at random: who is in it may have changed, too"


def metric_title(name: str) -> str:
    """Return the name of a metric as it stands in a sentence."""
    words = " ".join(UNIT.sub("", name).replace("_", " ").split())
    return "NPS" if words.lower() in ("nps", "nps score") else shorten(words, METRIC)


def value_text(metric: MetricResult, value: float | None) -> str:
    """Format a mean of a metric: a share in percent, an NPS or a number as it is."""
    if metric.kind == "nps":
        return number(value, 1)
    if metric.kind == "mean":
        text = number(value, 2)
        return text if text == NOT_MEASURED else f"{text} {unit_text(metric)}".rstrip()
    return percent(value, 2 if (value or 0) < 0.1 else 1)


def unit_text(metric: MetricResult) -> str:
    """Return the unit of a mean, as its column says it, or of a share; "" where nobody said."""
    if metric.kind != "mean":
        return "" if metric.kind == "nps" else "%"
    found = UNIT.search(metric.name)
    return "" if found is None else "ms" if found[1].lower() == "ms" else "s"


def _digits(metric: MetricResult, value: float) -> tuple[float, int]:
    """Return a difference in the unit that it is written in, and its digits."""
    if metric.kind in ("nps", "mean"):
        return value, 1 if metric.kind == "nps" else 2
    result = metric.result
    small = result is not None and max(abs(result.low), abs(result.high)) < 0.01
    return unit_factor(metric) * value, 2 if small else 1


def unit_factor(metric: MetricResult) -> float:
    """Return what a difference is multiplied by where it is drawn: a share is drawn in points."""
    return 1.0 if metric.kind in ("nps", "mean") else 100.0


def change_text(metric: MetricResult, value: float | None) -> str:
    """Format a difference of a metric with its sign: a share and an NPS in points."""
    if value is None or not isfinite(value):
        return NOT_MEASURED
    text = signed(*_digits(metric, value))
    return f"{text} {unit_text(metric) if metric.kind == 'mean' else 'points'}".rstrip()


def ends_text(metric: MetricResult, low: float | None, high: float | None) -> str:
    """Format the ends of a difference in the unit of `change_text`."""
    if low is None or high is None or not (isfinite(low) and isfinite(high)):
        return NOT_MEASURED
    return f"[{signed(*_digits(metric, low))}, {signed(*_digits(metric, high))}]"


def ab_headline(test: LiveTest) -> Headline:
    """Conclude a live test: the split before the guardrails, these before the metric that decides."""
    lead = test.lead
    if test.state == "split_broken":
        return _split(test)
    if lead is None or test.state == "not_measured":
        return Headline("not measured", "No metric is recorded in both arms", _arms(test), _doubt(test))
    arm, base, metric = shorten(lead.arm, NAME), shorten(test.base, NAME), lead.decides
    change = change_text(metric, None if metric.result is None else metric.result.difference)
    title = metric_title(metric.name)
    state: State
    if test.state == "guardrail_fails":
        failed = lead.guardrails("fails")[0]
        state, statement = "bad", f"{arm} fails a guardrail: {_guarded(failed)}"
    elif test.state == "guardrail_open":
        left = _subject(lead.guardrails("open")[0])
        state, found = "doubted", f"{arm} {_gain(metric)}, {change}"
        if metric.outcome != "better":
            state, found = "cannot tell", f"{arm} against {base}: cannot tell, {_seen(metric, change)}"
        statement = f"{found}; {left} is not settled"
    elif test.state == "better":
        sure = "not_randomised" not in test.doubts
        state = "good" if sure else "doubted"
        statement = f"{arm} beats {base}: {title} {change}" + ("; safe to stop" if sure else "")
    elif test.state == "worse":
        state, statement = "bad", f"{arm} is worse than {base}: {title} {change}"
    else:
        state, statement = "cannot tell", f"{arm} against {base}: cannot tell, {_seen(metric, change)}"
    others = beyond_chance(test, lead)
    if test.state == "cannot_tell" and others:
        statement = f"{statement}; {_other_text(*others[0], lead)}"
    first = (_keep_on(test, lead), _beyond_chance_text(others))
    parts = [*first, _numbers(test, lead), _guardrails(lead), _needed(test, lead)]
    detail = " ".join(filter(None, parts))
    return Headline(state, statement, detail, _doubt(test))


def _gain(metric: MetricResult) -> str:
    """Return what an arm does that is better in the deciding metric, as the end of a sentence."""
    title = metric_title(metric.name)
    if title in COMPLETES:
        return "completes more"
    return f"is {'lower' if metric.higher_is_better is False else 'higher'} in {title}"


def _subject(metric: MetricResult) -> str:
    """Return what a guardrail watches, as the begin of a sentence."""
    return "coming back" if metric.kind == "back" else metric_title(metric.name)


def settled_by(test: LiveTest, metric: MetricResult) -> tuple[int, int | None] | None:
    """Return the units an arm, and the days in all, that settle a guardrail if the true difference is zero.

    So many show its margin at a power of 0.8. None where that cannot be said.
    """
    result, margin = metric.result, metric.margin
    if result is None or not margin:
        return None
    needed = units_per_arm((result.base_variance, result.arm_variance), margin)
    now = min(result.base_units, result.arm_units)
    return needed, None if test.days is None else round(test.days * needed / now)


def settled_text(test: LiveTest, metric: MetricResult) -> str:
    """Return what settles a guardrail: users an arm, and days where times are recorded."""
    found = settled_by(test, metric)
    if found is None:
        return NOT_MEASURED
    days = "" if found[1] is None else f", {count(found[1], 'day')} in all"
    return f"{count(found[0], units_noun(test))} an arm{days}"


def _keep_on(test: LiveTest, lead: ArmResult) -> str:
    """Return what to do while a guardrail is open: wait for so many users, or accept the risk."""
    if test.state != "guardrail_open":
        return ""
    needed = {each.name: (settled_by(test, each) or (0, None))[0] for each in lead.guardrails("open")}
    last = max(lead.guardrails("open"), key=lambda each: needed[each.name])
    result, subject = last.result, _subject(last)
    if result is None or not needed[last.name]:
        return f"Keep it running: {subject} is not settled, or accept the risk."
    if needed[last.name] <= min(result.base_units, result.arm_units):
        more = f"only more {units_noun(test)}s settle it"
        return f"Keep it running: {subject} is close to its margin and {more}, or accept the risk."
    takes = f"it takes {settled_text(test, last)} to settle {subject} if the true difference is zero"
    return f"Keep it running: {takes}, or accept the risk."


def beyond_chance(test: LiveTest, lead: ArmResult) -> list[tuple[str, MetricResult]]:
    """Return what the correction leaves beyond chance, other than what decides: arm and metric.

    The deciding metric of other arms first, which is the one that the page is about. Where that metric is
    better or worse itself, only what goes the other way.
    """
    found = [
        (arm.arm, each)
        for arm in test.results
        for each in arm.metrics
        if each.role in ("decides", "wanted")
        and each.outcome in ("better", "worse")
        and each.outcome != lead.decides.outcome
        and not (arm is lead and each is lead.decides)
    ]
    return sorted(found, key=lambda pair: pair[1].role != "decides")


def _other_text(arm: str, metric: MetricResult, lead: ArmResult) -> str:
    """Return one of these as the end of the statement."""
    result = metric.result
    change = result.difference if result is not None else 0.0
    if metric.role != "decides":
        where = "" if arm == lead.arm else f" in {shorten(arm, NAME)}"
        return f"{metric_title(metric.name)}{where} {change_text(metric, change)}"
    size = change_text(metric, abs(change)).lstrip("+").removesuffix(" points")
    return f"{shorten(arm, NAME)} is {'higher' if change > 0 else 'lower'} by {size}"


def _beyond_chance_text(others: list[tuple[str, MetricResult]]) -> str:
    texts = [
        f"{_guarded(metric)} in {shorten(arm, NAME)}, p {p_value(metric.adjusted_p)}"
        for arm, metric in others
    ]
    return f"Beyond chance, by Holm: {'; '.join(texts)}." if texts else ""


def worth_text(test: LiveTest) -> str:
    """Return the effect worth having, and where it comes from if nobody gave one."""
    lead = test.lead
    if lead is None or test.worth is None:
        return ""
    text = f"Effect worth having: {change_text(lead.decides, test.worth).lstrip('+')}"
    if test.worth_given:
        return f"{text}."
    source = (
        "a tenth of the standard deviation of these rows" if lead.decides.kind == "mean" else "the usual one"
    )
    return f"{text}, {source}: none was given before the start (--worth)."


def units_noun(test: LiveTest) -> str:
    """Return what a unit of a test is called."""
    return "user" if test.by_user else "row"


def _arms(test: LiveTest) -> str:
    return (
        ", ".join(f"{shorten(name, NAME)} {count(n, units_noun(test))}" for name, n in test.units.items())
        + "."
    )


def _split(test: LiveTest) -> Headline:
    total = sum(test.units.values())
    shares = [n / total for n in test.units.values()]
    seen = " : ".join(
        number(100 * share, 0 if len(shares) == 2 and abs(share - 0.5) >= 0.01 else 1) for share in shares
    )
    split = test.split
    planned = "" if split is None else " : ".join(number(100 * share, 0) for share in split.shares)
    p = NOT_MEASURED if split is None else p_value(split.p)
    detail = (
        f"Planned {planned}, chi-square p {p}. {_arms(test)} Users went missing, or came twice, in one arm: "
        "find out why before any difference is read."
    )
    return Headline("bad", f"Split is {seen}: nothing here counts", detail, _doubt(test))


def _seen(metric: MetricResult, change: str) -> str:
    """Return what was seen: events of a plain share, else the difference."""
    result = metric.result
    if result is None or metric.kind != "share" or result.method != "Newcombe":
        return f"{metric_title(metric.name)} {change}"
    events = [round(result.arm * result.arm_units), round(result.base * result.base_units)]
    return f"{metric_title(metric.name)} {events[0]:,} against {events[1]:,}"


def _numbers(test: LiveTest, lead: ArmResult) -> str:
    metric, result = lead.decides, lead.decides.result
    if result is None:
        return f"{capital(metric_title(metric.name))} has fewer than two {units_noun(test)}s in an arm."
    change = f"{change_text(metric, result.difference)} {ends_text(metric, result.low, result.high)}"
    last = lead.looks[-1] if lead.looks else None
    band = ""
    if last is not None and not test.once:
        band = f", {ends_text(metric, last.band_low, last.band_high)} at all looks together"
    units = f"{result.base_units:,} and {count(result.arm_units, units_noun(test))}"
    shown = f", shown since {lead.shown_since[:10]}" if lead.shown_since and not test.once else ""
    return f"{capital(metric_title(metric.name))} {change}{band}, {units}{shown}."


def _guarded(metric: MetricResult) -> str:
    result = metric.result
    change = change_text(metric, None if result is None else result.difference)
    return f"{metric_title(metric.name)} {change}"


def margin_text(metric: MetricResult) -> str:
    """Format the margin of a guardrail: how far it may fall, or rise where less is better."""
    if metric.margin is None:
        return ""
    below = metric.higher_is_better is not False
    text = change_text(metric, -metric.margin if below else metric.margin)
    return f"{'at least' if below else 'at most'} {text}"


def _guardrails(lead: ArmResult) -> str:
    parts = []
    for each in (*lead.guardrails("fails"), *lead.guardrails("open")):
        result, below = each.result, each.higher_is_better is not False
        ends = "" if result is None else f" {ends_text(each, result.low, result.high)}"
        margin = change_text(each, None if each.margin is None else -each.margin if below else each.margin)
        beyond = f"{'below' if below else 'above'} the margin of {margin}"
        words = (
            f"fails: all of it is {beyond}"
            if each.guardrail == "fails"
            else f"is undecided: it may {'fall' if below else 'rise'} {beyond}"
        )
        parts.append(f"{capital(_guarded(each))}{ends} {words}.")
    return " ".join(parts)


def _needed(test: LiveTest, lead: ArmResult) -> str:
    """Return what would settle it, where it is not settled."""
    needed = lead.decides.needed_per_arm
    if lead.decides.outcome != "cannot tell" or needed is None or lead.decides.result is None:
        return ""
    noun, now = units_noun(test), min(lead.decides.result.base_units, lead.decides.result.arm_units)
    if needed <= now:
        return "A single look would show it; the band for many looks does not yet."
    days = "" if lead.days_needed is None else f", {count(round(lead.days_needed), 'day')} in all"
    return f"To show a difference of this size takes {count(needed, noun)} an arm{days}."


def _doubt(test: LiveTest) -> str:
    doubts = []
    if "not_randomised" in test.doubts:
        doubts.append(NOT_RANDOMISED)
    if "users_in_both" in test.doubts:
        doubts.append(f"{count(test.in_both, 'user')} in two arms, left out")
    return "; ".join(doubts)
