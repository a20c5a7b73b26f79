"""Whoever can reach an exposed dashboard must not read the files of its machine."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.cli import serve as serving
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.access import allowed_folders, allowed_path, limit_paths


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder that visitors may read, beside a file that they may not."""
    folder = tmp_path / "shared"
    folder.mkdir()
    (folder / "run.csv").write_text("question,answer\nWho?,Ann\n", encoding="utf-8")
    (tmp_path / "private.csv").write_text("question,answer\nWho?,Ann\n", encoding="utf-8")
    return folder


def test_on_this_machine_alone_any_path_is_read(shared: Path) -> None:
    assert allowed_path(f" {shared}/run.csv ") == shared / "run.csv"


def test_an_exposed_dashboard_reads_below_its_folders_alone(shared: Path) -> None:
    limit_paths([shared])
    (shared / "link.csv").symlink_to(shared.parent / "private.csv")
    assert allowed_path(f"{shared}/run.csv") == shared / "run.csv"
    for path in ("../private.csv", "link.csv", "sub/../../private.csv"):
        with pytest.raises(DataError, match="others reach this dashboard"):
            allowed_path(f"{shared}/{path}")
    for typed in ("/etc/passwd", "~root/.ssh/id_rsa", f"{shared}-too/x", "private.csv", "a\0b"):
        with pytest.raises(DataError, match="accepted"):
            allowed_path(typed)
    limit_paths([])
    with pytest.raises(DataError, match="accepted: uploaded files"):
        allowed_path(f"{shared}/run.csv")


@pytest.mark.parametrize(
    ("options", "folders"),
    [
        ([], None),
        (["--host", "0.0.0.0", "--expose"], ()),
        (["--allow-host", "rag.example.com"], ()),
        (["--host", "0.0.0.0", "--expose", "--files", "shared"], ("shared",)),
    ],
)
def test_serve_limits_paths_where_others_reach_it(
    options: list[str], folders: tuple[str, ...] | None, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shared.parent)
    monkeypatch.setattr(serving, "run_dashboard", lambda *_: click.echo("runs"))
    answer = CliRunner().invoke(serving.serve, options, obj="ws")
    assert answer.output == "runs\n"
    expected = None if folders is None else tuple(shared.parent / name for name in folders)
    assert allowed_folders() == expected


def test_pages_offer_uploads_alone_and_refuse_a_path_all_the_same(
    workspace: RunStore, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(workspace.workspace.root))
    limit_paths([])
    app = AppTest.from_file(str(APP), default_timeout=60).run()
    app.switch_page("runs/runs.py").run()
    assert app.get("file_uploader")
    assert "upload_path" not in [box.key for box in app.text_input]
    limit_paths([shared])
    app.run()
    app.text_input(key="upload_path").set_value(str(shared.parent / "private.csv")).run()
    assert "others reach this dashboard" in app.error[0].value
    app.text_input(key="upload_path").set_value(str(shared / "run.csv")).run()
    assert not app.error
