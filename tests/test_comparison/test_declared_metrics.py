"""Imported scores: neither better nor worse until somebody declares which direction is better."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import run
from places import APP
from streamlit.testing.v1 import AppTest

import ragtriage
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.api import add_run, comparisons_with
from ragtriage.data.comparison.compare import MetricDifference
from ragtriage.data.comparison.compared_metrics import in_family
from ragtriage.data.comparison.trend import trend_metrics
from ragtriage.data.declarations import (
    FILE_NAME,
    Declaration,
    declarations_of,
    declare,
    parsed_declaration,
    use_declarations,
)
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Workspace
from ragtriage.metrics.metric_registry import declared, title_of

Capture = pytest.CaptureFixture[str]
HELPFUL = "helpfulness=higher,1..5,Helpfulness (1 to 5)"


def _records(shift: float) -> list[dict[str, Any]]:
    return [
        {
            "question_id": f"q{at}",
            "question": f"{at}?",
            "answer": "a",
            "scores": {"helpfulness": 2 + at % 5 / 10 + shift, "toxicity": 0.5 - shift / 4 - at % 3 / 100},
        }
        for at in range(40)
    ]


@pytest.fixture
def root(workspace: RunStore) -> Path:
    """A workspace with two runs whose imported scores clearly differ."""
    path = workspace.workspace.root
    for name, shift in (("before", 0.0), ("after", 0.5)):
        records = _records(shift)
        records[0]["scores"]["helpfulness"] = 3.0
        add_run(records, name, "p", str(path))
    return path


def _verdicts(store: RunStore, family: str = "all") -> dict[str, MetricDifference]:
    base, other = store.find("before"), store.find("after")
    (comparison,) = comparisons_with(store, base, [other], family)
    return {row.metric: row for row in comparison.differences}


def test_an_undeclared_score_is_neither_better_nor_worse_and_is_asked_for(
    root: Path, workspace: RunStore, capsys: Capture
) -> None:
    row = _verdicts(workspace)["helpfulness"]
    assert row.adjusted_p < 0.01
    assert row.verdict == "no direction"  # was "cannot tell", beside +0.49 [0.46, 0.51]
    (finding,) = [
        found for found in check_run(workspace.scored(workspace.find("after"))) if found.rule == "undirected"
    ]
    assert finding.severity == "note"
    assert "helpfulness, toxicity" in finding.message
    shown = run(capsys, root, "compare", "before", "after").out
    assert "--metric NAME=higher,0..1" in " ".join(shown.split())


def test_a_declared_score_wins_and_stands_in_the_headline_family(root: Path, workspace: RunStore) -> None:
    declarations = dict(
        [parsed_declaration(HELPFUL, "--metric"), parsed_declaration("toxicity=lower,0..1", "")]
    )
    declare(workspace.workspace, "p", declarations)
    rows = _verdicts(workspace, "headline")
    assert rows["helpfulness"].verdict == "better"
    assert rows["toxicity"].verdict == "better"
    assert title_of("helpfulness") == "Helpfulness (1 to 5)"
    assert trend_metrics([workspace.summary(workspace.find("after"))])[-2:] == ["helpfulness", "toxicity"]
    assert not [
        found for found in check_run(workspace.scored(workspace.find("after"))) if found.rule == "undirected"
    ]


def test_a_declaration_is_of_its_project(root: Path, workspace: RunStore) -> None:
    add_run(_records(0.0), "elsewhere", "q", str(root))
    declare(workspace.workspace, "p", dict([parsed_declaration(HELPFUL, "")]))
    assert in_family("helpfulness", "headline")
    workspace.find("elsewhere")
    assert declared("helpfulness") is None
    assert not in_family("helpfulness", "headline")
    (root / FILE_NAME).write_text('[metric.helpfulness]\ndirection = "lower"\n', encoding="utf-8")
    workspace.find("elsewhere")
    metric = declared("helpfulness")
    assert metric is not None
    assert metric.higher_is_better is False


def test_intervals_follow_the_range_that_is_declared_after_the_import(workspace: RunStore) -> None:
    records = [{**record, "scores": {"solved": float(at < 36)}} for at, record in enumerate(_records(0.0))]
    path = str(workspace.workspace.root)
    added = add_run(records, "r", "p", path)
    assert workspace.summary(added)["solved"].method == "t"  # no upper bound yet
    declare(workspace.workspace, "p", {"solved": Declaration("higher", (0.0, 1.0))})
    later = workspace.summary(added)["solved"]
    declared_first = add_run([*records, {**records[0], "question_id": "last"}], "s", "p", path)
    assert (later.method, workspace.summary(declared_first)["solved"].method) == ("wilson", "wilson")
    assert later.mean == 0.9
    assert later.high is not None
    assert later.high < 1.0


def test_a_gate_may_name_a_declared_score(root: Path, workspace: RunStore, capsys: Capture) -> None:
    gates = 'severity = "block"\nat_least = 2.6\nmetric = "helpfulness"\n'
    regression = '[[gate]]\nkind = "regression"\nmetric = "toxicity"\nseverity = "warn"\n'
    (root / "gates.toml").write_text(f"[[gate]]\n{gates}{regression}", encoding="utf-8")
    words = ("gate", "before", "--baseline", "after", "--json")
    before = run(capsys, root, *words).json["gates"]
    assert before[1]["verdict"] == "UNMEASURED"
    assert "--metric NAME=higher,0..1" in before[1]["sentence"]
    run(
        capsys,
        root,
        "import",
        str(_file(root, _records(0.0))),
        "--project",
        "p",
        "--metric",
        HELPFUL,
        "--metric",
        "toxicity=lower,0..1",
    )
    after = run(capsys, root, *words).json["gates"]
    assert [gate["verdict"] for gate in after] == ["FAIL", "FAIL"]
    (root / "gates.toml").write_text(f"[[gate]]\n{gates.replace('at_least', 'at_most')}", encoding="utf-8")
    refused = run(capsys, root, *words)
    assert (refused.code, "helpfulness is better when higher" in refused.err) == (2, True)


def _file(root: Path, records: list[dict[str, Any]], header: object = None) -> Path:
    path = root.parent / "file.jsonl"
    lines = [] if header is None else [{"ragtriage_run": header}]
    path.write_text("\n".join(json.dumps(line) for line in [*lines, *records]), encoding="utf-8")
    return path


def test_a_file_may_declare_its_scores_and_does_not_overrule_what_is_declared(
    root: Path, workspace: RunStore, capsys: Capture
) -> None:
    declare(workspace.workspace, "p", {"toxicity": Declaration("lower")})
    header = {"metrics": {"helpfulness": {"direction": "higher"}, "toxicity": {"direction": "higher"}}}
    assert run(capsys, root, "import", str(_file(root, _records(0.2), header)), "--project", "p").code == 0
    found = declarations_of(workspace.workspace, "p")
    assert found == {"toxicity": Declaration("lower"), "helpfulness": Declaration("higher")}


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ({"faithfulness": {"direction": "lower"}}, "is Faithfulness of docs/metrics.md"),
        ({"x": {"direction": "up"}}, 'direction is \'up\'; accepted: "higher" or "lower"'),
        (
            {"x": {"direction": "lower", "range": [2, 1]}},
            "range is [2, 1]; accepted: the least and the greatest",
        ),
        ({"x": {"direction": "lower", "range": [0, float("nan")]}}, "range is [0, nan]"),
        ({"x": {"direction": "lower", "title": "a" * 61}}, "title is"),
        ({"x": "lower"}, "found 'lower'"),
    ],
)
def test_a_wrong_declaration_is_named_with_its_line(
    root: Path, capsys: Capture, entry: dict[str, Any], fault: str
) -> None:
    answer = run(
        capsys, root, "import", str(_file(root, _records(0.3), {"metrics": entry})), "--project", "p"
    )
    assert answer.code == 2
    assert f"file.jsonl:1: ragtriage_run.metrics.{next(iter(entry))}: {fault}" in answer.err


@pytest.mark.parametrize(
    "text", ["helpfulness", "helpfulness=up", "=higher", "x=higher,5..1", "recall@5=lower"]
)
def test_a_wrong_option_ends_with_one_sentence(root: Path, capsys: Capture, text: str) -> None:
    answer = run(capsys, root, "import", str(_file(root, _records(0.3))), "--metric", text)
    assert answer.code == 2
    assert "accepted: " in answer.err
    assert "Traceback" not in answer.err


def test_the_rest_of_metrics_toml_stays_as_it_is(root: Path, workspace: RunStore) -> None:
    path = root / FILE_NAME
    general = '# ours\nprimary = "recall@5"  # the one\n\n[project.p]\nprimary = "mrr@5"\n'
    text = f'{general}\n[project.p.metric."a b"]\ndirection = "lower"\n'
    path.write_text(text, encoding="utf-8")
    hostile = 'x"]\n[metric.y]\\ \x7f 🩺'
    entry = Declaration("higher", (0.0, 1.0), 'A "title" \\ 🩺')
    declare(workspace.workspace, "p", {hostile: entry, "a b": Declaration("higher")})
    assert path.read_text(encoding="utf-8").startswith(general)
    assert declarations_of(workspace.workspace, "p") == {"a b": Declaration("higher"), hostile: entry}
    assert not list(root.glob(".metrics.toml-*"))


def test_a_file_that_a_program_cannot_change_is_left_alone(root: Path, workspace: RunStore) -> None:
    path = root / FILE_NAME
    path.write_text('project.p.metric = {x = {direction = "lower"}}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"cannot be changed by a program; accepted: \[metric\.NAME\]"):
        declare(workspace.workspace, "p", {"y": Declaration("higher")})
    assert path.read_text(encoding="utf-8").startswith("project.p.metric = {")


@pytest.mark.parametrize(("content", "named"), [('project = "x"\n', "project"), ("[project]\np = 3\n", "p")])
def test_a_value_in_the_place_of_a_table_is_named(root: Path, content: str, named: str) -> None:
    (root / "metrics.toml").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=rf"metrics\.toml: {named} is not a table; accepted: \[project\.NAME"):
        declare(Workspace(root), "p", {"helpfulness": Declaration("higher")})
    assert (root / "metrics.toml").read_text(encoding="utf-8") == content


def test_a_metric_that_ragtriage_came_to_know_keeps_our_declaration(root: Path, workspace: RunStore) -> None:
    text = '[metric.faithfulness]\ndirection = "higher"\nrange = [1, 5]\n'
    (root / FILE_NAME).write_text(text, encoding="utf-8")
    use_declarations(workspace.workspace, "p")
    metric = declared("faithfulness")
    assert metric is not None
    assert metric.bounds == (0.0, 1.0)
    (root / FILE_NAME).write_text(text.replace("higher", "lower"), encoding="utf-8")
    with pytest.raises(DataError, match="but higher is better in Faithfulness"):
        use_declarations(workspace.workspace, "p")


def test_python_declares_and_nothing_stays_behind_in_the_process(root: Path) -> None:
    ragtriage.add_run(
        _records(0.9),
        "third",
        "p",
        workspace=root,
        metrics={"helpfulness": {"direction": "higher", "range": [1, 5]}},
    )
    frame = ragtriage.compare("before", "third", workspace=root).metrics
    assert frame.loc["helpfulness", "verdict"] == "better"
    assert declared("helpfulness") is None


def _plain(part: Any) -> str:
    """Return what a reader sees of a text whose Markdown is escaped."""
    return str(part.value).replace("\\", "")


def test_runs_asks_for_the_direction_and_compare_follows(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(project="p", family="all")
    app.switch_page("compare/compare.py").run()
    app.session_state["compare_tab"] = "Numbers"
    app.run()
    assert "neither better nor worse: helpfulness, toxicity" in _plain(app.info[0])
    app.switch_page("runs/runs.py").run()
    app.session_state["runs_tab"] = "Imported scores"
    app.run()
    assert "For 2 scores of the imported files nobody declared" in _plain(app.info[0])
    app.number_input("declared_low").set_value(1.0).run()
    app.number_input("declared_high").set_value(5.0).run()
    app.button("declare").click().run()
    assert not app.exception
    assert "For 1 score of the imported files" in _plain(app.info[0])
    scores = next(one.value for one in app.dataframe if "Score" in one.value)
    assert scores.to_dict("records") == [
        {"Score": "helpfulness", "Title": "helpfulness", "Better": "higher", "Range": "1 to 5"}
    ]
    app.session_state["runs_tab"] = "Means of p"
    app.run()
    assert any("helpfulness" in one.value.columns for one in app.dataframe)
    app.switch_page("compare/compare.py").run()
    app.session_state["compare_tab"] = "Numbers"
    app.run()
    assert "neither better nor worse: toxicity" in _plain(app.info[0])
    table = next(one.value for one in app.dataframe if "Metric" in one.value).set_index("Metric")
    verdict = table.loc["Helpfulness"]["Verdict"]
    assert "▲" in verdict or "▼" in verdict
