"""Citation metrics by hand, and the two parts of hallucination."""

from __future__ import annotations

import numpy as np
import pytest
from metric_batches import CitedSentence, ClaimRow, Mark, Row, batch

from ragtriage.metrics.metric_registry import compute
from ragtriage.metrics.schema.metric import Convention
from ragtriage.metrics.schema.scores import Status

NAN = float("nan")
RIGHT, WRONG = Mark(), Mark(supports=0, alone=0, rest=0)
OUTSIDE = Mark(supports=0, alone=0, rest=0, in_range=False)
NEEDED = Mark(supports=0, alone=0, rest=0)  # not enough alone, but the others are not without it
IDLE = Mark(supports=0, alone=0, rest=1)  # the others are enough without it
JOINT = Mark(supports=-1, alone=-1, rest=-1)

# An ALCE table worked by hand: sentences S1 to S5 of one answer.
#   S1 [1]        entailed                         recall 1, citation counts 1 of 1
#   S2 [1][2]     entailed, 1 alone, 2 idle        recall 1, counts 1 of 2
#   S3 [3][4]     entailed only by both            recall 1, counts 2 of 2
#   S4 [2]        not entailed                     recall 0, counts 0 of 1
#   S5            no citation                      recall 0
# recall 3 / 5; precision (1 + 1 + 2 + 0) / 6.
TABLE = (
    CitedSentence(1, [RIGHT]),
    CitedSentence(1, [Mark(rest=0), IDLE]),
    CitedSentence(1, [NEEDED, NEEDED]),
    CitedSentence(0, [WRONG]),
    CitedSentence(0, []),
)


def values(rows: list[Row], name: str, convention: Convention = "default") -> list[float]:
    return [float(value) for value in compute(batch(rows), (1,), convention)[name].values]


def test_an_alce_table_worked_by_hand() -> None:
    row = [Row(cited=TABLE)]
    assert values(row, "alce_citation_recall") == [pytest.approx(3 / 5)]
    assert values(row, "alce_citation_precision") == [pytest.approx(4 / 6)]
    assert values(row, "alce_citation_f1") == [pytest.approx(2 * (3 / 5) * (2 / 3) / (3 / 5 + 2 / 3))]
    assert values(row, "citation_recall") == [pytest.approx(3 / 5)]
    assert values(row, "citation_precision") == [pytest.approx(2 / 6)]  # only what supports by itself
    assert values(row, "uncited_sentences") == [pytest.approx(1 / 5)]
    assert values(row, "citation_format") == [1.0]
    assert values(row, "citation_compliance") == [0.0]


def test_a_citation_outside_the_context_is_wrong_in_one_and_left_out_by_the_other() -> None:
    """ALCE's code leaves the sentence's citations out of the denominator and calls it not recalled."""
    row = [Row(cited=[CitedSentence(1, [RIGHT, OUTSIDE]), CitedSentence(1, [RIGHT])], broken=1)]
    assert values(row, "citation_precision") == [pytest.approx(2 / 3)]
    assert values(row, "alce_citation_precision") == [1.0]
    assert values(row, "citation_recall") == [1.0]
    assert values(row, "alce_citation_recall") == [0.5]
    assert values(row, "citation_format") == [pytest.approx(2 / 4)]
    assert values(row, "citation_compliance") == [0.0]


def test_an_answer_without_citations_is_undefined_or_0_by_convention() -> None:
    row = [Row(cited=[CitedSentence(0), CitedSentence(0, needed=False)])]
    scores = compute(batch(row), (1,))
    assert scores["citation_precision"].status.tolist() == [Status.NOT_APPLICABLE]
    assert scores["citation_precision"].reason.tolist() == ["the answer has no citation"]
    assert scores["alce_citation_precision"].values.tolist() == [0.0]
    assert values(row, "citation_precision", "alce") == [0.0]
    assert values(row, "citation_recall") == values(row, "citation_recall", "alce") == [0.0]
    assert values(row, "uncited_sentences") == [1.0]


def test_sentences_that_need_no_citation_do_not_count() -> None:
    row = [Row(cited=[CitedSentence(1, [RIGHT]), CitedSentence(0, needed=False)])]
    assert values(row, "citation_recall") == values(row, "citation_compliance") == [1.0]
    assert values(row, "citation_recall", "alce") == values(row, "alce_citation_recall") == [0.5]
    nothing = compute(batch([Row(cited=[CitedSentence(0, needed=False)])]), (1,))
    assert nothing["citation_recall"].reason.tolist() == ["no sentence of the answer needs a citation"]


@pytest.mark.parametrize("together", [0, 1])
def test_a_joint_label_of_several_citations_gives_no_precision(together: int) -> None:
    row = [Row(cited=[CitedSentence(1, [RIGHT]), CitedSentence(together, [JOINT, JOINT])])]
    scores = compute(batch(row), (1,))
    for name in ("citation_precision", "alce_citation_precision", "citation_f1", "alce_citation_f1"):
        assert scores[name].status.tolist() == [Status.NOT_RUN], name
    assert "several citations" in scores["citation_precision"].reason[0]
    assert scores["citation_recall"].values.tolist() == [(1 + together) / 2]


def test_what_is_estimated_is_no_entailment() -> None:
    scores = compute(batch([Row(cited=TABLE, estimated=True)]), (1,))
    assert scores["citation_recall"].values.tolist() == [pytest.approx(3 / 5)]
    assert scores["alce_citation_recall"].status.tolist() == [Status.NOT_RUN]
    assert "not entailment" in scores["alce_citation_recall"].reason[0]


def test_unread_answers_keep_their_status() -> None:
    scores = compute(batch([Row(), Row(cited=TABLE)]), (1,))
    for name in ("citation_precision", "alce_citation_precision", "citation_format", "citation_compliance"):
        assert scores[name].status.tolist() == [Status.NOT_RUN, Status.SCORED], name
        assert scores[name].reason[0] == "not recorded"


def test_hallucination_is_contradicted_or_not_in_the_context() -> None:
    """Of five claims: one supported, one supported and contradicted, two contradicted, one in no document."""
    claims = [
        ClaimRow(supported=(1,)),
        ClaimRow(supported=(1,), contradicted=(2,)),
        ClaimRow(contradicted=(2,)),
        ClaimRow(contradicted=(1, 2)),
        ClaimRow(),
    ]
    rows = [Row(retrieved=["a", "b"], claims=claims), Row(retrieved=["a"], claims=claims, estimated=True)]
    scores = compute(batch(rows), (1,))
    assert scores["intrinsic_hallucination"].values[0] == pytest.approx(2 / 5)
    assert scores["extrinsic_hallucination"].values[0] == pytest.approx(1 / 5)
    assert scores["ungrounded"].values[0] == pytest.approx(3 / 5)
    assert scores["contradicted"].values[0] == pytest.approx(3 / 5)
    for name in ("intrinsic_hallucination", "extrinsic_hallucination"):
        assert scores[name].status[1] == Status.NOT_RUN, "words cannot show a contradiction"


def test_an_answer_without_claims_has_neither_part() -> None:
    scores = compute(batch([Row(claims=[])]), (1,))
    assert np.isnan(scores["intrinsic_hallucination"].values).all()
    assert compute(batch([Row(claims=[])]), (1,), "ragchecker")["extrinsic_hallucination"].values[0] == 0.0
