"""The runs of the language experiment: every question against each language's passages, by BM25."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from ragtriage.data.chunking.retrievers import Bm25Index
from ragtriage.data.errors import ValidationErrors
from ragtriage.data.experiments.languages.parallel_questions import (
    LanguagePassage,
    LanguageQuestion,
    MultilingualSet,
)
from ragtriage.data.experiments.record import ArmRecord, Experiment, keep_experiment
from ragtriage.data.importers.load import import_parsed_runs
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.data.store.workspace import utc_now

K1, B = 0.9, 0.4  # Anserini's, as in the multilingual benchmarks
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_RUN = re.compile(rf"[{_CJK}]+|\w+")  # a number that runs into Chinese stays one word with it
_STARTS_CJK = re.compile(f"[{_CJK}]")


def word_tokens(text: str) -> list[str]:
    """Return the words of a text in lower case, Chinese, Japanese and Korean as overlapping pairs."""
    tokens: list[str] = []
    for run in _RUN.findall(text.lower()):
        if _STARTS_CJK.match(run):
            tokens += [run[at : at + 2] for at in range(max(1, len(run) - 1))]
        else:
            tokens.append(run)
    return tokens


def word_index(texts: Sequence[str]) -> Bm25Index:
    """Return passages ready to be searched by BM25 over `word_tokens` (k1 = 0.9, b = 0.4)."""
    return Bm25Index(texts, word_tokens, K1, B)


ALL = "all"  # level of the arm whose passages are in every language
DEPTH = 10
Ranking = Callable[[LanguageQuestion], Sequence[tuple[LanguagePassage, float]]]


def word_ranking(passages: Sequence[LanguagePassage]) -> Ranking:
    """Return the built-in retriever over some passages: BM25 over words as they stand."""
    index = word_index([passage.text for passage in passages])

    def ranking(question: LanguageQuestion) -> list[tuple[LanguagePassage, float]]:
        positions, scores = index.search([question.question], DEPTH)
        return [
            (passages[at], score)
            for at, score in zip(positions[0].tolist(), scores[0].tolist(), strict=True)
            if at >= 0
        ]

    return ranking


def stored_ranking(scored: ScoredRun, passages: Sequence[LanguagePassage]) -> Ranking:
    """Return what a run retrieved; a question that it does not have found nothing."""
    known = {passage.doc_id: passage for passage in passages}
    lists: dict[str, list[tuple[LanguagePassage, float]]] = {}
    for sample in scored.samples.each(["question_id", "retrieved"]):
        found = [
            (known[entry["id"]], float(entry["score"] or 0))
            for entry in sample["retrieved"] or ()
            if entry["id"] in known
        ]
        lists.setdefault(sample["question_id"], found)
    return lambda question: lists.get(question.question_id, [])


def run_language_experiment(
    store: RunStore,
    asked: MultilingualSet,
    project: str,
    stored: ScoredRun | None = None,
    created_at: datetime | None = None,
) -> Experiment:
    """Make the runs and keep the experiment; the same questions and passages give the same one.

    Args:
        store: of the workspace.
        asked: questions and passages.
        project: of the runs; "" for one named after the questions.
        stored: a run that retrieved from all passages; by default the built-in BM25 searches, those of each
            language and all of them.
        created_at: time of the runs; None for now.
    """
    project = project or f"{asked.name}: across languages"
    system = f"run {stored.run.name}" if stored else "built-in BM25"
    arms = [(ALL, stored_ranking(stored, asked.passages))] if stored else _built_in(asked)
    digest = hashlib.sha256("\x1e".join([project, system, _version(asked)]).encode()).hexdigest()[:12]
    created_at = created_at or utc_now()
    runs = [
        replace(_arm_run(asked, passages, ranking, system, digest), created_at=created_at)
        for passages, ranking in arms
    ]
    imported = import_parsed_runs(store, runs, project, ValidationErrors(asked.name))
    experiment = Experiment(
        experiment_id=digest,
        kind="languages",
        project=project,
        system=system,
        system_identity=hashlib.sha256(system.encode()).hexdigest(),
        questions=asked.name,
        n_questions=len(asked.questions),
        parameters={"languages": ", ".join(asked.languages), "depth": DEPTH},
        arms=tuple(
            ArmRecord(
                f"passages-{passages}",
                _title(passages),
                {"passages": passages},
                entry.run.n,
                entry.run.run_id,
            )
            for (passages, _), entry in zip(arms, imported, strict=True)
        ),
        created_at=created_at,
        notes=(f"Passages of {len(asked.languages)} languages, as the file gives them; else as told.",),
    )
    keep_experiment(store.workspace, experiment)
    return experiment


def _built_in(asked: MultilingualSet) -> list[tuple[str, Ranking]]:
    by_language: dict[str, list[LanguagePassage]] = {language: [] for language in asked.languages}
    for passage in asked.passages:
        by_language[passage.language].append(passage)
    arms = [(language, word_ranking(passages)) for language, passages in by_language.items()]
    return [*arms, (ALL, word_ranking(asked.passages))]


def _title(passages: str) -> str:
    return "Passages in every language" if passages == ALL else f"Passages in {passages}"


def _arm_run(asked: MultilingualSet, passages: str, ranking: Ranking, system: str, digest: str) -> ParsedRun:
    in_arm = {
        passage.doc_id: passage.language for passage in asked.passages if passages in (ALL, passage.language)
    }
    return ParsedRun(
        name=_title(passages),
        records=_records(asked.questions, in_arm, ranking),
        file=f"Across languages: {asked.name}",
        format="experiment",
        named_by_content=True,
        config={"experiment": digest, "experiment_kind": "languages", "system": system, "passages": passages},
        dataset=asked.name,
        dataset_version=_version(asked),
        notes=(
            "A question whose words no passage has gets an empty list: nothing was found, not found badly.",
        ),
    )


def _records(
    questions: Sequence[LanguageQuestion], in_arm: Mapping[str, str], ranking: Ranking
) -> Iterator[Record]:
    for line, question in enumerate(questions, start=1):
        relevant = [name for name in question.relevant if name in in_arm]
        if not relevant:
            continue
        in_language = sum(in_arm[name] == question.language for name in relevant)
        yield (
            line,
            {
                "question_id": question.question_id,
                "conversation_id": question.parallel_id,
                "question": question.question,
                "retrieved": [
                    {"id": passage.doc_id, "text": passage.text, "score": score, "language": passage.language}
                    for passage, score in ranking(question)
                ],
                "relevant": [{"id": name} for name in relevant],
                "tags": {"language": question.language, "relevant in the language": in_language},
            },
        )


def _version(asked: MultilingualSet) -> str:
    digest = hashlib.sha256()
    for text in (
        *(f"{entry.question_id}\x1f{entry.question}\x1f{entry.relevant}" for entry in asked.questions),
        *(f"{entry.doc_id}\x1f{entry.text}" for entry in asked.passages),
    ):
        digest.update(text.encode("utf-8", "surrogatepass") + b"\x00")
    return digest.hexdigest()[:12]
