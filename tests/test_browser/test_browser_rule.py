"""Browser tests without a browser: skipped with a line that says how to get one, a failure under CI=true."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from chromium import find_chromium
from places import REPOSITORY

PROBE = "tests/test_cli/test_serving.py::test_its_own_settings_hold_from_any_folder"


@pytest.mark.parametrize(("ci", "code", "word"), [("", 0, "SKIPPED"), ("true", 1, "ERROR")])
def test_without_a_browser(tmp_path: Path, ci: str, code: int, word: str) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"CI": ci, "RAGTRIAGE_CHROMIUM": str(tmp_path / "none")}
    command = [sys.executable, "-m", "pytest", "-rsE", "-p", "no:cacheprovider", PROBE]
    found = subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=120
    )
    assert found.returncode == code, found.stdout + found.stderr
    assert word in found.stdout
    assert "apt-get install chromium" in found.stdout


def test_a_browser_is_looked_for_where_it_may_be(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    browser = tmp_path / "chromium"
    browser.write_text("#!/bin/sh\n", encoding="utf-8")
    browser.chmod(0o755)
    monkeypatch.setenv("RAGTRIAGE_CHROMIUM", str(browser))
    assert find_chromium() == str(browser)
    monkeypatch.delenv("RAGTRIAGE_CHROMIUM")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_chromium() == str(browser)
    browser.unlink()
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    assert find_chromium() is None
