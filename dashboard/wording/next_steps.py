"""The words of the next steps: the same on pages, slides and in every command."""

from collections.abc import Sequence
from dataclasses import dataclass

from ragtriage.dashboard.wording.escaping import capital, in_sentence
from ragtriage.dashboard.wording.main_loss import slice_values
from ragtriage.data.gates.next_steps import NextStep
from ragtriage.metrics.diagnosis.fix_first import Gain
from ragtriage.metrics.diagnosis.stages import STAGES, Owner, stage_code
from ragtriage.metrics.gates.gates import Gate
from ragtriage.metrics.gates.wording import gate_title, subject_of, where_of
from ragtriage.metrics.metric_registry import plain_names
from ragtriage.metrics.number_text import count, number, percent

MOST_NAMED = 2  # gates in one sentence
FINDINGS = {
    "ids": "Match the ids",
    "same_list": "Check the retriever",
    "secrets": "Take the secrets out of documents and prompts, and filter answers",
    "contradicted_scores": "Read the answers that scores call right and words do not",
    "truncated": "Raise the limit of the answers and run again",
    "error_answers": "Ask again what ended in an error",
    "same_answer": "Find out why different questions get the same answer",
    "echo": "Check the export: the column of the answers holds the questions",
    "copied_references": "Check the references: they look copied from the answers",
    "other_language": "Tell the model which language to answer in",
    "asked_twice": "Give each question one id, and number its repeats",
    "uncited": "Ask for citations in a way that the model follows, and keep them in the export",
    "scale": "Import the run again with its scales (`--scale METRIC=LEAST..GREATEST`)",
}

_REPAIRS: dict[Owner, str] = {
    "retrieval": "retrieval",
    "reranking": "the reranker",
    "refusal": "the refusals",
    "generation": "generation",
    "format": "the answer format",
    "orchestration": "the orchestration",
    "safety": "isolation and safety",
}


@dataclass(frozen=True)
class StepWords:
    """What to do, as a request, why, and what it brings and takes: sentences; the gain also in brief."""

    what: str
    why: str
    outlook: str = ""
    likely: str = ""


def concerned(step: NextStep) -> str:
    """Return how many cases, answers or gates a step concerns; "" for none."""
    nouns = {"labels": "answer", "wordy": "answer", "gates": "gate", "questions": "gate", "measure": "gate"}
    return count(step.n, nouns.get(step.kind, "case")) if step.n else ""


def repair_of(owner: Owner) -> str:
    """Return what to repair for the part of the pipeline that fails, as the object of a sentence."""
    return _REPAIRS.get(owner, "")


def step_words(step: NextStep) -> StepWords:
    """Return the words of a step."""
    what, why = _stage_words(step) if step.kind == "stage" else _other_words(step)
    likely = "" if step.gain is None else f"likely {_ends(step.gain)} pass"
    return StepWords(what, why, _outlook(step), likely)


def _stage_words(step: NextStep) -> tuple[str, str]:
    stage = STAGES[stage_code(step.key)]
    repair = repair_of(stage.owner)
    what = f"{f'Repair {repair}' if repair else 'Read the cases'}: {stage.count(step.n)}"
    if step.where is not None:
        them = "all" if step.n_where == step.n else f"{step.n_where:,}"
        what += f", {them} of them with {slice_values(step.where)}"
    return what, stage.advice


def _other_words(step: NextStep) -> tuple[str, str]:
    if step.kind == "wordy":
        what = f"Shorten the answers: {step.n:,} of {step.of:,} say more than asked"
        return what, "Ask for shorter answers, or pass fewer documents; what they add is supported."
    if step.kind in ("finding", "scores"):
        what = FINDINGS.get(step.key, "Check the numbers" if step.kind == "finding" else "Check the scores")
        return what, f"{capital(step.because)}; what follows rests on it."
    if step.kind == "gold":
        what = f"Check the gold of {count(step.n, 'question')}"
        return what, "Their answers are right and supported by the context, in which no document is gold."
    if step.kind == "labels":
        rest = "the other" if step.because else "all"
        which = f"{rest} {count(step.n, 'answer')}" if step.n == step.of else count(step.n, "random answer")
        so_far = f"{capital(step.because)}. " if step.because else ""
        why = "Labels show whether the answers are right and the scores can be trusted."
        return f"Label {which} by hand", f"{so_far}{why}"
    one = step.gates[0] if step.kind == "gates" and step.n == 1 else None
    if one is not None and one.gate.kind == "mean" and one.mean is not None:
        return _gate_step(one.gate, one.mean, one.blocks)
    titles = [gate_title(result.gate) for result in step.gates[:MOST_NAMED]]
    more = f"; and {step.n - MOST_NAMED} more" if step.n > MOST_NAMED else ""
    listed = f"{'; '.join(titles)}{more}"
    if step.kind == "gates":
        gates = f"{'failing' if step.gates[0].blocks else 'warning'} {'gate' if step.n == 1 else 'gates'}"
        return f"Meet the {gates if step.n == 1 else f'{step.n:,} {gates}'}", f"{listed}."
    if step.kind == "questions":
        return "Ask more questions", f"The sample cannot tell whether these gates hold: {listed}."
    return "Measure what the gates need", f"These gates are not measured: {listed}."


def _gate_step(gate: Gate, mean: float, blocks: bool) -> tuple[str, str]:
    """Return which metric to raise or lower, from where to where, and why it matters."""
    with plain_names(False):  # the same words in a plain deck
        subject = f"{in_sentence(subject_of(gate))}{where_of(gate)}"
    digits = 3 if number(mean) == number(gate.threshold) else 2
    what = f"{'Lower' if gate.at_most else 'Raise'} {subject} from {number(mean, digits)} to "
    what += f"{number(gate.threshold)}{'' if blocks else ' (not blocking)'}"
    return what, f"{capital(gate.reason)}." if gate.reason else ""


def _outlook(step: NextStep) -> str:
    """Return the pass rate after the step and its effort, said to be an estimate where it is one."""
    bound = "" if step.pass_rate is None else f"at most {percent(step.pass_rate)}"
    if step.gain is None:
        effort = f"Takes {step.effort}." if step.effort else ""
        return " ".join(filter(None, [f"{capital(bound)} would pass." if bound else "", effort]))
    ends, now = _ends(step.gain), percent(step.gain.now)
    return f"Likely {ends} pass after a first repair ({bound}), {now} pass now. Takes {step.effort}."


def _ends(gain: Gain) -> str:
    low, high = percent(gain.low), percent(gain.high)
    return f"about {low}" if low == high else f"{low.removesuffix(' %')} to {high}"


def step_sentences(steps: Sequence[NextStep]) -> list[str]:
    """Return each step as one line."""
    words = map(step_words, steps)
    return [" ".join(filter(None, [f"{each.what}.", each.why, each.outlook])) for each in words]
