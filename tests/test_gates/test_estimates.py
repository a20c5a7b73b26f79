"""What is estimated from words decides no gate and no comparison; wrong refusals count whatever gates see."""

from __future__ import annotations

from typing import Any

import pytest

from ragtriage.dashboard.headlines.compare import pair_headline
from ragtriage.dashboard.headlines.triage import report_headline
from ragtriage.data.api import add_run, comparisons_with, gate
from ragtriage.data.comparison.published_results import band_scale, interpretations
from ragtriage.data.gates.report import GateReport
from ragtriage.data.scoring.run_store import RunStore

TOP, OTHER = "zinc copper nickel silver bronze", "lilac tulip daisy orchid poppy"
OPEN = "estimated from words: a judge or labels decide it"
SORRY = "I'm sorry, I don't have enough information to answer that question."
GATES = {
    "mean": "at_most = 0.30",
    "slice": 'at_most = 0.30\nslice = { language = "en" }',
    "percentile": 'kind = "percentile"\npercentile = 50\nat_most = 0.30',
    "regression": 'kind = "regression"\ndrop = 0.05',
    "regression of a slice": 'kind = "regression"\ndrop = 0.05\nslice = { language = "en" }',
}


def _samples(ignored: int, recorded: bool) -> list[dict[str, Any]]:
    """Questions of which the first `ignored` are answered from the second document alone."""
    return [
        {
            "question_id": f"q{at}",
            "question": f"What is item {at}?",
            "answer": f"It is {OTHER if at < ignored else TOP} {at}.",
            "tags": {"language": "en"},
            "retrieved": [
                {"id": "a", "text": f"{TOP} {at}"},
                {"id": "b", "text": f"{OTHER} {at}"},
            ],
        }
        | (
            {"used": [{"rank": 2 if at < ignored else 1, "share": 1.0}], "used_source": "judge"}
            if recorded
            else {}
        )
        for at in range(60)
    ]


def _pair(store: RunStore, recorded: bool, gates: str = "") -> GateReport:
    root = store.workspace.root
    config = None
    if gates:
        config = str(root / "own.toml")
        (root / "own.toml").write_text(gates, encoding="utf-8")
    base = add_run(_samples(2, recorded), "V1", "shop", str(root), {"version": 1})
    run = add_run(_samples(50, recorded), "V2", "shop", str(root), {"version": 2})
    return gate(run.run_id, base.run_id, config=config, workspace=str(root))


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("recorded", [False, True])
def test_an_estimate_from_words_leaves_a_gate_open(workspace: RunStore, kind: str, recorded: bool) -> None:
    text = f'[[gate]]\nmetric = "ignored_top_ranked"\n{GATES[kind]}\nseverity = "block"\n'
    report = _pair(workspace, recorded, text)
    (result,) = (each for each in report.results if each.gate.metric == "ignored_top_ranked")
    if recorded:
        assert (result.verdict, report.conclusion().state) == ("FAIL", "do_not_ship")
        return
    assert (result.verdict, result.why, result.mean) == ("UNMEASURED", OPEN, None)
    assert result.sentence.endswith(f"not measured; {OPEN}.")
    assert (report.conclusion().state, report.exit_code()) == ("not_checked", 3)
    assert [step.kind for step in report.conclusion().next_steps if step.kind == "gates"] == []


@pytest.mark.parametrize("recorded", [False, True])
def test_an_estimate_from_words_has_no_band(workspace: RunStore, recorded: bool) -> None:
    run = add_run(_samples(50, recorded), "V1", "shop", str(workspace.workspace.root))
    found = interpretations(workspace.scored(run), workspace.summary(run), band_scale(workspace.workspace))
    assert found["ignored_top_ranked"].standing == ("needs work (production targets)" if recorded else "")


def test_the_bundled_gates_decide_nothing_by_words(workspace: RunStore) -> None:
    report = _pair(workspace, recorded=False)
    lexical = [each for each in report.results if each.gate.metric == "ignored_top_ranked"]
    assert [(each.verdict, each.blocks) for each in lexical] == [("UNMEASURED", False)]
    assert "gates" not in [step.kind for step in report.conclusion().next_steps]


@pytest.mark.parametrize("recorded", [False, True])
def test_a_comparison_lists_an_estimate_and_names_none(workspace: RunStore, recorded: bool) -> None:
    report = _pair(workspace, recorded)
    base, run = report.baseline.run, report.run
    assert base is not None
    (comparison,) = comparisons_with(workspace, base, [run])
    (row,) = (each for each in comparison.differences if each.metric == "ignored_top_ranked")
    headline = pair_headline(comparison, ("V2", "V1"), [])
    assert row.verdict == ("worse" if recorded else "estimated")
    assert headline.state == ("bad" if recorded else "not measured")
    assert ("estimates from words" in headline.detail) != recorded


def _refusing(refused: int, **more: Any) -> list[dict[str, Any]]:
    return [
        {
            "question_id": f"q{at}",
            "question": f"What is the capital of region {at}?",
            "answer": SORRY if at < refused else f"The capital of the region is town number {at}.",
            "answerable": "yes",
            "latency_ms": 800 + at,
            **more,
        }
        for at in range(80)
    ]


LATENCY = '[[gate]]\nmetric = "latency_ms"\nat_most = 2000\nseverity = "block"\n'
RECALL = '[[gate]]\nmetric = "context_recall"\nat_least = 0.8\nseverity = "warn"\n' + LATENCY
REFUSALS = '[[gate]]\nmetric = "refused_answerable"\nat_most = 0.1\nseverity = "block"\n'


@pytest.mark.parametrize(
    ("gates", "refused", "state", "code"),
    [
        (LATENCY, 0, "not_checked", 3),  # time says nothing of quality
        (RECALL, 0, "not_checked", 0),
        (RECALL, 2, "not_checked", 0),
        (RECALL, 24, "not_checked", 3),
        (REFUSALS, 24, "do_not_ship", 1),  # told from words, in a language that this was measured in
    ],
)
def test_what_only_time_was_measured_of_or_what_refuses_much_does_not_end_with_0(
    workspace: RunStore, gates: str, refused: int, state: str, code: int
) -> None:
    root = workspace.workspace.root
    (root / "own.toml").write_text(gates, encoding="utf-8")
    samples = _refusing(refused)
    for at, sample in enumerate(samples):
        sample["scores"] = {"context_recall": 0.9 if at % 7 == 0 else 0.95}
    run = add_run(samples, "V1", "shop", str(root))
    report = gate(run.run_id, config=str(root / "own.toml"), workspace=str(root))
    assert (report.conclusion().state, report.exit_code()) == (state, code)
    said = "24 of 80 questions were refused although they have an answer"
    assert (said in report_headline(report).text) == (refused == 24 and code == 3)


@pytest.mark.parametrize(("shares", "state"), [(12, "cannot_tell"), (0, "ship")])
def test_shares_in_a_column_of_another_scale_keep_a_run_from_ship(
    workspace: RunStore, shares: int, state: str
) -> None:
    root = workspace.workspace.root
    gates = '[[gate]]\nmetric = "faithfulness"\nat_least = 0.6\nseverity = "block"\n'
    (root / "own.toml").write_text(gates, encoding="utf-8")
    samples = _refusing(0)
    for at, sample in enumerate(samples):
        score = 0.87 if at < shares else 93.0 + at % 7
        sample["scores"] = {"faithfulness": score, "correctness": 0.9 + at / 1000}
    run = add_run(samples, "V1", "shop", str(root), {"score_scales": {"faithfulness": [0.0, 100.0]}})
    report = gate(run.run_id, config=str(root / "own.toml"), workspace=str(root))
    assert report.conclusion().state == state


@pytest.mark.parametrize(("judged", "verdict"), [(59, "FAIL"), (50, "UNMEASURED")])
def test_a_few_estimates_among_judged_values_decide_with_them(
    workspace: RunStore, judged: int, verdict: str
) -> None:
    root = workspace.workspace.root
    gates = '[[gate]]\nmetric = "ignored_top_ranked"\nat_most = 0.3\nseverity = "block"\n'
    (root / "own.toml").write_text(gates, encoding="utf-8")
    samples = _samples(50, recorded=True)[:judged] + _samples(50, recorded=False)[judged:]
    run = add_run(samples, "V1", "shop", str(root))
    report = gate(run.run_id, config=str(root / "own.toml"), workspace=str(root))
    (result,) = (each for each in report.results if each.gate.metric == "ignored_top_ranked")
    assert result.verdict == verdict
