"""How the answers of a run cite: in which form, counting from 0 or 1, or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from ragtriage.data.declarations import FILE_NAME, read_settings
from ragtriage.data.errors import DataError
from ragtriage.data.store.stored_file import reading
from ragtriage.data.store.workspace import Run, Workspace
from ragtriage.data.text.citation_marks import TEMPLATE_ACCEPTED, find_marks, template_fault

PATTERN = "citation_pattern"  # setting of a run's configuration, or of metrics.toml
STYLED = 2_000  # answers that tell the form
FEWEST_CITING = 0.1  # share of the answers that cite in a run that cites


@dataclass(frozen=True)
class CitationStyle:
    """The form of the citations of a run.

    Attributes:
        templates: as declared; () for the usual forms.
        from_zero: whether numbers count the documents from 0, told by any [0].
    """

    templates: tuple[str, ...] = ()
    from_zero: bool = False


def declared_templates(workspace: Workspace, run: Run) -> tuple[str, ...]:
    """Return the forms of citations that a run's configuration or its project declares, () for none.

    Raises:
        DataError: they are no templates.
    """
    return templates_of(workspace, run.project, run.config)


def templates_of(workspace: Workspace, project: str, config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the forms of citations that a configuration or a project declares, () for none.

    Raises:
        DataError: they are no templates.
    """
    settings = read_settings(workspace)
    projects = settings.get("project")
    own = projects.get(project) if isinstance(projects, dict) else None
    source, value = "the configuration of the run", config.get(PATTERN)
    if value is None:
        source = str(workspace.root / FILE_NAME)
        value = own.get(PATTERN) if isinstance(own, Mapping) else None
        value = settings.get(PATTERN) if value is None else value
    if value is None:
        return ()
    fault = template_fault(value)
    if fault is not None:
        raise DataError(f"{source}: {PATTERN}: {fault}; accepted: {TEMPLATE_ACCEPTED}")
    return (value,) if isinstance(value, str) else tuple(value)


@lru_cache(maxsize=64)  # the samples of a run never change
def citation_style(samples: Path, templates: tuple[str, ...] = ()) -> CitationStyle | None:
    """Return how the first 2,000 answers of a run cite; None where fewer than one in ten does.

    Args:
        samples: the samples file of the run.
        templates: the declared forms; with them a run cites, whatever its answers hold.
    """
    return style_of(_rows(samples), templates)


def style_of(samples: Iterable[Mapping[str, Any]], templates: tuple[str, ...] = ()) -> CitationStyle | None:
    """Return how stored samples cite, as `citation_style` does of a run."""
    answers = citing = 0
    from_zero = recorded = False
    for row in samples:
        recorded |= row.get("citations") is not None
        if not row["answer"]:
            continue
        ids = {str(document["id"]) for document in row["retrieved"] or () if document["id"] is not None}
        marks = find_marks(row["answer"], templates, ids)
        named = [(mark.kind, name) for mark in marks for name in mark.names]
        answers, citing = answers + 1, citing + bool(named)
        from_zero |= "0" not in ids and ("number", "0") in named
    if not (templates or recorded or (citing and citing >= FEWEST_CITING * answers)):
        return None
    return CitationStyle(templates, from_zero)


def _rows(samples: Path) -> Iterator[dict[str, Any]]:
    left = STYLED
    with reading(samples), pq.ParquetFile(samples) as file:
        for batch in file.iter_batches(batch_size=256, columns=["answer", "citations", "retrieved"]):
            yield from batch.to_pylist()[:left]
            left -= batch.num_rows
            if left <= 0:
                return
