"""The gate command: exit codes, JSON, JUnit XML and Markdown, also with hostile names."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from command_line import run

from ragtriage.data.api import add_run
from ragtriage.data.scoring.run_store import RunStore

Capture = pytest.CaptureFixture[str]
HOSTILE = '<b>]]>&"|x|\n# big\x1b[31m\x00 [go](http://evil.example) `code` @team'
REPORT = {
    *("run", "name", "project", "verdict", "exit_code", "strict", "config", "baseline", "baseline_note"),
    *("gates", "newly_failing", "n_compared", "n_repaired", "warnings", "cautions", "read_first"),
    "conclusion",
}
GATE = {
    *(
        "gate",
        "kind",
        "metric",
        "slice",
        "threshold",
        "at_most",
        "rule",
        "severity",
        "required",
        "reason",
        "verdict",
    ),
    *(
        "value",
        "low",
        "high",
        "n_scored",
        "n_total",
        "margin",
        "smallest_effect",
        "before",
        "raw",
        "largest_loss",
        "needed",
        "adjusted_p",
        "obtained",
    ),
    *("counts", "doubt", "sentence", "percentile", "fewest", "over"),
}
ONE = '[[gate]]\nmetric = "faithfulness"\nat_least = {level}\nseverity = "block"\nreason = "{reason}"\n'


def _records(level: float, critical: str = "no", n: int = 30) -> list[dict[str, Any]]:
    return [
        {
            "question_id": f"q{at:02d} <i>",
            "question": f"{HOSTILE} {at}?",
            "answer": "An answer.",
            "tags": {"critical": critical},
            "scores": {"faithfulness": level + at % 3 / 100, "answer_relevancy": 0.9 + at % 4 / 100},
        }
        for at in range(n)
    ]


@pytest.fixture
def root(workspace: RunStore) -> Path:
    """A workspace with a good baseline and a poor run."""
    path = workspace.workspace.root
    for level, name in ((0.95, "good"), (0.50, "poor")):
        add_run(_records(level, "yes"), f"{name} {HOSTILE}", "shop", str(path))
    return path


def _ids(root: Path) -> dict[str, str]:
    return {run.name.split()[0]: run.run_id for run in RunStore(_workspace(root)).runs()}


def _workspace(root: Path) -> Any:
    from ragtriage.data.store.workspace import Workspace

    return Workspace(root)


def _config(path: Path, level: float, more: str = "", reason: str = "r") -> str:
    path.write_text(ONE.format(level=level, reason=reason) + more, encoding="utf-8")
    return str(path)


def test_the_verdict_is_the_exit_code(capsys: Capture, root: Path, tmp_path: Path) -> None:
    ids = _ids(root)
    loose, tight = _config(tmp_path / "a.toml", 0.4), _config(tmp_path / "b.toml", 0.99)
    unknown = _config(
        tmp_path / "c.toml", 0.4, ONE.format(level=0.5, reason="").replace("faithfulness", "novel")
    )
    required = _config(tmp_path / "d.toml", 0.4, "required = true\n")
    assert run(capsys, root, "gate", ids["poor"], "--config", loose).code == 0
    assert run(capsys, root, "gate", ids["poor"], "--config", tight).code == 1
    assert run(capsys, root, "gate", ids["poor"], "--config", unknown).code == 0
    assert run(capsys, root, "gate", ids["poor"], "--config", unknown, "--strict").code == 3
    assert run(capsys, root, "gate", ids["poor"], "--config", required).code == 0
    assert run(capsys, root, "gate", ids["poor"], "--config", required, "--strict").code == 3  # not checked
    for states, code in (("not_checked", 3), ("do_not_ship, cannot_tell", 0)):
        assert run(capsys, root, "gate", ids["poor"], "--config", loose, "--fail-on", states).code == code
    assert run(capsys, root, "gate", ids["poor"], "--config", tight, "--fail-on", "cannot_tell").code == 0
    for words in (
        ("gate", "nobody"),
        ("gate", ids["poor"], "--fail-on", "cannot-tell"),
        ("gate", ids["poor"], "--baseline", "nobody"),
        ("gate", ids["poor"], "--baseline", ""),
        ("gate", ids["poor"], "--baseline", ids["poor"]),
        ("gate", ids["poor"], "--config", str(tmp_path / "none.toml")),
        ("gate", ids["poor"], "--junit", str(tmp_path / "none" / "gate.xml")),
        ("gate", ids["poor"], "--markdown", str(tmp_path / "none" / "gate.md")),
        ("gate",),
        ("gate", ids["poor"], "--sternly"),
    ):
        answer = run(capsys, root, *words)
        assert answer.code == 2, words
        assert answer.err, words


def test_json_says_everything(capsys: Capture, root: Path) -> None:
    ids = _ids(root)
    answer = run(capsys, root, "gate", ids["poor"], "--baseline", ids["good"], "--json")
    found = answer.json
    assert found.keys() == REPORT
    assert all(one.keys() == GATE for one in found["gates"])
    assert (found["verdict"], found["exit_code"], answer.code) == ("FAIL", 1, 1)
    assert found["baseline"]["run"] == ids["good"]
    by = {(one["kind"], one["metric"]): one for one in found["gates"]}
    assert by["mean", "faithfulness"]["verdict"] == "FAIL"
    assert by["mean", "faithfulness"]["value"] == pytest.approx(0.51)
    assert by["mean", "context_recall"]["verdict"] == "UNMEASURED"
    assert by["mean", "context_recall"]["value"] is None, "not measured is not 0"
    assert by["regression", "faithfulness"]["value"] == pytest.approx(-0.45)
    assert by["critical", "critical"]["verdict"] == "FAIL"
    assert len(found["newly_failing"]) == 30
    assert all(one["critical"] for one in found["newly_failing"])


def test_strict_moves_the_verdict_in_json_too(capsys: Capture, root: Path) -> None:
    ids = _ids(root)
    mild = run(capsys, root, "gate", ids["good"], "--json")
    assert (mild.code, mild.json["verdict"], mild.json["baseline"]) == (0, "PASS", None)
    strict = run(capsys, root, "gate", ids["good"], "--strict", "--json")
    assert (strict.code, strict.json["verdict"]) == (3, "UNMEASURED"), "no safety check, no baseline"


def test_the_projects_baseline_is_taken_and_said(capsys: Capture, root: Path, workspace: RunStore) -> None:
    ids = _ids(root)
    assert "Project shop has no baseline" in run(capsys, root, "gate", ids["poor"]).out
    workspace.ledger.set_baseline("shop", ids["good"], "me")
    answer = run(capsys, root, "gate", ids["poor"])
    assert "the baseline of project shop" in answer.out
    assert "Of 30 questions measured in both runs, 30 newly fail " in " ".join(answer.out.split())
    assert "and 10 more; --json has them all" in answer.out
    assert "\x1b" not in answer.out
    assert answer.out.rstrip().endswith("Exit code 1.")


def test_junit_is_read_by_those_who_read_junit(capsys: Capture, root: Path, tmp_path: Path) -> None:
    ids, target = _ids(root), tmp_path / "gate.xml"
    words = ("gate", ids["poor"], "--baseline", ids["good"], "--junit", str(target), "--json")
    found = run(capsys, root, *words).json
    tree = ET.fromstring(target.read_bytes())
    assert tree.tag == "testsuites"
    (suite,) = tree
    cases = suite.findall("testcase")
    failing = [case for case in cases if case.find("failure") is not None]
    skipped = [case for case in cases if case.find("skipped") is not None]
    for element in (tree, suite):
        counts = [int(element.attrib[name]) for name in ("tests", "failures", "errors", "skipped")]
        assert counts == [len(cases), len(failing), 0, len(skipped)]
    assert [case.attrib["name"] for case in cases] == [one["gate"] for one in found["gates"]]
    blocked = [one for one in found["gates"] if one["verdict"] == "FAIL" and one["severity"] == "block"]
    assert len(failing) == len(blocked) > 0
    assert all(case.attrib.keys() >= {"name", "classname", "time"} for case in cases)
    order = [child.tag for child in suite]
    assert order == ["properties", *["testcase"] * len(cases), "system-out"], "the order that schemas ask for"
    assert "<b>]]>&" in suite.attrib["name"], "escaped, so that it comes back as it was"
    text = target.read_text(encoding="utf-8")
    assert "\x00" not in text
    assert "\x1b" not in text
    said = suite.findtext("system-out") or ""
    assert said.count("newly failing: ") == 30
    strict = tmp_path / "strict.xml"
    run(capsys, root, "gate", ids["good"], "--strict", "--junit", str(strict))
    assert int(ET.fromstring(strict.read_bytes()).attrib["failures"]) > 0


def test_markdown_holds_names_as_data(
    capsys: Capture, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids, target = _ids(root), tmp_path / "summary.md"
    own = _config(tmp_path / "own.toml", 0.9, reason="<script>|bad|")
    words = ("gate", ids["poor"], "--baseline", ids["good"], "--markdown", str(target))
    run(capsys, root, *words, "--config", own)
    text = target.read_text(encoding="utf-8")
    lines = text.splitlines()
    assert lines[0].startswith("## ❌ poor")
    assert [line for line in lines if line.startswith("#")] == [lines[0]], "no heading from a name"
    assert "<script>" not in text
    assert "<b>" not in text
    assert not re.search(r"(?<!\\)\]\(", text), "no link"
    assert "\x1b" not in text
    rows = [line for line in lines if line.startswith("|")]
    bars = {len([1 for at, mark in enumerate(line) if mark == "|" and line[at - 1] != "\\"]) for line in rows}
    assert len(bars) == 1, "every row of the table has as many cells"
    assert "| ❌ fails | Faithfulness: at least 0.90 | 0.51 |" in text
    run(capsys, root, *words, "--config", own)
    assert target.read_text(encoding="utf-8") == text, "written anew"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(target))
    run(capsys, root, *words, "--config", own)
    assert target.read_text(encoding="utf-8") == text + text, "the summary of a job is added to"


def test_json_and_files_can_be_had_together(capsys: Capture, root: Path, tmp_path: Path) -> None:
    ids = _ids(root)
    files = [tmp_path / "a.xml", tmp_path / "a.md"]
    words = ("--json", "--junit", str(files[0]), "--markdown", str(files[1]))
    answer = run(capsys, root, "gate", ids["good"], *words)
    assert json.loads(answer.out)["verdict"] == "PASS"
    assert all(file.stat().st_size for file in files)


def test_a_column_of_zeros_is_told_beside_its_verdict(
    capsys: Capture, demo: RunStore, tmp_path: Path
) -> None:
    (colbert,) = [one for one in demo.runs("iris") if (one.name, one.n) == ("colbert", 30)]
    root, summary = demo.workspace.root, tmp_path / "gate.md"
    found = run(capsys, root, "gate", colbert.run_id, "--json", "--markdown", str(summary)).json
    assert "context precision is 0 in every case" in found["cautions"]
    assert "Caveat: context precision is 0" in summary.read_text(encoding="utf-8")
    assert "Caveat: context precision is 0" in run(capsys, root, "gate", colbert.run_id).out
