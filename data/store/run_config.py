"""The settings of a run's configuration, flattened to one entry per path."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

REPORTED_MEANS = "reported_means"  # the results that a file reports are no setting


def flat_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a configuration by path, e.g. "retriever.name"; lists stay whole."""
    return {
        path: value
        for key, setting in config.items()
        if key != REPORTED_MEANS
        for path, value in _flat(str(key), setting).items()
    }


def _flat(path: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not value:
        return {path: value}
    return {
        inner: leaf for key, part in value.items() for inner, leaf in _flat(f"{path}.{key}", part).items()
    }


def setting_text(value: Any) -> str:
    """Return the value of a setting as text: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
