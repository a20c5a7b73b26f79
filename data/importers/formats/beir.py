"""Folders in the BEIR layout (queries.jsonl, corpus.jsonl, qrels/*.tsv) that also hold runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options

RUN_ENDINGS = (".trec", ".run", ".txt", ".json", ".res")
QUERIES, CORPUS = "queries.jsonl", "corpus.jsonl"
ACCEPTED = (
    "a file; or a folder with queries.jsonl, corpus.jsonl, qrels/test.tsv and at least one run "
    f"({', '.join(RUN_ENDINGS)}, plain or gzip)"
)


def is_beir(folder: Path) -> bool:
    """Return whether a folder holds runs, or questions in the BEIR layout."""
    return has_runs(folder) or _file_in(folder, QUERIES) is not None


def has_runs(folder: Path) -> bool:
    """Return whether a folder holds files that may be runs."""
    return any(_runs(folder))


def beir_inputs(folder_source: InputFile, folder: Path, options: Options) -> list[tuple[InputFile, Options]]:
    """Return the runs of a folder, each with the folder's questions, documents and labels.

    Raises:
        InputError: the folder has no run, or several qrels of which none is named test.
    """
    runs = sorted(_runs(folder))
    if not runs:
        raise folder_source.error("is a folder with a BEIR data set and no run", ACCEPTED)
    folder_options = beir_options(folder_source, folder, options)
    return [(InputFile.from_path(run), folder_options) for run in runs]


def beir_options(folder_source: InputFile, folder: Path, options: Options) -> Options:
    """Return options with the questions, documents and labels of a folder, where the user names no others.

    Raises:
        InputError: the folder has several qrels of which none is named test.
    """
    return replace(
        options,
        queries=options.queries or _source(_file_in(folder, QUERIES)),
        corpus=options.corpus or _source(_file_in(folder, CORPUS)),
        qrels=options.qrels or _source(_qrels(folder, folder_source)),
        dataset=options.dataset or folder.resolve().name,
    )


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
