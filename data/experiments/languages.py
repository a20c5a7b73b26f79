"""Across languages: a run for the passages of each language and of all, the matrix, the cost of crossing."""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from ragtriage.data.chunking.retrievers import Bm25Index
from ragtriage.data.errors import DataError, ValidationErrors
from ragtriage.data.experiments.experiment import (
    ArmRecord,
    Design,
    Experiment,
    ExperimentKind,
    Measured,
    keep_experiment,
)
from ragtriage.data.experiments.parallel_questions import (
    NOT_RECORDED,
    LanguagePassage,
    LanguageQuestion,
    MultilingualSet,
)
from ragtriage.data.experiments.questions import Questions
from ragtriage.data.importers.load import import_parsed_runs
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.data.store.sample_reader import AT_ONCE, further_fields
from ragtriage.data.store.workspace import utc_now
from ragtriage.metrics.experiments.questions import (
    RankedLists,
    average_precision,
    language_shares,
    reciprocal_rank,
    transfer_ratio,
)
from ragtriage.metrics.schema.scores import IntArray
from ragtriage.metrics.statistics.intervals import Interval, mean_over_questions, question_means

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
        of_language = [
            (known[entry["id"]], float(entry["score"] or 0))
            for entry in sample["retrieved"] or ()
            if entry["id"] in known
        ]
        lists.setdefault(sample["question_id"], of_language)
    return lambda question: lists.get(question.question_id, [])


def run_language_experiment(
    store: RunStore,
    asked: MultilingualSet,
    project: str,
    stored: ScoredRun | None = None,
    created_at: datetime | None = None,
) -> Experiment:
    """Make the runs and keep the experiment; the same questions and passages give the same one.

    `stored` is a run that retrieved from all passages; by default the built-in BM25 searches, those of each
    language and all of them. The project is named after the questions, unless named.
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
        notes=(f"Passages of {len(asked.languages)} languages, as the file gives them, unless named.",),
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


QUALITY = "recall@1"


@dataclass(frozen=True)
class LanguageCell:
    """Questions of one language against passages of one."""

    question_language: str  # of the questions
    passage_language: str  # of the passages
    quality: Interval  # the arms' metric, an empty list counting as it does there
    mrr: Interval  # mean reciprocal rank of the first relevant passage in the top 10
    n: int  # questions
    empty: int  # of them, those for which nothing was found; not a low score but none


@dataclass(frozen=True)
class PooledLanguage:
    """Questions of one language against the passages of all."""

    language: str  # of the questions
    average_precision: Interval  # in the top 10, every parallel passage relevant
    # of the results that are in the language of the question, over lists that are not empty
    own_share: Interval
    own_relevant: Interval  # its share among the relevant passages: what an unbiased list would have
    n: int  # questions
    empty: int  # of them, those for which nothing was found


@dataclass(frozen=True)
class LanguageFindings:
    """The cost of crossing languages."""

    languages: tuple[str, ...]  # of questions or passages, in order
    cells: tuple[LanguageCell, ...]  # of the matrix, by question language, then passage language
    same: float  # mean quality where both are in one language; NaN where there is no matrix
    crossed: float  # mean quality where they are not
    transfer: float  # crossed / same
    pooled: tuple[PooledLanguage, ...]  # by question language; () where no arm has the passages of all


def _findings(measured: Measured, quality: str) -> LanguageFindings:
    passages = {str(measured.levels[arm]["passages"]): at for at, arm in enumerate(measured.arms)}
    runs = {name: measured.scored[at] for name, at in passages.items()}
    asked = list(dict.fromkeys(name for run in runs.values() for name in _question_languages(run)[1]))
    there = [name for name in passages if name != ALL]
    # the diagonal first: languages with both questions and passages
    languages = [*(name for name in there if name in asked), *(name for name in asked if name not in there)]
    languages += [name for name in there if name not in asked]
    cells = [
        _cell(runs[passage], question, passage, quality)
        for question in languages
        for passage in languages
        if passage in runs and question in asked
    ]
    values = {(cell.question_language, cell.passage_language): cell.quality.mean for cell in cells}
    matrix = [[values.get((row, column), np.nan) for column in languages] for row in languages]
    same = [mean for (row, column), mean in values.items() if row == column]
    crossed = [mean for (row, column), mean in values.items() if row != column]
    return LanguageFindings(
        tuple(languages),
        tuple(cells),
        float(np.nanmean(same)) if same else float("nan"),
        float(np.nanmean(crossed)) if crossed else float("nan"),
        transfer_ratio(matrix) if cells else float("nan"),
        tuple(_pooled(runs[ALL], language) for language in languages if language in asked)
        if ALL in runs
        else (),
    )


def _question_languages(run: ScoredRun) -> tuple[IntArray, tuple[str, ...]]:
    """Return (n,) codes of the language of each sample's question, and the languages."""
    for group in run.groups:
        if group.name == "language":
            return group.codes, group.labels
    return np.zeros(run.n, dtype=np.int64), (NOT_RECORDED,)


def _rows(run: ScoredRun, language: str) -> IntArray:
    codes, labels = _question_languages(run)
    return np.flatnonzero(codes == labels.index(language)) if language in labels else np.zeros(0, np.int64)


def _cell(run: ScoredRun, question: str, passage: str, quality: str) -> LanguageCell:
    rows = _rows(run, question)
    lists = _lists(run, rows, {})
    clusters = run.clusters[run.question[rows]]
    # one value a sample: the mean of its question, so that repeats do not count more
    return LanguageCell(
        question_language=question,
        passage_language=passage,
        quality=mean_over_questions(
            question_means(run.values(quality), run.question)[0][run.question[rows]], clusters
        ),
        mrr=mean_over_questions(reciprocal_rank(lists), clusters),
        n=len(rows),
        empty=int(lists.empty.sum()),
    )


def _pooled(run: ScoredRun, language: str) -> PooledLanguage:
    rows = _rows(run, language)
    codes = {language: 0}
    lists = _lists(run, rows, codes)
    clusters = run.clusters[run.question[rows]]
    tags = run.samples.read(rows.tolist(), ["tags"])
    named = [{tag["key"]: tag["value"] for tag in sample["tags"] or ()} for sample in tags]
    share = language_shares(
        lists,
        np.zeros(len(rows), np.int64),
        np.array([int(entry.get("relevant in the language", 0)) for entry in named], dtype=np.int64),
        clusters,
    )
    return PooledLanguage(
        language=language,
        average_precision=mean_over_questions(average_precision(lists, DEPTH), clusters),
        own_share=share.results,
        own_relevant=share.relevant,
        n=len(rows),
        empty=int(lists.empty.sum()),
    )


def _lists(run: ScoredRun, rows: IntArray, codes: dict[str, int]) -> RankedLists:
    """Return the top 10 of some samples; languages take the next free code."""
    language = np.full((len(rows), DEPTH), -1, dtype=np.int64)
    relevant = np.zeros((len(rows), DEPTH), dtype=np.bool_)
    counts = np.zeros(len(rows), dtype=np.int64)
    for start in range(0, len(rows), AT_ONCE):
        samples = run.samples.read(rows[start : start + AT_ONCE].tolist(), ["retrieved", "relevant"])
        for at, sample in enumerate(samples, start=start):
            gold = {entry["id"] for entry in sample["relevant"] or ()}
            counts[at] = len(gold)
            for rank, entry in enumerate((sample["retrieved"] or ())[:DEPTH]):
                language[at, rank] = codes.setdefault(
                    str(further_fields(entry["extra"], "language").get("language") or NOT_RECORDED),
                    len(codes),
                )
                relevant[at, rank] = entry["id"] in gold
    return RankedLists(language, relevant, counts)


def _design(_questions: Questions, _parameters: Mapping[str, Any]) -> Design:
    raise DataError(
        "languages: needs passages with their languages; accepted: "
        "`ragtriage experiment languages QUESTIONS --corpus CORPUS`"
    )


LANGUAGES = ExperimentKind(
    key="languages",
    title="Across languages",
    changes="the language of the passages",
    design=_design,
    findings=_findings,
    quality=QUALITY,
)
