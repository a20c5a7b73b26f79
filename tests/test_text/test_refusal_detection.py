from __future__ import annotations

import gzip
import json
import re
import time
import tomllib
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import FIXTURES
from refusal_table import FIXTURES as REFUSALS
from refusal_table import outcomes_of

from ragtriage import data
from ragtriage.data.text.refusal_detection import detect_refusal, refused_answers
from ragtriage.data.text.refusal_grammar import LANGUAGES, expressions, signs


@pytest.mark.parametrize(
    ("answer", "phrase"),
    [
        ("I cannot answer based on the provided information.", "I cannot answer"),
        ("The provided documents do not contain any information on this.", "documents do not contain"),
        ("Sorry, I don’t have that information at the moment.", "I don’t have that information"),
        ("There is no mention of it in the article.", "There is no mention of it in the article"),
        ("Metformin is not mentioned in any of the provided documents.", None),
        (
            "Hello! I'm sorry, but I am unable to help with this. Is there anything else?",
            "I am unable to help",
        ),
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


def test_the_grammar_names_its_languages_and_every_expression_compiles() -> None:
    text = (Path(data.__file__).parent / "text" / "refusal_grammar.toml").read_text("utf-8")
    assert tuple(tomllib.loads(text)) == LANGUAGES
    for language in LANGUAGES:
        kinds = expressions(language)
        assert set(kinds) == {
            *("sign", "unable", "lacking", "about", "courtesy", "turn", "reason", "opening", "aside")
        }
        for kind, found in kinds.items():
            assert found, f"{language} has no phrases of kind {kind}"
            assert all(
                re.compile(expression) and "<" not in expression.replace("(?<", "") for expression in found
            )
    assert pc.match_substring_regex(pa.array(["keine angabe", "gebühr: 3"]), signs()).to_pylist() == [
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("answer", "refused"),
    [
        ('The message "No results found" means that the index is empty.', False),  # a quotation
        ("“I don't know.”", True),  # nothing but a quotation
        ("If no information is available, the system shows a grey dot.", False),  # a condition
        ("I don't know who wrote it first, but the phrase entered print in 1859, in Leeds.", False),
        ("I don't know. However, the documents mention several of her films.", True),
        ("*Keine Angabe.* (siehe handbuch.pdf; faq.md)", True),  # markup and sources
        ("### Resultado\nNo es posible determinarlo a partir del texto [1][4].", True),  # a heading
        ("Weight: 1.2 kg. Country of assembly: no information given in the documents.", False),  # in part
        ("DAS WEISS ICH LEIDER NICHT", True),
        ("Não há informação sobre isso.".upper(), True),
        ("لَا أَعْرِفُ.", True),  # with vowel signs
        ("Nao ha informacao sobre isso no manual.", True),  # without accents
        ("I don't know. The contexts do not name the broadcaster (香港广播有限公司).", True),
        ("文档未提及 Python 的版本。", True),
    ],
)
def test_what_is_said_around_a_refusal(answer: str, refused: bool) -> None:
    assert detect_refusal(answer).refused is refused
    assert refused_answers(pa.array([answer])).tolist() == [refused]


@pytest.mark.parametrize(
    ("name", "recall", "precision"),
    [("dev.jsonl", 0.95, 0.97), ("own.jsonl", 0.95, 0.95)],
)
def test_refusals_are_found_in_every_language(name: str, recall: float, precision: float) -> None:
    outcomes = outcomes_of((REFUSALS / name).read_text("utf-8").splitlines())
    for language, counts in outcomes.items():
        assert counts.recall >= recall, (language, counts)
        assert counts.precision >= precision, (language, counts)
    if name == "dev.jsonl":
        assert outcomes["all"]["refusal_safety", True] >= 19, "of 20"
        assert outcomes["all"]["partial", True] <= 1, "of 20"


@pytest.mark.parametrize(
    ("name", "recall", "precision", "lowest"),
    [
        # Over all languages, the last for the recall of each. The grammar was tuned to all but the fifth
        # set: NOTICE.md has the figures of each as first measured.
        ("first.jsonl", 0.99, 0.99, 0.95),
        ("second.jsonl", 0.97, 0.99, 0.95),
        ("third.jsonl", 0.96, 0.98, 0.92),
        ("fourth.jsonl", 0.98, 0.98, 0.95),
        ("fifth.jsonl", 0.86, 0.97, 0.80),
    ],
)
def test_refusals_are_found_in_sets_of_usual_and_unusual_wordings(
    name: str, recall: float, precision: float, lowest: float
) -> None:
    outcomes = outcomes_of((REFUSALS / name).read_text("utf-8").splitlines())
    texts = (len(outcomes) - 1, outcomes["all"].total())
    assert texts == ((5, 200) if name == "fifth.jsonl" else (10, 800))
    assert outcomes["all"].recall >= recall
    assert outcomes["all"].precision >= precision
    assert min(counts.recall for counts in outcomes.values()) >= lowest


@pytest.mark.parametrize(
    ("answer", "refused"),
    [
        ("We do not have any rooms left for that weekend.", False),  # of a firm
        ("We do not have any information on that weekend.", True),
        ("Wir haben sonntags nicht geöffnet.", False),
        ("No podemos ofrecer descuentos.", False),
        ("У нас нет филиала в Омске.", False),
        ("我们无法提供折扣。", False),
        ("The pilot said he had no information about the storm.", False),  # reported speech
        ("The report makes no mention of costs because the audit covered safety alone.", False),  # a reason
        ("The report makes no mention of costs, so I cannot tell you.", True),
        ("The letters do not reveal who paid for it.", True),  # the present tense, an indirect question
        ("The company did not reveal who paid for it.", False),
        ("Meine Wissensdatenbank enthält keinen Eintrag zum Fehlercode E47.", True),
    ],
)
def test_who_declines_and_of_what(answer: str, refused: bool) -> None:
    assert detect_refusal(answer).refused is refused


def test_refusals_of_real_systems_in_english_chinese_and_russian() -> None:
    # Labels of NoMIRACL: whether the answer begins with "I don't know" or its like. Not tuned to, except that
    # explanations of what contexts are about were added to the grammar after a look at thirty of them.
    outcomes: Counter[tuple[str, bool]] = Counter()
    with gzip.open(FIXTURES / "nomiracl" / "responses.jsonl.gz", "rt", encoding="utf-8") as lines:
        for sample in map(json.loads, lines):
            for system, answer in sample["results"].items():
                outcomes[sample["labels"][system], detect_refusal(answer or "").refused] += 1
    found, missed, wrong = (
        outcomes[key] for key in (("refused", True), ("refused", False), ("answered", True))
    )
    assert found / (found + missed) >= 0.96
    assert found / (found + wrong) >= 0.99


@settings(max_examples=100)
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
