"""judge, label, grid and report from Python: the answers of the commands; errors name the argument."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import run as command
from judge_server import JudgeServer
from judged_runs import made
from running_loops import run_apart

import ragtriage
from ragtriage.data.scoring.run_store import RunStore

Capture = pytest.CaptureFixture[str]
RUN = "handbook: V4 rerank"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[JudgeServer]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
    with JudgeServer() as running:
        yield running


def test_a_dry_run_has_the_plan_of_the_command_and_asks_nothing(
    tmp_path: Path, capsys: Capture, server: JudgeServer
) -> None:
    _, run = made(tmp_path, 6)
    plan = command(capsys, tmp_path, "judge", run.run_id, "--dry-run", "--limit", "4", "--json").json
    planned = ragtriage.judge(run.run_id, limit=4, dry_run=True, base_url=server.url, workspace=tmp_path)
    assert planned.state == "planned"
    assert planned.calls == 0
    assert planned.metrics.empty
    for name in ("samples", "calls", "input_tokens", "output_tokens", "cost_usd", "model", "kind", "method"):
        assert getattr(planned.plan, name) == plan[name]
    assert not server.asked


def test_judging_has_the_numbers_of_the_command(tmp_path: Path, capsys: Capture, server: JudgeServer) -> None:
    _, run = made(tmp_path, 4)
    judged = ragtriage.judge("turtles", shuffle=1.0, base_url=server.url, workspace=tmp_path)
    assert (judged.state, judged.scored, judged.failed) == ("done", 4, {})
    assert judged.calls > 0
    assert judged.shuffled is not None
    assert judged.shuffled.plan.kind == "shuffled"
    words = ("judge", run.run_id, "--yes", "--base-url", server.url, "--json")
    again = command(capsys, tmp_path, *words).json
    assert again["progress"]["calls"] == 0, "the command goes on from what is judged"
    for name, metric in again["metrics"].items():
        assert judged.metrics.loc[name, "mean"] == pytest.approx(metric["mean"])
        assert judged.metrics.loc[name, "n_scored"] == metric["n_scored"]


def test_judging_works_where_an_event_loop_runs_as_in_a_notebook(tmp_path: Path, server: JudgeServer) -> None:
    made(tmp_path, 2)

    async def cell() -> ragtriage.Judgement:
        return ragtriage.judge("turtles", reference="along", base_url=server.url, workspace=tmp_path)

    judged = run_apart(cell())
    assert (judged.state, judged.scored) == ("done", 2)
    assert judged.cost_usd is not None


def test_a_job_that_fails_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    made(tmp_path, 2)
    with pytest.raises(ragtriage.RagtriageError, match="no API key: set ANTHROPIC_API_KEY"):
        ragtriage.judge("turtles", workspace=tmp_path)


def test_labels_are_stored_as_the_command_stores_a_file(tmp_path: Path, capsys: Capture) -> None:
    store, run = made(tmp_path, 5)
    stored = ragtriage.label("turtles", {"question_id": "q1", "pass": "fail"}, who="Ada", workspace=tmp_path)
    assert (stored.labels, stored.dimensions, stored.who) == (1, {"pass": 1}, "Ada")
    assert ragtriage.diagnose("turtles", workspace=tmp_path).bad == 1
    table = pd.DataFrame(
        {
            "question_id": ["q1", "q2", "q9"],
            "repeat": [0.0, float("nan"), 0.0],
            "pass": ["pass", None, "fail"],
            "correctness": [float("nan"), 1.0, 0.0],
        }
    )
    stored = ragtriage.label("turtles", table, who="Ada", random=True, workspace=tmp_path)
    assert (stored.labels, stored.unmatched, stored.random) == (2, 2, True)
    assert [label.verdict for label in store.ledger.labels(run.run_id)] == ["pass"], "the later label counts"
    file = tmp_path / "labels.csv"
    table.drop(columns="repeat").to_csv(file, index=False)
    printed = command(
        capsys, tmp_path, "agreement", "turtles", "--labels", str(file), "--random", "--json"
    ).json
    from_file = ragtriage.label("turtles", file, random=True, workspace=tmp_path)
    assert printed["labels"]["labels"] == from_file.labels == stored.labels
    assert printed["labels"]["dimensions"] == from_file.dimensions == stored.dimensions


def test_a_report_is_the_file_of_the_command(tmp_path: Path, capsys: Capture, demo: RunStore) -> None:
    root = demo.workspace.root
    file = ragtriage.report(RUN, tmp_path / "ours.html", audience="lead", title="Our <title>", workspace=root)
    assert file == tmp_path / "ours.html"
    theirs = tmp_path / "theirs.html"
    words = ("--audience", "lead", "--title", "Our <title>", "-o", str(theirs))
    command(capsys, root, "report", RUN, *words)
    minute = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")
    texts = [minute.sub("", each.read_text(encoding="utf-8")) for each in (file, theirs)]
    assert texts[0] == texts[1]
    assert "Our &lt;title&gt;" in texts[0]
    both = ragtriage.report([RUN, "handbook: V1 baseline"], str(tmp_path / "both.pptx"), workspace=root)
    assert both.read_bytes()[:2] == b"PK"


def _corpus(folder: Path) -> tuple[Path, Path]:
    """Write a document and questions whose gold are sentences of it; return both paths."""
    sentences = [f"Part {at} turns around the wheel number {at}, made of metal {at}. " for at in range(60)]
    text = "".join(sentences)
    corpus, questions = folder / "manual.txt", folder / "questions.jsonl"
    corpus.write_text(text, encoding="utf-8")
    rows = []
    for at, sentence in enumerate(sentences[:12]):
        start = text.index(sentence)
        span = {"doc_id": "manual.txt", "start": start, "end": start + len(sentence)}
        rows.append({"question": f"What does part {at} turn around?", "relevant_spans": [span]})
    questions.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return corpus, questions


def test_a_grid_has_the_runs_of_the_command(tmp_path: Path, capsys: Capture) -> None:
    (corpus, questions), root = _corpus(tmp_path), tmp_path / "workspace"
    search = ragtriage.grid(questions, corpus, sizes=[32, 64], overlaps=[0, 8, 32], workspace=root)
    words = ("--questions", str(questions), "--sizes", "32,64", "--overlaps", "0,8,32", "--json")
    printed = command(capsys, root, "grid", str(corpus), *words).json
    table = search.configurations
    assert search.key == printed["grid"]
    assert list(search.left_out) == printed["left_out"]
    assert len(search.left_out) == 1, "an overlap as large as the chunk"
    assert table["run_id"].tolist() == [run["run_id"] for run in printed["runs"]]
    for run in printed["runs"]:
        row = table.set_index("run_id").loc[run["run_id"]]
        for name in ("span_recall@5", "span_iou@5"):
            assert row[name] == pytest.approx(run["metrics"][name]["mean"])
    assert set(table["outcome"]) & {"best", "equal"}
    with pytest.raises(
        ragtriage.RagtriageError, match="metric 'recall': no configuration has it; accepted: "
    ):
        ragtriage.grid(questions, corpus, sizes=[32], overlaps=[0], metric="recall", workspace=root)


RECORD: dict[str, Any] = {"question": "Why?", "answer": "So.", "scores": {"faithfulness": 0.5}}
FRAME = (
    "accepted: a pandas DataFrame or a list with at least one row, "
    "each a dict or a GeneratedAnswer of Haystack"
)
WRONG_CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    ("diagnose", ("V4 rerenk",), {}, r"no run 'V4 rerenk'; accepted: .*\(handbook: V4 rerank\).*of \d+ runs"),
    (
        "diagnose",
        ("basic",),
        {},
        r"3 runs are called 'basic'; accepted: one of these ids: \w{12} \(iris: basic",
    ),
    ("diagnose", (7,), {}, "run 7; accepted: a run, its id or its name"),
    ("diagnose", (RUN,), {"faithfulness": 80}, "faithfulness 80; accepted: a number from 0 to 1"),
    ("diagnose", (RUN,), {"context": "high"}, "context 'high'; accepted: a number"),
    (
        "diagnose",
        (RUN,),
        {"context_metric": "recal"},
        "context metric 'recal' is not in this run; accepted: span",
    ),
    ("summarize", (RUN,), {"k": 5}, "k 5; accepted: a list, each a whole number"),
    ("summarize", (RUN,), {"k": [0]}, r"k \[0\]; accepted: whole numbers of 1 or more"),
    ("compare", (RUN, [RUN]), {}, r"other \['handbook: V4 rerank'\]; accepted: a run, its id or its name"),
    ("compare", (RUN, RUN), {"family": "heads"}, "family 'heads'; accepted: 'headline', 'retrieval'"),
    ("gate", (RUN,), {"fail_on": ["fail"]}, r"fail_on \['fail'\]; accepted: a list of these: 'do_not_ship'"),
    ("gate", (RUN,), {"fail_on": "do_not_ship"}, "fail_on 'do_not_ship'; accepted: a list of these"),
    ("gate", (RUN,), {"strict": "yes"}, "strict 'yes'; accepted: True or False"),
    ("runs", (), {"workspace": 3}, "workspace 3; accepted: a path"),
    ("scores", (None,), {}, "run None; accepted: a run, its id or its name"),
    ("add_run", ([RECORD], " "), {}, "name ' '; accepted: what to call the run"),
    ("add_run", ([RECORD], None), {}, "name None; accepted: a text"),
    ("add_run", ([RECORD], "x"), {"config": [1]}, r"config \[1\]; accepted: a mapping"),
    (
        "add_run",
        ([RECORD], "x"),
        {"metrics": {"a": "b"}},
        "metrics {'a': 'b'}; accepted: a mapping of names, each",
    ),
    ("add_run", ("runs.jsonl", "x"), {}, f"x: found str; {FRAME}"),
    ("add_run", (RECORD, "x"), {}, f"x: found dict; {FRAME}"),
    ("add_run", ([RECORD, "a"], "x"), {}, f"x:2: found str; {FRAME}"),
    ("judge", (RUN,), {"dry_run": True, "repeats": 21}, "repeats 21; accepted: a whole number from 1 to 20"),
    ("judge", (RUN,), {"dry_run": True, "shuffle": 2.0}, "shuffle 2.0; accepted: a number from 0 to 1"),
    ("judge", (RUN,), {"dry_run": True, "limit": 0}, "limit 0; accepted: a whole number of 1 or more"),
    ("judge", (RUN,), {"dry_run": True, "effort": "max"}, "effort 'max'; accepted: 'low', 'medium', 'high'"),
    ("judge", (RUN,), {"dry_run": True, "again": "refused"}, "again 'refused'; accepted: a list of these"),
    (
        "judge",
        (RUN,),
        {"dry_run": True, "checks": "safety"},
        "no safety check waits for the judge; accepted: ",
    ),
    ("label", (RUN, 3), {}, "labels: found int; accepted: a pandas DataFrame or a list of dicts"),
    (
        "label",
        (RUN, {"question_id": "x", "pass": "no!"}),
        {},
        r"labels: row 1, pass: 'no!'; accepted: 1 \(pass\)",
    ),
    (
        "label",
        (RUN, {"question_id": "x", "pass": "fail"}),
        {},
        r"labels: none of 1 labels matches .*\(row 1: 'x'\)",
    ),
    ("report", (RUN, "out.doc"), {}, "output out.doc: a .doc file is not a report; accepted: .html"),
    ("report", ([], "out.html"), {}, r"run \[\]; accepted: a run, its id or its name, or a list of runs"),
    ("grid", ("q.jsonl", 5), {}, "corpus 5; accepted: the path of a file, or a list of paths"),
    ("grid", ("q.jsonl", "."), {"sizes": 128}, "sizes 128; accepted: a list, each a whole number"),
    ("grid", ("q.jsonl", "/nowhere"), {}, "corpus /nowhere: does not exist; accepted: a folder"),
]


@pytest.mark.parametrize(("name", "args", "more", "message"), WRONG_CALLS)
def test_an_error_names_what_was_given_and_what_is_accepted(
    name: str, args: tuple[Any, ...], more: dict[str, Any], message: str, demo: RunStore
) -> None:
    with pytest.raises(ragtriage.RagtriageError, match=message) as raised:
        getattr(ragtriage, name)(*args, **{"workspace": demo.workspace.root, **more})
    assert "accepted" in str(raised.value)


def test_an_argument_of_another_name_lists_those_there_are() -> None:
    accepted = "accepted: run, labels, who, random, workspace"
    with pytest.raises(TypeError, match=f"label: got an unexpected keyword argument 'by'; {accepted}"):
        ragtriage.label(RUN, {}, by="Ada")  # type: ignore[call-arg] # as a user may write it
    with pytest.raises(TypeError, match=f"label: missing a required argument: 'labels'; {accepted}"):
        ragtriage.label(RUN)  # type: ignore[call-arg]
