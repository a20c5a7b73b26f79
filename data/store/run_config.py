"""The settings that a run's configuration records, flat: one entry a setting, named by its path."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

__all__ = ["flat_settings", "setting_text"]

_STATED = "reported_means"  # what a file says of its own results is no setting


def flat_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Give the settings of a configuration by their path, e.g. "retriever.name"; lists stay whole."""
    return {
        path: value
        for key, whole in config.items()
        if key != _STATED
        for path, value in _flat(str(key), whole).items()
    }


def _flat(path: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not value:
        return {path: value}
    return {
        inner: leaf for key, part in value.items() for inner, leaf in _flat(f"{path}.{key}", part).items()
    }


def setting_text(value: Any) -> str:
    """Write the value of a setting: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
