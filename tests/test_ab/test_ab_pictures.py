"""The pictures of a live test, and the numbers that only the page has: levels of arms, units for the band."""

from __future__ import annotations

from math import isnan
from pathlib import Path

import numpy as np
import pytest
from live_test_rows import write_rows
from places import FIXTURES

from ragtriage.dashboard.charts.live_tests import answers_chart, levels_chart, looks_chart, power_chart
from ragtriage.dashboard.charts.tokens import LIGHT
from ragtriage.data.ab.ab_test import ArmResult, TestOptions, live_test
from ragtriage.data.ab.measures import answer_counts, arm_levels, measures_of
from ragtriage.data.ab.reading import read_test
from ragtriage.metrics.ab.differences import ArmTotals, arm_level
from ragtriage.metrics.ab.feedback import net_promoter
from ragtriage.metrics.ab.sequence import always_valid_reach, units_for_band
from ragtriage.metrics.schema.scores import MetricsError
from ragtriage.metrics.statistics.intervals import wilson
from ragtriage.metrics.statistics.power import units_per_arm

SURVEY = FIXTURES / "carpentries_feedback"


@pytest.fixture(scope="module")
def better(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("live") / "rows.csv")


def lead(path: Path, **options: float) -> ArmResult:
    found = live_test(read_test([path]), TestOptions(**options)).lead  # type: ignore[arg-type]
    assert found is not None
    return found


def test_a_level_has_the_interval_of_its_kind() -> None:
    share = ArmTotals(np.array([1.0, 0, 0, 1, 1]), np.ones(5))
    level = arm_level(share, "share")
    assert (level.low, level.high) == pytest.approx(wilson(0.6, 5))
    answers = np.array([10.0, 9, 3, 7, 10, 0])
    scored = ArmTotals(np.array([100.0, 100, -100, 0, 100, -100]), np.ones(6))
    nps = net_promoter(answers)
    level = arm_level(scored, "score")
    assert (level.mean, level.low, level.high) == pytest.approx((nps.score, nps.low, nps.high))
    ratio = arm_level(ArmTotals(np.array([2.0, 1, 0]), np.array([2.0, 3, 1])), "share")
    residuals = np.array([2 - 0.5 * 2, 1 - 0.5 * 3, 0 - 0.5]) * 3 / 6
    assert ratio.high - ratio.mean == pytest.approx(4.302653 * (residuals.var(ddof=1) / 3) ** 0.5, rel=1e-6)
    assert isnan(arm_level(ArmTotals(np.array([1.0]), np.ones(1)), "share").low)


def test_levels_and_answers_of_the_survey_are_the_published_ones() -> None:
    rows = read_test([SURVEY], by="survey", base="2019")
    levels = arm_levels(rows, measures_of(rows)["nps_score"])
    assert [round(levels[year].mean) for year in ("2019", "2020")] == [63, 47]
    counts = answer_counts(rows, "nps_score")
    assert [sum(counts[year]) for year in ("2017", "2019", "2020")] == [402, 134, 87]
    assert sum(counts["2020"][9:]) == 49
    figure = answers_chart(counts, LIGHT)
    assert len(figure.data) == 11
    assert sum(trace.x[0] for trace in figure.data) == pytest.approx(1)
    assert "56 % promote" in [note.text for note in figure.layout.annotations]


def test_the_band_takes_more_units_than_one_look_and_no_more_than_it_needs() -> None:
    variances = (0.58 * 0.42, 0.63 * 0.37)
    n = units_for_band(variances, 0.05)
    assert n > units_per_arm(variances, 0.05)

    def shown(units: int) -> bool:
        variance = sum(variances) / units
        reach = always_valid_reach(np.array([variance]), 0.05)[0]
        return bool(reach + 0.8416212 * variance**0.5 <= 0.05)

    assert shown(n)
    assert not shown(n - 1)
    assert units_for_band((0.0, 0.0), 0.05) == 2
    for wrong in ((-1.0, 1.0), (float("nan"), 1.0)):
        with pytest.raises(MetricsError, match="variances"):
            units_for_band(wrong, 0.05)
    with pytest.raises(MetricsError, match="effect"):
        units_for_band(variances, 0.0)


def test_so_many_units_show_the_effect_in_four_of_five_tests() -> None:
    """Drawn 2,000 times: the band leaves zero at the last look alone in at least 80 %."""
    rng, variances, effect = np.random.default_rng(4), (1.0, 1.0), 0.2
    n = units_for_band(variances, effect)
    error = (sum(variances) / n) ** 0.5
    reach = always_valid_reach(np.array([error**2]), effect)[0]
    assert (rng.normal(effect, error, 2_000) > reach).mean() == pytest.approx(0.8, abs=0.03)


def test_a_look_is_filled_where_its_band_leaves_zero(better: Path) -> None:
    arm = lead(better, worth=0.05)
    figure = looks_chart(arm, arm.looks, len(arm.looks), LIGHT)
    points = figure.data[-1]
    assert [list(keys) for keys in points.customdata] == [[at] for at in range(1, 15)]
    beyond = [not look.band_low <= 0 <= look.band_high for look in arm.looks]
    assert [colour == LIGHT.good_mark for colour in points.marker.color] == beyond
    assert any(note.text == "shown from here on" for note in figure.layout.annotations)
    early = looks_chart(arm, arm.looks, 3, LIGHT).data[-1].marker.opacity
    assert [share == 1 for share in early] == [at <= 3 for at in range(1, 15)]


def test_the_curve_of_power_goes_through_what_is_needed(tmp_path: Path) -> None:
    arm = lead(write_rows(tmp_path / "rows.csv", lift=0.02), worth=0.05)
    metric = arm.decides
    assert metric.result is not None
    figure = power_chart(metric, metric.result, 0.05, LIGHT)
    texts = {trace.text[0]: (trace.x[0], trace.y[0]) for trace in figure.data if trace.text}
    assert texts[f"seen now: {metric.needed_per_arm:,} an arm"][1] == metric.needed_per_arm
    assert next(y for text, (_, y) in texts.items() if text.startswith("now:")) == 300
    rows = read_test([tmp_path / "rows.csv"])
    levels = arm_levels(rows, measures_of(rows)["nps_score"])
    assert levels_chart(levels, metric, "V1", LIGHT).layout.xaxis.ticktext[0] == "V1 (base)"
