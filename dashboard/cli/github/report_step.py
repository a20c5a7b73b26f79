"""The step that reports: annotations on the failing cases, and one comment on the pull request."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ragtriage.dashboard.cli.github.commands import Level, annotation
from ragtriage.dashboard.cli.github.comments import CommentError, Comments
from ragtriage.dashboard.cli.github.gate_step import MOST_CASES, RESULT, SUMMARY

LARGEST_FILE = 100_000_000  # bytes of results in which lines are looked for
PERMISSION = "accepted: `permissions: pull-requests: write` in the job; its summary has the same text"
_CALLS = re.compile(r"[@#](?=\w)")  # would notify a person or link an issue


def report(environment: Mapping[str, str]) -> int:
    """Print the annotations and write the comment; what cannot be written is a notice and fails no job."""
    folder = Path(environment.get("RESULT_FOLDER", ""))
    if not environment.get("RESULT_FOLDER") or not (folder / RESULT).is_file():
        return 0  # the step before was cancelled, and says so itself
    result = json.loads((folder / RESULT).read_text(encoding="utf-8"))
    for line in _annotations(result, environment):
        print(line)  # noqa: T201 -- the runner reads standard output
    wanted = environment.get("INPUT_COMMENT", "true").strip().lower() == "true"
    if wanted and (said := _comment(folder, result, environment)):
        print(annotation("notice", said, "ragtriage"))  # noqa: T201 -- as above
    return 0


def _annotations(result: Mapping[str, Any], environment: Mapping[str, str]) -> list[str]:
    """Return the commands: why nothing was judged, or the failing cases beside their lines of the file."""
    file = _in_checkout(result["file"], environment.get("GITHUB_WORKSPACE", ""))
    if result["error"]:
        return [annotation("error", result["error"], "ragtriage: nothing could be judged")]
    level: Level = "error" if result["code"] else "warning"
    cases = result["cases"][:MOST_CASES]
    lines = _lines(Path(result["file"]), {case["question_id"]: case["question"] for case in cases})
    commands = [
        annotation(
            level,
            f"{case['question_id']}: {' '.join(case['question'].split())}",
            f"{result['kind']}: {case['stage'] or 'not attributed'}",
            file,
            lines.get(case["question_id"]) if file else None,
        )
        for case in cases
    ]
    if (rest := result["total"] - len(cases)) > 0:
        more = (
            f"{rest:,} more {result['kind']} {'case' if rest == 1 else 'cases'}; the summary has the counts"
        )
        commands.append(annotation("notice", more, "ragtriage"))
    return commands


def _in_checkout(file: str, root: str) -> str:
    """Return the path of a file from the root of the checkout; "" where it lies outside."""
    try:
        path = Path(file).resolve()
        return path.relative_to(Path(root).resolve()).as_posix() if root and path.is_file() else ""
    except (OSError, ValueError):
        return ""


def _lines(file: Path, questions: Mapping[str, str]) -> dict[str, int]:
    """Return question id -> its line in a file of JSON lines; of other files none."""
    found: dict[str, int] = {}
    if file.suffix != ".jsonl" or not file.is_file() or file.stat().st_size > LARGEST_FILE:
        return found
    by_question = {question: question_id for question_id, question in questions.items()}
    with file.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                continue
            for value in record.values() if isinstance(record, dict) else ():
                if not isinstance(value, str):
                    continue
                name = value if value in questions else by_question.get(value, "")
                if name:
                    found.setdefault(name, number)
    return found


def _comment(folder: Path, result: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    """Write the comment; return why it was not written, "" where it was or nobody could want it."""
    number, commit = _pull_request(environment.get("GITHUB_EVENT_PATH", ""))
    if number is None:
        return ""
    token = environment.get("INPUT_TOKEN", "")
    if not token:
        return f"No comment was written: the job has no token; {PERMISSION}."
    api = environment.get("GITHUB_API_URL") or "https://api.github.com"
    try:
        comments = Comments(api, environment.get("GITHUB_REPOSITORY", ""), number, token)
        comments.write(_marker(environment), _body(folder, result, commit))
    except CommentError as error:
        return f"No comment was written: {error}; {PERMISSION}."
    return ""


def _pull_request(path: str) -> tuple[int | None, str]:
    """Return number and commit of the pull request that a workflow runs for; None for any other event."""
    try:
        entry = json.loads(Path(path).read_text(encoding="utf-8"))["pull_request"]
        return int(entry["number"]), str(entry["head"]["sha"])
    except (OSError, ValueError, KeyError, TypeError):
        return None, ""


def _marker(environment: Mapping[str, str]) -> str:
    """Return the line by which the comment is found again: one for each job, project and file."""
    names = ("GITHUB_WORKFLOW", "GITHUB_JOB", "INPUT_PROJECT", "INPUT_FILE")
    parts = "\x1f".join(environment.get(name, "") for name in names)
    return f"<!-- ragtriage gate {hashlib.sha256(parts.encode()).hexdigest()[:16]} -->"


def _body(folder: Path, result: Mapping[str, Any], commit: str) -> str:
    """Return the text of the comment: the summary of the job, in which nobody is called."""
    if result["error"]:
        indented = "\n".join(f"    {line}" for line in result["error"].splitlines())
        text = f"## ❔ Nothing could be judged\n\n{indented}\n"
    else:
        text = (folder / SUMMARY).read_text(encoding="utf-8")
    below = f"\nCommit {commit[:12]}.\n" if commit.isalnum() else ""
    return _CALLS.sub("\\g<0>\u200b", text) + below
