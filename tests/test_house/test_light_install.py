"""ragtriage-ci: the same files with fewer libraries, which import and gate in an environment of their own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from places import DOCS, REPOSITORY

LIGHT = REPOSITORY / "ragtriage-ci"
DRAWING = {"streamlit", "plotly", "pandas", "pptx", "jinja2", "starlette", "bm25s", "tokenizers"}
RECORDS = [
    {
        "question_id": f"q{at:02d}",
        "question": f"Question {at}?",
        "answer": f"Answer number {at}.",
        "retrieved": [{"id": f"d{at}", "text": f"Text {at} of several words."}],
        "scores": {
            "faithfulness": 0.99 - at % 5 / 100,
            "correctness": 1 - at % 2 / 10,
            "answer_relevancy": 0.9,
        },
        "checks": [{"name": "tool", "kind": "tool", "expected": "search", "actual": "search"}],
    }
    for at in range(40)
]


def _project(folder: Path) -> dict[str, object]:
    project: dict[str, object] = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    return project


def _build(folder: Path, to: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(to), "-t", "wheel"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    (wheel,) = to.glob("*.whl")
    return wheel


def _files(wheel: Path) -> set[str]:
    return {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}


def _closure(wanted: list[str]) -> dict[str, metadata.Distribution]:
    """Return the distributions that some requirements ask for here, and all that these ask for."""
    found: dict[str, metadata.Distribution] = {}
    open_ends = [Requirement(text) for text in wanted]
    while open_ends:
        requirement = open_ends.pop()
        extras = requirement.extras or {""}
        if requirement.marker and not any(requirement.marker.evaluate({"extra": each}) for each in extras):
            continue
        name = requirement.name.lower().replace("_", "-")
        if name not in found:
            found[name] = metadata.distribution(requirement.name)
            open_ends += [Requirement(text) for text in found[name].requires or ()]
    return found


@pytest.fixture(scope="module")
def light_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _build(LIGHT, tmp_path_factory.mktemp("light"))


@pytest.fixture(scope="module")
def programs(light_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a fresh environment with the wheel, and of libraries only what it asks for.

    They are links to those of this environment, so that no index is needed.
    """
    root = tmp_path_factory.mktemp("environment") / "venv"
    venv.create(root)
    python = root / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-deps"]
    subprocess.run([*install, "--no-index", str(light_wheel)], check=True, capture_output=True)
    (packages,) = root.glob("lib/python*/site-packages")
    wanted = _project(LIGHT)["dependencies"]
    assert isinstance(wanted, list)
    for distribution in _closure(wanted).values():
        tops = {
            file.parts[0] for file in distribution.files or () if file.parts[0] not in ("..", "__pycache__")
        }
        for top in tops:
            source = Path(str(distribution.locate_file(top)))
            if source.exists() and not (packages / top).exists():
                (packages / top).symlink_to(source)
    return python.parent


def _run(programs: Path, cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    ours = ("PYTHON", "RAGTRIAGE", "COV_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return subprocess.run(
        [str(programs / words[0]), *words[1:]], cwd=cwd, env=environment, capture_output=True, text=True
    )


def _lines(level: float) -> str:
    return "\n".join(
        json.dumps({**record, "scores": {"faithfulness": level - at % 5 / 100}})
        for at, record in enumerate(RECORDS)
    )


@pytest.fixture(scope="module")
def job(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs `good`, `bad` and `table` imported."""
    folder = tmp_path_factory.mktemp("job")
    (folder / "good.jsonl").write_text(_lines(0.99), encoding="utf-8")
    (folder / "bad.jsonl").write_text(_lines(0.4), encoding="utf-8")
    table = "question,answer,faithfulness\n" + "".join(f"Why {at}?,So.,0.9\n" for at in range(40))
    (folder / "table.csv").write_text(table, encoding="utf-8")
    gate = '[[gate]]\nmetric = "faithfulness"\nat_least = 0.8\nseverity = "block"\nreason = "ours"\n'
    (folder / "gates.toml").write_text(gate, encoding="utf-8")
    for name in ("good.jsonl", "bad.jsonl", "table.csv"):
        imported = _run(programs, folder, "ragtriage", "import", name, "--name", Path(name).stem)
        assert imported.returncode == 0, imported.stderr
    return folder


def test_it_asks_for_a_part_of_what_ragtriage_asks_for() -> None:
    light, whole = (set(map(str, _project(each)["dependencies"])) for each in (LIGHT, REPOSITORY))  # type: ignore[call-overload]
    assert light < whole
    left_out = {Requirement(text).name for text in whole - light}
    assert {"streamlit", "plotly", "pandas"} <= left_out
    for key in ("requires-python", "license", "scripts", "entry-points"):
        assert _project(LIGHT)[key] == _project(REPOSITORY)[key]


def test_it_has_every_file_of_ragtriage(light_wheel: Path, tmp_path: Path) -> None:
    assert _files(light_wheel) == _files(_build(REPOSITORY, tmp_path))
    names = zipfile.ZipFile(light_wheel).namelist()
    assert any(name.endswith("/LICENSE") for name in names)


def test_it_imports_and_gates_without_what_draws(programs: Path, job: Path) -> None:
    seen = _run(programs, job, "python", "-c", f"""
from importlib.util import find_spec
print(sorted(name for name in {DRAWING!r} if find_spec(name)))
""")  # fmt: skip
    assert seen.stdout == "[]\n", seen.stderr
    for name, code, verdict in (("good", 0, "PASS"), ("bad", 1, "FAIL")):
        files = ("--config", "gates.toml", "--junit", "gate.xml", "--markdown", "gate.md")
        gated = _run(programs, job, "ragtriage", "gate", name, *files)
        assert gated.returncode == code, gated.stdout + gated.stderr
        assert f'<property name="verdict" value="{verdict}"' in (job / "gate.xml").read_text(encoding="utf-8")
        assert (job / "gate.md").read_text(encoding="utf-8").startswith("## ")


@pytest.mark.parametrize(
    "command",
    [
        "diagnose good",
        "checks good",
        "compare table good",
        "metrics good",
        "runs",
        "export good -o out.jsonl",
        "doctor",
    ],
)
def test_what_reads_and_prints_works(programs: Path, job: Path, command: str) -> None:
    done = _run(programs, job, "ragtriage", *command.split())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "problem " not in done.stdout


@pytest.mark.parametrize(
    ("command", "library"),
    [("serve", "Streamlit"), ("demo", "Plotly"), ("report good -o r.html", "Plotly")],
)
def test_a_command_that_draws_says_what_it_needs(
    programs: Path, job: Path, command: str, library: str
) -> None:
    done = _run(programs, job, "ragtriage", *command.split())
    name = command.partition(" ")[0]
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"error: `ragtriage {name}` needs {library}, which ragtriage-ci leaves out; accepted: pip uninstall "
        "ragtriage-ci, then pip install ragtriage\n"
    )


def test_the_docs_say_its_size_and_how_it_was_measured() -> None:
    text = (DOCS / "ci.md").read_text(encoding="utf-8")
    assert re.search(r"\b\d{3} MB\b.*\b\d{3} MB\b", text, re.DOTALL)
    assert "du -sm" in text
    assert "subdirectory=ragtriage-ci" in text
