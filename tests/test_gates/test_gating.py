"""Gate verdicts over hand-made runs, one row for every branch; the gates file; the bundled pipelines."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doc_tables import gates_table, verdicts_table
from page_text import headline, page_text
from places import APP, DOCS
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.headlines.triage import report_headline
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.dashboard.wording.comparisons import paired_method_text
from ragtriage.data.api import add_run, gate
from ragtriage.data.comparison.compare import compare
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings, diagnose
from ragtriage.data.errors import DataError
from ragtriage.data.gates.baseline import baseline_of
from ragtriage.data.gates.config import BUNDLED, load_gates, read_gates
from ragtriage.data.gates.report import GateReport, gate_run
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.gates.gates import GateResult
from ragtriage.metrics.gates.wording import VERDICT_WORDS
from ragtriage.metrics.statistics.intervals import METHODS
from ragtriage.metrics.statistics.paired import paired

Records = list[dict[str, Any]]
MEAN = (
    '[[gate]]\nmetric = "faithfulness"\nat_least = 0.85\nseverity = "block"\nreason = "hallucination risk"\n'
)
DROP = '[[gate]]\nkind = "regression"\nmetric = "faithfulness"\nseverity = "block"\n'
BY_MEAN = MEAN + 'rule = "mean"\n'
SAFETY = '[[gate]]\nkind = "checks"\nchecks = "safety"\nseverity = "block"\n'
CRITICAL = '[[gate]]\nkind = "critical"\nseverity = "block"\n'
SLICED = MEAN.replace("[[gate]]", '[[gate]]\nslice = { query_type = "multi-hop" }')
LEVELS = (0.0, 0.02, -0.02, 0.03, -0.03)  # a spread around a level, so that intervals have a width


def records(level: float, n: int = 40, spread: float = 1.0, **more: Any) -> Records:
    """Questions whose faithfulness lies around a level."""
    return [
        {
            "question_id": f"q{at:03d}",
            "question": f"Question {at}?",
            "answer": "An answer.",
            "scores": {"faithfulness": min(1.0, max(0.0, level + spread * LEVELS[at % len(LEVELS)]))},
            **{name: value(at) if callable(value) else value for name, value in more.items()},
        }
        for at in range(n)
    ]


def _unscored(found: Records, keep: int) -> Records:
    return [{**one, **({} if at < keep else {"scores": {}})} for at, one in enumerate(found)]


def _checked(found: Records, failing: int) -> Records:
    def check(at: int) -> dict[str, Any]:
        return {"name": "toxic", "kind": "safety", "passed": at >= failing}

    return [{**one, "checks": [check(at)]} for at, one in enumerate(found)]


def _tagged(found: Records, critical: int) -> Records:
    return [{**one, "tags": {"critical": "yes"}} if at < critical else one for at, one in enumerate(found)]


def _fall(found: Records, failing: int) -> Records:
    low = {"faithfulness": 0.1}
    return [{**one, "scores": low} if at < failing else one for at, one in enumerate(found)]


def _shuffled(found: Records) -> Records:
    """Give each question the scores of another, so that differences vary."""
    return [{**one, "scores": found[(at + 7) % len(found)]["scores"]} for at, one in enumerate(found)]


@dataclass(frozen=True)
class Row:
    """One branch: two runs, the gates, and what they deserve."""

    run: Records
    gates: str
    verdict: str
    code: int = 0
    base: Records | None = None
    dataset: tuple[str, str] = ("", "")
    says: tuple[str, ...] = ()
    warns: tuple[str, ...] = ()
    broken: int = 0


GOOD, POOR = records(0.95), records(0.60)
HALVES = [
    {
        **one,
        "query_type": "multi-hop" if at % 2 else "single-hop",
        "scores": {"faithfulness": (0.6 if at % 2 else 0.95) + LEVELS[at % 5]},
    }
    for at, one in enumerate(records(0.9))
]
NOISY = records(0.85, spread=10.0)
BRANCHES: dict[str, Row] = {
    "pass": Row(GOOD, MEAN, "PASS", 0),
    "fail": Row(POOR, MEAN, "FAIL", 1, says=("the whole interval is below 0.85",)),
    "fail of a warning": Row(
        _checked(records(0.82), 0),
        MEAN.replace("block", "warn") + SAFETY,
        "PASS",
        0,
        says=("0.03 below the threshold",),
    ),
    "a safety gate that holds does not make bad cases good": Row(
        _checked(POOR, 0), MEAN.replace("block", "warn") + SAFETY, "FAIL", 1, says=("Pass rate: 0.00",)
    ),
    "inconclusive": Row(NOISY, MEAN, "INCONCLUSIVE", says=("includes 0.85", "(80 % power): 0.")),
    "unmeasured: no value": Row(_unscored(GOOD, 0), MEAN, "UNMEASURED", says=("not measured",)),
    "unmeasured: too few": Row(_unscored(GOOD, 4), MEAN, "UNMEASURED", says=("measured on 4 questions",)),
    "required, inconclusive": Row(NOISY, MEAN + "required = true\n", "INCONCLUSIVE", 1),
    "required, unmeasured": Row(_unscored(GOOD, 0), MEAN + "required = true\n", "UNMEASURED", 1),
    "sliced: the slice fails": Row(HALVES, SLICED, "FAIL", 1, says=("20 of 20 questions",)),
    "sliced: the other half passes": Row(
        HALVES, SLICED.replace("multi", "single").replace("0.85", "0.80"), "PASS", 0
    ),
    "sliced: no such value": Row(
        HALVES,
        SLICED.replace("multi", "three"),
        "UNMEASURED",
        says=("its values of query_type are multi-hop",),
    ),
    "sliced: a single value": Row(
        records(0.95, query_type="multi-hop"), SLICED, "PASS", 0, says=("40 of 40 questions",)
    ),
    "sliced: nothing records it": Row(GOOD, SLICED, "UNMEASURED", says=("nothing in it records query_type",)),
    "sliced by a tag": Row(
        [{**one, "tags": {"lang": "ru"}} for one in POOR],
        MEAN.replace("[[gate]]", '[[gate]]\nslice = { lang = "ru" }'),
        "FAIL",
        1,
    ),
    "regression: real and large": Row(
        records(0.86, spread=0.5),
        DROP,
        "FAIL",
        1,
        base=GOOD,
        says=("from 0.95 to 0.86", "worse beyond chance, 0.05 is allowed"),
    ),
    "regression: real and small": Row(
        records(0.93, 400, spread=0.5), DROP, "PASS", 0, base=records(0.95, 400)
    ),
    "regression: cannot tell": Row(
        _fall(GOOD, 3), DROP, "INCONCLUSIVE", base=GOOD, says=("a loss of up to 0.14 may hide",), broken=3
    ),
    "regression: nothing changed": Row(
        [{**one, "answer": "Another."} for one in GOOD],
        DROP,
        "PASS",
        0,
        base=GOOD,
        says=("unchanged at 0.95", "worse by at most 0.04"),
    ),
    "regression: without a baseline": Row(GOOD, MEAN + DROP, "PASS", 0, says=("there is no baseline",)),
    "regression: required, without a baseline": Row(GOOD, MEAN + DROP + "required = true\n", "UNMEASURED", 1),
    "regression: measured no more": Row(
        _unscored(GOOD, 0), DROP, "UNMEASURED", base=GOOD, says=("this run has no value of it",)
    ),
    "baseline misses a question": Row(
        GOOD,
        DROP,
        "PASS",
        0,
        base=records(0.95, 39, answer="Older."),
        says=("39 shared questions",),
        warns=("1 question of this run is not in the baseline: q039.",),
    ),
    "run misses questions": Row(
        GOOD[:35],
        DROP,
        "FAIL",
        1,
        base=GOOD,
        warns=("5 questions of the baseline are missing from this run: q035, q036, q037 and 2 more.",),
    ),
    "different question sets": Row(
        [{**one, "question_id": f"other{at}", "question": f"Other {at}?"} for at, one in enumerate(GOOD)],
        DROP,
        "UNMEASURED",
        base=GOOD,
        warns=("The questions differ", "The runs share no question"),
    ),
    "another text under the same id": Row(
        [{**one, "question": f"Changed: {one['question']}"} for one in GOOD],
        DROP,
        "PASS",
        0,
        base=GOOD,
        warns=("40 shared questions have another text",),
    ),
    "changed dataset version": Row(
        GOOD, DROP, "PASS", 0, base=GOOD, dataset=("v1", "v2"), warns=("The dataset version differs: v1",)
    ),
    "critical case": Row(
        _tagged(_fall(GOOD, 1), 2),
        MEAN.replace("0.85", "0.50") + CRITICAL,
        "FAIL",
        1,
        base=_tagged(GOOD, 2),
        says=("Of 2 cases tagged critical that passed in the baseline, 1 fails now",),
        broken=1,
    ),
    "another case newly fails": Row(
        _tagged(_fall(GOOD, 3)[::-1], 2),
        MEAN.replace("0.85", "0.50") + CRITICAL,
        "PASS",
        0,
        base=_tagged(GOOD[::-1], 2),
        broken=3,
    ),
    "critical case missing": Row(
        GOOD[1:],
        CRITICAL,
        "UNMEASURED",
        base=_tagged(GOOD, 2),
        says=("1 of them not measured in this run",),
        warns=("1 question of the baseline is missing from this run: q000.",),
    ),
    "critical cases without a baseline": Row(_tagged(GOOD, 2), MEAN + CRITICAL, "PASS", 0),
    "critical, nothing tagged": Row(GOOD, CRITICAL, "UNMEASURED", 0, says=("no case has the tag",)),
    "critical, nothing tagged beside another gate": Row(GOOD, MEAN + CRITICAL, "PASS", 0),
    "critical, all failed before": Row(
        _tagged(GOOD, 2),
        CRITICAL,
        "UNMEASURED",
        base=_tagged(_fall(GOOD, 2), 2),
        says=("Cases tagged critical (2 cases): not evaluated; none of them passed in the baseline",),
    ),
    "by the mean: fails": Row(
        records(0.80, spread=10.0), BY_MEAN, "FAIL", 1, says=("below the threshold: the mean alone decides",)
    ),
    "by the mean: passes": Row(
        NOISY, BY_MEAN.replace("0.85", "0.75"), "PASS", 0, says=("margin 0.", ": the mean alone decides")
    ),
    "by the mean, the whole file": Row(NOISY, 'rule = "mean"\n' + MEAN.replace("0.85", "0.9"), "FAIL", 1),
    "by the mean, but one gate by its interval": Row(
        NOISY, 'rule = "mean"\n' + MEAN + 'rule = "interval"\n', "INCONCLUSIVE"
    ),
    "by the mean: a drop": Row(
        _fall(GOOD, 4), DROP + 'rule = "mean"\n', "FAIL", 1, base=GOOD, says=("the change alone",), broken=4
    ),
    "checks: all pass": Row(_checked(GOOD, 0), SAFETY, "PASS", 0),
    "checks: one fails": Row(_checked(GOOD, 1), SAFETY, "FAIL", 1, says=("not every value",)),
    "checks: three recorded": Row(_checked(GOOD[:3], 0), SAFETY, "PASS", 0),
    "checks: none recorded": Row(GOOD, MEAN + SAFETY, "PASS", 0, says=("records no check of kind safety",)),
    "checks: required, none recorded": Row(GOOD, MEAN + SAFETY + "required = true\n", "UNMEASURED", 1),
    "checks: the baseline had them": Row(
        GOOD,
        MEAN + SAFETY,
        "UNMEASURED",
        base=_checked(GOOD, 0),
        says=("the baseline does for 40 questions",),
    ),
    "checks: a share is enough": Row(
        _checked(GOOD, 1), SAFETY + "at_least = 0.8\n", "PASS", 0, says=("0.97 [",)
    ),
    "pass rate": Row(
        _fall(GOOD, 30), MEAN.replace("faithfulness", "pass rate"), "FAIL", 1, says=("Pass rate: 0.25",)
    ),
    "a score that only the file knows": Row(
        [{**one, "scores": {"house_score": 0.9}} for one in GOOD],
        MEAN.replace("faithfulness", "house_score"),
        "INCONCLUSIVE",
    ),
}


def _add(store: RunStore, found: Records, name: str, dataset: str = "") -> Run:
    header = {"version": name}
    run = add_run(found, name, "shop", str(store.workspace.root), header, "shop questions")
    if dataset:
        path = store.workspace.runs_folder / run.run_id / "run.json"
        text = path.read_text(encoding="utf-8").replace(
            '"dataset_version": ""', f'"dataset_version": "{dataset}"'
        )
        path.write_text(text, encoding="utf-8")
        store.workspace.index_path.unlink()  # it holds the facts of the import
    return run


@pytest.mark.parametrize("name", BRANCHES)
def test_every_branch_has_its_verdict(workspace: RunStore, name: str) -> None:
    row = BRANCHES[name]
    before, now = row.dataset
    base = None if row.base is None else _add(workspace, row.base, "base", before).run_id
    run = _add(workspace, row.run, "candidate", now).run_id
    fresh = RunStore(workspace.workspace)
    found = fresh.find(run)
    report = gate_run(fresh, found, baseline_of(fresh, found, base or ""), read_gates(row.gates, "test"))
    sentences = "\n".join(one.sentence for one in report.results)
    nothing = {result.verdict for result in report.results} == {"UNMEASURED"}
    code = row.code or (3 if nothing else 0)
    assert (report.verdict, report.exit_code()) == (row.verdict, code), sentences
    shipped = report.conclusion().state == "ship"
    assert report.exit_code(strict=True) == (0 if shipped else row.code or 3), sentences
    assert [text for text in row.says if text not in sentences] == [], sentences
    warnings = "\n".join(report.warnings)
    assert [text for text in row.warns if text not in warnings] == [], warnings
    assert bool(row.warns) == bool(warnings), warnings
    assert len(report.newly_failing) == row.broken


def test_a_baseline_is_named_or_the_projects_or_none(workspace: RunStore) -> None:
    run, base = _add(workspace, POOR, "run"), _add(workspace, GOOD, "base")
    none = baseline_of(workspace, run)
    assert (none.run, none.note) == (None, "project shop has no baseline, and none was named")
    workspace.ledger.set_baseline("shop", base.run_id, "me")
    kept = baseline_of(workspace, run)
    assert (kept.run, kept.note) == (base, "the baseline of project shop")
    assert baseline_of(workspace, base, "run").note == "named for this comparison"
    with pytest.raises(DataError, match="no run 'nothing'"):
        baseline_of(workspace, run, "nothing")
    workspace.workspace.delete_run(base.run_id)
    assert "no longer in the workspace" in baseline_of(workspace, run).note


def test_the_baseline_itself_is_compared_with_nothing(workspace: RunStore) -> None:
    base = _add(workspace, GOOD, "base")
    workspace.ledger.set_baseline("shop", base.run_id, "me")
    report = gate(base.run_id, workspace=str(workspace.workspace.root))
    assert report.baseline.run is None
    assert report.baseline.itself
    assert "this run" in report.baseline.note
    changes = [one for one in report.results if one.gate.kind == "regression"]
    assert [(one.verdict, one.excused) for one in changes] == [("UNMEASURED", True)]
    assert report.newly_failing == ()


def test_a_family_is_every_shared_metric_with_one_correction(workspace: RunStore) -> None:
    both = [
        {**one, "scores": {**one["scores"], "answer_relevancy": 0.9 - at % 3 / 50}}
        for at, one in enumerate(GOOD)
    ]
    base, run = _add(workspace, both, "base"), _add(workspace, records(0.80, spread=0.5), "run")
    report = gate(run.run_id, base.run_id, workspace=str(workspace.workspace.root))
    changes = {one.gate.metric: one for one in report.results if one.gate.kind == "regression"}
    assert set(changes) == {"pass rate", "faithfulness", "answer_relevancy"}
    assert changes["answer_relevancy"].verdict == "UNMEASURED", "the baseline measured it, this run does not"
    assert changes["faithfulness"].verdict == "FAIL"
    assert changes["faithfulness"].mean == pytest.approx(-0.15, abs=1e-9)
    assert changes["pass rate"].obtained == "paired, sign flips, tested alone", "it is the primary metric"


def test_a_gate_on_one_metric_needs_no_correction_over_others(workspace: RunStore) -> None:
    def noisy(level: float, others: int) -> Records:
        rng = np.random.default_rng(7)
        names = ["faithfulness", "context_recall", "context_precision", "correctness", "answer_relevancy"]
        found = records(level)
        for at, one in enumerate(found):
            values = level + 0.3 * rng.standard_normal(len(names))
            one["scores"] = dict(zip(names, np.clip(values, 0, 1).tolist(), strict=True))
            one["answer"] = f"Answer {at} {others}."
        return found

    base, run = _add(workspace, noisy(0.75, 0), "base"), _add(workspace, _shuffled(noisy(0.55, 1)), "run")
    left, right = (diagnose(workspace.scored(side), DiagnosisSettings()) for side in (base, run))
    config = read_gates(DROP + DROP.replace('"faithfulness"', '"headline"'), "test")
    report = gate_run(workspace, run, baseline_of(workspace, run, base.run_id), config)
    results = {one.gate.metric: one for one in report.results}
    others = ["context_recall", "context_precision", "correctness", "answer_relevancy"]
    together = {one.metric: one for one in compare(left, right, others).differences}
    alone = compare(left, right, [], primary="faithfulness").primary
    assert (results["faithfulness"].low, results["faithfulness"].high) == (alone.low, alone.high)
    assert results["faithfulness"].obtained.endswith("tested alone")
    for metric in others:
        shown = results[metric]
        assert (shown.low, shown.high) == (together[metric].low, together[metric].high), "as on Compare"
        assert shown.obtained.endswith("corrected over 4 metrics (step-down max-T)")


def test_a_question_with_repeats_passes_by_most_of_them(workspace: RunStore) -> None:
    def repeated(passing: int) -> Records:
        return [
            {**one, "repeat": repeat, "scores": {"faithfulness": 0.9 if repeat < passing or at else 0.1}}
            for at, one in enumerate(GOOD)
            for repeat in range(3)
        ]

    base, mixed, broken = (_add(workspace, repeated(n), f"{n} of 3") for n in (3, 2, 1))
    root = str(workspace.workspace.root)
    assert gate(mixed.run_id, base.run_id, workspace=root).newly_failing == ()
    report = gate(broken.run_id, base.run_id, workspace=root)
    assert [(one.question_id, one.repeat) for one in report.newly_failing] == [("q000", 1)]
    assert report.n_newly_failing == 2


def test_a_known_run_by_its_means_is_refused(demo: RunStore) -> None:
    run = demo.runs("version history")[0]
    with pytest.raises(DataError, match="summary scores only; accepted: a run with samples"):
        gate(run.run_id, workspace=str(demo.workspace.root))


def test_a_projects_gate_takes_the_place_of_the_general_one() -> None:
    text = (
        MEAN
        + SAFETY
        + """
[[project.clinic.gate]]
metric = "faithfulness"
at_least = 0.95
severity = "block"
required = true

[[project.clinic.gate]]
metric = "claim_recall"
slice = { query_type = "multi-hop" }
at_least = 0.6
severity = "warn"

[[project.clinic.gate]]
kind = "checks"
checks = "safety"
off = true
"""
    )
    config = read_gates(text, "test")
    assert [(one.metric, one.threshold) for one in config.gates_for("shop")] == [
        ("faithfulness", 0.85),
        ("safety", 1.0),
    ]
    clinic = config.gates_for("clinic")
    assert [(one.metric, one.threshold, one.required) for one in clinic] == [
        ("faithfulness", 0.95, True),
        ("context_recall", 0.6, False),
    ]
    assert clinic[1].slice == ("query_type", "multi-hop")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[gate]", ["is not TOML", "docs/gates.md"]),
        ("gates = 1\n", ["gates: is not a section", "[[gate]]"]),
        ("gate = 1\n", ["gate: is not a list of gates"]),
        (MEAN.replace("0.85", "1.5"), ["gate[1].at_least: 1.5; accepted: a number from 0 to 1"]),
        (MEAN.replace("0.85", "true"), ["gate[1].at_least: True"]),
        (MEAN.replace("0.85", "nan"), ["gate[1].at_least: nan"]),
        (
            MEAN.replace("at_least", "at_lest"),
            ["gate[1].at_lest: is not a setting", "near names: at_least", "gate[1].at_least: 0 thresholds"],
        ),
        (MEAN + "at_most = 0.9\n", ["2 thresholds; accepted: either at_least or at_most"]),
        (MEAN.replace("at_least", "at_most"), ["faithfulness is better when higher; accepted: at_least"]),
        (MEAN.replace("block", "stop"), ['gate[1].severity: \'stop\'; accepted: "block" or "warn"']),
        (MEAN.replace('severity = "block"', ""), ["gate[1].severity: is missing"]),
        (MEAN.replace('"faithfulness"', "3"), ["gate[1].metric: 3; accepted: a text"]),
        (MEAN.replace("faithfulness", "recall"), ["gate[1].metric", "needs a rank k"]),
        (
            MEAN + 'kind = "average"\n',
            ["gate[1].kind: 'average'; accepted: mean, percentile, regression, checks, critical"],
        ),
        (MEAN + 'required = "yes"\n', ["gate[1].required: 'yes'; accepted: true or false"]),
        (MEAN.replace("block", "warn") + "required = true\n", ["a gate that only warns cannot be required"]),
        (MEAN + "slice = { a = 1 }\n", ["gate[1].slice", "query_type"]),
        (MEAN + 'slice = { a = "b", c = "d" }\n', ["gate[1].slice"]),
        (MEAN + "off = true\n", ["off = true outside of a project"]),
        (MEAN + MEAN, ["gate[2].metric: is the same gate as number 1"]),
        (DROP + "drop = -1\n", ["gate[1].drop: -1; accepted: a number from 0 up"]),
        (CRITICAL + "values = []\n", ["gate[1].values: []"]),
        (MEAN + 'rule = "median"\n', ['gate[1].rule: \'median\'; accepted: "interval" or "mean"']),
        ('rule = "median"\n' + MEAN, ['rule: \'median\'; accepted: "interval" or "mean"']),
        (CRITICAL + 'rule = "mean"\n', ["gate[1].rule: is not a setting of a critical gate"]),
        ('gate = ["a"]\n', ["gate: is not a list of gates"]),
        ("project = 1\n", ["project: is not a table"]),
        (SAFETY + "at_least = 2\n", ["gate[1].at_least: 2; accepted: a number from 0 to 1"]),
        ("[project.shop]\ngates = 1\n" + MEAN, ["project.shop: holds something that is not a gate"]),
    ],
)
def test_what_is_wrong_with_the_gates_is_told(text: str, said: list[str]) -> None:
    with pytest.raises(DataError) as caught:
        read_gates(text, "my.toml")
    assert str(caught.value).startswith("my.toml: ")
    assert [word for word in said if word not in str(caught.value)] == []


def test_a_drop_has_a_scale(workspace: RunStore) -> None:
    def gated(drop: float, declared: str = "", metric: str = "stars") -> str:
        root = workspace.workspace.root
        text = DROP.replace("faithfulness", metric) + f"drop = {drop}\n"
        (root / "gates.toml").write_text(MEAN + text, encoding="utf-8")
        (root / "metrics.toml").write_text(declared, encoding="utf-8")
        try:
            gate("shop", workspace=str(root))
        except DataError as error:
            return str(error)
        return ""

    scores = {"faithfulness": 0.9, "stars": 3.5}
    samples = [
        {"question_id": f"q{at}", "question": "?", "scores": scores, "latency_ms": 9} for at in range(9)
    ]
    add_run(samples, "shop", "p", str(workspace.workspace.root))
    scale = '[metric.stars]\ndirection = "higher"\n'
    assert "drop = 5 on stars, whose scale is not declared; accepted: below 1" in gated(5)
    assert "whose scale is not declared" in gated(5, scale)
    assert "drop = 5 on stars, 1 to 5, allows every loss; accepted: below 4" in gated(
        5, f"{scale}range = [1, 5]"
    )
    assert gated(1, f"{scale}range = [1, 5]") == gated(0.5) == gated(200, metric="latency_ms") == ""


def test_gates_that_only_warn_give_no_verdict() -> None:
    with pytest.raises(DataError, match="no gate of project 'shop' blocks"):
        read_gates(MEAN.replace("block", "warn"), "my.toml").gates_for("shop")


def test_a_file_in_the_workspace_takes_the_place_of_the_bundled_one(
    workspace: RunStore, tmp_path: Path
) -> None:
    assert load_gates(workspace.workspace).source == BUNDLED
    own = workspace.workspace.root / "gates.toml"
    own.write_text("\ufeff" + MEAN, encoding="utf-8")
    assert load_gates(workspace.workspace).source == str(own)
    other = tmp_path / "other.toml"
    other.write_text(DROP, encoding="utf-8")
    assert [one.kind for one in load_gates(workspace.workspace, str(other)).general] == ["regression"]
    with pytest.raises(DataError, match="cannot be read"):
        load_gates(workspace.workspace, str(tmp_path / "none.toml"))


def _gated(demo: RunStore, project: str) -> list[GateReport]:
    config = load_gates(demo.workspace)
    runs = [run for run in demo.runs(project) if run.n >= 30]
    return [gate_run(demo, run, baseline_of(demo, run), config) for run in runs]


def _iris(demo: RunStore) -> list[GateReport]:
    return _gated(demo, "iris")


def _between(text: str, name: str) -> str:
    _, _, rest = text.partition(f"<!-- {name}: begin -->\n")
    found, end, _ = rest.partition(f"\n<!-- {name}: end -->")
    assert end
    return found


def test_the_page_of_the_gates_is_what_the_code_gives(demo: RunStore) -> None:
    text = (DOCS / "gates.md").read_text(encoding="utf-8")
    reports = _iris(demo)
    assert _between(text, "gates") == gates_table(load_gates(demo.workspace).general)
    assert _between(text, "iris") == verdicts_table(reports)
    example = text.partition("```toml\n")[2].partition("```")[0]
    assert len(read_gates(example, "docs/gates.md").gates_for("clinic")) == 4
    assert len(read_gates(example, "docs/gates.md").gates_for("another")) == 3


def test_the_gates_of_the_guides_go_by_the_means(demo: RunStore) -> None:
    text = (DOCS / "gates.md").read_text(encoding="utf-8").rpartition("```toml\n")[2].partition("```")[0]
    config = read_gates(text, "docs/gates.md")
    for run in (run for run in demo.runs("iris") if run.n == 30):
        report = gate_run(demo, run, baseline_of(demo, run), config)
        summary = demo.summary(run)
        for result in report.results[:4]:
            mean, threshold = summary[result.gate.metric].mean, result.gate.threshold
            assert mean is not None
            assert result.verdict == ("PASS" if mean >= threshold else "FAIL")
            assert result.margin == pytest.approx(mean - threshold)
        for change in report.results[4:]:
            if change.mean is not None and change.gate.kind == "regression":
                drop = change.mean if change.gate.metric == "ignored_top_ranked" else -change.mean
                assert change.verdict == ("FAIL" if drop > 0.05 + 1e-9 else "PASS"), change.sentence


def test_the_iris_pipelines_get_what_their_numbers_deserve(demo: RunStore) -> None:
    for report in _iris(demo):
        means: dict[str, GateResult] = {
            one.gate.metric: one
            for one in report.results
            if one.gate.kind == "mean" and one.gate.metric != "pass rate"
        }
        summary = demo.summary(report.run)
        for metric, one in means.items():
            if one.verdict != "UNMEASURED":
                assert (one.mean, one.low, one.high) == (
                    summary[metric].mean,
                    summary[metric].low,
                    summary[metric].high,
                )
        decisive = {"crag": "answer_relevancy", "colbert": "context_precision"}
        assert report.verdict == "FAIL"
        assert means[decisive.get(report.name, "faithfulness")].verdict == "FAIL"
        refuses = report.name == "colbert"  # so often that too few answers are left
        assert (means["faithfulness"].verdict == "UNMEASURED") == refuses
        assert (summary["faithfulness"].n_scored < 5) == refuses


def _triage(root: Path, selection: Selection, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = selection
    return app.run()


def _said(app: AppTest) -> str:
    return "\n".join(str(part.value) for part in [*app.markdown, *app.caption, *app.error])


def test_triage_gives_the_verdict_of_the_gate(demo: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for report in _iris(demo):
        chosen = Selection(project="iris", run=report.run.run_id, faithfulness=0.1)
        app = _triage(demo.workspace.root, chosen, monkeypatch)
        assert not app.exception
        table = next(one.value for one in app.dataframe if "Verdict" in one.value.columns)
        verdicts = [VERDICT_WORDS[each.verdict] for each in report.results]
        assert sorted(table["Verdict"]) == sorted(verdicts), "the page lists the worst first"
        assert headline(app) == report_headline(report).statement
        assert "Judged at the usual" in _said(app), "a moved cut-off does not move the gates"


def test_newly_failing_cases_lead_to_the_cases_page(demo: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    report = next(one for one in _gated(demo, "handbook") if one.newly_failing)
    app = _triage(demo.workspace.root, Selection(project="handbook", run=report.run.run_id), monkeypatch)
    app.button(key="open_broken").click().run()
    assert not app.exception
    assert f"**{report.n_newly_failing} cases**" in _said(app)
    assert report.baseline.run is not None
    gone = Selection(project="iris", run=report.run.run_id, cohort="newly_failing:nothing")
    app = _triage(demo.workspace.root, gone, monkeypatch)
    app.switch_page("cases/cases.py").run()
    assert "accepted: the id of a run" in _said(app).replace("\\", "")


def test_triage_without_a_baseline_or_with_broken_gates(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _add(workspace, GOOD, "only")
    app = _triage(workspace.workspace.root, Selection(), monkeypatch)
    assert not app.exception
    assert "no baseline" in _said(app)
    assert headline(app) == "only: no verdict, answer relevancy not measured"
    (workspace.workspace.root / "gates.toml").write_text(MEAN.replace("0.85", "9"), encoding="utf-8")
    app = _triage(workspace.workspace.root, Selection(), monkeypatch)
    assert not app.exception
    assert "at_least" in _said(app).replace("\\", "")
    assert headline(app) == "only: no verdict, the gates cannot be read"
    assert "Fix first" in page_text(app), "the rest of the page is there"
    (workspace.workspace.root / "gates.toml").write_text(MEAN, encoding="utf-8")
    app = _triage(workspace.workspace.root, Selection(), monkeypatch)
    assert headline(app) == "only: no fault found, answers not checked"


@pytest.mark.parametrize("odd", ["folder", "dangling link"])
def test_gates_that_are_there_and_no_file_are_never_the_bundled_ones(workspace: RunStore, odd: str) -> None:
    path = workspace.workspace.root / "gates.toml"
    if odd == "folder":
        path.mkdir()
    else:
        path.symlink_to("nowhere.toml")
    with pytest.raises(DataError, match=r"gates\.toml: cannot be read"):
        load_gates(workspace.workspace)


def test_no_raw_key_of_a_method_is_shown(workspace: RunStore) -> None:
    samples = [
        {"question_id": f"q{at}", "question": f"{at}?", "answer": "a", "scores": {"faithfulness": at / 12}}
        for at in range(12)
    ]
    root = str(workspace.workspace.root)
    base, run = (add_run(samples, name, "p", root, {"name": name}) for name in ("V1", "V2"))
    results = gate(run.run_id, base.run_id, workspace=root).results
    obtained = {result.obtained for result in results}
    assert "imported, Dirichlet-weighted mean over questions or conversations" in obtained
    assert not [how for how in obtained for key in METHODS if how.endswith(f", {key}")]
    method = paired(np.ones(4), np.zeros(4), np.arange(4)).method
    assert paired_method_text(method) == f"{METHODS['dirichlet']}; exact sign-flip test"


@pytest.mark.parametrize("metric", ["faithfullness", "answer_relevency", "pass rte"])
def test_a_slip_of_the_pen_is_refused_with_the_nearest_name(workspace: RunStore, metric: str) -> None:
    run = _add(workspace, GOOD, "candidate")
    gates = read_gates(MEAN + MEAN.replace("faithfulness", metric), "gates.toml")
    with pytest.raises(
        DataError, match=rf"^gates.toml: no metric '{metric}'; accepted: (faithful|answer_|pass r)"
    ):
        gate_run(workspace, run, baseline_of(workspace, run), gates)


def test_a_file_that_is_nested_too_deeply_is_refused(workspace: RunStore) -> None:
    deep = f"x = {'[' * 5000}{']' * 5000}"
    with pytest.raises(DataError, match=r"^gates.toml: is not TOML .*; accepted: see docs/gates.md$"):
        read_gates(deep, "gates.toml")
    (workspace.workspace.root / "metrics.toml").write_text(deep, encoding="utf-8")
    with pytest.raises(DataError, match=r"metrics.toml: cannot be read"):
        gate(_add(workspace, GOOD, "candidate").run_id, workspace=str(workspace.workspace.root))


def test_a_run_is_no_baseline_of_itself(workspace: RunStore) -> None:
    run = _add(workspace, GOOD, "candidate")
    with pytest.raises(
        DataError, match=r"^baseline 'candidate': is the run that is judged; accepted: another"
    ):
        gate(run.run_id, "candidate", workspace=str(workspace.workspace.root))
