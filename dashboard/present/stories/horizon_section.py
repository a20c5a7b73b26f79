"""The section of a story on what to do now, next and later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ragtriage.dashboard.present.stories.context import StoryView
from ragtriage.dashboard.present.stories.slide import SlideContent, Step
from ragtriage.dashboard.present.stories.story import RenderedSection
from ragtriage.dashboard.present.stories.verdict_slide import foot_of
from ragtriage.dashboard.wording.escaping import capital, in_sentence, shorten
from ragtriage.data.diagnosis.f1_tree import f1_diagnosis
from ragtriage.data.errors import DataError
from ragtriage.data.gates.report import GateReport
from ragtriage.data.strategy.horizons import HORIZONS, Recommendation, recommendations
from ragtriage.metrics.number_text import count

LONGEST_TITLE, LONGEST_DETAIL = 70, 150


def horizon_section(view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    """Return the recommendations by horizon, each with reason, number and owner."""
    heading = "What to do now, next and later"
    entries = recommendations(view.diagnosis, _report(view), view.findings, f1_diagnosis(view.scored).tree)
    counts = {horizon: sum(entry.horizon == horizon for entry in entries) for horizon in HORIZONS}
    told = ", ".join(f"{n:,} {horizon}" for horizon, n in counts.items() if n)
    return RenderedSection(
        "horizons",
        heading,
        f"{count(len(entries), 'recommendation')}: {told}." if told else "",
        rows=[
            {
                "When": entry.horizon,
                "What": entry.what,
                "Why": entry.reason,
                "Number": entry.number,
                "Owner": entry.owner,
            }
            for entry in entries
        ],
        facts=[
            "now: keeps the version from shipping, or must be settled first",
            "next: most of the rest, or an undecided blocking gate",
            "later: costs little, or is not sure to",
            "by fixed rules from gates, failure stages and the parts of F1",
        ],
        measured=bool(entries),
        slide=SlideContent("next", None, foot_of(view), steps=tuple(_steps(entries))),
    )


def _steps(entries: Sequence[Recommendation]) -> Iterator[Step]:
    """Return the first recommendation of each horizon, and how many more it has; the rest is in the table."""
    for horizon in HORIZONS:
        of = [entry for entry in entries if entry.horizon == horizon]
        if of:
            first, more = of[0], f" And {len(of) - 1:,} more to do {horizon}." if len(of) > 1 else ""
            title = shorten(f"{horizon.capitalize()}: {in_sentence(first.what)}", LONGEST_TITLE)
            detail = shorten(f"{capital(first.reason)} ({first.number}).", LONGEST_DETAIL)
            yield Step(title, f"{detail}{more}", first.owner)


def _report(view: StoryView) -> GateReport | None:
    try:
        return view.gates
    except DataError:
        return None
