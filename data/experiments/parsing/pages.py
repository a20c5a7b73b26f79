"""Pages on disk: a file for each, in Markdown or HTML, in the folder of a parser or of the true pages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ragtriage.data.errors import DataError

PAGE_FILES = (".md", ".markdown", ".html", ".htm", ".txt")
MOST_BYTES = 1_000_000  # of a page
ACCEPTED = "a file, or a folder of files that end in " + ", ".join(PAGE_FILES)


@dataclass(frozen=True)
class ParsedPages:
    """What a parser returned.

    Attributes:
        parser: its name.
        pages: name of a page -> its text; a page that is not there was not returned.
    """

    parser: str
    pages: dict[str, str]


def read_pages(path: str) -> dict[str, str]:
    """Return the pages of a file or folder by the names of their files without ending.

    Raises:
        DataError: there is no page, two have one name, or one cannot be read.
    """
    place = Path(path)
    files = [place] if place.is_file() else _page_files(place)
    if not files:
        raise DataError(f"pages {path!r}: none there; accepted: {ACCEPTED}")
    pages: dict[str, str] = {}
    for file in files:
        if file.stem in pages:
            raise DataError(f"pages {path!r}: two files are named {file.stem!r}; accepted: one for each page")
        pages[file.stem] = _text(file)
    return pages


def parsed_pages(path: str) -> list[ParsedPages]:
    """Return the parsers of a folder: each subfolder with pages is one; else the folder or file itself.

    Raises:
        DataError: there is no page, two have one name, or one cannot be read.
    """
    place = Path(path)
    if place.is_dir() and not _page_files(place):
        folders = [folder for folder in sorted(place.iterdir()) if folder.is_dir() and _page_files(folder)]
        if folders:
            return [ParsedPages(folder.name, read_pages(str(folder))) for folder in folders]
    return [ParsedPages(place.resolve().stem, read_pages(path))]


def _page_files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(file for file in folder.iterdir() if file.suffix.lower() in PAGE_FILES and file.is_file())


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > MOST_BYTES:
            raise DataError(
                f"page {file.name}: {file.stat().st_size:,} bytes; accepted: at most {MOST_BYTES:,}"
            )
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"page {file.name}: is not UTF-8; accepted: text in UTF-8") from error
    except OSError as error:
        raise DataError(
            f"page {file.name}: cannot be read ({error.strerror}); accepted: a text file"
        ) from error
