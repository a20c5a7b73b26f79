"""Metric names of other tools, mapped to ours; an unknown name is kept in a safe form."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

AT_K = re.compile(
    r"(recall|precision|hit|hit_rate|mrr|ndcg|map|all_hops_recall|wasted_context|deep_reliance)"
    r"(?:@|_at_|_)(\d{1,4})"
)
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z][a-z])")
MAX_LENGTH = 80


@cache
def _table() -> dict[str, str]:
    text = Path(__file__).with_name("metric_names.json").read_text(encoding="utf-8")
    aliases: dict[str, list[str]] = json.loads(text)
    return {alias: key for key, names in aliases.items() for alias in (key, *names)}


def plain_name(name: str) -> str:
    """Return a name in lower case, with underscores in place of all but letters, digits and @."""
    return re.sub(r"[^\w@]+", "_", CAMEL.sub("_", name.strip()).lower()).strip("_")


def metric_name(name: str) -> tuple[str, bool]:
    """Return the key of a metric, and whether it is one of ours.

    Parameters in the name are part of it: `noise_sensitivity(mode=relevant)` is `noise_sensitivity_relevant`.
    """
    base, _, parameters = name.strip().partition("(")
    values = [part.partition("=")[2] or part for part in parameters.rstrip(")").split(",")]
    plain = plain_name("_".join([base, *values]))
    if key := _table().get(plain):
        return key, True
    if at_k := AT_K.fullmatch(plain):
        family = "hit" if at_k[1] == "hit_rate" else at_k[1]
        return f"{family}@{int(at_k[2])}", True
    return plain[:MAX_LENGTH] or "metric", False
