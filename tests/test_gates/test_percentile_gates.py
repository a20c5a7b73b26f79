"""Gates on percentiles over hand-made runs, from the file to the verdict and the files of CI."""

from __future__ import annotations

from typing import Any

import pytest

from ragtriage.dashboard.cli.results.gate import junit_xml, markdown_summary
from ragtriage.data.api import add_run
from ragtriage.data.errors import DataError
from ragtriage.data.gates.baseline import baseline_of
from ragtriage.data.gates.config import read_gates
from ragtriage.data.gates.report import GateReport, gate_run
from ragtriage.data.scoring.run_store import RunStore

P95 = (
    '[[gate]]\nkind = "percentile"\nmetric = "retrieval_ms"\npercentile = 95\nat_most = 50\n'
    'severity = "block"\nreason = "slow"\n'
)
BY_SAMPLE = P95 + 'over = "samples"\n'


def _asked(times: list[list[float | None]], **more: Any) -> list[dict[str, Any]]:
    """One question a list, one repeat a time of retrieval."""
    return [
        {
            "question_id": f"q{at:03d}",
            "question": f"Question {at}?",
            "answer": "An answer.",
            "repeat": repeat,
            "retrieval_ms": time,
            **more,
        }
        for at, repeats in enumerate(times)
        for repeat, time in enumerate(repeats)
    ]


def _report(store: RunStore, times: list[list[float | None]], gates: str = P95) -> GateReport:
    run = add_run(_asked(times), "timed", "shop", str(store.workspace.root))
    fresh = RunStore(store.workspace)
    return gate_run(fresh, run, baseline_of(fresh, run), read_gates(gates, "gates.toml"))


@pytest.mark.parametrize(
    ("times", "verdict", "n"),
    [
        ([[float(at % 40)] for at in range(100)], "PASS", 100),
        ([[60.0 + at % 40] for at in range(100)], "FAIL", 100),
        ([[at * 0.4] for at in range(1, 131)], "INCONCLUSIVE", 130),
        ([[1.0]] * 71, "UNMEASURED", 71),
        ([[1.0]] * 72, "PASS", 72),
    ],
)
def test_the_95th_percentile_of_retrieval_time(
    workspace: RunStore, times: list[list[float | None]], verdict: str, n: int
) -> None:
    (result,) = _report(workspace, times).results
    assert (result.verdict, result.n_scored) == (verdict, n)


def test_inconclusive_where_the_threshold_lies_between_the_ranks(workspace: RunStore) -> None:
    # 1..100: the 90th and the last value enclose the percentile
    gates = P95.replace("at_most = 50", "at_most = 95")
    (result,) = _report(workspace, [[float(at)] for at in range(1, 101)], gates).results
    assert (result.verdict, result.low, result.high) == ("INCONCLUSIVE", 90.0, 100.0)


def test_a_slow_tenth_shows_in_samples_and_hides_in_the_means_of_questions(workspace: RunStore) -> None:
    times: list[list[float | None]] = [[10.0, 10.0, 10.0, 10.0, 120.0] for _ in range(80)]
    of_questions, of_samples = (_report(workspace, times, gates).results[0] for gates in (P95, BY_SAMPLE))
    assert (of_questions.verdict, of_questions.mean, of_questions.n_scored) == ("PASS", 32.0, 80)
    assert (of_samples.verdict, of_samples.mean, of_samples.n_scored) == ("FAIL", 120.0, 400)
    assert of_samples.obtained.endswith("order statistics, 80 independent")


def test_rule_mean_lets_the_percentile_alone_decide(workspace: RunStore) -> None:
    (result,) = _report(workspace, [[10.0]] * 8, 'rule = "mean"\n' + P95).results
    assert (result.verdict, result.low) == ("PASS", None)
    assert "the percentile alone decides" in result.sentence


def test_a_run_without_times_is_unmeasured(workspace: RunStore) -> None:
    (result,) = _report(workspace, [[None]] * 80).results
    assert (result.verdict, result.mean) == ("UNMEASURED", None)


def test_the_files_of_ci_hold_the_percentile(workspace: RunStore) -> None:
    report = _report(workspace, [[60.0 + at % 40] for at in range(100)], BY_SAMPLE)
    assert 'classname="ragtriage.shop.percentile"' in junit_xml(report)
    assert "p95 of samples" in markdown_summary(report)
    (gate,) = report.to_dict()["gates"]
    assert (gate["percentile"], gate["over"], gate["verdict"]) == (95, "samples", "FAIL")


def test_two_percentiles_of_one_metric_are_two_gates() -> None:
    config = read_gates(P95 + P95.replace("= 95", "= 50") + BY_SAMPLE, "gates.toml")
    assert [(gate.percentile, gate.over) for gate in config.general] == [
        (95, "questions"),
        (50, "questions"),
        (95, "samples"),
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("percentile = 95", "percentile = 100"), "a number between 0 and 100"),
        (("percentile = 95\n", ""), "percentile: is missing"),
        (("at_most = 50", "at_least = 50"), "better when lower"),
        (("at_most = 50", ""), "0 thresholds"),
        (('"retrieval_ms"', '"pass rate"'), "has no percentiles"),
        (("percentile = 95", 'percentile = 95\nover = "users"'), '"questions" or "samples"'),
    ],
)
def test_what_is_wrong_with_a_percentile_is_told(change: tuple[str, str], said: str) -> None:
    with pytest.raises(DataError) as caught:
        read_gates(P95.replace(*change), "gates.toml")
    assert said in str(caught.value)
