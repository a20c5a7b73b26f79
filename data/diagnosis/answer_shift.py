"""Whether answers and references of a run look shifted against each other, by their words."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from ragtriage.data.store.stored_file import reading
from ragtriage.data.text.tokens import content_tokens
from ragtriage.metrics.sanity.rule import AnswerShift

MOST_ROWS = 500  # looked at, in a row: what is shifted is so against its neighbours
FITS = 0.6  # share of a reference's words, weighed by their rarity, that an answer which fits it has
CLEARLY = 0.5  # an answer's own reference fits less than this part of another one


@lru_cache(maxsize=64)  # the samples of a run never change
def answer_shift(samples: Path) -> AnswerShift | None:
    """Return how the answers of a run fit their references and those of other questions; None without any."""
    with reading(samples), pq.ParquetFile(samples) as file:
        batches = file.iter_batches(MOST_ROWS, columns=["row", "answer", "reference_answer"])
        records = next(batches).to_pylist() if file.metadata.num_rows else []
    pairs = [
        (record["row"], record["answer"], record["reference_answer"])
        for record in records
        if record["answer"] and record["reference_answer"]
    ]
    return shift_of(pairs) if pairs else None


def shift_of(pairs: Sequence[tuple[int, str, str]]) -> AnswerShift:
    """Compare the words of each answer with every reference that no other question shares.

    Args:
        pairs: row, answer and reference of each question.
    """
    references = [frozenset(content_tokens(reference.lower())) for _, _, reference in pairs]
    shared = Counter(references)
    places = defaultdict(list)
    for at, reference in enumerate(references):
        for token in reference:
            places[token].append(at)
    rarity = {token: math.log(1 + len(pairs) / len(rows)) for token, rows in places.items()}
    whole = np.array([sum(rarity[token] for token in reference) for reference in references])
    own_only = np.array([shared[reference] == 1 for reference in references]) & (whole > 0)
    n_own, shifted, steps = 0, [], Counter[int]()
    for at, (row, answer, _) in enumerate(pairs):
        has = np.zeros(len(pairs))
        for token in content_tokens(answer.lower()) & rarity.keys():
            has[places[token]] += rarity[token]
        fit = np.divide(has, whole, out=np.zeros(len(pairs)), where=whole > 0)
        own, others = fit[at], np.where(own_only, fit, 0.0)
        others[at] = 0.0
        best = int(others.argmax())
        n_own += int(own >= FITS)
        if others[best] >= FITS and own < CLEARLY * others[best]:
            shifted.append(row)
            steps[pairs[best][0] - row] += 1
    step, most = steps.most_common(1)[0] if steps else (0, 0)
    return AnswerShift(len(pairs), n_own, tuple(shifted), step, most)
