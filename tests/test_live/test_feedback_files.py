"""Feedback in files and requests: what is accepted, its id, and its measures against published values."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from command_line import run
from places import FIXTURES

from ragtriage.dashboard.headlines.feedback import feedback_headline
from ragtriage.data.errors import DataError, InputError
from ragtriage.data.live.feedback.records import answers_from, as_json, feedback_records, read_feedback
from ragtriage.data.live.feedback.results import (
    FeedbackReport,
    feedback_report,
    mean_by_user,
    rows_of_answers,
)
from ragtriage.metrics.ab.differences import arm_totals, delta_residuals

SURVEY, CUSTOMERS = FIXTURES / "carpentries_feedback", FIXTURES / "cdnow_retention"


def reported(path: Path, by: str | None = None) -> FeedbackReport:
    return feedback_report(rows_of_answers(read_feedback(path)), by)


def written(folder: Path, text: str, name: str = "feedback.csv") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_the_survey_has_its_published_values_by_year() -> None:
    report = reported(SURVEY / "responses.jsonl", "survey")
    results = {(each.name, each.group): each for each in report.results}
    for year, values in json.loads((SURVEY / "expected.json").read_text(encoding="utf-8")).items():
        if year == "published":
            continue
        score = results["nps_score", year]
        assert (score.answered, score.shown) == (values["n"], values["rows"])
        assert score.interval.mean == pytest.approx(values["nps"])
        assert (score.interval.low, score.interval.high) == pytest.approx(values["ci95"], abs=1e-3)
        said = values["has_recommended"]
        recommended = results["has_recommended", year].interval
        assert recommended.mean == pytest.approx(said["Yes"] / sum(said.values()))
        assert recommended.n_scored == sum(said.values())
    assert results["nps_score", "2020"].bounds is None  # nobody is missing
    low, high = results["nps_score", "2019"].bounds or (0.0, 0.0)
    assert (low, high) == pytest.approx(((84 - 42) / 176 * 100, (84 + 42) / 176 * 100))
    assert ("survey", "2017") not in results  # a year is no measure


def test_the_customers_come_back_as_often_as_counted_and_cut_off_months_are_not_zero(tmp_path: Path) -> None:
    with gzip.open(CUSTOMERS / "events.csv.gz", "rt", encoding="utf-8") as file:
        report = reported(written(tmp_path, file.read()))
    values = json.loads((CUSTOMERS / "expected.json").read_text(encoding="utf-8"))
    back = {each.name: each.interval for each in report.results}
    for window in (30, 90):
        counted = values[f"returned_within_{window}d"]
        found = back[f"back_within_{window}_days"]
        assert found.n_scored == counted["eligible"]
        assert found.mean == pytest.approx(counted["rate"])
    cohorts = report.to_dict()["cohorts"]
    assert list(cohorts) == ["1997-01", "1997-02", "1997-03"]
    for at, counts in enumerate(values["users_active_by_month_offset"].values()):
        cut = [None] * at
        assert cohorts[f"1997-0{at + 1}"] == [*counts[: 18 - at], *cut]


def test_users_whose_window_has_not_ended_are_left_out_and_a_month_that_goes_on_is_a_dash(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    text = "user_id,date\na,2026-01-05\na,2026-01-07\nb,2026-01-20\na,2026-02-10\nc,2026-02-09\n"
    report = reported(written(tmp_path, text))
    back = {each.name: each.interval for each in report.results}
    assert (back["back_within_7_days"].n_scored, back["back_within_7_days"].mean) == (2, 0.5)  # c is too new
    assert back["back_within_90_days"].n_scored == 0
    assert report.to_dict()["cohorts"] == {"2026-01": [2, None], "2026-02": [1, None]}
    answer = run(capsys, tmp_path, "feedback", str(tmp_path / "feedback.csv"))
    line = next(line for line in answer.out.splitlines() if line.startswith("back within 90 days"))
    assert line.split()[4:] == ["–"] * 6


def test_a_user_counts_in_the_group_of_the_first_visit_whatever_the_order_of_the_rows(tmp_path: Path) -> None:
    rows = ["a,2026-02-03,V2", "a,2026-01-30,V1", "b,2026-02-20,V2", "b,2026-01-05,V2", "c,2026-03-30,V1"]
    report = reported(written(tmp_path, "\n".join(["user_id,date,system_type", *rows])))
    back = {each.group: each.interval for each in report.results if each.name == "back_within_30_days"}
    assert {group: (found.n_scored, found.mean) for group, found in back.items() if found.n_scored} == {
        "": (2, 0.5),
        "V1": (1, 1.0),
        "V2": (1, 0.0),
    }


def test_several_answers_of_one_user_are_one_voice() -> None:
    values = np.array([100.0, 100.0, -100.0] * 40)
    users = np.repeat(np.arange(40), 3)
    users[::7] = 0
    found = mean_by_user(values, users, "nps")
    totals = arm_totals(values, users)
    error = float(np.sqrt(np.mean(delta_residuals(totals) ** 2) / totals.units))
    assert found.high - found.mean == pytest.approx(1.959964 * error, rel=1e-6)
    single = mean_by_user(values, np.arange(120), "nps")
    assert (found.n_clusters, single.n_clusters) == (totals.units, 120)


def test_an_nps_of_five_promoters_is_not_certain() -> None:
    found = mean_by_user(np.full(5, 100.0), np.arange(5), "nps")
    assert found.mean == 100
    assert found.low < 20


def test_response_times_have_mean_and_95th_percentile(tmp_path: Path) -> None:
    lines = [f"u{at},V{at % 2},{at / 100}" for at in range(400)]
    report = reported(written(tmp_path, "\n".join(["user_id,system_type,response_time", *lines])))
    assert report.groups == ("V0", "V1")
    result = next(each for each in report.results if each.group == "V1")
    assert result.interval.mean == pytest.approx(2.0)
    high = result.high
    assert high is not None
    assert high.value == pytest.approx(np.quantile(np.arange(1, 400, 2) / 100, 0.95))
    assert (high.low or 0) < (high.value or 0) < (high.high or 0)


def test_a_request_is_read_in_every_spelling() -> None:
    answers = feedback_records(
        [
            {"traceId": "ab", "userId": 7, "thumb": "down", "comment": "Wrong year"},
            {"trace_id": "cd", "name": "thumb", "value": "👍", "timestamp": "2026-05-01T09:00:00Z"},
            {"user_id": "u", "query": "When?", "satisfaction_score": "4", "taskCompleted": False},
        ],
        received=5.0,
    )
    assert [dict(answer.values) for answer in answers] == [
        {"thumb": 0.0, "comment": "Wrong year"},
        {"thumb": 1.0},
        {"satisfaction_score": 4.0, "task_completed": 0.0},
    ]
    assert [answer.trace_id for answer in answers] == ["ab", "cd", ""]
    assert [answer.time for answer in answers] == [5.0, 1_777_626_000.0, 5.0]
    assert (answers[0].user_id, answers[2].question) == ("7", "When?")
    assert answers_from(json.loads(json.dumps(as_json(answers)))) == answers


def test_the_same_feedback_has_the_same_id_whenever_it_comes() -> None:
    body = {"trace_id": "ab", "user_id": "u", "thumb": "up"}
    first, again = (
        feedback_records(body, received=1.0),
        feedback_records({**body, "thumb": True}, received=9.0),
    )
    assert first[0].feedback_id == again[0].feedback_id
    other = feedback_records({**body, "thumb": "down"}, received=1.0)
    assert other[0].feedback_id != first[0].feedback_id
    nobody = [feedback_records({"thumb": "up"}, received=moment)[0].feedback_id for moment in (1.0, 2.0)]
    assert nobody[0] != nobody[1]


def test_rows_that_are_alike_are_answers_of_their_own_and_the_same_ones_in_the_next_reading(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, "thumb\nup\nup\ndown\nup\n")
    ids = [answer.feedback_id for answer in read_feedback(path)]
    assert len(set(ids)) == 4
    assert ids == [answer.feedback_id for answer in read_feedback(path)]
    found = reported(path).results[0].interval
    assert (found.mean, found.n_scored) == (0.75, 4)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (3, "is int; accepted: an object such as"),
        ([], "holds 0 answers; accepted: 1 to 10,000 in one request"),
        ({"trace_id": "x"}, "holds no feedback; accepted: a value such as thumb"),
        ({"thumb": "maybe"}, "thumb: 'maybe'; accepted: yes or no"),
        ({"nps_score": 11}, "nps_score: 11; accepted: a whole number from 0 to 10"),
        ({"stars": 4.5}, "stars: 4.5; accepted: a whole number from 1 to 5"),
        ({"response_time": -1}, "response_time: -1; accepted: a number from 0 up"),
        ({"thumb": 1, "time": "soon"}, "time: 'soon'; accepted: ISO text"),
        ({"thumb": 1, "trace_id": ["x"]}, "trace_id: is list; accepted: text"),
        ({"reason": {"a": 1}}, "reason: {'a': 1}; accepted: a number, text, true or false"),
        ({"comment": "x" * 10_001}, "accepted: text of at most 10,000 characters"),
        ({"comment": "half \ud83d"}, "accepted: text of at most 10,000 characters"),
        ([{"thumb": 1, "feedback_id": "a"}] * 2, "feedback:2: feedback_id: 'a' comes twice"),
        ({f"value {at}": 1 for at in range(101)}, "holds 101 values; accepted: at most 100"),
    ],
)
def test_what_is_no_feedback_is_refused_in_one_sentence(body: object, message: str) -> None:
    with pytest.raises(InputError) as error:
        feedback_records(body)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_with_a_fault_names_its_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = written(tmp_path, "user_id,satisfaction_score\na,4\nb,85\n")
    answer = run(capsys, tmp_path, "feedback", str(path))
    assert answer.code == 2
    assert "feedback.csv:3: satisfaction_score: '85'; accepted: a whole number from 1 to 5" in answer.err


def test_a_group_that_is_not_there_names_those_that_are(tmp_path: Path) -> None:
    path = written(tmp_path, "user_id,thumb,country\na,1,FR\n")
    with pytest.raises(DataError, match="nothing is called 'city'; accepted: month, thumb, country"):
        reported(path, "city")


def test_who_did_not_answer_makes_a_doubt(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    report = reported(
        written(
            tmp_path, "user_id,thumb\n" + "".join(f"u{at},{'up' if at < 3 else ''}\n" for at in range(10))
        )
    )
    headline = feedback_headline(report)
    assert headline.state == "doubted"
    assert headline.doubt == "70 % of 10 rows have no answer: who answers chose to"
    answer = run(capsys, tmp_path, "feedback", str(tmp_path / "feedback.csv"), "--json")
    values = json.loads(answer.out)
    thumb = values["results"][0]
    assert (values["source"], thumb["response_rate"], thumb["bounds"]) == ("human", 0.3, [0.3, 1.0])
    assert headline.text == values["sentence"]
