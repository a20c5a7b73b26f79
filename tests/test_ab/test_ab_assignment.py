"""`ragtriage.assign`: always the same arm, balanced, and independent between experiments."""

from __future__ import annotations

import hashlib
from collections import Counter

import pytest

import ragtriage
from ragtriage.metrics.ab.split import sample_ratio

HALVES = {"A": 0.5, "B": 0.5}
USERS = [f"user-{number}" for number in range(20_000)]


def test_an_arm_is_what_the_definition_says() -> None:
    """The documented rule, so that another service can compute the same."""
    for user in ("ada", "17", "\u7528\u6237", "x" * 500):
        place = int(hashlib.sha256(f"rerank\0{user}".encode()).hexdigest()[:16], 16) / 2**64
        arm = "A" if place < 0.2 else "B" if place < 0.5 else "C"
        assert ragtriage.assign(user, "rerank", {"A": 2, "B": 3, "C": 5}) == arm
    assert ragtriage.assign(17, "rerank", HALVES) == ragtriage.assign("17", "rerank", HALVES)


@pytest.mark.parametrize("shares", [HALVES, {"A": 90, "B": 10}, {"A": 1, "B": 1, "C": 1}])
def test_arms_have_their_shares(shares: dict[str, float]) -> None:
    counts = Counter(ragtriage.assign(user, "rerank", shares) for user in USERS)
    assert sample_ratio([counts[arm] for arm in shares], list(shares.values())).p > 0.01


def test_the_arms_of_two_experiments_do_not_depend_on_each_other() -> None:
    pairs = Counter(
        (ragtriage.assign(user, "rerank", HALVES), ragtriage.assign(user, "prompt", HALVES)) for user in USERS
    )
    assert len(pairs) == 4
    assert sample_ratio([pairs[a, b] for a in "AB" for b in "AB"], [1, 1, 1, 1]).p > 0.01


def test_raising_a_share_moves_nobody_back() -> None:
    before = {user for user in USERS if ragtriage.assign(user, "rerank", {"A": 0.9, "B": 0.1}) == "B"}
    after = {user for user in USERS if ragtriage.assign(user, "rerank", HALVES) == "B"}
    assert before < after


@pytest.mark.parametrize(
    ("user", "experiment", "shares"),
    [
        ("", "rerank", HALVES),
        ("u", "", HALVES),
        ("u", "rerank", {"A": 1}),
        ("u", "rerank", {"A": 1, "B": 0}),
        ("u", "rerank", {"A": 1, "B": float("nan")}),
        ("u", "rerank", {"A": 1, "B": -1}),
        (None, "rerank", HALVES),
        (1.5, "rerank", HALVES),
        ("u", "rerank", "AB"),
    ],
)
def test_what_cannot_be_assigned_says_what_would_be(user: object, experiment: str, shares: object) -> None:
    with pytest.raises(ragtriage.RagtriageError, match="accepted: "):
        ragtriage.assign(user, experiment, shares)  # type: ignore[arg-type]  # wrong on purpose
