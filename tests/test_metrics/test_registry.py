"""Properties that every metric of the registry must have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from metric_batches import WIDTH, ClaimRow, Row, batch

from ragtriage import metrics
from ragtriage.metrics.metric_registry import REGISTRY, compute, lookup, unavailable
from ragtriage.metrics.schema.batch import Batch
from ragtriage.metrics.schema.metric import CONVENTIONS, Convention, Metric
from ragtriage.metrics.schema.scores import MetricsError, Scores, Status

KS = (1, 3, 8)
DOCUMENTS = st.sampled_from([*"abcdefgh"])
RANKS = st.sets(st.integers(1, WIDTH), max_size=3).map(sorted)
CLAIM = st.builds(ClaimRow, st.sampled_from([-1, 0, 1, 1]), st.none() | RANKS, RANKS)
FULL_CLAIM = st.builds(ClaimRow, st.sampled_from([0, 1]), RANKS, RANKS)


LEVEL, FLAG = st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 1.0])


PASSAGES: dict[str, st.SearchStrategy[Any]] = {
    "overlap": st.lists(st.floats(0, 1), max_size=WIDTH),
    "alike": st.floats(0, 1) | st.just(float("nan")),
    "covered": st.floats(0, 1) | st.just(float("nan")),
    "says": st.lists(st.integers(-1, 2), max_size=WIDTH),
}


@st.composite
def gold_spans(draw: st.DrawFn) -> tuple[list[tuple[int, int]], int]:
    chunks = draw(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=WIDTH))
    return chunks, sum(gold for gold, _ in chunks) + draw(st.integers(0, 20))


@st.composite
def rows(draw: st.DrawFn) -> Row:
    retrieved = draw(st.none() | st.lists(DOCUMENTS, max_size=WIDTH))
    gold = draw(st.none() | st.dictionaries(DOCUMENTS, st.sampled_from([0.5, 1.0, 2.0, 3.0]), max_size=4))
    hops = {document: draw(st.sampled_from(["1", "2"])) for document in gold or {} if draw(st.booleans())}
    spans, gold_chars = draw(st.just((None, 0)) | gold_spans())
    shares = st.sampled_from([0.0, 0.25, 0.25, 1.0, float("nan")])
    return Row(
        retrieved=retrieved,
        gold=gold,
        hops=hops,
        spans=spans,
        gold_chars=gold_chars,
        claims=draw(st.none() | st.lists(CLAIM, max_size=4)),
        reference=draw(st.none() | st.lists(CLAIM, max_size=4)),
        estimated=draw(st.booleans()),
        used=draw(st.none() | st.dictionaries(st.integers(1, WIDTH), shares, max_size=WIDTH)),
        refused=draw(st.integers(-1, 1)),
        answerable=draw(st.integers(-1, 3)),
        context_has_gold=draw(st.integers(-1, 2)),
        checks=draw(st.lists(st.booleans(), max_size=3)),
        labels=draw(st.lists(st.integers(-1, 1), max_size=WIDTH)),
        judged=draw(st.none() | st.tuples(LEVEL, LEVEL, LEVEL | st.just(float("nan")), FLAG, FLAG)),
        answered=draw(st.booleans()),
        outcome=draw(st.integers(-1, 2)),
        **draw(st.fixed_dictionaries(PASSAGES)),
    )


SAMPLES = st.lists(rows(), max_size=5)
conventions = pytest.mark.parametrize("convention", CONVENTIONS)


def metric_of(name: str) -> Metric:
    return lookup(name).metric


def scores_by_convention(samples: list[Row]) -> dict[str, dict[str, Scores]]:
    """Return the scores of samples under each convention; the batch is made once, which takes longest."""
    made = batch(samples)
    return {convention: compute(made, KS, convention) for convention in CONVENTIONS}


@settings(max_examples=150)
@given(samples=SAMPLES)
def test_values_lie_within_bounds_and_every_gap_has_its_reason(samples: list[Row]) -> None:
    by_convention = scores_by_convention(samples)
    for name, scores in (
        (name, scores) for found in by_convention.values() for name, scores in found.items()
    ):
        low, high = metric_of(name).bounds
        scored = scores.status == Status.SCORED
        assert np.array_equal(np.isnan(scores.values), ~scored), name
        assert np.all(scores.values[scored] >= low - 1e-12), name
        assert np.all(scores.values[scored] <= high + 1e-12), name
        assert [reason == "" for reason in scores.reason] == scored.tolist(), name
        assert Status.FAILED not in scores.status, name


@settings(max_examples=50)
@given(samples=SAMPLES, data=st.data())
def test_the_order_of_samples_does_not_matter(samples: list[Row], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(samples))))
    straight = scores_by_convention(samples)
    shuffled = scores_by_convention([samples[i] for i in order])
    for convention, name in ((convention, name) for convention, found in straight.items() for name in found):
        before, after = straight[convention][name], shuffled[convention][name]
        np.testing.assert_allclose(after.values, before.values[order], atol=1e-12, err_msg=name)
        assert after.reason.tolist() == before.reason[order].tolist(), (convention, name)
        assert after.source.tolist() == before.source[order].tolist(), (convention, name)


@conventions
def test_an_empty_batch_gives_every_metric_no_values(convention: Convention) -> None:
    scores = compute(batch([]), KS, convention)
    assert {metric_of(name).key for name in scores} == {k for k, m in REGISTRY.items() if m.compute}
    assert all(len(values) == 0 for values in scores.values())


@settings(max_examples=60)
@given(samples=SAMPLES)
def test_metrics_that_bound_each_other(samples: list[Row]) -> None:
    scores = compute(batch(samples), KS)
    for small, large in (("recall@1", "recall@3"), ("recall@3", "recall@8"), ("mrr@3", "hit@3")):
        assert not np.any(scores[small].values > scores[large].values + 1e-12)
    grounded = scores["faithfulness"].values + scores["ungrounded"].values
    np.testing.assert_allclose(grounded[~np.isnan(grounded)], 1.0)


@given(
    claims=st.lists(FULL_CLAIM, min_size=1, max_size=5),
    reference=st.lists(FULL_CLAIM, min_size=1, max_size=5),
)
def test_claim_metrics_add_up(claims: list[ClaimRow], reference: list[ClaimRow]) -> None:
    row = Row(retrieved=[*"abcdef"], claims=claims, reference=reference)
    exclusive = compute(batch([row]), KS, "ragchecker")

    def total(*keys: str) -> float:
        return float(sum(exclusive[key].values[0] for key in keys))

    assert total("faithfulness", "self_knowledge", "hallucination") == pytest.approx(1.0)
    noise = ("noise_sensitivity_relevant", "noise_sensitivity_irrelevant")
    assert total("answer_precision", *noise, "hallucination") == pytest.approx(1.0)
    left_out = total("context_recall") * (1 - total("context_utilization"))
    assert total("omission") == pytest.approx(left_out)


def test_every_metric_says_what_it_is() -> None:
    for metric in REGISTRY.values():
        _assert_described(metric)


def _assert_described(metric: Metric) -> None:
    texts = (metric.key, metric.title, metric.meaning, metric.formula, metric.undefined, metric.reference)
    assert all(text.strip() == text and text for text in texts)
    assert metric.meaning.endswith(".")
    assert metric.undefined.endswith(".")
    assert metric.needs
    assert metric.bounds[0] < metric.bounds[1]
    assert metric.per_k == metric.key.endswith("@k")
    assert all(alias.endswith("@k") == metric.per_k for alias in metric.aliases)
    if metric.bands is not None:
        good, excellent = metric.bands
        assert (good < excellent) == bool(metric.higher_is_better)


def test_no_name_means_two_metrics() -> None:
    names = [name for metric in REGISTRY.values() for name in (metric.key, *metric.aliases)]
    assert len(names) == len(set(names))


def test_lookup_knows_cut_offs_and_aliases() -> None:
    assert lookup("recall@5").name == "recall@5"
    assert lookup("claim_recall").name == "context_recall"
    assert lookup("hit_rate@3").title == "Hit rate@3"
    with pytest.raises(MetricsError, match=r"near names: .*faithfulness"):
        lookup("faithfullness")


def test_a_batch_without_inputs_says_what_each_metric_needs() -> None:
    bare = Batch(n=2, documents=np.array([1, 0]))
    assert compute(bare) == {}
    reasons = unavailable(bare)
    assert reasons["recall@k"] == "needs gold documents: `relevant`"
    assert reasons["answer_f1"] == (
        "needs the claims of the answer: `claims` and the claims of the reference answer: `reference_claims`"
    )
    assert reasons["context_relevance"] == "needs relevance labels of the documents: `retrieved.relevant`"
    assert set(reasons) == {key for key, metric in REGISTRY.items() if metric.compute}
    nothing = Batch(n=2, documents=np.zeros(2, dtype=np.int64))
    assert unavailable(nothing)["recall@k"] == (
        "needs gold documents: `relevant` and ranked documents: `retrieved`"
    )


def test_a_full_batch_lacks_nothing() -> None:
    assert unavailable(batch([Row(spans=[(1, 2)], gold_chars=2, says=[0])])) == {}


def test_a_judges_labels_become_the_levels_that_the_page_names() -> None:
    nan = float("nan")
    rows = [
        Row(judged=(1.0, 2 / 3, 0.5, 0.0, 0.0)),
        Row(judged=(0.5, 0.0, nan, 1.0, 2.0)),  # no reference; two attempts to instruct the judge
        Row(judged=(nan, nan, nan, nan, 0.0), answered=False),
        Row(),
    ]
    found = compute(batch(rows), KS)
    scored, nothing, not_run = Status.SCORED, Status.NOT_APPLICABLE, Status.NOT_RUN
    expected = {
        "answer_relevancy": ([1.0, 0.5, nan, nan], [scored, scored, nothing, not_run]),
        "completeness": ([2 / 3, 0.0, nan, nan], [scored, scored, nothing, not_run]),
        "correctness": ([0.5, nan, nan, nan], [scored, nothing, nothing, not_run]),
        "self_contradiction": ([0.0, 1.0, nan, nan], [scored, scored, nothing, not_run]),
        "injection": ([0.0, 1.0, 0.0, nan], [scored, scored, scored, not_run]),
    }
    for name, (values, statuses) in expected.items():
        np.testing.assert_array_equal(found[name].values, values, err_msg=name)
        assert found[name].status.tolist() == statuses, name


def test_a_metric_computed_without_its_block_says_so() -> None:
    recall = REGISTRY["recall@k"].compute
    assert recall is not None
    with pytest.raises(MetricsError, match="lacks an input"):
        recall(Batch(n=1, documents=np.array([1])), 5, "default")


@pytest.mark.parametrize("ks", [(0,), (5, -1)])
def test_cut_offs_start_at_one(ks: tuple[int, ...]) -> None:
    with pytest.raises(MetricsError, match="1 or more"):
        compute(batch([]), ks)


def test_an_unknown_convention_is_refused_by_name() -> None:
    with pytest.raises(MetricsError, match="known: default, ragchecker"):
        compute(batch([]), convention="ragcheck")  # type: ignore[arg-type] # the mistake under test


def test_the_package_offers_the_registry() -> None:
    constants = [name for name in metrics.__all__ if name.isupper()]
    assert metrics.__all__ == sorted(constants) + sorted(set(metrics.__all__) - set(constants))
    assert metrics.REGISTRY is REGISTRY
    assert isinstance(metrics.compute(batch([Row(refused=1)]))["refused"], Scores)
