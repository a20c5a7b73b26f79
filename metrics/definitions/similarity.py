"""Overlap and embedding scores supplied by other tools: shown with a caution, never primary."""

from __future__ import annotations

from functools import partial

from ragtriage.metrics.schema.metric import Metric

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

METRICS: tuple[Metric, ...] = (
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
