"""Citation marks in the text of an answer, and the sentences they belong to."""

from __future__ import annotations

import pytest

from ragtriage.data.text.citation_marks import (
    find_marks,
    marked_sentences,
    needs_citation,
    reference_list,
    template_fault,
)


def named(answer: str, *templates: str, ids: frozenset[str] = frozenset()) -> list[tuple[str, ...]]:
    return [mark.names for mark in find_marks(answer, templates, ids)]


def cited(answer: str, ids: frozenset[str] = frozenset()) -> list[tuple[str, list[str]]]:
    """Return the sentences of an answer without their marks, each with what it cites."""
    found = marked_sentences(answer, find_marks(answer, (), ids))
    return [(one.text, [name for mark in one.marks for name in mark.names]) for one in found]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("[1]", [("1",)]),
        ("[1, 2]", [("1", "2")]),
        ("[1][2]", [("1",), ("2",)]),
        ("[2-4]", [("2", "3", "4")]),
        ("[1 and 3]", [("1", "3")]),
        ("[^7]", [("7",)]),
        ("【3】", [("3",)]),
        ("[Source: page 12]", [("12",)]),
        ("[manual.pdf, p. 3-4]", [("3", "4")]),
        ("[Document 2]", [("2",)]),
        ("[Source: guide-7]", [("guide-7",)]),
        ("[citation needed]", [()]),
        ("[2019]", []),  # a year
        ("[see below]", []),
        ("[text](http://host/1)", []),  # a link
        ("`a[1]`", []),
        ("```\na[1]\n```", []),
        ("[" * 5000 + "1" + "]" * 5000, [("1",)]),
    ],
)
def test_the_usual_forms(text: str, names: list[tuple[str, ...]]) -> None:
    assert named(f"A claim {text}.") == names


def test_ids_are_read_where_the_context_has_them() -> None:
    assert named("A [doc_7] and [doc_8] and [doc_7; doc_9].", ids=frozenset({"doc_7"})) == [
        ("doc_7",),
        ("doc_7", "doc_9"),
    ]


def test_a_declared_form_is_read_and_others_are_broken() -> None:
    assert named("One <3>, two <4, 5>, three [6].", "<{n}>") == [("3",), ("4", "5"), ()]
    assert named("As (see: a-1) has it.", "(see: {id})") == [("a-1",)]
    assert named("As {p 3} and (.*)+$ has it.", "{p {page}}", "(.*)+${n}$") == [("3",)]


NO_TEMPLATES: tuple[object, ...] = (
    *([], "", "[1]", "{n}", "[{n}", "{n}]"),
    *(["[{n}]"] * 9, ["a" * 99], [3], "[{n}{id}]"),
)


@pytest.mark.parametrize("templates", NO_TEMPLATES)
def test_what_is_no_template(templates: object) -> None:
    assert template_fault(templates)
    assert template_fault("[{n}]") is None


def test_a_text_of_brackets_ends() -> None:
    brackets = "[doc " * 40_000 + "1"
    assert named(brackets) == []
    assert named(brackets, "[doc {id}]") == []


def test_marks_belong_to_the_sentence_before_or_after_the_full_stop() -> None:
    assert cited("Cats purr [1]. Dogs bark.[2] Birds sing. [3][4] Fish swim, e.g. trout [5].") == [
        ("Cats purr.", ["1"]),
        ("Dogs bark.", ["2"]),
        ("Birds sing.", ["3", "4"]),
        ("Fish swim, e.g. trout.", ["5"]),
    ]


def test_chinese_full_stops_end_a_sentence() -> None:
    assert cited("猫会叫[1]。狗会跑得很快。[2]鸟会飞。") == [
        ("猫会叫。", ["1"]),
        ("狗会跑得很快。", ["2"]),
        ("鸟会飞。", []),
    ]


def test_a_mark_at_the_head_of_a_line_belongs_to_what_follows() -> None:
    assert cited("Two facts:\n[1] Cats purr.\n[2] Dogs bark.") == [
        ("Two facts:", []),
        ("Cats purr.", ["1"]),
        ("Dogs bark.", ["2"]),
    ]


@pytest.mark.parametrize(
    "tail",
    [
        "\n\nReferences:\n[1] A book\n[2] Another",
        "\n\n**Sources**\n- [1] A book",
        "\n\n## 参考文献\n[1] 书",
        "\n[1] A book, 1999",
        " Reference: [1],",
        " Sources: [1], [2]",
    ],
)
def test_a_list_of_references_cites_nothing(tail: str) -> None:
    answer = f"Cats purr loudly [1].{tail}"
    assert reference_list(answer, find_marks(answer)) <= len("Cats purr loudly [1].") + 2
    assert cited(answer) == [("Cats purr loudly.", ["1"])]


def test_a_section_on_sources_in_the_middle_is_no_list() -> None:
    answer = "# Sources\nRivers spring from wells [1].\n# Mouths\nRivers end in deltas [2]."
    assert [names for _, names in cited(answer) if names] == [["1"], ["2"]]


@pytest.mark.parametrize(
    ("sentence", "needed"),
    [
        ("Paris has been the capital of France since 987.", True),
        ("巴黎是法国的首都。", True),
        ("Here are the main points:", False),
        ("## Background", False),
        ("Does that help?", False),
        ("I hope this answers your question.", False),
        ("Yes, indeed.", False),
        ("I cannot answer this question.", False),
        ("The documents do not mention the price.", False),
    ],
)
def test_which_sentences_need_a_citation(sentence: str, needed: bool) -> None:
    assert needs_citation(sentence) is needed


def test_sources_in_a_data_reference_are_ids_of_the_context_or_numbers() -> None:
    answer = "The harbour is deep [Data: Reports 2, Sources (15, 16, +more)]. It is old [Data: Sources (3)]."
    (both, one) = find_marks(answer, (), {"15", "16", "3"})
    assert (both.kind, both.names, one.names) == ("id", ("15", "16"), ("3",))
    assert [mark.kind for mark in find_marks(answer)] == ["number", "number"]
