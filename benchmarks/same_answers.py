"""Says which answers of the command line differ between two trees, byte for byte.

    python benchmarks/same_answers.py BEFORE [AFTER]          AFTER: the tree of this script
    python benchmarks/same_answers.py --write FILE TREE       write the answers of a tree
    python benchmarks/same_answers.py --against FILE [TREE]   compare a tree with what was written

Each tree loads the bundled samples into a workspace of its own and answers every command that has --json.
--text adds what a terminal of 100 columns shows, --reports the HTML of reports; beside FILE.json then stand
FILE-text.json and FILE-reports.json. Fixtures and corpora are those of BEFORE. Exit code 1: answers differ.
"""

from __future__ import annotations

import argparse
import difflib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

from answer_commands import MADE, PLACEHOLDERS, READING, REPORTS, WRITING

GROUPS = ("json", "text", "reports")
ROOT = Path(__file__).resolve().parents[1]


class Stream(io.TextIOWrapper):
    """Standard output or error that is kept, of a terminal or not."""

    def __init__(self, terminal: bool) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", newline="")
        self.terminal = terminal

    def isatty(self) -> bool:
        """Return whether it passes for a terminal."""
        return self.terminal

    def text(self) -> str:
        """Return what was written."""
        self.seek(0)
        return self.read()


class Caller:
    """Calls commands of the tree that can be imported, and keeps their answers."""

    def __init__(self, tree: str, unit: str) -> None:
        self.tree, self.unit, self.workspace = tree, unit, f"ws-{unit}"
        self.options = ["--json"] if unit.startswith("json") else []
        main = Path(tree, "dashboard/cli/main.py")
        renamed = not main.exists() or "ragtriage.dashboard" in main.read_text("utf-8")
        self.cli = "ragtriage.dashboard.cli" if renamed else "dashboard.cli"
        self.module = import_module(f"{self.cli}.main")
        if not Path(self.module.__file__ or "").is_relative_to(tree):
            raise SystemExit(f"{self.module.__file__} was imported, which is not in {tree}")
        self.answers: dict[str, dict[str, Any]] = {}
        self.told = time.monotonic()

    def answer(self, words: Sequence[str]) -> dict[str, Any]:
        """Run a command and return its exit code, what it printed, and what it wrote to OUT."""
        real = [
            word.replace("OUT", f"{self.unit}-out") if word.startswith("OUT.") else word for word in words
        ]
        files = [Path(name) for name, word in zip(real, words, strict=True) if name != word]
        out, err = streams = Stream(self.unit.startswith("text")), Stream(False)
        before, code = (sys.stdout, sys.stderr), None
        sys.stdout, sys.stderr = streams
        try:
            self.module.main(["-w", self.workspace, *real])
        except SystemExit as ended:
            code = ended.code
        finally:
            sys.stdout, sys.stderr = before
        found = {"code": code, "out": self.plain(out.text()), "err": self.plain(err.text())}
        for file in filter(Path.exists, files):
            found["file"] = self.plain(file.read_text("utf-8"))
            file.unlink()
        return found

    def plain(self, text: str) -> str:
        """Return a text with placeholders for what is not an answer."""
        text = text.replace(str(Path.cwd()), "WORK").replace(self.tree, "TREE")
        for pattern, placeholder in PLACEHOLDERS:
            text = re.sub(pattern, placeholder, text)
        return text

    def keep(self, *words: str) -> None:
        """Run a command and keep its answer."""
        name = times = " ".join(words)
        while times in self.answers:  # asked before, of another state of the workspace
            times = f"{name}  #{int(times.partition('  #')[2] or 1) + 1}"
        self.answers[times] = self.answer(words)
        if time.monotonic() > self.told + 15:
            self.told = time.monotonic()
            print(f"  {self.unit}: {len(self.answers):,} answers, at {name}", file=sys.stderr, flush=True)

    def json(self, *words: str) -> Any:
        """Return what a command answers as JSON, which is not kept."""
        return json.loads(self.answer([*words, "--json"])["out"])

    def values(self) -> dict[str, list[dict[str, str]]]:
        """Return the values of each placeholder of the lines."""
        runs = self.json("runs")
        by_project: dict[str, list[str]] = {}
        for run in runs:
            by_project.setdefault(run["project"], []).append(run["run_id"])
        pairs = []
        for project, ids in by_project.items():
            base = (self.json("baseline", "--project", project)["baseline"] or {}).get("run")
            pairs += [
                (earlier if base in (None, run) else base, run) for earlier, run in pairwise(ids[-1:] + ids)
            ]
        listed = [("run", run["run_id"]) for run in runs] + [("one", ids[-1]) for ids in by_project.values()]
        listed += [("project", name) for name in by_project]
        listed += [("experiment", entry["experiment_id"]) for entry in self.json("experiment", "list")]
        found: dict[str, list[dict[str, str]]] = {"": [{}]}
        for name, value in listed:
            found.setdefault(name, []).append({name: value})
        found["base"] = [{"base": base, "other": run} for base, run in pairs if base != run]
        always = dict(zip(("first", "second"), by_project["clapnq"], strict=False))
        return {name: [{**each, **always} for each in values] for name, values in found.items()}


def lines_of(text: str, values: Mapping[str, list[dict[str, str]]]) -> Iterator[list[str]]:
    """Yield the words of the commands that lines stand for."""
    for line in filter(None, text.split("\n")):
        name = next((name for name in values if f"{{{name}}}" in line), "")
        yield from ([word.format(**each) for word in shlex.split(line)] for each in values[name])


def commands_with_json(command: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the names of all commands under a click group that have --json."""
    if hasattr(command, "list_commands"):
        context = command.make_context("ragtriage", [], resilient_parsing=True)
        for name in command.list_commands(context):
            yield from commands_with_json(command.get_command(context, name), (*path, name))
    elif any("--json" in parameter.opts for parameter in command.params):
        yield " ".join(path)


def run_unit(tree: str, unit: str) -> None:
    """Run one unit of the work in the current folder and write its answers to UNIT.json."""
    caller = Caller(tree, unit)
    uncovered: set[str] = set()
    if unit == "demo":  # the demo command, up to where it opens the dashboard
        module: Any = import_module(f"{caller.cli}.demo")
        if not hasattr(module, "run_dashboard"):
            raise SystemExit(f"{module.__file__} calls no run_dashboard any more, which is left out here")
        module.run_dashboard = lambda *_: None
        caller.keep("demo", "--no-browser")
    elif unit.endswith("-imports"):
        for path in sorted(Path("files/fixtures").rglob("*")):
            shutil.rmtree(caller.workspace, ignore_errors=True)
            caller.keep("import", str(path), "--dry-run", *caller.options)
            caller.keep("import", str(path), "--explain", *caller.options)
            runs = caller.json("runs") if path.is_file() and Path(caller.workspace).exists() else ()
            for run, command in (
                (run, command) for run in runs for command in ("metrics", "diagnose", "checks")
            ):
                caller.keep(command, run["run_id"], *caller.options)
    else:
        shutil.copytree("ws-demo", caller.workspace)
        texts = REPORTS if unit == "reports" else READING + WRITING
        with_json = set(commands_with_json(caller.module.app))
        covered = {
            " ".join(line.split()[:n]) for line in (READING + WRITING + REPORTS).split("\n") for n in (1, 2)
        }
        uncovered = with_json - covered
        for words in lines_of(texts, caller.values()):
            if unit != "json" or {words[0], " ".join(words[:2])} & with_json:
                caller.keep(*words, *caller.options)
    found = {"answers": caller.answers, "uncovered": sorted(uncovered)}
    Path(f"{unit}.json").write_text(json.dumps(found), "utf-8")


def answers_of(tree: Path, source: Path, groups: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the answers of a tree by group, from two processes at a time."""
    fast = "/dev/shm" if Path("/dev/shm").is_dir() else None  # SQLite waits for disks
    with tempfile.TemporaryDirectory(prefix="same-answers-", dir=fast) as work, ThreadPoolExecutor(2) as pool:
        root = Path(work)
        shutil.copytree(source / "tests/fixtures", root / "files/fixtures")
        bundled = (source / place / "data/bundled" for place in ("", "ragtriage"))
        shutil.copytree(next(filter(Path.exists, bundled)), root / "files/bundled")
        for path, text in MADE.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, "utf-8")
        demo = pool.submit(answers_of_unit, tree, "demo", root)
        imports = {
            group: pool.submit(answers_of_unit, tree, f"{group}-imports", root)
            for group in groups
            if group != "reports"
        }
        units = {group: pool.submit(answers_of_unit, tree, group, root, demo) for group in groups}
        parts = {group: [demo, *filter(None, [imports.get(group)]), units[group]] for group in groups}
        return {
            group: {
                "source": str(source),
                "uncovered": futures[-1].result()["uncovered"],
                "answers": {name: one for part in futures for name, one in part.result()["answers"].items()},
            }
            for group, futures in parts.items()
        }


def answers_of_unit(tree: Path, unit: str, root: Path, after: Future[Any] | None = None) -> dict[str, Any]:
    """Return what one unit answers, run in a process of its own."""
    if after is not None:
        after.result()
    began = time.monotonic()
    kept = {
        name: text for name, text in os.environ.items() if not name.startswith(("RAGTRIAGE_", "ANTHROPIC_"))
    }
    fixed = {
        "COLUMNS": "100",
        "LINES": "40",
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
        "USER": "Ann",
        "LOGNAME": "Ann",
    }
    path = os.pathsep.join([str(tree), str(root / "clock"), str(ROOT / "benchmarks")])
    subprocess.run(
        [sys.executable, "-P", __file__, "--unit", unit, str(tree)],
        cwd=root,
        env={**kept, **fixed, "PYTHONHASHSEED": "0", "TMPDIR": str(root), "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        check=True,
    )
    found: dict[str, Any] = json.loads((root / f"{unit}.json").read_text("utf-8"))
    codes = Counter(answer["code"] for answer in found["answers"].values())
    told = ", ".join(f"{n:,} with exit code {code}" for code, n in sorted(codes.items()))
    print(f"{tree}, {unit}: {time.monotonic() - began:.0f} s; {told}", file=sys.stderr, flush=True)
    return found


def first_difference(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> list[str]:
    """Return the first ten lines of a unified diff of two answers; long lines are broken."""
    old, new = (
        [
            f"{key}: {piece}"
            for key, value in (answer or {"": "no such answer"}).items()
            for line in str(value).split("\n")
            for piece in re.findall(".{1,160}", line) or [""]
        ]
        for answer in (before, after)
    )
    equal = next((at for at, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), 0)
    near = slice(max(0, equal - 2), equal + 200)  # whole reports would take minutes
    return list(difflib.unified_diff(old[near], new[near], lineterm="", n=2))[3:13]


def differs(group: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Print what differs in a group, and return whether something does."""
    old, new = before["answers"], after["answers"]
    names = list(dict.fromkeys([*old, *new]))
    differing = [name for name in names if old.get(name) != new.get(name)]
    print(f"{group}: {len(names) - len(differing):,} of {len(names):,} equal")
    for name in differing:
        lines = first_difference(old.get(name), new.get(name))
        print("\n".join([f"\nragtriage {name}", *(f"    {line}" for line in lines)]))
    if group == "json":
        print(f"not covered, though there is --json: {', '.join(after['uncovered']) or 'nothing'}")
    return bool(differing)


def file_of(path: Path, group: str) -> Path:
    """Return the file of a group."""
    return path if group == "json" else path.with_name(f"{path.stem}-{group}{path.suffix}")


def main() -> int:
    """Do what the words of the command ask for, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trees", nargs="*", type=Path, metavar="TREE")
    parser.add_argument("--write", type=Path, metavar="FILE")
    parser.add_argument("--against", type=Path, metavar="FILE")
    parser.add_argument("--text", action="store_true", help="also what a terminal shows")
    parser.add_argument("--reports", action="store_true", help="also the HTML of reports")
    parser.add_argument("--unit", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.unit:
        run_unit(str(asked.trees[0]), asked.unit)
        return 0
    groups = [group for group in GROUPS if group == "json" or getattr(asked, group)]
    trees = [tree.resolve() for tree in asked.trees]
    if asked.write:
        (tree,) = trees
        for group, found in answers_of(tree, tree, groups).items():
            file_of(asked.write, group).write_text(json.dumps(found, indent=1), "utf-8")
            print(f"{file_of(asked.write, group)}: {len(found['answers']):,} answers")
        return 0
    if asked.against:
        before = {group: json.loads(file_of(asked.against, group).read_text("utf-8")) for group in groups}
        source = Path(before["json"]["source"])
    else:
        source = trees.pop(0)
        before = answers_of(source, source, groups)
    after = answers_of(trees[0] if trees else ROOT, source, groups)
    return int(any([differs(group, before[group], after[group]) for group in groups]))  # noqa: C419 -- print all


if __name__ == "__main__":
    sys.exit(main())
