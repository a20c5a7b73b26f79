"""The F1 tree in words, the same on the page, on the command line and in reports."""

from __future__ import annotations

from ragtriage.dashboard.wording.escaping import in_sentence
from ragtriage.data.diagnosis.f1_tree import F1Diagnosis
from ragtriage.data.strategy.expected_gains import Outlook
from ragtriage.metrics.diagnosis.f1_tree import F1_PARTS, F1Branch, F1Part, F1Tree
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import count, interval_text, number, signed

BOUND_NOTE = (
    "at most: the mean F1 if the part were perfect and the other side of F1 stayed as it is; parts of one "
    "side overlap, so their gains do not add up"
)
TRUE_TOO = "Claims that the reference lacks count here, true or not: read the cases before repairing."
_PARENTS = {part.key: part.parent for part in F1_PARTS}
_TITLES = {part.key: part.title for part in F1_PARTS}
MOST_NAMED = 3


def depth_of(part: F1Part) -> int:
    """Return how far below F1 a part stands: 0 for precision and recall."""
    depth, key = 0, part.parent
    while key:
        depth, key = depth + 1, _PARENTS[key]
    return depth


def part_title(key: str) -> str:
    """Return the title of a part of the tree; the key itself where there is none."""
    return _TITLES.get(key, key)


def largest_leaf(tree: F1Tree) -> F1Branch | None:
    """Return the part without parts of its own that could give the most F1; None where none gives any."""
    parents = {branch.part.parent for branch in tree.branches}
    leaves = [branch for branch in tree.branches if branch.part.key not in parents and branch.n_cases]
    return max(leaves, key=lambda branch: branch.gain.mean, default=None)


def f1_sentence(diagnosis: F1Diagnosis) -> str:
    """Return why F1 is what it is: the side and the part that cost most, with numbers."""
    tree = diagnosis.tree
    if tree is None:
        lacking = ", ".join(in_sentence(title_of(name)) for name in diagnosis.lacking[:MOST_NAMED])
        return f"F1 is not measured: the run has no value of {lacking or 'answer F1'}."
    questions = count(tree.f1.n_scored, "question")
    now = f"F1 is {number(tree.f1.mean)} {interval_text(tree.f1.low, tree.f1.high)} over {questions}"
    leaf = largest_leaf(tree)
    if leaf is None:
        return f"{now}; answers and references make the same claims in every case."
    side = next(branch for branch in tree.branches if not branch.part.parent)
    costs = f"{side.part.title} costs most: perfect, it would give at most {number(side.bound)}"
    if leaf.part.key == side.part.key:
        return f"{now}. {costs}."
    check = f" {TRUE_TOO}" if leaf.part.key == "noise_relevant" else ""
    return (
        f"{now}. {costs}. The largest single part is {in_sentence(leaf.part.title)}: at most "
        f"{number(leaf.bound)}, in {count(leaf.n_cases, 'case')}.{check}"
    )


def left_out_text(diagnosis: F1Diagnosis) -> str:
    """Return how many cases the tree does not rest on, and why; "" where it rests on all."""
    tree = diagnosis.tree
    if tree is None:
        return ""
    without, unlabelled = diagnosis.n_total - tree.n_f1, tree.n_f1 - tree.n_samples
    parts = [
        f"{count(without, 'case')} of {diagnosis.n_total:,} without F1 (refused, no claims, or not labelled) "
        "left out"
        if without
        else "",
        f"{count(unlabelled, 'case')} with F1 left out: claims without support labels, or that do not add up"
        if unlabelled
        else "",
        "" if tree.by_support else "which documents support the claims is not known, so there are no parts",
    ]
    return "; ".join(part for part in parts if part)


def expected_text(outlook: Outlook) -> str:
    """Return what is assumed in sum, and what the next run brought."""
    if not outlook.gains:
        return ""
    entries = count(len(outlook.gains), "assumption")
    total = f"{entries}, together {signed(outlook.total)} F1"
    outcome = outlook.outcome
    if outcome is None:
        return f"{total}; the project has no later run with F1 yet."
    if outcome.got is None:
        return f"{total}; the next run, {outcome.run.name}, shares no question with F1."
    late = f" {count(outcome.late, 'assumption')} entered after that run was loaded." if outcome.late else ""
    got = f"{signed(outcome.got)} {interval_text(outcome.low, outcome.high)}"
    over = count(outcome.n, "shared question")
    return f"{total}. The next run, {outcome.run.name}, brought {got} over {over}: {outcome.standing}.{late}"
