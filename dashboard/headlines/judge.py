"""What the Judge page concludes: whether the judge can be trusted, measured against people."""

from collections.abc import Sequence
from math import isfinite

from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.data.labels.agreement_report import MetricAgreement
from ragtriage.data.labels.human_ratings import dimension_title
from ragtriage.metrics.number_text import count, interval_text, number, percent
from ragtriage.metrics.statistics.agreement import Agreement, misses_bad
from ragtriage.metrics.statistics.class_agreement import Ceiling

FEW_LABELS, ADVISED = 30, 50
MOST_NAMED = 2


def judge_headline(agreements: Sequence[MetricAgreement], n_judged: int, n_labelled: int) -> Headline:
    """Return the conclusion about the judge of a run.

    A judge is trusted on a quantity where its rank correlation with people is above 0 beyond chance and not
    below that of one annotator with the others, and where it fails most of what people fail: a rank
    correlation alone is not a reason to trust.

    Args:
        agreements: of judged metrics with the human labels of the same quantity.
        n_judged: cases with a judged score.
        n_labelled: cases that annotators labelled or rated.
    """
    labelled = f"People rated {count(n_labelled, 'case')}." if n_labelled else "Nobody has labelled a case."
    if not n_judged:
        return Headline(
            "not measured",
            "No judge scores yet",
            f"{labelled} One call to the judge per answer gives faithfulness, relevancy, correctness and "
            "refusals; it needs an API key.",
        )
    if not n_labelled:
        return Headline(
            "not measured",
            f"Label {f'all {n_judged:,}' if n_judged <= ADVISED else ADVISED} answers to check the judge",
            f"The judge scored {count(n_judged, 'case')}; no human label says whether it is right.",
        )
    if n_labelled < FEW_LABELS:
        return Headline(
            "cannot tell",
            f"{count(n_labelled, 'label')} are too few to trust the judge"
            if n_labelled > 1
            else "One label is too few to trust the judge",
            f"Label the other {n_judged - n_labelled:,}, as the judge scored {n_judged:,} in all."
            if n_judged <= ADVISED
            else f"{ADVISED} to 100 cases drawn at random are enough.",
        )
    ranked = [agreement for agreement in agreements if rank_correlation(agreement) is not None]
    if not ranked:
        return Headline(
            "cannot tell",
            "Nothing that people rated can be compared with the judge",
            f"{labelled} A judged metric of the same quantity, with values that differ, is missing.",
        )
    worse = [agreement for agreement in ranked if _below_one_person(agreement)]
    above = [agreement for agreement in ranked if _beyond_chance(agreement) and agreement not in worse]
    open_ = [agreement for agreement in ranked if agreement not in worse and agreement not in above]
    detail = " ".join(_sentence(agreement) for agreement in (*above, *open_, *worse)[: MOST_NAMED + 1])
    if worse:
        return Headline("bad", f"The judge is worse than one person on {_names(worse)}", detail)
    rates = [(agreement, rate) for agreement in above if (rate := _true_negative_rate(agreement)) is not None]
    missing = [(agreement, rate) for agreement, rate in rates if misses_bad(rate)]
    if missing:
        return Headline("bad", _doubt(*missing[0]), detail)
    trusted = [agreement for agreement, _ in rates]
    if trusted and len(trusted) == len(ranked):
        return Headline("good", f"The judge agrees with people on {_names(trusted)}", detail)
    if trusted:
        others = [agreement for agreement in ranked if agreement not in trusted]
        return Headline(
            "cannot tell", f"Trust the judge on {_names(trusted)}, not on {_names(others)}", detail
        )
    if above:
        return Headline(
            "cannot tell",
            f"The judge ranks {_names(above)} as people do; nobody has rated a bad answer",
            detail,
        )
    return Headline("cannot tell", f"The judge is not shown to agree with people on {_names(open_)}", detail)


def _true_negative_rate(agreement: MetricAgreement) -> Agreement | None:
    """Return how many of the answers that people fail the judge fails; None where people failed none."""
    rates = (
        each for each in agreement.statistics if each.name == "true_negative_rate" and isfinite(each.value)
    )
    return next(rates, None)


def _doubt(agreement: MetricAgreement, rate: Agreement) -> str:
    passed = rate.n - round(rate.value * rate.n)
    return f"Doubt the judge on {_names([agreement])}: it passes {passed:,} of {count(rate.n, 'bad answer')}"


def rank_correlation(agreement: MetricAgreement) -> tuple[float, float, float] | None:
    """Return Spearman's correlation with its interval, or None where it is undefined."""
    correlation = next((each for each in agreement.statistics if each.name == "spearman"), None)
    if correlation is None or not isfinite(correlation.value):
        return None
    return correlation.value, correlation.low, correlation.high


def _beyond_chance(agreement: MetricAgreement) -> bool:
    correlation = rank_correlation(agreement)
    return correlation is not None and isfinite(correlation[1]) and correlation[1] > 0


def _below_one_person(agreement: MetricAgreement) -> bool:
    ceiling = agreement.ceilings.get("spearman")
    return ceiling is not None and isfinite(ceiling.high) and ceiling.high < 0


def _names(agreements: Sequence[MetricAgreement]) -> str:
    names = list(dict.fromkeys(dimension_title(each.dimension).lower() for each in agreements))
    return " and ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if names[2:] else "")


def _sentence(agreement: MetricAgreement) -> str:
    """Return how the judge agrees with people in numbers, and what it fails of what they fail."""
    rate = _true_negative_rate(agreement)
    if rate is None:
        return _correlation(agreement)
    caught = f"{round(rate.value * rate.n):,} of {count(rate.n, 'bad answer')}"
    return f"{_correlation(agreement)} It catches {caught} ({percent(rate.low)} to {percent(rate.high)})."


def _correlation(agreement: MetricAgreement) -> str:
    """Return the correlation with people in numbers, and how one person does on the same ratings."""
    value, low, high = rank_correlation(agreement) or (float("nan"),) * 3
    text = (
        f"{dimension_title(agreement.dimension)}: rank correlation with people {number(value)} "
        f"{interval_text(low, high)}, n = {agreement.n:,}"
    )
    ceiling = agreement.ceilings.get("spearman")
    if ceiling is None or not isfinite(ceiling.difference) or not isfinite(ceiling.low):
        return f"{text}."
    if ceiling.low > 0 or ceiling.high < 0:
        side = "better" if ceiling.low > 0 else "worse"
        difference = f"{number(abs(ceiling.difference))} {_bounds(ceiling)}"
        return f"{text}. It ranks answers {side} than one person does, by {difference}."
    return f"{text}; no different from one person beyond chance."


def _bounds(ceiling: Ceiling) -> str:
    low, high = sorted((abs(ceiling.low), abs(ceiling.high)))
    return interval_text(low, high)
