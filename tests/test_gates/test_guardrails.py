"""Guardrails of a comparison, and losses that no gain pays for."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from ragtriage.dashboard.cli.main import app
from ragtriage.dashboard.headlines.compare import compare_headline, drawn_metrics
from ragtriage.dashboard.headlines.triage import guardrail_clauses, report_headline
from ragtriage.dashboard.wording.gates import not_compared
from ragtriage.data.api import add_run, comparisons_with, gate
from ragtriage.data.comparison.compare import Comparison
from ragtriage.data.gates.report import GateReport
from ragtriage.data.scoring.run_store import RunStore

N = 120


def _samples(
    latency: float, cost: float = 0.002, faithful: float = 0.98, failing: int = 12
) -> list[dict[str, Any]]:
    """Questions half of which are English; the first `failing` are answered wrongly."""
    rng = np.random.default_rng(4)
    return [
        {
            "question_id": f"q{at:03d}",
            "question": f"Question {at}?",
            "answer": f"Answer {at}.",
            "tags": {"language": "en" if at < N // 2 else "fi"},
            "latency_ms": latency * (1 + 0.3 * float(rng.random())),
            "cost_usd": cost * (1 + 0.3 * float(rng.random())),
            "scores": {
                "faithfulness": faithful - at % 3 / 1000,
                "answer_relevancy": 0.95 - at % 3 / 100,
                "context_recall": 1.0 - at % 3 / 10,
                "correctness": 0.0 if at < failing else 1.0 - at % 3 / 10,
            },
        }
        for at in range(N)
    ]


def _report(store: RunStore, before: list[dict[str, Any]], after: list[dict[str, Any]]) -> GateReport:
    root = str(store.workspace.root)
    base = add_run(before, "V1", "shop", root, {"version": 1})
    run = add_run(after, "V2", "shop", root, {"version": 2})
    return gate(run.run_id, base.run_id, workspace=root)


def _guardrails(report: GateReport) -> dict[str, str]:
    return {each.gate.metric: each.verdict for each in report.results if each.gate.kind == "guardrail"}


def test_the_same_quality_at_twice_the_time_is_said_in_the_second_line(workspace: RunStore) -> None:
    report = _report(workspace, _samples(1800), _samples(4000, cost=0.0031))
    assert _guardrails(report) == {
        "latency": "FAIL", "p95 latency": "FAIL", "cost": "FAIL",
    }  # fmt: skip
    assert report.verdict == "PASS", "they warn"
    headline = report_headline(report)
    assert headline.statement == "V2: ready to ship"
    assert headline.detail.startswith(
        "2.2 times slower (2.1 s to 4.7 s); p95 latency 2.2 times as long (2.3 s to 5.2 s); cost +55 %"
    )


def test_a_tenth_slower_is_no_guardrail_that_failed(workspace: RunStore) -> None:
    report = _report(workspace, _samples(1800), _samples(1980))
    assert set(_guardrails(report).values()) == {"PASS"}
    assert "slower" not in report_headline(report).text


def test_a_guardrail_that_cannot_be_told_is_open_with_the_rise_that_may_hide(workspace: RunStore) -> None:
    before, after = _samples(1800)[:48], _samples(1800)[:48]
    rng = np.random.default_rng(1)
    for at, (first, second) in enumerate(zip(before, after, strict=True)):
        first["answerable"] = second["answerable"] = "yes"
        first["refused"], second["refused"] = at == 20, at in (20, 21, 22)
        second["latency_ms"] = first["latency_ms"] * float(rng.lognormal(0.05, 0.6))
    results = {each.gate.metric: each for each in _report(workspace, before, after).results}
    refusals, latency = results["wrong refusals"], results["latency"]
    assert (refusals.verdict, refusals.mean, refusals.before) == ("INCONCLUSIVE", 3 / 48, 1 / 48)
    assert refusals.sentence.startswith("Wrong refusals: from 2 % to 6 % [−")
    assert refusals.sentence.endswith("points more may hide, 5 points are allowed.")
    assert latency.verdict == "INCONCLUSIVE"
    assert latency.low is not None
    assert latency.high is not None
    assert latency.low < (latency.mean or 0) - (latency.before or 0) < latency.high
    assert "over 48 shared questions; up to" in latency.sentence


@pytest.mark.parametrize(("refused", "verdict"), [(5, "INCONCLUSIVE"), (12, "FAIL")])
def test_a_share_is_worse_where_it_rose_by_more_than_its_sentence_allows(
    workspace: RunStore, refused: int, verdict: str
) -> None:
    before, after = _samples(1800), _samples(1800)
    for at, (first, second) in enumerate(zip(before, after, strict=True)):
        first["answerable"] = second["answerable"] = "yes"
        first["refused"], second["refused"] = False, 20 <= at < 20 + refused
    results = {each.gate.metric: each for each in _report(workspace, before, after).results}
    assert results["wrong refusals"].verdict == verdict
    assert "5 points are allowed" in results["wrong refusals"].sentence


def test_throughput_is_compared_where_times_are_recorded_and_else_said_not_to_be(workspace: RunStore) -> None:
    def asked(samples: list[dict[str, Any]], seconds: float) -> list[dict[str, Any]]:
        start = datetime(2026, 1, 1)
        return [
            {**sample, "timestamp": (start + timedelta(seconds=seconds * at + at % 3)).isoformat()}
            for at, sample in enumerate(samples)
        ]

    report = _report(workspace, asked(_samples(1800), 2), asked(_samples(1800), 4))
    result = next(each for each in report.results if each.gate.metric == "throughput")
    assert result.verdict == "FAIL"
    assert result.sentence.startswith("Throughput: from 29.8 per minute to 14.9 per minute [−")
    assert report_headline(report).detail.startswith("Throughput −50 % (29.8 per minute to 14.9 per minute)")
    assert not_compared(report) == ""
    without = _report(workspace, _samples(1800), _samples(1800))
    assert not_compared(without) == "not compared, as one of the runs does not record it: throughput"


def test_answers_that_are_missing_are_errors(workspace: RunStore) -> None:
    after = [
        {**sample, "answer": None} if at % 4 == 0 else sample for at, sample in enumerate(_samples(1800))
    ]
    assert _guardrails(_report(workspace, _samples(1800), after))["errors"] == "FAIL"


@pytest.mark.parametrize("slower", [False, True])
def test_a_gain_does_not_pay_for_groundedness(workspace: RunStore, slower: bool) -> None:
    before = _samples(1800, failing=40)
    after = _samples(4000 if slower else 1800, faithful=0.88, failing=2)
    report = _report(workspace, before, after)
    concluded = report.conclusion()
    assert (report.verdict, concluded.state) == ("PASS", "cannot_tell")
    assert [(loss.metric, round(loss.drop, 2)) for loss in concluded.losses] == [("faithfulness", 0.1)]
    statement = report_headline(report).statement
    assert statement == "V2: pass rate +32 points, but faithfulness 0.98 to 0.88"
    assert report.to_dict()["conclusion"]["losses"][0]["metric"] == "faithfulness"


@pytest.mark.parametrize("failing", [12, 40])
def test_a_ranking_that_moves_alone_is_said_beside_the_verdict(workspace: RunStore, failing: int) -> None:
    def ranked(samples: list[dict[str, Any]], rank: int) -> list[dict[str, Any]]:
        for sample in samples:
            ids = ["b", "c", "d"]
            ids.insert(rank - 1, "a")
            sample["retrieved"] = [{"id": f"{sample['question_id']}-{each}"} for each in ids]
            sample["relevant"] = [{"id": f"{sample['question_id']}-a", "grade": 1}]
        return samples

    before, after = ranked(_samples(1800), 3), ranked(_samples(1800, failing=failing), 1)
    better, worse = _report(workspace, before, after), _report(workspace, after, before)
    said = better.to_dict()["conclusion"]["ranking"]
    if failing == 40:
        assert said is None, "the answers changed too"
        return
    assert (said["metric"], said["before"], said["after"], said["n"]) == ("ndcg@5", 0.5, 1.0, N)
    assert (
        "The ranking improved (nDCG@5 0.50 to 1.00), the pass rate did not." in report_headline(better).text
    )
    assert "The ranking got worse (nDCG@5 1.00 to 0.50)" in report_headline(worse).text


def test_a_gate_on_claims_names_the_recall_that_gold_gives(workspace: RunStore) -> None:
    samples = _samples(1800)
    for at, sample in enumerate(samples):
        del sample["scores"]["context_recall"]
        sample["retrieved"] = [{"id": f"{at}a" if at % 4 else "else"}, {"id": f"{at}b"}]
        sample["relevant"] = [{"id": f"{at}a", "grade": 1}]
    report = _report(workspace, samples, samples[:60])
    (result,) = [each for each in report.results if each.gate.metric == "context_recall"]
    assert result.sentence == (
        "Context recall: not measured; it needs claims of the reference (Recall@10 by the gold: 0.75)."
    )


def test_a_language_that_is_lost_is_the_first_sentence_whatever_the_mean(workspace: RunStore) -> None:
    before = _samples(1800, failing=55)
    after = _samples(1800, failing=0)
    for sample in after[-20:]:
        sample["scores"]["correctness"] = 0.0
    report = _report(workspace, before, after)
    assert report.conclusion().state == "cannot_tell"
    assert "but pass rate where language is fi 100 % to 67 %" in report_headline(report).statement


def test_critical_cases_that_are_lost_are_the_first_sentence_of_gate_and_comparison(
    workspace: RunStore,
) -> None:
    before, after = _samples(1800, failing=55), _samples(1800, failing=0)
    for at in range(100, N):
        before[at]["tags"] = after[at]["tags"] = {"critical": "yes"}
        after[at]["scores"]["correctness"] = float(at < 110)
    root = str(workspace.workspace.root)
    base, run = (add_run(side, name, "shop", root) for side, name in ((before, "V1"), (after, "V2")))
    workspace.workspace.root.joinpath("gates.toml").write_text(
        '[[gate]]\nmetric = "correctness"\nat_least = 0.5\nseverity = "block"\nreason = "wrong"\n',
        encoding="utf-8",
    )
    lost = "pass rate +38 points, but pass rate of critical cases 100 % to 50 %"
    assert report_headline(gate(run.run_id, base.run_id, workspace=root)).statement.endswith(
        "a loss to decide on: pass rate of critical cases 100 % to 50 %"
    ), "no gate of this file looks at the gain"
    (comparison,) = comparisons_with(workspace, base, [run], "headline")
    versions, names = {"v": comparison}, {"v": "V2"}
    headline = compare_headline("v", versions, names, "V1", drawn_metrics(comparison))
    assert (headline.state, headline.statement) == ("bad", f"V2 gains and loses: {lost}")


def _by_topic(workspace: RunStore, topics: int) -> tuple[str, Comparison, GateReport]:
    """Compare runs of which half of the topics are lost and the other half gained, and twice as slow."""
    before, after = _samples(1800, failing=0), _samples(4000, failing=0)
    for at in range(N):
        lost, rest = at % topics < topics // 2, at // topics % 3
        before[at]["tags"] = after[at]["tags"] = {"topic": f"T{at % topics}"}
        before[at]["scores"]["correctness"] = float(lost or rest == 0)
        after[at]["scores"]["correctness"] = float(not lost or rest == 0)
    root = str(workspace.workspace.root)
    base, run = (add_run(side, name, "shop", root) for side, name in ((before, "V1"), (after, "V2")))
    (comparison,) = comparisons_with(workspace, base, [run])
    return root, comparison, gate(run.run_id, base.run_id, workspace=root)


def test_a_slice_of_any_tag_that_is_lost_leads_comparison_and_gate(workspace: RunStore) -> None:
    _, comparison, report = _by_topic(workspace, 2)
    headline = compare_headline("v", {"v": comparison}, {"v": "V2"}, "V1", drawn_metrics(comparison))
    lost = "pass rate where topic is T0 100 % to 33 %"
    assert (headline.state, headline.statement) == ("bad", f"V2 is worse than V1: {lost}")
    assert report.conclusion().state != "ship"
    assert [loss.slice for loss in report.losses] == [("topic", "T0")]
    assert (comparison.slices[0].verdict, report.losses[0].adjusted_p) == (
        "worse",
        comparison.slices[0].adjusted_p,
    )
    assert lost in report_headline(report).statement
    assert headline.detail.startswith("2.2 times slower (2.1 s to 4.7 s); ")


def test_the_command_compare_prints_guardrails_and_the_slices_that_moved(workspace: RunStore) -> None:
    root, comparison, report = _by_topic(workspace, 8)
    command = [*("--workspace", root), "compare", "V1", "V2"]
    printed = CliRunner().invoke(app, command).output
    assert "2.2 times slower (2.1 s to 4.7 s)" in printed
    assert guardrail_clauses(report.results) == guardrail_clauses(comparison.guardrails)
    assert printed.count("▼ worse") + printed.count("▲ better") == 5
    assert "8 slices of 8 changed beyond chance.\n" in printed
    assert "\n3 more\n" in printed
    (answer,) = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)["comparisons"]
    assert len(answer["slices"]) == 8
    first = answer["slices"][0]
    assert (first["slice"], first["n_pairs"], first["verdict"]) == ("topic", 15, comparison.slices[0].verdict)
    assert answer["guardrails"]["latency"]["verdict"] == "FAIL"


def test_an_estimate_from_words_decides_no_gate(workspace: RunStore) -> None:
    """Two runs of questions, answers and documents alone: which document was used is told by words."""
    texts = {"a": "The ferry to Norvik leaves at nine on weekdays.", "b": "Bicycles cost five crowns extra."}
    samples = [
        {
            "question_id": f"q{at:03d}",
            "question": f"What holds for line {at}?",
            "answer": "Bicycles cost five crowns extra."
            if at % 3
            else "The ferry leaves at nine on weekdays.",
            "retrieved": [{"id": key, "text": text} for key, text in texts.items()],
        }
        for at in range(40)
    ]
    rules = (
        'metric = "ignored_top_ranked"\nat_most = 0.9',
        'kind = "percentile"\nmetric = "rank_use_gap"\npercentile = 90\nat_most = 1.0',
        'kind = "regression"\nmetric = "ignored_top_ranked"\ndrop = 0.05',
    )
    written = "".join(f'[[gate]]\nseverity = "block"\nreason = "x"\n{rule}\n' for rule in rules)
    (workspace.workspace.root / "gates.toml").write_text(written, "utf-8")
    report = _report(workspace, samples, samples[::-1])
    judged = [each for each in report.results if each.gate.reason == "x"]
    assert [(each.gate.kind, each.verdict) for each in judged] == [
        ("mean", "UNMEASURED"),
        ("percentile", "UNMEASURED"),
        ("regression", "UNMEASURED"),
    ]
    assert {each.why for each in judged} == {"estimated from words: a judge or labels decide it"}
    assert report.exit_code() == 3  # nothing else is measured
