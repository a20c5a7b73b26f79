"""Labels recorded elsewhere: read with their origin, and held against people's labels."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from places import APP, BUNDLED, FIXTURES
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import import_parsed_runs
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.judge.judge_run import publish_recorded, read_recorded
from ragtriage.data.labels.agreement_report import agreement_rows
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.judge_results import EVALUATION, JudgeResult, judge_results_of, reply_from
from ragtriage.data.store.workspace import Run, Workspace
from ragtriage.metrics.schema.scores import Source
from ragtriage.metrics.statistics.agreement import spearman

REPLIES = BUNDLED / "mtrag" / "judge_replies.jsonl.gz"
SECOND_FORM = FIXTURES / "mtrag" / "judge_replies_second_form.jsonl.gz"
PROJECT = "mtrag, judged"


def test_all_recorded_labels_are_read_and_its_origin_is_stored(demo: RunStore) -> None:
    (run,) = demo.runs(PROJECT)
    (result,) = judge_results_of(demo.ledger, run.run_id)
    assert (run.n, result.samples, result.scored) == (48, 48, 48)
    assert (result.model, result.prompt) == ("a Claude model", "1aa8892a9eda")
    assert result.origin.startswith("written by a Claude model in three sittings")


def test_support_of_claims_agrees_with_people_and_completeness_does_not(demo: RunStore) -> None:
    """The figures were computed apart from this code, from the replies and the annotators' labels."""
    (run,) = demo.runs(PROJECT)
    scored = demo.scored(run)

    def agreement(metric: str) -> float:
        columns = [scored.column(metric, source) for source in (Source.JUDGED, Source.HUMAN)]
        judged, people = (column.values for column in columns if column is not None)
        both = np.isfinite(judged) & np.isfinite(people)
        return spearman(judged[both], people[both])

    assert agreement("faithfulness") == pytest.approx(0.787, abs=0.001)
    assert agreement("completeness") == pytest.approx(0.116, abs=0.001)
    ceilings = [
        row.ceilings["spearman"]
        for row in agreement_rows(demo, run)
        if (row.metric.metric, row.dimension) == ("faithfulness", "imported:faithfulness") and row.ceilings
    ]
    (fair,) = ((ceiling.metric, ceiling.annotator) for ceiling in ceilings)
    assert fair == pytest.approx((0.73, 0.51), abs=0.005)


def _judged_in_the_second_form(folder: Path) -> tuple[RunStore, Run, JudgeResult]:
    recorded, file = read_recorded(SECOND_FORM), BUNDLED / "mtrag" / "human_evaluations.json.gz"
    errors = ValidationErrors(file.name)
    (draft,) = (
        draft
        for draft in read_runs(InputFile.from_bytes(file.name, file.read_bytes()), Options(), errors)
        if draft.name == "GPT-4.0"
    )
    records = [
        (line, one)
        for line, one in draft.records
        if isinstance(one, Mapping) and one["question_id"] in recorded.labels
    ]
    store = RunStore(Workspace(folder).create())
    (imported,) = import_parsed_runs(store, [replace(draft, records=records)], "mtrag", errors)
    result = publish_recorded(store.workspace, imported.run, recorded)
    assert result is not None
    return store, imported.run, result


def test_a_claim_supported_in_part_counts_a_half_and_completeness_is_read_from_f1(tmp_path: Path) -> None:
    """The figures, one annotator's .51 and .37 on the same ratings, were computed apart from this code."""
    store, run, result = _judged_in_the_second_form(tmp_path)
    assert (result.samples, result.scored) == (48, 48)
    scored = store.scored(run)
    told = scored.auxiliary_table("judged")
    assert told is not None
    assert (sum(told["quotes"].to_pylist()), sum(told["void_quotes"].to_pylist())) == (1093, 0)
    assert sum(told["partly_supported"].to_pylist()) == 99
    rows = {
        row.dimension.rpartition(":")[2]: (row.metric.metric, row.ceilings["spearman"])
        for row in agreement_rows(store, run)
        if row.metric.source == Source.JUDGED and row.ceilings
    }
    assert {name: metric for name, (metric, _) in rows.items()} == {
        "faithfulness": "faithfulness",
        "completeness": "answer_f1",
    }
    by_people = {name: (ceiling.metric, ceiling.annotator) for name, (_, ceiling) in rows.items()}
    assert by_people["faithfulness"] == pytest.approx((0.68, 0.51), abs=0.005)
    # .40 where an F1 without claims counts as 0; here it is not applicable
    assert by_people["completeness"] == pytest.approx((0.43, 0.37), abs=0.005)


def test_a_run_that_a_judge_has_evaluated_keeps_its_result(own_demo: RunStore) -> None:
    (run,) = own_demo.runs(PROJECT)
    recorded = read_recorded(REPLIES)
    assert publish_recorded(own_demo.workspace, run, replace(recorded, prompt="another")) is None
    assert len(judge_results_of(own_demo.ledger, run.run_id)) == 1


def test_labels_stored_before_there_were_versions_still_open() -> None:
    labels = next(iter(read_recorded(REPLIES).labels.values()))
    reply = reply_from(labels)
    assert (reply.complete, reply.agrees, reply.version) == ("complete", "correct", 1)
    stored = copy.deepcopy({name: value for name, value in labels.items() if name != "version"})
    for entry in (*stored["claims"], *stored["statements"]):
        del entry["support"], entry["evidence"]
    assert reply_from(stored) == reply


def test_the_judge_page_shows_the_recorded_set_and_says_where_it_is_from(
    demo: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run,) = demo.runs(PROJECT)
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(demo.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(project=PROJECT, run=run.run_id)
    app.switch_page("judge/judge.py").run()
    assert not app.exception
    assert any("recorded set: written by a Claude model" in str(one.value) for one in app.caption)
    shown = "\n".join(str(one.value) for one in (*app.caption, *app.markdown))
    assert "48 of 48 samples have a verdict" in shown
    assert demo.scored(run).judge_results[EVALUATION]
