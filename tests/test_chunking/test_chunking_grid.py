"""The grid search: real cells over small corpora in three scripts, resumed, repeated, refused."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import run as command

from ragtriage.data.chunking import grid_plan, grid_search
from ragtriage.data.chunking.corpus import corpus_of, read_corpus
from ragtriage.data.chunking.grid_plan import GridPlan, GridStep, plan_configurations
from ragtriage.data.chunking.grid_search import run_grid
from ragtriage.data.chunking.questions import read_questions
from ragtriage.data.errors import DataError
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run

TEXTS = {
    "zh": (
        "长江是亚洲最长的河流,全长约六千三百公里。它发源于青藏高原,流经十一个省份。\n\n"
        "黄河是中国第二长河,因含沙量大而得名。它最终注入渤海。\n\n"
        "西湖位于杭州市,以风景优美著称。每年有数百万游客前来参观。",
        [("黄河为什么叫这个名字?", "因含沙量大而得名"), ("西湖在哪个城市?", "西湖位于杭州市")],
    ),
    "ru": (
        "Волга — самая длинная река Европы. Она впадает в Каспийское море.\n\n"
        "Байкал является самым глубоким озером на Земле. Его глубина достигает 1642 метров.\n\n"
        "Эльбрус — высочайшая вершина России. Он расположен на Кавказе.",
        [
            ("Какова глубина Байкала?", "глубина достигает 1642 метров"),
            ("Куда впадает Волга?", "впадает в Каспийское"),
        ],
    ),
}


def _span(doc_id: str, text: str, gold: str) -> dict[str, Any]:
    at = text.index(gold)
    return {"doc_id": doc_id, "start": at, "end": at + len(gold)}


def _plan(tmp_path: Path, script: str, sizes: tuple[int, ...] = (20, 40)) -> GridPlan:
    text, asked = TEXTS[script]
    (tmp_path / f"{script}.txt").write_text(text, encoding="utf-8")
    rows = [
        {
            "question": question,
            "relevant_spans": [
                {"doc_id": script, "start": text.index(gold), "end": text.index(gold) + len(gold)}
            ],
        }
        for question, gold in asked
    ]
    lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    corpus = read_corpus([tmp_path / f"{script}.txt"])
    questions = read_questions(InputFile.from_bytes("questions.jsonl", lines.encode()), corpus)
    cells, _ = plan_configurations(sizes, (0, 10), "tokens", ("paragraph",))
    return GridPlan(corpus, questions, cells, depth=5)


@pytest.mark.parametrize("script", ["zh", "ru"])
def test_a_corpus_that_is_not_english_is_found(workspace: RunStore, tmp_path: Path, script: str) -> None:
    runs = run_grid(workspace, _plan(tmp_path, script), "p")
    assert len(runs) == 5
    for run in runs:
        first = workspace.scored(run).samples.read([0])[0]["retrieved"]
        assert first
        assert (workspace.summary(run)["span_recall@3"].mean or 0) > 0.5
    assert any((workspace.summary(run)["span_recall@1"].mean or 0) > 0.9 for run in runs)


def test_every_stored_chunk_is_its_place_in_the_text(workspace: RunStore, tmp_path: Path) -> None:
    plan = _plan(tmp_path, "zh")
    text = plan.corpus.documents[0].text
    for run in run_grid(workspace, plan, "p"):
        for sample in workspace.scored(run).samples.read(range(run.n)):
            tokens = sample["retrieved_tokens"]
            assert len(tokens) == len(sample["retrieved"])
            assert all(count <= 40 for count in tokens)
            assert sample["relevant_chunks"] >= 1
            for chunk in sample["retrieved"]:
                assert text[chunk["start"] : chunk["end"]] == chunk["text"]


def test_the_same_grid_gives_the_same_runs(workspace: RunStore, tmp_path: Path) -> None:
    first = run_grid(workspace, _plan(tmp_path, "ru"), "p")
    again = RunStore(type(workspace.workspace)(tmp_path / "other").create())
    second = run_grid(again, _plan(tmp_path, "ru"), "p")
    assert [run.run_id for run in first] == [run.run_id for run in second]
    for left, right in zip(first, second, strict=True):
        names = list(workspace.summary(left))
        assert names == list(again.summary(right))
        for name in names:
            np.testing.assert_array_equal(
                workspace.scored(left).values(name), again.scored(right).values(name)
            )


def test_an_interrupted_grid_goes_on_from_its_finished_cells(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = _plan(tmp_path, "ru")

    def stop(step: GridStep) -> None:
        if step.done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_grid(workspace, plan, "p", stop)
    assert len(workspace.runs()) == 2
    made: list[str] = []
    plain = grid_plan.run_configuration

    def counted(*given: Any) -> Run:
        made.append(given[2].title)
        return plain(*given)

    monkeypatch.setattr(grid_search, "run_configuration", counted)
    runs = run_grid(workspace, plan, "p")
    assert made == [cell.title for cell in plan.chunkings[2:]]
    assert [run.name for run in runs] == [cell.title for cell in plan.chunkings]


def test_progress_says_how_long_it_will_take(workspace: RunStore, tmp_path: Path) -> None:
    steps: list[GridStep] = []
    run_grid(workspace, _plan(tmp_path, "ru"), "p", steps.append)
    assert [step.done for step in steps] == [0, 1, 2, 3, 4, 5]
    assert steps[0].seconds_left is None
    assert all((step.seconds_left or 0) > 0 for step in steps[1:-1])
    assert steps[-1].seconds_left == 0


def test_headings_are_indexed_and_not_stored(workspace: RunStore) -> None:
    text = "# Turtles\n\nThey live long.\n\n# Mayflies\n\nThey live briefly."
    corpus = corpus_of([("animals.md", InputFile.from_bytes("animals.md", text.encode()))], "animals")
    row = {"question": "turtles?", "relevant_spans": [{"doc_id": "animals", "start": 11, "end": 26}]}
    questions = read_questions(InputFile.from_bytes("q.jsonl", json.dumps(row).encode()), corpus)
    cells, _ = plan_configurations((5,), (0,), "tokens", ("paragraph",), (False, True))
    _, bare, headed = run_grid(workspace, GridPlan(corpus, questions, cells), "p")
    found = [workspace.scored(run).samples.read([0])[0]["retrieved"] for run in (bare, headed)]
    assert [len(one) for one in found] == [1, 2]
    assert all("They live long" not in one["text"] for one in found[0])
    assert any(one["text"].strip() == "They live long." for one in found[1])


def test_gold_is_counted_at_a_budget_and_by_chunks(workspace: RunStore) -> None:
    text = "alpha beta gamma delta epsilon zeta"
    corpus = corpus_of([("t.txt", InputFile.from_bytes("t.txt", text.encode()))], "t")
    row = {"question": "gamma delta", "relevant_spans": [{"doc_id": "t", "start": 11, "end": 22}]}
    questions = read_questions(InputFile.from_bytes("q.jsonl", json.dumps(row).encode()), corpus)
    cells, _ = plan_configurations((11,), (0,), "characters")
    (run,) = run_grid(workspace, GridPlan(corpus, questions, cells), "p")
    sample = workspace.scored(run).samples.read([0])[0]
    assert [one["text"] for one in sample["retrieved"]] == ["gamma delta"]
    assert sample["relevant_chunks"] == 1
    summary = workspace.summary(run)
    for name in ("span_recall@5", "span_precision@5", "chunk_count_recall@5", "span_recall_budget@250"):
        assert summary[name].mean == 1.0


def test_cells_that_cannot_be_are_named_and_the_others_stay() -> None:
    cells, refused = plan_configurations((64, 128), (0, 64))
    assert [cell.title for cell in cells] == ["64 / 0 tokens", "128 / 0 tokens", "128 / 64 tokens"]
    assert refused == ("overlap 64 is not smaller than size 64; accepted: an overlap from 0 to 63 tokens",)
    with pytest.raises(DataError, match="overlap 64 is not smaller than size 64"):
        plan_configurations((64,), (64, 100))


def test_a_strategy_needs_no_fixed_cell() -> None:
    cells, refused = plan_configurations((64,), (64,), "tokens", ("paragraph",), (False, True))
    assert [cell.title for cell in cells] == [
        "by paragraph (max 64 tokens)",
        "by paragraph (max 64 tokens, headings repeated)",
    ]
    assert len(refused) == 1
    assert [cell.title for cell in plan_configurations((64,), (), "tokens", ("heading",))[0]] == [
        "by heading (max 64 tokens)"
    ]


@pytest.mark.parametrize(
    ("sizes", "overlaps", "message"),
    [((64,), (), "no overlap; accepted"), ((), (0,), "no chunk size"), ((0,), (0,), "size 0; accepted")],
)
def test_a_grid_without_cells_is_refused(
    sizes: tuple[int, ...], overlaps: tuple[int, ...], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        plan_configurations(sizes, overlaps)


def test_what_all_cells_share_is_done_before_the_first_is_timed(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready: list[bool] = []
    plain = grid_plan.run_configuration

    def looked_at(*given: Any) -> Run:
        ready.append(all({"starts", "headings"} <= set(vars(text)) for text in given[4].texts.values()))
        ready.append("semchunk" in sys.modules)
        return plain(*given)

    monkeypatch.setattr(grid_search, "run_configuration", looked_at)
    monkeypatch.delitem(sys.modules, "semchunk", raising=False)
    run_grid(workspace, _plan(tmp_path, "ru", (20,)), "p")
    assert ready == [True] * 6


def test_empty_documents_are_noted_by_name(workspace: RunStore, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"")
    (tmp_path / "b.md").write_bytes(b" \n")
    (tmp_path / "c.txt").write_text("alpha beta gamma")
    corpus = read_corpus([tmp_path])
    assert [one.doc_id for one in corpus.documents] == ["a", "b", "c"]
    assert corpus.notes == ("empty documents: a, b",)
    row = {"question": "beta", "relevant_spans": [{"doc_id": "c", "start": 6, "end": 10}]}
    questions = read_questions(InputFile.from_bytes("q.jsonl", json.dumps(row).encode()), corpus)
    cells, _ = plan_configurations((5,), (0,), "tokens", ("paragraph", "heading", "recursive"))
    for run in run_grid(workspace, GridPlan(corpus, questions, cells), "p"):
        assert "empty documents: a, b" in run.notes
    files = {"none.jsonl": b"", "one.jsonl": b'{"id": "x", "text": "words"}'}
    listed = corpus_of(((name, InputFile.from_bytes(name, one)) for name, one in files.items()), "c")
    assert listed.notes == ("files without documents: none.jsonl",)
    assert [one.doc_id for one in listed.documents] == ["x"]


ELSEWHERE = {"doc_id": "z", "start": 0, "end": 3}
WRONG = '[{"content": "xyz", "start_index": 0, "end_index": 3}]'
QUESTION = {"question": "q?", "relevant_spans": [{"doc_id": "a", "start": 0, "end": 3}]}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{**QUESTION, "relevant_spans": [ELSEWHERE]}], "'z' is not a document of the corpus"),
        ([{**QUESTION, "relevant_spans": [{"doc_id": "a", "start": 0, "end": 99}]}], "a has 11 characters"),
        ([{**QUESTION, "relevant_spans": [{"doc_id": "a", "start": 5, "end": 5}]}], "start < end"),
        ([QUESTION, QUESTION], "at line 1 already"),
        ([{"question": "q?"}], "the column relevant_spans is missing"),
        ([{"question": "q?", "relevant_spans": []}], "no question has gold in this corpus"),
        ([{"question": "q?", "references": WRONG, "corpus_id": "a"}], "reads 'hel', not 'xyz'"),
        ([{"question": "q?", "references": "[1]", "corpus_id": "a"}], "not a list of objects"),
        ([{"question": "q?", "references": "[{}]", "corpus_id": "a"}], "lacks start_index or end_index"),
    ],
)  # fmt: skip
def test_questions_that_do_not_fit_are_refused_by_name(rows: list[dict[str, Any]], message: str) -> None:
    corpus = corpus_of([("a.txt", InputFile.from_bytes("a.txt", b"hello world"))], "c")
    content = "\n".join(json.dumps(row) for row in rows).encode()
    with pytest.raises(DataError, match=message):
        read_questions(InputFile.from_bytes("q.jsonl", content), corpus)


def test_a_folder_is_read_in_order_with_its_names(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.md").write_bytes(b"line\r\nline")
    (tmp_path / "a_text.txt").write_bytes(b"\xef\xbb\xbfhello")
    (tmp_path / "left.pdf").write_bytes(b"%PDF")
    (tmp_path / ".hidden.txt").write_bytes(b"no")
    corpus = read_corpus([tmp_path])
    assert [(one.doc_id, one.text, one.title) for one in corpus.documents] == [
        ("a_text", "hello", "a text"),
        ("deep/b", "line\r\nline", "b"),
    ]
    assert corpus.by_name["deep/b.md"].doc_id == "deep/b"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"caf\xe9", r"byte 4 \(0xe9\) is not UTF-8"),
        ("a.jsonl", b'{"text": "no id"}', "a.jsonl:1: id: missing"),
        ("a.jsonl", b'{"id": "x"}', "a.jsonl:1: text: missing"),
        ("a.jsonl", b'{"id": "x", "text": "a"}\n{"id": "x", "text": "b"}', "'x' occurs twice"),
        ("a.jsonl", b"nonsense", "a.jsonl:1: is not a document"),
        ("a.docx", b"text", "has the ending '.docx'"),
        ("a.txt", b"  \n", "every document is empty"),
        ("a.txt", b"", "every document is empty"),
        ("a.jsonl", b"", "every document is empty"),
    ],
)
def test_a_corpus_that_cannot_be_read_is_refused_by_name(name: str, content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        corpus_of([(name, InputFile.from_bytes(name, content))], "c")


def test_an_empty_folder_says_what_belongs_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a folder of \.txt and \.md files"):
        read_corpus([tmp_path])


def test_the_command_runs_a_grid_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, asked = TEXTS["ru"]
    (tmp_path / "ru.md").write_text(text, encoding="utf-8")
    with (tmp_path / "q.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["question", "references", "corpus_id"])
        for question, gold in asked:
            at = text.index(gold)
            span = [{"content": gold, "start_index": at, "end_index": at + len(gold)}]
            rows.writerow([question, json.dumps(span), "ru"])
        rows.writerow(["About another corpus?", "[]", "elsewhere"])
    words = ("grid", str(tmp_path / "ru.md"), "--questions", str(tmp_path / "q.csv"), "--sizes", "16,32")
    first = command(capsys, tmp_path / "w", *words, "--overlaps", "0,16", "--json")
    assert first.code == 0
    answer = first.json
    assert [one["name"] for one in answer["runs"]] == ["16 / 0 tokens", "32 / 0 tokens", "32 / 16 tokens"]
    assert answer["left_out"][0].startswith("overlap 16 is not smaller than size 16")
    assert "about other corpora: 1" in first.err
    assert {one["config"]["grid"] for one in answer["runs"]} == {answer["grid"]}
    assert 0 < answer["runs"][0]["metrics"]["span_recall@5"]["mean"] <= 1
    again = command(capsys, tmp_path / "w", *words, "--overlaps", "0,16")
    assert again.code == 0
    assert "best" in again.out
    assert "gold characters" in again.out
    refused = command(capsys, tmp_path / "w", *words[:-1], "16", "--overlaps", "16")
    assert refused.code == 2
    assert "overlap 16 is not smaller than size 16" in refused.err
