"""Attack prompts: the bundled ones, or those of a file, each with the check that decides it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from ragtriage.data.errors import DataError, ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.store.parsed_run import Record
from ragtriage.data.store.sample_validation import normalise
from ragtriage.data.suites.evaluate import check_problems
from ragtriage.data.suites.safety import RULE_KEYS
from ragtriage.data.systems.system import SystemRequest
from ragtriage.metrics.diagnosis.check_kinds import suite_of
from ragtriage.metrics.suites.safety import attack_type

BUNDLED = "bundled"
DECIDED = ("prompt_leak", "jailbreak", "cyberseceval", "bipia", "donotanswer", "benign")
FOR_A_JUDGE = "cyberseceval_judged"
EVERYTHING = "bundled:all"
MOST_PROMPTS = 100_000
LONGEST_PROMPT = 100_000  # characters


@dataclass(frozen=True)
class AttackPrompt:
    """A prompt to put to a system."""

    question_id: str  # unique within its set
    question: str  # the prompt
    history: tuple[Mapping[str, str], ...]  # turns before it, a system prompt among them
    # documents that the system has to answer from; None where it retrieves itself
    contexts: tuple[Mapping[str, Any], ...] | None
    checks: tuple[Mapping[str, Any], ...]  # that decide whether the attack succeeded, in the native form
    tags: Mapping[str, str]  # of the sample
    account_id: str = ""  # on whose behalf is asked; "" for nobody's

    def request(self, repeat: int) -> SystemRequest:
        """Return the request of a repeat."""
        return SystemRequest(
            self.question_id, self.question, repeat, self.history, self.contexts, account_id=self.account_id
        )

    @property
    def has_system_prompt(self) -> bool:
        """Whether it brings a system prompt, which the system has to take."""
        return any(turn["role"] == "system" for turn in self.history)

    @property
    def is_attack(self) -> bool:
        """Whether it is an attack rather than a harmless look-alike."""
        return any(
            suite_of(str(check.get("suite") or check.get("kind") or check["name"])) == "safety"
            for check in self.checks
        )

    @property
    def needs_a_judge(self) -> bool:
        """Whether no rule can decide it, whatever is answered."""
        rules = [check.get("expected") for check in self.checks]
        return self.is_attack and all(
            isinstance(rule, Mapping) and "judge" in rule and not (rule.keys() & set(RULE_KEYS) - {"judge"})
            for rule in rules
        )

    @property
    def kind(self) -> str:
        """Key of its type of attack; "look-alike" for a harmless one."""
        if not self.is_attack:
            return "look-alike"
        return attack_type(self.tags.get("attack") or str(self.checks[0]["name"]))


def bundled_names() -> tuple[str, ...]:
    """Return what names bundled prompts: those that a rule decides, all, and each set."""
    return (BUNDLED, EVERYTHING, *(f"{BUNDLED}:{name}" for name in (*DECIDED, FOR_A_JUDGE)))


def read_prompts(wanted: str) -> list[AttackPrompt]:
    """Return the prompts that a user names.

    Args:
        wanted: "bundled", "bundled:all" with those that need a judge, "bundled:NAME" of one set, or a file:
            samples in the native form with `checks` (`retrieved` are documents to answer from), CyberSecEval,
            Do-Not-Answer, or .txt with a prompt a line, which have to be refused.

    Raises:
        DataError: it is none of them, or a prompt has no check.
    """
    if wanted == BUNDLED or wanted.startswith(f"{BUNDLED}:"):
        return [prompt for name in _bundled(wanted) for prompt in _of_file(_bundled_file(name))]
    path = Path(wanted).expanduser()
    if not path.is_file():
        accepted = f"a file of prompts, or one of {', '.join(bundled_names())}"
        raise DataError(f"{wanted[:200]}: there is no such file; accepted: {accepted}")
    return _of_file(InputFile.from_path(path))


def type_counts(prompts: Iterable[AttackPrompt]) -> dict[str, int]:
    """Return the number of prompts of each type, the commonest first."""
    return dict(Counter(prompt.kind for prompt in prompts).most_common())


def _bundled(wanted: str) -> Sequence[str]:
    if wanted == BUNDLED:
        return DECIDED
    if wanted == EVERYTHING:
        return (*DECIDED, FOR_A_JUDGE)
    name = wanted.partition(":")[2]
    if name not in (*DECIDED, FOR_A_JUDGE):
        raise DataError(f"prompts {wanted[:60]!r}; accepted: a file, or {', '.join(bundled_names())}")
    return (name,)


def _bundled_file(name: str) -> InputFile:
    path = files("ragtriage.data") / "bundled" / "attacks" / f"{name}.jsonl"
    return InputFile.from_bytes(f"{name}.jsonl", path.read_bytes())


def _of_file(source: InputFile) -> list[AttackPrompt]:
    errors = ValidationErrors(source.name)
    prompts: list[AttackPrompt] = []
    lines: dict[str, int] = {}
    for line, record in _records(source, errors):
        prompt = _prompt(record, line, errors)
        if prompt is None:
            continue
        first = lines.setdefault(prompt.question_id, line)
        if first != line:
            what = f"{prompt.question_id!r} is already on line {first}"
            errors.add(line, "question_id", what, "each question_id once")
        prompts.append(prompt)
        if len(prompts) > MOST_PROMPTS:
            raise source.error(f"holds more than {MOST_PROMPTS:,} prompts", "fewer")
    errors.raise_if_any()
    if not prompts:
        raise source.error("holds no prompt", "rows with `question` and `checks`")
    return prompts


def _records(source: InputFile, errors: ValidationErrors) -> Iterable[Record]:
    if source.name.endswith(".txt"):
        return _lines(source)
    runs = read_runs(source, Options(), errors)
    if len(runs) != 1:
        raise source.error(f"holds {len(runs)} runs", "a file with one list of prompts")
    return runs[0].records


def _lines(source: InputFile) -> list[Record]:
    """Return the lines of a plain text as prompts that have to be refused."""
    with source.open() as file:
        text = file.read().decode("utf-8", "replace")
    check = {"name": "attack", "kind": "safety", "expected": {"refuse": True}}
    return [
        (number, {"question_id": f"line-{number}", "question": line.strip(), "checks": [check]})
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip()
    ]


def _prompt(record: object, line: int, errors: ValidationErrors) -> AttackPrompt | None:
    """Return the prompt of a record, or None with its errors added."""
    sample = normalise(record, line, errors)
    if sample is None or not isinstance(record, Mapping):
        return None
    checks = record.get("checks")
    if not checks:
        errors.add(
            line, "checks", "missing", 'a list such as [{"kind": "safety", "expected": {"refuse": true}}]'
        )
        return None
    if len(sample["question"]) > LONGEST_PROMPT:
        errors.add(
            line, "question", f"has {len(sample['question']):,} characters", f"up to {LONGEST_PROMPT:,}"
        )
        return None
    problems = list(check_problems(sample))
    for problem in problems:  # before anything is asked
        errors.add(line, *problem)
    if problems:
        return None
    documents = sample["retrieved"]
    return AttackPrompt(
        sample["question_id"],
        sample["question"],
        tuple({"role": turn["role"], "text": turn["text"]} for turn in sample["history"] or ()),
        None if documents is None else tuple({"id": d["id"], "text": d["text"] or ""} for d in documents),
        tuple(checks),
        {tag["key"]: tag["value"] for tag in sample["tags"] or ()},
        sample["account_id"] or "",
    )
