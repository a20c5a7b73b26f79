"""All figures that the project aims at, in one table, with those of an earlier commit in the same run.

    python benchmarks/all_figures.py [--quick] [--before COMMIT] [--only many,start] [--folder F]

Each part runs in a process of its own, on this tree and, where asked, on the earlier one right after it, with
the same measuring code and the same drawn files. --quick measures smaller sizes, which the table names.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median

from figures import Reading, table
from make_runs import make_runs

REPOSITORY = Path(__file__).parent.parent
USUAL_QUESTIONS = 60  # of each of many runs
DEPTH = 10  # documents of a question whose retrieval is evaluated


@dataclass(frozen=True)
class Scale:
    """How much is measured.

    Attributes:
        runs: of 60 questions each, for the pages.
        questions: of each of five large runs.
        scored: questions of the file that is imported and scored.
        ranked: questions whose retrieval is evaluated.
        characters: of the corpus of the grid.
        rounds: how often what is quick is measured.
    """

    runs: int = 1_000
    questions: int = 100_000
    scored: int = 20_000
    ranked: int = 1_000_000
    characters: int = 2_000_000
    rounds: int = 3

    def sizes(self) -> dict[str, str]:
        """Return the size of each part that has one."""
        return {
            "many": f"{self.runs:,}",
            "large": f"{self.questions:,}",
            "retrieval": f"{self.ranked * DEPTH:,}",
            "grid": f"{self.characters:,}",
        }


FULL = Scale()
QUICK = Scale(100, 1_000, 10_000, 100_000, 200_000, 1)


@dataclass(frozen=True)
class Task:
    """What a part measures.

    Attributes:
        folder: for the workspaces of one tree.
        files: drawn files that all trees read.
        scale: how much.
        ranx: an interpreter that has ranx; "" for none.
    """

    folder: Path
    files: Path
    scale: Scale
    ranx: str = ""


Part = Callable[[Task], Reading]  # imports what it measures: an earlier tree may not have it all


def _pages(name: str, task: Task) -> Reading:
    from page_speed import STEPS, measure
    from page_speed import table as table_of_pages

    found = measure(task.folder / name, sorted((task.files / name).glob("*.jsonl")), task.scale.rounds)
    reading = Reading(values={"memory": found["memory"]})
    for step in STEPS:
        taken = {page: steps[step] for page, steps in found["pages"].items()}
        page = max(taken, key=lambda page: taken[page].wall)
        reading.values[step] = taken[page].wall / 1000
        reading.notes[step] = f"{page.capitalize()}, {taken[page].processor / 1000:.2f} s of a processor"
    page = max(found["clicks"], key=found["clicks"].__getitem__)
    reading.values["click"] = found["clicks"][page] / 1000
    reading.notes["click"] = page.capitalize()
    sys.stderr.write("\n".join(table_of_pages(found)) + "\n")
    return reading


def _scoring(task: Task) -> Reading:
    import scoring_speed

    found = scoring_speed.measure(task.files / "scored", task.scale.scored)
    growth, peak = found["mb"] / found["mb of a tenth"], f"{found['mb']:.0f} MB"
    return Reading(found | {"growth": growth}, {"growth": peak})


def _wide(task: Task) -> Reading:
    import wide_runs

    folder = task.folder / "wide"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    wall, processor = wide_runs.step_times(folder, 600, 20)["import and scoring"]
    return Reading({"seconds": wall}, {"seconds": f"{processor:.2f} s of a processor"})


def _retrieval(task: Task) -> Reading:
    import retrieval_parquet

    ranked = task.files / "ranked"
    if not (ranked / "qrels.parquet").exists():
        ranked.mkdir(parents=True, exist_ok=True)
        retrieval_parquet.write(ranked, task.scale.ranked)
    tools = {"ragtriage": sys.executable, "pytrec_eval": sys.executable}
    tools |= {"ranx": task.ranx} if task.ranx else {}
    found = retrieval_parquet.measured(ranked, tools, task.scale.rounds)
    own = found.pop("ragtriage")
    values = {"memory": max(each["mb"] for each in own)}
    notes = {}
    for tool, theirs in found.items():
        values[tool] = median(other["wall"] / each["wall"] for other, each in zip(theirs, own, strict=False))
        seconds = (median(each["wall"] for each in each_tool) for each_tool in (theirs, own))
        notes[tool] = "{:.2f} s and {:.2f} s".format(*seconds)
    return Reading(values, notes)


def _start(task: Task) -> Reading:
    import start_speed

    return Reading(start_speed.measure(task.folder / "start", 2 * task.scale.rounds - 1))


def _report(task: Task) -> Reading:
    import report_size

    return Reading(report_size.measure(task.scale.rounds))


def _grid(task: Task) -> Reading:
    """Measure by the script of the tree itself: what runs a grid is not the same in all of them."""
    command = [sys.executable, "benchmarks/chunking_speed.py", "--one", "synthetic"]
    command += ["--characters", str(task.scale.characters)]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(ended.stdout.splitlines()[-1])
    alone = found["start"] + sum(found["cells"])
    return Reading({"seconds": found.get("shared", alone), "memory": found["mb"]})


PARTS: dict[str, Part] = {
    "many": partial(_pages, "many"),
    "large": partial(_pages, "large"),
    "scoring": _scoring,
    "wide": _wide,
    "retrieval": _retrieval,
    "start": _start,
    "report": _report,
    "grid": _grid,
}


def draw(files: Path, scale: Scale, parts: Sequence[str]) -> None:
    """Draw the files that several trees read, where they are not there yet."""
    if "many" in parts and not (files / "many").exists():
        make_runs(files / "many", USUAL_QUESTIONS, scale.runs)
    if "large" in parts and not (files / "large").exists():
        make_runs(files / "large", scale.questions, 5)


def measured(part: str, tree: Path, folder: Path, given: argparse.Namespace) -> Reading:
    """Measure one part of one tree in a process of its own."""
    command = [sys.executable, __file__, "--part", part, "--ranx", given.ranx]
    command += ["--folder", str(folder), "--files", str(folder.parent / "files")]
    command += ["--quick"] if given.quick else []
    environment = {**os.environ, "PYTHONPATH": str(tree), "STREAMLIT_LOGGER_LEVEL": "error"}
    begun, busy, own = time.monotonic(), _busy(), _children()
    ended = subprocess.run(command, env=environment, cwd=tree, capture_output=True, text=True, check=False)
    others = (_busy() - busy - (_children() - own)) / (time.monotonic() - begun)
    if ended.returncode:
        lines = ended.stderr.strip().splitlines() or ["ended early"]
        return Reading(others=max(others, 0.0), failed=lines[-1])
    pages = [line for line in ended.stderr.splitlines() if line.startswith("|")]
    if pages:
        (folder / f"{part}.md").write_text("\n".join(pages) + "\n", encoding="utf-8")
    return Reading(**{**json.loads(ended.stdout.splitlines()[-1]), "others": max(others, 0.0)})


def _busy() -> float:
    """Seconds that the processors of this machine have worked, for whomever."""
    user, nice, system = (int(one) for one in Path("/proc/stat").read_text().split()[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def earlier_tree(commit: str) -> Iterator[Path]:
    """Check out a commit beside this tree until the block ends."""
    git = ["git", "-C", str(REPOSITORY), "worktree"]
    with tempfile.TemporaryDirectory(prefix="ragtriage-before-") as folder:
        tree = Path(folder) / "tree"
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit], check=True)
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def middle(readings: Sequence[Reading]) -> Reading:
    """Return the medians of several readings of one part."""
    good = [each for each in readings if not each.failed] or list(readings[:1])
    values = {key: median(each.values[key] for each in good if key in each.values) for key in good[0].values}
    return Reading(values, good[0].notes, max(each.others for each in readings), good[0].failed)


def compared(
    parts: Sequence[str], trees: dict[str, Path], folder: Path, given: argparse.Namespace
) -> dict[str, dict[str, Reading]]:
    """Measure every part on every tree, the trees in turn; gives tree -> part -> medians."""
    found: dict[str, dict[str, Reading]] = {name: {} for name in trees}
    for part in parts:
        readings: dict[str, list[Reading]] = {name: [] for name in trees}
        for _ in range(given.rounds):
            for name, tree in trees.items():
                own = folder / name
                own.mkdir(parents=True, exist_ok=True)
                begun = time.monotonic()
                reading = measured(part, tree, own, given)
                readings[name].append(reading)
                told = f": {reading.failed}" if reading.failed else ""
                sys.stderr.write(f"{part}, {name}: {time.monotonic() - begun:.0f} s{told}\n")
        for name in trees:
            found[name][part] = middle(readings[name])
    return found


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--quick", action="store_true", help="smaller sizes, in less than three minutes")
    made.add_argument("--before", default="", help="a commit to measure as well")
    made.add_argument("--against", type=Path, help="a checkout to measure as well")
    made.add_argument("--only", default=",".join(PARTS), help=f"some of {', '.join(PARTS)}")
    made.add_argument("--rounds", type=int, default=1, help="how often each part runs on each tree")
    made.add_argument("--folder", type=Path, help="keep files and workspaces here and use them again")
    made.add_argument("--ranx", default="", metavar="PYTHON", help="an interpreter that has ranx")
    made.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    made.add_argument("--files", type=Path, help=argparse.SUPPRESS)
    return made


def main() -> None:
    """Measure and print the table."""
    given = parser().parse_args()
    scale = QUICK if given.quick else FULL
    if given.part:
        print(json.dumps(asdict(PARTS[given.part](Task(given.folder, given.files, scale, given.ranx)))))
        return
    parts = given.only.split(",")
    unknown = sorted(set(parts) - set(PARTS))
    if unknown:
        sys.exit(f"--only: no part {', '.join(unknown)}; accepted: {', '.join(PARTS)}")
    if given.before:
        with earlier_tree(given.before) as tree:
            report(given, scale, parts, tree, given.before)
    else:
        report(given, scale, parts, given.against, given.against.name if given.against else "")


def report(
    given: argparse.Namespace, scale: Scale, parts: Sequence[str], earlier: Path | None, commit: str
) -> None:
    """Draw, measure, and print the table."""
    begun = time.monotonic()
    trees = {"now": REPOSITORY} | ({"before": earlier.resolve()} if earlier else {})
    with tempfile.TemporaryDirectory(prefix="ragtriage-bench-") as temporary:
        folder = (given.folder or Path(temporary)).resolve()
        draw(folder / "files", scale, parts)
        found = compared(parts, trees, folder, given)
        rows = list(table(found["now"], found.get("before", {}), scale.sizes(), commit))
        (folder / "figures.md").write_text("\n".join(rows) + "\n", encoding="utf-8")
    print(*rows, sep="\n")
    taken = time.monotonic() - begun
    print(f"\n{os.cpu_count()} cores, {taken:.0f} s in all, load now {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
