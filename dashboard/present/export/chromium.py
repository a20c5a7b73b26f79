"""Where a Chromium is found, and how a program runs with a time limit."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from ragtriage.data.errors import DataError

FLAGS = (
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-proxy-server",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
NO_SANDBOX = "--no-sandbox"  # root, and containers without user namespaces, have none
PATH_VARIABLES = ("RAGTRIAGE_CHROMIUM", "BROWSER_PATH")
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
USUAL_PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
PLAYWRIGHTS = (".cache/ms-playwright", "Library/Caches/ms-playwright", "AppData/Local/ms-playwright")
HOW_TO_INSTALL = (
    "no Chromium was found; install one (Debian and Ubuntu: `apt-get install chromium`; else Chrome, "
    "Chromium or Edge from its maker), or set RAGTRIAGE_CHROMIUM to the path of one"
)


def find_chromium() -> str | None:
    """Return the path of a Chromium: from the environment, on PATH, in usual places, or Playwright's."""
    for variable in PATH_VARIABLES:
        path = os.environ.get(variable)
        if path:
            return path if Path(path).is_file() else None
    on_path = next((path for name in NAMES if (path := shutil.which(name))), None)
    return on_path or next((str(path) for path in _usual_paths() if path.is_file()), None)


def required_chromium() -> str:
    """Return the path of a Chromium.

    Raises:
        DataError: there is none; the message says what to install.
    """
    path = find_chromium()
    if path is None:
        raise DataError(HOW_TO_INSTALL)
    return path


def _usual_paths() -> Iterable[Path]:
    yield from map(Path, USUAL_PLACES)
    for folder in PLAYWRIGHTS:
        newest_first = sorted((Path.home() / folder).glob("chromium-*/chrome-*/chrome*"), reverse=True)
        yield from (path for path in newest_first if path.name in ("chrome", "chrome.exe"))


def run_bounded(
    command: Sequence[str],
    seconds: float,
    stdin: bytes | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run a program; after the time limit, it and all processes it started are killed.

    Raises:
        DataError: it cannot be started, or took too long.
    """
    own_group = sys.platform != "win32"
    try:
        process = subprocess.Popen(  # noqa: S603 -- a browser or this interpreter, arguments as a list
            list(command),
            stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=own_group,
            env=None if environment is None else dict(environment),
        )
    except OSError as error:
        raise DataError(f"{command[0]} cannot be started ({error.strerror or error})") from error
    try:
        stdout, stderr = process.communicate(stdin, timeout=seconds)
    except subprocess.TimeoutExpired as error:
        raise DataError(
            f"{Path(command[0]).name} did not end within {seconds:.0f} s and was stopped"
        ) from error
    finally:
        end_group(process, own_group)
    return subprocess.CompletedProcess(list(command), process.returncode, stdout, stderr)


def end_group(process: subprocess.Popen[bytes], whole_group: bool = True) -> None:
    """Kill what still runs: the process, and if it has its own group, all processes it started."""
    with suppress(ProcessLookupError, PermissionError):  # all have ended
        if whole_group:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None and not stream.closed:
            with suppress(BrokenPipeError):  # of what was never read
                stream.close()
    process.wait()


def sandboxes() -> tuple[tuple[str, ...], ...]:
    """Return the flags to try: with a sandbox where one is possible, then without."""
    if sys.platform != "win32" and os.geteuid() == 0:
        return ((NO_SANDBOX,),)
    return ((), (NO_SANDBOX,))


def no_pdf(chromium: str, messages: str) -> DataError:
    """Return the error of a browser that printed nothing, with the last line of what it wrote."""
    lines = [line for line in messages.splitlines() if line.strip()]
    return DataError(f"{chromium} printed no PDF: {lines[-1] if lines else 'it gave no message'}")
