"""The handbook sample: what it holds, and the values of its versions recomputed here from the raw files."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from command_line import run
from places import BUNDLED

from ragtriage.dashboard.present.stories.sections import add_sample_stories
from ragtriage.dashboard.present.stories.story import story_from_json
from ragtriage.data import demo as samples
from ragtriage.data.chunking.grids import grids_of
from ragtriage.data.demo import FIRST_PROJECT, FIRST_RUN, load_samples
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.gates.baseline import baseline_of
from ragtriage.data.gates.config import BUNDLED as BUNDLED_GATES
from ragtriage.data.gates.config import load_gates
from ragtriage.data.gates.report import gate_run
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.stories import remove_story, stories
from ragtriage.data.store.versions import releases_of, unmark_release
from ragtriage.data.store.workspace import Run, Workspace
from ragtriage.metrics.schema.scores import Source

FOLDER = BUNDLED / "handbook"
NAMES = {"V1": "V1 baseline", "V2": "V2 smaller chunks", "V3": "V3 strict prompt", "V4": "V4 rerank"}
VERSIONS = list(NAMES)
Records = list[dict[str, Any]]


def records_of(version: str) -> Records:
    lines = gzip.decompress((FOLDER / f"{version}.jsonl.gz").read_bytes()).decode().splitlines()
    return [json.loads(line) for line in lines[1:]]


def run_of(demo: RunStore, version: str) -> Run:
    (found,) = [run for run in demo.runs("handbook") if run.name == NAMES[version]]
    return found


def answerable(records: Records) -> Records:
    return [record for record in records if record["relevant_spans"]]


def share_found(record: dict[str, Any]) -> float:
    """The share of the gold characters that the retrieved passages hold, character by character."""
    found = {
        (document["doc_id"], at)
        for document in record["retrieved"]
        for at in range(document["start"], document["end"])
    }
    gold = {
        (span["doc_id"], at) for span in record["relevant_spans"] for at in range(span["start"], span["end"])
    }
    return len(gold & found) / len(gold)


# as published with the sample: span recall, correctness, refused (answerable, not), claims (supported, all)
PUBLISHED = {
    "V1": (0.675, 0.8125, (1, 3), (128, 156), 0.823),
    "V2": (0.813, 0.84, (1, 2), (139, 168), 0.875),
    "V3": (0.813, 0.552, (21, 6), (45, 45), 0.4375),
    "V4": (0.822, 0.844, (4, 6), (150, 150), 0.729),
}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_raw_files_hold_the_published_values(version: str) -> None:
    records = records_of(version)
    recall, correctness, refused, claims, relevancy = PUBLISHED[version]
    assert (len(records), len(answerable(records))) == (48, 42)
    assert fmean(map(share_found, answerable(records))) == pytest.approx(recall, abs=0.0006)
    assert fmean(record["scores"]["correctness"] for record in records) == pytest.approx(
        correctness, abs=0.004
    )
    of_all = [record["scores"].get("answer_relevancy") or 0.0 for record in records]  # a refusal counts 0
    assert fmean(of_all) == pytest.approx(relevancy, abs=0.0006)
    refusals = [record for record in records if record["refused"]]
    assert (
        len(answerable(refusals)),
        len(refusals) - len(answerable(refusals)),
    ) == refused
    made = [claim for record in records for claim in record["claims"] or []]
    assert (sum(bool(claim["supported_by"]) for claim in made), len(made)) == claims


@pytest.mark.parametrize("version", VERSIONS)
def test_every_retrieved_text_is_what_its_offsets_name(version: str) -> None:
    pages = {path.stem: path.read_bytes().decode() for path in (FOLDER / "corpus").glob("*.md")}
    assert len(pages) == 42
    for record in records_of(version):
        for document in record["retrieved"]:
            assert document["text"] == pages[document["doc_id"]][document["start"] : document["end"]]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_product_measures_the_published_values(demo: RunStore, version: str) -> None:
    run, records = run_of(demo, version), records_of(version)
    summary = demo.summary(run)
    assert summary["span_recall@10"].mean == pytest.approx(fmean(map(share_found, answerable(records))))
    assert summary["span_recall@10"].n_scored == 42
    correctness = fmean(record["scores"]["correctness"] for record in records)
    assert summary["correctness"].mean == pytest.approx(correctness)
    answered = [record for record in records if not record["refused"]]
    supported = [
        fmean(bool(claim["supported_by"]) for claim in record["claims"])
        for record in answered
        if record["claims"]
    ]
    assert summary["faithfulness"].mean == pytest.approx(fmean(supported))
    assert summary["faithfulness"].n_scored == len(supported)
    refused = sum(bool(record["refused"]) for record in records)
    assert summary["refused"].mean == pytest.approx(refused / 48)


def fix_first(capsys: pytest.CaptureFixture[str], demo: RunStore, version: str) -> tuple[str, int]:
    """The failure stage that `diagnose` puts first, and its cases."""
    root = demo.workspace.root
    stage = run(capsys, root, "diagnose", run_of(demo, version).run_id, "--json").json["fix_first"][0]
    return stage["key"], stage["n_bad"]


def test_the_strict_prompt_refuses_what_it_could_have_answered(
    capsys: pytest.CaptureFixture[str], demo: RunStore
) -> None:
    """Of the 21 refusals, 10 had all gold characters in their context."""
    refused = [record for record in answerable(records_of("V3")) if record["refused"]]
    whole = sum(share_found(record) == 1 for record in refused)
    assert (len(refused), whole) == (21, 10)
    assert fix_first(capsys, demo, "V3") == ("refused_with_context", whole)


def test_what_the_rerank_misses_was_not_retrieved(capsys: pytest.CaptureFixture[str], demo: RunStore) -> None:
    missed = [
        claim
        for record in answerable(records_of("V4"))
        for claim in record["reference_claims"]
        if not claim["in_answer"]
    ]
    assert len(missed) == 19
    assert not any(claim["supported_by"] for claim in missed)
    assert fix_first(capsys, demo, "V4") == ("missed", 5)


def test_nothing_of_it_is_called_human_and_the_checks_say_who_wrote_it(demo: RunStore) -> None:
    for version in VERSIONS:
        run = run_of(demo, version)
        scored = demo.scored(run)
        assert "human" not in run.fields
        assert all(Source.HUMAN not in sources for sources in map(set, scored.sources.values()))
        rules = {finding.rule: finding.message for finding in check_run(scored)}
        assert "a Claude model" in rules["labels_by"]
        assert "synthetic_only" in rules
        assert "written by a Claude model" in run.notes[0]


def test_the_versions_are_in_order_with_a_baseline_and_releases(demo: RunStore) -> None:
    runs = [run for run in demo.runs("handbook") if "grid" not in run.config]
    assert [run.name for run in runs] == list(NAMES.values())
    assert demo.ledger.baselines()["handbook"] == runs[0].run_id
    assert list(releases_of(demo.ledger, "handbook")) == [run.run_id for run in runs]
    assert ("handbook", runs[-1].name) == (FIRST_PROJECT, FIRST_RUN)


def test_the_grid_over_its_pages_is_the_one_grid_of_the_project(demo: RunStore) -> None:
    (grid,) = grids_of(demo.runs("handbook"))
    assert (grid.sizes, grid.overlaps) == ([128, 256, 512], [0, 48])
    assert len(grid.trials) == 7
    assert {demo.summary(trial.run)["span_recall@5"].n_scored for trial in grid.trials} == {42}


def test_each_verdict_is_seen(demo: RunStore) -> None:
    gates = load_gates(demo.workspace)
    runs = {version: run_of(demo, version) for version in VERSIONS}
    reports = {version: gate_run(demo, run, baseline_of(demo, run), gates) for version, run in runs.items()}
    assert {version: report.verdict for version, report in reports.items()} == {
        "V1": "FAIL",
        "V2": "INCONCLUSIVE",
        "V3": "FAIL",
        "V4": "PASS",
    }
    failed = {
        version: {
            (result.gate.metric, result.gate.severity)
            for result in report.results
            if result.verdict == "FAIL"
        }
        for version, report in reports.items()
    }
    assert failed["V3"] >= {("over_refusal", "block"), ("correctness", "block")}
    assert failed["V4"] == {("span_recall@5", "warn")}


def test_gates_are_written_where_there_are_none_and_a_users_file_stays(own_demo: RunStore) -> None:
    path = own_demo.workspace.root / "gates.toml"
    others = load_gates(own_demo.workspace).gates_for("iris")
    path.unlink()
    bundled = load_gates(own_demo.workspace)
    assert bundled.source == BUNDLED_GATES
    assert others == bundled.gates_for("iris")
    path.write_text("# mine\n", encoding="utf-8")
    load_samples(own_demo)
    assert path.read_text(encoding="utf-8") == "# mine\n"
    path.unlink()
    load_samples(own_demo)
    assert len(load_gates(own_demo.workspace).gates_for("handbook")) == 10


def test_a_release_that_was_taken_away_stays_away(own_demo: RunStore) -> None:
    run = run_of(own_demo, "V2")
    assert unmark_release(own_demo.ledger, "handbook", run.run_id, "Ann")
    load_samples(own_demo)
    assert run.run_id not in releases_of(own_demo.ledger, "handbook")


def test_what_an_interrupted_load_left_out_comes_with_the_next(own_demo: RunStore) -> None:
    (grid,) = grids_of(own_demo.runs("handbook"))
    gone = [run_of(own_demo, "V3").run_id, grid.trials[2].run.run_id]
    for run_id in gone:
        own_demo.workspace.delete_run(run_id)
    again = load_samples(own_demo)
    assert {entry.run.run_id for entry in again if entry.run.run_id in own_demo.workspace.run_ids()} >= set(
        gone
    )
    assert len(own_demo.runs("handbook")) == 11
    assert load_samples(own_demo) == []


def test_its_stories_are_stored_once_and_say_who_wrote_the_data(own_demo: RunStore) -> None:
    add_sample_stories(own_demo)
    stored = stories(own_demo.ledger, "handbook")
    told = {story.audience: story for story in (story_from_json(entry.body) for entry in stored)}
    runs = {run.run_id: run.name for run in own_demo.runs("handbook")}
    assert {audience: (runs[story.run], runs[story.baseline]) for audience, story in told.items()} == {
        "stakeholder": ("V4 rerank", "V1 baseline"),
        "lead": ("V3 strict prompt", "V2 smaller chunks"),
        "engineer": ("V4 rerank", "V2 smaller chunks"),
    }
    assert all("written by a Claude model" in story.sections[0].note for story in told.values())
    remove_story(own_demo.ledger, stored[0].story_id)
    add_sample_stories(own_demo)
    assert len(stories(own_demo.ledger, "handbook")) == 2


def test_two_processes_load_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    handbook = [entry for entry in samples._manifest() if entry["project"] == "handbook"]
    monkeypatch.setattr(samples, "_manifest", lambda: handbook)
    program = (
        "import sys; from ragtriage.data.api import open_store; from ragtriage.data import demo;"
        "from ragtriage.data.demo import load_samples;"
        "handbook = [entry for entry in demo._manifest() if entry['project'] == 'handbook'];"
        "demo._manifest = lambda: handbook;"
        "from ragtriage.dashboard.present.stories.sections import add_sample_stories;"
        "store = open_store(sys.argv[1], create=True); load_samples(store); add_sample_stories(store)"
    )
    root = tmp_path / "shared"
    both = [
        subprocess.Popen([sys.executable, "-c", program, str(root)], stderr=subprocess.PIPE) for _ in range(2)
    ]
    assert [(process.communicate()[1], process.returncode) for process in both] == [(b"", 0)] * 2
    store = RunStore(Workspace(root))
    assert [run.name for run in store.runs("handbook") if "grid" not in run.config] == list(NAMES.values())
    assert len(store.runs("handbook")) == 11
    assert len(stories(store.ledger, "handbook")) == 3
    with store.ledger.open() as connection:
        assert connection.execute("SELECT count(*) FROM releases").fetchone() == (4,)
    assert load_samples(store) == []
