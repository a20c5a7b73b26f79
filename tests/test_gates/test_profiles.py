"""Profiles: each is a valid gates.toml of declared metrics with a reason and a source, written once."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import run as run_command

from ragtriage.data.comparison.compared_metrics import FAMILIES
from ragtriage.data.gates.config import load_gates
from ragtriage.data.store.workspace import Workspace
from ragtriage.data.strategy.expected_gains import PROFILES, profile_gates, profile_text
from ragtriage.metrics.gates.gates import Gate
from ragtriage.metrics.metric_registry import declared


def _one(profile: str, metric: str, kind: str) -> Gate:
    found = [gate for gate in profile_gates(profile).general if (gate.metric, gate.kind) == (metric, kind)]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("profile", PROFILES)
def test_every_gate_of_a_profile_is_declared_and_has_its_reason(profile: str) -> None:
    config = profile_gates(profile)
    for gate in config.gates_for("any"):
        assert gate.reason
        if gate.kind in ("mean", "percentile"):
            assert declared(gate.metric) is not None, gate.metric
        elif gate.kind == "regression":
            assert gate.metric in FAMILIES
    blocks = profile_text(profile).split("[[gate]]")
    assert len(blocks) - 1 == len(config.general)
    for before in blocks[:-1]:
        assert before.strip().splitlines()[-1].startswith(("# From the guides.", "# Ours."))


def test_the_thresholds_of_the_guides() -> None:
    assert _one("technical-manuals", "faithfulness", "mean").threshold == 0.95
    for profile in ("technical-manuals", "points-of-interest", "memory"):
        gate = _one(profile, "retrieval_ms", "percentile")
        assert (gate.percentile, gate.threshold, gate.at_most, gate.over) == (95, 50, True, "samples")
    for profile in set(PROFILES) - {"prototype", "research"}:
        assert _one(profile, "safety", "checks").every
    for profile in ("memory", "customer-service", "regulated"):
        assert _one(profile, "isolation", "checks").every


def test_a_profile_is_written_once_and_replaced_by_force_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "new"
    first = run_command(capsys, root, "init", "--profile", "memory")
    assert first.code == 0
    assert (root / "gates.toml").read_text("utf-8") == profile_text("memory")
    again = run_command(capsys, root, "init", "--profile", "regulated")
    assert again.code == 2
    assert "accepted: --force" in again.err
    assert (root / "gates.toml").read_text("utf-8") == profile_text("memory")
    assert run_command(capsys, root, "init", "--profile", "regulated", "--force", "--json").json[
        "profile"
    ] == ("regulated")
    assert load_gates(Workspace(root)).general == profile_gates("regulated").general
    assert sorted(path.name for path in root.iterdir() if path.is_file()) == ["gates.toml"]


def test_the_list_names_every_profile_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = run_command(capsys, tmp_path / "new", "init", "--list", "--json").json
    assert [profile["name"] for profile in listed["profiles"]] == list(PROFILES)
    assert not (tmp_path / "new").exists()
    assert "--profile is missing" in run_command(capsys, tmp_path / "new", "init").err
