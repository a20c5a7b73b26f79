"""How often a version is shipped or blocked by the rule of the primary metric, at true changes of it.

Each draw is a baseline that passes 75 % of the questions, and a version that wins a tenth of those that fail,
loses as many, and loses the true change on top. The margin is 0.05. Printed are shares shipped / blocked: by
the rule of the gates (the one-sided bound inside the margin; the drop at least the margin and a one-sided
exact test says worse), by a whole normal interval, and by a drop with a two-sided test. Where statgate and
evalproof are installed (0.1.1 and 0.2.1), their own decisions on the same draws stand beside them.
`--graded` draws scores instead, of which most are 1.

Usage: python benchmarks/release_rules.py [--draws 2000] [--graded]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec

import numpy as np

from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.statistics.max_t import margin_test
from ragtriage.metrics.statistics.paired import MARGIN, SIGNIFICANCE, mcnemar, paired

BASE, FLIPS = 0.75, 0.10
GRADED_MEAN = 0.9
SIZES = (48, 100, 300)
CHANGES = (0.0, -0.05, -0.10, -0.15)
Rule = Callable[[FloatArray, FloatArray], str]


def main() -> None:
    """Print one row for each number of questions and true change."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--graded", action="store_true", help="scores from 0 to 1 instead of passes")
    options = parser.parse_args()
    rules: dict[str, Rule] = {"this rule": _this_rule, "whole interval": _whole_interval}
    if not options.graded:
        rules["drop, two-sided p"] = _drop_and_p
        installed = {"statgate": _statgate, "evalproof": _evalproof}
        rules |= {name: rule for name, rule in installed.items() if find_spec(name)}
        for name in installed.keys() - rules.keys():
            print(f"{name} is not installed: its column is left out")
    print(f"| questions | true change | {' | '.join(rules)} |")
    print(f"|---|---|{'---|' * len(rules)}")
    for n in SIZES:
        for change in CHANGES:
            rng = np.random.default_rng([n, round(-100 * change)])
            decided = _of_scores if options.graded else _of_passes
            cells = map(_shares, decided(rng, n, change, options.draws, list(rules.values())))
            print(f"| {n} | {change:+.2f} | {' | '.join(cells)} |", flush=True)


def _shares(decisions: list[str]) -> str:
    shipped, blocked = (decisions.count(word) / len(decisions) for word in ("ship", "block"))
    return f"{shipped:.2f} / {blocked:.2f}"


def _of_passes(
    rng: np.random.Generator, n: int, change: float, draws: int, rules: list[Rule]
) -> list[list[str]]:
    """Return the decisions of each rule; two draws that lose and win as many are decided once."""
    won = FLIPS * (1 - BASE)
    counts = rng.multinomial(n, [won - change, won, 1 - 2 * won + change], size=draws).tolist()

    @lru_cache(None)
    def decided(rule: Rule, lost: int, gained: int) -> str:
        before, after = np.ones(n), np.ones(n)
        after[:lost] = 0.0
        before[lost : lost + gained] = 0.0
        return rule(before, after)

    return [[decided(rule, lost, gained) for lost, gained, _ in counts] for rule in rules]


def _of_scores(
    rng: np.random.Generator, n: int, change: float, draws: int, rules: list[Rule]
) -> list[list[str]]:
    """Return the decisions on scores: a fifth of the answers is anew, and some lose all of theirs."""
    decisions: list[list[str]] = [[] for _ in rules]
    for _ in range(draws):
        before, other = (np.where(rng.random(n) < 0.8, 1.0, rng.random(n)) for _ in range(2))
        after = np.where(rng.random(n) < 0.8, before, other)
        after = np.where(rng.random(n) < -change / GRADED_MEAN, 0.0, after)
        for rule, made in zip(rules, decisions, strict=True):
            made.append(rule(before, after))
    return decisions


def _this_rule(before: FloatArray, after: FloatArray) -> str:
    held = margin_test(paired(before, after, np.arange(len(before))), True)
    return {"worse": "block", "cannot tell": "open"}.get(held.outcome, "ship")


def _whole_interval(before: FloatArray, after: FloatArray) -> str:
    changes = after - before
    reach = 1.96 * changes.std(ddof=1) / np.sqrt(len(changes))
    if changes.mean() - reach >= -MARGIN:
        return "ship"
    return "block" if changes.mean() + reach < -MARGIN else "open"


def _drop_and_p(before: FloatArray, after: FloatArray) -> str:
    dropped = (before - after).mean() >= MARGIN - 1e-9
    return "block" if dropped and mcnemar(before, after) < SIGNIFICANCE else "open"


def _statgate(before: FloatArray, after: FloatArray) -> str:
    from statgate.config import GateSettings
    from statgate.records import EvalRecord
    from statgate.verdict import evaluate_gate

    sides = [
        [EvalRecord(case_id=str(at), passed=bool(value)) for at, value in enumerate(side)]
        for side in (before, after)
    ]
    return str(evaluate_gate(*sides, GateSettings(margin=MARGIN)).verdict).lower()


def _evalproof(before: FloatArray, after: FloatArray) -> str:
    from evalproof.stats import mcnemar_exact, paired_bootstrap

    drop = -paired_bootstrap(before.tolist(), after.tolist(), n_boot=10).delta
    p = mcnemar_exact(int((before > after).sum()), int((before < after).sum()))
    return "block" if drop >= MARGIN - 1e-9 and p < SIGNIFICANCE else "open"


if __name__ == "__main__":
    main()
