"""The conclusion of the Judge page in every state, and on the recorded judge replies of the demo."""

from __future__ import annotations

import pytest
from page_text import headline, page_text
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.headlines.headline import State
from ragtriage.dashboard.headlines.judge import judge_headline
from ragtriage.data.labels.agreement import EvaluatedMetric
from ragtriage.data.labels.agreement_report import MetricAgreement
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.metrics.schema.scores import Source
from ragtriage.metrics.statistics.agreement import Agreement
from ragtriage.metrics.statistics.class_agreement import Ceiling

NAN = float("nan")


def _agreement(
    dimension: str,
    value: float,
    low: float,
    high: float,
    against_one: tuple[float, float] = (NAN, NAN),
    negative: tuple[float, float, float, int] = (0.9, 0.7, 0.97, 20),
) -> MetricAgreement:
    correlation = Agreement("spearman", value, low, high, 48, "bootstrap")
    rate = Agreement("true_negative_rate", *negative, "wilson")
    ceiling = Ceiling(0.5, value, sum(against_one) / 2, *against_one, 48, 144)
    metric = EvaluatedMetric(dimension, Source.JUDGED)
    return MetricAgreement(dimension, metric, None, 48, {}, 0, (correlation, rate), (), {"spearman": ceiling})


GOOD = _agreement("faithfulness", 0.79, 0.63, 0.89, (0.1, 0.4))
OPEN = _agreement("completeness", 0.12, -0.17, 0.39)
WORSE = _agreement("correctness", 0.3, 0.1, 0.5, (-0.5, -0.1))
PASSES_BAD = _agreement("faithfulness", 0.79, 0.63, 0.89, (0.1, 0.4), (0.5, 0.24, 0.76, 10))
FEW_BAD = _agreement("faithfulness", 0.79, 0.63, 0.89, (0.1, 0.4), (0.8, 0.49, 0.94, 10))
NO_BAD = _agreement("faithfulness", 0.79, 0.63, 0.89, (0.1, 0.4), (NAN, NAN, NAN, 0))
CONSTANT = _agreement("appropriateness", NAN, NAN, NAN)


@pytest.mark.parametrize(
    ("agreements", "n_judged", "n_labelled", "state", "words"),
    [
        ([], 0, 0, "not measured", "No judge scores yet"),
        ([], 0, 80, "not measured", "No judge scores yet"),
        ([], 48, 0, "not measured", "Label all 48 answers to check the judge"),
        ([GOOD], 48, 18, "cannot tell", "18 labels are too few to trust the judge"),
        ([GOOD], 48, 1, "cannot tell", "One label is too few"),
        ([GOOD], 48, 48, "good", "The judge agrees with people on faithfulness"),
        ([GOOD, OPEN], 48, 48, "cannot tell", "Trust the judge on faithfulness, not on completeness"),
        ([PASSES_BAD, OPEN], 48, 48, "bad", "Doubt the judge on faithfulness: it passes 5 of 10 bad answers"),
        ([FEW_BAD], 48, 48, "bad", "Doubt the judge on faithfulness: it passes 2 of 10 bad answers"),
        ([NO_BAD], 48, 48, "cannot tell", "ranks faithfulness as people do; nobody has rated a bad answer"),
        ([OPEN], 48, 48, "cannot tell", "not shown to agree with people on completeness"),
        ([GOOD, WORSE], 48, 48, "bad", "worse than one person on correctness"),
        ([CONSTANT], 48, 48, "cannot tell", "Nothing that people rated can be compared"),
        ([GOOD, CONSTANT], 48, 48, "good", "on faithfulness"),
    ],
)
def test_every_state(
    agreements: list[MetricAgreement], n_judged: int, n_labelled: int, state: State, words: str
) -> None:
    made = judge_headline(agreements, n_judged, n_labelled)
    assert made.state == state
    assert words in made.statement
    assert len(made.statement) <= 80
    assert made.detail


def test_the_numbers_are_those_of_the_statistics() -> None:
    detail = judge_headline([GOOD, OPEN], 48, 48).detail
    assert (
        "0.79 [0.63, 0.89], n = 48. It ranks answers better than one person does, by 0.25 [0.10, 0.40]."
        in detail
    )
    assert "It catches 18 of 20 bad answers (70 % to 97 %)." in detail
    assert "0.12 [−0.17, 0.39], n = 48." in detail


def test_the_recorded_replies_are_held_against_three_annotators(
    demo: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run,) = demo.runs("mtrag, judged")
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(demo.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=120).run()
    app.query_params.update({"project": "mtrag, judged", "run": run.run_id, "part": "people"})
    app.switch_page("judge/judge.py").run()
    assert not app.exception
    assert "faithfulness" in headline(app)
    assert "answerability" not in headline(app), "which questions can be answered is not a human rating"
    text = page_text(app)
    assert "rank correlation with people 0.79" in text, "as the README of the replies says"
    assert "How far to trust the judge" in text


def test_nothing_of_the_handbook_is_called_human(demo: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    run = next(run for run in demo.runs("handbook") if run.name.startswith("V4"))
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(demo.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=120).run()
    app.query_params.update({"project": "handbook", "run": run.run_id})
    app.switch_page("judge/judge.py").run()
    assert headline(app) == "Label all 48 answers to check the judge"
