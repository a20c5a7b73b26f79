"""The dashboard under a foreign name or asked by another site's page: refused, whatever the settings."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from browser_site import wait_for
from places import REPOSITORY

from ragtriage.dashboard.cli.serve import BindAddress, _settings
from ragtriage.dashboard.entry import refusal

pytestmark = pytest.mark.xdist_group("ports")
OPEN_SETTINGS = """
[server]
enableCORS = false
enableXsrfProtection = false
enableAgentApi = true
allowedHosts = ["*"]
corsAllowedOrigins = ["http://evil.example"]
[browser]
serverAddress = "evil.example"
"""
WATCHED = """
import os, socket
_resolve = socket.getaddrinfo
def _told(host, *rest, **more):
    with open(os.environ["ASKED"], "a") as file:
        file.write(f"{host}\\n")
    return _resolve(host, *rest, **more)
socket.getaddrinfo = _told
"""
UPGRADE = (
    "GET /_stcore/stream HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nConnection: Upgrade\r\n"
    "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
ASK = "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}\r\n"


@pytest.fixture(scope="module")
def hostile_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """The port of a dashboard started where the settings open everything, and a list of its look-ups."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / ".streamlit").mkdir()
    (folder / ".streamlit" / "config.toml").write_text(OPEN_SETTINGS, encoding="utf-8")
    (folder / "sitecustomize.py").write_text(WATCHED, encoding="utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    asked = folder / "asked"
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{REPOSITORY}", "ASKED": str(asked)}
    process = subprocess.Popen(
        [sys.executable, "-m", "ragtriage.dashboard.cli", "--workspace", "ws", "serve", "--port", str(port)],
        cwd=folder, env=environment, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_for(f"http://127.0.0.1:{port}/", process)
        yield port, asked
    finally:
        process.terminate()
        process.wait(10)


def _status(port: int, request: str) -> int:
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.sendall(request.encode())
        return int(connection.recv(200).split(b" ")[1])


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("127.0.0.1:{port}", "http://127.0.0.1:{port}", 101),
        ("localhost:{port}", "http://localhost:{port}", 101),
        ("evil.example:{port}", "http://evil.example:{port}", 403),
        ("127.0.0.1:{port}", "http://evil.example", 403),
        ("127.0.0.1:{port}", "http://127.0.0.1:9", 403),
        ("127.0.0.1:{port}", "null", 403),
    ],
)
def test_a_connection_is_accepted_from_the_own_pages_alone(
    hostile_folder: tuple[int, Path], host: str, origin: str, status: int
) -> None:
    port, asked = hostile_folder
    request = UPGRADE.format(host=host.format(port=port), origin=origin.format(port=port))
    assert _status(port, request) == status
    time.sleep(0.5)
    assert set(asked.read_text(encoding="utf-8").split()) <= {"127.0.0.1", "localhost", "::1"}


def test_pages_and_other_routes_are_refused_too(hostile_folder: tuple[int, Path]) -> None:
    port, _ = hostile_folder
    for path in ("/", "/_stcore/health", "/_stcore/host-config"):
        assert _status(port, ASK.format(path=path, host=f"127.0.0.1:{port}", more="")) == 200
        assert _status(port, ASK.format(path=path, host=f"evil.example:{port}", more="")) == 403
        from_elsewhere = "Origin: http://127.0.0.1:9\r\n"
        assert _status(port, ASK.format(path=path, host=f"127.0.0.1:{port}", more=from_elsewhere)) == 403


def test_pages_of_other_sites_may_not_frame_it(hostile_folder: tuple[int, Path]) -> None:
    port, _ = hostile_folder
    for path in ("/", "/_stcore/health"):
        with urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as response:
            assert response.headers["Content-Security-Policy"] == "frame-ancestors 'self'"


def test_names_are_compared_as_a_whole() -> None:
    allowed = ["127.0.0.1", "::1", "box.example"]
    assert refusal("BOX.example.:80", "http://box.example.:80", allowed) == ""
    assert refusal("[::1]:8501", "http://[::1]:8501", allowed) == ""
    for host in ("", "box.example.evil", "evil@x", "[", "127.0.0.1.evil:1"):
        assert refusal(host, None, allowed)
    assert "serve --allow-host" in refusal("evil", None, allowed)


def test_an_exposed_dashboard_is_opened_under_its_own_names() -> None:
    exposed = BindAddress("0.0.0.0", True, ("rag.example",))
    assert {"rag.example", socket.gethostname().lower(), "127.0.0.1"} <= set(exposed.allowed_hosts)
    settings = _settings(exposed, 8501)
    assert "--server.allowedHosts=rag.example" in settings
    assert "--server.allowedHosts=*" not in settings
