"""What becomes of gold when its corpus is edited: hand-made edits of the handbook, and properties."""

from dataclasses import replace

from handbook_items import handbook_corpus, handbook_items
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.data.chunking.corpus import Corpus, Document
from ragtriage.data.datasets.checks import FreeChecks
from ragtriage.data.datasets.corpus_change import moved_items, span_changes
from ragtriage.data.datasets.item import GoldSpan, Item
from ragtriage.data.datasets.windows import CorpusWindows

OLD_RULE = "Comp time expires one year (26 pay periods) after it is earned."
NEW_RULE = "Comp time expires 26 pay periods after you earn it."


def _edited(document: Document) -> Document:
    text = document.text
    if document.doc_id == "leave":
        text = text.replace("# Leave", "# Leave\n\nThis page was renewed in 2026.\n", 1)
    if document.doc_id == "overtime":
        text = text.replace(OLD_RULE, NEW_RULE)
    if document.doc_id == "zoom":
        start = text.index("GSA employees may participate")
        text = text[:start] + text[start + 400 :]
    return replace(document, text=text)


def test_an_edited_handbook_sends_back_the_questions_of_the_edited_sentences_alone() -> None:
    old = handbook_corpus()
    new = replace(old, documents=tuple(map(_edited, old.documents)))
    change = span_changes(handbook_items(), old, new)
    assert change.counts == {"same": 46, "moved": 10, "changed": 2, "gone": 1}
    assert change.to_read == ["q06", "q29", "q43"]
    changed = next(each for each in change.spans if each.question_id == "q43")
    # "Travel comp time expires one year ..." stands unchanged on the same page and is not taken for it
    assert changed.now is not None
    assert changed.now.quote.startswith(NEW_RULE)


def test_moved_items_stand_in_the_new_corpus_and_keep_their_content() -> None:
    old = handbook_corpus()
    new = replace(old, documents=tuple(map(_edited, old.documents)))
    change = span_changes(handbook_items(), old, new)
    moved = {item.question_id: item for item in moved_items(handbook_items(), change)}
    checks = FreeChecks(CorpusWindows(new), list(moved.values()))
    for item in handbook_items():
        if item.question_id in moved and item.question_id not in change.to_read:
            now = moved[item.question_id]
            assert now.content_hash == item.content_hash  # so that decisions hold
            assert checks.of(now)[0].state == "passed"
    assert (
        moved["q43"].content_hash != next(i for i in handbook_items() if i.question_id == "q43").content_hash
    )


@given(
    st.text(st.characters(codec="utf-8"), max_size=60),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=40).filter(lambda text: text.strip()),
    st.text(st.characters(codec="utf-8"), max_size=60),
    st.text(st.characters(codec="utf-8"), max_size=30),
)
def test_text_put_before_gold_moves_it_in_any_script(
    before: str, quote: str, behind: str, added: str
) -> None:
    old = Corpus("old", (Document("page", before + quote + behind),))
    new = Corpus("new", (Document("page", added + before + quote + behind),))
    span = GoldSpan("page", len(before), len(before) + len(quote), quote)
    (change,) = span_changes([Item("q", "What?", spans=(span,))], old, new).spans
    assert change.fate in ("same", "moved")
    assert change.now is not None
    text = new.documents[0].text
    assert text[change.now.start : change.now.end] == quote


def test_a_page_that_is_renamed_moves_and_one_that_is_deleted_is_gone() -> None:
    page = Document("a", "The rent is due on the first day of the month.")
    span = GoldSpan("a", 0, len(page.text), page.text)
    item = Item("q", "When is the rent due?", spans=(span,))
    old = Corpus("old", (page, Document("b", "Other text.")))
    renamed = Corpus("new", (replace(page, doc_id="c"), Document("b", "Other text.")))
    assert span_changes([item], old, renamed).counts["moved"] == 1
    assert moved_items([item], span_changes([item], old, renamed))[0].spans[0].doc_id == "c"
    deleted = Corpus("new", (Document("b", "Other text."),))
    assert span_changes([item], old, deleted).counts["gone"] == 1
    assert span_changes([item], old, deleted).to_read == ["q"]
