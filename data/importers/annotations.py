"""Annotations as InspectorRAGet keeps them: {metric: {annotator: {value}}} with the scale of each metric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from data.errors import Problems
from data.importers.metric_names import metric_name

__all__ = ["Scale", "annotate", "scales_of"]

REASON = "_reason"
MACHINES = {"system", "composite", "algorithm"}


@dataclass(frozen=True)
class Scale:
    """How the file declares a metric.

    Attributes:
        human: whether people give it.
        text: whether its values are remarks, not grades.
        numbers: number of each category, e.g. {"1": 1.0}.
        low: least value of the scale, or None.
        high: greatest value of the scale, or None.
    """

    human: bool
    text: bool = False
    numbers: Mapping[str, float] | None = None
    low: float | None = None
    high: float | None = None

    def number(self, value: object) -> float | None:
        """The value as a number on the scale, or None where it is none."""
        if self.numbers is not None and str(value) in self.numbers:
            return self.numbers[str(value)]
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            return None
        try:
            return float(value)
        except ValueError:
            return None


def scales_of(metrics: list[Any]) -> dict[str, Scale]:
    """The scale of every metric that a file declares."""
    return {
        str(metric["name"]): _scale(metric)
        for metric in metrics
        if isinstance(metric, dict) and "name" in metric
    }


def _scale(metric: Mapping[str, Any]) -> Scale:
    human = metric.get("author") == "human"
    if metric.get("type") == "text":
        return Scale(human, text=True)
    numbers = {
        str(entry["value"]): float(entry["numeric_value"])
        for entry in metric.get("values") or []
        if isinstance(entry, dict) and isinstance(entry.get("numeric_value"), int | float)
    }
    bounds = [bound for bound in metric.get("range") or [] if isinstance(bound, int | float)]
    ends = list(numbers.values()) or bounds[:2]
    return Scale(human, False, numbers or None, min(ends, default=None), max(ends, default=None))


def annotate(
    record: dict[str, Any], values: object, scales: Mapping[str, Scale], row: int, problems: Problems
) -> None:
    """Put the annotations of one result into its record: people's under `human`, one entry each.

    Numbers by algorithms become scores, their words become tags. A `<metric>_reason` by the same person
    becomes the note of that metric.
    """
    if values is None:
        return
    if not isinstance(values, dict):
        problems.add(
            row, "scores", f"found {type(values).__name__}", "an object of metric: {annotator: {value}}"
        )
        return
    for name, by_annotator in values.items():
        if not isinstance(by_annotator, dict):
            problems.add(
                row, f"scores.{name}", f"found {type(by_annotator).__name__}", "{annotator: {value}}"
            )
            continue
        scale = scales.get(name) or Scale(human=not MACHINES & by_annotator.keys())
        base = name.removesuffix(REASON)
        if scale.human and not (scale.text and base != name and base in values):
            notes = values.get(f"{name}{REASON}")
            entries = _human(name, by_annotator, scale, notes if isinstance(notes, dict) else {})
            record.setdefault("human", []).extend(entries)
        elif not scale.human:
            _machine(record, name, by_annotator, scale)


def _human(
    name: str, by_annotator: Mapping[str, Any], scale: Scale, notes: Mapping[str, Any]
) -> list[dict[str, Any]]:
    entries = []
    for annotator, given in by_annotator.items():
        value, note = _value(given), _value(notes.get(annotator))
        if scale.text:
            value, note = None, value
        entry = {
            "annotator": str(annotator),
            "metric": metric_name(name)[0],
            "value": scale.number(value),
            "note": str(note) if note else None,
            "low": scale.low,
            "high": scale.high,
        }
        if entry["value"] is not None or entry["note"]:
            entries.append({key: part for key, part in entry.items() if part is not None})
    return entries


def _machine(record: dict[str, Any], name: str, by_annotator: Mapping[str, Any], scale: Scale) -> None:
    """One value by an algorithm; the raw word where it is no number, since a category is not a grade."""
    several = len(by_annotator) > 1
    for annotator, given in by_annotator.items():
        key = metric_name(name)[0] + (f"_{annotator}" if several else "")
        value = _value(given)
        if isinstance(value, str) and Scale(human=False).number(value) is None:
            if value:
                record["tags"] = {**record.get("tags", {}), key: value}
        else:
            number = scale.number(value)
            record.setdefault("scores", {})[key] = float("nan") if number is None else number


def _value(given: object) -> Any:
    return given.get("value") if isinstance(given, dict) else given
