"""A folder in the layout of a data set hub: `data/*.parquet`, a file for each part, and a README."""

from pathlib import Path

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.formats.native import is_native, records_of_native
from ragtriage.data.importers.importer import Options, Peek, Reader, question_set
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.rows import open_table
from ragtriage.data.store.parsed_run import ParsedRun, Record

KEY = "hub_questions"
ACCEPTED = "files of `ragtriage dataset export --to parquet`, or one file of the folder by its name"


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "data").glob("*.parquet") if path.is_file())


def _read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    records: list[Record] = []
    for path in _files(Path(source.path or "")):
        file = InputFile.from_path(path)
        table = open_table(file, errors, options.limit)
        if not is_native(table.columns):
            raise source.error(f"holds data/{path.name}, whose columns are not those of questions", ACCEPTED)
        records += [
            (len(records) + at, row) for at, (_, row) in enumerate(records_of_native(table, errors), 1)
        ]
    return question_set(source, KEY, records[: options.limit])


def _is_hub_folder(peek: Peek) -> bool:
    return peek.folder is not None and bool(_files(peek.folder)) and (peek.folder / "README.md").is_file()


READERS = {KEY: Reader(_read, _is_hub_folder)}
