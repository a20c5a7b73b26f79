"""Folders in the BEIR layout (queries.jsonl, corpus.jsonl, qrels/*.tsv) that also hold runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from data.importers.parsing.input_file import InputFile
from data.importers.parsing.options import Options

__all__ = ["inputs_of"]

RUN_ENDINGS = (".trec", ".run", ".txt", ".json", ".res")
OWN_FILES = ("queries.jsonl", "corpus.jsonl")
ACCEPTED = (
    "a file; or a folder with queries.jsonl, corpus.jsonl, qrels/test.tsv and at least one run "
    f"({', '.join(RUN_ENDINGS)}, plain or gzip)"
)


def inputs_of(path: str, options: Options) -> list[tuple[InputFile, Options]]:
    """Return what to import for a path: the file itself, or the runs of a BEIR folder with its other files.

    Raises:
        InputError: a folder has no run, or several qrels of which none is named test.
    """
    folder = Path(path)
    if not folder.is_dir():
        return [(InputFile.from_path(path), options)]
    folder_source = InputFile.from_path(path)
    runs = sorted(_runs(folder))
    if not runs:
        has = "a BEIR data set and no run" if _file_in(folder, OWN_FILES[0]) else "no run"
        raise folder_source.error(f"is a folder with {has}", ACCEPTED)
    folder_options = replace(
        options,
        queries=options.queries or _source(_file_in(folder, OWN_FILES[0])),
        corpus=options.corpus or _source(_file_in(folder, OWN_FILES[1])),
        qrels=options.qrels or _source(_qrels(folder, folder_source)),
        dataset=options.dataset or folder.resolve().name,
    )
    return [(InputFile.from_path(run), folder_options) for run in runs]


def _runs(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        ending = Path(path.name.removesuffix(".gz")).suffix.lower()
        if path.is_file() and ending in RUN_ENDINGS and not path.name.startswith("."):
            yield path


def _file_in(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def _qrels(folder: Path, folder_source: InputFile) -> Path | None:
    paths = sorted(path for path in (folder / "qrels").glob("*.tsv*") if path.is_file())
    if len(paths) < 2:
        return paths[0] if paths else None
    test = [path for path in paths if path.name in ("test.tsv", "test.tsv.gz")]
    if not test:
        names = ", ".join(path.name for path in paths)
        raise folder_source.error(f"holds the labels {names}", "qrels/test.tsv, or --qrels FILE to name one")
    return test[0]


def _source(path: Path | None) -> InputFile | None:
    return None if path is None else InputFile.from_path(path)
