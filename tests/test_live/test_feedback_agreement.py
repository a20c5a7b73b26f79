"""Feedback in the runs of windows: one more voice beside judge and labels, and no label itself."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from command_line import run as command
from otlp_messages import pipeline, request, trace_id

from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.labels.agreement import calibrate, evaluated_metric_of, evaluated_metrics
from ragtriage.data.labels.human_ratings import human_ratings, rated_dimensions
from ragtriage.data.live.calls import JOURNAL, live_folder
from ragtriage.data.live.feedback.joining import user_ratings
from ragtriage.data.live.feedback.records import as_json, feedback_records
from ragtriage.data.live.journal import Journal, Kind
from ragtriage.data.live.worker import Worker
from ragtriage.data.scoring.run_store import RunStore, open_store
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.diagnosis.right import RIGHT_SOURCES

BEGIN, N = 1_772_388_000.0, 24


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunStore, Run]:
    """24 calls: 18 with a thumb, 12 labelled; thumb and label differ on two of the ten with both."""
    store = open_store(str(tmp_path_factory.mktemp("live")), create=True)
    folder = live_folder(store.workspace, "shop")
    with Journal(folder / JOURNAL) as journal:
        for at in range(N):
            spans = pipeline(f"t{at}", BEGIN + at, f"What is {at}?", f"It is {at}.", user=f"u{at}")
            journal.append(Kind.TRACES, request(*spans).SerializeToString())
        said: list[dict[str, Any]] = [
            {"trace_id": trace_id(f"t{at}"), "thumb": "up" if at % 2 else "down"} for at in range(18)
        ]
        said.append(
            {"user_id": "u20", "query": "What is 20?", "timestamp": BEGIN + 25, "satisfaction_score": 4}
        )
        journal.append(Kind.FEEDBACK, json.dumps(as_json(feedback_records(said))).encode())
    Worker(store, "shop", print).round(BEGIN + 30 * 3_600, whole=True)
    (run,) = store.runs()
    ids = {row["question"]: row["question_id"] for row in samples(store, run)}
    for at in range(8, 20):
        up = at % 2 == 1 if at not in (8, 9) else at % 2 == 0
        store.ledger.add_label((run.run_id, ids[f"What is {at}?"], 0), "ada", "pass" if up else "fail")
    return store, run


def samples(store: RunStore, run: Run) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(store.workspace.samples_path(run.run_id)).to_pylist()
    return rows


def test_what_users_said_stands_in_the_samples_of_the_window(window: tuple[RunStore, Run]) -> None:
    rows = {row["question"]: row["human"] for row in samples(*window)}
    thumbs = {question: [each["value"] for each in human or ()] for question, human in rows.items()}
    assert thumbs["What is 3?"] == [1.0]
    assert thumbs["What is 4?"] == [0.0]
    assert thumbs["What is 20?"] == [0.75]  # joined by user and question
    assert thumbs["What is 22?"] == []
    assert {each["annotator"] for human in rows.values() for each in human or ()} == {"user"}


def test_the_users_are_one_more_voice_in_the_agreement(window: tuple[RunStore, Run]) -> None:
    store, run = window
    scored = store.scored(run)
    assert "imported:user_feedback" in rated_dimensions(scored, store.ledger)
    labels = human_ratings(scored, store.ledger, "pass")
    thumb = evaluated_metric_of("user_feedback:human")
    assert thumb in evaluated_metrics(scored, labels)
    found = calibrate(scored, labels, thumb)
    assert found.confusion is not None
    assert (found.confusion.tp, found.confusion.fp, found.confusion.fn, found.confusion.tn) == (4, 1, 1, 4)
    rates = {rate.name: rate for rate in found.rates}
    assert rates["kappa"].value == pytest.approx(0.6)
    assert rates["kappa"].low < 0.6 < rates["kappa"].high


def test_the_ratings_of_users_say_that_who_answers_chose_to(window: tuple[RunStore, Run]) -> None:
    store, run = window
    thumbs = human_ratings(store.scored(run), store.ledger, "imported:user_feedback")
    assert (thumbs.n, thumbs.binary, thumbs.by, thumbs.scale) == (18, True, "users", (0.0, 1.0))
    assert thumbs.how == "said by the users themselves: who answers chose to, and knows no right answer"
    satisfied = human_ratings(store.scored(run), store.ledger, "imported:user_satisfaction")
    assert np.nanmax(satisfied.values) == 0.75
    assert satisfied.scale == (0.0, 1.0)


def test_the_command_compares_them_too_and_says_whose_they_are(
    window: tuple[RunStore, Run], capsys: pytest.CaptureFixture[str]
) -> None:
    store, run = window
    words = ("--dimension", "pass", "--metric", "user_feedback")
    answer = command(capsys, store.workspace.root, "agreement", run.run_id, *words)
    assert "user_feedback (human)" in answer.out
    assert "kappa               0.600" in answer.out
    assert "Said by the users themselves: who answers chose to, and knows no right answer." in answer.out


def test_a_thumb_is_no_label_of_correctness(window: tuple[RunStore, Run]) -> None:
    store, run = window
    assert human_ratings(store.scored(run), store.ledger, "pass").n == 12
    assert not [finding for finding in check_run(store.scored(run)) if "user_feedback" in str(finding)]
    assert not {"user_feedback", "user_satisfaction"} & {*RIGHT_SOURCES}


def test_what_is_said_is_on_a_scale_from_0_to_1() -> None:
    said: dict[str, float | str] = {
        "thumb": 1.0,
        "satisfaction_score": 1.0,
        "nps_score": 9.0,
        "comment": "Well.",
    }
    assert user_ratings(said) == [
        {"annotator": "user", "metric": "user_feedback", "value": 1.0, "note": "Well."},
        {"annotator": "user", "metric": "user_satisfaction", "value": 0.0, "note": "Well."},
    ]
    assert user_ratings({"comment": "No value."}) == []
