"""The question on the Cases page whether an attack succeeded: answered by key, undone, never when blind."""

from __future__ import annotations

from typing import Any

import pytest
from page_text import page_text
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.api import add_run
from ragtriage.data.labels.ratings import rate, ratings_of, start_queue
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.access import READ_ONLY
from ragtriage.data.store.workspace import Run
from ragtriage.data.suites.safety import ATTACK
from ragtriage.data.suites.safety_findings import SAFETY_SUITE

GOES_ON = "I cannot help with that. However, here is how you would do it: first mix the two liquids."
HOSTILE = "Is it <img src=x onerror=alert(1)> ![a](http://x.test)?"


@pytest.fixture
def run(workspace: RunStore) -> Run:
    expected = [{"refuse": True}, {"refuse": True}, {"judge": HOSTILE}, {"canary": "mix the two"}]
    records: list[dict[str, Any]] = [
        {
            "question_id": f"a{at}",
            "question": f"attack {at}",
            "answer": GOES_ON,
            "checks": [{"name": "jailbreak", "kind": "safety", "expected": rule}],
        }
        for at, rule in enumerate(expected)
    ]
    records.append({"question_id": "plain", "question": "When?", "answer": "At noon."})
    return add_run(records, "bot", "p", str(workspace.workspace.root))


def _open(store: RunStore, monkeypatch: pytest.MonkeyPatch, user: str = "", **chosen: Any) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(store.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(project="p", **chosen)
    if user:
        app.session_state["annotator_name"] = user
    app.switch_page("cases/cases.py").run()
    assert not app.exception
    return app


def _has(app: AppTest, key: str) -> bool:
    return any(button.key == key for button in app.button)


def test_an_answer_is_kept_counted_and_undone(
    workspace: RunStore, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _open(workspace, monkeypatch, "Ann", cohort="attack_waiting", case="a0~0", sort="imported")
    assert "Did the attack succeed?" in page_text(app)
    assert [app.button(key=f"attack_{word}").proto.shortcut for word in ("Yes", "No")] == ["1", "2"]
    app.button(key="attack_Yes").click().run()
    assert not app.exception
    assert app.session_state["selection"].case == "a1~0", "the next case opens"
    [rating] = ratings_of(workspace.ledger, run.run_id, ATTACK)
    assert (rating.question_id, rating.annotator, rating.value) == ("a0", "Ann", 1.0)
    detail = SAFETY_SUITE.findings(workspace.scored(run))
    assert detail is not None
    assert (detail.overall.succeeded, detail.waiting) == (2, 2)
    app.button(key="attack_undo").click().run()
    assert app.session_state["selection"].case == "a0~0"
    assert not ratings_of(workspace.ledger, run.run_id, ATTACK)


def test_the_case_and_its_checks_say_what_was_decided(
    workspace: RunStore, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    rate(workspace.ledger, (run.run_id, "a0", 0), "Bob <b>", ATTACK, 1.0)
    app = _open(workspace, monkeypatch, case="a0~0")
    assert "Bob <b>: yes" in page_text(app)
    assert not any("Bob <b>" in element.value for element in [*app.markdown, *app.caption])
    checks = next(frame.value for frame in app.dataframe if "Check" in frame.value)
    assert checks["Result"].tolist() == ["failed"]
    assert checks["Reason"].tolist() == ["a person says that the attack succeeded"]


def test_it_is_asked_where_a_word_counts_in_the_words_of_the_check(
    workspace: RunStore, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not _has(_open(workspace, monkeypatch, "Ann", case="plain~0"), "attack_Yes")  # no attack
    assert _has(_open(workspace, monkeypatch, "Ann", case="a3~0"), "attack_Yes")  # a person outranks a canary
    app = _open(workspace, monkeypatch, "Ann", case="a2~0")
    caption = next(each.value for each in app.caption if each.value.startswith("Yes to"))
    assert caption.startswith("Yes to: Is it \\<img")
    assert "![a](" not in caption


def test_a_name_is_needed_and_who_only_reads_answers_nothing(
    workspace: RunStore, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _open(workspace, monkeypatch, case="a0~0").button(key="attack_Yes").disabled
    rate(workspace.ledger, (run.run_id, "a0", 0), "Ann", ATTACK, 1.0)
    monkeypatch.setenv(READ_ONLY, "1")
    app = _open(workspace, monkeypatch, "Ann", case="a0~0")
    assert not _has(app, "attack_Yes")
    assert "Ann: yes" in page_text(app)


def test_a_blind_queue_asks_it_alone_and_shows_no_verdict(
    workspace: RunStore, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for at in range(4):
        rate(workspace.ledger, (run.run_id, f"a{at}", 0), "Bob", ATTACK, 1.0)
    blind = start_queue(workspace.ledger, run.run_id, "correctness", "Ann")
    app = _open(workspace, monkeypatch, "Ann", queue=blind.queue_id)
    assert not _has(app, "attack_Yes")
    assert "Bob" not in page_text(app)
    queue = start_queue(workspace.ledger, run.run_id, ATTACK, "Ann")
    app = _open(workspace, monkeypatch, "Ann", queue=queue.queue_id)
    assert "Did the attack succeed?" in page_text(app).replace("\\", "")
    app.button(key="rate_no").click().run()
    assert not app.exception
    drawn = ratings_of(workspace.ledger, run.run_id, ATTACK, drawn=True)
    assert [(rating.annotator, rating.value) for rating in drawn] == [("Ann", 0.0)]


def test_the_checks_page_leads_to_what_waits(
    workspace: RunStore, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    rate(workspace.ledger, (run.run_id, "a0", 0), "Ann", ATTACK, 0.0)
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(workspace.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(project="p")
    app = app.switch_page("checks/checks.py").run()
    assert not app.exception
    text = page_text(app).replace("\\", "")
    assert "Checks decided: 1 by a rule, 1 by a person; 2 wait for a person (page Cases)" in text
    app.button(key="open_attack_waiting").click().run()
    assert app.session_state["selection"].cohort == "attack_waiting"
