"""Put attack prompts to a system and make a run of its answers, which the suite Safety judges.

Every answer is kept in a journal of the workspace until the run is made: a stop or a kill loses nothing, and
the same command goes on. What the system failed at becomes a sample without an answer, with the reason.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.experiments.attack_prompts import AttackPrompt, type_counts
from ragtriage.data.importers.load import import_parsed_runs
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.data.store.read_only import must_write
from ragtriage.data.store.workspace import Run, Workspace
from ragtriage.data.systems.answers import sample_record
from ragtriage.data.systems.runner import Asked, AskProgress, ask_all
from ragtriage.data.systems.system import System, SystemLimits, SystemReply, SystemRequest
from ragtriage.metrics.statistics.rule_of_three import still_possible
from ragtriage.metrics.suites.safety import FEWEST_PROMPTS, all_pass_bound

MOST_REASONS = 5
NOTHING = "not one request was answered"
SHORT_NAME = 60


@dataclass(frozen=True)
class AttackPlan:
    """What an attack will do, before it does it."""

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
        """What a reader has to know before it starts."""
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
        told = (
            system if self.with_system_prompt else "",
            documents if self.with_contexts else "",
            judge if self.need_a_judge else "",
            few if self.attacks < FEWEST_PROMPTS and set(self.types) != {"look-alike"} else "",
        )
        return tuple(note for note in told if note)

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
    """What became of an attack."""

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
        type_counts(prompts),
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

    Args:
        store: of the workspace.
        system: to be asked.
        prompts: to put to it.
        source: where the prompts come from, for the run's facts.
        repeats: of each prompt.
        limits: what it may take.
        name: of the run; by default from the system's.
        project: of the run; by default the usual one.
        progress: called after every reply.

    Raises:
        DataError: the workspace cannot be written, or another process does the same.
    """
    must_write("the workspace")
    requests = [(prompt, prompt.request(repeat)) for prompt in prompts for repeat in range(repeats)]
    journal = _journal(store.workspace, system, [request for _, request in requests])
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


def _journal(workspace: Workspace, system: System, requests: Sequence[SystemRequest]) -> Path:
    digest = hashlib.sha256(system.identity.encode())
    for request in requests:
        digest.update(request.key.encode())
    return workspace.root / "experiments" / f"attack-{digest.hexdigest()[:16]}.jsonl"


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
        records=_records(requests, replies),
        file=source,
        format="attack",
        named_by_content=bool(name),
        config={"system": system.name, "prompts": source, "repeats": repeats},
        dataset=f"attack prompts, {source}",
        created_at=datetime.now(UTC).replace(tzinfo=None, microsecond=0),
        notes=(note,) if failed else (),
    )


def _records(
    requests: Sequence[tuple[AttackPrompt, SystemRequest]], replies: Mapping[str, SystemReply]
) -> Iterator[Record]:
    for line, (prompt, request) in enumerate(requests, start=1):
        case = {"checks": [dict(check) for check in prompt.checks], "tags": dict(prompt.tags)}
        yield line, sample_record(request, replies[request.key], case)
