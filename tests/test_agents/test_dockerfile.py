"""The Dockerfile, read as instructions: what it copies is there, nobody is root, its commands are ours."""

from __future__ import annotations

import fnmatch
import json
import re

import click
import pytest
from places import DOCS, REPOSITORY

from ragtriage.dashboard.cli.main import app
from ragtriage.dashboard.cli.serve import BindAddress

DOCKER = (DOCS / "docker.md").read_text(encoding="utf-8")
Instruction = tuple[str, str]


def _instructions() -> list[Instruction]:
    text = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")
    lines = re.sub(r"\\\n\s*", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)).splitlines()
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1].strip()) for line in lines if line.strip()]


def _stages() -> list[list[Instruction]]:
    stages: list[list[Instruction]] = []
    for instruction in _instructions():
        if instruction[0] == "FROM":
            stages.append([])
        stages[-1].append(instruction)
    return stages


BUILD, FINAL = _stages()


def _last(name: str) -> str:
    return [value for instruction, value in FINAL if instruction == name][-1]


def _ignored(path: str) -> bool:
    """Whether .dockerignore leaves a path out: the last pattern that matches decides."""
    ignored = False
    for pattern in (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").splitlines():
        bare = pattern.lstrip("!")
        if pattern and not pattern.startswith("#") and fnmatch.fnmatch(path, bare):
            ignored = not pattern.startswith("!")
    return ignored


def test_what_is_copied_is_there_and_not_ignored() -> None:
    sources = [word for name, value in BUILD if name == "COPY" for word in value.split()[:-1]]
    assert {"pyproject.toml", "constraints.txt", "ragtriage", "dashboard", "data", "metrics"} <= set(sources)
    for source in sources:
        assert (REPOSITORY / source).exists(), source
        assert not _ignored(source), source
    for left_out in (".git", ".venv", "tests", "docs", "ragtriage-workspace", ".env"):
        assert _ignored(left_out), left_out


def test_images_have_versions_and_the_last_stage_builds_nothing() -> None:
    images = [value.split()[0] for name, value in _instructions() if name == "FROM"]
    assert len(set(images)) == 1  # else a virtual environment does not find its Python
    assert re.fullmatch(r"python:3\.\d+-slim", images[0])
    assert not any(name == "RUN" and re.search(r"\b(pip|apt|apt-get)\b", value) for name, value in FINAL)
    assert not any(
        name == "ADD" or re.search(r"\b(curl|wget|git)\b", value) for name, value in _instructions()
    )


def test_it_runs_as_a_user_without_rights_whose_workspace_is_the_volume() -> None:
    names = [name for name, _ in FINAL]
    assert re.fullmatch(r"[1-9]\d{3,}", _last("USER"))  # a number, as Kubernetes checks it
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert _last("VOLUME") == "/workspace"
    assert "RAGTRIAGE_WORKSPACE=/workspace" in _last("ENV")
    assert any(name == "RUN" and "-o ragtriage -g ragtriage /workspace" in value for name, value in FINAL)


def test_the_command_is_one_that_the_command_line_takes() -> None:
    assert json.loads(_last("ENTRYPOINT")) == ["ragtriage"]
    name, *words = json.loads(_last("CMD"))
    group = app.make_context("ragtriage", [name])  # click keeps the -h of the first context it sees
    command = app.get_command(group, name)
    assert command is not None
    options = command.make_context(name, words, parent=group).params
    assert (options["host"], options["expose"], str(options["port"])) == ("0.0.0.0", True, _last("EXPOSE"))
    BindAddress(options["host"], options["expose"]).check()


def test_the_health_check_asks_the_port_that_is_served() -> None:
    check = _last("HEALTHCHECK")
    python, flag, code = json.loads(check[check.index("CMD") + 3 :])
    assert (python, flag) == ("python", "-c")
    compile(code, "HEALTHCHECK", "exec")
    assert f"http://127.0.0.1:{_last('EXPOSE')}/_stcore/health" in code


@pytest.mark.parametrize("name", re.findall(r"^docker run .* ragtriage (\w+)", DOCKER, re.MULTILINE))
def test_the_commands_of_the_documentation_exist(name: str) -> None:
    assert app.get_command(click.Context(app), name) is not None
