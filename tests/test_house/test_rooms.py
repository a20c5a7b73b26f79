"""The rooms: who may import a page's room, how full a folder is, and what its modules are called."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from places import REPOSITORY

LAYERS = ("metrics", "data", "dashboard")
MOST_MODULES = 20
PATTERNS = {"utils", "util", "helpers", "helper", "manager", "base", "common", "misc", "parts", "core", "lib"}
FOLDERS = sorted({path.parent for layer in LAYERS for path in (REPOSITORY / layer).rglob("*.py")})


def _imported(path: Path) -> Iterator[str]:
    """List the modules that a file imports; of `from a import b` both a and a.b, as b may be a module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _page_rooms(paths: list[tuple[str, Path]]) -> list[str]:
    """Return every import of a page's room from outside its page, as "importer -> room"."""
    strays = []
    for name, path in paths:
        for module in _imported(path):
            parts = module.split(".")
            if parts[:3] != ["ragtriage", "dashboard", "pages"] or len(parts) < 4 or parts[3] == "registry":
                continue
            page = parts[3]
            if not name.startswith(f"ragtriage.dashboard.pages.{page}."):
                strays.append(f"{name}py -> {page}")
    return strays


def _product() -> list[tuple[str, Path]]:
    files = [path for layer in LAYERS for path in (REPOSITORY / layer).rglob("*.py")]
    names = [".".join(path.relative_to(REPOSITORY).with_suffix("").parts) for path in files]
    return [(f"ragtriage.{name}.", path) for name, path in zip(names, files, strict=True)]


def test_a_page_s_room_is_imported_by_that_page_alone() -> None:
    assert _page_rooms(_product()) == []


def test_every_page_s_room_has_its_script() -> None:
    rooms = REPOSITORY / "dashboard" / "pages"
    assert [
        room.parent.name
        for room in rooms.glob("*/__init__.py")
        if not (room.parent / f"{room.parent.name}.py").is_file()
    ] == []


@pytest.mark.parametrize(
    ("importer", "statement"),
    [
        (
            "ragtriage.dashboard.pages.trend.trend.",
            "from ragtriage.dashboard.pages.triage.run_tabs import gate_section",
        ),
        ("ragtriage.dashboard.pages.runs.", "from ragtriage.dashboard.pages.compare import versions"),
        ("ragtriage.dashboard.pages.runs.", "from ragtriage.dashboard.pages import compare"),
        ("ragtriage.dashboard.pages.compared.", "import ragtriage.dashboard.pages.compare.versions"),
        (
            "ragtriage.dashboard.pages.app.",
            "def show():\n    from ragtriage.dashboard.pages.runs import loader",
        ),
    ],
)
def test_an_import_from_another_page_is_found(importer: str, statement: str, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(statement, encoding="utf-8")
    assert _page_rooms([(importer, path)])


def test_a_folder_is_a_room() -> None:
    assert len(FOLDERS) > 20
    for folder in FOLDERS:
        _assert_a_room(folder)


def test_a_module_s_name_leads_to_one_feature() -> None:
    """One room draws what another concludes under the same name; a third would be a search."""
    names = Counter(path.stem for path in (REPOSITORY / "dashboard").rglob("*.py") if path.stem != "__init__")
    assert {name for name, n in names.items() if n > 2} <= {"registry", "diagnosis"}


def _assert_a_room(folder: Path) -> None:
    """Few modules, none named after a pattern, none twice, and a sentence on what is in it."""
    modules = [path.stem for path in folder.glob("*.py") if path.stem != "__init__"]
    packages = [path.name for path in folder.iterdir() if (path / "__init__.py").exists()]
    assert len(modules) <= MOST_MODULES, folder
    assert not PATTERNS & {word for name in modules + packages for word in name.split("_")}
    assert not set(modules) & set(packages)
    assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))), folder


def test_no_two_test_modules_have_one_name() -> None:
    names = Counter(path.name for path in (REPOSITORY / "tests").rglob("*.py") if path.stem != "__init__")
    assert [name for name, times in names.items() if times > 1] == []
