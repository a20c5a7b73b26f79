"""Every block of the documentation runs as it stands there: commands, sessions, Python, settings."""

from __future__ import annotations

import contextlib
import csv
import doctest
import io
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from dataset_replies import any_reply
from judge_server import JudgeServer, Script
from markdown_pages import PAGES, Block, blocks, name_of
from places import REPOSITORY
from readers_folder import ReadersFolder, make_folder, steps

from ragtriage.data.scoring.run_store import RunStore

NOT_RUN = {
    "README.md": ["installs everything"],
    "benchmarks/README.md": ["takes minutes to hours"],
    "docs/azure.md": ["needs the library azure-ai-evaluation"],
    "docs/bedrock.md": ["needs an AWS account"],
    "docs/haystack.md": ["goes on with a pipeline of yours"],
    "docs/inspect.md": ["needs the library inspect-ai", "needs the library inspect-ai"],
    "docs/langchain.md": ["goes on with a chain of yours"],
    "docs/llamaindex.md": ["goes on with an engine of yours"],
    "docs/agents.md": ["installs from the network", "needs Claude Code"],
    "docs/ci.md": ["installs from the network"],
    "docs/context.md": ["needs models on the machine"],
    "docs/checks-safety.md": ["needs a service"],
    "docs/docker.md": ["needs Docker", "needs Docker"],
    "docs/live.md": ["runs until it is stopped", "needs an instrumentor of OpenInference"],
    "docs/export_back.md": ["needs the library datasets"],
}
ELSEWHERE = re.compile(r"run by (?P<test>tests/\S+\.py)")
RUNS = {  # what the words stand for, unless a comment above the block says "RUN is PROJECT: NAME"
    "RUN": ("handbook", "V4 rerank"),
    "OTHER": ("handbook", "V3 strict prompt"),
    "BASE": ("handbook", "V1 baseline"),
}
WITH_BLOCKS = [page for page in PAGES if blocks(page)]


@pytest.fixture(scope="module")
def judge() -> Iterator[str]:
    """The address of a service that stands in for the judge."""
    with JudgeServer(Script(reply=any_reply)) as server:
        yield server.url


@pytest.fixture
def folder(demo: RunStore, judge: str, tmp_path: Path) -> ReadersFolder:
    return make_folder(tmp_path, demo, judge)


def _not_run(block: Block) -> bool:
    return block.comment.startswith("not run: ")


def _with_mark(page: Path) -> Any:
    """Mark the pages that start a dashboard: two that look for a free port at once may find the same."""
    serves = any(
        re.search(r"^(?:\$ )?ragtriage (?:serve|demo)\b", block.text, re.MULTILINE) for block in blocks(page)
    )
    marks = [pytest.mark.xdist_group("ports")] if serves else []
    return pytest.param(page, marks=marks, id=name_of(page))


@pytest.mark.parametrize("page", [_with_mark(page) for page in WITH_BLOCKS])
def test_every_block_of_a_page_runs(
    page: Path, folder: ReadersFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.path)
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(folder.path / "ragtriage-workspace"))  # for Python blocks
    to_run = [block for block in blocks(page) if not _not_run(block) and not ELSEWHERE.match(block.comment)]
    _write_scripts(to_run, folder)
    problems, names = [], dict[str, Any]()
    for block, after in zip(to_run, [*to_run[1:], None], strict=False):
        output = after.text if after is not None and after.language == "text" else None
        problem = _problem(block, output, folder, names)
        if problem:
            problems.append(f"{block.page}:{block.line} {problem}")
    assert problems == [], "\n\n".join(problems)


def _write_scripts(found: list[Block], folder: ReadersFolder) -> None:
    """Write the Python files of a page, which begin with their name, for its commands."""
    for block in found:
        if script := re.match(r"# (\w+\.py)\n", block.text):
            (folder.path / script[1]).write_text(block.text, encoding="utf-8")


def _problem(block: Block, output: str | None, folder: ReadersFolder, names: dict[str, Any]) -> str | None:
    """Return what is wrong with a block, or None."""
    match block.language:
        case "bash":
            return _commands(block, folder)
        case "console":
            return _session(block, folder)
        case "python":
            return None if re.match(r"# \w+\.py\n", block.text) else _python(block, output, names)
        case "json" | "toml" | "yaml" | "csv":
            PARSERS[block.language](block.text)
            return None
        case "text":
            return None
    return f"has the language {block.language!r}; known: bash, console, python, json, toml, yaml, csv, text"


PARSERS: Mapping[str, Any] = {
    "json": json.loads,
    "toml": tomllib.loads,
    "yaml": yaml.safe_load,
    "csv": lambda text: list(csv.DictReader(io.StringIO(text), strict=True)),
}


def _commands(block: Block, folder: ReadersFolder) -> str | None:
    for step in steps(block.text):
        code, printed = folder.type(step, _runs(block))
        if code != _code(block):
            return f"ended with {code}:\n{step}{printed}"
    return None


def _code(block: Block) -> int:
    found = re.search(r"exit code (\d+)", block.comment)
    return int(found[1]) if found else 0


def _runs(block: Block) -> dict[str, tuple[str, str]]:
    named = re.findall(r"([A-Z]+) is ([^:]+): ([^;]+)", block.comment)
    return RUNS | {word: (project, name) for word, project, name in named}


def _session(block: Block, folder: ReadersFolder) -> str | None:
    """Type the lines after `$`, and compare what is printed with what stands below them; ... is anything."""
    _, *typed = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
    code = 0
    for entry in typed:
        if code:
            return f"ended with {code} before: {entry}"
        command, _, expected = re.sub(r"\\\n>?\s*", "", entry).partition("\n")
        code, printed = folder.type(command, _runs(block))
        printed = "\n".join(line.rstrip() for line in printed.splitlines())
        if not doctest.OutputChecker().check_output(expected.strip(), printed.strip(), doctest.ELLIPSIS):
            return f"{command}\nprints\n{printed}\nand not\n{expected}"
    return None if code == _code(block) else f"ended with {code}"


def _python(block: Block, output: str | None, names: dict[str, Any]) -> str | None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block.text, f"{block.page}:{block.line}", "exec"), names)
    if output is not None and printed.getvalue() != output:
        return f"prints\n{printed.getvalue()}\nand not\n{output}"
    return None


def test_what_is_not_run_is_known_with_its_reason() -> None:
    found = {
        name_of(page): [block.comment.removeprefix("not run: ") for block in blocks(page) if _not_run(block)]
        for page in PAGES
    }
    assert {page: reasons for page, reasons in found.items() if reasons} == NOT_RUN


def test_what_another_test_runs_is_run_there() -> None:
    for page in PAGES:
        for block in blocks(page):
            if elsewhere := ELSEWHERE.match(block.comment):
                assert page.name in (REPOSITORY / elsewhere["test"]).read_text(encoding="utf-8")
