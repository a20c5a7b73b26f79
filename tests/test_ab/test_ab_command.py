"""`ragtriage ab`: the conclusion in its states, as text and JSON."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Answer, run
from live_test_rows import write_rows

from ragtriage.dashboard.headlines.ab import ab_headline
from ragtriage.data.ab.ab_test import LiveTest, TestOptions, live_test
from ragtriage.data.ab.reading import read_test
from ragtriage.metrics.statistics.power import units_per_arm


@pytest.fixture(scope="module")
def better(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("live") / "rows.csv")


def concluded(path: Path, **options: Any) -> LiveTest:
    return live_test(read_test([path]), TestOptions(**options))


def test_a_better_arm_is_safe_to_stop(better: Path) -> None:
    test = concluded(better)
    headline = ab_headline(test)
    assert (test.state, headline.state) == ("better", "good")
    assert headline.statement == "V2 beats V1: task completed +15.4 points; safe to stop"
    assert "at all looks together, 300 and 300 users, shown since 2026-03-06" in headline.detail
    lead = test.lead
    assert lead is not None
    assert len(lead.looks) == 14
    response = next(each for each in lead.metrics if each.name == "response_time")
    assert (response.role, response.guardrail) == ("guardrail", "holds")
    assert response.cuped_saving is not None
    assert response.cuped_saving > 0.5
    assert response.result is not None
    assert response.result.method.endswith("CUPED")


def test_the_deciding_metric_is_by_user_as_the_delta_method_has_it(better: Path) -> None:
    """The same standard error from the definition: e = x - r y over the users of each arm."""
    rows = read_test([better])
    result = concluded(better).results[0].decides.result
    assert result is not None
    done = np.array([cell == "yes" for cell in rows.cells["task_completed"]], dtype=float)
    variance = 0.0
    for code in (0, 1):
        mine = [(done[rows.units == user].sum(), (rows.units == user).sum())
                for user in np.unique(rows.units[rows.arm == code])]  # fmt: skip
        x, y = np.array(mine).T
        e = x - x.sum() / y.sum() * y
        variance += len(x) / (len(x) - 1) * (e**2).sum() / y.sum() ** 2
    assert result.error == pytest.approx(variance**0.5)


def test_an_open_guardrail_keeps_a_better_arm_from_shipping(better: Path) -> None:
    test = concluded(better, guardrails={"back_within_7_days": 0.03})
    headline = ab_headline(test)
    assert (test.state, headline.state) == ("guardrail_open", "doubted")
    assert headline.statement == "V2 completes more, +15.4 points; coming back is not settled"
    lead = test.lead
    assert lead is not None
    back = lead.guardrails("open")[0].result
    assert back is not None
    needed = units_per_arm((back.base_variance, back.arm_variance), 0.03)
    days = round(14 * needed / min(back.base_units, back.arm_units))
    assert headline.detail.startswith(
        f"Keep it running: it takes {needed:,} users an arm, {days} days in all to settle coming back if "
        "the true difference is zero, or accept the risk."
    )
    assert "is undecided: it may fall below the margin of −3.0 points" in headline.detail
    assert "beats" not in headline.text


def test_an_open_guardrail_with_users_enough_is_close_to_its_margin(tmp_path: Path) -> None:
    """A margin at the difference seen itself stays open however small the interval is."""
    file = write_rows(tmp_path / "rows.csv", slower=0.3)
    result = next(each for each in concluded(file).results[0].metrics if each.name == "response_time").result
    assert result is not None
    test = concluded(file, guardrails={"response_time": result.difference})
    detail = ab_headline(test).detail
    assert test.state == "guardrail_open"
    assert detail.startswith("Keep it running: response time is close to its margin and only more users")
    assert f"it may rise above the margin of +{result.difference:.2f}" in detail


def test_what_is_beyond_chance_beside_the_deciding_metric_is_said(tmp_path: Path) -> None:
    """Two arms of which one is asked about: it cannot tell, the other is worse, and a wanted metric, too."""
    rng, lines = np.random.default_rng(2), ["arm,task_completed,click"]
    for arm, rate, clicks in (("base", 0.5, 0.5), ("x", 0.5, 0.2), ("y", 0.2, 0.5)):
        lines += [f"{arm},{int(rng.random() < rate)},{int(rng.random() < clicks)}" for _ in range(600)]
    file = tmp_path / "rows.csv"
    file.write_text("\n".join(lines), encoding="utf-8")
    headline = ab_headline(concluded(file, arm="x"))
    change = concluded(file).results[1].decides.result
    assert change is not None
    assert headline.state == "cannot tell"
    assert headline.statement.endswith(f"; y is lower by {-100 * change.difference:.1f}")
    assert headline.detail.startswith("Beyond chance, by Holm: task completed −")
    assert " in y, p < 0.001; click −" in headline.detail
    assert " in x, p < 0.001." in headline.detail
    assert "Beyond chance" not in ab_headline(concluded(file, arm="y")).detail


@pytest.mark.parametrize(
    ("column", "unit"), [("response_time_s", " s"), ("response_time_ms", " ms"), ("response_time", "")]
)
def test_a_time_has_the_unit_that_its_column_says(tmp_path: Path, column: str, unit: str) -> None:
    file = write_rows(tmp_path / "rows.csv", slower=1.0)
    file.write_text(file.read_text().replace(",response_time,", f",{column},", 1).replace("pre_", "x_", 1))
    assert ab_headline(concluded(file)).statement == f"V2 fails a guardrail: response time +1.03{unit}"


def test_a_time_of_nothing_has_no_margin_and_is_watched(tmp_path: Path) -> None:
    lines = ["arm,task_completed,response_time"]
    lines += [f"{arm},{at % 2},{0 if arm == 'a' else at % 3}" for arm in "ab" for at in range(60)]
    file = tmp_path / "rows.csv"
    file.write_text("\n".join(lines), encoding="utf-8")
    response = next(each for each in concluded(file).results[0].metrics if each.name == "response_time")
    assert (response.guardrail, response.role) == (None, "watched")


def test_a_gain_is_named_after_its_metric(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "rows.csv", slower=-0.5)
    guardrails = {"back_within_7_days": 0.001}
    faster = ab_headline(concluded(file, metric="response_time", guardrails=guardrails)).statement
    assert faster.startswith("V2 is lower in response time, −0.")
    assert faster.endswith("; coming back is not settled")


def test_a_failed_guardrail_comes_before_the_gain(tmp_path: Path) -> None:
    test = concluded(write_rows(tmp_path / "rows.csv", slower=1.0))
    headline = ab_headline(test)
    assert (test.state, headline.state) == ("guardrail_fails", "bad")
    assert headline.statement == "V2 fails a guardrail: response time +1.01"


def test_a_worse_arm_is_said_to_be_worse(tmp_path: Path) -> None:
    headline = ab_headline(concluded(write_rows(tmp_path / "rows.csv", lift=-0.2)))
    assert headline.state == "bad"
    assert headline.statement.startswith("V2 is worse than V1: task completed −2")


def test_a_loss_is_no_smaller_for_an_open_guardrail(tmp_path: Path) -> None:
    """A worse deciding metric decides; the guardrail that is open is said as well."""
    test = concluded(write_rows(tmp_path / "rows.csv", lift=-0.2), guardrails={"back_within_7_days": 0.001})
    headline = ab_headline(test)
    assert (test.state, headline.state) == ("worse", "bad")
    assert "Back within 7 days" in headline.detail
    assert "it may fall below the margin of −0.1 points" in headline.detail


def test_an_open_guardrail_is_said_where_the_deciding_metric_shows_nothing(tmp_path: Path) -> None:
    test = concluded(write_rows(tmp_path / "rows.csv", lift=0.0), guardrails={"back_within_7_days": 0.001})
    headline = ab_headline(test)
    assert (test.state, headline.state) == ("guardrail_open", "cannot tell")
    assert headline.statement.startswith("V2 against V1: cannot tell, task completed")
    assert headline.statement.endswith("; coming back is not settled")
    assert "users an arm" in headline.detail


def test_a_failed_guardrail_outranks_a_worse_metric(tmp_path: Path) -> None:
    assert concluded(write_rows(tmp_path / "rows.csv", lift=-0.2, slower=1.0)).state == "guardrail_fails"


def test_the_effect_worth_having_is_said_to_be_nobodys(
    better: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    usual = "Effect worth having: 5.0 points, the usual one: none was given before the start (--worth)."
    assert usual in " ".join(ab(capsys, tmp_path, str(better)).out.split())
    given = " ".join(ab(capsys, tmp_path, str(better), "--worth", "0.02").out.split())
    assert "Effect worth having: 2.0 points. " in given
    assert not ab(capsys, tmp_path, str(better), "--json").json["worth_given"]
    slow = ab(capsys, tmp_path, str(better), "--metric", "response_time").out
    assert "a tenth of the standard deviation of these rows: none was given" in " ".join(slow.split())


def test_a_look_knows_nothing_of_what_came_later(better: Path) -> None:
    """The band of the last look of what was known on a day is that day's of the whole test."""
    rows = read_test([better])
    whole = live_test(rows, TestOptions(worth=0.05)).results[0].looks
    for look in (whole[2], whole[5], whole[-1]):
        moment = datetime.fromisoformat(look.at).timestamp()
        known = live_test(rows, TestOptions(worth=0.05, until=moment))
        assert known.results[0].looks == tuple(each for each in whole if each.at <= look.at)
        result = known.results[0].decides.result
        assert result is not None
        assert (result.difference, result.base_units) == (look.difference, look.base_units)
        assert known.last is not None
        assert known.last < moment


def test_who_came_back_is_known_when_the_window_has_ended(better: Path) -> None:
    """A guardrail that nothing is known of yet is none; its looks begin when the first windows end."""
    rows = read_test([better])
    options = TestOptions(metric="back_within_7_days", worth=0.05)
    looks = live_test(rows, options).results[0].looks
    assert looks[0].at > "2026-03-08"
    moment = datetime.fromisoformat(looks[1].at).timestamp()
    known = live_test(rows, replace(options, until=moment)).results[0]
    assert known.looks == looks[:2]
    guarded = TestOptions(guardrails={"back_within_7_days": 0.03}, until=moment - 6 * 86_400)
    assert [each.name for each in live_test(rows, guarded).results[0].metrics if each.guardrail] == [
        "response_time"
    ]


def test_equal_arms_say_what_would_settle_it(tmp_path: Path) -> None:
    headline = ab_headline(concluded(write_rows(tmp_path / "rows.csv", lift=0.0)))
    assert headline.state == "cannot tell"
    assert "users an arm" in headline.detail


def test_a_broken_split_hides_all_else(better: Path) -> None:
    test = concluded(better, shares=(60.0, 40.0))
    headline = ab_headline(test)
    assert (test.state, headline.state) == ("split_broken", "bad")
    assert headline.statement == "Split is 50.0 : 50.0: nothing here counts"
    answer = test.to_dict()
    assert answer["arms"] == []
    assert answer["needed_per_arm"] is None
    assert "+15" not in headline.text


def test_arms_that_nobody_assigned_have_no_split_and_a_doubt(better: Path) -> None:
    test = concluded(better, randomised=False)
    headline = ab_headline(test)
    assert test.split is None
    assert headline.state == "doubted"
    assert "safe to stop" not in headline.statement
    assert "at random" in headline.doubt


def test_one_planned_look_decides_by_its_own_interval(tmp_path: Path) -> None:
    """9.5 points between 200 users an arm: beyond a single look, within the band."""
    lines = ["user_id,arm,task_completed"]
    lines += [
        f"{arm}{at},{arm},{int(at < done)}" for arm, done in (("a", 100), ("b", 121)) for at in range(200)
    ]
    file = tmp_path / "rows.csv"
    file.write_text("\n".join(lines), encoding="utf-8")
    assert concluded(file).state == "cannot_tell"
    assert concluded(file, once=True).state == "better"


def test_nothing_recorded_in_both_arms_is_not_measured(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("arm,text\na,x\nb,y\n", encoding="utf-8")
    headline = ab_headline(concluded(file))
    assert (headline.state, headline.statement) == ("not measured", "No metric is recorded in both arms")


def test_more_arms_share_the_error(tmp_path: Path) -> None:
    rng, lines = np.random.default_rng(2), ["arm,click"]
    for arm, rate in (("base", 0.3), ("x", 0.3), ("y", 0.5)):
        lines += [f"{arm},{int(rng.random() < rate)}" for _ in range(600)]
    file = tmp_path / "rows.csv"
    file.write_text("\n".join(lines), encoding="utf-8")
    test = concluded(file)
    assert [each.arm for each in test.results] == ["x", "y"]
    assert test.lead is not None
    assert (test.state, test.lead.arm) == ("better", "y")
    first, second = (each.decides for each in test.results)
    assert first.result is not None
    assert second.result is not None
    assert second.adjusted_p == pytest.approx(2 * second.result.p)  # Holm
    assert first.adjusted_p == pytest.approx(first.result.p)


def ab(capsys: pytest.CaptureFixture[str], workspace: Path, *words: str) -> Answer:
    return run(capsys, workspace, "ab", *words)


def test_the_command_prints_text_and_json(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, better: Path
) -> None:
    text = ab(capsys, tmp_path, str(better))
    assert text.code == 0
    assert text.out.startswith("V2 beats V1: task completed +15.4 points; safe to stop.")
    assert "Split as planned: chi-square p 1.000" in text.out
    answer = ab(capsys, tmp_path, str(better), "--json", "--worth", "0.02").json
    assert (answer["state"], answer["worth"]) == ("better", 0.02)
    assert answer["needed_per_arm"] > 10
    assert answer["needed_for_worth"] > answer["needed_per_arm"]
    assert answer["sentence"].startswith("V2 beats V1")
    broken = ab(capsys, tmp_path, str(better), "--shares", "60:40")
    assert "V2 against V1" not in broken.out
    assert "Split not as planned: chi-square p < 0.001" in broken.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--guardrail", "click"), "NAME:MARGIN"),
        (("--guardrail", "click:-1"), "NAME:MARGIN"),
        (("--guardrail", "no:0.1"), "no metric 'no'"),
        (("--shares", "50"), "50:50"),
        (("--shares", "1:1:1"), "3 shares for 2 arms"),
        (("--worth", "nan"), "finite number"),
        (("--by", "query"), "names 1 arms"),
    ],
)
def test_bad_usage_ends_with_2_and_a_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, better: Path, words: tuple[str, ...], message: str
) -> None:
    answer = ab(capsys, tmp_path, str(better), *words)
    assert answer.code == 2
    assert message in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.parametrize(
    "content",
    [
        b"arm,x_score\n" + b"a,1e-200\na,2e-200\n" * 9 + b"b,1e12\n" * 20,
        b"arm,click\na,1e308\na,-1e308\nb,1e308\nb,1e400\n",
        b"arm,click\na,\xff\nb,1\n",
        b"arm,click\na,1\nb,\x00\n",
        b"\x1f\x8b\x08\x00broken",
        b'{"arm": "a", "click": [[[[1]]]]}\n{"arm": "b", "click": {"x": 1}}\n',
        b"arm,user_id,timestamp,click\na,u,99999999999999999999999,1\nb,v,-5,0\n",
        ("arm,click\n" + "\u202ea,1\n\u001b[2Jb,0\n").encode(),
    ],
)
def test_hostile_files_end_with_an_answer_or_a_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "rows.csv"
    file.write_bytes(content)
    for words in ((), ("--json",), ("--json", "--worth", "1e-300"), ("--worth", "1e300")):
        answer = ab(capsys, tmp_path, str(file), *words)
        assert answer.code in (0, 2)
        assert "internal error" not in answer.err
        assert "Traceback" not in answer.err
        assert "\x1b" not in answer.out + answer.err


def test_what_could_not_be_read_of_times_and_numbers_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = write_rows(tmp_path / "rows.csv", users=100).read_text(encoding="utf-8").splitlines()
    rows = [line.split(",") for line in lines]
    for at, row in enumerate(rows[1:]):
        row[3] = "03/01/2026"
        row[7] = "inf" if at % 10 == 0 else row[7]
    path = tmp_path / "odd.csv"
    path.write_text("\n".join(map(",".join, rows)), encoding="utf-8")
    shown = " ".join(ab(capsys, tmp_path, str(path)).out.split())
    n = len(rows) - 1
    assert f"Left out: a time that could not be read, such as 03/01/2026, {n:,} in all." in shown
    assert f"Response time: {-(-n // 10):,} cells are on no scale of it and do not count." in shown


def test_the_second_name_of_a_kept_test_is_said_to_be_unused(
    better: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "stays" not in ab(capsys, tmp_path, str(better), "--save", "first").err
    again = " ".join(ab(capsys, tmp_path, str(better), "--save", "other").err.split())
    assert "The same test was kept before: it stays 'first', not 'other'." in again
