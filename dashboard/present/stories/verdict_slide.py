"""The first slide: the verdict, four numbers with their gates, and the same as bars beside the baseline."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isfinite

from ragtriage.dashboard.charts.deck import MetricBar, metric_bars
from ragtriage.dashboard.charts.tokens import LIGHT
from ragtriage.dashboard.headlines.headline import State
from ragtriage.dashboard.present.page_html.blocks import Strip, Tile
from ragtriage.dashboard.present.stories.context import StoryView
from ragtriage.dashboard.present.stories.story import Remark, RenderedSection, SlideContent
from ragtriage.dashboard.wording.diagnosis import rate_labels, rate_name
from ragtriage.dashboard.wording.escaping import capital, in_sentence, shorten
from ragtriage.dashboard.wording.formatting import source_text
from ragtriage.dashboard.wording.gates import rule_texts, state_text
from ragtriage.data.comparison.compare import MetricDifference, Side, metric_sides
from ragtriage.metrics.diagnosis.right import CORRECTNESS
from ragtriage.metrics.gates.gates import GateResult, GateVerdict
from ragtriage.metrics.gates.wording import GOOD_SHARE, VERDICT_WORDS, change_text, level_text
from ragtriage.metrics.metric_registry import bounds_of, declared, title_of
from ragtriage.metrics.number_text import count, percent
from ragtriage.metrics.result_table import Number, ResultTable, ends_of

HEADLINE = (
    "recall@5",
    "ndcg@5",
    "context_recall",
    "context_precision",
    "faithfulness",
    "answer_relevancy",
    *CORRECTNESS,
    "hallucination",
    "ignored_top_ranked",
)
TILES = 4
LONGEST_NAME = 30
BARS: Mapping[State, str] = {"good": LIGHT.good.text, "bad": LIGHT.bad.text}  # the others are grey
_ORDER = {"FAIL": 0, "INCONCLUSIVE": 1, "PASS": 2, "UNMEASURED": 3}


def foot_of(view: StoryView) -> str:
    """Return the small print of every slide: run, baseline, data, date, n."""
    run = view.run
    repeated = 0 < run.n_questions < run.n
    repeats = f" × {run.n / run.n_questions:.0f} repeats" if repeated else ""
    name, base = (shorten(text, LONGEST_NAME) for text in view.short_names)
    against = f" against {base}" if base else ""
    data_set = shorten(f"{run.dataset or run.project} {run.dataset_version}".strip(), 40)
    asked = f"{count(run.n_questions, 'question')}{repeats}"
    parts = [f"{name}{against}", data_set, f"{run.created_at:%Y-%m-%d}", "" if asked in data_set else asked]
    return " · ".join(filter(None, [*parts, "95 % intervals"]))


def verdict_section(view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    """Return the verdict with the numbers that lead to it."""
    headline, names = view.headline, _tile_metrics(view)
    base = shorten(view.short_names[1], LONGEST_NAME)
    paired = [_paired(view, name) for name in names]
    bars = [_bar(view, name, pairs) for name, pairs in zip(names, paired, strict=True)]
    tiles = [_tile(view, *row, base) for row in zip(names, bars, paired, strict=True)]
    drawn = [
        replace(bar, colour=BARS.get(tile.state, bar.colour))
        for bar, tile in zip(bars, tiles, strict=True)
        if bar.value is not None
    ]
    compared_with = base if any(paired) else ""
    content = SlideContent(
        "verdict",
        subtitle=headline.detail,
        tiles=tuple(tiles),
        remarks=tuple(_remarks(view, base, bool(compared_with), drawn)),
        doubt=headline.doubt,
        caveats=tuple(_caveats(view, names)),
    )
    return RenderedSection(
        heading=headline.statement,
        sentence=f"{headline.detail}." if headline.detail else "",
        chart=metric_bars(drawn, view.short_names[0], compared_with) if drawn else None,
        table=ResultTable(
            "The metrics behind the verdict",
            tuple(
                {
                    "Metric": bar.title,
                    "Mean": Number(bar.value),
                    "95 % interval": ends_of(bar),
                    "Baseline": Number(bar.base),
                    "n": bar.n,
                }
                for bar in drawn
            ),
        ),
        facts=_facts(view),
        alt="The metrics behind the verdict with 95 % intervals"
        + (f", beside {compared_with}" if compared_with else ""),
        slide=content,
    )


def _facts(view: StoryView) -> list[str]:
    facts = ["means over questions; repeats are averaged first", "95 % intervals"]
    report = view.readable_gates
    if report is None:
        return facts
    return [
        f"conclusion: {state_text(report)}",
        f"baseline: {report.baseline_name or 'none'} ({report.baseline.note})",
        *facts,
        *(rule.replace("*", "") for rule in rule_texts(report)),
        *report.warnings,
    ]


def _results(view: StoryView) -> list[GateResult]:
    """Return the results of gates on means and changes, those that decide first."""
    kinds, report = ("mean", "regression"), view.readable_gates
    results = [] if report is None else report.results
    chosen = [result for result in results if not result.gate.slice and result.gate.kind in kinds]
    return sorted(
        chosen, key=lambda result: (not result.blocks, _ORDER[result.verdict], result.margin or 0.0)
    )


def _tile_metrics(view: StoryView) -> list[str]:
    """Return the pass rate and the measured metrics that decide the verdict, four at most."""
    gated = [result.gate.metric for result in _results(view) if result.mean is not None]
    wanted = dict.fromkeys([GOOD_SHARE, *gated, *HEADLINE])
    names = [name for name in wanted if _bar(view, name).value is not None]
    return [name for name in names if name == GOOD_SHARE or bounds_of(name) == (0.0, 1.0)][:TILES]


def _paired(view: StoryView, name: str) -> MetricDifference | Side | None:
    """Return a metric in both runs over the questions with a value in both; None without any."""
    comparison, base = view.comparison, view.baseline_diagnosis
    if comparison is None or base is None:
        return None
    row: MetricDifference | Side | None
    row = next((row for row in comparison.differences if row.metric == name), None)
    if row is None and name in base.scored.metrics:
        (row,) = metric_sides(base.scored, view.scored, [name])
    return row if row is not None and row.difference.n_pairs else None


def _bar(view: StoryView, name: str, paired: MetricDifference | Side | None = None) -> MetricBar:
    """Return a metric of the run, and of the baseline on the questions of both, as Triage has it."""
    before = None if paired is None else paired.base
    if name == GOOD_SHARE:
        rate = view.diagnosis.pass_rate
        value = rate.mean if rate.n_scored else None
        title = rate_name(view.diagnosis.answers.enough)
        return MetricBar(title, value, _known(rate.low), _known(rate.high), before, rate.n_scored)
    summary = view.summary.get(name)
    if summary is None:
        return MetricBar(name, None, None, None, None, 0)
    return MetricBar(
        capital(title_of(name)), summary.mean, summary.low, summary.high, before, summary.n_scored
    )


def _known(value: float) -> float | None:
    return value if isfinite(value) else None


def _tile(
    view: StoryView, name: str, bar: MetricBar, paired: MetricDifference | Side | None, base: str
) -> Tile:
    """Return a metric as a tile; its state is that of the gate that decides about it."""
    results = [result for result in _results(view) if result.gate.metric == name]
    state, word = _state(results[0]) if results else ("not measured", "no gate")
    write = partial(level_text, name)
    level = next((result.gate for result in results if result.gate.kind == "mean"), None)
    interval = "" if bar.low is None else f"{write(bar.low)} to {write(bar.high)}"
    declaration = declared(name)
    strip = Strip(
        bar.value,
        bar.low,
        bar.high,
        None if level is None else level.threshold,
        bar.base,
        state,
        f"{bar.title} {write(bar.value)}, 95 % interval {interval}",
        higher_is_better=True if declaration is None else declaration.higher_is_better,
    )
    foot = [f"95 % CI {interval}" if interval else "", count(bar.n, "question")]
    foot += [rate_labels(view.diagnosis)] if name == GOOD_SHARE else []
    asked = view.gates.asked if name == GOOD_SHARE and view.readable_gates is not None else None
    if asked is not None and asked.answered < asked.of and isfinite(asked.with_missing):
        foot.append(f"{percent(asked.with_missing)} with {asked.of - asked.answered:,} missing as failed")
    if level is not None:
        foot.append(f"gate: {'≤' if level.at_most else '≥'} {write(level.threshold)}")
    change = _change(name, bar, paired, shorten(base, 18)) if paired is not None else ""
    obtained = rate_labels(view.diagnosis) if name == GOOD_SHARE else source_text(view.summary[name])
    small = " · ".join(filter(None, foot))
    return Tile(bar.title, write(bar.value), state, word, change, small, strip, obtained)


def _change(name: str, bar: MetricBar, paired: MetricDifference | Side, base: str) -> str:
    """Return the mean of the baseline; where the run's is over more questions than both share, the change."""
    if paired.difference.n_pairs == bar.n:
        return f"{base} {level_text(name, paired.base)}"
    return f"{change_text(name, paired.difference.difference)} vs {base}"


def _state(result: GateResult) -> tuple[State, str]:
    if result.verdict == "FAIL":
        if result.gate.kind == "regression":
            return "bad", "worse"
        return "bad", "above gate" if result.gate.at_most else "below gate"
    states: dict[GateVerdict, State] = {"PASS": "good", "INCONCLUSIVE": "cannot tell"}
    return states.get(result.verdict, "not measured"), VERDICT_WORDS[result.verdict]


def _remarks(view: StoryView, base: str, compared: bool, drawn: Sequence[MetricBar]) -> list[Remark]:
    """Return what the colours of the bars mean."""
    name = shorten(view.short_names[0], LONGEST_NAME)
    if compared:
        base_note = f"Grey: {base}, on the questions that both measure. "
    elif base:
        base_note = f"{base} measures none of this on the same questions. "
    else:
        base_note = f"Baseline: {view.baseline_facts.note}. "
    asked = [bar.n for bar in drawn]
    if asked:
        fewest = f"{min(asked):,} to " if min(asked) < max(asked) else ""
        line = f"Line: 95 % interval, {fewest}{count(max(asked), 'question')}."
    else:
        line = f"{count(view.run.n_questions, 'question')}; none of it is measured."
    return [Remark(name, f"{base_note}{line}", view.headline.state)]


def _caveats(view: StoryView, metrics: Sequence[str]) -> Iterator[str]:
    """Return what limits the numbers: who wrote questions and labels, what is unchecked, how many."""
    rules = {finding.rule for finding in view.findings}
    questions, rate = count(view.run.n_questions, "question"), view.diagnosis.pass_rate
    if "synthetic_only" in rules:
        yield f"all {questions} were generated, none asked by users"
    if "labels_by" in rules:
        by_people = int(view.diagnosis.human_labels.decided.sum())
        them = f"people rated {by_people:,} of {view.diagnosis.scored.n:,}" if by_people else "no person did"
        yield f"a model labelled the answers, {them}"
    if not view.diagnosis.answers.enough:
        yield "too few answers were checked by people or against a reference, so faults may be missed"
    estimated = [
        in_sentence(title_of(name))
        for name in metrics
        if name in view.summary and set(view.summary[name].sources) == {"estimated"}
    ]
    if estimated:
        yield f"estimated from words: {', '.join(estimated)}"
    if isfinite(rate.low) and isfinite(rate.high):
        name = in_sentence(rate_name(view.diagnosis.answers.enough))
        among = count(rate.n_scored, "question")
        yield f"with {among}, {name} may lie anywhere from {percent(rate.low)} to {percent(rate.high)}"
