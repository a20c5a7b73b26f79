"""Folders of AutoRAG: a project, its trials, their nodes in the order of the pipeline, their modules."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path

from ragtriage.data.errors import InputError
from ragtriage.data.importers.parsing.input_file import InputFile

QUESTIONS = Path("data/qa.parquet")
NODE_COLUMNS = {"filename", "module_name", "module_params"}
ABOVE = 4  # folders between a node and its project, and one to spare
MOST_MODULES = 2_000
SUMMARY_BYTES = 16 << 20
# The order of the nodes in a pipeline; a hybrid retrieval joins the two before it.
NODES = (
    *("query_expansion", "retrieval", "lexical_retrieval", "semantic_retrieval", "hybrid_retrieval"),
    *("passage_augmenter", "passage_reranker", "passage_filter", "passage_compressor"),
    *("prompt_maker", "generator"),
)
ACCEPTED = (
    "a trial folder (`0`, `1`, ...) or the project folder above it, with data/qa.parquet and "
    "<trial>/<node line>/<node>/summary.csv"
)


@dataclass(frozen=True)
class Module:
    """One module that a node tried: a row of the node's summary.csv.

    Attributes:
        trial: name of the trial.
        line: name of the node line.
        node: type of the node.
        folder: folder of the node.
        row: the row of its summary.csv.
    """

    trial: str
    line: str
    node: str
    folder: Path
    row: Mapping[str, str]

    @property
    def file(self) -> Path:
        """The file of its outputs, a row for each question."""
        return self.folder / self.row["filename"]

    @property
    def is_best(self) -> bool:
        """Whether the next node works with what it wrote."""
        return self.row.get("is_best", "").strip().lower() == "true"

    @property
    def name(self) -> str:
        """Name of its run: where it stands, and the module."""
        return f"{self.trial}/{self.node}/{self.file.stem} {self.row['module_name']}"


def trials_of(folder: Path) -> list[Path]:
    """Return the trial folders that a folder is, holds, or lies in; [] where it is none of AutoRAG's."""
    if (folder / "trial.json").is_file() or (folder / QUESTIONS).is_file():
        inner = (path for path in islice(folder.iterdir(), MOST_MODULES) if path.is_dir())
        return sorted((path for path in inner if _node_summaries(path)), key=_in_order)
    if project_of(folder) is None and not (folder / "summary.csv").is_file():
        return []
    return [folder] if _node_summaries(folder) else []


def _in_order(path: Path) -> tuple[int, str]:
    return (int(path.name) if path.name.isdecimal() and len(path.name) < 9 else 10**9, path.name)


def _node_summaries(trial: Path) -> list[Path]:
    """Return the summaries of the nodes of a trial, of a node line or of a node."""
    found = (path for depth in ("", "*/", "*/*/") for path in trial.glob(f"{depth}summary.csv"))
    return [path for path in islice(found, MOST_MODULES) if _header(path) >= NODE_COLUMNS]


def _header(path: Path) -> set[str]:
    try:
        with path.open("rb") as stream:
            return set(stream.readline(1 << 16).decode("utf-8", "replace").strip("\ufeff\r\n").split(","))
    except OSError:
        return set()


def project_of(folder: Path) -> Path | None:
    """Return the project folder that a folder lies in, found by its questions."""
    start = folder.absolute()
    return next((path for path in (start, *start.parents[:ABOVE]) if (path / QUESTIONS).is_file()), None)


def start_times(project: Path) -> dict[str, datetime]:
    """Return when each trial started, as far as trial.json says."""
    try:
        listed = InputFile.from_path(project / "trial.json").document()
    except InputError:
        return {}
    times = {}
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, dict):
            try:
                times[str(entry.get("trial_name"))] = datetime.fromisoformat(str(entry.get("start_time")))
            except ValueError:
                continue
    return {name: time.replace(tzinfo=None) for name, time in times.items()}


def nodes_of(source: InputFile, trial: Path) -> list[list[Module]]:
    """Return the modules of each node of a trial, in the order of the pipeline."""
    nodes = []
    for summary in _node_summaries(trial):
        folder = summary.parent.absolute()
        line = folder.parent
        with summary.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
            if summary.stat().st_size > SUMMARY_BYTES:
                raise source.error(f"has a summary of more than {SUMMARY_BYTES:,} bytes: {summary}", ACCEPTED)
            rows = [{str(name): value or "" for name, value in row.items()} for row in csv.DictReader(stream)]
        modules = [Module(line.parent.name, line.name, folder.name, folder, row) for row in rows]
        for module in modules:
            _check_file(source, module)
        nodes.append(modules)
    return sorted(nodes, key=lambda modules: _position(modules[0].node) if modules else 0)


def _position(node: str) -> int:
    return NODES.index(node) if node in NODES else len(NODES)


def _check_file(source: InputFile, module: Module) -> None:
    """Raise InputError unless the file that a row names lies in the folder of its node."""
    name = module.row["filename"]
    where = f"{module.trial}/{module.line}/{module.node}"
    if Path(name).name != name or not name.endswith(".parquet"):
        raise source.error(f"{where}/summary.csv names the file {name[:60]!r}", "a Parquet file beside it")
    if not module.file.is_file():
        raise source.error(f"lacks {where}/{name}, which its summary.csv names", ACCEPTED)


def best_before(module: Module, nodes: list[list[Module]]) -> dict[str, Module]:
    """Return the best modules of the nodes before one, by what they hand on: passages, prompts."""
    found: dict[str, Module] = {}
    for modules in nodes:
        if not modules or _position(modules[0].node) >= _position(module.node):
            break
        best = next((other for other in modules if other.is_best), modules[0])
        if "passage" in best.node or "retrieval" in best.node:
            found["passages"] = best
        elif best.node == "prompt_maker":
            found["prompts"] = best
    return found
