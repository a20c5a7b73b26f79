"""The stability experiment: arms that should all give one verdict, and the questions that flip."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragtriage.data.errors import DataError
from ragtriage.data.experiments.experiment import Arm, Design, ExperimentKind, Level, Measured, PlannedSample
from ragtriage.data.experiments.questions import AskedQuestion, Passage, Questions
from ragtriage.data.experiments.stability.paraphrases import rewordings
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.systems.system import SystemRequest
from ragtriage.metrics.experiments.stability import Flips, flips
from ragtriage.metrics.schema.scores import FloatArray

REPEATS = 3
AS_ASKED = "repeat-0"
PASSES_FROM = 0.5


@dataclass(frozen=True)
class FlipsByChange:
    """The questions that flip under one kind of change.

    Attributes:
        change: "repeated", "reworded" or "shuffled".
        variants: ways a question was asked, the first as it stands among them.
        flips: over the questions.
        questions: ids of those that flip.
    """

    change: str
    variants: int
    flips: Flips
    questions: tuple[str, ...]


@dataclass(frozen=True)
class StabilityFindings:
    """Which questions get another verdict when they are asked differently.

    Attributes:
        verdict: the metric whose value decides.
        passes_from: value from which a case passes.
        changes: by kind of change.
        overall: over all variants.
        flipped: ids of the questions that flip in any way.
    """

    verdict: str
    passes_from: float
    changes: tuple[FlipsByChange, ...]
    overall: Flips
    flipped: tuple[str, ...]


def _design(questions: Questions, parameters: Mapping[str, Any]) -> Design:
    repeats = int(parameters.get("repeats", REPEATS))
    shuffles = int(parameters.get("shuffles", REPEATS))
    seed = int(parameters.get("seed", 0))
    if repeats < 1 or repeats + shuffles < 2:
        raise DataError(f"stability: --repeats {repeats}, --shuffles {shuffles}; accepted: 2 or more in all")
    asked = questions.questions
    arms = [_repeated(asked, at) for at in range(repeats)]
    notes = []
    if parameters.get("reworded", True):
        reworded, note = _reworded(asked)
        arms += reworded
        notes.append(note)
    with_documents = [entry for entry in asked if len(_context(entry) or ()) > 1]
    if shuffles and with_documents:
        arms += [_shuffled(with_documents, at, seed) for at in range(1, shuffles + 1)]
    elif shuffles:
        notes.append("documents were not shuffled: no question has two documents with texts")
    return Design(tuple(arms), tuple(notes))


def _context(question: AskedQuestion) -> list[Passage] | None:
    """Return the documents that a question comes with; None where the system has to find them."""
    return [*question.gold, *question.retrieved] or None


def _repeated(asked: Sequence[AskedQuestion], at: int) -> Arm:
    samples = [_sample(entry, entry.question, _context(entry), at) for entry in asked]
    title = "As asked" if at == 0 else f"Asked again {at}"
    return Arm(f"repeat-{at}", title, {"change": "repeated", "variant": at}, tuple(samples))


def _reworded(asked: Sequence[AskedQuestion]) -> tuple[list[Arm], str]:
    """Return an arm for each way to reword, the questions' own paraphrases where they have any."""
    own = [entry.paraphrases for entry in asked]
    texts = [
        list(each) or [text for _, text in rewordings(entry.question)]
        for entry, each in zip(asked, own, strict=True)
    ]
    arms = []
    for at in range(max(map(len, texts), default=0)):
        samples = [
            _sample(entry, of_question[at], _context(entry), 0)
            for entry, of_question in zip(asked, texts, strict=True)
            if at < len(of_question)
        ]
        levels: dict[str, Level] = {"change": "reworded", "variant": at + 1}
        arms.append(Arm(f"reworded-{at + 1}", f"Reworded {at + 1}", levels, tuple(samples)))
    return arms, _sources(asked)


def _sources(asked: Sequence[AskedQuestion]) -> str:
    """Return where the other words come from: the questions themselves, a model, or plain rewording."""
    given = sum(bool(entry.paraphrases) and not entry.paraphrased_by for entry in asked)
    plain = sum(not entry.paraphrases for entry in asked)
    models = Counter(entry.paraphrased_by for entry in asked if entry.paraphrased_by)
    parts = {
        f"{given:,} have paraphrases of their own": given,
        **{f"{number:,} have paraphrases written by {model}": number for model, number in models.items()},
        f"{plain:,} were reworded plainly (made polite, in lower case, as a statement), which is less than a "
        "paraphrase": plain,
    }
    return f"Of {len(asked):,} questions, {'; '.join(part for part, number in parts.items() if number)}"


def _shuffled(asked: Sequence[AskedQuestion], at: int, seed: int) -> Arm:
    samples = []
    for entry in asked:
        order = random.Random(f"{seed}\x1e{at}\x1e{entry.question_id}")  # noqa: S311 - an order, not a secret
        passages = _context(entry) or []
        mixed = order.sample(passages, len(passages))
        if mixed == passages:
            mixed = mixed[1:] + mixed[:1]
        samples.append(_sample(entry, entry.question, mixed, 0))
    return Arm(f"shuffled-{at}", f"Shuffled {at}", {"change": "shuffled", "variant": at}, tuple(samples))


def _sample(
    question: AskedQuestion, text: str, context: Sequence[Passage] | None, repeat: int
) -> PlannedSample:
    request = SystemRequest(
        question.question_id,
        text,
        repeat=repeat,
        history=question.history,
        contexts=None if context is None else [passage.sent() for passage in context],
    )
    case = {"relevant": question.relevant(), "question": text, "repeat": 0}
    return PlannedSample(question, request, case)


def _findings(measured: Measured, quality: str) -> StabilityFindings:
    by_change: dict[str, list[str]] = {}
    for arm in measured.arms:
        by_change.setdefault(str(measured.levels[arm]["change"]), []).append(arm)
    changes = []
    for change, arms in by_change.items():
        columns = list(dict.fromkeys([*([AS_ASKED] if AS_ASKED in measured.arms else []), *arms]))
        if len(columns) > 1:
            values = _of_changed(measured, columns, arms, quality)
            found = flips(values, PASSES_FROM)
            changes.append(FlipsByChange(change, len(columns), found, _ids(measured, found)))
    overall = flips(measured.matrix(measured.arms, quality), PASSES_FROM)
    return StabilityFindings(quality, PASSES_FROM, tuple(changes), overall, _ids(measured, overall))


def _of_changed(measured: Measured, columns: Sequence[str], arms: Sequence[str], quality: str) -> FloatArray:
    """Return (q, columns) values of the questions that the changed arms ask; NaN rows for others."""
    values = measured.matrix(columns, quality).copy()
    changed = np.isfinite(measured.matrix([arm for arm in arms if arm != AS_ASKED] or arms, quality))
    values[~changed.any(axis=1)] = np.nan
    return values


def _ids(measured: Measured, found: Flips) -> tuple[str, ...]:
    return tuple(measured.question_ids[at] for at in np.flatnonzero(found.flipped))


def repeat_flips(scored: ScoredRun, metric: str, passes_from: float = PASSES_FROM) -> FlipsByChange:
    """Return the questions of a run with repeats whose verdict is not the same in all of them.

    Args:
        scored: a run.
        metric: whose value decides.
        passes_from: value from which a case passes.

    Raises:
        DataError: no question was asked twice.
    """
    counts = np.bincount(scored.question)
    if counts.max(initial=0) < 2:
        raise DataError(f"run {scored.run.name}: no question was asked twice; accepted: a run with repeats")
    values = np.full((len(counts), int(counts.max())), np.nan)
    order = np.argsort(scored.question, kind="stable")
    starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
    place = np.arange(scored.n) - starts[scored.question[order]]
    values[scored.question[order], place] = scored.values(metric)[order]
    found = flips(values, passes_from)
    ids = tuple(str(scored.question_ids[at]) for at in np.flatnonzero(found.flipped))
    return FlipsByChange("repeated", int(counts.max()), found, ids)


STABILITY = ExperimentKind(
    key="stability",
    title="Stability",
    changes="how often, in which words and with which order of documents a question is asked",
    design=_design,
    findings=_findings,
    parameters={
        "repeats": f"times a question is asked as it stands [{REPEATS}]",
        "shuffles": f"orders of its documents [{REPEATS}]",
        "reworded": "ask it in other words too [yes]",
        "paraphrase_model": "that wrote paraphrases where a question has none",
        "seed": "of the orders [0]",
    },
)
