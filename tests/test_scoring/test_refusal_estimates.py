"""Refusals by words: only in languages that they were measured in, and by a project's own patterns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from command_line import run

from ragtriage.data.api import add_run
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.score_run import refusal_patterns
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.workspace import Workspace
from ragtriage.data.text.refusal_detection import estimated_refusals

HINDI = "छुट्टी के लिए आवेदन कैसे करें?"


def _scored(store: RunStore, answers: list[str], name: str = "run", **fields: Any) -> ScoredRun:
    records = [
        {"question_id": f"q{at}", "question": f"How is it done, {at}?", "answer": answer, **fields}
        for at, answer in enumerate(answers)
    ]
    return store.scored(add_run(records, name, "p", str(store.workspace.root)))


@pytest.mark.parametrize(
    ("question", "answer", "language"),
    [
        (HINDI, "आप पोर्टल में आवेदन कर सकते हैं।", "Hindi"),
        (HINDI, "25", ""),  # nothing that could decline
        ("Kuinka monta lomapäivää minulla on vuodessa?", "Sinulla on 25 päivää.", "Finnish"),
        ("How many days of leave do I have?", "Sinulla on 25 päivää.", ""),  # in letters that were measured
        ("Who wrote it?", "Elias Lönnrot ja Johan Ludvig Runeberg", ""),
        ("How many days of leave do I have?", "आपके पास पच्चीस दिन की छुट्टी है।", "Hindi"),
        ("Quanti giorni di ferie ho ogni anno?", "Hai 25 giorni di ferie.", "Italian"),
        ("休暇は何日ですか。", "25日です。", ""),
        (HINDI, "I don't know.", ""),
        ("Хто написав цю книгу і коли вона вийшла?", "Я не знаю, хто написав цю книгу.", "Ukrainian"),
    ],
)
def test_an_estimate_exists_only_in_languages_that_it_was_measured_in(
    question: str, answer: str, language: str
) -> None:
    samples = pa.table({"question": [question], "answer": [answer]})
    found, unread = estimated_refusals(samples, np.array([True]))
    assert unread.tolist() == [language]
    assert (found[0] == -1) == bool(language)


def test_refusals_in_another_language_are_not_measured_and_never_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [
        {"question_id": f"q{at}", "question": HINDI, "answer": "मुझे इसकी जानकारी नहीं है।"} for at in range(3)
    ]
    stored = add_run(records, "hindi", "p", str(tmp_path))
    scored = RunStore(Workspace(tmp_path)).scored(stored)
    assert np.isnan(scored.values("refused")).all()
    said = " ".join(run(capsys, tmp_path, "check", stored.run_id).out.split())
    assert "Refusals are not measured in Hindi: whether 3 answers decline is not known" in said


def test_a_recorded_refusal_stands_before_the_rule(workspace: RunStore) -> None:
    for refused in (True, False):
        scored = _scored(workspace, ["I don't know.", "Hai 25 giorni."], f"run {refused}", refused=refused)
        assert scored.values("refused").tolist() == [float(refused)] * 2
        assert {source.name for source in scored.sources["refused"]} == {"IMPORTED"}


def test_a_project_adds_patterns_of_its_own(workspace: RunStore) -> None:
    answers = ["Frag bitte die Zentrale.", "Am Montag."]
    assert _scored(workspace, answers).values("refused").tolist() == [0.0, 0.0]
    settings = workspace.workspace.root / "metrics.toml"
    settings.write_text('[refusals]\npatterns = ["(?i)^frag .*zentrale"]\n', encoding="utf-8")
    scored = workspace.scored(workspace.find("run"))
    assert scored.values("refused").tolist() == [1.0, 0.0], "scored anew"
    settings.write_text('[project.p.refusals]\npatterns = ["Montag"]\n', encoding="utf-8")
    assert workspace.scored(workspace.find("run")).values("refused").tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("patterns = 'x'", "patterns is not a list of texts"),
        ("patterns = ['(a']", r"'\(a': missing \)"),
        (r"patterns = ['(a)\1']", "invalid escape sequence"),
        ("patterns = ['x*']", r"'x\*' matches an empty answer"),
        (f"patterns = {['x'] * 101}", "101 patterns"),
    ],
)
def test_what_is_no_pattern_is_refused(workspace: RunStore, text: str, fault: str) -> None:
    (workspace.workspace.root / "metrics.toml").write_text(f"[refusals]\n{text}\n", encoding="utf-8")
    with pytest.raises(DataError, match=rf"metrics\.toml: refusals: .*{fault}.*; accepted: patterns"):
        refusal_patterns(workspace.workspace, "p")
