"""The show command: the facts of a run, and what each metric that it has not would need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
import numpy as np

from ragtriage.dashboard.cli.options import JSON, RUN
from ragtriage.dashboard.cli.terminal import plain, print_json, wrapped
from ragtriage.data.api import open_store, run_entry
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.metric_registry import unlabelled
from ragtriage.metrics.number_text import NOT_MEASURED


@click.command()
@RUN
@JSON
@click.pass_obj
def show(workspace: str | None, run_name: str, as_json: bool) -> None:
    """Show the details of a run, and what its unmeasured metrics need."""
    store = open_store(workspace)
    run = store.find(run_name)
    facts = {
        **run_entry(run, store.names()[run.run_id]),
        "imported_name": run.name,
        "imported_at": run.imported_at.isoformat(timespec="seconds"),
        "origin": run.origin,
        "config": run.config,
        "dataset": run.dataset,
        "dataset_version": run.dataset_version,
        "corpus_version": run.corpus_version,
        "content_hash": run.content_hash,
        "fields": list(run.fields),
        "notes": list(run.notes),
        "not_computable": not_computable(store, run),
    }
    if as_json:
        print_json(facts)
    else:
        click.echo("\n".join(_lines(run, facts)))


def not_computable(store: RunStore, run: Run) -> dict[str, str]:
    """Return what is lacking for each metric that has no value from any source, imported ones included."""
    if run.means:
        return {}
    scored_metrics = {name for name, summary in store.summary(run).items() if summary.n_scored}
    base_names = {name.partition("@")[0] for name in scored_metrics}
    scored = store.scored(run)
    has_labels = bool(np.isfinite(scored.stage_features["answerable"]).any())
    lacking = scored.missing | ({} if has_labels else unlabelled())
    return {
        name: reason
        for name, reason in lacking.items()
        if name not in scored_metrics and not (name.endswith("@k") and name.removesuffix("@k") in base_names)
    }


def unmeasured_by_reason(missing: Mapping[str, str]) -> list[str]:
    """Return one line an input that is lacking, with the metrics that need it.

    A metric that lacks several inputs is listed under the first; the line names the others.
    """
    metrics_by_input: dict[str, list[str]] = {}
    also_lacking: dict[str, dict[str, None]] = {}
    for metric, reason in missing.items():
        first, *more = reason.split(" and ")
        metrics_by_input.setdefault(first, []).append(metric)
        also_lacking.setdefault(first, {}).update(dict.fromkeys(more))
    lines = []
    for first, metrics in metrics_by_input.items():
        also = f" (some also {'; '.join(also_lacking[first])})" if also_lacking[first] else ""
        lines.append(wrapped(f"  {first}{also}: {', '.join(metrics)}", "    "))
    return lines


def _lines(run: Run, facts: dict[str, Any]) -> list[str]:
    lines = []
    for key, value in facts.items():
        if key == "not_computable":
            lines += [f"{key}:", *unmeasured_by_reason(value)] if value else []
        elif run.means and key in ("n", "n_questions"):
            lines += [f"{key}: {NOT_MEASURED}"]
        else:
            lines += _fact(key, value)
    if run.means:
        lines += ["means:", *(f"  {name}: {value:.4f}" for name, value in run.means.items())]
    return lines


def _fact(key: str, value: Any) -> list[str]:
    """Write one fact: a line, or a line an entry below its name."""
    if isinstance(value, Mapping):
        return [f"{key}:", *(f"  {plain(str(name))}: {_text(item)}" for name, item in value.items())]
    if key == "notes" and value:
        return [f"{key}:", *(wrapped(f"  {_text(note)}", "    ") for note in value)]
    if isinstance(value, list):
        return [wrapped(f"{key}: {', '.join(map(_text, value)) or NOT_MEASURED}", "  ")]
    return [f"{key}: {_text(value) or NOT_MEASURED}"]


def _text(value: Any) -> str:
    """Write a JSON value as plain text: yes and no, lists with commas, the rest unchanged."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_text(item)}" for name, item in value.items())
    return plain(str(value))
