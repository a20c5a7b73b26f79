"""Answers that say the opposite of a short reference or name somebody else, and those that only look so."""

from __future__ import annotations

import pytest

from ragtriage.data.text.right_by_text import right_by_text

COVERED = "Is water damage covered by the Basic plan?"
WHO = "Who handles claims for hail?"
KELLER = "Anna Keller from the claims team handles hail for all Basic customers."


@pytest.mark.parametrize(
    ("question", "answer", "reference"),
    [
        (COVERED, "Under the Basic plan water damage is not covered.", "Water damage is covered by it."),
        (
            COVERED,
            "Water damage is excluded from the Basic plan.",
            "Water damage is covered by the Basic plan.",
        ),
        (
            COVERED,
            "Unfortunately the Basic plan excludes water damage.",
            "The Basic plan covers water damage.",
        ),
        ("May I smoke here?", "Smoking is forbidden in the office.", "Smoking is allowed in the office."),
        ("Darf man hier rauchen?", "Rauchen ist im Büro verboten.", "Rauchen ist im Büro erlaubt."),
        (
            "When may I cancel?",
            "You may cancel after the 15th of May.",
            "You may cancel before the 15th of May.",
        ),
        ("Is a receipt needed?", "Refunds are paid without a receipt.", "Refunds are paid with a receipt."),
        ("Is the old API there?", "The old API is no longer available.", "The old API is available."),
        ("Is the old API there?", "The old API is still available.", "The old API is no longer available."),
        ("May contractors?", "Contractors may never use the VPN.", "Contractors may use the VPN."),
        ("How long?", "Passwords have at most 12 characters.", "Passwords have at least 12 characters."),
        (WHO, "Claims for hail are handled by Anna Hofer.", "Anna Keller"),
        (WHO, "Claims for hail are handled by Bruno Maier.", KELLER),
        ("Wer leitet das Team?", "Es wird von Bruno Maier geleitet.", "Anna Keller leitet es seit 2019."),
        ("Where is the plant?", "The plant is in New Jersey.", "New York"),
    ],
)
def test_another_than_the_reference(question: str, answer: str, reference: str) -> None:
    match = right_by_text(answer, [reference], question)
    assert match is not None
    assert match.outcome == "other"


@pytest.mark.parametrize(
    ("question", "answer", "reference"),
    [
        ("May I smoke here?", "Smoking is not forbidden in the office.", "Smoking is allowed in the office."),
        (COVERED, "It is excluded unless reported in 3 days.", "It is covered if it is reported in 3 days."),
        ("What is covered?", "Theft is covered and hail is excluded.", "Hail and theft are covered."),
        ("When may I cancel?", "Cancel before the 15th of May, not after.", "Cancel before the 15th of May."),
        (WHO, "The claims team with Anna Keller handles hail.", KELLER),
        (WHO, "Mrs. Keller does.", KELLER),
        (WHO, "Bruno Maier and Anna Keller.", KELLER),
        ("Who wrote it?", "It was written by Elizabeth Rosemond Taylor.", "Elizabeth Taylor"),
        ("Who sang it?", "Eminem sang it.", "Marshall Mathers, known as Eminem, sang it in 2002."),
        ("What happened?", "World War Two began.", "World War II"),
        ("What is it?", 'She sings "Hand In My Pocket".', 'She sings "Ironic" with Brittany Pierce.'),
    ],
)
def test_the_same_or_open(question: str, answer: str, reference: str) -> None:
    match = right_by_text(answer, [reference], question)
    assert match is not None
    assert match.outcome != "other"
