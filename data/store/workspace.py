"""A workspace: a folder of immutable runs, data derived from them, and the annotations database.

Runs are published by renaming a finished folder, so any number of processes can read and import at once
without a lock, and a crash leaves nothing half-loaded. The runs of one file appear together.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import socket
import stat
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from ragtriage.data.errors import CANNOT_WRITE, WorkspaceError
from ragtriage.data.store.access import must_write, read_only
from ragtriage.data.store.stored_file import commit, finish_commits, is_running, listed_runs, sync

FORMAT_VERSION = 1
OWNER_ONLY = 0o700
_TEMPORARY = re.compile(r"\.(staging|deleted)-(?P<host>.+)-(?P<pid>[0-9]{1,9})-[^-]+")
DEFAULT_FOLDER = "ragtriage-workspace"
REPORTED_MEANS = "reported_means"  # in the configuration, though no setting: the results that a file reports
SCALES = "score_scales"  # likewise: metric -> [least, greatest] of the tool that scored it
LIVE = "live"  # likewise: from when to when a window of live traffic is, and how many calls it had


def utc_now() -> datetime:
    """Return the current time in UTC, naive, in whole seconds."""
    return datetime.now(UTC).replace(tzinfo=None, microsecond=0)


@dataclass(frozen=True)
class Run:
    """The facts of a run as stored in run.json."""

    run_id: str  # beginning of the content hash; the name of the run's folder
    name: str  # name at import; the annotations database may have a display name
    project: str
    n: int  # number of samples (rows)
    n_questions: int  # number of distinct questions
    created_at: datetime  # time of the run if known, else of the import; naive UTC
    imported_at: datetime  # time of the import; naive UTC
    origin: dict[str, str]  # {"file": name, "format": importer}
    config: dict[str, Any]
    dataset: str  # name of the question set, or ""
    dataset_version: str
    corpus_version: str  # version of the documents, or ""
    content_hash: str  # SHA-256 of the samples in canonical form
    notes: tuple[str, ...]
    fields: tuple[str, ...]  # sample fields with a value in at least one sample
    # measurements of producing the run, e.g. seconds by step; not part of its identity.
    measured: dict[str, float] = field(default_factory=dict)
    # metric -> mean on the metric's own scale, of an aggregate-only run (then n is 0)
    means: dict[str, float] = field(default_factory=dict)
    format_version: int = FORMAT_VERSION  # version of the stored format

    def with_samples(self) -> Run:
        """Return the run.

        Raises:
            WorkspaceError: it has summary scores only.
        """
        if self.means:
            only = f"{self.name} ({self.run_id}) has summary scores only"
            raise WorkspaceError(f"{only}; accepted: a run with samples")
        return self

    def to_json(self) -> str:
        """Return the text of run.json."""
        facts = asdict(self)
        facts["created_at"] = self.created_at.isoformat()
        facts["imported_at"] = self.imported_at.isoformat()
        return json.dumps(facts, ensure_ascii=False, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Run:
        """Parse run.json; fields that this version does not know are ignored.

        Raises:
            ValueError: a fact is missing or of another type, or a newer version wrote it.
        """
        try:
            from_json(text, allow_inf_nan=False)
            run = _run_adapter().validate_json(text, strict=True)
        except ValidationError as error:
            fault = error.errors()[0]
            field_name = ".".join(str(part) for part in fault["loc"])
            raise ValueError(f"{field_name}: {fault['msg']}" if field_name else fault["msg"]) from error
        if run.format_version > FORMAT_VERSION:
            raise ValueError(
                f"format_version: {run.format_version}, and this ragtriage reads up to {FORMAT_VERSION}"
            )
        if not all(map(math.isfinite, (*run.means.values(), *run.measured.values()))):
            raise ValueError("means, measured: a value is not finite")
        if run.created_at.tzinfo or run.imported_at.tzinfo:
            raise ValueError("created_at, imported_at: with a time zone, where UTC without one is stored")
        return run


@cache
def _run_adapter() -> TypeAdapter[Run]:
    return TypeAdapter(Run)


def flat_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a configuration by path, e.g. "retriever.name"; lists stay whole."""
    return {
        path: value
        for key, setting in config.items()
        if key not in (REPORTED_MEANS, SCALES, LIVE)
        for path, value in _flat(str(key), setting).items()
    }


def _flat(path: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not value:
        return {path: value}
    return {
        inner: leaf for key, part in value.items() for inner, leaf in _flat(f"{path}.{key}", part).items()
    }


def setting_text(value: Any) -> str:
    """Return the value of a setting as text: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


class Workspace:
    """Paths and folders of a workspace; cheap to create, holds no open file."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root).expanduser().resolve()
        self.name = str(self.root)  # in messages

    @classmethod
    def find(cls, folder: str | None = None) -> Workspace:
        """Return the workspace in `folder`, else in RAGTRIAGE_WORKSPACE, else in ./ragtriage-workspace."""
        return cls(folder or os.environ.get("RAGTRIAGE_WORKSPACE") or DEFAULT_FOLDER)

    @classmethod
    def open(cls, folder: str | None = None, create: bool = False) -> Workspace:
        """Find a workspace as `find` does; a caller that only reads does not create it.

        Raises:
            WorkspaceError: it is a file, or cannot be created.
        """
        workspace = cls.find(folder)
        if workspace.root.exists() and not workspace.root.is_dir():
            raise WorkspaceError(
                f"workspace {workspace.name}: is not a folder; accepted: a folder, or a new name"
            )
        return workspace.create() if create else workspace

    def create(self) -> Workspace:
        """Create the folders, except in read-only mode; raises WorkspaceError if that fails.

        What is created is for its owner alone: questions and answers are often confidential.
        """
        if read_only():
            return self
        try:
            self.root.mkdir(OWNER_ONLY, parents=True, exist_ok=True)
            self.runs_folder.mkdir(OWNER_ONLY, exist_ok=True)
            self.scores_folder.mkdir(OWNER_ONLY, exist_ok=True)
        except OSError as error:
            raise WorkspaceError(
                f"workspace {self.name}: cannot be written ({error.strerror}); accepted: a writable folder"
            ) from error
        return self

    @property
    def runs_folder(self) -> Path:
        """Folder of the runs."""
        return self.root / "runs"

    @property
    def questions_folder(self) -> Path:
        """Folder of the question sets."""
        return self.root / "questions"

    def mode(self) -> int:
        """Return the mode of the folder of runs, which everything new takes on."""
        try:
            return stat.S_IMODE(self.runs_folder.stat().st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return OWNER_ONLY

    def create_file(self, path: Path) -> None:
        """Create an empty file for those who may read the runs; SQLite would create it for everybody."""
        if not path.exists():
            with suppress(OSError):  # then SQLite says what is wrong
                os.close(os.open(path, os.O_RDWR | os.O_CREAT, self.mode() & 0o666))

    @property
    def scores_folder(self) -> Path:
        """Folder of the data derived from runs; may be deleted at any time."""
        return self.root / "scores"

    @property
    def ledger_path(self) -> Path:
        """The annotations database."""
        return self.root / "ledger.sqlite"

    @property
    def index_path(self) -> Path:
        """The index of runs, which can be rebuilt."""
        return self.root / "catalogue.sqlite"

    def samples_path(self, run_id: str) -> Path:
        """Return the path of a run's samples."""
        return self.root / "runs" / run_id / "samples.parquet"

    def run_ids(self) -> set[str]:
        """Return the runs in the folder now, whichever process published them; files are not runs."""
        if not read_only():
            finish_commits(self.root, self.mode())
        return listed_runs(self.runs_folder)

    def read_run(self, run_id: str) -> Run:
        """Read the facts of a run.

        Raises:
            WorkspaceError: there is no such run, or its run.json cannot be read or is that of another run.
        """
        path = self.runs_folder / run_id / "run.json"
        if run_id not in self.run_ids():
            raise WorkspaceError(f"no run {run_id!r} in {self.root}; see `ragtriage runs`")
        try:
            run = Run.from_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise WorkspaceError(
                f"{path}: cannot be read ({reason}); accepted: the run.json that the import wrote, "
                f"or `ragtriage delete {run_id}` and a new import"
            ) from error
        if run.run_id != run_id:  # paths are made of it: another id would lead out of the run's folder
            raise WorkspaceError(
                f"{path}: run_id {run.run_id!r} differs from the name of its folder; accepted: {run_id!r}"
            )
        if not run.content_hash.startswith(run_id):
            raise WorkspaceError(
                f"{path}: content_hash {run.content_hash!r} is that of another run; accepted: the run.json "
                "that the import wrote"
            )
        return run

    @contextmanager
    def staging(self, folder: Path) -> Iterator[Path]:
        """Yield a temporary folder next to the final ones; it is removed unless it is published.

        Raises:
            WorkspaceError: this process is read-only, and the folder is not for scores.
        """
        if self.scores_folder not in (folder, *folder.parents):
            must_write(f"workspace {self.root}")
        self.create()
        stage = folder / f".staging-{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        try:
            with writing(self.name):
                folder.mkdir(self.mode(), parents=True, exist_ok=True)
                clear_abandoned(folder)
                stage.mkdir(OWNER_ONLY)
                yield stage
        finally:
            shutil.rmtree(stage, ignore_errors=True)

    def publish(self, stage: Path, final: Path, *, durable: bool = True) -> bool:
        """Publish a finished folder by renaming it; return False if another process was first.

        Args:
            stage: the finished folder.
            final: its place.
            durable: whether to wait until it is on the disk; what is derived and has checksums need not be.
        """
        wait = sync if durable else (lambda _: None)
        stage.chmod(self.mode())
        for path in stage.iterdir():
            path.chmod(self.mode() & 0o666)
            wait(path)
        wait(stage)
        try:
            stage.rename(final)
        except OSError:
            if final.is_dir():
                return False
            raise
        wait(final.parent)
        return True

    @contextmanager
    def staged_import(self) -> Iterator[Workspace]:
        """Yield a temporary workspace for the runs of one import, until `publish_import` publishes them."""
        with self.staging(self.runs_folder) as stage:
            staged = Workspace(stage)
            staged.name = self.name
            staged.create().runs_folder.chmod(self.mode())
            yield staged

    def publish_import(self, staged: Workspace) -> set[str]:
        """Publish all runs of a staged import at once; return the ids of those that were not there before.

        Raises:
            WorkspaceError: a file is in the place of a run; nothing was published.
        """
        new = staged.run_ids() - self.run_ids()
        for path in (self.runs_folder / run_id for run_id in new):
            if path.exists():
                raise WorkspaceError(f"{path}: is in the place of a run; accepted: nothing of that name")
        if new:
            commit(staged.root, self.root, new, self.mode())
        return new

    def delete_run(self, run_id: str) -> None:
        """Delete a run, readable or not, and the data derived from it; its labels stay.

        Raises:
            WorkspaceError: there is no such run, or the folder cannot be changed.
        """
        must_write(f"workspace {self.root}")
        if run_id not in self.run_ids():
            raise WorkspaceError(f"no run {run_id!r} in {self.root}; see `ragtriage runs`")
        with writing(self.name):
            self.discard(self.runs_folder / run_id)
            self.discard(self.scores_folder / run_id)

    def discard(self, path: Path) -> None:
        """Remove a folder or file, if it is there: for every reader at once, then its files."""
        name = f".deleted-{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        try:
            renamed = path.rename(path.parent / name)
        except FileNotFoundError:
            return
        if renamed.is_dir() and not renamed.is_symlink():
            shutil.rmtree(renamed, ignore_errors=True)
        else:
            renamed.unlink(missing_ok=True)


@contextmanager
def writing(name: str) -> Iterator[None]:
    """Raise WorkspaceError where the disk is full or may not be written."""
    try:
        yield
    except OSError as error:
        if error.errno not in CANNOT_WRITE:
            raise
        raise WorkspaceError(
            f"workspace {name}: cannot be written ({os.strerror(error.errno or 0)}); accepted: a folder that "
            "you may write to, on a disk with free space"
        ) from error


def clear_abandoned(folder: Path, alive: Callable[[int], bool] | None = None) -> None:
    """Remove temporary folders of processes of this host that no longer run."""
    alive = alive or is_running
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.is_dir()]
    for name in names:
        owner = _TEMPORARY.fullmatch(name)
        if owner and owner["host"] == socket.gethostname() and not alive(int(owner["pid"])):
            shutil.rmtree(folder / name, ignore_errors=True)
