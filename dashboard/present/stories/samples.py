"""The stories that the bundled samples bring along."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from ragtriage.dashboard.present.stories.sections import default_sections
from ragtriage.dashboard.present.stories.story import AUDIENCES, Story
from ragtriage.data.demo import WHO, SampleStory, sample_stories
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.stories import add_stories_once


def add_sample_stories(store: RunStore) -> None:
    """Store the stories of the bundled samples, once for each project."""
    by_project = defaultdict[str, dict[str, str]](dict)
    for sample in sample_stories(store):
        by_project[sample.run.project][sample.title] = _story(sample).to_json()
    for project, bodies in by_project.items():
        add_stories_once(store.ledger, project, bodies, WHO)


def _story(sample: SampleStory) -> Story:
    audience = next(name for name in AUDIENCES if name == sample.audience)
    first, *others = default_sections(audience)
    return Story(
        title=sample.title,
        run=sample.run.run_id,
        baseline=sample.baseline.run_id,
        audience=audience,
        sections=(replace(first, note=sample.note), *others),
        author=WHO,
    )
