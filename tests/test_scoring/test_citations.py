"""Citations of whole runs: real sets with their expected values, and how support is told."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import FIXTURES

from ragtriage.data.diagnosis.run_digest import digest_new_runs
from ragtriage.data.errors import DataError
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import import_source
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.suites.citation_support import sentence_support, support_basis
from ragtriage.data.suites.citations import cited_answer
from ragtriage.data.text.context_attribution import ContextAttributor
from ragtriage.metrics.schema.scores import BoolArray
from ragtriage.metrics.statistics.class_agreement import pearson

HAGRID = FIXTURES / "citations_hagrid"
SCHOLAR = FIXTURES / "scholarqabench" / "human_answers.json"
ATTRIBUTION = FIXTURES / "faithfulness_nli"


def imported(store: RunStore, path: Path) -> dict[str, ScoredRun]:
    found = import_source(store, InputFile.from_path(path), Options(), "p")
    return {one.run.name: store.scored(one.run) for one in found}


def counts(scored: ScoredRun) -> dict[str, Any]:
    table = scored.auxiliary_table("citations")
    return {name: np.array(values) for name, values in table.to_pydict().items()}


def sources(scored: ScoredRun, metric: str) -> dict[str, int]:
    column = scored.column(metric)
    return {} if column is None else column.sources


def tagged(scored: ScoredRun, name: str, value: str) -> BoolArray:
    group = next(group for group in scored.groups if group.name == name)
    return np.asarray(np.array(group.labels)[group.codes] == value)


def test_hagrid_has_its_expected_values(workspace: RunStore) -> None:
    expected = json.loads((HAGRID / "expected.json").read_text())
    (scored,) = imported(workspace, HAGRID / "answers.jsonl").values()
    found, complete = counts(scored), tagged(scored, "complete", "true")
    assert scored.n == expected["answers"]
    assert complete.sum() == expected["complete_answers"]
    assert found["sentences"].sum() == found["needed"].sum() == expected["sentences"]
    assert found["uncited"].sum() == expected["sentences_without_citation"]
    assert found["outside"].sum() == expected["sentences_citing_a_number_with_no_passage"]
    single = expected["citation_precision_single_citation_sentences"]
    assert (found["decided"].sum(), found["supporting"].sum()) == (single["n"], single["supported"])
    recall = scored.values("citation_recall")
    assert recall[complete].mean() == pytest.approx(expected["citation_recall_macro_complete"])
    micro = found["recalled"][complete].sum() / found["needed"][complete].sum()
    assert micro == pytest.approx(expected["citation_recall_micro_complete"])
    assert scored.values("citation_compliance").mean() == pytest.approx(expected["format_compliance"]["rate"])


def test_hagrid_s_joint_labels_give_no_precision_to_several_citations(workspace: RunStore) -> None:
    rows = [json.loads(line) for line in (HAGRID / "answers.jsonl").read_text("utf-8").splitlines()]
    several = np.array([any(len(one["cited"]) > 1 for one in row["sentences"]) for row in rows])
    (scored,) = imported(workspace, HAGRID / "answers.jsonl").values()
    for name in ("citation_precision", "alce_citation_precision"):
        assert np.isnan(scored.values(name)[several]).all()
    cites = np.array([any(one["cited"] for one in row["sentences"]) for row in rows])
    assert np.isfinite(scored.values("citation_precision")[cites & ~several]).all()


def test_experts_of_scholarqabench_count_documents_from_0(workspace: RunStore) -> None:
    """107 of 108 answers cite [0]; read as ranks from 1 every citation would be of the wrong document."""
    rows = json.loads(SCHOLAR.read_text("utf-8"))
    lists = [re.findall(r"\[([\d, -]+)\]", row["output"]) for row in rows]
    cited = [{n for part in found for n in _numbers(part)} for found in lists]
    broken = [bool(found) and max(found) >= len(row["ctxs"]) for row, found in zip(rows, cited, strict=True)]
    (scored,) = imported(workspace, SCHOLAR).values()
    found = counts(scored)
    assert sum(0 in one for one in cited) == 107
    assert ((found["outside"] > 0) == np.array(broken)).all()
    assert (found["citations"] > 0).all()
    assert (sources(scored, "citation_precision"), scored.values("alce_citation_recall").size) == (
        {"estimated": 108},
        108,
    )
    assert np.isnan(scored.values("alce_citation_recall")).all()


def _numbers(part: str) -> set[int]:
    numbers: set[int] = set()
    for item in part.replace(" ", "").split(","):
        low, _, high = item.partition("-")
        numbers |= set(range(int(low), int(high or low) + 1)) if low else set()
    return numbers


def test_begin_is_attributable_or_not(workspace: RunStore) -> None:
    expected = json.loads((ATTRIBUTION / "expected.json").read_text())["BEGIN dev wow"]
    runs = imported(workspace, ATTRIBUTION / "begin_dev_wow.jsonl")
    assert runs.keys() == expected.keys()
    for name, scored in runs.items():
        faithful = scored.values("faithfulness")
        found = {"Fully attributable": (faithful == 1).sum(), "Not fully attributable": (faithful == 0).sum()}
        assert found == expected[name], name
        assert sources(scored, "faithfulness") == {"human": scored.n}
    assert sum(int((scored.values("faithfulness") == 1).sum()) for scored in runs.values()) == 180
    assert sum(int((scored.values("faithfulness") == 0).sum()) for scored in runs.values()) == 250


NORMALISED = {
    "entailment,hallucination": "partial hallucination",
    "entailment,uncooperative": "entailment, uncooperative",
    "entailmentt,uncooperative": "entailment, uncooperative",
}


@pytest.mark.parametrize("system", ["gold", "gpt2", "ctrl", "doha"])
def test_faithdial_s_labels_are_normalised(workspace: RunStore, system: str) -> None:
    whole = json.loads((ATTRIBUTION / "expected.json").read_text())[f"faithdial audit / {system}"]
    expected: dict[str, int] = {}
    for label, n in whole.items():
        if label != "n":
            name = NORMALISED.get(label, label.lower())
            expected[name] = expected.get(name, 0) + n
    scored = imported(workspace, ATTRIBUTION / "faithdial_wow.jsonl")[system]
    group = next(group for group in scored.groups if group.name == "attribution")
    assert dict(zip(group.labels, np.bincount(group.codes).tolist(), strict=True)) == expected


def test_frank_holds_its_metrics_against_people(workspace: RunStore) -> None:
    """Raw correlation is mostly a difference between systems: held constant, little of it is left."""
    expected = json.loads((ATTRIBUTION / "expected.json").read_text())
    runs = imported(workspace, ATTRIBUTION / "frank_scores.csv")
    human = np.concatenate([scored.values("faithfulness") for scored in runs.values()])
    metric = np.concatenate([scored.values("FactCC") for scored in runs.values()])
    assert len(human) == expected["FRANK rows"]
    raw = expected["FRANK: metric against human factuality"]["FactCC"]
    assert pearson(metric, human) == pytest.approx(raw["pearson"])
    within = [
        np.concatenate([scored.values(name) - scored.values(name).mean() for scored in runs.values()])
        for name in ("FactCC", "faithfulness")
    ]
    partial = expected["FRANK: partial correlation, system held constant"]["FactCC"]
    assert pearson(within[0], within[1]) == pytest.approx(partial["partial_pearson"])


def sample(answer: str, documents: Sequence[str | Mapping[str, Any]], **fields: Any) -> dict[str, Any]:
    empty = {"id": None, "doc_id": None, "extra": None, "text": ""}
    retrieved = [{**empty, **({"id": one} if isinstance(one, str) else one)} for one in documents]
    return {"answer": answer, "retrieved": retrieved, "citations": None, "claims": None, **fields}


def ranks(one: Mapping[str, Any], *templates: str, from_zero: bool = False) -> list[tuple[int, ...]]:
    answer = cited_answer(one, templates, from_zero)
    assert answer is not None
    return [citation.ranks for sentence in answer.sentences for citation in sentence.citations]


def test_a_number_is_an_id_before_it_is_a_rank() -> None:
    assert ranks(sample("A claim [2].", ["a", "b"])) == [(2,)]
    assert ranks(sample("A claim [2].", ["2", "5"])) == [(1,)]
    assert ranks(sample("A claim [1].", ["2", "5"])) == [()], "the context has no document 1"
    assert ranks(sample("A claim [0] [2].", ["a", "b"]), from_zero=True) == [(1,), ()]


def test_a_page_is_found_in_what_the_document_records() -> None:
    pages = [{"extra": '{"page": 3}'}, {"extra": '{"metadata": {"page_number": "4"}}'}]
    assert ranks(sample("A claim [Source: page 4] and [p. 9].", pages)) == [(2,), ()]


def test_a_sentence_that_cites_a_document_twice_cites_it_once() -> None:
    assert ranks(sample("One [1] and two [1] things [2].", ["a", "b"])) == [(1,), (2,)]


def support(one: dict[str, Any]) -> list[Any]:
    answer = cited_answer(one)
    assert answer is not None
    return sentence_support(one, answer, support_basis(one, answer), ContextAttributor())


def test_claims_support_the_sentence_that_has_their_words() -> None:
    claims = [
        {"text": "Cats purr loudly", "supported_by": [1]},
        {"text": "Cats sleep long", "supported_by": [2]},
        {"text": "Dogs bark at night", "supported_by": []},
    ]
    one = sample("Cats purr loudly and sleep long [1][2]. Dogs bark at night [1].", ["a", "b"], claims=claims)
    first, second = support(one)
    assert first.together is True
    assert (first.supports, first.alone, first.rest) == ((True, True), (False, False), (False, False))
    assert (second.together, second.supports) == (False, (False,))


def test_a_claim_without_a_place_leaves_support_unknown() -> None:
    claims = [{"text": "Whales sing", "supported_by": [1]}]
    first, second = support(sample("Cats purr loudly [1]. Dogs bark at night.", ["a"], claims=claims))
    assert (first.together, first.supports) == (None, (None,))
    assert second.together is False, "it cites nothing"


def test_a_label_of_several_citations_is_of_none_of_them() -> None:
    citations = [{"sentence": "Cats purr.", "ids": ["a", "b"], "supported": True}]
    (joint,) = support(sample("Cats purr.", ["a", "b"], citations=citations))
    assert (joint.together, joint.supports, joint.rest) == (True, (None, None), (None, None))
    citations = [{"sentence": "Cats purr.", "ids": ["a", "b"], "supported": True, "supporting": ["b"]}]
    (known,) = support(sample("Cats purr.", ["a", "b"], citations=citations))
    assert (known.alone, known.rest) == ((False, True), (True, False))


def test_recorded_citations_without_labels_leave_other_sentences_uncited() -> None:
    citations = [{"sentence": "Cats purr loudly.", "ids": ["a"]}]
    answer = cited_answer(sample("Cats purr loudly. Dogs bark at night.", ["a"], citations=citations))
    assert answer is not None
    assert [(one.text, len(one.citations)) for one in answer.sentences] == [
        ("Cats purr loudly.", 1),
        ("Dogs bark at night.", 0),
    ]


def rows(*answers: str) -> list[dict[str, Any]]:
    documents = [{"id": "a", "text": "cats purr"}, {"id": "b", "text": "dogs bark"}]
    return [
        {"question": f"q{at}", "answer": answer, "retrieved": documents} for at, answer in enumerate(answers)
    ]


def added(
    store: RunStore, samples: list[dict[str, Any]], config: Mapping[str, Any] | None = None
) -> ScoredRun:
    path = store.workspace.root.parent / "rows.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in samples), encoding="utf-8")
    (found,) = import_source(store, InputFile.from_path(path), Options(config=dict(config or {})), "p")
    return store.scored(found.run)


def test_a_run_that_does_not_cite_has_no_citation_metrics(workspace: RunStore) -> None:
    scored = added(workspace, rows(*["Cats purr at night loudly."] * 10, "Cats purr [1]."))
    assert scored.auxiliary_table("citations") is None
    assert scored.column("citation_recall") is None


def test_a_declared_form_makes_a_run_cite(workspace: RunStore) -> None:
    answers = rows("Cats purr loudly at night <1>.", "Cats purr loudly at night [1].")
    scored = added(workspace, answers, {"citation_pattern": "<{n}>"})
    assert scored.values("citation_format").tolist() == [1.0, 0.0]
    assert scored.values("uncited_sentences").tolist() == [0.0, 1.0]


def test_a_project_s_form_is_read_from_metrics_toml(workspace: RunStore) -> None:
    settings = workspace.workspace.root / "metrics.toml"
    settings.write_text('[project.p]\ncitation_pattern = ["<{n}>"]\n', encoding="utf-8")
    scored = added(workspace, rows("Cats purr loudly at night <1>."))
    assert scored.values("citation_format").tolist() == [1.0]
    settings.write_text("citation_pattern = '(a+)+$'\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"citation_pattern: found .*accepted: up to 8 texts"):
        workspace.scored(workspace.runs()[0], workspace.options(workspace.runs()[0]))
    digest_new_runs(workspace, workspace.runs())  # the pages say what is wrong
    assert workspace.index.read_all("digest") == {}


def test_a_refusal_needs_no_citation(workspace: RunStore) -> None:
    cited, refused = rows("Cats purr at night [1].", "No idea [1].")
    scored = added(workspace, [cited, {**refused, "refused": True}])
    assert np.isnan(scored.values("uncited_sentences")).tolist() == [False, True]


def test_noise_is_told_where_the_context_holds_its_gold(workspace: RunStore) -> None:
    def row(at: int, *relevant: bool) -> dict[str, Any]:
        documents = [{"id": f"d{i}", "text": "t", "relevant": flag} for i, flag in enumerate(relevant)]
        return {"question": f"q{at}", "answer": "x", "retrieved": documents, "relevant": ["d0"]}

    scored = added(workspace, [row(0, True, False, False), row(1, True, True, False), row(2, True, False)])
    group = next(group for group in scored.slices if group.name == "context noise")
    labels = [group.labels[code] for code in group.codes]
    assert labels == ["noisy context", "clean context", "clean context"]


def test_a_page_is_found_however_the_document_names_it(workspace: RunStore) -> None:
    scored = imported(workspace, FIXTURES / "situations" / "m_citepage.jsonl")["citepage"]
    assert scored.values("citation_format").tolist() == [1.0] * 7
    assert scored.values("citation_precision").tolist() == [1.0] * 7
    assert scored.values("citation_recall").tolist() == [1.0] * 7


@pytest.mark.parametrize(
    ("documents", "ranks"),
    [
        ([{"id": "manual#12"}, {"id": "c", "extra": '{"page": 12}'}], (2,)),  # a stated page before an id
        ([{"id": "chunk-112"}, {"id": "c12"}, {"id": "doc-12"}], ()),
        ([{"id": "guide.pdf#page=12"}, {"id": "guide.pdf#page=13"}], (1,)),
        ([{"id": "p. 012"}], (1,)),
        ([{"id": "12", "doc_id": "12"}, {"id": "b", "doc_id": "12"}], (1, 2)),
    ],
)
def test_which_document_a_page_is(documents: list[dict[str, Any]], ranks: tuple[int, ...]) -> None:
    empty = {"doc_id": None, "text": None, "extra": None}
    sample = {
        "answer": "The pressure is 2.5 bar [Source: Page 12].",
        "citations": None,
        "retrieved": [{**empty, **document} for document in documents],
    }
    answer = cited_answer(sample)
    assert answer is not None
    assert answer.sentences[0].citations[0].ranks == ranks
