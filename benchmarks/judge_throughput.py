"""How near does a judging job come to what a service allows: calls a second at 64 in flight, 0.5 s each.

    python benchmarks/judge_throughput.py [--samples 1536] [--concurrency 64] [--latency 0.5] [--rounds 2]

The service and the job each run in a process of their own, so that neither waits for the other's interpreter.
Samples are drawn by make_runs.py: ten chunks of about 570 characters, answers of about 430. The ideal is
concurrency / latency. Rates are those at the service, from the first request to the last reply; the time
from the job's start, the import of the SDK included, stands beside them. A bare HTTP client that sends the
same requests and does nothing else shows what the service itself allows.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import orjson
from judge_server import JudgeServer, Script
from make_runs import make_runs

from ragtriage.data.api import add_run
from ragtriage.data.judge.client import ClientSettings
from ragtriage.data.judge.evaluation import COLUMNS, EvaluationTask
from ragtriage.data.judge.requests import TaskSample, message_params, read_prices
from ragtriage.data.judge.run_job import JobSpec, run_task
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.sample_reader import StoredSamples
from ragtriage.data.store.workspace import Run, Workspace


def serve(latency: float) -> None:
    """Serve until the input closes; printed are the address first and what was served last."""
    with JudgeServer(Script(latency=latency)) as server:
        print(server.url, flush=True)
        before = _processor()
        sys.stdin.read()
        times = [one.at for one in server.asked]
        served = {
            "served": len(times),
            "window": max(times) - min(times) + latency,
            "flying": server.most_flying,
            "service_processor": _processor() - before,
        }
    print(json.dumps(served), flush=True)


def job(folder: Path, url: str, concurrency: int) -> dict[str, float]:
    """Judge the run of a workspace; gives what it took."""
    workspace, run = Workspace(folder), _run(folder)
    model = read_prices().model()
    settings = ClientSettings(model, url, concurrency)
    before = _processor()
    result = run_task(workspace, run, EvaluationTask.of(model.window), settings, JobSpec(range(run.n)))
    assert result.progress.scored == run.n, result.progress
    used = _processor() - before
    return {"seconds": result.progress.seconds, "processor": used, "peak_mb": _peak_mb()}


def alone(folder: Path, url: str, concurrency: int) -> dict[str, float]:
    """Send the same requests with a bare HTTP client; gives what that took."""
    import httpx2

    bodies = _bodies(folder)

    async def all_of_them() -> None:
        todo = iter(bodies)
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=concurrency)
        async with httpx2.AsyncClient(limits=limits, timeout=60) as client:

            async def work() -> None:
                for body in todo:
                    (await client.post(f"{url}/v1/messages", content=body)).raise_for_status()

            await asyncio.gather(*(work() for _ in range(concurrency)))

    before, start = _processor(), time.perf_counter()
    asyncio.run(all_of_them())
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "processor": _processor() - before, "peak_mb": _peak_mb()}


def _run(folder: Path) -> Run:
    return RunStore(Workspace(folder)).runs()[0]


def _bodies(folder: Path) -> list[bytes]:
    run, model = _run(folder), read_prices().model()
    work, settings = EvaluationTask.of(model.window), ClientSettings(model)
    stored = StoredSamples(Workspace(folder).samples_path(run.run_id))
    samples = stored.read(range(run.n), COLUMNS)
    requests = (next(work.steps(TaskSample(row, 0, one))) for row, one in enumerate(samples))
    return [orjson.dumps(message_params(one, settings)) for one in requests]


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _peak_mb() -> float:
    """Greatest resident size of this process alone; what getrusage says includes the one that started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(one.split()[1]) for one in lines if one.startswith("VmHWM")) / 1024


ROLES = {"job": job, "alone": alone}


def measure(role: str, folder: Path, given: argparse.Namespace) -> dict[str, float]:
    """Run a service and one client of it, each in a process of its own."""
    base = [sys.executable, __file__, "--concurrency", str(given.concurrency)]
    base += ["--latency", str(given.latency)]
    pipe, since, busy, own = subprocess.PIPE, time.monotonic(), _busy(), _children()
    with subprocess.Popen([*base, "--role", "serve"], stdin=pipe, stdout=pipe, text=True) as service:
        assert service.stdout is not None
        url = service.stdout.readline().strip()
        command = [*base, "--role", role, "--folder", str(folder), "--url", url]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        told, _ = service.communicate()
    if ended.returncode:
        raise RuntimeError(ended.stderr)
    found: dict[str, float] = json.loads(ended.stdout.splitlines()[-1]) | json.loads(told)
    others = _busy() - busy - (_children() - own)
    return found | {"others": others / (time.monotonic() - since)}


def _busy() -> float:
    """Seconds that the processors of this machine have worked, for whomever."""
    user, nice, system = (int(one) for one in Path("/proc/stat").read_text().split()[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def prepare(folder: Path, samples: int) -> None:
    """Draw the samples and bring them into a workspace."""
    path = make_runs(folder / "drawn", samples, 1)[0]
    records: list[dict[str, Any]] = [orjson.loads(line) for line in path.read_bytes().splitlines()[1:]]
    add_run(records, "drawn", "throughput", str(folder / "workspace"))


def show(name: str, found: dict[str, float], ideal: float) -> None:
    """Print what one client took."""
    calls = found["served"]
    rate = calls / found["window"]
    print(
        f"{name:18}{calls:6,.0f} calls{found['window']:7.1f} s{rate:7.1f} a second ={rate / ideal:6.1%}"
        f"{found['seconds']:7.1f} s from the start{found['flying']:5.0f} in flight at most"
    )
    print(
        f"{'':18}processor a call: {1000 * found['processor'] / calls:.1f} ms the client, "
        f"{1000 * found['service_processor'] / calls:.1f} ms the service; "
        f"greatest memory of the client {found['peak_mb']:.0f} MB; other programs kept "
        f"{max(found['others'], 0):.1f} of {os.cpu_count()} cores busy"
    )


def main() -> None:
    """Draw samples, measure the service alone and the job, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--samples", type=int, default=1_536)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--latency", type=float, default=0.5)
    parser.add_argument("--rounds", type=int, default=2)
    for hidden in ("--role", "--folder", "--url"):
        parser.add_argument(hidden, default="", help=argparse.SUPPRESS)
    given = parser.parse_args()
    os.environ.setdefault("ANTHROPIC_API_KEY", "sk-stand-in")
    if given.role == "serve":
        serve(given.latency)
    elif given.role:
        print(json.dumps(ROLES[given.role](Path(given.folder), given.url, given.concurrency)))
    else:
        report(given)


def report(given: argparse.Namespace) -> None:
    """Measure as often as asked, each time in a fresh workspace."""
    ideal = given.concurrency / given.latency
    print(f"{given.concurrency} in flight, {given.latency:g} s each: ideal {ideal:.0f} calls a second")
    for _ in range(given.rounds):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            prepare(folder, given.samples)
            show("a bare client", measure("alone", folder / "workspace", given), ideal)
            show("ragtriage", measure("job", folder / "workspace", given), ideal)


if __name__ == "__main__":
    main()
