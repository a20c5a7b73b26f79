"""docs/importers.md: its table is that of the registry, and its example works as an installed package."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from doc_tables import tools_row
from places import REPOSITORY

PAGE = REPOSITORY / "docs" / "importers.md"
LOG = {
    "acme_log": 1,
    "release": "r7",
    "calls": [
        {
            "id": "a",
            "question": "Who?",
            "answer": "Ann",
            "hits": [{"doc": "d1", "text": "Ann."}],
            "grounded": 1.0,
        },
        {"id": "b", "question": "When?", "grounded": None},
        {"id": "c"},
    ],
}


def test_the_readme_names_every_tool_whose_files_are_read() -> None:
    assert f"| {tools_row()}: [docs/importers.md]" in (REPOSITORY / "README.md").read_text("utf-8")


def install(folder: Path, code: str) -> None:
    """Put a package with an entry point into a folder, as pip does."""
    package, facts = folder / "acme_ragtriage", folder / "acme_ragtriage-1.0.dist-info"
    package.mkdir(parents=True)
    facts.mkdir()
    (package / "__init__.py").write_text(code, encoding="utf-8")
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-ragtriage\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[ragtriage.importers]\nacme_log = acme_ragtriage:ACME_LOG\n")


def ragtriage(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ragtriage.dashboard.cli", "--workspace", str(folder / "w"), *arguments]
    path = f"{folder}:{REPOSITORY}"
    return subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": path}, check=False)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.json"
    path.write_text(json.dumps(LOG), encoding="utf-8")
    return path


def test_the_example_is_read_once_its_package_is_installed(log: Path, tmp_path: Path) -> None:
    refused = ragtriage(tmp_path, "import", str(log))
    assert refused.returncode == 2
    code = re.search(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert code is not None
    assert len(code[1].splitlines()) <= 45
    install(tmp_path, code[1])
    loaded = ragtriage(tmp_path, "import", str(log), "--json")
    assert loaded.returncode == 0, loaded.stderr
    (run,) = json.loads(loaded.stdout)["runs"]
    assert (run["name"], run["n"]) == ("r7", 2)


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("raise RuntimeError('no\\nlicence')", "acme-ragtriage cannot be loaded: RuntimeError: no licence"),
        ("ACME_LOG = ['x']", "acme-ragtriage is not a ragtriage.importers.Importer"),
        (
            "from ragtriage.importers import Importer\n"
            "ACME_LOG = Importer('ragas', 'Acme', 'x', lambda peek: True, lambda *_: 1 / 0)",
            "acme-ragtriage calls itself 'ragas', as one of ragtriage does",
        ),
    ],
)
def test_a_package_that_does_not_work_is_named_and_other_files_are_read(
    code: str, what: str, tmp_path: Path
) -> None:
    install(tmp_path, code)
    table = tmp_path / "runs.csv"
    table.write_text("question,answer\nWho?,Ann\nWhen?,May\n", encoding="utf-8")
    loaded = ragtriage(tmp_path, "import", str(table))
    assert loaded.returncode == 0, loaded.stderr
    (warning,) = loaded.stderr.splitlines()
    assert warning.startswith("warning: the importer 'acme_log' of ")
    assert what in warning
    checks = json.loads(ragtriage(tmp_path, "doctor", "--json").stdout)["checks"]
    (check,) = [check for check in checks if check["subject"] == "importers"]
    assert check["state"] == "problem"
    assert what in " ".join(check["text"].split())
