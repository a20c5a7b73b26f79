"""Suites on lists of items: filters, order, memory, and isolation between accounts."""

from collections.abc import Sequence

from ragtriage.dashboard.suites.view import Failing, SuiteView, figure_table
from ragtriage.data.suites.filter import FILTER_SUITE, FilterFindings
from ragtriage.data.suites.isolation import ISOLATION_SUITE, IsolationFindings
from ragtriage.data.suites.memory import MEMORY_SUITE, MemoryFindings
from ragtriage.data.suites.order import ORDER_SUITE, OrderFindings
from ragtriage.data.suites.suite import part_cohort
from ragtriage.metrics.number_text import count, percent
from ragtriage.metrics.result_table import ResultTable
from ragtriage.metrics.statistics.power import still_possible

MOST_VIOLATIONS = 20
EMPTY_TITLES = {
    "right empty": "Nothing is right, and nothing is named",
    "fabricated": "Nothing is right, and an item is named: fabricated",
    "false empty": "Items are right, and none is named: false empty",
    "not empty": "Items are right, and some are named",
}
MOST_PLACES = 10
ORDER_NOTE = "Items with equal keys may come in any order. Tau-b needs two items with different keys."
MOST_ACCOUNTS = 10
ISOLATION_NOTE = (
    "A leak is a retrieved document of another account than the one that asks; 0 are tolerated. Documents "
    "without an account are shared and never leak. A system that retrieves nothing leaks nothing: read the "
    "recall as well."
)


def _filter_statement(findings: FilterFindings) -> str:
    sentences, empty, n = [], findings.empty, findings.n_constraint_checks
    if n:
        sentences.append(
            f"Exactly the expected constraints are extracted in {findings.n_exact:,} of {n:,} checks."
        )
    invented, missed = empty.get("fabricated", 0), empty.get("false empty", 0)
    if nothing := empty.get("right empty", 0) + invented:
        sentences.append(f"{invented:,} of {count(nothing, 'empty result')} were answered with an item.")
    if something := missed + empty.get("not empty", 0):
        some = f"{missed:,} of {count(something, 'non-empty result')} were"
        reported = some if missed else "No non-empty result was"
        sentences.append(f"{reported} reported as empty.")
    return " ".join(sentences)


def _filter_tables(findings: FilterFindings) -> Sequence[ResultTable]:
    from_answer, n = findings.n_from_answer, findings.n_item_checks
    item_note = (
        "Precision: returned items that satisfy every constraint / returned. Recall: satisfying items "
        f"returned / satisfying. Undefined where nothing is returned, or right. {from_answer:,} of {n:,} "
        "lists were read from the answer by name, an estimate; the others are recorded."
    )
    broken = sorted(findings.broken.items(), key=lambda item: -item[1])[:MOST_VIOLATIONS]
    return (
        figure_table("Extracted against expected constraints", findings.extracted),
        figure_table(
            "By constraint",
            findings.by_field,
            "Share of the questions with the constraint whose operator and value were extracted as expected.",
            "Constraint on",
            "Extracted",
        ),
        figure_table("Returned against satisfying items", findings.returned, item_note),
        ResultTable(
            "Empty results",
            tuple(
                {"Result": title, "Checks": findings.empty.get(key, 0)}
                for key, title in EMPTY_TITLES.items()
                if findings.empty
            ),
            "An item named where nothing is right is critical.",
            tuple(part_cohort(FILTER_SUITE.key, "empty", key) for key in EMPTY_TITLES),
        ),
        ResultTable(
            "Violations",
            tuple({"Constraint": text, "Items that break it": n} for text, n in broken),
            "Returned items, counted over all checks.",
            tuple(part_cohort(FILTER_SUITE.key, "breaks", text) for text, _ in broken),
        ),
    )


FILTER_VIEW = SuiteView(
    FILTER_SUITE,
    Failing("case", "used a wrong filter", "used a wrong filter"),
    _filter_statement,
    _filter_tables,
)


def _order_statement(findings: OrderFindings) -> str:
    n = findings.n_ordered
    return f"{n - findings.n_out_of_order:,} of {n:,} lists are in the expected order."


def _order_tables(findings: OrderFindings) -> Sequence[ResultTable]:
    places = sorted(findings.inversions)[:MOST_PLACES]
    return (
        figure_table("Order of what is returned", (findings.in_order, findings.tau), ORDER_NOTE),
        ResultTable(
            "First inversion",
            tuple({"First out of order at place": at, "Checks": findings.inversions[at]} for at in places),
            "",
            tuple(part_cohort(ORDER_SUITE.key, "inversion", at) for at in places),
        ),
    )


ORDER_VIEW = SuiteView(
    ORDER_SUITE,
    Failing("list", "is in the wrong order", "are in the wrong order"),
    _order_statement,
    _order_tables,
)


def _memory_statement(findings: MemoryFindings) -> str:
    n = findings.n_decided
    return f"{findings.n_recalled:,} of {n:,} earlier turns were recalled." if n else ""


def _memory_tables(findings: MemoryFindings) -> Sequence[ResultTable]:
    note = "Age: days from the turn to the question."
    return (
        figure_table("By age", findings.by_gap, note, "Age", "Recalled"),
        figure_table("Within N days", findings.within, "", "Within", "Recalled"),
        figure_table("Recall by rank", findings.recall),
    )


MEMORY_VIEW = SuiteView(
    MEMORY_SUITE,
    Failing("earlier turn", "was not recalled", "were not recalled"),
    _memory_statement,
    _memory_tables,
)


def _isolation_statement(findings: IsolationFindings) -> str:
    sentences, n, accounts = [], findings.n_samples, findings.n_accounts
    if n:
        sentences.append(
            f"{findings.n_leaks:,} of {n:,} samples retrieve a document of another account, among "
            f"{count(accounts, 'account')} and {findings.n_documents:,} retrieved documents of theirs."
        )
        if accounts < 2:
            sentences.append("One account proves nothing: there is no other whose documents could leak.")
        elif not findings.n_leaks:
            sentences.append(
                f"No leak in {n:,} still allows a rate of up to {percent(still_possible(n), 1)}."
            )
    if findings.n_answers:
        sentences.append(
            f"{findings.n_told:,} of {findings.n_answers:,} answers reveal data of another account."
        )
    return " ".join(sentences)


def _isolation_tables(findings: IsolationFindings) -> Sequence[ResultTable]:
    leaks = figure_table("Leaks", (*findings.leaks, *findings.recall), ISOLATION_NOTE)
    if not findings.n_leaks:
        return (leaks,)
    by_account = ResultTable(
        "By account",
        tuple(
            {
                "Account that asks": name[:40],
                "Samples": n,
                "With a leak": leaked,
                "Documents of others": foreign,
            }
            for name, (n, leaked, foreign) in list(findings.by_account.items())[:MOST_ACCOUNTS]
        ),
        f"The {MOST_ACCOUNTS} with the most leaks." if len(findings.by_account) > MOST_ACCOUNTS else "",
    )
    return leaks, by_account


ISOLATION_VIEW = SuiteView(
    ISOLATION_SUITE,
    Failing("case", "shows another account’s data", "show another account’s data"),
    _isolation_statement,
    _isolation_tables,
)
