from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.text.patterns import Phrase, PhraseIndex, first_match, required_literals
from ragtriage.data.text.refusal_detection import DetectedRefusal, detect_refusal, refused_answers


@pytest.fixture(scope="module")
def by_every_expression() -> Callable[[str], DetectedRefusal]:
    """Detect a refusal with every expression searched, whatever literals the text has."""

    def detect(answer: str) -> DetectedRefusal:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(PhraseIndex, "candidates", lambda index, _text: index.phrases)
            return detect_refusal.__wrapped__(answer)

    return detect


_WORDS = """
I we can't cannot can not could couldn't do don’t did does is was are it they there no none never
unable able to be have know that answer answered find found information details data mention
mentioned provided the documents document context of beyond scope please provide sorry more
if you need help However but although hello 's is paris capital France river long in unanswerable
не могу знаю нет у меня информации данных ответить найти документы содержат недостаточно но
однако 无法 不能 回答 我 不知道 没有 資訊 信息 文档 ich weiß nicht leider keine Angaben
Text je ne sais pas aucune no lo sé não consta 記載がありません 分かりません لا أعرف غير مذكور عذرًا النص
未 提及 抱歉 但是 介绍 İ ſ K ß № ...
"""
_BETWEEN = [", ", ". ", "! ", "? ", "\n", "。", "，", "；", "; ", " 3", "\u00a0", "’", ",but ", ", but "]
_PIECES = [*_WORDS.split(), *_BETWEEN, "\ud800", "\x00", "\u0301"]


@settings(max_examples=300)
@given(st.lists(st.sampled_from(_PIECES), max_size=30), st.sampled_from([" ", "", "  "]))
def test_refusals_are_those_of_the_expressions_searched_everywhere(
    by_every_expression: Callable[[str], DetectedRefusal], pieces: list[str], between: str
) -> None:
    answer = between.join(pieces)
    assert detect_refusal.__wrapped__(answer) == by_every_expression(answer)


@settings(max_examples=150)
@given(st.text(max_size=200))
def test_refusals_of_any_text_are_those_of_the_expressions(
    by_every_expression: Callable[[str], DetectedRefusal], answer: str
) -> None:
    assert detect_refusal.__wrapped__(answer) == by_every_expression(answer)


@settings(max_examples=150)
@given(st.lists(st.lists(st.sampled_from(_PIECES), max_size=20).map(" ".join) | st.none(), max_size=6))
def test_refusals_of_a_column_are_those_of_its_answers(drawn: list[str | None]) -> None:
    answers = [None if one is None else one.encode("utf-8", "replace").decode() for one in drawn]
    expected = [answer is not None and detect_refusal(answer).refused for answer in answers]
    assert refused_answers(pa.array(answers, pa.string())).tolist() == expected
    every_other = np.arange(len(answers)) % 2 == 0
    wanted = refused_answers(pa.chunked_array([pa.array(answers, pa.string())]), every_other)
    assert wanted.tolist() == [one and at % 2 == 0 for at, one in enumerate(expected)]


def test_refusals_among_the_bundled_answers_are_those_of_the_expressions(
    demo: RunStore, by_every_expression: Callable[[str], DetectedRefusal]
) -> None:
    answers: set[str] = set()
    for run in demo.runs():
        stored = pq.read_table(demo.workspace.samples_path(run.run_id), columns=["answer"])
        answers.update(answer for answer in stored["answer"].to_pylist() if answer)
    assert len(answers) > 1_000
    detected = [by_every_expression(answer) for answer in sorted(answers)]
    assert [detect_refusal(answer) for answer in sorted(answers)] == detected
    assert refused_answers(pa.array(sorted(answers))).tolist() == [one.refused for one in detected]


@pytest.mark.parametrize(
    ("expression", "needs"),
    [
        ("cannot answer", [("cannot answer",)]),
        (r"(?:is|was)\s+(?:\w+ )?(?:found|sound)s?", [("found", "sound"), ("is", "was")]),
        ("colou?r", [("colo",)]),
        ("(?:a|bc)+d", []),  # "a" and "d" alone tell nothing
        ("(?:ab){0,3}[xy]", []),
        ("(?:know|no)(?! that)", [("no",)]),
        ("(?i:abc)", []),
        ("(?:abc|)", []),
        ("不", [("不",)]),
    ],
)
def test_literals_that_an_expression_needs(expression: str, needs: list[tuple[str, ...]]) -> None:
    assert required_literals(expression) == needs


def test_the_first_match_is_that_of_the_expressions_joined() -> None:
    expressions = ["ab+", "b", "abc", "c+a"]
    joined = re.compile("|".join(expressions))
    for text in ("", "xabc", "cab", "bab", "ccab", "zzz"):
        found, expected = first_match([Phrase(one) for one in expressions], text), joined.search(text)
        assert (found and found.span()) == (expected and expected.span())
