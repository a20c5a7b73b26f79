"""What every command answers with --json on the bundled samples: the documented keys, and only those."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import run
from places import FIXTURES

from ragtriage.data.scoring.run_store import RunStore

Capture = pytest.CaptureFixture[str]
RUN = {"run_id", "name", "project", "n", "n_questions", "created_at"}
FACTS = RUN | {
    "imported_name",
    "imported_at",
    "origin",
    "config",
    "dataset",
    "dataset_version",
    "corpus_version",
    "content_hash",
    "fields",
    "notes",
    "not_computable",
}
METRIC = {"mean", "low", "high", "n_scored", "n_applicable", "source"}
FINDING = {"rule", "severity", "title", "message", "evidence", "n_affected", "rows"} | {
    "metrics",
    "runs",
    "samples",
}
DIAGNOSIS = {
    "run",
    "n",
    "signal",
    "context_metrics",
    "context_by_question",
    "not_the_context",
    "partial_gold",
    "cutoffs",
    "doubts",
    "pass_rate_doubts",
    "read_first",
    "bad",
    "n_measured",
    "n_fully_measured",
    "measured_by",
    "pass_rate",
    "patterns",
    "stages",
    "fix_first",
    "worst_slices",
    "precision_recall",
    "next_steps",
    "refusals",
    "symptoms",
    "right",
    "parts",
}
DIFFERENCE = {
    "baseline",
    "run",
    "difference",
    "low",
    "high",
    "p",
    "adjusted_p",
    "n_pairs",
    "primary",
    "verdict_low",
    "verdict_high",
    "verdict",
    "margin",
    "largest_loss",
    "needed",
}
PREVIEW = {
    "file",
    "off_scale",
    "format",
    "complete",
    "runs",
    "question_sets",
    "mapping",
    "fields",
    "computable",
    "not_computable",
    "means",
    "problems",
}


@pytest.fixture
def root(demo: RunStore) -> Path:
    return demo.workspace.root


@pytest.fixture
def run_ids(demo: RunStore) -> list[str]:
    """The newest run with samples of every project, and of iris one with repeats."""
    newest = {one.project: one for one in demo.runs() if one.n and (one.project != "iris" or one.n == 30)}
    return [one.run_id for one in newest.values()]


def test_runs_lists_every_sample_oldest_first(capsys: Capture, root: Path, demo: RunStore) -> None:
    answer = run(capsys, root, "runs", "--json").json
    assert len(answer) == len(demo.runs())
    assert all(one.keys() == RUN for one in answer)
    made = [one["created_at"] for one in answer]
    assert made == sorted(made)


def test_show_gives_facts_that_are_json(capsys: Capture, root: Path, demo: RunStore) -> None:
    for found in {(one.project, bool(one.means)): one for one in demo.runs()}.values():
        answer = run(capsys, root, "show", found.run_id, "--json").json
        assert answer.keys() == FACTS
        assert answer["config"].get("pipeline", found.name) == found.name
        assert answer["config"]


def test_metrics_have_the_documented_keys(capsys: Capture, root: Path, run_ids: list[str]) -> None:
    for run_id in run_ids:
        answer = run(capsys, root, "metrics", run_id, "--json").json
        assert answer.keys() - {"sampling"} == {"run", "n", "n_questions", "convention", "metrics"}
        assert all(one.keys() >= METRIC for one in answer["metrics"].values())
        assert all(one["n_scored"] <= one["n_applicable"] for one in answer["metrics"].values())


def test_per_sample_values_average_to_the_mean(capsys: Capture, root: Path, demo: RunStore) -> None:
    (found,) = [one for one in demo.runs("iris") if (one.name, one.n) == ("hyde", 30)]
    answer = run(capsys, root, "metrics", found.run_id, "--per-sample", "--json").json
    assert len(answer["samples"]) == found.n_questions == 10
    for name, summary in answer["metrics"].items():
        values = [one[name] for one in answer["samples"].values() if one[name] is not None]
        if name == "right_by_text" and not summary["n_scored"]:
            continue  # decided for too few of the answers to have a rate
        assert len(values) == summary["n_scored"], name
        if values:
            assert sum(values) / len(values) == pytest.approx(summary["mean"], abs=1e-9), name


def test_diagnose_places_every_case(capsys: Capture, root: Path, run_ids: list[str]) -> None:
    for run_id in run_ids:
        answer = run(capsys, root, "diagnose", run_id, "--json").json
        assert answer.keys() - {"sampling"} == DIAGNOSIS
        assert sum(answer["patterns"].values()) == answer["n"]
        assert sum(answer["stages"].values()) == answer["bad"]


def test_a_signal_that_the_run_lacks_is_refused_with_those_it_has(
    capsys: Capture, root: Path, demo: RunStore
) -> None:
    (found,) = [one for one in demo.runs("iris") if (one.name, one.n) == ("hyde", 30)]
    answer = run(capsys, root, "diagnose", found.run_id, "--signal", "recall@5")
    assert answer.code == 2
    assert "context_recall" in answer.err
    asked = run(capsys, root, "diagnose", found.run_id, "--signal", "context_precision", "--json").json
    assert asked["signal"] == "context_precision"


def test_compare_holds_every_version_against_the_first(capsys: Capture, root: Path, demo: RunStore) -> None:
    versions = [one.run_id for one in demo.runs("iris") if one.n == 30]
    answer = run(capsys, root, "compare", *versions, "--json").json
    assert answer.keys() == {"baseline", "comparisons", "family"}
    assert [one["run"] for one in answer["comparisons"]] == versions[1:]
    for one in answer["comparisons"]:
        known = {"run", "warnings", "refusals", "n_shared", "primary", "n_family", "metrics"}
        assert one.keys() == known | {"slices", "guardrails"}
        assert one["n_shared"] == 10, "three repeats of ten questions are ten pairs"
        assert all(found.keys() == DIFFERENCE for found in one["metrics"].values())


def test_check_gives_findings(capsys: Capture, root: Path, run_ids: list[str]) -> None:
    found = [one for run_id in run_ids for one in run(capsys, root, "check", run_id, "--json").json]
    assert found
    assert all(one.keys() == FINDING for one in found)


def test_an_export_holds_every_sample_with_its_diagnosis(
    capsys: Capture, root: Path, demo: RunStore, tmp_path: Path
) -> None:
    (found,) = [one for one in demo.runs("iris") if (one.name, one.n) == ("crag", 30)]
    target = tmp_path / "crag.jsonl"
    assert run(capsys, root, "export", found.run_id, "-o", str(target)).code == 0
    rows = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    assert len({(row["question_id"], row["repeat"]) for row in rows}) == 30
    assert all("pattern" in row["ragtriage"] for row in rows)
    refused = run(capsys, root, "export", found.run_id, "-o", str(tmp_path / "none" / "x.jsonl"))
    assert refused.code == 2
    assert "cannot be written" in refused.err


def test_an_import_tells_findings_and_what_stays_unmeasured(capsys: Capture, tmp_path: Path) -> None:
    example = FIXTURES / "iris_vector_rag" / "detailed_small.csv"
    answer = run(capsys, tmp_path, "import", str(example), "--json").json
    assert answer.keys() == {"runs", "findings"}
    assert all(one.keys() == FINDING | {"run_id"} for one in answer["findings"])
    text = run(capsys, tmp_path, "import", str(example), "--explain").out
    assert "unchanged" in text
    assert "needs gold documents: `relevant`: recall@k, precision@k" in text
    unmeasured = text[text.index("not computable") :]
    assert "faithfulness" not in unmeasured, "the file brings it along"


def test_a_dry_run_tells_the_mapping_and_what_has_no_value(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("Frage,antwort,faithfulness,answer_similarity\nwas?,das,0.5,nan\n", encoding="utf-8")
    words = ("import", str(path), "--map", "question=Frage", "--dry-run")
    (answer,) = run(capsys, tmp_path / "ws", *words, "--json").json["files"]
    assert answer.keys() == PREVIEW
    assert {one["column"]: one["field"] for one in answer["mapping"]}["Frage"] == "question"
    assert "faithfulness" in answer["computable"]
    assert "no value" in answer["not_computable"]["answer_similarity"]
    assert "will be measured: faithfulness" in run(capsys, tmp_path / "ws", *words).out


def test_what_only_a_late_record_fills_is_computable_too(capsys: Capture, tmp_path: Path) -> None:
    lines = [json.dumps({"question": f"q{at}?", "retrieved": ["x"]}) for at in range(150)]
    lines.append(json.dumps({"question": "last?", "retrieved": [{"id": "a"}], "relevant": [{"id": "a"}]}))
    path = tmp_path / "late.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    (answer,) = run(capsys, tmp_path / "ws", "import", str(path), "--dry-run", "--json").json["files"]
    assert "recall@1" in answer["computable"]


@pytest.mark.parametrize(
    ("given", "kept"),
    [("5", 5), ("0.5", 0.5), ("true", True), ("[1, 2]", [1, 2]), ("a b", "a b"), ("NaN", "NaN"), ("", "")],
)
def test_configuration_is_read_as_json_where_it_is_json(
    capsys: Capture, tmp_path: Path, given: str, kept: object
) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text('{"question": "a?", "answer": "b"}\n', encoding="utf-8")
    assert run(capsys, tmp_path / "ws", "import", str(path), "--config", f"x={given}").code == 0
    assert run(capsys, tmp_path / "ws", "show", "one", "--json").json["config"] == {"x": kept}


def test_the_only_project_is_the_default_one(capsys: Capture, tmp_path: Path) -> None:
    for at, words in enumerate([("--project", "bot"), (), ("--project", "other"), ()]):
        path = tmp_path / f"run{at}.jsonl"
        path.write_text(f'{{"question": "q{at}?", "answer": "b"}}\n', encoding="utf-8")
        assert run(capsys, tmp_path / "ws", "import", str(path), *words).code == 0
    listed = run(capsys, tmp_path / "ws", "runs", "--json").json
    assert {one["name"]: one["project"] for one in listed} == {
        "run0": "bot",
        "run1": "bot",
        "run2": "other",
        "run3": "default",
    }


def test_deleting_without_a_person_to_ask_needs_yes(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text('{"question": "a?", "answer": "b"}\n', encoding="utf-8")
    run(capsys, tmp_path / "ws", "import", str(path))
    answer = run(capsys, tmp_path / "ws", "delete", "one", "--json")
    assert answer.code == 2
    assert "--yes" in answer.err
    assert len(run(capsys, tmp_path / "ws", "runs", "--json").json) == 1
