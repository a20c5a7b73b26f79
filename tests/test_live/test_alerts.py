"""Alerts over calls: noted once, told once, over a restart too, by command and webhook."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import numpy as np
import pytest
from live_calls import BEGIN, PROJECT, call, made, put, refusing
from places import REPOSITORY

from ragtriage.data.errors import DataError
from ragtriage.data.live.alerts.alerting import Watch
from ragtriage.data.live.alerts.notifications import (
    channels,
    checked_address,
    tell_pending,
    tell_webhook,
    to_tell,
)
from ragtriage.data.live.alerts.states import (
    AlertState,
    alert_states,
    changes,
    note_baselines,
    note_changes,
    rule_title,
)
from ragtriage.data.live.alerts.window_facts import window_means
from ragtriage.data.live.calls import Calls
from ragtriage.data.live.policy import Policy, read_policy
from ragtriage.data.live.topics import forget_words

HOUR = 3_600
RULE = {"metric": "refused", "at_most": 0.15, "window": "1m", "cooldown": "1h"}


def _policy(*rules: dict[str, Any], **tables: Any) -> Policy:
    return Policy.model_validate({"alerts": rules or (RULE,), "windows": {"settle": "1s"}, **tables})


def _look(calls: Calls, policy: Policy, minute: float) -> AlertState:
    now = BEGIN + minute * 60 + 2
    states = alert_states(calls, policy, now)
    note_changes(calls, PROJECT, states, now)
    return states[0]


class Hook(BaseHTTPRequestHandler):
    """A webhook that answers with the next of its codes and keeps what it was sent."""

    codes: ClassVar[list[int]] = []
    got: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Hook.got.append(body)
        code = Hook.codes.pop(0) if Hook.codes else 200
        self.send_response(code)
        if code == 302:
            self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def webhook(*codes: int) -> Iterator[str]:
    Hook.codes, Hook.got = list(codes), []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/secret-path"
    finally:
        server.shutdown()
        server.server_close()


def test_a_rule_over_calls_fires_since_the_first_of_its_windows(tmp_path: Path) -> None:
    _, calls = made(tmp_path)
    assert _look(calls, _policy(), 0).state == "no_data"
    put(calls, *refusing(5, 0.05), *refusing(3, 0.5, first=5))
    assert _look(calls, _policy(), 5).state == "ok"
    assert _look(calls, _policy(), 6).state == "unclear"  # one of the two windows that an alert takes
    alert = _look(calls, _policy(), 8)
    assert (alert.state, alert.since) == ("firing", BEGIN + 300)
    assert alert.latest is not None
    assert (alert.latest.value, alert.latest.n) == (0.5, 60)
    (first, second) = changes(calls)
    assert (first.state, second.state, second.since) == ("ok", "firing", BEGIN + 300)
    text = "shop: refused 50 % [38 %, 62 %] of 60 calls, limit 15 %; firing since 2026-03-01 18:05 UTC"
    assert second.facts["text"] == f"{text}, release 1.0"
    assert second.facts["releases"] == {"1.0": 60}
    assert second.facts["since"] == "2026-03-01T18:05:00Z"
    _look(calls, _policy(), 8.5)
    assert len(changes(calls)) == 2


def test_a_release_that_is_no_name_of_one_is_not_repeated(tmp_path: Path) -> None:
    _, calls = made(tmp_path)
    hostile = ("<!channel>", "\x1b[31m", "x" * 500, "2.0")
    put(calls, *(call(f"{at}", at, release=hostile[at % 4], refused=True) for at in range(120)))
    _look(calls, _policy(), 2)
    (change,) = changes(calls)
    assert change.facts["releases"] == {"2.0": 15}
    assert not {"<", "\x1b"} & set(change.facts["text"])


def test_what_is_watched_of_the_calls(tmp_path: Path) -> None:
    _, calls = made(tmp_path)
    wrong = [call(f"w{at}", at, refused=at < 3, answerable=None if at == 0 else at != 1) for at in range(10)]
    put(calls, *wrong, call("e", 20, error="timed out", refused=None, user_id="ada", latency_ms=70.0))
    put(calls, *(call(f"a{at}", 61, user_id="ada", refused=True, latency_ms=10.0 * at) for at in range(3)))

    def window(at: int, **rule: Any) -> tuple[float, int]:
        alert = alert_states(calls, _policy({"window": "1m", "fewest": 1, **rule}), BEGIN + 130)[0]
        return round(alert.windows[at].window.value, 6), alert.windows[at].window.n

    assert window(0, metric="refused", at_most=0.1) == (0.3, 10)
    assert window(0, metric="wrongly_refused", at_most=0.1) == (0.125, 8)
    assert window(0, metric="errors", at_most=0.1) == (round(1 / 11, 6), 11)
    assert window(1, metric="latency_p50", at_most=5) == (10.0, 3)
    assert window(1, metric="latency_ms", at_most=5) == (10.0, 3)
    assert window(1, metric="calls_a_minute", at_least=5) == (3.0, 3)
    assert window(0, silent="traffic") == (11.0, 11)
    refused = alert_states(calls, _policy({**RULE, "fewest": 1}), BEGIN + 130)[0].windows[1].window
    assert (refused.low, refused.high) == pytest.approx((0.025, 1.0))  # one user, however often


def test_topics_that_move_are_an_alert_after_the_reference(tmp_path: Path) -> None:
    _, calls = made(tmp_path)
    topics = ["leave", "leave", "pay"] * 400 + ["pay", "pay", "badge"] * 40
    put(calls, *(call(f"{at}", at, topic=topic) for at, topic in enumerate(topics)))
    policy = _policy({"drift": "topics", "window": "1m", "fewest": 30})
    assert _look(calls, policy, 20).state == "no_data"
    alert = _look(calls, policy, 22)
    assert (alert.state, alert.since) == ("firing", BEGIN + 1200)
    assert alert.latest is not None
    assert alert.latest.value == pytest.approx(2 / 3)


def test_what_topics_are_held_to_stays_when_old_calls_go_and_names_nobody(tmp_path: Path) -> None:
    _, calls = made(tmp_path)
    topics = ["leave", "leave", "pay"] * 400 + ["pay", "pay", "badge"] * 460
    users = ["", "ada@example.org", "bob"]
    put(calls, *(call(f"{at}", at, topic=topic, user_id=users[at % 3]) for at, topic in enumerate(topics)))
    policy = _policy({"drift": "topics", "window": "1m", "fewest": 30, "windows": 1})
    before = _look(calls, policy, 42)
    note_baselines(calls, policy)
    with calls.changing() as connection:
        assert not connection.execute("SELECT 1 FROM facts WHERE value LIKE '%ada%'").fetchall()
        connection.execute("DELETE FROM calls WHERE time < ?", (BEGIN + 1200,))
    assert _look(calls, policy, 42).windows[-1].window == before.windows[-1].window
    assert before.latest is not None
    assert before.latest.value == pytest.approx(2 / 3)


def test_topics_are_held_to_nothing_before_their_first_windows_have_topics(tmp_path: Path) -> None:
    _, calls = made(tmp_path)
    put(calls, *(call(f"{at}", at, topic="leave" if at % 2 else None) for at in range(1400)))
    policy = _policy({"drift": "topics", "window": "1m"})
    note_baselines(calls, policy)
    with calls.changing() as connection:
        assert not connection.execute("SELECT 1 FROM facts WHERE name LIKE 'baseline%'").fetchall()
        connection.execute("UPDATE calls SET topic = 'pay' WHERE topic IS NULL")
    note_baselines(calls, policy)
    with calls.changing() as connection:
        assert len(connection.execute("SELECT 1 FROM facts WHERE name LIKE 'baseline%'").fetchall()) == 1
        connection.execute("DELETE FROM calls WHERE topic = 'leave'")
    forget_words(calls)
    with calls.open() as connection:
        ((noted,),) = connection.execute("SELECT value FROM facts WHERE name LIKE 'baseline%'").fetchall()
    assert json.loads(noted)[0] == [["other", "", 600], ["pay", "", 600]]


def test_what_was_noted_long_ago_goes_but_for_the_last_of_a_rule(tmp_path: Path) -> None:
    _, calls = made(tmp_path)
    put(calls, *refusing(3, 0.5))
    _look(calls, _policy(), 3)
    put(calls, *refusing(3, 0.0, first=3))
    _look(calls, _policy(), 6)
    assert [change.state for change in changes(calls)] == ["firing", "ok"]
    note_changes(
        calls,
        PROJECT,
        alert_states(calls, _policy({**RULE, "at_most": 0.9}), BEGIN + 360),
        BEGIN + 31 * 86_400,
    )
    assert [change.state for change in changes(calls)] == ["ok", "ok"]


def test_what_fired_long_before_the_windows_that_are_read_still_fires(tmp_path: Path) -> None:
    _, calls = made(tmp_path)
    put(calls, *refusing(3, 0.5))
    assert _look(calls, _policy(), 3).state == "firing"
    put(calls, *refusing(30, 0.16, first=3))  # beyond the limit, but not shown to be
    alert = _look(calls, _policy(), 33)
    assert (alert.state, alert.since) == ("firing", BEGIN)
    put(calls, *refusing(2, 0.1, first=33))
    assert _look(calls, _policy(), 35).state == "ok"


def test_another_limit_is_another_rule_and_another_cooldown_is_not(tmp_path: Path) -> None:
    _, calls = made(tmp_path)
    put(calls, *refusing(3, 0.5))
    key = _look(calls, _policy(), 3).key
    assert _look(calls, _policy({**RULE, "cooldown": "5m"}), 3).key == key
    assert _look(calls, _policy({**RULE, "at_most": 0.2}), 3).key != key


def test_drift_has_limits_that_stay_when_old_calls_go(tmp_path: Path) -> None:
    _, calls = made(tmp_path)
    draw = np.random.default_rng(5)
    tokens = [*draw.normal(1000, 50, 30), *draw.normal(1200, 50, 5)]
    put(calls, *(call(f"{at}", at * 60 + 1, context_tokens=tokens[at]) for at in range(35)))
    policy = _policy({"drift": "context_tokens", "window": "1m", "fewest": 1})
    assert _look(calls, policy, 29).state == "ok"
    alert = _look(calls, policy, 35)
    assert alert.state == "firing"
    note_baselines(calls, policy)
    with calls.changing() as connection:
        connection.execute("DELETE FROM calls WHERE time < ?", (BEGIN + 25 * 60,))
    high = alert.windows[-1].window.high
    assert _look(calls, policy, 35).windows[-1].window.high == pytest.approx(high, rel=1e-6)
    parts, counts, means = window_means(calls, "context_tokens", BEGIN + 1500, BEGIN + 1620, 60)
    assert counts.tolist() == [1, 1]
    assert means == pytest.approx(tokens[25:27])
    assert parts.tolist() == [int(BEGIN // 60) + 25, int(BEGIN // 60) + 26]


def test_traffic_that_ends_is_an_alert_and_a_score_without_runs_no_data(tmp_path: Path) -> None:
    _, calls = made(tmp_path)
    put(calls, *refusing(3, 0.0))
    policy = _policy({"silent": "traffic", "window": "1m"}, {"metric": "correctness", "at_least": 0.7})
    silent, correct = alert_states(calls, policy, BEGIN + 6 * 60)
    assert (silent.state, silent.since) == ("firing", BEGIN + 180)
    assert correct.state == "no_data"


def test_nobody_is_told_twice_and_a_recovery_is_told(tmp_path: Path) -> None:
    _, calls = made(tmp_path)
    put(calls, *refusing(3, 0.5))
    _look(calls, _policy(), 3)
    with webhook() as address:
        policy = _policy(notify={"webhook": address})
        for _ in range(2):  # the second as after a restart
            assert tell_pending(Calls(calls.path), policy, BEGIN + 200, {}) == []
        assert [(each["state"], each["alert"]) for each in Hook.got] == [("firing", "refused at most 15 %")]
        assert "; firing since 2026-03-01 18:00 UTC" in Hook.got[0]["text"]
        put(calls, *refusing(2, 0.0, first=3))
        _look(calls, policy, 5)
        for _ in range(2):
            tell_pending(calls, policy, BEGIN + 320, {})
        assert [each["state"] for each in Hook.got] == ["firing", "ok"]
        assert "; over since 2026-03-01 18:03 UTC" in Hook.got[1]["text"]


def test_what_is_over_is_noted_where_the_next_window_is_unclear(tmp_path: Path) -> None:
    """The watch may look only after the windows that ended it, such as after a restart."""
    _, calls = made(tmp_path)
    put(calls, *refusing(3, 0.5))
    _look(calls, _policy(), 3)
    put(calls, *refusing(2, 0.0, first=3), *refusing(1, 0.2, first=5))
    assert _look(calls, _policy(), 6).state == "unclear"
    assert [change.state for change in changes(calls)] == ["firing", "ok"]


def test_the_state_of_long_windows_is_that_of_the_watch_whatever_time_is_shown(tmp_path: Path) -> None:
    _, calls = made(tmp_path)
    put(calls, *(call(f"{at}", at * 600, refused=True) for at in range(12 * 6)))
    policy = _policy({"metric": "refused", "at_most": 0.15, "window": "6h", "windows": 1, "fewest": 5})
    now = BEGIN + 12 * HOUR
    watched, shown = alert_states(calls, policy, now)[0], alert_states(calls, policy, now, None, now - 600)[0]
    assert (watched.state, shown.state, shown.since) == ("firing", "firing", watched.since)
    note_changes(calls, PROJECT, [watched], now)
    with calls.changing() as connection:  # as when old calls are deleted
        connection.execute("DELETE FROM calls WHERE time < ?", (now - 601,))
    assert alert_states(calls, policy, now, None, now - 600)[0].state == "firing"


def test_a_silence_that_was_noted_after_the_last_call_is_shown_with_it(tmp_path: Path) -> None:
    _, calls = made(tmp_path)
    put(calls, *refusing(5, 0.0))
    policy = _policy({"silent": "traffic", "window": "1m"})
    assert alert_states(calls, policy, BEGIN + 420, None, BEGIN)[0].state == "ok"  # as the example that ended
    assert _look(calls, policy, 7).state == "firing"
    (alert,) = alert_states(calls, policy, BEGIN + 302, None, BEGIN)
    assert (alert.state, alert.since) == ("firing", BEGIN + 300)
    assert "shop: traffic is silent; firing since" in changes(calls)[-1].facts["text"]
    put(calls, *refusing(3, 0.0, first=8))
    assert _look(calls, policy, 10.5).state == "ok"
    assert "shop: traffic is back; over since" in changes(calls)[-1].facts["text"]


def test_flapping_is_held_back_until_the_cooldown_is_over(tmp_path: Path) -> None:
    _, calls = made(tmp_path)
    policy = _policy()
    told = []
    for at, share in enumerate([0.5, 0.0, 0.5, 0.0, 0.5]):
        put(calls, *refusing(2, share, first=2 * at))
        now = 2 * at + 2
        _look(calls, policy, now)
        waiting = to_tell(calls, policy, BEGIN + now * 60, ["command"])
        with calls.changing() as connection:
            for change, name in waiting:
                told.append(change.state)
                row = (change.rule, change.state, change.since, name, BEGIN + now * 60)
                connection.execute("INSERT INTO tellings VALUES (?, ?, ?, ?, ?)", row)
    assert told == ["firing", "ok"]
    assert to_tell(calls, policy, BEGIN + 3000, ["command"]) == []
    (late,) = to_tell(calls, policy, BEGIN + 120 + 3600, ["command"])
    assert (late[0].state, late[0].since) == ("firing", BEGIN + 480)


def test_that_it_is_over_is_told_though_it_fired_again_within_the_cooldown(tmp_path: Path) -> None:
    _, calls = made(tmp_path)
    put(calls, *(each for at in range(4) for each in refusing(2, (0.5, 0.0)[at % 2], first=2 * at)))
    with webhook() as address:
        policy = _policy(notify={"webhook": address})
        _look(calls, policy, 2)
        assert tell_pending(calls, policy, BEGIN + 130, {}) == []
    gone = _policy(notify={"webhook": address})
    assert _look(calls, policy, 4).state == "ok"
    assert to_tell(calls, gone, BEGIN + 250, ["webhook"])[0][0].state == "ok"  # the webhook is not there
    assert _look(calls, policy, 6).state == "firing"
    assert to_tell(calls, gone, BEGIN + 370, ["webhook"]) == []  # it heard that it fires
    assert _look(calls, policy, 8).state == "ok"
    with webhook() as address:
        policy = _policy(notify={"webhook": address})
        for _ in range(2):
            assert tell_pending(calls, policy, BEGIN + 490, {}) == []
        assert [each["state"] for each in Hook.got] == ["ok"]


def test_that_it_is_over_is_told_after_longer_than_changes_are_kept(tmp_path: Path) -> None:
    _, calls = made(tmp_path)
    put(calls, *refusing(3, 0.5), *refusing(3, 0.0, first=3))
    with webhook() as address:
        policy = _policy(notify={"webhook": address})
        _look(calls, policy, 3)
        tell_pending(calls, policy, BEGIN + 182, {})
        later = BEGIN + 40 * 86_400
        note_changes(calls, PROJECT, alert_states(calls, policy, BEGIN + 362), later, days=30)
        tell_pending(calls, policy, later, {})
        assert [each["state"] for each in Hook.got] == ["firing", "ok"]


def test_what_cannot_be_told_is_said_and_stays_to_be_told(tmp_path: Path) -> None:
    _, calls = made(tmp_path)
    put(calls, *refusing(3, 0.5))
    _look(calls, _policy(), 3)
    with webhook(403) as address:
        policy = _policy(notify={"webhook": address})
        (problem,) = tell_pending(calls, policy, BEGIN + 200, {})
        assert (
            "'refused at most 15 %': could not notify, will retry: webhook at 127.0.0.1: answered 403"
            in problem
        )
        assert "secret-path" not in problem
        assert tell_pending(calls, policy, BEGIN + 260, {}) == []
        assert len(Hook.got) == 2


def test_a_command_gets_the_facts_in_its_environment_and_on_its_input(tmp_path: Path) -> None:
    _, calls = made(tmp_path)
    put(calls, *refusing(3, 0.5))
    _look(calls, _policy(), 3)
    names = "[os.environ['RAGTRIAGE_ALERT'], os.environ['RAGTRIAGE_STATE'], os.environ['RAGTRIAGE_PROJECT']"
    values = f"{names}, str(json.load(sys.stdin)['calls']), *sys.argv[1:]]"
    code = f"import json, os, sys; open({str(tmp_path / 'told')!r}, 'w').write(' | '.join({values}))"
    policy = _policy(notify={"command": f"{shlex.quote(sys.executable)} -c {shlex.quote(code)} $HOME"})
    assert tell_pending(calls, policy, BEGIN + 200, {}) == []
    assert (tmp_path / "told").read_text() == "refused at most 15 % | firing | shop | 60 | $HOME"
    with pytest.raises(DataError, match="No closing quotation"):
        channels(_policy(notify={"command": "'"}), {})


@pytest.mark.parametrize(
    ("codes", "tries", "problem"),
    [
        ((503, 429, 200), 3, ""),
        ((500, 500, 500), 3, "webhook at 127.0.0.1: answered 500"),
        ((404,), 1, "webhook at 127.0.0.1: answered 404"),
        ((302,), 1, "webhook at 127.0.0.1: answered 302"),
    ],
)
def test_a_webhook_is_tried_again_and_no_redirect_followed(
    codes: tuple[int, ...], tries: int, problem: str
) -> None:
    waits: list[float] = []
    with webhook(*codes) as address:
        assert tell_webhook(address, {"text": "Ünïcode"}, waits.append) == problem
        assert [each["text"] for each in Hook.got] == ["Ünïcode"] * tries
    assert waits == [1.0, 2.0][: tries - 1]


def test_a_webhook_that_is_not_there_is_said() -> None:
    with webhook() as address:
        pass
    assert tell_webhook(address, {}, lambda _: None).startswith("webhook at 127.0.0.1: is not reached (")


NOT_ACCEPTED = [
    "http://example.org/x",
    "file:///etc/passwd",
    "https://",
    "http://10.0.0.1/",
    "//x",
    "http://[",
]


@pytest.mark.parametrize("address", NOT_ACCEPTED)
def test_an_address_is_https_or_on_this_machine(address: str) -> None:
    with pytest.raises(DataError, match="must be https, or http on localhost"):
        checked_address(address)
    for accepted in (
        "https://hooks.example.org/x",
        "http://localhost:9/x",
        "http://[::1]:9/",
        "http://127.0.0.2/",
    ):
        assert checked_address(accepted) == accepted


def test_an_address_of_the_environment_goes_before_the_policys(tmp_path: Path) -> None:
    _, calls = made(tmp_path)
    put(calls, *refusing(3, 0.5))
    _look(calls, _policy(), 3)
    with webhook() as address:
        policy = _policy(notify={"webhook": "https://nowhere.invalid/"})
        assert tell_pending(calls, policy, BEGIN + 200, {"RAGTRIAGE_ALERT_WEBHOOK": address}) == []
        assert len(Hook.got) == 1


def test_a_watch_says_and_tells_each_change_once(tmp_path: Path) -> None:
    store, calls = made(tmp_path)
    said: list[str] = []
    with webhook() as address:
        policy = _policy(notify={"webhook": address})
        put(calls, *refusing(3, 0.5))
        watch = Watch(store, calls, PROJECT, said.append, environment={})
        for seconds in range(0, 300, 20):
            watch.round(policy, BEGIN + 183 + seconds)
            watch.wait()
        watch.stop()
        assert [each["state"] for each in Hook.got] == ["firing"]
    assert said == [Hook.got[0]["text"]]


def test_the_policy_of_the_docs_is_one(tmp_path: Path) -> None:
    page = (REPOSITORY / "docs" / "alerts.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```toml\n(.*?)```", page, re.S)
    (tmp_path / "policy.toml").write_text(block, encoding="utf-8")
    policy = read_policy(tmp_path / "policy.toml").policy
    assert [rule_title(rule) for rule in policy.alerts] == [
        "wrongly refused at most 15 %",
        "correctness at least 0.7",
        "drift of context tokens",
        "drift of topics",
        "silence of the traffic",
        "silence of the judge",
    ]
    assert sorted(channels(policy, {})) == ["command", "webhook"]
