"""The first form of the judge, in which earlier replies were recorded, is read as it was."""

from __future__ import annotations

from typing import Any

import pytest

from ragtriage.data.judge.recorded import parse_first_form
from ragtriage.data.judge.reply_model import ReplyError
from ragtriage.data.store.judge_replies import RequestedLabels, reply_from, reply_payload

FULL = RequestedLabels(answer=True, reference=True, ranks=(1, 2, 4))
CLAIM = {"text": "c", "verdict": "supported", "by": [1], "against": [], "in_reference": True}
REPLY: dict[str, Any] = {
    "refused": False,
    "addresses": "fully",
    "complete": "mostly",
    "agrees": "partly",
    "contradicts_itself": False,
    "relevant": [1, 4],
    "used": [1],
    "claims": [CLAIM],
    "statements": [{"text": "s", "by": [2], "in_answer": False}],
    "instructions": [],
}


def test_a_reply_of_the_first_form_has_completeness_and_no_quotes() -> None:
    reply = parse_first_form(REPLY, FULL)
    assert (reply.complete, reply.agrees, reply.version) == ("mostly", "partly", 1)
    assert [(one.by, one.verdict, one.support, one.evidence) for one in reply.claims] == [
        ((1,), "supported", None, ())
    ]


def test_a_result_stored_before_there_were_versions_still_opens() -> None:
    reply = parse_first_form(REPLY, FULL)
    stored = reply_payload(reply)
    del stored["version"]
    for entry in (*stored["claims"], *stored["statements"]):
        del entry["support"], entry["evidence"]
    assert reply_from(stored) == reply


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"claims": [{**CLAIM, "by": []}]}, r"claims\[0\].verdict: 'supported' beside by \[\]"),
        ({"used": [3]}, r"used: \[3\]; accepted: ranks out of 1, 2, 4"),
        ({"refused": True}, "addresses: 'fully' beside refused true; accepted: no where refused is true"),
    ],
)
def test_a_reply_that_does_not_fit_is_refused_by_field(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ReplyError, match=said):
        parse_first_form({**REPLY, **change}, FULL)
