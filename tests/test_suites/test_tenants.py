"""Tenants named in tags and metadata: a document of another one is a leak, and one side alone is said."""

from __future__ import annotations

from typing import Any

import pytest

from ragtriage.dashboard.headlines.triage import report_headline
from ragtriage.data.api import add_run, gate
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.suites.isolation import accounts_of_document, accounts_of_sample, leaks_of

TENANTS = ("acme", "globex", "initech")


def _samples(asked: dict[str, Any], owned: dict[str, Any], leaks: int) -> list[dict[str, Any]]:
    """Return a run in which the first questions get a document of another tenant; {t} is who it is."""

    def named(fields: Any, tenant: str) -> Any:
        if isinstance(fields, dict):
            return {key: named(value, tenant) for key, value in fields.items()}
        return fields.replace("{t}", tenant) if isinstance(fields, str) else fields

    return [
        {
            "question_id": f"q{at}",
            "question": f"What are the terms of contract number {at}?",
            "answer": f"Contract {at} runs for {at + 2} months and renews itself.",
            "scores": {"correctness": 0.9 if at % 20 == 7 else 1.0},
            "retrieved": [
                {"id": f"d{at}", "text": "t", **named(owned, TENANTS[(at + (at < leaks)) % 3])},
                {"id": "shared", "text": "Terms for all."},
            ],
            **named(asked, TENANTS[at % 3]),
        }
        for at in range(120)
    ]


@pytest.mark.parametrize(
    ("asked", "owned"),
    [
        ({"tags": {"tenant": "{t}"}}, {"metadata": {"tenant": "{t}"}}),
        ({"metadata": {"tenant_id": "{t}"}}, {"metadata": {"tenantId": "{t}"}}),
        ({"metadata": {"org": "{t}"}}, {"organization": "{t}"}),
        ({"tags": {"metadata.customer": "{t}"}}, {"metadata": '{"customer_id": "{t}"}'}),
        ({"account_id": "{t}"}, {"metadata": {"account_id": "{t}"}}),
        ({"account_id": "{t}"}, {"metadata": {"account": "{t}"}}),
    ],
)
def test_a_document_of_another_tenant_is_a_leak_wherever_both_are_named(
    workspace: RunStore, asked: dict[str, Any], owned: dict[str, Any]
) -> None:
    root = str(workspace.workspace.root)
    run = add_run(_samples(asked, owned, 2), "V1", "law", root)
    leaks = leaks_of(workspace.scored(run))
    assert (leaks.n_leaks, leaks.n_checked) == (2, 120)
    report = gate(run.run_id, workspace=root)
    assert report.conclusion().state == "do_not_ship"
    assert report_headline(report).detail.startswith("Critical: 2 of 120 cases leak data of another account")
    sound = add_run(_samples(asked, owned, 0), "V2", "law", root)
    assert leaks_of(workspace.scored(sound)).n_leaks == 0
    assert "unchecked_isolation" not in {finding.rule for finding in check_run(workspace.scored(sound))}


@pytest.mark.parametrize(
    ("asked", "owned", "says"),
    [
        ({"tags": {"tenant": "{t}"}}, {}, "only questions name their tenant"),
        ({}, {"metadata": {"tenant": "{t}"}}, "only retrieved documents name their tenant"),
        (
            {"tags": {"customer": "{t}"}},
            {"metadata": {"author": "{t}"}},
            "only questions name their customer",
        ),
    ],
)
def test_tenants_on_one_side_cannot_be_checked(
    workspace: RunStore, asked: dict[str, Any], owned: dict[str, Any], says: str
) -> None:
    run = add_run(_samples(asked, owned, 2), "V1", "law", str(workspace.workspace.root))
    scored = workspace.scored(run)
    (finding,) = [each for each in check_run(scored) if each.rule == "unchecked_isolation"]
    assert says in finding.title
    assert finding.n_affected == 120
    assert leaks_of(scored).n_checked == 0


def test_tenants_written_in_two_ways_are_no_leaks(workspace: RunStore) -> None:
    asked, owned = {"tags": {"tenant": "{t}"}}, {"metadata": {"tenant": "id-of-{t}"}}
    run = add_run(_samples(asked, owned, 0), "V1", "law", str(workspace.workspace.root))
    assert leaks_of(workspace.scored(run)).n_checked == 0


def test_what_names_an_account() -> None:
    assert accounts_of_document({"extra": '{"metadata": {"tenant": ["a", "b"]}}'}) == {"tenant": ("a", "b")}
    assert not accounts_of_document({"extra": '{"metadata": {"tenant": "public", "accounting": "x"}}'})
    sample = {"account_id": None, "tags": [{"key": "customer_segment", "value": "x"}], "extra": None}
    assert not accounts_of_sample(sample)
