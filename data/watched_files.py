"""The files of a watched folder: which stand still, and which have been dealt with, also before a restart."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["FileMark", "Memory", "digest_of", "files_in"]

UNFINISHED = (
    *(".tmp", ".temp", ".part", ".partial", ".filepart", ".crdownload", ".download", ".inprogress"),
    *(".swp", ".swx", ".lock", ".bak", "~"),
)


@dataclass(frozen=True)
class FileMark:
    """What a file looks like from outside; it stands still while this stays the same.

    Attributes:
        size: in bytes.
        changed: when its content was last written, in nanoseconds.
    """

    size: int
    changed: int


def files_in(folder: Path, leave_out: Path) -> dict[str, FileMark]:
    """List the files of a folder and the folders in it, by their path within it.

    Left out are hidden, temporary and unfinished files, by their names, and whatever is no regular file.
    A link to a file counts as that file; links to folders are not followed.

    Args:
        folder: where to look.
        leave_out: a folder that is not looked into: the workspace.
    """
    found = {}
    for path in _paths(folder, leave_out):
        try:
            seen = path.stat()
        except OSError:
            continue  # gone meanwhile, or a link to nothing
        if stat.S_ISREG(seen.st_mode):
            found[str(path.relative_to(folder))] = FileMark(seen.st_size, seen.st_mtime_ns)
    return found


def _paths(folder: Path, leave_out: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        here = Path(root)
        folders[:] = sorted(one for one in folders if not one.startswith(".") and here / one != leave_out)
        yield from (here / name for name in sorted(files) if not _unfinished(name))


def _unfinished(name: str) -> bool:
    return name.startswith((".", "~", "#")) or name.lower().endswith(UNFINISHED)


def digest_of(path: Path) -> str:
    """Give the SHA-256 of a file's content; "" where it cannot be read."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""


@dataclass
class Memory:
    """What a watch has dealt with; it outlives the process in a small file of the workspace.

    Attributes:
        path: of that file.
        files: path within the folder -> (size, time, digest) when it was dealt with.
        contents: digests of what was read, whatever the file was called.
    """

    path: Path
    files: dict[str, tuple[int, int, str]] = field(default_factory=dict)
    contents: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, root: Path, folder: Path, project: str) -> Memory:
        """Read what is remembered of a folder watched for a project; nothing where that cannot be read."""
        place = hashlib.sha256(f"{folder}\0{project}".encode("utf-8", "surrogateescape")).hexdigest()[:16]
        made = cls(root / "watch" / f"{place}.json")
        try:
            given = json.loads(made.path.read_text(encoding="utf-8"))
            made.files = {
                str(name): (int(size), int(time), str(digest))
                for name, (size, time, digest) in given["files"].items()
            }
            made.contents = {str(one) for one in given["contents"]}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return cls(made.path)
        return made

    def knows(self, name: str, mark: FileMark) -> bool:
        """Whether a file was dealt with as it stands; one that could not be opened is tried again."""
        size, changed, digest = self.files.get(name, (-1, -1, ""))
        return bool(digest) and (size, changed) == (mark.size, mark.changed)

    def told(self, name: str, mark: FileMark, digest: str) -> bool:
        """Whether this was said of this file before: the same content, or the same failure to open it."""
        size, changed, before = self.files.get(name, (-1, -1, ""))
        return before == digest if digest else (size, changed, before) == (mark.size, mark.changed, "")

    def note(self, name: str, mark: FileMark, digest: str, read: bool) -> None:
        """Remember that a file was dealt with, and whether its content was read."""
        entry = (mark.size, mark.changed, digest)
        if self.files.get(name) == entry and not read:
            return
        self.files[name] = entry
        if read and digest:
            self.contents.add(digest)
        self._save()

    def keep_only(self, there: Mapping[str, FileMark]) -> None:
        """Forget files that are gone; what they held stays known."""
        for gone in self.files.keys() - there.keys():
            del self.files[gone]

    def _save(self) -> None:
        text = json.dumps({"files": self.files, "contents": sorted(self.contents)})
        beside = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        try:
            self.path.parent.mkdir(exist_ok=True)
            beside.write_text(text, encoding="utf-8")
            beside.replace(self.path)
        except OSError:
            beside.unlink(missing_ok=True)  # the watch goes on; after a restart it looks at the files again
