"""The command line: what each command prints, and how it ends."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click import Context
from command_line import run

from ragtriage.dashboard.cli.main import COMMANDS, app, stored_summary
from ragtriage.dashboard.wording.table_files import csv_text
from ragtriage.data.cases.export import csv_line, safe_cell
from ragtriage.data.scoring.run_store import RunStore

Capture = pytest.CaptureFixture[str]
RECORDS = [
    {
        "question_id": f"q{at}",
        "question": f"Question {at}?",
        "answer": "=1+1" if at == 0 else f"Answer {at}.",
        "retrieved": [{"id": "a", "text": f"Answer {at}."}, {"id": "b", "text": "Else."}],
        "relevant": [{"id": "a" if at % 2 else "b"}],
        "scores": {"faithfulness": at / 10},
        "tags": {"team": "x"},
        "custom": at,
    }
    for at in range(10)
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "first.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in RECORDS), encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "workspace"


def test_import_answers_as_documented_and_sees_what_is_unchanged(
    capsys: Capture, folder: Path, file: Path
) -> None:
    answer = run(capsys, folder, "import", str(file), "--json").json
    assert answer.keys() == {"runs", "findings"}
    (first,) = answer["runs"]
    assert first.keys() == {
        *("run_id", "name", "project", "n", "status", "format", "left_out", "extra", "notes"),
    }
    assert (first["name"], first["project"], first["n"], first["status"]) == (
        "first",
        "default",
        10,
        "imported",
    )
    again = run(capsys, folder, "import", str(file), "--json").json["runs"][0]
    assert (again["run_id"], again["status"]) == (first["run_id"], "unchanged")
    named = run(capsys, folder, "import", str(file), "--name", "second", "--json").json["runs"][0]
    assert named["status"] == "imported", "a name the user chose tells runs apart"
    listed = run(capsys, folder, "runs", "--json").json
    assert {"run_id", "name", "project", "n", "created_at"} <= listed[0].keys()
    assert {one["name"] for one in listed} == {"first", "second"}


def test_metrics_have_mean_interval_counts_and_source(capsys: Capture, folder: Path, file: Path) -> None:
    run_id = run(capsys, folder, "import", str(file), "--json").json["runs"][0]["run_id"]
    answer = run(capsys, folder, "metrics", run_id, "--k", "1,2", "--per-sample", "--json").json
    assert (answer["run"], answer["n"]) == (run_id, 10)
    assert {"mean", "low", "high", "n_scored", "n_applicable", "source"} <= answer["metrics"][
        "recall@1"
    ].keys()
    assert answer["metrics"]["recall@1"]["mean"] == 0.5
    assert answer["metrics"]["recall@2"]["mean"] == 1.0
    assert answer["metrics"]["precision@2"]["mean"] == 0.5
    assert answer["metrics"]["faithfulness"]["mean"] == pytest.approx(0.45)
    assert answer["metrics"]["faithfulness"]["source"] == "imported"
    assert answer["samples"]["q3"]["recall@1"] == 1.0
    assert answer["samples"]["q4"]["recall@1"] == 0.0
    assert "recall@5" not in answer["metrics"]


def test_diagnose_counts_every_case_once(capsys: Capture, folder: Path, file: Path) -> None:
    run(capsys, folder, "import", str(file))
    answer = run(capsys, folder, "diagnose", "first", "--json").json
    assert sum(answer["patterns"].values()) == answer["n"] == 10
    assert sum(answer["stages"].values()) == answer["bad"]
    assert answer["signal"] == "recall@10"
    strict = run(capsys, folder, "diagnose", "first", "--faithfulness", "0", "--json").json
    assert strict["bad"] < answer["bad"]


def test_compare_pairs_on_question(capsys: Capture, folder: Path, file: Path, tmp_path: Path) -> None:
    run(capsys, folder, "import", str(file))
    better = [{**record, "scores": {"faithfulness": 1.0}} for record in RECORDS]
    other = tmp_path / "better.jsonl"
    other.write_text("\n".join(json.dumps(record) for record in better), encoding="utf-8")
    run(capsys, folder, "import", str(other))
    answer = run(capsys, folder, "compare", "first", "better", "--json").json
    (side,) = answer["comparisons"]
    assert side["n_shared"] == 10
    found = side["metrics"]["faithfulness"]
    assert found["difference"] == pytest.approx(0.55)
    assert found["verdict"] == "better"
    assert side["metrics"]["recall@5"]["verdict"] == "cannot tell"  # equal in ten questions
    text = run(capsys, folder, "compare", "first", "better").out
    assert "+0.550" in text
    assert "0.5500000" not in text


def test_check_show_and_delete(capsys: Capture, folder: Path, file: Path) -> None:
    run_id = run(capsys, folder, "import", str(file), "--json", "--config", "top_k=2").json["runs"][0][
        "run_id"
    ]
    assert isinstance(run(capsys, folder, "check", "first", "--json").json, list)
    facts = run(capsys, folder, "show", "first", "--json").json
    assert facts["config"] == {"top_k": 2}
    assert "answer_precision" in facts["not_computable"]
    assert run(capsys, folder, "delete", "first", "--yes", "--json").json == {"deleted": [run_id]}
    assert run(capsys, folder, "runs", "--json").json == []


def test_an_export_can_be_imported_again(capsys: Capture, folder: Path, file: Path, tmp_path: Path) -> None:
    run(capsys, folder, "import", str(file))
    target = tmp_path / "out.jsonl"
    run(capsys, folder, "export", "first", "-o", str(target))
    again = run(capsys, folder, "import", str(target), "--name", "again", "--json").json["runs"][0]
    assert again["n"] == 10
    one = run(capsys, folder, "metrics", "first", "--per-sample", "--json").json["samples"]
    two = run(capsys, folder, "metrics", "again", "--per-sample", "--json").json["samples"]
    assert one == two
    assert json.loads(target.read_text(encoding="utf-8").splitlines()[3])["custom"] == 3


def test_a_csv_export_holds_no_formula(capsys: Capture, folder: Path, file: Path, tmp_path: Path) -> None:
    run(capsys, folder, "import", str(file))
    target = tmp_path / "out.csv"
    run(capsys, folder, "export", "first", "-o", str(target))
    rows = list(csv.DictReader(io.StringIO(target.read_text(encoding="utf-8-sig"))))
    assert len(rows) == 10
    assert rows[0]["answer"] == "'=1+1"
    assert rows[1]["answer"] == "Answer 1."
    assert float(rows[1]["recall@1"]) == 1.0


def test_a_dash_is_standard_output_and_no_file(
    capsys: Capture, folder: Path, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(capsys, folder, "import", str(file))
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    answer = run(capsys, folder, "export", "first", "-o", "-")
    assert answer.out == run(capsys, folder, "export", "first").out != ""
    refused = run(capsys, folder, "gate", "first", "--junit", "-")
    assert refused.code == 2
    assert "accepted: the name of a file" in refused.err
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "text",
    [
        *(
            "=1+1",
            "+1",
            "-1",
            "@SUM(A1)",
            "\t=1",
            "\tx",
            "\rx",
            "\n=1",
            " =1",
            "\u00a0=1",
            "\u200b=1",
            "\ufeff+1",
        ),
        *("\x00=1", "＝1+1", "＋1", "－1", "＠SUM(A1)", " \n＝1", "﹦1", "\u3000@x"),
    ],
)
def test_no_cell_begins_as_a_formula(text: str) -> None:
    assert safe_cell(text) == f"'{text}"
    for form in (csv_line([safe_cell(text)]).decode(), csv_text([{"a": text}]).partition("\n")[2]):
        ((cell,),) = csv.reader(io.StringIO(form, newline=""))
        assert cell.startswith("'")


@pytest.mark.parametrize("cell", ["", " ", "a = b", "1 - 1", "(=1)", "'=1", -1, 0.5, None, True])
def test_other_cells_stay_as_they_are(cell: object) -> None:
    assert safe_cell(cell) == cell


def test_a_dry_run_shows_and_loads_nothing(capsys: Capture, folder: Path, file: Path) -> None:
    answer = run(capsys, folder, "import", str(file), "--dry-run", "--json").json["files"][0]
    assert answer["format"] == "native"
    assert "recall@5" in answer["computable"]
    assert "claims" in answer["not_computable"]["answer_precision"]
    assert run(capsys, folder, "runs", "--json").json == []


@pytest.mark.parametrize(
    "words",
    [
        ("metrics", "nobody"),
        ("metrics", "x", "--k", "0"),
        ("metrics", "x", "--k", "two"),
        ("metrics", "x", "--convention", "other"),
        ("import",),
        ("import", "x.jsonl", "--config", "novalue"),
        ("compare", "only-one"),
        ("unknown-command",),
    ],
)
def test_bad_usage_ends_with_2_and_says_what_would_be_accepted(
    capsys: Capture, folder: Path, words: tuple[str, ...]
) -> None:
    answer = run(capsys, folder, *words)
    assert answer.code == 2
    assert answer.err.strip()
    assert "Traceback" not in answer.err


def test_an_unknown_run_is_answered_with_those_that_are_there(
    capsys: Capture, folder: Path, file: Path
) -> None:
    run_id = run(capsys, folder, "import", str(file), "--json").json["runs"][0]["run_id"]
    answer = run(capsys, folder, "metrics", "frist")
    assert answer.code == 2
    assert run_id in answer.err


def test_two_runs_of_one_name_must_be_told_apart(capsys: Capture, demo: RunStore) -> None:
    answer = run(capsys, demo.workspace.root, "metrics", "colbert")
    assert answer.code == 2
    assert "3 runs are called 'colbert'" in answer.err


def test_the_list_of_commands_says_what_each_command_says_of_itself() -> None:
    for name in COMMANDS:
        command = app.get_command(Context(app), name)
        assert command is not None, name
        assert command.name == name
        assert (command.help or "").split("\n\n")[0].replace("\n", " ") == stored_summary(name)


def test_the_context_metric_keeps_its_former_option(capsys: Capture, folder: Path, file: Path) -> None:
    run(capsys, folder, "import", str(file))
    for option in ("--context-metric", "--signal"):
        answer = run(capsys, folder, "diagnose", "first", option, "recall@1", "--json").json
        assert answer["signal"] == "recall@1"
    shown = run(capsys, folder, "diagnose", "--help").out
    assert "--context-metric" in shown
    assert "--signal" not in shown
