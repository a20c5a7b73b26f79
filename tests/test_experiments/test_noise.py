"""Noise and counterfact end to end, against systems that fail in known ways."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ragtriage.dashboard.experiments.registry import experiment_headline
from ragtriage.data.chunking.corpus import read_corpus
from ragtriage.data.experiments.experiment import Design
from ragtriage.data.experiments.noise import NOISE, NoiseFindings, altered_answer
from ragtriage.data.experiments.plan import plan_experiment
from ragtriage.data.experiments.questions import (
    AskedQuestion,
    Passage,
    Questions,
    draw_distractors,
    open_questions,
    with_negatives,
)
from ragtriage.data.experiments.registry import ExperimentSummary, experiment_summary, kind_of
from ragtriage.data.experiments.run_experiment import run_experiment
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
    summary, found = findings(workspace, questions, Confused({}, most=99, declines=False))
    shown = experiment_headline(summary)
    assert shown.state == "bad", "no tick beside answers to what it should decline"
    assert shown.statement.endswith("noise has no effect, but it answers 100 % without the gold document")
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


def contexts(design: Design) -> dict[str, dict[str, list[str]]]:
    """Ids of the documents that each arm sends, by arm and question."""
    return {
        arm.key: {
            sample.question.question_id: [str(entry["id"]) for entry in sample.request.contexts or ()]
            for sample in arm.samples
        }
        for arm in design.arms
    }


@pytest.mark.parametrize("gold", [1, 2, 3, 7])
def test_gold_stands_at_the_same_rank_in_every_arm(gold: int) -> None:
    """The share of noise alone differs: where gold moves, a position effect looks like one of noise."""
    asked = tuple(
        AskedQuestion(
            f"q{at}", f"What of item{at}?", (f"A{at}",),
            tuple(Passage(f"g{at}-{number}", f"item{at} is A{at}, note {number}.") for number in range(gold)),
            negatives=tuple(Passage(f"n{at}-{number}", f"item{at} is old, {number}.") for number in range(5)),
        )
        for at in range(12)
    )  # fmt: skip
    arms = contexts(NOISE.design(Questions("set", asked), {}))
    noisy = {key: listed for key, listed in arms.items() if key.startswith("noise-")}
    assert len(noisy) > 2
    ranks: dict[str, set[int]] = {}
    for listed in noisy.values():
        for documents in listed.values():
            for rank, name in enumerate(documents):
                if name.startswith("g"):
                    ranks.setdefault(name, set()).add(rank)
    assert {len(each) for each in ranks.values()} == {1}
    first = {next(iter(ranks[f"g{at}-0"])) for at in range(12)}
    assert len(first) > 1 or gold == 1, "not always at the top"


def test_noise_is_what_a_row_gives_and_else_the_users_own_folder(tmp_path: Path) -> None:
    rows = AskedQuestion("q", "Who?", ("Ann",), (Passage("g", "Ann did it."),),
        negatives=tuple(Passage(f"n{at}", f"Nobody knows {at}.") for at in range(4)))  # fmt: skip
    other = AskedQuestion("r", "What?", ("Tea",), (Passage("h", "Tea it was."),))
    drawn, _ = draw_distractors(Questions("set", (rows, other)), [rows], 4)
    assert [passage.doc_id for passage in drawn["q"]] == ["n0", "n1", "n2", "n3"]
    for at in range(4):
        (tmp_path / f"own{at}.txt").write_text(f"A text of my own, {at}.", "utf-8")
    (tmp_path / "holds.txt").write_text("Ann was there.", "utf-8")
    own = with_negatives(Questions("set", (rows, other)), read_corpus([tmp_path]))
    drawn, notes = draw_distractors(own, [rows, other], 4)
    assert {passage.text[:16] for passage in drawn["q"]} == {"A text of my own"}
    assert len(drawn["q"]) == 4
    assert any("hold an accepted answer" in note for note in notes)


TOWNS = ("Lyon", "Oslo", "Bern", "Graz", "Turin", "Ghent")
RGB_ROWS: dict[str, dict[str, Callable[[int], Any]]] = {
    "en": {"answer": lambda at: [TOWNS[at], f"{TOWNS[at]} city"]},
    "en_refine": {"answer": lambda at: [[TOWNS[at], f"{TOWNS[at]} city"]]},
    "en_int": {
        "answer": lambda at: [[TOWNS[at]], ["May", "5th month"]],
        "positive": lambda at: [[f"Event {at} was in {TOWNS[at]}."], [f"Event {at} was in May, as planned."]],
    },
    "en_fact": {
        "answer": lambda at: TOWNS[at],
        "fakeanswer": lambda at: TOWNS[at - 1],
        "positive_wrong": lambda at: [f"Event {at} was in {TOWNS[at - 1]} that day."],
    },
}


@pytest.mark.parametrize("name", RGB_ROWS)
def test_each_set_of_rgb_runs(name: str, tmp_path: Path, workspace: RunStore) -> None:
    usual: dict[str, Callable[[int], Any]] = {
        "id": lambda at: at,
        "query": lambda at: f"Where was event {at}?",
        "positive": lambda at: [f"Event {at} was in {TOWNS[at]}, note {number}." for number in range(5)],
        "negative": lambda at: [f"Event {at} was planned for long, {number}." for number in range(6)],
    }
    path = tmp_path / f"{name}.json"
    fields = {**usual, **RGB_ROWS[name]}
    rows = [{field: value(at) for field, value in fields.items()} for at in range(6)]
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    questions = open_questions(workspace, str(path))
    arms = contexts(NOISE.design(questions, {}))
    noise = {each for names in arms["gold-removed"].values() for each in names}
    assert all("negatives" in each for each in noise)
    assert ("gold-altered" in arms) == (name != "en_int")
    first = questions.questions[0]
    if name == "en_int":
        assert first.is_answered_by("In Lyon, in May.")
        assert not first.is_answered_by("In Lyon.")
        assert all(len([n for n in names if "gold" in n]) == 2 for n, listed in arms.items()
                   if n.startswith("noise-") for names in listed.values())  # fmt: skip
    elif name == "en_fact":
        assert arms["gold-altered"]["0"] == ["0-altered_passages-1"]
    else:
        assert (first.answers, first.parts) == (("Lyon", "Lyon city"), ())
