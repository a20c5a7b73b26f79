"""Questions whose gold sits in a table: whether retrieval finds it as often as other gold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ragtriage.data.errors import DataError
from ragtriage.data.experiments.parsing.markdown_tables import page_tables, without_tables
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.text.answer_match import holds_answer
from ragtriage.metrics.schema.scores import IntArray
from ragtriage.metrics.statistics.intervals import Interval, interval
from ragtriage.metrics.statistics.question_means import question_means


@dataclass(frozen=True)
class TableRecall:
    """A retrieval metric by where the answer stands on the gold page.

    Attributes:
        metric: its name.
        in_table: over questions whose reference answer stands in a table cell alone.
        in_text: over those where it stands in the text.
        unknown: questions left out: no reference answer, no true page, or the answer is not on it.
    """

    metric: str
    in_table: Interval
    in_text: Interval
    unknown: int


def table_recall(scored: ScoredRun, gold: Mapping[str, str], metric: str) -> TableRecall:
    """Return a metric of a run over the questions with gold in tables, and over those with gold in text.

    Args:
        scored: a run whose gold documents are named as the true pages.
        gold: name of a page -> its true text.
        metric: of the run, e.g. "recall@5".

    Raises:
        DataError: the run does not have the metric, or no question has its gold on a true page.
    """
    if metric not in scored.metrics:
        known = ", ".join(name for name in scored.metrics if name.startswith("recall@"))
        accepted = known or "a metric of the run"
        raise DataError(f"run {scored.run.name}: no metric {metric!r}; accepted: {accepted}")
    places = _places(scored, gold)
    if not (places >= 0).any():
        raise DataError(
            f"run {scored.run.name}: no reference answer stands on a true page; accepted: gold ids that are "
            "names of the true pages"
        )
    values = question_means(scored.values(metric), scored.question)[0]

    def mean(place: int) -> Interval:
        mine = places == place
        return interval(values[mine], scored.clusters[mine], int(mine.sum()))

    return TableRecall(metric, mean(1), mean(0), unknown=int((places < 0).sum()))


def _places(scored: ScoredRun, gold: Mapping[str, str]) -> IntArray:
    """Return for each question 1 where its answer stands in a table, 0 in the text, -1 where not known."""
    places = np.full(len(scored.question_ids), -1, dtype=np.int64)
    samples = scored.samples.each(["relevant", "reference_answer"])
    for question, sample in zip(scored.question.tolist(), samples, strict=True):
        pages = [gold[entry["id"]] for entry in sample["relevant"] or () if entry["id"] in gold]
        places[question] = max(places[question], _place(pages, sample["reference_answer"] or ""))
    return places


def _place(pages: list[str], answer: str) -> int:
    """Return 1 where an answer stands in a table of the pages alone, 0 where in their text, -1 nowhere."""
    if any(holds_answer(without_tables(page), [answer]) for page in pages):
        return 0
    cells = (cell.text for page in pages for table in page_tables(page) for row in table for cell in row)
    return 1 if any(holds_answer(text, [answer]) for text in cells) else -1
