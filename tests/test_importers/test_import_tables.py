"""Cells, names of metrics, mappings, frames, Parquet, previews, and streaming."""

from __future__ import annotations

import io
import json
import math
import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from places import FIXTURES

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.formats.frames import runs_from_frame
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.cells import CellError, read_cell, read_score
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.literals import LiteralError, read_literal
from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.shapes import document_of, documents_of
from ragtriage.data.importers.preview import preview
from ragtriage.data.store.parsed_run import normalise
from ragtriage.data.store.sample_schema import SCHEMA


def records(content: bytes, file: str = "t.csv", **options: Any) -> dict[str, list[Any]]:
    errors = ValidationErrors(file)
    parsed_runs = read_runs(InputFile.from_bytes(file, content), Options(**options), errors)
    found = {parsed.name: [record for _, record in parsed.records] for parsed in parsed_runs}
    errors.raise_if_any()
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("""['it\\'s', "a \\"b\\"", 'c']""", ["it's", 'a "b"', "c"]),
        ("array(['a', 'b'], dtype=object)", ["a", "b"]),
        ("['a' 'b'\n 'c']", ["a", "b", "c"]),
        ("[1 2.5 -3e2]", [1, 2.5, -300.0]),
        ("[np.float64(0.5), np.str_('x')]", [0.5, "x"]),
        ("('a', None, True)", ["a", None, True]),
        ("{'a': [1, (2,)], 'b': {}}", {"a": [1, [2]], "b": {}}),
        (
            "Document(page_content='x', metadata={'k': 1}, id='7')",
            {"page_content": "x", "metadata": {"k": 1}, "id": "7"},
        ),
    ],
)
def test_python_reprs_are_read_as_data(text: str, expected: object) -> None:
    assert read_literal(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("['a', ...]", "shortened"),
        ("['a', 'b", "unexpected"),
        ("__import__('os').system('x')", "more text"),
        ("[x for x in y]", "the name 'x'"),
        ("open('a', 'w')", "a call of 'open'"),
        ("[" * 100, "nested too deeply"),
        ("lambda: 1", "the name 'lambda'"),
    ],
)
def test_anything_else_is_refused_and_never_run(text: str, message: str) -> None:
    with pytest.raises(LiteralError, match=message):
        read_literal(text)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("plain", {"text": "plain"}),
        ("Document(page_content='x', metadata={}, id='7')", {"id": "7", "text": "x"}),
        ("page_content='x' metadata={'page': 2}", {"text": "x", "metadata": {"page": 2}}),
        ("Document(page_content=broken)", {"text": "Document(page_content=broken)"}),
        ({"doc_id": "d", "content": "x", "similarity": "0.5"}, {"id": "d", "text": "x", "score": 0.5}),
        ({"chunk_id": "c", "doc_id": "d", "text": "x"}, {"id": "c", "text": "x", "doc_id": "d"}),
        ({"title": "T", "text": math.nan}, {"text": "T"}),
    ],
)
def test_documents_are_read_in_the_forms_tools_write(value: object, expected: object) -> None:
    assert document_of(value) == expected


def test_a_ranked_list_keeps_its_order_and_its_repeats() -> None:
    assert documents_of(["a", "b", "a"]) == [{"text": "a"}, {"text": "b"}, {"text": "a"}]


@pytest.mark.parametrize(
    ("name", "key", "known"),
    [
        ("factual_correctness(mode=f1)", "factual_correctness", True),
        ("Correctness [GEval]", "correctness", True),
        ("answer_correctness_score", "answer_correctness", True),
        ("factual_correctness(mode=precision)", "factual_correctness_precision", False),
        ("noise_sensitivity(mode=relevant)", "noise_sensitivity_relevant", True),
        ("noise_sensitivity(mode=irrelevant)", "noise_sensitivity_irrelevant", True),
        ("llm_context_precision_with_reference", "context_precision", True),
        ("semantic_similarity", "answer_similarity", True),
        ("Answer Relevancy", "answer_relevancy", True),
        ("RougeL", "rouge_l", True),
        ("Bert-KPrec", "bert_kprec", True),
        ("win-rate", "win_rate", True),
        ("Recall@10", "recall@10", True),
        ("hit_rate_at_5", "hit@5", True),
        ("ndcg_10", "ndcg@10", True),
        ("<script>alert(1)</script>", "script_alert_1_script", False),
        ("мера качества", "мера_качества", False),
        ("!!!", "metric", False),
    ],
)
def test_metric_names_are_brought_to_ours(name: str, key: str, known: bool) -> None:
    assert metric_name(name) == (key, known)


def test_failed_metrics_are_nan_and_words_are_refused() -> None:
    assert all(math.isnan(float(str(read_score(value)))) for value in (None, "", " NaN ", "n/a", "None"))
    assert (read_score("0.5"), read_score("1"), read_score(0)) == (0.5, 1, 0)
    with pytest.raises(CellError, match="found 'good'"):
        read_score("good")


@pytest.mark.parametrize(
    ("value", "expected"),
    [("ANSWERABLE", "yes"), (["UNANSWERABLE"], "no"), ("['PARTIAL']", "partial"), (True, "yes"), ("0", "no")],
)
def test_answerability_is_read_from_the_usual_words(value: object, expected: str) -> None:
    assert read_cell("answerable", value) == expected


def test_groups_of_gold_documents_become_hops() -> None:
    assert read_cell("relevant", [["a", "b"], ["c"]]) == [
        {"id": "a", "hop": "1"},
        {"id": "b", "hop": "1"},
        {"id": "c", "hop": "2"},
    ]


def test_ids_scores_and_texts_of_one_list_are_joined() -> None:
    row = {
        "user_input": "q",
        "response": "a",
        "retrieved_contexts": ["one", "two"],
        "retrieved_context_ids": ["i1", "i2"],
        "retrieved_scores": [0.5, 0.25],
        "reference_contexts": ["two", "three"],
    }
    ((record,),) = records(json.dumps([row]).encode(), "t.json").values()
    assert record["retrieved"] == [
        {"text": "one", "id": "i1", "score": 0.5},
        {"text": "two", "id": "i2", "score": 0.25},
    ]
    assert record["relevant"][0] == {"id": "i2"}  # the same text: the retrieved document's id
    assert record["relevant"][1]["id"].startswith("text-")


def test_reference_passages_that_match_nothing_are_no_gold() -> None:
    rows = [{"user_input": "q", "response": "a", "retrieved_contexts": ["x"], "reference_contexts": ["y"]}]
    errors = ValidationErrors("t.json")
    (parsed,) = read_runs(InputFile.from_bytes("t.json", json.dumps(rows).encode()), Options(), errors)
    ((_, record),) = parsed.records
    assert isinstance(record, dict)
    assert "relevant" not in record
    assert record["reference_contexts"] == ["y"]
    assert any("kept as extra, not as gold" in note for note in parsed.notes)


def test_an_override_moves_a_column_and_frees_its_field() -> None:
    content = b"query,answer,response,model\nq1,a,b,m1\nq2,c,d,m2\nq3,e,f,m1\nq4,g,h,m2\n"
    assert set(records(content)) == {"m1", "m2"}
    ((record, *_),) = records(
        content, mapping={"model": "tags.model", "response": "answer", "answer": ""}
    ).values()
    assert record["answer"] == "b"
    assert record["answer (column)"] == "a"
    assert record["tags"] == {"model": "m1"}


def test_a_row_number_is_not_taken_for_the_id_of_a_question() -> None:
    content = b"id,query,answer\n1,same?,a\n2,same?,b\n3,other?,c\n"
    ((first, second, _),) = records(content).values()
    assert "question_id" not in first
    assert (first.get("repeat", 0), second["repeat"]) == (0, 1)


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("latency_s", "2", 2000.0),
        ("latency", "1.5", 1500.0),
        ("latency", "1500", 1500),
        ("latency_ms", "2", 2),
    ],
)
def test_latency_is_brought_to_milliseconds(column: str, value: str, expected: float) -> None:
    ((record,),) = records(f"query,answer,{column}\nq,a,{value}\n".encode()).values()
    assert record["latency_ms"] == expected


def test_a_word_among_latencies_is_a_problem_of_its_line_only() -> None:
    content = b"query,answer,response_time\nq1,a,1.5\nq2,a,soon\nq3,a,2.5\n"
    errors = ValidationErrors("t.csv")
    (parsed,) = read_runs(InputFile.from_bytes("t.csv", content), Options(), errors)
    samples = [normalise(record, line, errors) for line, record in parsed.records]
    assert [sample and sample["latency_ms"] for sample in samples] == [1500.0, None, 2500.0]
    assert [str(problem) for problem in errors.first] == [
        "t.csv:3: latency_ms: found 'soon'; accepted: a finite number, or null"
    ]


def test_a_conversation_as_the_question_is_split() -> None:
    turns = [
        {"type": "human", "content": "hi"},
        {"type": "ai", "content": "hello"},
        {"type": "human", "content": "why?"},
        {"type": "ai", "content": "because"},
    ]
    ((record,),) = records(json.dumps([{"user_input": turns, "reference": "r"}]).encode(), "t.json").values()
    assert (record["question"], record["answer"]) == ("why?", "because")
    assert record["history"] == [{"role": "user", "text": "hi"}, {"role": "assistant", "text": "hello"}]


@pytest.mark.parametrize(
    "document",
    [
        {"question": ["q1", "q2"], "contexts": [["a"], ["b"]], "answer": ["x", "y"]},
        {
            "question": {"0": "q1", "1": "q2"},
            "contexts": {"0": ["a"], "1": ["b"]},
            "answer": {"0": "x", "1": "y"},
        },
        {
            "info": 1,
            "data": [
                {"question": "q1", "contexts": ["a"], "answer": "x"},
                {"question": "q2", "contexts": ["b"], "answer": "y"},
            ],
        },
    ],
)
def test_columns_and_wrapped_rows_in_json_are_read(document: object) -> None:
    (found,) = records(json.dumps(document).encode(), "t.json").values()
    assert [(record["question"], record["retrieved"], record["answer"]) for record in found] == [
        ("q1", [{"text": "a"}], "x"),
        ("q2", [{"text": "b"}], "y"),
    ]


def test_names_and_options_make_the_run() -> None:
    content = b"query,answer,version\nq1,a,v\nq2,b,w\nq1,a,w\nq2,b,v\n"
    assert set(records(content, name="night")) == {"night v", "night w"}
    errors = ValidationErrors("t")
    options = Options(name="mine", config={"k": 5}, dataset="d", mapping={"version": ""})
    (parsed,) = read_runs(InputFile.from_bytes("up/load.csv", content), options, errors)
    assert (parsed.name, parsed.named_by_content, parsed.config, parsed.dataset) == (
        "mine",
        True,
        {"k": 5},
        "d",
    )
    (plain,) = read_runs(
        InputFile.from_bytes("up/load.csv.gz", content), Options(mapping={"version": ""}), errors
    )
    assert plain.name == "load"


def test_qrels_are_joined_by_question_id() -> None:
    content = b'{"question_id": "1", "question": "a", "answer": "x"}\n{"question_id": "2", "question": "b"}\n'
    qrels = InputFile.from_bytes("q.tsv", b"query-id\tcorpus-id\tscore\n1\td1\t2\n1\td2\t0\n")
    ((first, second),) = records(content, "r.jsonl", qrels=qrels).values()
    assert first["relevant"] == [{"id": "d1", "grade": 2.0}, {"id": "d2", "grade": 0.0}]
    assert "relevant" not in second
    with pytest.raises(InputError, match=r"bad\.txt:2: found 'nonsense'; accepted: lines `question_id 0"):
        records(content, "r.jsonl", qrels=InputFile.from_bytes("bad.txt", b"1 0 d1 1\nnonsense\n"))


def samples(found: list[Any]) -> list[Any]:
    errors = ValidationErrors("x")
    made = [normalise(record, line, errors) for line, record in enumerate(found, start=1)]
    errors.raise_if_any()
    return made


def test_stored_parquet_reads_back_as_the_same_samples() -> None:
    (found,) = records((FIXTURES / "native/run.jsonl").read_bytes(), "run.jsonl").values()
    found[0]["checks"] = [{"name": "route", "expected": {"a": 1}, "actual": "x"}]
    found[0]["retrieved"][0]["title"] = "T"
    before = samples(found)
    table = pa.Table.from_pylist([{"row": i, **sample} for i, sample in enumerate(before)], schema=SCHEMA)
    stream = io.BytesIO()
    pq.write_table(table, stream)
    (again,) = records(stream.getvalue(), "samples.parquet").values()
    assert samples(again) == before


def test_a_frame_with_missing_cells_reads_as_records_without_them() -> None:
    frame = pd.DataFrame(
        {
            "question": ["a", "b"],
            "answer": ["x", None],
            "retrieved": [np.array(["t1", "t2"], dtype=object), None],
            "latency_ms": [np.float64(3.0), np.nan],
            "scores": [{"faithfulness": np.nan}, {"faithfulness": 0.5}],
        }
    )
    errors = ValidationErrors("frame")
    (parsed,) = runs_from_frame(frame, "mine", errors)
    first, second = (record for _, record in parsed.records)
    assert (parsed.format, parsed.name) == ("native", "mine")
    assert isinstance(first, dict)
    assert first["retrieved"] == [{"text": "t1"}, {"text": "t2"}]
    assert math.isnan(first["scores"]["faithfulness"])
    assert second == {"question": "b", "scores": {"faithfulness": 0.5}}


def test_rows_from_python_are_understood_like_a_file() -> None:
    rows = [{"user_input": "q", "response": "a", "retrieved_contexts": ["c"], "faithfulness": float("nan")}]
    errors = ValidationErrors("rows")
    (parsed,) = runs_from_frame(rows, "mine", errors)
    ((_, record),) = parsed.records
    assert parsed.format == "ragas"
    assert isinstance(record, dict)
    assert math.isnan(record["scores"]["faithfulness"])
    with pytest.raises(InputError, match="holds no records"):
        runs_from_frame([], "mine", errors)


def test_a_preview_shows_the_mapping_the_runs_and_what_is_filled() -> None:
    found = preview(InputFile.from_path(FIXTURES / "iris_vector_rag/detailed_small.csv"), Options())
    assert found.format == "table"
    assert [(run.name, run.count) for run in found.runs] == [("basic", 2), ("hyde", 2), ("colbert", 2)]
    assert found.complete
    assert {column.column: column.field for column in found.mapping}["contexts"] == "retrieved"
    assert found.filled["retrieved"] == 6
    assert "human" not in found.filled
    assert len(found.records) == 6


def test_a_preview_reads_no_further_than_it_shows() -> None:
    lines = b'{"question": "q", "answer": "a"}\n' * 500 + b"{oops\n"
    found = preview(InputFile.from_bytes("r.jsonl", lines), Options(), limit=20)
    assert not found.complete
    assert (found.runs[0].name, found.total_errors) == ("r", 0)


def test_native_lines_stream_without_being_held() -> None:
    line = json.dumps({"question": "q", "answer": "a" * 2000}).encode() + b"\n"
    source = InputFile.from_bytes("r.jsonl", line * 20_000)  # 40 MB, held by the test itself
    (parsed,) = read_runs(source, Options(), ValidationErrors("r.jsonl"))
    stream: Iterator[Any] = iter(parsed.records)
    next(stream)
    tracemalloc.start()
    count = 1 + sum(1 for _ in stream)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 20_000
    assert peak < 5_000_000


def test_the_shortest_names_and_verdicts_are_read() -> None:
    content = b"q,a,ok,grade\nWho?,Ann,yes,A\nWhen?,May,no,C\n"
    errors = ValidationErrors("t.csv")
    (run,) = read_runs(InputFile.from_bytes("t.csv", content), Options(), errors)
    assert [record for _, record in run.records] == [
        {"question": "Who?", "answer": "Ann", "scores": {"correctness": 1.0, "grade": 1.0}},
        {"question": "When?", "answer": "May", "scores": {"correctness": 0.0, "grade": 0.6}},
    ]
    assert {name: entry["direction"] for name, entry in run.metrics.items()} == {"grade": "higher"}


def test_an_option_of_a_multiple_choice_is_no_answer() -> None:
    ((record, *_),) = records(b"q,a,b,c,docs\nWho?,Ann,Bob,Cleo,d1\nWhen?,May,June,July,d2\n").values()
    assert "answer" not in record


@pytest.mark.parametrize("name", ["Bot answer", "Assistant response", "our_model_output"])
def test_a_column_named_as_somebody_s_answer_is_the_answer(name: str) -> None:
    text = f"Question,Expected answer,{name}\nWho?,Ann Lee,Bob Ray\nWhen?,In May,In June\n"
    (rows,) = records(text.encode()).values()
    assert [row["answer"] for row in rows] == ["Bob Ray", "In June"]
    assert [row["reference_answer"] for row in rows] == ["Ann Lee", "In May"]


def test_ctx_is_read_as_the_retrieved_context() -> None:
    (rows,) = records(b"question,answer,ctx\nWho?,Ann,Ann wrote it.\nWhen?,May,Ann wrote it.\n").values()
    assert [row["retrieved"] for row in rows] == [[{"text": "Ann wrote it."}]] * 2


def test_each_of_several_models_is_a_run() -> None:
    runs = records(b"Question,A answer,B answer\nWho?,Ann Lee,Bob Ray\n")
    assert {name: rows[0]["answer"] for name, rows in runs.items()} == {"A": "Ann Lee", "B": "Bob Ray"}


def test_a_table_without_a_question_says_how_to_name_its_column() -> None:
    for mapping in ({}, {"Antwart": "answer"}):
        with pytest.raises(InputError, match="`--map question=COLUMN`"):
            records(b"Froge,Antwart\nWer?,Ann\n", mapping=mapping)


@pytest.mark.parametrize(("right", "wrong"), [("1", "0"), ("yes", "no"), ("TRUE", "FALSE")])
@pytest.mark.parametrize("column", ["correct", "Is correct", "human_correct"])
def test_a_column_that_calls_answers_correct_is_correctness(column: str, right: str, wrong: str) -> None:
    table = f"question,answer,{column}\nWho?,Ann,{right}\nWhere?,Rome,{wrong}\n".encode()
    assert [record["scores"] for record in records(table)["t"]] == [
        {"correctness": 1.0},
        {"correctness": 0.0},
    ]


def test_correctness_keeps_its_name_beside_a_column_that_says_correct() -> None:
    (record,) = records(b"question,answer,correct,correctness\nWho?,Ann,1,0.4\n")["t"]
    assert record["scores"] == {"correctness": 0.4, "correctness_2": 1.0}


def test_the_gold_document_of_a_question_may_be_one_id() -> None:
    (record,) = records(b'question,retrieved_ids,gold_id\nWho?,"a, b",b\n')["t"]
    assert record["relevant"] == ["b"]
