"""The picture of the pipeline: what is drawn, what a click carries, and that labels stay apart."""

from __future__ import annotations

from itertools import pairwise

import pytest

from ragtriage.dashboard.charts.river import RIVER_HEIGHT, river, river_alt
from ragtriage.dashboard.charts.tokens import THEMES, Theme
from ragtriage.data.diagnosis.pipeline import NOT_JUDGED, Loss, Pipeline, PipelineStep

STEPS = ("asked", "found", "ranked", "answered", "faithful", "complete", "good")


def _pipeline(n: int, **losses: tuple[Loss, ...]) -> Pipeline:
    left, steps = n, []
    for key in STEPS:
        lost = losses.get(key, ())
        left -= sum(loss.n for loss in lost)
        steps.append(
            PipelineStep(key, key.title(), left, lost, "not recorded" if key == "ranked" else "measured")
        )
    return Pipeline(n, tuple(steps))


RUN = _pipeline(
    30,
    found=(Loss("inferred_miss", 2, 2),),
    answered=(Loss("refused_with_context", 17),),
    faithful=(Loss("unfaithful", 9),),
    good=(Loss(NOT_JUDGED, 1),),
)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_bars_are_survivors_and_losses_hang_below(theme: Theme) -> None:
    figure = river(RUN, THEMES[theme])
    survivors, losses = figure.data[0], figure.data[1]
    assert list(survivors.y) == [30, 28, 28, 11, 2, 2, 1]
    assert [key for (key,) in losses.customdata] == ["inferred_miss", "refused_with_context", "unfaithful"]
    assert list(losses.y) == [2, 17, 9]
    assert list(losses.base) == [28, 11, 2]
    stages = THEMES[theme].stages
    assert list(losses.marker.color) == [stages["retrieval"], stages["refusal"], stages["generation"]]
    assert list(losses.marker.pattern.shape) == ["/", "", ""], "inferred is hatched"
    assert list(survivors.marker.pattern.shape)[2] == "/", "not recorded is hatched"
    assert figure.layout.height == RIVER_HEIGHT
    dashed = [shape for shape in figure.layout.shapes if shape.line.dash == "dash"]
    assert len(dashed) == 1, "what nothing measures is an outline"


def test_a_label_can_be_clicked_and_says_what_is_inferred_or_doubted() -> None:
    figure = river(RUN, THEMES["light"], doubted=("unfaithful",))
    texts = [note.text for note in figure.layout.annotations]
    assert any("−2" in text and "Retrieval miss" in text and " inferred" in text for text in texts)
    assert any("Unfaithful" in text and " doubted" in text for text in texts)
    (title,) = (text for text in texts if "Ranked<" in text)
    assert title.endswith("<b>not recorded</b>"), "no number that nothing recorded"
    assert any(text.endswith("<b>11</b>") for text in texts)
    assert {key for (key,) in figure.data[2].customdata} == {
        "inferred_miss",
        "refused_with_context",
        "unfaithful",
    }


def test_the_baseline_is_a_share_where_it_has_another_number_of_cases() -> None:
    same = river(RUN, THEMES["light"], _pipeline(30, faithful=(Loss("unfaithful", 21),)), "<b>basic</b>")
    assert any("9</b> good in<br>&lt;b&gt;basic" in note.text for note in same.layout.annotations)
    lines = [shape for shape in same.layout.shapes if shape.type == "line"]
    assert [line.y0 for line in lines] == [30, 30, 30, 9, 9, 9]
    other = river(RUN, THEMES["light"], _pipeline(60, faithful=(Loss("unfaithful", 45),)), "basic")
    assert any("25 %</b> good in" in note.text for note in other.layout.annotations)


def test_small_losses_at_the_lower_edge_keep_their_labels_apart() -> None:
    losses = (Loss("answered_unanswerable", 4), Loss("refused_with_context", 2), Loss("inferred_refusal", 1))
    figure = river(_pipeline(159, answered=losses), THEMES["light"])
    labels = [note for note in figure.layout.annotations if note.text.startswith("<b>−")]
    bottom, top = figure.layout.yaxis.range
    pixels = (RIVER_HEIGHT - figure.layout.margin.t) / (bottom - top)
    middles = [label.y * pixels for label in labels]
    assert all(second - first >= 16 for first, second in pairwise(middles))
    assert middles[-1] + 8 <= RIVER_HEIGHT - figure.layout.margin.t


def test_the_picture_is_told_in_words() -> None:
    assert river_alt(RUN).startswith(
        "30 cases through the pipeline: found 28, ranked not recorded, answered 11"
    )
    assert "17 wrongly refused" in river_alt(RUN)
    assert river_alt(_pipeline(3)).endswith("Failed: none.")
