"""Document and live state end to end, against systems that use one source, both, or decline."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import run

from ragtriage.dashboard.experiments.registry import experiment_headline, experiment_parts
from ragtriage.data.errors import DataError
from ragtriage.data.experiments.plan import plan_experiment
from ragtriage.data.experiments.questions import open_questions
from ragtriage.data.experiments.registry import ExperimentSummary, experiment_summary, kind_of
from ragtriage.data.experiments.run_experiment import run_experiment
from ragtriage.data.experiments.sources import SOURCES, SourceFindings
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.systems.system import SystemLimits, SystemReply, SystemRequest
from ragtriage.metrics.experiments.contexts import needs_of, source_effect
from ragtriage.metrics.result_table import text_rows

Capture = pytest.CaptureFixture[str]
DECLINES = "I cannot answer this: the documents do not say."
WRONG = "About 7 euros."


@dataclass
class Cashier:
    """Multiplies the fee of the rules by the hours of the state; without one of them it says `otherwise`."""

    otherwise: Callable[[str], str]
    name: str = "cashier"
    identity: str = "1"

    def ask(self, request: SystemRequest, limits: SystemLimits) -> SystemReply:
        texts = {str(each["id"]): str(each["text"]) for each in request.contexts or ()}
        fee = next((int(text.split()[-2]) for name, text in texts.items() if name.startswith("rule")), None)
        hours = next((json.loads(text)["hours"] for name, text in texts.items() if name[0] == "q"), None)
        if fee is None or hours is None:
            return SystemReply(
                "answered", {"answer": self.otherwise("state" if hours is None else "document")}
            )
        return SystemReply("answered", {"answer": f"You owe {fee * hours} euros."})

    def close(self) -> None:
        """Nothing to end."""


@pytest.fixture
def questions(tmp_path: Path) -> str:
    rows: list[dict[str, Any]] = [
        {
            "question_id": f"q{at}",
            "question": f"What do I owe for locker {at}?",
            "reference_answer": f"{(at + 11) * 13} euros",
            "relevant": [{"id": f"rule{at}", "text": f"Each hour costs {at + 11} euros"}],
            "state": {"hours": 13},
        }
        for at in range(12)
    ]
    rows.append({**rows[0], "question_id": "q-no-state", "state": None})
    path = tmp_path / "lockers.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return str(path)


def asked(store: RunStore, questions: str, otherwise: Callable[[str], str]) -> ExperimentSummary:
    system = Cashier(otherwise)
    planned = plan_experiment(kind_of("sources"), open_questions(store, questions), {}, system)
    return experiment_summary(store, run_experiment(store, planned, system, SystemLimits()).experiment)


def test_questions_that_need_both_are_named_and_what_is_lost_is_tested(
    workspace: RunStore, questions: str
) -> None:
    summary = asked(workspace, questions, lambda missing: DECLINES if missing == "state" else WRONG)
    findings = summary.findings
    assert isinstance(findings, SourceFindings)
    assert findings.effect.verdict == "both"
    assert [mean.mean for mean in findings.effect.right] == [0, 0, 1]
    assert findings.need_both == tuple(sorted(f"q{at}" for at in range(12)))
    assert findings.effect.without_state.difference == -1
    assert findings.effect.without_state.adjusted_p == pytest.approx(2 * 2 / 2**12)
    assert findings.declined_without_state is not None
    assert findings.declined_without_document is not None
    assert (findings.declined_without_state.mean, findings.declined_without_document.mean) == (1, 0)
    shown = experiment_headline(summary)
    assert shown.statement == "cashier: answers use document and live state"
    assert "12 of 12 need both together" in shown.text
    assert summary.experiment.notes == (
        "questions left out, without a gold passage that has a text or without a live state: 1",
    )
    tables = [part.table for part in experiment_parts(summary) if part.table is not None]
    assert [row["Answered wrongly"] for row in text_rows(tables[1])] == ["0 of 12", "12 of 12"]


def test_what_is_right_from_the_state_alone_needs_no_document(workspace: RunStore, questions: str) -> None:
    summary = asked(workspace, questions, lambda missing: WRONG if missing == "state" else "It is 143 euros.")
    assert isinstance(summary.findings, SourceFindings)
    assert summary.findings.need_both == tuple(sorted(f"q{at}" for at in range(1, 12)))
    assert summary.findings.effect.needs["state"].mean == pytest.approx(1 / 12)


def test_the_arms_differ_in_their_sources_alone(workspace: RunStore, questions: str) -> None:
    arms = SOURCES.design(open_questions(workspace, questions), {}).arms
    contexts = {arm.key: [each["id"] for each in arm.samples[3].request.contexts or ()] for arm in arms}
    assert contexts == {"document": ["rule3"], "state": ["q3-state"], "both": ["rule3", "q3-state"]}
    assert {arm.key: arm.levels["state"] for arm in arms} == {
        "document": "absent",
        "state": "there",
        "both": "there",
    }


def test_questions_without_a_state_are_refused_in_a_sentence(workspace: RunStore, tmp_path: Path) -> None:
    path = tmp_path / "plain.jsonl"
    path.write_text(
        '{"question": "a?", "reference_answer": "b", "gold": [{"text": "b it is"}], "state": " "}'
    )
    with pytest.raises(DataError, match="plain: no question has the text of a gold passage and a live state"):
        SOURCES.design(open_questions(workspace, str(path)), {})


def test_each_kind_of_need_by_hand() -> None:
    values = np.array([[0, 0, 1], [1, 0, 1], [0, 1, 1], [1, 1, 1], [1, 0, 0], [0, 0, 0]], dtype=float)
    assert needs_of(values) == ["both", "document", "state", "either", "lost together", "none"]
    effect = source_effect(np.vstack([values, [[np.nan, 1, 1]]]))
    assert effect.n == 6
    assert [share.mean for share in effect.needs.values()] == [pytest.approx(1 / 6)] * 6
    assert effect.verdict == "cannot tell"


def test_a_source_that_costs_answers_is_no_gain() -> None:
    alone, both = np.ones((12, 2)), np.zeros((12, 1))
    assert source_effect(np.hstack([alone, both])).verdict == "worse together"
    assert source_effect(np.full((3, 3), np.nan)).verdict == "not measured"
    assert source_effect(np.full((3, 3), np.nan)).needs == {}


def test_a_system_that_only_fails_is_not_measured(capsys: Capture, tmp_path: Path, questions: str) -> None:
    words = ("experiment", "sources", "--system", "false", "--questions", questions)
    answer = run(capsys, tmp_path / "w", *words)
    assert answer.code == 0
    assert answer.out.startswith("false: no answer is measured in any arm")
