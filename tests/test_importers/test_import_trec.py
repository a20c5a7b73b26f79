"""TREC and BEIR runs: through the command line to trec_eval's own numbers, and what is wrong is named."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import pytrec_eval
from command_line import run as command
from places import FIXTURES

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import detect, read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.preview import preview

TREC = FIXTURES / "trec_eval"
KS = (1, 3, 5, 10, 15, 20, 30, 100, 200, 500, 1000)
MEASURES = {"recall": "recall_{}", "precision": "P_{}", "ndcg": "ndcg_cut_{}", "map": "map_cut_{}"}


def _expected() -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for line in (TREC / "out.test.aq").read_text().splitlines():
        measure, question, value = line.split()
        if measure not in ("runid", "relstring"):
            found[question][measure] = float(value)
    return found


def _metrics(capsys: pytest.CaptureFixture[str], folder: Path, *words: str) -> dict[str, Any]:
    loaded = command(capsys, folder, "import", *words, "--json")
    assert loaded.code == 0, loaded.err
    run = loaded.json["runs"][0]["run_id"]
    cuts = ",".join(map(str, KS))
    answer: dict[str, Any] = command(
        capsys, folder, "metrics", run, "--k", cuts, "--per-sample", "--json"
    ).json
    return answer


@pytest.mark.parametrize("packed", [False, True])
def test_every_number_of_trec_eval_comes_out_of_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], packed: bool
) -> None:
    run, qrels = TREC / "results.test", TREC / "qrels.relevant"
    if packed:
        for path in (run, qrels):
            (tmp_path / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        run, qrels = tmp_path / "results.test.gz", tmp_path / "qrels.relevant.gz"
    answer = _metrics(capsys, tmp_path / "w", str(run), "--qrels", str(qrels))
    expected = _expected()
    compared = 0
    for question, values in [*answer["samples"].items(), ("all", _means(answer))]:
        for ours, theirs in MEASURES.items():
            for k in KS:
                if theirs.format(k) in expected[question]:
                    assert values[f"{ours}@{k}"] == pytest.approx(
                        expected[question][theirs.format(k)], abs=5.1e-5
                    ), (question, ours, k)
                    compared += 1
        assert values["map@1000"] == pytest.approx(expected[question]["map"], abs=5.1e-5)
        assert values["mrr@1000"] == pytest.approx(expected[question]["recip_rank"], abs=5.1e-5)
    assert compared >= 4 * 9 * len(answer["samples"])


def _means(answer: dict[str, Any]) -> dict[str, float]:
    return {name: one["mean"] for name, one in answer["metrics"].items()}


def _as_floats(path: Path) -> dict[str, dict[str, float]]:
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for line in text.splitlines():
        question, _, document, _, score, _ = line.split()
        found[question][document] = float(score)
    return found


def _grades(path: Path) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for line in path.read_text().splitlines():
        question, _, document, grade = line.split()
        found[question][document] = int(grade)
    return found


def test_graded_runs_agree_with_pytrec_eval(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, qrels = FIXTURES / "ir_measures" / "compat.run.gz", FIXTURES / "ir_measures" / "compat.qrels"
    answer = _metrics(capsys, tmp_path, str(run), "--qrels", str(qrels))
    cuts = ",".join(map(str, KS))
    evaluator = pytrec_eval.RelevanceEvaluator(
        _grades(qrels), {f"{name}.{cuts}" for name in ("recall", "P", "ndcg_cut", "map_cut")}
    )
    expected = evaluator.evaluate(_as_floats(run))
    scored = {question for question, grades in _grades(qrels).items() if max(grades.values()) > 0}
    assert scored & expected.keys()
    for question in scored & expected.keys():
        for ours, theirs in MEASURES.items():
            for k in KS:
                got = answer["samples"][question][f"{ours}@{k}"]
                assert got == pytest.approx(expected[question][theirs.format(k)], abs=1e-9), (
                    question,
                    ours,
                    k,
                )


def test_json_of_ranx_and_trec_lines_give_the_same_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = FIXTURES / "ranx"
    qrels = ("--qrels", str(folder / "qrels.json"))
    by_json = _metrics(capsys, tmp_path / "a", str(folder / "run.json"), *qrels)
    by_lines = _metrics(capsys, tmp_path / "b", str(folder / "run.trec"), *qrels)
    assert by_json["samples"] == by_lines["samples"]
    grades = json.loads((folder / "qrels.json").read_text())
    scores = json.loads((folder / "run.json").read_text())
    expected = pytrec_eval.RelevanceEvaluator(grades, {"ndcg_cut.10", "recip_rank"}).evaluate(scores)
    for question, values in by_json["samples"].items():
        assert values["ndcg@10"] == pytest.approx(expected[question]["ndcg_cut_10"], abs=1e-9)
        assert values["mrr@1000"] == pytest.approx(expected[question]["recip_rank"], abs=1e-9)


def _read(content: bytes | str, **options: Any) -> list[dict[str, Any]]:
    raw = content.encode() if isinstance(content, str) else content
    errors = ValidationErrors("run.txt")
    parsed_runs = read_runs(InputFile.from_bytes("run.txt", raw), Options(**options), errors)
    records = [
        {"name": parsed.name, "notes": parsed.notes, "records": [r for _, r in parsed.records]}
        for parsed in parsed_runs
    ]
    errors.raise_if_any()
    return records


LINES = "q1 Q0 a 1 2.0 t\nq1 Q0 c 2 1.0 t\nq1 Q0 b 3 1.0 t\nq2\tQ0\tx\t0\t-3.5\tt\n"


def test_ties_are_broken_by_document_descending() -> None:
    (run,) = _read(LINES)
    first, second = run["records"]
    assert [one["id"] for one in first["retrieved"]] == ["a", "c", "b"]
    assert second["retrieved"] == [{"id": "x", "score": -3.5, "text": None}]
    assert first["question"] == "q1"
    assert any("--queries" in note for note in run["notes"])
    assert not any("rank column" in note for note in run["notes"])


def test_scores_decide_and_a_wrong_rank_column_is_told() -> None:
    (run,) = _read("q1 Q0 a 1 1.0 t\nq1 Q0 b 2 5.0 t\n")
    assert [one["id"] for one in run["records"][0]["retrieved"]] == ["b", "a"]
    assert any("rank column disagrees with the scores in 1 of 1" in note for note in run["notes"])


def test_several_tags_are_several_runs() -> None:
    runs = _read("q1 Q0 a 1 1.0 bm25\nq1 Q0 b 1 5.0 dense\n")
    assert [run["name"] for run in runs] == ["bm25", "dense"]


def test_texts_come_from_beside_the_run() -> None:
    queries = InputFile.from_bytes(
        "queries.jsonl", b'{"_id": "q1", "text": "Which?"}\n{"_id": "q2", "text": "Who?"}'
    )
    corpus = InputFile.from_bytes(
        "corpus.jsonl", b'{"_id": "a", "title": "A", "text": "first"}\n{"_id": "zz", "text": "no"}'
    )
    (run,) = _read(LINES, queries=queries, corpus=corpus)
    assert run["records"][0]["question"] == "Which?"
    assert run["records"][0]["retrieved"][0]["text"] == "A\nfirst"
    assert any("not in corpus.jsonl: 3" in note for note in run["notes"])


QRELS = b"q1 0 a 1\nq9 0 a 2\nq8 0 a 1\nq1 0 c -1\n"


def test_judged_questions_that_the_run_lacks_are_told() -> None:
    (run,) = _read(LINES, qrels=InputFile.from_bytes("qrels", QRELS))
    assert run["notes"][-1] == (
        "judged questions without results: 2 of 3 (q9, q8); left out of the means, as trec_eval does; "
        "--all-topics counts them as empty lists"
    )
    assert run["records"][0]["relevant"] == [{"id": "a", "grade": 1.0}, {"id": "c", "grade": -1.0}]
    assert "relevant" not in run["records"][1]


def test_judged_questions_without_results_can_count_as_trec_eval_counts_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "r.trec").write_text(LINES)
    (tmp_path / "qrels").write_bytes(QRELS)
    words = (str(tmp_path / "r.trec"), "--qrels", str(tmp_path / "qrels"))
    usual = _metrics(capsys, tmp_path / "usual", *words)["metrics"]["recall@10"]
    complete = _metrics(capsys, tmp_path / "all", *words, "--all-topics")["metrics"]["recall@10"]
    assert (usual["mean"], usual["n_scored"]) == (1.0, 1)
    assert (complete["mean"], complete["n_scored"]) == (pytest.approx(1 / 3), 3)


def test_questions_without_results_are_told() -> None:
    queries = InputFile.from_bytes("queries.tsv", b"q1\tWhich?\nq2\tWho?\nq7\tWhy?\n")
    (run,) = _read(LINES, queries=queries)
    assert "questions of queries.tsv without results: 1 of 3" in run["notes"]


def test_a_preview_counts_questions_not_lines() -> None:
    content = "".join(f"q{n} Q0 d{rank} {rank} {-rank} t\n" for n in range(9) for rank in range(400))
    source = InputFile.from_bytes("r.trec", content.encode())
    found = preview(source, Options(qrels=InputFile.from_bytes("qrels", QRELS)), limit=5)
    assert not found.complete
    assert found.runs[0].count == 6
    assert not any("without results" in note for note in found.runs[0].notes)


@pytest.mark.parametrize(
    ("file", "tag", "name"),
    [
        ("input.fub03IeOLKe3.gz", "fub03IeOLKe3", "fub03IeOLKe3"),
        ("input", "bm25", "bm25"),
        ("results.txt", "bm25", "bm25"),
        ("bm25.fold1", "Anserini", "bm25.fold1"),
        ("bm25-rm3.trec", "Anserini", "bm25-rm3"),
        ("run.trec", "None", "run"),
    ],
)
def test_a_run_is_named_by_its_file_or_by_its_tag(file: str, tag: str, name: str) -> None:
    content = LINES.replace(" t\n", f" {tag}\n").replace("\tt\n", f"\t{tag}\n").encode()
    (parsed,) = read_runs(InputFile.from_bytes(file, content), Options(), ValidationErrors(file))
    assert (parsed.name, parsed.named_by_content) == (name, False)


def test_a_line_that_is_cut_in_its_tag_is_named() -> None:
    whole = LINES.replace(" t\n", " bm25\n").replace("\tt\n", "\tbm25\n")
    with pytest.raises(
        InputError, match=r"run\.txt:4: the tag 'bm2' is cut short: .* 'bm25'; is the file complete"
    ):
        _read(whole[:-2])
    with pytest.raises(InputError, match=r"run\.txt:4: found 'q2"):
        _read(whole[:-6])
    assert len(_read(whole + "q1 Q0 a 1 1.0 bm\nq2 Q0 a 1 1.0 bm\n")) == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (LINES + "q3 Q0 a 1 5.0\n", "run.txt:5: found 'q3 Q0 a 1 5.0'"),
        (LINES + "q3 Q0 a 1 nan t\n", "run.txt:5: found 'q3 Q0 a 1 nan t'"),
        (LINES + "q3 Q0 a 1 high t\n", "lines `question_id Q0 document_id rank score tag`"),
    ],
)
def test_broken_lines_are_named(content: str, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        _read(content, format="trec")


def test_a_packed_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    packed = gzip.compress(LINES.encode() * 500)
    with pytest.raises(InputError, match=r"run\.gz"):
        read_runs(
            InputFile.from_bytes("run.gz", packed[: len(packed) // 2]),
            Options(format="trec"),
            ValidationErrors("run.gz"),
        )


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (b"\xef\xbb\xbf" + LINES.replace("\n", "\r\n").encode(), "trec"),
        (b'{"q1": {"a": 1.5}}', "scores_json"),
        (b"question,answer,b,c,d,e\nwhat is it then sir,x,1,2.0,y,z\n", "table"),
        (b'{"question": "a b c 1 2.0 t"}', "native"),
    ],
)
def test_the_format_is_told_by_the_content(content: bytes, form: str) -> None:
    assert detect(InputFile.from_bytes("anything", content)) == form


def _beir(folder: Path, runs: dict[str, str], labels: tuple[str, ...] = ("test",)) -> Path:
    (folder / "qrels").mkdir(parents=True)
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "Which?"}\n{"_id": "q2", "text": "Who?"}\n')
    (folder / "corpus.jsonl").write_text(
        '{"_id": "a", "title": "", "text": "first"}\n{"_id": "b", "text": "second"}\n'
    )
    for name in labels:
        (folder / "qrels" / f"{name}.tsv").write_text("query-id\tcorpus-id\tscore\nq1\ta\t1\nq2\tb\t2\n")
    for name, content in runs.items():
        (folder / name).write_text(content)
    return folder


def test_a_beir_folder_with_runs_is_read_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = {
        "bm25.json": '{"q1": {"a": 2, "b": 1}, "q2": {"a": 3}}',
        "dense.trec": "q1 Q0 b 1 1.0 d\nq2 Q0 b 1 1.0 d\n",
    }
    folder = _beir(tmp_path / "toy", runs, ("test", "train"))
    loaded = command(capsys, tmp_path / "w", "import", str(folder), "--json")
    assert loaded.code == 0, loaded.err
    assert [one["name"] for one in loaded.json["runs"]] == ["bm25", "dense"]
    means = {}
    for one in loaded.json["runs"]:
        answer = command(capsys, tmp_path / "w", "metrics", one["run_id"], "--json").json
        means[one["name"]] = answer["metrics"]["recall@1"]["mean"]
        shown = command(capsys, tmp_path / "w", "show", one["run_id"], "--json").json
        assert shown["dataset"] == "toy"
    assert means == {"bm25": 0.5, "dense": 0.5}


@pytest.mark.parametrize(
    ("runs", "labels", "message"),
    [
        ({}, ("dev", "train"), "holds the labels dev.tsv, train.tsv"),
        ({"r.trec": LINES}, ("dev", "train"), "holds the labels dev.tsv, train.tsv"),
    ],
)
def test_a_folder_that_lacks_something_says_what(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    runs: dict[str, str],
    labels: tuple[str, ...],
    message: str,
) -> None:
    answer = command(capsys, tmp_path / "w", "import", str(_beir(tmp_path / "toy", runs, labels)))
    assert answer.code == 2
    assert message in answer.err


def test_a_rank_that_is_no_integer_further_down_is_told_like_a_wrong_one() -> None:
    good = "".join(f"q{at} Q0 a 1 2.0 t\n" for at in range(200))
    (run,) = _read(f"{good}q900 Q0 a {{}}318 2.0 t\nq901 Q0 a 1 2.0 t\n")
    assert any("rank column disagrees with the scores in 1 of 202" in note for note in run["notes"])
