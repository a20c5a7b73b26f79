"""Noise and counterfact: documents that do not help, no gold document, and an altered one.

Source: Chen et al. 2024, "Benchmarking large language models in retrieval-augmented generation" (RGB; AAAI).
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragtriage.data.errors import DataError
from ragtriage.data.experiments.experiment import (
    REFUSED,
    Arm,
    Design,
    ExperimentKind,
    Level,
    Measured,
    PlannedSample,
    asked_from,
    scores_and_refusal,
)
from ragtriage.data.experiments.questions import AskedQuestion, Passage, Questions, draw_distractors
from ragtriage.data.text.right_by_text import holds_answer
from ragtriage.metrics.experiments.contexts import NoiseEffect, Outcome, noise_effect, outcome_of, shares_of
from ragtriage.metrics.number_text import percent
from ragtriage.metrics.statistics.intervals import Interval, mean_over_questions

DOCUMENTS = 5
SHARES = (0.0, 0.2, 0.4, 0.6, 0.8)
ROUNDING = 1e-9
REMOVED_ARM, ALTERED_ARM = "gold-removed", "gold-altered"
ALTERED_MATCH = "altered_answer_match"


@dataclass(frozen=True)
class NoiseFindings:
    """The effects of documents that do not help."""

    effect: NoiseEffect | None  # of the share of noise; None with fewer than two shares
    # share of answers that decline although the gold document is there, without noise
    refused_with_gold: Interval | None
    refused_without: Interval | None  # share that decline where it was removed: what should happen
    known: Interval | None  # share of right answers where it was removed: the system's own knowledge, or luck
    # outcome -> share, of the answers from an altered document; {} where not asked
    followed: Mapping[Outcome, Interval]


def _design(questions: Questions, parameters: Mapping[str, Any]) -> Design:
    documents = int(parameters.get("documents", DOCUMENTS))
    shares = tuple(parameters.get("shares") or SHARES)
    if documents < 2 or len(set(shares)) < 2 or not all(0 <= share < 1 for share in shares):
        raise DataError(
            f"noise: --documents {documents}, --shares {', '.join(map(str, shares))}; accepted: 2 or more "
            "documents, and two or more shares from 0 to below 1"
        )
    with_gold, notes = questions.with_gold()
    # once for all arms: those of a larger share hold the documents of the smaller one
    drawn, lacking = draw_distractors(questions, with_gold, documents)
    asked = [entry for entry in with_gold if entry.question_id in drawn]
    if not asked:
        raise DataError(
            f"{questions.name}: no question has {documents} passages of noise; accepted: more questions with "
            "gold passages, or fewer --documents"
        )
    slots = {entry.question_id: _gold_slots(entry, sorted(set(shares)), documents) for entry in asked}
    arms = [_noisy(asked, drawn, slots, share, documents) for share in sorted(set(shares))]
    distinct, merged = _distinct(arms, sorted(set(shares)))
    altered = _altered(asked)
    without = len(asked) - len(altered.samples) if altered else len(asked)
    notes = (*notes, *lacking, *merged)
    if without:
        notes = (
            *notes,
            "questions that are not altered, because their gold passage lacks an accepted answer word for "
            f"word or nothing of its kind is there to replace it: {without:,}",
        )
    return Design((*distinct, _removed(asked, drawn), *([altered] if altered else [])), notes)


def _counts(question: AskedQuestion, share: float, documents: int) -> tuple[int, int]:
    """Return how many gold passages and passages of noise a context gets.

    `documents` in all, as RGB has it; a question with fewer gold passages gets all of them, and as much noise
    as comes closest to the share. An answer of several parts keeps a gold passage for each.
    """
    gold, least = len(question.gold), min(max(len(question.parts), 1), documents)
    noise = min(int(share * documents + 0.5), documents - least)
    held = min(gold, documents - noise)
    if held < documents - noise:
        noise = min(noise, int(share / (1 - share) * held + 0.5 + ROUNDING))
    return held, noise


def _noisy(
    asked: Sequence[AskedQuestion],
    drawn: Mapping[str, tuple[Passage, ...]],
    slots: Mapping[str, Sequence[int]],
    share: float,
    documents: int,
) -> Arm:
    """Return the arm of a share of noise; `slots` has the ranks, from 0, of the gold of each question."""
    samples, reached = [], []
    for entry in asked:
        held, noise = _counts(entry, share, documents)
        context = _mixed(entry.gold[:held], drawn[entry.question_id][:noise], slots[entry.question_id])
        relevant = [{"id": passage.doc_id} for passage in entry.gold[:held]]
        samples.append(_planned(entry, context, {"relevant": relevant}))
        reached.append(noise / (noise + held))
    actual = round(sum(reached) / len(reached), 3)
    levels: dict[str, Level] = {"noise_share": actual, "gold": "there"}
    return Arm(f"noise-{actual:g}", f"Noise {percent(actual)}", levels, tuple(samples))


def _gold_slots(question: AskedQuestion, shares: Sequence[float], documents: int) -> list[int]:
    """Return the rank, from 0, that each gold passage has in every arm that holds it.

    Noise fills the other ranks, so that the arms differ in its share alone and not in where the gold stands.
    A passage that the noisiest arm holds as well stands within the shortest context.
    """
    counts = [_counts(question, share, documents) for share in shares]
    shortest, longest = (choose(held + noise for held, noise in counts) for choose in (min, max))

    def drawn(slot: int) -> str:
        return hashlib.sha256(f"{question.question_id}\x1e{slot}".encode()).hexdigest()

    first = sorted(range(shortest), key=drawn)
    return [*first, *sorted(range(shortest, longest), key=drawn)][: max(held for held, _ in counts)]


def _mixed(gold: Sequence[Passage], noise: Sequence[Passage], slots: Sequence[int]) -> list[Passage]:
    """Return a context with the gold passages at their slots, and the noise in its order at the others."""
    placed = dict(zip(slots, gold, strict=False))
    rest = iter(noise)
    return [placed[slot] if slot in placed else next(rest) for slot in range(len(gold) + len(noise))]


def _distinct(arms: Sequence[Arm], shares: Sequence[float]) -> tuple[list[Arm], list[str]]:
    """Keep each share that is reached once; with one gold passage a question, 0.2 is none or half."""
    kept = {arm.key: arm for arm in reversed(arms)}
    reached = sorted(float(arm.levels["noise_share"]) for arm in kept.values())
    if reached == sorted(shares):
        return [kept[key] for key in reversed(kept)], []
    wanted, got = (", ".join(map(percent, listed)) for listed in (sorted(shares), reached))
    note = f"the shares of noise {wanted} become {got}, as far as the number of gold passages allows"
    return [kept[key] for key in reversed(kept)], [note]


def _removed(asked: Sequence[AskedQuestion], drawn: Mapping[str, tuple[Passage, ...]]) -> Arm:
    samples = [_planned(entry, drawn[entry.question_id], {"answerable": "no"}) for entry in asked]
    return Arm(REMOVED_ARM, "Gold removed", {"noise_share": 1.0, "gold": "removed"}, tuple(samples))


def _altered(asked: Sequence[AskedQuestion]) -> Arm | None:
    """Return the arm in which the gold passage states another answer; None where no question allows it."""
    samples = []
    for entry in asked:
        # one part altered leaves the others right
        wrong = "" if entry.parts else altered_answer(entry, asked)
        text = _replaced(entry.gold[0].text, entry.answers, wrong) if wrong else ""
        stated = (each for each in entry.altered_passages if wrong and holds_answer(each.text, [wrong]))
        passage = next(stated, Passage(f"{entry.gold[0].doc_id}-altered", text))
        if not passage.text or holds_answer(passage.text, entry.answers):
            continue
        tags = {**(entry.record.get("tags") or {}), "altered_answer": wrong}
        samples.append(_planned(entry, [passage], {"tags": tags}))
    levels: dict[str, Level] = {"noise_share": 0.0, "gold": "altered"}
    return Arm(ALTERED_ARM, "Gold altered", levels, tuple(samples)) if samples else None


def altered_answer(question: AskedQuestion, others: Sequence[AskedQuestion]) -> str:
    """Return a wrong answer to plant: the question's own, a shifted number, or another question's answer.

    Another question's answer has as many words as possible in common with it in form: the same number of
    words, capitals alike. "" where there is none.
    """
    if question.altered:
        return question.altered
    right = question.answers[0] if question.answers else ""
    number = re.fullmatch(r"\D{0,3}(\d{1,9})\D{0,20}", right)
    if number:
        return right.replace(number[1], str(int(number[1]) + 7), 1)
    candidates = [
        other.answers[0]
        for other in others
        if other is not question and other.answers and not _overlap(other.answers[0], question.answers)
    ]
    alike = [answer for answer in candidates if _form(answer) == _form(right)]
    if not alike:
        return ""
    start = int(hashlib.sha256(question.question_id.encode()).hexdigest()[:8], 16)
    return alike[start % len(alike)]


def _overlap(answer: str, accepted: Sequence[str]) -> bool:
    return holds_answer(answer, accepted) or any(holds_answer(right, [answer]) for right in accepted)


def _form(answer: str) -> tuple[int, bool, bool]:
    return len(answer.split()), answer[:1].isupper(), any(character.isdigit() for character in answer)


def _replaced(text: str, accepted: Sequence[str], wrong: str) -> str:
    """Return a text with every accepted answer replaced, the longest first; "" where none is in it."""
    changed = text
    for answer in sorted(filter(str.strip, accepted), key=len, reverse=True):
        changed = re.sub(re.escape(answer), lambda _: wrong, changed, flags=re.IGNORECASE)
    return changed if changed != text else ""


def _planned(question: AskedQuestion, context: Sequence[Passage], case: Mapping[str, Any]) -> PlannedSample:
    return PlannedSample(question, asked_from(question, context), case)


def _scores(planned: PlannedSample, answer: str) -> dict[str, float | None]:
    wrong = (planned.case.get("tags") or {}).get("altered_answer")
    scores = scores_and_refusal(planned, answer)
    return {**scores, **({ALTERED_MATCH: float(holds_answer(answer, [wrong]))} if wrong else {})}


def _findings(measured: Measured, quality: str) -> NoiseFindings:
    shares = {
        arm: float(measured.levels[arm]["noise_share"])
        for arm in measured.arms
        if measured.levels[arm].get("gold") == "there"
    }
    arms = sorted(shares, key=lambda arm: shares[arm])
    levels = [shares[arm] for arm in arms]
    has_removed = REMOVED_ARM in measured.arms
    return NoiseFindings(
        noise_effect(levels, measured.matrix(arms, quality)) if len(arms) > 1 else None,
        mean_over_questions(measured.column(arms[0], REFUSED)) if arms else None,
        mean_over_questions(measured.column(REMOVED_ARM, REFUSED)) if has_removed else None,
        mean_over_questions(measured.column(REMOVED_ARM, "answer_match")) if has_removed else None,
        _followed(measured) if ALTERED_ARM in measured.arms else {},
    )


def _followed(measured: Measured) -> dict[Outcome, Interval]:
    altered, right, refused = (
        measured.column(ALTERED_ARM, metric) for metric in (ALTERED_MATCH, "answer_match", REFUSED)
    )
    rows = np.flatnonzero(np.isfinite(altered)).tolist()
    return shares_of(
        [outcome_of(*(bool(column[at] > 0) for column in (altered, right, refused))) for at in rows]
    )


NOISE = ExperimentKind(
    key="noise",
    title="Noise and counterfact",
    changes="what is given with the gold document, or instead of it",
    design=_design,
    findings=_findings,
    scores=_scores,
    metrics=(REFUSED, ALTERED_MATCH, "answer_match"),
    parameters={
        "documents": f"documents in a context [{DOCUMENTS}]",
        "shares": f"of noise [{', '.join(f'{share:g}' for share in SHARES)}]",
    },
)
