"""The agreement command: how far metrics and judges agree with human labels, and the means these correct."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ragtriage.dashboard.cli.options import JSON, PATH, with_default
from ragtriage.dashboard.cli.terminal import plain, print_answer, table
from ragtriage.dashboard.wording.escaping import capital
from ragtriage.data.api import open_store
from ragtriage.data.errors import DataError
from ragtriage.data.labels.agreement import DEFAULT_THRESHOLDS, Thresholds
from ragtriage.data.labels.agreement_report import (
    FEWEST_CLASSES,
    MOST_CLASSES,
    MetricAgreement,
    NoMetricError,
    agreement_rows,
    annotator_rows,
    preference_rows,
)
from ragtriage.data.labels.corrected_means import corrected_means
from ragtriage.data.labels.human_ratings import BY_USERS, IMPORTED, OF_USERS
from ragtriage.data.labels.label_files import LoadedLabels, file_preferences, load_labels, read_labels
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.access import user_name
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.number_text import count, interval_text, number, signed

STATISTICS: Mapping[str, str] = {
    "pearson": "Pearson",
    "spearman": "Spearman",
    "accuracy": "accuracy",
    "kappa": "kappa",
    "kappa_linear": "kappa, linear",
    "kappa_quadratic": "kappa, quadratic",
    "alpha": "alpha",
    "true_positive_rate": "true positive rate",
    "true_negative_rate": "true negative rate",
}
EXPLAINED = (
    "95 % bootstrap intervals over questions or conversations; rates as every pass rate. Kappa is Cohen's, "
    "weighted from three classes on; alpha is Krippendorff's between metric and labels. One annotator: "
    "single ratings against the mean of the other ratings, and the metric against the same means."
)


@click.command()
@click.argument("run_name", metavar="RUN", required=False)
@click.option(
    "--dimension",
    "dimensions",
    multiple=True,
    metavar="NAME",
    help="Dimension of the labels; by default all.",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Metric to compare; `all` for every related one. By default those of the same dimension.",
)
@with_default(
    "--classes",
    FEWEST_CLASSES,
    "Two, split at the thresholds; or more, as equal parts of each scale.",
    type=click.IntRange(FEWEST_CLASSES, MOST_CLASSES),
)
@with_default(
    "--thresholds",
    DEFAULT_THRESHOLDS,
    "Where a label and a metric count as high, as shares of their scales.",
    type=(click.FloatRange(0, 1), click.FloatRange(0, 1)),
    metavar="HUMAN METRIC",
)
@click.option(
    "--against", metavar="RUN", help="Also compare which of two runs is better, question by question."
)
@click.option("--labels", type=PATH, metavar="FILE", help="Store the labels of a CSV, TSV or JSONL file.")
@click.option("--random", is_flag=True, help="The labels of FILE are a random sample of the run.")
@click.option("--who", metavar="NAME", help="Who labelled FILE; by default your login name.")
@click.option("--pairs", type=PATH, metavar="FILE", help="Human preferences, as RAGChecker has them.")
@click.option(
    "--scores",
    type=PATH,
    multiple=True,
    metavar="FILE",
    help="Scores of both answers of --pairs; may be repeated.",
)
@JSON
@click.pass_obj
def agreement(
    workspace: str | None,
    run_name: str | None,
    dimensions: tuple[str, ...],
    metrics: tuple[str, ...],
    classes: int,
    thresholds: Thresholds,
    against: str | None,
    labels: Path | None,
    random: bool,
    who: str | None,
    pairs: Path | None,
    scores: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Compare metrics and judges with human labels.

    Pearson, Spearman, accuracy, Cohen's kappa and Krippendorff's alpha for each judge, next to what one
    annotator reaches, and means corrected with randomly drawn labels.
    """
    one_of_two = (pairs is None) != (run_name is None)
    if not one_of_two or (pairs is None) != (not scores) or (random and labels is None):
        raise DataError(
            "agreement: accepted: a RUN (with --labels FILE, and --random with it), or --pairs FILE with "
            "--scores FILE"
        )
    if pairs is not None:
        answer: dict[str, Any] = {"preferences": [row.to_dict() for row in file_preferences(pairs, scores)]}
    else:
        store = open_store(workspace)
        run = store.find(str(run_name))
        loaded = None
        if labels is not None:
            loaded = load_labels(
                store.ledger, store.scored(run), read_labels(labels), labels.name, random, user_name(who)
            )
        answer = agreement_answer(store, run, dimensions, metrics, classes, thresholds, loaded)
        if against is not None:
            other = store.find(against)
            rows = preference_rows(store, (run, other), dimensions, metrics)
            answer |= {"against": other.run_id, "preferences": [row.to_dict() for row in rows]}
    print_answer(answer if as_json else agreement_text(answer))


def agreement_answer(
    store: RunStore,
    run: Run,
    dimensions: tuple[str, ...] = (),
    metrics: tuple[str, ...] = (),
    classes: int = FEWEST_CLASSES,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    loaded: LoadedLabels | None = None,
) -> dict[str, Any]:
    """Return what the command prints with --json for a run.

    Labels that were just loaded are reported as stored, also where nothing can be compared with them yet.
    """
    rows: list[MetricAgreement] = []
    note = ""
    try:
        rows = agreement_rows(store, run, dimensions, metrics, classes, thresholds)
    except NoMetricError as error:
        if loaded is None:
            raise
        note = f"Nothing to compare them with yet: {error}."
    return {
        "run": run.run_id,
        "name": run.name,
        "thresholds": {"human": thresholds[0], "metric": thresholds[1]},
        "labels": None if loaded is None else asdict(loaded),
        "note": note,
        "agreement": [row.to_dict() for row in rows],
        "annotators": annotator_rows(store, run, dimensions),
        "means": corrected_means(store, run, rows, thresholds),
    }


def agreement_text(answer: Mapping[str, Any]) -> str:
    """Format the answer of the agreement command."""
    blocks: list[str] = []
    if answer.get("labels"):
        loaded = answer["labels"]
        drawn = "declared a random sample" if loaded["random"] else "not a random sample"
        unmatched = f"; {loaded['unmatched']:,} match no sample" if loaded["unmatched"] else ""
        blocks.append(
            f"{plain(loaded['file'])}: {count(loaded['labels'], 'label')} stored, {drawn}{unmatched}"
        )
    rows = answer.get("agreement", ())
    blocks += [
        _dimension(dimension, [row for row in rows if row["dimension"] == dimension], answer)
        for dimension in dict.fromkeys(row["dimension"] for row in rows)
    ]
    if answer.get("preferences"):
        blocks.append(_preferences(answer["preferences"]))
    blocks += [_mean(mean) for mean in answer.get("means", ())]
    return "\n\n".join([*blocks, plain(answer["note"]) if answer.get("note") else EXPLAINED])


def _dimension(dimension: str, rows: Sequence[Mapping[str, Any]], answer: Mapping[str, Any]) -> str:
    high = answer["thresholds"]
    cuts = {
        row["classes"]: f"{row['classes']} classes: equal parts of each scale"
        if row["classes"] > 2
        else f"labels count as high from {high['human']:.2f} of the scale, metrics from {high['metric']:.2f}"
        for row in rows
        if row["classes"]
    }
    between = [
        f"between {entry['annotators']} annotators: Krippendorff's alpha {number(entry['value'], 3)} "
        f"{interval_text(entry['low'], entry['high'], 3)}, n = {entry['n']:,}, {entry['level']}"
        for entry in answer["annotators"]
        if entry["dimension"] == dimension
    ]
    compared = _side_by_side(rows, [f"{row['metric']} ({row['source']})" for row in rows])
    names = {dimension.removeprefix(IMPORTED), *(row["metric"] for row in rows)}
    of_users = [] if names.isdisjoint(OF_USERS) else [f"{capital(BY_USERS)}."]
    title = f"{dimension} ({'; '.join(cuts.values()) or 'values alone'})"
    return "\n".join([title, compared, *between, *of_users])


def _side_by_side(rows: Sequence[Mapping[str, Any]], titles: Sequence[str]) -> str:
    """Return a table with a column for each row of the answer, and a line for each statistic."""
    lines = [["judge", *map(_judge, rows)], ["n", *(f"{row['n']:,}" for row in rows)]]
    for name, title in STATISTICS.items():
        if any(name in row["statistics"] for row in rows):
            lines.append([title, *(_statistic(row["statistics"].get(name)) for row in rows)])
    correlations = [row["ceiling"].get("spearman") for row in rows]
    ceilings = [entry if isinstance(entry, Mapping) else {} for entry in correlations]
    if any(ceilings):
        lines.append(["one annotator, Spearman", *(number(each.get("annotator"), 3) for each in ceilings)])
        lines.append(["metric, same labels", *(number(each.get("metric"), 3) for each in ceilings)])
        differences = (
            f"{signed(each.get('difference'), 3)} {interval_text(each.get('low'), each.get('high'), 2)}"
            for each in ceilings
        )
        lines.append(["difference", *differences])
    return table(["", *titles], lines)


def _judge(row: Mapping[str, Any]) -> str:
    judge = row["judge"]
    if judge is None:
        return "-"
    effort = f", effort {judge['effort']}" if judge["effort"] else ""
    return f"{judge['model']}{effort}, prompt {judge['prompt']}"


def _statistic(statistic: Mapping[str, Any] | None) -> str:
    if statistic is None or statistic["value"] is None:
        return "-"
    return f"{number(statistic['value'], 3)} {interval_text(statistic['low'], statistic['high'], 2)}".strip()


def _preferences(rows: Sequence[Mapping[str, Any]]) -> str:
    explained = "differences of two answers by values, and which is better: the first, neither, the second"
    lines = [_side_by_side(rows, [f"{row['aspect']}: {row['metric']}" for row in rows])]
    for row in rows:
        if "n" in row["ceiling"]:
            lines.append(
                f"{row['aspect']}: between two annotators Pearson {number(row['ceiling']['pearson'], 3)}, "
                f"Spearman {number(row['ceiling']['spearman'], 3)}, n = {row['ceiling']['n']:.0f}"
            )
        if row["filled"]:
            lines.append(
                f"{row['metric']}: {row['filled']:,} missing scores replaced by the median difference"
            )
    return "\n".join([f"preferences ({explained})", *dict.fromkeys(lines)])


def _mean(mean: Mapping[str, Any]) -> str:
    labels, metric = mean["labels_alone"], mean["metric_alone"]
    note = f" ({mean['note']})" if mean["note"] else ""
    effective = mean["effective_n"]
    worth = "" if effective is None else f"; worth {number(effective, 0)} labels without it"
    lines = [
        f"mean of {mean['dimension']} if all were labelled, by {mean['metric']} ({mean['source']}): "
        f"{_with_interval(mean)}",
        f"labels alone {_with_interval(labels)}, n = {mean['n_labelled']:,}{note}; metric alone "
        f"{_with_interval(metric)}, off by {signed(mean['bias'])} on the labelled{worth}; {mean['method']}",
    ]
    if mean["not_drawn"]:
        lines.append(f"{mean['not_drawn']:,} labelled cases were not drawn at random and are left out")
    if mean["without_metric"]:
        lines.append(f"{mean['without_metric']:,} labels have no value of the metric")
    return "\n".join(lines)


def _with_interval(mean: Mapping[str, Any]) -> str:
    return f"{number(mean['mean'], 3)} {interval_text(mean['low'], mean['high'], 3)}"
