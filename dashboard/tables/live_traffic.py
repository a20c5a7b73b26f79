"""Tables of live traffic: its measures, alerts, topics, what to label first, and how scores were sampled."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from ragtriage.dashboard.headlines.headline import State
from ragtriage.dashboard.headlines.production import (
    SUBJECTS,
    change_text,
    ends_text,
    mean_before,
    measure_title,
    no_data_text,
    since_text,
    unclear_text,
    value_text,
)
from ragtriage.dashboard.wording.escaping import capital, shorten
from ragtriage.data.live.alerts.rules import is_percentile
from ragtriage.data.live.alerts.states import AlertState, rule_title
from ragtriage.data.live.policy import Alert
from ragtriage.data.live.production.buckets import SHARES
from ragtriage.data.live.production.facts import Measure, Production
from ragtriage.data.live.production.labelling import ToLabel
from ragtriage.data.live.production.times import clock
from ragtriage.metrics.live.change import difference_between
from ragtriage.metrics.number_text import count, number, percent, points
from ragtriage.metrics.result_table import Count, Of, ResultTable, Row, Share

QUESTION = 90
ALERT_STATES: Mapping[str, State] = {
    "firing": "bad",
    "ok": "good",
    "unclear": "cannot tell",
    "cannot_tell": "cannot tell",
    "no_data": "not measured",
}
ALERT_WORDS = {
    "firing": "firing",
    "ok": "holds",
    "cannot_tell": "too few calls to tell",
    "no_data": "no data",
}
STRATA = {"error": "errors", "thumbs_down": "disliked", "refusal": "refusals", "rest": "the rest"}


def lanes_title(facts: Production) -> str:
    """Return what the lanes show: when it broke, or that it did not."""
    worse = next((each for each in (facts.refusals, facts.score) if each is not None and each.is_worse), None)
    if not facts.calls_before:
        return "There are no calls before it to compare with"
    if worse is None:
        return "Nothing got worse beyond chance"
    subject = capital(SUBJECTS.get(worse.name) or measure_title(worse.name))
    verb = "rose" if worse.since.mean > mean_before(worse) else "fell"
    at = round((facts.times.later - facts.times.first) / facts.times.step)
    if facts.times.release and 0 < at < len(worse.steps):
        jump = difference_between(worse.steps[at - 1], worse.steps[at])
        if jump is not None and jump.is_change:
            same = facts.topics is not None and not facts.topics.mix.is_change
            return (
                f"{subject} {verb} with the release{', not because users ask other things' if same else ''}"
            )
    return f"{subject} {verb} {since_text(facts)}"


def topics_title(facts: Production) -> str:
    """Return in how many topics the share of refusals rose beyond chance."""
    topics, refusals = facts.topics, facts.refusals
    if topics is None or refusals is None:
        return "Topics"
    known = [row for row in topics.rows if row.calls_since and row.calls_before]
    rose = [row for row in known if row.is_change and row.change > 0]
    more = f"More {SUBJECTS.get(refusals.name, refusals.name)}"
    left = [row for row in known if row not in rose]
    if not rose:
        return f"{more} in no topic beyond chance"
    if not left:
        return f"{more} in every topic"
    if len(left) == 1:
        return f"{more} in every topic except {shorten(left[0].name, 20)}"
    return f"{more} in {len(rose)} of {len(known)} topics"


def measure_table(facts: Production) -> ResultTable:
    """Return each measure since, before, and against the limit of its rule."""
    rows: list[Row] = [
        {
            "Measure": capital(measure_title(each.name)),
            "Since": value_text(each, each.since.mean),
            "95 %": ends_text(each, each.since),
            "n": Count(each.since.n_scored),
            "Effective n": None if each.since.n_effective is None else number(each.since.n_effective, 0),
            "Before": None if each.before is None else value_text(each, mean_before(each)),
            "Change": change_text(each) or None,
            "Limit": limit_text(each) or None,
        }
        for each in facts.measures
    ]
    exact = [measure_title(each.name) for each in facts.measures if each.of_all]
    scores = "; scores are of the kept ones, weighted by 1 / rate" if facts.score is not None else ""
    note = f"Of all calls: {', '.join(exact)}{scores}."
    return ResultTable(f"Measures {since_text(facts)}", tuple(rows), note)


def limit_text(measure: Measure) -> str:
    """Return what the rule of a measure asks for; "" without one."""
    if measure.rule is None:
        return ""
    return f"{_sign(measure.rule)} {value_text(measure, measure.limit)}"


def _sign(rule: Alert) -> str:
    return "≤" if rule.at_most is not None else "≥"


def alert_title(alert: AlertState, facts: Production) -> str:
    """Return a rule in a few words, as "Refused ≤ 15 %"."""
    measure = facts.measure(alert.rule.metric)
    if not alert.rule.metric:
        return capital(rule_title(alert.rule))
    if measure is None or measure.rule is None:
        return _unmeasured_title(alert.rule)
    limit = value_text(measure, alert.rule.limit)
    return f"{capital(measure_title(measure.name))} {_sign(alert.rule)} {limit}"


def _unmeasured_title(rule: Alert) -> str:
    """Return a rule on what no call has, as "Latency p95 ≤ 4,000 ms"."""
    limit = rule.limit or 0.0
    text = percent(limit) if rule.metric in SHARES else f"{limit:,g}"
    unit = " ms" if is_percentile(rule.metric) else ""
    return f"{capital(rule.metric.replace('_', ' '))} {_sign(rule)} {text}{unit}"


def alert_since(alert: AlertState, facts: Production) -> str:
    """Return since when an alert has its state."""
    if alert.state == "no_data" or not isfinite(alert.since):
        return "not recorded"
    if alert.since <= facts.times.first:
        return "whole time"
    if alert.state == "ok":
        fired = any(each.state == "firing" for each in alert.windows)
        return (
            f"over since {clock(alert.since, facts.times.last - facts.times.first)}"
            if fired
            else "whole time"
        )
    return f"since {clock(alert.since, facts.times.last - facts.times.first)}"


def alert_windows(alert: AlertState) -> str:
    """Return in how many windows the bound was beyond the limit, or why that is not known."""
    known = [each.window for each in alert.windows if each.window.position != "nothing"]
    if not known:
        return no_data_text(alert)
    beyond = sum(window.position == "beyond" for window in known)
    if alert.state == "cannot_tell":
        few = sum(window.position == "too_few" for window in known)
        return f"{few:,} of {len(known):,} too few"
    if alert.rule.silent and not beyond:
        return "no silent window"
    return f"{beyond:,} of {count(len(known), 'window')}"


def alerts_title(facts: Production) -> str:
    """Return how many of the rules fire."""
    firing = sum(alert.state == "firing" for alert in facts.alerts)
    if not facts.alerts:
        return "No rule is set"
    return f"{firing} of {count(len(facts.alerts), 'alert')} {'fires' if firing == 1 else 'fire'}"


def alert_table(facts: Production) -> ResultTable:
    """Return the rules of the policy and their states."""
    rows: list[Row] = [
        {
            "Rule": alert_title(each, facts),
            "State": ALERT_WORDS.get(each.state) or unclear_text(each),
            "Since": alert_since(each, facts),
            "Beyond": alert_windows(each),
        }
        for each in facts.alerts
    ]
    note = (
        "A rule fires when a bound of the interval, not the value, is beyond its limit in a row of windows."
    )
    return ResultTable("Alerts", tuple(rows), note)


def topic_table(facts: Production) -> ResultTable | None:
    """Return what each topic adds to the change of refusals; None where no topic is known."""
    topics, refusals = facts.topics, facts.refusals
    if topics is None or refusals is None:
        return None
    rows: list[Row] = [
        {
            "Topic": shorten(row.name, 40),
            "Before": Share(row.before),
            "Since": Share(row.since),
            "Calls": Count(row.calls_since),
            "Adds": points(row.adds),
        }
        for row in topics.rows
    ]
    return ResultTable(f"{capital(measure_title(refusals.name))} by topic", tuple(rows), mix_text(facts))


def mix_text(facts: Production) -> str:
    """Return what the mix of topics explains of the change."""
    topics = facts.topics
    if topics is None:
        return ""
    mix, whole = (number(100 * part, 1) for part in (topics.by_mix, topics.change))
    part = f"the mix explains {mix} of the {whole} points"
    if topics.mix.is_change:
        moved = percent(topics.mix.moved)
        return f"Users ask about other topics than before, {moved} of the calls moved; {part}."
    return f"Users ask about the same topics as before; {part}."


def label_title(facts: Production, shown: int = 0) -> str:
    """Return which questions to label first, and how many of them are shown where that is not all."""
    complete = [row for row in facts.to_label if row.context_complete]
    if complete:
        return f"Label first: {_of_shown(shown, len(complete))} refused, context complete"
    if not facts.to_label:
        return "Nothing to label first: no call was refused or disliked"
    return f"Label first: {_of_shown(shown, len(facts.to_label))} refused or disliked"


def _of_shown(shown: int, n: int) -> str:
    return f"{shown:,} of {count(n, 'question')}" if 0 < shown < n else count(n, "question")


def before_title(facts: Production) -> str:
    """Return the name of the score before, as "correctness before"."""
    name = "score" if facts.score is None else measure_title(facts.score.name).lower()
    return f"{name} before"


def label_table(facts: Production, most: int = 10) -> ResultTable:
    """Return the questions to label first."""
    rows: list[Row] = [
        {
            "Question": shorten(" ".join(row.question.split()), QUESTION),
            "Calls": Count(row.calls),
            "Context complete": context_word(row),
            capital(before_title(facts)): number(row.before, 1),
        }
        for row in facts.to_label[:most]
    ]
    return ResultTable(label_title(facts, len(rows)), tuple(rows))


def context_word(row: ToLabel) -> str:
    """Return whether the context of a question holds its answer."""
    return {True: "yes", False: "no", None: "not known"}[row.context_complete]


def sampling_table(facts: Production) -> ResultTable:
    """Return how many calls of each stratum are kept and judged."""
    rows: list[Row] = [
        {
            "Stratum": capital(STRATA[each.stratum.name]),
            "Rate": percent(each.stratum.rate),
            "Calls": Count(each.stratum.calls),
            "Kept": Count(each.stratum.kept),
            "Judged": Of(each.judged, each.stratum.kept),
        }
        for each in facts.sampling.strata
    ]
    return ResultTable(sampling_title(facts), tuple(rows), f"{sampling_note(facts)}{intake_note(facts)}")


def empty_strata(facts: Production) -> dict[str, float]:
    """Return the strata without a call since, each with the rate at which it is kept."""
    there = {each.stratum.name for each in facts.sampling.strata}
    keep = facts.policy.policy.keep
    return {name: getattr(keep, name) for name in STRATA if name not in there}


def refusals_note(facts: Production) -> str:
    """Return how wrong refusals here relate to those of gates and of Triage; "" where none can be told."""
    if facts.refusals is None or facts.refusals.name != "wrongly_refused":
        return ""
    return (
        " Wrongly refused: of all answerable calls, whatever the context held. Gates say refused although "
        "answerable, the same of the sample; Triage counts wrong refusals of all questions."
    )


def sampling_title(facts: Production) -> str:
    """Return how many calls are judged since, and how they are weighted."""
    judged = f"Judged {facts.judged_since:,} of {count(facts.calls_since, 'call')}"
    return f"{judged}, weighted by 1 / rate" if _is_uneven(facts) else judged


def sampling_note(facts: Production) -> str:
    """Return why the plain mean of the judged calls is never shown."""
    sampling = facts.sampling
    if not sampling.metric:
        return "Nothing is judged: set [judge] in the policy, or send scores with the spans."
    if not _is_uneven(facts):
        return "Every call is kept at the same rate, so each weighs alike."
    name, weighted = capital(measure_title(sampling.metric)), number(sampling.weighted)
    return (
        f"{name} {since_text(facts)} is {weighted}, weighted. The plain mean of the judged calls, "
        f"{number(sampling.plain)}, is of an uneven sample: do not report it."
    )


def intake_note(facts: Production) -> str:
    """Return what was taken out of the texts, and what could not be used, so far; "" for nothing."""
    said = ""
    for title, counts in {"Taken out of texts": facts.taken_out, "Not used": facts.losses}.items():
        if counts:
            said += f" {title} so far: {', '.join(f'{n:,} {name}' for name, n in counts.items())}."
    return said


def _is_uneven(facts: Production) -> bool:
    return len({each.stratum.rate for each in facts.sampling.strata if each.stratum.kept}) > 1
