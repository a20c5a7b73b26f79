"""What a team expects its measures to bring in F1: entered on a run, added up, held against the next run.

These are assumptions and never mixed with what is computed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from ragtriage.data.comparison.compare import metric_sides
from ragtriage.data.errors import DataError, WorkspaceError
from ragtriage.data.gates.config import FILE_NAME, GateConfig, read_gates
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.access import must_write
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.stored_file import replace_file
from ragtriage.data.store.workspace import Run, Workspace, utc_now
from ragtriage.metrics.diagnosis.f1_tree import F1_PARTS, F1Tree

F1 = "answer_f1"
FEWEST_QUESTIONS = 5  # below this a difference decides nothing, as for gates
LONGEST_MEASURE = 200
Standing = Literal["as expected", "less than expected", "more than expected", "cannot tell"]
_CURRENT = """
    SELECT gain_id, run_id, part, gain, measure, who, at FROM expected_gains
    WHERE run_id = ? AND undone_at IS NULL ORDER BY gain_id
"""
_UNDO = """
    UPDATE expected_gains SET undone_at = ? WHERE gain_id = (
        SELECT max(gain_id) FROM expected_gains WHERE run_id = ? AND who = ? AND undone_at IS NULL)
    RETURNING gain_id, run_id, part, gain, measure, who, at
"""


@dataclass(frozen=True)
class ExpectedGain:
    """One assumption."""

    gain_id: int  # number of the entry
    run_id: str  # the run that it was entered on
    part: str  # key of the part of the F1 tree that the measure works on
    gain: float  # in F1
    measure: str  # what is to be done
    who: str  # who expects it
    at: str  # time of the entry, ISO in UTC


@dataclass(frozen=True)
class Outcome:
    """The gain that the next run brought."""

    run: Run  # the next run
    got: float | None  # its F1 minus that of the run with the entries, paired on question
    low: float | None  # lower end of the 95 % interval; None without one
    high: float | None  # upper end
    n: int  # shared questions with F1 in both
    standing: Standing  # of the expected sum against the interval
    late: int  # entries that were made after the next run was loaded


@dataclass(frozen=True)
class Outlook:
    """The expected gains of a run, added up."""

    gains: tuple[ExpectedGain, ...]  # the entries, oldest first
    total: float  # their sum
    cautions: tuple[str, ...]  # where they promise more than the sums allow
    outcome: Outcome | None  # what the next run brought; None without a next run, or without entries


def expect_gain(ledger: Ledger, run_id: str, part: str, gain: float, measure: str, who: str) -> int:
    """Record what a measure is expected to bring; return the number of the entry.

    Args:
        ledger: of the workspace.
        run_id: the run that it is expected of.
        part: key of a part of the F1 tree.
        gain: in F1, above 0 and at most 1.
        measure: what is to be done; may be empty.
        who: name; must not be empty.

    Raises:
        DataError: a value is not accepted.
    """
    if not who.strip():
        raise WorkspaceError("an expected gain needs the name of who expects it; accepted: any text")
    if part not in [known.key for known in F1_PARTS]:
        accepted = ", ".join(known.key for known in F1_PARTS)
        raise DataError(f"part {part[:40]!r}; accepted: {accepted}")
    if not (isfinite(gain) and 0 < gain <= 1):
        raise DataError(f"expected gain {gain!r}; accepted: a number above 0, at most 1")
    with ledger.open() as connection:
        cursor = connection.execute(
            "INSERT INTO expected_gains (run_id, part, gain, measure, who, at) VALUES (?, ?, ?, ?, ?, ?)",
            (run_id, part, gain, measure.strip()[:LONGEST_MEASURE], who.strip(), utc_now().isoformat()),
        )
        return int(cursor.lastrowid or 0)


def undo_gain(ledger: Ledger, run_id: str, who: str) -> ExpectedGain | None:
    """Undo the newest entry of a user on a run and return it; None if there is none."""
    with ledger.open() as connection:
        row = connection.execute(_UNDO, (utc_now().isoformat(), run_id, who.strip())).fetchone()
    return ExpectedGain(*row) if row else None


def expected_gains(ledger: Ledger, run_id: str) -> tuple[ExpectedGain, ...]:
    """Return the entries of a run, oldest first."""
    if not ledger.path.exists():
        return ()
    with ledger.open() as connection:
        return tuple(ExpectedGain(*row) for row in connection.execute(_CURRENT, (run_id,)))


def outlook_of(store: RunStore, run: Run, tree: F1Tree | None) -> Outlook:
    """Return what is expected of a run, and what the next run of its project brought."""
    gains = expected_gains(store.ledger, run.run_id)
    following = _next_run(store, run) if gains else None
    return Outlook(
        gains,
        sum(entry.gain for entry in gains),
        tuple(_cautions(gains, tree)),
        None if following is None else outcome_of(store, run, following, gains),
    )


def _cautions(gains: Sequence[ExpectedGain], tree: F1Tree | None) -> list[str]:
    """Return where the entries promise more than perfect parts could give."""
    if tree is None:
        return []
    texts = []
    for branch in tree.branches:
        promised = sum(entry.gain for entry in gains if entry.part == branch.part.key)
        if promised > branch.gain.mean + 1e-9:
            texts.append(
                f"{branch.part.title}: {promised:.2f} is expected, and a perfect part gives at most "
                f"{branch.gain.mean:.2f} with the other side as it is"
            )
    total = sum(entry.gain for entry in gains)
    if total > 1 - tree.f1.mean + 1e-9:
        texts.append(f"the sum of {total:.2f} would raise F1 above 1")
    return texts


def _next_run(store: RunStore, run: Run) -> Run | None:
    """Return the first run after this one in its project that has samples and is a version of its own."""
    runs = store.runs(run.project)
    after = runs[[other.run_id for other in runs].index(run.run_id) + 1 :]
    own = (other for other in after if not other.means and not other.config.get("generated_from"))
    return next((other for other in own if F1 in store.scored(other).metrics), None)


def outcome_of(store: RunStore, run: Run, following: Run, gains: Sequence[ExpectedGain]) -> Outcome:
    """Hold the sum of the entries against the change of F1 from a run to the next."""
    (side,) = metric_sides(store.scored(run), store.scored(following), [F1])
    difference = side.difference
    late = sum(datetime.fromisoformat(entry.at) > following.imported_at for entry in gains)
    if not difference.n_pairs:
        return Outcome(following, None, None, None, 0, "cannot tell", late)
    low, high = (end if isfinite(end) else None for end in (difference.low, difference.high))
    total = sum(entry.gain for entry in gains)
    standing: Standing = "cannot tell"
    if low is not None and high is not None and difference.n_pairs >= FEWEST_QUESTIONS:
        standing = "as expected"
        if total > high:
            standing = "less than expected"
        elif total < low:
            standing = "more than expected"
    return Outcome(following, difference.difference, low, high, difference.n_pairs, standing, late)


def outlook_answer(outlook: Outlook) -> dict[str, Any]:
    """Return the expected gains as JSON values."""
    outcome = outlook.outcome
    return {
        "assumptions": [
            {name: value for name, value in vars(entry).items() if name != "run_id"}
            for entry in outlook.gains
        ],
        "total": outlook.total,
        "cautions": list(outlook.cautions),
        "next_run": None
        if outcome is None
        else {
            "run": outcome.run.run_id,
            "name": outcome.run.name,
            "got": outcome.got,
            "low": outcome.low,
            "high": outcome.high,
            "n": outcome.n,
            "standing": outcome.standing,
            "entered_late": outcome.late,
        },
    }


_NAMES = (
    "prototype",
    "production",
    "technical-manuals",
    "customer-service",
    "points-of-interest",
    "memory",
    "research",
    "regulated",
)


@dataclass(frozen=True)
class Profile:
    """A kind of use: its name, and what it is in one sentence."""

    name: str
    title: str


def profile_text(name: str) -> str:
    """Return the gates.toml of a profile.

    Raises:
        DataError: there is no such profile.
    """
    if name not in _NAMES:
        raise DataError(f"profile {name[:40]!r}; accepted: {', '.join(_NAMES)}")
    return (files("ragtriage.data.strategy") / "profiles" / f"{name}.toml").read_text(encoding="utf-8")


def profile_gates(name: str) -> GateConfig:
    """Return the gates of a profile; raises DataError for an unknown one."""
    return read_gates(profile_text(name), f"profile {name}")


def _title(name: str) -> str:
    return profile_text(name).partition("\n")[0].removeprefix("# ")


PROFILES: Mapping[str, Profile] = {name: Profile(name, _title(name)) for name in _NAMES}


def write_profile(workspace: Workspace, name: str, force: bool = False) -> Path:
    """Write the gates of a profile to the workspace's gates.toml, whole or not at all; return its path.

    Args:
        workspace: it is created where it does not exist.
        name: of the profile.
        force: whether a gates.toml that is there is replaced.

    Raises:
        DataError: there is no such profile, or a gates.toml is there.
        WorkspaceError: the folder cannot be written.
    """
    text, path = profile_text(name), workspace.root / FILE_NAME
    must_write(f"gates of the workspace {workspace.name}")
    workspace.create()
    if path.exists() and not force:
        raise DataError(f"{path} exists already; accepted: --force to replace it")
    try:
        replace_file(path, text.encode())
    except OSError as error:
        raise WorkspaceError(f"{path}: cannot be written ({error.strerror})") from error
    return path
