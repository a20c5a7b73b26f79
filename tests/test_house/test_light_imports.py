"""The house: layers, light imports, and no name in dashboard/ that would hide a package."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

from places import APP, REPOSITORY

HEAVY = ("streamlit", "plotly", "duckdb", "pandas", "pyarrow", "anthropic")


def _loaded(code: str, folder: Path) -> set[str]:
    """Run code in a fresh interpreter and give the top-level modules it loaded."""
    probe = f"{code}\nimport sys; print(' '.join(sorted({{name.partition('.')[0] for name in sys.modules}})))"
    found = subprocess.run(
        [sys.executable, "-c", probe], cwd=folder, capture_output=True, text=True, check=True,
        env={"PYTHONPATH": str(REPOSITORY), "PATH": ""},
    )  # fmt: skip
    return set(found.stdout.split())


def test_metrics_pulls_in_numpy_alone(tmp_path: Path) -> None:
    modules = ("metric_registry", "diagnosis.patterns", "sanity.run")
    loaded = _loaded(f"import {', '.join(f'ragtriage.metrics.{module}' for module in modules)}", tmp_path)
    assert "numpy" in loaded
    assert not loaded & set(HEAVY)


def test_the_command_line_starts_without_the_heavy_libraries(tmp_path: Path) -> None:
    loaded = _loaded("import ragtriage.dashboard.cli.main", tmp_path)
    assert not loaded & {"streamlit", "plotly", "duckdb", "pandas", "pyarrow", "anthropic", "numpy"}


COMMANDS_WITHOUT_STREAMLIT = """
import json, pathlib
from ragtriage.dashboard.cli.main import main

def run(*words):
    try:
        main(["--workspace", "ws", *words])
    except SystemExit as ended:
        assert ended.code in (None, 0), (words, ended.code)

records = [{"question": f"{number}?", "answer": "a", "scores": {"faithfulness": 0.9}} for number in range(8)]
pathlib.Path("runs.jsonl").write_text("\\n".join(map(json.dumps, records)), encoding="utf-8")
import sys; stdout, sys.stdout = sys.stdout, open("out.txt", "w", encoding="utf-8")
run("import", "runs.jsonl", "--name", "one")
run("gate", "one", "--markdown", "gate.md")
run("report", "one", "-o", "one.html")
run("report", "one", "-o", "one.pptx")
sys.stdout = stdout
assert pathlib.Path("one.html").stat().st_size and pathlib.Path("gate.md").stat().st_size
"""


def test_import_gate_and_report_run_without_streamlit(tmp_path: Path) -> None:
    loaded = _loaded(COMMANDS_WITHOUT_STREAMLIT, tmp_path)
    assert {"duckdb", "click"} <= loaded
    assert "streamlit" not in loaded


def test_help_lists_the_commands_without_loading_them(tmp_path: Path) -> None:
    code = """
import contextlib, io, sys
from ragtriage.dashboard.cli.main import COMMANDS, main
with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
    main(["--help"])
assert all(f"  {name} " in out.getvalue() for name in COMMANDS), out.getvalue()
commands = {f"ragtriage.dashboard.cli.{module}" for module in COMMANDS.values()}
assert not commands & set(sys.modules)
"""
    assert not _loaded(code, tmp_path) & {*HEAVY, "numpy"}


def test_nothing_beside_the_main_script_hides_a_package() -> None:
    names = {path.stem for path in APP.parent.iterdir()}  # Streamlit puts its folder first on sys.path
    assert not names & {"metrics", "data", "dashboard", "pages", *sys.stdlib_module_names}
    assert not names & set(packages_distributions())
