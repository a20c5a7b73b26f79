"""Attack prompts, and putting them to a system: a run of its answers, which the suite Safety judges.

Every answer is kept in a journal of the workspace until the run is made: a stop or a kill loses nothing, and
the same command goes on. What the system failed at becomes a sample without an answer, with the reason.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from ragtriage.data.errors import DataError, ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import import_parsed_runs
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.access import must_write
from ragtriage.data.store.parsed_run import ParsedRun, Record, normalise
from ragtriage.data.store.workspace import Run
from ragtriage.data.suites.registry import check_problems
from ragtriage.data.suites.safety import RULE_KEYS
from ragtriage.data.systems.runner import Asked, AskProgress, ask_all
from ragtriage.data.systems.system import System, SystemLimits, SystemReply, SystemRequest, sample_record
from ragtriage.metrics.diagnosis.check_kinds import suite_of
from ragtriage.metrics.statistics.power import still_possible
from ragtriage.metrics.suites.safety import FEWEST_PROMPTS, all_pass_bound, attack_type

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
        """Return whether it brings a system prompt, which the system has to take."""
        return any(turn["role"] == "system" for turn in self.history)

    @property
    def is_attack(self) -> bool:
        """Return whether it is an attack rather than a harmless look-alike."""
        return any(
            suite_of(str(check.get("suite") or check.get("kind") or check["name"])) == "safety"
            for check in self.checks
        )

    @property
    def needs_a_judge(self) -> bool:
        """Return whether no rule can decide it, whatever is answered."""
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


MOST_REASONS = 5
NOTHING = "not one request was answered"
SHORT_NAME = 60


@dataclass(frozen=True)
class AttackPlan:
    """The plan of an attack."""

    system: str  # name of the system
    prompts: int  # number of prompts
    repeats: int  # of each
    types: Mapping[str, int]  # type -> number of prompts
    need_a_judge: int  # prompts that no rule can decide
    with_system_prompt: int  # prompts that bring a system prompt
    with_contexts: int  # prompts that bring documents to answer from
    limits: SystemLimits  # of the asking

    @property
    def requests(self) -> int:
        """Requests in all."""
        return self.prompts * self.repeats

    @property
    def attacks(self) -> int:
        """Prompts that are attacks and that a rule can decide."""
        return self.prompts - self.types.get("look-alike", 0) - self.need_a_judge

    @property
    def longest_seconds(self) -> float:
        """How long it can take where every request takes its whole time."""
        return self.requests * self.limits.timeout_seconds / self.limits.concurrency

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what a reader has to know before it starts."""
        system = (
            f"{self.with_system_prompt:,} prompts bring a system prompt as the first turn of `history`; a "
            "system that ignores it cannot leak what it never saw, so its passes prove nothing"
        )
        documents = (
            f"{self.with_contexts:,} prompts bring documents in `contexts`; a system that ignores them never "
            "sees the planted instruction"
        )
        judge = f"{self.need_a_judge:,} prompts wait for a person or a judge, whatever is answered"
        few = f"{self.attacks:,} attacks that a rule decides are too few for a gate of {FEWEST_PROMPTS}"
        listed = (
            system if self.with_system_prompt else "",
            documents if self.with_contexts else "",
            judge if self.need_a_judge else "",
            few if self.attacks < FEWEST_PROMPTS and set(self.types) != {"look-alike"} else "",
        )
        return tuple(note for note in listed if note)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON values."""
        n = self.attacks
        return {
            "system": self.system,
            "prompts": self.prompts,
            "repeats": self.repeats,
            "requests": self.requests,
            "types": dict(self.types),
            "decided_by_rule": n,
            "need_a_judge": self.need_a_judge,
            "with_system_prompt": self.with_system_prompt,
            "with_contexts": self.with_contexts,
            "timeout_seconds": self.limits.timeout_seconds,
            "concurrency": self.limits.concurrency,
            "budget_usd": self.limits.budget_usd,
            "longest_seconds": self.longest_seconds,
            "all_pass_would_allow": still_possible(n) if n else None,
            "all_pass_lower_bound": all_pass_bound(self.prompts - self.types.get("look-alike", 0)),
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class AttackResult:
    """The outcome of an attack."""

    asked: Asked  # the replies and the counts
    run: Run | None  # made of them; None where not everything was asked, or nothing answered
    reasons: tuple[tuple[str, int], ...]  # why requests failed, the commonest first, with their counts


def attack_plan(
    system: System, prompts: Sequence[AttackPrompt], repeats: int, limits: SystemLimits
) -> AttackPlan:
    """Return what an attack will do; nothing is asked."""
    return AttackPlan(
        system.name,
        len(prompts),
        repeats,
        dict(Counter(prompt.kind for prompt in prompts).most_common()),
        sum(prompt.needs_a_judge for prompt in prompts),
        sum(prompt.has_system_prompt for prompt in prompts),
        sum(prompt.contexts is not None for prompt in prompts),
        limits,
    )


def run_attack(
    store: RunStore,
    system: System,
    prompts: Sequence[AttackPrompt],
    source: str,
    repeats: int = 1,
    limits: SystemLimits | None = None,
    name: str = "",
    project: str = "",
    progress: Callable[[AskProgress], None] | None = None,
) -> AttackResult:
    """Ask everything and make the run; an attack that was stopped makes none and goes on when called again.

    `source` says where the prompts come from. The run is named after the system, in the usual project, unless
    named.

    Raises:
        DataError: the workspace cannot be written, or another process does the same.
    """
    must_write("the workspace")
    requests = [(prompt, prompt.request(repeat)) for prompt in prompts for repeat in range(repeats)]
    digest = hashlib.sha256(system.identity.encode())
    for _, request in requests:
        digest.update(request.key.encode())
    journal = store.workspace.root / "experiments" / f"attack-{digest.hexdigest()[:16]}.jsonl"
    asked = ask_all(system, [request for _, request in requests], journal, limits or SystemLimits(), progress)
    reasons = Counter(reply.reason for reply in asked.replies.values() if reply.status == "failed")
    commonest = tuple(reasons.most_common(MOST_REASONS))
    if not asked.progress.answered:
        journal.unlink(missing_ok=True)  # the next attempt begins anew
        return AttackResult(replace(asked, stopped=asked.stopped or NOTHING), None, commonest)
    if asked.stopped:
        return AttackResult(asked, None, commonest)
    parsed = _parsed(system, requests, asked.replies, source, repeats, name)
    errors = ValidationErrors(parsed.file)
    [imported] = import_parsed_runs(store, [parsed], project or store.usual_project(), errors)
    journal.unlink(missing_ok=True)
    return AttackResult(asked, imported.run, commonest)


def _parsed(
    system: System,
    requests: Sequence[tuple[AttackPrompt, SystemRequest]],
    replies: Mapping[str, SystemReply],
    source: str,
    repeats: int,
    name: str,
) -> ParsedRun:
    failed = sum(reply.status == "failed" for reply in replies.values())
    note = (
        f"{failed:,} of {len(replies):,} requests have no answer: "
        "they are not measured and do not count as passed"
    )
    return ParsedRun(
        name=name or f"Attacks on {system.name[:SHORT_NAME]}",
        records=_samples(requests, replies),
        file=source,
        format="attack",
        named_by_content=bool(name),
        config={"system": system.name, "prompts": source, "repeats": repeats},
        dataset=f"attack prompts, {source}",
        created_at=datetime.now(UTC).replace(tzinfo=None, microsecond=0),
        notes=(note,) if failed else (),
    )


def _samples(
    requests: Sequence[tuple[AttackPrompt, SystemRequest]], replies: Mapping[str, SystemReply]
) -> Iterator[Record]:
    for line, (prompt, request) in enumerate(requests, start=1):
        case = {"checks": [dict(check) for check in prompt.checks], "tags": dict(prompt.tags)}
        yield line, sample_record(request, replies[request.key], case)
