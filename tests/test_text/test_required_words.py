from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.text.patterns import Phrase, first_match, required_literals
from ragtriage.data.text.refusal_detection import detect_refusal, refused_answers
from ragtriage.data.text.sentences import split_sentences
from ragtriage.data.text.tokens import count_words, lowered

Detected = tuple[bool, str | None, tuple[int, int] | None]


@cache
def _whole(kind: str) -> re.Pattern[str]:
    """Return one expression of all phrases of a kind, searched in every text: the rule as it is written."""
    lists = json.loads(files("ragtriage.data.text").joinpath("refusal_phrases.json").read_text("utf-8"))
    phrases = [phrase for lines in lists.values() if isinstance(lines, dict) for phrase in lines[kind]]
    return re.compile("|".join(phrases).replace(" ", r"\s+"))


def _units(text: str) -> Iterator[tuple[str, int, int, tuple[int, int]]]:
    lower = lowered(text).replace("’", "'")
    for number, (start, end) in enumerate(split_sentences(text)):
        turns = [match.start() for match in _whole("turn").finditer(lower, start, end)]
        for a, b in pairwise([start, *turns, end]):
            body = _whole("turn").sub("", f"{lower[a:b]} ", count=1).strip()
            for kind in ("unable", "lacking", "courtesy", "about"):
                if (match := _whole(kind).search(body)) is not None:
                    at = max(a, lower.find(match.group(), a, b))
                    yield kind, number, 0, (at, at + len(match.group()))
                    break
            else:
                yield "substance", number, count_words(body), (a, b)


def _detected(answer: str) -> Detected:
    """Detect a refusal with every expression searched in every unit."""
    units: list[tuple[str, int, int, tuple[int, int]]] = []
    for unit in _units(answer[:4000]):
        units.append(unit)
        if sum(words for _, _, words, _ in units) > 15:
            break
    declining = [unit for unit in units if unit[0] in ("unable", "lacking")]
    if not declining:
        return False, None, None
    _, sentence, _, span = declining[0]
    leading = sorted({number for kind, number, _, _ in units if kind not in ("courtesy", "about")})[:2]
    before = sum(words for _, _, words, at in units if at < span)
    plain = any(kind == "unable" for kind, _, _, _ in declining)
    few = sum(words for _, _, words, _ in units) <= 15 and len(answer) <= 4000
    refused = sentence in leading and few and (plain or not before)
    return refused, answer[slice(*span)], span


def _found(answer: str) -> Detected:
    found = detect_refusal(answer)
    return found.refused, found.phrase, found.span


_WORDS = """
I we can't cannot can not could couldn't do don’t did does is was are it they there no none never
unable able to be have know that answer answered find found information details data mention
mentioned provided the documents document context of beyond scope please provide sorry more
if you need help However but although hello 's is paris capital France river long in unanswerable
не могу знаю нет у меня информации данных ответить найти документы содержат недостаточно но
однако 无法 不能 回答 我 不知道 没有 信息 文档 未 提及 抱歉 但是 介绍 İ ſ K ß № ...
"""
_BETWEEN = [", ", ". ", "! ", "? ", "\n", "。", "，", "；", "; ", " 3", "\u00a0", "’", ",but ", ", but "]
_PIECES = [*_WORDS.split(), *_BETWEEN, "\ud800", "\x00", "\u0301"]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(_PIECES), max_size=30), st.sampled_from([" ", "", "  "]))
def test_refusals_are_those_of_the_expressions_searched_everywhere(pieces: list[str], between: str) -> None:
    answer = between.join(pieces)
    assert _found(answer) == _detected(answer)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=200))
def test_refusals_of_any_text_are_those_of_the_expressions(answer: str) -> None:
    assert _found(answer) == _detected(answer)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(st.sampled_from(_PIECES), max_size=20).map(" ".join) | st.none(), max_size=6))
def test_refusals_of_a_column_are_those_of_its_answers(drawn: list[str | None]) -> None:
    answers = [None if one is None else one.encode("utf-8", "replace").decode() for one in drawn]
    expected = [answer is not None and detect_refusal(answer).refused for answer in answers]
    assert refused_answers(pa.array(answers, pa.string())).tolist() == expected
    every_other = np.arange(len(answers)) % 2 == 0
    wanted = refused_answers(pa.chunked_array([pa.array(answers, pa.string())]), every_other)
    assert wanted.tolist() == [one and at % 2 == 0 for at, one in enumerate(expected)]


def test_refusals_among_the_bundled_answers_are_those_of_the_expressions(demo: RunStore) -> None:
    answers: set[str] = set()
    for run in demo.runs():
        stored = pq.read_table(demo.workspace.samples_path(run.run_id), columns=["answer"])
        answers.update(answer for answer in stored["answer"].to_pylist() if answer)
    assert len(answers) > 1_000
    detected = [_detected(answer) for answer in sorted(answers)]
    assert [_found(answer) for answer in sorted(answers)] == detected
    assert refused_answers(pa.array(sorted(answers))).tolist() == [refused for refused, _, _ in detected]


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
