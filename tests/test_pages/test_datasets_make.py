"""Making questions from the page Datasets: a job of its own process, shown until its questions are there."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from handbook_items import FOLDER
from made_datasets import MakingService
from page_text import headline, html_text
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.data.datasets.dataset import Dataset, datasets
from ragtriage.data.datasets.making.job import JOB
from ragtriage.data.jobs import jobs_of
from ragtriage.data.scoring.run_store import RunStore

PATIENCE = 180.0  # seconds, on a busy machine


def _open(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(store.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=120)
    return app.switch_page("datasets/datasets.py").run()


def _make(app: AppTest, n: int) -> None:
    app.number_input(key="make_n").set_value(n)
    app.text_input(key="make_mix").set_value("single=1")
    app.button(key="FormSubmitter:make_form-Show the plan").click().run()
    assert not app.error
    app.button(key="make_start").click().run()
    assert not app.exception
    assert not app.error


def _made(store: RunStore, batches: int) -> Dataset:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = datasets(store.workspace)
        if found and len(found[0].batches()) == batches:
            return found[0]
        time.sleep(0.5)
    states = [(job.state, job.message) for job in jobs_of(store.ledger)]
    pytest.fail(f"nothing was made in {PATIENCE:.0f} s: {states}")


def test_a_first_set_is_made_from_a_folder_and_then_more_of_the_same_corpus(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-secret")
    with MakingService() as service:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", service.url)
        app = _open(workspace, monkeypatch)
        assert headline(app) == "Make a first test set"
        app.text_input(key="make_corpus").set_value(str(Path(FOLDER) / "corpus"))
        _make(app, 3)
        dataset = _made(workspace, 1)
        assert jobs_of(workspace.ledger, kind=f"{JOB}{dataset.dataset_id}")
        app = _open(workspace, monkeypatch)
        assert headline(app).startswith("corpus: 0 of 3 questions reviewed")
        asked = "3 questions asked, 3 made"
        assert asked not in " ".join(str(text.value) for text in app.markdown), "it would push the page down"
        corpus_version = dataset.corpus_version
        app.button(key="make_open").click().run()
        assert asked in " ".join(str(text.value) for text in app.markdown), "the form lists what finished"
        _make(app, 5)
        dataset = _made(workspace, 2)
        assert dataset.corpus_version == corpus_version
        app = _open(workspace, monkeypatch)
        assert "0 of 8 questions reviewed" in html_text(app)
