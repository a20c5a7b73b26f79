"""The page Experiments for injection, stability, languages and parsing."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from page_text import headline, page_text
from places import APP
from reading_systems import write_languages, write_questions
from streamlit.testing.v1 import AppTest
from yielding_systems import Changeable, Obedient, found_code

from ragtriage.dashboard.shell.selection import Selection
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.experiments.languages import run_language_experiment
from ragtriage.data.experiments.parallel_questions import read_multilingual
from ragtriage.data.experiments.parsed_pages import ParsedPages
from ragtriage.data.experiments.parsing import run_parsing_experiment
from ragtriage.data.experiments.plan import plan_experiment
from ragtriage.data.experiments.questions import open_questions
from ragtriage.data.experiments.registry import kind_of
from ragtriage.data.experiments.run_experiment import run_experiment
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.systems.system import System, SystemLimits, SystemReply, SystemRequest

HOSTILE = "<img src=x onerror=alert(1)> ![a](http://x.test) [x](javascript:1)"


def _open(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(store.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(project="p")
    return app.switch_page("experiments/experiments.py").run()


def _ask(store: RunStore, kind: str, system: System, path: Path, **parameters: Any) -> None:
    planned = plan_experiment(kind_of(kind), open_questions(store, str(path)), parameters, system, "p")
    run_experiment(store, planned, system, SystemLimits())


def test_injection_shows_both_axes_and_leads_to_the_cases_that_follow(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_questions(tmp_path / "codes.jsonl", 12)
    _ask(workspace, "injection", Obedient(name="my system"), path, hidings=["visible"])
    app = _open(workspace, monkeypatch)
    assert not app.exception
    assert headline(app) == "my system: follows text planted in documents"
    text = page_text(app)
    assert "poisoned cases, pooled over " in text
    assert "clean context: 100 % right" in text
    assert "outside any quote" in text
    follows = next(button for button in app.button if button.label.startswith("Cases that follow"))
    follows.click().run()
    assert not app.exception


def test_a_defence_is_shown_on_both_axes(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_questions(tmp_path / "codes.jsonl", 12)
    system = Obedient(refuses_all=True, name="my system")
    _ask(workspace, "injection", system, path, hidings=["visible"], defence={"guard": True})
    app = _open(workspace, monkeypatch)
    assert headline(app) == "my system: the defence stops attacks and costs right answers"
    assert "declines 100 % of the clean questions" in page_text(app)


@dataclass
class Deaf(Obedient):
    """Follows nothing and answers all the same; by heart: also without a document."""

    by_heart: bool = False

    def ask(self, request: SystemRequest, limits: SystemLimits) -> SystemReply:
        asked = request.payload()
        item = int(str(asked["question"]).rstrip("?")[-3:])
        answer = f"K{item * 37 + 1000}X" if self.by_heart else found_code(asked)
        return SystemReply("answered", {"answer": answer}, seconds=0.01)


class Mute(Obedient):
    """Says the same whatever it is asked."""

    def ask(self, request: SystemRequest, limits: SystemLimits) -> SystemReply:
        return SystemReply("answered", {"answer": "Thank you for asking."}, seconds=0.01)


class Distracted(Obedient):
    """Follows nothing, but answers no question once something is planted; its defence changes nothing."""

    def ask(self, request: SystemRequest, limits: SystemLimits) -> SystemReply:
        asked = request.payload()
        planted = any("joined" in document["text"] for document in asked["contexts"])
        answer = "It is something else." if planted else found_code(asked)
        return SystemReply("answered", {"answer": answer}, seconds=0.01)


@pytest.mark.parametrize("defence", [None, {"guard": True}])
def test_planted_text_that_costs_answers_without_being_followed_is_told(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, defence: dict[str, bool] | None
) -> None:
    path = write_questions(tmp_path / "codes.jsonl", 12)
    system = Distracted(name="my system")
    _ask(workspace, "injection", system, path, hidings=["visible"], defence=defence)
    app = _open(workspace, monkeypatch)
    assert headline(app) == "my system: followed no planted text, yet it costs right answers"
    assert "right answers 100 % clean, 0 % there (McNemar p < 0.001)" in page_text(app)


def test_a_defence_is_not_blamed_where_nothing_is_followed(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_questions(tmp_path / "codes.jsonl", 6)
    _ask(workspace, "injection", Deaf(name="my system"), path, hidings=["visible"], defence={"guard": True})
    app = _open(workspace, monkeypatch)
    assert headline(app) == "my system: followed no planted text, with and without the defence"


def test_a_system_that_reads_no_document_proves_nothing_by_following_none(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_questions(tmp_path / "codes.jsonl", 6)
    _ask(workspace, "injection", Mute(name="my system"), path, hidings=["visible"])
    app = _open(workspace, monkeypatch)
    assert headline(app) == "my system: followed no planted text"
    assert "nothing shows that documents are read" in page_text(app)


def test_places_are_doubted_where_answers_need_no_document(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_questions(tmp_path / "codes.jsonl", 12)
    _ask(workspace, "position", Deaf(name="my system", by_heart=True), path)
    app = _open(workspace, monkeypatch)
    assert "closed book it answers" in page_text(app)


def test_stability_lists_the_questions_that_flip(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_questions(tmp_path / "codes.jsonl", 6)
    _ask(workspace, "stability", Changeable(name=HOSTILE), path)
    app = _open(workspace, monkeypatch)
    assert not app.exception
    assert "the verdict of 17 % of the questions flips" in headline(app)
    assert "![a](http://x.test)" not in page_text(app)
    app.session_state["experiment_tabs"] = "The questions that flip"
    app.run()
    (flipped,) = [table.value for table in app.dataframe if "Flips when" in table.value.columns]
    assert flipped.values.tolist() == [["q002", "reworded"]]


def test_languages_show_the_matrix_with_its_empty_lists(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_languages(tmp_path)
    multilingual = read_multilingual(str(tmp_path / "q.jsonl"), str(tmp_path / "c.jsonl"))
    run_language_experiment(workspace, multilingual, "p")
    app = _open(workspace, monkeypatch)
    assert not app.exception
    assert headline(app).endswith("keeps 0 % of its recall@1 across languages")
    text = page_text(app)
    assert "2 of 4 lists are empty: nothing was found" in text
    assert "same language 1.00, crossed 0.00" in text
    figure = json.loads(app.get("plotly_chart")[0].proto.spec)
    assert figure["data"][0]["z"] == [[0.0, 1.0], [1.0, 0.0]]


def test_parsers_show_all_scores_and_two_denominators(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    gold = {"a": "# Title\n\n|x|y|\n|-|-|\n|r|1|", "b": "Only text."}
    parsers = [ParsedPages("plain", {"a": "Title x y r 1", "b": "Only text."}), ParsedPages(HOSTILE, gold)]
    run_parsing_experiment(workspace, parsers, gold, "pages", "p")
    app = _open(workspace, monkeypatch)
    assert not app.exception
    assert "keeps the most text of 2 parsers" in headline(app)
    assert not [each.value for each in app.markdown if "![a](" in each.value]
    app.session_state["experiment_tabs"] = markdown_text("One number, two denominators")
    app.run()
    (overall,) = [table.value for table in app.dataframe if "Mean of three means" in table.value.columns]
    assert overall.iloc[1].tolist()[1:] == ["1.000", "1.000"]
    assert [float(value) for value in overall.iloc[0, 1:].tolist()] == sorted(
        overall.iloc[0, 1:].astype(float), reverse=True
    )
