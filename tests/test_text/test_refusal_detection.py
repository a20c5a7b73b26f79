from __future__ import annotations

import json
import re
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import FIXTURES

from ragtriage import data
from ragtriage.data.text.refusal_detection import detect_refusal


@pytest.mark.parametrize(
    ("answer", "phrase"),
    [
        ("I cannot answer based on the provided information.", "I cannot answer"),
        ("The provided documents do not contain any information on this.", "documents do not contain"),
        ("Sorry, I don’t have that information at the moment.", "I don’t have that information"),
        ("There is no mention of it in the article.", "There is no mention of it in"),
        ("Metformin is not mentioned in any of the provided documents.", None),
        ("Hello! I'm sorry, but I am unable to help with this. Is there anything else?", "I am unable to help"),
        ("I don't know.", "I don't know"),
        ("The question is unanswerable.", "unanswerable"),
        ("Прошу прощения, я не могу обработать ваш запрос. Пожалуйста, задайте вопрос о компании.", None),
        ("В предоставленных документах нет информации о зарплатах сотрудников.", "документах нет"),
        ("Документы не содержат сведений о дивидендах за 2023 год.", None),
        ("抱歉，根据提供的文档，我无法回答这个问题。", "根据提供的文档，我无法"),
        ("提供的文档中没有提及该药物的副作用。", "文档中没有提及"),
    ],
)
def test_refusals_are_detected_with_their_declining_phrase(answer: str, phrase: str | None) -> None:
    detected = detect_refusal(answer)
    assert detected.refused
    assert detected.span is not None
    assert detected.phrase == answer[slice(*detected.span)]
    if phrase is not None:
        assert detected.phrase == phrase


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "No.",
        "No, you are not required to have house insurance.",
        "The fee is $30. Late fees are not mentioned in the documents.",
        "The documents do not mention statins. However, statins are commonly prescribed to lower cholesterol "
        "in the blood, which reduces the risk of plaque in the arteries.",
        "The documents do not specify jail sentences, but you can ask the child support office to enforce "
        "the orders by suspending the licence of the other parent or by placing a lien on an account.",
        "В 2012 году нет информации о вводе станций. В 2014 году были введены в эксплуатацию станции "
        "«Астраханская», «Комсомольская» и «Кропоткинская» на территории России, а в 2017 году ещё три.",
        "根据文档，该公司成立于1998年，总部位于北京，主要业务为石油运输，员工超过一万人。文档未提及其利润。",
    ],
)
def test_answers_are_not_refusals(answer: str) -> None:
    assert not detect_refusal(answer).refused


def test_a_substantive_tail_turns_a_refusal_into_an_answer() -> None:
    head = "The documents do not mention the side effects."
    assert detect_refusal(head).refused
    assert detect_refusal(f"{head} The documents focus on the cost of treatment in rural hospitals.").refused
    longer = f"{head} {' '.join(['Word'] * 16)}."
    assert not detect_refusal(longer).refused
    assert detect_refusal(longer).phrase == "documents do not mention"


@pytest.mark.parametrize(
    ("origin", "n", "wrong", "floor"),
    [
        # Labels of mtrag: its "I don't know" judgement on all but partly answerable tasks. Over all 432 such
        # answers 13 of 13 refusals are found, with 1 false alarm (which reads as a refusal).
        ("mtrag", 21, 1, 0.95),
        # Labels of the file's answerability_accuracy ("... Negative": the system declined). Over all 300 of
        # its systems' answers 8 of 12 are found, without a false alarm; the other 4 go on at length.
        ("inspectorraget", 21, 4, 0.80),
        # Labelled by reading the 46 answers with a negation near their start. Over all 210 answers 38 of 40
        # are found, without a false alarm; the two missed ones describe every document at length.
        ("iris_vector_rag", 33, 2, 0.93),
    ],
)
def test_refusals_agree_with_real_labels(origin: str, n: int, wrong: int, floor: float) -> None:
    # The fixtures hold every disagreement and a part of the agreement, so agreement over all is higher. The
    # phrases were written with these answers at hand: the figures say how well they fit, not how they carry.
    samples = json.loads((FIXTURES / origin / "refusals.json").read_text("utf-8"))
    outcome = Counter((sample["refused"], detect_refusal(sample["answer"]).refused) for sample in samples)
    assert sum(outcome.values()) == n
    assert outcome[True, False] + outcome[False, True] <= wrong
    assert (outcome[True, True] + outcome[False, False]) / n >= floor


def test_the_phrases_name_their_languages_and_compile() -> None:
    lists = json.loads((Path(data.__file__).parent / "text" / "refusal_phrases.json").read_text("utf-8"))
    assert set(lists) == {"note", "en", "ru", "zh"}
    for language in ("en", "ru", "zh"):
        assert set(lists[language]) == {"unable", "lacking", "about", "courtesy", "turn"}
        for kind, phrases in lists[language].items():
            assert phrases, f"{language} has no phrases of kind {kind}"
            assert all(re.compile(phrase) for phrase in phrases)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300))
def test_the_span_of_any_text_is_its_phrase(text: str) -> None:
    detected = detect_refusal(text)
    assert (detected.phrase is None) == (detected.span is None)
    if detected.span is not None:
        assert text[slice(*detected.span)] == detected.phrase
    else:
        assert not detected.refused


@pytest.mark.parametrize(
    "hostile",
    [
        "i do not have " + "a " * 50_000,
        "the document " * 20_000,
        "the " * 50_000,
        "i don't have" + " " * 100_000,
        "a" * 200_000,
        "документ " * 20_000,
        "信息" * 50_000,
        "is not " * 20_000,
    ],
)
def test_hostile_text_takes_linear_time(hostile: str) -> None:
    began = time.process_time()
    assert not detect_refusal(hostile).refused
    assert time.process_time() - began < 1
