"""The texts of questions and answers as the sanity checks look at them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray

FEWEST_AT_A_LENGTH = 5  # answers of one length that no chance explains
AT_A_LENGTH = 0.2  # share of the answers that must have it
SHORT_LIMIT = 60  # characters; answers of fewer may well be equally long
SHORT_TOKENS = 16
LINKS = 0.15  # of texts cut anywhere, as many end behind a comma or on a word that another has to follow
FEWEST_LONG = 10  # long answers, half of all, of which nearly none has an end mark
NEARLY_ALL = 0.8
OF_STYLE = 0.5  # share of the references without an end mark that shows that none is asked for
UNDECIDED, WHOLE, BARE, OPEN, DANGLING = -1, 0, 1, 2, 3  # how a text ends
CUT, ENDED = 1, 0  # what ended an answer, as recorded


@dataclass(frozen=True)
class AnswerTexts:
    """What the texts of n samples tell by themselves."""

    question: IntArray  # (n,) codes of the questions
    errors: Mapping[int, str]  # row -> the error that a sample ended in
    answered: BoolArray  # (n,) True for an answer with words that neither is an error nor refuses
    ending: IntArray  # (n,) how it ends: WHOLE, BARE, OPEN or DANGLING; -1 where that is not told
    reference_ending: IntArray  # (n,) how its reference ends, likewise
    stop: IntArray  # (n,) what ended it as recorded: CUT by a limit, ENDED by the model; -1 unknown
    tails: NDArray[np.object_]  # (n,) the last characters
    length: FloatArray  # (n,) characters
    tokens: FloatArray  # (n,) as recorded; NaN unknown
    # (n,) language of the question where the answer could be compared with it, else ""
    languages: NDArray[np.object_]
    foreign: BoolArray  # (n,) True for an answer in another language
    secrets: Mapping[int, tuple[str, ...]]  # row -> what the answer tells, masked
    from_context: frozenset[int]  # rows of those whose context holds it
    contact: BoolArray  # (n,) True where it has an e-mail address or a phone number
    asked: IntArray  # (n,) codes of the questions by their texts
    said: IntArray  # (n,) codes of the answers by their texts
    expected: IntArray  # (n,) codes of the references by their texts, in the way of `said`; 0 without one
    echo: BoolArray  # (n,) True where the answer is the question
    wants_sources: BoolArray  # (n,) True where question or prompt asks for sources
    names_sources: BoolArray  # (n,) True where the answer names any

    @cached_property
    def at_limit(self) -> tuple[BoolArray, str]:
        """Which answers end at the greatest length, if more do than by chance; and that length."""
        for lengths, least, unit in (
            (self.tokens, SHORT_TOKENS, "tokens"),
            (self.length, SHORT_LIMIT, "characters"),
        ):
            told = self.answered & (lengths >= least)
            if not told.any():
                continue
            most = lengths[told].max()
            there = told & (lengths == most)
            different = len(np.unique(self.said[there]))
            unfinished = (there & (self.ending > WHOLE)).sum() * 2 >= (there & (self.ending >= WHOLE)).sum()
            enough = different >= max(FEWEST_AT_A_LENGTH, AT_A_LENGTH * told.sum())
            if enough and unfinished and not (self.stop[there] == ENDED).all():
                return there, f"{int(most):,} {unit}"
        return np.zeros(len(self.answered), dtype=np.bool_), ""

    @cached_property
    def truncated(self) -> BoolArray:
        """(n,) True for answers that a limit ended, or that end in the middle of a sentence."""
        told = self.answered & (self.ending >= WHOLE) & (self.stop != ENDED)
        dangling, unfinished = told & (self.ending == DANGLING), told & (self.ending > WHOLE)
        cut: BoolArray = dangling
        references = self.reference_ending[told & (self.reference_ending >= WHOLE)]
        in_style = len(references) > 0 and bool((references != WHOLE).mean() >= OF_STYLE)
        long_ones = max(FEWEST_LONG, OF_STYLE * self.answered.sum())
        nearly_all = told.sum() >= long_ones and unfinished.sum() >= NEARLY_ALL * told.sum()
        if (nearly_all and not in_style) or dangling.sum() >= LINKS * unfinished.sum():
            cut = unfinished
        by_limit: BoolArray = self.answered & (self.stop == CUT)
        return cut | by_limit | self.at_limit[0]
