"""Starting the dashboard: a free port, this machine alone, its own settings from any folder."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import click
import pytest
from command_line import run
from places import REPOSITORY
from playwright.sync_api import Browser, expect

from ragtriage.dashboard.cli.serve import FIRST_PORT, LAST_PORT, claimed_port
from ragtriage.data.demo import FIRST_PROJECT, FIRST_RUN
from ragtriage.data.scoring.run_store import RunStore

pytestmark = pytest.mark.xdist_group("ports")
OTHER_SETTINGS = '[theme.light]\nbackgroundColor = "#ff00ff"\n[client]\nshowErrorDetails = "full"\n'


@pytest.fixture(scope="module")
def started(
    demo: RunStore, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A dashboard started by `demo` from a folder with Streamlit settings of its own, and its address."""
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / ".streamlit").mkdir()
    (folder / ".streamlit" / "config.toml").write_text(OTHER_SETTINGS, encoding="utf-8")
    with socket.socket() as probe:  # a port of its own: other tests look for the first free one from 8501
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "ragtriage.dashboard.cli", "--workspace", str(demo.workspace.root)]
    process = subprocess.Popen(
        [*command, "demo", "--no-browser", "--port", str(port)],
        cwd=folder, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    try:
        url = process.stdout.readline().removeprefix("ragtriage on ").strip()
        _wait_for_health(process, port)
        yield process, url
    finally:
        process.kill()
        process.wait(10)


def _wait_for_health(process: subprocess.Popen[str], port: int) -> None:
    deadline = time.monotonic() + 60
    while not _answers(f"http://127.0.0.1:{port}/_stcore/health"):
        assert process.poll() is None, f"the dashboard ended with {process.returncode}"
        assert time.monotonic() < deadline, "the dashboard did not start within a minute"
        time.sleep(0.2)


def _answers(url: str) -> bool:
    try:
        urllib.request.urlopen(url, timeout=1).close()
    except OSError:
        return False
    return True


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which somebody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        yield held.getsockname()[1]


def test_the_first_free_port_is_chosen() -> None:
    with claimed_port(None) as chosen:
        assert FIRST_PORT <= chosen <= LAST_PORT
    with socket.socket() as held:
        held.bind(("127.0.0.1", chosen))
        held.listen()
        with claimed_port(None) as later:
            assert later > chosen


def test_two_dashboards_that_start_at_once_take_two_ports() -> None:
    with claimed_port(None) as first, claimed_port(None) as second:
        assert first < second
        with pytest.raises(click.UsageError, match=f"port {first} is taken"), claimed_port(first):
            pass
    with claimed_port(first) as again:
        assert again == first


def test_a_taken_port_is_refused_before_anything_is_loaded(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, taken: int
) -> None:
    for command in ("demo", "serve"):
        answer = run(capsys, tmp_path / "ws", command, "--port", str(taken))
        assert answer.code == 2
        assert f"port {taken} is taken; accepted: a free one" in answer.err
    assert not (tmp_path / "ws" / "runs").exists() or not list((tmp_path / "ws" / "runs").iterdir())


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_a_number_that_is_no_port_is_refused(port: int) -> None:
    with pytest.raises(click.UsageError, match="accepted: 1 to 65535"), claimed_port(port):
        pass


def test_demo_serves_a_run_of_the_samples_on_this_machine_alone(
    demo: RunStore, started: tuple[subprocess.Popen[str], str]
) -> None:
    _, url = started
    address = urlsplit(url)
    query = parse_qs(address.query)
    assert address.hostname == "127.0.0.1"
    assert query["project"] == [FIRST_PROJECT]
    assert demo.find(query["run"][0]).name == FIRST_RUN
    assert _answers(f"http://{address.netloc}/_stcore/health")
    assert not _answers(f"http://127.0.0.2:{address.port}/_stcore/health"), "listens on other addresses too"


@pytest.mark.browser
def test_its_own_settings_hold_from_any_folder(
    browser: Browser, started: tuple[subprocess.Popen[str], str]
) -> None:
    page = browser.new_page(color_scheme="light")
    page.goto(started[1])
    app = page.locator("[data-testid=stApp][data-test-script-state=notRunning]")
    expect(app).to_be_visible(timeout=60_000)
    expect(app).to_have_css("background-color", "rgb(255, 255, 255)")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.close()


def test_an_interrupt_ends_it_cleanly(started: tuple[subprocess.Popen[str], str]) -> None:
    process, _ = started
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
