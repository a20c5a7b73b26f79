"""Which runs stand beside a run to part its losses: its questions with the gold documents, and with none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from data.comparisons import align
from data.stage_losses import CLOSED, ORACLE, RETRIEVED, context_modes
from data.tables import RunTable
from data.workspace import Run

__all__ = ["ONE_PASSAGE", "Partners", "cautions", "generator_of", "given_one", "original_of", "partners_of"]

LEAST_SHARED = 0.5  # of the original's questions
MODEL_KEYS = ("generator_model", "generator", "model", "llm", "model_name")
PROMPT_KEYS = ("generator_prompt", "prompt_version", "prompt")
ONE_PASSAGE = (
    "each question came with one given passage: near to an oracle, and its loss is all of it generation, as "
    "nothing was retrieved"
)


@dataclass(frozen=True)
class Partners:
    """What stands beside a run, the nearest first: made from it, by the same generator, newest.

    Attributes:
        mode: what the answers of the run itself were given: retrieved, oracle or closed_book.
        oracle: runs of the same questions with the gold documents.
        closed: runs of the same questions without documents.
    """

    mode: str
    oracle: tuple[Run, ...] = ()
    closed: tuple[Run, ...] = ()


def partners_of(run: Run, runs: Iterable[Run], table_of: Callable[[Run], RunTable]) -> Partners:
    """Find the partners of a run among the runs of its project.

    A partner was made from the run or from the same original; else it has the same data set, where both name
    one, and at least half of the run's questions.

    Args:
        run: the run.
        runs: those of its project.
        table_of: gives a run's arrays.
    """
    _, mode = context_modes(table_of(run))
    if mode != RETRIEVED:
        return Partners(mode)
    found: dict[str, list[Run]] = {ORACLE: [], CLOSED: []}
    for other in runs:
        if other.run_id == run.run_id or other.means or "context_mode" not in other.fields:
            continue
        _, theirs = context_modes(table_of(other))
        if theirs in found and (_kin(run, other) or _same_questions(run, other, table_of)):
            found[theirs].append(other)
    nearest = {theirs: sorted(them, key=lambda one: _distance(run, one)) for theirs, them in found.items()}
    return Partners(mode, tuple(nearest[ORACLE]), tuple(nearest[CLOSED]))


def _origin(run: Run) -> str:
    return str(run.config.get("generated_from") or run.run_id)


def _kin(run: Run, other: Run) -> bool:
    return _origin(run) == _origin(other)


def _same_questions(run: Run, other: Run, table_of: Callable[[Run], RunTable]) -> bool:
    if run.dataset and other.dataset and run.dataset != other.dataset:
        return False
    shared = len(align(table_of(run), table_of(other)).base)
    return shared >= LEAST_SHARED * run.n_questions


def _distance(run: Run, other: Run) -> tuple[bool, bool, float, str]:
    same = generator_of(run.config) == generator_of(other.config)
    return (not _kin(run, other), not same, -other.created_at.timestamp(), other.run_id)


def original_of(run: Run, runs: Iterable[Run]) -> Run | None:
    """Find the run whose questions a generated run answered; None where it is not there."""
    wanted = run.config.get("generated_from")
    return next((one for one in runs if one.run_id == wanted), None)


def generator_of(config: Mapping[str, Any]) -> tuple[str, str]:
    """Name model and prompt of the generator as a configuration records them; "" for what it does not."""
    found = [
        next((str(config[key]) for key in keys if config.get(key)), "") for keys in (MODEL_KEYS, PROMPT_KEYS)
    ]
    return found[0], found[1]


def cautions(run: Run, other: Run, table: RunTable) -> list[str]:
    """Say what keeps the difference between a run and a partner from being that of the context alone.

    Args:
        run: the original run.
        other: the partner.
        table: of the partner.
    """
    mine, theirs = generator_of(run.config), generator_of(other.config)
    found = [
        f"the {what} differs: {before or 'not recorded'} in this run, {after or 'not recorded'} in the other"
        for what, before, after in zip(("generator", "prompt of the generator"), mine, theirs, strict=True)
        if before != after
    ]
    if not mine[0] and not theirs[0]:
        found.append("neither run records its generator (`model` in its configuration)")
    if "generated_from" not in other.config and given_one(table):
        found.append(ONE_PASSAGE)
    return found


def given_one(table: RunTable) -> bool:
    """Say whether every question of a run came with a single passage at most."""
    return bool(np.nanmax(table.evidence["documents"], initial=0) <= 1)
