"""Two diagnoses of which each question has human labels on both sides or on neither."""

from collections.abc import Collection
from functools import lru_cache

from ragtriage.data.comparison.question_match import match_questions
from ragtriage.data.diagnosis.diagnosis import Diagnosis, diagnose
from ragtriage.metrics.number_text import percent


def with_shared_labels(base: Diagnosis, other: Diagnosis) -> tuple[Diagnosis, Diagnosis]:
    """Return both sides by the labels of questions that both sides label.

    A label of one side alone would set what a person says against what the metrics say; so would a side that
    labels of a random sample correct beside one that they do not: then no label counts.
    """
    ours, theirs = labelled_questions(base), labelled_questions(other)
    if _corrected_alone(base, other):
        return _by_labels_of(base, ours, frozenset()), _by_labels_of(other, theirs, frozenset())
    both = [
        (first, second) for first, second in _shared_ids(base, other) if first in ours and second in theirs
    ]
    return (
        _by_labels_of(base, ours, frozenset(first for first, _ in both)),
        _by_labels_of(other, theirs, frozenset(second for _, second in both)),
    )


def _shared_ids(base: Diagnosis, other: Diagnosis) -> list[tuple[str, str]]:
    """Return the ids that the shared questions have in either run."""
    matched = match_questions(base.scored, other.scored)
    sides = base.scored.question_ids[matched.base], other.scored.question_ids[matched.other]
    return list(zip(*(side.tolist() for side in sides), strict=True))


def labelled_questions(side: Diagnosis) -> frozenset[str]:
    """Return the questions of a run that a person called good or bad."""
    labels = [label for of_row in side.human_labels.labels.values() for label in of_row]
    return frozenset(label.question_id for label in labels if label.verdict is not None)


def left_out_labels(base: Diagnosis, other: Diagnosis) -> str:
    """Return which labels a comparison leaves out, as a sentence; "" where none is.

    Where labels of random samples correct both sides, all of them count.
    """
    before, after = base.label_correction, other.label_correction
    if before is not None and after is not None:
        return (
            "Labels of a random sample are used to correct the pass rate on both sides "
            f"(raw {percent(before.raw)} and {percent(after.raw)})."
        )
    if _corrected_alone(base, other):
        return (
            "Labels of a random sample correct the pass rate of one of the two runs only: the comparison "
            "leaves all labels out."
        )
    ours, theirs = labelled_questions(base), labelled_questions(other)
    both = sum(first in ours and second in theirs for first, second in _shared_ids(base, other))
    n = len(ours) + len(theirs) - 2 * both
    if not n:
        return ""
    are = "1 question has human labels" if n == 1 else f"{n:,} questions have human labels"
    return f"{are} in one of the two runs only: the comparison leaves these labels out."


def _corrected_alone(base: Diagnosis, other: Diagnosis) -> bool:
    return (base.label_correction is None) != (other.label_correction is None)


def _by_labels_of(side: Diagnosis, labelled: Collection[str], shared: frozenset[str]) -> Diagnosis:
    return side if len(labelled) == len(shared) else _diagnosed(_Keyed(side, shared))


class _Keyed:
    """A diagnosis and the questions whose labels count, compared by what they depend on."""

    def __init__(self, side: Diagnosis, shared: frozenset[str]) -> None:
        self.side, self.shared = side, shared
        self._key = (side.cache_key, shared)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Keyed) and self._key == other._key


@lru_cache(maxsize=16)  # a page compares the same pair several times
def _diagnosed(keyed: _Keyed) -> Diagnosis:
    side = keyed.side
    labels = [
        label
        for of_row in side.human_labels.labels.values()
        for label in of_row
        if label.question_id in keyed.shared
    ]
    return diagnose(side.scored, side.settings, labels)
