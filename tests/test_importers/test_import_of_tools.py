"""Columns that other tools write in forms of their own: lists of tags and of scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import run
from places import FIXTURES

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import read_question_file
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.store.parsed_run import normalise


def samples(rows: object, **options: Any) -> list[dict[str, Any]]:
    """Return the samples of rows in a JSON file, as they would be stored."""
    errors = ValidationErrors("t.json")
    source = InputFile.from_bytes("t.json", json.dumps(rows).encode())
    (parsed,) = read_runs(source, Options(**options), errors)
    found = [normalise(record, line, errors) for line, record in parsed.records]
    errors.raise_if_any()
    return [sample for sample in found if sample is not None]


def tags(sample: dict[str, Any]) -> dict[str, str]:
    return {tag["key"]: tag["value"] for tag in sample["tags"]}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (["sotu", "econ"], {"tag_sotu": "true", "tag_econ": "true"}),
        ('["sotu"]', {"tag_sotu": "true"}),
        ([{"key": "team", "value": "search"}], {"team": "search"}),
        ({"team": "search", "path": ["a", "b"]}, {"team": "search", "path": '["a", "b"]'}),
        ([], {}),
    ],
)
def test_a_list_of_tags_stands_beside_other_tag_columns(value: object, expected: dict[str, str]) -> None:
    rows = [
        {"input": "a", "output": "x", "tags": value, "level": "DEFAULT"},
        {"input": "b", "output": "y", "tags": value, "level": "ERROR"},
    ]
    for turned in (False, True):
        ordered = [dict(reversed(row.items())) if turned else row for row in rows]
        first, second = samples(ordered)
        assert tags(first) == {**expected, "level": "DEFAULT"}
        assert tags(second) == {**expected, "level": "ERROR"}


def test_a_tag_that_is_none_is_named() -> None:
    with pytest.raises(
        InputError, match=r"t\.json:2: tags: holds \['a'\]; accepted: texts, or objects with `key`"
    ):
        samples(
            [{"input": "a", "output": "x", "tags": ["x"]}, {"input": "b", "output": "y", "tags": [["a"]]}]
        )


def test_a_list_of_scores_stands_beside_other_score_columns() -> None:
    scores = [
        {"name": "Answer Relevancy", "value": 0.5, "comment": "terse"},
        {"name": "x", "error": "timeout"},
        {"name": "verdict", "value": "bad"},
    ]
    (sample,) = samples([{"input": "a", "output": "b", "faithfulness": 0.25, "scores": scores}])
    assert {one["metric"]: (one["value"], one["reason"]) for one in sample["scores"]} == {
        "faithfulness": (0.25, None),
        "answer_relevancy": (0.5, "terse"),
        "x": (None, "timeout"),
    }
    assert json.loads(sample["extra"])["scores (list)"][2]["value"] == "bad"


def test_several_evaluators_in_one_cell_are_averaged() -> None:
    rows = [
        {"input": q, "output": "b", "faithfulness": v}
        for q, v in [("a", [0.5, 1.0]), ("b", "[0.25]"), ("c", [])]
    ]
    assert [sample["scores"][0]["value"] for sample in samples(rows)] == [0.75, 0.25, None]


def test_several_scores_of_one_name_in_a_list_are_averaged() -> None:
    scores = [
        {"name": "helpful", "value": 1.0, "comment": "clear"},
        {"name": "helpful", "value": 0.5},
        {"name": "helpful", "error": "timeout"},
        {"name": "broken", "error": "timeout"},
        {"name": "broken", "error": "no key"},
    ]
    (sample,) = samples([{"input": "a", "output": "b", "scores": scores}])
    assert {one["metric"]: (one["value"], one["reason"]) for one in sample["scores"]} == {
        "helpful": (0.75, "clear"),
        "broken": (None, "timeout"),
    }
    assert len(json.loads(sample["extra"])["scores (list)"]) == 5


def test_the_command_tells_what_was_assumed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("query,answer,response_time\nq1,a,1.5\nq2,b,2.5\n", encoding="utf-8")
    note = "column 'response_time' is read as seconds"
    dry = run(capsys, tmp_path, "import", str(file), "--dry-run").out
    assert f"note on t: {note}" in " ".join(dry.split())
    out = " ".join(run(capsys, tmp_path, "import", str(file), "--explain").out.split())
    (loaded,) = run(capsys, tmp_path, "import", str(file), "--json").json["runs"]
    assert f"note on {loaded['run_id']}: {note}" in out
    assert loaded["notes"][0].startswith(note)


def test_the_command_asks_which_way_a_verdict_is_good(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "t.csv"
    file.write_text("query,answer,flagged\nq1,a,yes\nq2,b,no\n", encoding="utf-8")
    question = "column 'flagged' holds yes/no: is yes good? say --metric flagged=higher or flagged=lower"
    assert question in " ".join(run(capsys, tmp_path, "import", str(file)).out.split())
    answered = run(capsys, tmp_path, "import", str(file), "--metric", "flagged=lower").out
    assert "good?" not in answered


def scores(sample: dict[str, Any]) -> dict[str, float | None]:
    return {score["metric"]: score["value"] for score in sample["scores"] or ()}


def samples_of(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the samples of each run in a file."""
    errors = ValidationErrors(path.name)
    found: dict[str, list[dict[str, Any]]] = {}
    for parsed in read_runs(InputFile.from_path(path), Options(), errors):
        normalised = [normalise(record, line, errors) for line, record in parsed.records]
        found[parsed.name] = [sample for sample in normalised if sample is not None]
    errors.raise_if_any()
    return found


@pytest.mark.parametrize("wrapped", [False, True])
def test_metrics_of_deepeval_are_scores_and_its_context_is_the_gold(wrapped: bool, tmp_path: Path) -> None:
    path = FIXTURES / "deepeval" / "test_run.json"
    if wrapped:
        document = json.loads(path.read_text(encoding="utf-8"))
        path = tmp_path / "test_run.json"
        path.write_text(json.dumps({"testRunData": document}), encoding="utf-8")
    first, refused, failed = samples_of(path)["test_run"]
    assert [sample["question_id"] for sample in (first, refused, failed)] == ["q01", "q06", "q08"]
    assert [document["id"] for document in first["retrieved"]] == [
        "sotu-043",
        "sotu-044",
        "sotu-029",
        "sotu-061",
    ]
    assert refused["retrieved"] is None
    assert [scores(sample) for sample in (first, refused, failed)] == [
        {"faithfulness": 1.0, "answer_relevancy": 1.0},
        {"faithfulness": 0.0, "answer_relevancy": 0.25},
        {"faithfulness": 1.0, "answer_relevancy": None},
    ]
    assert "invalid JSON" in failed["scores"][1]["reason"]
    assert [check["passed"] for check in refused["checks"]] == [False, False]
    assert [check["name"] for check in failed["checks"]] == ["Faithfulness"], (
        "a failed metric is not a failed check"
    )
    assert (first["cost_usd"], first["latency_ms"]) == (0.001, 400.0)
    assert tags(first)["tag_sotu"] == "true"
    assert "reference_contexts" in json.loads(first["extra"]), (
        "no gold passage is a retrieved one word for word"
    )
    assert json.loads(first["extra"])["deepeval"]["runDuration"] > 0


def test_the_gold_of_deepeval_goldens_was_not_retrieved() -> None:
    golden = {
        "input": "q", "actual_output": None, "expected_output": "a", "context": ["gold"], "source_file": "f"
    }  # fmt: skip
    (question,) = read_question_file(InputFile.from_bytes("g.json", json.dumps([golden]).encode())).questions
    assert [entry["text"] for entry in question["relevant"]] == ["gold"]
    assert not question.keys() & {"retrieved", "answer"}


def test_a_document_text_alone_is_the_context() -> None:
    (sample,) = samples([{"question": "How?", "document_text": "Long text.", "response": "So."}])
    assert [document["text"] for document in sample["retrieved"]] == ["Long text."]


AUTORAG = {
    "qid": "q1",
    "query": "why?",
    "generation_gt": ["because"],
    "retrieval_gt": [["a"], ["b", "c"]],
    "retrieved_contents_lexical": ["A", "X"],
    "retrieved_ids_lexical": ["a", "x"],
    "retrieve_scores_lexical": [2.0, 1.0],
    "retrieved_contents_semantic": ["B", "A"],
    "retrieved_ids_semantic": ["b", "a"],
    "retrieve_scores_semantic": [0.75, 0.5],
    "retrieval_recall": 1.0,
    "generated_log_probs": [0.5, 0.5, 0.5],
}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, [("b", 0.75), ("a", 0.5)]),
        (
            {"retrieved_contents": ["C"], "retrieved_ids": ["c"], "retrieve_scores": [0.25], "bleu": 0.125},
            [("c", 0.25)],
        ),
    ],
)
def test_the_last_retrieval_of_autorag_is_the_context(more: dict[str, Any], expected: list[Any]) -> None:
    (sample,) = samples([{**AUTORAG, **more}])
    assert [(document["id"], document["score"]) for document in sample["retrieved"]] == expected
    assert [(gold["id"], gold["hop"]) for gold in sample["relevant"]] == [("a", "1"), ("b", "2"), ("c", "2")]
    assert scores(sample) == {"retrieval_recall": 1.0, **({"bleu": 0.125} if more else {})}
    extra = json.loads(sample["extra"])
    assert extra["retrieved_ids_lexical"] == ["a", "x"]
    assert extra["generated_log_probs"] == [0.5, 0.5, 0.5]


def test_predictions_and_targets_of_mtrag_are_answer_and_reference() -> None:
    row = {
        "task_id": "c<::>2",
        "conversation_id": "c",
        "Collection": "mt-rag-govt",
        "Question Type": ["Factoid"],
        "Answerability": ["PARTIAL"],
        "input": [
            {"speaker": "user", "text": "Can I visit?"},
            {"speaker": "agent", "text": "Yes."},
            {"speaker": "user", "text": "When?"},
        ],
        "contexts": [{"document_id": "d1", "score": 12.5, "text": "Open at nine.", "title": "Library"}],
        "targets": [{"speaker": "agent", "text": "At nine."}],
        "predictions": [{"text": "It opens at nine."}],
    }
    (sample,) = samples([row])
    assert (sample["question_id"], sample["conversation_id"], sample["question"]) == ("c<::>2", "c", "When?")
    assert [turn["text"] for turn in sample["history"]] == ["Can I visit?", "Yes."]
    assert (sample["answer"], sample["reference_answer"]) == ("It opens at nine.", "At nine.")
    assert [(document["id"], document["score"]) for document in sample["retrieved"]] == [("d1", 12.5)]
    assert (sample["answerable"], sample["query_type"]) == ("partial", "Factoid")


@pytest.mark.parametrize("as_text", [False, True])
def test_questions_and_answers_are_read_out_of_objects(as_text: bool) -> None:
    rows = [
        {"id": "t1", "input": {"question": "Why?"}, "output": {"answer": "So.", "contexts": ["c1", "c2"]}},
        {"id": "t2", "input": {"question": "How?"}, "output": {"answer": 7, "contexts": []}},
    ]
    cells = [{name: json.dumps(cell) if as_text else cell for name, cell in row.items()} for row in rows]
    cells = [{**cell, "id": row["id"]} for cell, row in zip(cells, rows, strict=True)]
    first, second = samples(cells)
    assert [(sample["question"], sample["answer"]) for sample in (first, second)] == [
        ("Why?", "So."),
        ("How?", "7"),
    ]
    assert [document["text"] for document in first["retrieved"]] == ["c1", "c2"]
    if as_text:  # of objects, every path is a column of its own
        assert json.loads(first["extra"])["output (object)"]["contexts"] == ["c1", "c2"]


def test_text_in_braces_without_a_known_key_stays_as_it_is() -> None:
    (sample,) = samples([{"query": "{name}, are you there?", "response": '{"x": 1}'}])
    assert (sample["question"], sample["answer"]) == ("{name}, are you there?", '{"x": 1}')


def test_annotations_of_phoenix_are_scores_and_labels_are_tags() -> None:
    annotations = [
        {"name": "faithfulness", "label": None, "score": 0.5, "explanation": "half", "error": None},
        {"name": "answer_relevancy", "label": None, "score": None, "error": "timeout"},
        {"name": "tone", "label": "friendly", "score": None, "error": None},
    ]
    (sample,) = samples([{"example_id": "e", "input": "q", "output": "a", "annotations": annotations}])
    assert [(score["metric"], score["value"], score["reason"]) for score in sample["scores"]] == [
        ("faithfulness", 0.5, "half"),
        ("answer_relevancy", None, "timeout"),
    ]
    assert tags(sample)["tone"] == "friendly"


@pytest.mark.parametrize(
    "gold",
    [
        {"gold": {"id": "g", "title": "T", "text": "A passage."}},
        {"references": [{"content": "A passage.", "start_index": 3, "end_index": 9}]},
    ],
)
def test_passages_are_no_reference_answers(gold: dict[str, Any]) -> None:
    (sample,) = samples([{"query": "q", "response": "a", **gold}])
    assert sample["reference_answer"] is None
    assert gold.items() <= json.loads(sample["extra"]).items()


def test_what_tools_record_beside_a_metric_is_no_score() -> None:
    row = {"input": "q", "output": "a", "faithfulness": 0.5, "faithfulness direction": 1.0}
    (sample,) = samples([{**row, "faithfulness feedback cost in USD": 0.0}])
    assert scores(sample) == {"faithfulness": 0.5}


def test_spans_of_traces_are_refused() -> None:
    span = {
        "traceId": "t",
        "id": "s",
        "isRootObservation": False,
        "input": {"query": "q"},
        "output": {"text": "a"},
    }
    with pytest.raises(
        InputError, match=r"t\.json: holds the spans of traces, several to a question; accepted: a"
    ):
        samples([span, {**span, "id": "r"}])
