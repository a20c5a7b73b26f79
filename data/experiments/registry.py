"""The kinds of experiment, by the name that the command and the page use."""

from __future__ import annotations

from collections.abc import Mapping

from data.errors import DataError
from data.experiments.arms import ARMS
from data.experiments.experiment import ExperimentKind
from data.experiments.injection.findings import INJECTION
from data.experiments.languages.findings import LANGUAGES
from data.experiments.noise import NOISE
from data.experiments.parsing.findings import PARSING_KIND
from data.experiments.position import POSITION
from data.experiments.stability.stability import STABILITY

__all__ = ["KINDS", "kind_of"]

KINDS: Mapping[str, ExperimentKind] = {
    kind.key: kind for kind in (ARMS, POSITION, NOISE, LANGUAGES, PARSING_KIND, INJECTION, STABILITY)
}


def kind_of(key: str) -> ExperimentKind:
    """Return a kind of experiment.

    Raises:
        DataError: there is none of that name.
    """
    if key not in KINDS:
        raise DataError(f"experiment {key[:40]!r}: not known here; accepted: {', '.join(KINDS)}")
    return KINDS[key]
