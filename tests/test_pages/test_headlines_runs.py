"""The conclusion of the Runs page in every state, and the digests that it is made from."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import run as run_command
from page_text import headline, page_text
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.headlines.runs import runs_headline
from ragtriage.dashboard.pages.runs import run_list
from ragtriage.dashboard.pages.runs.run_list import _table_key
from ragtriage.dashboard.wording.diagnosis import fix_first_sentence
from ragtriage.data.api import add_run
from ragtriage.data.declarations import use_declarations
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings, diagnose
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.diagnosis.run_digest import RunDigest, read_digests, stored_digests
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run


def _runs(store: RunStore, n: int = 3) -> list[Run]:
    for at in range(n):
        level = 0.9 - 0.4 * at
        records = [
            {"question_id": f"q{i}", "question": f"{i}?", "answer": "a", "scores": {"faithfulness": level}}
            for i in range(12)
        ]
        add_run(records, f"run {at}", "p", str(store.workspace.root))
    return store.runs()


def _digest(run: Run, **changes: object) -> RunDigest:
    return replace(RunDigest(run.run_id, 0.5, 0.4, 0.6, 12, ("faithfulness",), (), (), 0), **changes)  # type: ignore[arg-type]


def test_every_state(workspace: RunStore) -> None:
    runs = _runs(workspace)
    names = workspace.names()
    clean = {run.run_id: _digest(run) for run in runs}
    first, second, third = (run.run_id for run in runs)

    def of(digests: dict[str, RunDigest], n_unreadable: int = 0) -> tuple[str, str]:
        made = runs_headline(runs, digests, names, n_unreadable)
        return made.state, made.statement

    assert of(clean) == ("good", "3 runs, no warnings")
    warned = clean | {first: _digest(runs[0], warnings=("x",))}
    assert of(warned) == ("cannot tell", "1 of 3 runs has warnings")
    unrated = {second: _digest(runs[1], pass_rate=None), third: _digest(runs[2], pass_rate=None)}
    assert of(clean | unrated) == ("cannot tell", "2 of 3 runs need a look")
    assert of(clean | {first: _digest(runs[0], errors=("x",))}) == (
        "bad",
        "run 0 (p): its numbers have errors",
    )
    both = {
        run_id: _digest(run, errors=("x",)) for run_id, run in zip((first, second), runs[:2], strict=True)
    }
    assert of(clean | both) == ("bad", "2 runs have errors in their numbers")
    assert of(clean, 1) == ("bad", "1 run cannot be opened")
    assert runs_headline((), {}, {}).state == "empty"
    means = [replace(run, means={"faithfulness": 0.5}) for run in runs]
    none = {run.run_id: _digest(run, pass_rate=None) for run in runs}
    only = runs_headline(means, none, names)
    assert (only.state, only.statement) == ("not measured", "3 runs have summary scores only")
    part = runs_headline(runs, {first: clean[first]}, names)
    assert (part.state, part.statement) == ("cannot tell", "1 of 3 runs are read so far")
    assert "2 not read yet" in part.detail


def test_errors_of_other_projects_are_not_those_of_this_one(workspace: RunStore) -> None:
    first, *others = _runs(workspace)
    runs = [first, *(replace(run, project="q") for run in others)]
    digests = {run.run_id: _digest(run, errors=("x",) if run.project == "q" else ()) for run in runs}
    names = workspace.names()
    here, there = (runs_headline(runs, digests, names, project=project) for project in ("p", "q"))
    assert (here.state, here.statement) == ("good", "1 run of p, no warnings")
    assert "2 in other projects have an error" in here.detail
    assert (there.state, there.statement) == ("bad", "2 runs of q have errors in their numbers")
    assert "in other projects" not in there.detail


def test_a_digest_is_stored_and_holds_until_a_label_changes(workspace: RunStore) -> None:
    first, *_ = runs = _runs(workspace)
    assert stored_digests(workspace, runs) == {}
    made = read_digests(workspace, runs)
    assert stored_digests(workspace, runs) == made
    diagnosis = diagnose(workspace.scored(first), DiagnosisSettings(), [])
    assert made[first.run_id].pass_rate == diagnosis.pass_rate.mean == 1.0
    assert made[first.run_id].measured == ("faithfulness",)
    workspace.ledger.add_label((first.run_id, "q1", 0), "Ann", "fail")
    assert first.run_id not in stored_digests(workspace, runs)
    after = read_digests(workspace, [first])[first.run_id]
    assert after.pass_rate == pytest.approx(11 / 12)
    assert after.measured == ("faithfulness", "people")


def _open(root: Path, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(root))
    app = AppTest.from_file(str(APP), default_timeout=60).run()
    return app.switch_page("runs/runs.py").run()


def test_the_page_lists_filters_and_finds(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = _runs(workspace)
    workspace.ledger.set_baseline("p", runs[0].run_id, "Ann")
    app = _open(workspace.workspace.root, monkeypatch)
    assert not app.exception
    assert headline(app).startswith("3 runs") or "of 3 runs" in headline(app)
    table = app.dataframe[0].value
    assert table["Run"].tolist() == ["run 2", "run 1", "★ run 0"]
    assert table["Rate"].tolist() == ["0.00 unchecked", "0.00 unchecked", "1.00 unchecked"]
    app.text_input(key="runs_search").set_value("run 1").run()
    assert app.dataframe[0].value["Run"].tolist() == ["run 1"]
    app.text_input(key="runs_search").set_value("no such run").run()
    assert "No run matches" in page_text(app)
    app.text_input(key="runs_search").set_value("").run()
    assert len(app.dataframe[0].value) == 3


def test_the_whole_demo_is_listed(own_demo: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    app = _open(own_demo.workspace.root, monkeypatch)
    assert not app.exception
    n_shown = len(own_demo.runs("handbook"))
    assert len(app.dataframe[0].value) == n_shown, "it opens on its project"
    app.session_state["runs_shown"] = "all"
    app.run()
    assert len(app.dataframe[0].value) == len(own_demo.runs())
    assert " runs of handbook have warnings" in headline(app)


def test_rows_that_change_take_no_ticks_with_them(workspace: RunStore) -> None:
    """Ticks are numbers of rows: the table of other rows is another table."""
    runs = _runs(workspace)
    assert _table_key(runs) == _table_key(list(runs))
    assert len({_table_key(listed) for listed in (runs, runs[1:], runs[:-1], runs[::-1])}) == 4


def test_runs_that_no_visit_has_read_are_read_by_the_next(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_list, "AT_FIRST", 0.0)  # time for one run
    runs = tuple(_runs(workspace))
    assert [len(run_list.all_digests(workspace, runs)) for _ in range(4)] == [1, 2, 3, 3]


def test_the_page_reads_on_until_every_run_is_read(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_list, "AT_FIRST", 0.0)
    monkeypatch.setattr(run_list, "AT_ONCE", 0.0)
    _runs(workspace)
    app = _open(workspace.workspace.root, monkeypatch)
    assert "Reading runs: 2 runs left" in page_text(app)  # one at first; then one a step
    app.run()
    app.run()
    assert "Reading runs" not in page_text(app)
    assert len(run_list.all_digests(workspace, tuple(_runs(workspace)))) == 3


def test_a_digest_says_where_bad_cases_are_lost_unless_the_checks_doubt_it(demo: RunStore) -> None:
    runs = [run for run in demo.runs() if run.n]
    named = 0
    for run_id, digest in read_digests(demo, runs).items():
        run = next(run for run in runs if run.run_id == run_id)
        use_declarations(demo.workspace, run.project)
        scored = demo.scored(run)
        diagnosis = diagnose(scored, DiagnosisSettings(), demo.ledger.labels(run_id))
        assert sum(digest.stages.values()) == int(diagnosis.bad.bad.sum())
        assert sum(digest.patterns.values()) == run.n
        if digest.fix_first is None:
            continue
        named += 1
        assert digest.stages[digest.fix_first] == max(
            n for stage, n in digest.stages.items() if stage != "unexplained"
        )
        assert fix_first_sentence(diagnosis, check_run(scored)).startswith("Fix first: ")
    assert named > 3


def test_a_run_that_was_just_imported_needs_no_reading(
    workspace: RunStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "new.jsonl"
    rows = [{"question": f"q{at}", "answer": "a", "scores": {"faithfulness": 0.1}} for at in range(4)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert run_command(capsys, workspace.workspace.root, "import", str(file)).code == 0
    fresh = RunStore(workspace.workspace)
    digests = stored_digests(fresh, fresh.runs())
    assert [digest.n_scored for digest in digests.values()] == [4]
    for digest in digests.values():
        assert digest.pass_rate == 0
        assert sum(digest.stages.values()) == 4


def test_a_digest_follows_what_its_own_project_declares(workspace: RunStore) -> None:
    """A run is diagnosed by its project's declarations, and anew when they change, whatever is on display."""
    root = str(workspace.workspace.root)
    for project in ("p", "other"):
        add_run([{"question": "q?", "answer": "a", "scores": {"tone": 4.0}}], "one", project, root)
    metrics = Path(root) / "metrics.toml"
    before = read_digests(workspace, workspace.runs())
    assert stored_digests(workspace, workspace.runs()) == before
    metrics.write_text(
        '[project.other.metric.tone]\ndirection = "higher"\nrange = [0, 1]\n', encoding="utf-8"
    )
    kept = stored_digests(workspace, workspace.runs())
    assert [run.project for run in workspace.runs() if run.run_id in kept] == ["p"]
    use_declarations(workspace.workspace, "p")
    after = read_digests(workspace, workspace.runs())
    found = {run.project: after[run.run_id] for run in workspace.runs()}
    assert found["p"] == replace(before[found["p"].run_id])
    assert found["other"] != before[found["other"].run_id], "4.0 is out of the range that it declares"
