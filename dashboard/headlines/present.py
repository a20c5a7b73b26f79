"""What the Present page concludes: whether the slides are ready, and what they say."""

from __future__ import annotations

from dashboard.headlines.headline import Headline, State

__all__ = ["present_headline"]

_SAYS: dict[State, str] = {
    "good": "",
    "bad": ": do not ship",
    "cannot tell": ": cannot tell yet",
    "doubted": ": cannot tell yet",
}


def present_headline(
    n_slides: int, state: State | None, verdict: str = "", skipped: tuple[str, ...] = (), gone: bool = False
) -> Headline:
    """Return whether a deck is ready, with the verdict that it gives.

    Args:
        n_slides: slides of the deck; 0 where there is no story.
        state: of the verdict on its first slide; None where it has none.
        verdict: the statement of that slide.
        skipped: titles of sections without a slide, since nothing was measured for them.
        gone: whether the run of the story is not in the workspace any more.
    """
    if gone:
        return Headline("empty", "The run of this story is gone", "It is not in the workspace any more.")
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
