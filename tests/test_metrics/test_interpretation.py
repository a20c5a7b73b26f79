"""Bands and sentences: number, uncertainty and n, and never a cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from data.gates.config import load_gates
from data.store.workspace import Workspace
from metrics.analysis.bands import band_of, interpret
from metrics.metric_registry import REGISTRY

FAITHFULNESS = REGISTRY["faithfulness"]  # good from 0.85, excellent from 0.95
HALLUCINATION = REGISTRY["hallucination"]  # good up to 0.10, excellent up to 0.05


@pytest.mark.parametrize(
    ("metric", "value", "band"),
    [
        (FAITHFULNESS, 0.8499, "needs work"),
        (FAITHFULNESS, 0.85, "good"),
        (FAITHFULNESS, 0.95, "excellent"),
        (HALLUCINATION, 0.11, "needs work"),
        (HALLUCINATION, 0.10, "good"),
        (HALLUCINATION, 0.05, "excellent"),
        (REGISTRY["self_knowledge"], 0.5, None),
    ],
)
def test_bands_follow_the_direction_of_the_metric(metric: object, value: float, band: str | None) -> None:
    assert band_of(metric, value) == band  # type: ignore[arg-type] # parametrised


@pytest.mark.parametrize(
    ("numbers", "sentence", "sure"),
    [
        (
            (0.90, 0.88, 0.92, 120),
            "Faithfulness is 0.90 (95 % interval 0.88 to 0.92, 120 questions): good.",
            True,
        ),
        (
            (0.84, 0.80, 0.88, 1200),
            "Faithfulness is 0.84 (95 % interval 0.80 to 0.88, 1,200 questions): needs work or good, "
            "too few questions to tell (limit 0.85).",
            False,
        ),
        (
            (0.92, 0.80, 0.97, 12),
            "Faithfulness is 0.92 (95 % interval 0.80 to 0.97, 12 questions): needs work or excellent, "
            "too few questions to tell (limit 0.85 and 0.95).",
            False,
        ),
        (
            (0.5, None, None, 1),
            "Faithfulness is 0.50 over 1 question; there is no interval, so it decides nothing.",
            False,
        ),
        ((None, None, None, 0), "Faithfulness was not measured.", False),
    ],
)
def test_a_sentence_names_number_interval_and_n(
    numbers: tuple[float | None, float | None, float | None, int], sentence: str, sure: bool
) -> None:
    found = interpret(FAITHFULNESS, "Faithfulness", *numbers)
    assert (found.sentence, found.sure) == (sentence, sure)
    assert found.meaning == FAITHFULNESS.meaning


def test_a_metric_without_bands_is_only_told() -> None:
    found = interpret(REGISTRY["latency_ms"], "Latency", 812.4, 700.0, 905.0, 30)
    assert found.sentence == "Latency is 812 (95 % interval 700 to 905, 30 questions)."
    assert found.band is None


def test_every_gate_of_the_default_has_bands_that_agree_with_it(tmp_path: Path) -> None:
    for gate in load_gates(Workspace(tmp_path)).general:
        metric = REGISTRY.get(gate.metric)
        if gate.kind == "mean" and metric is not None and metric.bands is not None:
            assert metric.bands[0] == gate.threshold, gate.metric


def test_a_band_stands_in_a_table_only_where_the_whole_interval_lies_in_it() -> None:
    shown = [
        interpret(FAITHFULNESS, "F", 0.90, 0.88, 0.92, 120).standing,
        interpret(FAITHFULNESS, "F", 0.84, 0.80, 0.88, 120).standing,
        interpret(FAITHFULNESS, "F", 0.5, None, None, 1).standing,
        interpret(FAITHFULNESS, "F", None, None, None, 0).standing,
        interpret(REGISTRY["latency_ms"], "L", 812.4, 700.0, 905.0, 30).standing,
    ]
    assert shown == ["good", "cannot tell", "cannot tell", "", ""]
