"""Folders that hold more than the files of one tool: other tools, too many files, what is not a file."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from exports_oracle import EXPORTS, read

from ragtriage.data.errors import InputError
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import inputs_of
from ragtriage.data.importers.registry import importers

LINE = '{"question": "Who?", "answer": "Ada."}\n'


def keys_of(folder: Path) -> list[tuple[str, str]]:
    """Return the name of each input of a folder, with the format that it asks for."""
    return [(Path(source.name).name, options.format) for source, options in inputs_of(str(folder), Options())]


def test_files_of_other_tools_are_loaded_beside_a_folder_of_traces(tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    shutil.copytree(EXPORTS / "opik/projects", folder)
    shutil.copytree(EXPORTS / "promptfoo", folder, dirs_exist_ok=True)
    shutil.copy(EXPORTS / "opik/experiment_rag-v1.json", folder)
    (folder / "own.jsonl").write_text(LINE * 1, "utf-8")
    assert keys_of(folder) == [
        *(("mixed", key) for key in importers() if key in ("promptfoo", "opik_traces")),
        ("experiment_rag-v1.json", "auto"),
        ("own.jsonl", "auto"),
    ]
    counts = {name: len(samples) for name, samples in read(folder).items()}
    assert counts == {"sotu-rag": 12, "rag-v1": 24, "own": 1}  # rag-v1 of promptfoo and of Opik's experiment


def test_a_folder_of_too_many_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragtriage.data.importers.load.MOST_FILES", 3)
    for at in range(3):
        (tmp_path / f"{at}.jsonl").write_text(LINE, "utf-8")
    assert len(keys_of(tmp_path)) == 3
    (tmp_path / "3.jsonl").write_text(LINE, "utf-8")
    with pytest.raises(InputError, match="more than 3 files that can be read; accepted: a folder"):
        keys_of(tmp_path)


@pytest.mark.parametrize("name", ["x.json", "queries.jsonl", "trial.json", "run.trec", "x.csv", "x.db"])
@pytest.mark.parametrize("kind", ["pipe", "loop", "gone"])
def test_what_is_no_file_in_a_folder_is_skipped(name: str, kind: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(LINE, "utf-8")
    if kind == "pipe":
        os.mkfifo(tmp_path / name)
    else:
        (tmp_path / name).symlink_to(tmp_path / (name if kind == "loop" else "nowhere"))
    assert keys_of(tmp_path) == [("a.jsonl", "auto")]
