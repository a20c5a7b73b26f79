"""Tables as people make them by hand: what each column is read as, and the figures planted in them."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from places import FIXTURES

from ragtriage.data.api import add_file
from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import role_of, scale_in
from ragtriage.data.importers.preview import preview
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.parsed_run import ParsedRun, normalise

FOLDER = FIXTURES / "own_tables"
TABLES: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text("utf-8"))["tables"]
Samples = list[dict[str, Any]]
FIELDS = {  # what a careful person reads a column as -> the fields that say so here
    "question": {"question"},
    "question id": {"question_id"},
    "answer": {"answer"},
    "reference": {"reference_answer"},
    "contexts": {"retrieved", "retrieved_ids"},
    "latency": {"latency_ms"},
}


def read(source: InputFile, **options: Any) -> tuple[dict[str, Samples], list[ParsedRun]]:
    """Return the samples of each run as they would be stored, and the runs as they were parsed."""
    errors = ValidationErrors(source.name)
    parsed = read_runs(source, Options(**options), errors)
    found: dict[str, Samples] = {}
    for run in parsed:
        records = [normalise(record, line, errors) for line, record in run.records]
        found[run.name] = [record for record in records if record is not None]
    errors.raise_if_any()
    return found, parsed


def rows(content: str, name: str = "t.csv", **options: Any) -> Samples:
    """Return the samples of the one run in a table."""
    (samples,) = read(InputFile.from_bytes(name, content.encode()), **options)[0].values()
    return samples


def notes(content: str, name: str = "t.csv", **options: Any) -> str:
    """Return what is said of how a table is read."""
    return "\n".join(preview(InputFile.from_bytes(name, content.encode()), Options(**options)).runs[0].notes)


def fields(source: InputFile, **options: Any) -> dict[str, str]:
    """Return what each column is read as."""
    return {column.column: column.field for column in preview(source, Options(**options)).mapping}


def values(samples: Samples, metric: str) -> list[float | None]:
    entries = [{entry["metric"]: entry["value"] for entry in sample["scores"] or ()} for sample in samples]
    return [entry[metric] for entry in entries if metric in entry]


@pytest.mark.parametrize("name", TABLES)
def test_columns_are_read_as_a_careful_person_reads_them(name: str) -> None:
    found = fields(InputFile.from_path(FOLDER / name))
    for column, truth in TABLES[name]["columns"].items():
        if "of_run" not in truth and column in found and truth["role"] in FIELDS:
            assert found[column] in FIELDS[truth["role"]], column
        elif truth["role"] in ("label", "score") and "of_run" not in truth:
            assert found[column].startswith(("scores.", "human.")), column
        elif truth["role"] == "ignore":
            assert found[column] == "" or found[column].startswith("tags."), column


@pytest.mark.parametrize("name", TABLES)
def test_figures_are_those_that_were_planted(name: str) -> None:
    truth = TABLES[name]
    runs, _ = read(InputFile.from_path(FOLDER / name))
    assert (len(runs), sum(map(len, runs.values()))) == (truth["runs"], truth["samples"])
    if "run_names" in truth:
        assert sorted(runs) == sorted(truth["run_names"])
        for run, figures in truth["figures"]["per_run"].items():
            given = [value for value in values(runs[run], "nota") if value is not None]
            assert fmean(given) == pytest.approx(figures["mean_scores"]["Nota"])
        return
    (samples,) = runs.values()
    passes = truth["figures"]["pass_rate"]
    judged = [value for metric in ("helpful", "correctness") for value in values(samples, metric)]
    rated = [value for value in judged if value is not None]
    assert sum(value == 1 for value in rated) == passes["passed"]
    assert len(rated) == passes["of"]
    refused = sum(sample["refused"] is True for sample in samples)
    assert refused in (0, truth["figures"]["refusals"])  # said in words, or left to the texts
    if "mean_contexts" in truth["figures"]:
        assert (
            fmean(len(sample["retrieved"] or ()) for sample in samples) == truth["figures"]["mean_contexts"]
        )


def test_a_declared_metric_keeps_its_name_and_its_direction() -> None:
    """A rating of helpfulness is called helpful, unless --metric says what it is and which way it is good."""
    content = "question,answer,helpfulness\nWho?,Ann.,4\nWhat?,Bob.,2\nWhy?,No.,5\n"
    declared = {"helpfulness": {"direction": "lower", "range": [1.0, 5.0]}}
    assert values(rows(content, metrics=declared), "helpfulness") == [4.0, 2.0, 5.0]
    assert values(rows(content), "helpful") == [4.0, 2.0, 5.0]


def test_a_scale_is_taken_from_the_heading_or_the_values() -> None:
    _, (run,) = read(InputFile.from_path(FOLDER / "03_city_services_fr.csv"))
    assert run.metrics["note"] == {"direction": "higher", "range": [0.0, 10.0]}
    assert [scale_in(name) for name in ("Note /10", "Quality (1-5)", "4 out of 5", "page 3 of 12x", "k")] == [
        *((0.0, 10.0), (1.0, 5.0), (0.0, 5.0)),
        *(None, None),
    ]


@pytest.mark.parametrize(
    ("heading", "field"),
    [
        ("Question de l'usager", "question"),
        ("Réponse attendue", "reference_answer"),
        ("Antwort", "answer"),
        ("模型回答", "answer"),
        ("参考答案", "reference_answer"),
        ("الإجابة المتوقعة", "reference_answer"),
        ("Fuentes", "retrieved"),
        ("answer_start", ""),
        ("Question type", ""),
        ("context_recall", ""),
        ("poisoned_documents", ""),
        ("Was the answer helpful?", ""),
    ],
)
def test_a_word_in_a_heading_says_what_its_column_holds(heading: str, field: str) -> None:
    assert role_of(heading) == field


def test_partly_right_does_not_pass_and_a_refusal_is_both() -> None:
    samples = rows(
        "Question,Answer,Urteil\nA?,a b,richtig\nB?,c d,teilweise\nC?,e f,falsch\nD?,g h,verweigert\n"
    )
    assert values(samples, "correctness") == [1.0, 0.4, 0.0, 0.0]
    assert [sample["refused"] for sample in samples] == [None, None, None, True]


@pytest.mark.parametrize(
    ("heading", "words", "expected"),
    [
        ("How good is it?", ("Strongly agree", "Disagree", "Agree"), [1.0, 0.25, 0.75]),
        ("Bewertung", ("sehr gut", "ungenügend", "gut"), [1.0, 0.0, 0.8]),
        ("Hilfreich?", ("ja", "nein", "JA"), [1.0, 0.0, 1.0]),
        ("有用", ("是", "否", "是"), [1.0, 0.0, 1.0]),
    ],
)
def test_words_are_read_on_their_scale(heading: str, words: tuple[str, ...], expected: list[float]) -> None:
    body = "".join(f"q{at}?,an answer {at},{word}\n" for at, word in enumerate(words))
    (sample, *others) = rows(f"question,answer,{heading}\n{body}")
    (metric,) = [entry["metric"] for entry in sample["scores"]]
    assert values([sample, *others], metric) == expected


def test_words_that_judge_nothing_stay_tags() -> None:
    samples = rows("question,answer,priority\nA?,a,high\nB?,b,low\nC?,c,high\n")
    assert all(sample["scores"] is None for sample in samples)


def test_yes_is_not_taken_for_good_where_the_heading_names_a_fault() -> None:
    said = notes("question,answer,Halluziniert?\nA?,a,ja\nB?,b,nein\n")
    assert "is ja good? say --metric halluziniert=higher" in said
    (run,) = read(InputFile.from_bytes("t.csv", b"question,answer,Halluziniert?\nA?,a,ja\nB?,b,nein\n"))[1]
    assert run.metrics == {}


LONG = """model,question,answer,metric,value,comment
m1,What is the fee?,10 euros,faithfulness,0.9,
m1,What is the fee?,10 euros,relevancy,0.8,says more
m1,Where is it?,In the hall,faithfulness,0.5,
m1,Where is it?,In the hall,relevancy,0.7,
m2,What is the fee?,12 euros,faithfulness,0.4,wrong
m2,What is the fee?,12 euros,relevancy,,
m2,Where is it?,There,faithfulness,0.3,
m2,Where is it?,There,relevancy,0.2,
"""


def test_a_long_table_is_put_together_by_sample() -> None:
    runs, _ = read(InputFile.from_bytes("t.csv", LONG.encode()))
    assert {name: len(samples) for name, samples in runs.items()} == {"m1": 2, "m2": 2}
    assert values(runs["m1"], "faithfulness") == [0.9, 0.5]
    assert values(runs["m2"], "relevancy") == [None, 0.2]
    reasons = {entry["metric"]: entry["reason"] for entry in runs["m2"][0]["scores"]}
    assert reasons["faithfulness"] == "wrong"


def test_systems_side_by_side_are_a_run_each() -> None:
    table = "question,expected,gpt-4 answer,gpt-4 score,claude answer,claude score\n"
    table += (
        "What is the fee?,10,10 euros a year,5,12 euros a year,1\nWhere is it?,hall,In the main hall,4,,\n"
    )
    runs, _ = read(InputFile.from_bytes("t.csv", table.encode()))
    assert {name: [sample["answer"] for sample in samples] for name, samples in runs.items()} == {
        "gpt-4": ["10 euros a year", "In the main hall"],
        "claude": ["12 euros a year"],
    }
    assert values(runs["gpt-4"], "score") == [5.0, 4.0]


def test_an_answer_with_its_scores_is_one_system() -> None:
    (run,) = read(InputFile.from_bytes("t.csv", b"question,answer,answer score\nA?,a b,5\nB?,c d,2\n"))[0]
    assert run == "t"


UNITS = """Frage;Antwort;Dauer;Kosten;Treffer
Was kostet es?;10 Euro;1,8 s;0,4 ct;85 %
Wo ist es?;In der Halle;950 ms;0,3 ct;40 %
Wann?;Um 9;1,420 ms;0,4 ct;100 %
"""


def test_units_in_cells_are_read() -> None:
    samples = rows("\ufeff" + UNITS)
    assert [sample["latency_ms"] for sample in samples] == [1800.0, 950.0, 1420.0]
    assert [sample["cost_usd"] for sample in samples] == pytest.approx([0.004, 0.003, 0.004])
    assert "1,8 s is 1800 ms" in notes(UNITS)
    assert values(samples, "treffer") == [0.85, 0.4, 1.0]


def test_a_transcript_is_split_into_turns() -> None:
    cell = '"Nutzer: Hallo\nBot: Guten Tag\nnoch etwas?\nNutzer: Was kostet es?\nBot: 10 Euro."'
    (sample, _) = rows(f'id,Verlauf,note\n1,{cell},5\n2,"Kunde: Wo?\nBerater: Dort.",3\n')
    assert (sample["question"], sample["answer"]) == ("Was kostet es?", "10 Euro.")
    assert [turn["text"] for turn in sample["history"]] == ["Hallo", "Guten Tag\nnoch etwas?"]


NESTED = [
    {
        "meta": {"id": at, "ms": 5},
        "request": {"question": f"What is {at}?"},
        "reply": {"answer": f"It is {at}.", "sources": [{"doc": "d", "quote": "It is so."}]},
        "ragas": {"faithfulness": 0.5},
    }
    for at in range(3)
]


def test_nested_objects_are_lifted() -> None:
    (sample, *_) = rows(json.dumps(NESTED), "t.json")
    assert (sample["question_id"], sample["question"], sample["answer"]) == ("0", "What is 0?", "It is 0.")
    assert [(item["id"], item["text"]) for item in sample["retrieved"]] == [("d", "It is so.")]
    assert values([sample], "faithfulness") == [0.5]


def test_a_path_in_nested_objects_can_be_mapped() -> None:
    lines = [{"question": "A?", "answer": "a", "eval": {"mine": {"x": at}}} for at in (0.25, 0.5)]
    content = "\n".join(map(json.dumps, lines))
    samples = rows(content, "t.jsonl", mapping={"eval.mine.x": "scores.faithfulness"})
    assert values(samples, "faithfulness") == [0.25, 0.5]


def test_documents_in_numbered_columns_are_one_list() -> None:
    table = "question,answer,doc_1,doc_1_id,doc_2,doc_2_id\n"
    table += "A?,a,Text one.,D1,Text two.,D2\nB?,b,Text three.,D3,,\n"
    first, second = rows(table)
    assert [(item["id"], item["text"]) for item in first["retrieved"]] == [
        ("D1", "Text one."),
        ("D2", "Text two."),
    ]
    assert [item["id"] for item in second["retrieved"]] == ["D3"]


SURVEY = """Time,Email Address,Question,Answer of the bot,Was the answer correct?,How helpful is it? (1-5)
1,ann@example.com,What is the fee?,10 euros a year,Yes,5
2,bob@example.com,What is the fee?,10 euros a year,No,2
3,ann@example.com,Where is it?,In the main hall,No,1
"""


def test_ratings_of_one_answer_are_labels_without_addresses() -> None:
    first, second = rows(SURVEY)
    assert "@" not in json.dumps([first, second])
    assert [(each["annotator"], each["metric"], each["value"]) for each in first["human"]] == [
        *(("rater 1", "correctness", 1.0), ("rater 1", "helpful", 5.0)),
        *(("rater 2", "correctness", 0.0), ("rater 2", "helpful", 2.0)),
    ]
    assert {(each["low"], each["high"]) for each in second["human"]} == {(0.0, 1.0), (1.0, 5.0)}
    assert "left out, as it holds e-mail addresses: 'Email Address'" in notes(SURVEY)


def test_a_column_can_be_mapped_to_a_label_of_people() -> None:
    table = "question,answer,Helpful,checked by\nA?,a,yes,Ann\nB?,b,no,Bob\n"
    (first, _) = rows(table, mapping={"Helpful": "human.helpful"})
    assert [(each["metric"], each["value"]) for each in first["human"]] == [("helpful", 1.0)]


MARKDOWN = r"""# Week 12

| Question | Bot answer | OK? |
|---|:---:|---|
| What is the fee? | 10 euros \| year | yes |
| Where is it? | In the hall<br>by the door | no |

The end.
"""


def test_a_markdown_table_is_read() -> None:
    samples = rows(MARKDOWN, "notes.md")
    assert [sample["answer"] for sample in samples] == ["10 euros | year", "In the hall\nby the door"]
    assert values(samples, "correctness") == [1.0, 0.0]


def test_a_markdown_row_that_is_too_long_is_an_error_with_its_line() -> None:
    with pytest.raises(InputError, match=r"notes.md:3: has 3 cells; accepted: 2 as in the header"):
        rows("|question|answer|\n|---|---|\n|a|b|c|\n", "notes.md")


def test_ids_in_a_cell_are_ids_and_no_passage() -> None:
    (sample, _) = rows('question,answer,Docs\nA?,a,"KB-1, KB-2"\nB?,b,KB-3\n')
    assert [(item["id"], item.get("text")) for item in sample["retrieved"]] == [
        ("KB-1", None),
        ("KB-2", None),
    ]


def test_nothing_that_can_be_measured_is_no_run() -> None:
    table = "question,tag\nA?,x\nB?,y\n"
    with pytest.raises(InputError, match=r"holds nothing that can be measured.*--map answer=COLUMN"):
        rows(table)
    _, (asked,) = read(InputFile.from_bytes("t.csv", table.encode()), format="table_questions")
    assert asked.questions


def test_text_that_is_not_read_is_said_first() -> None:
    body = "".join(
        f"Q{at}?,0.5,{'The fee is ten euros a year as the leaflet says. ' * 3}{at}\n" for at in range(6)
    )
    first, *_ = notes(f"question,faithfulness,blob\n{body}").split("\n")
    assert first.startswith("column 'blob' holds")
    assert "--map answer=blob" in first


def test_the_nearest_column_is_named() -> None:
    with pytest.raises(InputError, match="'questions' looks like the question: `--map question=questions`"):
        rows("questions,answer\nA?,a\n", mapping={"question": "question"})


def test_a_guess_that_misfits_gives_way() -> None:
    lines = [
        {"question": f"Q{at}?", "reply": f"a{at}", "passages": ["One."], "retrieval_scores": [0.5, 0.4]}
        for at in range(6)
    ]
    content = "\n".join(map(json.dumps, lines))
    assert [sample["retrieved"][0]["text"] for sample in rows(content, "t.jsonl")] == ["One."] * 6
    assert "'retrieval_scores' does not fit retrieved_scores" in notes(content, "t.jsonl")


MEANS = """Chunk size;Overlap;Faithfulness;Context recall;n
200;0;0,81;0,70;120
400;20;0,88;84 %;120
"""


def test_a_printed_grid_of_means_has_its_chunking_as_settings() -> None:
    _, runs = read(InputFile.from_bytes("grid.csv", MEANS.encode()))
    assert [run.name for run in runs] == ["chunk_size 200, overlap 0", "chunk_size 400, overlap 20"]
    assert runs[1].config["chunk_size"] == 400
    assert runs[0].means == {"context_recall": 0.7, "faithfulness": 0.81}


def test_means_under_one_name_twice_are_refused() -> None:
    with pytest.raises(InputError, match="has 2 rows for 'v1' with the same settings"):
        read(InputFile.from_bytes("t.csv", b"version,faithfulness\nv1,0.5\nv1,0.6\n"))


@pytest.mark.parametrize(
    ("header", "row", "expected"),
    [
        (
            "Question,Bot answer,Correct answer",
            "{}?,It is in the town {},The town {}",
            "answer reference_answer",
        ),
        (
            "Question,AI answer,Human answer",
            "{}?,It is in the town {},The town {}",
            "answer reference_answer",
        ),
        ("Pregunta,Respuesta del bot,Respuesta correcta", "{}?,Es en {} sí,El {}", "answer reference_answer"),
        ("问题,模型回答,回答时间", "{}？,在柏林市中心的办公室{},2026-01-0{}", "answer "),
        ("Soru,Bot cevabı,Beklenen cevap", "{}?,Berlin'de {} evet,Berlin {}", "answer reference_answer"),
        ("question,answer,documents", "{}?,a{},{}", "answer "),
        ("question,answer,docs used", "{}?,a{},KB-{}", "answer retrieved_ids"),
        ("question,answer,model_temperature", "{}?,a{},0.{}", "answer "),
        ("question,answer,Priority (1-5)", "{}?,a{},{}", "answer "),
    ],
)
def test_a_heading_beside_others_is_read_for_what_it_is(header: str, row: str, expected: str) -> None:
    body = "\n".join(row.format(at, at, at) for at in range(1, 7))
    found = fields(InputFile.from_bytes("t.csv", f"{header}\n{body}\n".encode()))
    assert [found[name] for name in header.split(",")][1:] == expected.split(" ")


def test_rows_that_sum_up_others_are_no_questions() -> None:
    samples = rows("Question,Answer,Score\nA?,is a,1\nB?,is b,0\nAverage,,0.5\n")
    assert [sample["question"] for sample in samples] == ["A?", "B?"]


def test_a_comment_of_one_word_is_no_verdict() -> None:
    found = fields(
        InputFile.from_bytes("t.csv", b"question,answer,pass,notes\nA?,a,1,\nB?,b,0,bad\nC?,c,1,\n")
    )
    assert (found["pass"], found["notes"]) == ("scores.pass", "tags.notes")


def test_school_grades_are_not_taken_for_ratings() -> None:
    table = b"Frage,Antwort,Note\nA?,a b,1\nB?,c d,6\nC?,e f,3\n"
    assert fields(InputFile.from_bytes("t.csv", table))["Note"] == ""


def test_a_dry_run_finds_what_an_import_finds() -> None:
    found = preview(InputFile.from_bytes("t.csv", b"question,answer,latency_ms\nA?,a,soon\n"), Options())
    assert found.total_errors == 1


def test_models_under_equal_headings_are_a_run_each() -> None:
    table = "Question,Answer,Score,Answer,Score\n"
    table += "Who?,Ann did it,5,Bob did it,1\nWhen?,In the May,4,In the June,2\n"
    runs, _ = read(InputFile.from_bytes("t.csv", table.encode()))
    assert {name: (samples[0]["answer"], values(samples, "score")) for name, samples in runs.items()} == {
        "1": ("Ann did it", [5.0, 4.0]),
        "2": ("Bob did it", [1.0, 2.0]),
    }


def test_rows_with_a_document_each_are_one_sample() -> None:
    table = "qid,question,answer,rank,passage,score,reviewed\n" + "".join(
        f"q{q},What is {q}?,It is number {q}.,{rank},The passage {rank} about {q},0.{9 - rank},{rank * 7}\n"
        for q in (1, 2)
        for rank in (2, 1, 3)
    )
    samples = rows(table)
    assert [sample["question_id"] for sample in samples] == ["q1", "q2"]
    found = [(document["text"], document["score"]) for document in samples[0]["retrieved"]]
    assert found == [(f"The passage {rank} about 1", (9 - rank) / 10) for rank in (1, 2, 3)]
    said = notes(table)
    assert "put together by 'rank': 2 samples" in said
    assert "left out, as it differs between the rows of a sample: 'reviewed'" in said


def test_answers_that_are_ranked_are_not_put_together() -> None:
    table = "question,answer,rank,doc\n" + "".join(
        f"What is {q}?,The answer {rank} to {q}.,{rank},A passage of some words\n"
        for q in (1, 2)
        for rank in (1, 2)
    )
    assert len(rows(table)) == 4


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (("1 min 5 s", "12 s", "2 min"), [65_000, 12_000, 120_000]),
        (("00:01:05", "01:00:00"), [65_000, 3_600_000]),
    ],
)
def test_times_in_minutes_and_hours_are_read(cells: tuple[str, ...], expected: list[float]) -> None:
    table = "question,answer,Latency\n" + "".join(
        f"What {at}?,Some words,{c}\n" for at, c in enumerate(cells)
    )
    assert [sample["latency_ms"] for sample in rows(table)] == expected


def test_percent_and_fractions_in_one_column_are_shares() -> None:
    cells = ("85%", "0.5", "40 %", "1.0")
    table = "question,answer,faithfulness\n" + "".join(
        f"What {at}?,Words,{c}\n" for at, c in enumerate(cells)
    )
    assert [sample["scores"][0]["value"] for sample in rows(table)] == [0.85, 0.5, 0.4, 1.0]


@pytest.mark.parametrize(
    "words", [("grounded", "hallucinated"), ("supported", "not supported"), ("belegt", "nicht belegt")]
)
def test_grounded_or_hallucinated_is_a_verdict(words: tuple[str, str]) -> None:
    table = "question,answer,Verdict\n" + "".join(f"What {at}?,Words,{w}\n" for at, w in enumerate(words))
    assert f"holds {'/'.join(words)}, read as 1 and 0" in notes(table)


@pytest.mark.parametrize(
    ("heading", "cells", "later", "expected"),
    [
        ("Sterne", ("★★★★☆", "★★☆☆☆"), "★★★☆☆", [0.8, 0.4, 0.6]),
        ("Rating", ("⭐⭐⭐⭐", "⭐⭐⭐⭐⭐"), "⭐", [0.8, 1.0, 0.2]),
        ("Note", ("7/10", "10/10"), "3/10", [0.7, 1.0, 0.3]),
        ("Bewertung", ("4 von 5", "2,5 von 5"), "1 von 5", [0.8, 0.5, 0.2]),
    ],
)
def test_stars_and_marks_out_of_the_greatest_are_shares(
    heading: str, cells: tuple[str, str], later: str, expected: list[float]
) -> None:
    filling = [cells[at % 2] for at in range(2, 300)]  # the last cell is none of the first rows
    table = f"question;answer;{heading}\n" + "".join(
        f"What {at}?;Words;{cell}\n" for at, cell in enumerate((*cells, *filling, later))
    )
    values = [sample["scores"][0]["value"] for sample in rows(table)]
    assert values[:2] + values[-1:] == pytest.approx(expected)
    assert ", read as shares" in notes(table)


def test_a_fraction_that_nothing_says_is_a_mark_is_none() -> None:
    table = "question,answer,Section\nWhat?,Words,7/10\nWho?,Words,3/10\n"
    assert not any(sample["scores"] for sample in rows(table))


def test_addresses_in_comments_are_left_out_and_said() -> None:
    table = "question,answer,Comment\nWhat?,Words,ask anna@firm.example about it\nWho?,Words,fine\n"
    assert [sample["tags"][0]["value"] for sample in rows(table)] == ["ask [e-mail] about it", "fine"]
    assert "e-mail addresses are [e-mail] in 'Comment'" in notes(table)


def test_a_table_in_another_encoding_is_refused_with_the_way_to_save_it() -> None:
    with pytest.raises(InputError, match=r"not UTF-8.*in Excel: save as CSV UTF-8"):
        read(InputFile.from_bytes("t.csv", "question,answer\nWas gilt für Öl?,Nichts.\n".encode("cp1252")))


@pytest.mark.parametrize(
    "cell", ["KB-118, KB-120", "['KB-118', 'KB-120']", '["KB-118", "KB-120"]', "[KB-118, KB-120]"]
)
def test_ids_are_read_without_the_marks_of_a_list(workspace: RunStore, tmp_path: Path, cell: str) -> None:
    file = tmp_path / "ids.tsv"
    file.write_text(f"question\tanswer\tretrieved_ids\nWhat?\tThat.\t{cell}\n", encoding="utf-8")
    run = add_file(str(file), workspace=str(workspace.workspace.root))[0]
    (sample,) = workspace.scored(run).samples.read([0], ["retrieved"])
    assert [document["id"] for document in sample["retrieved"]] == ["KB-118", "KB-120"]
