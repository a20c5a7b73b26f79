"""The first sentence on a run: where it loses most of its cases."""

from collections.abc import Collection, Sequence

from ragtriage.dashboard.wording.citations import citations_sentence
from ragtriage.dashboard.wording.escaping import in_sentence, shorten
from ragtriage.dashboard.wording.formatting import calls_share, case_noun
from ragtriage.data.analysis.citations import citations_of_run
from ragtriage.data.diagnosis.context import part_title
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.diagnosis.low_ratings import low_ratings
from ragtriage.data.diagnosis.main_loss import MainLoss, main_loss, many_bad, many_refused
from ragtriage.metrics.definitions.answer_text import RIGHT_BY_TEXT
from ragtriage.metrics.diagnosis.fix_first import UNEXPLAINED
from ragtriage.metrics.diagnosis.slices import Concentration
from ragtriage.metrics.diagnosis.stages import STAGES, stage_code
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import count, percent
from ragtriage.metrics.sanity.documents import off_scale, read_first
from ragtriage.metrics.sanity.rule import Finding

MOST_VALUES = 3  # of a slice that are named
LONGEST_VALUE = 40


def slice_values(where: Concentration) -> str:
    """Return the dimension and its values, such as "language zh or ar"."""
    named = [shorten(value, LONGEST_VALUE) for value in where.values[:MOST_VALUES]]
    more = len(where.values) - MOST_VALUES
    name = where.name.replace("_", " ")
    listed = f"{', '.join(named)} or {more:,} more" if more > 0 else " or ".join(named)
    return f"{name} {listed}"


def loss_sentence(
    diagnosis: Diagnosis, findings: Sequence[Finding], with_stage: bool = True, after: str = ""
) -> str:
    """Return where most cases are lost, without full stop; "" where no place stands out.

    Args:
        diagnosis: of the run.
        findings: of its sanity checks.
        with_stage: whether to name a stage that is not of the retriever; False where stages stand beside it.
        after: a statement that stands before it, which is not said again.
    """
    loss = main_loss(diagnosis, findings)
    rated = rating_statement(diagnosis) if diagnosis.measured.any() else ""  # else it leads, as known
    if loss is None:
        return rated
    clauses = [_place(loss)] if loss.lacking or (loss.stage and with_stage) else []
    if loss.where is not None:
        clauses.append(_slice_clause(loss.where, _repeated(diagnosis)))
    if loss.say_more:
        asked = f"on average {percent(loss.asked_for)} of what they claim was asked for"
        clauses.append(f"{wordy_statement(loss)}: {asked}")
    if after:
        said = {*after.split("; "), wordy_statement(loss)}
        clauses = [_without(clause, said) for clause in clauses]
    return "; ".join(filter(None, [*clauses, rated]))


def _without(clause: str, said: Collection[str]) -> str:
    """Return what a clause adds to statements that stand before it."""
    for statement in filter(None, said):
        if clause.startswith(statement):
            more = clause.removeprefix(statement).lstrip(" ,:").removeprefix("and ")
            return more.strip("()") if more.startswith("(") else more
    return clause


def fault_statement(diagnosis: Diagnosis, findings: Sequence[Finding]) -> str:
    """Return the fault of many cases, with its count, in the few words of a title.

    "" where few are bad, fewer than a tenth within chance, or the numbers are doubted: nothing leads then.
    """
    if read_first(findings):
        return ""
    loss = main_loss(diagnosis, findings)
    if not many_bad(diagnosis):
        return "" if loss is None else wordy_statement(loss)
    bad, measured = int(diagnosis.bad.bad.sum()), int(diagnosis.measured.sum())
    where = _slice_clause(loss.where, _repeated(diagnosis)) if loss is not None and loss.where else ""
    place = "" if loss is None else loss_statement(loss)
    return "; ".join(filter(None, [place or _bad_statement(diagnosis, bad, measured), where]))


def _bad_statement(diagnosis: Diagnosis, bad: int, measured: int) -> str:
    """Return how many cases are bad, where no place stands out, with the stage of most of them."""
    if by_words_alone(diagnosis):
        return against_reference(diagnosis)
    if many_refused(diagnosis) and 2 * (refused := int(diagnosis.refusals.wrong.sum())) >= bad:
        n = count(diagnosis.scored.n, "question")
        return f"{refused:,} of {n} were refused although they have an answer"
    top = next((entry for entry in diagnosis.fix_first if entry.key != UNEXPLAINED), None)
    noun = case_noun(diagnosis.scored)
    cases = count(measured, noun if measured == diagnosis.scored.n else f"measured {noun}")
    share = calls_share(diagnosis.share_of_calls(diagnosis.bad.bad))
    stage = "" if top is None else f", {STAGES[stage_code(top.key)].count(top.n_bad)}"
    return f"{bad:,} of {cases} {'is' if bad == 1 else 'are'} bad{share}{stage}"


def against_reference(diagnosis: Diagnosis) -> str:
    """Return how many answers are not what their reference says, and how many of these refuse."""
    refused, of = diagnosis.stage_counts()["refused"], count(int(diagnosis.measured.sum()), "answer")
    refusals = f", {refused:,} refused" if refused else ""
    return f"{int(diagnosis.bad.bad.sum()):,} of {of} do not match the reference{refusals}"


def by_words_alone(diagnosis: Diagnosis) -> bool:
    """Return whether nothing but references and what can be answered says which cases are bad."""
    names = set(diagnosis.coverage.names)
    return RIGHT_BY_TEXT in names and names <= {RIGHT_BY_TEXT, "answerability"}


def known_statement(diagnosis: Diagnosis) -> str:
    """Return what is known of a run of which no score tells: its refusals, its citations; "" for neither."""
    coverage, n = diagnosis.coverage, len(diagnosis.scored.question_ids)
    if coverage.of_refusals_alone and not diagnosis.bad.bad.any():
        who = f"all {count(n, 'question')}" if diagnosis.refusals.right.all() else "every refusal"
        return f"{who} correctly refused, nothing to fix in the answers"
    if (rated := rating_statement(diagnosis)) and not diagnosis.measured.any():
        return rated
    if diagnosis.measured.any() or (citations := citations_of_run(diagnosis.scored)) is None:
        return ""
    return in_sentence(citations_sentence(citations).rstrip(".").rpartition(". ")[2])


def rating_statement(diagnosis: Diagnosis) -> str:
    """Return how many answers are rated low on scales of the user's own; "" where few are."""
    clauses = []
    for each in low_ratings(diagnosis.scored):
        end = f"{each.end:g} or {'higher' if each.above else 'lower'}"
        scale = f"{in_sentence(title_of(each.metric))}, {each.scale[0]:g} to {each.scale[1]:g}"
        clauses.append(f"{each.n:,} of {count(each.of, 'answer')} are rated {end} ({scale})")
    return "; ".join(clauses)


def scale_statement(findings: Sequence[Finding]) -> str:
    """Return which metrics are on another scale than theirs, to be declared first; "" for none."""
    names = [title_of(name) for each in off_scale(findings) for name in each.metrics]
    if not names:
        return ""
    listed = ", ".join([names[0], *map(in_sentence, names[1:])])
    return f"{listed} {'is' if len(names) == 1 else 'are'} on another scale, to be declared first"


def loss_statement(loss: MainLoss) -> str:
    """Return where many cases are lost in the few words of a title; "" where no place stands out."""
    cases = f"of {count(loss.of, 'case' if loss.share_of_calls is None else 'kept call')}"
    share = calls_share(loss.share_of_calls)
    if loss.lacking:
        lack = "lacks" if loss.lacking == 1 else "lack"
        what = "the answer, or part of it," if loss.partial else "the answer"
        return f"{loss.lacking:,} {cases} {lack} {what} in the context{share}"
    return f"{loss.n:,} {cases} {STAGES[stage_code(loss.stage)].counted}{share}" if loss.stage else ""


def _place(loss: MainLoss) -> str:
    text = loss_statement(loss)
    if loss.part is not None and 2 * loss.part[1] >= loss.lacking:
        text += f" ({part_title(loss.part[0])} in {loss.part[1]:,})"
    if loss.mostly_from_memory:
        are = "is" if loss.from_memory == 1 else "are"
        text += f", and {loss.from_memory:,} of these {are} answered correctly from the model's memory"
    if loss.mostly_supported:
        are = "is" if loss.supported == 1 else "are"
        text += f", and {loss.supported:,} of these {are} right and supported by it: check the gold first"
    return text


def wordy_statement(loss: MainLoss) -> str:
    """Return how many answers say more than asked; "" where these are few."""
    if not loss.say_more:
        return ""
    say = "says" if loss.say_more == 1 else "say"
    return f"{loss.say_more:,} of {count(loss.answers, 'answer')} {say} more than asked"


def _repeated(diagnosis: Diagnosis) -> bool:
    return len(diagnosis.scored.question_ids) < diagnosis.scored.n


def _slice_clause(where: Concentration, repeated: bool) -> str:
    bad = "bad questions" if repeated else "bad cases"
    return f"{slice_values(where)} accounts for {where.n_bad:,} of {where.n_bad_all:,} {bad}"
