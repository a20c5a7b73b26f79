"""Bands and sentences: number, uncertainty and n, and never a cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragtriage.data.gates.config import load_gates
from ragtriage.data.store.workspace import Workspace
from ragtriage.metrics.analysis.bands import GUIDES, TARGETS, BandScale, interpret
from ragtriage.metrics.metric_registry import REGISTRY
from ragtriage.metrics.schema.metric import Metric

FAITHFULNESS = REGISTRY["faithfulness"]  # good from 0.85, excellent from 0.95
TARGET_SCALE = BandScale("targets", TARGETS, {}, declared=True)
FAITHFUL_BANDS = TARGET_SCALE.of(FAITHFULNESS)
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
def test_bands_follow_the_direction_of_the_metric(metric: Metric, value: float, band: str | None) -> None:
    bands = TARGET_SCALE.of(metric)
    assert (None if bands is None else bands.at(value)) == band


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("answer_precision", ["poor", "fair", "good"]),
        ("answer_recall", ["poor", "fair", "good"]),
        ("context_recall", ["poor", "fair", "good"]),
        ("chunk_precision", ["poor", "fair", "good"]),
        ("context_utilization", ["poor", "fair", "good"]),
    ],
)
def test_the_shares_of_the_guide(metric: str, expected: list[str]) -> None:
    for guide in GUIDES[:2]:
        bands = guide.of(REGISTRY[metric])
        assert bands is not None
        assert [bands.at(value) for value in (0.29, 0.5, 0.71)] == expected


@pytest.mark.parametrize(
    ("key", "metric", "values", "expected"),
    [
        ("ragchecker", "answer_f1", (0.19, 0.3, 0.5, 0.61), ["poor", "fair", "good", "excellent"]),
        ("ragchecker", "faithfulness", (0.49, 0.6, 0.81), ["poor", "fair", "good"]),
        ("ragchecker", "hallucination", (0.51, 0.4, 0.2, 0.09), ["poor", "problematic", "good", "excellent"]),
        ("ragchecker", "noise_sensitivity_relevant", (0.51, 0.3, 0.19), ["poor", "fair", "good"]),
        ("ragchecker", "noise_sensitivity_irrelevant", (0.31, 0.2, 0.09), ["poor", "fair", "good"]),
        ("ragchecker", "self_knowledge", (0.51, 0.3, 0.09), ["poor", "fair", "good"]),
        (
            "ragchecker-general",
            "self_knowledge",
            (0.51, 0.3, 0.09),
            ["mostly memory", "mixed", "mostly context"],
        ),
        ("ragas", "faithfulness", (0.69, 0.75, 0.92), ["poor", "good", "excellent"]),
        ("ragas", "answer_relevancy", (0.59, 0.7, 0.8), ["poor", "good", "excellent"]),
    ],
)
def test_the_edges_of_the_other_scales(
    key: str, metric: str, values: tuple[float, ...], expected: list[str]
) -> None:
    scale = next(guide for guide in GUIDES if guide.key == key)
    bands = scale.of(REGISTRY[metric])
    assert bands is not None
    assert [bands.at(value) for value in values] == expected
    assert bands.scale == scale.title


def test_the_guide_has_all_eleven_metrics_of_ragchecker() -> None:
    assert [len(guide.bands) for guide in GUIDES] == [11, 11, 2]
    assert all(key in REGISTRY for guide in GUIDES for key in guide.bands)


@pytest.mark.parametrize(
    ("numbers", "sentence", "sure"),
    [
        (
            (0.90, 0.88, 0.92, 120),
            "Faithfulness is 0.90 (95 % interval 0.88 to 0.92, 120 questions): good (production targets).",
            True,
        ),
        (
            (0.84, 0.80, 0.88, 1200),
            "Faithfulness is 0.84 (95 % interval 0.80 to 0.88, 1,200 questions): needs work or good, "
            "too few questions to tell (limit 0.85, production targets).",
            False,
        ),
        (
            (0.92, 0.80, 0.97, 12),
            "Faithfulness is 0.92 (95 % interval 0.80 to 0.97, 12 questions): needs work or excellent, "
            "too few questions to tell (limit 0.85 and 0.95, production targets).",
            False,
        ),
        (
            (0.5, None, None, 1),
            "Faithfulness is 0.50 over 1 question; there is no interval, so it decides nothing.",
            False,
        ),
        (
            (0.92, None, None, 0),
            "Faithfulness is 0.92: good by the mean alone (production targets); "
            "there is no interval, so it decides nothing.",
            False,
        ),
        ((None, None, None, 0), "Faithfulness was not measured.", False),
    ],
)
def test_a_sentence_names_number_interval_and_n(
    numbers: tuple[float | None, float | None, float | None, int], sentence: str, sure: bool
) -> None:
    found = interpret(FAITHFULNESS, "Faithfulness", *numbers, FAITHFUL_BANDS)
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
        interpret(FAITHFULNESS, "F", 0.90, 0.88, 0.92, 120, FAITHFUL_BANDS).standing,
        interpret(FAITHFULNESS, "F", 0.84, 0.80, 0.88, 120, FAITHFUL_BANDS).standing,
        interpret(FAITHFULNESS, "F", 0.5, None, None, 1, FAITHFUL_BANDS).standing,
        interpret(FAITHFULNESS, "F", None, None, None, 0, FAITHFUL_BANDS).standing,
        interpret(REGISTRY["latency_ms"], "L", 812.4, 700.0, 905.0, 30).standing,
    ]
    assert shown == ["good (production targets)", *["cannot tell (production targets)"] * 2, "", ""]
