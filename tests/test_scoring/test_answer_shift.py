"""Whether answers and references look shifted: a run whose rows were joined wrongly says so first."""

from __future__ import annotations

import numpy as np
import pytest

from ragtriage.data.api import add_run
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.diagnosis.text_findings import shift_of
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.metrics.sanity.documents import read_first
from ragtriage.metrics.sanity.rule import CheckInput
from ragtriage.metrics.sanity.run import check_numbers

N = 40
NAMES = [f"{first}{at} Veldkamp{at}" for at, first in enumerate(["Anna", "Boris", "Clara", "Dirk"] * 10)]


def _fires(answers: list[str], references: list[str]) -> bool:
    pairs = [(at, *pair) for at, pair in enumerate(zip(answers, references, strict=True))]
    return "shifted" in {finding.rule for finding in check_numbers(CheckInput(N, shift=shift_of(pairs)))}


def test_aligned_answers_raise_nothing() -> None:
    assert not _fires([f"It was {name}." for name in NAMES], NAMES)


@pytest.mark.parametrize(("step", "until"), [(1, N), (-2, N), (1, N * 6 // 10)])
def test_rows_shifted_by_one_or_two_are_an_error_also_in_part(step: int, until: int) -> None:
    references = [NAMES[(at + step) % N] if at < until else NAMES[at] for at in range(N)]
    assert _fires([f"It was {name}." for name in NAMES], references)


def test_references_in_random_order_are_an_error() -> None:
    order = np.random.default_rng(0).permutation(N)
    assert _fires([f"It was {name}." for name in NAMES], [NAMES[at] for at in order])


def test_wrong_answers_that_name_what_other_questions_ask_for_are_none() -> None:
    """Two in five are wrong, and name another person of the set."""
    order = np.random.default_rng(1).permutation(N)
    answers = [NAMES[order[at]] if at % 5 < 2 else NAMES[at] for at in range(N)]
    assert not _fires(answers, NAMES)


def test_wrong_answers_of_yes_or_no_and_refusals_are_none() -> None:
    assert not _fires(["Yes."] * N, ["No", "Yes"] * (N // 2))
    assert not _fires(["I cannot answer that."] * N, NAMES)


def test_it_is_read_first_and_doubts_what_rests_on_references(workspace: RunStore) -> None:
    samples = [
        {
            "question_id": f"q{at:02}",
            "question": f"Who is number {at}?",
            "answer": f"It was {NAMES[at]}.",
            "reference_answer": NAMES[(at + 1) % N],
        }
        for at in range(N)
    ]
    scored = workspace.scored(add_run(samples, "run", "p", str(workspace.workspace.root)))
    (finding,) = read_first(check_run(scored))
    assert (finding.title, finding.severity) == ("Answers and references look shifted", "error")
    assert "40 of 40 answers" in finding.message
    assert "39 of them 1 row away; 0 fit their own" in finding.message
    assert "right_by_text" in finding.metrics
