"""Sentences about how many answers are right, and what that is taken from."""

from ragtriage.dashboard.wording.escaping import in_sentence
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.diagnosis.good_case import corrected_right_rate, right_by_context
from ragtriage.data.diagnosis.main_loss import WORDY, main_loss
from ragtriage.metrics.definitions.answer_text import RIGHT_BY_TEXT
from ragtriage.metrics.diagnosis.right import CORRECTNESS
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import count, number, percent
from ragtriage.metrics.schema.scores import Source

LABELS, HALF_WIDTH = 20, 14  # so many labels settle the share of right answers to so many points
NAMED_FROM = 0.1  # share of the cases from which on a count is worth a sentence


def right_sentences(diagnosis: Diagnosis) -> list[str]:
    """Return what is to be said of right answers beside the pass rate; none where it says all there is."""
    sentences = (
        right_by_import_sentence(diagnosis),
        right_by_text_sentence(diagnosis),
        says_more_sentence(diagnosis),
        *context_sentences(diagnosis),
    )
    return [sentence for sentence in sentences if sentence]


def named_score(diagnosis: Diagnosis, metric: str) -> str:
    """Return by what answers are right as it stands in a sentence: "imported correctness", "people"."""
    sources = diagnosis.scored.sources.get(metric, ())
    if Source.HUMAN in sources:
        return "people"
    imported = Source.IMPORTED in sources
    return f"{'imported ' if imported else ''}{in_sentence(title_of(metric))}"


def right_by_import_sentence(diagnosis: Diagnosis) -> str:
    """Return how many answers are right by which imported score, or by people; "" where none decides."""
    right, least = diagnosis.right, diagnosis.settings.thresholds.correctness
    parts = []
    for metric in CORRECTNESS:
        decided = right.decided_by(metric)
        sources = diagnosis.scored.sources.get(metric, ())
        if decided.any() and (Source.IMPORTED in sources or Source.HUMAN in sources):
            n, of = int((right.values[decided] >= least).sum()), count(int(decided.sum()), "answer")
            parts.append(f"{n:,} of {of} by {named_score(diagnosis, metric)} ({number(least)} or more)")
    return f"Right: {'; '.join([*parts, *_right_and_bad(diagnosis)])}." if parts else ""


def _right_and_bad(diagnosis: Diagnosis) -> list[str]:
    """Return how many answers count as right and as bad, and how many of these are right in part."""
    both = diagnosis.right.decided_by(*CORRECTNESS) & diagnosis.bad.bad
    both &= diagnosis.right.values >= diagnosis.settings.thresholds.correctness
    n, partly = int(both.sum()), partly_right(diagnosis)
    if not n:
        return []
    part = (
        "" if not partly else " and only partly right" if partly == n else f", {partly:,} only partly right"
    )
    return [f"{n:,} of these {'is' if n == 1 else 'are'} bad all the same{part}"]


def partly_right(diagnosis: Diagnosis) -> int:
    """Return how many bad cases have an answer that is right in part: high enough, and not full marks."""
    values, least = diagnosis.right.values, diagnosis.settings.thresholds.correctness
    decided = diagnosis.right.decided_by(*CORRECTNESS) & diagnosis.bad.bad
    return int((decided & (values >= least) & (values < 1)).sum())


def right_by_text_sentence(diagnosis: Diagnosis) -> str:
    """Return how many answers are right by their words; "" where something better is known of them."""
    wording, corrected = diagnosis.right.wording, corrected_right_rate(diagnosis)
    declined = int((diagnosis.refusals.wrong & diagnosis.right.decided_by(RIGHT_BY_TEXT)).sum())
    if wording.n == declined:  # no answer among them
        return ""
    if corrected is not None:
        ends = f"{percent(corrected.low)} to {percent(corrected.high)}"
        by = f"by {corrected.n_labelled} labels and the words of the others"
        return f"{percent(corrected.mean)} of the answers are right ({ends}), {by}."
    if not wording.enough:
        if wording.n < int(diagnosis.right.decided_by(*CORRECTNESS).sum()):
            return ""
        low, high = wording.same / wording.n, (wording.same + wording.undecided) / wording.n
        between = f"Between {percent(low)} and {percent(high)} of {count(wording.n, 'answer')} are right by"
        other = "says something else: read it" if wording.other == 1 else "say something else: read them"
        more = f" {wording.other:,} clearly {other}." if wording.other else ""
        if wording.n <= LABELS:
            return f"{between} their words; label all of them to know.{more}"
        return f"{between} their words; {LABELS} labels would narrow it to ±{HALF_WIDTH} points.{more}"
    left = f"; the words of {wording.undecided:,} more do not decide" if wording.undecided else ""
    are = "is" if wording.same == 1 else "are"
    of = count(wording.same + wording.other, "answer")
    rest = f"; {declined:,} refused" if declined else ""
    return f"{wording.same:,} of {of} {are} right by their words (an estimate){rest}{left}."


def says_more_sentence(diagnosis: Diagnosis) -> str:
    """Return how many right answers say more than asked, and what to do; "" for few.

    Where they are many, the first sentence on the run says it.
    """
    answers = diagnosis.answers
    if answers.say_more < max(1, NAMED_FROM * answers.n) or answers.say_more >= WORDY * answers.n:
        return ""
    say = "says" if answers.say_more == 1 else "say"
    return (
        f"{answers.say_more:,} of {count(answers.n, 'answer')} {say} more than asked, though all of it is "
        "supported: ask for shorter answers, or pass fewer documents."
    )


def context_sentences(diagnosis: Diagnosis) -> list[str]:
    """Return how many answers are right without their context and how many wrong with it; none for few."""
    counts, fewest = right_by_context(diagnosis), max(1, NAMED_FROM * diagnosis.scored.n)
    sentences = []
    lost = main_loss(diagnosis)
    # where retrieval loses most cases, the first sentence on the run says so
    memory, supported = counts.right_without - counts.supported_without, counts.supported_without
    if supported >= fewest and not (lost and lost.mostly_supported):
        are = "is" if supported == 1 else "are"
        sentences.append(
            f"Supported without gold: {supported:,} of {count(counts.n_without, 'answer')} whose context has "
            f"none of the gold {are} right and faithful to that context. Check the gold before the retriever."
        )
    if memory >= fewest and not (lost and lost.mostly_from_memory):
        are = "is" if memory == 1 else "are"
        sentences.append(
            f"Right without its context: {memory:,} of {count(counts.n_without, 'answer')} "
            f"whose context has none of the gold {are} right all the same, from the model's memory. "
            "Correctness hides that retrieval fails."
        )
    if counts.wrong_complete >= fewest:
        are = "is" if counts.wrong_complete == 1 else "are"
        of = f"{counts.wrong_complete:,} of {count(counts.n_complete, 'answer')}"
        sentences.append(f"Wrong with complete context: {of} whose context has all of the gold {are} wrong.")
    return sentences
