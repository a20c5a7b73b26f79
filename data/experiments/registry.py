"""The kinds of experiment, by the name that the command and the page use."""

from __future__ import annotations

from typing import Any

from ragtriage.data.errors import DataError
from ragtriage.data.experiments.arms import ARMS
from ragtriage.data.experiments.experiment import ExperimentKind
from ragtriage.data.experiments.injection import INJECTION
from ragtriage.data.experiments.languages import LANGUAGES
from ragtriage.data.experiments.noise import NOISE
from ragtriage.data.experiments.parsing import PARSING
from ragtriage.data.experiments.position import POSITION
from ragtriage.data.experiments.sources import SOURCES
from ragtriage.data.experiments.stability import STABILITY

KINDS: dict[str, ExperimentKind[Any]] = {
    kind.key: kind for kind in (ARMS, POSITION, NOISE, SOURCES, LANGUAGES, PARSING, INJECTION, STABILITY)
}


def kind_of(key: str) -> ExperimentKind[Any]:
    """Return a kind of experiment.

    Raises:
        DataError: there is none of that name.
    """
    if key not in KINDS:
        raise DataError(f"experiment {key[:40]!r}: not known here; accepted: {', '.join(KINDS)}")
    return KINDS[key]
