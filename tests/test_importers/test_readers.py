"""What importers share: a row a sample, numbered questions, files that say nothing alone."""

from __future__ import annotations

import pytest

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.importer import Marks, Options, Peek, Row, read_each, refuse
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.rows import rows_at
from ragtriage.data.importers.parsing.values import fields_in
from ragtriage.data.importers.spans.samples import SCORED_WITHOUT_ANSWER, samples_of

FILE = InputFile.from_bytes(
    "f.jsonl", b'{"q": "Who?", "n": 1}\n[1]\n{"q": "", "n": 2}\n{"q": "When?", "n": 3}\n'
)


def _sample(row: Row, line: int, errors: ValidationErrors) -> Row | None:
    if not row["q"]:
        errors.add(line, "q", "is empty", "a question")
        return None
    return {"question": row["q"]}


def test_each_row_is_a_sample_or_says_what_is_wrong() -> None:
    errors = ValidationErrors(FILE.name)
    read = read_each("acme", _sample, "an object with q", note="read from {file}", questions=True)
    (run,) = read(FILE, Options(), errors)
    assert [line for line, _ in run.records] == [1, 4]
    assert (run.name, run.format, run.questions, run.notes) == ("f", "acme", True, ("read from f.jsonl",))
    assert [str(error) for error in errors.first] == [
        "f.jsonl:2: found list; accepted: an object with q",
        "f.jsonl:3: q: is empty; accepted: a question",
    ]


def test_samples_in_rows_are_numbered_where_a_question_comes_again() -> None:
    rows = [
        (1, {"q": "Who?", "a": "Ann", "s": 1}),
        (2, {"q": " "}),
        (3, {"q": "Who?", "s": 0.5}),
        (4, {"q": "When?", "id": "x"}),
        (5, "no object"),
    ]
    errors = ValidationErrors("f")
    samples = samples_of(
        rows,
        lambda row, _line: {
            "question_id": row.at("id"),
            "question": row.at("q"),
            "answer": row.at("a"),
            "scores": {"faithfulness": row.at("s")} if row.at("s") else {},
        },
        errors,
        "a row without a question",
    )
    assert list(samples) == [
        (1, {"question": "Who?", "repeat": 0, "answer": "Ann", "scores": {"faithfulness": 1}}),
        (3, {"question": "Who?", "repeat": 1, "scores": {"faithfulness": 0.5}}),
        (4, {"question_id": "x", "question": "When?", "repeat": 0}),
    ]
    assert errors.left_out == {"a row without a question": 2}
    assert errors.notes == (f"{SCORED_WITHOUT_ANSWER} (first on line 3; 1 in all)",)


def test_a_file_that_says_nothing_alone_is_refused() -> None:
    with pytest.raises(InputError, match=r"^f\.jsonl: holds scores alone; accepted: them with their traces$"):
        refuse("holds scores alone", "them with their traces")(FILE, Options(), ValidationErrors("f"))


@pytest.mark.parametrize(
    ("content", "at", "recognised"),
    [
        (b'[{"x": 1}, {"a": 1, "b": 2}]', "", True),
        (b'[{"a": 1}, {"b": 2}]', "", False),
        (b'{"data": [{"a": 1, "b": 2}]}', "data", True),
        (b'{"data": [{"a": 1, "b": 2}]}', "", False),
    ],
)
def test_rows_are_known_by_their_names(content: bytes, at: str, recognised: bool) -> None:
    peek = Peek(InputFile.from_bytes("f.json", content))
    assert Marks(rows="a b", at=at).fit(peek) is recognised
    assert Marks(rows="a|c b", at=at).fit(peek) is recognised
    assert not Marks(rows="a", at=at, columns="!a").fit(peek) or at


@pytest.mark.parametrize(
    ("content", "alone", "expected"),
    [
        (b'{"runs": [{"n": 1}, {"n": 2}]}', True, [1, 2]),
        (b'[{"n": 1}]', True, [1]),
        (b'{"n": 7}', True, [7]),
        (b'{"n": 7}', False, []),
        (b'{"n": 1}\n{"n": 2}\n', False, [1, 2]),
    ],
)
def test_rows_are_read_however_a_tool_wrote_them(content: bytes, alone: bool, expected: list[int]) -> None:
    file = InputFile.from_bytes("f.json", content)
    rows = rows_at(file, "runs", ValidationErrors("f"), alone=alone)
    assert [fields_in(row)["n"] for _, row in rows] == expected
