"""What `ragtriage import` answers: two lines, the rest behind `--explain`, and the list of formats."""

from __future__ import annotations

import json
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from command_line import run
from exports_oracle import EXPORTS

from ragtriage.dashboard.wording.imports import import_lines, note_on_page
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.registry import importers

Capture = pytest.CaptureFixture[str]
ITEMS = EXPORTS / "langfuse/api_experiment_items.json"
RECORDS = [
    {"question": f"Question {at}?", "answer": "Yes.", "scores": {"faithfulness": 1.0}} for at in range(6)
]


def _file(folder: Path, records: object, name: str = "runs.jsonl") -> Path:
    path = folder / name
    lines = records if isinstance(records, list) else [records]
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return path


def test_a_page_names_its_own_control_in_place_of_an_option() -> None:
    note = "kept as tags: 'x'; if one is a score, map it to scores.NAME, as in --map scores.x=x"
    assert note_on_page(note) == "kept as tags: 'x'; if one is a score, choose “score” as its “Read as”"
    assert note_on_page("a note without an option") == "a note without an option"


def test_an_import_says_two_lines(capsys: Capture, tmp_path: Path) -> None:
    lines = run(capsys, tmp_path / "ws", "import", str(ITEMS)).out.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("rag-v1: 12 samples from Langfuse experiment items, read 12 of 12 rows; ")
    assert lines[0].endswith(": --explain")
    assert "1 note" in lines[0]
    assert lines[1].startswith("Next: `ragtriage diagnose ")


def test_explain_has_notes_and_what_is_not_computable(capsys: Capture, tmp_path: Path) -> None:
    text = run(capsys, tmp_path / "ws", "import", str(ITEMS), "--explain").out
    assert "--explain" not in text
    assert "scored although there is no answer" in text
    assert "not computable in " in text


def test_rows_left_out_and_columns_kept_as_extra_are_told(capsys: Capture, tmp_path: Path) -> None:
    document = json.loads(ITEMS.read_text("utf-8"))
    document["data"][0]["input"] = None
    path = tmp_path / "items.json"
    path.write_text(json.dumps(document), "utf-8")
    line = run(capsys, tmp_path / "ws", "import", str(path)).out.splitlines()[0]
    assert (
        "11 samples from Langfuse experiment items, read 11 of 12 rows; 1 left out: an item without" in line
    )
    extra = _file(tmp_path, [{**one, "retrieved": [], "mood": 1, "shop": "north"} for one in RECORDS])
    (line, _) = run(capsys, tmp_path / "ws", "import", str(extra)).out.splitlines()
    assert line.endswith("read 6 of 6 rows; 2 columns kept as extra: mood, shop")
    (loaded,) = run(capsys, tmp_path / "ws", "import", str(extra), "--json").json["runs"]
    assert (loaded["extra"], loaded["left_out"], loaded["format"]) == (["mood", "shop"], {}, "native")
    assert loaded["status"] == "unchanged"


def test_a_finding_that_makes_a_number_wrong_is_shown_anyway(capsys: Capture, tmp_path: Path) -> None:
    wrong = [{**one, "scores": {"recall@3": 0.9, "recall@5": 0.1}} for one in RECORDS]
    text = run(capsys, tmp_path / "ws", "import", str(_file(tmp_path, wrong))).out
    assert "finding (error) in " in text
    assert "note on" not in text
    assert "not computable" not in text


def test_each_run_has_a_line_up_to_five_and_the_others_are_counted(capsys: Capture, tmp_path: Path) -> None:
    paths = []
    for number in range(7):
        records = [{**one, "answer": f"No. {number}"} for one in RECORDS]
        paths.append(str(_file(tmp_path, records, f"run{number}.jsonl")))
    lines = run(capsys, tmp_path / "ws", "import", *paths).out.splitlines()
    assert [line.partition(":")[0] for line in lines[:5]] == [f"run{number}" for number in range(5)]
    assert lines[5] == "and 2 more"
    assert len(lines) == 7


def test_a_name_with_escape_codes_is_printed_without_them(capsys: Capture, tmp_path: Path) -> None:
    path = _file(tmp_path, RECORDS)
    text = run(capsys, tmp_path / "ws", "import", str(path), "--name", "a\x1b[31mb").out
    assert "\x1b" not in text


def test_nothing_imported_says_nothing() -> None:
    assert import_lines([], {}) == []


def test_the_formats_are_listed_for_people_and_for_programs(capsys: Capture, tmp_path: Path) -> None:
    text = run(capsys, tmp_path / "ws", "import", "--help-formats").out
    rows = run(capsys, tmp_path / "ws", "import", "--help-formats", "--json").json["formats"]
    assert {row["format"] for row in rows} == set(importers())
    assert rows[0]["format"] == "native"
    titles = [row["title"].casefold() for row in rows[1:]]
    assert titles == sorted(titles)
    for row in rows:
        assert row.keys() == {"format", "title", "holds", "file", "written_by", "example"}
        assert f"{row['title']} (--format {row['format']})\n" in text
        assert row["example"] in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80
    assert not (tmp_path / "ws").exists()


@pytest.mark.parametrize(
    ("name", "close"),
    [
        ("phoenx", "(did you mean phoenix"),
        ("ragass", "(did you mean ragas?)"),
        ("csvv", "a csv file is read with auto"),
        ("nonsense", ""),
    ],
)
def test_an_unknown_format_names_the_closest(name: str, close: str, capsys: Capture, tmp_path: Path) -> None:
    answer = run(capsys, tmp_path / "ws", "import", str(_file(tmp_path, RECORDS)), "--format", name)
    assert answer.code == 2
    accepted = answer.err.partition("accepted: ")[2]
    assert close in " ".join(accepted.split())
    assert "auto, or one that `ragtriage import --help-formats` lists" in " ".join(accepted.split())
    assert len(accepted) < 200


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_nothing_to_import_is_bad_usage(capsys: Capture, tmp_path: Path, words: tuple[str, ...]) -> None:
    answer = run(capsys, tmp_path / "ws", "import", *words)
    assert answer.code == 2
    assert "PATHS" in answer.err


def test_a_file_given_twice_has_its_findings_once(capsys: Capture, tmp_path: Path) -> None:
    wrong = [{**one, "scores": {"recall@3": 0.9, "recall@5": 0.1}} for one in RECORDS]
    path = str(_file(tmp_path, wrong))
    once = run(capsys, tmp_path / "ws", "import", path).out
    twice = run(capsys, tmp_path / "ws", "import", path, path).out
    assert once.count("finding (error)") == twice.count("finding (error)")


DETECT, READ = "ragtriage.data.importers.load.detect", "ragtriage.data.importers.load.read_runs"


@pytest.mark.parametrize("places", [[READ], [DETECT, READ]])
def test_a_fault_of_ours_in_one_file_leaves_the_others(
    places: list[str], capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(right: Any, source: InputFile, *rest: Any) -> Any:
        if "bad" in source.name:
            raise KeyError("spans")
        return right(source, *rest)

    for place in places:
        module, _, function = place.rpartition(".")
        monkeypatch.setattr(place, partial(broken, getattr(import_module(module), function)))
    paths = [
        str(_file(tmp_path, RECORDS[:at], f"{name}.jsonl")) for at, name in ((3, "a"), (4, "bad"), (5, "c"))
    ]
    answer = run(capsys, tmp_path / "ws", "import", *paths, "--json")
    assert answer.code == 2
    assert sorted(loaded["n"] for loaded in answer.json["runs"]) == [3, 5]
    (message,) = answer.json["errors"]
    assert message.startswith(f"{paths[1]}: internal error in ragtriage (KeyError: 'spans')")
    assert "Traceback" not in answer.err
    assert "Traceback" not in run(capsys, tmp_path / "ws", "import", "--dry-run", *paths).err


def test_questions_alone_are_no_run(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "asked.jsonl"
    path.write_text('{"question": "What is A?"}\n{"question": "What is B?"}\n')
    answer = run(capsys, tmp_path / "ws", "import", str(path))
    assert answer.code == 2
    assert "no answer, no document and no score" in answer.err
    assert run(capsys, tmp_path / "ws", "runs", "--json").json == []


def test_a_damaged_ledger_lets_nothing_in_and_is_said_once(capsys: Capture, tmp_path: Path) -> None:
    root = tmp_path / "ws"
    assert run(capsys, root, "import", str(_file(tmp_path, RECORDS))).code == 0
    (root / "ledger.sqlite").write_bytes(b"no database" * 100)
    others = [str(_file(tmp_path, RECORDS[:n], f"{n}.jsonl")) for n in (2, 3)]
    answer = run(capsys, root, "import", *others)
    assert answer.code == 2
    assert answer.err.count("move it aside") == 1
    assert answer.out == ""
    assert len([path for path in (root / "runs").iterdir() if not path.name.startswith(".")]) == 1
    assert run(capsys, root, "import", *others, "--json").json["runs"] == []


def _table(folder: Path, cells: str = "4,x,5") -> Path:
    path = folder / "graded.csv"
    text = "question,answer,faithfulness,note,answer_relevancy\n"
    path.write_text(text + "".join(f"Q{n}?,A,{cells}{n}\n" for n in range(3)), "utf-8")
    return path


def test_the_columns_of_a_table_stand_under_the_result_with_what_they_were_read_as(
    capsys: Capture, tmp_path: Path
) -> None:
    first, head, _, *columns, last = run(
        capsys, tmp_path / "ws", "import", str(_table(tmp_path))
    ).out.splitlines()
    scale = "not scored, as on another scale: answer_relevancy, faithfulness (import again with "
    assert f"{scale}--scale answer_relevancy=0..100 --scale faithfulness=1..5)" in first
    assert head.split() == ["column", "read", "as", "because", "example"]
    assert [" ".join(line.split()) for line in columns] == [
        "question question its name Q0?",
        "answer answer its name A",
        "faithfulness score faithfulness name of a metric 4",
        "note tag note 1 different value x",
        "answer_relevancy score answer_relevancy name of a metric 50",
        "To read a column as something else: --map FIELD=COLUMN",
    ]
    assert last.startswith("Next: `ragtriage diagnose ")


def test_a_column_that_mixes_two_scales_is_told_at_once(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "mixed.csv"
    rows = [f"Q{n}?,A,{n % 5 + 1 if n % 2 else 0.05 * (n % 19 + 1):g}" for n in range(40)]
    path.write_text("\n".join(["question,answer,faithfulness", *rows]), "utf-8")
    answer = run(capsys, tmp_path / "ws", "import", str(path), "--scale", "faithfulness=1..5")
    assert "faithfulness mixes two scales: " in answer.out


def test_a_score_whose_name_does_not_say_of_what_is_told_to_decide_nothing(
    capsys: Capture, tmp_path: Path
) -> None:
    path = tmp_path / "scored.csv"
    path.write_text(
        "question,answer,expected,score\n" + "".join(f"Q{n}?,A,B,{n % 2}\n" for n in range(6)), "utf-8"
    )
    hint = "--map scores.correctness=score"
    assert hint in run(capsys, tmp_path / "ws", "import", str(path)).out
    mapped = run(capsys, tmp_path / "ws", "import", str(path), "--map", "scores.correctness=score")
    assert "decides nothing" not in mapped.out


def test_a_dry_run_ends_with_the_next_command_and_folds_what_cannot_be_measured(
    capsys: Capture, tmp_path: Path
) -> None:
    path = str(_table(tmp_path))
    text = run(capsys, tmp_path / "ws", "import", path, "--dry-run").out
    assert "metrics; why: --explain" in text
    assert "not computable" not in text
    (measured,) = [line for line in text.splitlines() if line.startswith("will be measured: ")]
    assert "faithfulness" not in measured
    add = "add --scale answer_relevancy=0..100 --scale faithfulness=1..5"
    assert f"not scored, as on another scale: answer_relevancy, faithfulness ({add})" in " ".join(
        text.split()
    )
    assert text.splitlines()[-1] == "Next: the same command without --dry-run loads it."
    assert "not computable:" in run(capsys, tmp_path / "ws", "import", path, "--dry-run", "--explain").out


def test_a_file_that_was_imported_before_is_recognised(capsys: Capture, tmp_path: Path) -> None:
    root, path = tmp_path / "ws", str(_table(tmp_path))
    first = run(capsys, root, "import", path, "--json").json["runs"][0]["run_id"]
    again = run(capsys, root, "import", path).out
    assert f"unchanged, was already there as {first}" in again
    assert "warning" not in again
    other = run(capsys, root, "import", path, "--scale", "faithfulness=1..5").out
    assert f"warning: graded was imported before, as {first}, and both are kept: " in other
    assert f"`ragtriage delete {first}` removes the earlier one, --name renames the new one." in other
    assert "warning" not in run(capsys, root, "import", path, "--name", "second").out


def test_runs_of_one_project_can_be_listed(capsys: Capture, tmp_path: Path) -> None:
    root, path = tmp_path / "ws", str(_file(tmp_path, RECORDS))
    for project in ("shop", "bank"):
        run(capsys, root, "import", path, "--project", project)
    assert [each["project"] for each in run(capsys, root, "runs", "--project", "bank", "--json").json] == [
        "bank"
    ]
    assert "shop" not in run(capsys, root, "runs", "--project", "bank").out
    wrong = run(capsys, root, "runs", "--project", "bnak")
    assert (wrong.code, "accepted: 'bank', 'shop'" in wrong.err) == (2, True)


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        (["answer=a", "answer=b"], "'answer' is given twice"),
        (["answer=a", "question=a"], "column 'a' is given to answer and question"),
        (["scores..x=b"], "both named in full"),
        (["answer="], "both named in full"),
        (["=b"], "'=b'; accepted: FIELD=COLUMN"),
    ],
)
def test_a_mapping_in_doubt_is_refused(capsys: Capture, tmp_path: Path, pairs: list[str], said: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("q,a,b\nWhat?,Some words,0.5\n", "utf-8")
    options = [word for pair in pairs for word in ("--map", pair)]
    answer = run(capsys, tmp_path / "ws", "import", str(path), *options)
    assert answer.code == 2
    assert said in answer.err
