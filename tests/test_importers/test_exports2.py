"""Files of tools and services, whole: rows, texts, means, verdicts and scales against counts made apart."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from exports_oracle import outcome, read
from files_table import EXPORTS, differences, expectations
from mutated_files import mutations
from places import FIXTURES

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.store.parsed_run import normalise

FOLDER = FIXTURES / "exports2"
EXPECTED = expectations(FOLDER)


FILES = [(folder, name) for folder in (EXPORTS, FOLDER) for name in expectations(folder)]


@pytest.mark.parametrize(("folder", "name"), FILES, ids=[name for _, name in FILES])
def test_a_file_holds_what_was_counted_apart(folder: Path, name: str) -> None:
    assert differences(folder, name, expectations(folder)[name]) == []


def test_a_difference_is_found() -> None:
    wrong = {"rows": 11, "passages": 45, "means": {"faithfulness": [12, 0.5, 0]}, "scores": {}}
    found = differences(EXPORTS, "ragas/evaluate.csv", wrong)
    assert [text.partition(":")[0] for text in found] == ["rows", "means", "scores"]
    assert differences(EXPORTS, "ragas/evaluate.csv", {"refused": "Ragas"})
    assert differences(EXPORTS, "phoenix/annotations.csv", {"rows": 12})


@pytest.mark.parametrize("name", [name for name in EXPECTED if name.endswith((".json", ".jsonl", ".csv"))])
def test_damaged_files_are_read_or_refused_in_a_sentence(name: str, tmp_path: Path) -> None:
    file = tmp_path / Path(name).name
    for content in mutations(name, (FOLDER / name).read_bytes(), times=25):
        file.write_bytes(content)
        assert outcome(file) in ("run", "sentence")


def _log(status: str = "success", **samples: object) -> bytes:
    """Return an .eval archive of samples by name."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        header = {"version": 2, "status": status, "eval": {"task": "t", "dataset": {"samples": 9}}}
        header["results"] = {"completed_samples": len(samples)}
        archive.writestr("header.json", json.dumps(header))
        for name, sample in samples.items():
            archive.writestr(f"samples/{name}_epoch_1.json", json.dumps(sample))
    return content.getvalue()


SAMPLE = {"id": 10, "epoch": 1, "input": "q?", "target": ["a", "b"], "scores": {"match": {"value": "P"}}}


def test_a_log_that_did_not_end_says_so_and_its_samples_are_in_the_order_of_their_numbers() -> None:
    source = InputFile.from_bytes("t.eval", _log("cancelled", **{"10": SAMPLE, "9": {**SAMPLE, "id": 9}}))
    (run,) = read_runs(source, Options(), ValidationErrors("t.eval"))
    records: list[Any] = [record for _, record in run.records]
    assert [record["question_id"] for record in records] == ["9", "10"]
    assert (records[0]["reference_answer"], records[0]["scores"]["correctness"]["value"]) == ("a", 0.5)
    assert run.all_notes == (
        "the log ended as 'cancelled', so it is not complete: 2 samples",
        "2 of the 9 samples of its data set were completed",
    )


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (_log(), "holds no records"),
        (_log(a=[1]), "found list; accepted: an object"),
        (_log(a={**SAMPLE, "input": {"x": []}}), "question: missing"),
        (_log(a=SAMPLE)[:200], "is a zip archive"),
        (
            (FOLDER / "inspect/norvik_rag_zstd.eval").read_bytes().replace(b"\x28\xb5\x2f\xfd", b"\0\0\0\0"),
            "cannot be read",
        ),
    ],
)
def test_a_damaged_log_is_refused_in_a_sentence(content: bytes, what: str) -> None:
    errors = ValidationErrors("t.eval")
    with pytest.raises(InputError, match=what):  # noqa: PT012 -- records are read as they are consumed
        for run in read_runs(InputFile.from_bytes("t.eval", content), Options(), errors):
            for line, record in run.records:
                normalise(record, line, errors)
        errors.raise_if_any()


def test_candidates_beside_answers_give_their_references_texts() -> None:
    folder = FOLDER / "trec_rag"
    (samples,) = read(folder / "rag24_answers.jsonl", folder / "rag24_ragnarok_input.jsonl").values()
    first = samples[0]
    assert first["retrieved"][0]["text"].startswith("A single ticket on the Norvik ferry costs 64 crowns.")
    assert first["citations"][0]["ids"] == [first["retrieved"][0]["id"]]


def test_a_citation_of_no_reference_is_left_out_and_said() -> None:
    source = InputFile.from_path(FOLDER / "trec_rag/rag25_answers.jsonl")
    errors = ValidationErrors(source.name)
    (run,) = read_runs(source, Options(), errors)
    list(run.records)
    assert any("cites a reference that its answer does not list" in note for note in errors.notes)


def test_an_attack_that_ended_in_an_error_is_not_judged() -> None:
    (samples,) = read(FOLDER / "promptfoo_redteam/redteam_results.json").values()
    (failed,) = (each for each in samples if each["checks"][0]["name"] == "rbac")
    assert failed["checks"][0]["passed"] is None
    assert {tag["key"]: tag["value"] for tag in failed["tags"]}["technique"] == "basic"
