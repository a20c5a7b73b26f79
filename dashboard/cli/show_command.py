"""The show command: the facts of a run, as JSON values and as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dashboard.cli.terminal import plain, wrapped
from dashboard.wording.formatting import NOT_MEASURED
from data.scoring.run_store import RunStore
from data.store.workspace import Run
from metrics.metric_registry import unlabelled

__all__ = ["by_reason", "run_line", "show_run", "unmeasured"]


def run_line(run: Run, name: str) -> dict[str, Any]:
    """Give what a list of runs says of one."""
    return {
        "run_id": run.run_id,
        "name": name,
        "project": run.project,
        "n": run.n,
        "n_questions": run.n_questions,
        "created_at": run.created_at.isoformat(),
    }


def show_run(store: RunStore, wanted: str) -> tuple[Any, Callable[[], str]]:
    """Give the facts of a run."""
    run = store.find(wanted)
    facts = {
        **run_line(run, store.names()[run.run_id]),
        "imported_name": run.name,
        "imported_at": run.imported_at.isoformat(),
        "origin": run.origin,
        "config": run.config,
        "dataset": run.dataset,
        "dataset_version": run.dataset_version,
        "corpus_version": run.corpus_version,
        "content_hash": run.content_hash,
        "fields": list(run.fields),
        "notes": list(run.notes),
        "not_computable": unmeasured(store, run),
    }
    return facts, lambda: "\n".join(_lines(run, facts))


def unmeasured(store: RunStore, run: Run) -> dict[str, str]:
    """Say of each metric that has no value from any source, imported ones included, what it lacks."""
    if run.means:
        return {}
    summary = store.summary(run)
    scored = {name for name, one in summary.items() if one.n_scored}
    bases = {name.partition("@")[0] for name in scored}
    table = store.table(run)
    labelled = bool(np.isfinite(table.stage_features["answerable"]).any())
    lacking = table.missing | ({} if labelled else unlabelled())
    return {
        name: why
        for name, why in lacking.items()
        if name not in scored and not (name.endswith("@k") and name.removesuffix("@k") in bases)
    }


def by_reason(missing: Mapping[str, str]) -> list[str]:
    """Give one line an input that is lacking, with the metrics it keeps from being computed.

    A metric that lacks several inputs stands with the first of them; the line names the others.
    """
    keys: dict[str, list[str]] = {}
    others: dict[str, list[str]] = {}
    for key, why in missing.items():
        first, *more = why.split(" and ")
        keys.setdefault(first, []).append(key)
        others.setdefault(first, []).extend(more)
    return [
        wrapped(f"  {first}{_also(others[first])}: {', '.join(found)}", "    ")
        for first, found in keys.items()
    ]


def _also(others: Sequence[str]) -> str:
    names = list(dict.fromkeys(others))
    return f" (some also {'; '.join(names)})" if names else ""


def _lines(run: Run, facts: dict[str, Any]) -> list[str]:
    found = []
    for key, value in facts.items():
        shown = NOT_MEASURED if run.means and key in ("n", "n_questions") else value
        found += _missing_lines(key, facts[key]) if key == "not_computable" else _fact(key, shown)
    if run.means:
        found += ["means:", *(f"  {name}: {value:.4f}" for name, value in run.means.items())]
    return found


def _missing_lines(key: str, missing: Mapping[str, str]) -> list[str]:
    return [f"{key}:", *by_reason(missing)] if missing else []


def _fact(key: str, value: Any) -> list[str]:
    """Write one fact: a line, or a line an entry below its name."""
    if isinstance(value, Mapping):
        return [f"{key}:", *(f"  {plain(str(name))}: {_plain(one)}" for name, one in value.items())]
    if key == "notes" and value:
        return [f"{key}:", *(wrapped(f"  {_plain(one)}", "    ") for one in value)]
    if isinstance(value, list):
        return [wrapped(f"{key}: {', '.join(map(_plain, value)) or NOT_MEASURED}", "  ")]
    return [f"{key}: {_plain(value) or NOT_MEASURED}"]


def _plain(value: Any) -> str:
    """Write a value as a person would: yes and no, lists with commas, the rest as it is."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_plain(one)}" for name, one in value.items())
    return plain(str(value))
