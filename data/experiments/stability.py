"""Stability: other words and orders that should all give one verdict, and the questions that flip."""

import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ragtriage.data.errors import DataError
from ragtriage.data.experiments.experiment import Arm, Design, ExperimentKind, Level, Measured, PlannedSample
from ragtriage.data.experiments.questions import AskedQuestion, Passage, Questions
from ragtriage.data.judge.reply_model import ReplyError, ReplyObject, validate_reply, wire_schema
from ragtriage.data.judge.requests import ModelCall, Request
from ragtriage.data.prompts.prompt import JudgedCase, case_message, load_prompt
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.systems.system import SystemRequest
from ragtriage.metrics.experiments.questions import Flips, flips

_PREFIX = re.compile(r"^(what|who|when|where|which|how|why)\b", re.IGNORECASE)


def _statement(question: str) -> str:
    bare = question.strip().rstrip(" ?？.")
    bare = bare[:1].lower() + bare[1:] if _PREFIX.match(bare) else bare
    return f"I need to know this: {bare}."


REWORDINGS: dict[str, Callable[[str], str]] = {
    "polite": lambda question: f"Could you tell me: {question}",
    "lower case, no question mark": lambda question: question.lower().rstrip(" ?？."),
    "as a statement": _statement,
}


def rewordings(question: str) -> list[tuple[str, str]]:
    """Return plain rewordings of a question as (name, text), those alone that differ from it.

    They change its form and not its words: a system that flips on them would flip on less than a paraphrase.
    """
    reworded = [(name, reword(question)) for name, reword in REWORDINGS.items()]
    return [(name, text) for name, text in reworded if text != question]


N_PARAPHRASES = 3  # as many as there are plain rewordings
REPLY_TOKENS = 150


class ParaphraseReply(ReplyObject):
    """A question in other words."""

    paraphrases: list[str]


@dataclass(frozen=True)
class ToParaphrase:
    """The questions of an experiment, and what a model is asked on those without paraphrases."""

    questions: Questions  # all of them
    places: tuple[int, ...]  # of those that a model writes on
    requests: tuple[Request, ...]  # one for each of these

    def written(self, calls: Sequence[ModelCall | None], model: str) -> Questions:
        """Return the questions with what a model wrote; one that it wrote nothing for stays as it is."""
        entries = list(self.questions.questions)
        for place, call in zip(self.places, calls, strict=True):
            if call is not None and call.payload is not None:
                texts = _different(call.payload["paraphrases"], entries[place].question)
                entries[place] = replace(entries[place], paraphrases=texts, paraphrased_by=model)
        return replace(self.questions, questions=tuple(entries))


def paraphrase_requests(questions: Questions, prompts: Path | None = None) -> ToParaphrase:
    """Return what to ask a model; questions that bring paraphrases keep theirs.

    `prompts` is the folder of the user's own prompts, if any.
    """
    fixed = load_prompt("paraphrases", prompts)
    places = [at for at, entry in enumerate(questions.questions) if not entry.paraphrases]
    requests = [
        Request(
            kind="paraphrases",
            prompt=fixed.version,
            system=fixed.text,
            user=case_message(_case(questions.questions[at])),
            schema=wire_schema(ParaphraseReply),
            check=partial(_check, questions.questions[at].question),
            expected_tokens=REPLY_TOKENS,
        )
        for at in places
    ]
    return ToParaphrase(questions, tuple(places), tuple(requests))


def _case(entry: AskedQuestion) -> JudgedCase:
    turns = tuple((turn.get("role", ""), turn.get("text", "")) for turn in entry.history)
    return JudgedCase(entry.question, turns)


def _check(question: str, reply: object) -> ParaphraseReply:
    checked = validate_reply(reply, ParaphraseReply)
    if len(_different(checked.paraphrases, question)) < N_PARAPHRASES:
        raise ReplyError(
            f"paraphrases: too few; accepted: {N_PARAPHRASES} that differ from the question and each other"
        )
    return checked


def _different(texts: Sequence[str], question: str) -> tuple[str, ...]:
    """Return the texts that differ from a question and from each other by more than case and blanks."""
    kept: dict[str, str] = {}
    for text in texts:
        kept.setdefault(_bare(text), " ".join(text.split()))
    own = _bare(question)
    return tuple(text for bare, text in kept.items() if bare and bare != own)[:N_PARAPHRASES]


def _bare(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(" ?？.")


REPEATS = 3
AS_ASKED = "repeat-0"
PASSES_FROM = 0.5


@dataclass(frozen=True)
class FlipsByChange:
    """The questions that flip under one kind of change."""

    change: str  # "repeated", "reworded" or "shuffled"
    variants: int  # ways a question was asked, the first as it stands among them
    flips: Flips  # over the questions
    questions: tuple[str, ...]  # ids of those that flip


@dataclass(frozen=True)
class StabilityFindings:
    """Which questions get another verdict when they are asked differently."""

    verdict: str  # the metric whose value decides
    passes_from: float  # value from which a case passes
    changes: tuple[FlipsByChange, ...]  # by kind of change
    overall: Flips  # over all variants
    flipped: tuple[str, ...]  # ids of the questions that flip in any way


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
    from_row = sum(bool(entry.paraphrases) and not entry.paraphrased_by for entry in asked)
    plain = sum(not entry.paraphrases for entry in asked)
    models = Counter(entry.paraphrased_by for entry in asked if entry.paraphrased_by)
    parts = {
        f"{from_row:,} have paraphrases of their own": from_row,
        **{f"{number:,} have paraphrases written by {model}": number for model, number in models.items()},
        f"{plain:,} were reworded plainly (made polite, in lower case, as a statement), which is less than a "
        "paraphrase": plain,
    }
    return arms, f"Of {len(asked):,} questions, {'; '.join(part for part, number in parts.items() if number)}"


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
            # only questions that the changed arms ask
            values = measured.matrix(columns, quality).copy()
            changed = np.isfinite(measured.matrix([arm for arm in arms if arm != AS_ASKED] or arms, quality))
            values[~changed.any(axis=1)] = np.nan
            flipped = flips(values, PASSES_FROM)
            changes.append(FlipsByChange(change, len(columns), flipped, _ids(measured, flipped)))
    overall = flips(measured.matrix(measured.arms, quality), PASSES_FROM)
    return StabilityFindings(quality, PASSES_FROM, tuple(changes), overall, _ids(measured, overall))


def _ids(measured: Measured, found: Flips) -> tuple[str, ...]:
    return tuple(measured.question_ids[at] for at in np.flatnonzero(found.flipped))


def repeat_flips(scored: ScoredRun, metric: str, passes_from: float = PASSES_FROM) -> FlipsByChange:
    """Return the questions of a run with repeats whose verdict is not the same in all of them.

    A case passes from `passes_from` on.

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
    flipped = flips(values, passes_from)
    ids = tuple(str(scored.question_ids[at]) for at in np.flatnonzero(flipped.flipped))
    return FlipsByChange("repeated", int(counts.max()), flipped, ids)


STABILITY = ExperimentKind(
    key="stability",
    title="Stability",
    changes="how often, in which words and with which order of documents a question is asked",
    design=_design,
    findings=_findings,
    parameters={
        "repeats": f"times a question is asked unchanged [{REPEATS}]",
        "shuffles": f"orders of its documents [{REPEATS}]",
        "reworded": "ask it in other words too [yes]",
        "paraphrase_model": "that wrote paraphrases where a question has none",
        "seed": "of the orders [0]",
    },
)
