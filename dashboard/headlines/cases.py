"""What the Cases page concludes: how many cases are bad, where most went wrong, or that it is not known."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ragtriage.dashboard.headlines.headline import Headline, State
from ragtriage.dashboard.wording.diagnosis import REFUSALS_ALONE
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.data.comparison.question_changes import NewlyFailing
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.metrics.diagnosis.stages import STAGES, stage_code
from ragtriage.metrics.gates.gates import FEWEST_QUESTIONS
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import count
from ragtriage.metrics.schema.scores import IntArray

LONGEST_NAME = 24
MOST_STAGES = 4  # in the second line
NOT_JUDGED = (
    "Record a context metric, faithfulness or answer relevancy, run the judge, or label cases: "
    "none of them decides a case yet"
)


@dataclass(frozen=True)
class CaseCounts:
    """The cases that a list shows, counted."""

    run: str  # name of the run
    total: int  # all cases of the run
    shown: int  # cases that the filters keep
    bad: int  # how many of them are bad
    measured: int  # of how many it is known whether they are good or bad
    fully: int  # of how many no missing value could change the diagnosis
    # key of a failure stage -> bad cases at it, most first
    stages: Mapping[str, int] = field(default_factory=dict)
    judged_by: tuple[str, ...] = ()  # titles of what decides whether a case is bad
    questions: int = 0  # measured questions on the list; repeats of a question count once
    refusals_alone: bool = False  # whether it is only known if refusing was right
    set_by_people: int = 0  # of the cases on the list, those that labels call good or bad


def count_cases(run: str, diagnosis: Diagnosis, rows: IntArray) -> CaseCounts:
    """Count the cases of a list.

    Args:
        run: name of the run.
        diagnosis: of the run.
        rows: the cases that the list shows.
    """
    return CaseCounts(
        run=run,
        total=diagnosis.scored.n,
        shown=len(rows),
        bad=int(diagnosis.bad.bad[rows].sum()),
        measured=int(diagnosis.measured[rows].sum()),
        fully=int(diagnosis.coverage.fully[rows].sum()),
        stages=stage_counts(diagnosis, rows),
        judged_by=tuple(title_of(name) for name in diagnosis.coverage.names),
        questions=len(np.unique(diagnosis.scored.question[rows][diagnosis.measured[rows]])),
        refusals_alone=diagnosis.coverage.of_refusals_alone,
        set_by_people=int(diagnosis.human_labels.decided[rows].sum()),
    )


def stage_counts(diagnosis: Diagnosis, rows: IntArray) -> dict[str, int]:
    """Return the number of bad cases among rows at each failure stage that has any, most first."""
    codes = diagnosis.stages.stage[rows]
    counts = np.bincount(codes[codes >= 0], minlength=len(STAGES))
    return {STAGES[at].key: int(counts[at]) for at in np.argsort(-counts, kind="stable") if counts[at]}


def cases_headline(counts: CaseCounts, doubt: str = "", where: str = "") -> Headline:
    """Return what the list of cases concludes.

    Args:
        counts: of the cases on the list.
        doubt: what the checks doubt about them; "" for nothing.
        where: what the cohort says of its cases, where it is the only filter; "" for other filters.
    """
    name = shorten(counts.run, LONGEST_NAME)
    if not counts.shown:
        statement = f"no case where {where}" if where else "no case matches the filters"
        kept = f"None of {count(counts.total, 'case')}{'' if where else '; clear the filters to see them'}"
        return Headline("empty", f"{name}: {statement}", kept)
    if not counts.measured:
        of = "" if counts.shown == counts.total else f" of the {counts.shown:,} shown"
        return Headline("not measured", f"{name}: no case{of} could be judged", NOT_JUDGED)
    state, statement = _conclusion(counts)
    if state == "good" and doubt:
        state = "doubted"
    return Headline(state, f"{name}: {statement}", _detail(counts), doubt)


def none_contradicted(run: str, checked: int, answers: int) -> Headline:
    """Return what a list concludes that has only contradicted answers and none of them.

    Args:
        run: name of the run.
        checked: answers whose claims were compared with the documents of their context.
        answers: of the run, without refusals.
    """
    name = shorten(run, LONGEST_NAME)
    if not checked:
        detail = "No claim of its answers was compared with a document: record `claims`, or judge the run"
        return Headline("not measured", f"{name}: not known whether a document contradicts an answer", detail)
    few = checked < max(answers, FEWEST_QUESTIONS)
    detail = f"The claims of {checked:,} of {count(answers, 'answer')} were compared with their documents"
    statement = (
        f"No {'checked ' if checked < answers else ''}answer of {name} is contradicted by its documents"
    )
    return Headline("cannot tell" if few else "good", statement, detail)


def nothing_newly_fails(run: str, base: str, change: NewlyFailing, doubt: str = "") -> Headline:
    """Return what a list concludes that has only newly failing cases and none of them.

    Args:
        run: name of the run.
        base: name of the run that the cases passed in.
        change: from that run to this one.
        doubt: what the checks doubt about it; "" for nothing.
    """
    name, before = shorten(run, LONGEST_NAME), shorten(base, LONGEST_NAME)
    if not change.compared:
        detail = f"No question is measured both in it and in {before}"
        return Headline("not measured", f"{name}: not known what newly fails", detail)
    detail = (
        f"Of {count(change.compared, 'question')} measured in both, none passed in {before} and fails now; "
        f"{change.repaired:,} newly {'passes' if change.repaired == 1 else 'pass'}"
    )
    state: State = "doubted" if doubt else "cannot tell" if change.compared < FEWEST_QUESTIONS else "good"
    return Headline(state, f"{name}: nothing newly fails since {before}", detail, doubt)


def _conclusion(counts: CaseCounts) -> tuple[State, str]:
    cases, unclear = count(counts.shown, "case"), counts.shown - counts.fully
    few = counts.questions < FEWEST_QUESTIONS or counts.refusals_alone
    if counts.shown < counts.total:  # filtered: what is left of the run
        bad = "all bad" if counts.bad == counts.shown else f"{counts.bad:,} bad" if counts.bad else "none bad"
        state: State = "bad" if counts.bad else "cannot tell" if unclear or few else "good"
        return state, f"{counts.shown:,} of {count(counts.total, 'case')} shown, {bad}"
    if not counts.bad:
        if unclear:
            return "cannot tell", f"no bad case yet, {unclear:,} not fully measured"
        passing = "the only case passes" if counts.shown == 1 else f"all {cases} pass"
        if counts.refusals_alone:
            return "cannot tell", f"{passing}, judged by answerability alone"
        return ("cannot tell", f"{passing}, too few to tell") if few else ("good", passing)
    # What is open outweighs what is known: the count says little about the run
    if unclear > counts.bad:
        return "cannot tell", f"{counts.bad:,} bad, {unclear:,} not fully measured"
    most = next(iter(counts.stages.items()), None)
    where = f", {_counted(*most)}" if most else ""
    if counts.bad == counts.shown:
        return "bad", f"the only case is bad{where}" if counts.shown == 1 else f"all {cases} are bad{where}"
    return "bad", f"{counts.bad:,} of {cases} {'is' if counts.bad == 1 else 'are'} bad{where}"


def _counted(key: str, n: int) -> str:
    """Return a count of cases at a stage; that it is inferred is said in the second line and on the case."""
    return STAGES[stage_code(key)].count(n).removesuffix(" (inferred)")


def _detail(counts: CaseCounts) -> str:
    named = list(counts.stages.items())[:MOST_STAGES]
    listed = ", ".join(STAGES[stage_code(key)].count(n) for key, n in named)
    rest = counts.bad - sum(n for _, n in named)
    parts = [f"{listed}{f', {rest:,} at other stages' if rest > 0 else ''}" if listed else ""]
    passing, unknown = counts.measured - counts.bad, counts.shown - counts.measured
    parts.append(f"{passing:,} {'passes' if passing == 1 else 'pass'}" if passing and counts.bad else "")
    parts.append(f"{unknown:,} not measured" if unknown else "")
    parts.append(
        f"{counts.set_by_people:,} of {counts.shown:,} set by people" if counts.set_by_people else ""
    )
    if counts.judged_by and counts.fully < counts.shown:
        judged_by = ", ".join(counts.judged_by)
        parts.append(f"Judged by {judged_by}; {counts.fully:,} of {counts.shown:,} fully measured")
    parts.append(REFUSALS_ALONE if counts.refusals_alone else "")
    return ". ".join(part for part in parts if part)


def blind_headline(dimension: str, remaining: int) -> Headline:
    """Return the headline while cases are labelled blind: it shows nothing of what the diagnosis says.

    Args:
        dimension: what is labelled.
        remaining: cases that are still to be labelled.
    """
    return Headline(
        "empty",
        f"Labelling blind: {dimension}",
        f"{count(remaining, 'case')} to go. Scores are hidden while you label, and so are the state and the "
        "labels of others; the order is random",
    )
