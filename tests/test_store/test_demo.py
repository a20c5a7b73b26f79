"""The bundled samples: small, licensed, loaded once, and whole again after a load was cut off."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from places import BUNDLED

from ragtriage.data.api import add_run
from ragtriage.data.chunking.grids import grids_of
from ragtriage.data.demo import load_samples
from ragtriage.data.experiments.experiment import experiments
from ragtriage.data.experiments.registry import KINDS
from ragtriage.data.scoring.run_store import RunStore


def test_what_ships_is_small_and_carries_its_licence() -> None:
    files = [path for path in BUNDLED.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 3_500_000
    attribution = (BUNDLED / "ATTRIBUTION.md").read_text(encoding="utf-8")
    for folder in (path for path in BUNDLED.iterdir() if path.is_dir()):
        assert (folder / "LICENSE").is_file(), folder.name
        assert f"| `{folder.name}/` |" in attribution


def test_the_manifest_names_every_file_and_how_many_runs_it_gives(demo: RunStore) -> None:
    entries = json.loads((BUNDLED / "manifest.json").read_text(encoding="utf-8"))
    data_files = [path for path in BUNDLED.glob("*/*") if path.name not in ("LICENSE", "NOTICE", "bot.txt")]
    # prompts, and rows of users: no runs
    data_files = [path for path in data_files if path.parent.name not in ("attacks", "live_tests")]
    listed = {BUNDLED / entry["file"] for entry in entries if not {"grid", "experiment"} & entry.keys()}
    listed |= {
        BUNDLED / entry["grid"][part]
        for entry in entries
        if "grid" in entry
        for part in ("corpus", "questions")
    }
    listed |= {
        BUNDLED / entry["experiment"][part]
        for entry in entries
        if "experiment" in entry
        for part in ("questions", "corpus")
        if part in entry["experiment"]
    }
    listed |= {
        BUNDLED / entry[part]
        for entry in entries
        for part in ("replies", "gates", "stories")
        if part in entry
    }
    listed |= {BUNDLED / entry["traffic"]["policy"] for entry in entries if "traffic" in entry}
    assert listed == set(data_files)
    for entry in entries:
        origin = Path(entry["file"]).name
        runs = [run for run in demo.runs(entry["project"]) if run.origin["file"] == origin]
        assert len(runs) == entry["runs"], origin


def test_gold_answers_are_no_run(demo: RunStore) -> None:
    assert "Reference" not in {run.name for run in demo.runs()}


def test_versions_of_a_pipeline_bear_one_name_and_their_own_time(demo: RunStore) -> None:
    runs = demo.runs("iris")
    versions = {
        name: [run.created_at for run in runs if run.name == name] for name in {run.name for run in runs}
    }
    assert versions.keys() == {"basic", "hyde", "crag", "colbert", "noderag", "graphrag", "hybrid_ifind"}
    assert all(len(set(times)) == 3 for times in versions.values())


def test_each_project_with_versions_has_a_baseline(demo: RunStore) -> None:
    runs = {run.run_id: run for run in demo.runs()}
    baselines = {project: runs[run_id] for project, run_id in demo.ledger.baselines().items()}
    assert {project: run.name for project, run in baselines.items()} == {
        "handbook": "V1 baseline",
        "handbook live": "live 18:17-18:45 2023-11-16",
        "iris": "basic",
        "mtrag": "Llama 3.1 (405B)",
        "clapnq": "Llama (13b-chat)",
        "musique": "BM25",
        "memory": "Shared index",
    }
    assert baselines["iris"].n == 30


def test_loading_again_does_nothing_a_gap_is_filled_and_a_chosen_baseline_stays(own_demo: RunStore) -> None:
    workspace = own_demo
    bundled = len(workspace.runs())
    workspace.ledger.set_baseline("iris", "chosen", "Ann")
    add_run([{"question": "mine?"}], "checking_outputs.json", workspace=str(workspace.workspace.root))
    assert len(workspace.runs()) == bundled + 1
    assert load_samples(workspace) == []
    gone = workspace.runs("iris")[3]
    workspace.workspace.delete_run(gone.run_id)
    again = load_samples(workspace)
    assert [imported.run.run_id for imported in again if imported.status == "imported"] == [gone.run_id]
    assert len(workspace.runs()) == bundled + 1
    assert workspace.ledger.baselines()["iris"] == "chosen"


@pytest.mark.parametrize("project", ["handbook", "iris", "mtrag", "clapnq", "ragchecker"])
def test_every_sample_tells_its_configuration_and_question_set(demo: RunStore, project: str) -> None:
    for run in demo.runs(project):
        assert run.config.get("pipeline") == run.name or "grid" in run.config
        assert run.dataset


def test_the_bundled_grid_is_finished(demo: RunStore) -> None:
    (grid,) = grids_of(demo.runs("state_of_the_union"))
    assert (grid.sizes, grid.overlaps) == ([128, 256, 512], [0, 32, 64])
    assert len(grid.trials) == 12
    assert all((demo.summary(cell.run)["span_recall@5"].mean or 0) > 0.8 for cell in grid.trials)
    assert {demo.summary(cell.run)["span_recall@5"].n_scored for cell in grid.trials} == {76}


def test_every_kind_of_experiment_is_bundled_and_complete(demo: RunStore) -> None:
    bundled = [entry for entry in experiments(demo.workspace) if entry.project == "experiments"]
    assert {entry.kind for entry in bundled} == set(KINDS)
    assert {entry.state for entry in bundled} == {"done"}


def test_the_two_hop_runs_name_both_hops(demo: RunStore) -> None:
    plain, expanded = demo.runs("musique")
    assert (plain.n, expanded.n) == (68, 68)
    sample = demo.scored(expanded).samples.read([0])[0]
    assert [document["hop"] for document in sample["relevant"]] == ["1", "2"]
    assert len(sample["candidates"]) == 50


def test_gold_that_names_documents_is_found_in_chunks_of_them(demo: RunStore) -> None:
    arms = [run for run in demo.runs("experiments") if run.config.get("experiment_kind") == "arms"]
    assert len(arms) == 4
    for run in arms:
        values = demo.scored(run).values("hit@1")
        samples = demo.scored(run).samples.each(["retrieved", "relevant"])
        expected = [
            float(sample["retrieved"][0]["doc_id"] in {entry["id"] for entry in sample["relevant"]})
            for sample in samples
        ]
        assert values.tolist() == expected
