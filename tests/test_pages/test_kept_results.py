"""Results kept in memory: computed once, found by what identifies their arguments, bounded in bytes."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from ragtriage.dashboard.shell.kept_results import KeptResults, forget, kept, key_of, room_asked, size_of
from ragtriage.dashboard.shell.session import cached_diagnosis
from ragtriage.data.api import add_run
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings
from ragtriage.data.read_costs import ReadCosts, counting_costs
from ragtriage.data.scoring.run_store import RunStore

MB = 1_000_000


@pytest.fixture
def costs() -> Iterator[ReadCosts]:
    with counting_costs() as counted:
        yield counted


def test_what_was_unused_for_longest_gives_way(costs: ReadCosts) -> None:
    results = KeptResults(3 * MB)
    for key in "abc":
        results.get((key,), lambda: np.zeros(MB, dtype=np.int8))
    assert results.used == 3 * MB
    results.get(("a",), lambda: None)
    results.get(("d",), lambda: np.zeros(MB, dtype=np.int8))
    assert (costs.made, costs.kept) == (4, 1)
    assert results.get(("a",), lambda: "made again") is not None  # found, not the text
    assert results.get(("b",), lambda: "made again") == "made again"
    assert results.used <= results.room


def test_what_is_larger_than_the_room_is_given_and_not_kept() -> None:
    results = KeptResults(MB)
    assert results.get(("large",), lambda: np.ones(2 * MB, dtype=np.int8)).sum() == 2 * MB
    assert results.used == 0
    results.get(("small",), lambda: "text")
    assert 0 < results.used < MB
    results.get(("large",), lambda: np.ones(2 * MB, dtype=np.int8))
    assert results.get(("small",), lambda: "made again") == "text"  # it pushed nothing out


@pytest.mark.parametrize(
    ("asked", "room"), [(None, 384 * MB), ("", 384 * MB), ("64", 64 * MB), ("0", 0), ("-1", 0)]
)
def test_the_room_is_a_number_of_megabytes(asked: str | None, room: int) -> None:
    assert room_asked(asked) == room


@pytest.mark.parametrize("asked", ["lots", "nan", "inf"])
def test_a_room_that_is_no_number_is_told(asked: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert room_asked(asked) == 384 * MB
    assert f"RAGTRIAGE_CACHE_MB is '{asked}', not a number of MB" in capsys.readouterr().err


def test_threads_that_want_one_result_wait_for_it() -> None:
    results, made = KeptResults(MB), list[int]()
    begun, go_on = threading.Event(), threading.Event()

    def make() -> str:
        made.append(1)
        begun.set()
        assert go_on.wait(10)
        return "made"

    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(results.get(("k",), make))) for _ in range(4)]
    threads[0].start()
    assert begun.wait(10)
    for thread in threads[1:]:
        thread.start()
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert found == ["made"] * 4
    assert made == [1]


def test_a_failure_is_not_kept() -> None:
    results = KeptResults(MB)
    with pytest.raises(ZeroDivisionError):
        results.get(("k",), lambda: 1 // 0)
    assert results.get(("k",), lambda: 7) == 7


def test_a_function_can_be_made_to_forget() -> None:
    calls: list[int] = []

    @kept
    def doubled(number: int) -> int:
        calls.append(number)
        return 2 * number

    assert [doubled(2), doubled(2), doubled(3)] == [4, 4, 6]
    forget(doubled)
    assert doubled(2) == 4
    assert calls == [2, 3, 2]


def test_keys_tell_values_and_types_apart() -> None:
    assert key_of(1) != key_of(True) != key_of(1.0)
    assert key_of([1, 2]) == key_of((1, 2)) != key_of((2, 1))
    assert key_of(np.zeros(2)) != key_of(np.zeros(2, dtype=np.int8))
    assert key_of({"a": [1]}) != key_of({"a": [2]})
    with pytest.raises(TypeError):
        key_of({1, 2})


def test_a_size_is_that_of_the_arrays_once() -> None:
    array = np.zeros(MB, dtype=np.int8)
    assert MB <= size_of([array, array, {"same": array}]) < 1.01 * MB
    many = [f"{at}" + "x" * 1000 for at in range(10_000)]
    assert size_of(many) == pytest.approx(10_000 * 1_053, rel=0.2)


def test_a_label_in_one_run_leaves_the_diagnosis_of_another_alone(workspace: RunStore) -> None:
    for name, level in (("one", 0.2), ("two", 0.9)):
        records = [
            {"question_id": f"q{at}", "question": "?", "answer": "a", "scores": {"faithfulness": level}}
            for at in range(3)
        ]
        add_run(records, name, "p", str(workspace.workspace.root))
    one, two = (workspace.scored(workspace.find(name)) for name in ("one", "two"))
    settings, ledger = DiagnosisSettings(), workspace.ledger
    before = cached_diagnosis(one, settings, ledger), cached_diagnosis(two, settings, ledger)
    ledger.add_label((one.run.run_id, "q0", 0), "anna", "pass")
    after = cached_diagnosis(one, settings, ledger), cached_diagnosis(two, settings, ledger)
    assert after[1] is before[1]
    assert after[0] is not before[0]
    assert after[0].human_labels.good.tolist() == [True, False, False]
    ledger.undo_label(one.run.run_id, "anna")
    assert cached_diagnosis(one, settings, ledger) is before[0]
