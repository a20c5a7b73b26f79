"""What a run store keeps of runs: by run and by what was asked, up to one size for everything."""

import pytest

from ragtriage.data.scoring import run_cache
from ragtriage.data.scoring.run_cache import ENTRY, RunCache


class _Arrays:
    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes

    def release(self) -> None:
        self.nbytes = 0


def _unasked() -> str:
    raise AssertionError("it is kept")


def test_a_value_is_made_once_for_each_run_and_question() -> None:
    cache = RunCache()
    assert cache.get("a", "summary", lambda: "of a") == "of a"
    assert cache.get("b", "summary", lambda: "of b") == "of b"
    assert cache.get("a", ("summary", 5), lambda: "at 5") == "at 5"
    assert cache.get("a", "summary", _unasked) == "of a"


def test_a_value_that_holds_no_more_is_made_again() -> None:
    cache = RunCache()
    cache.get("a", "labelled", lambda: "before")
    assert cache.get("a", "labelled", lambda: "after", lambda kept: kept != "before") == "after"
    assert cache.get("a", "labelled", _unasked, lambda kept: kept != "before") == "after"


def test_beyond_the_room_what_was_not_used_for_longest_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_cache, "ROOM", 10 * ENTRY)
    cache, run = RunCache(), _Arrays(4 * ENTRY)
    cache.get("a", "summary", lambda: {"metric": 1})
    cache.get("a", "scored", lambda: run)
    cache.get("b", "summary", lambda: {"metric": 2})
    cache.get("b", "scored", lambda: _Arrays(6 * ENTRY))
    assert cache.get("b", "summary", dict) == {"metric": 2}
    assert run.nbytes == 0, "it was used before the others"
    assert cache.get("a", "scored", lambda: _Arrays(1)) is run, "others refer to it"
    assert cache.get("a", "summary", lambda: {"metric": 3}) == {"metric": 3}, (
        "it was dropped, and is made again"
    )
