"""A folder in the BEIR layout with runs beside: queries.jsonl, corpus.jsonl, qrels/*.tsv."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from data.importers.parsing.options import Options
from data.importers.parsing.source import Source

__all__ = ["inputs_of"]

RUN_ENDINGS = (".trec", ".run", ".txt", ".json", ".res")
OWN_FILES = ("queries.jsonl", "corpus.jsonl")
ACCEPTED = (
    "a file; or a folder with queries.jsonl, corpus.jsonl, qrels/test.tsv and at least one run beside them "
    f"({', '.join(RUN_ENDINGS)}, plain or gzip)"
)


def inputs_of(path: str, options: Options) -> list[tuple[Source, Options]]:
    """Give what to import for a path: the file itself, or the runs of a BEIR folder with what lies beside.

    Raises:
        InputError: a folder holds no run, or several qrels and none of them is called test.
    """
    folder = Path(path)
    if not folder.is_dir():
        return [(Source.from_path(path), options)]
    here = Source.from_path(path)
    runs = sorted(_runs(folder))
    if not runs:
        has = "a BEIR data set and no run" if _beside(folder, OWN_FILES[0]) else "no run"
        raise here.error(f"is a folder with {has}", ACCEPTED)
    found = replace(
        options,
        queries=options.queries or _source(_beside(folder, OWN_FILES[0])),
        corpus=options.corpus or _source(_beside(folder, OWN_FILES[1])),
        qrels=options.qrels or _source(_qrels(folder, here)),
        dataset=options.dataset or folder.resolve().name,
    )
    return [(Source.from_path(run), found) for run in runs]


def _runs(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        ending = Path(path.name.removesuffix(".gz")).suffix.lower()
        if path.is_file() and ending in RUN_ENDINGS and not path.name.startswith("."):
            yield path


def _beside(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def _qrels(folder: Path, here: Source) -> Path | None:
    found = sorted(path for path in (folder / "qrels").glob("*.tsv*") if path.is_file())
    if len(found) < 2:
        return found[0] if found else None
    test = [path for path in found if path.name in ("test.tsv", "test.tsv.gz")]
    if not test:
        names = ", ".join(path.name for path in found)
        raise here.error(f"holds the labels {names}", "qrels/test.tsv, or --qrels FILE to name one")
    return test[0]


def _source(path: Path | None) -> Source | None:
    return None if path is None else Source.from_path(path)
