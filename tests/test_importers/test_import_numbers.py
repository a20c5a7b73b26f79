"""Columns with numbers: decimal commas, TRUE / FALSE, 0 / 1, and numbers beside text."""

from __future__ import annotations

from typing import Any

import pytest

from ragtriage.data.declarations import Declaration
from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.store.parsed_run import normalise


def read(text: str, name: str = "t.csv", **options: Any) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the samples of a table and its notes."""
    errors = ValidationErrors(name)
    (parsed,) = read_runs(InputFile.from_bytes(name, text.encode()), Options(**options), errors)
    samples = [normalise(record, line, errors) for line, record in parsed.records]
    errors.raise_if_any()
    return [sample for sample in samples if sample is not None], list(parsed.notes)


def scores(samples: list[dict[str, Any]], metric: str) -> list[float | None]:
    return [
        score["value"] for sample in samples for score in sample["scores"] or () if score["metric"] == metric
    ]


def tags(samples: list[dict[str, Any]], key: str) -> list[str]:
    return [tag["value"] for sample in samples for tag in sample["tags"] or () if tag["key"] == key]


def rows(*cells: str, column: str) -> str:
    return f"query;answer;{column}\n" + "".join(f"q{n};a;{cell}\n" for n, cell in enumerate(cells))


@pytest.mark.parametrize("column", ["faithfulness", "my own measure"])
def test_decimal_commas_are_read_and_told(column: str) -> None:
    samples, notes = read(rows("0,85", "1", "0,5", "", column=column))
    key = column.replace(" ", "_")
    assert scores(samples, key) == [0.85, 1.0, 0.5, None]
    assert notes == [f"column {column!r} is read with decimal commas: 0,85 is 0.85"]


def test_decimal_commas_of_times_are_read() -> None:
    samples, _ = read(rows("1,5", "1.200,25", "2", column="latency_s"))
    assert [sample["latency_ms"] for sample in samples] == [1500.0, 1_200_250.0, 2000.0]


def test_commas_that_may_separate_thousands_are_not_guessed() -> None:
    samples, notes = read(rows("1,234", "2,500", column="word_total_of_mine"))
    assert scores(samples, "word_total_of_mine") == []
    assert notes == [
        "column 'word_total_of_mine' has commas that could be decimal or separate thousands (1,234): "
        "kept as a tag"
    ]


def test_ids_with_commas_stay_as_they_are() -> None:
    samples, _ = read('query,answer,relevant_ids\nq1,a,"3,7"\nq2,b,"12,4"\n')
    assert [sample["relevant"][0]["id"] for sample in samples] == ["3,7", "12,4"]


@pytest.mark.parametrize("cells", [("TRUE", "FALSE", "TRUE"), ("1", "0", "1"), ("yes", "no", "Yes")])
@pytest.mark.parametrize("column", ["faithfulness", "answer is polite and correct", "passed"])
def test_verdicts_become_scores(column: str, cells: tuple[str, ...]) -> None:
    samples, _ = read(rows(*cells, column=column))
    assert scores(samples, column.replace(" ", "_")) == [1.0, 0.0, 1.0]
    assert tags(samples, column) == []


@pytest.mark.parametrize(
    ("cells", "shown"), [(("TRUE", "FALSE", "TRUE"), "TRUE / FALSE"), (("1", "0", "0"), "1 / 0")]
)
def test_other_flags_stay_tags_with_a_question(cells: tuple[str, ...], shown: str) -> None:
    text = rows(*cells, column="multi_part")
    samples, notes = read(text)
    assert tags(samples, "multi_part") == list(cells)
    question = "if one is a score, map it to scores.NAME, as in --map scores.multi_part=multi_part"
    kept = "kept as tags or extra, though they hold numbers or TRUE / FALSE"
    assert notes == [f"{kept}: 'multi_part' ({shown}); {question}"]
    answered, notes = read(text, mapping={"multi_part": "scores.multi_part"})
    assert scores(answered, "multi_part") == [float(cell in ("TRUE", "1")) for cell in cells]
    assert not any("kept as tags" in note for note in notes)


def test_ratings_beyond_one_are_asked_about_and_row_numbers_are_not() -> None:
    text = "query,answer,grip,row,year\n" + "".join(f"q{n},a,{1 + n % 5},{n},2024\n" for n in range(12))
    _, (note,) = read(text)
    assert "'grip' (1 to 5); if one" in note


def test_numbers_beside_text_are_told() -> None:
    samples, notes = read(rows("0.5", "0.25", "not judged", "1", column="own_measure"))
    assert scores(samples, "own_measure") == []
    assert notes == [
        "column 'own_measure' mixes numbers (3) and text (1, as 'not judged'): kept as extra, not as a score"
    ]


def test_a_metric_beside_native_names_is_no_extra() -> None:
    samples, _ = read(
        '{"question": "q", "answer": "a", "retrieved": ["c"], "faithfulness": 0.5}\n', name="t.jsonl"
    )
    assert scores(samples, "faithfulness") == [0.5]


@pytest.mark.parametrize(
    ("column", "cells", "values"),
    [
        ("outcome", ("pass", "FAIL", "Pass"), [1.0, 0.0, 1.0]),
        ("judgement", ("good", "bad", "bad"), [1.0, 0.0, 0.0]),
        ("by ann", ("Correct", "Incorrect", ""), [1.0, 0.0, None]),
        ("passed", ("pass", "pass", "pass"), [1.0, 1.0, 1.0]),
    ],
)
def test_words_of_a_verdict_are_a_metric_with_a_direction(
    column: str, cells: tuple[str, ...], values: list[float | None]
) -> None:
    text = rows(*cells, column=column)
    samples, notes = read(text)
    key = column.replace(" ", "_")
    assert scores(samples, key) == values
    assert tags(samples, column) == []
    assert declared_in(text) == {key: {"direction": "higher", "range": [0, 1]}}
    assert any(note.startswith(f"column {column!r} holds ") and "read as 1 and 0" in note for note in notes)


def declared_in(text: str, **options: Any) -> dict[str, Any]:
    source = InputFile.from_bytes("t.csv", text.encode())
    (parsed,) = read_runs(source, Options(**options), ValidationErrors("t.csv"))
    return dict(parsed.metrics)


def test_letter_grades_are_1_to_0_in_equal_steps_which_is_told() -> None:
    text = rows("A", "b", "F", "E", column="grade")
    samples, notes = read(text)
    assert scores(samples, "grade") == [1.0, 0.8, 0.0, 0.2]
    steps = "A = 1, B = 0.8, C = 0.6, D = 0.4, E = 0.2, F = 0"
    assert notes == [f"column 'grade' holds letter grades, read as {steps}"]
    assert declared_in(text) == {"grade": {"direction": "higher", "range": [0, 1]}}


def test_letters_of_a_multiple_choice_are_no_grades() -> None:
    samples, _ = read(rows("A", "B", "C", "A", column="choice"))
    assert tags(samples, "choice") == ["A", "B", "C", "A"]


@pytest.mark.parametrize(
    ("column", "cells", "words"),
    [
        ("flagged", ("yes", "no", "no"), "yes/no"),
        ("toxic", ("FALSE", "TRUE", "FALSE"), "TRUE/FALSE"),
        ("hallucinated", ("true", "false", "true"), "true/false"),
        ("not correct", ("1", "0", "0"), "1/0"),
    ],
)
def test_which_way_is_good_is_asked_where_it_is_not_plain(
    column: str, cells: tuple[str, ...], words: str
) -> None:
    text = rows(*cells, column=column)
    samples, notes = read(text)
    key, yes = column.replace(" ", "_"), words.partition("/")[0]
    assert scores(samples, key) == [float(cell.lower() in ("yes", "true", "1")) for cell in cells]
    question = f"is {yes} good? say --metric {key}=higher or {key}=lower"
    assert notes == [f"column {column!r} holds {words}: {question}"]
    assert declared_in(text) == {}
    _, notes = read(text, metrics={key: Declaration("lower")})
    assert not any("good?" in note for note in notes), "answered"


def test_a_declared_metric_is_a_score_whatever_its_name() -> None:
    samples, notes = read(
        rows("1", "0", "0", column="multi_part"), metrics={"multi_part": Declaration("higher")}
    )
    assert scores(samples, "multi_part") == [1.0, 0.0, 0.0]
    assert notes == []


def test_a_word_that_is_no_verdict_is_a_failed_score_with_its_reason() -> None:
    cells = [*(("pass", "fail") * 600), "skipped"]
    samples, _ = read(rows(*cells, column="outcome"))
    assert samples[-1]["scores"] == [{"metric": "outcome", "value": None, "reason": "found 'skipped'"}]
    assert scores(samples[:2], "outcome") == [1.0, 0.0]
