"""The primary metric of a project: the one that a comparison tests alone, set in metrics.toml."""

from __future__ import annotations

from ragtriage.data.declarations import FILE_NAME, read_settings
from ragtriage.data.errors import DataError
from ragtriage.data.store.workspace import Workspace
from ragtriage.metrics.gates.wording import GOOD_SHARE
from ragtriage.metrics.metric_registry import REGISTRY, lookup
from ragtriage.metrics.schema.scores import MetricsError

ACCEPTED = (
    '"pass rate" or the name of a metric, e.g. primary = "recall@5", at the top or under [project.NAME]'
)


def primary_metric(workspace: Workspace, project: str) -> str:
    """Return the primary metric of a project: its own in metrics.toml, else the general one.

    Raises:
        DataError: the file cannot be read, or holds something else.
    """
    path, settings = workspace.root / FILE_NAME, read_settings(workspace)
    projects = settings.get("project", {})
    own = projects.get(project, {}) if isinstance(projects, dict) else projects
    if not isinstance(own, dict):
        raise DataError(f"{path}: [project] is not a table; accepted: {ACCEPTED}")
    name = own.get("primary", settings.get("primary", GOOD_SHARE))
    if not isinstance(name, str) or not name.strip():
        raise DataError(f"{path}: primary is {name!r}; accepted: {ACCEPTED}")
    return resolved_primary(name, str(path))


def resolved_primary(name: str, source: str) -> str:
    """Return the full name of a primary metric; a name that is not declared may be an imported score.

    Raises:
        DataError: it lacks its rank k, or takes none.
    """
    if name == GOOD_SHARE:
        return name
    try:
        return lookup(name).name
    except MetricsError as error:
        if f"{name}@k" in REGISTRY or "@" in name:
            raise DataError(f"{source}: primary metric {name!r}; accepted: {ACCEPTED}") from error
        return name
