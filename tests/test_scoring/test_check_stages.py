"""A failed check is the stage of its case, with what it expected and what it got."""

from __future__ import annotations

import pytest

from ragtriage.data.api import add_run
from ragtriage.data.cases.checks import failed_checks_text
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings, diagnose
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.metrics.diagnosis.check_kinds import CHECK_KINDS, OTHER_CHECK, suite_code, suite_of
from ragtriage.metrics.diagnosis.explanations import evidence_sentence
from ragtriage.metrics.diagnosis.stages import STAGES

GOOD = {"faithfulness": 1.0, "answer_relevancy": 1.0, "context_recall": 1.0}


@pytest.mark.parametrize(
    ("kind", "stage"),
    [
        ("router", "check_router"),
        ("tool choice", "check_tool"),
        ("Tool-Arguments", "check_tool"),
        ("filters", "check_filter"),
        ("safety", "check_safety"),
        ("isolation", "check_isolation"),
        ("memory", "check_memory"),
        ("order", "check_order"),
        ("format", "wrong_format"),
        ("Citation format", "wrong_format"),
        ("keyword", "check_other"),
        ("injection_pump_type", "check_other"),
        ("access road", "check_other"),
    ],
)
def test_a_failed_check_is_the_stage_of_its_case(workspace: RunStore, kind: str, stage: str) -> None:
    check = {"name": "check 1", "kind": kind, "expected": "billing", "actual": "sales"}
    record = {"question_id": "q", "question": "?", "answer": "a", "scores": GOOD}
    records = [
        {**record, "checks": [check, {**check, "actual": "billing"}]},
        {**record, "question_id": "r", "checks": [{**check, "actual": "billing"}]},
    ]
    scored = workspace.scored(add_run(records, "run", "p", str(workspace.workspace.root)))
    found = diagnose(scored, DiagnosisSettings())
    assert [STAGES[code].key if code >= 0 else "" for code in found.stages.stage] == [stage, ""]
    text = failed_checks_text(scored.samples.read([0])[0])
    assert text == f'check 1 ({kind}): expected "billing", got "sales"'
    assert evidence_sentence(stage, {"failed_checks": text}) == text
    assert found.fix_first[0].key == stage


def test_every_kind_is_a_stage_of_its_own() -> None:
    stages = {stage.key: stage for stage in STAGES}
    for code, kind in enumerate((*CHECK_KINDS, OTHER_CHECK)):
        assert stages[f"check_{kind.key}"].advice == kind.advice
        assert all(suite_code(suite_of(name)) == code for name in kind.names)
