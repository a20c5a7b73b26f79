"""What the replies of a model mean for an item, case by case."""

from dataclasses import replace

import pytest

from ragtriage.data.chunking.corpus import Corpus, Document
from ragtriage.data.datasets.checks import FreeChecks
from ragtriage.data.datasets.item import GoldSpan, Item
from ragtriage.data.datasets.making.candidates import item_of
from ragtriage.data.datasets.making.quotas import Writing
from ragtriage.data.datasets.making.requests import Candidate, QuestionAlone, Quote, ReadReply
from ragtriage.data.datasets.making.verdicts import Shown, alone_verdict, read_verdict, shown_passages
from ragtriage.data.datasets.windows import CorpusWindows
from ragtriage.data.judge.reply_model import Sent, validate_reply

BADGE = "A lost badge costs 25 dollars to replace. Badges are made on Tuesdays."
FEES = "Fees: replacing a lost badge is 25 dollars. A parking card is 40 dollars."
FILLER = " ".join(f"word{number}" for number in range(300))
CORPUS = Corpus(
    "pages", (Document("badge", BADGE), Document("fees", FEES), Document("cars", f"Cars in row 7. {FILLER}"))
)
WINDOWS = CorpusWindows(CORPUS)
GOLD = GoldSpan("badge", 0, 41, BADGE[:41])
ITEM = Item("q1", "What does a lost badge cost?", "25 dollars", "single", (GOLD,))
TWO = replace(
    ITEM,
    kind="multi-hop",
    spans=(replace(GOLD, hop="1"), GoldSpan("cars", 0, 14, "Cars in row 7.", "2")),
)
NONE = replace(ITEM, kind="unanswerable", answerable="no", answer="", spans=(), distractors=(GOLD,))
OTHER = ("full", "replacing a lost badge is 25 dollars")
LIE = ("full", "Fees: replacing")
ABSENT = ("full", "this answers everything")
NOTHING = ("none", "")


def read(
    item: Item, gold: list[str], other: tuple[str, str], answer: str = "25 dollars", denied: str = ""
) -> Item:
    """Return an item after its gold and the page of fees were read."""
    hops = list(item.hops)
    places = [(WINDOWS.around(item.hops[hop][0]), hop) for hop in hops]
    places.append((WINDOWS.around(GoldSpan("fees", 0, 5)), ""))
    said = [(answers, "") for answers in gold] + [other]
    passages = [{"n": at, "answers": each, "quote": quote} for at, (each, quote) in enumerate(said, start=1)]
    sent = {"passages": passages, "answer": answer, "denied": denied}
    reply = validate_reply(sent, ReadReply, Sent(counts={"passages": len(passages)}))
    shown = Shown(tuple(place for place, _ in places), tuple(hop for _, hop in places))
    return read_verdict(item, shown, reply, WINDOWS)


@pytest.mark.parametrize(
    ("item", "gold", "other", "answer", "reason"),
    [
        (ITEM, ["full"], NOTHING, "It costs 25 dollars.", ""),
        (ITEM, ["part"], NOTHING, "25 dollars", "the gold answers in part"),
        (ITEM, ["none"], NOTHING, "", "the gold answers nothing"),
        (ITEM, ["full"], NOTHING, "40 dollars", "answered otherwise: 40 dollars"),
        (ITEM, ["full"], NOTHING, "", "not answered from its gold"),
        (ITEM, ["full"], LIE, "25 dollars", ""),
        (ITEM, ["full"], ABSENT, "25 dollars", ""),
        (
            replace(ITEM, kind="adversarial"),
            ["full"],
            OTHER,
            "25 dollars",
            "a similar passage answers too: fees",
        ),
        (replace(ITEM, kind="adversarial"), ["full"], ("part", "Fees"), "25 dollars", ""),
        (TWO, ["part", "part"], NOTHING, "25 dollars", ""),
        (TWO, ["full", "part"], NOTHING, "25 dollars", "one passage is enough"),
        (TWO, ["part", "part"], OTHER, "25 dollars", "one passage is enough"),
        (TWO, ["part", "part"], LIE, "25 dollars", ""),
        (TWO, ["part", "none"], NOTHING, "25 dollars", "not needed: 2"),
        (NONE, [], NOTHING, "", ""),
        (NONE, [], OTHER, "25 dollars", "answered in fees"),
        (NONE, [], ABSENT, "25 dollars", ""),
    ],
)
def test_a_blind_reading_decides(
    item: Item, gold: list[str], other: tuple[str, str], answer: str, reason: str
) -> None:
    result = read(item, gold, other, answer)
    assert result.reason == reason
    assert result.rejected_by == ("read" if reason else "")
    assert result.judged["read"]["gold"] == gold


def test_another_place_that_answers_becomes_an_alternative_gold() -> None:
    result = read(ITEM, ["full"], OTHER)
    (places,) = result.hops.values()
    assert [(span.doc_id, span.quote) for span in places] == [
        ("badge", GOLD.quote),
        ("fees", "replacing a lost badge is 25 dollars"),
    ]
    assert FEES[places[1].start : places[1].end] == places[1].quote
    assert read(ITEM, ["full"], LIE).spans == ITEM.spans


def test_a_false_premise_must_be_denied() -> None:
    item = replace(NONE, kind="false-premise", answer="It is not free.")
    assert not read(item, [], OTHER, denied="it costs 25 dollars").rejected_by
    assert read(item, [], OTHER).reason == "no passage denies what it assumes"


@pytest.mark.parametrize(
    ("says", "rejected_by", "known"),
    [
        ({}, "", False),
        ({"stands_alone": False, "open": "which badge"}, "stands_alone", False),
        ({"realism": 3}, "realism", False),
        ({"answer": "about 25 dollars"}, "", True),
        ({"answer": "30 dollars"}, "", False),
    ],
)
def test_a_question_alone_is_rejected_or_known(
    says: dict[str, object], rejected_by: str, known: bool
) -> None:
    usual = {"n": 1, "stands_alone": True, "open": "", "realism": 4, "answer": "unknown"}
    result = alone_verdict(ITEM, QuestionAlone.model_validate(usual | says))
    assert result.rejected_by == rejected_by
    assert result.judged["alone"]["known"] == known
    assert (result.tags.get("known_without_corpus") == "true") == known


def test_the_gold_is_shown_once_among_passages_without_it_and_never_at_one_place() -> None:
    checks = FreeChecks(WINDOWS, [])
    places = set()
    for number in range(12):
        shown = shown_passages(replace(ITEM, question_id=f"q{number}"), checks, 0)
        assert shown.hops.count("span 1") == 1
        places.add(shown.hops.index("span 1"))
        gold = shown.passages[shown.hops.index("span 1")]
        assert gold.holds(GOLD)
        assert not any(each.holds(GOLD) for each in shown.passages if each is not gold)
        assert shown == shown_passages(replace(ITEM, question_id=f"q{number}"), checks, 0)
    assert len(places) > 1


def _candidate(*quotes: str) -> Candidate:
    return Candidate.model_construct(
        question="What  does it\ncost?",
        answer=" 25 dollars ",
        fact="It costs 25 dollars.",
        quotes=[Quote.model_construct(passage=1, quote=quote, asks="") for quote in quotes],
        missing="",
        earlier_question="",
        earlier_answer="",
    )


@pytest.mark.parametrize(
    ("quotes", "gold"),
    [
        (["A lost badge costs 25 dollars to replace."], [("", 0, 41)]),
        (["A lost badge costs 25\ndollars"], [("", 0, 29)]),
        (["A lost badge", "made on Tuesdays"], [("1", 0, 12), ("2", 53, 69)]),
        (["A lost badge", "A lost badge"], [("", 0, 12)]),
    ],
)
def test_quotes_become_spans_of_the_passage(quotes: list[str], gold: list[tuple[str, int, int]]) -> None:
    writing = Writing("single", (WINDOWS.passages[0],))
    item = item_of(_candidate(*quotes), writing, WINDOWS, "q", {})
    assert (item.question, item.answer) == ("What does it cost?", "25 dollars")
    assert [(span.hop, span.start, span.end) for span in item.spans] == gold
    assert all(BADGE[span.start : span.end] == span.quote for span in item.spans)


def test_the_same_text_elsewhere_is_an_alternative_and_a_quote_of_another_page_is_none() -> None:
    twice = CorpusWindows(Corpus("two", (Document("a", BADGE), Document("b", f"Again. {BADGE}"))))
    item = item_of(_candidate(BADGE[:41]), Writing("single", (twice.passages[0],)), twice, "q", {})
    assert [(span.doc_id, span.start, span.hop) for span in item.spans] == [("a", 0, "1"), ("b", 7, "1")]
    foreign = item_of(
        _candidate("A parking card"), Writing("single", (WINDOWS.passages[0],)), WINDOWS, "q", {}
    )
    assert (foreign.rejected_by, foreign.spans) == ("verbatim", ())
    assert foreign.reason == "not in the passage: A parking card"
