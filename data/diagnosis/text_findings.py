"""From the stored texts of a run to the input of the sanity rules on them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragtriage.data.scoring.grouping import common_languages
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.text.language import language_name
from ragtriage.metrics.sanity.rule import AnswerTexts
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
