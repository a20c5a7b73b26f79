"""A story as a report: its points with what a reader without the tool must know of where they come from."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from shlex import quote

from dashboard import __version__
from dashboard.report import REPRODUCE, Report
from dashboard.rounding import count
from dashboard.story import Made, Story
from dashboard.story_view import StoryView
from data.judgements import judge_of
from metrics.readings import READING

__all__ = ["report_facts", "report_of"]

FEW_QUESTIONS = 30


def report_facts(view: StoryView) -> dict[str, str]:
    """Say what the numbers rest on: run, baseline, data, judge, date, version, how to get them again."""
    run = view.run
    questions = count(run.n_questions, "question")
    facts = {
        "Run": f"{view.name} ({run.run_id}), made {run.created_at:%Y-%m-%d %H:%M} UTC",
        "Cases": f"{questions}, {count(run.n, 'case')}",
        "Baseline": "none",
        "Data set": " ".join(filter(None, [run.dataset, run.dataset_version])) or "not named",
        "Corpus": run.corpus_version or "no version named",
        "Judge": _judge(view) or "none",
        "Written": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC by ragtriage {__version__}",
        REPRODUCE: "\n".join(_commands(view)),
    }
    if view.baseline is not None:
        base = view.baseline
        facts["Baseline"] = (
            f"{view.names[base.run_id]} ({base.run_id}), made {base.created_at:%Y-%m-%d %H:%M} UTC"
        )
    return facts


def _judge(view: StoryView) -> str:
    path = view.table.judgement(READING)
    return judge_of(path) if path else str(view.run.config.get("judge", ""))


def _commands(view: StoryView) -> list[str]:
    run = quote(view.run.run_id)
    found = [f"ragtriage metrics {run}", f"ragtriage diagnose {run}"]
    if view.baseline is not None:
        found.append(f"ragtriage compare {quote(view.baseline.run_id)} {run} --family headline")
    return found


def caveats_of(view: StoryView) -> tuple[str, ...]:
    """Name what a reader must bear in mind: estimates, what failed, few questions, findings of the checks."""
    found = []
    if view.run.n_questions < FEW_QUESTIONS:
        found.append(
            f"Only {count(view.run.n_questions, 'question')}: most differences cannot be told from chance."
        )
    estimated = [name for name, one in view.summary.items() if set(one.sources) == {"estimated"}]
    if estimated:
        found.append(f"Estimated from words, without a judge: {', '.join(sorted(estimated)[:8])}.")
    failed = {name: one.n_failed for name, one in view.summary.items() if one.n_failed}
    if failed:
        most = max(failed.values())
        found.append(
            f"Up to {count(most, 'question')} could not be scored ({', '.join(sorted(failed)[:5])}); "
            f"they are left "
            "out of the means."
        )
    serious = [one.title for one in view.findings if one.severity in ("error", "warning")]
    found += [f"The checks on the numbers found: {title}." for title in serious[:5]]
    if view.comparison is not None:
        found += list(view.comparison.warnings)
    return tuple(found)


def report_of(view: StoryView, story: Story, made: Sequence[Made]) -> Report:
    """Make the report of a story."""
    told = f"for the {story.audience}" + (f", by {story.author}" if story.author else "")
    return Report(
        title=story.title,
        subtitle=f"{view.name}, {count(view.run.n_questions, 'question')}, {told}",
        audience=story.audience,
        made=tuple(made),
        facts=report_facts(view),
        caveats=caveats_of(view),
    )
