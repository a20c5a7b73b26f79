"""The house: layers, light imports, and no name in dashboard/ that would hide a package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from places import REPOSITORY

HEAVY = ("streamlit", "plotly", "duckdb", "pandas", "pyarrow", "anthropic", "data", "dashboard")


def _loaded(code: str, folder: Path) -> set[str]:
    """Run code in a fresh interpreter and give the top-level modules it loaded."""
    probe = f"{code}\nimport sys; print(' '.join(sorted({{name.partition('.')[0] for name in sys.modules}})))"
    found = subprocess.run(
        [sys.executable, "-c", probe], cwd=folder, capture_output=True, text=True, check=True,
        env={"PYTHONPATH": str(REPOSITORY), "PATH": ""},
    )  # fmt: skip
    return set(found.stdout.split())


def test_metrics_pulls_in_numpy_alone(tmp_path: Path) -> None:
    loaded = _loaded(
        "import metrics, metrics.metric_registry, metrics.diagnosis.patterns, metrics.sanity.run", tmp_path
    )
    assert not loaded & set(HEAVY)


def test_the_command_line_starts_without_the_heavy_libraries(tmp_path: Path) -> None:
    loaded = _loaded("import dashboard.cli.main", tmp_path)
    assert not loaded & {"streamlit", "plotly", "duckdb", "pandas", "pyarrow", "anthropic", "numpy"}


def test_nothing_in_dashboard_hides_a_package() -> None:
    names = {path.stem for path in (REPOSITORY / "dashboard").iterdir()}
    assert not names & {"metrics", "data", "dashboard", "pages", *sys.stdlib_module_names}


def test_a_stray_data_folder_beside_the_user_does_not_get_in_the_way(tmp_path: Path) -> None:
    """`python -m` puts the working folder first; one without __init__.py loses to a real package."""
    (tmp_path / "data").mkdir()
    loaded = _loaded("import data.store.workspace; assert data.__file__", tmp_path)
    assert "data" in loaded
