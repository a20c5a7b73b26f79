"""The words of an answer: right by text, overlap with its reference, answer match."""

from functools import partial

import numpy as np

from ragtriage.metrics.schema.batch import OTHER_LANGUAGE, SAME, UNDECIDED, Wordings
from ragtriage.metrics.schema.metric import Metric, require
from ragtriage.metrics.schema.scores import Scores, Source, Status

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


WORDING_METRICS: tuple[Metric, ...] = (
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


_compared = partial(
    Metric,
    component="answer",
    needs=("scores",),
    undefined="Never; not run where no tool supplied it.",
    caution="Rewards shared words or vectors, not truth: a wrong number barely lowers it. Not for use as "
    "the primary metric.",
)
_BERT = "Zhang et al. 2020"
_COSINE = (-1.0, 1.0)

SIMILARITY_METRICS: tuple[Metric, ...] = (
    _compared(
        key="exact_match",
        title="Exact match",
        meaning="Whether the answer equals the reference answer after normalisation.",
        formula="1 if the normalised texts are equal, else 0",
        reference="SQuAD (Rajpurkar et al. 2016)",
        caution="A right answer in other words scores 0.",
    ),
    _compared(
        key="answer_similarity",
        title="Answer similarity",
        meaning="How close the answer and the reference answer are in embedding space.",
        formula="cosine of the two embeddings",
        reference="Ragas (Es et al. 2024)",
        bounds=_COSINE,
        aliases=("semantic_similarity",),
    ),
    _compared(
        key="rouge_l",
        title="ROUGE-L",
        meaning="How long a sequence of words the answer shares with the reference answer.",
        formula="F-measure of the longest common subsequence",
        reference="Lin 2004",
        aliases=("rouge_score",),
    ),
    _compared(
        key="bleu",
        title="BLEU",
        meaning="How many short word sequences of the answer are in the reference answer.",
        formula="brevity penalty * geometric mean of n-gram precisions",
        reference="Papineni et al. 2002",
        aliases=("bleu_score",),
    ),
    _compared(
        key="meteor",
        title="METEOR",
        meaning="How well the words of the answer, by stem or synonym, align with the reference answer.",
        formula="weighted F-measure of aligned words * (1 - fragmentation penalty)",
        reference="Banerjee and Lavie 2005",
        aliases=("meteor_score",),
    ),
    _compared(
        key="bert_score",
        title="BERTScore",
        meaning="How well the words of the answer match those of the reference answer as contextual vectors.",
        formula="F1 of greedy token matching by cosine",
        reference=_BERT,
        bounds=_COSINE,
    ),
    _compared(
        key="bert_rec",
        title="BERTScore recall",
        meaning="How much of the reference answer the answer covers, by contextual vectors.",
        formula="BERTScore recall of the answer against the reference answer",
        reference=_BERT,
        bounds=_COSINE,
    ),
    _compared(
        key="bert_kprec",
        title="BERTScore knowledge precision",
        meaning="How much of the answer the retrieved documents cover, by contextual vectors.",
        formula="BERTScore precision of the answer against the retrieved documents",
        reference="Adlakha et al. 2024",
        bounds=_COSINE,
    ),
    _compared(
        key="rb_agg",
        title="RB-agg",
        meaning="Overlap of the answer with the reference answer and with the documents, in one number.",
        formula="harmonic mean of BERTScore recall, BERTScore knowledge precision and ROUGE-L",
        reference="MTRAG (Katsis et al. 2025), after Adlakha et al. 2024",
    ),
)


_kept = partial(Metric, component="answer", needs=("scores",))

EXPERIMENT_METRICS: tuple[Metric, ...] = (
    _kept(
        key="answer_match",
        title="Answer match",
        meaning="Whether the answer holds one of the accepted answers word for word.",
        formula="1 if any accepted answer, normalised, is a substring of the normalised answer, else 0",
        undefined="Where no accepted answer is known.",
        reference="best-subspan exact match (Liu et al. 2024), normalised as in SQuAD",
        aliases=("best_subspan_em",),
        caution="For short answers such as names and numbers; a right answer in other words scores 0.",
    ),
    _kept(
        key="altered_answer_match",
        title="Altered answer given",
        meaning="Whether the answer holds the wrong answer that was put into its document.",
        formula="1 if the altered answer, normalised, is a substring of the normalised answer, else 0",
        undefined="Where no document was altered.",
        reference="counterfactual robustness, RGB (Chen et al. 2024)",
        higher_is_better=None,
    ),
    _kept(
        key="answer_declined",
        title="Answer declines",
        meaning="Whether the answer declines to answer, by its words.",
        formula="1 if a phrase of the answer declines, else 0",
        undefined="Never; not run outside experiments.",
        reference="negative rejection, RGB (Chen et al. 2024)",
        higher_is_better=None,
    ),
)
