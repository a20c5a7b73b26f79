"""The slides on causes: what is lost at which step of the pipeline, and what to do next."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ragtriage.dashboard.charts.deck import Loss, step_columns
from ragtriage.dashboard.charts.tokens import LIGHT
from ragtriage.dashboard.headlines.deck import next_title, why_title
from ragtriage.dashboard.present.stories.context import StoryView
from ragtriage.dashboard.present.stories.story import (
    BigNumber,
    RenderedSection,
    SlideContent,
    Step,
    unmeasured,
)
from ragtriage.dashboard.tables.run import action_table, stage_table
from ragtriage.dashboard.wording.diagnosis import fix_first_sentence, no_bad_case
from ragtriage.dashboard.wording.escaping import capital, shorten
from ragtriage.dashboard.wording.next_steps import concerned, step_words
from ragtriage.data.diagnosis.doubts import stage_doubt
from ragtriage.data.diagnosis.pipeline import NOT_JUDGED, UNCHECKED, pipeline_of
from ragtriage.data.gates.next_steps import NextStep
from ragtriage.metrics.diagnosis.fix_first import UNEXPLAINED, FixFirst
from ragtriage.metrics.diagnosis.stages import STAGES, FailureStage, Owner, stage_code
from ragtriage.metrics.number_text import count
from ragtriage.metrics.sanity.documents import read_first

INFERRED = " (inferred)"
MOST_NUMBERS, STEPS = 4, 4
LONGEST_NAME, LONGEST_TITLE, LONGEST_DETAIL = 30, 90, 150


_PLAIN_STEPS = {  # a step of the pipeline for those who did not build the system
    "routed": "Checks passed",
    "found": "Passage found",
    "ranked": "Passed on",
    "faithful": "Supported",
}


def why_section(view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    """Return how many cases survive each step of the pipeline, and what loses most."""
    diagnosis, entries = view.diagnosis, view.diagnosis.fix_first
    measured, bad = int(diagnosis.measured.sum()), int(diagnosis.bad.bad.sum())
    if not measured:
        nothing = unmeasured(no_bad_case(diagnosis), "Why: not measured")
        return replace(nothing, facts=["no case is measured"])
    named = bool(entries) and entries[0].key != UNEXPLAINED
    top = _stage(entries[0]).counted.removesuffix(INFERRED) if named else ""
    content = SlideContent(
        "why",
        numbers=tuple(_big_number(view, entry) for entry in entries[:MOST_NUMBERS]),
        doubt="; ".join(_doubts(view, entries)),
    )
    rest = diagnosis.scored.n - measured
    return RenderedSection(
        heading=why_title(bad, measured, top, entries[0].n_bad if entries else 0),
        sentence=fix_first_sentence(diagnosis, view.findings)
        if entries
        else no_bad_case(diagnosis, view.findings),
        chart=step_columns(_losses(view), measured),
        table=stage_table(diagnosis, view.findings),
        facts=[
            f"{bad:,} bad of {count(measured, 'measured case')}",
            f"{count(rest, 'case')} left out: not measured" if rest else "",
            "each bad case counts at the first stage whose rule it meets",
        ],
        alt="Cases that pass each step of the pipeline, and those that fail there",
        slide=content,
    )


def _stage(entry: FixFirst) -> FailureStage:
    return STAGES[stage_code(entry.key)]


def _big_number(view: StoryView, entry: FixFirst) -> BigNumber:
    stage = _stage(entry)
    plain = stage.plain if view.audience != "engineer" else ""
    detail = capital(plain or stage.meaning.removeprefix("No gold is recorded; "))
    return BigNumber(f"{entry.n_bad:,}", stage.title, detail, LIGHT.stages[entry.owner])


def _doubts(view: StoryView, entries: Sequence[FixFirst]) -> list[str]:
    """Return what the checks doubt about the stages: the first to read, else on the largest."""
    first = [finding.clause for finding in read_first(view.findings)]
    if first or not entries:
        return first
    doubt = stage_doubt(view.diagnosis, view.findings, entries[0].key)
    return list(doubt.because[:1]) if doubt is not None else []


def _losses(view: StoryView) -> list[Loss]:
    """Return the steps that lose cases, as Triage has them, from what is measured to what is good."""
    diagnosis, names = view.diagnosis, _PLAIN_STEPS if view.audience != "engineer" else {}
    left = diagnosis.stand_for(diagnosis.measured)
    steps = [Loss("Checked" if names else "Measured", left)]
    for step in pipeline_of(diagnosis).steps:
        lost = Counter[Owner]()
        for loss in step.losses:
            if loss.key != NOT_JUDGED:
                lost[STAGES[stage_code(loss.key)].owner] += loss.n
        if lost:
            left -= lost.total()
            title = "Nothing else wrong" if step.key == "good" else names.get(step.key, step.title)
            steps.append(Loss(title, left, tuple(lost.items())))
    return [*steps, Loss("Good" if diagnosis.answers.enough else UNCHECKED, left)]


def next_section(view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    """Return the first of the next steps and the one decision that is asked for; the table has all steps."""
    every = view.next_steps
    steps = [_step(step) for step in every[:STEPS]]
    first = steps[0].title if steps else ""
    doubt = view.headline.doubt
    reservation = f"Doubted: {doubt}." if doubt else ""
    return RenderedSection(
        heading=next_title(view.headline.state, first),
        table=action_table(every),
        facts=[
            "now: keeps the version from shipping, or must be settled first",
            "next: most of the rest, or an undecided blocking gate",
            "later: low cost or uncertain gain",
            "by fixed rules from the checks, the failure stages and the gates",
            f"{count(len(every) - STEPS, 'more step')} in the table" if len(every) > STEPS else "",
        ],
        slide=SlideContent("next", steps=tuple(steps), decision=_decision(view), reservation=reservation),
    )


def _step(step: NextStep) -> Step:
    """Return a step as a slide has it; what it concerns stands beside it."""
    words = step_words(step)
    takes = f"takes {step.effort}" if step.effort else ""
    concerns = f"{step.horizon.capitalize()}: {concerned(step)}".rstrip(": ")
    return Step(
        shorten(words.what, LONGEST_TITLE),
        shorten(words.why, LONGEST_DETAIL),
        "\n".join(filter(None, [concerns, capital(words.likely), takes])),
    )


def _decision(view: StoryView) -> str:
    """Return what the audience is asked to decide."""
    state, name = view.headline.state, shorten(view.short_names[0], LONGEST_NAME)
    base = shorten(view.short_names[1], LONGEST_NAME)
    gained = view.comparison is not None and view.comparison.primary.difference.difference > 0
    keep = f"keep {base}; " if base and not gained else ""
    if state == "good":
        return f"release {name}."
    if state == "bad":
        return f"{keep}decide on {name} again after these steps."
    if state == "not measured":
        return f"{keep}agree on what has to be measured before {name} can be judged."
    return f"{keep}decide on {name} after these steps."
