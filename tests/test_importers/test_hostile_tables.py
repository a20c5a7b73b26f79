"""Hostile versions of the files of evaluation tools end in a run or in a sentence, never in a traceback."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from exports_oracle import EXPORTS, outcome
from mutated_files import mutations
from places import FIXTURES

FILES: dict[Path, tuple[Path, ...]] = {  # file -> files given in the same command
    FIXTURES / "open_rag_eval/csv_results.csv": (),
    FIXTURES / "uptrain/qna_on_docs_samples.noembed.jsonl": (),
    FIXTURES / "continuous_eval/correctness_sm.jsonl": (),
    FIXTURES / "continuous_eval/retrieval_sm.jsonl": (),
    EXPORTS / "mlflow/eval_results_v3.17.2.csv": (),
    EXPORTS / "mlflow/eval_results_v3.17.2.jsonl": (),
    EXPORTS / "mlflow/traces_v3.17.2.json": (),
    EXPORTS / "trulens/records_v2.16.0.csv": (),
    EXPORTS / "trulens/records_v2.16.0.jsonl": (),
    FIXTURES / "trulens/test_otel_feedback_computation__test_feedback_computation.csv": (),
    FIXTURES / "trulens/test_otel_tru_llama__test_smoke.csv": (),
    EXPORTS / "continuous_eval/metrics_v0.3.14.json": (FIXTURES / "continuous_eval/retrieval_sm.jsonl",),
}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(FIXTURES)))
def test_a_hostile_file_ends_in_a_run_or_in_a_sentence(file: Path, tmp_path: Path) -> None:
    path = tmp_path / file.name
    outcomes = set()
    for changed in mutations(file.name, file.read_bytes(), times=40):
        path.write_bytes(changed)
        outcomes.add(outcome(path, *FILES[file]))
    assert outcomes <= {"run", "sentence"}
    assert "sentence" in outcomes


def test_a_hostile_file_of_ares_ends_in_a_run_or_in_a_sentence(tmp_path: Path) -> None:
    with (EXPORTS / "ares/labeled.tsv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream, delimiter="\t"))
    written = io.StringIO()
    csv.writer(written).writerows(rows)
    path = tmp_path / "labeled.csv"
    outcomes = set()
    for changed in mutations(path.name, written.getvalue().encode(), times=40):
        path.write_bytes(changed)
        outcomes.add(outcome(path))
    assert outcomes == {"run", "sentence"}
