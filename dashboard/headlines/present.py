"""What the Present page concludes: whether the slides are ready, and what they say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ragtriage.dashboard.headlines.headline import Headline, State

Problem = Literal["unreadable", "gone", "emptied"]
_PROBLEMS: Mapping[Problem, Headline] = {
    "unreadable": Headline(
        "empty", "This deck cannot be read", "What is stored of it is no deck: remove it, or make a new one."
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
    problem: Problem | None = None,
) -> Headline:
    """Return whether a deck is ready, with the verdict that it gives.

    Args:
        n_slides: slides of the deck; 0 where there is no story.
        state: of the verdict on its first slide; None where it has none.
        verdict: the statement of that slide.
        skipped: titles of sections without a slide, since nothing was measured for them.
        problem: why a story shows nothing: its text cannot be read, its run is not in the workspace any more,
            or all its slides were removed; None for none.
    """
    if problem is not None:
        return _PROBLEMS[problem]
    if not n_slides:
        return Headline(
            "empty",
            "No slides yet",
            "Choose an audience and press New deck: verdict, why, what changed, one example, what is next",
        )
    slides = "1 slide is" if n_slides == 1 else f"{n_slides} slides are"
    left_out = f"Not measured, so without a slide: {', '.join(skipped)}." if skipped else ""
    detail = " ".join(filter(None, [f"{verdict.rstrip('.')}." if verdict else "", left_out]))
    if state is None or state in ("not measured", "empty"):
        return Headline("not measured", f"{slides} ready, without a verdict", detail)
    return Headline(state, f"{slides} ready{_SAYS[state]}", detail)
