"""A grid in several processes: the same runs in the same order, each text cut and read once, nothing lost."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.data.chunking import corpus, grid_search, retrievers
from ragtriage.data.chunking.chunkers import Chunking, TokenizedText, chunks_of
from ragtriage.data.chunking.corpus import Corpus, Document, DocumentWords, PreparedCorpus
from ragtriage.data.chunking.grid_plan import GridPlan, GridStep, plan_configurations
from ragtriage.data.chunking.grid_search import run_grid
from ragtriage.data.chunking.questions import Questions
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run, Workspace
from ragtriage.data.text.tokens import search_runs, search_tokens

TEXT = "# Row\n\nAlpha came first. Beta was second.\n\n## End\n\nGamma closed the row. " * 6
ANSWER = {"doc_id": "t", "start": 25, "end": 41}
ASKED = {"question_id": "q", "question": "Who was second?", "relevant_spans": [ANSWER]}


def _plan(sizes: Sequence[int] = (8, 16)) -> GridPlan:
    cells, _ = plan_configurations(sizes, (0, 4), "tokens", ("paragraph", "heading"), (False, True))
    corpus = Corpus("t", (Document("t", TEXT, "Rows", "t.md"), Document("u", "Delta, alone.", "", "u.md")))
    return GridPlan(corpus, Questions("q", (ASKED,)), cells)


@pytest.fixture
def elsewhere(tmp_path: Path) -> RunStore:
    return RunStore(Workspace(tmp_path / "elsewhere").create())


def test_two_processes_make_the_runs_of_one_in_the_same_order(
    workspace: RunStore, elsewhere: RunStore
) -> None:
    steps: list[GridStep] = []
    alone, shared = (
        run_grid(workspace, _plan(), "p", None, 1),
        run_grid(elsewhere, _plan(), "p", steps.append, 2),
    )
    assert [run.name for run in shared] == [chunking.title for chunking in _plan().chunkings]
    assert [run.run_id for run in shared] == [run.run_id for run in alone]
    assert [run.run_id for run in elsewhere.runs()] == [run.run_id for run in workspace.runs()]
    for one, other in zip(alone, shared, strict=True):
        assert one.config == other.config
        assert list(workspace.summary(one)) == list(elsewhere.summary(other))
        for name in workspace.summary(one):
            values = workspace.scored(one).values(name), elsewhere.scored(other).values(name)
            np.testing.assert_array_equal(*values)
    assert [step.done for step in steps] == list(range(len(alone) + 1))
    assert steps[0].seconds_left is None
    assert all((step.seconds_left or 0) > 0 for step in steps[1:-1])
    assert (steps[-1].configuration, steps[-1].seconds_left) == ("", 0.0)
    assert not list(elsewhere.workspace.runs_folder.glob(".staging*"))


def test_texts_are_cut_once_a_splitting_and_read_for_their_words_once(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, counts = _plan(), Counter[str]()
    index = retrievers.Bm25Index._build

    def cutting(text: TokenizedText, chunking: Chunking) -> Any:
        counts["cut"] += 1
        return chunks_of(text, chunking)

    def reading(lower: str) -> Any:
        counts["read"] += 1
        return search_runs(lower)

    def indexing(self: Any, tokens: Any, *settings: float) -> None:
        counts["indexed"] += bool(tokens)
        index(self, tokens, *settings)

    monkeypatch.setattr(corpus, "chunks_of", cutting)
    monkeypatch.setattr(corpus, "search_runs", reading)
    monkeypatch.setattr(retrievers.Bm25Index, "_build", indexing)
    run_grid(workspace, plan, "p")
    splittings = {(one.strategy, one.size, one.overlap) for one in plan.chunkings}
    texts = len(plan.corpus.documents)
    assert len(splittings) < len(plan.chunkings)
    assert counts == {"cut": texts * len(splittings), "read": texts, "indexed": len(plan.chunkings)}


def test_what_a_killed_process_leaves_is_run_here(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*given: Any) -> None:
        if given[0] is started[0]:
            os.kill(started[0].pid, signal.SIGKILL)
            started[0].wait()
        serve(*given)

    def starting() -> Any:
        started.append(start())
        return started[-1]

    started: list[Any] = []
    serve, start = grid_search._serve, grid_search._start
    monkeypatch.setattr(grid_search, "_start", starting)
    monkeypatch.setattr(grid_search, "_serve", killed)
    plan = _plan()
    runs = run_grid(workspace, plan, "p", None, 2)
    assert [run.name for run in runs] == [chunking.title for chunking in plan.chunkings]
    assert [worker.poll() is not None for worker in started] == [True, True]


def test_a_grid_without_any_process_is_run_here(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError("no process")

    monkeypatch.setattr("ragtriage.data.chunking.grid_search.subprocess.Popen", refused)
    assert len(run_grid(workspace, _plan((16,)), "p", None, 2)) == len(workspace.runs())


def test_an_error_in_a_configuration_is_told_and_the_finished_ones_stay(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, plain = _plan(), grid_search._tell

    def failing(*_: object) -> Run:
        raise ValueError("this configuration cannot be run")

    def misled(worker: Any, line: str) -> None:
        plain(worker, line.replace("[2, ", "[99, "))  # the third place of the plan: the process fails there

    monkeypatch.setattr(grid_search, "_tell", misled)
    monkeypatch.setattr(grid_search, "run_configuration", failing)
    with pytest.raises(ValueError, match="cannot be run"):
        run_grid(workspace, plan, "p", None, 2)
    monkeypatch.undo()
    there = {run.name for run in workspace.runs()}
    assert plan.chunkings[2].title not in there
    assert not list(workspace.workspace.runs_folder.glob(".staging*"))
    runs = run_grid(workspace, plan, "p", None, 2)  # goes on from those that are there
    assert [run.name for run in runs] == [chunking.title for chunking in plan.chunkings]


def test_a_stopped_grid_leaves_whole_runs_and_no_process(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []
    start = grid_search._start

    def starting() -> Any:
        started.append(start())
        return started[-1]

    def stop(step: GridStep) -> None:
        if step.done == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(grid_search, "_start", starting)
    with pytest.raises(KeyboardInterrupt):
        run_grid(workspace, _plan(), "p", stop, 2)
    assert [worker.poll() is not None for worker in started] == [True, True]
    runs = workspace.runs()
    assert 2 <= len(runs) < len(_plan().chunkings)
    assert all(workspace.summary(run) for run in runs)
    assert not list(workspace.workspace.runs_folder.glob(".staging*"))


def test_processes_are_for_work_that_is_worth_them() -> None:
    small, texts = _plan(), [Document(str(at), "x" * 100_000) for at in range(20)]
    large = GridPlan(Corpus("c", tuple(texts)), small.questions, small.chunkings)
    huge = GridPlan(Corpus("c", tuple(texts * 100)), small.questions, small.chunkings)
    embedded = GridPlan(large.corpus, large.questions, large.chunkings, "embedding:model")
    cores = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, 8)
    assert grid_search.processes_for(small, 20) == 1
    assert grid_search.processes_for(large, 20) == cores
    assert grid_search.processes_for(large, 2) == 1
    assert grid_search.processes_for(embedded, 20) == 1  # a model takes all processors by itself
    assert grid_search.processes_for(huge, 20) == 1  # no two hold 200 million characters each


TEXTS = st.text(st.sampled_from("aB é1_- \n\tΣσİß中文かな한.\U0001f600"), max_size=40)


@given(TEXTS, st.integers(0, 40), st.integers(0, 40))
def test_the_words_of_a_range_are_those_of_its_text(text: str, start: int, end: int) -> None:
    assert DocumentWords(text).between(min(start, end), max(start, end)) == search_tokens(
        text[min(start, end) : max(start, end)]
    )


def test_headings_above_a_chunk_have_their_words_too() -> None:
    plan = _plan()
    corpus = PreparedCorpus(plan.corpus, by_words=True)
    for chunking in plan.chunkings:
        for entry in corpus.split(chunking).chunks:
            words = corpus.words(entry, chunking.headings)
            assert words == search_tokens(entry.indexed(chunking.headings))


def test_a_plan_goes_to_another_process_whole() -> None:
    plan = _plan()
    again = GridPlan.from_json(plan.to_json())
    assert again == plan
    assert again.key == plan.key
