"""What the Present page concludes, and the titles of the slides of a deck: at most about 60 characters."""

from collections.abc import Mapping, Sequence
from typing import Literal

from ragtriage.dashboard.headlines.headline import Headline, State
from ragtriage.dashboard.wording.escaping import in_sentence, shorten
from ragtriage.metrics.number_text import count

LONGEST_NAME = 24


def why_title(n_bad: int, n_measured: int, top: str = "", n_top: int = 0) -> str:
    """Return how many answers are bad, and what most of them have in common.

    Args:
        n_bad: bad cases.
        n_measured: cases for which it is known.
        top: name of the stage that loses most, as it follows a number; "" where none can be named.
        n_top: its cases.
    """
    if not n_bad:
        return f"All {n_measured:,} measured answers are good" if n_measured > 1 else "The answer is good"
    lost = f"{n_bad:,} of {n_measured:,} answers {'is' if n_bad == 1 else 'are'} bad"
    if not top:
        return lost
    if n_bad == 1:
        return f"{lost}: {top}"
    return f"{lost}, all {top}" if n_top == n_bad else f"{lost}, most often {top} ({n_top:,})"


def users_title(faulty: int, of: int, people: str, before: int, base: str) -> str:
    """Return how many of those who ask get no good answer.

    Args:
        faulty: cases that are bad.
        of: measured cases.
        people: what is counted, "people who ask" or "answers".
        before: bad cases of the baseline, over as many.
        base: name of the baseline; "" where it cannot be compared.
    """
    answers = people == "answers"
    if not faulty:
        return f"All {of:,} {people} {'are good' if answers else 'get a good answer'}"
    one = "gets" if faulty == 1 else "get"
    get = f"{faulty:,} of {of:,} {people} {'are faulty' if answers else f'{one} no good answer'}"
    if not base:
        return get
    name = shorten(base, LONGEST_NAME)
    return f"{get}, as many as with {name}" if before == faulty else f"{get}, {before:,} with {name}"


def change_title(better: Sequence[str], worse: Sequence[str], base: str) -> str:
    """Return which headline metrics changed beyond chance against the baseline.

    Args:
        better: titles of those that improved beyond chance.
        worse: titles of those that got worse.
        base: name of the baseline.
    """
    name = shorten(base, LONGEST_NAME)
    if not better and not worse:
        return f"No headline metric changed beyond chance since {name}"
    if len(better) + len(worse) == 1:
        (title,) = (*better, *worse)
        return f"One headline metric {'improved' if better else 'got worse'} beyond chance: {title}"
    if not worse:
        return f"{len(better)} headline metrics improved beyond chance, none got worse"
    if not better:
        return f"{len(worse)} headline metrics got worse beyond chance, none improved"
    return f"{count(len(better), 'headline metric')} improved beyond chance, {len(worse)} got worse"


def example_title(
    run: str, base: str, *, refused: bool, passes: bool, base_passes: bool | None, stage: str, same: str
) -> str:
    """Return what the example shows.

    Args:
        run: name of the run.
        base: name of the baseline; "" without one.
        refused: whether the run refused the question.
        passes: whether its answer is good.
        base_passes: whether the baseline's is; None where that is not known.
        stage: short name of the failure stage of the run's answer, "" for none.
        same: what every question got, as "the same 10 documents"; "" where that was not found.
    """
    name, other = shorten(run, LONGEST_NAME), shorten(base, LONGEST_NAME)
    if same:
        return f"{name} gives every question {same}"
    if passes:
        return f"{name} answers what {other} got wrong" if base_passes is False else f"{name}: a good answer"
    if base_passes and refused:
        return f"{name} refuses what {other} answers"
    if base_passes:
        return f"{name} gets wrong what {other} got right"
    return f"One bad case of {name}: {stage[:1].lower()}{stage[1:]}" if stage else f"One bad case of {name}"


def next_title(state: State, first: str) -> str:
    """Return what comes next.

    Args:
        state: of the verdict.
        first: what the first of the next steps asks for; "" without one.
    """
    if not first:
        return "Nothing has to be repaired first"
    if state == "good":
        return f"After the release: {in_sentence(first.partition(': ')[0])}"
    then = "decide" if state == "cannot tell" else "judge again"
    return f"Next: {in_sentence(first.partition(': ')[0])}, then {then}"


Problem = Literal["unreadable", "gone", "emptied"]
_PROBLEMS: Mapping[Problem, Headline] = {
    "unreadable": Headline(
        "empty", "This deck cannot be read", "Its stored file is not a deck: remove it, or make a new one."
    ),
    "gone": Headline("empty", "The run of this deck is gone", "It is not in the workspace any more."),
    "emptied": Headline("empty", "This deck has no slides", "Add a slide below, or make a new deck."),
}

_SAYS: dict[State, str] = {
    "good": "",
    "bad": ": do not ship",
    "cannot tell": ": cannot tell yet",
    "doubted": ": cannot tell yet",
}


def present_headline(
    n_slides: int,
    state: State | None,
    verdict: str = "",
    skipped: tuple[str, ...] = (),
    n_long: int = 0,
    problem: Problem | None = None,
) -> Headline:
    """Return whether a deck is ready, with the verdict that it gives.

    Args:
        n_slides: slides of the deck; 0 where there is no story.
        state: of the verdict on its first slide; None where it has none.
        verdict: the statement of that slide.
        skipped: titles of sections without a slide, since nothing was measured for them.
        n_long: slides of them that hold tables, charts or cases, as many as a file needs for them.
        problem: why a story shows nothing: its text cannot be read, its run is not in the workspace any more,
            or all its slides were removed; None for none.
    """
    if problem is not None:
        return _PROBLEMS[problem]
    if not n_slides:
        return Headline(
            "empty",
            "No slides yet",
            "Choose an audience and press New deck: verdict, why, what people get, one example, what is next",
        )
    slides = "1 slide is" if n_slides == 1 else f"{n_slides} slides are"
    left_out = f"Not measured, so without a slide: {', '.join(skipped)}." if skipped else ""
    more = f"In a file {n_long} slides become one or more each: tables, charts, cases." if n_long else ""
    detail = " ".join(filter(None, [f"{verdict.rstrip('.')}." if verdict else "", more, left_out]))
    if state is None or state in ("not measured", "empty"):
        return Headline("not measured", f"{slides} ready, without a verdict", detail)
    return Headline(state, f"{slides} ready{_SAYS[state]}", detail)
