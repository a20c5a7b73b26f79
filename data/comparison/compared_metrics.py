"""The metrics of a comparison: the primary one, and the families that p-values are corrected over."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from ragtriage.data.declarations import FILE_NAME, read_settings
from ragtriage.data.diagnosis.diagnosis import Diagnosis, passing_of
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.workspace import Workspace
from ragtriage.metrics.definitions.refusal import METRICS as REFUSALS
from ragtriage.metrics.diagnosis.right import CORRECTNESS
from ragtriage.metrics.gates.wording import GOOD_SHARE
from ragtriage.metrics.metric_registry import REGISTRY, declared, imported_declarations, lookup, ordered
from ragtriage.metrics.schema.scores import FloatArray, MetricsError, Source
from ragtriage.metrics.statistics.intervals import question_means

SHOWN_K = 5
DEFAULT_FAMILY = "headline"
FAMILIES: Mapping[str, str] = {
    "headline": "Headline metrics",
    "retrieval": "Retrieval",
    "generation": "Generation",
    "answer": "Answer",
    "system": "System",
    "all": "All shared metrics",
}


HEADLINE = frozenset(
    {
        *("recall", "ndcg", "all_hops_recall", "span_recall", "span_ndcg", "context_recall"),
        *("context_precision", "context_relevance", "answer_f1", "faithfulness", "hallucination"),
        *("answer_relevancy", *CORRECTNESS, "ignored_top_ranked", "refusal_accuracy", "check_pass_rate"),
    }
)


def higher_is_better(metric: str) -> bool | None:
    """Return whether more of a metric, or of GOOD_SHARE, is better; None where no direction is."""
    declaration = declared(metric)
    return True if metric == GOOD_SHARE else None if declaration is None else declaration.higher_is_better


# estimates from words that were measured against people's labels, and may decide
MEASURED_ESTIMATES = frozenset({"right_by_text", *(metric.key for metric in REFUSALS)})


FEW_ESTIMATED = 0.05  # share of the values that may be, as where a judge failed on some


def by_words(scored: ScoredRun, metric: str) -> bool:
    """Return whether values of a metric, more than a few, are estimates from words, which decide nothing."""
    if metric in MEASURED_ESTIMATES or metric.startswith("nli_"):
        return False
    if Source.ESTIMATED not in scored.sources.get(metric, ()):
        return False
    column = scored.column(metric)
    counts = {} if column is None else column.sources
    return counts.get(Source.ESTIMATED.label, 0) > FEW_ESTIMATED * sum(counts.values())


def case_values(diagnosis: Diagnosis, metric: str) -> FloatArray:
    """(n,) value of a metric in each case; of GOOD_SHARE 1 for a good case, 0 for a bad one."""
    return passing_of(diagnosis) if metric == GOOD_SHARE else diagnosis.scored.values(metric)


def question_values(diagnosis: Diagnosis, metric: str) -> FloatArray:
    """(q,) mean of the case values of each question."""
    return question_means(case_values(diagnosis, metric), diagnosis.scored.question)[0]


def rates_alike(base: Diagnosis, other: Diagnosis) -> bool:
    """Return whether two pass rates are one quantity: without answers it is a rate of retrieval alone."""
    return bool(base.answers.n) == bool(other.answers.n)


def in_family(metric: str, family: str) -> bool:
    """Return whether a metric belongs to a family.

    The headline family has a few metrics of each component, and those that the project's users declared.
    """
    declaration = declared(metric)
    if family == "all":
        return True
    if family != "headline":
        return declaration is not None and declaration.component == family
    return metric.partition("@")[0] in HEADLINE or metric in imported_declarations()


def shared_metrics(scored_runs: Sequence[ScoredRun], k: int = SHOWN_K, family: str = "all") -> list[str]:
    """List the metrics of a family that all the runs have values for, in the registry's order.

    A metric at several k is listed at one k only: each further test makes the correction stricter.
    """
    common = set(scored_runs[0].metrics).intersection(*(scored.metrics for scored in scored_runs[1:]))
    return [
        name
        for name in ordered(tuple(common))
        if ("@" not in name or name.endswith(f"@{k}"))
        and in_family(name, family)
        and all(scored.has_values(name) for scored in scored_runs)
    ]


def pair_metrics(base: ScoredRun, other: ScoredRun, family: str = DEFAULT_FAMILY) -> list[str]:
    """List what a pair of runs is compared on, on every page and in every command.

    A pair that shares no metric of the family is compared on all that it shares.
    """
    return shared_metrics([base, other], family=family) or shared_metrics([base, other])


ACCEPTED = (
    '"pass rate" or the name of a metric, e.g. primary = "recall@5", at the top or under [project.NAME]'
)


def primary_metric(workspace: Workspace, project: str) -> str:
    """Return the primary metric of a project: its own in metrics.toml, else the general one.

    Raises:
        DataError: the file cannot be read, or holds something else.
    """
    path, settings = workspace.root / FILE_NAME, read_settings(workspace)
    projects = settings.get("project", {})
    own = projects.get(project, {}) if isinstance(projects, dict) else projects
    if not isinstance(own, dict):
        raise DataError(f"{path}: [project] is not a table; accepted: {ACCEPTED}")
    name = own.get("primary", settings.get("primary", GOOD_SHARE))
    if not isinstance(name, str) or not name.strip():
        raise DataError(f"{path}: primary is {name!r}; accepted: {ACCEPTED}")
    near = get_close_matches(name, [GOOD_SHARE, *REGISTRY], n=1, cutoff=0.85)
    if near and name not in near and declared(name) is None and "@" not in name:
        raise DataError(f"{path}: primary is {name!r} (did you mean {near[0]!r}?); accepted: {ACCEPTED}")
    return resolved_primary(name, str(path))


def resolved_primary(name: str, source: str) -> str:
    """Return the full name of a primary metric; a name that is not declared may be an imported score.

    Raises:
        DataError: it lacks its rank k, or takes none.
    """
    if name == GOOD_SHARE:
        return name
    try:
        return lookup(name).name
    except MetricsError as error:
        if f"{name}@k" in REGISTRY or "@" in name:
            raise DataError(f"{source}: primary metric {name!r}; accepted: {ACCEPTED}") from error
        return name
