"""Ask a system the requests of an experiment, and make a run of each arm that is complete; as a job too."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ragtriage.data.errors import ValidationErrors, WorkspaceError
from ragtriage.data.experiments.experiment import (
    Arm,
    Experiment,
    PlannedSample,
    find_experiment,
    journal_path,
    keep_experiment,
)
from ragtriage.data.experiments.plan import PlannedExperiment, distinct_requests
from ragtriage.data.importers.load import import_parsed_runs
from ragtriage.data.jobs import Job, jobs_of, recorded_job
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.data.systems.runner import AskProgress, ask_all
from ragtriage.data.systems.system import System, SystemLimits, SystemReply, sample_record
from ragtriage.metrics.number_text import count

EXPERIMENT = "experiment"  # setting of a run: the id of its experiment
FORMAT = "experiment"


@dataclass(frozen=True)
class ExperimentOutcome:
    """The outcome of running an experiment."""

    experiment: Experiment  # as it is kept now
    progress: AskProgress  # counts of the asking
    stopped: str  # why not everything was asked; "" where it was
    reasons: tuple[tuple[str, int], ...]  # why answers failed -> how many, the most frequent first


def kept_replies(store: RunStore, planned: PlannedExperiment, system: System) -> Mapping[str, SystemReply]:
    """Return the replies of the journal that are not asked for again, by request key; asks nothing."""
    kept = _journal_replies(store, planned, system)
    return {key: reply for key, reply in kept.items() if reply.status == "answered" or not reply.passing}


def _journal_replies(
    store: RunStore, planned: PlannedExperiment, system: System
) -> Mapping[str, SystemReply]:
    path = journal_path(store.workspace, planned.experiment.experiment_id)
    if not path.is_file():
        return {}
    nothing = SystemLimits(most_requests=0)
    replies = ask_all(system, distinct_requests(planned.design), path, nothing).replies
    return {key: reply for key, reply in replies.items() if reply.status != "not_asked"}


PROBED = 3  # questions asked anew of a system that answered before


@dataclass(frozen=True)
class Probe:
    """A system's present answers to questions whose answers are kept."""

    asked: int  # questions that it answered anew
    changed: int  # of them, those with another answer, the same twice, or from another version of the system
    varying: int  # of them, those with two other answers, which differ from each other as well

    @property
    def note(self) -> str:
        """Return what it says of the system, in a sentence; "" where all is as it was."""
        anew = f"of {count(self.asked, 'question')} asked anew got another answer"
        if self.changed:
            return f"{self.changed} {anew} than before: the system has changed, and everything is asked again"
        if self.varying:
            unknown = "it is not known whether the system has changed; --again asks everything again"
            return f"{self.varying} {anew} each time: {unknown}"
        return ""


def probe_system(store: RunStore, planned: PlannedExperiment, system: System, limits: SystemLimits) -> Probe:
    """Ask a few questions anew whose replies are kept; the answers of now are not kept.

    An answer that differs is asked for once more: a system that repeats the new answer has changed, one that
    gives a third varies by itself. The version that a system sends decides before its answers do.
    """
    kept = kept_replies(store, planned, system)
    requests = [request for request in distinct_requests(planned.design) if request.key in kept]
    answered = [request for request in requests if kept[request.key].status == "answered"]
    refused = [request for request in requests if kept[request.key].status == "failed"]
    asked = changed = varying = 0
    # a step further each time: every question is asked in each arm, the first of which may hold no document
    step = len(answered) // PROBED
    spread = [answered[at * step + at] for at in range(PROBED)] if step else answered
    for request in [*refused[:1], *spread]:
        before, now = kept[request.key], system.ask(request, limits)
        if now.status != "answered":
            continue
        asked += 1
        if now.version and before.version:
            changed += now.version != before.version
        elif not now.agrees_with(before):
            repeats = before.status == "failed" or system.ask(request, limits).agrees_with(now)
            changed, varying = changed + repeats, varying + (not repeats)
    return Probe(asked, changed, varying)


def run_experiment(
    store: RunStore,
    planned: PlannedExperiment,
    system: System,
    limits: SystemLimits,
    progress: Callable[[AskProgress], None] | None = None,
    stopped: Callable[[], bool] | None = None,
) -> ExperimentOutcome:
    """Begin an experiment, or continue one that was stopped or killed; no answer is asked for twice.

    An arm whose failed questions are answered now, as after a time-out, gets a new run. The caller closes the
    system. Where `stopped` returns True, the asking ends when what is in flight is done.

    Raises:
        DataError: another process runs the same experiment, or the workspace cannot be written.
    """
    experiment = _begun(store, planned)
    path = journal_path(store.workspace, experiment.experiment_id)
    before = _journal_replies(store, planned, system)
    asked = ask_all(system, distinct_requests(planned.design), path, limits, progress, stopped)
    # read before the journal goes on: a failed request that is answered now makes its run stale
    mended = {key for key, reply in before.items() if reply.status == "failed" != asked.replies[key].status}
    kept = {arm.key for arm in experiment.arms if arm.run_id}
    complete = [
        arm
        for arm in planned.design.arms
        if (arm.key not in kept or any(sample.request.key in mended for sample in arm.samples))
        and all(asked.replies[sample.request.key].status != "not_asked" for sample in arm.samples)
    ]
    if complete:
        parsed = [_parsed_arm(planned, experiment, arm, asked.replies) for arm in complete]
        imported = import_parsed_runs(store, parsed, experiment.project, ValidationErrors(parsed[0].file))
        for arm, entry in zip(complete, imported, strict=True):
            experiment = experiment.with_run(arm.key, entry.run.run_id)
        keep_experiment(store.workspace, experiment)
    failed = Counter(reply.reason for reply in asked.replies.values() if reply.status == "failed")
    return ExperimentOutcome(experiment, asked.progress, asked.stopped, tuple(failed.most_common(5)))


def _begun(store: RunStore, planned: PlannedExperiment) -> Experiment:
    """Return the experiment as it is kept, with the runs that are still there; keep it where it is new."""
    try:
        return find_experiment(store.workspace, planned.experiment.experiment_id)
    except WorkspaceError:
        keep_experiment(store.workspace, planned.experiment)
        return planned.experiment


def _parsed_arm(
    planned: PlannedExperiment, experiment: Experiment, arm: Arm, replies: Mapping[str, SystemReply]
) -> ParsedRun:
    failed = sum(replies[sample.request.key].status == "failed" for sample in arm.samples)
    versions = sorted({replies[sample.request.key].version for sample in arm.samples} - {""})
    title = planned.kind.title
    return ParsedRun(
        name=f"{arm.title} ({experiment.label})" if experiment.label else arm.title,
        records=_records(planned, arm, replies),
        file=f"{title}: {experiment.questions}",
        format=FORMAT,
        named_by_content=True,
        config={
            EXPERIMENT: experiment.experiment_id,
            "experiment_kind": experiment.kind,
            "system": experiment.system,
            **({"system_name": experiment.name} if experiment.name else {}),
            **({"attempt": experiment.attempt} if experiment.attempt > 1 else {}),
            **({"system_version": ", ".join(versions)} if versions else {}),
            **_match(planned, replies),
            **arm.levels,
        },
        dataset=experiment.questions,
        dataset_version=planned.dataset_version,
        created_at=experiment.created_at,
        notes=(
            f"One arm of the experiment {experiment.experiment_id} ({title.lower()}) on {experiment.system}.",
            *(
                (f"{failed:,} of {len(arm.samples):,} samples have no answer: the system failed.",)
                if failed
                else ()
            ),
            *(
                (f"The system answered as versions {', '.join(versions)}: it changed while it was asked.",)
                if len(versions) > 1
                else ()
            ),
            *experiment.notes,
        ),
    )


def _match(planned: PlannedExperiment, replies: Mapping[str, SystemReply]) -> dict[str, str]:
    """Return the setting by which gold that names whole documents is found in chunks of them."""
    samples = [sample for arm in planned.design.arms for sample in arm.samples]
    gold = {str(entry["id"]) for sample in samples for entry in sample.case.get("relevant") or ()}
    lists = [reply.sample.get("retrieved") for reply in replies.values()]
    entries = [document for each in lists if isinstance(each, list) for document in each]
    documents = [document for document in entries if isinstance(document, Mapping)]
    by_id, by_document = (
        any(str(document.get(name)) in gold for document in documents) for name in ("id", "doc_id")
    )
    return {"match": "doc_id"} if by_document and not by_id else {}


def _records(planned: PlannedExperiment, arm: Arm, replies: Mapping[str, SystemReply]) -> Iterator[Record]:
    for line, sample in enumerate(arm.samples, 1):
        reply = replies[sample.request.key]
        case = {**_accepted(sample), **sample.question.record, **sample.case}
        record = sample_record(sample.request, reply, {k: v for k, v in case.items() if v is not None})
        if reply.status == "answered":
            record["scores"] = dict(planned.kind.scores(sample, str(reply.sample.get("answer") or "")))
        yield line, {name: value for name, value in record.items() if value is not None}


def _accepted(sample: PlannedSample) -> dict[str, object]:
    """Return the accepted answers as fields of a sample, unless it has no right answer in this arm."""
    answers = sample.question.answers
    if not answers or sample.case.get("answerable") == "no":
        return {}
    return {"reference_answer": answers[0], "accepted_answers": list(answers)}


_KIND = "experiment:"  # followed by the id of the experiment


def run_experiment_job(
    store: RunStore,
    planned: PlannedExperiment,
    system: System,
    limits: SystemLimits,
    watch: Callable[[AskProgress], None],
    stopped: Callable[[], bool],
) -> ExperimentOutcome:
    """Run an experiment as a job of this process, as `run_experiment` does.

    Raises:
        DataError: this experiment is running already, or the workspace cannot be written.
    """
    experiment = planned.experiment
    spec = {"title": planned.kind.title, "questions": experiment.questions, "system": experiment.system}
    kind, progress = _KIND + experiment.experiment_id, {"total": 0, "done": 0}
    with recorded_job(store.ledger, kind, spec, experiment.project, progress) as job:

        def follow(step: AskProgress) -> None:
            job.progress.update(total=step.total, done=step.done, failed=step.failed)
            watch(step)

        def stops() -> bool:
            return job.heartbeat.stop_asked or stopped()

        outcome = run_experiment(store, planned, system, limits, follow, stops)
        if outcome.stopped:
            job.stopped(outcome.stopped)
    return outcome


def experiment_jobs(ledger: Ledger) -> list[Job]:
    """List the jobs of experiments of a workspace, newest first."""
    return jobs_of(ledger, kind=_KIND)
