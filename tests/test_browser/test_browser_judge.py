"""The Judge page in a real browser: plan, run, stop, go on, and the cases where judge and people disagree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser_site import Site, serving, visiting
from copied_workspace import copied
from judge_server import JudgeServer, Script
from judged_runs import judged
from playwright.sync_api import Browser, expect

from ragtriage.data.jobs import jobs_of
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Workspace

PATIENCE = 60_000
READ = "GPT-4.0"  # the run that is judged beforehand


@pytest.fixture(scope="module")
def judging(
    browser: Browser, samples_root: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Browser, str, RunStore, JudgeServer]]:
    """A dashboard whose judge is a service on this machine."""
    root = copied(samples_root, tmp_path_factory.mktemp("judge") / "workspace")
    store = RunStore(Workspace(root))
    script = Script(latency=0.4, fault=lambda key, _: "refusal" if int(key, 16) % 20 == 0 else "")
    with JudgeServer(script) as service:
        key = {"ANTHROPIC_API_KEY": "sk-test-secret", "ANTHROPIC_BASE_URL": service.url}
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv("ANTHROPIC_API_KEY", "sk-test-secret")
            (read,) = [run for run in store.runs("mtrag") if run.name == READ]
            judged(store, read, service, concurrency=32)
        service.asked.clear()
        with serving(root, key) as url:
            yield browser, url, store, service


@pytest.fixture
def judge(judging: tuple[Browser, str, RunStore, JudgeServer]) -> Iterator[Site]:
    with visiting(*judging[:3]) as found:
        yield found


def test_a_plan_a_run_a_stop_and_going_on_to_the_end(
    judge: Site, judging: tuple[Browser, str, RunStore, JudgeServer]
) -> None:
    page, service = judge.page, judging[3]
    run = judge.run_id("mtrag", "Llama 3.1 (405B)")
    judge.open(f"judge?project=mtrag&run={run}")
    main = page.locator("[data-testid=stMain]")
    expect(main).to_contain_text("No judge scores yet")
    page.get_by_role("button", name="Show the plan").click()
    expect(main).to_contain_text("tokens estimated", timeout=PATIENCE)
    expect(page.locator(".st-key-judge_start button")).to_contain_text(re.compile(r"Judge: 3[01]\d calls"))
    assert service.asked == []
    page.locator(".st-key-judge_start button").click()
    expect(main).to_contain_text(re.compile(r"[1-9]\d* of 159 by claude"), timeout=PATIENCE)
    expect(main).to_contain_text("calls/s", timeout=PATIENCE)
    page.locator("[class*=st-key-judge_stop_] button").click()
    expect(main).to_contain_text("stopped on request", timeout=PATIENCE)
    kept = jobs_of(judge.store.ledger, run)[0].progress["scored"]
    assert 0 < kept < 159
    expect(main).to_contain_text(f"{kept:,} of 159 samples have a verdict")
    page.locator("[class*=st-key-judge_resume_] button").click()
    expect(main).to_contain_text("done", timeout=PATIENCE)
    expect(main).to_contain_text("The judge model declined to answer", timeout=PATIENCE)
    assert max(service.served().values()) == 1
    done = jobs_of(judge.store.ledger, run)[0].progress
    assert done["scored"] + sum(done["failed"].values()) == 159


def test_failed_verdicts_lead_to_their_cases(judge: Site) -> None:
    run = judge.run_id("mtrag", READ)
    judge.open(f"judge?project=mtrag&run={run}")
    button = judge.page.get_by_role("button", name=re.compile("declined to answer"))
    found = re.search(r"\((\d+)\)", button.inner_text())
    assert found
    button.click()
    expect(judge.page).to_have_url(re.compile("/cases.*cohort=judging"), timeout=PATIENCE)
    main = judge.page.locator("[data-testid=stMain]")
    expect(main).to_contain_text(f"{found[1]} cases of 159", timeout=PATIENCE)
    expect(main).to_contain_text("no verdict: judge: the model declined", timeout=PATIENCE)


def test_the_cases_where_judge_and_people_disagree_are_one_click_away(judge: Site) -> None:
    run = judge.run_id("mtrag", READ)
    judge.open(f"judge?project=mtrag&run={run}&part=people")
    main = judge.page.locator("[data-testid=stMain]")
    expect(main).to_contain_text("Faithfulness (judged)", timeout=PATIENCE)
    button = judge.page.get_by_role("button", name=re.compile(r"Open the \d+ cases where they disagree"))
    found = re.search(r"\d+", button.inner_text())
    assert found
    button.click()
    expect(judge.page).to_have_url(re.compile("/cases.*cohort=disagree"), timeout=PATIENCE)
    expect(main).to_contain_text(f"{found[0]} cases of 159", timeout=PATIENCE)
    other = judge.page.context.new_page()
    other.goto(judge.page.url)
    expect(other.locator("[data-testid=stMain]")).to_contain_text(
        f"{found[0]} cases of 159", timeout=PATIENCE
    )
    other.close()


def test_a_judged_case_shows_the_claims_and_who_judged(judge: Site) -> None:
    run = judge.run_id("mtrag", READ)
    judge.open(f"cases?project=mtrag&run={run}&cohort=judging:scored")
    main = judge.page.locator("[data-testid=stMain]")
    expect(main).to_contain_text(re.compile("addresses the question: (fully|no)"), timeout=PATIENCE)
    expect(main).to_contain_text(re.compile(r"judged by claude-haiku-5-5\W?@"))
