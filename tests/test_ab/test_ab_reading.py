"""From files to arms, users, times and metrics; what cannot be read ends in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ragtriage.data.ab.looks import look_ends
from ragtriage.data.ab.measures import covariate_of, deciding, measures_of
from ragtriage.data.ab.reading import read_test
from ragtriage.data.errors import DataError


def written(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return written(
        tmp_path / "answers.csv",
        "user_id,system_type,timestamp,satisfaction_score,task_completed,nps_score,response_time,query",
        "u1,V1,2026-03-01T08:00:00,5,yes,9,1.5,Why?",
        "u1,V1,2026-03-02T08:00:00,,no,,2.5,When?",
        "u2,V2,2026-03-01T09:00:00Z,3,Yes.,11,oops,Who?",
        "u3,V2,2026-03-09T09:00:00,4,I don't know,0,2.0,Who?",
        "u4,,2026-03-09T09:00:00,4,yes,0,2.0,Who?",
        ",V1,2026-03-09T09:00:00,4,yes,0,2.0,Who?",
    )


def test_columns_are_known_by_their_names(small: Path) -> None:
    rows = read_test([small])
    assert (rows.arms, rows.user_column, rows.time_column) == (("V1", "V2"), "user_id", "timestamp")
    assert rows.arm.tolist() == [0, 0, 1, 1]
    assert rows.units.tolist() == [0, 0, 1, 2]
    assert rows.left_out == {"a row without an arm": 1, "a row without a user": 1}
    assert rows.times is not None
    assert np.diff(rows.times).tolist() == [86_400, -82_800, 691_200]


def test_columns_become_metrics_with_their_scale(small: Path) -> None:
    measures = measures_of(read_test([small]))
    kinds = {name: (each.kind, each.higher_is_better) for name, each in measures.items()}
    assert kinds == {
        "satisfaction_score": ("satisfied", True),
        "task_completed": ("share", True),
        "nps_score": ("nps", True),
        "back_within_7_days": ("back", True),
        "feedback_given": ("answered", True),
    }  # one of four response times is no number: no metric
    assert measures["task_completed"].values.tolist() == [1, 0, 1, 0]  # I don't know is not a yes
    assert measures["satisfaction_score"].values.tolist()[::2] == [1, 0]
    assert measures["nps_score"].other == 1  # 11 is on no scale, never clipped
    assert measures["nps_score"].values[3] == -100
    assert np.isnan(measures["nps_score"].values[[1, 2]]).all()
    assert measures["back_within_7_days"].values.tolist()[0] == 1  # u2 and u3 as below
    assert measures["feedback_given"].values.tolist() == [1, 0, 1, 1]
    assert deciding(measures) == "task_completed"


def test_a_user_whose_window_is_open_did_not_stay_away(small: Path) -> None:
    values = measures_of(read_test([small]))["back_within_7_days"].values
    assert np.array_equal(values, [1, np.nan, 0, np.nan], equal_nan=True)


def test_files_are_arms_named_by_what_differs(tmp_path: Path) -> None:
    for name in ("run_new", "run_control"):
        written(tmp_path / f"{name}.csv", "click", "1", "0")
    written(tmp_path / "expected.json", "{}")
    folder = read_test([tmp_path])
    files = read_test([tmp_path / "run_new.csv", tmp_path / "run_control.csv"])
    assert folder.arms == files.arms == ("control", "new")
    assert read_test([tmp_path], base="new").arms == ("new", "control")
    assert files.arm.tolist() == [1, 1, 0, 0]
    assert files.users is None


def test_lines_of_json_are_read_as_tables_are(tmp_path: Path) -> None:
    lines = [{"arm": arm, "click": click, "latency": 3} for arm in "ab" for click in (True, False, None)]
    file = written(tmp_path / "rows.jsonl", *map(json.dumps, lines))
    rows = read_test([file])
    click = measures_of(rows)["click"].values
    assert np.array_equal(click, [1, 0, np.nan] * 2, equal_nan=True)
    assert measures_of(rows)["latency"].higher_is_better is False


def test_users_in_two_arms_are_left_out_and_counted(tmp_path: Path) -> None:
    lines = ["user_id,arm,click", "u1,a,1", "u1,b,1", "u2,a,1", "u3,b,0"]
    rows = read_test([written(tmp_path / "rows.csv", *lines)])
    assert (rows.in_both, rows.n) == (1, 2)
    assert rows.left_out == {"a row of a user who is in two arms": 2}
    with pytest.raises(DataError, match=r"every user is in more than one arm; accepted: .*compare"):
        read_test([written(tmp_path / "rows.csv", *lines[:3])])


def test_arms_that_were_not_assigned_are_known(tmp_path: Path) -> None:
    years = written(tmp_path / "years.csv", "arm,nps", "2019,9", "2020,3")
    assert not read_test([years]).randomised
    after = written(
        tmp_path / "after.csv", "arm,date,nps", "a,2026-01-01,9", "a,2026-01-02,9", "b,2026-01-03,3"
    )
    assert not read_test([after]).randomised
    beside = written(
        tmp_path / "beside.csv", "arm,date,nps", "a,2026-01-01,9", "a,2026-01-03,9", "b,2026-01-02,3"
    )
    assert read_test([beside]).randomised


def test_the_week_before_is_no_metric_of_the_test(tmp_path: Path) -> None:
    rows = read_test([written(tmp_path / "x.csv", "arm,tasks,pre_tasks,item_id", "a,1.5,1,4", "b,2.5,2,5")])
    assert set(measures_of(rows)) == {"tasks"}
    before = covariate_of(rows, "tasks")
    assert before is not None
    assert before.tolist() == [1, 2]
    assert covariate_of(rows, "item_id") is None


@pytest.mark.parametrize(
    ("hours", "looks", "last"),
    [([0, 163], 28, 168), ([0, 30 * 24 + 1], 31, 31 * 24), ([0, 5], 6, 6), ([3], 1, 4)],
)
def test_looks_are_ten_or_more_where_the_time_allows(hours: list[int], looks: int, last: int) -> None:
    start = 1_574_553_600.0  # a midnight
    ends = look_ends(start + 3_600.0 * np.array(hours, dtype=np.float64))
    assert len(ends) == looks
    assert ends[-1] == start + 3_600 * last
    assert look_ends(None).tolist() == [np.inf]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("a,b\n1,2\n", {}, r"no column names the arm; accepted: --by with one of"),
        ("arm,b\nx,2\n", {}, "column 'arm' names 1 arms; accepted: 2 to 10"),
        ("arm,b\n" + "".join(f"{n}x,2\n" for n in range(11)), {}, "names 11 arms; accepted: 2 to 10"),
        ("arm,b\nx,2\ny,3\n", {"by": "no"}, "no column 'no' for --by; accepted: arm, b"),
        ("arm,b\nx,2\ny,3\n", {"user": "no"}, "no column 'no' for --user; accepted: arm, b"),
        ("arm,b\nx,2\ny,3\n", {"time": "b"}, "0% of column 'b' read as times|column 'b'"),
        ("arm,b\nx,2\ny,3\n", {"base": "z"}, "no arm 'z'; accepted: x, y"),
        ("", {}, "is empty"),
        ("arm,b\n", {}, "holds no row"),
        ("arm,b\nx\ny,3\n", {}, "has 1 cells"),
        ("[1, 2]", {}, "is no object|accepted"),
        ("arm,b\nx,\x00\n", {}, "accepted"),
    ],
)
def test_what_cannot_be_read_says_what_would_be(
    tmp_path: Path, content: str, options: dict[str, str], message: str
) -> None:
    if "time" in options:
        content = content.replace("2", "soon")
    file = tmp_path / "rows.csv"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_test([file], **options)


def test_a_folder_without_tables_and_a_missing_metric_are_refused(tmp_path: Path, small: Path) -> None:
    with pytest.raises(DataError, match="no metric 'clicks' in the rows; accepted: satisfaction_score"):
        measures_of(read_test([small]), ["clicks"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="holds no CSV, TSV or JSONL file"):
        read_test([tmp_path / "empty"])
    with pytest.raises(DataError, match="does not exist"):
        read_test([tmp_path / "none.csv"])
