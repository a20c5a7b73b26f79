"""Imported scores that do not count because the words of the answer read as a refusal."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from ragtriage.data.scoring.answered_only import OVER_ANSWERS
from ragtriage.data.scoring.imported_scores import imported_scores
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.stored_file import reading
from ragtriage.metrics.sanity.rule import Finding, rows_of
from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.schema.source import Source
from ragtriage.metrics.statistics.question_means import question_means

MOST_NAMED = 3


def refused_scores(scored: ScoredRun) -> list[Finding]:
    """Return the finding on scores that a tool gave to answers which only their words make refusals.

    The means differ from the tool's then, and nobody has said that these answers are refusals.
    """
    features = scored.stage_features
    guessed = (features["refused"] == 1) & (features["refused_source"] == Source.ESTIMATED)
    names = [name for name in OVER_ANSWERS if set(scored.sources.get(name, ())) == {Source.IMPORTED}]
    if not guessed.any() or not names:
        return []
    recorded = _recorded(scored.samples_path)
    left_out, means = np.zeros(scored.n, dtype=np.bool_), {}
    for name in filter(recorded.__contains__, names):
        values = scored.values(name)
        lost = guessed & np.isnan(values) & np.isfinite(recorded[name])
        if lost.any():
            left_out |= lost
            without, whole = (
                _mean(column, scored) for column in (values, np.where(lost, recorded[name], values))
            )
            means[name] = f"{without}, with {'it' if lost.sum() == 1 else 'them'} {whole}"
    if not means:
        return []
    n = int(left_out.sum())
    which = "answer reads as a refusal, so its" if n == 1 else "answers read as refusals, so their"
    more = f"; {len(means) - MOST_NAMED:,} more metrics" if len(means) > MOST_NAMED else ""
    named = "; ".join(f"{name} {text}" for name, text in list(means.items())[:MOST_NAMED])
    message = (
        f"{n:,} {which} imported scores are left out: {named}{more}. To count them, say `refused: false` in "
        "the file where it is none; `ragtriage metrics RUN --convention ragchecker` shows the tool's means."
    )
    title = "Scores of estimated refusals left out"
    return [Finding("refused_scores", "note", title, message, (), n, rows_of(left_out), tuple(means))]


def _mean(values: FloatArray, scored: ScoredRun) -> str:
    means = question_means(values, scored.question)[0]
    n = int(np.isfinite(means).sum())
    return f"{np.nanmean(means):.3f} of {n:,}" if n else "no value"


@lru_cache(maxsize=64)  # the samples of a run never change
def _recorded(samples: Path) -> dict[str, FloatArray]:
    """Return metric -> (n,) scores as they were imported, NaN where there is none."""
    with reading(samples):
        table = pq.read_table(samples, columns=["scores"])
    return {
        name: scores.values for (name, _), scores in imported_scores(table).items() if name in OVER_ANSWERS
    }
