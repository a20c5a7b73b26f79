"""What the people who ask get: a good answer, a faulty one or none, what it takes, and what has changed."""

from collections.abc import Mapping

from ragtriage.dashboard.charts.deck import MetricBar, metric_bars
from ragtriage.dashboard.charts.tokens import LIGHT
from ragtriage.dashboard.headlines.deck import users_title
from ragtriage.dashboard.present.stories.comparison_slides import LONGEST_NAME, broken_and_repaired
from ragtriage.dashboard.present.stories.context import StoryView
from ragtriage.dashboard.present.stories.story import Remark, RenderedSection, SlideContent, unmeasured
from ragtriage.dashboard.suites.headline import checks_headline
from ragtriage.dashboard.wording.escaping import capital, shorten
from ragtriage.dashboard.wording.right import partly_right
from ragtriage.data.comparison.leaderboard import percentiles
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.suites.check_table import suite_summaries
from ragtriage.metrics.number_text import count, number
from ragtriage.metrics.result_table import ResultTable

# what people get -> the colour of its bar
GOOD, REFUSED, FAULTY, NOTHING = (
    "A good answer",
    "Refused, as it should be",
    "A faulty answer",
    "Refused, though there is an answer",
)
UNCHECKED = "An answer without a known fault"
_COLOURS = {GOOD: LIGHT.good_mark, REFUSED: LIGHT.good_mark, FAULTY: LIGHT.bad.text, NOTHING: LIGHT.bad.text}


def users_section(view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    """Return how many of those who ask get what, beside the baseline, and what an answer takes."""
    outcomes = _outcomes(view.diagnosis)
    of = sum(outcomes.values())
    if not of:
        return unmeasured("No case is measured.")
    base = view.baseline_diagnosis
    before = _outcomes(base) if base is not None else {}
    base_name = shorten(view.short_names[1], LONGEST_NAME) if any(before.values()) else ""
    shown = [each for each in outcomes if outcomes[each] or before.get(each)]
    bars = [_bar(view, each, outcomes, before) for each in shown]
    people = "answers" if view.run.n > view.run.n_questions else "people who ask"
    faulty = outcomes[FAULTY] + outcomes[NOTHING]
    earlier = before[FAULTY] + before[NOTHING] if base_name else 0
    same = base_name if sum(before.values()) == of else ""
    return RenderedSection(
        heading=users_title(faulty, of, people, earlier, same),
        sentence=f"{count(of, 'case')} measured: "
        + ", ".join(f"{outcomes[each]:,} {each.lower()}" for each in shown),
        chart=metric_bars(bars, view.short_names[0], base_name, percent=True),
        table=ResultTable(
            "What people who ask get",
            tuple(
                {
                    "They get": each,
                    "Cases": outcomes[each],
                    **({base_name: before[each]} if base_name else {}),
                }
                for each in shown
            ),
        ),
        facts=[f"shares of {count(of, 'measured case')}", "a faulty answer: one that fails a measurement"],
        alt="Shares of those who ask by what they get" + (f", beside {base_name}" if base_name else ""),
        slide=SlideContent("change", remarks=tuple(_remarks(view, outcomes, base_name))),
    )


def _outcomes(diagnosis: Diagnosis) -> dict[str, int]:
    """Return how many measured cases end in what, those that are good first."""
    measured, bad = diagnosis.measured, diagnosis.bad.bad
    refused = diagnosis.scored.stage_features["refused"] == 1
    return {
        GOOD: int((measured & ~bad & ~refused).sum()),
        REFUSED: int((measured & ~bad & refused).sum()),
        FAULTY: int((measured & bad & ~refused).sum()),
        NOTHING: int((measured & bad & refused).sum()),
    }


def _bar(view: StoryView, outcome: str, now: Mapping[str, int], before: Mapping[str, int]) -> MetricBar:
    title = UNCHECKED if outcome == GOOD and not view.diagnosis.answers.enough else outcome
    earlier = before[outcome] / sum(before.values()) if any(before.values()) else None
    share = now[outcome] / sum(now.values())
    return MetricBar(title, share, None, None, earlier, sum(now.values()), _COLOURS[outcome])


def _remarks(view: StoryView, outcomes: Mapping[str, int], base: str) -> list[Remark]:
    """Return what the bars say in people, what has changed, what an answer takes, and which checks fail."""
    of = sum(outcomes.values())
    faulty, nothing = outcomes[FAULTY], outcomes[NOTHING]
    partly = partly_right(view.diagnosis)
    also = f", {partly:,} of them partly right" if partly else ""
    get = [
        f"{faulty:,} of {of:,} get an answer that fails a measurement{also}" if faulty else "",
        f"{nothing:,} are refused although there is an answer" if nothing else "",
    ]
    remarks = []
    if faulty or nothing:
        remarks.append(Remark("Who is let down", f"{'; '.join(filter(None, get))}.", "bad"))
    if base:
        text = broken_and_repaired(view)
        remarks.append(Remark(f"Against {base}", f"{text} Grey: {base}.".strip()))
    remarks.append(Remark("Time and cost", _costs(view, base)))
    summaries = suite_summaries(view.scored)
    if summaries:
        remarks.append(Remark("Checks", f"{checks_headline('', summaries).statement.removeprefix(': ')}."))
    return remarks


def _seconds(milliseconds: float) -> str:
    return f"{number(milliseconds / 1000, 1)} s"


def _dollars(cost: float) -> str:
    return f"{1000 * cost:,.2f} USD"


COSTS = (  # column, what it is, and how it is written
    ("latency_ms", "median time of an answer", _seconds),
    ("cost_usd", "median cost of 1,000 answers", _dollars),
)


def _costs(view: StoryView, base: str) -> str:
    """Return the median time and cost of an answer, each beside the baseline's."""
    parts = []
    for column, title, write in COSTS:
        n, now = percentiles(view.scored, column)
        if not n:
            continue
        beside = ""
        if view.baseline_diagnosis is not None and base:
            n_before, before = percentiles(view.baseline_diagnosis.scored, column)
            beside = f" ({write(before[50])} in {base})" if n_before else ""
        parts.append(f"{title}: {write(now[50])}{beside}")
    return f"{capital('; '.join(parts))}." if parts else "Neither is recorded in this run."
