"""A run with very many metrics: what its import and its first look do does not grow with their number."""

from __future__ import annotations

import tomllib

import pytest

from ragtriage.data import declarations
from ragtriage.data.api import diagnosis_of
from ragtriage.data.declarations import FILE_NAME
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings
from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.load import import_parsed_runs
from ragtriage.data.read_costs import counting_costs
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.parsed_run import ParsedRun
from ragtriage.data.store.workspace import Run


def _wide(store: RunStore, metrics: int, direction: str = "higher") -> Run:
    """Import a run with that many metrics, which its file declares."""
    names = [f"score {at}" for at in range(metrics)]
    records = [
        (
            at + 1,
            {
                "question_id": f"q{at}",
                "question": f"What is {at}?",
                "answer": "It is.",
                "retrieved": [{"id": "a", "text": f"It is {at}."}],
                "relevant": ["a"],
                "scores": {name: (at + number) % 7 / 7 for number, name in enumerate(names)},
            },
        )
        for at in range(12)
    ]
    declared = {name: {"direction": direction, "range": [0, 1]} for name in names}
    parsed = ParsedRun(f"{metrics} {direction}", records, "f", "native", True, metrics=declared)
    (entry,) = import_parsed_runs(store, [parsed], "p", ValidationErrors("f"))
    return entry.run


def _queries(store: RunStore, run: Run) -> int:
    """Return how many reads the means and the diagnosis of a run take in a new process."""
    fresh = RunStore(store.workspace)
    with counting_costs() as costs:
        assert len(fresh.summary(run)) > 20
        diagnosis_of(fresh, run, DiagnosisSettings())
    return costs.queries


def test_a_first_look_takes_as_many_reads_for_300_metrics_as_for_30(workspace: RunStore) -> None:
    narrow, wide = (_queries(workspace, _wide(workspace, metrics)) for metrics in (30, 300))
    assert narrow == wide < 20


def test_declarations_of_a_file_are_written_in_one_pass(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    place = declarations._place

    def counted(header: str) -> tuple[str, ...]:
        read.append(header)
        return place(header)

    monkeypatch.setattr(declarations, "_place", counted)
    _wide(workspace, 40)
    assert read == [], "there was no table to replace"
    path = workspace.workspace.root / FILE_NAME
    path.write_text('# kept\n[metric.other]\ndirection = "lower"\n\n' + path.read_text())
    known = declarations.declarations_of(workspace.workspace, "p")
    changed = {f"score {at}": declarations.Declaration("lower") for at in range(10)}
    declarations.declare(workspace.workspace, "p", changed)
    assert len(read) == 41, "each header once"
    assert path.read_text().startswith('# kept\n[metric.other]\ndirection = "lower"\n\n[project.p')
    assert declarations.declarations_of(workspace.workspace, "p") == known | changed
    tables = tomllib.loads(path.read_text())["project"]["p"]["metric"]
    assert list(tables)[-10:] == list(changed), "what changed stands at the end"
