"""`ragtriage agreement` and `judge --calibrate`: judges against human labels, from files too, and PPI."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import run as command
from judge_server import JudgeServer
from judged_runs import judged, made, records
from places import BUNDLED

from ragtriage.data.api import add_run
from ragtriage.data.demo import load_samples
from ragtriage.data.labels.label_files import read_labels
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Workspace


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-secret")
    monkeypatch.delenv("RAGTRIAGE_JUDGE_MODEL", raising=False)


def labelled(n: int, shift: float = 0.0) -> list[dict[str, Any]]:
    """Records that three annotators rated and a tool scored, which agree up to noise."""
    rng = np.random.default_rng(1)
    rows = []
    for at in range(n):
        quality = float(rng.random())
        score = float(np.clip(quality + shift + rng.normal(scale=0.1), 0, 1))
        ratings = [float(np.clip(quality + rng.normal(scale=0.15), 0, 1)) for _ in range(3)]
        human = [
            {"annotator": who, "metric": "faithfulness", "value": value}
            for who, value in zip(("Ann", "Bob", "Eve"), ratings, strict=True)
        ]
        rows.append(
            {
                "question_id": f"q{at}",
                "question": f"Question {at}?",
                "answer": f"Answer {at}.",
                "human": human,
                "scores": {"faithfulness": score},
            }
        )
    return rows


def test_the_recorded_judge_agrees_with_people_as_was_computed_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The figures were computed apart from this code, from the replies and the annotators' labels."""
    entries = json.loads((BUNDLED / "manifest.json").read_text("utf-8"))
    monkeypatch.setattr(
        "ragtriage.data.demo._manifest", lambda: tuple(one for one in entries if "replies" in one)
    )
    load_samples(RunStore(Workspace(tmp_path).create()))
    words = ("agreement", "GPT-4.0", "--dimension", "faithfulness", "--metric", "faithfulness")
    answer = command(capsys, tmp_path, *words, "--thresholds", "0.8333", "0.8", "--json").json
    (row,) = answer["agreement"]
    assert (row["n"], row["source"], row["judge"]["model"]) == (47, "judged", "a Claude model")
    assert row["judge"]["prompt"]
    values = {name: one["value"] for name, one in row["statistics"].items()}
    assert values["spearman"] == pytest.approx(0.787, abs=5e-4)
    assert values["pearson"] == pytest.approx(0.82, abs=5e-3)
    assert values["kappa"] == pytest.approx(0.58, abs=5e-3)
    assert row["ceiling"]["spearman"]["annotator"] == pytest.approx(0.508, abs=5e-4)
    assert row["ceiling"]["spearman"]["metric"] == pytest.approx(0.73, abs=5e-3)
    assert [sum(line) for line in row["table"]] == [16, 31]
    (between,) = answer["annotators"]
    assert (between["n"], between["level"]) == (48, "ordinal")
    three = command(capsys, tmp_path, *words, "--classes", "3", "--json").json["agreement"][0]
    assert {"kappa", "kappa_linear", "kappa_quadratic", "alpha"} <= three["statistics"].keys()
    assert np.array(three["table"]).shape == (3, 3)
    assert "true_positive_rate" not in three["statistics"]
    text = command(capsys, tmp_path, *words).out
    assert "0.787 [" in text
    assert "one annotator, Spearman" in text
    assert "Krippendorff's alpha" in text


def test_each_judge_has_a_row_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, _ = made(tmp_path, 1)
    rated = [
        {**one, "human": [{"annotator": "Ann", "metric": "faithfulness", "value": at % 2}]}
        for at, one in enumerate(records(12))
    ]
    run = add_run(rated, "rated", "zoo", str(tmp_path))
    with JudgeServer() as server:
        judged(store, run, server)
        command(capsys, tmp_path, "judge", run.run_id, "--yes", "--base-url", server.url, "--effort", "high")
    rows = command(capsys, tmp_path, "agreement", run.run_id, "--json").json["agreement"]
    mine = [row["judge"] for row in rows if row["metric"] == "faithfulness"]
    assert [(one["model"], one["effort"]) for one in mine] == [
        ("claude-haiku-5-5", "high"),
        ("claude-haiku-5-5", ""),
    ]


def test_calibrate_judges_what_is_labelled_and_shows_the_agreement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rated = [
        {**one, "human": [{"annotator": "Ann", "metric": "faithfulness", "value": at % 2}]}
        if at < 11
        else one
        for at, one in enumerate(records(15))
    ]
    run = add_run(rated, "half rated", "zoo", str(tmp_path))
    with JudgeServer() as server:
        words = ("judge", "--calibrate", "half rated", "--yes", "--base-url", server.url)
        answer = command(capsys, tmp_path, *words, "--json").json
        assert len(server.asked) == answer["runs"][0]["plan"]["calls"]
        text = command(capsys, tmp_path, *words).out
    assert answer["set"] == "half rated"
    assert [one["progress"]["scored"] for one in answer["runs"]] == [11]
    (agreement,) = answer["agreement"]
    assert agreement["run"] == run.run_id
    assert {row["metric"] for row in agreement["agreement"]} >= {"faithfulness"}
    assert "imported:faithfulness" in text
    plan = command(capsys, tmp_path, "judge", "--calibrate", "clapnq", "--dry-run")
    assert plan.code == 0
    assert plan.out.count("samples  100") == 3
    assert command(capsys, tmp_path, "judge").code == 2
    nothing = command(capsys, tmp_path, "judge", "--calibrate", "no such set")
    assert nothing.code == 2


def test_which_of_two_runs_is_better(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inner, changed = labelled(60), labelled(60)
    for one in (*inner, *changed):  # room for the changes: no score may leave its scale
        one["scores"]["faithfulness"] = 0.3 + 0.4 * one["scores"]["faithfulness"]
    first = add_run(inner, "first", "p", str(tmp_path))
    for at, one in enumerate(changed):
        change = 0.3 if at % 3 == 0 else -0.3 if at % 3 == 1 else 0.0
        one["scores"] = {"faithfulness": one["scores"]["faithfulness"] + change}
        for rating in one["human"]:
            rating["value"] += change
    second = add_run(changed, "second", "p", str(tmp_path))
    words = ("agreement", first.run_id, "--against", second.run_id, "--metric", "faithfulness", "--json")
    (row,) = command(capsys, tmp_path, *words).json["preferences"]
    assert row["n"] == 60
    assert row["table"] == [[20, 0, 0], [0, 20, 0], [0, 0, 20]]
    assert row["statistics"]["kappa_linear"]["value"] == 1.0
    assert row["statistics"]["pearson"]["value"] == pytest.approx(1.0)


def test_labels_of_a_file_declared_random_give_ppi_intervals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    samples = [{k: v for k, v in one.items() if k != "human"} for one in labelled(600, shift=0.1)]
    run = add_run(samples, "big", "p", str(tmp_path / "w"))
    drawn = np.random.default_rng(5).permutation(600)[:150]
    lines = [
        "Query\tDocument\tAnswer\tContext_Relevance_Label\tAnswer_Faithfulness_Label\tAnswer_Relevance_Label"
    ]
    lines += [
        f"Question {at}?\tdoc\tAnswer  {at}.\t\t{int(samples[at]['scores']['faithfulness'] > 0.6)}\tnan"
        for at in drawn
    ]
    path = tmp_path / "labels.tsv"
    path.write_text("\n".join([*lines, "Unknown?\td\ta\t\t1\t"]), "utf-8")
    words = ("agreement", run.run_id, "--labels", str(path), "--who", "Ann")
    browsed = command(capsys, tmp_path / "w", *words, "--json").json
    assert browsed["means"] == []
    answer = command(capsys, tmp_path / "w", *words, "--random", "--json").json
    assert answer["labels"] == {
        "file": "labels.tsv",
        "labels": 150,
        "unmatched": 1,
        "dimensions": {"faithfulness": 150},
        "random": True,
    }
    (mean,) = answer["means"]
    labels, metric = mean["labels_alone"], mean["metric_alone"]
    assert (mean["n_labelled"], mean["n_unlabelled"], mean["note"]) == (150, 450, "")
    assert mean["low"] < mean["mean"] < mean["high"]
    assert mean["high"] - mean["low"] < labels["high"] - labels["low"]
    assert mean["bias"] == pytest.approx(
        np.mean([samples[at]["scores"]["faithfulness"] for at in drawn]) - labels["mean"]
    )
    assert abs(mean["mean"] - labels["mean"]) < abs(metric["mean"] - labels["mean"])
    again = command(capsys, tmp_path / "w", "agreement", run.run_id).out
    assert "mean of faithfulness if all were labelled, by faithfulness (imported)" in again
    assert "n = 150" in again


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", "question_id,faithfulness\nq1,2\n", "line 2, faithfulness: '2'; accepted: 0 to 1"),
        ("a.csv", "question_id,note\nq1,x\n", "no column of labels; accepted: pass, correctness"),
        ("a.csv", "faithfulness\n1\n", "no column that names the sample"),
        ("a.csv", "question_id,faithfulness\nzzz,1\n", "none of 1 labels matches a sample"),
        ("a.csv", "question_id,faithfulness\nq1,\n", "no label in it"),
        ("a.jsonl", '{"question_id": "q1", "pass": "yes"}\n[]\n', "line 2: not a JSON object"),
        ("a.csv", "question_id,dimension,value\nq1,taste,1\n", "rating dimension 'taste'"),
    ],
)
def test_a_label_file_that_is_not_accepted_is_named_and_stores_nothing(
    name: str, content: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = add_run(labelled(12), "r", "p", str(tmp_path / "w"))
    path = tmp_path / name
    path.write_text(content, "utf-8")
    answer = command(capsys, tmp_path / "w", "agreement", run.run_id, "--labels", str(path))
    assert answer.code == 2
    assert said in answer.err
    with RunStore(Workspace(tmp_path / "w")).ledger.open() as connection:
        assert connection.execute("SELECT count(*) FROM ratings").fetchone() == (0,)


def test_a_json_line_ends_at_a_line_feed_alone(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    lines = ['{"question": "one\u2028two\u0085three", "pass": "yes"}', '{"question": "b", "pass": 0}']
    path.write_text("\r\n".join(lines), "utf-8")
    assert [(label.place, label.question) for label in read_labels(path)] == [
        ("line 1", "one two three"),
        ("line 2", "b"),
    ]


def test_words_ids_and_pass_are_read_from_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = add_run(labelled(12), "r", "p", str(tmp_path / "w"))
    path = tmp_path / "labels.csv"
    rows = "".join(f"q{at},{'pass' if at % 2 else 'fail'},[[Yes]]\n" for at in range(12))
    path.write_text("question_id,pass,context_relevance\n" + rows, "utf-8")
    words = ("agreement", run.run_id, "--labels", str(path), "--random", "--who", "Ann", "--metric", "all")
    answer = command(capsys, tmp_path / "w", *words, "--json").json
    assert answer["labels"]["dimensions"] == {"pass": 12, "context_relevance": 12}
    mean = next(one for one in answer["means"] if one["dimension"] == "pass")
    assert mean["labels_alone"]["mean"] == 0.5
    assert mean["note"] == ""


def test_labels_that_no_metric_can_be_compared_with_are_stored_and_said_to_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = add_run(labelled(12), "r", "p", str(tmp_path / "w"))
    path = tmp_path / "labels.csv"
    rows = "".join(f"q{at},correctness,{at % 2}\n" for at in range(3))
    path.write_text("question_id,dimension,value\n" + rows, "utf-8")
    words = ("agreement", run.run_id, "--dimension", "correctness")
    answer = command(capsys, tmp_path / "w", *words, "--labels", str(path), "--who", "me")
    assert (answer.code, answer.err) == (0, "")
    assert "labels.csv: 3 labels stored" in answer.out
    assert "Nothing to compare them with yet: " in answer.out
    told = command(capsys, tmp_path / "w", *words, "--labels", str(path), "--who", "me", "--json").json
    assert (told["labels"]["labels"], told["agreement"]) == (3, [])
    assert "no metric of the labelled dimensions has values" in told["note"]
    assert command(capsys, tmp_path / "w", *words).code == 2, "asked for nothing but a comparison"


def _pair(at: int, first: float | None, second: float | None) -> dict[str, Any]:
    sides = {
        name: {"model_name": name, "response": "...", "tool": {"overall_label": value, "speed": value}}
        for name, value in (("model1", first), ("model2", second))
    }
    return {"instance_id": at, **sides}


def test_preferences_of_files_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Three pairs, each labelled by two annotators; the missing score becomes the median difference."""
    labels = [(0, 1), (0, 2), (1, -1), (1, -2), (2, 0), (2, 1)]
    human = [{"instance_id": at, "overall_label": label, "correctness_label": -label} for at, label in labels]
    scores = [_pair(0, 0.1, 0.5), _pair(1, 0.6, 0.4), _pair(2, None, 0.9)]
    (tmp_path / "human.json").write_text(json.dumps(human), "utf-8")
    (tmp_path / "scores.json").write_text(json.dumps(scores), "utf-8")
    words = ["agreement", "--pairs", str(tmp_path / "human.json"), "--scores", str(tmp_path / "scores.json")]
    rows = command(capsys, tmp_path, *words, "--json").json["preferences"]
    assert [(row["aspect"], row["metric"]) for row in rows] == [
        ("overall", "tool.overall_label"),
        ("overall", "tool.speed"),
        ("correctness", "tool.speed"),
    ]
    values = np.repeat([0.4, -0.2, 0.1], 2)
    own = np.array([label for _, label in labels], dtype=float)
    assert rows[0]["n"] == 6
    assert rows[0]["filled"] == 2
    assert rows[0]["statistics"]["pearson"]["value"] == pytest.approx(np.corrcoef(values, own)[0, 1])
    assert rows[0]["ceiling"]["pearson"] == pytest.approx(np.corrcoef([1, -1, 0], [2, -2, 1])[0, 1])
    assert rows[0]["table"] == [[2, 0, 0], [0, 0, 1], [0, 0, 3]]
    text = command(capsys, tmp_path, *words).out
    assert "between two annotators" in text
    assert "2 missing scores replaced by the median difference" in text
    broken = command(capsys, tmp_path, "agreement", "--pairs", str(tmp_path / "human.json"))
    assert broken.code == 2


@pytest.mark.skipif(
    "RAGCHECKER_META_EVALUATION" not in os.environ, reason="needs RAGChecker's data/meta_evaluation folder"
)
def test_ragcheckers_own_files_give_its_published_correlations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Table 2 of Ru et al. 2024: overall, Pearson 61.93 and Spearman 60.90."""
    folder = Path(os.environ["RAGCHECKER_META_EVALUATION"])
    files = (folder / "human_labeled_data.json", folder / "baseline_ragchecker.json")
    words = ("agreement", "--pairs", str(files[0]), "--scores", str(files[1]), "--json")
    rows = command(capsys, tmp_path, *words).json["preferences"]
    overall = next(row for row in rows if row["aspect"] == "overall")
    assert overall["n"] == 560
    assert round(100 * overall["statistics"]["pearson"]["value"], 2) == 61.93
    assert round(100 * overall["statistics"]["spearman"]["value"], 2) == 60.90
