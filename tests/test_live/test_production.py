"""What live traffic amounts to: measures before and since a release, alerts, topics, sampling, headline."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import run
from live_traffic import ALERTS, HALF, PROJECT, START, traffic

from ragtriage.dashboard.headlines.production import production_headline, release_text
from ragtriage.dashboard.tables.live_traffic import (
    alert_title,
    alert_windows,
    empty_strata,
    label_title,
    mix_text,
    sampling_table,
    topics_title,
)
from ragtriage.data.errors import DataError, InputError
from ragtriage.data.live.calls import LATE, Calls, add_to_count, live_folder
from ragtriage.data.live.policy import read_policy
from ragtriage.data.live.production.facts import Production, production
from ragtriage.data.live.production.times import chosen_span, moment_of, step_for, times_of
from ragtriage.data.live.redacting import add_redaction_counts
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.metrics.live.change import difference_between
from ragtriage.metrics.statistics.intervals import mean_over_questions


def facts_of(store: RunStore, against: str = "") -> Production:
    calls = Calls.of(store.workspace, PROJECT)
    return production(store, PROJECT, *chosen_span(calls), against)


def shown(folder: Path, **changes: Any) -> Production:
    return facts_of(traffic(folder, **changes))


def test_refusals_rise_with_the_release(tmp_path: Path) -> None:
    facts = shown(tmp_path, refused=(10, 2), policy=ALERTS)
    refusals = facts.measure("refused")
    assert refusals is not None
    assert refusals.before is not None
    assert (refusals.before.mean, refusals.since.mean) == (0.1, 0.5)
    assert (facts.times.later, facts.times.release) == (HALF, "two")
    assert [each.n_scored for each in refusals.steps] == [30] * 12
    headline = production_headline(facts)
    assert (headline.state, headline.statement) == ("bad", "Refusals rose from 10 to 50 % with release two")
    assert "90 of 180 calls since 12:30 were refused" in headline.detail
    assert facts.alerts[0].state == "firing"
    assert facts.alerts[0].since == HALF


def test_a_score_of_kept_calls_is_weighted_and_the_plain_mean_is_not(tmp_path: Path) -> None:
    policy = ALERTS + "\n".join(["", "[windows]", 'length = "1h"'])
    facts = shown(tmp_path, refused=(2, 2), policy=policy)
    score = facts.measure("correctness")
    assert score is not None
    sampling = facts.sampling
    assert score.since.mean == pytest.approx(sampling.weighted)
    refused, rest = (
        next(each for each in sampling.strata if each.stratum.name == name) for name in ("refusal", "rest")
    )
    assert (refused.stratum.kept, refused.judged) == (refused.stratum.calls, refused.stratum.kept)
    assert rest.judged == rest.stratum.kept < rest.stratum.calls
    plain = 0.9 * rest.judged / (rest.judged + refused.judged)
    assert sampling.plain == pytest.approx(plain)
    assert sampling.weighted == pytest.approx(0.9 * rest.judged * 2 / (rest.judged * 2 + refused.judged))
    assert score.since.n_effective is not None
    assert score.since.n_effective < score.since.n_scored


def test_what_was_taken_out_or_lost_is_said(tmp_path: Path) -> None:
    store = traffic(tmp_path)
    assert sampling_table(facts_of(store)).note.endswith("each weighs alike.")
    calls = Calls.of(store.workspace, PROJECT)
    add_redaction_counts(calls.path.parent, {"e-mail": 12, "user": 1})
    with calls.changing() as connection:
        add_to_count(connection, LATE, 3)
    said = sampling_table(facts_of(store)).note
    assert said.endswith(
        "alike. Taken out of texts so far: 12 e-mail, 1 user. Not used so far: 3 late spans."
    )


def test_nothing_judged_is_a_state_of_its_own(tmp_path: Path) -> None:
    headline = production_headline(shown(tmp_path, scores=(None, None)))
    assert (headline.state, headline.statement) == ("not measured", "Traffic only: nothing is judged")


def test_a_majority_of_refusals_or_errors_is_bad_though_no_rule_says_so(tmp_path: Path) -> None:
    refusing = production_headline(shown(tmp_path / "refusing", scores=(None, None), refused=(1, 1)))
    assert (refusing.state, refusing.statement) == (
        "bad",
        "180 of 180 calls since 12:30 were refused",
    )
    store = traffic(tmp_path / "failing", scores=(None, None), published=False)
    with Calls.of(store.workspace, PROJECT).changing() as connection:
        connection.execute("UPDATE calls SET error = 'timeout', refused = NULL WHERE topic != 'pay'")
    failing = production_headline(facts_of(store))
    assert (failing.state, failing.statement) == ("bad", "120 of 180 calls since 12:30 failed")


def test_good_needs_rules_that_hold(tmp_path: Path) -> None:
    held = production_headline(shown(tmp_path / "rules", policy=ALERTS.replace("0.5\n[[", "1.0\n[[")))
    assert (held.state, held.statement) == ("good", "No alert in 1 hour, 360 judged")
    free = production_headline(shown(tmp_path / "none"))
    assert free.state == "cannot tell"
    assert free.statement.endswith("no rule watches it")


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        ("correctnes", "correctnes at least 0.5, no call has it; did you mean correctness?"),
        ("context_precision", "context precision at least 0.5, no call has it"),
    ],
)
def test_a_rule_without_data_is_not_good(tmp_path: Path, metric: str, said: str) -> None:
    policy = ALERTS.replace("[keep]\nrest = 0.5", "").replace("correctness", metric)
    headline = production_headline(shown(tmp_path, policy=policy))
    assert (headline.state, headline.statement) == ("cannot tell", f"1 of 2 rules has no data: {said}")


def test_a_drift_without_enough_windows_is_not_good(tmp_path: Path) -> None:
    policy = '[[alerts]]\ndrift = "topics"\n[[alerts]]\ndrift = "context_tokens"\nfewest = 1'
    headline = production_headline(shown(tmp_path, policy=policy))
    said = "2 of 2 rules have no data: drift of topics, too few windows to compare with"
    assert (headline.state, headline.statement) == ("cannot tell", said)


def test_a_value_beyond_its_limit_is_said_where_it_may_be_chance(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = '[[alerts]]\nmetric = "refused"\nat_most = 0.15'
    store = traffic(tmp_path, refused=(5, 5), policy=policy)
    headline = production_headline(facts_of(store))
    said = "Refused at most 15 %: 20 % is above the limit, not beyond chance in the 12:55 window"
    assert (headline.state, headline.statement) == ("cannot tell", said)
    assert "20 % is above the limit, not beyond chance" in run(capsys, tmp_path, "production").out


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ('[notify]\nwebhook = "http://example.org/secret"', "is not accepted; accepted: https://"),
        ("[keep]\nrest = 1e-300", "a share from 0.000001 to 1"),
        ("[retention]\ndays = 100000000000000", "a whole number from 1 to 36500"),
        ('[redaction]\npatterns = { a = " " }', "REGULAR EXPRESSION"),
        ('[alerts]\nmetric = "refused"', "begun with [[alerts]]"),
    ],
)
def test_what_a_policy_cannot_mean_is_refused_and_the_traffic_is_shown_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], policy: str, said: str
) -> None:
    store = traffic(tmp_path, refused=(10, 2))
    path = live_folder(store.workspace, PROJECT) / "policy.toml"
    path.write_text(policy, encoding="utf-8")
    with pytest.raises(InputError) as raised:
        read_policy(path)
    assert said in str(raised.value)
    assert "secret" not in str(raised.value)
    shown = run(capsys, tmp_path, "production")
    assert shown.code == 0
    assert "the policy is wrong" in " ".join(shown.out.split())


def test_an_empty_database_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = traffic(tmp_path)
    for path in live_folder(store.workspace, PROJECT).glob("calls.sqlite*"):
        path.unlink()
    (live_folder(store.workspace, PROJECT) / "calls.sqlite").touch()
    said = run(capsys, tmp_path, "production")
    assert (said.code, "is empty" in said.err) == (2, True)


@pytest.mark.parametrize("drift", ["correctness", "latency_p95", "topic"])
def test_a_drift_of_what_has_none_is_refused_by_the_policy(tmp_path: Path, drift: str) -> None:
    (tmp_path / "policy.toml").write_text(f'[[alerts]]\ndrift = "{drift}"', encoding="utf-8")
    with pytest.raises(InputError, match='accepted: "context_tokens", "output_tokens", "latency_ms" or "to'):
        read_policy(tmp_path / "policy.toml")


def test_a_metric_that_looks_like_a_percentile_has_no_data(tmp_path: Path) -> None:
    facts = shown(tmp_path, policy='[[alerts]]\nmetric = "latency_percent"\nat_most = 5')
    assert [alert.state for alert in facts.alerts] == ["no_data"]


def test_too_few_is_said_with_the_window(tmp_path: Path) -> None:
    facts = shown(tmp_path, policy=ALERTS, every=60)
    headline = production_headline(facts)
    assert headline.state == "cannot tell"
    assert headline.statement == "Only 5 calls in the 12:55 window: too few to tell"


def test_a_silent_judge_comes_before_every_other_alert(tmp_path: Path) -> None:
    facts = shown(
        tmp_path,
        refused=(10, 2),
        policy=ALERTS + '[[alerts]]\nsilent = "judge"\n[judge]\nmetrics = ["correctness"]',
    )
    silent = facts.alerts[-1]
    assert silent.rule.silent == "judge"
    fires = replace(facts, alerts=(*facts.alerts[:-1], replace(silent, state="firing", since=HALF)))
    said = "The judge has been silent since 12:30: no kept call is judged"
    assert production_headline(fires).statement == said


def test_the_farthest_alert_leads(tmp_path: Path) -> None:
    facts = shown(tmp_path, refused=(10, 2), scores=(0.9, 0.1), policy=f"{ALERTS}fewest = 5")
    assert [each.state for each in facts.alerts] == ["firing", "firing"]
    assert production_headline(facts).statement == "Correctness fell from 0.82 to 0.05 with release two"


def test_what_no_rule_watches_is_said_where_it_got_worse(tmp_path: Path) -> None:
    headline = production_headline(shown(tmp_path, refused=(10, 2)))
    assert (headline.state, headline.statement) == ("bad", "Refusals rose from 10 to 50 % with release two")


def test_topics_add_up_to_the_change(tmp_path: Path) -> None:
    topics = shown(tmp_path, refused=(10, 2)).topics
    assert topics is not None
    assert {row.name for row in topics.rows} == {"leave", "pay", "travel"}
    assert sum(row.adds for row in topics.rows) == pytest.approx(topics.change) == pytest.approx(0.4)
    assert topics.by_rate + topics.by_mix == pytest.approx(topics.change)
    assert not topics.mix.is_change


def test_users_make_the_interval_wider(tmp_path: Path) -> None:
    alone, known = shown(tmp_path / "a", refused=(10, 3)), shown(tmp_path / "b", refused=(10, 3), users=6)
    assert (alone.users, known.users) == (0, 6)
    sizes = []
    for facts in (alone, known):
        refusals = facts.measure("refused")
        assert refusals is not None
        sizes.append((refusals.since.n_clusters, refusals.since.high - refusals.since.low))
    assert (sizes[0][0], sizes[1][0]) == (180, 6)
    assert sizes[1][1] > sizes[0][1]


def test_the_span_before_is_as_long(tmp_path: Path) -> None:
    store = traffic(tmp_path)
    calls = Calls.of(store.workspace, PROJECT)
    times = times_of(calls, HALF, START + 3_600, 300)
    assert (times.begin, times.later, times.release) == (START, HALF, "")
    facts = production(store, PROJECT, HALF, START + 3_600, 300)
    assert (facts.calls_before, facts.calls_since) == (180, 180)
    with pytest.raises(DataError, match="no new release; accepted: before"):
        times_of(calls, HALF, START + 3_600, 300, "release")


def test_calls_of_the_old_release_after_the_new_one_are_said(tmp_path: Path) -> None:
    store = traffic(tmp_path)
    calls = Calls.of(store.workspace, PROJECT)
    with calls.changing() as connection:
        connection.execute("UPDATE calls SET release = 'one' WHERE time > ?", (START + 3_500,))
    facts = facts_of(store)
    assert facts.others_since == 9
    assert production_headline(facts).doubt == "9 calls since 12:30 are still of another release"


def test_what_to_label_is_refused_and_asked_most(tmp_path: Path) -> None:
    rows = shown(tmp_path, refused=(10, 2)).to_label
    assert all(row.calls == row.refused for row in rows)
    assert [row.calls for row in rows] == sorted((row.calls for row in rows), reverse=True)
    assert sum(row.calls for row in rows) == 90
    assert all(row.trace_id for row in rows)


def test_calls_of_no_run_are_counted(tmp_path: Path) -> None:
    facts = shown(tmp_path, published=False)
    assert (facts.kept, facts.judged, facts.unpublished) == (360, 0, 360)


def test_moments_and_steps_of_a_chosen_time(tmp_path: Path) -> None:
    calls = Calls.of(traffic(tmp_path, published=False).workspace, PROJECT)
    assert chosen_span(calls, None, "2026-03-01T12:02", "2026-03-01T12:20") == (
        START + 120,
        START + 1_200,
        60,
    )
    assert moment_of("2026-03-01T13:00+01:00") == START
    assert (step_for(3_600), step_for(86_400)) == (300, 3_600)
    with pytest.raises(DataError, match="is no moment; accepted: as in"):
        moment_of("noon")
    with pytest.raises(DataError, match="accepted: a begin before the end"):
        times_of(calls, START, START, 60)


def test_the_difference_of_two_rates_is_newcombes() -> None:
    import numpy as np

    first = mean_over_questions(np.array([1.0] * 56 + [0.0] * 14))
    other = mean_over_questions(np.array([1.0] * 48 + [0.0] * 32))
    change = difference_between(other, first)
    assert change is not None
    assert [round(change.value, 4), round(change.low, 4), round(change.high, 4)] == [0.2, 0.0524, 0.3339]
    assert difference_between(None, first) is None


def test_the_command_says_what_the_page_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = facts_of(traffic(tmp_path, refused=(10, 2), policy=ALERTS))
    answer = run(capsys, tmp_path, "production", "--json")
    assert answer.code == 0
    assert answer.json["sentence"] == production_headline(facts).text
    assert answer.json["alerts"][0]["state"] == "firing"
    assert [row["topic"] for row in answer.json["topics"]["rows"]] == [row.name for row in facts.topics.rows]  # type: ignore[union-attr]
    text = run(capsys, tmp_path, "production", "--last", "1h").out
    assert "Refused ≤ 30 %" in text
    assert run(capsys, tmp_path, "production", "--last", "1h", "--from", "2026-03-01").code == 2
    assert run(capsys, tmp_path, "production", "--project", "nobody").code == 2


def test_nothing_is_nan_in_json(tmp_path: Path) -> None:
    from ragtriage.data.live.production.as_json import production_dict

    def numbers(value: Any) -> list[float]:
        if isinstance(value, dict):
            return [each for item in value.values() for each in numbers(item)]
        if isinstance(value, list):
            return [each for item in value for each in numbers(item)]
        return [value] if isinstance(value, float) else []

    found = numbers(production_dict(shown(tmp_path, scores=(None, None))))
    assert found
    assert all(map(math.isfinite, found))


def test_topics_are_found_by_words_where_no_call_has_one(tmp_path: Path) -> None:
    store = traffic(tmp_path, refused=(10, 2))
    with Calls.of(store.workspace, PROJECT).changing() as connection:
        connection.execute("UPDATE calls SET topic = NULL")
        words = "CASE WHEN refused THEN 'parental leave of ' ELSE 'travel cards for ' END"
        connection.execute(f"UPDATE calls SET question = {words} || CAST(time AS INTEGER)")
    facts = facts_of(store)
    assert not facts.topics_are_tags
    assert facts.topics is not None
    since = {row.name: row.since for row in facts.topics.rows}
    assert len(since) == 2
    assert sorted(since.values()) == [0.0, 1.0]


def test_without_calls_before_nothing_is_compared(tmp_path: Path) -> None:
    facts = facts_of(traffic(tmp_path, refused=(2, 2)), "before")
    assert (facts.calls_before, facts.topics) == (0, None)
    assert all(each.change is None for each in facts.measures)
    assert production_headline(facts).state == "cannot tell"


def test_words_of_a_release_a_rule_without_data_and_what_is_not_shown(tmp_path: Path) -> None:
    assert [release_text(name) for name in ("2", "two", "2026.11", "V3 strict prompt")] == [
        "release 2", "release two", "release 2026.11", "V3 strict prompt",
    ]  # fmt: skip
    rules = '[[alerts]]\nmetric = "latency_p95"\nat_most = 4000\n[[alerts]]\nsilent = "traffic"'
    facts = shown(tmp_path, refused=(10, 2), policy=rules)
    assert [alert_title(each, facts) for each in facts.alerts] == [
        "Latency p95 ≤ 4,000 ms", "Silence of the traffic",
    ]  # fmt: skip
    assert alert_windows(facts.alerts[1]) == "no silent window"
    n = len(facts.to_label)
    assert label_title(facts, 2).startswith(f"Label first: 2 of {n} questions")
    assert label_title(facts, n).startswith(f"Label first: {n} questions")
    assert empty_strata(facts) == {"error": 1.0, "thumbs_down": 1.0}
    assert topics_title(facts) == "More refusals in every topic"
    assert mix_text(facts).startswith(
        "Users ask about the same topics as before; the mix explains 0.0 of the 40.0"
    )
    assert facts.traffic.kept.tolist() == facts.traffic.calls.tolist()


def test_a_change_within_chance_is_no_finding(tmp_path: Path) -> None:
    worse = production_headline(shown(tmp_path / "worse", scores=(0.9, 0.2))).detail
    assert "correctness changed by −0.63 [−" in worse
    same = production_headline(shown(tmp_path / "same")).detail
    assert "correctness 0.81 [" in same
    assert "changed" not in same
