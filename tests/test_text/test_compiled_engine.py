from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from places import REPOSITORY

from ragtriage.data.text.compiled import engine

pytest.importorskip("numba", reason="the extra `fast` is not installed")

SCRIPT = """
from ragtriage.data.text.compiled import engine
loops = engine.compiled_loops()
print(loops is not None, engine.why_not())
if loops is not None:
    print(sum(sum(getattr(loops, name).stats.cache_misses.values()) for name in loops.__all__))
"""


def _run(cache: Path | str, script: str = SCRIPT, **more: str) -> list[str]:
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment |= {"XDG_CACHE_HOME": str(cache), "PYTHONPATH": str(REPOSITORY), **more}
    done = subprocess.run(
        [sys.executable, "-P", "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert not done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that holds what this machine compiled for itself: compiling takes half a minute."""
    assert engine.compiled_loops() is not None, engine.why_not()
    cache = tmp_path_factory.mktemp("compiled")
    shutil.copytree(engine._prepared_folder(), cache / "ragtriage" / "compiled" / engine._version())
    return cache


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the cache folder has another variable there")
def test_what_is_compiled_stays_in_the_users_cache_and_is_compiled_once(compiled_once: Path) -> None:
    kept = list((compiled_once / "ragtriage" / "compiled").rglob("*.nbc"))
    assert kept
    again = (
        "from ragtriage.data.text.compiled import engine\nengine._call_each(engine.compiled_loops())\n"
        + SCRIPT
    )
    assert _run(compiled_once, again)[-1] == "0"
    assert sorted((compiled_once / "ragtriage" / "compiled").rglob("*.nbc")) == sorted(kept)
    assert not list((REPOSITORY / "data" / "text" / "compiled").rglob("*.nb?"))


def test_without_a_folder_to_write_to_python_does_the_work_and_says_why(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    first, *rest = _run(blocked)
    assert first.startswith("False NotADirectoryError: ")
    assert not rest


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the cache folder has another variable there")
def test_what_is_damaged_is_compiled_again_and_what_no_version_has_used_for_long_is_removed(
    compiled_once: Path, tmp_path: Path
) -> None:
    shutil.copytree(compiled_once, tmp_path, dirs_exist_ok=True)
    kept = list(tmp_path.rglob("*.nbc"))
    assert kept
    for path in kept:
        path.write_bytes(b"")
    cache = tmp_path / "ragtriage" / "compiled"
    (in_use,) = cache.iterdir()
    for name in ("0123456789abcdef", "fedcba9876543210", "of-the-user"):
        (cache / name).mkdir()
        (cache / name / "ready").touch()
    for name in ("0123456789abcdef", "of-the-user"):
        os.utime(cache / name / "ready", (0, 0))
    again = (
        "from ragtriage.data.text.compiled import engine\nengine._call_each(engine.compiled_loops())\n"
        + SCRIPT
    )
    assert _run(tmp_path, again)[0] == "True "
    assert _run(tmp_path, again)[-1] == "0"
    assert {path.name for path in cache.iterdir()} == {in_use.name, "fedcba9876543210", "of-the-user"}


def test_numba_can_be_switched_off(tmp_path: Path) -> None:
    assert _run(tmp_path, RAGTRIAGE_COMPILED="0") == ["False "]
    assert not list(tmp_path.iterdir())


def test_doctor_tells_that_numba_cannot_be_used(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    script = (
        "from ragtriage.dashboard.cli.doctor import _fast\n"
        "for found in _fast(): print(found.state, found.text)"
    )
    (line,) = _run(blocked, script)
    assert line.startswith("warning numba is installed and cannot be used (NotADirectoryError: ")
    assert _run(tmp_path, script) == []
