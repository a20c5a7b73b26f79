"""The doctor command: what of an installation works, and what to attach to a bug report.

It shares no options or tables with other commands: these load libraries that may be what is broken. Each
check stands alone and imports what it needs itself, so that a broken library is a result and no crash.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib import import_module, metadata, util
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
from packaging.requirements import Requirement

import ragtriage
from ragtriage import __version__
from ragtriage.dashboard.cli.main import LIGHT, distribution

if TYPE_CHECKING:
    from ragtriage.data.store.workspace import Workspace

State = Literal["ok", "warning", "problem"]
EXTRAS = {  # extra -> what needs it
    "images": "pictures of charts",
    "judge": "`ragtriage judge` and `generate`",
    "mcp": "`ragtriage mcp`",
    "embedding": "embeddings in a grid search",
    "fast": "scoring large runs several times faster",
}
ENVIRONMENT = (  # what is read; values are never shown
    *("RAGTRIAGE_WORKSPACE", "RAGTRIAGE_READ_ONLY", "RAGTRIAGE_ALLOWED_HOSTS", "RAGTRIAGE_NO_LIMITS"),
    *("RAGTRIAGE_JUDGE_MODEL", "RAGTRIAGE_CHROMIUM", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    *("ANTHROPIC_BASE_URL", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "PYTHONPATH", "RAGTRIAGE_COMPILED"),
    *("RAGTRIAGE_CACHE_MB", "RAGTRIAGE_COSTS", "RAGTRIAGE_ALLOWED_PATHS", "RAGTRIAGE_COLLECT_TOKEN"),
    "RAGTRIAGE_ALERT_WEBHOOK",
)
LITTLE_SPACE, NO_SPACE = 1_000_000_000, 50_000_000  # bytes
PACKAGES = ("dashboard", "data", "metrics")
LIBRARIES = (
    *("duckdb", "mcp", "numpy", "orjson", "pandas", "plotly", "pyarrow", "pydantic", "starlette"),
    "streamlit",
)


@dataclass(frozen=True)
class Result:
    """The result of one check."""

    state: State  # of what was checked
    subject: str  # what was checked
    text: str  # in words; after a semicolon what to do about it. Paths have ~ for the home folder
    public: str = ""  # the same for a bug report, without any path; "" where the text has none


def homeless(path: str | Path) -> str:
    """Return a path with ~ in place of the home folder, whose name is often that of a person."""
    text, home = str(path), str(Path.home())
    inside = home != "/" and (text == home or text.startswith(home + os.sep))
    return f"~{text.removeprefix(home)}" if inside else text


def counted(n: int, noun: str) -> str:
    """Return a number with its noun; as dashboard.wording.formatting has it, without loading NumPy."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def checked(workspace: str | None) -> list[Result]:
    """Check the installation and a workspace, the default one where None."""
    checks: list[tuple[str, Callable[[], Iterable[Result]]]] = [
        ("Python", _python),
        ("libraries", _libraries),
        ("libraries", _engine),
        ("packages", _packages),
        ("extras", _extras),
        ("fast", _fast),
        ("importers", _importers),
        ("Chromium", _chromium),
        ("workspace", lambda: _workspace(workspace)),
        ("environment", _environment),
    ]
    results: list[Result] = []
    for subject, check in checks:
        try:
            results += check()
        except metadata.PackageNotFoundError:
            text = "cannot be checked: ragtriage is on the path and not installed; pip install it"
            results.append(Result("warning", subject, text))
        except Exception as error:  # noqa: BLE001 -- whatever is broken is what a doctor is asked about
            kind = type(error).__name__
            text = f"cannot be checked ({kind}: {error})"
            results.append(Result("problem", subject, text, f"cannot be checked ({kind})"))
    return results


def _python() -> Iterator[Result]:
    asked = metadata.metadata(distribution())["Requires-Python"] or ">=3.11"
    version, wanted = platform.python_version(), Requirement(f"python{asked}").specifier
    if wanted.contains(version, prereleases=True):
        yield Result("ok", "Python", f"{version} (needs {asked})")
    else:
        yield Result("problem", "Python", f"{version}; accepted: {asked}")


def _requirements() -> list[Requirement]:
    return [Requirement(text) for text in metadata.requires(distribution()) or ()]


def _applies(requirement: Requirement, extra: str = "") -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _libraries() -> Iterator[Result]:
    wanted = [requirement for requirement in _requirements() if _applies(requirement)]
    faults = [fault for requirement in wanted if (fault := _fault(requirement))]
    yield from (Result("problem", "libraries", fault) for fault in faults)
    if not faults:
        yield Result("ok", "libraries", f"all {len(wanted)} at the required versions")


def _pip() -> str:
    """Return how pip is called for this installation: by its path where `pip` alone would be another."""
    own = Path(sys.executable).with_name("pip")
    first = shutil.which("pip")
    if first and Path(first).resolve() == own.resolve():
        return "pip"
    near = own.is_relative_to(Path.cwd())
    return str(own.relative_to(Path.cwd())) if near else "python -m pip"


def _fault(requirement: Requirement) -> str:
    """Return why a requirement is not met and what to do; "" where it is."""
    install = f'{_pip()} install "{requirement.name}{requirement.specifier}"'
    try:
        version = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return f"{requirement.name} is missing; {install}"
    met = requirement.specifier.contains(version, prereleases=True)
    return "" if met else f"{requirement.name} {version}, asked for {requirement.specifier}; {install}"


def _engine() -> Iterator[Result]:
    """Check that the engine that reads runs can be loaded; nothing is said where it can."""
    try:
        import_module("duckdb")
    except ImportError as error:
        fault = f"duckdb cannot be loaded ({type(error).__name__})"
        yield Result("problem", "libraries", f"{fault}: {error}; pip install --force-reinstall duckdb", fault)


def _packages() -> Iterator[Result]:
    """Check that every package of ragtriage is installed."""
    missing = [name for name in PACKAGES if util.find_spec(f"ragtriage.{name}") is None]
    where = homeless(Path(ragtriage.__file__).parent)
    for name in missing:
        fault = f"ragtriage.{name} is missing"
        yield Result("problem", "packages", f"{fault} in {where}; install ragtriage again", fault)
    if not missing:
        yield Result("ok", "packages", "all packages of ragtriage are installed")


def _extras() -> Iterator[Result]:
    if distribution() == LIGHT:
        yield Result("ok", "extras", f"{LIGHT} has none; it gates without the dashboard")
        return
    requirements = _requirements()
    provided = metadata.metadata(distribution()).get_all("Provides-Extra") or []
    for extra, needed_for in EXTRAS.items():
        wanted = [each for each in requirements if _applies(each, extra) and not _applies(each)]
        faults = [fault for requirement in wanted if (fault := _fault(requirement))]
        missing = [fault for fault in faults if " is missing; " in fault]
        if extra not in provided:
            yield Result("warning", "extras", f"{extra} is not known here; install ragtriage again")
        elif missing:
            how = f'{_pip()} install "ragtriage[{extra}]" adds it'
            yield Result("ok", "extras", f"{extra} is not installed (optional, for {needed_for}); {how}")
        elif faults:
            yield from (Result("warning", "extras", f"{extra}: {fault}") for fault in faults)
        else:
            versions = ", ".join(f"{each.name} {metadata.version(each.name)}" for each in wanted)
            yield Result("ok", "extras", f"{extra} is installed ({versions})")


def _fast() -> Iterator[Result]:
    """Check that what numba compiles can be kept and called; nothing is said without numba."""
    from ragtriage.data.text.compiled.engine import why_not

    if fault := why_not():
        text = f"numba is installed and cannot be used ({fault.replace(str(Path.home()), '~')})"
        yield Result("warning", "fast", text, "numba is installed and cannot be used")


def _importers() -> Iterator[Result]:
    """Check the importers that other packages bring; nothing is said where none is installed."""
    from ragtriage.data.importers.registry import plugin_faults

    for fault in plugin_faults():
        # What another package raises may hold a path.
        public = fault.partition(": ")[0]
        text = f"{fault.replace(str(Path.home()), '~')}; repair or pip uninstall it"
        yield Result("problem", "importers", text, public)


def _chromium() -> Iterator[Result]:
    from ragtriage.dashboard.present.export.chromium import HOW_TO_INSTALL, find_chromium

    path = find_chromium()
    if path is None:
        yield Result("warning", "Chromium", f"PDF and pictures cannot be made: {HOW_TO_INSTALL}")
    elif not os.access(path, os.X_OK):
        what = "cannot be run; set RAGTRIAGE_CHROMIUM to the path of another"
        yield Result("problem", "Chromium", f"{homeless(path)} {what}", what)
    else:
        yield Result("ok", "Chromium", homeless(path), "was found")


def _settings(workspace: Workspace, projects: Sequence[str]) -> Iterator[Result]:
    """Yield what is wrong with the files that a user writes: gates.toml and metrics.toml."""
    from ragtriage.data.comparison.compared_metrics import primary_metric
    from ragtriage.data.declarations import FILE_NAME, declarations_of
    from ragtriage.data.errors import DataError
    from ragtriage.data.gates.config import load_gates

    def read_metrics() -> None:
        for project in projects or ["default"]:
            declarations_of(workspace, project)
            primary_metric(workspace, project)

    for name, read in (("gates.toml", lambda: load_gates(workspace)), (FILE_NAME, read_metrics)):
        if not (workspace.root / name).exists():
            continue
        try:
            read()
            yield Result("ok", "settings", f"{name} can be read")
        except DataError as error:
            text = str(error).replace(str(Path.home()), "~")
            yield Result("problem", "settings", text, f"{name} holds a mistake")


def _workspace(folder: str | None) -> Iterator[Result]:
    from ragtriage.data.errors import WorkspaceError
    from ragtriage.data.scoring.run_store import RunStore
    from ragtriage.data.store.sample_reader import check_pages
    from ragtriage.data.store.workspace import Workspace

    workspace = Workspace.find(folder)
    root, shown = workspace.root, homeless(workspace.root)
    if not root.exists():
        text = f"{shown} is not there yet; the first import makes it"
        yield Result("ok", "workspace", text, "is not there yet")
        yield _space(next(parent for parent in root.parents if parent.exists()))
        return
    if not root.is_dir() or not os.access(root, os.R_OK | os.X_OK):
        what = "cannot be read; accepted: a folder that you may read"
        yield Result("problem", "workspace", f"{shown} {what}", what)
        return
    yield _writable(root, shown)
    yield _space(root)
    yield from _database("annotations", workspace.ledger_path, "problem", "move the file aside and keep it")
    yield from _database("index", workspace.index_path, "warning", "delete the file, it is made again")
    store = RunStore(workspace)
    runs, unreadable = store.runs(), dict(store.unreadable())
    for run in runs:
        try:
            check_pages(workspace, run)
        except WorkspaceError as error:
            unreadable[run.run_id] = str(error)
    yield from _settings(workspace, sorted({run.project for run in runs}))
    projects = counted(len({run.project for run in runs}), "project")
    yield Result("ok", "runs", f"{counted(len(runs), 'run')} in {projects}")
    for problem in list(unreadable.values())[:5]:
        yield Result("problem", "runs", problem.replace(str(Path.home()), "~"), "one cannot be read")


def _writable(root: Path, shown: str) -> Result:
    from ragtriage.data.store.access import READ_ONLY, read_only

    if read_only():
        return Result("ok", "workspace", f"{shown}, for reading only ({READ_ONLY})", "for reading only")
    try:
        with tempfile.TemporaryFile(dir=root):
            return Result("ok", "workspace", f"{shown} can be read and written", "can be read and written")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        what = f"cannot be written ({reason}); runs can be read, and nothing imported or labelled"
        return Result("warning", "workspace", f"{shown} {what}", what)


def _space(folder: Path) -> Result:
    free = shutil.disk_usage(folder).free
    text = f"{free / 1e9:,.1f} GB free"
    if free < NO_SPACE:
        return Result("problem", "disk", f"{text}; imports fail, free some space")
    return Result("warning" if free < LITTLE_SPACE else "ok", "disk", text)


def _database(subject: str, path: Path, state: State, remedy: str) -> Iterator[Result]:
    """Check a SQLite file without writing to it."""
    if not path.exists():
        yield Result("ok", subject, "none yet")
        return
    address = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=5)) as connection:
            (answer,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.OperationalError as error:  # in use, or not to be opened for reading alone
        yield Result("warning", subject, f"{homeless(path)} cannot be opened ({error})", "cannot be opened")
        return
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        answer, version = str(error), 0
    if answer == "ok":
        yield Result("ok", subject, f"intact{f', version {version}' if version else ''}")
    else:
        yield Result(state, subject, f"{homeless(path)} is damaged ({answer}); {remedy}", "damaged")


def _environment() -> Iterator[Result]:
    names = [name for name in ENVIRONMENT if os.environ.get(name)]
    yield Result("ok", "environment", f"set: {', '.join(names) or 'nothing that matters'}")
    for name in sorted(os.environ):
        if name.startswith("RAGTRIAGE_") and name not in ENVIRONMENT:
            accepted = ", ".join(known for known in ENVIRONMENT if known.startswith("RAGTRIAGE_"))
            yield Result("warning", "environment", f"{name} is not read by ragtriage; accepted: {accepted}")
    if not sys.flags.utf8_mode and sys.getfilesystemencoding().lower() not in ("utf-8", "utf8"):
        yield Result("warning", "environment", "file names are not UTF-8; set PYTHONUTF8=1")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--report", "as_report", is_flag=True, help="Print what a bug report needs, without paths and texts."
)
@click.pass_obj
def doctor(workspace: str | None, as_json: bool, as_report: bool) -> None:
    """Check this installation and the workspace; exit code 1 where there is a problem."""
    results = checked(workspace)
    problems, warnings = (sum(each.state == state for each in results) for state in ("problem", "warning"))
    if as_json:
        checks = [{"state": each.state, "subject": each.subject, "text": each.text} for each in results]
        answer = {"checks": checks, "problems": problems, "report": _report(results)}
        click.echo(json.dumps(answer, ensure_ascii=True, indent=1))
    elif as_report:
        click.echo(_report(results))
    else:
        for each in results:
            click.echo(f"{each.state:<9}{each.subject:<13}{_plain(each.text)}")
        none = f"No problems, {counted(warnings, 'warning')}."
        first = f"{counted(problems, 'problem')}, {counted(warnings, 'warning')}: fix the problems first."
        click.echo(f"\n{first if problems else none}\n")
        click.echo("For a bug report, without paths and texts: ragtriage doctor --report")
    sys.exit(1 if problems else 0)


def _report(results: Sequence[Result]) -> str:
    """Return what to attach to a bug report: no path, no value of the environment, no text of a run."""
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    versions = ", ".join(f"{name} {version}" for name in LIBRARIES if (version := _version(name)))
    lines = [
        f"ragtriage {__version__}, Python {platform.python_version()}, {system}",
        f"libraries: {versions}",
        *(f"{each.state}: {each.subject}: {_plain(each.public or each.text)}" for each in results),
    ]
    return "\n".join(lines)


def _version(library: str) -> str:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return ""


def _plain(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)
