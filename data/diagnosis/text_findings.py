"""From the stored texts of a run to the input of the sanity rules on them, and findings on its accounts."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ragtriage.data.scoring.grouping import common_languages
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.stored_file import reading
from ragtriage.data.text.language import language_name
from ragtriage.data.text.tokens import content_tokens
from ragtriage.metrics.number_text import count
from ragtriage.metrics.sanity.rule import AnswerShift, AnswerTexts, Finding, Severity, rows_of
from ragtriage.metrics.schema.scores import BoolArray, Source

TELLING = 60  # characters of an answer in letters, from which on its language is sure enough
TELLING_IDEOGRAPHS = 15
# languages that the model takes for each other
_ALIKE = (
    {"da", "no", "sv", "nn"},
    {"es", "pt", "gl", "ca", "it", "oc", "la", "eo", "ia"},
    {"hr", "sr", "bs", "sh", "sl", "mk", "bg"},
    {"id", "ms", "jv", "su"},
    {"cs", "sk"},
    {"ru", "uk", "be", "bg", "mk"},
    {"hi", "mr", "ne", "sa", "bh"},
    {"ar", "fa", "ur", "ps", "ckb", "arz", "ug"},
    {"nl", "af", "fy", "li", "de", "lb"},
    {"zh", "ja"},
    {"tr", "az"},
    {"fi", "et"},
)


def answer_texts(scored: ScoredRun) -> AnswerTexts | None:
    """Return what the texts of a run tell by themselves; None where its scores are without them."""
    table, languages = scored.auxiliary_table("texts"), scored.auxiliary_table("languages")
    if table is None or languages is None:
        return None
    features = scored.stage_features
    length = _column(table, "length").astype(np.float64)
    answered = (length > 0) & (features["answer"] == 1) & (features["refused"] != 1)
    secrets = {row: tuple(kinds) for row, kinds in enumerate(table["secrets"].to_pylist()) if kinds}
    in_context = _column(table, "in_context")
    asked, compared, foreign = _languages(scored, table, languages, answered)
    tokens = scored.column("output_tokens", Source.IMPORTED)
    return AnswerTexts(
        question=scored.question,
        errors={row: text for row, text in enumerate(table["error"].to_pylist()) if text},
        answered=answered,
        ending=_column(table, "ending").astype(np.int64),
        reference_ending=_column(table, "reference_ending").astype(np.int64),
        stop=np.nan_to_num(_column(table, "stop").astype(np.float64), nan=-1).astype(np.int64),
        tails=np.array(table["tail"].to_pylist(), dtype=object),
        length=length,
        tokens=np.full(scored.n, np.nan) if tokens is None else tokens.values,
        languages=np.where(compared, asked, ""),
        foreign=foreign,
        secrets=secrets,
        from_context=frozenset(row for row in secrets if in_context[row]),
        contact=_column(table, "contact"),
        asked=_column(table, "asked"),
        said=_column(table, "said"),
        expected=_column(table, "expected"),
        echo=_column(table, "echo"),
        wants_sources=_column(table, "wants_sources"),
        names_sources=_column(table, "names_sources"),
    )


def _column(table: Any, name: str) -> NDArray[Any]:
    return np.asarray(table[name].to_numpy(zero_copy_only=False))


def _languages(
    scored: ScoredRun, table: Any, languages: Any, answered: BoolArray
) -> tuple[NDArray[np.object_], BoolArray, BoolArray]:
    """Return the names of the languages of the questions, which answers are compared, and which differ."""
    declared = str(scored.run.config.get("answer_language", ""))
    length, names = _column(table, "length"), _column(table, "names_language")
    codes = zip(
        common_languages(languages["question"]).to_pylist(),
        languages["answer"].to_pylist(),
        table["reference_language"].to_pylist(),
        strict=True,
    )
    asked = np.full(scored.n, "", dtype=object)
    compared, foreign = np.zeros(scored.n, dtype=np.bool_), np.zeros(scored.n, dtype=np.bool_)
    for row, (question, answer, reference) in enumerate(codes):
        least = TELLING_IDEOGRAPHS if answer in ("zh", "ja", "ko") else TELLING
        if answered[row] and question and answer and length[row] >= least and not names[row]:
            asked[row], compared[row] = language_name(question), True
            foreign[row] = not any(
                _alike(answer, other) for other in (question, reference, declared) if other
            )
    return asked, compared, foreign


def _alike(code: str, other: str) -> bool:
    return code == other or any({code, other} <= group for group in _ALIKE)


MOST_ROWS = 500  # looked at, in a row: what is shifted is so against its neighbours
FITS = 0.6  # share of a reference's words, weighed by their rarity, that an answer which fits it has
CLEARLY = 0.5  # an answer's own reference fits less than this part of another one


@lru_cache(maxsize=64)  # the samples of a run never change
def answer_shift(samples: Path) -> AnswerShift | None:
    """Return how the answers of a run fit their references and those of other questions; None without any."""
    with reading(samples), pq.ParquetFile(samples) as file:
        batches = file.iter_batches(MOST_ROWS, columns=["row", "answer", "reference_answer"])
        records = next(batches).to_pylist() if file.metadata.num_rows else []
    pairs = [
        (record["row"], record["answer"], record["reference_answer"])
        for record in records
        if record["answer"] and record["reference_answer"]
    ]
    return shift_of(pairs) if pairs else None


def shift_of(pairs: Sequence[tuple[int, str, str]]) -> AnswerShift:
    """Compare the words of each answer with every reference that no other question shares.

    Args:
        pairs: row, answer and reference of each question.
    """
    references = [frozenset(content_tokens(reference.lower())) for _, _, reference in pairs]
    shared = Counter(references)
    places = defaultdict(list)
    for at, reference in enumerate(references):
        for token in reference:
            places[token].append(at)
    rarity = {token: math.log(1 + len(pairs) / len(rows)) for token, rows in places.items()}
    whole = np.array([sum(rarity[token] for token in reference) for reference in references])
    own_only = np.array([shared[reference] == 1 for reference in references]) & (whole > 0)
    n_own, shifted, steps = 0, [], Counter[int]()
    for at, (row, answer, _) in enumerate(pairs):
        has = np.zeros(len(pairs))
        for token in content_tokens(answer.lower()) & rarity.keys():
            has[places[token]] += rarity[token]
        fit = np.divide(has, whole, out=np.zeros(len(pairs)), where=whole > 0)
        own, others = fit[at], np.where(own_only, fit, 0.0)
        others[at] = 0.0
        best = int(others.argmax())
        n_own += int(own >= FITS)
        if others[best] >= FITS and own < CLEARLY * others[best]:
            shifted.append(row)
            steps[pairs[best][0] - row] += 1
    step, most = steps.most_common(1)[0] if steps else (0, 0)
    return AnswerShift(len(pairs), n_own, tuple(shifted), step, most)


_PLAIN = ("account_id", "tenant")  # that say what they are for; a customer may be the subject of a document


def unchecked_isolation(scored: ScoredRun) -> list[Finding]:
    """Return the findings on accounts that questions and retrieved documents do not both name."""
    table = scored.auxiliary_table("texts")
    if table is None or table["asks_for"].null_count + table["owned_by"].null_count == 2 * scored.n:
        return []
    asking, owned, accounts = (table[name].to_pylist() for name in ("asks_for", "owned_by", "account"))
    retrieved = scored.stage_features["documents"] > 0
    findings = []
    by_questions = retrieved & np.array([bool(kinds) for kinds in asking])
    names = {kind for kinds in asking for kind in kinds or ()}
    if len({account for account in accounts if account}) > 1 and by_questions.any():
        findings.append(_finding("question", "retrieved document", names, by_questions))
    by_documents = np.array([bool({*(kinds or ())} & {*_PLAIN}) for kinds in owned]) & ~by_questions
    names = {kind for kinds in owned for kind in kinds or ()}
    if by_documents.any() and "account_id" not in names:  # of which a check says so
        findings.append(_finding("retrieved document", "question", names, by_documents))
    return findings


def _finding(named: str, unnamed: str, kinds: set[str], rows: np.ndarray) -> Finding:
    n, by = int(rows.sum()), " and ".join(sorted(kinds))
    severity: Severity = "warning" if kinds & {*_PLAIN} else "note"
    message = (
        f"In {count(n, 'sample')} the {named} names its {by} and no {unnamed} does, so whether anything of "
        "others is shown cannot be checked. Record it on both sides, in `account_id`, tags or metadata."
    )
    title = f"Isolation cannot be checked: only {named}s name their {by}"
    return Finding("unchecked_isolation", severity, title, message, (), n, rows_of(rows))
