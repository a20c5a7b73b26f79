"""Sanity checks on texts: answers cut off, errors, secrets, other languages, questions under several ids."""

from collections import Counter
from collections.abc import Mapping

import numpy as np

from ragtriage.metrics.number_text import count, percent
from ragtriage.metrics.sanity.rule import (
    CUT,
    WHOLE,
    AnswerTexts,
    CheckInput,
    Finding,
    Rule,
    Severity,
    rows_of,
)
from ragtriage.metrics.schema.scores import BoolArray

MANY = 0.1  # share of the answers from which on a finding on them is read before any number
MANY_TWICE = 0.25  # and share of the questions that are not others than those asked before
FEWEST = 3  # answers that make many
MOST_NAMED = 3
SHORTEST_ANSWER = 20  # characters; shorter answers may well be alike: yes, a year, a label
FEWEST_SAME, SAME = 5, 0.2  # questions with one answer that no chance explains, and their share
FEWEST_ALIKE, ALIKE = 50, 0.95  # likewise of an answer however short that no reference asks for
LONG_ANSWER = 60  # characters that two writers do not choose alike
FEWEST_COPIED, COPIED = 10, 0.5


def _truncated(run: CheckInput) -> list[Finding]:
    texts = run.texts
    if texts is None or not texts.truncated.any():
        return []
    cut, of, (at_limit, limit) = texts.truncated, int(texts.answered.sum()), texts.at_limit
    ways = {
        "ended by the limit of tokens, as recorded": cut & (texts.stop == CUT),
        "in the middle of a sentence or without an end mark": cut & (texts.ending > WHOLE),
        f"at exactly {limit}": at_limit,
    }
    named = ", ".join(f"{int(rows.sum()):,} {way}" for way, rows in ways.items() if rows.any())
    title = _title(int(cut.sum()), of, "is cut off", "are cut off")
    message = (
        f"How they end: {named}, as “…{texts.tails[cut][0]}”. Raise the limit of the answers, or that of the "
        "export, and run again: what is missing cannot be judged."
    )
    return [_finding("truncated", title, message, cut, of)]


def _errors(run: CheckInput) -> list[Finding]:
    texts = run.texts
    if texts is None or not texts.errors:
        return []
    n = len(texts.errors)
    (text, times), *_ = Counter(texts.errors.values()).most_common(1)
    message = (
        f"{percent(n / run.n)} of all samples ended in an error, {times:,} in “{text}”. "
        "They count as missing: not as wrong answers, and with no latency of their own."
    )
    title = _title(n, run.n, "is an error", "are errors")
    return [_finding("error_answers", title, message, _at(texts.errors, run.n), run.n)]


def _secrets(run: CheckInput) -> list[Finding]:
    texts = run.texts
    if texts is None or not texts.secrets:
        return []
    of, kinds = int(texts.answered.sum()), Counter(each for told in texts.secrets.values() for each in told)
    shown = ", ".join(
        f"{name}{f' ({times:,} times)' if times > 1 else ''}" for name, times in kinds.most_common(MOST_NAMED)
    )
    more = f" and {len(kinds) - MOST_NAMED:,} more" if len(kinds) > MOST_NAMED else ""
    in_context, contacts = len(texts.from_context), int(texts.contact.sum())
    where = f" In {count(in_context, 'answer')} it comes from the context." if in_context else ""
    mail = (
        f" {count(contacts, 'answer')} with an e-mail address or phone number: no fault." if contacts else ""
    )
    title = secrets_title(texts.secrets, of)
    message = (
        f"Neither question nor reference gives {shown}{more}.{where} Take it out of the documents and the "
        f"prompt, and filter answers, before any release.{mail}"
    )
    finding = _finding("secrets", title, message, _at(texts.secrets, run.n), of)
    return [Finding(**{**vars(finding), "severity": "error"})]


def secrets_title(secrets: Mapping[int, tuple[str, ...]], of: int) -> str:
    """Return how many answers tell secrets of which kinds, such as "2 of 120 answers tell an API key"."""
    kinds = Counter(each.rpartition(" ")[0] for told in secrets.values() for each in told)
    named = [f"{'an' if kind[0] in 'aAI' else 'a'} {kind}" for kind, _ in kinds.most_common(MOST_NAMED)]
    listed = f"{', '.join(named[:-1])} or {named[-1]}" if named[1:] else named[0]
    return _title(len(secrets), of, f"reveals {listed}", f"reveal {listed}")


def _other_language(run: CheckInput) -> list[Finding]:
    texts = run.texts
    if texts is None or not texts.foreign.any():
        return []
    compared = texts.languages != ""
    of, asked = int(compared.sum()), Counter(texts.languages[compared])
    shares = ", ".join(
        f"{times:,} of {asked[name]:,} to {name} questions"
        for name, times in Counter(texts.languages[texts.foreign]).most_common(MOST_NAMED)
    )
    one, many = ("is not in the language of its question", "are not in the language of their question")
    title = _title(int(texts.foreign.sum()), of, one, many)
    message = (
        f"Of those long enough to tell: {shares}. No question, prompt or reference asks for it; "
        "tell the model which language to answer in."
    )
    return [_finding("other_language", title, message, texts.foreign, int(texts.answered.sum()))]


def _asked_twice(run: CheckInput) -> list[Finding]:
    texts = run.texts
    if texts is None:
        return []
    pairs = np.unique(np.stack([texts.asked, texts.question]), axis=1)
    distinct, ids = np.unique(pairs[0], return_counts=True)
    n, effective, again = pairs.shape[1], len(distinct), distinct[ids > 1]
    if n == effective:
        return []
    rows = np.isin(texts.asked, again)
    answers = np.unique(np.stack([texts.asked[rows], texts.said[rows]]), axis=1)[0]
    differ = int((np.unique(answers, return_counts=True)[1] > 1).sum())
    title = f"Only {effective:,} of {n:,} questions differ"
    message = (
        f"{count(len(again), 'question')} under several ids, {differ:,} of them with different "
        f"answers. Effective n is {effective:,}. Give a question one id, and number its repeats."
    )
    evidence = (("questions", float(n)), ("effective n", float(effective)))
    severity: Severity = "warning" if n - effective >= max(FEWEST, MANY_TWICE * n) else "note"
    return [Finding("asked_twice", severity, title, message, evidence, int(rows.sum()), rows_of(rows))]


def _commonest(texts: AnswerTexts, among: BoolArray) -> tuple[int, BoolArray]:
    """Return to how many questions the commonest answer is given, and (n,) True where it is."""
    pairs = np.unique(np.stack([texts.said[among], texts.asked[among]]), axis=1)
    said, times = np.unique(pairs[0], return_counts=True)
    if not len(said):
        return 0, among
    return int(times.max()), among & (texts.said == said[times.argmax()])


def _same_answer(run: CheckInput) -> list[Finding]:
    """Report one text that is the answer to many questions whose references differ, or to all without one."""
    texts = run.texts
    if texts is None:
        return []
    of = len(np.unique(texts.asked[texts.length > 0]))  # refusals are replies too
    n, rows = _commonest(texts, texts.answered & (texts.length >= SHORTEST_ANSWER))
    references = texts.expected[rows & (texts.expected != 0)]
    differ = len(np.unique(references)) * 2 > min(n, len(references))
    telling = differ if len(references) else bool(texts.length[rows].max(initial=0) >= LONG_ANSWER)
    if n < max(FEWEST_SAME, SAME * of) or not telling:
        n, rows = _commonest(texts, texts.answered)
        if n < max(FEWEST_ALIKE, ALIKE * of) or (texts.expected[rows] != 0).any():
            return []
    title = f"{n:,} of {of:,} questions get the same answer"
    message = (
        f"{n:,} different questions have one text as their answer, which does not refuse: it depends on none "
        "of them. Look at the system and at the export first."
    )
    return [_finding("same_answer", title, message, rows, int(texts.answered.sum()))]


def _echo(run: CheckInput) -> list[Finding]:
    texts = run.texts
    if texts is None or not (rows := texts.answered & texts.echo).any():
        return []
    of = int(texts.answered.sum())
    title = _title(int(rows.sum()), of, "repeats its question", "repeat their question")
    return [_finding("echo", title, "The answer repeats the question and says nothing else.", rows, of)]


def _copied_references(run: CheckInput) -> list[Finding]:
    """Report references that are the answers themselves, word for word, in most long cases."""
    texts = run.texts
    if texts is None:
        return []
    compared = texts.answered & (texts.expected != 0) & (texts.length >= LONG_ANSWER)
    rows = compared & (texts.said == texts.expected)
    of, n = int(compared.sum()), int(rows.sum())
    if n < FEWEST_COPIED or n < COPIED * of:
        return []
    title = f"{n:,} of {of:,} long answers are their reference word for word"
    message = (
        "Hardly any answer of a sentence or more equals a reference that somebody else wrote. If the "
        "references were made from the answers, a comparison with them says nothing."
    )
    return [_finding("copied_references", title, message, rows, int(texts.answered.sum()))]


def _uncited(run: CheckInput) -> list[Finding]:
    texts = run.texts
    if texts is None:
        return []
    wanted = texts.answered & texts.wants_sources
    n = int(wanted.sum())
    if n < FEWEST or (wanted & texts.names_sources).any():
        return []
    message = (
        f"{n:,} questions or prompts ask for sources, and no answer to them names any. Check the prompt, and "
        "whether the export keeps citations."
    )
    title = "Sources are asked for, and no answer names any"
    return [_finding("uncited", title, message, wanted, int(texts.answered.sum()))]


def _at(rows: Mapping[int, object], n: int) -> BoolArray:
    return np.isin(np.arange(n), list(rows))


def _title(n: int, of: int, one: str, many: str) -> str:
    return f"{n:,} of {count(of, 'answer')} {one if n == 1 else many}"


def _finding(rule: str, title: str, message: str, rows: BoolArray, of: int) -> Finding:
    n = int(rows.sum())
    severity: Severity = "warning" if n >= max(FEWEST, MANY * of) else "note"
    return Finding(rule, severity, title, message, (("answers", float(of)),), n, rows_of(rows))


TEXT_RULES = (
    Rule(
        "secrets",
        "Secrets in answers",
        "an answer holds an API key, a token, a password, a private key, or the number of a card, a US "
        "social security number or an IBAN, which neither question nor reference gives",
        _secrets,
    ),
    Rule(
        "truncated",
        "Answers cut off",
        "an answer was ended by the limit of tokens, ends in the middle of a sentence, or at one length with "
        "many others",
        _truncated,
    ),
    Rule(
        "error_answers",
        "Errors as answers",
        "a sample ended in an error, or its answer is the text of one",
        _errors,
    ),
    Rule(
        "same_answer",
        "One answer to many questions",
        "one text that does not refuse answers a fifth of the questions; references differ, or it is long",
        _same_answer,
    ),
    Rule("echo", "Questions as answers", "an answer is the text of its question", _echo),
    Rule(
        "copied_references",
        "Answers as references",
        "half of the answers of a sentence or more are their reference word for word",
        _copied_references,
    ),
    Rule(
        "other_language",
        "Answers in another language",
        "an answer is in another language than its question and its reference, and nothing asks for that",
        _other_language,
    ),
    Rule(
        "asked_twice",
        "One question under several ids",
        "two ids have the same question, with the same turns before it",
        _asked_twice,
    ),
    Rule(
        "uncited",
        "Sources asked for, none named",
        f"at least {FEWEST} questions or prompts ask for sources, and no answer to them names any",
        _uncited,
    ),
)
