"""What the commands say to a person: what was not there, what was written, what to do next."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import run

from ragtriage.dashboard.cli.runs.kept_runs import unmeasured_by_reason
from ragtriage.dashboard.cli.terminal import row_table, table
from ragtriage.data.api import add_run
from ragtriage.data.scoring.run_store import RunStore, distinct_labels
from ragtriage.metrics.result_table import Number, Row

Capture = pytest.CaptureFixture[str]
RECORDS: list[dict[str, Any]] = [
    {
        "question_id": f"q{at:02d}",
        "question": f"Question {at}?",
        "answer": f"Answer {at}.",
        "retrieved": [{"id": "a", "text": "A."}],
        "relevant": [{"id": "a" if at % 2 else "b"}],
        "scores": {"faithfulness": at / 20, **({"answer_relevancy": 0.5} if at < 4 else {})},
    }
    for at in range(20)
]


def _file(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(json.dumps(record) for record in records), encoding="utf-8")
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return _file(tmp_path / "first.jsonl", RECORDS)


@pytest.mark.parametrize(
    "words",
    [
        ("runs",),
        ("show", "x"),
        ("metrics", "x"),
        ("diagnose", "x"),
        ("compare", "x", "y"),
        ("check", "x"),
        ("export", "x"),
        ("delete", "x", "--yes"),
        ("judge", "x", "--dry-run"),
        ("generate", "x", "--dry-run"),
    ],
)
def test_what_only_reads_makes_no_workspace_and_says_where_it_looked(
    capsys: Capture, tmp_path: Path, words: tuple[str, ...]
) -> None:
    folder = tmp_path / "nothing"
    answer = run(capsys, folder, *words)
    assert answer.code == (0 if words == ("runs",) else 2)
    assert str(folder) in answer.out + answer.err
    assert not folder.exists()


def test_a_dry_run_makes_no_workspace(capsys: Capture, tmp_path: Path, file: Path) -> None:
    assert run(capsys, tmp_path / "nothing", "import", str(file), "--dry-run").code == 0
    assert not (tmp_path / "nothing").exists()


def test_the_api_picks_the_project_as_the_command_does(workspace: RunStore) -> None:
    root = str(workspace.workspace.root)
    projects = [add_run([{"question": "0?"}], "a", workspace=root).project]
    workspace.workspace.delete_run(workspace.runs()[0].run_id)
    projects.append(add_run([{"question": "1?"}], "b", "bot", root).project)
    projects.append(add_run([{"question": "2?"}], "c", workspace=root).project)
    projects.append(add_run([{"question": "3?"}], "d", "other", root).project)
    projects.append(add_run([{"question": "4?"}], "e", workspace=root).project)
    assert projects == ["default", "bot", "bot", "other", "default"]


def test_an_import_groups_what_is_lacking_and_says_what_comes_next(
    capsys: Capture, tmp_path: Path, file: Path
) -> None:
    (loaded,) = run(capsys, tmp_path / "ws", "import", str(file), "--json").json["runs"]
    answer = run(capsys, tmp_path / "ws", "import", str(file), "--explain")
    lines, run_id = answer.out.splitlines(), loaded["run_id"]
    assert f"Next: `ragtriage diagnose {run_id}`" in lines[-1]
    assert "`ragtriage serve`" in lines[-1]
    unmeasured = answer.out[answer.out.index("not computable") :]
    assert "refusal_accuracy" in unmeasured.split("`answerable`: ")[1].splitlines()[0]
    assert unmeasured.count("needs gold character spans") == 1
    assert "faithfulness" not in unmeasured.split("Next:")[0]


def test_a_metric_that_lacks_several_inputs_stands_with_the_first() -> None:
    lines = unmeasured_by_reason(
        {"one": "needs a: `a`", "two": "needs a: `a` and b: `b`", "three": "needs c: `c`"}
    )
    assert lines == ["  needs a: `a` (some also b: `b`): one, two", "  needs c: `c`: three"]


def test_a_finding_of_an_import_is_no_error_of_it(capsys: Capture, tmp_path: Path) -> None:
    wrong = [{**one, "scores": {"recall@3": 0.9, "recall@5": 0.1}} for one in RECORDS]
    answer = run(capsys, tmp_path / "ws", "import", str(_file(tmp_path / "wrong.jsonl", wrong)))
    assert answer.code == 0
    assert "finding (error) in " in answer.out
    assert not any(line.startswith("error:") for line in (answer.out + answer.err).splitlines())


def test_a_dry_run_of_means_says_what_will_be_there(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "versions.csv"
    path.write_text("version,f1,faithfulness\nv1,50,70\nv2,55,\n", encoding="utf-8")
    text = run(capsys, tmp_path / "ws", "import", str(path), "--dry-run").out
    assert "summary scores only:" in text
    assert "answer_f1" in text
    assert "of 2 versions" in text
    assert "nothing" not in text
    (answer,) = run(capsys, tmp_path / "ws", "import", str(path), "--dry-run", "--json").json["files"]
    assert answer["means"].keys() == {"v1", "v2"}
    loaded = run(capsys, tmp_path / "ws", "import", str(path)).out
    assert "Benchmarks" in loaded
    shown = run(capsys, tmp_path / "ws", "show", "v1").out.splitlines()
    assert "n: –" in shown
    assert "  answer_f1: 0.5000" in shown
    listed = run(capsys, tmp_path / "ws", "runs").out.splitlines()
    assert all(line.split()[3] == "–" for line in listed[2:])


def test_show_reads_as_text_and_lists_nothing_that_has_a_value(
    capsys: Capture, tmp_path: Path, file: Path
) -> None:
    run(capsys, tmp_path / "ws", "import", str(file), "--config", "top_k=5", "--config", "rerank=true")
    text = run(capsys, tmp_path / "ws", "show", "first").out
    lines = text.splitlines()
    assert lines[lines.index("config:") + 1 : lines.index("config:") + 3] == ["  top_k: 5", "  rerank: yes"]
    assert not any(mark in text for mark in ("{'", "['", "True"))
    facts = run(capsys, tmp_path / "ws", "show", "first", "--json").json
    assert "faithfulness" not in facts["not_computable"]
    assert "refusal_accuracy" in facts["not_computable"]


def test_every_column_of_the_metrics_has_a_name_and_no_value_no_caution(
    capsys: Capture, tmp_path: Path, file: Path
) -> None:
    run(capsys, tmp_path / "ws", "import", str(file))
    lines = run(capsys, tmp_path / "ws", "metrics", "first").out.splitlines()
    assert lines[0].split()[-1] == "caution"
    by_name = {line.split()[0]: line for line in lines[2:-1]}
    assert by_name["answer_relevancy"].endswith("too few")
    assert not by_name["faithfulness"].endswith("too few")
    assert not any(line.endswith("too few") for line in by_name.values() if " 0 of " in line)
    assert lines[-1].startswith("too few: the interval rests on fewer than 10 ")


def test_a_comparison_names_its_runs_apart_and_counts_its_pairs(
    capsys: Capture, tmp_path: Path, file: Path
) -> None:
    better = [{**one, "scores": {**one["scores"], "faithfulness": 1.0}} for one in RECORDS]
    ids = []
    for at, path in enumerate((file, _file(tmp_path / "second.jsonl", better))):
        words = ("import", str(path), "--name", "same", "--config", f"v={at}", "--json")
        ids.append(run(capsys, tmp_path / "ws", *words).json["runs"][0]["run_id"])
    text = run(capsys, tmp_path / "ws", "compare", *ids).out
    title = next(line for line in text.splitlines() if line.endswith("shared questions)"))
    left, right = title.split(" (")[0].split(" against ")
    assert left != right
    rows = {line.split("  ")[0]: line.split() for line in text.splitlines()}
    assert rows["Metric"][-4:] == ["Pairs", "p", "(corrected)", "Verdict"]
    assert rows["Answer relevancy"][-9] == "4"  # then p and: cannot tell (loss up to ...)
    assert rows["Faithfulness"][-5:] == ["20", "<", "0.001", "▲", "better"]
    assert "The unadjusted interval of a metric is in --json" in " ".join(text.split())


def test_runs_of_one_name_are_told_apart_by_what_differs_and_else_by_id(workspace: RunStore) -> None:
    root = str(workspace.workspace.root)
    made = [add_run([{"question": f"{at}?"}], "same", "p", root) for at in range(2)]
    other = add_run([{"question": "2?"}], "else", "p", root)
    labels = distinct_labels([*made, other], workspace.names())
    assert labels[other.run_id] == "else"
    assert len(set(labels.values())) == 3
    assert [labels[one.run_id] for one in made] == [f"same · {one.run_id[:6]}" for one in made]


def test_messages_about_runs_of_one_name_tell_them_apart(capsys: Capture, tmp_path: Path) -> None:
    root = str(tmp_path / "ws")
    rows = [
        {"question_id": f"q{at}", "question": f"{at}?", "retrieved": ["a"], "relevant": ["a"]}
        for at in range(2)
    ]
    first, second = (add_run([{**row, "answer": text} for row in rows], "same", "p", root) for text in "xy")
    asked = run(capsys, Path(root), "diagnose", "same")
    assert asked.code == 2
    assert all(f"{one.run_id} (p: same · " in asked.err for one in (first, second))
    assert all(f"{one.run_id[:6]})" in asked.err for one in (first, second))
    judged = run(capsys, Path(root), "gate", second.run_id, "--baseline", first.run_id, "--json").json
    assert judged["baseline"]["name"] != "same"
    assert judged["baseline"]["name"].startswith("same · ")


def test_gold_without_hops_is_no_finding(capsys: Capture, tmp_path: Path) -> None:
    rows = [{"question": f"{at}?", "retrieved": ["a"], "relevant": ["a"]} for at in range(2)]
    add_run(rows, "plain", "p", str(tmp_path / "ws"))
    add_run([{**row, "scores": {"f": None}} for row in rows], "failed", "p", str(tmp_path / "ws"))
    assert run(capsys, tmp_path / "ws", "check", "plain", "--json").json == []
    findings = run(capsys, tmp_path / "ws", "check", "failed", "--json").json
    assert [entry["title"] for entry in findings if entry["rule"] == "empty_column"] == ["f was not measured"]


def test_an_export_says_what_it_wrote_beside_the_output(capsys: Capture, tmp_path: Path, file: Path) -> None:
    run(capsys, tmp_path / "ws", "import", str(file))
    answer = run(capsys, tmp_path / "ws", "export", "first", "-o", str(tmp_path / "out.csv"))
    assert answer.out == ""
    assert "Wrote 20 samples of " in answer.err
    assert str(tmp_path / "out.csv") in answer.err


def test_an_export_is_not_written_under_an_ending_of_another_format(
    capsys: Capture, tmp_path: Path, file: Path
) -> None:
    run(capsys, tmp_path / "ws", "import", str(file))
    answer = run(capsys, tmp_path / "ws", "export", "first", "-o", str(tmp_path / "out.docx"))
    assert answer.code == 2
    assert "accepted: .jsonl, .csv, .parquet, or --format" in answer.err
    assert not (tmp_path / "out.docx").exists()
    named = run(
        capsys, tmp_path / "ws", "export", "first", "-o", str(tmp_path / "out.txt"), "--format", "csv"
    )
    assert named.code == 0
    assert run(capsys, tmp_path / "ws", "export", "first", "-o", str(tmp_path / "out")).code == 0


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("triage", "Did you mean diagnose or gate?"),
        ("compar", "Did you mean compare?"),
        ("xyzzy", "xyzzy. `"),
    ],
)
def test_a_word_that_is_no_command_gets_the_ones_that_may_be_meant(
    capsys: Capture, tmp_path: Path, word: str, meant: str
) -> None:
    answer = run(capsys, tmp_path / "ws", word)
    assert answer.code == 2
    assert meant in answer.err
    assert "`ragtriage --help` lists all." in answer.err


def test_a_run_is_found_by_project_and_name_as_errors_write_them(workspace: RunStore) -> None:
    root = str(workspace.workspace.root)
    of_a, of_b = (add_run(RECORDS, "same", project, root) for project in ("a", "b"))
    odd = add_run(RECORDS, "b: same", "c", root)
    assert workspace.find("a: same").run_id == of_a.run_id
    assert workspace.find("b: same").run_id == odd.run_id, "a name comes before a project with a name"
    assert workspace.find("c: b: same").run_id == odd.run_id
    workspace.ledger.rename(of_b.run_id, "newer", "Ann")
    assert workspace.find("b: newer").run_id == of_b.run_id


def test_the_last_column_is_broken_at_the_edge_and_nothing_is_lost() -> None:
    words = "one two three four five six seven eight nine ten"
    lines = table(["name", "what"], [["a", words], ["b", "short"]], 40).splitlines()
    assert max(map(len, lines)) <= 40
    assert " ".join(" ".join(lines[2:-1]).split()) == f"a {words}"
    assert lines[-1].split() == ["b", "short"]
    assert len(table(["name", "what"], [["a", words]]).splitlines()) == 3
    wide = ["gate", "measured", "if it fails", "obtained"]
    narrow = table(wide, [[words, words, words, words]], 60).splitlines()
    assert max(map(len, narrow[:-1])) <= 60, "every column is broken"
    assert narrow[-1] == "A wider terminal also shows: obtained; --json has everything."
    assert all(word in "\n".join(narrow) for word in words.split())


@pytest.mark.parametrize(
    ("corpus", "questions", "said"),
    [
        ("nowhere", '{"question": "q?", "relevant_spans": []}', "accepted: a folder of .txt and .md files"),
        ("texts", '{"question": "q?", "answer": "x"}', "the column relevant_spans is missing"),
        ("texts", '{"question": "q?", "relevant_spans": []}', "no question has gold in this corpus"),
    ],
)
def test_a_grid_says_what_its_corpus_and_its_questions_lack(
    capsys: Capture, tmp_path: Path, corpus: str, questions: str, said: str
) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.md").write_text("Some text.", encoding="utf-8")
    path = tmp_path / "questions.jsonl"
    path.write_text(questions, encoding="utf-8")
    answer = run(capsys, tmp_path / "ws", "grid", str(tmp_path / corpus), "--questions", str(path))
    assert answer.code == 2
    assert said in answer.err


def test_a_short_last_column_stays_short_where_the_others_are_too_wide() -> None:
    header, more, line, _ = table(["a" * 30, "verdict"], [["b", "better"]], 20).splitlines()
    assert (header[-7:], more.strip("a"), line[-10:]) == ("verdict", "", "-  -------")


def test_typed_rows_are_written_as_on_every_terminal() -> None:
    rows: list[Row] = [{"metric": "recall@5", "n": 1234, "mean": Number(0.5), "p": None}]
    assert row_table(rows).splitlines()[2].split() == [
        "recall@5",
        "1,234",
        "0.500",
        "–",
    ]
    assert row_table([]) == "none"
