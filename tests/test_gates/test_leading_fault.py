"""What is known of a run leads its headline, and what was not measured follows; its state is the same."""

from __future__ import annotations

from typing import Any

import pytest

from ragtriage.dashboard.headlines.triage import report_headline
from ragtriage.data.api import add_run, gate
from ragtriage.data.gates.report import GateReport
from ragtriage.data.scoring.run_store import RunStore

UNMEASURED = "2 blocking gates not measured."


def _report(store: RunStore, samples: list[dict[str, Any]], base: list[dict[str, Any]] | None) -> GateReport:
    root = str(store.workspace.root)
    before = "" if base is None else add_run(base, "V1", workspace=root).run_id
    return gate(add_run(samples, "V2", workspace=root).run_id, before, workspace=root)


def _answers(n: int, wrong: int, refusals: int = 0) -> list[dict[str, Any]]:
    """Questions about years: the first are answered wrongly, the next cannot be answered and are refused."""
    return [
        {
            "question_id": f"q{at:03d}",
            "question": f"When was treaty {at} signed?",
            "answer": "I do not know." if wrong <= at < wrong + refusals else f"In {1600 + at}.",
            "refused": wrong <= at < wrong + refusals,
            "answerable": "no" if at < wrong + refusals else "yes",
            "retrieved": [{"doc_id": f"d{at}", "text": f"A passage about treaty {at}."}],
        }
        for at in range(n)
    ]


def test_answers_that_should_have_been_refused_lead(workspace: RunStore) -> None:
    report = _report(workspace, _answers(60, 22, 38), None)
    headline = report_headline(report)
    assert headline.statement == "V2: no verdict; 22 of 60 cases are bad, 22 should have refused"
    assert headline.detail.startswith(UNMEASURED)
    assert (report.conclusion().state, headline.state) == ("not_checked", "not measured")


def test_contexts_that_lack_the_answer_lead(workspace: RunStore) -> None:
    samples = [
        {
            "question": f"When was treaty {at} signed?",
            "answer": f"After the long war of {1600 + at}.",
            "retrieved": [{"doc_id": f"d{at}" if at >= 27 else f"x{at}"}],
            "gold_doc_ids": [f"d{at}"],
        }
        for at in range(60)
    ]
    headline = report_headline(_report(workspace, samples, None))
    assert headline.statement == "V2: no verdict; 27 of 60 cases lack the answer in the context"
    assert headline.detail.startswith(UNMEASURED)
    assert headline.text.count("lack the answer") == 1


def test_a_few_bad_cases_do_not_lead(workspace: RunStore) -> None:
    headline = report_headline(_report(workspace, _answers(60, 3, 57), None))
    assert headline.statement == "V2: no verdict, 2 blocking gates not measured"


def test_refusals_that_are_all_right_lead(workspace: RunStore) -> None:
    headline = report_headline(_report(workspace, _answers(17, 0, 17), None))
    assert (
        headline.statement
        == "V2: no verdict; all 17 questions correctly refused, nothing to fix in the answers"
    )
    assert headline.state == "not measured"


def test_citations_that_support_lead_where_nothing_else_is_known(workspace: RunStore) -> None:
    samples = [
        {
            "question": f"Pressure {at}?",
            "answer": "The tyre pressure is 2.5 bar when cold [1].",
            "retrieved": [{"doc_id": f"d{at}", "text": "The tyre pressure is 2.5 bar when cold."}],
        }
        for at in range(12)
    ]
    statement = report_headline(_report(workspace, samples, None)).statement
    assert (
        statement == "V2: no verdict; 12 of 12 citations support their sentence by their words (an estimate)"
    )


def test_scores_on_another_scale_lead_and_the_fault_follows(workspace: RunStore) -> None:
    samples = [
        {
            "question": f"When was treaty {at} signed?",
            "answer": "In 1666." if at < 20 else f"In {1700 + at}.",
            "reference_answer": f"In {1700 + at}.",
            "scores": {"faithfulness": 1 + at % 5},
        }
        for at in range(60)
    ]
    headline = report_headline(_report(workspace, samples, None))
    assert headline.statement == "V2: no verdict; Faithfulness is on another scale, to be declared first"
    assert headline.detail.startswith("20 of 60 answers do not match the reference. ")


@pytest.mark.parametrize("measured", [False, True])
def test_low_ratings_on_a_scale_of_ones_own_are_said(workspace: RunStore, measured: bool) -> None:
    (workspace.workspace.root / "metrics.toml").write_text(
        '[metric.rating]\ndirection = "higher"\nrange = [1, 7]\n[metric.effort]\ndirection = "lower"\n'
        "range = [1, 5]\n",
        encoding="utf-8",
    )
    others = {"correctness": 1.0, "faithfulness": 1.0} if measured else {}
    samples = [
        {
            "question": f"When was treaty {at} signed?",
            "answer": f"In {1700 + at}.",
            "scores": {"rating": 2 if at % 4 == 0 else 6, "effort": 1 if at % 20 else 5, **others},
        }
        for at in range(80)
    ]
    report = _report(workspace, samples, None)
    said = "20 of 80 answers are rated 3 or lower (rating, 1 to 7)"
    headline = report_headline(report)
    assert (
        headline.detail.startswith(f"{said}. ")
        if measured
        else headline.statement == f"V2: no verdict; {said}"
    )
    assert "effort" not in headline.text, "4 of 80 are few"
    faults = {fault.key: (fault.n, fault.of) for fault in report.conclusion().faults}
    assert faults["low rating"] == (20, 80)


def test_other_questions_than_the_baseline_lead(workspace: RunStore) -> None:
    def asked(first: int, right: int) -> list[dict[str, Any]]:
        return [
            {
                "question_id": f"q{at:03d}",
                "question": f"When was treaty {at} signed?",
                "answer": f"In {1700 + at}.",
                "scores": {"correctness": float(at % 10 < right)},
            }
            for at in range(first, first + 60)
        ]

    headline = report_headline(_report(workspace, asked(40, 9), asked(0, 7)))
    assert headline.statement == "V2: other questions than V1, 20 shared, pass rate +20 points on them"
