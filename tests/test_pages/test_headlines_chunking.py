"""What Chunking concludes, in every state: the numbers behind it are tested with the ranking."""

from __future__ import annotations

from datetime import datetime

import pytest

from ragtriage.dashboard.headlines.chunking import NO_GRID, chunking_headline
from ragtriage.data.chunking.grids import GridRanking, GridTrial, Outcome, TrialValue
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.statistics.intervals import Interval

NOW = datetime(2026, 1, 1)


def _entry(
    size: int, outcome: Outcome, mean: float | None = 0.5, name: str = "", **config: int
) -> TrialValue:
    run = Run(
        *(f"r{size}{name}", name or f"{size} / 0", "p", 9, 9, NOW, NOW, {}, config, "", "", "", "", (), ())
    )
    value = None if mean is None else Interval(mean, mean - 0.1, mean + 0.1, 40, 40, 40, "bootstrap", False)
    return TrialValue(GridTrial(run, "fixed", size, 0), value, None, None, outcome)


def _ranking(*entries: TrialValue, metric: str = "span_recall@5", n: int = 40, left: int = 0) -> GridRanking:
    ids = frozenset(entry.trial.run.run_id for entry in entries)
    return GridRanking(metric, entries, n, left, (), ids)


def test_without_a_grid_it_says_what_to_do() -> None:
    assert (NO_GRID.state, NO_GRID.statement) == ("empty", "Run a grid of sizes and overlaps")


def test_a_grid_without_any_metric_is_not_measured() -> None:
    headline = chunking_headline(None)
    assert (headline.state, headline.statement) == ("not measured", "No gold spans to score against")


@pytest.mark.parametrize(
    ("entries", "state", "statement"),
    [
        (
            [_entry(128, "worse"), _entry(256, "same", index_tokens=5), _entry(512, "best", index_tokens=9)],
            "good",
            "256 / 0 is tied with 512 / 0, and cheaper",
        ),
        (
            [_entry(128, "worse"), _entry(256, "same", index_tokens=9), _entry(512, "best", index_tokens=5)],
            "bad",
            "128-token chunks recall less; 256 and 512 are tied",
        ),
        ([_entry(128, "worse"), _entry(256, "best")], "good", "256 / 0 beats every other chunking"),
        (
            [
                _entry(256, "worse", name="a"),
                _entry(256, "same", name="b", index_tokens=5),
                _entry(512, "best", index_tokens=9),
            ],
            "good",
            "b is tied with 512 / 0, and cheaper",
        ),
        ([_entry(128, "same"), _entry(256, "best")], "cannot tell", "No chunking stands out"),
        ([_entry(128, "equal"), _entry(256, "equal")], "good", "All 2 chunkings do equally well"),
        ([_entry(128, "best"), _entry(256, "not measured", None)], "cannot tell", "Only 128 / 0 has a value"),
        (
            [
                _entry(1, "worse", name="a"),
                _entry(1, "same", name="b"),
                _entry(2, "best", name="heading up to 256 tokens, with headings"),
            ],
            "good",
            "heading up to 256 tokens, with headings has the best span recall@5",
        ),
        (
            [_entry(128, "no direction"), _entry(256, "no direction")],
            "cannot tell",
            "Span recall@5 has no direction: none is best",
        ),
        (
            [_entry(128, "not measured", None), _entry(256, "not measured", None)],
            "not measured",
            "No chunking has span recall@5",
        ),
    ],
)
def test_every_state(entries: list[TrialValue], state: str, statement: str) -> None:
    headline = chunking_headline(_ranking(*entries), unit="tokens")
    assert (headline.state, headline.statement) == (state, statement)


def test_questions_that_none_shares_are_not_measured() -> None:
    entries = [_entry(128, "not measured", None), _entry(256, "not measured", None)]
    headline = chunking_headline(_ranking(*entries, n=0, left=80))
    assert (headline.state, headline.statement) == ("not measured", "The chunkings share no scored question")


def test_what_the_grid_doubts_stands_beside_the_conclusion() -> None:
    headline = chunking_headline(
        _ranking(_entry(128, "worse"), _entry(256, "best")), doubts=["3 of 9 configurations have finished"]
    )
    assert headline.doubt == "3 of 9 configurations have finished"


def test_statements_stay_short_whatever_the_names_are() -> None:
    long = "a name of a configuration that goes on and on and on, as generated names do"
    many = [_entry(size, "worse") for size in (64, 96, 128)]
    for entries in (
        [_entry(1, "same", name=long, index_tokens=1), _entry(2, "best", name=long + "!", index_tokens=9)],
        [_entry(1, "worse", name=long), _entry(2, "best", name=long + "!")],
        [*many, _entry(1024, "same"), _entry(2048, "same"), _entry(4096, "same"), _entry(8192, "best")],
    ):
        headline = chunking_headline(_ranking(*entries), unit="characters of the corpus as it was loaded")
        assert len(headline.statement) <= 72, headline.statement


def test_another_k_that_orders_them_otherwise_is_told() -> None:
    small, large = _entry(128, "worse"), _entry(256, "best", name="by heading (max 256 tokens)")
    found = _ranking(small, large)
    same = chunking_headline(found, elsewhere=(10, {"r128": 0.8, "r256by heading (max 256 tokens)": 0.9}))
    assert "order depends" not in same.detail
    assert same.statement == "By heading (max 256 tokens) beats every other chunking"
    other = chunking_headline(found, elsewhere=(10, {"r128": 0.85, "r256by heading (max 256 tokens)": 0.8}))
    assert "depends on k: among the top 10, 128 / 0 has the best mean, 0.850" in other.detail
