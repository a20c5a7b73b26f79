"""What the Chunking page concludes: which chunking to take, or why the sample cannot tell."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.dashboard.wording.escaping import capital, in_sentence, shorten
from ragtriage.data.chunking.grids import GridRanking, Outcome, TrialValue
from ragtriage.metrics.gates.gates import FEWEST_QUESTIONS
from ragtriage.metrics.metric_registry import declared, title_of
from ragtriage.metrics.number_text import count, interval_text, number

LONGEST_NAME = 48
LONGEST_STATEMENT = 70
NEARLY = 0.9  # share of the best precision that costs about the same
CHEAPER = "no tied chunking passes on clearly less irrelevant text"
NO_GRID = Headline(
    "empty",
    "Run a grid of sizes and overlaps",
    "A grid retrieves for the same questions from differently split documents, and scores each way of "
    "splitting by the gold text that it brings back",
)


def index_size(entry: TrialValue) -> tuple[float, float]:
    """Return the tokens in the index, then its chunks; what was not recorded counts as large."""
    config = entry.trial.run.config
    tokens, chunks = (config.get(name) for name in ("index_tokens", "n_chunks"))
    return (
        float(tokens) if isinstance(tokens, int | float) else float("inf"),
        float(chunks) if isinstance(chunks, int | float) else float("inf"),
    )


def cheapest(ranking: GridRanking, precision: GridRanking | None = None) -> TrialValue | None:
    """Return the cheapest of those that the test cannot tell from the best; None where none is known to be.

    Args:
        ranking: the configurations under the metric on display.
        precision: the same under the precision of the chunks: the cheapest hands on the least text that is
            not gold. None, or without values, for the smallest index instead.
    """
    good = [entry for entry in ranking.values if entry.outcome in ("best", "same", "equal")]
    if len(good) < 2:
        return None
    means = {
        entry.trial.run.run_id: entry.value.mean
        for entry in (precision.values if precision else ())
        if entry.value is not None
    }
    if precision is not None and all(entry.trial.run.run_id in means for entry in good):
        enough = NEARLY * max(means[entry.trial.run.run_id] for entry in good)
        near = [entry for entry in good if means[entry.trial.run.run_id] >= enough]
        outcomes = ("best", "same", "equal")  # of those that cost about the same, the best; then the first
        return min(near, key=lambda entry: (outcomes.index(entry.outcome), _loss(entry)))
    smallest, second, *_ = sorted(good, key=index_size)
    return smallest if index_size(smallest) < index_size(second) else None


def _loss(entry: TrialValue) -> float:
    """Return how far the mean is from that of the best configuration."""
    return abs(entry.difference.difference) if entry.difference is not None else 0.0


def chunking_headline(
    ranking: GridRanking | None,
    precision: GridRanking | None = None,
    unit: str = "",
    doubts: Sequence[str] = (),
    elsewhere: tuple[int, Mapping[str, float]] = (0, {}),
) -> Headline:
    """Return what a grid shows.

    Args:
        ranking: the configurations under the metric on display; None where the grid has no metric at all.
        precision: the same under the precision of the chunks, which says what text costs; None for none.
        unit: what sizes count, "" where not recorded.
        doubts: what the grid itself doubts, as an unfinished search.
        elsewhere: another k, and run id -> mean at it; a sentence says where another configuration leads.
    """
    headline = _chunking_headline(ranking, precision, unit, doubts)
    if headline.statement.startswith("by "):  # how it splits, as "by heading"
        headline = replace(headline, statement=capital(headline.statement))
    other = _best_elsewhere(ranking, *elsewhere) if ranking else ""
    return replace(headline, detail=f"{headline.detail}. {other}") if other else headline


def _best_elsewhere(ranking: GridRanking, k: int, means: Mapping[str, float]) -> str:
    """Return which configuration has the best mean among the top k; "" where the best one has it as well."""
    best, declaration = ranking.best, declared(ranking.metric)
    if best is None or not means or (declaration is not None and declaration.higher_is_better is False):
        return ""
    run_id = max(means, key=means.__getitem__)
    if means[run_id] <= means.get(best.trial.run.run_id, 0.0):
        return ""
    name = next(
        shorten(each.trial.run.name, 40) for each in ranking.values if each.trial.run.run_id == run_id
    )
    mean = number(means[run_id], 3)
    return f"The order depends on k: among the top {k}, {name} has the best mean, {mean}"


def _chunking_headline(
    ranking: GridRanking | None, precision: GridRanking | None, unit: str, doubts: Sequence[str]
) -> Headline:
    doubt = "; ".join(doubts)
    if ranking is None:
        return Headline(
            "not measured",
            "No gold spans to score against",
            "The questions of this grid need gold text, gold documents or answers",
            doubt,
        )
    metric = in_sentence(title_of(ranking.metric))
    if any(entry.outcome == "mean alone" for entry in ranking.values):
        return _by_means(ranking, metric, doubt)
    if 0 < ranking.n_questions < FEWEST_QUESTIONS:
        few = f"{count(ranking.n_questions, 'question')} cannot show which chunking is best"
        return Headline("cannot tell", few, f"Run the grid on {FEWEST_QUESTIONS} questions or more", doubt)
    outcomes = {entry.outcome for entry in ranking.values}
    best = ranking.best
    if best is None or best.value is None:
        return _without_best(ranking, metric, outcomes, precision, doubt)
    value = f"{metric} {number(best.value.mean, 3)} {interval_text(best.value.low, best.value.high, 3)}"
    n = f"n = {best.value.n_scored:,}"
    measured = [entry for entry in ranking.values if entry.value is not None]
    if len(measured) == 1:
        detail = f"{value}, {n}; nothing else was measured, so there is nothing to compare it with"
        return Headline("cannot tell", f"Only {_name(best)} has a value", detail, doubt)
    same = [entry for entry in measured if entry.outcome == "same"]
    if not same:
        detail = f"Best mean: {value}, {n}. Every other measured configuration is worse by a paired test"
        return Headline("good", _fitting(f"{_name(best)} beats every other chunking"), detail, doubt)
    pick = cheapest(ranking, precision) or best
    chosen = _pick_text(pick, best, precision, f"{value}, {n}")
    losing = _losing_sizes(ranking)
    if losing[0] and losing[1] and pick is best:
        return Headline("bad", _losing_statement(*losing, ranking.metric, unit), chosen, doubt)
    if len(same) == len(measured) - 1:
        others = count(len(measured) - 1, "other configuration")
        detail = f"{chosen}. A paired test cannot separate it from the {others}"
        return Headline("cannot tell", "No chunking stands out", detail, doubt)
    tied = f"{_name(best)} has the best {metric}; {count(len(same), 'other')} tied with it"
    statement = tied if pick is best else f"{_name(pick)} is tied with {_name(best)}, and cheaper"
    if len(statement) > LONGEST_STATEMENT:
        statement = (
            f"{_name(best)} has the best {metric}" if pick is best else f"{_name(pick)} is tied with the best"
        )
    losers = f" {_losing_statement(*losing, ranking.metric, unit)}." if losing[0] and losing[1] else ""
    are = "is" if len(same) == 1 else "are"
    sentence = f"{len(same):,} of {len(measured) - 1:,} alternatives {are} statistically tied with the best"
    return Headline("good", statement, f"{chosen}.{losers} {sentence}", doubt)


def _by_means(ranking: GridRanking, metric: str, doubt: str) -> Headline:
    """Return what means without samples show: which is the best, and that nothing says by how much."""
    measured = [entry for entry in ranking.values if entry.value is not None]
    declaration = declared(ranking.metric)
    sign = -1.0 if declaration is not None and declaration.higher_is_better is False else 1.0
    best = max(measured, key=lambda entry: sign * entry.value.mean if entry.value else 0.0)
    value = number(best.value.mean if best.value else None, 3)
    detail = (
        f"{capital(metric)} {value}, the best of {count(len(measured), 'mean')}; without samples a real "
        "difference cannot be told from chance. Load the runs themselves to compare them"
    )
    return Headline("cannot tell", _fitting(f"Best mean: {_name(best)}"), detail, doubt)


def _without_best(
    ranking: GridRanking, metric: str, outcomes: set[Outcome], precision: GridRanking | None, doubt: str
) -> Headline:
    """Return why a grid has no best configuration."""
    if ranking.n_left_out and not ranking.n_questions:
        detail = "The configurations share no question that has a value, so they cannot be compared"
        return Headline("not measured", "The chunkings share no scored question", detail, doubt)
    if "equal" in outcomes:
        equal = [entry for entry in ranking.values if entry.outcome == "equal"]
        mean = number(equal[0].value.mean if equal[0].value else None, 3)
        pick = cheapest(ranking, precision)
        chosen = "" if pick is None else f"Pick {_name(pick)}, which {_cost_text(precision)}; "
        detail = f"{chosen}{metric} {mean} in each, n = {ranking.n_questions:,}, so none is the best"
        return Headline("good", f"All {len(equal):,} chunkings do equally well", detail, doubt)
    if "no direction" in outcomes:
        detail = "Neither more nor less of it is better, so no configuration is better than another"
        return Headline(
            "cannot tell", _fitting(f"{capital(metric)} has no direction: none is best"), detail, doubt
        )
    return Headline("not measured", _fitting(f"No chunking has {metric}"), "Choose another metric", doubt)


def _name(entry: TrialValue) -> str:
    return shorten(entry.trial.run.name, LONGEST_NAME)


def _fitting(statement: str) -> str:
    return shorten(statement, LONGEST_STATEMENT)


def _cost_text(precision: GridRanking | None) -> str:
    return "has the smallest index" if precision is None else "passes on the least irrelevant text"


def _pick_text(pick: TrialValue, best: TrialValue, precision: GridRanking | None, measured: str) -> str:
    """Return which configuration to take, what it saves against the best one, and what that measured."""
    if pick is best:
        return f"Pick {_name(best)}: {measured}{'' if precision is None else f'; {CHEAPER}'}"
    means = {
        entry.trial.run.run_id: entry.value.mean
        for entry in (precision.values if precision else ())
        if entry.value is not None
    }
    ours, theirs = (means.get(entry.trial.run.run_id, 0.0) for entry in (pick, best))
    saved = (
        f"{ours / theirs:.1f} times its precision"
        if ours > 0 and theirs > 0
        else _cost_text(None if pick.trial.run.run_id not in means else precision)
    )
    return f"Pick {_name(pick)}: tied with the best, {saved}; best mean: {_name(best)}, {measured}"


def _losing_sizes(ranking: GridRanking) -> tuple[list[int], list[int]]:
    """Return the sizes of which every configuration is worse than the best one, and the others."""
    by_size: dict[int, set[str]] = {}
    for entry in ranking.values:
        if entry.trial.run.run_id in ranking.heatmap and entry.value is not None:
            by_size.setdefault(entry.trial.size, set()).add(entry.outcome)
    losing = sorted(size for size, outcomes in by_size.items() if outcomes == {"worse"})
    return losing, sorted(set(by_size) - set(losing))


def _losing_statement(losing: Sequence[int], others: Sequence[int], metric: str, unit: str) -> str:
    """Return that chunks of some sizes do worse, with the others where that fits."""
    thing = unit.removesuffix("s") or "unit"
    few = " and ".join(f"{size:,}" for size in losing)
    sizes = few if len(losing) < 3 else f"{losing[0]:,} to {losing[-1]:,}"
    does = "recall less" if "recall" in metric else "score worse"
    statement = f"{sizes}-{thing} chunks {does}" if unit else f"Chunks of size {sizes} {does}"
    if len(others) == 1:
        longer = f"{statement} than {others[0]:,}"
    else:
        names = f"{', '.join(f'{size:,}' for size in others[:-1])} and {others[-1]:,}"
        longer = f"{statement}; {names} are tied"
    return longer if len(longer) <= LONGEST_STATEMENT else _fitting(statement)
