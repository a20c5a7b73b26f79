"""The slides on causes: what is lost at which step of the pipeline, and what to do next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ragtriage.dashboard.charts.deck import Loss, step_columns
from ragtriage.dashboard.charts.tokens import LIGHT
from ragtriage.dashboard.headlines.deck import next_title, repair_of, why_title
from ragtriage.dashboard.present.stories.context import StoryView
from ragtriage.dashboard.present.stories.story import BigNumber, RenderedSection, SlideContent, Step
from ragtriage.dashboard.present.stories.verdict_slide import foot_of
from ragtriage.dashboard.wording.diagnosis import fix_first_sentence, no_bad_case
from ragtriage.dashboard.wording.escaping import capital, in_sentence, shorten
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.diagnosis.doubts import stage_doubt
from ragtriage.data.diagnosis.f1_tree import f1_diagnosis
from ragtriage.data.diagnosis.pipeline import UNCHECKED
from ragtriage.data.strategy.horizons import HORIZONS, Recommendation, recommendations
from ragtriage.metrics.diagnosis.fix_first import UNEXPLAINED, FixFirst
from ragtriage.metrics.diagnosis.stages import STAGES, FailureStage, Owner, stage_code
from ragtriage.metrics.gates.gates import FEWEST_QUESTIONS, GateResult
from ragtriage.metrics.gates.wording import subject_of
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import count, number, percent
from ragtriage.metrics.sanity.documents import read_first
from ragtriage.metrics.sanity.rule import Finding

INFERRED = " (inferred)"
MOST_NUMBERS, STEPS = 4, 3
LONGEST_NAME = 30


_PIPELINE: Mapping[str, tuple[str, ...]] = {  # step that a case must survive -> failure stages that end there
    "Retrieved": ("missed", "retrieval_miss", "partial_gold", "inferred_miss"),
    "Ranked in": ("misranked",),
    "Answered rightly": ("answered_unanswerable", "refused_with_context", "inferred_refusal"),
    "Faithful": (
        "followed_noise",
        "inferred_noise",
        "self_contradiction",
        "contradicts_context",
        "unfaithful",
    ),
    "Complete, on topic": ("left_out", "off_question"),
}


def why_section(view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    """Return how many cases survive each step of the pipeline, and what loses most."""
    diagnosis, entries = view.diagnosis, view.diagnosis.fix_first
    measured, bad = int(diagnosis.measured.sum()), int(diagnosis.bad.bad.sum())
    if not measured:
        return RenderedSection(
            "why", "Why: not measured", no_bad_case(diagnosis), measured=False, facts=["no case is measured"]
        )
    named = bool(entries) and entries[0].key != UNEXPLAINED
    top = _stage(entries[0]).counted.removesuffix(INFERRED) if named else ""
    content = SlideContent(
        "why",
        view.headline.state,
        foot_of(view),
        numbers=tuple(map(_big_number, entries[:MOST_NUMBERS])),
        doubt="; ".join(_doubts(view, entries)),
    )
    rest = diagnosis.scored.n - measured
    return RenderedSection(
        "why",
        why_title(bad, measured, top, entries[0].n_bad if entries else 0),
        fix_first_sentence(diagnosis, view.findings) if entries else no_bad_case(diagnosis),
        chart=step_columns(_losses(diagnosis), measured),
        rows=[{"Stage": entry.title, "Bad cases": entry.n_bad, "Owner": entry.owner} for entry in entries],
        facts=[
            f"{bad:,} bad of {count(measured, 'measured case')}",
            f"{count(rest, 'case')} left out: not measured" if rest else "",
            "each bad case counts at the first stage whose rule it meets",
        ],
        alt="Cases that survive each step of the pipeline, and those lost there",
        slide=content,
    )


def _stage(entry: FixFirst) -> FailureStage:
    return STAGES[stage_code(entry.key)]


def _big_number(entry: FixFirst) -> BigNumber:
    stage = _stage(entry)
    detail = capital(stage.meaning.removeprefix("No gold is recorded; "))
    return BigNumber(f"{entry.n_bad:,}", stage.short, detail, LIGHT.stages[entry.owner])


def _doubts(view: StoryView, entries: Sequence[FixFirst]) -> list[str]:
    """Return what the checks doubt about the stages: the first to read, else on the largest."""
    first = [finding.clause for finding in read_first(view.findings)]
    if first or not entries:
        return first
    doubt = stage_doubt(view.diagnosis, view.findings, entries[0].key)
    return list(doubt.because[:1]) if doubt is not None else []


def _losses(diagnosis: Diagnosis) -> list[Loss]:
    """Return the steps that lose cases or that most pipelines have, from what is measured to what is good."""
    counts = diagnosis.stage_counts()
    left = int(diagnosis.measured.sum())
    steps = [Loss("Measured", left)]
    placed = {key for stages in _PIPELINE.values() for key in stages}
    others = tuple(stage.key for stage in STAGES if stage.key not in placed)
    for step, stages in {**_PIPELINE, "No other fault": others}.items():
        lost = Counter[Owner]()
        for key in stages:
            lost[STAGES[stage_code(key)].owner] += counts[key]
        if lost.total():
            left -= lost.total()
            steps.append(Loss(step, left, tuple((owner, n) for owner, n in lost.items() if n)))
    return [*steps, Loss("Good" if diagnosis.answers.enough else UNCHECKED, left)]


def next_section(view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    """Return three steps and the decision that is asked for."""
    state, first = view.headline.state, read_first(view.findings)
    owner = next((entry.owner for entry in view.diagnosis.fix_first if repair_of(entry.owner)), None)
    steps = _steps(view, first)[:STEPS]
    again = next((at for at, step in enumerate(steps, 1) if step.title.startswith("Run the same")), 0)
    check = "the retriever" if first and first[0].rule != "ids" else "the ids" if first else ""
    doubt = view.headline.doubt
    reservation = f"Doubted: {doubt}." if doubt else ""
    content = SlideContent(
        "next",
        None,
        foot_of(view),
        steps=tuple(steps),
        decision=_decision(view, again),
        reservation=reservation,
    )
    return RenderedSection(
        "next",
        next_title(state, owner, view.short_names[0], check),
        rows=[
            {"Step": at, "What": step.title, "Why": step.detail, "Concerns": step.aside}
            for at, step in enumerate(steps, 1)
        ],
        facts=["steps: from the checks, the failure stages and the gates, by fixed rules"],
        slide=content,
    )


def _steps(view: StoryView, first: Sequence[Finding]) -> list[Step]:
    """Return all steps that apply, the most urgent first."""
    state, questions = view.headline.state, count(view.run.n_questions, "question")
    steps = [_check(finding) for finding in first[:1]]
    undecided = [result for result in _blocking(view) if result.verdict == "INCONCLUSIVE"]
    lacking = [result for result in _blocking(view) if result.verdict == "UNMEASURED" and not result.excused]
    repairs = _repairs(view, first)
    if state == "not measured":
        steps += _measure(lacking)
    if state in ("bad", "doubted", "cannot tell"):
        steps += repairs[:1]
    if state == "good":
        steps.append(
            Step(
                f"Release {shorten(view.short_names[0], LONGEST_NAME)}",
                f"Every blocking gate holds on {questions}.",
                "all blocking gates",
            )
        )
        steps += repairs[:1]
    if state in ("bad", "doubted") and (repairs or first):
        gates = count(len(_blocking(view)), "gate")
        steps.append(
            Step(
                f"Run the same {questions} again", f"The same {gates} decide{_required(view)}.", "same gates"
            )
        )
    if undecided:
        steps.append(_more_questions(view, undecided))
    if state != "not measured":
        steps += _measure(lacking)
    steps += repairs[1:]
    steps.append(
        Step(
            f"Label {count(min(50, view.run.n), 'answer')} by hand",
            "Human labels show whether the scores can be trusted, and correct the pass rate.",
            "trust in the scores",
        )
    )
    return steps


def _blocking(view: StoryView) -> list[GateResult]:
    report = view.readable_gates
    return [] if report is None else [result for result in report.results if result.blocks]


def _check(finding: Finding) -> Step:
    what = "Check the ids of the gold" if finding.rule == "ids" else "Check the retriever"
    # the part of a message up to its first colon or full stop
    sentence = f"{finding.message.split('. ', maxsplit=1)[0].split(': ', maxsplit=1)[0].rstrip('.')}."
    return Step(what, f"{finding.title}: {sentence}", count(finding.n_affected, "case"))


def _repairs(view: StoryView, first: Sequence[Finding]) -> list[Step]:
    """Return a step for each part of the pipeline that loses cases; none where all is doubted."""
    steps: dict[Owner, Step] = {}
    for entry in view.diagnosis.fix_first:
        doubt = stage_doubt(view.diagnosis, view.findings, entry.key)
        if not repair_of(entry.owner) or entry.owner in steps or first or (doubt is not None and doubt.whole):
            continue
        stage = _stage(entry)
        bound = f" Without these cases at most {percent(entry.pass_rate_if_perfect)} would pass."
        steps[entry.owner] = Step(
            f"Repair {repair_of(entry.owner)}", f"{stage.advice}{bound}", stage.count(entry.n_bad)
        )
    return list(steps.values())


def _required(view: StoryView) -> str:
    """Return the two failing gates that matter most, as the end of a sentence."""
    failing = [result.gate for result in _blocking(view) if result.verdict == "FAIL"]
    texts = []
    for gate in failing:
        title = in_sentence(title_of(gate.metric))
        if gate.kind in ("mean", "percentile"):
            title = in_sentence(subject_of(gate))
            texts.append(f"{title} at {'most' if gate.at_most else 'least'} {number(gate.threshold)}")
        elif gate.kind == "regression":
            texts.append(f"{title} not more than {number(gate.threshold)} below the baseline")
        elif gate.kind == "questions":
            texts.append("every question of the baseline asked")
    return f": {', '.join(texts[:2])}" if texts else ""


def _more_questions(view: StoryView, undecided: Sequence[GateResult]) -> Step:
    """Return the step that settles what is undecided: detectable differences fall with the root of n."""
    n = view.run.n_questions
    gates = f"{count(len(undecided), 'gate')} {'is' if len(undecided) == 1 else 'are'} undecided"
    effects = [result.smallest_effect for result in undecided if result.smallest_effect is not None]
    shown = ""
    if effects:
        largest = max(effects)
        shown = (
            f": they detect a difference of {number(largest)}, {4 * n:,} would detect {number(largest / 2)}"
        )
    return Step(
        "Ask more questions",
        f"{gates} with {count(n, 'question')}{shown} (80 % power).",
        "ends “cannot tell”",
    )


def _measure(lacking: Sequence[GateResult]) -> list[Step]:
    if not lacking:
        return []
    if all(result.why == "too few" for result in lacking):
        least = f"A gate needs at least {FEWEST_QUESTIONS} questions with a value to decide anything."
        return [Step("Ask more questions", least, count(len(lacking), "gate"))]
    titles = dict.fromkeys(
        in_sentence(title_of(result.gate.metric)) for result in lacking if result.why != "too few"
    )
    listed = ", ".join(list(titles)[:4])
    return [
        Step(
            "Measure what the gates need",
            f"This run lacks {listed}: record them, or run the judge.",
            count(len(lacking), "gate"),
        )
    ]


def _decision(view: StoryView, again: int) -> str:
    """Return what the audience is asked to decide; a step may run the questions again, 0 for none."""
    state, name = view.headline.state, shorten(view.short_names[0], LONGEST_NAME)
    base = shorten(view.short_names[1], LONGEST_NAME)
    keep = f"keep {base}; " if base and _baseline_is_no_worse(view) else ""
    after = f"after step {again}" if again else "after these steps"
    if state == "good":
        return f"release {name}."
    if state == "bad":
        return f"{keep}decide on {name} again {after}."
    if state == "not measured":
        return f"{keep}agree on what has to be measured before {name} can be judged."
    return f"{keep}decide on {name} {after}."


def _baseline_is_no_worse(view: StoryView) -> bool:
    """Return whether the primary metric, over the shared questions, is at least as good in the baseline."""
    return view.comparison is None or not view.comparison.primary.difference.difference > 0


LONGEST_TITLE, LONGEST_DETAIL = 70, 150


def horizon_section(view: StoryView, _chosen: Mapping[str, str]) -> RenderedSection:
    """Return the recommendations by horizon, each with reason, number and owner."""
    heading = "What to do now, next and later"
    tree = f1_diagnosis(view.scored).tree
    entries = recommendations(view.diagnosis, view.readable_gates, view.findings, tree)
    counts = {horizon: sum(entry.horizon == horizon for entry in entries) for horizon in HORIZONS}
    by_horizon = ", ".join(f"{n:,} {horizon}" for horizon, n in counts.items() if n)
    return RenderedSection(
        "horizons",
        heading,
        f"{count(len(entries), 'recommendation')}: {by_horizon}." if entries else "",
        rows=[
            {
                "When": entry.horizon,
                "What": entry.what,
                "Why": entry.reason,
                "Number": entry.number,
                "Owner": entry.owner,
            }
            for entry in entries
        ],
        facts=[
            "now: keeps the version from shipping, or must be settled first",
            "next: most of the rest, or an undecided blocking gate",
            "later: costs little, or is not sure to",
            "by fixed rules from gates, failure stages and the parts of F1",
        ],
        measured=bool(entries),
        slide=SlideContent("next", None, foot_of(view), steps=tuple(_first_steps(entries))),
    )


def _first_steps(entries: Sequence[Recommendation]) -> Iterator[Step]:
    """Return the first recommendation of each horizon, and how many more it has; the rest is in the table."""
    for horizon in HORIZONS:
        of = [entry for entry in entries if entry.horizon == horizon]
        if of:
            first, more = of[0], f" And {len(of) - 1:,} more to do {horizon}." if len(of) > 1 else ""
            title = shorten(f"{horizon.capitalize()}: {in_sentence(first.what)}", LONGEST_TITLE)
            detail = shorten(f"{capital(first.reason)} ({first.number}).", LONGEST_DETAIL)
            yield Step(title, f"{detail}{more}", first.owner)
