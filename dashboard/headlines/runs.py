"""What the Runs page concludes: which runs have a pass rate and no warning, and which need a look first."""

from collections import Counter
from collections.abc import Mapping, Sequence

from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.data.diagnosis.run_digest import RunDigest
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.number_text import count

LONGEST_NAME, LONGEST_PROJECT = 30, 24


def runs_headline(
    runs: Sequence[Run],
    digests: Mapping[str, RunDigest],
    names: Mapping[str, str],
    n_unreadable: int = 0,
    project: str = "",
) -> Headline:
    """Return the conclusion about the runs of a workspace, or of one of its projects.

    Args:
        runs: of every project.
        digests: run id -> digest, of those that were read.
        names: run id -> name.
        n_unreadable: runs whose files cannot be read.
        project: the one to conclude about; "" for all.
    """
    elsewhere = [run.run_id for run in runs if project and run.project != project]
    runs = [run for run in runs if not project or run.project == project]
    broken_elsewhere = sum(bool(digests[run_id].errors) for run_id in elsewhere if run_id in digests)
    digests = {run.run_id: digests[run.run_id] for run in runs if run.run_id in digests}
    of_project = f" of {shorten(project, LONGEST_PROJECT)}" if elsewhere else ""
    if not runs and not n_unreadable:
        return Headline("empty", "Load a first run", "Load a file here, or see the bundled samples with "
                        "`ragtriage demo`.")  # fmt: skip
    broken = [digest for digest in digests.values() if digest.errors]
    doubted = [digest for digest in digests.values() if digest.warnings and not digest.errors]
    readable = sum(digest.readable for digest in digests.values())
    means = sum(bool(run.means) for run in runs)
    unmeasured = sum(digest.pass_rate is None for digest in digests.values()) - means
    detail = _sentences(
        (n_unreadable, "cannot be opened: the files are damaged"),
        (len(broken), f"{_have(len(broken))} an error, such as values out of range"),
        (len(doubted), f"{_have(len(doubted))} a warning, most often “{_commonest(doubted)}”"),
        (unmeasured, f"{_have(unmeasured)} no pass rate: nothing says whether an answer is good"),
        (means, f"{_have(means)} summary scores only"),
        (len(runs) - len(digests), "not read yet"),
        (broken_elsewhere, f"in other projects {_have(broken_elsewhere)} an error"),
    )  # fmt: skip
    if n_unreadable:
        return Headline("bad", f"{count(n_unreadable, 'run')} cannot be opened", detail)
    if broken:
        name = shorten(names[broken[0].run_id], LONGEST_NAME)
        project = shorten(
            next(run.project for run in runs if run.run_id == broken[0].run_id), LONGEST_PROJECT
        )
        single = f"{name} ({project}): its numbers have errors"
        several = f"{count(len(broken), 'run')}{of_project} have errors in their numbers"
        return Headline("bad", several if broken[1:] else single, detail)
    all_runs = f"{count(len(runs), 'run')}{of_project}"
    if means == len(runs):
        return Headline("not measured", f"{all_runs} {_have(means)} summary scores only", detail)
    need, unread = len(digests) - readable, len(runs) - len(digests)
    if not need and not unread:
        return Headline("good", f"{all_runs}, no warnings", f"Each has a pass rate. {detail}".strip())
    if not need:
        return Headline("cannot tell", f"{readable:,} of {all_runs} are read so far", detail)
    look = f"{'needs' if need == 1 else 'need'} a look"
    what = f"{_have(need)} warnings" if need == len(doubted) else look
    return Headline("cannot tell", f"{need:,} of {all_runs} {what}", detail)


def _commonest(digests: Sequence[RunDigest]) -> str:
    titles = Counter(title for digest in digests for title in digest.warnings)
    return titles.most_common(1)[0][0] if titles else ""


def _sentences(*parts: tuple[int, str]) -> str:
    return " ".join(f"{n:,} {what}." for n, what in parts if n > 0)


def _have(n: int) -> str:
    return "has" if n == 1 else "have"
