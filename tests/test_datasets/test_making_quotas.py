"""Shares of documents, sections and kinds, and the passages that questions are written from."""

from collections import Counter
from itertools import pairwise

import pytest
from handbook_items import handbook_corpus
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.data.chunking.corpus import Corpus, Document
from ragtriage.data.datasets.making.quotas import WritingPlan, document_quotas, largest_remainder
from ragtriage.data.datasets.windows import CorpusWindows

NAMES = [f"d{number}" for number in range(12)]
FOOTER = "Questions about this page go to the people team in building four, every weekday until five."


@given(st.lists(st.floats(0.1, 100), min_size=1, max_size=12), st.integers(1, 500))
def test_shares_are_whole_and_within_one_of_exact(weights: list[float], n: int) -> None:
    named = dict(zip(NAMES, weights, strict=False))
    shares = largest_remainder(named, n)
    assert sum(shares.values()) == n
    assert all(abs(shares[name] - n * weight / sum(weights)) < 1 for name, weight in named.items())


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=12), st.integers(1, 60))
def test_every_document_has_a_question_until_they_are_used_up(lengths: list[int], n: int) -> None:
    named = dict(zip(NAMES, lengths, strict=False))
    quotas = document_quotas(named, n)
    assert sum(quotas.values()) == n
    assert len(quotas) == min(n, len(named))
    assert min(quotas.values()) >= 1
    longest = sorted(lengths, reverse=True)[: len(quotas)]
    assert sum(named[name] for name in quotas) == sum(longest)


def test_four_times_the_length_is_twice_the_questions() -> None:
    assert document_quotas({"a": 400, "b": 100}, 30) == {"a": 20, "b": 10}


def _page(number: int, words: str) -> Document:
    return Document(f"page{number}", f"{words}\n\n{FOOTER}\n")


def _text(salt: int) -> str:
    return " ".join(f"term{salt}x{number} stands" for number in range(40))


def test_repeated_paragraphs_and_repeated_pages_are_not_written_from() -> None:
    same = _text(1)
    documents = [_page(0, same), _page(1, f"Indeed {same}"), *(_page(at, _text(at)) for at in range(2, 6))]
    documents.append(Document("footer", FOOTER))
    plan = WritingPlan(CorpusWindows(Corpus("c", tuple(documents))), {"single": 6}, 0)
    written = {plan.windows.passages[at].doc_id for at in plan.usable}
    assert written == {"page0", "page2", "page3", "page4", "page5"}
    assert plan.dropped == 2


@pytest.fixture(scope="module")
def handbook() -> CorpusWindows:
    return CorpusWindows(handbook_corpus())


def test_the_plan_is_the_same_for_a_seed_and_another_for_another(handbook: CorpusWindows) -> None:
    shares = {"single": 10, "multi-hop": 5, "adversarial": 5}
    plans = [WritingPlan(handbook, shares, seed) for seed in (3, 3, 4)]
    first, again, other = [plan.writings(plan.slots) for plan in plans]
    assert first == again
    assert first != other
    assert sum(plans[0].slots.values()) == 20


def test_pairs_share_a_rare_word_of_different_places_and_similar_passages_are_elsewhere(
    handbook: CorpusWindows,
) -> None:
    plan = WritingPlan(handbook, {"multi-hop": 10, "adversarial": 10}, 0)
    holders = Counter(word for at in plan.usable for word in plan._words[at])
    for writing in plan.writings(plan.slots):
        first, *second = writing.passages
        if writing.kind == "multi-hop":
            places = [handbook.passages.index(passage) for passage in writing.passages]
            shared = frozenset.intersection(*(plan._words[at] for at in places))
            assert min(holders[word] for word in shared) <= 8
            assert (first.doc_id, first.headings) != (second[0].doc_id, second[0].headings) or (
                places[1] - places[0] == 1
            )
        else:
            assert 1 <= len(writing.similar) <= 2
            for passage in writing.similar:
                assert (
                    passage.doc_id != first.doc_id or passage.end <= first.start or first.end <= passage.start
                )


def test_sections_take_turns(handbook: CorpusWindows) -> None:
    plan = WritingPlan(handbook, {"single": 90}, 0)
    used = Counter(writing.passages[0] for writing in plan.writings(plan.slots))
    assert max(used.values()) == 1
    assert {passage.doc_id for passage in used} == {document.doc_id for document in handbook.corpus.documents}


def test_passages_are_about_400_tokens_and_hold_every_character_once(handbook: CorpusWindows) -> None:
    for document in handbook.corpus.documents:
        passages = [passage for passage in handbook.passages if passage.doc_id == document.doc_id]
        assert "".join(passage.text for passage in passages).split() == document.text.split()
        sizes = [len(passage.text) for passage in passages]
        assert max(sizes) < 3_000
        for size, following in pairwise(sizes):
            assert size + following > 800  # neighbours that fit together are one
