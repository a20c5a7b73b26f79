"""The points a story can make: each from the runs to heading, sentence, chart, table, cases and facts.

Every text here is plain; whoever shows it escapes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import plotly.graph_objects as go

from dashboard.charts import difference_forest, fix_first_bars
from dashboard.diagnosis_words import inferred_words, no_bad_case, ownership, rate_title
from dashboard.rounding import count, interval_text, number, p_value, percent, signed, source_text
from dashboard.story import Audience, Made, StoryPiece
from dashboard.story_cases import chosen_cases
from dashboard.story_gates import gate_piece
from dashboard.story_trend import HEADLINE, trend_piece
from dashboard.story_view import StoryView
from dashboard.story_views import alignment_piece, grid_piece, loss_piece, retrieval_piece
from dashboard.text import capital
from data.comparisons import GOOD_SHARE, MetricDifference
from data.errors import DataError
from data.interpretations import interpretation_of
from data.summaries import Aggregate
from metrics.catalogue import declared, title_of
from metrics.diagnosis import PATTERNS

__all__ = ["PIECES", "PieceKind", "default_pieces", "make_piece"]

Maker = Callable[[StoryView, Mapping[str, str]], Made]


@dataclass(frozen=True)
class PieceKind:
    """A kind of point.

    Attributes:
        title: for the list of what can be picked.
        make: from runs and choices to what is shown.
        audiences: for whom it stands in a fresh story.
    """

    title: str
    make: Maker
    audiences: tuple[Audience, ...] = ("engineer",)


def _text(_view: StoryView, _chosen: Mapping[str, str]) -> Made:
    return Made("text", "")


def _headline(view: StoryView, _chosen: Mapping[str, str]) -> Made:
    shown = [name for name in HEADLINE if name in view.summary and view.summary[name].n_scored]
    if not shown:
        return Made("headline", "How good is it?", "No headline metric was measured on this run.")
    rows = [_metric_row(name, view.summary[name]) for name in shown]
    rate = view.diagnosis.pass_rate
    said = (
        f"{rate_title(view.diagnosis)}: {percent(rate.mean)} of cases "
        f"(95 % interval {percent(rate.low)} to {percent(rate.high)}, {count(rate.n_scored, 'question')})."
        if rate.n_scored
        else "Nothing was measured that says whether a case is good."
    )
    return Made(
        "headline",
        "How good is it?",
        f"{said} {interpretation_of(shown[-1], view.summary[shown[-1]]).sentence}"
        if len(shown) == 1
        else said,
        rows=rows,
        facts=["means over questions, repeats averaged first", "95 % intervals"],
    )


def _metric_row(name: str, one: Aggregate) -> dict[str, str]:
    said = interpretation_of(name, one)
    return {
        "Metric": capital(title_of(name)),
        "Mean": number(one.mean),
        "95 % interval": interval_text(one.low, one.high),
        "Questions": f"{one.n_scored:,} of {one.n_applicable:,}",
        "Obtained": source_text(one),
        "Band": said.standing,
        "Meaning": said.meaning,
    }


def _fix_first(view: StoryView, _chosen: Mapping[str, str]) -> Made:
    found = view.diagnosis
    entries = found.fix_first
    heading = "What should be fixed first?"
    if not entries:
        return Made("fix_first", heading, no_bad_case(found))
    top = entries[0]
    bound = (
        f" If that stage were perfect, the pass rate would be at most {percent(top.pass_rate_if_perfect)} "
        f"(now {percent(found.pass_rate.mean)}): an upper bound."
    )
    bad = int(found.bad.bad.sum())
    return Made(
        "fix_first",
        heading,
        f"{top.title} {ownership(top, bad)}.{bound}",
        figure=fix_first_bars(entries),
        rows=[{"Stage": one.title, "Bad cases": one.n_bad, "Owner": one.owner} for one in entries],
        facts=[
            f"{bad:,} bad of {count(found.table.n, 'case')}",
            "each bad case belongs to the first stage whose evidence it meets",
            inferred_words(found, top, view.findings),
        ],
        alt="Failure stages by number of bad cases",
    )


def _patterns(view: StoryView, _chosen: Mapping[str, str]) -> Made:
    counts = view.diagnosis.pattern_counts()
    rows = [{"Pattern": one.title, "Cases": counts[one.key]} for one in PATTERNS if counts[one.key]]
    signal = title_of(view.diagnosis.signal) if view.diagnosis.signal else "none measured"
    return Made(
        "patterns",
        "Retrieval or generation?",
        rows=rows,
        facts=[f"context signal: {signal}", count(view.diagnosis.table.n, "case")],
    )


def _change(view: StoryView, _chosen: Mapping[str, str]) -> Made:
    heading = "Did the last change help?"
    found = view.comparison
    if found is None or view.baseline is None:
        return Made("change", heading, "No baseline was chosen, so nothing can be said.")
    base = view.names[view.baseline.run_id]
    known = [one for one in found.differences if one.difference.n_pairs]
    if not known:
        said = f"{base} and this run have no metric measured on the same questions, so nothing can be said."
        return Made("change", heading, said, facts=list(found.warnings))
    moved = [one for one in known if one.verdict in ("better", "worse")]
    said = "; ".join(
        f"{capital(title_of(one.metric))} {signed(one.difference.difference)} "
        f"({interval_text(one.difference.low, one.difference.high)}), {one.verdict}"
        for one in moved
    )
    return Made(
        "change",
        heading,
        f"Against {base}: {said}." if said else f"Against {base}, no metric moved beyond chance.",
        figure=_forest(known),
        rows=[
            {
                "Metric": capital(title_of(one.metric)),
                "Baseline": number(one.base),
                "This run": number(one.other),
                "Difference": signed(one.difference.difference),
                "95 % interval": interval_text(one.difference.low, one.difference.high),
                "n": one.difference.n_pairs,
                "p (Holm)": p_value(one.adjusted_p),
                "Verdict": one.verdict,
            }
            for one in known
        ],
        facts=[
            f"paired on {count(len(found.alignment.base), 'shared question')}",
            f"{count(len(known), 'metric')}, Holm-corrected; the intervals are not corrected",
            *found.warnings,
        ],
        alt="Differences to the baseline with 95 % intervals",
    )


def _forest(differences: Sequence[MetricDifference]) -> go.Figure:
    shown = [one for one in differences if one.metric == GOOD_SHARE or _share(one.metric)]
    known = {one.metric: declared(one.metric) for one in shown}
    return difference_forest(
        shown, {name: one.higher_is_better if one else True for name, one in known.items()}
    )


def _share(metric: str) -> bool:
    found = declared(metric)
    return found is not None and found.bounds == (0.0, 1.0)


def _slices(view: StoryView, _chosen: Mapping[str, str]) -> Made:
    found = view.diagnosis.worst_slices
    heading = "Where does it do worst?"
    if not found:
        return Made("slices", heading, "No slice has enough questions and does worse than the rest.")
    real = [one for one in found if one.adjusted_p < 0.05]
    return Made(
        "slices",
        heading,
        f"{len(real)} of {found[0].n_looked_at} slices do worse than the rest beyond chance.",
        rows=[
            {
                "Slice": f"{one.name}: {one.value}",
                "Bad": f"{one.n_bad:,} of {one.n:,}",
                "Share": percent(one.rate),
                "The rest": percent(one.rate_rest),
                "p (Holm)": p_value(one.adjusted_p),
            }
            for one in found[:8]
        ],
        facts=[f"{found[0].n_looked_at} slices looked at, Holm-corrected"],
    )


def _checks(view: StoryView, _chosen: Mapping[str, str]) -> Made:
    heading = "Can the numbers be trusted?"
    if not view.findings:
        return Made("checks", heading, "The numbers agree with each other.")
    rows = [
        {"Kind": one.severity, "Finding": one.title, "What it says": one.message} for one in view.findings
    ]
    return Made("checks", heading, f"{count(len(rows), 'finding')} of the checks on the numbers.", rows=rows)


PIECES: Mapping[str, PieceKind] = {
    "verdict": PieceKind("Verdict: the gates", gate_piece, ("engineer", "lead", "stakeholder")),
    "headline": PieceKind("Headline metrics", _headline, ("engineer", "lead", "stakeholder")),
    "change": PieceKind("Change since the baseline", _change, ("engineer", "lead", "stakeholder")),
    "fix_first": PieceKind("What to fix first", _fix_first, ("engineer", "lead", "stakeholder")),
    "patterns": PieceKind("Metric patterns", _patterns),
    "slices": PieceKind("Worst slices", _slices, ("engineer", "lead")),
    "cases": PieceKind("Cases in full", chosen_cases, ("engineer", "lead")),
    "trend": PieceKind("A metric over versions", trend_piece, ("engineer", "lead")),
    "retrieval": PieceKind("Retrieval over k", retrieval_piece),
    "alignment": PieceKind("Use by rank", alignment_piece),
    "losses": PieceKind("Lost in retrieval or generation", loss_piece),
    "chunking": PieceKind("Chunking grid", grid_piece),
    "checks": PieceKind("Checks on the numbers", _checks),
    "text": PieceKind("Text", _text, ()),
}


def default_pieces(audience: Audience) -> tuple[StoryPiece, ...]:
    """Give the points of a fresh story for an audience."""
    return tuple(StoryPiece(key) for key, kind in PIECES.items() if audience in kind.audiences)


def make_piece(view: StoryView, piece: StoryPiece) -> Made:
    """Make a point of a story; one that this version does not know, or that fails, says so."""
    kind = PIECES.get(piece.kind)
    if kind is None:
        known = ", ".join(PIECES)
        return Made(
            piece.kind, piece.heading or "Unknown point", f"No point {piece.kind[:40]!r}; known: {known}"
        )
    try:
        made = kind.make(view, piece.chosen)
    except DataError as error:
        made = Made(piece.kind, kind.title, f"This cannot be shown: {error}")
    facts: Sequence[str] = [one for one in made.facts if one]
    return replace(made, heading=piece.heading or made.heading, note=piece.note, facts=facts)
