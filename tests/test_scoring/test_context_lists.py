"""Retrieval that ignores the question: the same list of documents for all, or few lists for many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from command_line import run

from ragtriage.dashboard.cli.results.gate import junit_xml, markdown_summary
from ragtriage.dashboard.present.stories.context import StoryView
from ragtriage.dashboard.present.stories.sections import render_section
from ragtriage.dashboard.present.stories.story import StorySection
from ragtriage.data import api
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.sanity.documents import FAULTS_OF_TEXTS, read_first
from ragtriage.metrics.sanity.rule import CheckInput, ContextLists, Finding
from ragtriage.metrics.sanity.run import check_numbers

Capture = pytest.CaptureFixture[str]
SAME = "Every question got the same 10 documents"


def _colbert(demo: RunStore) -> Run:
    (colbert,) = [entry for entry in demo.runs("iris") if (entry.name, entry.n) == ("colbert", 30)]
    return colbert


def _findings(codes: list[int], questions: list[int] | None = None) -> list[Finding]:
    n = len(codes)
    lists = ContextLists(
        np.array(codes), np.arange(n) if questions is None else np.array(questions), np.full(n, 2.0)
    )
    return read_first(check_numbers(CheckInput(n, lists=lists, retrieval_dependent=("faithfulness",))))


def test_one_list_for_all_questions_is_found_in_real_runs_and_only_there(demo: RunStore) -> None:
    found = {
        entry.run_id: [finding.title for finding in read_first(check_run(demo.scored(entry)))]
        for entry in demo.runs()
        if entry.n
    }
    same = {entry.run_id for entry in demo.runs("iris") if entry.name == "colbert"}
    assert {run_id for run_id, titles in found.items() if titles} == same
    assert found[_colbert(demo).run_id] == [SAME]
    (finding,) = read_first(check_run(demo.scored(_colbert(demo))))
    assert finding.n_affected == 30
    assert "All 10 questions (30 cases) got the same 10 documents" in finding.message


def test_repeats_of_a_question_may_share_a_list_and_few_questions_too() -> None:
    assert _findings([0] * 15, [0] * 15) == []
    assert _findings([0] * 4) == []
    assert [finding.rule for finding in _findings([0] * 5)] == ["same_list"]
    assert _findings([-1] * 20) == []


def test_few_lists_for_many_questions_are_found() -> None:
    (finding,) = _findings([0] * 12 + list(range(1, 9)))
    assert finding.title == "Few distinct lists: one of 9 went to 12 of 20 questions"
    assert finding.rows == tuple(range(12))
    assert _findings([0] * 9 + list(range(1, 12))) == []
    assert [finding.rule for finding in _findings([at // 10 for at in range(40)])] == ["few_lists"]


def _record(at: int, **more: Any) -> dict[str, Any]:
    documents = [{"id": f"q{at}-{rank}", "text": f"Text {rank}"} for rank in range(2)]
    return {"question_id": f"q{at}", "question": f"Question {at}?", "retrieved": documents, **more}


def test_documents_are_told_apart_by_text_and_a_given_context_is_no_retrieval(workspace: RunStore) -> None:
    root = str(workspace.workspace.root)
    renumbered = api.add_run([_record(at) for at in range(6)], "renumbered", "p", root)
    (finding,) = read_first(check_run(workspace.scored(renumbered)))
    assert finding.title == "Every question got the same 2 documents"
    oracle = api.add_run([_record(at, context_mode="oracle") for at in range(6)], "oracle", "p", root)
    assert read_first(check_run(workspace.scored(oracle))) == []


def test_it_stands_over_stages_and_gates_on_every_way_out(demo: RunStore, capsys: Capture) -> None:
    colbert, root = _colbert(demo), demo.workspace.root
    text = run(capsys, root, "diagnose", colbert.run_id).out
    assert text.index(f"Read first: {SAME}.") < text.index("Failure stage")
    answer = run(capsys, root, "diagnose", colbert.run_id, "--json").json
    assert [finding["title"] for finding in answer["read_first"]] == [SAME]
    gates = run(capsys, root, "gate", colbert.run_id).out
    assert gates.index(f"Read first: {SAME}.") < gates.index("Verdict")
    report = api.gate(colbert.run_id, workspace=str(root))
    assert report.to_dict()["read_first"][0].startswith(SAME)
    assert f"**Read first:** {SAME}" in markdown_summary(report)
    assert f"read first: {SAME}" in junit_xml(report)
    for kind in ("verdict", "why", "gates", "headline", "patterns"):
        assert render_section(StoryView(demo, colbert), StorySection(kind)).sentence.startswith(f"{SAME}.")
    (basic,) = [entry for entry in demo.runs("iris") if (entry.name, entry.n) == ("basic", 30)]
    against = api.gate(basic.run_id, colbert.run_id, workspace=str(root))
    assert against.read_first[0].startswith(f"In the baseline: {SAME}")


def test_every_finding_names_its_metrics_run_and_samples(demo: RunStore) -> None:
    for entry in demo.runs():
        scored = demo.scored(entry) if entry.n else None
        for finding in check_run(scored) if scored else []:
            assert finding.runs == (entry.run_id,)
            of_the_run = ("one_test_set", "synthetic_only", "stale_dataset", "labels_by", *FAULTS_OF_TEXTS)
            assert finding.metrics or finding.rule in of_the_run
            assert set(finding.metrics) <= set(demo.scored(entry).metrics)
            assert bool(finding.samples) == bool(finding.rows)
    colbert = _colbert(demo)
    by_rule = {finding.rule: finding for finding in check_run(demo.scored(colbert))}
    assert by_rule["disagreement"].metrics == ("context_precision", "context_recall")
    assert len(by_rule["disagreement"].rows) == 28
    assert len(by_rule["disagreement"].samples) == 20
    assert by_rule["disagreement"].samples[0].endswith("~0")
    assert {"context_recall", "faithfulness"} <= set(by_rule["same_list"].metrics)
