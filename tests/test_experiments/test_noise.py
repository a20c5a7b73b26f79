"""Noise and counterfact end to end, against systems that fail in known ways."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from ragtriage.data.experiments.noise import NoiseFindings, altered_answer
from ragtriage.data.experiments.plan import plan_experiment
from ragtriage.data.experiments.questions import AskedQuestion, Passage, open_questions
from ragtriage.data.experiments.registry import kind_of
from ragtriage.data.experiments.run_experiment import run_experiment
from ragtriage.data.experiments.summary import ExperimentSummary, experiment_summary
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.systems.system import SystemLimits, SystemReply, SystemRequest


@dataclass
class Confused:
    """Answers from the context while it has at most two documents, else from none; may know the answers."""

    knows: dict[str, str]
    most: int = 2
    declines: bool = True
    name: str = "confused"
    identity: str = "1"

    def ask(self, request: SystemRequest, limits: SystemLimits) -> SystemReply:
        texts = [str(document["text"]) for document in request.contexts or ()]
        known = self.knows.get(request.question_id)
        found = next((text for text in texts if request.question.split()[-1][:-1] in text), "")
        if known is not None:
            return SystemReply("answered", {"answer": known})
        if found and len(texts) <= self.most:
            return SystemReply("answered", {"answer": found})
        answer = "I cannot answer this: the documents do not say." if self.declines else "Maybe later."
        return SystemReply("answered", {"answer": answer})

    def close(self) -> None:
        """Nothing to end."""


@pytest.fixture
def questions(tmp_path: Path) -> str:
    rows = [
        {
            "question_id": f"q{at}",
            "question": f"In which city was company{at}x founded in {1900 + at}, said of company{at}x?",
            "reference_answer": f"City{at}burg",
            "relevant": [{"id": f"d{at}", "text": f"The seat of company{at}x is City{at}burg since long."}],
        }
        for at in range(30)
    ]
    path = tmp_path / "cities.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return str(path)


def findings(store: RunStore, questions: str, system: Confused) -> tuple[ExperimentSummary, NoiseFindings]:
    planned = plan_experiment(kind_of("noise"), open_questions(store, questions), {}, system)
    outcome = run_experiment(store, planned, system, SystemLimits(concurrency=1))
    summary = experiment_summary(store, outcome.experiment)
    assert isinstance(summary.findings, NoiseFindings)
    return summary, summary.findings


def test_a_system_that_noise_confuses_is_found_out(workspace: RunStore, questions: str) -> None:
    known = {f"q{at}": f"City{at}burg" for at in range(3)}
    summary, found = findings(workspace, questions, Confused(known))
    assert found.effect is not None
    assert found.effect.levels == (0.0, 0.5, 0.667, 0.8)  # one gold passage each: 0.2 is none, 0.4 half
    assert [mean.mean for mean in found.effect.means] == pytest.approx([1.0, 1.0, 0.1, 0.1])
    assert (found.effect.verdict, found.effect.from_level) == ("falls", 0.667)
    assert found.refused_with_gold is not None
    assert found.refused_with_gold.mean == 0
    assert found.refused_without is not None
    assert found.refused_without.mean == pytest.approx(27 / 30)
    assert found.known is not None
    assert found.known.mean == pytest.approx(3 / 30)
    assert {kind: share.mean for kind, share in found.followed.items() if share.mean} == {
        "context": pytest.approx(27 / 30),
        "own knowledge": pytest.approx(3 / 30),
    }
    removed = next(arm.arm.run_id for arm in summary.arms if arm.arm.key == "gold-removed")
    sample = workspace.scored(workspace.find(removed)).samples.read([0])[0]
    assert sample["answerable"] == "no"
    assert all(document["id"] != "d0" for document in sample["retrieved"])


def test_a_system_that_never_declines_shows_it(workspace: RunStore, questions: str) -> None:
    _, found = findings(workspace, questions, Confused({}, most=99, declines=False))
    assert found.effect is not None
    assert found.effect.verdict == "cannot tell"
    assert found.effect.test.n_varying == 0
    assert found.refused_without is not None
    assert found.refused_without.mean == 0


def test_what_is_planted_is_wrong_and_alike() -> None:
    def question(name: str, *answers: str, altered: str = "") -> AskedQuestion:
        return AskedQuestion(name, "?", answers, (Passage("d", " ".join(answers)),), altered=altered)

    others = [
        question("a", "Paris"),
        question("b", "Rome"),
        question("c", "the blue one"),
        question("d", "1969"),
    ]
    assert altered_answer(others[3], others) == "1976"
    assert altered_answer(question("e", "$12 million"), others) == "$19 million"
    assert altered_answer(others[0], others) == "Rome"
    assert altered_answer(others[2], others) == ""  # nothing of its form is there
    assert altered_answer(question("f", "Rome", altered="Oslo"), others) == "Oslo"
