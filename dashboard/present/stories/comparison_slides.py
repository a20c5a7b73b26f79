"""The slides beside the baseline: what changed, and one question with both answers."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ragtriage.dashboard.charts.deck import Difference, difference_bars
from ragtriage.dashboard.headlines.deck import change_title, example_title
from ragtriage.dashboard.headlines.headline import State
from ragtriage.dashboard.present.stories.context import StoryView
from ragtriage.dashboard.present.stories.evidence import proving_passage, shown_answer
from ragtriage.dashboard.present.stories.story import (
    Remark,
    RenderedSection,
    SideAnswer,
    SlideContent,
    unmeasured,
)
from ragtriage.dashboard.tables.comparison import difference_table
from ragtriage.dashboard.wording.comparisons import bound_text, hidden_loss, primary_statement, tested_text
from ragtriage.dashboard.wording.escaping import capital, in_sentence, shorten, without_markdown
from ragtriage.data.cases.cases import read_case
from ragtriage.data.cases.export import native_record
from ragtriage.data.comparison.compare import MetricDifference
from ragtriage.data.comparison.leaderboard import percentiles
from ragtriage.data.comparison.question_changes import newly_failing
from ragtriage.data.diagnosis.diagnosis import Diagnosis, passing_of, row_of
from ragtriage.data.diagnosis.doubts import case_doubts
from ragtriage.metrics.diagnosis.stages import STAGES, stage_code
from ragtriage.metrics.gates.wording import GOOD_SHARE, change_text
from ragtriage.metrics.metric_registry import declared, title_of
from ragtriage.metrics.number_text import count, interval_text, number
from ragtriage.metrics.sanity.documents import read_first
from ragtriage.metrics.statistics.max_t import Outcome

COLUMNS = (  # as many as a slide has room for
    *("Metric", "Baseline", "Version", "Difference", "Interval", "Unadjusted 95 %"),
    *("Pairs", "p (corrected)", "Verdict"),
)
MOST_BARS, MOST_NAMED = 7, 4
LONGEST_NAME, LONGEST_ANSWERER = 26, 20
_RANKS: Mapping[Outcome, int] = {
    "worse": 0,
    "better": 1,
    "cannot tell": 2,
    "no worse": 3,
    "equal": 4,
    "no direction": 5,
    "estimated": 6,
}
FASTER = 0.2  # a median latency that differs by less is not worth a remark


def change_section(view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    """Return the paired differences to the baseline, coloured where they are beyond chance."""
    comparison = view.comparison
    paired = [] if comparison is None else [row for row in comparison.differences if row.difference.n_pairs]
    if comparison is None or view.baseline is None or not paired:
        lacking = "no metric is measured on the same questions"
        return unmeasured(f"Nothing is compared: {lacking if view.baseline else view.baseline_facts.note}.")
    base = view.short_names[1]
    moved = {
        verdict: [in_sentence(_title(row.metric)) for row in paired if row.verdict == verdict]
        for verdict in _RANKS
    }
    # the sentence names only what the chart shows
    drawn = sorted(filter(_on_scale, paired), key=lambda row: (_RANKS[row.verdict], -abs(_value(row))))
    shown = [_difference(row) for row in drawn[:MOST_BARS]]
    return RenderedSection(
        heading=change_title(moved["better"], moved["worse"], base),
        sentence=_sentence(paired, base),
        chart=difference_bars(shown) if shown else None,
        table=difference_table(paired, view.short_names[0]).only(*COLUMNS),
        facts=[
            f"paired on question: {count(len(comparison.matched.base), 'shared question')}; n: those with a "
            "value in both runs",
            tested_text(comparison),
            *comparison.warnings,
        ],
        alt=f"Differences to {base} with the intervals of their verdicts",
        slide=SlideContent("change", remarks=tuple(_remarks(view, paired, base))),
    )


def _title(metric: str) -> str:
    return metric if metric == GOOD_SHARE else title_of(metric)


def _value(row: MetricDifference) -> float:
    return row.difference.difference


def _moved(row: MetricDifference) -> str:
    return f"{in_sentence(_title(row.metric))} {change_text(row.metric, _value(row))}"


def _on_scale(row: MetricDifference) -> bool:
    """Return whether a metric runs from 0 to 1, so that it shares an axis with the others."""
    metric = declared(row.metric)
    return row.metric == GOOD_SHARE or (metric is not None and metric.bounds == (0.0, 1.0))


def _difference(row: MetricDifference) -> Difference:
    metric = declared(row.metric)
    lower = " (lower is better)" if metric is not None and metric.higher_is_better is False else ""
    title = f"{capital(_title(row.metric))}{lower}"
    return Difference(title, _value(row), row.low, row.high, row.verdict, row.difference.n_pairs)


def _sentence(paired: Sequence[MetricDifference], base: str) -> str:
    moved = "; ".join(
        f"{capital(_moved(row))} "
        f"({interval_text(row.low, row.high)}, n = {count(row.difference.n_pairs, 'pair')}), {row.verdict}"
        for row in paired
        if row.verdict in ("better", "worse")
    )
    if moved:
        return f"Against {base}: {moved}."
    held = next((row for row in paired if row.primary), None)
    statement = "" if held is None else primary_statement(held, "this run", base)
    if held is None or not statement:
        hidden = "" if held is None else f" {hidden_loss(held)}"
        return f"Against {base}: no significant difference.{hidden}".rstrip()
    return f"{capital(statement)}: {_moved(held)}, {bound_text(held)}."


def _remarks(view: StoryView, paired: Sequence[MetricDifference], base: str) -> list[Remark]:
    """Return what is beyond chance, how many metrics cannot be told apart, and what single questions did."""
    remarks = [
        Remark(heading, _named([row for row in paired if row.verdict == verdict]), state)
        for verdict, heading, state in _HEADINGS
        if any(row.verdict == verdict for row in paired)
    ]
    unclear = sum(row.verdict == "cannot tell" for row in paired)
    if unclear:
        which = "The metric" if len(paired) == 1 else f"{unclear:,} of {count(len(paired), 'metric')}"
        pairs = count(max(row.difference.n_pairs for row in paired), "pair")
        text = f"{which}: neither a change nor its absence is shown (up to {pairs})."
        remarks.append(Remark("Cannot tell", text, "not measured"))
    text = broken_and_repaired(view)
    if text:
        remarks.append(Remark("Question by question", text))
    if view.baseline_diagnosis is not None:
        remarks += _speed(view, view.baseline_diagnosis, base)
    return remarks


def broken_and_repaired(view: StoryView) -> str:
    """Return how many questions pass in the baseline and fail now, and the other way; "" for none shared."""
    if view.baseline_diagnosis is None:
        return ""
    flips = newly_failing(view.baseline_diagnosis, view.diagnosis)
    if not flips.compared:
        return ""
    broke = f"{len(flips.question_ids) or 'none'} of {count(flips.compared, 'question')} broke"
    return capital(f"{broke}, {flips.repaired or 'none'} newly pass.")


def _named(rows: Sequence[MetricDifference]) -> str:
    more = f" and {len(rows) - MOST_NAMED} more" if len(rows) > MOST_NAMED else ""
    return f"{capital(', '.join(map(_moved, rows[:MOST_NAMED])))}{more}."


_HEADINGS: tuple[tuple[str, str, State], ...] = (
    ("worse", "Worse beyond chance", "bad"),
    ("better", "Better beyond chance", "good"),
)


def _speed(view: StoryView, base: Diagnosis, name: str) -> list[Remark]:
    """Return the median latency where both runs record it and it differs; it is not tested."""
    (n, now), (n_base, before) = (percentiles(run, "latency_ms") for run in (view.scored, base.scored))
    if not n or not n_base or not before[50] or abs(now[50] / before[50] - 1) < FASTER:
        return []
    text = (
        f"Median {number(now[50] / 1000, 1)} s per answer, {number(before[50] / 1000, 1)} s in "
        f"{shorten(name, LONGEST_NAME)}; not tested."
    )
    return [Remark("Faster" if now[50] < before[50] else "Slower", text)]


class _Example(NamedTuple):
    """The case that stands for the run: its row, and that of the baseline's answer, None without one."""

    row: int
    base_row: int | None


def example_section(view: StoryView, chosen: Mapping[str, str]) -> RenderedSection:
    """Return one question with the answers of both runs and what the run retrieved.

    `chosen` may name the case as in the address ("question_id~repeat"); else the most telling one is taken.
    """
    example = _chosen_example(view, chosen.get("case", "")) or _telling_example(view)
    if example is None:
        return unmeasured("There is no measured case.")
    diagnosis, first = view.diagnosis, read_first(view.findings)
    case = read_case(diagnosis.scored, example.row)
    refused = view.scored.stage_features["refused"][example.row] == 1
    code = int(diagnosis.stages.stage[example.row])
    name, base_name = view.short_names
    base = view.baseline_diagnosis
    same = next((finding.clause for finding in first if finding.rule == "same_list"), "")
    shown, base_passes, other = [_answer(name, case, diagnosis, example.row)], None, None
    if base is not None and example.base_row is not None:
        other = read_case(base.scored, example.base_row)
        shown.append(_answer(base_name, other, base, example.base_row))
        base_passes = {0.0: False, 1.0: True}.get(float(passing_of(base)[example.base_row]))
    content = SlideContent(
        "example",
        question=without_markdown(str(case["question"] or "")),
        answers=tuple(answer for answer, _ in shown),
        passage=proving_passage(
            case, shorten(name, LONGEST_ANSWERER), other, shorten(base_name, LONGEST_ANSWERER)
        ),
        conclusion=_conclusion(view, example.row, code, base_name if base_passes is False else "")
        + next((f" Not backed by its documents: {method}." for _, method in shown if method), ""),
    )
    title = example_title(
        name,
        base_name if base_passes is not None else "",
        refused=refused,
        passes=code < 0,
        base_passes=base_passes,
        stage=STAGES[code].title if code >= 0 else "",
        same=same.removeprefix("every question got "),
    )
    return RenderedSection(
        heading=title,
        sentence=content.conclusion,
        cases=[native_record({key: value for key, value in case.items() if key != "judged"})],
        facts=[f"case {case['question_id']}, chosen by rule" if not chosen.get("case") else "chosen case"],
        slide=content,
    )


def _chosen_example(view: StoryView, name: str) -> _Example | None:
    question, _, repeat = name.rpartition("~")
    row = row_of(view.scored, question, int(repeat)) if question and repeat.isdecimal() else None
    return None if row is None else _Example(row, _base_row(view, row))


def _base_row(view: StoryView, row: int) -> int | None:
    """Return the row of the same question, and repeat, in the baseline."""
    if view.baseline_diagnosis is None:
        return None
    question = str(view.scored.question_ids[view.scored.question[row]])
    base = view.baseline_diagnosis.scored
    same = row_of(base, question, int(view.scored.repeats[row]))
    return row_of(base, question, 0) if same is None else same


def _telling_example(view: StoryView) -> _Example | None:
    """Return the case that shows most: of the largest failure stage, and best where the baseline passes.

    Without a bad case, one that the baseline failed; without that, the first measured case.
    """
    diagnosis, base = view.diagnosis, view.baseline_diagnosis
    entries = diagnosis.fix_first
    good, known = ~diagnosis.bad.bad, diagnosis.measured
    wanted = [np.flatnonzero(diagnosis.stages.stage == stage_code(entry.key)) for entry in entries]
    improving = not entries or view.headline.state == "good"
    if improving:
        answered = diagnosis.scored.stage_features["refused"] != 1
        rows = np.flatnonzero(good & known)
        wanted = [np.concatenate([rows[answered[rows]], rows[~answered[rows]]]), *wanted]
    best: _Example | None = None
    for rows in wanted:
        for row in map(int, rows):
            example = _Example(row, _base_row(view, row))
            best = best or example
            if base is None:
                return best
            at = example.base_row
            if at is not None and bool(base.measured[at]) and bool(base.bad.bad[at]) == improving:
                return example
        improving = False
    return best


def _answer(name: str, case: Mapping[str, Any], diagnosis: Diagnosis, row: int) -> tuple[SideAnswer, str]:
    """Return an answer, and how its marked parts are known."""
    code, known = int(diagnosis.stages.stage[row]), bool(diagnosis.measured[row])
    refused = diagnosis.scored.stage_features["refused"][row] == 1
    how = STAGES[code].title.lower() if code >= 0 else "good" if known else "not measured"
    state: State = "bad" if code >= 0 else "good" if known else "not measured"
    if refused and code < 0:
        how = "correctly refused" if known else "refused"
    how += " · refuses" if refused and "refused" not in how else ""
    unfaithful = code >= 0 and STAGES[code].owner == "generation" and not refused
    text, marked, method = shown_answer(case, unfaithful)
    return SideAnswer(shorten(name, LONGEST_ANSWERER), how, text, state, marked), method


def _conclusion(view: StoryView, row: int, code: int, beaten: str) -> str:
    """Return what follows from the example: the doubt about it, else what its stage means, -1 for none.

    `beaten` is the name of the baseline where that failed the question, else "".
    """
    first = read_first(view.findings)
    if any(finding.rule == "same_list" for finding in first):
        return "what is retrieved does not depend on the question; repair that before any answer is judged."
    doubts = case_doubts(view.diagnosis, view.findings, row)
    if code < 0:
        if not view.diagnosis.measured[row]:
            return "nothing recorded decides whether this case is good."
        if not beaten or view.baseline_diagnosis is None:
            return "this answer is good by every measurement that decides it."
        flips = newly_failing(view.baseline_diagnosis, view.diagnosis)
        return (
            f"{count(flips.repaired, 'question')} that {shorten(beaten, LONGEST_NAME)} got wrong "
            f"now {'passes' if flips.repaired == 1 else 'pass'}; "
            f"{len(flips.question_ids) or 'none'} went the other way."
        )
    stage = STAGES[code]
    known = (view.audience != "engineer" and stage.plain) or stage.meaning
    meaning = f"{known[:1].lower()}{known[1:].rstrip('.')}"
    doubted = f"; doubted: {doubts[0].clause}" if doubts else ""
    return f"{meaning}{doubted}."
