"""What is concluded of a live test: tiles, the difference over time, its metrics and guardrails."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

import streamlit as st

from ragtriage.dashboard.charts.live_tests import answers_chart, levels_chart, looks_alt, looks_chart
from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.headlines.ab import (
    change_text,
    ends_text,
    margin_text,
    metric_title,
    unit_text,
    units_noun,
    value_text,
)
from ragtriage.dashboard.headlines.headline import State
from ragtriage.dashboard.pages.ab_tests.chosen_test import Opened, answers_of
from ragtriage.dashboard.present.page_html.blocks import GateRow, Strip, Tile, gate_rows, section_title
from ragtriage.dashboard.shell.components import WITHOUT_BAR, current_theme, draw
from ragtriage.dashboard.shell.session import keep
from ragtriage.dashboard.wording.escaping import capital, shorten
from ragtriage.data.ab.ab_test import ArmResult, LiveTest, MetricResult
from ragtriage.metrics.ab.split import BROKEN_BELOW
from ragtriage.metrics.number_text import NOT_MEASURED, count, number, p_value, percent

NAME = 20
MOST_TILES = 4
COARSE = 2.0  # times the effect worth having that the test shows at best
MOST_WORTH = 90  # days that a test may still take
# what a team should record, and the columns that it may be called; said where it is not there
WANTED = {
    "Task completed": ("completed", "success", "click", "recommended"),
    "Satisfaction": ("satisf", "csat", "stars", "thumb"),
    "NPS": ("nps",),
    "Back in 7 days": ("back within",),
    "Response time": ("response time", "latency", "seconds"),
}
STATES: dict[str, State] = {
    "better": "good",
    "worse": "bad",
    "differs": "cannot tell",
    "cannot tell": "cannot tell",
    "not measured": "not measured",
    "holds": "good",
    "open": "cannot tell",
    "fails": "bad",
}


def tiles_of(opened: Opened) -> list[Tile]:
    """Return the tiles: the split, the deciding metric, guardrails, and what the test can show."""
    test, lead = opened.test, opened.lead
    tiles = [] if test.split is None else [_split_tile(test)]
    if test.state == "split_broken" or lead is None:
        return tiles
    if not opened.looks:
        shown = [each for each in lead.metrics if each.role in ("decides", "wanted")]
        tiles += [_level_tile(opened, each) for each in shown[: MOST_TILES - 1]]
        return [*tiles, _answered_tile(lead.decides)][:MOST_TILES]
    tiles.append(_deciding_tile(opened, lead))
    order = {"fails": 0, "open": 1, "holds": 2}
    guardrails = [each for each in lead.metrics if each.guardrail is not None and each.result is not None]
    worst = sorted(guardrails, key=lambda each: order[str(each.guardrail)])[: MOST_TILES - len(tiles)]
    tiles += [_guardrail_tile(each) for each in guardrails if each in worst]
    more = [_shows_tile(test, lead), _needed_tile(test, lead)]
    return [*tiles, *more][:MOST_TILES]


def _split_tile(test: LiveTest) -> Tile:
    split = test.split
    assert split is not None  # noqa: S101 -- for the type checker: the caller asks only where there is one
    plan = [share / min(split.shares) for share in split.shares]
    counts = " and ".join(f"{n:,}" for n in split.counts)
    broken = split.broken
    seen = " : ".join(percent(n / max(sum(split.counts), 1), 1).rstrip(" %") for n in split.counts)
    value = seen if broken else " : ".join(number(share, 0 if share == round(share) else 1) for share in plan)
    share, planned = split.counts[-1] / max(sum(split.counts), 1), split.shares[-1]
    return Tile(
        "Split as planned", value, "bad" if broken else "good", "broken" if broken else "holds", "",
        f"{counts} {units_noun(test)}s · χ² p {p_value(split.p)}, stops at {BROKEN_BELOW}",
        Strip(share, gate=planned if broken else None, state="bad" if broken else "good",
            label="share of the last arm"),
        help="Chi-square test of the users of each arm against the planned shares.",
    )  # fmt: skip


def _change_strip(metric: MetricResult, low: float, high: float, state: State) -> Strip:
    """Return a difference on a line around 0; right is better: where less is better, the line is turned."""
    result = metric.result
    if result is None:
        return Strip(None, label="not measured")
    sign = -1.0 if metric.higher_is_better is False else 1.0
    left, right = sorted((sign * low, sign * high))
    gate = None if metric.margin is None else -metric.margin
    reach = 1.15 * max(abs(left), abs(right), abs(gate or 0.0), 1e-12)
    beyond = not low <= 0 <= high if metric.margin is None else state != "cannot tell"
    beyond = beyond and metric.role != "watched"  # tested by nothing
    return Strip(
        sign * result.difference, left, right, gate, None, state,
        f"difference {change_text(metric, result.difference)}", -reach, reach,
        higher_is_better=None if gate is None else True, zero=True, hollow=not beyond,
    )  # fmt: skip


def _before_after(metric: MetricResult) -> str:
    result = metric.result
    if result is None:
        return ""
    texts = [value_text(metric, value) for value in (result.base, result.arm)]
    return f"{texts[0].removesuffix(f' {unit_text(metric)}')} → {texts[1]}"


def _deciding_tile(opened: Opened, lead: ArmResult) -> Tile:
    metric, test = lead.decides, opened.test
    state = STATES[metric.outcome]
    look = lead.looks[-1] if lead.looks else None
    result = metric.result
    low, high = (result.low, result.high) if result else (0.0, 0.0)
    foot = f"95 % {ends_text(metric, low, high)} · by {units_noun(test)}"
    if look is not None and not test.once:
        low, high = look.band_low, look.band_high
        foot = f"always-valid {ends_text(metric, low, high)} · by {units_noun(test)}"
    return Tile(
        capital(metric_title(metric.name)), change_text(metric, result.difference if result else None), state,
        metric.outcome, _before_after(metric), foot, _change_strip(metric, low, high, state),
        help="The deciding metric. Its always-valid band holds at all looks together.",
    )  # fmt: skip


def _guardrail_tile(metric: MetricResult) -> Tile:
    result, state = metric.result, STATES[str(metric.guardrail)]
    assert result is not None  # noqa: S101 -- for the type checker: the caller leaves the others out
    words = {"holds": "holds", "open": "guardrail open", "fails": "guardrail fails"}
    units = f"{result.base_units + result.arm_units:,}"
    return Tile(
        capital(metric_title(metric.name)), change_text(metric, result.difference), state,
        words[str(metric.guardrail)], _before_after(metric),
        f"{ends_text(metric, result.low, result.high)} · {margin_text(metric)} · {units} users",
        _change_strip(metric, result.low, result.high, state),
        help="A guardrail: the whole 95 % interval must stay within the margin.",
    )  # fmt: skip


def _shows_tile(test: LiveTest, lead: ArmResult) -> Tile:
    metric = lead.decides
    smallest, worth = metric.smallest_shown, test.worth
    fine = smallest is not None and worth is not None and smallest <= worth
    settled = metric.outcome in ("better", "worse", "differs")  # the headline says so: no doubt here
    state: State = "not measured" if smallest is None else "good" if fine or settled else "cannot tell"
    word = "metric is shown" if settled else "fine" if fine else "coarse"
    base = f" · base {value_text(metric, metric.result.base)}" if metric.result else ""
    given = "worth having" if test.worth_given else "the usual one"
    return Tile(
        "Shows today", change_text(metric, smallest).lstrip("+"), state,
        "" if smallest is None else word,
        "", f"smallest at power 0.8 · {given} {change_text(metric, worth).lstrip('+')}{base}",
        Strip(smallest, gate=None if settled else worth, state=state, label="smallest difference",
            end=COARSE * (worth or 1.0), higher_is_better=False),
        help="The smallest difference that so many users show in four of five tests, by one look.",
    )  # fmt: skip


def _needed_tile(test: LiveTest, lead: ArmResult) -> Tile:
    needed, result = lead.decides.needed_per_arm, lead.decides.result
    now = 0 if result is None else min(result.base_units, result.arm_units)
    days, so_far = lead.days_needed, test.days or 0.0
    if lead.decides.outcome != "cannot tell" or needed is None or needed <= now:
        foot = (
            "the difference is shown" if lead.decides.outcome != "cannot tell" else "one look would show it"
        )
        return Tile(
            "Still needed", "nothing", "good", "enough", "", foot, Strip(1.0, state="good", label="all")
        )
    left = None if days is None else max(days - so_far, 0.0)
    state: State = "bad" if left is not None and left > MOST_WORTH else "cannot tell"
    noun = units_noun(test)
    foot = f"{needed - now:,} more {noun}s an arm" + (f" at {now / so_far:,.0f} a day" if so_far else "")
    return Tile(
        "Still needed", f"{needed:,} an arm" if left is None else count(round(left), "day"), state,
        "not worth it" if state == "bad" else "keep on", "", foot,
        Strip(now / needed, gate=1.0, state=state, label="share of the units needed"),
        help="Until a difference of the size seen so far would be shown, at the pace so far.",
    )  # fmt: skip


def _level_tile(opened: Opened, metric: MetricResult) -> Tile:
    """Return the tile of a metric of arms that nobody assigned: its level beside that of the base."""
    lead, test = opened.lead, opened.test
    assert lead is not None  # noqa: S101 -- for the type checker: there is a metric, so there is an arm
    level, base = opened.level(metric, lead.arm), opened.level(metric, test.base)
    start, end = {"nps": (-100.0, 100.0), "mean": _span(level.low, level.high, base.low, base.high)}.get(
        metric.kind, (0.0, 1.0)
    )
    known = isfinite(level.low)
    word = {"worse": "lower", "better": "higher"}.get(metric.outcome, metric.outcome)
    state = STATES[metric.outcome]
    ends = f"[{value_text(metric, level.low)}, {value_text(metric, level.high)}]" if known else NOT_MEASURED
    return Tile(
        capital(metric_title(metric.name)), value_text(metric, level.mean if known else None), state, word,
        _before_after(metric), f"{ends} of {level.units:,} · base ◇ of {base.units:,}",
        Strip(level.mean if known else None, level.low, level.high, None, base.mean, state, "level",
            start, end, hollow=state == "cannot tell"),
    )  # fmt: skip


def _span(*values: float) -> tuple[float, float]:
    known = [value for value in values if isfinite(value)] or [0.0, 1.0]
    room = 0.2 * (max(known) - min(known)) or 1.0
    return min(known) - room, max(known) + room


def _answered_tile(metric: MetricResult) -> Tile:
    if metric.response is None:
        foot = "record how many were asked"
        return Tile("Answered", NOT_MEASURED, "not measured", "not recorded", "", foot, Strip(None))
    base, arm = metric.response
    foot = "of the rows; not of those who were asked"
    strip = Strip(arm, base=base, state="not measured", label="share of rows with a value")
    return Tile(
        "Answered", percent(arm), "not measured", "", f"{percent(base)} → {percent(arm)}", foot, strip
    )


def looks_section(opened: Opened) -> None:
    """Draw the difference over time, or what the arms answered where nobody was assigned to one."""
    lead = opened.lead
    if lead is None:
        return
    tokens, metric = THEMES[current_theme()], lead.decides
    if opened.looks:
        unit = "Points, " if metric.kind != "mean" else ""
        st.html(section_title(looks_title(lead, len(lead.looks))))
        draw(
            looks_chart(lead, opened.looks, opened.look or len(opened.looks), tokens), "live_looks",
            looks_alt(lead, lead.looks), theme=None, on_click=_choose_look(len(opened.looks)),
            config=WITHOUT_BAR,
        )  # fmt: skip
        st.caption(
            f"{unit}{shorten(lead.arm, NAME)} − {shorten(opened.test.base, NAME)}. Band: always-valid 95 %, "
            "look as often as you like. Dotted: 95 % of one single look. Filled: shown. A click: that look."
        )
    elif metric.kind == "nps":
        counts = answers_of(opened.stored, metric.name, opened.options.until)
        st.html(section_title(answers_title(opened)))
        draw(answers_chart(counts, tokens), "live_answers", "Answers from 0 to 10 of each arm", theme=None,
            config=WITHOUT_BAR)  # fmt: skip
    else:
        levels_section(opened)


def levels_section(opened: Opened) -> None:
    """Draw the level of the deciding metric in each arm."""
    lead = opened.lead
    if lead is None:
        return
    st.html(section_title(f"{capital(metric_title(lead.decides.name))} by arm, with 95 % intervals"))
    draw(
        levels_chart(
            opened.levels[lead.decides.name], lead.decides, opened.test.base, THEMES[current_theme()]
        ),
        "live_levels", "Level of each arm", theme=None, config=WITHOUT_BAR,
    )  # fmt: skip


def _choose_look(last: int) -> Any:
    """Return what a click on a look does; the last one is what is shown without a choice."""
    return lambda data: keep(look=0 if int(data[0]) >= last else int(data[0]))


def looks_title(arm: ArmResult, n: int) -> str:
    """Return what the looks show."""
    title = capital(metric_title(arm.decides.name))
    if arm.shown_since is not None:
        word = {"better": "ahead", "worse": "behind"}.get(arm.decides.outcome, "different")
        first = next(at for at, look in enumerate(arm.looks, 1) if look.at == arm.shown_since)
        return f"{title} is {word} at every look since the {ordinal(first)} of {n}, {arm.shown_since[:10]}"
    left = sum(not look.band_low <= 0 <= look.band_high for look in arm.looks)
    if left:
        return f"The band left zero at {count(left, 'look')} of {n}, and holds it now"
    return f"The band never left zero, at any of {count(n, 'look')}" if n > 1 else "The band holds zero"


def ordinal(n: int) -> str:
    """Return a number as a place in a row: first, second, 11th."""
    words = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
    if n <= len(words):
        return words[n - 1]
    teen = n // 10 % 10 == 1
    return f"{n}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"


def answers_title(opened: Opened) -> str:
    """Return which answers of an NPS changed most between the base and the arm."""
    lead = opened.lead
    assert lead is not None  # noqa: S101 -- for the type checker: the caller asks only where there is one
    counts = answers_of(opened.stored, lead.decides.name, opened.options.until)
    base, arm = (counts[name] for name in (opened.test.base, lead.arm))
    parts = {"zeros to sixes": slice(0, 7), "sevens and eights": slice(7, 9), "nines and tens": slice(9, 11)}
    moved = {
        name: sum(arm[part]) / max(sum(arm), 1) - sum(base[part]) / max(sum(base), 1)
        for name, part in parts.items()
    }
    fewer, more = min(moved, key=lambda name: moved[name]), max(moved, key=lambda name: moved[name])
    return f"Fewer {fewer}, more {more}" if moved[more] > 0 else "The answers are the same"


def metrics_section(opened: Opened) -> None:
    """Draw each metric and guardrail with its difference on a strip."""
    lead, test = opened.lead, opened.test
    if lead is None:
        return
    wanted = [each for each in lead.metrics if each.role in ("decides", "wanted")]
    guardrails = [each for each in lead.metrics if each.role == "guardrail"]
    watched = [each for each in lead.metrics if each.role == "watched"]
    rows = [_metric_row(each, test) for each in (*wanted, *watched)]
    st.html(gate_rows(metrics_title(wanted, guardrails), [*rows, *_not_recorded(lead.metrics)], ""))
    if guardrails:
        st.html(
            gate_rows("Guardrails: the tick is the margin", [_metric_row(g, test) for g in guardrails], "")
        )
    st.caption(
        f"95 % of one single look{_by(test)}; Holm over {len(wanted)}{_p_text(wanted)}. Right is better."
    )


def _by(test: LiveTest) -> str:
    return ", by user" if test.by_user else "; rows are taken as independent, as no user is recorded"


def _p_text(wanted: Sequence[MetricResult]) -> str:
    values = [each.adjusted_p for each in wanted if isfinite(each.adjusted_p)]
    return f": p {', '.join(map(p_value, values))}" if values else ""


def metrics_title(wanted: Sequence[MetricResult], guardrails: Sequence[MetricResult]) -> str:
    """Return how many of the wanted metrics are better, and which guardrails do not hold."""
    better = sum(each.outcome == "better" for each in wanted)
    worse = sum(each.outcome == "worse" for each in wanted)
    found = f"{better:,} of {count(len(wanted), 'wanted metric')} better" + (
        f", {worse:,} worse" if worse else ""
    )
    if not better and not worse:
        found = "No metric tells the arms apart"
    for state, words in (("fails", "fails"), ("open", "is open")):
        n = sum(each.guardrail == state for each in guardrails)
        if n:
            return f"{found}; {n:,} of {count(len(guardrails), 'guardrail')} {words}"
    return found


def _metric_row(metric: MetricResult, test: LiveTest) -> GateRow:
    result = metric.result
    state = STATES[metric.guardrail or metric.outcome]
    if metric.role == "watched":
        state = "not measured" if result is None else "cannot tell"
    title = capital(metric_title(metric.name))
    if result is None:
        return GateRow(
            "not measured", title, metric.role, NOT_MEASURED, Strip(None, label="not measured"), title
        )
    need = {
        "decides": "decides",
        "guardrail": margin_text(metric).removesuffix(" points"),
        "watched": "watched",
    }.get(metric.role, "")
    ends = ends_text(metric, result.low, result.high)
    value = change_text(metric, result.difference).removesuffix(" points")
    units = f"{result.base_units:,} and {count(result.arm_units, units_noun(test))}"
    change = f"{change_text(metric, result.difference)} {ends}"
    sentence = f"{title}: {_before_after(metric)}, {change}, {units}, {result.method}"
    need = need or f"{result.base_units + result.arm_units:,}"
    return GateRow(state, title, need, value, _change_strip(metric, result.low, result.high, state), sentence,
        interval=ends)  # fmt: skip


def _not_recorded(metrics: Sequence[MetricResult]) -> list[GateRow]:
    """Return a dashed row for what teams usually measure and this test does not record."""
    names = [metric_title(each.name).casefold() for each in metrics]
    missing = [
        title for title, words in WANTED.items() if not any(word in name for name in names for word in words)
    ]
    return [
        GateRow(
            "not measured",
            title,
            "not recorded",
            "",
            Strip(None, label="not recorded"),
            f"{title}: no column",
        )
        for title in missing
    ]
