"""A grid that goes on knows what is left of it, and a model is loaded once and named without its path."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from command_line import run as command

from ragtriage.data.chunking import retrievers
from ragtriage.data.chunking.corpus import Corpus, Document
from ragtriage.data.chunking.grid_plan import GridPlan, GridStep, plan_configurations
from ragtriage.data.chunking.grid_search import run_grid
from ragtriage.data.chunking.questions import Questions
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.run_store import RunStore

TEXT = "Alpha came first. Beta was second. Gamma closed the row. " * 6
GOLD = {"doc_id": "t", "start": 18, "end": 34}
QUESTIONS = Questions("q", ({"question_id": "q", "question": "Who was second?", "relevant_spans": [GOLD]},))


def _plan(retriever: str = "bm25", sizes: Sequence[int] = (8, 16, 32)) -> GridPlan:
    cells, _ = plan_configurations(sizes, (0, 4))
    return GridPlan(Corpus("t", (Document("t", TEXT),)), QUESTIONS, cells, retriever)


def test_cells_that_are_there_take_no_time(workspace: RunStore) -> None:
    run_grid(workspace, _plan(sizes=(16, 32)), "p")  # the last four of six cells
    steps: list[GridStep] = []
    run_grid(workspace, _plan(), "p", steps.append)
    left = [step.seconds_left for step in steps]
    assert left[0] is None
    assert left[1] is not None
    assert left[1] > 0
    assert left[2:] == [0.0] * 5


class Terminal(io.StringIO):
    """What the bar is drawn on."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_how_much_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "q.jsonl").write_text(
        json.dumps({"question": "Who was second?", "relevant_spans": [GOLD]}), encoding="utf-8"
    )
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    words = ("grid", str(tmp_path / "t.txt"), "--questions", str(tmp_path / "q.jsonl"))
    answer = command(capsys, tmp_path / "w", *words, "--sizes", "8,16", "--overlaps", "0,4")
    assert answer.code == 0
    shown = terminal.getvalue()
    assert "4/4 configurations" in shown
    assert re.search(r", about \d\d:\d\d left\]", shown)
    assert "left]" not in shown.rpartition("\r")[2]  # nothing is left at the end


class Model:
    """Stands for sentence_transformers.SentenceTransformer."""

    loaded: list[str]

    def __init__(self, path: str, **options: Any) -> None:
        assert options["local_files_only"] is True
        if not (Path(path) / "modules.json").exists():
            raise OSError("no model here")
        self.loaded.append(path)

    def encode(self, texts: list[str], **_: Any) -> Any:
        return np.array([[text.count("second"), 1.0] for text in texts]).reshape(len(texts), 2)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    module = ModuleType("sentence_transformers")
    module.SentenceTransformer = Model  # type: ignore[attr-defined] # made up for the test
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(Model, "loaded", [], raising=False)
    retrievers._encoder.cache_clear()
    folder = tmp_path / "models" / "small"
    folder.mkdir(parents=True)
    (folder / "modules.json").write_text("[]", encoding="utf-8")
    yield folder
    retrievers._encoder.cache_clear()


def test_a_model_is_loaded_once_for_all_cells_and_named_without_its_path(
    workspace: RunStore, model: Path
) -> None:
    runs = run_grid(workspace, _plan(f"embedding:{model}"), "p")
    assert len(runs) == 6
    assert Model.loaded == [str(model)]
    for run in runs:
        assert run.config["retriever"] == "embedding:small"
        assert str(model.parent) not in json.dumps(run.config)
        first = workspace.scored(run).samples.read([0])[0]["retrieved"][0]
        assert "second" in first["text"]


def test_a_folder_without_a_model_is_refused_by_name(model: Path) -> None:
    with pytest.raises(DataError, match=r"models' cannot be loaded \(no model here\); accepted: bm25, or"):
        retrievers.open_retriever(f"embedding:{model.parent}", [])
