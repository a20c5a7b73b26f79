"""A TREC run whose lines are grouped by question is read a question at a time, with the same result."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.formats import trec
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.input_file import InputFile

HIT = st.tuples(
    st.sampled_from("abcdef"), st.sampled_from((0.5, 1.0, 1.00000001, -2.0, 3e8)), st.integers(0, 4)
)
RUN = st.lists(st.lists(HIT, min_size=1, max_size=5), min_size=1, max_size=4)
QRELS = InputFile.from_bytes("q.qrels", b"q0 0 a 1\nq1 0 b 2\nq9 0 c 1\n")
QUERIES = InputFile.from_bytes("queries.tsv", b"q0\tWhat?\nq8\tWho?\n")


def _lines(run: list[list[tuple[str, float, int]]]) -> list[str]:
    return [
        f"q{at} Q0 {document} {rank} {score!r} t"
        for at, hits in enumerate(run)
        for document, score, rank in hits
    ]


def _read(content: str, **options: Any) -> list[Any]:
    source = InputFile.from_bytes("mine.trec", content.encode())
    errors = ValidationErrors("mine.trec")
    runs = read_runs(source, Options(**options), errors)
    return [(run.name, list(run.records), run.all_notes, errors.notes) for run in runs]


@given(RUN, st.sampled_from((None, 1, 2)), st.booleans(), st.booleans())
def test_a_streamed_run_is_the_run_that_is_held(
    run: list[list[tuple[str, float, int]]], limit: int | None, labelled: bool, counted: bool
) -> None:
    options = {"limit": limit, "queries": QUERIES, "all_topics": counted}
    if labelled:
        options["qrels"] = QRELS
    content = "\n".join(_lines(run))
    streamed = _read(content, **options)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(trec, "_grouped_run", lambda *_: None)
        assert streamed == _read(content, **options)


def test_a_run_in_groups_is_read_no_further_than_its_next_question() -> None:
    content = "".join(f"q{at} Q0 d{rank} {rank} {9 - rank} t\n" for at in range(50) for rank in range(4))
    source = InputFile.from_bytes("mine.trec", content.encode())
    (run,) = trec.read(source, Options(), ValidationErrors("mine.trec"))
    read = 0

    def counted(_: Any, errors: ValidationErrors) -> Iterator[tuple[int, str]]:
        nonlocal read
        for line in enumerate(content.splitlines(), 1):
            read += 1
            yield line

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(InputFile, "lines", counted)
        records = iter(run.records)
        assert [next(records)[0] for _ in range(3)] == [1, 5, 9]
    assert read == 3 * 4 + 1


@pytest.mark.parametrize(
    "lines",
    [
        ["q0 Q0 a 1 2 t", "q1 Q0 a 1 2 t", "q0 Q0 b 2 1 t"],  # not in groups
        ["q0 Q0 a 1 2 t", "q0 Q0 b 2 1 u"],  # two tags
    ],
)
def test_other_runs_are_held_and_lose_nothing(lines: list[str]) -> None:
    runs = _read("\n".join(lines))
    documents = [
        document["id"] for _, records, *_ in runs for _, one in records for document in one["retrieved"]
    ]
    assert sorted(documents) == sorted(line.split()[2] for line in lines)


def test_a_run_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.trec"
    path.write_text("q0 Q0 a 1 2 t\nq1 Q0 a 1 2 t\n")
    (run,) = trec.read(InputFile.from_path(path), Options(), ValidationErrors("mine.trec"))
    path.write_text("q0 Q0 a 1 2 t\nnonsense\n")
    with pytest.raises(InputError, match="changed while it was read"):
        list(run.records)
