"""Scoring a run: compute every metric that its samples allow and store the scores.

The folder scores/<run_id>/<options>/ of the workspace has `scores.parquet` (long rows, one row group per
metric and source), `evidence.parquet` (the features of the stage rules, one row per sample), the auxiliary
tables of single pages (one row per sample, see ragtriage.data.scoring.batch_scores) and `summary.json`. All
of it may
be deleted at any time: it is computed again when needed, and when a definition changes.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from ragtriage.data.declarations import FILE_NAME, read_settings
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.batch_scores import ScoreOptions
from ragtriage.data.scoring.batches.gathered import HELD_WHOLE, EarlyScores, GatheredScores
from ragtriage.data.scoring.batches.worker import scored_batches, workers_for
from ragtriage.data.scoring.gold_join import Match
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.scoring.stored_scores import SUMMARY, checksums
from ragtriage.data.scoring.summaries import summarise
from ragtriage.data.store.workspace import Run, Workspace
from ragtriage.data.suites.citations import templates_of
from ragtriage.data.text.patterns import PatternError, found_in

Progress = Callable[[int], None]

MOST_PATTERNS = 100
PATTERNS_ACCEPTED = (
    f'patterns = ["..."] under [refusals], up to {MOST_PATTERNS} regular expressions in the syntax of RE2'
)


def ensure_scored(
    workspace: Workspace,
    run: Run,
    options: ScoreOptions | None = None,
    progress: Progress | None = None,
    early: EarlyScores | None = None,
) -> Path:
    """Return the folder of a run's scores, computing them first where they are missing.

    Args:
        workspace: where the run lies.
        run: the run.
        options: what the scores depend on.
        progress: called with the number of samples scored so far.
        early: scores that were made while the run was read.
    """
    options = options or options_of(workspace, run.project, run.config)
    final = workspace.scores_folder / run.run_id / options.folder
    if (final / SUMMARY).exists():
        return final
    workspace.discard(final.parent if final.parent.is_file() else final)  # what is left of earlier scores
    with workspace.staging(final.parent) as stage:
        scores = None if early is None else early.gathered(run.n, options, progress)
        if scores is None:
            scores = GatheredScores()
            with closing(scored_batches(workspace, run.run_id, options, workers_for(run.n))) as batches:
                for batch in batches:
                    scores.add(batch)
                    if progress is not None:
                        progress(scores.rows)
        _write(workspace, run, scores, stage)
        workspace.publish(stage, final, durable=False)  # checksums tell damage, and they are made anew
    return final


def _write(workspace: Workspace, run: Run, scores: GatheredScores, stage: Path) -> None:
    """Write the scores of a run and their summary, which completes them, to a folder."""
    scores.drop_inapplicable()
    columns = scores.write(stage)
    small = run.n <= HELD_WHOLE  # the values of a larger run are read again, a metric at a time
    scored = (
        ScoredRun.of_blocks(workspace, run, stage, columns) if small else ScoredRun(workspace, run, stage)
    )
    summaries = summarise(scored, hold=small)
    scored.write_index()
    aggregates = {metric: summary.to_dict() for metric, summary in summaries.items()}
    summary = {"run_id": run.run_id, "missing": scores.missing, "aggregates": aggregates}
    summary["files"] = checksums(stage)
    (stage / SUMMARY).write_text(json.dumps(summary), encoding="utf-8")


def options_of(workspace: Workspace, project: str, config: Mapping[str, Any]) -> ScoreOptions:
    """Return how a run of a project is scored that no judge has seen.

    Raises:
        DataError: its forms of citations are not templates, or its patterns of refusals no patterns.
    """
    return ScoreOptions(
        match=match_of(config),
        citations=templates_of(workspace, project, config),
        refusals=refusal_patterns(workspace, project),
    )


def refusal_patterns(workspace: Workspace, project: str) -> tuple[str, ...]:
    """Return the patterns of metrics.toml by which answers of a project refuse, () for none.

    Raises:
        DataError: metrics.toml cannot be read, or they are not patterns.
    """
    settings = read_settings(workspace)
    projects = settings.get("project")
    own = projects.get(project) if isinstance(projects, dict) else None
    table = own.get("refusals") if isinstance(own, Mapping) else None
    table = settings.get("refusals", {}) if table is None else table
    patterns = table.get("patterns", []) if isinstance(table, Mapping) else None
    fault = _pattern_fault(patterns)
    if fault is not None or not isinstance(patterns, list):
        raise DataError(f"{workspace.root / FILE_NAME}: refusals: {fault}; accepted: {PATTERNS_ACCEPTED}")
    return tuple(patterns)


def _pattern_fault(patterns: object) -> str | None:
    if not isinstance(patterns, list) or not all(isinstance(pattern, str) for pattern in patterns):
        return "patterns is not a list of texts"
    if len(patterns) > MOST_PATTERNS:
        return f"{len(patterns):,} patterns"
    for pattern in patterns:
        try:
            if found_in(pattern, ""):
                return f"{pattern[:60]!r} matches an empty answer"
        except PatternError as error:
            return f"{pattern[:60]!r}: {error}"
    return None


def match_of(config: Mapping[str, Any]) -> Match:
    """Return whether a run's gold names chunks or whole documents: the `match` of its configuration."""
    return "doc_id" if config.get("match") == "doc_id" else "id"
