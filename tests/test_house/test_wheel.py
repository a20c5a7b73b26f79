"""The wheel in projects of other people, who have packages `data` and `metrics` of their own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from markdown_pages import PAGES, blocks
from places import REPOSITORY

LAYERS = ("data", "metrics", "dashboard")
CODE = "ragtriage", *LAYERS, "tests", "benchmarks", "docs"
BARE = re.compile(
    r"""(?:^|["'`;(])[ \t>]*(?:import[ ]+(?:data|metrics|dashboard)\b(?![ ]*=)(?=[.,; "'`)\n]|$)
    |from[ ]+(?:data|metrics|dashboard)(?:\.\w+)*[ ]+import\b)
    |-m[ ]+(?:data|metrics|dashboard)\.\w
    |import_module\(f?["'](?:data|metrics|dashboard)\b""",
    re.MULTILINE | re.VERBOSE,
)
PROJECT = {
    "data/loader.py": """
def rows():
    return [{"question": f"{n}?", "answer": "a", "scores": {"faithfulness": 0.9}} for n in range(8)]
""",
    "metrics/score.py": "def mean(values):\n    return sum(values) / len(values)\n",
    "app.py": """
import json, pathlib, sys
from data.loader import rows
from metrics.score import mean
import ragtriage, ragtriage.data, ragtriage.metrics, ragtriage.dashboard
from streamlit.testing.v1 import AppTest

assert pathlib.Path(sys.modules["data"].__path__[0]).resolve() == pathlib.Path("data").resolve()
assert "site-packages" in ragtriage.__file__, ragtriage.__file__
run = ragtriage.add_run(rows(), name="first")
assert abs(float(ragtriage.summarize(run).loc["faithfulness", "mean"]) - mean([0.9])) < 1e-9
assert ragtriage.diagnose(run) and len(ragtriage.samples(run)) == 8 and ragtriage.gate(run)
page = AppTest.from_file(ragtriage.dashboard.__path__[0] + "/pages/app.py", default_timeout=120).run()
assert not page.exception and page.dataframe, page.exception
pathlib.Path("rows.jsonl").write_text("\\n".join(map(json.dumps, rows())))
""",
    "tests/test_own.py": """
from data.loader import rows
from metrics.score import mean

def test_rows():
    assert mean([len(rows())]) == 8

def test_the_run(ragtriage_run):
    assert ragtriage_run.n == 8
""",
}


def _run(*words: str | Path, cwd: Path, path: str | None = None) -> str:
    """Run a command where no path leads to this checkout; return what it prints."""
    ours = ("PYTHON", "RAGTRIAGE", "PYTEST", "COV_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    done = subprocess.run(
        list(map(str, words)),
        cwd=cwd,
        env=environment if path is None else {**environment, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def _build(source: Path, to: Path, *targets: str) -> Path:
    """Build without an index; return the one wheel."""
    _run(sys.executable, "-m", "hatchling", "build", "-d", to, *targets, cwd=source)
    (wheel,) = to.glob("*.whl")
    return wheel


def _files(wheel: Path) -> set[str]:
    return {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a wheel and a source distribution."""
    return _build(REPOSITORY, tmp_path_factory.mktemp("dist"), "-t", "sdist", "-t", "wheel").parent


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    return next(built.glob("*.whl"))


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a fresh environment: the wheel, and beside it the libraries of this one.

    A .pth file leads to those libraries; the .pth files among them, of editable installs, are not read so.
    """
    root = tmp_path_factory.mktemp("environment") / "venv"
    venv.create(root)
    python = root / "bin" / "python"
    _run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "-q",
        "--no-deps",
        "--no-index",
        wheel,
        cwd=root,
    )
    (packages,) = root.glob("lib/python*/site-packages")
    shared = [entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))]
    (packages / "shared.pth").write_text("\n".join(shared), encoding="utf-8")
    return python.parent


def test_the_wheel_has_one_name_and_every_file(wheel: Path) -> None:
    files = _files(wheel)
    assert {name.split("/")[0] for name in files} == {"ragtriage"}
    held = {
        f"ragtriage/{path.relative_to(REPOSITORY).as_posix()}"
        for layer in LAYERS
        for path in (REPOSITORY / layer).rglob("*")
        if path.is_file() and path.suffix not in (".pyc", ".pyo")
    }
    assert held - files == set()
    assert {name.rpartition(".")[2] for name in files} >= {
        "py",
        "sql",
        "jsonl",
        "html",
        "css",
        "svg",
        "json",
        "md",
        "toml",
    }


def test_the_source_distribution_builds_the_same_wheel(built: Path, wheel: Path, tmp_path: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    (source,) = tmp_path.glob("ragtriage-*")
    assert _files(_build(source, tmp_path / "dist", "-t", "wheel")) == _files(wheel)


def test_a_registry_would_take_both(built: Path) -> None:
    """As `twine check --strict` has it: metadata in order, and a README that can be shown."""
    pytest.importorskip("twine", reason="twine comes with the extra test")
    files = sorted(built.iterdir())
    assert [path.name.partition("-")[0] for path in files] == ["ragtriage", "ragtriage"]
    said = _run(sys.executable, "-m", "twine", "--no-color", "check", "--strict", *files, cwd=built)
    assert said.count("PASSED") == 2, said


@pytest.mark.parametrize(
    ("packages", "path"),
    [(False, None), (True, ".")],  # the one that is found last, and the one that is found first
    ids=["folders", "packages, with PYTHONPATH=."],
)
def test_a_project_with_packages_of_those_names_works(
    programs: Path, tmp_path: Path, packages: bool, path: str | None
) -> None:
    """Its own imports and tests, with the plugin; ragtriage from Python, as a command, as a page."""
    for name, text in PROJECT.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
        if packages and name.startswith(("data", "metrics")):
            (tmp_path / name).with_name("__init__.py").touch()
    _run(programs / "python", "app.py", cwd=tmp_path, path=path)
    own_tests = "-m", "pytest", "--ragtriage-file", "rows.jsonl"
    assert "2 passed" in _run(programs / "python", *own_tests, cwd=tmp_path, path=path)
    assert "faithfulness" in _run(programs / "ragtriage", "metrics", "first", cwd=tmp_path, path=path)


def test_a_checkout_without_links_is_imported(tmp_path: Path) -> None:
    """As Git makes it on Windows."""
    for name in ("ragtriage", *LAYERS):
        shutil.copytree(
            REPOSITORY / name,
            tmp_path / name,
            symlinks=True,
            ignore=shutil.ignore_patterns("__pycache__", "bundled"),
        )
    for name in LAYERS:
        (tmp_path / "ragtriage" / name).unlink()
    code = (
        "import ragtriage.data.demo, ragtriage.metrics.metric_registry, ragtriage.dashboard.cli.main as main;"
        "print(main.__file__)"
    )
    assert _run(sys.executable, "-c", code, cwd=tmp_path, path=str(tmp_path)).startswith(str(tmp_path))


def _bare(name: str, text: str) -> list[str]:
    return [
        f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match[0].strip()}"
        for match in BARE.finditer(text)
    ]


def test_nothing_imports_a_layer_by_its_bare_name() -> None:
    """In code, in code that stands in strings, and in the examples of the docs."""
    files = [
        path for folder in CODE for path in (REPOSITORY / folder).rglob("*.py") if path != Path(__file__)
    ]
    files += [REPOSITORY / name for name in ("Makefile", "Dockerfile", "action.yml", ".ci/run", ".ci/audit")]
    texts = [(str(path.relative_to(REPOSITORY)), path.read_text(encoding="utf-8")) for path in files]
    texts += [(f"{block.page}:{block.line}", block.text) for page in PAGES for block in blocks(page)]
    assert [stray for name, text in texts for stray in _bare(name, text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "from data.loader import rows",
        "import metrics",
        ">>> import dashboard.cli",
        'run("import data.store; print(1)")',
        "python -m dashboard.cli.main",
        'import_module(f"data.{name}")',
        "    from metrics import schema",
    ],
)
def test_a_bare_name_is_seen(text: str) -> None:
    assert _bare("text", f"first\n{text}\n")


@pytest.mark.parametrize(
    "text",
    ["from ragtriage.data.store import runs", "import ragtriage.data", "import data_frames", "database.data"],
)
def test_other_names_are_not(text: str) -> None:
    assert not _bare("text", text)
