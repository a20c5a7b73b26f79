"""Retrieval across languages: formulas by hand, and xquad through the product against its expected values."""

import json
from pathlib import Path

import numpy as np
import pytest
from places import FIXTURES

from ragtriage.data.errors import DataError
from ragtriage.data.experiments.languages import LanguageFindings, run_language_experiment, word_tokens
from ragtriage.data.experiments.parallel_questions import read_multilingual
from ragtriage.data.experiments.registry import experiment_summary
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import import_source, inputs_of, joined
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Workspace
from ragtriage.metrics.experiments.questions import (
    RankedLists,
    average_precision,
    language_shares,
    reciprocal_rank,
    transfer_ratio,
)
from ragtriage.metrics.schema.scores import MetricsError

XQUAD = FIXTURES / "xquad_crosslingual"
QUESTIONS, CORPUS = str(XQUAD / "questions.jsonl"), str(XQUAD / "corpus.jsonl")
EXPECTED = json.loads((XQUAD / "expected.json").read_text(encoding="utf-8"))
POOLED = EXPECTED["pooled: all 400 passages, 5 relevant per question"]

# Three questions, k = 3: English (0) finds 0 1 and nothing more, Chinese (1) finds 0 0 0, the last nothing.
LISTS = RankedLists(
    language=np.array([[0, 1, -1], [0, 0, 0], [-1, -1, -1]]),
    relevant=np.array([[True, True, False], [False, False, True], [False, False, False]]),
    relevant_count=np.array([2, 2, 2]),
)


def test_average_precision_is_over_all_relevant_passages() -> None:
    """(1/1 + 2/2) / 2 = 1; (1/3) / 2 = 1/6; nothing found = 0."""
    assert average_precision(LISTS, 3).tolist() == pytest.approx([1.0, 1 / 6, 0.0])
    assert average_precision(LISTS, 1).tolist() == [0.5, 0.0, 0.0]
    assert reciprocal_rank(LISTS).tolist() == pytest.approx([1.0, 1 / 3, 0.0])


def test_a_list_that_is_empty_has_no_share_of_a_language() -> None:
    """1 of 2, 0 of 3, and nothing: mean .25 of two lists; 1 of 2 relevant in each language: .5 of three."""
    assert LISTS.empty.tolist() == [False, False, True]
    share = language_shares(LISTS, np.array([0, 1, 1]), np.array([1, 1, 1]), np.arange(3))
    assert (share.results.mean, share.results.n_scored) == (0.25, 2)
    assert (share.relevant.mean, share.relevant.n_scored) == (0.5, 3)


def test_transfer_is_what_is_off_the_diagonal_by_what_is_on_it() -> None:
    assert transfer_ratio([[0.8, 0.2], [0.4, 0.4]]) == pytest.approx(0.3 / 0.6)
    assert transfer_ratio([[0.8, np.nan], [0.4, np.nan]]) == pytest.approx(0.5)
    assert np.isnan(transfer_ratio([[0.0, 0.2], [0.4, 0.0]]))
    assert np.isnan(transfer_ratio([[0.8]]))


def test_lists_of_other_shapes_are_refused() -> None:
    with pytest.raises(MetricsError, match=r"accepted: \(n, k\), \(n, k\) and n"):
        RankedLists(LISTS.language, LISTS.relevant[:2], LISTS.relevant_count)


def test_chinese_is_cut_into_overlapping_pairs() -> None:
    assert word_tokens("The Broncos, 24–10. 黑豹队赢") == [
        "the",
        "broncos",
        "24",
        "10",
        "黑豹",
        "豹队",
        "队赢",
    ]


@pytest.fixture(scope="module")
def xquad(tmp_path_factory: pytest.TempPathFactory) -> LanguageFindings:
    store = RunStore(Workspace(tmp_path_factory.mktemp("languages") / "ws").create())
    experiment = run_language_experiment(store, read_multilingual(QUESTIONS, CORPUS), "")
    findings = experiment_summary(store, experiment).findings
    assert isinstance(findings, LanguageFindings)
    return findings


def test_every_pair_of_languages_has_its_expected_values(xquad: LanguageFindings) -> None:
    """25 pairs: en>en .93, zh>zh .955, zh>en .08 with 169 of 200 empty, en>zh .13, ru>en .135."""
    assert len(xquad.cells) == 25
    for cell in xquad.cells:
        expected = EXPECTED[f"question {cell.question_language} -> passages {cell.passage_language}"]
        found = {"recall1": cell.quality.mean, "mrr10": cell.mrr.mean, "empty_results": cell.empty}
        assert found == pytest.approx({name: expected[name] for name in found}, abs=1e-9)
        assert cell.n == 200


def test_the_pooled_corpus_has_its_expected_values(xquad: LanguageFindings) -> None:
    """The file counts the 2 empty Chinese lists as sharing nothing; here they have no share."""
    assert len(xquad.pooled) == 5
    for pooled in xquad.pooled:
        expected = POOLED[pooled.language]
        assert pooled.average_precision.mean == pytest.approx(expected["map10"], abs=1e-9)
        with_empty = pooled.own_share.mean * (pooled.n - pooled.empty) / pooled.n
        assert with_empty == pytest.approx(expected["share_of_top10_in_question_language"], abs=1e-9)
        assert pooled.own_relevant.mean == pytest.approx(0.2)
    assert xquad.transfer == pytest.approx(xquad.crossed / xquad.same)
    assert xquad.transfer < 0.2


def test_an_imported_run_is_measured_alike_and_its_missing_questions_are_empty(
    tmp_path: Path, xquad: LanguageFindings
) -> None:
    """The TREC run has 998 of 1,000 questions: a file of results has no line for one that found nothing."""
    store = RunStore(Workspace(tmp_path / "ws").create())
    source, options = next(iter(joined(inputs_of(str(XQUAD / "pooled_bm25.trec"), Options()))))
    run = import_source(store, source, options, "default")[0].run
    assert run.n == 998
    asked = read_multilingual(QUESTIONS, CORPUS)
    findings = experiment_summary(
        store, run_language_experiment(store, asked, "", store.scored(run))
    ).findings
    assert findings.cells == ()
    assert [(each.n, each.empty) for each in findings.pooled] == [
        (200, 2 if each.language == "zh" else 0) for each in xquad.pooled
    ]
    for mine, built_in in zip(findings.pooled, xquad.pooled, strict=True):
        assert mine.average_precision.mean == pytest.approx(built_in.average_precision.mean, abs=0.002)


@pytest.mark.parametrize(
    ("questions", "corpus", "message"),
    [
        ("{", '{"id": "a", "text": "t"}', r"q\.jsonl:1: is not JSON"),
        ("[]", '{"id": "a", "text": "t"}', r"q\.jsonl:1: is not an object"),
        ('{"id": "q", "question": "x"}', '{"id": "a", "text": "t"}', "no `relevant`"),
        (
            '{"id": "q", "question": "x", "relevant": ["b"]}',
            '{"id": "a", "text": "t"}',
            "no relevant passage",
        ),
        ('{"id": "q", "question": "x", "relevant": ["a"]}', '{"id": "a", "text": "t"}\n' * 2, "one id"),
        ('{"id": "q", "question": "x", "relevant": ["a"]}', '{"id": "a"}', r"c\.jsonl:1: no `text`"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_sentence(
    tmp_path: Path, questions: str, corpus: str, message: str
) -> None:
    (tmp_path / "q.jsonl").write_text(questions, encoding="utf-8")
    (tmp_path / "c.jsonl").write_text(corpus, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_multilingual(str(tmp_path / "q.jsonl"), str(tmp_path / "c.jsonl"))


def test_a_language_that_is_not_given_is_told_from_the_text(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text('{"id": "q", "question": "黑豹队的防守丢了多少分", "relevant": ["a"]}')
    (tmp_path / "c.jsonl").write_text('{"id": "a", "text": "The Panthers defense gave up just 308 points."}')
    asked = read_multilingual(str(tmp_path / "q.jsonl"), str(tmp_path / "c.jsonl"))
    assert (asked.questions[0].language, asked.passages[0].language) == ("zh", "en")
