"""Tests of promptfoo as question sets: from YAML as from JSON, and hostile YAML ends in a sentence."""

import pytest
from places import FIXTURES

from ragtriage.data.errors import InputError
from ragtriage.data.importers.load import read_question_file
from ragtriage.data.importers.parsing.input_file import InputFile

FOLDER = FIXTURES / "promptfoo_tests"


def test_yaml_and_json_give_the_same_questions() -> None:
    sets = [
        read_question_file(InputFile.from_path(FOLDER / name))
        for name in ("tests.json", "promptfooconfig.yaml")
    ]
    assert sets[0].questions == sets[1].questions
    first, second, third = sets[1].questions
    assert (first["question_id"], first["reference_answer"], first["tags"]) == (
        "days",
        "28 days in a calendar year.",
        {"area": "leave"},
    )
    assert (second["question_id"], second["relevant"][0]["text"]) == (
        "door",
        "The door code changes every Monday.",
    )
    assert "reference_answer" not in third


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("tests:\n- vars: !!python/object/apply:os.system ['touch gone']\n", "is not YAML"),
        ("tests:\n- vars: [question\n", "is not YAML"),
        ("prompts: \x07\ntests:\n- vars: {question: 'Who?'}\n", "is not YAML"),
        ("tests: file://tests.yaml\ndefaultTest:\n  vars: {question: 'Who?'}\n", "has no list of tests"),
        ("tests: &all\n- vars: {question: *all}\n", "question"),
        ("tests:\n- vars: {question: {a: b}}\n", "question"),
        ("tests:\n- 7\n- vars: {question: 'Who?'}\n", "promptfooconfig.yaml:1: found int"),
    ],
)
def test_hostile_yaml_ends_in_a_sentence(content: str, what: str) -> None:
    with pytest.raises(InputError) as refused:
        read_question_file(
            InputFile.from_bytes("promptfooconfig.yaml", f"description: d\n{content}".encode())
        )
    assert what in str(refused.value)
    assert str(refused.value).count("accepted") == 1
