"""One RAG run of 12 questions as every tool exports it, and what each of its files must become.

Expected values stand in tests/fixtures/exports/_expected; they were computed when the files were made, by
code that shares nothing with the importers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from places import FIXTURES

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import inputs_of, joined
from ragtriage.data.store.parsed_run import normalise

__all__ = ["EXPORTS", "assert_is_the_run", "expected", "outcome", "read", "scores_of"]

EXPORTS = FIXTURES / "exports"
Samples = list[dict[str, Any]]


@cache
def expected() -> dict[str, Any]:
    """Return the expected values and, under `texts`, the run as it was made: question -> its row."""
    values: dict[str, Any] = json.loads((EXPORTS / "_expected/expected.json").read_text("utf-8"))
    made = json.loads((EXPORTS / "_expected/rag_run.json").read_text("utf-8"))
    return {**values, "texts": {row["question"]: row for row in made["rows"]}}


def read(*paths: Path, **options: Any) -> dict[str, Samples]:
    """Return the samples of each run in files that are imported in one command, as they would be stored."""
    found: dict[str, Samples] = {}
    inputs = joined([one for path in paths for one in inputs_of(str(path), Options(**options))])
    for source, source_options in inputs:
        errors = ValidationErrors(source.name)
        for parsed in read_runs(source, source_options, errors):
            records = [normalise(record, line, errors) for line, record in parsed.records]
            found.setdefault(parsed.name, []).extend(record for record in records if record is not None)
        errors.raise_if_any()
    return found


def outcome(*paths: Path) -> str:
    """Return "run" where files are read, "sentence" where one refuses them; any other exception passes."""
    try:
        read(*paths)
    except InputError as error:
        return "sentence" if "; accepted: " in str(error) else str(error)
    return "run"


def scores_of(sample: Mapping[str, Any]) -> dict[str, float | None]:
    """Return metric -> value of a sample; None where the metric failed."""
    return {score["metric"]: score["value"] for score in sample["scores"] or ()}


def assert_is_the_run(
    samples: Sequence[Mapping[str, Any]],
    *,
    scores_of_q11: bool,
    answer_of_q11: bool = True,
    contexts: bool = True,
    contexts_of_q11: bool = True,
    ids: bool = False,
    references: bool = True,
    failed_score_kept: bool = True,
    scores: bool = True,
) -> None:
    """Assert that samples are the 12 questions with their answers, contexts and scores.

    Args:
        samples: as stored.
        scores_of_q11: whether the tool keeps scores of the question on which the pipeline failed.
        answer_of_q11: whether the pipeline answered it there.
        contexts: whether the file holds what was retrieved.
        contexts_of_q11: whether it was retrieved there before the pipeline failed.
        ids: whether the file holds the ids of the documents.
        references: whether the file holds the reference answers.
        failed_score_kept: whether the file says that the score of q08 was tried and failed.
        scores: whether the file holds scores.
    """
    texts = expected()["texts"]
    rows = {row["question"]: row for row in expected()["rows"]}
    assert sorted(sample["question"] for sample in samples) == sorted(rows)
    for sample in samples:
        row, made = rows[sample["question"]], texts[sample["question"]]
        is_q11 = row["id"] == "q11"
        if is_q11 and not answer_of_q11:
            assert sample["answer"] is None
        else:
            assert sample["answer"] == made["answer"], row["id"]
        if references:
            assert sample["reference_answer"] == made["reference"], row["id"]
        if contexts and (contexts_of_q11 or not is_q11):
            documents = sample["retrieved"] or []
            assert [document["text"] for document in documents] == [one["text"] for one in made["contexts"]]
            if ids:
                assert [document["id"] for document in documents] == row["ids"]
    if scores:
        _assert_means(samples, scores_of_q11, failed_score_kept)
    else:
        assert not any(sample["scores"] for sample in samples)


def _assert_means(samples: Sequence[Mapping[str, Any]], scores_of_q11: bool, failed_score_kept: bool) -> None:
    rows = {row["question"]: row for row in expected()["rows"]}
    for metric in ("faithfulness", "answer_relevancy"):
        values = []
        for sample in samples:
            row, value = rows[sample["question"]], scores_of(sample).get(metric)
            if row["id"] == "q11" and not scores_of_q11:
                assert value is None, metric
            elif row[metric] is None:
                assert (
                    metric in scores_of(sample)
                ) == failed_score_kept  # attempted without success, which is not "not run"
                assert value is None or math.isnan(value)
            else:
                assert value is not None
                assert math.isclose(value, row[metric], abs_tol=5e-5), (metric, row["id"])
                values.append(value)
        of_all = expected() if scores_of_q11 else expected()["without_q11"]
        n = of_all[metric].get("n", of_all[metric].get("n_scored"))
        assert len(values) == n
        assert math.isclose(sum(values) / n, of_all[metric]["mean"], abs_tol=1e-6), metric
