"""Right by text: whether an answer says what its reference says, estimated from the words of both."""

from __future__ import annotations

import numpy as np

from ragtriage.metrics.schema.applicability import require
from ragtriage.metrics.schema.batch import OTHER_LANGUAGE, SAME, UNDECIDED, Wordings
from ragtriage.metrics.schema.metric import Metric
from ragtriage.metrics.schema.scores import Scores, Status
from ragtriage.metrics.schema.source import Source

RIGHT_BY_TEXT = "right_by_text"
NOT_DECIDED = "its words do not decide whether it says what the reference says"
MOST_UNDECIDED = 0.3  # share of the answers above which those that are decided are not a fair sample of all


def right_by_text(wordings: Wordings) -> Scores:
    """1 where the words of an answer are those of its reference, 0 where they are others, else not run."""
    decided = (wordings.outcome == SAME).astype(np.float64)
    unread = wordings.outcome == OTHER_LANGUAGE
    no_reference = (wordings.outcome < 0) & wordings.has_answer & ~unread
    return Scores.build(
        decided,
        [
            (~wordings.has_answer, Status.NOT_RUN, "no answer was recorded"),
            (unread, Status.NOT_RUN, "the estimate was not measured in the language of the answer"),
            (no_reference, Status.NOT_APPLICABLE, "no reference answer was recorded"),
            (wordings.outcome == UNDECIDED, Status.NOT_RUN, NOT_DECIDED),
        ],
        Source.ESTIMATED,
    )


METRICS: tuple[Metric, ...] = (
    Metric(
        key=RIGHT_BY_TEXT,
        title="Right by text",
        meaning="Whether the answer says what the reference answer says, estimated from the words of both.",
        formula="1 if the names, numbers, dates or nearly all words of the reference are in the answer, 0 if "
        "it refuses or shares none of them; between these it is not decided",
        component="answer",
        needs=("answer", "wording"),
        undefined="No reference answer is recorded.",
        reference="ragtriage; compared with people's labels in docs/diagnosis.md",
        caution="An estimate. It decides 4 in 5 short answers and 1 in 5 long ones; where more than "
        "30 % stay open there is no mean, only bounds. It does not see an opposite in one word.",
        compute=lambda batch, _k, _convention: right_by_text(require(batch.wordings)),
        least_scored=1 - MOST_UNDECIDED,
    ),
)
